"""Reads human judgments in any known layout into one long table, and lists what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault
from . import misfits
from .columns import HumanColumns, read_column_map
from .layouts import LAYOUTS, open_human_file
from .match import MatchReport, Scale, match
from .misfits import Misfit
from .plan import Plan, make_plan
from .ratings import RatingReader
from .side_tables import APPROVED, SourceMap, read_key, read_roster, read_source_map
from .table import HumanTable, LabelTable, PreferenceTable


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Rows that do not count, and why; `lines` names the first of them."""

    reason: str
    n: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HumanReading:
    """A table of judgments and what was understood of its file.

    Every cell of judgments is in `table`, `calibration`, `labels` or `preferences`, missing
    (`n_missing`), or in a row of `faults` or `exclusions`.

    Attributes:
        path: the file.
        layout: the tool's layout ("rows" for plain tables, "scrub" for the paper's release).
        shape: "long", "wide", "pairs", … (see `plan.Plan`).
        table: the ratings of the study.
        calibration: ratings of calibration items, told apart by item_type.
        labels, preferences: judgments of these kinds; mostly empty.
        columns_used: (our column, their column); a column of ratings stands with its criterion.
        columns_ignored: columns that were read as nothing.
        columns_sampled: columns taken for criteria because they hold numbers only: look at these.
        n_rows: rows of the file, excluded ones included.
        n_missing: empty rating cells.
        exclusions: what was left out, by reason.
        faults: what could not be read (the first 1,000); `n_faults` counts all.
        scale: the scale that scores must keep to, as given.
        roster: raters that may rate, or None where no roster was given.
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
    columns_ignored: tuple[str, ...]
    columns_sampled: tuple[str, ...]
    n_rows: int
    n_missing: int
    exclusions: tuple[Exclusion, ...]
    faults: tuple[InputFault, ...]
    n_faults: int
    scale: Scale | None
    roster: frozenset[str] | None
    notices: tuple[str, ...]

    def require_sound(self) -> HumanReading:
        """Returns itself.

        Raises:
            InputError: with every fault, where there is one.
        """
        if self.n_faults:
            left = self.n_faults - len(self.faults)
            raise InputError(self.faults, hint=f"and {left:,} more" if left else None)
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
    """

    reading: HumanReading
    persona_of: Mapping[str, str]
    model_of: Mapping[str, str]


def read_humans(
    path: str | Path,
    *,
    layout: str = "auto",
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    source_map: str | Path | Iterable[Mapping[str, Any]] | SourceMap | None = None,
    roster: str | Path | Mapping[str, str] | None = None,
    scale: Scale | None = None,
    criteria: Sequence[str] | None = None,
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
        scale: (lowest, highest) score, or by criterion; kept for `match`.
        criteria: columns that are criteria in a wide table; by default all with numbers only.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: where nothing can be understood: no such file or column, no ratings, no raters.
            Faults of single rows are not raised; they are in the reading.
    """
    if source_map is not None and not isinstance(source_map, SourceMap):
        source_map = read_source_map(source_map)
    statuses = read_roster(roster) if isinstance(roster, str | Path) else roster
    if statuses is not None:
        statuses = {name: status.strip().upper() for name, status in statuses.items()}
    return _read(
        path,
        read_column_map(columns),
        layout=layout,
        source_map=source_map,
        statuses=statuses,
        scale=scale,
        criteria=criteria,
        format=format,
    )[0]


def read_judgments(
    path: str | Path,
    *,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
    scale: Scale | None = None,
    criteria: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002
) -> JudgmentReading:
    """Returns the judgments of a table: prompt_id, response_id, judge, dimensions or a score.

    Optional columns: persona, model, status, abstained. Where no column names the judge, it is
    "persona x model". The columns of the paper's released scores (judge_model, perspective_id) and
    the long form (criterion, value) are understood too.

    Args:
        path, columns, scale, criteria, format: as for `read_humans`.

    Raises:
        InputError: as `read_humans`.
    """
    reading, known = _read(
        path,
        read_column_map(columns),
        layout="rows",
        scale=scale,
        criteria=criteria,
        format=format,
        for_judges=True,
    )
    return JudgmentReading(
        reading=reading,
        persona_of={judge: one["persona"] for judge, one in known.items() if "persona" in one},
        model_of={judge: one["model"] for judge, one in known.items() if "model" in one},
    )


def _read(
    path: str | Path,
    column_map: HumanColumns,
    *,
    layout: str,
    scale: Scale | None,
    criteria: Sequence[str] | None,
    format: str | None,  # noqa: A002
    source_map: SourceMap | None = None,
    statuses: Mapping[str, str] | None = None,
    for_judges: bool = False,
) -> tuple[HumanReading, dict[str, dict[str, str]]]:
    """Returns a reading, and for stored judgments each judge's persona and model."""
    if layout not in LAYOUTS:
        raise InputError(f"layout: must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    source = Path(path)
    format_faults: list[InputFault] = []
    chosen, opened = open_human_file(
        source,
        column_map.layout if layout == "auto" else layout,
        has_header=column_map.header,
        format=format,
        faults=format_faults,
    )
    if not opened.peek() and format_faults:
        raise InputError(format_faults)
    if source_map is None and column_map.key:
        source_map = read_key(column_map.key)
    plan = make_plan(
        source,
        opened,
        column_map,
        criteria=criteria,
        for_judges=for_judges,
        labels=() if source_map is None else source_map.labels(),
    )
    found = RatingReader(str(path), plan, column_map, source_map=source_map, roster=statuses)
    found.read(opened.rows)
    approved = None
    if statuses is not None:
        approved = frozenset(rater for rater, status in statuses.items() if status == APPROVED)
    reading = HumanReading(
        path=str(path),
        layout=chosen,
        shape=plan.shape,
        table=found.table.build(),
        calibration=found.calibration.build(),
        labels=found.labels.build(),
        preferences=found.preferences.build(),
        columns_used=_used(plan),
        columns_ignored=plan.ignored,
        columns_sampled=plan.sampled,
        n_rows=found.n_rows,
        n_missing=found.n_missing,
        exclusions=tuple(
            Exclusion(reason, n, tuple(lines)) for reason, (n, lines) in found.excluded.items()
        ),
        faults=(*format_faults, *found.faults),
        n_faults=len(format_faults) + found.n_faults,
        scale=scale,
        roster=approved,
        notices=_notices(plan, found.n_composed),
    )
    return reading, found.attributes


def _used(plan: Plan) -> tuple[tuple[str, str], ...]:
    ratings: list[tuple[str, str]] = []
    for rating in plan.ratings:
        said = [*rating.fixed.values(), *([f"place {rating.place:g}"] if rating.place else ())]
        ratings.append((f"{rating.kind} ({', '.join(said) or 'by row'})", rating.column))
        ratings += [(ours, theirs) for ours, theirs in rating.cells.items()]
    return (*plan.columns.items(), *dict.fromkeys(ratings))


def _notices(plan: Plan, n_composed: int) -> tuple[str, ...]:
    notices: list[str] = [*plan.notices]
    if plan.sampled and plan.shape == "wide":
        words = [one.column for one in plan.ratings if one.kind == "label"]
        numbers = [name for name in plan.sampled if name not in words]
        if numbers:
            notices.append(f"taken for criteria, holding numbers only: {', '.join(numbers)}")
        if words := [name for name in plan.sampled if name in words]:
            notices.append(
                f"taken for labels, holding words such as yes and no: {', '.join(words)}"
            )
    if n_composed:
        notices.append(
            f"no response_id: ratings that take prompt and source for one: {n_composed:,}"
        )
    if not plan.says("prompt_id"):
        notices.append("no prompt_id: prompts must come from the run that is matched")
    return tuple(notices)
