"""The wire: litellm's requests watched on their way out, and a lane that writes them itself."""

from .lane import NO_KEY, Lane, ReadAnswer, RedirectedError
from .passage import Passage, Received, Sent, passing
from .shape import Shape, is_ordinary, same_reading
from .template import Template, template_of
from .watch import watch_litellm
from .written import Written

__all__ = [
    "NO_KEY",
    "Lane",
    "Passage",
    "ReadAnswer",
    "Received",
    "RedirectedError",
    "Sent",
    "Shape",
    "Template",
    "Written",
    "is_ordinary",
    "passing",
    "same_reading",
    "template_of",
    "watch_litellm",
]
