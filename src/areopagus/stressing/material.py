"""What a stress test is made of, checked whole before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, InputFault
from ..experiment.ask import Protocol, targets_from
from ..graphs.framings import Framing, load_framings
from ..judges.models.backend import OFFLINE_REWRITER, Backend
from ..records.readers.responses import PromptRow, PromptSource
from .plan import StressPlan

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.variants import VariantSet

REWRITER_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts, in their order."""

    rows: tuple[PromptRow, ...]
    fingerprint: str
    name: str
    notices: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """Prompt id to text."""
        return {row.prompt_id: row.prompt_text for row in self.rows}


def read_prompts(
    source: Any, *, columns: Mapping[str, str] | None = None, limit: int | None = None
) -> Prompts:
    """The prompts of a file, a data frame or an iterable.

    Raises:
        InputError: with everything wrong in it.
    """
    with PromptSource(source, columns=columns, limit=limit) as opened:
        summary = opened.check()
        rows = tuple(opened.rows())
    return Prompts(rows, summary.fingerprint, summary.name, summary.notices)


def rewriters_from(
    models: Any, panel: PanelSpec
) -> tuple[tuple[Backend, ...], tuple[Backend, ...]]:
    """Who rewrites the prompts, and who may review beside them.

    Without a name the panel's models rewrite: they are not the models under test. An embedded
    panel takes the embedded rewriter.

    Raises:
        InputError: settings that are none, two backends of one name, a judge as a rewriter.
    """
    judges = tuple(backend for backend in panel.backends if not backend.spec.is_offline)
    if not models and judges:
        return _as_writers(judges), ()
    protocol = Protocol(max_tokens=REWRITER_TOKENS)
    backends = targets_from(models or [OFFLINE_REWRITER], protocol, "rewriter")
    return backends, _as_writers(judges) if len(backends) == 1 else ()


def _as_writers(judges: Sequence[Backend]) -> tuple[Backend, ...]:
    """The judges' models with room for four variants; objects of a user's own as they are."""
    from ..judges.factory import backend_of, is_made_of_settings

    return tuple(
        backend_of(
            backend.spec.model_copy(
                update={
                    "max_tokens": max(backend.spec.max_tokens, REWRITER_TOKENS),
                    "score_mode": None,
                }
            )
        )
        if is_made_of_settings(backend)
        else backend
        for backend in judges
    )


def framings_from(
    names: Sequence[str | Path | Framing] | None,
    folders: Sequence[str | Path],
    baseline: str,
) -> tuple[Framing, ...]:
    """The framings of the study.

    Raises:
        InputError: unknown names, faults of files, a framing called like the baseline.
    """
    framings = load_framings(names, folders)
    if any(framing.id == baseline for framing in framings):
        raise InputError(f"a framing is called {baseline!r} like the baseline; rename one")
    return framings


def require_stand_ins(framings: Sequence[Framing], rewriters: Sequence[Backend]) -> None:
    """Refuses framings that the embedded rewriter has no text for, before it is asked for any.

    Raises:
        InputError: with every one of them.
    """
    if not any(backend.spec.is_offline for backend in rewriters):
        return
    faults = [
        InputFault(
            f"framing {framing.id}",
            "has none, so offline/rewriter cannot write it; add one, or name a model that rewrites",
            "stand_in",
        )
        for framing in framings
        if not framing.stand_in
    ]
    if faults:
        raise InputError(faults)


def require_one_source(
    prompts: Any, responses: Any, variants: Any, *, rewrite_only: bool, others: Mapping[str, Any]
) -> None:
    """Refuses settings that ask for two things at once, for nothing, or that nothing would use.

    Args:
        prompts, responses, variants, rewrite_only: where the material comes from, and how far it
            goes.
        others: the other options by name, as they were given: `targets`, `rewriters`, `framings`,
            `track`, `effort`, `words`, `regenerate`, `condition`.

    Raises:
        InputError: what contradicts what, all of it.
    """
    given = {name for name, value in others.items() if value}
    faults: list[str] = []
    if (prompts is None) == (responses is None):
        faults.append("give either prompts to ask, or responses that are there already")
    elif responses is not None:
        unused = _NOT_WITH_RESPONSES & given | ({"variants"} if variants is not None else set())
        if unused:
            names = ", ".join(sorted(unused))
            faults.append(f"responses are supplied, so nobody is asked: leave out {names}")
        if rewrite_only:
            faults.append("responses are supplied, so nothing is rewritten: leave out rewrite-only")
    elif "condition" in given:
        faults.append("condition says where supplied responses carry theirs: leave out condition")
    if variants is not None and responses is None:
        unused = given & {"rewriters", "framings"}
        if unused:
            names = ", ".join(sorted(unused))
            faults.append(f"variants are supplied, so nothing is rewritten: leave out {names}")
        if rewrite_only:
            faults.append("variants are supplied, so nothing is rewritten: leave out rewrite-only")
    if faults:
        raise InputError(faults)


_NOT_WITH_RESPONSES = {
    "targets", "rewriters", "framings", "track", "effort", "words", "regenerate",
}  # fmt: skip


def read_plan_variants(path: str | Path, prompts: Prompts, plan: StressPlan) -> VariantSet:
    """The variants of a file, for these prompts.

    Raises:
        InputError: with every fault of the file; a condition called like the baseline.
    """
    from ..records.variants import read_variants

    found = read_variants(path, prompts.texts)
    if plan.baseline in found.conditions:
        raise InputError(f"variants: a condition is called {plan.baseline!r} like the baseline")
    return found
