"""People check the readings: answers drawn for them to read, and how far they agree with the audit.

for_people.csv    answer_id, prompt_text, response_text, and a column to fill in, by people who
                  see neither the model nor what the audit has read
estimates         table `people`: share read alike, Cohen's kappa, and people among themselves
"""

from __future__ import annotations

import csv
import heapq
import math
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Final

from ..aggregation.agreement import cohen_kappa
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.proportions import wilson
from ..errors import InputError, InputFault
from ..records.estimates import Estimates
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from .answers_table import AnswersTable
from .definition import Definition

FOR_PEOPLE_FILE: Final = "for_people.csv"
_READ: Final = ("classified", "unclassified", "unreadable", "refused")
_SHOWN: Final = 20


def write_for_people(definition: Definition, answers: AnswersTable, n: int, seed: int) -> Path:
    """Draws so many distinct answers and writes them for people to read.

    The draw goes by a hash of the answer and the seed: more answers hold the fewer.

    Raises:
        StoreError: the folder cannot be written.
    """
    drawn = heapq.nsmallest(
        n, ((sha256(f"{seed}|{key}".encode()).hexdigest(), key, *texts)
            for key, *texts in _distinct(answers)),
    )  # fmt: skip
    path = answers.folder / FOR_PEOPLE_FILE
    column = definition.people
    with csv_table(path, ["answer_id", "prompt_text", "response_text", column]) as writer:
        for _, key, prompt, response in drawn:
            writer.write([key, writable(prompt), writable(response), ""])
    return path


def answer_id(prompt: str, response: str) -> str:
    """The same for the same answer to the same prompt."""
    text = f"{prompt}\x1f{response}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def people_estimates(definition: Definition, answers: AnswersTable, file: str | Path) -> Estimates:
    """How far people agree with the audit's readings, and with each other.

    Args:
        definition: of the audit.
        answers: of the run.
        file: what came back: answer_id, the column of `Definition.people`, and optionally rater.

    Raises:
        InputError: a file that cannot be read, or holds no answer of this run.
    """
    given = _readings(Path(file), definition.people)
    ours: dict[str, str] = {}
    for row in answers.rows("prompt_text", "response_text", definition.people):
        if row["response_text"] is not None:
            key = answer_id(row["prompt_text"], row["response_text"])
            if key in given and row[definition.people] is not None:
                ours[key] = _plain(row[definition.people])
    if not ours:
        fault = "holds no reading of an answer that this run has read"
        raise InputError([InputFault(str(file), fault, "answer_id")])
    # Of several people the first alone: two readings of one answer are not two answers.
    pairs = [(given[key][0], value) for key, value in ours.items()]
    found = Estimates()
    _add(found, "audit", pairs)
    among = [pair for values in given.values() for pair in list(combinations(values, 2))[:1]]
    if among:
        _add(found, "people", among)
    return found


def _add(found: Estimates, factor: str, pairs: list[tuple[str, str]]) -> None:
    n = len(pairs)
    same = wilson(sum(one == other for one, other in pairs), n, unit="answer").of("share")
    kappa = cohen_kappa([one for one, _ in pairs], [other for _, other in pairs])
    method = "Cohen's kappa"
    found.add("people", "same", same, factor=factor)
    found.add(
        "people", "kappa",
        undefined("both gave one value only", unit="answer", method=method, n=n)
        if math.isnan(kappa) else Estimate(kappa, n=n, unit="answer", method=method),
        factor=factor,
    )  # fmt: skip


def _distinct(answers: AnswersTable) -> Iterator[tuple[str, str, str]]:
    seen: set[str] = set()
    for row in answers.rows("prompt_text", "response_text", "status"):
        if row["status"] in _READ and row["response_text"]:
            key = answer_id(row["prompt_text"], row["response_text"])
            if key not in seen:
                seen.add(key)
                yield key, row["prompt_text"], row["response_text"]


def _readings(file: Path, column: str) -> dict[str, list[str]]:
    """Answer to what people read in it, one value a person."""
    found: dict[str, dict[str, str]] = {}
    faults: list[InputFault] = []
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = csv.DictReader(lines)
            faults += [
                InputFault(str(file), f"has no column {name}")
                for name in ("answer_id", column)
                if name not in (rows.fieldnames or ())
            ]
            for row in rows if not faults else ():
                value = (row[column] or "").strip()
                if not value:
                    continue
                rater = (row.get("rater") or "").strip()
                mine = found.setdefault((row["answer_id"] or "").strip(), {})
                if rater in mine and len(faults) < _SHOWN:
                    fault = "is read twice by one person (name people in a column rater)"
                    faults.append(InputFault(f"{file}:{rows.line_num}", fault, "answer_id"))
                mine[rater] = _plain(value)
    except (OSError, ValueError, csv.Error) as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
    if faults:
        raise InputError(faults)
    return {key: [values[name] for name in sorted(values)] for key, values in found.items()}


def _plain(value: object) -> str:
    """A value as people write it: 85 for 85.0, without capitals."""
    text = str(value).strip()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text.casefold()
