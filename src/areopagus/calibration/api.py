"""The two entries: `calibrate` a panel against people, and `agreement` of people alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..aggregation.estimate import undefined
from ..records.humans import HumanReading, HumanTable, JudgmentReading
from ..run import Run
from .alt import EPSILON, alt_tests
from .corrections import corrections
from .how_many import how_many
from .inferred import Inferred, inferred_ratings
from .judges_table import JudgesTable, judges_table
from .matched import what_was_matched
from .material import stand_ins_of, targets_of, with_levels
from .one_person import AgainstOnePerson, against_one_person
from .panel_people import panel_with_people
from .panel_severity import PanelSeverity
from .paper import paper_figures
from .people import people_with_people
from .result import AgreementReport, Calibration
from .sources import material_of_panel, material_of_people, texts_of
from .unsaid import what_cannot_be_said


def calibrate(
    run: Run | JudgmentReading | str | Path,
    human: HumanReading | HumanTable | str | Path,
    *,
    responses: Any = None,
    inferred: Inferred | None = None,
    families: Mapping[str, str] | None = None,
    scale: tuple[float, float] | None = None,
    epsilon: float = EPSILON,
    level: float = 0.95,
    seed: int = 0,
) -> Calibration:
    """Returns what people's ratings say about a panel.

    Args:
        run: a run or its folder; or stored judgments of any tool, or their file.
        human: people's ratings: a reading, a table, or a file in any layout.
        responses: the responses that were judged, as for scoring: adds lengths, sources and
            domains, and hashes of the texts for a saved calibration. Without them lengths and
            hashes are those of the texts that the run's folder keeps, if it does.
        inferred: scores that a panel inferred from raters' written justifications: a run over the
            table of `areopagus humans comments`, or ratings in any layout; compared with people's
            ratings, labelled inferred.
        families: model or respondent (or a word of its name) to family; see `family_of`.
        scale: lowest and highest score, where neither side says.
        epsilon: of the alt-test: .2 against experts, .15 skilled raters, .1 crowd workers.
        level: nominal coverage of intervals.
        seed: of everything drawn.

    Raises:
        InputError: unreadable input, with all faults; or nobody rated a judged response.
        ValueError: level or epsilon out of range.
    """
    _check(level)
    texts = texts_of(responses, run)
    material, reading, identity = material_of_panel(run, human, texts=texts, scale=scale)
    targets = targets_of(material)
    target = targets[0] if targets else None
    people = people_with_people(material, level=level, seed=seed)
    panel = panel_with_people(material, targets, level=level, seed=seed)
    if target is None:
        none = undefined("people and panel share no criterion")
        one_person = AgainstOnePerson(none, none, none, none, none, none, (), 0)
        no_severity = PanelSeverity((), "people and panel share no criterion")
        judges = JudgesTable((), (), (), {}, no_severity)
    else:
        one_person = against_one_person(material, target, level=level)
        judges = judges_table(material, target, families=families, level=level)
    levels = with_levels(targets)
    size = how_many(material, target, levels=levels, level=level, seed=seed)
    corrected = corrections(material, target, levels=levels, level=level, seed=seed)
    tests, no_tests = alt_tests(material, target, epsilon=epsilon, seed=seed)
    of_comments = None
    if inferred is not None:
        of_comments, told = inferred_ratings(inferred, material)
        material = replace(material, notices=(*material.notices, *told))
    paper = paper_figures(material, inferred=of_comments, level=level, seed=seed)
    parts: dict[str, Any] = {
        "people with people": people,
        "panel with people": panel,
        "panel against one person": one_person,
        "judges, personas, models, axes": judges.rows,
        "how many judges": size,
        "corrections": corrected,
        "alt-test": tests,
        "the paper's figures": paper,
    }
    return Calibration(
        main_target=target.name if target is not None else None,
        level=level,
        seed=seed,
        matched=what_was_matched(material, reading, target),
        people=people,
        panel=panel,
        one_person=one_person,
        judges=judges,
        how_many=size,
        corrections=corrected,
        alt_tests=tests,
        alt_tests_reason=no_tests,
        paper=paper,
        unsaid=what_cannot_be_said(material, parts),
        material=material,
        target=target,
        levels=levels,
        stand_ins=stand_ins_of(material),
        panel_identity=identity,
        texts_sha256=texts.sha256,
    )


def agreement(
    human: HumanReading | HumanTable | str | Path,
    *,
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> AgreementReport:
    """Returns how far people agree with each other.

    Args:
        human: people's ratings: a reading, a table, or a file in any layout.
        scale: lowest and highest score, where the reading does not say.
        level: nominal coverage of intervals.
        seed: of permutations.

    Raises:
        InputError: unreadable input, with all faults.
        ValueError: level out of range.
    """
    _check(level)
    material, reading = material_of_people(human, scale=scale)
    people = people_with_people(material, level=level, seed=seed)
    paper = paper_figures(material, level=level, seed=seed)
    return AgreementReport(
        level=level,
        seed=seed,
        matched=what_was_matched(material, reading, None),
        people=people,
        paper=paper,
        unsaid=what_cannot_be_said(
            material, {"people with people": people, "the paper's figures": paper}
        ),
        material=material,
    )


def _check(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level}")
