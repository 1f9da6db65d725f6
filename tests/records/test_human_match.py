"""Matching ratings to responses: everything that does not fit is reported, nothing is removed."""

import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.records.humans import HumanTable, match, read_humans
from areopagus.records.humans.table import TableBuilder


def build(rows: Sequence[tuple[Any, ...]]) -> HumanTable:
    """A table of (rater, prompt, response, criterion, kind, value), the lines from 2 on."""
    builder = TableBuilder()
    for line, (rater, prompt, response, criterion, kind, value) in enumerate(rows, start=2):
        texts = {
            "rater_id": rater,
            "prompt_id": prompt,
            "response_id": response,
            "criterion": criterion,
        }
        builder.add(line, value, kind, texts, float("nan"))
    return builder.build()


TABLE = build(
    [
        ("a", "p1", "r1", "overall", "score", 5.0),
        ("a", "p1", "r2", "overall", "score", 11.0),
        ("b", "p1", "r1", "overall", "score", 6.0),
        ("b", "p1", "gone", "overall", "score", 6.0),
        ("a", "p1", "r1", "overall", "score", 4.0),
        ("a", "p1", "r1", "overall", "rank", 1.0),
        ("a", "p2", "r2", "overall", "rank", 0.0),
    ]
)


def test_everything_that_does_not_fit_comes_with_its_rows() -> None:
    report = match(TABLE, {"r1": "p1", "r2": "p1", "r3": "p1"}, scale=(1, 10), raters={"a"})
    assert (report.n_ratings, report.n_matched, report.n_raters) == (7, 6, 2)
    assert (report.n_responses, report.n_responses_rated) == (3, 2)
    assert [(place.id, place.lines) for place in report.unmatched_ratings] == [("gone", (5,))]
    assert report.unrated_responses == ("r3",)
    (repeated,) = report.repeated
    assert (repeated.rater_id, repeated.response_id, repeated.kind) == ("a", "r1", "score")
    assert (repeated.lines, repeated.values, report.n_repeated) == ((2, 6), (5.0, 4.0), 1)
    assert [(out.value, out.line) for out in report.out_of_range] == [(11.0, 3), (0.0, 8)]
    assert [(place.id, place.lines) for place in report.unknown_raters] == [("b", (4, 5))]
    (other,) = report.other_prompts
    assert (other.response_id, other.prompt_id, other.expected, other.lines) == (
        "r2",
        "p2",
        "p1",
        (8,),
    )
    assert not report.is_clean


def test_a_table_that_fits_is_clean_though_some_responses_are_unrated() -> None:
    table = build([("a", "p1", "r1", "overall", "score", 5.0)])
    assert match(table, ["r1", "r2"], scale=(1, 10), raters=["a"]).is_clean


def test_a_scale_may_differ_by_criterion() -> None:
    table = build([("a", "p", "r", "x", "score", 6.0), ("a", "p", "r", "y", "score", 6.0)])
    report = match(table, ["r"], scale={"x": (1, 5)})
    assert [out.criterion for out in report.out_of_range] == ["x"]


def test_an_empty_table_matches_nothing() -> None:
    report = match(build([]), ["r1"], scale=(1, 10), raters=[])
    assert (report.n_ratings, report.n_matched, report.unrated_responses) == (0, 0, ("r1",))


def test_the_report_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(len(TABLE))
    shuffled = TABLE.select(order)
    one, two = (match(table, ["r1", "r2"], scale=(1, 10)) for table in (TABLE, shuffled))
    assert (one.n_matched, one.n_repeated, one.n_out_of_range) == (
        two.n_matched,
        two.n_repeated,
        two.n_out_of_range,
    )


def test_a_matrix_keeps_the_first_of_repeated_ratings_and_counts_the_rest() -> None:
    matrix = TABLE.matrix("overall")
    assert matrix.rater_ids == ("a", "b")
    assert matrix.response_ids == ("r1", "r2", "gone")
    assert np.array_equal(matrix.values, [[5, 11, np.nan], [6, np.nan, 6]], equal_nan=True)
    assert matrix.n_repeated == 1
    assert TABLE.matrix("overall", kind="rank").values.tolist() == [[1, 0]]


def test_selections_and_prompts_from_a_run() -> None:
    table = build([("a", None, "r1", "x", "score", 1.0), ("b", "p9", "r2", "x", "score", 2.0)])
    assert table.where("rater_id", "a", "nobody").value.tolist() == [1.0]
    filled = table.with_prompts({"r1": "p1", "r2": "p2"})
    assert filled.prompt_id.texts().tolist() == ["p1", "p9"]
    assert table.with_prompts({}).prompt_id.texts().tolist() == [None, "p9"]
    frame = filled.to_pandas()
    assert frame["kind"].tolist() == ["score", "score"]
    assert frame["prompt_id"].tolist() == ["p1", "p9"]


@pytest.mark.slow
def test_two_hundred_thousand_ratings_are_read_and_matched_in_seconds(tmp_path: Path) -> None:
    n = 200_000
    path = tmp_path / "h.csv"
    with path.open("w") as file:
        file.write("rater_id,prompt_id,response_id,criterion,value\n")
        file.writelines(
            f"w{i % 50},p{i // 200},r{i // 50},overall,{i % 10 + 1}\n" for i in range(n)
        )
    started = time.perf_counter()
    reading = read_humans(path, scale=(1, 10))
    report = reading.match({f"r{k}": f"p{k // 4}" for k in range(n // 50)})
    # A fifth of a million within a fifth of a minute.
    assert time.perf_counter() - started < 12
    assert len(reading.table) == n
    assert report.is_clean
    tracemalloc.start()
    try:
        read_humans(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000
