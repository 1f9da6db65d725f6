"""Every column of a run's tables is a variable with a label, and what it holds is said once."""

from __future__ import annotations

from pathlib import Path

from areopagus.aggregation.panel_interval import (
    MODELS_ALONE,
    NO_INTERVAL,
    ONE_MODEL,
    ONE_PERSONA,
    TWO_FACETS,
)
from areopagus.records import variables
from areopagus.records.columns import meaning
from areopagus.records.tables import JUDGMENT_COLUMNS, PROVENANCE_COLUMNS, SCORE_COLUMNS
from areopagus.records.types import STATUSES
from areopagus.records.variables import JUDGMENT_VARIABLES, PROVENANCE_VARIABLES, SCORE_VARIABLES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "results.md"


def test_the_variables_are_the_columns_of_the_tables_in_their_order() -> None:
    assert tuple(one.name for one in SCORE_VARIABLES) == SCORE_COLUMNS
    assert tuple(one.name for one in JUDGMENT_VARIABLES) == JUDGMENT_COLUMNS
    assert tuple(one.name for one in PROVENANCE_VARIABLES) == PROVENANCE_COLUMNS


def test_each_is_described_as_in_the_reference_and_its_label_fits_every_format() -> None:
    for one in SCORE_VARIABLES:
        assert one.about == meaning("scores.csv", one.name)
    for one in (*JUDGMENT_VARIABLES, *PROVENANCE_VARIABLES):
        assert one.about == meaning("judgments.parquet", one.name)
    for one in (*SCORE_VARIABLES, *JUDGMENT_VARIABLES, *PROVENANCE_VARIABLES):
        assert 0 < len(one.label.encode()) <= 80


def test_every_value_stands_in_the_reference() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for values in (
        variables.JUDGMENT_STATUS, variables.RESPONSE_STATUS, variables.DISAGREEMENT,
        variables.FLAGS,
    ):  # fmt: skip
        assert [value for value in values if f"`{value}`" not in text] == []
    assert tuple(variables.JUDGMENT_STATUS) == STATUSES
    methods = (TWO_FACETS, ONE_MODEL, ONE_PERSONA, MODELS_ALONE, NO_INTERVAL)
    assert tuple(variables.INTERVAL_METHOD) == methods
