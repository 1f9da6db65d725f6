"""Pages in which everything that somebody else can name holds an attack, one of each kind."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from report_runs import HOSTILE, make_hostile_run, make_run, panel_votes, verdict, write_texts

from areopagus.aggregation.estimate import Estimate
from areopagus.any_report import run_of, write_any_report
from areopagus.attacks.rescoring import Rescored, write_passages
from areopagus.attacks.rescoring import estimate as rescore_estimates
from areopagus.audits.definition import (
    Agreement,
    Definition,
    MeasureColumn,
    Outcome,
    Shares,
    TableView,
)
from areopagus.audits.document import document as audit_document
from areopagus.calibration import Calibration, calibrate
from areopagus.records.estimates import Estimates, write_estimates
from areopagus.records.run_folder import RUN_FORMAT
from areopagus.reports.html import write_html
from areopagus.run import compare
from areopagus.stress_test.config import StressConfig
from areopagus.stress_test.counts import ConditionCounts
from areopagus.stress_test.estimates import estimate as stress_estimates
from areopagus.stress_test.scores import StressScores

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
    return compare(*runs).write_report(folder / "page.html")


def audit_page(folder: Path) -> Path:
    definition = Definition(
        name="hostile", title=HOSTILE[0], about=HOSTILE[1], source=HOSTILE[2], warning=HOSTILE[3],
        item_columns={"theme": "text"}, value_columns={"said": "text"}, by=[["theme"]],
        named={"theme": HOSTILE[4]}, takes_judges=True,
        outcomes={"rate": Outcome(title=HOSTILE[5], of="said", note=HOSTILE[0], parts=True,
                                  compare=True)},
        shares={"kinds": Shares(title=HOSTILE[1], of="said", levels={"a": HOSTILE[2]})},
        agreement={"said": Agreement(title=HOSTILE[3], of="said", levels=["a", "b"])},
        tables=[TableView(table="own", section=HOSTILE[5], caption=HOSTILE[2],
                          keys={"group": HOSTILE[3]}, measures=[MeasureColumn(name="own")])],
    )  # fmt: skip
    found = Estimates()
    for text in HOSTILE:
        found.add("counts", "planned", 4, respondent=text)
        found.add("outcomes", "rate", NUMBER, respondent=text)
        found.add("shares", "share", NUMBER, respondent=text, factor="kinds", group="a")
        found.add("parts", "rate", NONE, respondent=text, factor="theme", group=text)
        found.add("models", "difference", NUMBER, respondent=text, baseline=text, factor="rate")
        found.add("own", "own", NUMBER, group=text)
    found.add("judges", "same", NUMBER, factor="said")
    result = {"notices": HOSTILE, "labels": {"theme": dict.fromkeys(HOSTILE, HOSTILE[0])}}
    record = {**RECORD, "targets": HOSTILE, "judges": HOSTILE, "result": result}
    shown = audit_document(definition, record, found.frame())
    return write_html(folder / "page.html", replace(shown, is_demonstration=True))


def job_page(folder: Path, kind: str, estimates: Estimates, **record: Any) -> Path:
    """The page of a folder of results whose run.json and estimates hold what is given."""
    plain = {
        "format": RUN_FORMAT, "kind": kind, "demonstration": True, "notices": list(HOSTILE),
        **RECORD, **record,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(plain), encoding="utf-8")
    write_estimates(folder, estimates)
    run = run_of(folder)
    assert run is not None
    return run.write_report(folder / "page.html")


PANEL: dict[str, Any] = {
    "personas": [{"id": text} for text in HOSTILE],
    "models": [{"name": text, "effective": {}} for text in HOSTILE],
    "rubric": {"id": HOSTILE[0], "label": HOSTILE[1]},
}


def stress_page(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    targets, criteria = HOSTILE[:2], (HOSTILE[2], HOSTILE[4])
    conditions = ("baseline", HOSTILE[3], HOSTILE[5])
    scores = rng.normal(6, 1, (2, 3, 8, 2)).clip(1, 10)
    counts = {
        (target, condition): ConditionCounts(planned=8, scored=8, judgments={"scored": 8})
        for target in targets
        for condition in conditions
    }
    judged = np.repeat(scores[:, :, :, None, None], len(HOSTILE), axis=4)
    judged[:, 1, :, :, 0] = np.nan  # one model is missing on one side
    found = StressScores(
        targets, conditions, tuple("abcdefgh"), criteria,
        tuple((name, name, 0) for name in HOSTILE), judged, tuple("abcdefgh"),
        np.zeros((2, 3, 8)), np.empty((0, 2, 2)), rng.normal(6, 1, (9, 2, 2)).clip(1, 10), counts,
        (1, 10), NUMBER,
    )  # fmt: skip
    config = StressConfig(asymmetry_dimension=criteria[0], agree=HOSTILE[3], disagree=HOSTILE[5])
    rewriting: dict[str, Any] = dict.fromkeys(
        ("accepted", "planned", "failed", "not_asked", "repaired"), 1
    )
    rewriting |= {name: dict.fromkeys(HOSTILE, 1) for name in ("rewriters", "reviewed", "reasons")}
    estimates, said = stress_estimates(found, config, rewriting)
    said["cost_cap"] = HOSTILE[0]
    panel = {"criteria": list(criteria), "scale": [1, 10]}
    return job_page(
        folder, "stress", estimates, panel=PANEL, targets=list(targets), result=said,
        conditions=list(conditions),
        identity={**RECORD["identity"], "plan": config.plan, "panel": panel},
    )  # fmt: skip


def attack_page(folder: Path) -> Path:
    found = Estimates()
    for name in ("responses", "prompts", "scale_low", "scale_high"):
        found.add("counts", name, 1)
    found.add("counts", "judgments", NUMBER)
    for name in ("shift", "beyond", "moved", "flagged"):
        found.add("overall", name, NUMBER)
    for text in HOSTILE:
        tested = replace(NUMBER, p_method=text, verdict="lower", reason=text)
        for name in ("shift", "beyond", "moved", "flagged", "neutralised_shift", "one_sided"):
            found.add("families", name, tested, group=text, detail="lowest")
        found.add("statuses", "judgments", 1, group=text, detail=text)
        found.add("detected", "flagged", NUMBER, group=text, detail=text)
        for group in ("", text):
            found.add("models", "beyond", NUMBER, group=group, model=text)
        for name in ("alarms_clean", "alarms_control", "alarms_telling"):
            found.add("detectors", name, NUMBER, group=text)
    found.add("detectors", "flagged_clean", NUMBER, group="any")
    plan = {"threshold": 2.0, "level": 0.95}
    return job_page(
        folder, "attack", found, panel=PANEL, families={text: text for text in HOSTILE},
        identity={**RECORD["identity"], "plan": plan},
    )  # fmt: skip


def rescore_page(folder: Path) -> Path:
    rows = [
        Rescored(text, text, text, (text,), (text, "</script>"), 5.0, 2.0, 3, 3, text)
        for text in HOSTILE
    ]
    write_passages(folder, rows, 2.0)
    found = rescore_estimates(
        rows, threshold=2.0, n_responses=9, n_flagged=len(rows), n_screened=0,
        flags=Counter(HOSTILE),
    )  # fmt: skip
    identity = {**RECORD["identity"], "threshold": 2.0}
    return job_page(folder, "rescore", found, panel=PANEL, identity=identity)


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
    out = hostile_calibration(folder).write(folder / "out").path
    return write_any_report(out)


MARKDOWN = {
    "script": "<script>document.title = 'taken'</script>\n\n<img src=x onerror=alert(1)>",
    "links": "[here](javascript:document.title='taken') <https://example.invalid/a> "
    '[there](https://example.invalid/b "said") [data](data:text/html,<script>alert(1)</script>)',
    "pictures": "![seen](https://example.invalid/c.png) ![x](data:image/svg+xml;base64,PHN2Zz4=) "
    "[![both](https://example.invalid/d.png)](https://example.invalid/e)",
    "html": "<iframe src='https://example.invalid'></iframe><a href='javascript:alert(1)'>a</a>\n\n"
    "<style>* { display: none }</style><form action=x><input autofocus onfocus=alert(1)></form>",
    "fence": "```<script>alert(1)</script>\n</code></pre><script>alert(2)</script>",
    "table": "| a | <b onmouseover=alert(1)> |\n|---|---|\n| `|` \\| | [x](javascript:alert(1)) |",
    "hidden": "**a\u202eb** `c\u200bd` \u2066[e\u2069](f\u202a)\n\n> g\u0007h\n\n- i\u200bj",
    "deep": "> " * 5000 + "x\n" + "- " * 5000 + "y\n" + "[" * 20000 + "*" * 20001 + "_a" * 5000,
    "line": "*a* **b " * 150_000,
    "marks": "`" * 3 + "\n" + "``` `` ` " * 100_000 + "\u0300" * 1000,
    "lines": "- a\n  - b\n\n" * 30_000,
    "lone": "half a pair \ud83d **and** the other \ude00",
}
"""Answers that a reader of Markdown could take for markup, or could choke on."""


def panel_page(folder: Path) -> Path:
    """A run whose prompts are attacks, and whose answers are attacks by way of Markdown."""
    verdicts, texts = [], {}
    for k, (name, text) in enumerate(MARKDOWN.items()):
        for who in (HOSTILE[0], HOSTILE[4], "plain"):
            votes = panel_votes(f"{name} {who}", name, who, 4 + k % 3 + (who == "plain"))
            votes = [replace(vote, rationale=f"{HOSTILE[0]} {text[:300]}") for vote in votes]
            verdicts.append(verdict(votes))
            answer = "A **plain** answer." if who == "plain" else text
            texts[f"{name} {who}"] = (f"{HOSTILE[0]} {text[:300]}", answer)
    run = make_run(folder / "run", verdicts)
    write_texts(
        run,
        {
            one: tuple(text.encode("utf-8", "replace").decode() for text in both)
            for one, both in texts.items()
        },
    )
    return write_any_report(run)


PAGES = {
    "panel": panel_page,
    "comparison": comparison_page,
    "stress": stress_page,
    "audit": audit_page,
    "attack": attack_page,
    "rescore": rescore_page,
    "calibration": calibration_page,
}
