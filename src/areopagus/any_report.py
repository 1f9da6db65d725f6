"""Writes the report of a folder of results, whatever kind of result it holds."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .errors import InputError, InputFault
from .records.run_folder import read_run_file

if TYPE_CHECKING:
    from .run import JobRun

RUNS: Final[dict[str, str]] = {
    "attack": ".attacks.run:AttackRun",
    "persona_review": ".persona_review.run:ReviewRun",
    "judges": ".judge_behaviour.run:JudgesRun",
    "rescore": ".attacks.run:RescoreRun",
    "prompts": ".prompts.result:PromptRun",
    "stress": ".stress_test.run:StressRun",
    "study": ".study.collect:StudyCollection",
    "audit": ".auditing.run:AuditRun",
    "scenarios": ".prompts.scenario_items:ScenarioRun",
    "concepts": ".prompts.concept_items:ConceptRun",
    "calibration": ".calibration:CalibrationRun",
    "comparison": ".changes.run:ChangeRun",
    "panel": ".run:Run",
}
"""Kind of a run to "module:class" of its `JobRun`."""


def run_of(folder: str | Path) -> JobRun:
    """The folder as a run of its kind.

    Raises:
        InputError: the folder holds no run, or one of a kind that has no results to show.
    """
    folder = Path(folder)
    kind = str(read_run_file(folder).get("kind", "panel"))
    if kind not in RUNS:
        raise InputError(
            [InputFault(str(folder), f"holds a run of kind {kind!r}, which has no report")],
            hint=f"Reports are there for: {', '.join(RUNS)}.",
        )
    module, _, name = RUNS[kind].partition(":")
    made: JobRun = getattr(import_module(module, __package__), name)(folder)
    return made


def check_readings(job: str | Path, *labels: str | Path) -> JobRun:
    """Takes people's labels of texts that a job has put into categories into its results.

    The job's folder then says how far people agree with its readings and with each other, and what
    its rates are by people's labels, beside what they were (table `checks` of its estimates).

    Args:
        job: the folder of an audit, a stress test, an attack or a construction of prompts, made
            with `for_people`: its for_people.csv holds the texts that were drawn.
        labels: that sheet with its last column filled in, one file a person; or tables with
            item_id, rater_id and label.

    Raises:
        InputError: a folder without such readings, or labels that cannot be read, are none of the
            categories or are of other texts.
        StoreError: the folder cannot be written.
    """
    return run_of(job).check_readings(*labels)


def write_any_report(
    folder: str | Path, *, out: str | Path | None = None, figures: bool = True
) -> Path:
    """The path of the report of a folder, written anew, at once or not at all.

    The figures are read from its estimates, and nothing is asked or estimated again.

    Args:
        folder: of a panel run, a stress test, an audit, an attack, a rescoring, a construction of
            prompts, a review of personas or a calibration.
        out: the file to write; report.html in the folder when left out.
        figures: whether the report has pictures.

    Raises:
        InputError: the folder holds nothing of these, or its files cannot be read.
        StoreError: the report cannot be written; one that was there before stays.
    """
    try:
        run = run_of(folder)
        run.require_estimates()
        return run.write_report(out, figures=figures)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        # Our own files lack nothing of this: they were cut, edited, or written by another version.
        raise InputError(
            [InputFault(str(folder), f"its files do not fit together: {error!r}")]
        ) from error
