from .agreement import cohen_kappa as cohen_kappa
from .agreement import gwet_ac2 as gwet_ac2
from .agreement import krippendorff_alpha as krippendorff_alpha
from .agreement import label_agreement as label_agreement
from .alt_test import alt_test as alt_test
from .clustered import clustered_proportion as clustered_proportion
from .concordance import durbin_w as durbin_w
from .concordance import kendall_w as kendall_w
from .concordance import kendall_w_uncorrected as kendall_w_uncorrected
from .concordance import skillings_mack as skillings_mack
from .conformal import conformal_width as conformal_width
from .conformal import isotonic_map as isotonic_map
from .decision_study import best_designs as best_designs
from .decision_study import d_study as d_study
from .decision_study import smallest_designs as smallest_designs
from .degradation import Degradation as Degradation
from .degradation import degradation as degradation
from .effect_size import cohen_dav as cohen_dav
from .effect_size import cohen_dz as cohen_dz
from .effect_size import hedges_correction as hedges_correction
from .effect_size import smallest_detectable_change as smallest_detectable_change
from .effective_judges import effective_judges as effective_judges
from .effective_judges import effective_judges_from_components as effective_judges_from_components
from .effective_judges import independent_worth as independent_worth
from .effects import mean_effects as mean_effects
from .ensemble import aggregate_panel as aggregate_panel
from .equivalence import prompts_for_equivalence as prompts_for_equivalence
from .equivalence import tost as tost
from .estimate import Estimate as Estimate
from .generalizability import g_study as g_study
from .generalizability import panel_g_study as panel_g_study
from .intervals import t_interval as t_interval
from .kendall import agreement_ceiling as agreement_ceiling
from .kendall import bootstrap_stratified_tau as bootstrap_stratified_tau
from .kendall import kendall_tau_b as kendall_tau_b
from .kendall import mean_group_tau as mean_group_tau
from .kendall import pairwise_tau as pairwise_tau
from .multiplicity import benjamini_hochberg as benjamini_hochberg
from .multiplicity import holm as holm
from .multiplicity import max_t as max_t
from .noise_floor import NoiseFloor as NoiseFloor
from .noise_floor import noise_floor as noise_floor
from .panel_interval import panel_interval as panel_interval
from .permutation import permutation_test as permutation_test
from .prediction_powered import ppi_mean as ppi_mean
from .proportions import mcnemar_test as mcnemar_test
from .proportions import newcombe as newcombe
from .proportions import rogan_gladen as rogan_gladen
from .proportions import wilson as wilson
from .ranking import plackett_luce as plackett_luce
from .ratings import ratings_of_table as ratings_of_table
from .reliability import icc as icc
from .reliability import icc_interval as icc_interval
from .reliability import spearman_brown as spearman_brown
from .respondents import by_prompt_unit as by_prompt_unit
from .severity import severity as severity
from .severity import severity_parts as severity_parts
from .sign_flips import hall_interval as hall_interval
from .sign_flips import sign_flip_test as sign_flip_test
from .sign_flips import sign_flip_tests as sign_flip_tests
from .sign_flips import skewness_adjusted_flips as skewness_adjusted_flips
from .stacking import stack_judges as stack_judges

__all__ = [
    "Degradation",
    "Estimate",
    "NoiseFloor",
    "aggregate_panel",
    "agreement_ceiling",
    "alt_test",
    "benjamini_hochberg",
    "best_designs",
    "bootstrap_stratified_tau",
    "by_prompt_unit",
    "clustered_proportion",
    "cohen_dav",
    "cohen_dz",
    "cohen_kappa",
    "conformal_width",
    "d_study",
    "degradation",
    "durbin_w",
    "effective_judges",
    "effective_judges_from_components",
    "g_study",
    "gwet_ac2",
    "hall_interval",
    "hedges_correction",
    "holm",
    "icc",
    "icc_interval",
    "independent_worth",
    "isotonic_map",
    "kendall_tau_b",
    "kendall_w",
    "kendall_w_uncorrected",
    "krippendorff_alpha",
    "label_agreement",
    "max_t",
    "mcnemar_test",
    "mean_effects",
    "mean_group_tau",
    "newcombe",
    "noise_floor",
    "pairwise_tau",
    "panel_g_study",
    "panel_interval",
    "permutation_test",
    "plackett_luce",
    "ppi_mean",
    "prompts_for_equivalence",
    "ratings_of_table",
    "rogan_gladen",
    "severity",
    "severity_parts",
    "sign_flip_test",
    "sign_flip_tests",
    "skewness_adjusted_flips",
    "skillings_mack",
    "smallest_designs",
    "smallest_detectable_change",
    "spearman_brown",
    "stack_judges",
    "t_interval",
    "tost",
    "wilson",
]
