"""The document of a comparison: of the sides of one panel run, or of several runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..formats import count, known_dollars, listed, number, units
from .differences import Differences
from .document import (
    BY_THIS_PANEL,
    Cell,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Records,
    Scalar,
    Section,
    Table,
)
from .panel_answer import NOT_CALIBRATED
from .panel_responses import MOST_ROWS
from .run_sections import panel_settings
from .weak_models import weak_models_line, with_weak_models

if TYPE_CHECKING:
    import pandas as pd

MOST_RUNS: Final = 12


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run that is compared: its name in the page, its folder, its run.json, its calibration."""

    name: str
    folder: Path
    record: Mapping[str, Any]
    people: str | None


def comparison_document(
    runs: Sequence[ComparedRun],
    estimates: pd.DataFrame,
    *,
    heads: Mapping[str, str],
    by_prompt: Mapping[tuple[str, str], Mapping[str, float]],
    is_one_panel: bool,
    weak: Mapping[str, str],
    notices: Sequence[str] = (),
) -> Document:
    """Describes how the sides of runs differ.

    Args:
        runs: the runs, the first of several is what the others are held against.
        estimates: the tables `comparison`, `comparison by model` and `ranking`.
        heads: criterion to the head of its column.
        by_prompt: (side, baseline) to prompt to the difference of composites.
        is_one_panel: whether all runs were judged by the same panel.
        weak: judge model to why it is not shown to tell responses apart.
        notices: what a reader must know first.
    """
    found = Differences(estimates)
    headline = found.headline(BY_THIS_PANEL if is_one_panel else "") or [
        "There are too many sides to compare each pair: name one of them as the baseline."
    ]
    told = list(notices)
    if not is_one_panel:
        headline = [f"Another panel is another instrument. {headline[0]}", *headline[1:]]
    if any(run.record["state"] != "complete" for run in runs):
        told.append("Not every run is complete: what was not asked is missing here.")
    models = {str(one["name"]) for run in runs for one in run.record["panel"]["models"]}
    several = len(runs) > 1
    if found.others:
        headline = with_weak_models(headline, weak, len(models))
    return Document(
        title=_title(runs, found),
        kind="comparison",
        is_demonstration=any(run.record["demonstration"] for run in runs),
        headline=headline,
        trust=[
            *weak_models_line(weak),
            *_trust(runs, found, estimates, is_one_panel=is_one_panel),
        ],
        notices=told,
        sections=[
            Section("comparison", "Who scores higher", found.summary(dict(heads)), "summary"),
            Section("differences", "Differences", found.detail(dict(heads), n_models=len(models))),
            *(
                [Section("respondents", "By respondent", [_respondents_table(runs)])]
                if several
                else []
            ),
            *(
                [Section("runs", "The runs", [_runs_table(runs), *_what_differs(runs)])]
                if several
                else []
            ),
            *([Section("prompts", "Prompt by prompt", [_records(by_prompt)])] if by_prompt else []),
            Section(
                "meaning",
                "What these numbers mean and do not mean",
                [_meaning(is_one_panel=is_one_panel)],
            ),
        ],
    )


def _title(runs: Sequence[ComparedRun], found: Differences) -> str:
    if len(runs) > 1:
        return f"Comparison of {len(runs)} runs"
    return f"Comparison by {found.by} in {runs[0].name}"


def _trust(
    runs: Sequence[ComparedRun],
    found: Differences,
    estimates: pd.DataFrame,
    *,
    is_one_panel: bool,
) -> list[tuple[str, str]]:
    """Coverage, whether one panel judged, whether the models agree, and what is not known."""
    scored = [
        f"{count(run.record['counts'].get('scored', 0))} of {count(run.record['n_planned'])}"
        + (f" in {run.name}" if len(runs) > 1 else "")
        for run in runs
    ]
    coverage = f"judgments scored: {listed(scored, MOST_RUNS)}"
    trust = [("coverage", coverage)]
    if len(runs) > 1:
        differ = [name for name, _ in _settings_that_differ(runs)]
        panels = "one panel" if is_one_panel else "different panels"
        how = f"; the runs differ in {listed(differ)}" if differ else ""
        trust.append(("panel", f"{panels}{how}"))
    trust += found.trust()
    taus = estimates[estimates["measure"] == "tau"]
    for value, n in zip(taus["value"], taus["n"], strict=True):
        if len(taus) == 1:
            told = f"tau-b {number(float(value))} between the composites of {units(int(n), 'pair')}"
            trust.append(("order", told))
    return [*trust, ("people", _people_told(runs, is_one_panel=is_one_panel))]


def _people_told(runs: Sequence[ComparedRun], *, is_one_panel: bool) -> str:
    """What a calibration of one of the runs says of their panel, or of each of several panels."""
    checked = [run for run in runs if run.people]
    if len(runs) == 1 or not checked:
        return runs[0].people or NOT_CALIBRATED
    if is_one_panel:
        return f"{checked[0].name}: {checked[0].people}"
    told = [f"{run.name}: {run.people or 'not checked against people'}" for run in runs[:MOST_RUNS]]
    return "; ".join(told)


def _runs_table(runs: Sequence[ComparedRun]) -> Table:
    rows: list[list[Scalar | Cell]] = []
    for run in runs:
        record, cost = run.record, run.record["cost"]
        rows.append(
            [
                run.name,
                _mean_of(record["total"]),
                record["responses"]["n"],
                record["responses"]["prompts"],
                len(record["panel"]["personas"]),
                ", ".join(str(model["name"]) for model in record["panel"]["models"]),
                record["counts"].get("scored", 0),
                record["n_planned"],
                _cost_told(cost),
            ]
        )
    return Table(
        caption="What was run, with the mean composite over prompts and its 95% interval.",
        label="Runs",
        columns=[
            Column("run", "id"),
            Column("mean composite", "estimate"),
            Column("responses", "count"),
            Column("prompts", "count"),
            Column("personas", "count"),
            Column("models", "wide"),
            Column("scored", "count"),
            Column("planned", "count"),
            Column("cost"),
        ],
        rows=rows,
    )


def _cost_told(cost: Mapping[str, Any]) -> str:
    unknown = cost["judgments_with_unknown_price"]
    known = known_dollars(cost["replies_usd"], unknown)
    return f"{known} and unknown prices" if unknown and cost["replies_usd"] else known


def _settings_that_differ(runs: Sequence[ComparedRun]) -> list[tuple[str, list[str]]]:
    """Name of a setting, and its value in each run."""
    settings = [
        {
            "personas": ", ".join(one["id"] for one in run.record["panel"]["personas"]),
            "models": ", ".join(str(one["name"]) for one in run.record["panel"]["models"]),
            **dict(panel_settings(run.record)),
        }
        for run in runs
    ]
    names = dict.fromkeys(name for one in settings for name in one)
    found = [(name, [one.get(name, "") for one in settings]) for name in names]
    return [(name, values) for name, values in found if len(set(values)) > 1]


def _what_differs(runs: Sequence[ComparedRun]) -> list[Part]:
    found = _settings_that_differ(runs)
    if not found:
        return [Paragraph("Settings of the panels: no difference.")]
    return [
        Table(
            caption="Settings in which the runs differ; all others are the same.",
            label="Settings that differ",
            columns=[Column("setting"), *(Column(run.name, "wide") for run in runs)],
            rows=[[name, *values] for name, values in found],
        )
    ]


def _respondents_table(runs: Sequence[ComparedRun]) -> Table:
    found: dict[str, list[Estimate | None]] = {}
    for place, run in enumerate(runs):
        for item in run.record["respondents"]:
            line = found.setdefault(str(item["respondent_id"]), [None for _ in runs])
            line[place] = _mean_of(item)
    return Table(
        caption="Mean composite over prompts by respondent, with its 95% interval. Whether means "
        "differ is told by the paired differences alone.",
        label="By respondent",
        columns=[Column("respondent", "id"), *(Column(run.name, "estimate") for run in runs)],
        rows=[[name, *line] for name, line in found.items()],
    )


def _records(by_prompt: Mapping[tuple[str, str], Mapping[str, float]]) -> Records:
    """The difference on every prompt; sorted by size in the page."""
    prompts = dict.fromkeys(name for values in by_prompt.values() for name in values)
    rows: list[list[Scalar]] = [
        [name, *(values.get(name, math.nan) for values in by_prompt.values())]
        for name in list(prompts)[:MOST_ROWS]
    ]
    return Records(
        name="compared",
        caption="Differences of composites on every prompt; sort by one to see where sides part.",
        label="Prompt by prompt",
        columns=[
            Column("prompt", "id"),
            *(
                Column(f"{side} minus {baseline}", "number", is_signed=True)
                for side, baseline in by_prompt
            ),
        ],
        rows=rows,
        left_out=max(0, len(prompts) - MOST_ROWS),
        file="scores.csv of the runs",
    )


def _meaning(*, is_one_panel: bool) -> Points:
    return Points(
        [
            (
                "The prompt is the unit.",
                (
                    "Differences on one prompt are averaged first; an interval speaks of other "
                    "prompts of this kind, put to this panel or to judges like these."
                ),
            ),
            (
                "Only common judges count.",
                (
                    "A judge that is missing on one side of a prompt counts on neither: what it "
                    "would have scored is not known."
                ),
            )
            if is_one_panel
            else (
                "Each panel counts as it is.",
                "Its judges are others, so that a difference may be theirs as well as the texts'.",
            ),
            (
                "An interval is that of one comparison, a verdict that of all.",
                (
                    "Holm's adjustment is in the p-values and verdicts. Of twenty intervals one "
                    "that leaves 0 out is expected by chance."
                ),
            ),
            (
                "A higher score is what this panel says.",
                "How near it comes to what people would say takes a calibration.",
            ),
        ]
    )


def _mean_of(item: Mapping[str, Any]) -> Estimate:
    low, high = item["interval"] or (math.nan, math.nan)
    value = math.nan if item["composite"] is None else item["composite"]
    return Estimate(value, low, high, item["n_prompts"], reason=item["reason"])
