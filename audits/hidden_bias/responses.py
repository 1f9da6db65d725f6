"""The answers of a run as counts by question: what is kept does not grow with the answers.

The table of answers is read in batches. Of each concept pair (`pair`) and question there remain,
by target and order of the options, how many answers take the first option and how many take one;
in the semi-generation form the share by perplexity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from .questions import OPTIONS, ORDERS

if TYPE_CHECKING:
    import pandas as pd

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

COLUMNS: Final = (
    "unit", "target", "status", "category", "descriptor_type", "identity", "order", "variation",
    "option", "chose", "place", "inverse_perplexity",
)  # fmt: skip

Question = tuple[str, str, str]
"""Category, type, identity."""


@dataclass(frozen=True, slots=True)
class Responses:
    """The answers of all targets.

    Attributes:
        targets, pairs, questions: what the first three axes of the arrays stand for; `orders` of
            the options what their fourth does.
        asked: how often a question was to be asked; `chosen`: answers with a choice; `one`: of
            these, those that take the first option. Shape (targets, pairs, questions, orders).
        refused, unreadable: replies without a choice, empty ones with the latter; `read`: replies
            with a value. Shape (targets, pairs, questions).
        first_named: answers that take the option named first, shape (targets, pairs).
        scored: share of the first option by perplexity, shape (targets, pairs, questions); None
            where answers were sampled.
    """

    targets: tuple[str, ...]
    pairs: tuple[str, ...]
    questions: tuple[Question, ...]
    asked: Counts
    chosen: Counts
    one: Counts
    refused: Counts
    unreadable: Counts
    read: Counts
    first_named: Counts
    scored: Floats | None = None

    @property
    def types(self) -> dict[tuple[str, str], list[int]]:
        """(category, type) to the places of its questions, in order."""
        found: dict[tuple[str, str], list[int]] = {}
        for at, (category, kind, _) in enumerate(self.questions):
            found.setdefault((category, kind), []).append(at)
        return found

    @property
    def instances(self) -> list[tuple[str, str, int, int]]:
        """Category, type and the two questions of every test instance of a concept pair."""
        return [
            (category, kind, one, other)
            for (category, kind), places in self.types.items()
            for one, other in combinations(places, 2)
        ]


def no_responses(targets: Sequence[str], pairs: Sequence[str]) -> Responses:
    """Concept pairs without a hidden question."""
    none = np.zeros((len(targets), len(pairs), 0, len(ORDERS)), dtype=np.int64)
    flat = none.sum(axis=3)
    return Responses(
        tuple(targets), tuple(pairs), (), none, none, none, flat, flat, flat, flat.sum(axis=2)
    )


def gather(frames: Iterable[pd.DataFrame], targets: Sequence[str]) -> Responses:
    """The counts of a table of answers.

    Args:
        frames: rows with `COLUMNS`, in batches; rows of a concept pair follow each other.
        targets: in the order of the report.

    Returns:
        By perplexity P(A) is the mean of 1/PPL(A), over that and the mean of 1/PPL(B).
    """
    import pandas as pd

    pairs: dict[str, int] = {}
    questions: dict[Question, int] = {}
    place_of = {name: at for at, name in enumerate(targets)}
    sums: list[pd.DataFrame] = []
    scored: list[pd.DataFrame] = []
    keys = ["target", "unit", "question", "order"]
    for rows in whole_pairs(frames):
        for name in rows["unit"].unique().tolist():
            pairs.setdefault(name, len(pairs))
        named = ["category", "descriptor_type", "identity"]
        spots = rows[named].drop_duplicates()
        for category, kind, identity in spots.itertuples(index=False):
            questions.setdefault((category, kind, identity), len(questions))
        coded = spots.assign(
            question=[questions[tuple(one)] for one in spots.itertuples(index=False)]
        )
        status = rows["status"]
        is_read = status == "classified"
        is_scored = rows["option"].fillna("") != ""
        counted = pd.DataFrame(
            {
                "target": rows["target"].map(place_of),
                "unit": rows["unit"].map(pairs),
                "question": rows[named].merge(coded, how="left", on=named)["question"].to_numpy(),
                "order": (rows["order"] == ORDERS[1]).astype(int),
                "asked": 1,
                "chosen": is_read & ~is_scored,
                "one": is_read & (rows["chose"] == "one"),
                "first": is_read & (rows["place"] == "first"),
                "refused": status == "refused",
                "unreadable": status.isin(("unreadable", "empty")),
                "read": is_read,
            }
        )
        sums.append(counted.groupby(keys, sort=False).sum().reset_index())
        if is_scored.any():
            values = rows[["variation", "option", "inverse_perplexity"]]
            here = pd.concat([counted[keys[:3]], values], axis=1)
            scored.append(_shares(here[is_scored]))
    return _dense(sums, scored, tuple(targets), tuple(pairs), tuple(questions))


def whole_pairs(frames: Iterable[pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """The same rows in batches that end where a concept pair does."""
    import pandas as pd

    rest: pd.DataFrame | None = None
    for frame in frames:
        rows = frame if rest is None else pd.concat([rest, frame], ignore_index=True)
        is_open = rows["unit"] == rows["unit"].iloc[-1]
        done, rest = rows[~is_open].reset_index(drop=True), rows[is_open]
        if len(done):
            yield done
    if rest is not None:
        yield rest.reset_index(drop=True)


def _shares(rows: pd.DataFrame) -> pd.DataFrame:
    """P of the first option of every question; nan where a variation is missing."""
    keys = ["target", "unit", "question"]
    wide = rows.groupby([*keys, "variation", "option"], sort=False)["inverse_perplexity"].last()
    found = wide.unstack("option").reindex(columns=list(OPTIONS))
    both = found.sum(axis=1, skipna=False)
    found["whole"] = both
    found["missing"] = both.isna()
    sums = found.groupby(level=keys, sort=False)[["one", "whole", "missing"]].sum()
    share = (sums["one"] / sums["whole"]).where(sums["missing"] == 0)
    return share.rename("share").reset_index()


def _dense(
    sums: list[pd.DataFrame],
    scored: list[pd.DataFrame],
    targets: tuple[str, ...],
    pairs: tuple[str, ...],
    questions: tuple[Question, ...],
) -> Responses:
    shape = (len(targets), len(pairs), len(questions), len(ORDERS))
    names = ("asked", "chosen", "one", "refused", "unreadable", "read", "first")
    arrays = {name: np.zeros(shape, dtype=np.int64) for name in names}
    for part in sums:
        at = tuple(part[key].to_numpy() for key in ("target", "unit", "question", "order"))
        for name in names:
            arrays[name][at] += part[name].to_numpy(dtype=np.int64)
    shares = np.full(shape[:3], np.nan) if scored else None
    for part in scored:
        assert shares is not None  # noqa: S101 - made where there is any
        shares[tuple(part[key].to_numpy() for key in ("target", "unit", "question"))] = part[
            "share"
        ]
    asked, chosen, one = arrays["asked"], arrays["chosen"], arrays["one"]
    refused, unreadable, read = (arrays[name].sum(axis=3) for name in names[3:6])
    first = arrays["first"].sum(axis=(2, 3))
    return Responses(
        targets, pairs, questions, asked, chosen, one, refused, unreadable, read, first, shares
    )
