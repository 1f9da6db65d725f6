"""A construction of prompts as a page, made from the numbers in its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..experiment.cost_cap import cap_notices
from ..formats import units
from ..graphs.prompt_construction import BUNDLE_STATUSES
from ..graphs.prompt_writing import CRITERIA, FLAWS
from ..reports.document import Cell, Column, Document, Figure, Paragraph, Section, Table
from ..reports.html import write_html
from ..reports.section_job import job_sections
from .map import PICTURE
from .run import PromptRun

_DEMONSTRATION = (
    "An embedded stand-in wrote the prompts, from templates. It is no language model, and nothing "
    "here says anything about one."
)
_MOST_GAPS = 500
_ALL = "all"
Plain = Mapping[str, Any]


def prompt_page_of(folder: str | Path, *, figures: bool = True) -> Document:
    """The page of a folder, from its prompts.json and, with `figures`, the map drawn in it.

    Raises:
        InputError: the folder holds no construction of prompts, or one that has not come so far.
    """
    run = PromptRun(folder)
    plain = run.figures
    plan, generators = plain["plan"], plain["generators_named"]
    n_scenarios = int(run.record["scenarios"]["n"])
    sections = [
        _statistics(plain["generators"]),
        _diversity(plain["diversity"], plan),
        _quality(plain["generators"], plan),
    ]
    if plain["coverage_gaps"]:
        sections.append(_gaps(plain["coverage_gaps"]))
    if plain["map"] is not None:
        sections.append(_map(run.path, plain["map"], figures=figures))
    sections += job_sections(run.record)
    wanted = n_scenarios * len(generators) * plan["per_scenario"]
    return Document(
        title=f"Prompt set of {n_scenarios:,} scenario{'s' if n_scenarios != 1 else ''}",
        kind="prompts",
        sections=sections,
        lead=(f"{units(plain['prompts_in_set'], 'prompt')} in the set", f"of {wanted:,} wanted."),
        notices=[
            f"{text[:1].upper()}{text[1:]}" for text in (*cap_notices(plain), *plain["notices"])
        ],
        is_demonstration=plain["demonstration"],
        demonstration=_DEMONSTRATION,
    )


def write_prompt_page(path: str | Path, page: Document) -> Path:
    """Writes the page and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    return write_html(path, page)


def _statistics(rows_of: Sequence[Plain]) -> Section:
    used = [
        name
        for name in BUNDLE_STATUSES
        if name == "complete" or any(one["bundles"][name] for one in rows_of)
    ]
    columns = [
        Column("source", "id"),
        Column("generator", "id"),
        Column("scenarios", "count"),
        *(Column(name.replace("_", " "), "count") for name in used),
        Column("prompts usable", "count"),
        Column("yield", "number", digits=3),
        Column("passed", "count"),
        Column("pass rate", "number", digits=3),
        Column("coverage", "number", digits=3),
        Column("coverage, passed", "number", digits=3),
    ]
    rows: list[list[Any]] = [
        [
            one["source"] or _ALL,
            one["generator"],
            one["scenarios"],
            *(one["bundles"][name] for name in used),
            one["prompts_usable"],
            _number(one["yield"]),
            one["quality"]["passed"],
            _number(one["pass_rate"]),
            _number(one["coverage"]),
            _number(one["coverage_passed"]),
        ]
        for one in rows_of
    ]
    caption = (
        "Bundles by what became of them, and rates with their standard errors and intervals over "
        "scenarios. Yield: usable prompts of those wanted, where the bundle came to an end. Pass "
        "rate: of prompts whose votes decide. Coverage: share of scenarios with every prompt "
        "wanted; passed: with every prompt passed."
    )
    table = Table(caption, "Statistics by source and generator", columns, rows)
    return Section("statistics", "Yield, pass rate, coverage", [table])


def _diversity(rows_of: Sequence[Plain], plan: Plain) -> Section:
    if plan["diversity_of"] == "none":
        left_out = Paragraph("Not measured: left out by the plan.")
        return Section("diversity", "Functional diversity", [left_out])
    rule = plan["equivalence"]
    other = "either" if rule == "both" else "both"
    columns = [
        Column("source", "id"),
        Column("generators", "wide"),
        Column("FD", "number", digits=3),
        Column(f"FD, {other}", "number", digits=3),
        Column("equivalent pairs", "count"),
        Column("pairs", "count"),
        Column("scenarios", "count"),
        Column("judges a pair", "count"),
    ]
    rows: list[list[Any]] = [
        [
            one["source"] or _ALL,
            _of(one),
            _number(one["mean"]),
            one["other_rule"],
            one["equivalent"],
            one["pairs"],
            one["mean"]["n"],
            one["judges"],
        ]
        for one in rows_of
    ]
    caption = (
        f"FD is 1 minus the share of equivalent pairs among the prompts {plan['diversity_of']}, "
        "mean over scenarios with its standard error and interval. A pair is equivalent where "
        f"{rule} of two judges that wrote neither prompt say so; beside it the other rule."
    )
    table = Table(caption, "Functional diversity", columns, rows)
    return Section("diversity", "Functional diversity", [table])


def _quality(rows_of: Sequence[Plain], plan: Plain) -> Section:
    columns = [
        Column("source", "id"),
        Column("generator", "id"),
        Column("votes read", "count"),
        *(
            Column(("" if key in FLAWS else "not ") + key.replace("_", " "), "count")
            for key in CRITERIA
        ),
        Column("undecided", "count"),
        Column("not checked", "count"),
    ]
    rows: list[list[Any]] = [
        [
            one["source"] or _ALL,
            one["generator"],
            one["votes_read"],
            *(one["criteria_missed"][key] for key in CRITERIA),
            one["quality"]["undecided"],
            one["quality"]["not_checked"],
        ]
        for one in rows_of
    ]
    is_others = plan["filter_judges"] == "others"
    who = "the models that did not write it" if is_others else "all models, its writer among them"
    caption = (
        f"Votes on quality by {who}; a prompt passes with more than half of them. Each column of a "
        "criterion counts the votes that find it missed."
    )
    table = Table(caption, "Votes by criterion", columns, rows)
    return Section("quality", "What votes find wrong", [table])


def _gaps(gaps: Sequence[Plain]) -> Section:
    counts = Counter((one["generator"], one["source"], one["stratum"]) for one in gaps)
    rows: list[list[Any]] = [
        [name, source, stratum or "–", n] for (name, source, stratum), n in counts.most_common()
    ]
    columns = [
        Column("generator", "id"),
        Column("source", "id"),
        Column("stratum"),
        Column("scenarios refused", "count"),
    ]
    caption = "Scenarios for which a model declined to write anything."
    parts: list[Any] = [Table(caption, "Refusals", columns, rows[:_MOST_GAPS])]
    if len(rows) > _MOST_GAPS:
        parts.append(Paragraph("The rest stands in bundles.csv.", "quiet"))
    return Section("gaps", "Coverage gaps", parts)


def _map(folder: Path, drawn: Plain, *, figures: bool) -> Section:
    columns = [
        Column("source", "id"),
        Column("generator", "id"),
        Column("prompts", "count"),
        Column("hull, largest 1", "number"),
        Column("mean hull of a scenario", "number", digits=4),
    ]
    names = ("source", "generator", "prompts", "normalised_area", "mean_scenario_area")
    rows: list[list[Any]] = [[one[name] for name in names] for one in drawn["hulls"]]
    how = f"Texts embedded by {drawn['model']}, projection {drawn['projection']}, each source for"
    caption = (
        f"{how} itself. Diamonds are scenarios, markers prompts; faint hulls go round a "
        "generator's prompts for one scenario, bold ones round all of its prompts."
    )
    areas = "Areas of hulls. They grow with the number of prompts and with a single outlier."
    parts: list[Any] = [Table(areas, "Hull areas", columns, rows)]
    if figures:
        parts.insert(0, Figure(folder / f"{PICTURE}.svg", "Where the prompts lie", caption))
    return Section("map", "Map of the prompts", parts)


def _of(one: Plain) -> str:
    if one["first"] is None:
        return "across all generators"
    if one["is_within"]:
        return f"within {one['first']}"
    return f"{one['first']} × {one['second']}"


def _number(one: Plain) -> Cell:
    """A rate or mean with its standard error, where it has one, and its interval below."""
    error, low = one.get("standard_error"), one["low"]
    parts = [] if error is None else [f"SE {error:.3f}"]
    parts += [] if low is None else [f"{low:.3f} to {one['high']:.3f}"]
    return Cell(one["value"], note="; ".join(parts))
