"""The page that compares runs: what differs in what was asked, and in what came out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate
from ..errors import InputError, InputFault
from ..formats import count, dollars, estimate, listed, number, units, words
from ..records.run_folder import RUN_FILE, read_run_file
from ..records.tables import read_scores, read_texts
from .document import (
    Cell,
    Chart,
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
from .html import write_html
from .panel_responses import MOST_ROWS, parsed
from .run_sections import panel_settings

Floats = npt.NDArray[np.float64]
Row = Mapping[str, str]

MOST_MARKED: Final = 9
"""Runs whose markers are still told apart in one picture."""
MOST_RUNS: Final = 12


def write_comparison(
    folders: Sequence[str | Path], path: str | Path, *, figures: bool = True
) -> Path:
    """The path of a page that compares panel runs, written at once or not at all.

    Pictures go into a folder beside the page, named like it with "_figures".

    Args:
        folders: see `comparison_document`.
        path: the .html file to write.
        figures: whether to draw pictures.

    Raises:
        InputError: see `comparison_document`.
        StoreError: the page cannot be written.
    """
    path = Path(path)
    drawn = path.with_name(f"{path.stem}_figures") if figures else None
    return write_html(path, comparison_document(folders), charts=drawn)


def comparison_document(folders: Sequence[str | Path]) -> Document:
    """Describes how panel runs differ.

    Each run is held against the first: by response where they scored the same ones (the same
    response, prompt and respondent ids, and the same text where both runs stored texts), else by
    respondent and prompt. The prompt is the unit of every interval.

    Args:
        folders: two to twelve run folders, the first is what the others are compared with.

    Raises:
        InputError: a folder holds no panel run, they are fewer than two or more than twelve, or
            they have no criterion and no scale in common.
    """
    if not 2 <= len(folders) <= MOST_RUNS:
        raise InputError(f"a comparison needs 2 to {MOST_RUNS} runs, got {len(folders)}")
    runs = read_runs(folders)
    criteria = shared_criteria(runs)
    columns = ["composite", *criteria] if criteria else ["composite"]
    others = runs[1:]
    different = [different_texts(runs[0], other) for other in others]
    pairs = [
        pairs_of(runs[0].scores, other.scores, columns, different=changed)
        for other, changed in zip(others, different, strict=True)
    ]
    found = [differences(pair) for pair in pairs]
    return Document(
        title=f"Comparison of {len(runs)} runs",
        kind="comparison",
        is_demonstration=any(run.record["demonstration"] for run in runs),
        headline=_headline(runs, pairs, found),
        trust=_trust(runs, pairs, found),
        notices=_notices(runs, pairs, different),
        sections=[
            *(
                [
                    Section(
                        "differences",
                        "Differences",
                        _difference_parts(runs, columns, pairs, found),
                        audience="summary" if len(runs) == 2 else "detail",
                    )
                ]
                if any(pair.keys for pair in pairs)
                else []
            ),
            Section("respondents", "By respondent", [_respondents_table(runs, pairs)]),
            Section("runs", "The runs", [_runs_table(runs), *_what_differs(runs)]),
            *(
                [Section("pairs", "Pair by pair", [_pair_records(runs, pairs)])]
                if any(pair.keys for pair in pairs)
                else []
            ),
            Section("meaning", "What these numbers mean and do not mean", [_meaning()]),
        ],
    )


def _headline(
    runs: Sequence[ComparedRun], pairs: Sequence[Pairs], found: Sequence[Sequence[Difference]]
) -> list[str]:
    """The difference of the composite; of more than two runs no verdict, as none is adjusted."""
    first = runs[0].name
    paired = [
        (run.name, each[0].interval)
        for run, pair, each in zip(runs[1:], pairs, found, strict=True)
        if pair.keys
    ]
    if not paired:
        return [f"Nothing can be compared with {first}: no pair of scores is shared."]
    told = [
        f"{name} {estimate(one, is_signed=True)} over {units(one.n, 'prompt')}"
        for name, one in paired
    ]
    if len(runs) > 2:
        reasons = dict.fromkeys(one.reason for _, one in paired if one.reason)
        return [
            f"Composite, in points, held against {first}: {listed(told, MOST_RUNS)}.",
            *(f"Without an interval: {reason}." for reason in reasons),
        ]
    other, one = paired[0]
    shown = f"{estimate(one, is_signed=True)} points over {units(one.n, 'prompt')}"
    if not one.has_interval:
        verdict = f"{other} minus {first} on the composite"
        shown += f". Cannot tell whether they differ ({one.reason})"
    elif one.low <= 0 <= one.high:
        verdict = f"{other} and {first} are not told apart on the composite"
    else:
        than = "higher" if one.value > 0 else "lower"
        verdict = f"{other} scores {than} than {first} on the composite"
    return [f"{verdict}: {shown}."]


def _trust(
    runs: Sequence[ComparedRun], pairs: Sequence[Pairs], found: Sequence[Sequence[Difference]]
) -> list[tuple[str, str]]:
    """Coverage, what else differs, whether the order is the same, and what is not known."""
    scored = [
        f"{run.name} {count(run.record['counts'].get('scored', 0))} of "
        f"{count(run.record['n_planned'])}"
        for run in runs
    ]
    differ = [name for name, _ in _settings_that_differ(runs)]
    trust = [
        ("coverage", f"judgments scored: {listed(scored, MOST_RUNS)}"),
        ("settings", f"that differ: {listed(differ)}" if differ else "the same"),
    ]
    if len(runs) == 2 and pairs[0].keys:
        tau, n = found[0][0].tau, units(found[0][0].n_pairs, "pair")
        trust.append(("order", f"tau-b {number(tau)} between their composites of {n}"))
    trust.append(
        ("people", "which is nearer to people's judgments is unknown: calibrate each of them")
    )
    return trust


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
    if not cost["judgments_with_unknown_price"]:
        return dollars(cost["replies_usd"])
    return (
        f"{dollars(cost['replies_usd'])} and unknown prices" if cost["replies_usd"] else "unknown"
    )


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


def _respondents_table(runs: Sequence[ComparedRun], pairs: Sequence[Pairs]) -> Table:
    found: dict[str, list[Estimate | None]] = {}
    for place, run in enumerate(runs):
        for item in run.record["respondents"]:
            line = found.setdefault(str(item["respondent_id"]), [None for _ in runs])
            line[place] = _mean_of(item)
    return Table(
        caption="Mean composite over prompts by respondent, with its 95% interval. A respondent's "
        "means stand side by side; whether they differ is "
        + (
            "told by the paired differences below."
            if any(pair.keys for pair in pairs)
            else "not told by this: nothing could be paired."
        ),
        label="By respondent",
        columns=[Column("respondent", "id"), *(Column(run.name, "estimate") for run in runs)],
        rows=[[name, *line] for name, line in found.items()],
    )


def _difference_parts(
    runs: Sequence[ComparedRun],
    columns: Sequence[str],
    pairs: Sequence[Pairs],
    found: Sequence[Sequence[Difference]],
) -> list[Part]:
    names = [words(name) for name in columns]
    labels = [f"{run.name} minus {runs[0].name}" for run in runs[1:]]
    paired = [place for place, pair in enumerate(pairs) if pair.keys]
    parts: list[Part] = [*_charts(paired, labels, names, found)]
    reasons = dict.fromkeys(
        f"no interval: {one.interval.reason}"
        for place in paired
        for one in found[place]
        if one.interval.reason
    )
    rows: list[list[Scalar | Cell]] = [
        [
            label,
            name,
            one.interval,
            one.sd,
            one.tau,
            one.n_pairs,
            one.interval.n,
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
                Column("mean difference", "estimate", is_signed=True),
                Column("SD", "number"),
                Column("tau-b", "number"),
                Column("pairs", "count"),
                Column("prompts", "count"),
            ],
            rows=rows,
            notes=list(reasons),
        )
    )
    return parts


def _charts(
    places: Sequence[int],
    labels: Sequence[str],
    criteria: Sequence[str],
    found: Sequence[Sequence[Difference]],
) -> list[Chart]:
    """The differences drawn; more than one picture can tell apart are dealt out to several."""
    n_pictures = -(-len(places) // MOST_MARKED)
    charts = []
    for k in range(n_pictures):
        drawn = places[k * len(places) // n_pictures : (k + 1) * len(places) // n_pictures]

        def numbers(limit: str, drawn: Sequence[int] = drawn) -> Any:
            return [
                [getattr(found[place][at].interval, limit) for place in drawn]
                for at in range(len(criteria))
            ]

        charts.append(
            Chart(
                "forest",
                "differences" if k == 0 else f"differences-{k + 1}",
                "Differences" if n_pictures == 1 else f"Differences, {k + 1} of {n_pictures}",
                "Mean differences over prompts with their 95% intervals; a marker without a bar "
                "has none. To the right of the line the later run scored higher.",
                rows=criteria,
                columns=[labels[place] for place in drawn],
                values=numbers("value"),
                low=numbers("low"),
                high=numbers("high"),
                reference=0.0,
                axis="difference in points",
            )
        )
    return charts


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


def _mean_of(item: Mapping[str, Any]) -> Estimate:
    low, high = item["interval"] or (math.nan, math.nan)
    value = math.nan if item["composite"] is None else item["composite"]
    return Estimate(value, low, high, item["n_prompts"], reason=item["reason"])


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run that is compared: its name in the page, its record and its scores."""

    name: str
    folder: Path
    record: Mapping[str, Any]
    scores: Sequence[Mapping[str, str]]


def read_runs(folders: Sequence[str | Path]) -> list[ComparedRun]:
    """The runs of these folders, named apart.

    Raises:
        InputError: one that is no panel run, or of another scale.
    """
    paths = [Path(folder) for folder in folders]
    records = [read_run_file(path) for path in paths]
    faults = [
        InputFault(str(path / RUN_FILE), f"must be 'panel', got {record.get('kind')!r}", "kind")
        for path, record in zip(paths, records, strict=True)
        if record.get("kind") != "panel"
    ]
    scales = {tuple(record["identity"]["scale"]) for record in records if not faults}
    if len(scales) > 1:
        told = ", ".join(f"{low:g} to {high:g}" for low, high in sorted(scales))
        faults.append(InputFault(str(paths[0]), f"the runs have different scales: {told}"))
    if faults:
        raise InputError(faults)
    names = [path.resolve().name for path in paths]
    return [
        ComparedRun(
            name=name if names.count(name) == 1 else f"{name} ({place + 1})",
            folder=path,
            record=record,
            scores=read_scores(path),
        )
        for place, (path, name, record) in enumerate(zip(paths, names, records, strict=True))
    ]


def shared_criteria(runs: Sequence[ComparedRun]) -> list[str]:
    """The criteria that all have, none where there is but one."""
    sets = [run.record["identity"]["criteria"] for run in runs]
    shared = [name for name in sets[0] if all(name in other for other in sets[1:])]
    return shared if len(sets[0]) > 1 else []


def different_texts(first: ComparedRun, other: ComparedRun) -> set[str]:
    """The ids under which the two judged different texts."""
    if first.record["identity"].get("responses_sha256") == other.record["identity"].get(
        "responses_sha256"
    ):
        return set()
    ids = [row["response_id"] for row in first.scores]
    here, there = read_texts(first.folder, ids), read_texts(other.folder, ids)
    return {name for name, text in here.items() if name in there and there[name] != text}


@dataclass(frozen=True, slots=True)
class Pairs:
    """Values of two runs, side by side.

    Attributes:
        unit: "response" or "respondent on a prompt": what a pair is.
        keys: shape (pairs,), names of the pairs: (response, prompt, respondent), the first ""
            where the pair is no response.
        first, second: shape (pairs, columns): composite, then the criteria; nan = no score.
    """

    unit: str
    keys: tuple[tuple[str, str, str], ...]
    first: Floats
    second: Floats


@dataclass(frozen=True, slots=True)
class Difference:
    """How one column differs, second minus first.

    Attributes:
        interval: mean over prompts of the prompts' mean differences, with its t interval.
        n_pairs: pairs scored in both runs.
        sd: SD of the single differences; nan below two.
        tau: Kendall's tau-b between the runs over the pairs; nan where undefined.
    """

    interval: Estimate
    n_pairs: int
    sd: float
    tau: float


def pairs_of(
    first: Sequence[Row], second: Sequence[Row], columns: Sequence[str], *, different: set[str]
) -> Pairs:
    """The pairs of two tables of scores.

    Responses are paired by their id, where prompt and respondent are the same as well. Where the
    runs share none, the means of each respondent on each prompt are.

    Args:
        first, second: rows of scores.csv.
        columns: "composite" and the criteria.
        different: ids whose texts are known to differ between the runs: never paired.
    """
    here = {row["response_id"]: row for row in first}
    shared = [
        (here[row["response_id"]], row)
        for row in second
        if row["response_id"] in here
        and row["response_id"] not in different
        and _place(here[row["response_id"]]) == _place(row)
    ]
    if shared:
        return Pairs(
            "response",
            tuple(
                (row["response_id"], row["prompt_id"], row["respondent_id"]) for row, _ in shared
            ),
            _table([_values(one, columns) for one, _ in shared], columns),
            _table([_values(other, columns) for _, other in shared], columns),
        )
    left, right = _by_place(first, columns), _by_place(second, columns)
    places = [place for place in left if place in right]
    return Pairs(
        "respondent on a prompt",
        tuple(("", prompt, respondent) for prompt, respondent in places),
        _table([left[place] for place in places], columns),
        _table([right[place] for place in places], columns),
    )


def differences(pairs: Pairs) -> list[Difference]:
    """The differences, one a column, with prompts as the unit."""
    from ..aggregation.intervals import t_interval
    from ..aggregation.kendall import kendall_tau_b

    prompts = [prompt for _, prompt, _ in pairs.keys]
    found = []
    for column in range(pairs.first.shape[1]):
        left, right = pairs.first[:, column], pairs.second[:, column]
        known = ~(np.isnan(left) | np.isnan(right))
        delta = (right - left)[known]
        by_prompt: dict[str, list[float]] = {}
        for place, value in zip(np.flatnonzero(known).tolist(), delta.tolist(), strict=True):
            by_prompt.setdefault(prompts[place], []).append(value)
        means = [sum(values) / len(values) for values in by_prompt.values()]
        found.append(
            Difference(
                interval=t_interval(means),
                n_pairs=int(known.sum()),
                sd=float(delta.std(ddof=1)) if len(delta) > 1 else float("nan"),
                tau=kendall_tau_b(left[known], right[known]) if len(delta) > 1 else float("nan"),
            )
        )
    return found


def _place(row: Row) -> tuple[str, str]:
    return row["prompt_id"], row["respondent_id"]


def _values(row: Row, columns: Sequence[str]) -> list[float]:
    numbers = [parsed(row.get(name)) for name in columns]
    return [float("nan") if value is None else value for value in numbers]


def _by_place(rows: Sequence[Row], columns: Sequence[str]) -> dict[tuple[str, str], list[float]]:
    gathered: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        if parsed(row["composite"]) is not None:
            gathered.setdefault(_place(row), []).append(_values(row, columns))
    return {place: np.mean(values, axis=0).tolist() for place, values in gathered.items()}


def _table(rows: Sequence[Sequence[float]], columns: Sequence[str]) -> Floats:
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), len(columns))
