"""Makes a run folder from judgments stored by any tool. Commands that call no model work on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from .calibration.panel_scores import PARTIAL, stored_scores
from .errors import InputError, InputFault
from .experiment.run_record import versions
from .experiment.run_writer import RunWriter, describe_run
from .formats import listed_all
from .graphs.panel import aggregate
from .judges.models.usage import cost_record
from .records.humans import Coded, read_judgments
from .records.prompt_units import prompt_text_id
from .records.readers.responses import ResponseSource
from .records.run_folder import RUN_FORMAT, RunFolder
from .records.tables import JUDGMENT_COLUMNS, LENGTH_COLUMN, PROVENANCE_COLUMNS
from .records.types import STATUSES, Judgment, Sample, Status
from .run import Run

if TYPE_CHECKING:
    from .calibration.panel_scores import StoredScores
    from .records.humans import HumanColumns, JudgmentReading

_SCALES: Final = ((0, 1), (1, 5), (1, 7), (1, 10), (0, 10), (0, 100))
"""Usual scales. Without a stated scale, the first that holds all scores is assumed."""

WITHOUT_TEXTS: Final = (
    "The file has no texts, so the report shows none, and {lacking} are not computed. "
    "`responses` adds them."
)

Outcomes = dict[tuple[str, str, str, int], tuple[Status, str | None, str | None]]
"""From response, persona, model and repeat to status, reason and detail of an unscored judgment."""

_ABSENT: Final[tuple[Status, str | None, str | None]] = ("not_asked", "absent", None)


@dataclass(frozen=True, slots=True)
class StoredPanel:
    """The judges of a file of judgments. Only their names are known; they cannot be asked again.

    Attributes:
        criteria, scale, quorum, notices: as in a panel that was asked.
        judges: persona and model of each judge.
        repeats: the largest number of judgments of one response by one judge.
    """

    criteria: tuple[str, ...]
    scale: tuple[float, float]
    judges: tuple[tuple[str, str], ...]
    repeats: int
    notices: tuple[str, ...]
    quorum: float = 2 / 3

    @property
    def axes(self) -> dict[str, str]:
        """From persona to its axis, which is unknown."""
        return dict.fromkeys((persona for persona, _ in self.judges), "")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(dict.fromkeys(model for _, model in self.judges))

    def planned(self) -> list[str]:
        """Keys of all judgments on one response."""
        return [
            f"{persona}|{model}|{repeat}"
            for repeat in range(self.repeats)
            for persona, model in self.judges
        ]

    def identity(self) -> dict[str, Any]:
        """What two runs of the same judges have in common, as far as the names show."""
        return {
            "imported": True,
            "rubric": {"id": "imported"},
            "mode": "dimensions",
            "personas": dict.fromkeys(self.axes),
            "models": {name: {"model": name} for name in self.models},
            "repeats": self.repeats,
            "criteria": list(self.criteria),
            "scale": list(self.scale),
        }

    def describe(self) -> dict[str, Any]:
        """The panel as run.json records it, without its identity."""
        return {
            "personas": [{"id": name, "label": name, "axis": ""} for name in self.axes],
            "quorum": self.quorum,
            "models": [{"name": name} for name in self.models],
        }


def import_judgments(
    judgments: str | Path,
    out: str | Path,
    *,
    responses: str | Path | None = None,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    criteria: Sequence[str] | None = None,
    scale: tuple[float, float] | None = None,
) -> Run:
    """Returns a run made from stored judgments.

    Each row is one judge's judgment of one response (criteria in columns, or one in each row); see
    `records.humans.read_judgments`. A judgment that lacks a criterion which its judge scores
    elsewhere is unreadable. A judgment is refused, failed or abstained if its status says so. A
    judgment without a row was not asked.

    Args:
        judgments: the file.
        out: the run folder.
        responses: a file with the texts, where the judgments have none.
        columns: a column map, or a mapping from our names to theirs.
        criteria: the criteria to import; by default all.
        scale: lowest and highest score; by default the first usual scale that holds all scores.

    Raises:
        InputError: the files have faults, hold ranks, or have judges who score different criteria;
            or the folder holds another run.
        StoreError: the folder cannot be written.
    """
    source = Path(judgments)
    reading = read_judgments(source, columns=columns, criteria=criteria, scale=scale)
    reading.reading.require_sound()
    reading, notices = _of_one_judge(reading)
    table = reading.reading.table
    if not len(table) or table.is_rank.any():
        fault = "holds ranks, but a run needs scores" if len(table) else "holds no score"
        raise InputError([InputFault(str(source), fault)])
    rows = _responses_of(reading, responses)
    judges = dict.fromkeys((*table.rater_id.names, *(one.judge for one in reading.unscored)))
    stored = stored_scores(
        table, {name: place for place, name in enumerate(rows)}, list(judges),
        reading.persona_of, reading.model_of, scale=scale,
    )  # fmt: skip
    if reserved := sorted(
        {*stored.criteria} & {*JUDGMENT_COLUMNS, *PROVENANCE_COLUMNS, LENGTH_COLUMN}
    ):
        fault = "is the name of a column in every run; give this criterion another name"
        raise InputError([InputFault(str(source), fault, name) for name in reserved])
    _require_same_criteria(source, stored)
    limits, assumed = _scale_of(source, table.value, scale)
    notices += assumed
    has_texts = any(row.response_text for row in rows.values())
    lengths = reading.lengths
    if not has_texts:
        lacking = "flags and formatting" if lengths else "flags, length and formatting"
        notices += (WITHOUT_TEXTS.format(lacking=lacking),)
    if lengths:
        column = dict(reading.reading.columns_used)[LENGTH_COLUMN]
        notices += (
            f"Column {column} holds the lengths of {len(lengths):,} of {len(rows):,} responses.",
        )
    # Prompts are known here without a run: by their texts, or from the ids of responses.
    of_reading = [one for one in reading.reading.notices if not one.startswith("no prompt_id")]
    panel = StoredPanel(
        stored.criteria, limits, tuple(dict.fromkeys(stored.cell_of.values())),
        stored.scores.shape[3], (*of_reading, *notices),
    )  # fmt: skip
    outcomes = _outcomes(reading, stored)
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    digest = hashlib.sha256(b"".join(one.read_bytes() for one in files if one.is_file()))
    identity = panel.identity() | {"responses_sha256": digest.hexdigest()}
    folder = RunFolder.open(out, identity)
    try:
        carried = (LENGTH_COLUMN,) if lengths else ()
        with RunWriter(panel, folder.path, carried=carried) as writer:
            for place, row in enumerate(rows.values()):
                judged = tuple(_judgments(place, row, panel, stored, outcomes))
                verdict = aggregate(judged, panel=panel, sample=row)
                length = {LENGTH_COLUMN: lengths.get(row.response_id)}
                writer.add(verdict, row.prompt_text, row.response_text, length)
        described = describe_run(panel, source.name, writer.summary, is_demonstration=False)
        folder.write_run_file(
            {
                "format": RUN_FORMAT,
                "state": "complete",
                "versions": versions(),
                "kind": "panel",
                "identity": identity,
                **described,
                "cost": {**described["cost"], **cost_record([])},
                "sessions": [],
            }
        )
    finally:
        folder.close()
    return Run(folder.path).write_results()


def _responses_of(reading: JudgmentReading, responses: str | Path | None) -> dict[str, Sample]:
    """From response id to what is known of the response, in the order of the file."""
    table = reading.reading.table
    columns = (table.response_id, table.prompt_id, table.source)
    rows = dict.fromkeys(zip(*(column.texts().tolist() for column in columns), strict=True))
    rows |= dict.fromkeys(one[2:] for one in reading.unscored)
    texts = {} if responses is None else _texts_of(responses, {name for name, *_ in rows})
    samples: dict[str, Sample] = {}
    for name, prompt_id, respondent in rows:
        if name in samples:
            continue
        prompt, response = reading.texts.get(name, ("", ""))
        if (row := texts.get(name)) is not None:
            samples[name] = replace(row, respondent_id=respondent or row.respondent_id, extra={})
            continue
        if prompt_id is None or prompt_id == prompt:
            prompt_id = prompt_text_id(prompt) if prompt else _prompt_in(name, respondent)  # noqa: PLW2901
        samples[name] = Sample(name, prompt_id, respondent or "unnamed", prompt, response)
    return samples


def _prompt_in(name: str, respondent: str | None) -> str:
    """The prompt that a response's id names before its respondent, as in the paper's release."""
    if respondent is None or not name.endswith(respondent):
        return name
    return name.removesuffix(respondent).rstrip("_-/: ") or name


def _texts_of(responses: str | Path, judged: set[str]) -> dict[str, Sample]:
    with ResponseSource(responses) as source:
        source.check()
        found = {row.response_id: row for row in source.rows() if row.response_id in judged}
    if absent := sorted(judged - set(found)):
        fault = (
            f"has no response {absent[0]!r}, which was judged ({len(absent):,} of {len(judged):,})"
        )
        raise InputError([InputFault(str(responses), fault, "response_id")])
    return found


def _of_one_judge(reading: JudgmentReading) -> tuple[JudgmentReading, tuple[str, ...]]:
    """Merges judges that score one criterion each into one judge; leaves other judges unchanged.

    Evaluation tools have one scorer for each criterion. Together they judge a response once.
    """
    table = reading.reading.table
    pairs = set(zip(table.rater_id.codes.tolist(), table.criterion.codes.tolist(), strict=True))
    judges = {judge for judge, _ in pairs}
    if len(judges) < 2 or len({criterion for _, criterion in pairs}) < len(pairs):
        return reading, ()
    names = [table.rater_id.names[code] for code in sorted(judges)]
    name = " + ".join(names) if len(names) < 4 else f"{names[0]} + {len(names) - 1} more"
    one = Coded(np.zeros(len(table), dtype=np.int32), (name,))
    merged = replace(
        reading,
        reading=replace(reading.reading, table=replace(table, rater_id=one)),
        persona_of={},
        model_of={},
        unscored=tuple(row._replace(judge=name) for row in reading.unscored),
    )
    sentence = f"Each criterion has its own judge, so {listed_all(names)} count as one judge."
    return merged, (sentence,)


def _require_same_criteria(source: Path, stored: StoredScores) -> None:
    """Refuses judges who score different criteria: their composites are different quantities."""
    sets: dict[tuple[str, ...], list[str]] = {}
    for judge, (persona, model) in stored.cell_of.items():
        at = stored.personas.index(persona), stored.models.index(model)
        is_given = np.isfinite(stored.scores[:, at[0], at[1]]).any(axis=(0, 1))
        criteria = tuple(np.array(stored.criteria)[is_given].tolist())
        if criteria:
            sets.setdefault(criteria, []).append(judge)
    if len(sets) > 1:
        parts = [
            f"{listed_all(judges[:3])}{' …' if len(judges) > 3 else ''}: {', '.join(criteria)}"
            for criteria, judges in sets.items()
        ]
        raise InputError(
            [InputFault(str(source), f"its judges score different criteria ({'; '.join(parts)})")],
            hint="Import criteria that all of them score (`criteria`), or those of some judges.",
        )


def _scale_of(
    source: Path, values: Any, stated: tuple[float, float] | None
) -> tuple[tuple[float, float], tuple[str, ...]]:
    """The scale of the scores, and a notice where it is assumed."""
    if stated is not None:
        return stated, ()
    lowest, highest = float(values.min()), float(values.max())
    for low, high in _SCALES:
        if low <= lowest and highest <= high:
            assumed = (
                f"Scores run from {lowest:g} to {highest:g}, so a scale from {low} to {high} is "
                f"assumed. `scale` sets another."
            )
            return (float(low), float(high)), (assumed,)
    fault = f"holds scores from {lowest:g} to {highest:g}, which fit none of the usual scales"
    raise InputError(
        [InputFault(str(source), fault)],
        hint="State the scale (`scale`, such as 1:5). Judgments with scores off it do not count.",
    )


def _judgments(
    place: int, row: Sample, panel: StoredPanel, stored: StoredScores, outcomes: Outcomes
) -> Iterator[Judgment]:
    """Every planned judgment of a response, with its status and scores."""
    for repeat, (persona, model) in product(range(panel.repeats), panel.judges):
        at = place, stored.personas.index(persona), stored.models.index(model), repeat
        scores: dict[str, float] = {}
        status, reason, detail = outcomes.get((row.response_id, persona, model, repeat), _ABSENT)
        if stored.is_partial[at] and status == "not_asked":
            status, reason, detail = "unreadable", "incomplete", PARTIAL
        elif np.isfinite(stored.scores[at]).any():
            status, reason, detail = "scored", None, None
            named = zip(stored.criteria, stored.scores[at].tolist(), strict=True)
            scores = {name: value for name, value in named if value == value}
        yield Judgment(
            row.response_id, row.prompt_id, row.respondent_id, persona, "", model, repeat,
            status, reason, detail, scores,
        )  # fmt: skip


def _outcomes(reading: JudgmentReading, stored: StoredScores) -> Outcomes:
    """Statuses of unscored judgments. A judge's second one on a response is its next repeat."""
    found: Outcomes = {}
    for one in reading.unscored:
        if one.response_id is None:
            continue
        persona, model = stored.cell_of[one.judge]
        is_known = one.status in STATUSES and one.status != "not_asked"
        status: Status = cast("Status", one.status) if is_known else "failed"
        repeat = 0
        while (one.response_id, persona, model, repeat) in found:
            repeat += 1
        found[one.response_id, persona, model, repeat] = status, "imported", one.status
    return found
