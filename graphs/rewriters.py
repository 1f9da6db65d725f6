"""Which model rewrites which prompt, and which one looks at the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..judges.models.backend import Backend


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who rewrites a prompt, and who reviews it: another model, or nobody."""

    rewriter: Backend
    reviewer: Backend | None


def assign_rewriters(
    prompt_ids: Iterable[str],
    rewriters: Sequence[Backend],
    *,
    seed: int = 0,
    reviewers: Sequence[Backend] = (),
) -> dict[str, Assignment]:
    """Prompt id to who rewrites and reviews it, in batches whose sizes differ by one at most.

    The prompts are put into an order drawn by the seed and dealt out, so that no rewriter shapes
    one kind of prompt alone. The order in which prompts and models come changes nothing; another
    prompt, model or seed may change all.

    The reviewer is the next model, in order of names, that is another one than the writer: two
    backends of one model are not independent. An embedded stand-in reviews nothing.

    Args:
        prompt_ids: the prompts; a repeated one counts once.
        rewriters: who may rewrite.
        seed: of the draw.
        reviewers: who may review beside the rewriters; taken before them.

    Raises:
        InputError: without a rewriter.
    """
    if not rewriters:
        raise InputError("must name at least one rewriter, got none")
    writers = sorted(rewriters, key=_by_name)
    order = sorted(set(prompt_ids), key=lambda name: (_draw(seed, name), name))
    # Without the shift the first model by name would have the larger batch in every study.
    shift = int(_draw(seed, ""), 16) % len(writers)
    assigned = {name: (place + shift) % len(writers) for place, name in enumerate(order)}
    return {
        name: Assignment(writers[place], _reviewer(place, writers, reviewers))
        for name, place in sorted(assigned.items())
    }


def _reviewer(
    place: int, writers: Sequence[Backend], reviewers: Sequence[Backend]
) -> Backend | None:
    writer = writers[place]
    others = [*sorted(reviewers, key=_by_name), *writers[place + 1 :], *writers[:place]]
    for other in others:
        if other.spec.model != writer.spec.model and not other.spec.is_offline:
            return other
    return None


def _by_name(backend: Backend) -> tuple[str, str]:
    return backend.spec.name, backend.spec.identity


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}\x1f{name}".encode("utf-8", "surrogatepass")).hexdigest()
