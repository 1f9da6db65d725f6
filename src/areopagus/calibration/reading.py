"""From files, tables and run folders to the `Dataset` of a calibration."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..aggregation.ratings import Ratings
from ..errors import InputError, InputFault
from ..records.humans import (
    Coded,
    HumanReading,
    HumanTable,
    JudgmentReading,
    MatchReport,
    match,
    off_scale,
    read_humans,
    read_judgments,
)
from ..records.humans.match import SHOWN, Scale
from ..records.humans.respondents import ids_by_respondent, with_ids
from ..records.humans.table import TableBuilder
from ..records.prompt_units import prompt_units, shared_texts_told
from ..records.readers.responses import ResponseSource
from ..records.run_folder import RUN_FILE, TEXTS_FILE, panel_of, run_identity_hash
from ..records.tables import read_scores
from ..records.types import OVERALL
from ..run import Run
from .dataset import (
    CalibrationRatings,
    Dataset,
    composite_of,
    ratings_of,
    responses_of,
    texts_by_response,
    with_unique_ids,
)
from .panel_scores import QUORUM, PanelScores, panel_of_run, panel_of_table
from .responses import Responses, make_responses, merged

People = HumanReading | HumanTable | str | Path
Judges = Run | JudgmentReading | str | Path
Inferred = HumanReading | HumanTable | Run | str | Path

_SOURCE_COLUMNS = ("source", "true_source", "input_source")
_MODEL_COLUMNS = ("model_name", "generator", "response_model", "input_model")
_LENGTH_COLUMNS = ("response_chars", "length", "n_chars")


@dataclass(frozen=True, slots=True)
class Texts:
    """What the responses' own file adds: lengths, hashes, and columns by response id."""

    length: dict[str, int] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)


def read_people(
    human: People, judged: Sequence[Mapping[str, str]] = ()
) -> tuple[HumanReading | None, HumanTable, HumanTable | None]:
    """Returns the reading (None for a bare table), the study's ratings and calibration items.

    Args:
        human: what people said.
        judged: rows of a run's scores: what names a response by its prompt and respondent takes
            the id that the response has there.

    Raises:
        InputError: the file cannot be understood, or rows of it cannot be read.
    """
    ids, known = ids_by_respondent(judged), [row["response_id"] for row in judged]
    if isinstance(human, HumanTable):
        return None, with_ids(human, ids, known), None
    reading = human if isinstance(human, HumanReading) else read_humans(human)
    reading = reading.require_sound()
    if ids:
        tables = ("table", "calibration", "labels", "preferences")
        changed: dict[str, Any] = {n: with_ids(getattr(reading, n), ids, known) for n in tables}
        reading = replace(reading, **changed)
    return reading, reading.table, reading.calibration if len(reading.calibration) else None


def read_texts(responses: Any) -> Texts:
    """Returns lengths, hashes and carried columns of the responses that were scored.

    Args:
        responses: as for scoring: a file, a data frame or an iterable; None for nothing.

    Raises:
        InputError: as `records.responses`.
    """
    found = Texts()
    if responses is None:
        return found
    source = ResponseSource(responses)
    try:
        for row in source.rows():
            name = row.response_id
            found.length[name] = len(row.response_text)
            found.sha256[name] = hashlib.sha256(row.response_text.encode()).hexdigest()
            for column, value in row.extra.items():
                if value not in (None, ""):
                    found.columns.setdefault(column, {})[name] = str(value)
    finally:
        source.close()
    return found


def texts_of(responses: Any, judges: Judges) -> Texts:
    """Returns what is known of the responses' texts.

    Args:
        responses: as in `read_texts`; None to take the texts that the run's folder keeps.
        judges: the run, or stored judgments, which keep no texts.

    Raises:
        InputError: as `read_texts`; or the folder's texts cannot be read.
    """
    if responses is not None:
        return read_texts(responses)
    if isinstance(judges, Run):
        return read_kept_texts(judges.path)
    if isinstance(judges, str | Path):
        path = Path(judges)
        return read_kept_texts(path.parent if path.name == "run.json" else path)
    return Texts()


def read_kept_texts(folder: Path) -> Texts:
    """Returns lengths and hashes of the texts that a run's folder keeps; nothing where it has none.

    One group of rows is held at a time, and no text after it was measured.

    Raises:
        InputError: the file is there and cannot be read.
    """
    path, found = folder / TEXTS_FILE, Texts()
    if not path.is_file():
        return found
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(
                batch_size=1024, columns=["response_id", "response_text"]
            ):
                rows = batch.to_pydict()
                for name, text in zip(rows["response_id"], rows["response_text"], strict=True):
                    found.length[name] = len(text)
                    found.sha256[name] = hashlib.sha256(text.encode()).hexdigest()
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found


def people_dataset(
    human: People, *, scale: tuple[float, float] | None = None
) -> tuple[Dataset, HumanReading | None]:
    """Returns the dataset of people alone."""
    reading, table, calibration = read_people(human)
    (table,) = with_unique_ids(table)
    screened = Screened.of(reading, stated=scale)
    table = screened.kept(table)
    items, n_repeated_items = _calibration(calibration, screened)
    screened.require()
    responses, notices = responses_of(table)
    ratings, n_repeated, _ = ratings_of(table, responses)
    return Dataset(
        responses=responses,
        ratings=ratings,
        rater_ids=table.rater_id.names,
        calibration=items,
        panel=None,
        match=screened.report(responses.ids),
        scale=scale or _one_scale(reading),
        n_repeated=n_repeated + n_repeated_items,
        n_without_match=0,
        notices=(*notices, *screened.notices()),
    ), reading


def panel_dataset(
    judges: Judges, human: People, *, texts: Texts, scale: tuple[float, float] | None = None
) -> tuple[Dataset, HumanReading | None, dict[str, Any]]:
    """Returns the dataset of people and panel, and the panel's identity.

    Args:
        judges: a run (or its folder), or stored judgments of any tool (or their file).
        human: people's ratings.
        texts: of the responses.
        scale: lowest and highest score, where neither side says.

    Raises:
        InputError: as the readers; or nobody rated a response of the run.
    """
    if isinstance(judges, str | Path):
        path = Path(judges)
        judges = Run(path) if path.is_dir() or path.name == "run.json" else read_judgments(path)
    rows = read_scores(judges.path) if isinstance(judges, Run) else []
    reading, table, calibration = read_people(human, rows)
    notices: tuple[str, ...] = ()
    if isinstance(judges, Run):
        unit_of = prompt_units(rows)
        responses, panel, identity, own_scale = _from_run(judges, rows, unit_of, table, texts)
        stated = {row["response_id"]: row["prompt_id"] for row in rows}
        shared = shared_texts_told(unit_of)
        notices = () if shared is None else (shared,)
    else:
        stored = judges.reading.require_sound()
        judged, table = with_unique_ids(stored.table, table)
        prompts = texts_by_response(table, "prompt_id")
        judged = judged.with_prompts(prompts)
        responses, notices = _from_table(judged, table, texts)
        stated = {
            name: responses.prompt_ids[code]
            for name, code in zip(responses.ids, responses.prompt.tolist(), strict=True)
        }
        panel, identity, told = panel_of_judgments(judges, judged, responses)
        notices = (*notices, *told)
        own_scale = _one_scale(stored)
    screened = Screened.of(reading, stated=scale, assumed=own_scale)
    table = screened.kept(table)
    items, n_repeated_items = _calibration(calibration, screened)
    screened.require()
    report = screened.report(stated)
    ratings, n_repeated, n_unmatched = ratings_of(table, responses)
    if not ratings:
        shown = ", ".join(one.id for one in report.unmatched_ratings[:5])
        ours = ", ".join(responses.ids[:5])
        raise InputError(
            [f"no rating is of a response that was judged; people rated {shown or 'nothing'} …"],
            hint=f"The panel judged {ours} …; the ids must be the same.",
        )
    return Dataset(
        responses=responses,
        ratings=ratings,
        rater_ids=table.rater_id.names,
        calibration=items,
        panel=panel,
        match=report,
        scale=scale or _one_scale(reading) or own_scale,
        n_repeated=n_repeated + n_repeated_items,
        n_without_match=n_unmatched,
        notices=(*notices, *screened.notices()),
    ), reading, identity  # fmt: skip


def panel_of_judgments(
    judges: JudgmentReading, judged: HumanTable, responses: Responses
) -> tuple[PanelScores, dict[str, Any], tuple[str, ...]]:
    """Returns the panel of stored judgments, its identity, and what does not count in it.

    Args:
        judges: the reading.
        judged: its table, with the response ids of `responses`.
        responses: what was judged.
    """
    excluded = judges.reading.exclusions
    index = {name: place for place, name in enumerate(responses.ids)}
    panel = panel_of_table(
        _only(judged, index), index, judges.persona_of, judges.model_of,
        {one.reason: one.n for one in excluded},
    )  # fmt: skip
    identity = {"judges": sorted(panel.judge_names()), "criteria": sorted(panel.criteria)}
    rows = ", ".join(f"{one.n} {one.reason}" for one in excluded)
    return panel, identity, (f"judgments that do not count: {rows}",) if rows else ()


def identity_of(run: Run) -> dict[str, Any]:
    """Returns what makes the panel of a run this panel: its identity without its responses."""
    return panel_of(run.record.get("identity", {}))


def run_named(judges: Judges) -> dict[str, Any] | None:
    """Returns what a calibration says of its run: its folder, identity and counts.

    None for stored judgments.
    """
    if isinstance(judges, str | Path):
        path = Path(judges)
        if not (path.is_dir() or path.name == RUN_FILE):
            return None
        judges = Run(path.parent if path.name == RUN_FILE else path)
    if not isinstance(judges, Run):
        return None
    return {
        "folder": judges.path.resolve().name,
        "identity_sha256": run_identity_hash(judges.record.get("identity", {})),
        "counts": judges.record.get("counts"),
    }


def _from_run(
    run: Run,
    rows: Sequence[Mapping[str, Any]],
    unit_of: Mapping[str, str],
    table: HumanTable,
    texts: Texts,
) -> tuple[Any, Any, Any, Any]:
    ids = [row["response_id"] for row in rows]
    said = {name: texts_by_response(table, name) for name in ("source", "model", "domain")}

    def column(names: tuple[str, ...], human: Mapping[str, str]) -> list[str | None]:
        own = [next((row[n] for n in names if row.get(n)), None) for row in rows]
        for name in names:
            own = merged(own, texts.columns.get(name, {}), ids)
        # what the study's own file says about a response comes first
        return [human.get(i) or text for i, text in zip(ids, own, strict=True)]

    length = [
        texts.length.get(name) or _number(next((r[c] for c in _LENGTH_COLUMNS if r.get(c)), None))
        for name, r in zip(ids, rows, strict=True)
    ]
    responses = make_responses(
        ids,
        [unit_of[row["prompt_id"]] for row in rows],
        respondent=[row.get("respondent_id") or None for row in rows],
        source=column(_SOURCE_COLUMNS, said["source"]),
        model=column(_MODEL_COLUMNS, said["model"]),
        domain=column(("domain",), said["domain"]),
        length=length,
    )
    described = run.record.get("panel", {})
    panel = panel_of_run(
        run.path,
        {name: place for place, name in enumerate(ids)},
        quorum=float(described.get("quorum", QUORUM)),
        axis_of={p["id"]: p.get("axis") or "" for p in described.get("personas", [])},
    )
    identity = identity_of(run)
    limits = identity.get("scale")
    return responses, panel, identity, (limits[0], limits[1]) if limits else None


def _from_table(
    judged: HumanTable, table: HumanTable, texts: Texts
) -> tuple[Responses, tuple[str, ...]]:
    base, notices = responses_of(judged)
    said = {c: texts_by_response(table, c) for c in ("source", "model", "domain")}
    own = {c: texts_by_response(judged, c) for c in ("source", "domain")}
    ids = base.ids
    return make_responses(
        ids,
        [base.prompt_ids[code] for code in base.prompt.tolist()],
        respondent=[None] * len(ids),
        source=[said["source"].get(i) or own["source"].get(i) for i in ids],
        # the model column of stored judgments is the judge's, not the respondent's
        model=[said["model"].get(i) for i in ids],
        domain=[said["domain"].get(i) or own["domain"].get(i) for i in ids],
        length=[texts.length.get(i) for i in ids],
    ), notices


def _only(table: HumanTable, index: Mapping[str, int]) -> HumanTable:
    """The table with response names that all stand in the index."""
    codes, names = table.response_id.codes, table.response_id.names
    used = np.unique(codes)
    place = np.full(len(names), -1, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    kept = tuple(names[code] for code in used.tolist())
    if any(name not in index for name in kept):
        raise InputError("a judged response has no place among the responses")
    return replace(table, response_id=Coded(place[codes], kept))


def _calibration(
    table: HumanTable | None, screened: Screened
) -> tuple[CalibrationRatings | None, int]:
    """Ratings of calibration items, and how many repeat an earlier one."""
    if table is None:
        return None, 0
    (table,) = with_unique_ids(table)
    table = screened.kept(table)
    if not len(table):
        return None, 0
    responses, _ = responses_of(table)
    types = texts_by_response(table, "item_type")
    roles = texts_by_response(table, "item_role")
    ratings, n_repeated, _ = ratings_of(table, responses)
    return CalibrationRatings(
        responses,
        tuple(types.get(name, "calibration") for name in responses.ids),
        ratings,
        tuple(roles.get(name) for name in responses.ids),
    ), n_repeated


def _one_scale(reading: HumanReading | None) -> tuple[float, float] | None:
    if reading is None or not isinstance(reading.scale, tuple):
        return None
    return reading.scale


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


_OF_COMMENTS = ("rater_id", "rated_prompt_id", "rated_response_id")


def inferred_ratings(inferred: Inferred, dataset: Dataset) -> tuple[Ratings, tuple[str, ...]]:
    """Returns inferred scores by rater and response, and what the reader has to know of them.

    Args:
        inferred: ratings in any layout; or a run (or its folder) over the table that
            `areopagus humans comments` writes: the panel's composite of each justification.
        dataset: the responses that were judged.

    Raises:
        InputError: they cannot be read, or none is of a response that was judged.
    """
    notices: tuple[str, ...] = ()
    if isinstance(inferred, str | Path):
        path = Path(inferred)
        if path.is_dir() or path.name == "run.json":
            inferred = Run(path)
    if isinstance(inferred, Run):
        table, n_without = _of_run(inferred)
        if n_without:
            notices = (f"inferred scores: justifications without a panel score: {n_without:,}",)
    else:
        _, table, _ = read_people(inferred)
    (table,) = with_unique_ids(table)
    ratings, _, n_unmatched = ratings_of(table, dataset.responses)
    if not ratings:
        raise InputError("inferred scores: none is of a response that was judged")
    if n_unmatched:
        notices = (
            *notices,
            f"inferred scores: ratings of responses that the run does not have: {n_unmatched:,}",
        )
    return composite_of(ratings) or ratings[0], notices


def _of_run(run: Run) -> tuple[HumanTable, int]:
    rows = read_scores(run.path)
    missing = [name for name in _OF_COMMENTS if not rows or name not in rows[0]]
    if missing:
        raise InputError(
            [InputFault(str(run.path), "there is no such column in its scores", field=name)
             for name in missing],
            hint="It must be a run over the table that `areopagus humans comments` writes.",
        )  # fmt: skip
    builder, n_without = TableBuilder(HumanTable), 0
    for line, row in enumerate(rows, start=2):
        if not row["composite"]:
            n_without += 1
            continue
        texts: dict[str, str | None] = {
            "rater_id": row["rater_id"],
            "prompt_id": row["rated_prompt_id"],
            "response_id": row["rated_response_id"],
            "criterion": OVERALL,
        }
        value = float(row["composite"])
        builder.add(texts, line=line, value=value, is_rank=False, duration_s=math.nan)
    return builder.build(), n_without


_SCALE_HINT = (
    "Ranks count from 1, the best. Where people's scores are not on the panel's\n"
    "scale, say theirs as `scale`. Scores off a stated scale are left out,\n"
    "counted, and listed with their rows."
)


@dataclass(slots=True)
class Screened:
    """Takes off the tables of one file what is off the scale, and remembers it.

    A scale that was stated for the people's ratings holds: what is off it is left out, counted,
    and listed with its rows. Where none was stated, the panel's is only an assumption: a value off
    it may be a slip, or the people rated on another scale, so the file is refused. So is a rank
    below 1, without which an order has lost its best.

    Attributes:
        path: the file, for messages.
        stated: the scale of the people's ratings, where anybody said it.
        assumed: the panel's scale, where nobody did.
        roster: the raters there may be, or None.
        reports: what `match` found off the scale, by table.
        tables: what is left of each table.
        faults: row and fault of what has to be mended first, the first thousand of each table;
            `n_faults` counts all.
    """

    path: str
    stated: Scale | None
    assumed: tuple[float, float] | None
    roster: frozenset[str] | None
    reports: list[MatchReport] = field(default_factory=list)
    tables: list[HumanTable] = field(default_factory=list)
    faults: list[tuple[int, InputFault]] = field(default_factory=list)
    n_faults: int = 0

    @classmethod
    def of(
        cls,
        reading: HumanReading | None,
        *,
        stated: tuple[float, float] | None,
        assumed: tuple[float, float] | None = None,
    ) -> Screened:
        """Returns what checks the tables of a reading, or a bare table."""
        if reading is None:
            return cls("ratings", stated, assumed, None)
        return cls(reading.path, stated or reading.scale, assumed, reading.roster)

    def kept(self, table: HumanTable) -> HumanTable:
        """Returns the ratings on the scale; of the rest, ranks and guesses are faults."""
        scale = self.stated if self.stated is not None else self.assumed
        wrong = off_scale(table, scale)
        is_fault = wrong if self.stated is None else wrong & table.is_rank
        if is_fault.any():
            self._refuse(table.select(is_fault))
        left = table.select(~wrong) if wrong.any() else table
        self.reports.append(match(table.select(wrong), (), scale=scale))
        self.tables.append(left)
        return left

    def require(self) -> None:
        """Goes on only without faults.

        Raises:
            InputError: with every fault of all tables.
        """
        if self.faults:
            left = self.n_faults - len(self.faults)
            raise InputError(
                [fault for _, fault in sorted(self.faults, key=lambda one: one[0])],
                hint=f"and {left:,} more\n{_SCALE_HINT}" if left else _SCALE_HINT,
            )

    def notices(self) -> tuple[str, ...]:
        """Returns what the reader has to know of the checks: that there was nothing to check by."""
        scored = any(not table.is_rank.all() for table in self.tables)
        if self.stated is None and self.assumed is None and scored:
            return ("no scale is known: scores were not checked against one (`scale`)",)
        return ()

    def report(self, responses: Mapping[str, str] | Iterable[str]) -> MatchReport:
        """Returns how the study's ratings fit a run's responses, with what all tables lack.

        Repeats, raters and values off the scale are those of calibration items too; which
        responses there are concerns the study's ratings, the first table, alone.
        """
        first, *rest = self.tables
        found = match(first, responses, raters=self.roster)
        others = [match(t, t.response_id.used(), raters=self.roster) for t in rest]
        off = [one for report in self.reports for one in report.out_of_range]
        return replace(
            found,
            out_of_range=tuple(off),
            n_out_of_range=sum(report.n_out_of_range for report in self.reports),
            repeated=(*found.repeated, *(one for other in others for one in other.repeated)),
            n_repeated=found.n_repeated + sum(other.n_repeated for other in others),
            unknown_raters=(
                *found.unknown_raters,
                *(one for other in others for one in other.unknown_raters),
            ),
        )

    def _refuse(self, table: HumanTable) -> None:
        criteria: Any = table.criterion.texts()
        self.n_faults += len(table)
        columns = (table.line, criteria, table.value, table.is_rank)
        for line, criterion, value, is_rank in zip(
            *(column[:SHOWN].tolist() for column in columns), strict=True
        ):
            allowed = "a rank of 1 or more"
            if not is_rank and self.assumed is not None:
                allowed = f"from {self.assumed[0]:g} to {self.assumed[1]:g} as the panel's scores"
            message = f"must be {allowed}, got {value:g}"
            self.faults.append((line, InputFault(f"{self.path}:{line}", message, criterion)))
