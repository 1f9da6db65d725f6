"""What in a response looks like an attempt on a judge: forms, demands, the panel's own words."""

from .detect import DETECTORS, SENTENCES, Hit, find_hits, flags_of
from .marks import BIDI, INVISIBLE, TAGS
from .views import AS_IT_STANDS, unveiled
from .wording import PanelWording, wording_of

__all__ = [
    "AS_IT_STANDS",
    "BIDI",
    "DETECTORS",
    "INVISIBLE",
    "SENTENCES",
    "TAGS",
    "Hit",
    "PanelWording",
    "find_hits",
    "flags_of",
    "unveiled",
    "wording_of",
]
