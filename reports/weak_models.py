"""Which judge models are not shown to tell responses apart, and what an answer says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from ..aggregation.telling_apart import (
    HARDLY_VARIES,
    LIKE_CHANCE,
    PERSONAS,
    REPEATS,
    between_responses,
    most_frequent_score,
)
from ..formats import listed_all, p_value, percent, short, units
from ..records.estimates import ESTIMATES_FILE, estimates_by, read_estimates, select

if TYPE_CHECKING:
    import pandas as pd

    from ..records.estimates import Estimates
    from ..records.judgments import JudgmentTable
    from .document import Document

TABLE: Final = "model scores"

_THAN: Final = {
    REPEATS: "between responses than when the same response is scored again",
    PERSONAS: "between responses than between personas on the same response",
}


def add_model_scores(found: Estimates, table: JudgmentTable) -> None:
    """Adds whether each model tells responses apart: see `aggregation.telling_apart`."""
    composite = table.values[:, 0]
    for code, name in enumerate(table.model.names):
        mine = np.isfinite(composite) & (table.model.codes == code)
        scores, response = composite[mine], table.response[mine]
        share = most_frequent_score(scores, response)
        ratio = between_responses(scores, response, table.persona.codes[mine])
        found.add(TABLE, "most frequent score", share, model=name)
        found.add(TABLE, "between responses", ratio, model=name)


def weak_models(estimates: pd.DataFrame) -> dict[str, str]:
    """Model to why it is not shown to tell responses apart, as the end of a sentence."""
    weak: dict[str, str] = {}
    for at, figures in estimates_by(select(estimates, TABLE), ["model"]):
        share, ratio = figures["most frequent score"], figures["between responses"]
        name = str(at["model"])
        if share.verdict == HARDLY_VARIES:
            value = share.method.removeprefix("share of ")
            part = "all" if share.value == 1 else percent(share.value)
            weak[name] = f"{part} of its {units(share.n, 'score')} are {value}"
        elif ratio.verdict == LIKE_CHANCE:
            than = _THAN[ratio.method]
            weak[name] = f"its scores differ no more {than} (p {p_value(ratio.p)})"
    return weak


def _not_shown(weak: Mapping[str, str], n_models: int) -> str:
    """That models are not shown to tell responses apart, as the end of a sentence."""
    if n_models == 1:
        who = f"{short(next(iter(weak)))} is not shown"
    elif len(weak) == n_models:
        who = f"none of {n_models} models is shown"
    else:
        who = f"{len(weak)} of {n_models} models {'is' if len(weak) == 1 else 'are'} not shown"
    return f"{who} to tell responses apart."


def with_weak_models(headline: Sequence[str], weak: Mapping[str, str], n_models: int) -> list[str]:
    """Who scores higher; the first sentence says which models are not shown to tell that."""
    if not weak:
        return list(headline)
    first, *others = headline
    return [f"{first.removesuffix('.')}, but {_not_shown(weak, n_models)}", *others]


def with_caution(document: Document, panel: Path, n_models: int) -> Document:
    """The document of a job, whose second sentence is of the weak models of its panel.

    Args:
        document: of the job.
        panel: the folder of the panel's run.
        n_models: of the panel.
    """
    if not (panel / ESTIMATES_FILE).is_file():
        return document
    weak = weak_models(read_estimates(panel))
    if not weak:
        return document
    first, *others = document.headline
    return replace(
        document,
        headline=[first, f"But {_not_shown(weak, n_models)}", *others],
        trust=[*weak_models_line(weak), *document.trust],
    )


def weak_models_line(weak: Mapping[str, str]) -> list[tuple[str, str]]:
    """The line of what an answer rests on that says why, of each such model."""
    return (
        [("caution", listed_all([f"{name}: {why}" for name, why in weak.items()]))] if weak else []
    )
