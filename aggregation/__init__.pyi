from .abstained import AbstentionBounds as AbstentionBounds
from .abstained import abstention_bounds as abstention_bounds
from .abstention_change import Abstention as Abstention
from .agreement import LabelAgreement as LabelAgreement
from .agreement import cohen_kappa as cohen_kappa
from .agreement import gwet_ac2 as gwet_ac2
from .agreement import krippendorff_alpha as krippendorff_alpha
from .agreement import label_agreement as label_agreement
from .alt_test import AltTest as AltTest
from .alt_test import alt_test as alt_test
from .concordance import durbin_w as durbin_w
from .concordance import kendall_w as kendall_w
from .concordance import kendall_w_uncorrected as kendall_w_uncorrected
from .concordance import mean_concordance as mean_concordance
from .concordance import mean_spearman_from_w as mean_spearman_from_w
from .concordance import skillings_mack as skillings_mack
from .conformal import ConformalWidth as ConformalWidth
from .conformal import IsotonicMap as IsotonicMap
from .conformal import conformal_width as conformal_width
from .conformal import isotonic_map as isotonic_map
from .decision_study import BestDesign as BestDesign
from .decision_study import DecisionStudy as DecisionStudy
from .decision_study import SmallestDesign as SmallestDesign
from .decision_study import best_designs as best_designs
from .decision_study import d_study as d_study
from .decision_study import smallest_designs as smallest_designs
from .degradation import Degradation as Degradation
from .degradation import degradation as degradation
from .degradation_cells import Ceiling as Ceiling
from .degradation_cells import DegradationCell as DegradationCell
from .degradation_cells import NoiseGate as NoiseGate
from .degradation_power import prompts_to_detect as prompts_to_detect
from .degradation_summary import Headline as Headline
from .degradation_summary import RobustEverywhere as RobustEverywhere
from .degradation_summary import ScoreLevel as ScoreLevel
from .effect_size import cohen_dav as cohen_dav
from .effect_size import cohen_dz as cohen_dz
from .effect_size import hedges_correction as hedges_correction
from .effect_size import smallest_detectable_change as smallest_detectable_change
from .effective_judges import EffectiveJudges as EffectiveJudges
from .effective_judges import IndependentWorth as IndependentWorth
from .effective_judges import effective_judges as effective_judges
from .effective_judges import effective_judges_from_components as effective_judges_from_components
from .effective_judges import independent_worth as independent_worth
from .effects import Effect as Effect
from .effects import mean_effects as mean_effects
from .ensemble import PanelAggregate as PanelAggregate
from .ensemble import aggregate_panel as aggregate_panel
from .ensemble import disagreement_labels as disagreement_labels
from .equivalence import Equivalence as Equivalence
from .equivalence import prompts_for_equivalence as prompts_for_equivalence
from .equivalence import tost as tost
from .estimate import Estimate as Estimate
from .framing_asymmetry import Asymmetry as Asymmetry
from .framing_contrasts import FramingContrast as FramingContrast
from .generalizability import GStudy as GStudy
from .generalizability import g_study as g_study
from .generalizability import panel_g_study as panel_g_study
from .intervals import bootstrap_stratified_tau as bootstrap_stratified_tau
from .intervals import cluster_bootstrap as cluster_bootstrap
from .intervals import delete_one_jackknife as delete_one_jackknife
from .intervals import t_interval as t_interval
from .kendall import GroupTau as GroupTau
from .kendall import MeanTau as MeanTau
from .kendall import PairAccuracy as PairAccuracy
from .kendall import PairTypeAgreement as PairTypeAgreement
from .kendall import agreement_by_pair_type as agreement_by_pair_type
from .kendall import agreement_ceiling as agreement_ceiling
from .kendall import kendall_tau_b as kendall_tau_b
from .kendall import mean_group_tau as mean_group_tau
from .kendall import mean_pairwise_tau as mean_pairwise_tau
from .kendall import pair_accuracy as pair_accuracy
from .measured_cells import CellFamily as CellFamily
from .multiplicity import MaxT as MaxT
from .multiplicity import benjamini_hochberg as benjamini_hochberg
from .multiplicity import benjamini_yekutieli as benjamini_yekutieli
from .multiplicity import holm as holm
from .multiplicity import max_t as max_t
from .noise_floor import NoiseComponent as NoiseComponent
from .noise_floor import NoiseFloor as NoiseFloor
from .noise_floor import noise_floor as noise_floor
from .pair_counting import PairCounts as PairCounts
from .pair_counting import pair_counts as pair_counts
from .panel_interval import FacetIntervals as FacetIntervals
from .panel_interval import panel_interval as panel_interval
from .permutation import PermutationTest as PermutationTest
from .permutation import permutation_test as permutation_test
from .prediction_powered import PredictionPoweredMean as PredictionPoweredMean
from .prediction_powered import ppi_mean as ppi_mean
from .prompt_means import PromptMean as PromptMean
from .proportions import mcnemar_midp as mcnemar_midp
from .proportions import newcombe as newcombe
from .proportions import rogan_gladen as rogan_gladen
from .proportions import wilson as wilson
from .ranking import PlackettLuce as PlackettLuce
from .ranking import plackett_luce as plackett_luce
from .reliability import icc as icc
from .reliability import icc_interval as icc_interval
from .reliability import spearman_brown as spearman_brown
from .respondents import PromptUnitMeans as PromptUnitMeans
from .respondents import RespondentScores as RespondentScores
from .respondents import by_prompt_unit as by_prompt_unit
from .severity import SeverityFit as SeverityFit
from .severity import SeverityParts as SeverityParts
from .severity import severity as severity
from .severity import severity_parts as severity_parts
from .sign_flips import SignFlips as SignFlips
from .sign_flips import SignFlipTest as SignFlipTest
from .sign_flips import hall_interval as hall_interval
from .sign_flips import sign_flip_test as sign_flip_test
from .sign_flips import sign_flip_tests as sign_flip_tests
from .sign_flips import skewness_adjusted_flips as skewness_adjusted_flips
from .stacking import StackedJudges as StackedJudges
from .stacking import stack_judges as stack_judges
from .target_comparison import TargetComparison as TargetComparison
from .vulnerability import Finding as Finding
from .vulnerability import profile_sentences as profile_sentences

__all__ = [
    "Abstention",
    "AbstentionBounds",
    "AltTest",
    "Asymmetry",
    "BestDesign",
    "Ceiling",
    "CellFamily",
    "ConformalWidth",
    "DecisionStudy",
    "Degradation",
    "DegradationCell",
    "Effect",
    "EffectiveJudges",
    "Equivalence",
    "Estimate",
    "FacetIntervals",
    "Finding",
    "FramingContrast",
    "GStudy",
    "GroupTau",
    "Headline",
    "IndependentWorth",
    "IsotonicMap",
    "LabelAgreement",
    "MaxT",
    "MeanTau",
    "NoiseComponent",
    "NoiseFloor",
    "NoiseGate",
    "PairAccuracy",
    "PairCounts",
    "PairTypeAgreement",
    "PanelAggregate",
    "PermutationTest",
    "PlackettLuce",
    "PredictionPoweredMean",
    "PromptMean",
    "PromptUnitMeans",
    "RespondentScores",
    "RobustEverywhere",
    "ScoreLevel",
    "SeverityFit",
    "SeverityParts",
    "SignFlipTest",
    "SignFlips",
    "SmallestDesign",
    "StackedJudges",
    "TargetComparison",
    "abstention_bounds",
    "aggregate_panel",
    "agreement_by_pair_type",
    "agreement_ceiling",
    "alt_test",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "best_designs",
    "bootstrap_stratified_tau",
    "by_prompt_unit",
    "cluster_bootstrap",
    "cohen_dav",
    "cohen_dz",
    "cohen_kappa",
    "conformal_width",
    "d_study",
    "degradation",
    "delete_one_jackknife",
    "disagreement_labels",
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
    "mcnemar_midp",
    "mean_concordance",
    "mean_effects",
    "mean_group_tau",
    "mean_pairwise_tau",
    "mean_spearman_from_w",
    "newcombe",
    "noise_floor",
    "pair_accuracy",
    "pair_counts",
    "panel_g_study",
    "panel_interval",
    "permutation_test",
    "plackett_luce",
    "ppi_mean",
    "profile_sentences",
    "prompts_for_equivalence",
    "prompts_to_detect",
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
