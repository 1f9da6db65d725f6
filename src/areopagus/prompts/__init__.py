"""Construction of prompts: scenarios from sources, open-ended prompts from models, a study set."""

from .bbq import read_bbq
from .concepts import read_concepts
from .config import PromptsConfig
from .hle import HleFilters, load_hle_filters, read_hle
from .job import PromptJob, aconstruct_prompts, construct_prompts
from .result import PromptRun
from .sample import Sample, sample_prompts, write_sample
from .scenarios import (
    Funnel,
    FunnelStep,
    Scenario,
    ScenarioSet,
    read_scenarios,
    write_scenarios,
)

__all__ = [
    "Funnel",
    "FunnelStep",
    "HleFilters",
    "PromptJob",
    "PromptRun",
    "PromptsConfig",
    "Sample",
    "Scenario",
    "ScenarioSet",
    "aconstruct_prompts",
    "construct_prompts",
    "load_hle_filters",
    "read_bbq",
    "read_concepts",
    "read_hle",
    "read_scenarios",
    "sample_prompts",
    "write_sample",
    "write_scenarios",
]
