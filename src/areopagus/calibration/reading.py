"""From files, tables and run folders to the `Dataset` of a calibration."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..aggregation.ratings import Ratings
from ..errors import InputError, InputFault
from ..formats import short
from ..records.humans import (
    Coded,
    HumanReading,
    HumanTable,
    JudgmentReading,
    LabelTable,
    MatchReport,
    PreferenceTable,
    match,
    off_scale,
    read_humans,
    read_judgments,
)
from ..records.humans.match import REST, Scale, scale_of
from ..records.humans.misfits import NAME_SHOWN, rows_said
from ..records.humans.respondents import ids_by_respondent, prompts_by_text, with_ids
from ..records.humans.sums import scale_with
from ..records.humans.table import TableBuilder
from ..records.prompt_units import prompt_units, shared_texts_told, text_key
from ..records.readers.responses import ResponseSource
from ..records.run_folder import RUN_FILE, TEXTS_FILE, panel_of, run_identity_hash
from ..records.tables import read_scores
from ..records.types import OVERALL
from ..run import Run
from .dataset import (
    CalibrationRatings,
    Dataset,
    composite_of,
    preferences_of,
    prompts_of_preferences,
    ratings_of,
    responses_of,
    texts_by_response,
    with_unique_ids,
)
from .label_sets import label_set
from .panel_scores import PARTIAL, QUORUM, PanelScores, panel_of_run, panel_of_table
from .responses import Responses, make_responses, merged

People = HumanReading | HumanTable | str | Path
Judges = Run | JudgmentReading | str | Path
Inferred = HumanReading | HumanTable | Run | str | Path

_SOURCE_COLUMNS = ("source", "true_source", "input_source")
_MODEL_COLUMNS = ("model_name", "generator", "response_model", "input_model")
_LENGTH_COLUMNS = ("response_chars", "length", "n_chars")


@dataclass(frozen=True, slots=True)
class Texts:
    """What texts add by response id: lengths, hashes, columns, and `text_key` of the prompt."""

    length: dict[str, int] = field(default_factory=dict)
    prompt: dict[str, str] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)


def criteria_of(judges: Judges) -> tuple[str, ...]:
    """Returns what a run judged; nothing for stored judgments that are not read yet."""
    if isinstance(judges, JudgmentReading):
        return judges.reading.table.criterion.used()
    if isinstance(judges, str | Path):
        path = Path(judges)
        if not (path.is_dir() or path.name == RUN_FILE):
            return ()
        judges = Run(path.parent if path.name == RUN_FILE else path)
    return tuple(judges.record.get("identity", {}).get("criteria", ()))


def read_people(
    human: People,
    judged: Sequence[Mapping[str, str]] = (),
    *,
    dimensions: Collection[str] = (),
    prompt_keys: Mapping[str, str] = MappingProxyType({}),
) -> tuple[HumanReading | None, HumanTable, HumanTable | None]:
    """Returns the reading (None for a bare table), the study's ratings and calibration items.

    Args:
        human: what people said.
        judged: rows of a run's scores: what names a response by its prompt and respondent takes
            the id that the response has there.
        dimensions: what the panel judged: a column of the file that is called so is read.
        prompt_keys: response to its prompt's text (`Texts.prompt`): what names a prompt by its text
            takes the id that the prompt has in the run.

    Raises:
        InputError: the file cannot be understood, or rows of it cannot be read.
    """
    ids, known = ids_by_respondent(judged), [row["response_id"] for row in judged]
    if isinstance(human, HumanTable):
        prompts, by_text = prompts_by_text(human.prompt_id.names, judged, prompt_keys)
        return None, with_ids(human, ids | by_text, known, prompts), None
    reading = human
    if not isinstance(reading, HumanReading):
        reading = read_humans(reading, dimensions=dimensions)
    reading = reading.require_sound()
    if judged:
        names = ("table", "calibration", "labels", "preferences")
        tables: dict[str, Any] = {name: getattr(reading, name) for name in names}
        texts = {name for table in tables.values() for name in table.prompt_id.used()}
        prompts, by_text = prompts_by_text(texts, judged, prompt_keys)
        if prompts:
            unlike = texts - {row["prompt_id"] for row in judged}
            n, n_all = (
                len({k for t in tables.values() for k in t.where("prompt_id", *some).line.tolist()})
                for some in (prompts, unlike)
            )
            notice = f"{n:,} of {n_all:,} rows matched to the run's prompts by their text"
            reading = replace(reading, notices=(*reading.notices, notice))
        ids |= by_text
        changed = {name: with_ids(table, ids, known, prompts) for name, table in tables.items()}
        reading = replace(reading, **changed)
    return reading, reading.table, reading.calibration if len(reading.calibration) else None


def _labels_of(reading: HumanReading | None) -> LabelTable:
    """The labels of a reading; none of a bare table."""
    return TableBuilder(LabelTable).build() if reading is None else reading.labels


def read_texts(responses: Any) -> Texts:
    """Returns lengths, hashes and carried columns of the responses that were scored.

    Args:
        responses: as for scoring: a file, a data frame or an iterable; None for nothing.

    Raises:
        InputError: as `records.responses`.
    """
    found, key_of = Texts(), cache(text_key)
    if responses is None:
        return found
    source = ResponseSource(responses)
    try:
        for row in source.rows():
            name = row.response_id
            found.prompt[name] = key_of(row.prompt_text)
            found.length[name] = len(row.response_text)
            found.sha256[name] = hashlib.sha256(row.response_text.encode()).hexdigest()
            carried = {**row.extra, "respondent_id": row.respondent_id}
            for column, value in carried.items():
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
    """Returns what the texts add that a run's folder keeps; nothing where it has none.

    One group of rows is held at a time, and no text after it was measured.

    Raises:
        InputError: the file is there and cannot be read.
    """
    path, found, key_of = folder / TEXTS_FILE, Texts(), cache(text_key)
    if not path.is_file():
        return found
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(
                batch_size=1024, columns=["response_id", "prompt_text", "response_text"]
            ):
                for name, prompt, text in zip(*batch.to_pydict().values(), strict=True):
                    found.prompt[name] = key_of(prompt)
                    found.length[name] = len(text)
                    found.sha256[name] = hashlib.sha256(text.encode()).hexdigest()
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found


def people_dataset(
    human: People, *, scale: Scale | None = None
) -> tuple[Dataset, HumanReading | None]:
    """Returns the dataset of people alone."""
    reading, table, calibration = read_people(human)
    table, compared, labels = with_unique_ids(table, preferences_in(reading), _labels_of(reading))
    screened = Screened.of(reading, stated=scale)
    table = screened.kept(table)
    items, n_repeated_items = _calibration(calibration, screened)
    screened.require()
    responses, notices = responses_of(table, compared, labels)
    ratings, n_repeated, _ = ratings_of(table, responses)
    preferences, rater_ids, n_apart = preferences_of(compared, responses, table.rater_id.names)
    return Dataset(
        responses=responses,
        ratings=ratings,
        rater_ids=rater_ids,
        calibration=items,
        panel=None,
        match=screened.report(responses.ids),
        scale=screened.scale,
        n_repeated=n_repeated + n_repeated_items,
        n_without_match=0,
        notices=(*notices, *screened.notices(ratings)),
        preferences=preferences,
        n_preferences_left_out=n_apart,
        labels=label_set(labels, None, responses),
        has_unnamed_raters=reading is not None and reading.has_unnamed_raters,
    ), reading


def preferences_in(reading: HumanReading | None) -> PreferenceTable:
    """Returns the preferences of a reading; none of a bare table."""
    return TableBuilder(PreferenceTable).build() if reading is None else reading.preferences


def panel_dataset(
    judges: Judges, human: People, *, texts: Texts, scale: Scale | None = None
) -> tuple[Dataset, HumanReading | None, dict[str, Any]]:
    """Returns the dataset of people and panel, and the panel's identity.

    Args:
        judges: a run (or its folder), or stored judgments of any tool (or their file).
        human: people's ratings.
        texts: of the responses.
        scale: lowest and highest score of people, or by criterion; by default as the reading says,
            else as the panel's.

    Raises:
        InputError: as the readers; nobody rated or labelled a response of the run; or its judges
            scored none.
    """
    if isinstance(judges, str | Path):
        path = Path(judges)
        judges = Run(path) if path.is_dir() or path.name == "run.json" else read_judgments(path)
    rows = read_scores(judges.path) if isinstance(judges, Run) else []
    reading, table, calibration = read_people(
        human, rows, dimensions=criteria_of(judges), prompt_keys=texts.prompt
    )
    labels, judge_labels = _labels_of(reading), None
    notices: tuple[str, ...] = ()
    panel: PanelScores | None
    compared = preferences_in(reading)
    if isinstance(judges, Run):
        unit_of = prompt_units(rows)
        responses, panel, identity, own_scale = _from_run(judges, rows, unit_of, table, texts)
        stated = {row["response_id"]: row["prompt_id"] for row in rows}
        shared = shared_texts_told(unit_of)
        notices = () if shared is None else (shared,)
    else:
        stored = judges.reading.require_sound()
        judged, table, compared, labels, judge_labels = with_unique_ids(
            stored.table, table, compared, labels, stored.labels
        )
        prompts = {k: v for k, v in prompts_of_preferences(compared).items() if v is not None}
        prompts |= texts_by_response(labels, "prompt_id") | texts_by_response(table, "prompt_id")
        judged = judged.with_prompts(prompts)
        responses, notices = _from_table(judged, judge_labels, table, texts)
        stated = {
            name: responses.prompt_ids[code]
            for name, code in zip(responses.ids, responses.prompt.tolist(), strict=True)
        }
        panel, identity, told = panel_of_judgments(judges, judged, responses)
        if not len(judged):
            panel = None  # labels only
            identity |= {"judges": sorted(judge_labels.rater_id.used())}
        notices = (*notices, *told)
        own_scale = _one_scale(stored)
    screened = Screened.of(reading, stated=scale, assumed=own_scale)
    table = screened.kept(table)
    items, n_repeated_items = _calibration(calibration, screened)
    screened.require()
    report = screened.report(stated)
    ratings, n_repeated, n_unmatched = ratings_of(table, responses)
    preferences, rater_ids, n_apart = preferences_of(compared, responses, table.rater_id.names)
    labelled = label_set(labels, judge_labels, responses)
    if not ratings and not preferences and not labelled.people:
        rated = (
            *(one.id for one in report.unmatched_ratings),
            *prompts_of_preferences(compared),
            *labels.response_id.used(),
        )
        shown = ", ".join(short(name, NAME_SHOWN) for name in rated[:5])
        ours = ", ".join(responses.ids[:5])
        raise InputError(
            [f"no rating is of a response that was judged; people rated {shown or 'nothing'} …"],
            hint=f"The panel judged {ours} …; the ids must be the same.\n"
            "A prompt's text and the respondent's name do as well where the run keeps its\n"
            "texts, or with `responses`.",
        )
    if panel is not None and not labelled.panel:
        where = judges.path if isinstance(judges, Run) else judges.reading.path
        require_scored(panel, where, "nothing to compare with people")
    return Dataset(
        responses=responses,
        ratings=ratings,
        rater_ids=rater_ids,
        calibration=items,
        panel=panel,
        match=report,
        scale=screened.scale,
        panel_scale=own_scale,
        n_repeated=n_repeated + n_repeated_items,
        n_without_match=n_unmatched,
        notices=(*notices, *screened.notices(ratings, panel=own_scale)),
        preferences=preferences,
        n_preferences_left_out=n_apart,
        labels=labelled,
        has_unnamed_raters=reading is not None and reading.has_unnamed_raters,
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
    counts = [(one.n, one.reason) for one in excluded]
    if PARTIAL in panel.status:
        counts.append((int(panel.status[PARTIAL].sum()), PARTIAL))
    rows = ", ".join(f"{n:,} {reason}" for n, reason in counts)
    return panel, identity, (f"judgments that do not count: {rows}",) if rows else ()


def identity_of(run: Run) -> dict[str, Any]:
    """Returns what makes the panel of a run this panel: its identity without its responses."""
    return panel_of(run.record.get("identity", {}))


def require_scored(panel: PanelScores, where: str | Path, left: str) -> None:
    """Demands one score at least.

    Args:
        panel: judgments.
        where: the folder or file that they are of.
        left: what can be done without any.

    Raises:
        InputError: there is none.
    """
    if not np.isfinite(panel.scores).any():
        raise InputError([InputFault(str(where), f"no judgment was scored: {left}")])


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
    judged: HumanTable, judge_labels: LabelTable, table: HumanTable, texts: Texts
) -> tuple[Responses, tuple[str, ...]]:
    base, notices = responses_of(judged, labels=judge_labels)
    said = {c: texts_by_response(table, c) for c in ("source", "model", "domain")}
    own = {c: texts_by_response(judged, c) for c in ("source", "domain")}
    writers = texts.columns.get("respondent_id", {})
    ids = base.ids
    return make_responses(
        ids,
        [base.prompt_ids[code] for code in base.prompt.tolist()],
        respondent=[writers.get(i) for i in ids],
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
    kept: HumanTable = screened.kept(*with_unique_ids(table))
    if not len(kept):
        return None, 0
    table = kept
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
    return composite_of(ratings, dataset.scale) or ratings[0], notices


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


UNKNOWN: Final = (-math.inf, math.inf)
"""The scale of which nothing may be assumed."""

SCRUB: Final = "scrub"
"""The paper's release, whose overall score is a composite on a scale of its own."""

_SCALE_HINT = (
    "Ranks count from 1, the best. Where people's scores are not on the panel's\n"
    "scale, say theirs as `scale`, by criterion where they differ. Scores off a\n"
    "stated scale are left out, counted, and listed with their rows."
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
        assumed: that of the other criteria, made of the panel's.
        roster: the raters there may be, or None.
        reports: what `match` found off the scale, by table.
        tables: what is left of each table.
        faults: row and fault of what has to be mended first, one a criterion and kind.
    """

    path: str
    stated: Scale | None
    assumed: Scale | None
    roster: frozenset[str] | None
    reports: list[MatchReport] = field(default_factory=list)
    tables: list[HumanTable] = field(default_factory=list)
    faults: list[tuple[int, InputFault]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        reading: HumanReading | None,
        *,
        stated: Scale | None,
        assumed: tuple[float, float] | None = None,
    ) -> Screened:
        """Returns what checks the tables of a reading, or a bare table.

        Args:
            reading: of which an overall score may be a sum, with a scale made of its parts'; in
                the paper's release it has a scale of its own in any case.
            stated: the scale that the user says.
            assumed: the panel's.
        """
        if reading is None:
            return cls("ratings", stated, assumed, None)
        stated = scale_with(stated, reading.sum) or reading.scale
        scale = scale_with(assumed, reading.sum)
        scores = reading.table.select(~reading.table.is_rank).where("criterion", OVERALL)
        n_off = int(off_scale(scores, scale).sum())
        is_own = reading.layout == SCRUB and reading.sum is None and 2 * n_off > len(scores)
        if scale is not None and is_own:
            by_criterion = scale if isinstance(scale, Mapping) else {REST: scale}
            scale = {**by_criterion, OVERALL: UNKNOWN}
        return cls(reading.path, stated, scale, reading.roster)

    @property
    def scale(self) -> Scale | None:
        """The scale of people's scores, as far as it is known: stated, else assumed."""
        if self.assumed is None or (self.stated is None and isinstance(self.assumed, tuple)):
            return self.stated or self.assumed
        names = dict.fromkeys(name for table in self.tables for name in table.criterion.used())
        known = {n: scale_of(self.stated, n) or scale_of(self.assumed, n) for n in names}
        return {n: ends for n, ends in known.items() if ends is not None and ends != UNKNOWN}

    def kept(self, table: HumanTable) -> HumanTable:
        """Returns the ratings on the scale; of the rest, ranks and guesses are faults."""
        wrong = off_scale(table, self.stated)
        names = [name for name in table.criterion.names if scale_of(self.stated, name) is None]
        is_guess = np.isin(
            table.criterion.codes, [table.criterion.names.index(name) for name in names]
        )
        wrong |= is_guess & off_scale(table, self.assumed)
        is_fault = wrong & (is_guess | table.is_rank) if self.assumed else wrong & table.is_rank
        if is_fault.any():
            self._refuse(table.select(is_fault))
        left = table.select(~wrong) if wrong.any() else table
        self.reports.append(match(table.select(wrong), (), scale=self.stated or self.assumed))
        self.tables.append(left)
        return left

    def require(self) -> None:
        """Goes on only without faults.

        Raises:
            InputError: with every fault of all tables.
        """
        if self.faults:
            in_order = sorted(self.faults, key=lambda fault: fault[0])
            raise InputError([fault for _, fault in in_order], hint=_SCALE_HINT)

    def notices(
        self, ratings: Sequence[Ratings], *, panel: tuple[float, float] | None = None
    ) -> Iterator[str]:
        """Yields what the reader has to know of scales: what was not checked, what was carried.

        Args:
            ratings: people's, by criterion and kind.
            panel: the panel's scale.
        """
        scored = [one for one in ratings if one.kind == "score"]
        known = {one.criterion: scale_of(self.scale, one.criterion) for one in scored}
        spans = {one.criterion: f"{one.value.min():g} to {one.value.max():g}" for one in scored}
        if scored and not any(known.values()):
            yield "no scale is known: scores were not checked against one (`scale`)"
        elif unknown := [name for name, ends in known.items() if ends is None]:
            told = ", ".join(f"{name} ({spans[name]})" for name in unknown)
            yield (
                f"no scale is known of {told}: scores were not checked, and levels are as given "
                "(`scale`)"
            )
        own = {name: ends for name, ends in known.items() if ends is not None}
        said = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in own.items())
        if len(set(own.values())) > 1:
            yield (
                f"criteria are on different scales ({said}): before they are averaged or pooled, "
                "each is carried to 0 to 1"
            )
        others = {name: ends for name, ends in own.items() if ends != panel}
        if panel is not None and others:
            said = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in others.items())
            yield (
                f"people's scores ({said}) are carried in a straight line to the panel's scale "
                f"({panel[0]:g} to {panel[1]:g}) where levels are compared, and maps lead to it"
            )

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
        for criterion, is_rank in dict.fromkeys(
            zip(criteria.tolist(), table.is_rank.tolist(), strict=True)
        ):
            wrong = table.select((criteria == criterion) & (table.is_rank == is_rank))
            allowed = "a rank of 1 or more"
            ends = scale_of(self.assumed, criterion)
            if not is_rank and ends is not None:
                allowed = f"from {ends[0]:g} to {ends[1]:g} as the panel's scores"
            low, high = f"{wrong.value.min():g}", f"{wrong.value.max():g}"
            lines = wrong.line.tolist()
            message = f"must be {allowed}, got {low}" + (f" to {high}" if low != high else "")
            message += f", in {rows_said(lines)}" if len(lines) > 1 else ""
            fault = InputFault(f"{self.path}:{lines[0]}", message, criterion)
            self.faults.append((lines[0], fault))
