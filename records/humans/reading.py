"""Reads human judgments in any known layout into one long table, and lists what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import AreopagusError, InputError, InputFault
from ...formats import listed, listed_all, units
from ..readers.rows import Row
from ..run_folder import RUN_FILE, read_run_file
from . import misfits
from .columns import RATER_PLACE, HumanColumns, plain_name, read_column_map
from .layouts import LAYOUTS, open_human_file, other_layouts
from .match import MatchReport, Scale, match
from .misfits import Misfit, rows_said
from .missing import Missing, MissingCodes, is_code
from .plan import IGNORED, OF_THE_TOOL, Plan, Unread, make_plan
from .pools import Pools, pooled, raters_in
from .profile import Profile, profiles_of
from .ratings import SHOWN_LINES, RatingReader, Unscored
from .side_tables import APPROVED, SourceMap, read_key, read_roster, read_source_map
from .sums import Sum, scale_with, sum_in
from .table import HumanTable, LabelTable, PreferenceTable

TEXT_HINT = (
    "Say what such a text stands for: `missing='TEXT'` where it is no rating;\n"
    "in a column map (`columns`) codes: {TEXT: NUMBER}, or ignore: [COLUMN]\n"
    "for the whole column."
)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Rows that do not count, and why; `lines` names the first of them."""

    reason: str
    n: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HumanReading:
    """A table of judgments and what was understood of its file.

    Every cell of judgments is in `table`, `calibration`, `labels` or `preferences`, in a row of
    `missing`, `faults` or `exclusions`.

    Attributes:
        path: the file.
        layout: the tool's layout ("rows" for plain tables, "scrub" for the paper's release).
        shape: "long", "wide", "pairs", … (see `plan.Plan`).
        table: the ratings of the study.
        calibration: ratings of calibration items, told apart by item_type.
        labels, preferences: judgments of these kinds; mostly empty.
        columns_used: (our column, their column); a column of ratings stands with its criterion.
        columns_unread: columns that were read as nothing, and why.
        columns_sampled: columns taken for criteria because of what they hold: look at these.
        n_rows: rows of the file, excluded ones included.
        missing: ratings that are not there, by criterion and code.
        exclusions: what was left out, by reason.
        faults: what could not be read (the first 1,000); `n_faults` counts all.
        scale: the scale that scores must keep to, as stated, with that of a sum.
        sum: the overall score that is the sum of the criteria beside it, where there is one.
        roster: raters that may rate, or None where no roster was given.
        pool: the column whose values are counted as raters, or None.
        has_unnamed_raters: whether ids of raters are places, not persons.
        notices: sentences for the user: what was assumed.
    """

    path: str
    layout: str
    shape: str
    table: HumanTable
    calibration: HumanTable
    labels: LabelTable
    preferences: PreferenceTable
    columns_used: tuple[tuple[str, str], ...]
    columns_unread: tuple[Unread, ...]
    columns_sampled: tuple[str, ...]
    n_rows: int
    missing: tuple[Missing, ...]
    exclusions: tuple[Exclusion, ...]
    faults: tuple[InputFault, ...]
    n_faults: int
    scale: Scale | None
    sum: Sum | None
    roster: frozenset[str] | None
    pool: str | None
    has_unnamed_raters: bool
    notices: tuple[str, ...]

    @property
    def n_missing(self) -> int:
        """How many ratings are not there."""
        return sum(one.n for one in self.missing)

    def missing_by_code(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Returns code to (how many ratings, the first rows), the most frequent first."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        for one in self.missing:
            n, lines = found.get(one.code, (0, ()))
            found[one.code] = (n + one.n, tuple(sorted({*lines, *one.lines})))
        return dict(sorted(found.items(), key=lambda item: -item[1][0]))

    def unread(self) -> str | None:
        """Returns a sentence that names the columns nobody asked to leave out, or None."""
        names = [
            one.column for one in self.columns_unread if one.reason not in (IGNORED, OF_THE_TOOL)
        ]
        if not names:
            return None
        return f"columns that are not read: {listed(names, 12)} (humans inspect says why)"

    def require_sound(self) -> HumanReading:
        """Returns itself.

        Raises:
            InputError: with every fault, where there is one.
        """
        if self.n_faults:
            is_cut = self.n_faults > len(self.faults)
            more = [f"{self.n_faults:,} faults in all"] if is_cut else []
            if any("must be a number" in one.message for one in self.faults):
                more.append(TEXT_HINT)
            raise InputError(self.faults, hint="\n".join(more) or None)
        return self

    def match(self, responses: Mapping[str, str] | Iterable[str]) -> MatchReport:
        """Returns how the ratings and the responses of a run fit; see `match`."""
        return match(self.table, responses, scale=self.scale, raters=self.roster)

    def misfits(self) -> tuple[Misfit, ...]:
        """Returns what does not fit in the file itself: scale, repeats, roster; with rows.

        What is left out on reading stands in `exclusions`, what cannot be read in `faults`, and
        which responses a run does not have only `match` can say.
        """
        reports = [
            match(table, table.response_id.used(), scale=self.scale, raters=self.roster)
            for table in (self.table, self.calibration)
        ]
        found = (
            misfits.off_scale(
                sum(report.n_out_of_range for report in reports),
                [one for report in reports for one in report.out_of_range],
            ),
            misfits.repeated(
                sum(report.n_repeated for report in reports),
                [one for report in reports for one in report.repeated],
            ),
            misfits.unknown_raters(
                misfits.joined(one for report in reports for one in report.unknown_raters)
            ),
        )
        return tuple(one for one in found if one.n)


@dataclass(frozen=True, slots=True)
class JudgmentReading:
    """Stored judgments and what was understood of their file.

    Attributes:
        reading: as for human judgments; `rater_id` is the judge. Rows whose status is not
            `scored`, and abstained ones, are among the exclusions, by status.
        persona_of, model_of: judge to persona and to model, where the file says.
        unscored: the rows that hold no vote.
        texts: response to the texts of its prompt and of itself, "" where the file has none.
        lengths: response to its length, where the file states it.
    """

    reading: HumanReading
    persona_of: Mapping[str, str]
    model_of: Mapping[str, str]
    unscored: tuple[Unscored, ...] = ()
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)


def read_humans(
    path: str | Path,
    *,
    layout: str = "auto",
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    source_map: str | Path | Iterable[Mapping[str, Any]] | SourceMap | None = None,
    roster: str | Path | Mapping[str, str] | None = None,
    scale: Scale | None = None,
    criteria: Sequence[str] | None = None,
    dimensions: Collection[str] = (),
    format: str | None = None,  # noqa: A002
) -> HumanReading:
    """Returns the judgments of a file.

    Args:
        path: CSV, TSV, JSON lines, Parquet, xlsx, or a tool's JSON.
        layout: one of `LAYOUTS`; "auto" goes by the header.
        columns: a column map (see `columns`): a YAML file, its content, or our names to theirs.
        source_map: what blinded labels stood for, by rater and prompt (see `read_source_map`).
        roster: who may rate: a file (Prolific's list of submissions, or rater_id and status), or
            rater to status. Ratings of those not APPROVED are left out, counted; raters whom it
            does not name stay, and `match` reports them.
        scale: (lowest, highest) score, or by criterion, "rest" for all others; goes before the
            column map's.
        criteria: the criteria wanted: in a wide table columns, by default all that hold numbers.
        dimensions: names that criteria are known to have, such as those of the rubric: a column
            that is called so is read, or a fault.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: where nothing can be understood: no such file or column, no ratings, no raters.
            Faults of single rows are not raised; they are in the reading.
    """
    look = look_at(
        path, columns, layout=layout, source_map=source_map,
        criteria=criteria, dimensions=dimensions, format=format,
    )  # fmt: skip
    return read_look(look, roster=roster, scale=scale)


def read_look(
    look: Look,
    *,
    roster: str | Path | Mapping[str, str] | None = None,
    scale: Scale | None = None,
) -> HumanReading:
    """Returns the judgments of a file that was looked at; the arguments are as in `read_humans`.

    Raises:
        InputError: the file, or its roster, cannot be understood.
    """
    statuses = read_roster(roster) if isinstance(roster, str | Path) else roster
    if statuses is not None:
        statuses = {name: status.strip().upper() for name, status in statuses.items()}
    return _read(look, statuses=statuses, scale=scale)[0]


def read_judgments(
    path: str | Path,
    *,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    scale: Scale | None = None,
    criteria: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> JudgmentReading:
    """Returns stored judgments: those of a table, or as another tool saved them.

    A table has prompt_id, response_id, judge, and dimensions or a score. Optional columns:
    persona, model, status, abstained, response_length. Where no column names the judge, it is
    "persona x model". The columns of the paper's released scores (judge_model, perspective_id) and
    the long form (criterion, value) are understood too. The tools are those of
    `layouts.judge_tools`; a column map that says `layout: rows` has their files read as tables.

    Args:
        path, columns, scale, criteria, format: as for `read_humans`.

    Raises:
        InputError: as `read_humans`.
    """
    look = look_at(path, columns, criteria=criteria, format=format, for_judges=True)
    reading, rows = _read(look, scale=scale)
    known = rows.attributes
    return JudgmentReading(
        reading=reading,
        persona_of={judge: one["persona"] for judge, one in known.items() if "persona" in one},
        model_of={judge: one["model"] for judge, one in known.items() if "model" in one},
        unscored=tuple(rows.unscored),
        texts=rows.texts,
        lengths=rows.lengths,
    )


@dataclass(frozen=True, slots=True)
class Look:
    """What a file is taken for, before a rating of it is read.

    Attributes:
        path, format: the file, and its format where its suffix does not say it.
        layout: the tool's layout, and `known_by`: what shows it, "" where the user said it.
        other_layouts: other tools' layouts whose columns the file has too.
        column_map: what the user said.
        profiles: what each column holds, over all rows.
        codes: what stands for no rating.
        source_map: what blinded labels stand for, where that is known.
        plan: which column holds what; its faults are not raised.
    """

    path: Path
    format: str | None
    layout: str
    known_by: str
    other_layouts: tuple[str, ...]
    column_map: HumanColumns
    profiles: Mapping[str, Profile]
    codes: MissingCodes
    source_map: SourceMap | None
    plan: Plan


def look_at(
    path: str | Path,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    *,
    layout: str = "auto",
    source_map: str | Path | Iterable[Mapping[str, Any]] | SourceMap | None = None,
    criteria: Sequence[str] | None = None,
    dimensions: Collection[str] = (),
    format: str | None = None,  # noqa: A002
    for_judges: bool = False,
) -> Look:
    """Returns what a file is taken for; the arguments are those of `read_humans`.

    Raises:
        InputError: there is no such file, column or layout, or no rows.
    """
    if layout not in LAYOUTS:
        raise InputError(f"layout: must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    column_map = read_column_map(columns)
    wanted = column_map.layout if layout == "auto" else layout
    if for_judges and wanted != "rows":
        wanted = "auto"  # the other names are those of people's tools
    source = Path(path)
    faults: list[InputFault] = []
    chosen, opened = open_human_file(
        source, wanted, has_header=column_map.header, format=format, faults=faults,
        join=column_map.joining(), for_judges=for_judges,
    )  # fmt: skip
    first = opened.peek()
    if not first and faults:
        raise InputError(faults)
    if source_map is None and column_map.key:
        source_map = read_key(column_map.key)
    if source_map is not None and not isinstance(source_map, SourceMap):
        source_map = read_source_map(source_map)
    codes = MissingCodes(column_map.missing, values=column_map.numbers_of_codes())
    profiles = profiles_of(opened.rows, codes, column_map)
    plan = make_plan(
        source, opened, column_map, profiles,
        [Row(row.line, _present(row.values, codes)) for row in first],
        criteria=criteria, dimensions=dimensions, for_judges=for_judges,
        labels=() if source_map is None else source_map.labels(),
    )  # fmt: skip
    is_guessed = wanted == "auto" and column_map.header
    others = () if for_judges or not is_guessed else other_layouts(source, chosen, format=format)
    known_by = chosen.known_by if is_guessed else ""
    return Look(
        source, format, chosen.name, known_by, others, column_map, profiles, codes, source_map, plan
    )


def _present(values: Mapping[str, Any], codes: MissingCodes) -> dict[str, Any]:
    """Returns a row with nothing in place of what stands for no rating."""
    return {
        name: None if codes.code_of(cell, is_number=False) is not None else cell
        for name, cell in values.items()
    }


def _read(
    look: Look,
    *,
    scale: Scale | None,
    statuses: Mapping[str, str] | None = None,
) -> tuple[HumanReading, RatingReader]:
    """Returns a reading, and what read it, which knows more of stored judgments."""
    plan, path = look.plan.require_sound(), str(look.path)
    format_faults: list[InputFault] = []
    _, opened = open_human_file(
        look.path, look.layout, has_header=look.column_map.header, format=look.format,
        faults=format_faults, join=look.column_map.joining(), for_judges=plan.for_judges,
    )  # fmt: skip
    found = RatingReader(
        path, plan, look.column_map, look.codes, source_map=look.source_map, roster=statuses
    )
    found.read(opened.rows)
    approved = None
    if statuses is not None:
        approved = frozenset(rater for rater, status in statuses.items() if status == APPROVED)
    tables = [found.table.build(), found.calibration.build()]
    total = sum_in(tables[0]) if plan.shape == "wide" else None
    stated = scale_with(scale or look.column_map.scales or scale_beside(look.path), total)
    missing = list(found.missing())
    tables = [_without_codes(table, stated, missing) for table in tables]
    exclusions = [
        Exclusion(reason, n, tuple(lines)) for reason, (n, lines) in found.excluded.items()
    ]
    notices = [*opened.notices, *_notices(plan, found.n_composed, total)]
    if look.layout == "scrub" and not plan.says("item_type"):
        notices.append("no column item_type: no rating is taken for one of a calibration item")
    if plan.pool is not None:
        raters = {one for table in tables for one in raters_in(table)}
        if approved is not None and (strangers := raters - approved):
            told = listed(sorted(strangers))
            notices.append(f"raters who are not on the roster, and count in their pools: {told}")
        pools = [pooled(table) for table in tables]
        tables = [table for table, _ in pools]
        notices += _of_pools(plan, pools[0][1])
        if len(found.labels) or len(found.preferences):
            notices.append("labels and preferences are those of single raters: they are not pooled")
        repeated = [line for _, one in pools for line in one.repeated_lines]
        if repeated:
            reason = "rating: repeats an earlier one of the same rater, before pooling"
            exclusions.append(Exclusion(reason, len(repeated), tuple(repeated[:SHOWN_LINES])))
    reading = HumanReading(
        path=path,
        layout=look.layout,
        shape=plan.shape,
        table=tables[0],
        calibration=tables[1],
        labels=found.labels.build(),
        preferences=found.preferences.build(),
        columns_used=columns_used(plan),
        columns_unread=plan.unread,
        columns_sampled=plan.sampled,
        n_rows=found.n_rows,
        missing=tuple(missing),
        exclusions=tuple(exclusions),
        faults=(*format_faults, *found.faults),
        n_faults=len(format_faults) + found.n_faults,
        scale=stated,
        sum=total,
        # Who is pooled is no rater any more.
        roster=approved if plan.pool is None else None,
        pool=plan.pool,
        has_unnamed_raters=look.column_map.raters == "places"
        or plain_name(plan.columns.get("rater_id", "")) == RATER_PLACE,
        notices=tuple(notices),
    )
    return reading, found


def scale_beside(path: Path) -> tuple[float, float] | None:
    """Returns the scale that a study says of the ratings which `study collect` wrote, or None.

    It stands in the run.json beside them, so that nobody has to repeat it.
    """
    if not (path.parent / RUN_FILE).is_file():
        return None
    try:
        said = read_run_file(path.parent)
        if said.get("ratings") != path.name:
            return None
        low, high = said["scale"]
        return float(low), float(high)
    except (AreopagusError, KeyError, TypeError, ValueError):
        return None  # the run.json of something else


def _without_codes(table: HumanTable, scale: Scale | None, missing: list[Missing]) -> HumanTable:
    """Returns the ratings without the codes among them, which go to what is missing."""
    codes = is_code(table, scale)
    if not codes.any():
        return table
    gone = table.select(codes)
    names = gone.criterion.texts()
    for criterion, value in dict.fromkeys(zip(names.tolist(), gone.value.tolist(), strict=True)):
        lines = gone.line[(names == criterion) & (gone.value == value)].tolist()
        missing.append(Missing(f"{value:g}", criterion, len(lines), tuple(lines[:SHOWN_LINES])))
    return table.select(~codes)


def columns_used(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Returns (our column, their column); a column of ratings stands with its criterion."""
    ratings: list[tuple[str, str]] = []
    for rating in plan.ratings:
        said = [*rating.fixed.values(), *([f"place {rating.place:g}"] if rating.place else ())]
        ratings.append((f"{rating.kind} ({', '.join(said) or 'by row'})", rating.column))
        ratings += [(ours, theirs) for ours, theirs in rating.cells.items()]
    pool = [("pool of raters", plan.pool)] if plan.pool is not None else []
    return (*plan.columns.items(), *pool, *dict.fromkeys(ratings))


def _notices(plan: Plan, n_composed: int, total: Sum | None) -> Iterator[str]:
    yield from plan.notices
    if plan.sampled and plan.shape == "wide":
        words = {one.column for one in plan.ratings if one.kind == "label"}
        if numbers := [name for name in plan.sampled if name not in words]:
            yield f"taken for criteria, because they hold numbers: {', '.join(numbers)}"
        if labels := [name for name in plan.sampled if name in words]:
            yield f"taken for labels, because of words such as yes and no: {', '.join(labels)}"
    if n_composed:
        yield f"no response_id: judgments that take prompt and source for one: {n_composed:,}"
    if not plan.says("prompt_id"):
        yield "no prompt_id: prompts must come from the run that is matched"
    if total is not None:
        parts = f"the sum of {listed_all(total.parts)}, on a scale of its own"
        wrong = total.wrong_lines
        but = f"; not in {rows_said(wrong)}" if wrong else ""
        yield f"{total.criterion} is {parts} ({total.n:,} rows{but})"


def _of_pools(plan: Plan, pools: Pools) -> Iterator[str]:
    yield (
        f"raters pooled by {plan.pool}: {units(pools.n_raters, 'rater')} in "
        f"{units(pools.n_pools, 'pool')}; {units(pools.n_means, 'rating')} of the pools are the "
        f"means of {pools.n_ratings:,}. Agreement is that of pools, not of single raters"
    )
    if not plan.says("rater_id"):
        yield (
            "no column names the rater: each row counts as another rater of its pool, a row that "
            "stands there twice as two"
        )
