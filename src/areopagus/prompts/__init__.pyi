from .bbq import read_bbq as read_bbq
from .concepts import read_concepts as read_concepts
from .config import PromptsConfig as PromptsConfig
from .hle import HleFilters as HleFilters
from .hle import load_hle_filters as load_hle_filters
from .hle import read_hle as read_hle
from .job import PromptJob as PromptJob
from .job import aconstruct_prompts as aconstruct_prompts
from .job import construct_prompts as construct_prompts
from .result import PromptRun as PromptRun
from .sample import Sample as Sample
from .sample import sample_prompts as sample_prompts
from .sample import write_sample as write_sample
from .scenarios import Funnel as Funnel
from .scenarios import FunnelStep as FunnelStep
from .scenarios import Scenario as Scenario
from .scenarios import ScenarioSet as ScenarioSet
from .scenarios import read_scenarios as read_scenarios
from .scenarios import write_scenarios as write_scenarios

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
