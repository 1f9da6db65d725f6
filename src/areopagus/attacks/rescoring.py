"""Scoring a neutralised copy of flagged responses: what the passages taken out did to scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregation.effects import FEWEST_JUDGES
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import mean_by_prompt, share_over_prompts
from ..aggregation.rules import decided
from ..formats import count, listed, said, units, words
from ..formats import estimate as shown_estimate
from ..graphs.screening import gate_of
from ..records.estimates import Estimates, estimates_by, select
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from ..records.types import Sample
from ..reports.document import Column, Document, Entry, Records, Section, View
from ..reports.panel_responses import MOST_ROWS
from ..reports.views import Measure, estimates_table, jointly
from .answer import Figures, open_told
from .document import MOST_SHOWN, appendix
from .neutralise import Neutralised
from .scores import COMPOSITE, JUDGE, read_panel_judgments

if TYPE_CHECKING:
    import pandas as pd

PASSAGES_FILE = "rescore.csv"
"""One row a flagged response, with the passages taken out of it."""

_COLUMNS = (
    "response_id", "prompt_id", "respondent_id", "flags", "original", "neutralised", "shift",
    "is_marked", "n_scored", "n_planned", "reason", "removed", "found",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rescored:
    """One flagged response.

    Attributes:
        response_id, prompt_id, respondent_id: of the input.
        flags: what was taken out.
        removed: the passages taken out.
        original, neutralised: means over the judges that scored both; None where they are too few.
        n_scored: judges that scored both, of n_planned.
        reason: why there is no mean, or None.
        found: what the hits are.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    flags: tuple[str, ...]
    removed: tuple[str, ...]
    original: float | None
    neutralised: float | None
    n_scored: int
    n_planned: int
    reason: str | None
    found: tuple[str, ...] = ()

    @property
    def shift(self) -> float:
        """What the passages added: original minus neutralised; nan where it is not known."""
        if self.original is None or self.neutralised is None:
            return math.nan
        return self.original - self.neutralised

    def is_marked(self, threshold: float) -> bool:
        """Whether that is the threshold or more, in either direction."""
        return abs(self.shift) >= threshold - 1e-9


def read_rescored(
    folder: Path,
    flagged: Sequence[tuple[Sample, Neutralised]],
    criteria: Sequence[str],
    *,
    n_judges: int,
) -> list[Rescored]:
    """The scores of flagged responses and of their copies, from the panel's folder.

    Raises:
        InputError: the folder holds no table of judgments.
    """
    judgments = read_panel_judgments(folder, criteria)
    table = judgments.set_index(["response_id", *JUDGE])[COMPOSITE].unstack([*JUDGE])
    copies = [rescored_id(at, copy=True) for at in range(len(flagged))]
    originals = [rescored_id(at) for at in range(len(flagged))]
    sides = np.stack([table.reindex(names).to_numpy() for names in (originals, copies)])
    has_both = np.asarray(~np.isnan(sides).any(axis=0), dtype=bool)
    rows = []
    for at, (row, copy) in enumerate(flagged):
        n_scored = int(has_both[at].sum())
        original = neutral = reason = None
        if n_scored >= min(FEWEST_JUDGES, n_judges):
            original, neutral = sides[:, at, has_both[at]].mean(axis=1).tolist()
        elif gate_of(copy.text) is not None:
            reason = "nothing is left to judge once the passages are taken out"
        else:
            reason = f"fewer than {FEWEST_JUDGES} judges scored it with the passages and without"
        texts = row.response_id, row.prompt_id, row.respondent_id, copy.flags, copy.removed
        rows.append(Rescored(*texts, original, neutral, n_scored, n_judges, reason, copy.found))
    return rows


def rescored_id(number: int, *, copy: bool = False) -> str:
    """The id under which the panel scores a flagged response, or its copy."""
    return f"{number:06d}-{'neutralised' if copy else 'original'}"


def estimate(
    rows: Sequence[Rescored],
    *,
    threshold: float,
    n_responses: int,
    n_flagged: int,
    n_screened: int,
    flags: Counter[str],
    most: float = math.inf,
    texts: Mapping[str, str] | None = None,
    level: float = 0.95,
) -> Estimates:
    """The figures of a rescoring.

    Tables: `overall`, `responses` (item: a flagged response), `flags`, `counts`.

    Args:
        rows: the flagged responses, in the order of the input.
        threshold: points from which a response counts as moved.
        n_responses: responses read; n_flagged: of these, responses with a hit; n_screened:
            responses that no judge is asked about.
        flags: flag to number of responses.
        most: points that two scores can be apart, the width of their scale.
        texts: prompt id to its text: prompts with the same text are one unit.
        level: of the intervals.
    """
    what, beyond = "mean original − neutralised", "share at or beyond the threshold"
    shift, marked = (undefined("no response was flagged", method=name) for name in (what, beyond))
    shifts = np.asarray([row.shift for row in rows])
    known = ~np.isnan(shifts)
    if rows:
        of_row = [(texts or {}).get(row.prompt_id, row.prompt_id) for row in rows]
        prompts = np.unique(of_row, return_inverse=True)[1].reshape(-1)
        n_prompts = int(prompts.max()) + 1
        by_prompt = mean_by_prompt(shifts, prompts, n_prompts)[:, None]
        (shift,) = decided(by_prompt, of=what, bounds=(-most, most), level=level)
        is_marked = np.asarray([float(row.is_marked(threshold)) for row in rows])
        shares = mean_by_prompt(np.where(known, is_marked, np.nan), prompts, n_prompts)
        marked = share_over_prompts(shares, level=level, what=beyond)
    found = Estimates()
    found.add("overall", "shift", shift)
    found.add("overall", "moved", marked)
    for measure, number in (
        ("responses", n_responses),
        ("flagged", n_flagged),
        ("screened", n_screened),
        ("measured", int(known.sum())),
        ("moved", sum(row.is_marked(threshold) for row in rows)),
    ):
        found.add("counts", measure, number)
    for flag, number in sorted(flags.items(), key=lambda item: (-item[1], item[0])):
        found.add("flags", "responses", number, group=flag)
    for row in rows:
        for measure, value in (
            ("original", row.original), ("neutralised", row.neutralised), ("shift", row.shift),
        ):  # fmt: skip
            one = Estimate(
                math.nan if value is None else value, n=row.n_scored, n_planned=row.n_planned,
                unit="judge", method="mean of the judges that scored both", level=math.nan,
                reason=row.reason,
            )  # fmt: skip
            found.add(
                "responses", measure, one,
                item=writable(row.response_id), respondent=writable(row.respondent_id),
            )  # fmt: skip
    return found


def write_passages(folder: Path, rows: Sequence[Rescored], threshold: float) -> None:
    """Writes the flagged responses with the passages taken out.

    Raises:
        StoreError: the folder cannot be written.
    """
    with csv_table(folder / PASSAGES_FILE, _COLUMNS) as lines:
        for row in rows:
            values = {name: getattr(row, name) for name in _COLUMNS if name != "is_marked"}
            values["shift"] = None if math.isnan(row.shift) else row.shift
            values |= {
                "is_marked": row.is_marked(threshold),
                "flags": " ".join(row.flags),
                "removed": json.dumps(list(row.removed), ensure_ascii=False),
                "found": "; ".join(row.found),
            }
            lines.write(["" if values[c] is None else writable(values[c]) for c in _COLUMNS])


def read_passages(folder: Path) -> list[dict[str, str]]:
    """The rows of `write_passages`; none where the file is missing."""
    import pandas as pd

    path = folder / PASSAGES_FILE
    if not path.is_file():
        return []
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    return [{str(name): str(value) for name, value in row.items()} for row in rows]


def document(
    record: Mapping[str, Any], estimates: pd.DataFrame, passages: Sequence[Mapping[str, str]]
) -> Document:
    """What is shown of a rescoring.

    Args:
        record: the content of run.json.
        estimates: of `estimate`.
        passages: the flagged responses with what was taken out of them.
    """
    counts = {row["measure"]: int(row["value"]) for _, row in _rows(estimates, "counts")}
    overall = next((row for _, row in estimates_by(select(estimates, "overall"), [])), {})
    threshold = float(record["identity"]["threshold"])
    cells = select(estimates, "responses")
    shifts = cells[cells["measure"] == "shift"]
    moved = shifts[shifts["value"].abs() >= threshold - 1e-9]
    order = moved["value"].abs().sort_values(ascending=False).index
    largest = list(dict.fromkeys(moved.loc[order, "item"]))[:MOST_SHOWN]
    measures = [
        Measure("original", "as it came", "value"),
        Measure("neutralised", "without", "value"),
        Measure("shift", "shift", "value", is_signed=True),
        Measure("shift", "judges", "n_of"),
    ]
    few = estimates_table(
        cells[cells["item"].isin(largest)], "responses", keys={"item": "response"},
        measures=measures, label="Moved most",
        caption=f"Moved by {threshold:g} points or more; shift: what the passages added.",
    )  # fmt: skip
    flags = estimates_table(
        estimates, "flags", keys={"group": "flag"},
        named={"group": {name: words(name) for name in select(estimates, "flags")["group"]}},
        measures=[Measure("responses", field="value", is_count=True)],
        caption="Flags of the detectors.", label="Flags", is_short=True,
    )  # fmt: skip
    sections = [
        Section("moved", "Moved most", [few] if few else [], "summary"),
        Section("flags", "Flags", [flags] if flags else []),
        Section("responses", "Flagged responses", [_flagged_records(estimates, passages)]),
        *appendix(record),
    ]
    measured = (
        f"{count(counts['measured'])} measured of {count(counts['flagged'])} flagged; "
        f"{count(counts['screened'])} screened, nobody asked"
    )
    return Document(
        title="Neutralised re-scoring",
        kind="rescore",
        headline=list(_rescore_headline(counts, overall, threshold)),
        trust=[
            ("coverage", measured),
            ("judges", _panel_told(record)),
            ("audit", "no score of any other run is changed"),
            ("limits", f"what was taken out said something: read removed in {PASSAGES_FILE}"),
        ],
        notices=[str(notice) for notice in record["notices"]],
        sections=sections,
        is_demonstration=bool(record["demonstration"]),
    )


def _rows(estimates: pd.DataFrame, table: str) -> Iterator[tuple[int, Mapping[Any, Any]]]:
    return enumerate(select(estimates, table).to_dict("records"))


def _rescore_headline(
    counts: Mapping[str, int], overall: Figures, threshold: float
) -> Iterator[str]:
    if not counts["flagged"]:
        yield (
            f"No detector flags any of {units(counts['responses'], 'response')}: nothing was "
            "scored again."
        )
        return
    yield (
        f"{counts['moved']} of {counts['measured']} flagged responses moved by {threshold:g} "
        f"points or more once the flagged passages were taken out "
        f"({counts['flagged']} of {units(counts['responses'], 'response')} flagged)."
    )
    shift = overall["shift"]
    if not shift.is_defined:
        yield f"How far the passages moved scores is unknown: {said(shift.reason)}."
        return
    points = shown_estimate(jointly(shift), is_signed=True)
    if shift.verdict in ("higher", "lower"):
        did = "raised" if shift.verdict == "higher" else "lowered"
        yield f"On average over prompts the passages {did} scores: {points} points."
        return
    why = f" ({said(shift.reason)})" if shift.reason else f" ({open_told(shift)})"
    yield f"On average over prompts scores with the passages differ by {points} points{why}."


def _flagged_records(estimates: pd.DataFrame, passages: Sequence[Mapping[str, str]]) -> Records:
    removed = {row["response_id"]: row for row in passages}
    rows: list[list[Any]] = []
    texts: list[str] = []
    for at, row in estimates_by(select(estimates, "responses"), ["item", "respondent"]):
        told = removed.get(str(at["item"]), {})
        shift = row["shift"]
        rows.append(
            [
                at["item"], at["respondent"] or "", words(told.get("flags", "")),
                *(row[name].value if name in row and row[name].is_defined else None
                  for name in ("original", "neutralised", "shift")),
                shift.n, shift.n_planned, shift.reason or "",
            ]
        )  # fmt: skip
        texts.append("\n\n".join(json.loads(told.get("removed") or "[]")))
    left_out = max(0, len(rows) - MOST_ROWS)
    rows, texts = rows[:MOST_ROWS], texts[:MOST_ROWS]
    return Records(
        name="flagged",
        caption="Means of the judges that scored both, as the response came and without the "
        "passages that were noticed; shift: what the passages added. A response opens to the "
        "passages taken out.",
        label="Flagged responses",
        columns=[
            Column("response", "id"), Column("respondent", "id"), Column("flags", "wide"),
            Column("as it came", "number"), Column("without", "number"),
            Column("shift", "number", is_signed=True), Column("judges", "count"),
            Column("planned", "count"), Column("why there is none", "wide"),
        ],
        rows=rows,
        filters=[1] if 1 < len({row[1] for row in rows}) <= 500 else [],
        view=View(
            texts=["Taken out"], judge_columns=[], judges=[], scores=[], scale=(0, 1),
            entries=[Entry([text], []) for text in texts],
        ),
        left_out=left_out,
        file=PASSAGES_FILE,
    )  # fmt: skip


def _panel_told(record: Mapping[str, Any]) -> str:
    """Who judged, in a few words."""
    panel = record["panel"]
    models = [str(model["name"]) for model in panel["models"]]
    return (
        f"{units(len(panel['personas']), 'persona')} × {units(len(models), 'model')} "
        f"({listed(models, 3)}), rubric {panel['rubric']['id']}"
    )
