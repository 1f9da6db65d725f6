from .bbq import read_bbq as read_bbq
from .concept_items import construct_concepts as construct_concepts
from .concepts import read_concepts as read_concepts
from .config import ConceptPairsConfig as ConceptPairsConfig
from .config import PromptsConfig as PromptsConfig
from .config import ScenariosConfig as ScenariosConfig
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
from .scenario_items import agenerate_scenarios as agenerate_scenarios
from .scenario_items import generate_scenarios as generate_scenarios
from .scenarios import Funnel as Funnel
from .scenarios import FunnelStep as FunnelStep
from .scenarios import Scenario as Scenario
from .scenarios import ScenarioSet as ScenarioSet
from .scenarios import read_scenarios as read_scenarios
from .scenarios import write_scenarios as write_scenarios

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
