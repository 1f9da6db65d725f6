"""Sections of a panel run's page: the figures that come first, the scorecard, the ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..aggregation.estimate import Estimate
from .asked import Cost
from .document import Cell, Column, Figure, Paragraph, Part, Section, Table, Tile, Tiles
from .numbers import count, dollars, limits, shown, span
from .panel_figures import MOST_LINES, MOST_MARKED, draw_distribution, draw_ranking, draw_scorecard
from .responses import Responses
from .scorecard import RespondentRow, ScoreMean
from .standings import Standings


def glance(
    total: RespondentRow,
    responses: Responses,
    counts: Mapping[str, int],
    n: int,
    cost: Cost,
    without: str,
) -> Section:
    """What a reader should see first: the mean, what was scored, what was not, the cost.

    Args:
        total: the run.
        responses: counted.
        counts: status to number of judgments.
        n: judgments planned.
        cost: of the replies.
        without: why the page has no pictures, or "".
    """
    first = total.estimates[0]
    if first.low is None:
        why = f"no interval: {first.reason or 'no reason recorded'}"
    else:
        why = f"95% interval {span(first.low, first.high)} over {total.n_prompts} prompts"
    unscored = ", ".join(
        f"{count(counts[status])} {status.replace('_', ' ')}"
        for status in ("abstained", "refused", "unreadable", "failed", "not_asked")
    )
    price, note = dollars(cost.replies), "every price is known"
    if cost.unknown and not cost.replies:
        price, note = "unknown", f"{count(cost.unknown)} judgments without a known price"
    elif cost.unknown:
        note = f"and {count(cost.unknown)} judgments at an unknown price"
    verdicts = responses.verdicts
    tiles = Tiles(
        [
            Tile("mean composite of the run", shown(first.mean), why),
            Tile(
                "responses with a score",
                f"{count(verdicts['scored'])} of {count(responses.n)}",
                f"{count(verdicts['inconclusive'])} inconclusive, "
                f"{count(verdicts['screened'])} screened",
            ),
            Tile("judgments not scored", count(n - counts["scored"]), unscored),
            Tile("cost of the replies", price, note),
        ]
    )
    told: list[Part] = [Paragraph(without, "quiet")] if without else []
    return Section("glance", "At a glance", [tiles, *told])


def scorecard(
    rows: Sequence[RespondentRow],
    total: RespondentRow,
    columns: Sequence[str],
    *,
    scale: tuple[float, float],
    method: str,
    people: Sequence[bool],
    figures: Path | None,
) -> Section:
    """The scorecard by respondent.

    Args:
        rows, total: the respondents and the run.
        columns: heads of their estimates.
        scale: ends of the rubric's scale.
        method: how the intervals were made.
        people: which respondents are people.
        figures: the folder for pictures; None = none are drawn.
    """
    parts: list[Part] = []
    if not rows:
        parts.append(
            Paragraph("run.json holds no means by respondent: the run was not ended.", "notice")
        )
    elif figures is not None:
        parts.append(_scorecard_figure(rows, columns, scale, people, figures))
    has_why = any(row.why for row in (*rows, total))
    parts.append(
        Table(
            caption=f"Mean over prompts, and below it its interval: {method}. Prompts: how many "
            f"are behind the interval. Scale {scale[0]:g} to {scale[1]:g}, higher is better.",
            label="Scorecard by respondent",
            columns=[
                Column("respondent", "id"),
                *(Column(name, "number") for name in columns),
                Column("scored responses", "count"),
                Column("of", "count"),
                Column("prompts", "count"),
                *([Column("why no interval", "wide")] if has_why else []),
            ],
            rows=[_score_line(row, row.name, has_why) for row in rows],
            foot=[_score_line(total, "all responses", has_why)],
        )
    )
    return Section("scorecard", "Scorecard by respondent", parts)


def ranking(
    rows: Sequence[RespondentRow],
    ranks: Standings,
    values: Mapping[str, Sequence[float]],
    *,
    scale: tuple[float, float],
    figures: Path | None,
) -> Section:
    """Respondents in the order of their composites, their mean ranks, and how scores are spread.

    Args:
        rows: the respondents.
        ranks: their mean ranks.
        values: respondent to the composites of its scored responses.
        scale: ends of the rubric's scale.
        figures: the folder for pictures; None = none are drawn.
    """
    order = sorted(rows, key=lambda row: (-_number(row.estimates[0].mean, -math.inf), row.name))
    by_name = dict(zip(ranks.names, ranks.ranks, strict=False))
    parts: list[Part] = []
    if figures is not None and order:
        parts += _ranking_figures(order, by_name, values, scale, figures)
    whys = [_why_no_interval(row.estimates[0], by_name.get(row.name)) for row in order]
    lines: list[list[Any]] = []
    for row, why in zip(order, whys, strict=True):
        rank, first = by_name.get(row.name), row.estimates[0]
        spread = np.asarray(values.get(row.name, ()), dtype=float)
        quarters = np.quantile(spread, [0.25, 0.5, 0.75]) if spread.size else [None] * 3
        lines.append(
            [
                Cell(row.name),
                Cell(first.mean, note=limits(first.low, first.high)),
                Cell(
                    rank.value if rank else None,
                    note=limits(_finite(rank.low), _finite(rank.high)) if rank else "",
                ),
                *(None if quarter is None else float(quarter) for quarter in quarters),
                *([why] if any(whys) else []),
            ]
        )
    explained = (
        f"Mean rank over the {count(ranks.n_common)} prompts on which every respondent has a "
        "score, 1 = best, ties share their places, with its 95% t interval over prompts."
        if ranks.reason is None
        else f"No mean ranks: {ranks.reason}."
    )
    parts.append(
        Table(
            caption="Ordered by the mean composite over prompts, with its 95% interval. "
            f"{explained} Quartiles are those of the composites of its responses. Neighbours "
            "whose intervals overlap are not told apart by this table, and an order is no test.",
            label="Ranking",
            columns=[
                Column("respondent", "id"),
                Column("mean composite", "number"),
                Column("mean rank", "number"),
                Column("lower quartile", "number"),
                Column("median", "number"),
                Column("upper quartile", "number"),
                *([Column("why no interval", "wide")] if any(whys) else []),
            ],
            rows=lines,
        )
    )
    return Section("ranking", "Ranking and spread", parts)


def _why_no_interval(composite: ScoreMean, rank: Estimate | None) -> str:
    """Of the composite and of the mean rank, which may rest on fewer prompts; else ""."""
    of_rank = rank.reason if rank is not None else None
    return "; ".join(filter(None, [composite.reason, of_rank and f"rank: {of_rank}"]))


def _scorecard_figure(
    rows: Sequence[RespondentRow],
    columns: Sequence[str],
    scale: tuple[float, float],
    people: Sequence[bool],
    figures: Path,
) -> Figure:
    shown_rows = rows[:MOST_MARKED]
    which = slice(1, None) if len(columns) > 1 else slice(None)

    def numbers(name: str) -> list[list[float]]:
        return [
            [_number(getattr(one, name), math.nan) for one in row.estimates[which]]
            for row in shown_rows
        ]

    path = figures / "scorecard"
    draw_scorecard(
        path,
        respondents=[row.name for row in shown_rows],
        criteria=columns[which],
        mean=numbers("mean"),
        low=numbers("low"),
        high=numbers("high"),
        is_person=people[:MOST_MARKED],
        scale=scale,
    )
    rest = len(rows) - len(shown_rows)
    return Figure(
        path.with_name(f"{path.name}.svg"),
        "Scorecard",
        "A marker is the mean over prompts, the bar its 95% interval over prompts; no bar means no "
        "interval, and the table says why. Filled markers are models, open diamonds people."
        + (f" {_more(rest)} in the table only." if rest else ""),
    )


def _ranking_figures(
    order: Sequence[RespondentRow],
    ranks: Mapping[str, Any],
    values: Mapping[str, Sequence[float]],
    scale: tuple[float, float],
    figures: Path,
) -> list[Figure]:
    lines = order[:MOST_LINES]
    names = [row.name for row in lines]

    def estimate(one: ScoreMean) -> list[float]:
        return [_number(value, math.nan) for value in (one.mean, one.low, one.high)]

    nothing = [math.nan] * 3
    rank = [
        [ranks[name].value, ranks[name].low, ranks[name].high] if name in ranks else nothing
        for name in names
    ]
    draw_ranking(
        figures / "ranking",
        respondents=names,
        composite=[estimate(row.estimates[0]) for row in lines],
        rank=rank,
        scale=scale,
    )
    draw_distribution(
        figures / "distribution",
        groups=names,
        values=[values.get(name, ()) for name in names],
        scale=scale,
    )
    rest = len(order) - len(lines)
    more = f" {_more(rest)} in the table only." if rest else ""
    return [
        Figure(
            figures / "ranking.svg",
            "Ranking",
            "Mean composites, and mean ranks where respondents answered the same prompts, with "
            "their 95% intervals over prompts; an open marker has none." + more,
        ),
        Figure(
            figures / "distribution.svg",
            "Spread of the composites",
            "How the composites of single responses are spread: line at the median, box around the "
            "middle half, the whiskers 5% to 95%; in brackets how many there are." + more,
        ),
    ]


def _score_line(row: RespondentRow, name: str, has_why: bool) -> list[Any]:
    return [
        name,
        *(Cell(one.mean, note=limits(one.low, one.high)) for one in row.estimates),
        row.n_scored,
        row.n_responses,
        row.n_prompts,
        *([row.why] if has_why else []),
    ]


def _more(rest: int) -> str:
    return "1 more respondent is" if rest == 1 else f"{count(rest)} more respondents are"


def _number(value: float | None, missing: float) -> float:
    return missing if value is None else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
