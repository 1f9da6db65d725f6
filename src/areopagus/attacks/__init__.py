"""How far texts can talk a panel into a score: injection corpus, attack, neutralised re-scoring."""

from .calls import aattack, arescore, attack, rescore
from .config import AttackConfig, RescoreConfig
from .families import AttackFamily, list_families, load_families
from .job import AttackJob, RescoreJob
from .neutralise import Neutralised, neutralised
from .run import AttackRun, RescoreRun

__all__ = [
    "AttackConfig",
    "AttackFamily",
    "AttackJob",
    "AttackRun",
    "Neutralised",
    "RescoreConfig",
    "RescoreJob",
    "RescoreRun",
    "aattack",
    "arescore",
    "attack",
    "list_families",
    "load_families",
    "neutralised",
    "rescore",
]
