"""Construction of prompts: scenarios from sources, open-ended prompts from models, a study set.

Names are resolved when they are first used: the help of a command loads nothing of it.
"""

from __future__ import annotations

from ..lazy import lazy_imports

_HOME = {
    "agenerate_scenarios": ".scenario_items",
    "generate_scenarios": ".scenario_items",
    "construct_concepts": ".concept_items",
    "ScenariosConfig": ".config",
    "ConceptPairsConfig": ".config",
    "Funnel": ".scenarios",
    "FunnelStep": ".scenarios",
    "HleFilters": ".hle",
    "PromptJob": ".job",
    "PromptRun": ".result",
    "PromptsConfig": ".config",
    "Sample": ".sample",
    "Scenario": ".scenarios",
    "ScenarioSet": ".scenarios",
    "aconstruct_prompts": ".job",
    "construct_prompts": ".job",
    "load_hle_filters": ".hle",
    "read_bbq": ".bbq",
    "read_concepts": ".concepts",
    "read_hle": ".hle",
    "read_scenarios": ".scenarios",
    "sample_prompts": ".sample",
    "write_sample": ".sample",
    "write_scenarios": ".scenarios",
}

__getattr__, __dir__ = lazy_imports(__name__, _HOME)

__all__ = [
    "ConceptPairsConfig",
    "Funnel",
    "FunnelStep",
    "HleFilters",
    "PromptJob",
    "PromptRun",
    "PromptsConfig",
    "Sample",
    "Scenario",
    "ScenarioSet",
    "ScenariosConfig",
    "aconstruct_prompts",
    "agenerate_scenarios",
    "construct_concepts",
    "construct_prompts",
    "generate_scenarios",
    "load_hle_filters",
    "read_bbq",
    "read_concepts",
    "read_hle",
    "read_scenarios",
    "sample_prompts",
    "write_sample",
    "write_scenarios",
]
