"""Answers in the form that OpenAI's client gives them, without its building them object by object.

The client makes a dozen objects of an answer, which litellm turns back into what the answer said,
with None for every field that it did not have. Which fields those are depends on the answer's
outline alone: once the client has been seen to add just these to answers of an outline, they are
added here.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from .passage import Received
from .plain_answer import outlined

PROOFS = 2
"""Answers of an outline in which the client must have added the same, beside the first."""
_MOST_OUTLINES = 64


class Added(NamedTuple):
    """What the client added to an object or a list of an answer.

    Attributes:
        names: fields of the object itself, each with None.
        within: what it added further in, by name or position.
    """

    names: tuple[str, ...]
    within: tuple[tuple[str | int, Added], ...]


class ClientAnswer:
    """An answer with the face of the client's, as far as litellm looks at it."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said

    def model_dump(self) -> dict[str, Any]:
        """All that the client would say of it."""
        return self._said

    def __getattr__(self, name: str) -> Any:
        # A litellm that asks for more is given the client's own object.
        from openai.types.chat import ChatCompletion

        return getattr(ChatCompletion.construct(**self._said), name)


class FilledAnswers:
    """What the client adds to answers, by their outline, and how often that was seen."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Added, int]] = {}

    def read(self, received: Received) -> ClientAnswer | None:
        """The answer as the client would give it; None where that is not known."""
        if not _is_json(received):
            return None
        try:
            said, outline = outlined(received)
        except Exception:
            return None  # whatever is odd about it, the client is asked
        added, proofs = self._known.get(outline, (None, 0))
        if added is None or proofs < PROOFS:
            return None
        _fill(said, added)
        return ClientAnswer(said)

    def learn(self, received: Received, dumped: Any) -> None:
        """Takes in what the client made of an answer."""
        try:
            said, outline = outlined(received)
            added = _added(said, dumped)
        except Exception:
            return  # no plain answer, or the client changed more than it added
        known, proofs = self._known.get(outline, (added, -1))
        if known != added:
            proofs = -1_000_000  # it depends on more than the outline
        elif outline not in self._known and len(self._known) >= _MOST_OUTLINES:
            return
        self._known[outline] = added, proofs + 1


def _is_json(received: Received) -> bool:
    """Whether the head says so: the client hands anything else on as a text."""
    return any(
        name.lower() == b"content-type" and value.lower().startswith(b"application/json")
        for name, value in received.headers
    )


def _added(said: Any, dumped: Any) -> Added:
    """What stands in the second and not in the first.

    Raises:
        ValueError: they differ in more than fields that are None.
    """
    if type(said) is not type(dumped):
        raise ValueError("of another kind")
    within: list[tuple[str | int, Added]] = []
    names: tuple[str, ...] = ()
    if isinstance(said, dict):
        if not said.keys() <= dumped.keys():
            raise ValueError("a field is gone")
        names = tuple(sorted(dumped.keys() - said.keys()))
        if any(dumped[name] is not None for name in names):
            raise ValueError("a field has come")
        entries = [(name, value, dumped[name]) for name, value in said.items()]
    elif isinstance(said, list):
        entries = [(at, *pair) for at, pair in enumerate(zip(said, dumped, strict=True))]
    elif said == dumped:
        return Added((), ())
    else:
        raise ValueError("a value is another")
    for place, value, other in entries:
        added = _added(value, other)
        if added != ((), ()):
            within.append((place, added))
    return Added(names, tuple(within))


def _fill(said: Any, added: Added) -> None:
    for name in added.names:
        said[name] = None
    for place, further in added.within:
        _fill(said[place], further)
