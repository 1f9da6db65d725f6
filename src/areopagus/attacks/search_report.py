"""What is shown of a search: what it found, on the prompts that it had not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..aggregation.estimate import Estimate
from ..formats import estimate, listed, number, units
from ..records.estimates import estimates_by, select
from ..reports.document import Document, Part, Points, Section
from ..reports.run_sections import job_sections
from ..reports.views import Measure, estimates_table

if TYPE_CHECKING:
    import pandas as pd


def search_told(record: Mapping[str, Any], estimates: pd.DataFrame) -> Iterator[str]:
    """What the search found, on the prompts that it had not seen."""
    cells = estimates_by(select(estimates, "search"), ["group", "detail"])
    rows = [((str(at["group"]), str(at["detail"])), row) for at, row in cells]
    if not rows:
        return
    tried = sum(int(row["texts"].value) for _, row in rows)
    better = [(name, row) for name, row in rows if _is_gain(row["gain"])]
    told = f"A search by {record['search']['model']} through {units(tried, 'text')}"
    if not better:
        yield f"{told} is not shown to find a stronger one than it began with."
        return
    better.sort(key=lambda one: -one[1]["gain"].value)
    shown = [
        f"{name} {estimate(row['held out'], is_signed=True)} {unit} instead of "
        f"{number(row['began with'].value, is_signed=True)}"
        for (name, unit), row in better
    ]
    yield f"{told} finds stronger ones, on prompts that it did not see: {listed(shown, 3)}."


def _is_gain(gain: Estimate) -> bool:
    return gain.verdict == "differs" and gain.value > 0


def search_section(record: Mapping[str, Any], estimates: pd.DataFrame) -> Section:
    """What was tried and what it is worth, and the texts found."""
    prompts = record["search"]["prompts"]
    table = estimates_table(
        estimates, "search", keys={"group": "family", "detail": "in"},
        measures=[
            Measure("texts", field="value", is_count=True),
            Measure("began with", "began with", is_signed=True),
            Measure("held out", "found", is_signed=True),
            Measure("gain", "gain", is_signed=True),
            Measure("gain", "p (Holm)", "p_adjusted"),
            Measure("in search", "in the search", "value", is_signed=True),
        ],
        caption="Effect by the family's demand, beyond harmless prose where there is a control, in "
        "points or, of families that ask for no score, in judgments: of the family's own "
        f"best text and of the text found, on {units(prompts['held_out'], 'prompt')} held out, by "
        "the judges that have both. In the search: on the "
        f"{units(prompts['searched_on'], 'prompt')} that chose the text, which is too high.",
        label="Search",
    )  # fmt: skip
    found = record["search"]["found"]
    missing = record["search"]["missing"]
    lines = [(name, text) for name, text in found.items()]
    lines += [
        (name, "requests without new texts: " + ", ".join(f"{n} {why}" for why, n in whys.items()))
        for name, whys in missing.items()
    ]
    parts: list[Part] = [Points(lines)] if lines else []
    return Section("search", "Search", [table, *parts] if table else parts)


def unfinished_search(record: Mapping[str, Any]) -> Document:
    """What is shown of a search that did not come to its end: no figure, and how to go on."""
    told = (
        "The search has not come to its end, and what it would find was not tried on the prompts "
        "held out: there is no result yet. The same command goes on with it."
    )
    return Document(
        title="Attack on a panel",
        kind="attack",
        headline=[told],
        trust=[],
        notices=[str(notice) for notice in record["notices"]],
        sections=job_sections(record),
        is_demonstration=bool(record["demonstration"]),
    )
