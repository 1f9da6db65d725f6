"""Two runs of one audit: what has changed from before to after, on the prompts that both asked."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from areopagus import InputError, gate
from areopagus.aggregation.estimate import Estimate
from areopagus.auditing import AuditRun, audit
from areopagus.audits import find_audit
from areopagus.audits.silverspoon_professions import SilverSpoonProfessionsOptions
from areopagus.changes import Changes, compare
from areopagus.cli.main import cli
from areopagus.records.estimates import estimate_at

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


def run_of(tmp_path: Path, out: str, shuts: Any, *, cases: int = 12, refuses: Any = None) -> Path:
    folder = tmp_path / "doors"
    folder.mkdir(exist_ok=True)
    (folder / "audit.yaml").write_text(TEXT, encoding="utf-8")
    rows = [
        {
            "item_id": f"c{k}|{who}|given", "respondent_id": "m",
            "response_text": "I cannot answer that." if refuses and refuses(k, who)
            else "shut" if shuts(k, who) else "open",
        }
        for k in range(cases) for who in "ab"
    ]  # fmt: skip
    return Path(audit(folder, responses=rows, out=tmp_path / out, limit=2 * cases).path)


def changed(before: Path, after: Path, **more: Any) -> Changes:
    found = compare(before, after, **more)
    assert isinstance(found, Changes)
    return found


def figure(found: Changes, table: str, measure: str, **keys: str) -> Estimate:
    one = estimate_at(found.estimates, table, measure, **keys)
    assert one is not None
    return one


def test_a_change_is_found_with_its_interval_and_direction(tmp_path: Path) -> None:
    before = run_of(tmp_path, "before", lambda k, who: who == "b")
    after = run_of(tmp_path, "after", lambda k, who: k == 3 and who == "b", cases=10)
    found = changed(before, after)
    # On the ten cases that both have: 19 of 20 opened after, 10 of 20 before.
    rise = figure(found, "outcomes", "opens, change")
    assert rise.value == pytest.approx(9 / 20)
    assert (rise.n, rise.n_planned, rise.verdict) == (10, 12, "changed")
    assert figure(found, "outcomes", "opens, before").value == 0.5
    gap = figure(found, "gap", "difference, change", group="b")
    # Nine cases changed by 1, one by 0: mean .9, sd sqrt(.1), t(9) .975 = 2.262157.
    assert gap.value == pytest.approx(0.9)
    reach = 2.262157 * math.sqrt(0.1 / 10)
    assert (gap.low, gap.high) == (pytest.approx(0.9 - reach), pytest.approx(0.9 + reach))
    document = found.document()
    assert "Gap, nearer to Ann after: Bo by 0.90 [0.67, 1.13], from −1.00 to −0.10." in (
        document.headline
    )
    assert "4 are in one run alone" in dict(document.trust)["coverage"]


def test_where_nothing_changed_that_is_said_and_within_a_margin_it_is_alike(tmp_path: Path) -> None:
    before = after = run_of(tmp_path, "one", lambda k, who: k % 3 == 0)
    assert list(changed(before, after).document().headline) == [
        "No figure is shown to have changed: share opened and gap (Bo)."
    ]
    alike = changed(before, after, margin=0.2).document()
    assert alike.headline[0].startswith("Shown to be alike, to within ±0.2: share opened")


def test_other_audits_kinds_and_options_are_refused_with_what_differs(tmp_path: Path) -> None:
    before = run_of(tmp_path, "one", lambda k, who: k % 3 == 0)
    run = AuditRun(before)
    record = {**run.record, "audit": {**run.record["audit"], "name": "windows"}}
    other = tmp_path / "other"
    shutil.copytree(before, other)
    (other / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match="is the audit 'windows'"):
        compare(before, other)
    with pytest.raises(InputError, match="give two runs"):
        compare(before)
    with pytest.raises(InputError, match="is for panel runs"):
        compare(before, before, by="model")
    with pytest.raises(InputError, match="must be above 0"):
        compare(before, before, margin=0.0)


def test_report_of_two_audits_writes_the_page_of_compare(tmp_path: Path) -> None:
    before = run_of(tmp_path, "one", lambda k, who: k % 3 == 0)
    out = tmp_path / "c.html"
    result = CliRunner().invoke(
        cli, ["report", str(before), str(before), "--no-figures", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert "No figure is shown to have changed" in result.output
    assert "before and after" in out.read_text(encoding="utf-8")
    kept = tmp_path / "kept"
    result = CliRunner().invoke(cli, ["compare", str(before), str(before), "--out", str(kept)])
    assert result.exit_code == 0, result.output
    assert "No figure is shown to have changed" in (kept / "report.txt").read_text("utf-8")


def test_an_item_that_was_refused_once_counts_on_neither_side(tmp_path: Path) -> None:
    """The model refuses after what it shut before: its share of open doors must not rise by it."""
    before = run_of(tmp_path, "before", lambda k, who: k < 4)
    after = run_of(tmp_path, "after", lambda k, who: False, refuses=lambda k, who: k < 4)
    found = changed(before, after)
    assert figure(found, "outcomes", "opens, change").value == 0.0
    assert figure(found, "outcomes", "opens, change").n == 8
    refused = figure(found, "replies", "refused, change")
    assert (refused.value, refused.n) == (pytest.approx(4 / 12), 12)
    assert "8 were refused or not read" in dict(found.document().trust)["coverage"]


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
    found = changed(before, after)
    gap = figure(found, "differences", "difference, change", factor="male - female")
    assert gap.value == pytest.approx(1 / 20)
    assert gap.n == 16
    whole = figure(found, "outcomes", "high, change")
    assert whole.value == pytest.approx(2 / 20)
    assert whole.p_adjusted < 0.005
    # Every group's share has its change too, and stands in the details.
    cell = figure(found, "groups", "high, change", factor="gender", group="male")
    assert cell.value == pytest.approx(2.5 / 20)
    assert any("High income rose by 0.100 [0." in text for text in found.document().headline)


def test_figures_of_an_audits_own_code_have_no_test_and_the_reason(tmp_path: Path) -> None:
    toy = Path(__file__).parent / "toy_audit"
    paths = [
        Path(audit(
            toy, options={"coins": 2}, out=tmp_path / out,
            responses=[
                {"item_id": f"{k}|{first}", "response_text": letter, "respondent_id": "m"}
                for k in range(2) for first in ("heads", "tails")
            ],
        ).path)
        for out, letter in (("one", "A"), ("two", "B"))
    ]  # fmt: skip
    found = changed(*paths)
    document = found.document()
    assert any("own code" in reason for _, reason in found.record["untested"])
    assert document.headline


def test_a_gate_on_audits_looks_at_what_is_further_from_the_reference(tmp_path: Path) -> None:
    fair = run_of(tmp_path, "fair", lambda k, who: k == 3)
    biased = run_of(tmp_path, "biased", lambda k, who: who == "b")
    assert gate(biased, fair, margin=0.2).exit_code == 5
    assert gate(fair, biased, margin=0.2).exit_code == 0
    with pytest.raises(InputError, match="needs a margin"):
        gate(fair, biased)
