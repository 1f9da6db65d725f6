"""A run as a person reads it on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..cap_stop import STOPPED_BY_CAP
from ..precision.text import precision_of, precision_sentences, spared_word
from ..text_lines import units
from .cost import cost_lines
from .display import console, number, same_command, span, table, visible

if TYPE_CHECKING:
    from ..run import Run

MOST_ROWS = 30
MOST_CRITERIA = 6


def show_run(run: Run) -> None:
    """Counts first, then scores by respondent, then what went wrong, then where the files are."""
    out = console()
    record = run.record
    title = "DEMONSTRATION · " if record["demonstration"] else ""
    responses, panel = record["responses"], record["panel"]
    rule = precision_of(record)
    spared = f", {rule['not_asked']:,} {spared_word(rule)}" if rule and rule["not_asked"] else ""
    out.print(
        f"[bold]{title}{run.n_scored} scored of {run.n_planned} planned judgments{spared}[/bold]  "
        f"({units(responses['n'], 'response')}, {units(responses['prompts'], 'prompt')}, "
        f"{units(len(panel['personas']), 'persona')} × {units(len(panel['models']), 'model')})"
    )
    if answers := record.get("answers"):
        from .respond import answer_lines

        for line in answer_lines(answers["counts"]):
            out.print(line)
        for name, n in answers["faults"].items():
            out.print(f"  {n} × failed: {visible(name)}")
    _show_respondents(run)
    _show_counts(run)
    if rule:
        out.print("\nFewer judges:")
        for sentence in precision_sentences(rule):
            out.print(f"  {sentence}")
    out.print(f"\nResults: {visible(str(run.path))} (scores.csv, judgments.parquet, report.html)")


def _show_respondents(run: Run) -> None:
    out = console()
    criteria = list(run.record["identity"]["criteria"])
    low, high = run.record["identity"]["scale"]
    respondents = sorted(run.respondents, key=lambda r: -(r.composite or float("-inf")))
    rows = table(
        f"\nMean score by respondent, scale {low} to {high}",
        ["respondent", "responses", "prompts", "composite", "95% interval"],
    )
    for item in respondents[:MOST_ROWS]:
        rows.add_row(
            visible(item.respondent_id, width=30),
            f"{item.n_scored} of {item.n_responses}",
            str(item.n_prompts),
            number(item.composite),
            span(item.interval),
        )
    out.print(rows)
    if len(respondents) > MOST_ROWS:
        out.print(f"… and {len(respondents) - MOST_ROWS} more respondents in run.json")
    for reason in sorted({item.reason for item in respondents if item.reason}):
        out.print(f"[dim]– no interval: {visible(reason)} (the unit is the prompt)[/dim]")
    if 1 < len(criteria) <= MOST_CRITERIA:
        # Two short lines a heading: five criteria stand in 80 columns.
        headings = [name.replace("_", "\n", 1).replace("_", " ") for name in criteria]
        rows = table("\nBy criterion", ["respondent", *headings])
        for item in respondents[:MOST_ROWS]:
            rows.add_row(
                visible(item.respondent_id, width=18),
                *(number(item.dimensions[name][0]) for name in criteria),
            )
        out.print(rows)


def _show_cost(sessions: Sequence[Mapping[str, Any]]) -> None:
    """The newest session; the answers' part apart, where models were asked for them."""
    out = console()
    parts = {"": sessions[-1]}
    if len(sessions) > 1 and sessions[-2].get("stage") == "answers":
        parts = {"Answers": sessions[-2], "Judgments": sessions[-1]}
    for title, session in parts.items():
        out.print(f"\n{title}" if title else "")
        for line in cost_lines(session):
            out.print(line)


def _show_counts(run: Run) -> None:
    out = console()
    record = run.record
    verdicts = record["verdicts"]
    undecided = verdicts["inconclusive"] + verdicts["screened"]
    if undecided:
        out.print(
            f"\nResponses without a score: {verdicts['inconclusive']} inconclusive (below the "
            f"quorum), {verdicts['screened']} screened (nothing to judge)"
        )
    counts = run.counts
    if rule := precision_of(record):  # whom it did not want stands apart, above
        counts["not_asked"] -= rule["not_asked"]
    others = {name: n for name, n in counts.items() if n and name != "scored"}
    if others:
        out.print(
            "Judgments not scored: "
            + ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in others.items())
        )
    for name, n in sorted(record["faults"].items(), key=lambda item: -item[1])[:8]:
        out.print(f"  {n} × {visible(name)}")
    if record["flags"]:
        flags = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in record["flags"].items())
        out.print(f"Flags on responses: {visible(flags)}")
    _show_cost(record["sessions"])
    if run.counts.get("failed"):
        out.print(
            f"Failed judgments are asked again by the same command: {visible(same_command())}"
        )
    if run.state == "budget":
        out.print(STOPPED_BY_CAP)
