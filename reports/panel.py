"""The page of a panel run, from the files of its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from .asked import cost_of, state_told
from .document import Document
from .judgment_table import JudgmentTable, read_judgment_table
from .numbers import count, parsed
from .responses import read_responses
from .scorecard import columns_of, respondent_rows
from .section_asked import asked, counts_and_cost, meaning
from .section_judges import disagreement, judges
from .section_precision import fewer_judges, spared
from .section_responses import all_responses, set_apart
from .section_scores import glance, ranking, scorecard
from .standings import prompt_table, standings

_SOURCE_COLUMNS: Final = ("source", "true_source", "input_source")


def panel_page(
    record: Mapping[str, Any],
    scores: Sequence[Mapping[str, str]],
    folder: Path,
    *,
    figures: Path | None,
    without: str = "",
    step: int = 1,
) -> Document:
    """The page.

    Args:
        record: the content of run.json.
        scores: the rows of scores.csv.
        folder: where judgments.parquet and, if the run has it, texts.parquet lie.
        figures: the folder for pictures; None = none are drawn.
        without: then why not.
        step: that the tables hold every `step`-th response of the run.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    criteria = tuple(record["identity"]["criteria"])
    low, high = record["identity"]["scale"]
    scale = (float(low), float(high))
    personas = record["panel"]["personas"]
    axes = tuple(dict.fromkeys(str(p["axis"]) for p in personas))
    table = read_judgment_table(folder, criteria)
    responses = read_responses(scores, axes)
    columns = columns_of(criteria)
    rows = respondent_rows(record["respondents"], criteria)
    (total,) = respondent_rows([record["total"]], criteria)
    method = str(record["total"]["method"])
    ranks = standings(*prompt_table(scores))
    cost = cost_of(record)
    models, n_personas = record["panel"]["models"], len(personas)
    counts, faults, n_judgments = table.counts, table.faults, table.n_judgments
    mismatch, overall = _mismatch(record, table), responses
    if step > 1:
        n, verdicts = record["responses"]["n"], record["verdicts"]
        overall = replace(responses, n=n, verdicts=verdicts)
        counts, faults = {**counts, **record["counts"]}, _faults(record)
        n_judgments, mismatch = record["n_planned"], _excerpt(record, step, len(scores))
    return Document(
        title=f"Panel run of {record['responses']['n']} responses",
        kind="panel",
        is_demonstration=bool(record["demonstration"]),
        lead=(
            (
                f"{count(counts['scored'])} scored of {count(record['n_planned'])} planned"
                f"{spared(record)}"
            ),
            (
                f"judgments: {n_personas} personas on {len(models)} "
                f"{'model' if len(models) == 1 else 'models'}."
            ),
        ),
        state=state_told(record),
        notices=[*([mismatch] if mismatch else []), *map(str, record["notices"])],
        sections=[
            glance(total, overall, counts, n_judgments, cost, without),
            scorecard(
                rows,
                total,
                columns,
                scale=scale,
                method=method,
                people=_people([row.name for row in rows], scores),
                figures=figures,
            ),
            ranking(rows, ranks, _composites(scores), scale=scale, figures=figures),
            judges(
                table,
                columns,
                prompts={row["response_id"]: row["prompt_id"] for row in scores},
                personas=personas,
                scale=scale,
            ),
            disagreement(table, responses, scores, personas=personas, scale=scale, figures=figures),
            set_apart(responses),
            all_responses(
                table,
                scores,
                folder=folder,
                axes=axes,
                columns=columns[1:] if len(columns) > 1 else columns,
                scale=scale,
            ),
            counts_and_cost(counts, faults, record["n_planned"], cost, record),
            *fewer_judges(record),
            asked(record),
            meaning(method, responses.methods),
        ],
    )


def _composites(scores: Sequence[Mapping[str, str]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in scores:
        value = parsed(row["composite"])
        mine = found.setdefault(row["respondent_id"], [])
        if value is not None:
            mine.append(value)
    return found


def _people(names: Sequence[str], scores: Sequence[Mapping[str, str]]) -> list[bool]:
    """Which respondents are people, by the rule of the calibration."""
    from ..calibration.responses import HUMAN, sources

    source: dict[str, str | None] = {}
    for row in scores:
        said = next((row[c] for c in _SOURCE_COLUMNS if row.get(c)), None)
        source.setdefault(row["respondent_id"], said)
    given = [source.get(name) for name in names]
    coded = sources(given, [None] * len(names), list(names))
    return [bool(one) for one in np.asarray(coded) == HUMAN]


def _excerpt(record: Mapping[str, Any], step: int, n: int) -> str:
    return (
        "The run is long: distributions, ranks, judges, disagreement and lists on this page are of "
        f"one response in {step}, {count(n)} of {count(record['responses']['n'])}. Counts, cost "
        "and the scorecard are of all, and scores.csv and judgments.parquet hold them."
    )


def _faults(record: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for name, number in record["faults"].items():
        status, _, reason = name.partition(": ")
        found[status, reason] = number
    return found


def _mismatch(record: Mapping[str, Any], table: JudgmentTable) -> str:
    """What differs between run.json and the tables, "" where they agree."""
    stored = {name: number for name, number in record["counts"].items() if number}
    found = {name: number for name, number in table.counts.items() if number}
    if stored == found and record["n_planned"] == table.n_judgments:
        return ""
    return (
        f"run.json counts {sum(stored.values())} judgments of {record['n_planned']} planned, "
        f"judgments.parquet holds {table.n_judgments}: the run was not ended, or the files are of "
        "different runs. Counts and means by judge are those of the tables, the scorecard and the "
        "cost those of run.json."
    )
