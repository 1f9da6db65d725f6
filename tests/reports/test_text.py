"""A document as text: what is first is first, in lines of 80 columns."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from areopagus.aggregation.estimate import Estimate, undefined
from areopagus.formats import (
    dollars,
    estimate,
    interval,
    number,
    p_value,
    percent,
    plain,
    said,
    units,
)
from areopagus.records.estimates import Estimates
from areopagus.reports.document import Cell, Column, Document, Paragraph, Section, Table
from areopagus.reports.document_json import to_json
from areopagus.reports.html import write_html
from areopagus.reports.text import render_text, table_lines
from areopagus.reports.views import Measure, estimates_table

OPEN = "Open: asked openly; .5 is none."


def rows(n: int = 2) -> Table:
    columns = [Column("respondent", "id"), Column("difference", "estimate", is_signed=True)]
    columns += [Column("p", "p"), Column("how", "wide")]
    body = [
        [f"model-{k}", Estimate(0.371, 0.284, 0.449, 100), 0.00001, f"by {k} ways"]
        for k in range(n)
    ]
    return Table("Paired by prompt.", "Differences", columns, body, notes=["no interval: why"])


def document() -> Document:
    return Document(
        title="Comparison",
        kind="comparison",
        headline=["base scores higher than worn: +0.37 points [0.28, 0.45]."],
        trust=[("coverage", "9,000 of 9,000 judgments scored"), ("people", "not calibrated")],
        sections=[
            Section("first", "First", [rows()], "summary"),
            Section("more", "More", [Paragraph("What only some ask for.")]),
        ],
        notices=["the file had two rows of one id"],
        more=["More: areopagus report RUN --full"],
    )


def test_the_answer_comes_first_and_details_only_when_asked_for() -> None:
    lines = render_text(document())
    assert lines[0] == "base scores higher than worn: +0.37 points [0.28, 0.45]."
    assert "  coverage  9,000 of 9,000 judgments scored" in lines
    assert "What only some ask for." not in lines
    assert lines[-1] == "More: areopagus report RUN --full"
    full = render_text(document(), full=True)
    assert full[full.index("More") + 1] == "----"
    assert "What only some ask for." in full


def test_a_summary_with_more_behind_it_fits_on_a_screen_and_a_list_is_whole() -> None:
    columns = [Column("name", "id"), Column("score", "number")]
    table = Table("Scores.", "Scores", columns, [(f"n{k}", k) for k in range(40)])
    short = [Section("scores", "Scores", [table], "summary")]
    more = Section("more", "More", [Paragraph("What only some ask for.")])
    lines = render_text(Document("Forty scores.", "list", sections=[*short, more]))
    assert len(lines) == 22
    assert lines[-1] == "  … and 23 more rows"
    many = [f"Sentence {k}." for k in range(30)]
    lines = render_text(Document("", "list", headline=many, sections=[*short, more]))
    assert [line.split()[0] for line in lines[-4:]] == ["n0", "n1", "n2", "…"]
    full = render_text(Document("Forty scores.", "list", sections=[*short, more]), full=True)
    for whole in (full, render_text(Document("Forty scores.", "list", sections=short))):
        assert sum(line.startswith("  n") for line in whole) == 41
        assert not any("more rows" in line for line in whole)


def test_a_value_and_its_interval_have_columns_of_their_own() -> None:
    lines = table_lines(rows())
    assert lines[0].split() == ["respondent", "difference", "95%", "interval", "p"]
    assert lines[1].split() == ["model-0", "+0.37", "[+0.28,", "+0.45]", "<0.0001"]
    assert lines[-1] == "  model-1: how: by 1 ways"


def test_no_line_is_wider_than_the_terminal() -> None:
    columns = [Column("target", "id"), Column("framing", "id"), Column("dimension", "id")]
    columns += [Column(f"measure number {k}", "estimate") for k in range(5)]
    body = [
        ["provider/" + "m" * 30, framing, dimension, *[Estimate(-1.5, -2.25, -0.75, 20)] * 5]
        for framing in ("emotion_agree", "emotion_disagree")
        for dimension in ("conceptual_clarity", "argumentative_soundness")
    ]
    lines = table_lines(Table("", "", columns, body))
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert text.count("−1.50") == 20
    assert "target: provider/" in text  # said once: it is the same in every row
    assert text.index("emotion_agree") < text.index("conceptual_clarity")


def test_text_of_models_cannot_act_on_a_terminal() -> None:
    table = Table("\x1b[2J", "", [Column("a", "id"), Column("b", "id")], [["\x1b]0;x\x07", "y"]])
    made = Document("\x1b[1m", "panel", [Section("a", "\x07", [table], "summary")])
    assert not any(ord(c) < 32 for line in render_text(made, full=True) for c in line)


def test_long_tables_say_how_many_rows_are_left_out() -> None:
    lines = table_lines(rows(45), most=40)
    assert any(line.strip() == "… and 5 more rows" for line in lines)


def test_json_holds_every_figure_and_null_for_what_is_undefined() -> None:
    plain = to_json(document())
    cells = plain["sections"][0]["parts"][0]["rows"][0]
    assert cells[1]["value"] == 0.371
    assert cells[1]["n"] == 100
    none = Table("", "", [Column("a"), Column("b", "number")], [["x", Cell(math.nan)], ["y", 1]])
    made = Document("t", "panel", [Section("a", "A", [none])])
    assert to_json(made)["sections"][0]["parts"][0]["rows"] == [["x", None], ["y", 1]]


def test_a_view_says_once_why_intervals_are_missing_and_drops_empty_columns() -> None:
    found = Estimates()
    for who in ("a", "b"):
        missing = Estimate(1.0, n=3, reason="3 prompts: an interval needs at least 6")
        found.add("means", "mean", missing, respondent=who)
        found.add("means", "share", Estimate(0.5, n=4, n_planned=8, p=0.25), respondent=who)
    measures = [Measure("mean"), Measure("mean", "p", "p"), Measure("share", "scored", "n_of")]
    made = estimates_table(
        found.frame(), "means", keys={"respondent": ""}, measures=measures, caption="Means."
    )
    assert made is not None
    assert [column.title for column in made.columns] == ["respondent", "mean", "scored"]
    assert [row[2] for row in made.rows] == ["4 of 8", "4 of 8"]
    assert made.notes == ["no interval: 3 prompts: an interval needs at least 6"]
    none = estimates_table(found.frame(), "other", keys={}, measures=measures, caption="")
    assert none is None


def test_a_view_without_a_figure_says_why_and_tells_columns_of_one_name_apart() -> None:
    found = Estimates()
    for name in ("open", "lean"):
        found.add(
            "arms",
            name,
            replace(undefined("nothing measured"), verdict="undecided"),
            respondent="m",
        )
    found.add("arms", "hidden", 0.4, respondent="m")
    lean = Measure("lean", "by"), Measure("lean", "verdict", "verdict")
    measures = [Measure("hidden", "by"), Measure("open", "n", "n_of"), *lean]
    shown = partial(
        estimates_table,
        found.frame(),
        "arms",
        keys={"respondent": ""},
        caption=f"A. By: from .5 up. {OPEN}",
    )
    some = shown(measures=measures)
    assert some is not None
    assert [column.title for column in some.columns] == ["respondent", "by", "n", "verdict"]
    assert some.notes == ["no column “n, by”: nothing measured"]
    # What explains a column that is not there goes with it.
    told = shown(measures=[*measures, Measure("open")])
    assert told is not None
    assert (told.caption, some.caption) == ("A. By: from .5 up.", f"A. By: from .5 up. {OPEN}")
    # Verdicts and counts of units are no figures.
    none = shown(measures=measures[1:])
    assert none is not None
    assert (none.rows, none.notes) == ([], ["no figure of by: nothing measured"])


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(None), "–"),
        (number(math.nan), "–"),
        (number(-0.001), "0.00"),
        (number(-1.234), "−1.23"),
        (number(0.4, is_signed=True), "+0.40"),
        (number(12_345_678.0), "1.23e+07"),
        (percent(0.419), "42%"),
        (p_value(0.00001), "<0.0001"),
        (p_value(0.05), "0.0500"),
        (interval(None, 1.0), "–"),
        (interval(-1.0, 1.0, is_signed=True), "[−1.00, +1.00]"),
        (estimate(Estimate(2.0, 1.0, 3.0)), "2.00 [1.00, 3.00]"),
        (dollars(None), "unknown"),
        (dollars(0.0), "$0"),
        (dollars(0.00001), "<$0.0001"),
        (dollars(0.0123), "$0.0123"),
        (dollars(1234.5), "$1,234.50"),
        (plain({"seed": 0, "rated": None, "cut": []}), "seed 0, rated not set, cut none"),
        (plain({}), "none"),
        (plain(["ses", True, 0.95]), "ses, yes, 0.95"),
        (units(1, "reply", "replies"), "1 reply"),
        (units(2000, "prompt"), "2,000 prompts"),
        (said("it needs 6 templates, there are 1"), "it needs 6 templates, there is 1"),
        (said("1 cases: an interval needs at least 6"), "1 case: an interval needs at least 6"),
        (said("it needs 6 templates, there are 13"), "it needs 6 templates, there are 13"),
    ],
)
def test_figures_are_written_one_way(shown: str, expected: str) -> None:
    assert shown == expected


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


def test_what_a_page_sets_bold_has_a_star_in_text_and_shades_are_the_pages_alone() -> None:
    cells = [Cell(0.5, is_bold=True, shade=3), Cell(0.25)]
    made = Table(
        "By criterion.", "By", [Column("who", "id"), Column("a", "number"), Column("b", "number")],
        [["m", *cells]], bold_says="where p is at most .05.", shade_says="Dark is high.",
    )  # fmt: skip
    lines = render_text(Document("T", "panel", [Section("one", "One", [made])]), full=True)
    assert "By criterion. * where p is at most .05." in lines
    assert any("0.50*" in line and "0.25" in line and "0.25*" not in line for line in lines)
    assert made.page_caption == "By criterion. Dark is high. Bold: where p is at most .05."


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


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        (
            "By this panel, alder scores higher than birch.",
            "In this demonstration, alder scores higher than birch.",
        ),
        ("By this panel, Qwen is best.", "In this demonstration, Qwen is best."),
        ("m holds its ground.", "In this demonstration, m holds its ground."),
        ("Near people on clarity.", "In this demonstration: Near people on clarity."),
    ],
)
def test_an_answer_of_stand_ins_states_itself_that_it_is_of_a_demonstration(
    answer: str, stated: str, tmp_path: Path
) -> None:
    document = Document("t", "panel", [], headline=[answer, "More."], is_demonstration=True)
    again = replace(document, title="u")
    for one in (document, again):
        assert one.headline == [stated, "More."]
        assert to_json(one)["headline"][0] == stated
        assert stated in " ".join(render_text(one))
        out = write_html(tmp_path / "page.html", one, charts=None)
        assert f">{stated}<" in out.read_text(encoding="utf-8").replace("<wbr>", "")
    assert Document("t", "panel", [], headline=[answer]).headline == [answer]
