"""`compare`: two runs of one kind before and after, or the sides of panel runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..any_report import run_of
from ..attacks.run import AttackRun
from ..auditing.run import AuditRun
from ..errors import InputError, InputFault
from ..experiment.run_record import versions
from ..formats import plain
from ..progress import ESTIMATING, doing
from ..records.estimates import Estimates, write_estimates
from ..records.run_folder import RUN_FORMAT, RunFolder, run_identity_hash
from ..reports.comparison import comparison_document
from ..run import JobRun, Run
from ..run import compare as compare_panels
from ..shown import Shown
from ..stress_test.run import StressRun
from .attacks import paired_attacks
from .audits import paired_audits
from .document import change_document
from .figures import Paired, add_changes, what_differs
from .stress import paired_stress

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison import Comparison
    from ..reports.document import Document

PAIRED: Final = (AuditRun.kind, StressRun.kind, AttackRun.kind)
"""Kinds of which two runs are compared before and after."""


def _paired(before: JobRun, after: JobRun, margin: float | None) -> Paired:
    if isinstance(before, AuditRun) and isinstance(after, AuditRun):
        return paired_audits(before, after, margin)
    if isinstance(before, StressRun) and isinstance(after, StressRun):
        return paired_stress(before, after, margin)
    assert isinstance(before, AttackRun) and isinstance(after, AttackRun)  # noqa: S101, PT018
    return paired_attacks(before, after, margin)


class ChangeRun(JobRun):
    """The folder of a comparison of two runs, read."""

    kind: ClassVar[str] = "comparison"
    command: ClassVar[str] = "compare"

    def document(self) -> Document:
        """What is shown: who scores higher, or what has changed from before to after."""
        if self.record["of"] == Run.kind:
            return comparison_document(self.record, self.estimates)
        return change_document(self.record, self.estimates)


def write_comparison(
    out: str | Path, record: dict[str, Any], estimates: pd.DataFrame, *, figures: bool = True
) -> ChangeRun:
    """Writes a folder of results with its report, as every job does, and returns it.

    Args:
        out: the folder; one that holds another comparison is refused.
        record: the content of its run.json.
        estimates: every figure.
        figures: whether the report has pictures.

    Raises:
        InputError: the folder holds something else.
        StoreError: it cannot be written.
    """
    folder = RunFolder.open(out, record["identity"])
    try:
        folder.write_run_file({**record, "versions": versions()})
        write_estimates(folder.path, estimates)
    finally:
        folder.close()
    run = ChangeRun(out)
    run.write_report(figures=figures)
    return run


class Changes(Shown):
    """What has changed from one run to another of its kind, in memory.

    Attributes:
        runs: before and after.
        record: what was compared, as run.json holds it.
    """

    def __init__(self, before: JobRun, after: JobRun, *, margin: float | None = None) -> None:
        """Pairs the runs and tests the changes; see `compare`."""
        if margin is not None and not margin > 0:
            raise InputError([InputFault("margin", f"must be above 0, got {margin:g}")])
        doing(ESTIMATING)
        self.runs = before, after
        is_stored = _is_stored(self.runs)
        found = _paired(before, after, margin)
        changes = found.changes
        if is_stored:  # alike to the last digit, which shows nothing of the model
            changes = [
                replace(
                    one, change=replace(one.change, verdict="undefined", needed=None, p=math.nan)
                )
                for one in changes
            ]
        self._found = Estimates()
        add_changes(self._found, changes)
        identities = [run.record["identity"] for run in self.runs]
        self.record: dict[str, Any] = {
            "kind": ChangeRun.kind,
            "format": RUN_FORMAT,
            "state": "complete",
            "identity": {"runs": [run_identity_hash(one) for one in identities], "margin": margin},
            "of": after.kind,
            "title": found.title,
            "margin": margin,
            "demonstration": any(_is_demonstration(run) for run in self.runs),
            "runs": [
                _described(run, name)
                for run, name in zip(self.runs, _names(self.runs), strict=True)
            ],
            "targets": list(after.record.get("targets", ())),
            "figures": [dict(one.of) for one in found.changes],
            "notices": [*found.notices, *_unfinished(self.runs)],
            "trust": list(found.trust),
            "untested": list(found.untested),
            "differs": [
                [name, _told(old), _told(new)] for name, old, new in what_differs(*identities)
            ],
            "is_stored": is_stored,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' '.join(self.document().headline[:1])})"

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Every figure before and after, its change, and the test that it is none."""
        return self._found.frame()

    def document(self) -> Document:
        """What is shown: what has changed from before to after, and whether it is shown."""
        return change_document(self.record, self.estimates)

    def write(self, out: str | Path, *, figures: bool = True) -> ChangeRun:
        """Writes a folder of results with its report, as every job does, and returns it.

        Args:
            out: the folder; one that holds another comparison is refused.
            figures: whether the report has pictures.

        Raises:
            InputError: the folder holds something else.
            StoreError: it cannot be written.
        """
        return write_comparison(out, self.record, self.estimates, figures=figures)

    def write_report(self, out: str | Path, *, figures: bool = True) -> Path:
        """Writes the page alone, its pictures beside it, and returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        from ..reports.html import write_page

        return write_page(out, self.document(), figures=figures)


def compare(
    run: JobRun | str | Path,
    *others: JobRun | str | Path,
    by: str | None = None,
    baseline: str | None = None,
    margin: float | None = None,
) -> Comparison | Changes:
    """Compares the sides of panel runs, or two audits, stress tests or attacks before and after.

    Of panel runs pairs are made by prompt, and only judges count who scored both sides.
    Differences are in points of the scale, with 95% intervals over prompts, for this panel and for
    judges like these; those that hold for all pairs at once decide. Runs of different panels are
    compared as instruments, by response.

    Of two audits, stress tests or attacks the first is before and the second after: every figure
    that both have on the same items, its change, and whether that is shown, by intervals that hold
    jointly for the answer. Models are paired by name, or the only ones with each other.

    Args:
        run: a run or its folder.
        others: more of them, of the same kind.
        by: of panel runs, what the sides are: "respondent", "run", "model", "persona", or a column
            that the input carried. Left out: respondents of one run; of several, runs that share
            respondents, else all their respondents.
        baseline: of panel runs, the side that the others are held against, and no other pair is
            then tested. Left out: every pair is, and the best side is the baseline; of several
            runs, the first.
        margin: inside which a difference or a change does not matter, in the unit of the first
            figure of the answer: what is shown to lie within is alike.

    Raises:
        InputError: folders of different kinds, audits or panels, no such side or column, fewer
            than two sides, or nothing in common.
    """
    runs = [one if isinstance(one, JobRun) else run_of(one) for one in (run, *others)]
    kinds = list(dict.fromkeys(one.kind for one in runs))
    if len(kinds) > 1:
        faults = [InputFault(str(one.path), f"is of kind {one.kind!r}") for one in runs]
        raise InputError(faults, hint="Runs of one kind are compared with each other.")
    if kinds == [Run.kind]:
        panels = [one for one in runs if isinstance(one, Run)]
        return compare_panels(*panels, by=by, baseline=baseline, margin=margin)
    if kinds[0] not in PAIRED:
        raise InputError(
            [InputFault(str(runs[0].path), f"is of kind {kinds[0]!r}, which is not compared")],
            hint=f"Compared are: {', '.join((Run.kind, *PAIRED))}.",
        )
    if len(runs) != 2:
        raise InputError(f"give two runs, before and after; got {len(runs)}")
    if given := [name for name, one in (("by", by), ("baseline", baseline)) if one is not None]:
        told = "is for panel runs: of two runs the first is before, the second after"
        raise InputError([InputFault(f"`{name}`", told) for name in given])
    if runs[0].path.resolve() == runs[1].path.resolve():
        raise InputError(
            [InputFault(str(runs[1].path), "is given twice: a run is not compared with itself")]
        )
    for one in runs:
        one.require_estimates()
    return Changes(runs[0], runs[1], margin=margin)


def _names(runs: Sequence[JobRun]) -> list[str]:
    """Of the folders; with that of the one above where they are called the same."""
    paths = [run.path.resolve() for run in runs]
    if paths[0].name != paths[1].name:
        return [path.name for path in paths]
    return [f"{path.parent.name}/{path.name}" for path in paths]


def _described(run: JobRun, name: str) -> dict[str, Any]:
    record = run.record
    asked = _asked(run)
    names = [str(one) for one in record.get("targets") or asked]
    models = {name: str(asked[name].get("model", name)) for name in names if name in asked}
    return {
        "name": name,
        "state": run.state,
        "respondents": names,
        "models": models,
        "version": str((record.get("versions") or {}).get("areopagus", "")),
    }


def _asked(run: JobRun) -> Mapping[str, Any]:
    """The models that a run is about, by name: those under test, or the judges attacked."""
    identity = run.record["identity"]
    return identity.get("targets") or (identity.get("panel") or {}).get("models") or {}


def _is_stored(runs: Sequence[JobRun]) -> bool:
    """Whether the later run took the replies of the earlier one from the ledger of both."""
    records = [run.record for run in runs]
    # What beside the text, which is the same letter for letter, makes a call the same.
    of = "panel" if isinstance(runs[0], AttackRun) else "targets"
    before, after = (one["identity"].get(of) for one in records)
    if not (before and after) or records[0].get("ledger") != records[1].get("ledger"):
        return False
    is_same = before == after if of == "panel" else [*before.values()] == [*after.values()]
    if not is_same:
        return False

    # What only one of them asked may be new; it is in no figure.
    sessions = [list(one.get("sessions", ())) for one in records]
    begun = [str(one[0]["started"]) if one else "" for one in sessions]
    later = sessions[0] if begun[0] > begun[1] else sessions[1]
    return any(int((one.get("calls") or {}).get("from_ledger", 0)) for one in later)


def _is_demonstration(run: JobRun) -> bool:
    targets = (run.record["identity"].get("targets") or {}).values()
    asked = [str(one.get("model", "")) for one in targets if isinstance(one, Mapping)]
    return bool(run.record.get("demonstration")) or any(one.startswith("offline/") for one in asked)


def _unfinished(runs: Sequence[JobRun]) -> list[str]:
    return [
        f"{when} is not complete ({run.state}): what was not asked is missing."
        for when, run in zip(("Before", "After"), runs, strict=True)
        if run.state != "complete"
    ]


def _told(value: Any) -> str | None:
    return None if value is None else plain(value)
