"""Every column is described once: in code, and in the docs with the same words."""

from __future__ import annotations

from pathlib import Path

from areopagus.aggregation.panel_interval import TWO_FACETS
from areopagus.records import variables
from areopagus.records.variables import (
    CARRIED,
    CRITERION_OF_JUDGMENTS,
    CRITERION_OF_SCORES,
    JUDGMENT_VARIABLES,
    MEANS,
    PROVENANCE_VARIABLES,
    SCORE_VARIABLES,
    markdown_rows,
)
from areopagus.records.tables import JUDGMENT_COLUMNS, PROVENANCE_COLUMNS, SCORE_COLUMNS
from areopagus.records.types import STATUSES

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")


def test_the_described_columns_are_those_of_the_tables_in_their_order() -> None:
    assert tuple(one.name for one in SCORE_VARIABLES) == SCORE_COLUMNS
    assert tuple(one.name for one in JUDGMENT_VARIABLES) == JUDGMENT_COLUMNS
    assert tuple(one.name for one in PROVENANCE_VARIABLES) == PROVENANCE_COLUMNS


def test_the_docs_say_of_each_column_what_a_codebook_says() -> None:
    scores = markdown_rows(SCORE_VARIABLES, CRITERION_OF_SCORES, MEANS, CARRIED)
    judgments = [
        *markdown_rows(JUDGMENT_VARIABLES, CRITERION_OF_JUDGMENTS),
        *markdown_rows(PROVENANCE_VARIABLES),
    ]
    for rows in (scores, judgments):
        assert "\n".join(rows) in PAGE


def test_the_docs_say_what_each_value_means() -> None:
    for values in (
        columns.JUDGMENT_STATUS, columns.RESPONSE_STATUS, columns.DISAGREEMENT,
        columns.INTERVAL_METHOD,
    ):  # fmt: skip
        for value, about in values.items():
            assert f"| `{value}` | {about} |" in PAGE
    for flag in columns.FLAGS:
        assert f"`{flag}`" in PAGE
    assert tuple(columns.JUDGMENT_STATUS) == STATUSES
    assert TWO_FACETS in columns.INTERVAL_METHOD


def test_labels_fit_into_every_format() -> None:
    for one in (*SCORE_VARIABLES, *JUDGMENT_VARIABLES, *PROVENANCE_VARIABLES):
        assert 0 < len(one.label.encode()) <= 80
