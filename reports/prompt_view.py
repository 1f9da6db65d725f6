"""Reading answers: each prompt with all its answers side by side, the most different ones first.

    prompts = compared_prompts(scores, folder, record)
    where_they_differ(prompts, pair)    a section with the beginnings of the most different answers
    all_prompts(prompts)                the section with every prompt, each opening its answers

A difference on a prompt is taken over the judges that scored both sides: a judge that is missing
on one of them says nothing of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InputError, InputFault
from ..formats import count, number, short, words
from ..records.judgments import JudgmentTable, read_judgment_table
from ..records.prompt_units import prompt_units
from ..records.run_folder import JUDGMENTS_FILE
from ..records.tables import read_texts
from .document import Column, Excerpt, Excerpts, Paragraph, Part, Records, Section, SideBySide
from .panel_responses import MOST_ROWS, RECORDS, parsed

PROMPTS: Final = "prompts"
"""The name of the table of prompts, whose rows the excerpts open."""
MOST_EXCERPTS: Final = 3
"""Prompts whose answers' beginnings stand on the page at once."""
_MOST_COMPARED: Final = 12
"""Of very many answers with judges missing: so many from either end are held against each other."""
_PROMPT_CHARS, _ANSWER_CHARS, _REASON_CHARS = 160, 260, 220

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ComparedPrompts:
    """The prompts of a run, with the votes on every answer.

    Attributes:
        scores: rows of scores.csv.
        folder: where judgments.parquet and maybe texts.parquet lie.
        record: run.json.
        respondents: by their mean composites, the best first; those without one last.
        answers: prompt to respondent to places of its answers among the rows.
        table: the judgments.
        votes: shape (responses of the table, judges): composites, nan where a judge scored nothing.
        place: response to its row of `votes`.
        judges: (persona, model, asking) of the columns of `votes`.
    """

    scores: Sequence[Mapping[str, str]]
    folder: Path
    record: Mapping[str, Any]
    respondents: tuple[str, ...]
    answers: Mapping[str, Mapping[str, list[int]]]
    table: JudgmentTable
    votes: Floats
    place: Mapping[str, int]
    judges: Sequence[tuple[str, str, int]]

    def means(self, prompt: str) -> tuple[list[str], Floats]:
        """Respondents with a composite on a prompt, and their means by judge: shape (n, judges)."""
        named: list[str] = []
        means: list[Floats] = []
        for name, rows in self.answers[prompt].items():
            # A response below the quorum has no score, whatever single judges said.
            found = [self.scores[k]["response_id"] for k in rows if self.scores[k]["composite"]]
            places = [self.place[name] for name in found if name in self.place]
            if not places:
                continue
            votes = self.votes[places]
            if len(votes) > 1:
                is_known = ~np.isnan(votes)
                n = is_known.sum(axis=0, keepdims=True)
                total = np.where(is_known, votes, 0.0).sum(axis=0, keepdims=True)
                votes = np.where(n > 0, total / np.maximum(n, 1), np.nan)
            named.append(name)
            means.append(votes[0])
        return named, np.array(means).reshape(len(named), len(self.judges))

    @cached_property
    def widest(self) -> Mapping[str, tuple[float, str, str]]:
        """Prompt to its largest difference between two respondents: (points, higher, lower).

        Without one that has two respondents with a judge in common.
        """
        found: dict[str, tuple[float, str, str]] = {}
        for prompt in self.answers:
            named, means = self.means(prompt)
            pair = _widest(means) if len(named) > 1 else None
            if pair is not None:
                found[prompt] = (pair[0], named[pair[1]], named[pair[2]])
        return found

    def differences(self, first: str, second: str) -> list[tuple[str, float]]:
        """(prompt, first minus second), the largest differences first, ties by the prompt's id."""
        found: list[tuple[str, float]] = []
        for prompt in self.answers:
            named, means = self.means(prompt)
            if first in named and second in named:
                gap = _gap(means[named.index(first)], means[named.index(second)])
                if not math.isnan(gap):
                    found.append((prompt, gap))
        return sorted(found, key=lambda one: (-abs(one[1]), one[0]))

    def spread(self, prompt: str) -> float | None:
        """The largest SD between the judges of one of its answers; None where there is none."""
        rows = (self.scores[k] for rows in self.answers[prompt].values() for k in rows)
        known = [sd for sd in (parsed(row["sd"]) for row in rows) if sd is not None]
        return max(known, default=None)


def compared_prompts(
    scores: Sequence[Mapping[str, str]], folder: Path, record: Mapping[str, Any]
) -> ComparedPrompts:
    """The prompts of a run.

    Args:
        scores: rows of scores.csv.
        folder: where judgments.parquet and maybe texts.parquet lie.
        record: run.json.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    table = read_judgment_table(folder, tuple(record["identity"]["criteria"]))
    totals: dict[str, list[float]] = {}
    for row in scores:
        composite = parsed(row["composite"])
        totals.setdefault(row["respondent_id"], []).extend([] if composite is None else [composite])
    order = sorted(totals, key=lambda who: (-np.mean(totals[who]) if totals[who] else np.inf, who))
    rank = {name: k for k, name in enumerate(order)}
    answers: dict[str, dict[str, list[int]]] = {}
    unit_of = prompt_units(scores)
    for k in sorted(range(len(scores)), key=lambda k: (rank[scores[k]["respondent_id"]], k)):
        row = scores[k]
        of_prompt = answers.setdefault(unit_of[row["prompt_id"]], {})
        of_prompt.setdefault(row["respondent_id"], []).append(k)
    votes, judges = _votes(table)
    return ComparedPrompts(
        scores=scores,
        folder=folder,
        record=record,
        respondents=tuple(order),
        answers=answers,
        table=table,
        votes=votes,
        place={name: k for k, name in enumerate(table.response_ids)},
        judges=judges,
    )


def _votes(table: JudgmentTable) -> tuple[Floats, list[tuple[str, str, int]]]:
    """Composites by response and judge, and who the judges are."""
    n_models, n_repeats = max(1, table.model.n), int(table.repeat.max(initial=0)) + 1
    codes = (table.persona.codes.astype(np.int64) * n_models + table.model.codes) * n_repeats
    known, seats = np.unique(codes + table.repeat, return_inverse=True)
    votes = np.full((table.n_responses, len(known)), np.nan)
    votes[table.response, seats] = table.values[:, 0]
    names = [
        (
            table.persona.names[code // n_repeats // n_models],
            table.model.names[code // n_repeats % n_models],
            code % n_repeats,
        )
        for code in known.tolist()
    ]
    return votes, names


def _gap(first: Floats, second: Floats) -> float:
    """The mean difference over the judges that scored both; nan where there is none."""
    each = first - second
    known = each[~np.isnan(each)]
    return float(known.mean()) if known.size else math.nan


def _widest(means: Floats) -> tuple[float, int, int] | None:
    """(difference, the higher one, the lower one) of the two rows that lie farthest apart."""
    n = len(means)
    if not np.isnan(means).any():
        level = means.mean(axis=1)
        high, low = int(level.argmax()), int(level.argmin())
        return (float(level[high] - level[low]), high, low) if high != low else (0.0, 0, 1)
    has_any = np.flatnonzero(~np.isnan(means).all(axis=1))
    chosen = has_any.tolist()
    if n > 2 * _MOST_COMPARED:
        order = sorted(chosen, key=lambda k: float(np.nanmean(means[k])))
        chosen = [*order[:_MOST_COMPARED], *order[-_MOST_COMPARED:]]
    best: tuple[float, int, int] | None = None
    for at, one in enumerate(chosen):
        for other in chosen[at + 1 :]:
            gap = _gap(means[one], means[other])
            if not math.isnan(gap) and (best is None or abs(gap) > best[0]):
                best = (abs(gap), one, other) if gap >= 0 else (abs(gap), other, one)
    return best


def where_they_differ(
    prompts: ComparedPrompts, pair: tuple[str, str] | None = None
) -> list[Section]:
    """The section with the prompts on which two respondents differ most; none without two.

    Args:
        prompts: all of the run.
        pair: the respondents; when left out, those with the highest and the lowest mean.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    names = prompts.respondents
    if pair is None and len(names) > 1:
        pair = (names[0], names[-1])
    most = prompts.differences(*pair)[:MOST_EXCERPTS] if pair is not None else []
    if pair is None or not most:
        return []
    rows = {place: row for row, place in enumerate(_order(prompts))}
    shown = {prompt: [_shown_answer(prompts, prompt, name) for name in pair] for prompt, _ in most}
    ids = [row["response_id"] for both in shown.values() for row in both]
    texts = read_texts(prompts.folder, ids)
    said = _reasons(prompts.folder, ids) if _has_reasons(prompts) else {}
    parts: list[Part] = []
    for prompt, gap in most:
        both = shown[prompt]
        judge = _telling_judge(prompts, both, said)
        asked = next((texts[r["response_id"]][0] for r in both if r["response_id"] in texts), "")
        parts.append(
            Excerpts(
                title=_beginning(asked, _PROMPT_CHARS) or prompt,
                note=f"{number(gap, is_signed=True)} points",
                sides=[
                    Excerpt(
                        who=name,
                        figure=number(parsed(row["composite"])),
                        text=_beginning(texts.get(row["response_id"], ("", ""))[1], _ANSWER_CHARS),
                        **_reason(prompts, row, judge, said),
                    )
                    for name, row in zip(pair, both, strict=True)
                ],
                record=(PROMPTS, rows[prompt]) if prompt in rows else None,
            )
        )
    first, second = (short(name) for name in pair)
    title = f"Where {first} and {second} differ most"
    return [Section("differ-most", title, parts)]


def _shown_answer(prompts: ComparedPrompts, prompt: str, name: str) -> Mapping[str, str]:
    """A respondent's first scored answer to a prompt."""
    rows = [prompts.scores[k] for k in prompts.answers[prompt][name]]
    return next((row for row in rows if row["composite"]), rows[0])


def _has_reasons(prompts: ComparedPrompts) -> bool:
    """Whether judges may have given reasons: they were not asked for any unless it says so."""
    return bool(prompts.record["identity"].get("rationale", "none") != "none")


Said = Mapping[tuple[str, str, str, int], str]


def _reasons(folder: Path, ids: Sequence[str]) -> Said:
    """(response, persona, model, asking) to the judge's reason, of some responses."""
    import pyarrow as pa
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    path = folder / JUDGMENTS_FILE
    wanted = pa.array(list(ids), pa.string())
    names = ["response_id", "persona", "model", "repeat", "rationale"]
    found: dict[tuple[str, str, str, int], str] = {}
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=names):
                kept = batch.filter(compute.is_in(batch.column("response_id"), value_set=wanted))
                for row in kept.to_pylist():
                    if row["rationale"]:
                        at = (row["response_id"], row["persona"], row["model"], row["repeat"])
                        found[at] = row["rationale"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found


def _telling_judge(
    prompts: ComparedPrompts, both: Sequence[Mapping[str, str]], said: Said
) -> int | None:
    """The judge with a reason for both answers whose scores lie farthest apart; None without."""
    first, second = (row["response_id"] for row in both)
    if first not in prompts.place or second not in prompts.place:
        return None
    gaps = prompts.votes[prompts.place[first]] - prompts.votes[prompts.place[second]]
    told = [
        (-abs(float(gaps[k])), k)
        for k, judge in enumerate(prompts.judges)
        if (first, *judge) in said and (second, *judge) in said and not np.isnan(gaps[k])
    ]
    return min(told)[1] if told else None


def _reason(
    prompts: ComparedPrompts, row: Mapping[str, str], judge: int | None, said: Said
) -> dict[str, str]:
    """What the judge said of an answer, and who it is."""
    if judge is None:
        return {}
    persona, model, repeat = prompts.judges[judge]
    labels = {str(p["id"]): str(p.get("label") or "") for p in prompts.record["panel"]["personas"]}
    by = labels.get(persona) or words(persona)
    if len({model for _, model, _ in prompts.judges}) > 1:
        by += f", {short(model)}"
    vote = prompts.votes[prompts.place[row["response_id"]], judge]
    text = _beginning(said[row["response_id"], persona, model, repeat], _REASON_CHARS)
    return {"reason": text, "by": f"{by}: {number(float(vote), 1)}"}


def all_prompts(prompts: ComparedPrompts) -> Section:
    """The table of prompts, those with the largest differences first; each opens its answers.

    The answers themselves are those of the table of responses, which the page carries once.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    places = _order(prompts)
    firsts = {place: next(iter(prompts.answers[place].values()))[0] for place in places}
    ids = {place: prompts.scores[k]["response_id"] for place, k in firsts.items()}
    texts = read_texts(prompts.folder, ids.values())
    is_compared = len(prompts.respondents) > 1
    rows: list[list[Any]] = []
    for place in places:
        asked = texts.get(ids[place], ("", ""))[0]
        points, high, low = prompts.widest.get(place, (None, "", ""))
        if not points:  # nobody is above the others
            high = low = ""
        n = sum(len(found) for found in prompts.answers[place].values())
        compared = [points, high, low] if is_compared else []
        beginning = _beginning(asked, _PROMPT_CHARS) or place
        rows.append([beginning, *compared, prompts.spread(place), n, place])
    columns = [
        Column("prompt", "wide"),
        *(
            [
                Column("largest difference", "number"),
                Column("highest", "id"),
                Column("lowest", "id"),
            ]
            if is_compared
            else []
        ),
        Column("SD between judges", "number"),
        Column("answers", "count"),
        Column("prompt id", "id"),
    ]
    told = "The name of a prompt opens all its answers side by side, each with its judges."
    if is_compared:
        told += (
            " Largest difference: between two respondents, in points of the composite, over the "
            "judges that scored both; those farthest apart stand first."
        )
    told += " SD between judges: the largest of any of its answers. A head sorts by its column."
    parts: list[Part] = []
    if not _has_reasons(prompts):
        parts.append(
            Paragraph(
                "Judges were not asked for reasons; with the setting rationale: before they are.",
                "quiet",
            )
        )
    if len(prompts.scores) > MOST_ROWS:
        parts.append(
            Paragraph(
                f"Answers are shown of the {count(MOST_ROWS)} responses that this page carries; "
                "differences are those of all.",
                "quiet",
            )
        )
    carried = [
        [k for found in prompts.answers[place].values() for k in found if k < MOST_ROWS]
        for place in places
    ]
    parts.append(
        Records(
            name=PROMPTS,
            caption=told,
            label="All prompts",
            columns=columns,
            rows=rows,
            view=SideBySide(
                RECORDS, carried, named=1, value=2, low=3, high=4, has_texts=bool(texts)
            ),
            title=len(columns) - 1,
            file="scores.csv",
            left_out=max(0, len(prompts.answers) - len(places)),
        )
    )
    return Section("by-prompt", "Prompts", parts)


def _order(prompts: ComparedPrompts) -> list[str]:
    """The prompts of the page: largest difference, then largest SD between judges, then id."""

    def key(prompt: str) -> tuple[float, float, str]:
        return (
            -prompts.widest[prompt][0] if prompt in prompts.widest else 1.0,
            -(prompts.spread(prompt) or 0.0),
            prompt,
        )

    carried = [
        prompt
        for prompt, found in prompts.answers.items()
        if any(k < MOST_ROWS for rows in found.values() for k in rows)
    ]
    return sorted(carried, key=key)


_MARKDOWN: Final = re.compile(r"(?m)^[ \t]{0,8}(?:#{1,6}|>|[-*+])[ \t]+|\*\*|__|`+")


def _beginning(text: str, most: int) -> str:
    """The first characters of a text on one line, without the commonest marks of Markdown."""
    plain = " ".join(_MARKDOWN.sub("", text[: 4 * most]).split())
    if len(plain) <= most:
        return plain if len(text) <= 4 * most else f"{plain} …"
    return f"{plain[:most].rsplit(' ', 1)[0]} …"
