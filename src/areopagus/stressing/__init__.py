"""The stress test: prompts reframed, answers scored, the degradation measured."""

from .api import astress, stress
from .job import StressJob
from .plan import StressPlan
from .run import StressRun
from .source import StressResponse, StressSource

__all__ = [
    "StressJob",
    "StressPlan",
    "StressResponse",
    "StressRun",
    "StressSource",
    "astress",
    "stress",
]
