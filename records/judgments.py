"""The judgments of a run as arrays: one element a planned judgment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError, InputFault
from .run_folder import JUDGMENTS_FILE
from .types import STATUSES

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of names as codes.

    Attributes:
        names: in order of appearance.
        codes: shape (judgments,), places in `names`.
    """

    names: tuple[str, ...]
    codes: Codes

    @property
    def n(self) -> int:
        """How many names there are."""
        return len(self.names)


@dataclass(frozen=True)
class JudgmentTable:
    """The rows of judgments.parquet; a response's rows follow one another.

    Attributes:
        criteria: what was scored.
        response_ids: one a response, in order.
        start: shape (responses + 1,), where the rows of each response begin.
        persona, axis, model, status, reason: names by judgment; no reason is "".
        repeat: which asking of the judge.
        is_repaired: whether a second ask was needed.
        scores: shape (judgments, criteria); nan where there is none.
    """

    criteria: tuple[str, ...]
    response_ids: tuple[str, ...]
    start: npt.NDArray[np.int64]
    persona: Coded
    axis: Coded
    model: Coded
    status: Coded
    reason: Coded
    repeat: Codes
    is_repaired: npt.NDArray[np.bool_]
    scores: Floats

    @property
    def n_judgments(self) -> int:
        """Judgments planned."""
        return int(self.start[-1])

    @property
    def n_responses(self) -> int:
        """Responses with at least one planned judgment."""
        return len(self.response_ids)

    @cached_property
    def response(self) -> Codes:
        """Shape (judgments,): place of the response."""
        return np.repeat(np.arange(self.n_responses, dtype=np.int32), np.diff(self.start))

    @cached_property
    def counts(self) -> dict[str, int]:
        """Status to number of judgments, every status named."""
        return self.counts_where(np.ones(self.n_judgments, dtype=bool))

    @cached_property
    def faults(self) -> dict[tuple[str, str], int]:
        """(status, reason) to number of judgments neither scored nor abstained."""
        pairs = self.status.codes.astype(np.int64) * max(1, self.reason.n) + self.reason.codes
        found: dict[tuple[str, str], int] = {}
        for pair, number in zip(*np.unique(pairs, return_counts=True), strict=True):
            status = self.status.names[int(pair) // self.reason.n]
            reason = self.reason.names[int(pair) % self.reason.n]
            if status not in ("scored", "abstained") and reason != "absent":
                found[status, reason or "no reason given"] = int(number)
        return found

    @cached_property
    def values(self) -> Floats:
        """Shape (judgments, 1 + criteria): composite and criteria of what is scored, else nan.

        Abstained ones keep their numbers in the table, and enter no mean.
        """
        is_scored = np.isin(self.status.codes, [self._code_of("scored")])
        whole = np.where(is_scored[:, None], self.scores, np.nan)
        composite = whole.mean(axis=1, keepdims=True) if len(self.criteria) else whole
        values = np.hstack([composite, whole])
        values[np.isnan(composite[:, 0])] = np.nan
        return values

    @cached_property
    def is_planned(self) -> npt.NDArray[np.bool_]:
        """Shape (judgments,): all but those that an imported table has no row of."""
        absent = [code for code, name in enumerate(self.reason.names) if name == "absent"]
        return np.asarray(~np.isin(self.reason.codes, absent), dtype=bool)

    def counts_where(self, mask: npt.NDArray[np.bool_]) -> dict[str, int]:
        """`counts` of some of the judgments."""
        planned = self.status.codes[mask & self.is_planned]
        numbers = np.bincount(planned, minlength=self.status.n)
        found = dict.fromkeys(STATUSES, 0)
        return found | {
            name: int(n) for name, n in zip(self.status.names, numbers, strict=True) if n
        }

    def by_group(self, codes: Codes, n_groups: int) -> Floats:
        """Shape (groups, responses, 1 + criteria): means over a group's scored judgments.

        nan where the group scored nothing of the response.
        """
        n = self.n_responses
        key = codes.astype(np.int64) * n + self.response
        is_known = ~np.isnan(self.values[:, 0])
        key, values = key[is_known], self.values[is_known]
        number = np.bincount(key, minlength=n_groups * n)
        table = np.full((n_groups * n, values.shape[1]), np.nan)
        has = number > 0
        for column in range(values.shape[1]):
            total = np.bincount(key, weights=values[:, column], minlength=n_groups * n)
            table[has, column] = total[has] / number[has]
        return table.reshape(n_groups, n, self.values.shape[1])

    def _code_of(self, status: str) -> int:
        return self.status.names.index(status) if status in self.status.names else -1


def read_judgment_table(folder: str | Path, criteria: Sequence[str]) -> JudgmentTable:
    """The judgments of a run folder.

    Raises:
        InputError: there is no such table, or it lacks a column.
    """
    table = _columns(
        folder,
        [
            "response_id",
            "persona",
            "axis",
            "model",
            "status",
            "reason",
            "repeat",
            "repaired",
            *criteria,
        ],
    )
    ids = _coded(table["response_id"])
    new = np.flatnonzero(np.diff(ids.codes, prepend=-1))
    scores = [table[name].to_numpy(zero_copy_only=False) for name in criteria]
    return JudgmentTable(
        criteria=tuple(criteria),
        response_ids=tuple(ids.names[code] for code in ids.codes[new]),
        start=np.append(new, len(ids.codes)).astype(np.int64),
        persona=_coded(table["persona"]),
        axis=_coded(table["axis"]),
        model=_coded(table["model"]),
        status=_coded(table["status"]),
        reason=_coded(table["reason"]),
        repeat=table["repeat"].to_numpy(zero_copy_only=False).astype(np.int32),
        is_repaired=table["repaired"].to_numpy(zero_copy_only=False).astype(bool),
        scores=np.column_stack(scores).astype(np.float64)
        if scores
        else np.empty((len(ids.codes), 0)),
    )


def read_said(folder: str | Path) -> tuple[list[str | None], list[str | None]]:
    """(details, rationales) by judgment, in the order of the table.

    Raises:
        InputError: there is no such table, or it lacks a column.
    """
    table = _columns(folder, ["detail", "rationale"])
    return table["detail"].to_pylist(), table["rationale"].to_pylist()


def _columns(folder: str | Path, names: list[str]) -> dict[str, Any]:
    import pyarrow.parquet as parquet

    path = Path(folder) / JUDGMENTS_FILE
    try:
        # Without threads: the numbers of a page do not depend on them, and a small run is faster.
        table = parquet.read_table(path, columns=names, use_threads=False)
        return {name: table.column(name).combine_chunks() for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error


def _coded(column: Any) -> Coded:
    from pyarrow import compute

    filled = compute.fill_null(column, "").dictionary_encode()
    return Coded(
        names=tuple(str(name) for name in filled.dictionary.to_pylist()),
        codes=filled.indices.to_numpy(zero_copy_only=False).astype(np.int32),
    )
