"""estimates.parquet and estimates.csv: one schema, whatever the figures are of."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from areopagus.aggregation.estimate import Estimate, undefined
from areopagus.errors import InputError
from areopagus.records.estimates import (
    COLUMNS,
    KEYS,
    Estimates,
    estimate_of,
    estimates_by,
    read_estimates,
    select,
    write_estimates,
)

WHOLE = Estimate(
    0.37, 0.28, 0.45, 98, "prompt", "t", 0.9, n_planned=100, se=0.04, universe="judges like these",
    p=0.001, p_adjusted=0.003, p_method="sign flip, exact", family="pairs", verdict="differs",
)  # fmt: skip


def made() -> Estimates:
    found = Estimates()
    found.add("comparison", "difference", WHOLE, respondent="base", baseline="worn")
    found.add("comparison", "difference", undefined("no common prompt"), respondent="=cmd()")
    found.add("judgments", "judgments", 120, group="scored")
    found.add("judgments", "none", None)
    return found


def test_what_is_written_is_read_back_as_it_was(tmp_path: Path) -> None:
    write_estimates(tmp_path, made())
    frame = read_estimates(tmp_path)
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 3
    assert estimate_of(frame.iloc[0]) == WHOLE
    second = estimate_of(frame.iloc[1])
    assert (second.is_defined, second.reason, second.n_planned) == (False, "no common prompt", None)
    pd.testing.assert_frame_equal(frame, made().frame())


def test_columns_have_one_type_also_where_all_is_missing(tmp_path: Path) -> None:
    found = Estimates()
    found.add("a", "b", Estimate(1.0))
    write_estimates(tmp_path, found)
    types = read_estimates(tmp_path).dtypes
    write_estimates(tmp_path, made())
    assert read_estimates(tmp_path).dtypes.equals(types)


def test_text_is_no_live_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    write_estimates(tmp_path, made())
    assert ",'=cmd()," in (tmp_path / "estimates.csv").read_text()
    assert read_estimates(tmp_path)["respondent"][1] == "=cmd()"


def test_rows_are_found_by_table_and_keys_in_their_order() -> None:
    frame = made().frame()
    assert len(select(frame, "comparison", baseline=None)) == 1
    ((keys, figures),) = estimates_by(select(frame, "judgments"), ["group", "detail"])
    assert keys == {"group": "scored", "detail": None}
    assert figures["judgments"].value == 120
    assert math.isnan(figures["judgments"].level)


def test_a_key_of_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no key is called colour"):
        Estimates().add("a", "b", 1.0, colour="red")
    assert "respondent" in KEYS


def test_a_folder_without_estimates_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no figures yet"):
        read_estimates(tmp_path)
    pd.DataFrame({"table": ["a"]}).to_parquet(tmp_path / "estimates.parquet")
    with pytest.raises(InputError, match="lacks the columns respondent"):
        read_estimates(tmp_path)
