"""Every test instance as a row of instances.csv, written as a stream: P by option, and its test."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ...records.run_folder import csv_table
from ...records.spreadsheets import writable
from .answers import Answers, Question
from .material import ConceptPair
from .tally import Instance, instances_of, scored_instances

HEADER = (
    "pair", "target", "category", "descriptor_type", "identity_one", "identity_two",
    "concept_a", "concept_b", "n_one", "n_two", "p_one", "p_two", "refused_one", "refused_two",
    "unreadable_one", "unreadable_two", "score", "p_value",
)  # fmt: skip
"""`p_one`, `p_two`: P1(A) and P2(A), share of the option that shows `concept_a` with each identity;
`n_one`, `n_two`: answers with a choice behind them, missing where nothing was sampled; `score`: S
in points; `p_value`: of the instance's own exact test, uncorrected."""

Cell = str | int | float | None


def write_instances(
    path: Path,
    concepts: Iterable[tuple[str, Mapping[str, Answers]]],
    targets: Sequence[str],
    *,
    normalised: str = "mean",
    pairs: Mapping[str, ConceptPair] | None = None,
) -> int:
    """Writes the table and returns how many rows it has; one concept pair is held at a time.

    Args:
        path: the file, which takes its place when all is written.
        concepts: concept pair, and target to its answers; see `answers.by_concept`.
        targets: their names, in the order of the report.
        normalised: how perplexities become shares.
        pairs: id to concept pair, for the names of the concepts.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    number = 0
    with csv_table(path, HEADER) as writer:
        for pair, found in concepts:
            named = (pairs or {}).get(pair)
            concept = (named.concept_one, named.concept_two) if named else ("", "")
            for target in targets:
                for row in _rows(found[target], normalised):
                    cells = (pair, target, *row[:4], *concept, *row[4:])
                    writer.write(["" if cell is None else writable(cell) for cell in cells])
                    number += 1
    return number


def _rows(answers: Answers, normalised: str) -> Iterator[tuple[Cell, ...]]:
    for one in instances_of(answers.strata()):
        yield _row(one, answers)
    for one in scored_instances(answers.scored_shares(normalised=normalised)):
        yield _row(one, answers)


def _row(one: Instance, answers: Answers) -> tuple[Cell, ...]:
    questions: list[Question] = [(one.category, one.type, identity) for identity in one.identities]
    n_one, n_two = (None, None) if one.counts is None else (one.counts[1], one.counts[3])
    return (
        one.category, one.type, *one.identities, n_one, n_two,
        _known(one.one), _known(one.two),
        *(answers.replies[question, "refused"] for question in questions),
        *(answers.unreadable(question) for question in questions),
        _known(one.score), _known(one.p),
    )  # fmt: skip


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 10)
