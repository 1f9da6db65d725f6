"""How the judges of a run behave: their own biases, from stored scores and from a few new calls."""

from .config import JudgesConfig
from .job import JudgesJob, aexamine_judges, examine_judges, judges_job
from .run import JudgesRun

__all__ = [
    "JudgesConfig",
    "JudgesJob",
    "JudgesRun",
    "aexamine_judges",
    "examine_judges",
    "judges_job",
]
