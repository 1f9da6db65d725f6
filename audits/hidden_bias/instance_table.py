"""instances.csv: every test instance as a row, with P by option and its own test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ...records.run_folder import csv_table
from ...records.spreadsheets import writable
from .dataset import ConceptPair
from .estimates import instances_of
from .responses import Responses

INSTANCES_FILE: Final = "instances.csv"
HEADER: Final = (
    "pair", "target", "category", "descriptor_type", "identity_one", "identity_two",
    "concept_a", "concept_b", "n_one", "n_two", "p_one", "p_two", "refused_one", "refused_two",
    "unreadable_one", "unreadable_two", "score", "p_value",
)  # fmt: skip
"""`p_one`, `p_two`: P1(A) and P2(A), share of the option that shows `concept_a` with each identity;
`n_one`, `n_two`: answers with a choice behind them, missing where nothing was sampled; `score`: S
in points; `p_value`: of the instance's own exact test, uncorrected."""


def write_instances(
    path: Path, responses: Responses, *, pairs: Mapping[str, ConceptPair] | None = None
) -> int:
    """Writes the table and returns how many rows it has.

    Args:
        path: the file, which takes its place when all is written.
        responses: the counts of all targets.
        pairs: id to concept pair, for the names of the concepts.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    number = 0
    found = [instances_of(responses, at, 100.0) for at in range(len(responses.targets))]
    with csv_table(path, HEADER) as writer:
        for row, pair in enumerate(responses.pairs):
            named = (pairs or {}).get(pair)
            concepts = (named.concept_one, named.concept_two) if named else ("", "")
            for at, target in enumerate(responses.targets):
                one = found[at]
                for column, (category, kind, a, b) in enumerate(responses.instances):
                    place = (row, column)
                    if not one.is_planned[place]:
                        continue
                    counts = None if one.counts is None else one.counts[place].tolist()
                    cells = (
                        pair, target, category, kind,
                        responses.questions[a][2], responses.questions[b][2], *concepts,
                        *((None, None) if counts is None else (counts[1], counts[3])),
                        *(_known(value) for value in (one.one[place], one.two[place])),
                        *(int(responses.refused[at, row, spot]) for spot in (a, b)),
                        *(int(responses.unreadable[at, row, spot]) for spot in (a, b)),
                        _known(one.score[place]), _known(one.p[place]),
                    )  # fmt: skip
                    writer.write(["" if cell is None else writable(cell) for cell in cells])
                    number += 1
    return number


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 10)
