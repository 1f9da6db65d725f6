"""Every estimator: arrays in, `Estimate` out.

Names are resolved when they are first used: scoring a run loads none of what calibration needs.
Types and the rarer functions stand in the modules.
"""

from __future__ import annotations

from ..lazy import lazy_imports

# These bear the names of their modules: once such a module is imported, by anybody, the package's
# attribute is the module, unless the function has been bound here. They and what they import take
# scipy.stats and scipy.sparse late: these load longer than a small run lasts.
from .alt_test import alt_test
from .degradation import degradation
from .effective_judges import effective_judges
from .noise_floor import noise_floor
from .panel_interval import panel_interval
from .severity import severity

_NAMES = {
    "agreement": ("cohen_kappa", "gwet_ac2", "krippendorff_alpha", "label_agreement"),
    "alt_test": ("alt_test",),
    "clustered": ("clustered_proportion",),
    "concordance": ("durbin_w", "kendall_w", "kendall_w_uncorrected", "skillings_mack"),
    "conformal": ("conformal_width", "isotonic_map"),
    "decision_study": ("best_designs", "d_study", "smallest_designs"),
    "degradation": ("Degradation", "degradation"),
    "effect_size": ("cohen_dav", "cohen_dz", "hedges_correction", "smallest_detectable_change"),
    "effective_judges": (
        "effective_judges",
        "effective_judges_from_components",
        "independent_worth",
    ),
    "effects": ("mean_effects",),
    "ensemble": ("aggregate_panel",),
    "equivalence": ("prompts_for_equivalence", "tost"),
    "estimate": ("Estimate",),
    "generalizability": ("g_study", "panel_g_study"),
    "intervals": ("t_interval",),
    "kendall": (
        "agreement_ceiling",
        "bootstrap_stratified_tau",
        "kendall_tau_b",
        "mean_group_tau",
        "pairwise_tau",
    ),
    "multiplicity": ("benjamini_hochberg", "holm", "max_t"),
    "noise_floor": ("NoiseFloor", "noise_floor"),
    "panel_interval": ("panel_interval",),
    "permutation": ("permutation_test",),
    "prediction_powered": ("ppi_mean",),
    "proportions": ("mcnemar_test", "newcombe", "rogan_gladen", "wilson"),
    "ranking": ("plackett_luce",),
    "ratings": ("ratings_of_table",),
    "reliability": ("icc", "icc_interval", "spearman_brown"),
    "respondents": ("by_prompt_unit",),
    "severity": ("severity", "severity_parts"),
    "sign_flips": ("hall_interval", "sign_flip_test", "sign_flip_tests", "skewness_adjusted_flips"),
    "stacking": ("stack_judges",),
}

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

__getattr__, __dir__ = lazy_imports(
    __name__, {name: f".{module}" for module, names in _NAMES.items() for name in names}
)
