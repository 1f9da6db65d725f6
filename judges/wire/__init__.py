"""The wire: litellm's requests watched on their way out, and a lane that writes them itself."""

from .lane import Lane, ReadAnswer, RedirectedError
from .passage import Passage, Received, Sent, passing, watch_litellm
from .shape import Shape, is_ordinary, same_reading
from .template import Template, template_of

__all__ = [
    "Lane",
    "Passage",
    "ReadAnswer",
    "Received",
    "RedirectedError",
    "Sent",
    "Shape",
    "Template",
    "is_ordinary",
    "passing",
    "same_reading",
    "template_of",
    "watch_litellm",
]
