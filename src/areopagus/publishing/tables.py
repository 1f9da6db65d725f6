"""A run's table for publishing: its variables with their texts, its rows, and why numbers miss.

Both the files for SPSS and Stata and the codebook are made of it, so that a code means the same in
each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import InputError
from ..records.run_folder import JUDGMENTS_FILE, read_run_file
from ..records.tables import read_texts, score_frame
from ..records.variables import (
    MISSING,
    PROMPT_TEXT,
    RESPONSE_TEXT,
    Variable,
    judgment_variables,
    score_variables,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..personas import Persona
    from ..rubrics import Rubric

TableName = Literal["scores", "judgments"]
TABLES: Final = ("scores", "judgments")
UNITS: Final = {"scores": "response", "judgments": "judgment"}
CHUNK_ROWS: Final = 100_000

LETTERS: Final = {
    "abstained": "a",
    "refused": "r",
    "unreadable": "u",
    "failed": "f",
    "not_asked": "n",
    "inconclusive": "i",
    "screened": "s",
    "not_measured": "m",
}
"""Stata's extended missing values: .a is an abstained judgment."""

_BASES: Final = (90, 990, 9_990, 99_990, 999_990)
_OWN_WORDS: Final = ("detail", "rationale")
"""Columns that may quote what was judged."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """One of a run's two tables, with what its columns mean.

    Attributes:
        folder: of the run.
        record: its run.json.
        name: which table.
        variables: its columns, in order.
        texts: whether texts, and what may quote them, are among them.
    """

    folder: Path
    record: Mapping[str, Any]
    name: TableName
    variables: tuple[Variable, ...]
    texts: bool

    def chunks(self) -> Iterator[pd.DataFrame]:
        """The rows, some at a time, with one column a variable, and numbers as floats.

        A number that is missing is nan; a judgment that is not scored has none, whatever the reply
        held.
        """
        rows = self._score_rows() if self.name == "scores" else self._judgment_rows()
        for frame in rows:
            if self.texts:
                _add_texts(self.folder, frame)
            for one in self.variables:
                if one.is_numeric:
                    frame[one.name] = frame[one.name].astype("float64")
                if one.missing == "judgment":
                    frame.loc[frame["status"] != "scored", one.name] = math.nan
            yield frame[[one.name for one in self.variables]]

    def why_missing(self, variable: Variable, frame: pd.DataFrame) -> pd.Series[Any]:
        """Why each number of a variable is missing, by the names of `MISSING`; None of the others.

        All None for a variable whose numbers have no reasons, such as those that the input carried.
        """
        import pandas as pd

        if not variable.reasons:
            return pd.Series(None, index=frame.index, dtype=object)
        reasons = pd.Series("not_measured", index=frame.index, dtype=object)
        if variable.missing in ("judgment", "response"):
            status = frame["status"].astype(object)
            reasons = status.where(status.isin(variable.reasons), "not_measured")
        return reasons.where(frame[variable.name].isna(), None)

    def _score_rows(self) -> Iterator[pd.DataFrame]:
        yield score_frame(self.folder)

    def _judgment_rows(self) -> Iterator[pd.DataFrame]:
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.folder / JUDGMENTS_FILE) as file:
            for batch in file.iter_batches(batch_size=CHUNK_ROWS):
                frame: pd.DataFrame = batch.to_pandas()
                frame["repaired"] = frame["repaired"].map({True: "yes", False: "no"})
                yield frame


def run_table(
    folder: Path,
    name: TableName,
    *,
    texts: bool = False,
    folders: Sequence[str | Path] = (),
) -> RunTable:
    """The table of a run.

    Args:
        folder: the run folder.
        name: "scores", one row a response, or "judgments", one row a planned judgment.
        texts: whether prompts and responses are among the columns, and what judges wrote.
        folders: where the files of the rubric and the personas are looked for, before the built-in
            ones. Those that the run had give the columns their labels and texts.

    Raises:
        InputError: no such table, or the folder holds none.
    """
    if name not in TABLES:
        raise InputError(f"`table` must be one of {', '.join(TABLES)}, got {name!r}")
    record = read_run_file(folder, kind="panel")
    if name == "scores":
        frame = score_frame(folder)
        numeric = [str(one) for one in frame.select_dtypes("number").columns]
        variables = score_variables(record, [str(one) for one in frame.columns], numeric)
    else:
        variables = judgment_variables(record)
        if not texts:
            variables = [one for one in variables if one.name not in _OWN_WORDS]
    if texts:
        taken = {one.name for one in variables}
        variables += [one for one in (PROMPT_TEXT, RESPONSE_TEXT) if one.name not in taken]
    rubric, personas = run_texts(folder, folders)
    described = tuple(_described(one, rubric, personas) for one in variables)
    return RunTable(folder, record, name, described, texts)


def run_texts(
    folder: Path, folders: Sequence[str | Path] = ()
) -> tuple[Rubric | None, dict[str, Persona]]:
    """The rubric and personas of a run as it had them, where their files are found.

    A file of another content than the run's is not taken for it.

    Args:
        folder: the run folder.
        folders: where files are looked for before the built-in ones.
    """
    from ..personas import load_persona
    from ..rubrics import load_rubric

    identity = read_run_file(folder).get("identity", {})
    rubric = None
    named = identity.get("rubric") or {}
    try:
        found = load_rubric(named["id"], folders)
        rubric = found if found.sha256 == named.get("sha256") else None
    except (InputError, KeyError):
        pass
    personas: dict[str, Persona] = {}
    for name, sha256 in identity.get("personas", {}).items():
        try:
            one = load_persona(name, folders)
        except InputError:
            continue
        if one.sha256 == sha256:
            personas[name] = one
    return rubric, personas


class SpssCodes:
    """Numbers for missing values, which stand below every number of a table."""

    def __init__(self, table: RunTable) -> None:
        """Begins with the lower end of the run's scale."""
        self._table = table
        self.lowest = float(min(table.record["identity"]["scale"]))

    def add(self, frame: pd.DataFrame) -> None:
        """Takes the numbers of the variables that have codes."""
        for one in self._table.variables:
            if one.reasons and (least := frame[one.name].min()) < self.lowest:
                self.lowest = float(least)

    def codes(self) -> dict[str, int]:
        """Reason to its code in SPSS: -91 to -98; from -991 on where numbers are as low as that.

        Ends of intervals are not cut to the scale: those of few models lie far below it.
        """
        base = next((one for one in _BASES if self.lowest > -one), _BASES[-1] * 1000)
        return {name: -(base + place) for place, name in enumerate(MISSING, start=1)}


def _described(one: Variable, rubric: Rubric | None, personas: Mapping[str, Persona]) -> Variable:
    if one.of == "criterion":
        found = next((d for d in rubric.dimensions if d.id == one.source), None) if rubric else None
        if found is None:
            return replace(one, source="")
        return replace(one, label=found.label, source=f"{found.definition} {found.question}")
    if one.of == "persona" and one.source:
        persona = personas.get(one.source)
        return replace(one, source="" if persona is None else in_short(persona.description))
    if one.name == "persona":
        values = {
            name: in_short(personas[name].description) if name in personas else ""
            for name in one.values
        }
        return replace(one, values=values)
    return replace(one, source="")


def in_short(description: str) -> str:
    """The first sentence of a description."""
    head, stop, _ = " ".join(description.split()).partition(". ")
    return head + "." if stop else head


def _add_texts(folder: Path, frame: pd.DataFrame) -> None:
    found = read_texts(folder, frame["response_id"])
    for place, name in enumerate(("prompt_text", "response_text")):
        if name not in frame:
            frame[name] = [
                found[one][place] if one in found else None for one in frame["response_id"]
            ]
