"""The stress test: prompts reframed, answers scored, the degradation measured."""

from .config import StressConfig
from .job import StressJob, astress, stress
from .responses import StressResponse, StressSource
from .run import StressRun

__all__ = [
    "StressConfig",
    "StressJob",
    "StressResponse",
    "StressRun",
    "StressSource",
    "astress",
    "stress",
]
