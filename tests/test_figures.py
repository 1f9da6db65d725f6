"""The figures of a page stand in the stored output of the command that it names.

`<!-- figures: NAME -->` above a fenced block or a table: its lines are lines of
benchmarks/results/NAME.txt, in order; "…" stands for any left out of a block. In such a section
every decimal fraction of the text is also in one of those files.
`python benchmarks/record.py NAME` stores the output anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_docs import PAGES, ROOT, page_id

from areopagus.regression_gate import Resolution

sys.path.insert(0, str(ROOT / "benchmarks"))
from record import RESULTS, printed

RECORDS = {path.stem: path.read_text(encoding="utf-8") for path in RESULTS.glob("*.txt")}
QUICK = ("detectors", "prompt-order", "word-order")
NOMINAL = (0.05, 0.95)
"""The level of every test and of every interval, which no run finds."""

_QUOTE = re.compile(
    r"^<!-- figures: ([\w-]+) -->\n(?:```text\n((?:(?!```).*\n)+)```|((?:\|.*\n)+))", re.MULTILINE
)
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_FRACTION = re.compile(r"(?<![\w.])[01]?\.\d{2,}")
_NUMBER = re.compile(r"[01]?\.\d+")
QUOTING = [page for page in PAGES if _QUOTE.search(page.read_text(encoding="utf-8"))]


_UP_TO_TEN = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = dict(enumerate(_UP_TO_TEN, 2)) | {20: "twenty"}
_OTHERS = r"eleven|twelve|\w+teen|(?:thir|for|fif|six|seven|eigh|nine)ty|hundred|third|half|twice"
_WORDS = "|".join((*NUMBER_WORDS.values(), _OTHERS))
_NUMERAL = re.compile(rf"(?<![\w.-])\d[\w.,%]*|\b(?:{_WORDS})\b", re.IGNORECASE)


def numerals_outside(page: str, phrases: Sequence[str], blocks: str) -> list[str]:
    """Numbers in digits and words in a page's prose, outside phrases that were made of the data.

    Args:
        page: the page.
        phrases: texts that the prose must hold, whatever its line breaks.
        blocks: pattern of the parts that are generated.
    """
    prose = re.sub(rf"{blocks}|```.*?```|<!--.*?-->|^\d\. ", "", page, flags=re.S | re.M)
    prose = " ".join(prose.split())
    for phrase in phrases:
        assert phrase in prose
        prose = prose.replace(phrase, "")
    return _NUMERAL.findall(prose)


def lines_that_are_not_stored(name: str, block: str) -> Iterator[str]:
    stored = iter(RECORDS[name].splitlines())
    for line in block.splitlines():
        if line.strip() not in ("", "…") and line.rstrip() not in stored:
            yield line


def fractions_that_are_not_stored(section: str) -> Iterator[str]:
    names = [name for name, *_ in _QUOTE.findall(section)]
    numbers = [float(n) for name in names for n in _NUMBER.findall(RECORDS[name])]
    prose = re.sub(r"^```.*?^```$|`[^`]*`", "", _QUOTE.sub("", section), flags=re.M | re.S)
    for text in _FRACTION.findall(prose) if names else []:
        digits = len(text.partition(".")[2])
        if all(abs(float(text) - n) > 0.5001 * 10**-digits for n in (*numbers, *NOMINAL)):
            yield text


@pytest.mark.parametrize("page", QUOTING, ids=page_id)
def test_every_quoted_line_of_a_page_stands_in_the_stored_output(page: Path) -> None:
    quotes = _QUOTE.findall(page.read_text(encoding="utf-8"))
    assert len(quotes) == page.read_text(encoding="utf-8").count("<!-- figures: ")
    wrong = [(name, *lines_that_are_not_stored(name, b or table)) for name, b, table in quotes]
    assert [lines for lines in wrong if len(lines) > 1] == []


@pytest.mark.parametrize("page", QUOTING, ids=page_id)
def test_every_fraction_beside_a_quote_stands_in_the_stored_output(page: Path) -> None:
    sections = _SECTION.split(page.read_text(encoding="utf-8"))
    assert [text for section in sections for text in fractions_that_are_not_stored(section)] == []


def test_no_guide_repeats_a_figure_of_the_simulations() -> None:
    # It would stay as it is when the figure changes: the guide says in words what is measured.
    wrong = []
    for page in PAGES:
        for paragraph in re.split(r"\n\s*\n", page.read_text(encoding="utf-8")):
            if re.search(r"\]\([./\w-]*(simulations|measurement)\.md", paragraph):
                fractions = [t for t in _FRACTION.findall(paragraph) if float(t) not in NOMINAL]
                wrong += [f"{page_id(page)}: {text}" for text in fractions]
    assert wrong == []


def test_every_stored_output_is_quoted_by_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in QUOTING)
    assert {name for name, *_ in _QUOTE.findall(pages)} == set(RECORDS)


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_command_still_prints_what_is_stored(name: str) -> None:
    command, _, output = RECORDS[name].partition("\n")
    assert printed(command) == output.strip()


def test_the_margins_that_the_page_of_results_names_are_what_a_gate_computes() -> None:
    # "With differences of SD 0.8, 30 prompts decide a margin of 0.43 points; 0.2 needs about 128."
    page = (ROOT / "docs" / "reference" / "results.md").read_text(encoding="utf-8")
    sd, n, margin, smaller, needed = re.findall(
        r"SD ([\d.]+), (\d+) prompts decide a margin of ([\d.]+) points; ([\d.]+) needs about "
        r"(\d+)",
        page,
    )[0]
    sentence = Resolution(int(n), "prompts", float(sd)).sentence(float(smaller))
    assert f"a margin of {margin} points" in sentence
    assert f"needs about {needed} prompts" in sentence


def test_a_changed_figure_is_noticed() -> None:
    block = RECORDS["word-order"].replace("sentences", "sentence")
    assert list(lines_that_are_not_stored("word-order", block)) != []
    section = f"It does so in .123.\n<!-- figures: word-order -->\n```text\n{block}```\n"
    assert list(fractions_that_are_not_stored(section)) == [".123"]
