"""Pages in which everything that somebody else can name holds an attack, one of each kind."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from report_runs import HOSTILE, make_hostile_run

from areopagus.aggregation.degradation import degradation
from areopagus.any_report import write_any_report
from areopagus.attacking.figures import (
    AttackFigures,
    BenignCell,
    Cell,
    DetectorFigures,
    FamilyFigures,
)
from areopagus.attacking.outcomes import FamilyTest
from areopagus.attacking.page import AttackPage, write_attack_page
from areopagus.attacking.pictures import draw_attack
from areopagus.attacking.plan import AttackPlan
from areopagus.attacking.rescore import Rescored, RescoreFigures, RescorePage, write_rescore_page
from areopagus.auditing.page import AuditPage, write_audit_page
from areopagus.audits.definition import Audit, AuditItem, AuditOptions, Reading
from areopagus.calibration import Calibration, Estimate, calibrate, write_figures
from areopagus.calibration.folder import write_numbers
from areopagus.reports import Column, Section, Table, write_comparison
from areopagus.stressing.measure import StressFigures
from areopagus.stressing.page import StressPage, write_stress_page
from areopagus.stressing.plan import StressPlan
from areopagus.stressing.table import ConditionCounts

NUMBER = Estimate(
    0.25, n=9, unit=HOSTILE[0], method=HOSTILE[1], low=0.1, high=0.4, reason=HOSTILE[4]
)
NONE = Estimate(math.nan, n=0, unit="prompt", method=HOSTILE[2], reason=HOSTILE[3])


RECORD: dict[str, Any] = {
    "state": HOSTILE[0],
    "identity": {
        "targets": {text: {"model": text, "api_base": text} for text in HOSTILE},
        "options": dict.fromkeys(HOSTILE, HOSTILE[3]),
    },
    "versions": dict.fromkeys(HOSTILE, HOSTILE[1]),
    "effective_parameters": {HOSTILE[0]: dict.fromkeys(HOSTILE, HOSTILE[2])},
    "sessions": [{"started": HOSTILE[0], "state": HOSTILE[5]}],
}


def comparison_page(folder: Path) -> Path:
    runs = [make_hostile_run(folder / name) for name in ("<img src=x onerror=alert(9)>", "b\u202e")]
    return write_comparison(runs, folder / "page.html")


def stress_page_content(folder: Path) -> StressPage:
    rng = np.random.default_rng(3)
    targets, dimensions = HOSTILE[:2], (HOSTILE[2], HOSTILE[4])
    conditions = ("baseline", HOSTILE[3], HOSTILE[5])
    found = degradation(
        rng.normal(6, 1, (2, 3, 8, 2)).clip(1, 10),
        targets=targets,
        conditions=conditions,
        dimensions=dimensions,
        flips=99,
    )
    counts = {
        (target, condition): ConditionCounts(planned=8, scored=8, judgments={"scored": 8})
        for target in targets
        for condition in conditions
    }
    rewriting = {
        "accepted": 1,
        "planned": 2,
        "failed": 1,
        "not_asked": 0,
        **{name: dict.fromkeys(HOSTILE, 1) for name in ("rewriters", "reviewed", "reasons")},
    }
    figures = StressFigures(found, None, None, 0, 0, counts, HOSTILE)
    return StressPage(
        figures, StressPlan(), HOSTILE[0], True, rewriting, folder / "figures", RECORD
    )


def stress_page(folder: Path) -> Path:
    return write_stress_page(folder / "page.html", stress_page_content(folder))


class HostileAudit(Audit[AuditOptions]):
    """An audit whose title, rows and figures are attacks."""

    name = "hostile"
    title = HOSTILE[0]
    about = HOSTILE[1]

    def items(self, options: AuditOptions) -> Iterator[AuditItem]:
        yield from ()

    def read(self, item: AuditItem, answer: Any, options: AuditOptions) -> Reading:
        return Reading("classified")

    def estimate(self, table: Any, options: AuditOptions) -> Any:
        return None

    def lines(self, figures: Any, options: AuditOptions) -> list[str]:
        return []

    def sections(self, figures: Any, options: AuditOptions) -> Sequence[Section]:
        table = Table(HOSTILE[2], HOSTILE[3], [Column(HOSTILE[4])], [[text] for text in HOSTILE])
        return [Section("own", HOSTILE[5], [table])]


@dataclass(frozen=True)
class HostileFigures:
    """Numbers under hostile names."""

    targets: dict[str, Estimate]
    missing: Estimate = NONE


def audit_page(folder: Path) -> Path:
    figures = HostileFigures(dict.fromkeys(HOSTILE, NUMBER))
    page = AuditPage(
        audit=HostileAudit(),
        options=AuditOptions(),
        figures=figures,
        counts={text: {"classified": 3, "refused": 1} for text in HOSTILE},
        pictures=[(f"missing{k}", f"{text}. {text}") for k, text in enumerate(HOSTILE)],
        pictures_folder=folder,
        notices=HOSTILE,
        stand_ins=HOSTILE[:2],
        record=RECORD,
    )
    return write_audit_page(folder / "page.html", page)


def attack_page_content(folder: Path) -> AttackPage:
    def cell(**named: str) -> Cell:
        place = dict.fromkeys(("family", "placement", "persona", "model")) | named
        return Cell(**place, shift=NUMBER, beyond_control=NONE, success=NUMBER,
                    verdicts_moved=NUMBER, worst=1.0, n_scored=3, n_planned=4)  # fmt: skip

    figures = AttackFigures(
        scale=(1, 10),
        n_bases=2,
        n_prompts=2,
        n_scored=9,
        n_planned=12,
        clean=NUMBER,
        families=tuple(
            FamilyFigures(
                id=text, label=text, asks=text, all=cell(family=text), n_responses=2,
                n_screened=0, statuses={text: 1}, flagged=NUMBER, flags=(text,),
                test=FamilyTest("attacked − control", None, text, None, None, "not tested"),
                neutralised_shift=NONE,
            )
            for text in HOSTILE
        ),
        cells=tuple(
            cell(**{**named, name: text})
            for text in HOSTILE
            for named in ({}, {"family": HOSTILE[0]})
            for name in ("placement", "persona", "model")
        ),
        benign=tuple(BenignCell(None, text, None, NUMBER, 3, 4) for text in HOSTILE),
        detectors=tuple(
            DetectorFigures(text, text, NUMBER, NUMBER, NONE, {text: 0.5}) for text in HOSTILE
        ),
    )  # fmt: skip
    place = folder / "figures"
    return AttackPage(figures, AttackPlan(), HOSTILE[0], HOSTILE[1], HOSTILE, True, place, RECORD)


def attack_page(folder: Path) -> Path:
    page = attack_page_content(folder)
    draw_attack(page.figures_folder, page.figures)
    return write_attack_page(folder / "page.html", page)


def rescore_page_content() -> RescorePage:
    rows = tuple(
        Rescored(text, text, text, (text,), (text, "</script>"), 5.0, 4.0, 1.0, False, 3, 3, text)
        for text in HOSTILE
    )
    figures = RescoreFigures(2.0, 9, len(rows), 0, dict.fromkeys(HOSTILE, 1), NUMBER, NONE, rows)
    return RescorePage(figures, HOSTILE[0], HOSTILE[1], HOSTILE, True, RECORD)


def rescore_page(folder: Path) -> Path:
    return write_rescore_page(folder / "page.html", rescore_page_content())


def hostile_calibration(folder: Path) -> Calibration:
    """Four raters and three judges, all with hostile names, on hostile prompts and responses."""
    rng = np.random.default_rng(5)
    names = [name.replace("\n", " ").replace("\x07", "") for name in HOSTILE]
    with (
        (folder / "people.csv").open("w", newline="", encoding="utf-8") as people,
        (folder / "judges.csv").open("w", newline="", encoding="utf-8") as judges,
    ):
        given, judged = csv.writer(people), csv.writer(judges)
        given.writerow(["rater_id", "prompt_id", "response_id", "overall", names[0]])
        judged.writerow(
            ["prompt_id", "response_id", "judge", "persona", "model", "overall", names[0]]
        )
        for prompt in names:
            for k, response in enumerate(names[:4]):
                level = 3 + k
                for rater in (*names[:3], names[4]):
                    score = [int(level + rng.integers(0, 4)) for _ in range(2)]
                    given.writerow([rater, prompt, f"{prompt} {response}", *score])
                for judge in (names[1], *names[3:5]):
                    score = [int(level + rng.integers(0, 4)) for _ in range(2)]
                    judged.writerow([prompt, f"{prompt} {response}", judge, judge, judge, *score])
    return calibrate(folder / "judges.csv", folder / "people.csv")


def calibration_page(folder: Path) -> Path:
    found = hostile_calibration(folder)
    out = folder / "out"
    out.mkdir()
    write_numbers(found, out)
    write_figures(found, out, formats=("svg",))
    return write_any_report(out)


PAGES = {
    "comparison": comparison_page,
    "stress": stress_page,
    "audit": audit_page,
    "attack": attack_page,
    "rescore": rescore_page,
    "calibration": calibration_page,
}
