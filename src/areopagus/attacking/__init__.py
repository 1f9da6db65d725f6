"""How far texts can talk a panel into a score: injection corpus, audit by re-scoring, figures."""

from .api import aattack, arescore, attack, rescore
from .family import AttackFamily
from .job import AttackJob
from .load import list_families, load_families
from .neutralise import Neutralised, neutralised
from .plan import AttackPlan
from .rescore import RescoreJob
from .run import AttackRun, RescoreRun

__all__ = [
    "AttackFamily",
    "AttackJob",
    "AttackPlan",
    "AttackRun",
    "Neutralised",
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
