"""Construction of prompts: scenarios from sources, open-ended prompts from models, a study set."""

from .api import aconstruct_prompts, construct_prompts
from .bbq import read_bbq
from .concepts import read_concepts
from .funnel import Funnel, FunnelStep, funnel_lines
from .hle import HleFilters, load_hle_filters, read_hle
from .job import PromptJob
from .plan import PromptPlan
from .run import PromptRun
from .sample import Sample, sample_prompts, write_sample
from .scenarios import Scenario, ScenarioSet, read_scenarios, write_scenarios

__all__ = [
    "Funnel",
    "FunnelStep",
    "HleFilters",
    "PromptJob",
    "PromptPlan",
    "PromptRun",
    "Sample",
    "Scenario",
    "ScenarioSet",
    "aconstruct_prompts",
    "construct_prompts",
    "funnel_lines",
    "load_hle_filters",
    "read_bbq",
    "read_concepts",
    "read_hle",
    "read_scenarios",
    "sample_prompts",
    "write_sample",
    "write_scenarios",
]
