"""Sections of a panel run's page: counts and cost, what was asked of whom, what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .asked import Cost, Paid, model_lines, personas_by_axis, settings_of
from .document import Column, Paragraph, Part, Points, Section, Table
from .numbers import UNDEFINED, count, dollars, words
from .section_answers import answers_parts
from .section_cost import cost_parts


def counts_and_cost(
    counts: Mapping[str, int],
    reasons: Mapping[tuple[str, str], int],
    n_planned: int,
    cost: Cost,
    record: Mapping[str, Any],
) -> Section:
    """What became of every planned judgment, and what the replies cost."""
    parts: list[Part] = [
        Table(
            caption="What became of every planned judgment.",
            label="Statuses",
            columns=[Column("status"), Column("judgments", "count")],
            rows=[(words(status), number) for status, number in counts.items()],
            foot=[("planned", n_planned)],
            is_short=True,
        )
    ]
    if reasons:
        faults = sorted(reasons.items(), key=lambda item: -item[1])
        parts.append(
            Table(
                caption="Why judgments are neither scored nor abstained.",
                label="Faults",
                columns=[Column("status"), Column("reason", "wide"), Column("judgments", "count")],
                rows=[(words(status), reason, number) for (status, reason), number in faults],
                is_short=True,
            )
        )
    parts += [
        Paragraph(f"{_replies_told(cost)} {paid_told(cost.paid)}"),
        *cost_parts(record),
        sessions_table(record["sessions"]),
    ]
    return Section("counts", "Counts and cost", parts)


def sessions_table(sessions: Sequence[Mapping[str, Any]]) -> Table:
    """The sessions of a run or a job: when, how they ended, what they sent and paid."""
    return Table(
        caption="Sessions: each time the command ran in this folder.",
        label="Sessions",
        columns=[
            Column("started", "time"),
            Column("calls sent", "count"),
            Column("in batches", "count"),
            Column("from the ledger", "count"),
            Column("failed calls", "count"),
            Column("paid"),
            Column("cost cap"),
            Column("state"),
            Column("ended", "time"),
        ],
        rows=[_session(session) for session in sessions],
    )


def asked(record: Mapping[str, Any]) -> Section:
    """Models, personas and settings as run.json records them."""
    return Section(
        "asked",
        "What was asked of whom",
        [
            *answers_parts(record),
            Paragraph("Models", "heading"),
            Table(
                caption="Parameters as asked for, and as the provider was sent them. Structured "
                "output: the form in which the reply's structure was asked for.",
                label="Models",
                columns=[
                    Column("name", "id"),
                    Column("model", "id"),
                    Column("endpoint", "id"),
                    Column("requested", "wide"),
                    Column("effective", "wide"),
                    Column("structured output"),
                    Column("scores"),
                ],
                rows=[
                    (
                        line.name,
                        line.model,
                        line.endpoint,
                        line.requested,
                        line.effective,
                        line.structured,
                        line.score_mode,
                    )
                    for line in model_lines(record)
                ],
            ),
            Paragraph("Personas", "heading"),
            Table(
                caption="The perspectives that judged, by axis.",
                label="Personas",
                columns=[
                    Column("persona"),
                    Column("axis", "id"),
                    Column("label"),
                    Column("version"),
                    Column("SHA-256", "wide"),
                ],
                rows=[
                    (one["id"], axis, one["label"], one["version"], one["sha256"])
                    for axis, members in personas_by_axis(record).items()
                    for one in members
                ],
            ),
            Paragraph("Settings", "heading"),
            Table(
                caption="What makes this run this run.",
                label="Settings",
                columns=[Column("setting"), Column("value", "wide")],
                rows=settings_of(record),
            ),
        ],
    )


def meaning(method: str, methods: Mapping[str, int]) -> Section:
    """What the numbers of a panel run mean and do not mean.

    Args:
        method: how intervals by respondent were made.
        methods: how intervals on one response were made, to number of responses.
    """
    named = "; ".join(f"{name} ({count(number)} responses)" for name, number in methods.items())
    told = f"Estimator: {named}." if named else "No response of this run has one."
    return Section(
        "meaning",
        "What these numbers mean and do not mean",
        [
            Points(
                [
                    (
                        "The prompt is the unit.",
                        (
                            "Responses to one prompt share what the prompt brings, so they are "
                            "averaged first, and the prompt means are the independent "
                            f"observations. Estimator: {method}. It speaks of other prompts of "
                            "this kind, put to this panel; with fewer than six prompts there is no "
                            "interval."
                        ),
                    ),
                    (
                        "Many judgments are not many raters.",
                        (
                            "Ten personas of one model share its training and its habits: they are "
                            "not ten raters, and three models are not thirty. More judgments make "
                            "this panel's mean steadier, not truer."
                        ),
                    ),
                    (
                        "The interval on one response is of another kind.",
                        f"It says how far the panel's mean might move with other judges. {told}",
                    ),
                    (
                        "A panel mean is not a human judgment.",
                        (
                            "Until the panel is calibrated against human ratings of such "
                            "responses, these are scores of models on a rubric; how near they come "
                            "to what people say is unknown."
                        ),
                    ),
                    (
                        "Overlapping or separate intervals are no test.",
                        (
                            "Two respondents that answered the same prompts are compared by the "
                            "differences within prompts, which this page does not show."
                        ),
                    ),
                    (
                        "What was not scored is not a low score.",
                        (
                            "Abstained, refused, unreadable, failed and not asked judgments are "
                            "counted and enter no mean. If they are not spread evenly, the means "
                            "of those who remain may mislead."
                        ),
                    ),
                    (
                        f"{UNDEFINED} means undefined,",
                        "with the reason beside it. It is never a zero.",
                    ),
                ]
            )
        ],
    )


def _replies_told(cost: Cost) -> str:
    told = f"The replies behind these tables cost {dollars(cost.replies)} "
    if not cost.unknown:
        return f"{told}when they were paid, whoever paid."
    return (
        f"{told}where the price is known; {count(cost.unknown)} judgments have replies whose price "
        "is unknown, which is not counted as nothing."
    )


def paid_told(paid: Paid) -> str:
    """What the sessions of a folder paid themselves, and what is not known of it."""
    told = f"The sessions in this folder paid {dollars(paid.here)} themselves"
    if paid.possibly:
        told += f", and at most {dollars(paid.possibly)} more for attempts that broke off"
    if paid.unknown_calls:
        told += f"; {count(paid.unknown_calls)} of their calls have no known price"
    return f"{told}."


def _session(session: Mapping[str, Any]) -> list[Any]:
    calls = session.get("calls") or {}
    cap = session.get("max_cost_usd")
    return [
        str(session.get("started")),
        calls.get("sent"),
        calls.get("in_batches", 0),
        calls.get("from_ledger"),
        calls.get("failed"),
        dollars(session.get("spent_usd")),
        "none" if cap is None else dollars(cap),
        ", ".join(str(session[name]) for name in ("stage", "state") if name in session),
        str(session.get("ended") or "not ended"),
    ]
