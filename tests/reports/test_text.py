"""A document as text: a figure and its interval are never parted, nor taken for one another."""

from __future__ import annotations

from areopagus.aggregation.estimate import Estimate
from areopagus.reports.document import Column, Table
from areopagus.reports.text import table_lines


def table(n_rows: int) -> Table:
    figures = [Estimate(k / 10, low=k / 10 - 0.05, high=k / 10 + 0.05) for k in range(1, 7)]
    titles = ("alpha, interval", "alpha, ordinal", "tau", "W", "ICC of one", "same first choice")
    return Table(
        "What agrees.",
        "Agreement",
        [Column("criterion", "id"), *(Column(title, "estimate") for title in titles)],
        [[f"clarity {row}", *figures] for row in range(n_rows)],
    )


def test_a_single_row_that_is_too_long_is_listed_with_every_interval_beside_its_figure() -> None:
    assert table_lines(table(1)) == [
        "  criterion: clarity 0",
        "  alpha, interval    0.10  [0.05, 0.15]",
        "  alpha, ordinal     0.20  [0.15, 0.25]",
        "  tau                0.30  [0.25, 0.35]",
        "  W                  0.40  [0.35, 0.45]",
        "  ICC of one         0.50  [0.45, 0.55]",
        "  same first choice  0.60  [0.55, 0.65]",
    ]


def test_blocks_part_between_figures_and_not_before_an_interval() -> None:
    lines = table_lines(table(3))
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.strip().startswith("criterion")]
    assert len(heads) > 1
    for head in heads:
        _, _, after = head.partition("criterion")
        assert not after.strip().startswith("95% interval")
    text = " ".join(lines)
    for k in range(1, 7):
        assert text.count(f"[{k / 10 - 0.05:.2f}, {k / 10 + 0.05:.2f}]") == 3
