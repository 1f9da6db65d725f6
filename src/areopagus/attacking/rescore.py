"""Scoring a neutralised copy of flagged responses: the job and its page."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregation.estimate import Estimate, undefined
from ..calibration.page_parts import finite
from ..errors import InputError, InputFault
from ..experiment.config import InputConfig
from ..experiment.job import Progress
from ..formats import said, units
from ..graphs.screening import screen
from ..number import as_json
from ..rebuilt import rebuilt
from ..records.readers.responses import ResponseSource
from ..records.run_folder import REPORT_FILE, csv_table, read_run_file
from ..records.spreadsheets import writable
from ..records.types import Sample
from ..reports.document import (
    Column,
    Document,
    Entry,
    Paragraph,
    Part,
    Records,
    Section,
    Table,
    Tile,
    Tiles,
    View,
)
from ..reports.html import write_html
from ..reports.numbers import shown, span
from ..reports.responses import MOST_ROWS
from ..reports.section_job import job_sections
from .job import judges_line, write_json, write_text
from .lines import DEMONSTRATION
from .neutralise import Neutralised, neutralised
from .run import RescoreRun
from .scores import read_scores_matrix
from .stage import PanelStage
from .units import mean_number, per_prompt, share_number

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


@dataclass(frozen=True, slots=True)
class RescorePage:
    """What a page shows: figures, judges, source, what to know first, and run.json."""

    figures: RescoreFigures
    judges: str
    source: str
    notices: tuple[str, ...]
    is_demonstration: bool
    record: Mapping[str, Any]


def rescore_page_of(folder: Path) -> RescorePage:
    """The page of a rescoring's folder, from rescore.json.

    Raises:
        InputError: the folder holds no rescoring, or one that has not come so far.
        ValueError: rescore.json is not what this version writes.
    """
    run = RescoreRun(folder)
    try:
        plain = run.figures
    except json.JSONDecodeError as error:
        raise InputError([InputFault(str(folder / "rescore.json"), str(error))]) from error
    return RescorePage(
        figures=rebuilt(RescoreFigures, plain),
        judges=str(plain["judges"]),
        source=str(plain["source"]),
        notices=tuple(map(str, run.record["notices"])),
        is_demonstration=bool(plain["demonstration"]),
        record=run.record,
    )


def write_rescore_page(path: Path, page: RescorePage) -> Path:
    """Writes the page and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    found = page.figures
    measured = sum(one.shift is not None for one in found.responses)
    marked = sum(one.is_marked for one in found.responses)
    shift = found.shift
    limits = span(shift.low, shift.high) if shift.has_interval else said(shift.reason)
    glance: list[Part] = [
        Tiles(
            [
                Tile("responses with a hit", f"{found.n_flagged:,} of {found.n_responses:,}"),
                Tile("screened, nobody asked", f"{found.n_screened:,}"),
                Tile(f"moved by {found.threshold:g} points or more", f"{marked} of {measured}"),
                Tile("mean shift over prompts", shown(finite(shift.value)), limits),
            ]
        ),
        Paragraph("An audit: no score is changed by it."),
    ]
    if found.flags:
        rows = sorted(found.flags.items(), key=lambda item: (-item[1], item[0]))
        glance.append(
            Table(
                "Flags of the detectors.",
                "Flags",
                [Column("flag", "id"), Column("responses", "count")],
                [list(row) for row in rows],
                is_short=True,
            )
        )
    return write_html(
        path,
        Document(
            title="Neutralised re-scoring",
            kind="rescore",
            lead=(
                f"{measured:,} measured of {found.n_flagged:,} flagged",
                f"responses of {page.source}. Judged by {page.judges}.",
            ),
            notices=page.notices,
            sections=[
                Section("glance", "At a glance", glance),
                Section("responses", "Flagged responses", [_records(found)]),
                *job_sections(page.record),
            ],
            is_demonstration=page.is_demonstration,
        ),
    )


def _records(found: RescoreFigures) -> Records:
    shown_rows = found.responses[:MOST_ROWS]
    return Records(
        name="flagged",
        caption="Means of the judges that scored both, as the response came and without the "
        "passages that were noticed; shift: what the passages added. A response opens to the "
        "passages taken out.",
        label="Flagged responses",
        columns=[
            Column("response", "id"),
            Column("respondent", "id"),
            Column("flags", "wide"),
            Column("as it came", "number"),
            Column("without", "number"),
            Column("shift", "number"),
            Column("judges", "count"),
            Column("planned", "count"),
            Column("why there is none", "wide"),
        ],
        rows=[
            [
                one.response_id,
                one.respondent_id,
                " ".join(one.flags),
                one.original,
                one.neutralised,
                one.shift,
                one.n_scored,
                one.n_planned,
                one.reason or "",
            ]
            for one in shown_rows
        ],
        filters=[1] if 1 < len({one.respondent_id for one in shown_rows}) <= 500 else [],
        view=View(
            texts=["Taken out"],
            judge_columns=[],
            judges=[],
            scores=[],
            scale=(0, 1),
            entries=(Entry(["\n\n".join(one.removed)], []) for one in shown_rows),
        ),
        left_out=max(0, len(found.responses) - MOST_ROWS),
    )


_COLUMNS = (
    "response_id", "prompt_id", "respondent_id", "flags", "original", "neutralised", "shift",
    "is_marked", "n_scored", "n_planned", "reason", "removed",
)  # fmt: skip
_SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True)
class Rescored:
    """One flagged response.

    Attributes:
        response_id, prompt_id, respondent_id: of the input.
        flags: what was taken out.
        removed: the passages taken out.
        original, neutralised: the panel's means over the judges that scored both; None below the
            panel's quorum.
        shift: original minus neutralised: what the passages added.
        is_marked: whether that is the threshold or more, in either direction.
        n_scored: judges that scored both, of n_planned.
        reason: why there is no shift, or None.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    flags: tuple[str, ...]
    removed: tuple[str, ...]
    original: float | None
    neutralised: float | None
    shift: float | None
    is_marked: bool
    n_scored: int
    n_planned: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class RescoreFigures:
    """What a rescoring found.

    Attributes:
        threshold: as set in advance.
        n_responses: responses read.
        n_flagged: of these, responses with a hit, which were put before the panel twice.
        n_screened: responses that no judge is asked about.
        flags: flag to number of responses.
        shift: mean original minus neutralised over prompts with a flagged response.
        marked: share of flagged responses with a shift of the threshold or more, likewise over
            prompts.
        responses: the flagged ones, in the order of the input.
    """

    threshold: float
    n_responses: int
    n_flagged: int
    n_screened: int
    flags: dict[str, int]
    shift: Estimate
    marked: Estimate
    responses: tuple[Rescored, ...]


class RescoreJob(PanelStage[RescoreRun]):
    """A rescoring; see `rescore`."""

    kind = "rescore"

    def __init__(
        self,
        panel: PanelSpec,
        responses: Any,
        *,
        threshold: float = 2.0,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Reads the responses, and keeps those with a hit.

        Raises:
            InputError: every fault of the source, or a threshold that is not above 0.
        """
        if not (math.isfinite(threshold) and threshold > 0):
            raise InputError(f"threshold: must be points above 0, got {threshold}")
        config = InputConfig.checked(
            out=out, resume=resume, max_cost=max_cost, columns=columns, limit=limit
        )
        self.panel = panel
        self.threshold = threshold
        self.flagged: list[tuple[Sample, Neutralised]] = []
        self.n_screened = 0
        with ResponseSource(responses, columns=columns, limit=limit) as source:
            summary = source.check()
            for row in source.rows():
                if screen(row.response_text).gate is not None:
                    self.n_screened += 1
                    continue
                copy = neutralised(row.response_text)
                if copy.is_changed:
                    self.flagged.append((row, copy))
        self.name, self.n_responses = summary.name, summary.n_responses
        self._notices = (*panel.notices, *summary.notices)
        identity: dict[str, Any] = {
            "kind": self.kind,
            "responses_sha256": summary.fingerprint,
            "copies_sha256": _hash([copy.text for _, copy in self.flagged]),
            "threshold": threshold,
            "panel": panel.identity(),
        }
        super().__init__(
            config,
            identity=identity,
            name=f"rescore-{Path(self.name).stem}",
            on_progress=on_progress,
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self._notices

    def response_rows(self) -> Iterator[dict[str, Any]]:
        """Every flagged response as it came, and its copy."""
        for number, (row, copy) in enumerate(self.flagged):
            for kind, text in (("original", row.response_text), ("neutralised", copy.text)):
                yield {
                    "response_id": f"{number:06d}-{kind}",
                    "prompt_id": row.prompt_id,
                    "prompt_text": row.prompt_text,
                    "response_text": text,
                    "respondent_id": row.respondent_id,
                    "rescored_id": row.response_id,
                    "rescored_as": kind,
                }

    def finished(self, result: Path | None) -> RescoreRun:
        """Writes the figures and the page, and returns the run."""

        figures = self._figures(result)
        head: dict[str, Any] = {
            "demonstration": self.is_demonstration,
            "judges": judges_line(self.panel),
            "source": self.name,
        }
        write_json(self.path / "rescore.json", head | as_json(figures))
        _write_table(self.path / "rescore.csv", figures)
        write_text(self.path / "rescore.txt", "\n".join(_lines(figures, head)))
        page = RescorePage(
            figures,
            head["judges"],
            self.name,
            tuple(self.notices),
            self.is_demonstration,
            read_run_file(self.path, kind=self.kind),
        )
        write_rescore_page(self.path / REPORT_FILE, page)
        return RescoreRun(self.path)

    def describe(self) -> dict[str, Any]:
        """What run.json says of a rescoring."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.name,
            "notices": list(self.notices),
            "responses": {"read": self.n_responses, "flagged": len(self.flagged)},
            "panel": self.panel.describe(),
        }

    def _figures(self, folder: Path | None) -> RescoreFigures:
        rows = tuple(self._rescored(folder)) if folder is not None else ()
        codes = {name: code for code, name in enumerate(dict.fromkeys(r.prompt_id for r in rows))}
        prompts = np.asarray([codes[row.prompt_id] for row in rows], dtype=np.int64)
        none = "no response was flagged"
        shift: Estimate = undefined(none, method="mean original − neutralised")
        marked: Estimate = undefined(none, method="share at or beyond the threshold")
        if rows:
            values = np.asarray([math.nan if r.shift is None else r.shift for r in rows])
            beyond = np.asarray([math.nan if r.shift is None else float(r.is_marked) for r in rows])
            shift = mean_number(
                per_prompt(values, prompts, len(codes)),
                level=0.95,
                what="mean original − neutralised",
            )
            marked = share_number(
                per_prompt(beyond, prompts, len(codes)),
                level=0.95,
                what="share at or beyond the threshold",
            )
        return RescoreFigures(
            threshold=self.threshold,
            n_responses=self.n_responses,
            n_flagged=len(self.flagged),
            n_screened=self.n_screened,
            flags=dict(Counter(flag for _, copy in self.flagged for flag in copy.flags)),
            shift=shift,
            marked=marked,
            responses=rows,
        )

    def _rescored(self, folder: Path) -> Iterator[Rescored]:
        ids = [row["response_id"] for row in self.response_rows()]
        matrix = read_scores_matrix(folder, ids, self.panel.criteria)
        n_judges = len(self.panel.planned())
        for number, (row, copy) in enumerate(self.flagged):
            first, second = matrix.values[2 * number], matrix.values[2 * number + 1]
            both = ~np.isnan(first) & ~np.isnan(second)
            n_scored = int(both.sum())
            original = neutral = shift = None
            reason: str | None = "fewer judges than the quorum scored both"
            if n_scored and n_scored >= self.panel.quorum * n_judges - 1e-9:
                original, neutral = float(first[both].mean()), float(second[both].mean())
                shift, reason = original - neutral, None
            elif screen(copy.text).gate is not None:
                reason = "nothing is left to judge once the passages are taken out"
            yield Rescored(
                response_id=row.response_id,
                prompt_id=row.prompt_id,
                respondent_id=row.respondent_id,
                flags=copy.flags,
                removed=copy.removed,
                original=original,
                neutralised=neutral,
                shift=shift,
                is_marked=shift is not None and abs(shift) >= self.threshold - 1e-9,
                n_scored=n_scored,
                n_planned=n_judges,
                reason=reason,
            )


def _hash(texts: list[str]) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _write_table(path: Path, figures: RescoreFigures) -> None:
    with csv_table(path, _COLUMNS) as lines:
        for row in figures.responses:
            plain = as_json(row) | {
                "flags": " ".join(row.flags),
                "removed": json.dumps(list(row.removed), ensure_ascii=False),
            }
            lines.write(["" if plain[c] is None else writable(plain[c]) for c in _COLUMNS])


def _lines(figures: RescoreFigures, head: Mapping[str, Any]) -> list[str]:
    lines = [DEMONSTRATION, ""] if head["demonstration"] else []
    lines += [
        "Neutralised re-scoring (an audit: no score is changed by it)",
        f"Judges: {head['judges']}",
    ]
    lines.append(
        f"Hit by a detector: {figures.n_flagged} of {units(figures.n_responses, 'response')}; "
        f"screened: {figures.n_screened}."
    )
    if figures.flags:
        found = sorted(figures.flags.items(), key=lambda item: (-item[1], item[0]))
        lines.append(", ".join(f"{flag} {count}" for flag, count in found))
    measured = [row for row in figures.responses if row.shift is not None]
    marked = sorted(
        (row for row in measured if row.is_marked), key=lambda row: -abs(row.shift or 0.0)
    )
    lines.append(
        f"{len(marked)} of {len(measured)} measured moved by {figures.threshold:g} points or more "
        "once the passages were taken out."
    )
    for row in marked[:_SHOWN_ROWS]:
        lines.append(
            f"  {row.response_id[:40]}: {row.original:.2f} as it came, {row.neutralised:.2f} "
            f"without ({', '.join(row.flags)}); {row.n_scored} of {row.n_planned} judges"
        )
    if len(marked) > _SHOWN_ROWS:
        lines.append(f"  … and {len(marked) - _SHOWN_ROWS} more in rescore.csv")
    return lines
