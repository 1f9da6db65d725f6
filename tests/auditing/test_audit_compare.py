"""Two runs of one audit: what has changed from before to after, on the prompts that both asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from areopagus import InputError
from areopagus.auditing import AuditRun, audit
from areopagus.auditing.compare import compare_audits
from areopagus.audits import find_audit
from areopagus.audits.silverspoon_professions import SilverSpoonProfessionsOptions
from areopagus.cli.report import report
from areopagus.records.estimates import estimate_of, select
from areopagus.reports.document import Document, Table

CASES = "\n".join(f"  - {{id: c{k}, text: 'Question {k} for {{who}}.'}}" for k in range(12))
TEXT = f"""name: doors
title: Doors
about: for whom a model opens
factors:
  who: {{a: Ann, b: Bo}}
material:
{CASES}
ask: "{{text}} Open?"
read: {{options: [open, shut], orders: given}}
outcomes:
  opens: {{title: share opened, of: answer, values: [open], compare: true}}
contrasts:
  gap: {{title: gap, of: opens, factor: [who], reference: {{who: [a]}}, reference_name: Ann}}
"""


def run_of(tmp_path: Path, out: str, shuts: Any, *, cases: int = 12, name: str = "m") -> Path:
    folder = tmp_path / "doors"
    folder.mkdir(exist_ok=True)
    (folder / "audit.yaml").write_text(TEXT, encoding="utf-8")
    rows = [
        {
            "item_id": f"c{k}|{who}|given", "respondent_id": name,
            "response_text": "shut" if shuts(k, who) else "open",
        }
        for k in range(cases) for who in "ab"
    ]  # fmt: skip
    return Path(audit(folder, responses=rows, out=tmp_path / out, limit=2 * cases).path)


def test_a_change_is_found_with_its_interval_and_direction(tmp_path: Path) -> None:
    before = run_of(tmp_path, "before", lambda k, who: who == "b")
    after = run_of(tmp_path, "after", lambda k, who: k == 3 and who == "b", cases=10)
    document, found = compare_audits(before, after)
    rows = select(found, "models", respondent="after", baseline="before")
    (row,) = rows[rows["measure"] == "difference"].to_dict("records")
    # On the ten cases that both have: 19 of 20 opened after, 10 of 20 before.
    rise = estimate_of(row)
    assert rise.value == pytest.approx(9 / 20)
    assert (rise.n, rise.verdict) == (10, "differs")
    rows = select(found, "gap_models", group="b")
    (row,) = rows[rows["measure"] == "difference"].to_dict("records")
    assert row["value"] == pytest.approx(9 / 10)
    assert document.headline[0] == "Gap of Bo rose by 0.90 [0.67, 1.13]."
    assert any("4 prompts of one run alone are left out" in text for text in document.notices)


def test_where_nothing_changed_that_is_said_and_another_audit_is_refused(tmp_path: Path) -> None:
    before = after = run_of(tmp_path, "one", lambda k, who: k % 3 == 0)
    document, _ = compare_audits(before, after)
    assert list(document.headline) == ["Not shown to have changed: share opened, gap of Bo."]
    run = AuditRun(before)
    record = {**run.record, "audit": {**run.record["audit"], "name": "windows"}}
    other = tmp_path / "other"
    shutil.copytree(before, other)
    (other / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match="is the audit 'windows'"):
        compare_audits(other, before)
    result = CliRunner().invoke(
        report, [str(before), str(after), "--out", str(tmp_path / "c.html")], standalone_mode=False
    )
    assert result.exception is None, result.exception
    assert "Not shown to have changed" in result.output
    assert "before and after" in (tmp_path / "c.html").read_text(encoding="utf-8")


def columns_of(document: Document) -> set[str]:
    tables = [part for one in document.sections for part in one.parts if isinstance(part, Table)]
    return {column.title for table in tables for column in table.columns}


def test_what_the_audits_class_estimates_is_compared_on_the_same_names(tmp_path: Path) -> None:
    options = {"names_per_group": 2}
    drawn = list(find_audit("silverspoon-professions").items(
        SilverSpoonProfessionsOptions.model_validate(options)
    ))  # fmt: skip

    def answered(out: str, is_surgeon: Any) -> Path:
        rows = [
            {"item_id": item.item_id, "respondent_id": out,
             "response_text": "Surgeon" if is_surgeon(item.fields) else "Cashier"}
            for item in drawn
        ]  # fmt: skip
        run = audit("silverspoon-professions", responses=rows, options=options, out=tmp_path / out)
        return Path(run.path)

    city = {name: k for k, name in enumerate(dict.fromkeys(i.fields["city"] for i in drawn))}
    rank = {name: k // 8 for k, name in enumerate(dict.fromkeys(i.unit for i in drawn))}

    def is_one_more(of: Any) -> bool:
        name = next(unit for unit in rank if unit.endswith(f"|{of['name']}"))
        return bool(city[of["city"]] < 3 + rank[name] + (of["gender"] == "male"))

    # Surgeons in two cities; then of the first name of a group in three, of the second in four,
    # and of men in one more.
    before = answered("one", lambda of: city[of["city"]] < 2)
    after = answered("two", is_one_more)
    document, found = compare_audits(before, after)
    (row,) = select(
        found, "pairs", respondent="after", baseline="before", factor="male - female"
    ).to_dict("records")
    gap = estimate_of(row)
    assert gap.value == pytest.approx(1 / 20)
    (row,) = select(found, "pairs", factor="all").to_dict("records")
    assert estimate_of(row).value == pytest.approx(2 / 20)
    assert estimate_of(row).p_adjusted < 0.001
    assert any(text.startswith("Share of high income, all rose by 0.100 [0.0")
               for text in document.headline)  # fmt: skip
    assert set(select(found, "groups")["respondent"]) == {"before", "after"}
    assert {"high income, before", "high income, after"} <= columns_of(document)
    assert {"p, Holm"} <= columns_of(document)


def test_figures_of_an_audits_own_code_stand_side_by_side(tmp_path: Path) -> None:
    toy = Path(__file__).parent / "toy_audit"
    paths = [
        audit(
            toy, options={"coins": 2}, out=tmp_path / out,
            responses=[
                {"item_id": f"{k}|{first}", "response_text": letter, "respondent_id": "m"}
                for k in range(2) for first in ("heads", "tails")
            ],
        ).path
        for out, letter in (("one", "A"), ("two", "B"))
    ]  # fmt: skip
    document, _ = compare_audits(*paths)
    assert any("own code are those of each run" in text for text in document.notices)
    assert list(document.headline) == []
    assert {"share of heads"} <= columns_of(document)
