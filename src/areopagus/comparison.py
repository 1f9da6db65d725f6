"""`Comparison`: who scores higher and by how much, within a panel run or between several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .calibrated import people_sentence
from .compared import MOST_RUNS, compared, compared_instruments, judged, scale_of
from .errors import InputError, InputFault
from .formats import units, words
from .panel_estimates import add_model_scores
from .records.estimates import Estimates
from .records.prompt_units import shared_texts_told, units_of_runs
from .records.run_folder import panel_of
from .records.tables import read_texts
from .reports.comparison import ComparedRun, comparison_document
from .reports.weak_models import weak_models
from .shown import Shown

if TYPE_CHECKING:
    import pandas as pd

    from .reports.document import Document


class JudgedRun(Protocol):
    """What a comparison needs of a panel run: `areopagus.Run` is one."""

    @property
    def path(self) -> Path:
        """Its folder."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """The content of run.json."""
        ...

    @property
    def tables_folder(self) -> Path:
        """Where its tables are read: an excerpt of a very long run."""
        ...

    @property
    def part(self) -> str | None:
        """What these hold of a very long run; None where it is all."""
        ...

    @property
    def score_rows(self) -> list[dict[str, str]]:
        """The rows of scores.csv."""
        ...


class Comparison(Shown):
    """What `compare` found, as figures and as a document.

    Attributes:
        runs: the runs, in the order given.
        names: of the runs, told apart.
        is_one_panel: whether one panel judged all of them.
        found: what was found.
    """

    def __init__(
        self,
        runs: Sequence[JudgedRun],
        *,
        by: str | None = None,
        baseline: str | None = None,
        margin: float | None = None,
    ) -> None:
        """Reads the runs and compares; see `areopagus.compare`."""
        if not 1 <= len(runs) <= MOST_RUNS:
            raise InputError(f"a comparison takes 1 to {MOST_RUNS} runs, got {len(runs)}")
        self.runs = tuple(runs)
        self.names = _names([run.path for run in self.runs])
        self._require_one_scale()
        identities = [panel_of(run.record["identity"]) for run in self.runs]
        self.is_one_panel = all(one == identities[0] for one in identities)
        self._different = [set[str]() for _ in self.runs]
        self._units = units_of_runs([run.score_rows for run in self.runs])
        tables = [
            judged(name, run.tables_folder, run.record, run.score_rows)
            for name, run in zip(self.names, self.runs, strict=True)
        ]
        self._weak: dict[str, str] = {}
        for one in tables:
            scores = Estimates()
            add_model_scores(scores, one.table)
            self._weak |= weak_models(scores.frame())
        if self.is_one_panel:
            if len(tables) > 1 and by in (None, "run") and baseline is None:
                baseline = self._first_of(tables)
            self.found = compared(tables, by=by, baseline=baseline, margin=margin)
        else:
            self._require_runs_as_sides(by, baseline)
            self._different = [different_texts(self.runs[0], run) for run in self.runs]
            self.found = compared_instruments(
                self.names, [run.score_rows for run in self.runs], self._different,
                scale=scale_of(self.runs[0].record), margin=margin,
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' '.join(self.document().headline[:1])})"

    def _first_of(self, tables: Sequence[Any]) -> str | None:
        """The first run as the baseline, where runs are the sides."""
        shared = set.intersection(*({*one.of_responses("respondent_id")} for one in tables))
        return self.names[0] if shared else None

    def _require_one_scale(self) -> None:
        scales = {tuple(run.record["identity"]["scale"]) for run in self.runs}
        if len(scales) > 1:
            told = ", ".join(f"{low:g} to {high:g}" for low, high in sorted(scales))
            raise InputError(
                [InputFault(str(self.runs[0].path), f"the runs have different scales: {told}")]
            )

    def _require_runs_as_sides(self, by: str | None, baseline: str | None) -> None:
        faults = []
        told = "the runs were judged by different panels, so that only whole runs are compared"
        if by not in (None, "run"):
            faults.append(InputFault("by", f"must be left out: {told}"))
        if baseline not in (None, self.names[0]):
            faults.append(InputFault("baseline", f"must be the first run, {self.names[0]}: {told}"))
        if faults:
            raise InputError(faults)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Every figure: the tables `comparison`, `comparison by model` and `ranking`."""
        found = Estimates()
        self.found.add_to(found)
        return found.frame()

    def document(self) -> Document:
        """What is shown: who scores higher, the differences, what differs between the runs."""
        found = self.found
        heads = {name: words(name) for name in found.criteria}
        notices = self._same_texts()
        for name, run in zip(self.names, self.runs, strict=True):
            if run.part:
                notices.append(f"{name} is long: what is compared is of {run.part}.")
        for name, changed in zip(self.names, self._different, strict=True):
            if changed:
                notices.append(
                    "Responses with the same id and another text, which are not paired: "
                    f"{len(changed):,} in {name}."
                )
        held: dict[tuple[str, str], dict[str, float]] = {
            pair: {
                found.prompts[int(k)]: float(value)
                for k, value in zip(differences[0].prompts, differences[0].by_prompt, strict=True)
            }
            for pair, differences in found.pairs.items()
            if pair[1] == found.baseline
        }
        return comparison_document(
            [
                ComparedRun(name, run.path, run.record, people_sentence(run.path))
                for name, run in zip(self.names, self.runs, strict=True)
            ],
            self.estimates,
            heads=heads,
            by_prompt=held,
            is_one_panel=self.is_one_panel,
            weak=self._weak,
            notices=notices,
        )

    def _same_texts(self) -> list[str]:
        """Which prompts are one for their text, under several ids of a run or of several."""
        told = []
        first = self._units[0]
        several = len(self.runs) > 1
        for name, unit_of in zip(self.names, self._units, strict=True):
            if shared := shared_texts_told(unit_of):
                told.append(f"{name}: {shared}" if several else shared)
            paired = {unit for one, unit in unit_of.items() if one not in first}
            if n := len(paired.intersection(first.values())):
                told.append(f"{name}: {units(n, 'prompt')} paired by the text, under another id.")
        return told

    def write_report(self, out: str | Path, *, figures: bool = True) -> Path:
        """Writes the page, its pictures beside it, and returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        from .reports.html import write_page

        return write_page(out, self.document(), figures=figures)


def _names(paths: Sequence[Path]) -> list[str]:
    names = [path.resolve().name for path in paths]
    return [
        name if names.count(name) == 1 else f"{name} ({place + 1})"
        for place, name in enumerate(names)
    ]


def different_texts(first: JudgedRun, other: JudgedRun) -> set[str]:
    """The ids under which the two judged different texts."""
    hashes = [run.record["identity"].get("responses_sha256") for run in (first, other)]
    if hashes[0] == hashes[1]:
        return set()
    ids = [row["response_id"] for row in first.score_rows]
    here, there = read_texts(first.path, ids), read_texts(other.path, ids)
    return {name for name, text in here.items() if name in there and there[name] != text}
