"""The page that compares runs: what differs in what was asked, and in what came out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..errors import InputError
from .asked import cost_of, settings_of
from .compared_runs import ComparedRun, different_texts, read_runs, shared_criteria
from .document import (
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Part,
    Points,
    Records,
    Scalar,
    Section,
    Table,
)
from .html import write_html
from .numbers import count, dollars, limits, words
from .pairing import Difference, Pairs, differences, pairs_of
from .panel_figures import MOST_MARKED, draw_differences
from .responses import MOST_ROWS

MOST_RUNS: Final = 12


def write_comparison(
    folders: Sequence[str | Path], path: str | Path, *, figures: bool = True
) -> Path:
    """The path of a page that compares panel runs, written at once or not at all.

    Each run is held against the first: by response where they scored the same ones (the same
    response, prompt and respondent ids, and the same text where both runs stored texts), else by
    respondent and prompt. The prompt is the unit of every interval. Pictures go into a folder
    beside the page, named like it with "_figures".

    Args:
        folders: two to twelve run folders, the first is what the others are compared with.
        path: the .html file to write.
        figures: whether to draw pictures.

    Raises:
        InputError: a folder holds no panel run, they are fewer than two or more than twelve, or
            they have no criterion and no scale in common.
        StoreError: the page cannot be written.
    """
    if not 2 <= len(folders) <= MOST_RUNS:
        raise InputError(f"a comparison needs 2 to {MOST_RUNS} runs, got {len(folders)}")
    runs = read_runs(folders)
    criteria = shared_criteria(runs)
    path = Path(path)
    drawn = path.with_name(f"{path.stem}_figures") if figures else None
    columns = ["composite", *criteria] if criteria else ["composite"]
    others = runs[1:]
    different = [different_texts(runs[0], other) for other in others]
    pairs = [
        pairs_of(runs[0].scores, other.scores, columns, different=changed)
        for other, changed in zip(others, different, strict=True)
    ]
    found = [differences(pair) for pair in pairs]
    page = Document(
        title=f"Comparison of {len(runs)} runs",
        kind="comparison",
        is_demonstration=any(run.record["demonstration"] for run in runs),
        lead=(f"{len(runs)} runs,", f"each held against {runs[0].name}."),
        notices=_notices(runs, pairs, different),
        sections=[
            Section("runs", "The runs", [_runs_table(runs), *_what_differs(runs)]),
            Section("respondents", "By respondent", [_respondents_table(runs, pairs)]),
            *(
                [
                    Section(
                        "differences",
                        "Differences",
                        _difference_parts(runs, columns, pairs, found, drawn),
                    ),
                    Section("pairs", "Pair by pair", [_pair_records(runs, pairs)]),
                ]
                if any(pair.keys for pair in pairs)
                else []
            ),
            Section("meaning", "What these numbers mean and do not mean", [_meaning()]),
        ],
    )
    return write_html(path, page)


def _notices(
    runs: Sequence[ComparedRun], pairs: Sequence[Pairs], different: Sequence[set[str]]
) -> list[str]:
    told = []
    for run, pair, changed in zip(runs[1:], pairs, different, strict=True):
        if not pair.keys:
            told.append(
                f"{run.name} shares no response, and no respondent on a prompt, with "
                f"{runs[0].name}: there is nothing to pair, and means stand side by side only."
            )
        elif pair.unit != "response":
            told.append(
                f"{run.name} scored other responses than {runs[0].name}: what is paired is the "
                "mean of a respondent on a prompt, so that differences between the responses are "
                "in the differences as well as those between the panels."
            )
        if changed:
            told.append(
                f"Responses with the same id and another text in {run.name}, which are not paired: "
                f"{count(len(changed))}."
            )
    if any(run.record["state"] != "complete" for run in runs):
        told.append("Not every run is complete: what was not asked is missing here.")
    return told


def _runs_table(runs: Sequence[ComparedRun]) -> Table:
    rows: list[list[Scalar | Cell]] = []
    for run in runs:
        record, total, cost = run.record, run.record["total"], cost_of(run.record)
        low, high = total["interval"] or (None, None)
        rows.append(
            [
                run.name,
                Cell(total["composite"], note=limits(low, high)),
                record["responses"]["n"],
                record["responses"]["prompts"],
                len(record["panel"]["personas"]),
                ", ".join(str(model["name"]) for model in record["panel"]["models"]),
                record["counts"].get("scored", 0),
                record["n_planned"],
                dollars(cost.replies) + (" and unknown prices" if cost.unknown else ""),
            ]
        )
    return Table(
        caption="What was run, with the mean composite over prompts and its 95% interval.",
        label="Runs",
        columns=[
            Column("run", "id"),
            Column("mean composite", "number"),
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


def _what_differs(runs: Sequence[ComparedRun]) -> list[Part]:
    settings = [dict(settings_of(run.record)) for run in runs]
    names = [name for name in settings[0] if len({str(one.get(name)) for one in settings}) > 1]
    if not names:
        return [Paragraph("Settings of the panels: no difference.")]
    return [
        Table(
            caption="Settings in which the runs differ; all others are the same.",
            label="Settings that differ",
            columns=[Column("setting"), *(Column(run.name, "wide") for run in runs)],
            rows=[[name, *(one.get(name, "") for one in settings)] for name in names],
        )
    ]


def _respondents_table(runs: Sequence[ComparedRun], pairs: Sequence[Pairs]) -> Table:
    found: dict[str, list[Cell]] = {}
    for place, run in enumerate(runs):
        for item in run.record["respondents"]:
            low, high = item["interval"] or (None, None)
            line = found.setdefault(str(item["respondent_id"]), [Cell(None) for _ in runs])
            line[place] = Cell(item["composite"], note=limits(low, high))
    return Table(
        caption="Mean composite over prompts by respondent, with its 95% interval. A respondent's "
        "means stand side by side; whether they differ is "
        + (
            "told by the paired differences below."
            if any(pair.keys for pair in pairs)
            else "not told by this: nothing could be paired."
        ),
        label="By respondent",
        columns=[Column("respondent", "id"), *(Column(run.name, "number") for run in runs)],
        rows=[[name, *line] for name, line in found.items()],
    )


def _difference_parts(
    runs: Sequence[ComparedRun],
    columns: Sequence[str],
    pairs: Sequence[Pairs],
    found: Sequence[Sequence[Difference]],
    figures: Path | None,
) -> list[Part]:
    names = [words(name) for name in columns]
    labels = [f"{run.name} minus {runs[0].name}" for run in runs[1:]]
    parts: list[Part] = []
    if figures is not None:
        paired = [place for place, pair in enumerate(pairs) if pair.keys]
        parts += _pictures(figures, paired, labels, names, found)
    has_why = any(
        one.interval.reason
        for each, pair in zip(found, pairs, strict=True)
        if pair.keys
        for one in each
    )
    rows: list[list[Scalar | Cell]] = [
        [
            label,
            name,
            Cell(_finite(one.interval.value), note=_limits(one)),
            one.sd,
            one.tau,
            one.n_pairs,
            one.interval.n,
            *([one.interval.reason or ""] if has_why else []),
        ]
        for label, each, pair in zip(labels, found, pairs, strict=True)
        if pair.keys  # a notice says of the others that there is nothing to pair
        for name, one in zip(names, each, strict=True)
    ]
    parts.append(
        Table(
            caption="Differences in points over the pairs that both runs scored: the mean over "
            "prompts with its 95% t interval, the SD of single differences, and Kendall's tau-b "
            "between the runs over the pairs (1 = the same order).",
            label="Differences",
            columns=[
                Column("difference", "id"),
                Column("score"),
                Column("mean difference", "number"),
                Column("SD", "number"),
                Column("tau-b", "number"),
                Column("pairs", "count"),
                Column("prompts", "count"),
                *([Column("why no interval", "wide")] if has_why else []),
            ],
            rows=rows,
        )
    )
    return parts


def _pictures(
    folder: Path,
    places: Sequence[int],
    labels: Sequence[str],
    criteria: Sequence[str],
    found: Sequence[Sequence[Difference]],
) -> list[Part]:
    """The differences drawn; more than one picture can tell apart are dealt out to several."""
    n_pictures = -(-len(places) // MOST_MARKED)
    parts: list[Part] = []
    for k in range(n_pictures):
        drawn = places[k * len(places) // n_pictures : (k + 1) * len(places) // n_pictures]
        name = "differences" if k == 0 else f"differences-{k + 1}"

        def numbers(limit: str, drawn: Sequence[int] = drawn) -> list[list[float]]:
            return [[getattr(one.interval, limit) for one in found[place]] for place in drawn]

        draw_differences(
            folder / name,
            labels=[labels[place] for place in drawn],
            criteria=criteria,
            mean=numbers("value"),
            low=numbers("low"),
            high=numbers("high"),
        )
        parts.append(
            Figure(
                folder / f"{name}.svg",
                "Differences" if n_pictures == 1 else f"Differences, {k + 1} of {n_pictures}",
                "Mean differences over prompts with their 95% intervals; a marker without a bar "
                "has none. To the right of the line the later run scored higher.",
            )
        )
    return parts


def _pair_records(runs: Sequence[ComparedRun], pairs: Sequence[Pairs]) -> Records:
    """Composites pair by pair, of the first run and every other that shares a pair with it."""
    shared = [place for place, pair in enumerate(pairs) if pair.keys]
    runs = [runs[0], *(runs[place + 1] for place in shared)]
    pairs = [pairs[place] for place in shared]
    keys = list(dict.fromkeys(key for pair in pairs for key in pair.keys))
    first: dict[tuple[str, str, str], float] = {}
    others: list[dict[tuple[str, str, str], float]] = []
    for pair in pairs:
        first |= dict(zip(pair.keys, pair.first[:, 0].tolist(), strict=True))
        others.append(dict(zip(pair.keys, pair.second[:, 0].tolist(), strict=True)))
    rows: list[list[Scalar]] = []
    for key in keys[:MOST_ROWS]:
        start = first[key]
        values = [other.get(key, math.nan) for other in others]
        rows.append(
            [
                key[0] or f"{key[2]} on {key[1]}",
                start,
                *values,
                *(value - start for value in values),
                key[1],
                key[2],
            ]
        )
    return Records(
        name="compared",
        caption="Composites of every pair; sort by a difference to see where the runs part.",
        label="Pair by pair",
        columns=[
            Column("pair", "id"),
            *(Column(run.name, "number") for run in runs),
            *(Column(f"{run.name} minus {runs[0].name}", "number") for run in runs[1:]),
            Column("prompt", "id"),
            Column("respondent", "id"),
        ],
        rows=rows,
        filters=[2 * len(runs) + 1] if 1 < len({row[-1] for row in rows}) <= 500 else [],
        file="the runs' scores.csv",
        left_out=max(0, len(keys) - MOST_ROWS),
    )


def _meaning() -> Points:
    return Points(
        [
            (
                "The prompt is the unit.",
                (
                    "Differences on one prompt are averaged first; the interval speaks of other "
                    "prompts of this kind, put to these panels."
                ),
            ),
            (
                "Several differences are shown.",
                (
                    "Intervals are not adjusted for their number: of twenty, one that leaves 0 "
                    "out is expected by chance."
                ),
            ),
            (
                "A difference between runs is not an improvement.",
                (
                    "It says that two panels score differently, not which of them is nearer to "
                    "what people would say; that takes a calibration of each."
                ),
            ),
        ]
    )


def _limits(one: Difference) -> str:
    return limits(_finite(one.interval.low), _finite(one.interval.high))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
