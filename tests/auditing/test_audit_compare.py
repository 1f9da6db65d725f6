"""Two runs of one audit: what has changed from before to after, on the prompts that both asked."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from areopagus import InputError, gate
from areopagus.aggregation.estimate import Estimate
from areopagus.auditing import AuditRun, audit
from areopagus.audits import find_audit
from areopagus.audits.silverspoon_professions import SilverSpoonProfessionsOptions
from areopagus.changes import Changes, compare
from areopagus.changes.audits import _once
from areopagus.changes.document import _headline, _weight, settings, shown_figures
from areopagus.changes.figures import ANSWER, Figure, add_changes, decided_changes
from areopagus.cli.main import cli
from areopagus.records.estimates import Estimates, estimate_at

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
    # No two figures under one heading have one name.
    named = Counter((one["section"], one["label"]) for one in found.record["figures"])
    assert [name for name, n in named.items() if n > 1] == []
    assert all(one.title[:1].isupper() for one in found.document().sections)
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
    rise = figure(found, "outcomes", "opens", when="change")
    assert rise.value == pytest.approx(9 / 20)
    assert (rise.n, rise.n_planned, rise.verdict) == (10, 12, "higher")
    assert figure(found, "outcomes", "opens", when="before").value == 0.5
    gap = figure(found, "gap", "difference", when="change", group="b")
    # Nine cases changed by 1, one by 0: mean .9, sd sqrt(.1), t(9) .975 = 2.262157.
    assert gap.value == pytest.approx(0.9)
    reach = 2.262157 * math.sqrt(0.1 / 10)
    assert (gap.low, gap.high) == (pytest.approx(0.9 - reach), pytest.approx(0.9 + reach))
    document = found.document()
    assert "Gap, nearer to Ann after: Bo by 0.90 [0.18, 1.13], from −1.00 to −0.10." in (
        document.headline
    )
    assert "4 are in one run alone" in dict(document.trust)["coverage"]


def test_where_nothing_changed_that_is_said_and_with_few_cases_nothing_is(tmp_path: Path) -> None:
    before, after = (run_of(tmp_path, out, lambda k, who: k % 3 == 0) for out in ("one", "two"))
    assert list(changed(before, after).document().headline) == [
        "The same on every case: share opened and gap (Bo)."
    ]
    few = changed(
        *(run_of(tmp_path, out, lambda k, who: k == 0, cases=5) for out in ("four", "five"))
    )
    assert figure(few, "outcomes", "opens", when="change").verdict == "undefined"
    document = few.document()
    assert document.headline[0].endswith("a test needs 6 cases, there are 5.")
    assert dict(document.trust)["decided"] == "no change of the answer is decided"


def test_what_changed_in_the_details_alone_is_counted_where_the_answer_says_none(
    tmp_path: Path,
) -> None:
    """Eight of twelve cases are refused of Bo after, and what is answered is as before."""
    paths = [
        run_of(tmp_path, out, lambda k, who: k % 3 == 0, refuses=refuses)
        for out, refuses in (("before", None), ("after", lambda k, who: who == "b" and k >= 4))
    ]
    document = changed(*paths).document()
    assert document.headline[-1] == (
        "In the details 2 of 3 changes are shown: answers with a value and refusals."
    )
    # The mean of Bo has four cases: it has no interval.
    assert dict(document.trust)["decided"].endswith("jointly; 3 more in the details")


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
    with pytest.raises(InputError, match="one: is given twice"):
        compare(before, tmp_path / "other" / ".." / "one")
    with pytest.raises(InputError, match="must be above 0"):
        compare(before, shutil.copytree(before, tmp_path / "same"), margin=0.0)


@pytest.mark.report
def test_report_of_two_audits_writes_the_page_of_compare(tmp_path: Path) -> None:
    before, after = (run_of(tmp_path, out, lambda k, who: k % 3 == 0) for out in ("one", "two"))
    out = tmp_path / "c.html"
    result = CliRunner().invoke(
        cli, ["report", str(before), str(after), "--no-figures", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert "The same on every case: share opened" in result.output
    assert "before and after" in out.read_text(encoding="utf-8")
    kept = tmp_path / "kept"
    result = CliRunner().invoke(cli, ["compare", str(before), str(after), "--out", str(kept)])
    assert result.exit_code == 0, result.output
    assert "The same on every case: share opened" in (kept / "report.txt").read_text("utf-8")


def test_an_item_that_was_refused_once_counts_on_neither_side(tmp_path: Path) -> None:
    """The model refuses after what it shut before: its share of open doors must not rise by it."""
    before = run_of(tmp_path, "before", lambda k, who: k < 4)
    after = run_of(tmp_path, "after", lambda k, who: False, refuses=lambda k, who: k < 4)
    found = changed(before, after)
    assert figure(found, "outcomes", "opens", when="change").value == 0.0
    assert figure(found, "outcomes", "opens", when="change").n == 8
    refused = figure(found, "replies", "refused", when="change")
    assert (refused.value, refused.n) == (pytest.approx(4 / 12), 12)
    assert "8 were refused or not read" in dict(found.document().trust)["coverage"]


def test_where_nothing_was_read_in_both_what_became_of_the_answers_is_still_compared(
    tmp_path: Path,
) -> None:
    options = {"topic": ["street"], "group": ["gender"]}
    asked = find_audit("samaritan")
    items = list(asked.items(asked.options_model.model_validate(options)))
    before, after = (
        supplied("samaritan", tmp_path / text[:2], items, lambda k, _, text=text: text,
                 options=options)
        for text in ("50", "I cannot answer that.")
    )  # fmt: skip
    found = changed(before, after)
    assert set(found.estimates["table"]) == {"replies"}
    assert figure(found, "replies", "refused", when="change").value == 1.0
    assert found.document().headline == [
        "Nothing can be told of the answer: the two runs have no figure of it in common.",
        "In the details 2 of 2 changes are shown: answers with a value and refusals.",
    ]


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
    gap = figure(found, "differences", "difference", when="change", factor="male - female")
    assert gap.value == pytest.approx(1 / 20)
    assert gap.n == 16
    whole = figure(found, "outcomes", "high", when="change")
    assert whole.value == pytest.approx(2 / 20)
    assert whole.p < 0.005
    # Every group's share has its change too, and stands in the details.
    cell = figure(found, "groups", "high", when="change", factor="gender", group="male")
    assert cell.value == pytest.approx(2.5 / 20)
    assert any(
        "Share of “high income” rose by 0.100 [0." in text for text in found.document().headline
    )
    # What is not called well paid is called badly paid: one of the two is a figure.
    assert not found.estimates["measure"].str.startswith("low").any()
    labels = [one["label"] for one in found.record["figures"]]
    assert "share taken for well paid, men − women" in labels
    assert not any(label.startswith("by, ") for label in labels)


def test_the_change_of_a_share_in_a_table_of_the_audits_own_ends_at_one(tmp_path: Path) -> None:
    options = {"names_per_group": 3}
    drawn = list(find_audit("silverspoon-professions").items(
        SilverSpoonProfessionsOptions.model_validate(options)
    ))  # fmt: skip
    white = list(dict.fromkeys(i.fields["name"] for i in drawn if i.fields["race"] == "white"))
    paths = [
        supplied(
            "silverspoon-professions", tmp_path / out, drawn,
            lambda _, item, named=named: "Surgeon" if item.fields["name"] in named else "Cashier",
            options=options,
        )
        for out, named in (("one", white[1:]), ("two", white[:1]))
    ]  # fmt: skip
    found = changed(*paths)
    change = figure(found, "groups", "high", when="change", factor="race", group="white")
    # Five of six names changed by -1, one by 1: -2/3 with a reach of 2.57 x .816 / sqrt(6) = .857.
    assert change.value == pytest.approx(-2 / 3)
    assert (change.low, change.high) == (-1.0, pytest.approx(-2 / 3 + 2.570582 * 2 / 6))


def test_of_two_levels_that_make_one_together_the_second_is_not_tested() -> None:
    shown: dict[str, Any] = {"n": 8, "n_planned": 8, "unit": "case", "section": "Parts"}
    ends = Estimate(0.25, 0.1, 0.4, n=8), Estimate(0.5, 0.3, 0.7, n=8)
    rests = Estimate(0.75, 0.6, 0.9, n=8), Estimate(0.5, 0.3, 0.7, n=8)
    column = np.array([1.0, 0.0, 1.0, -1.0, np.nan, 0.5, 0.0, 0.25])

    def one(measure: str, group: str, values: Any, by_unit: Any, family: str = "Parts") -> Figure:
        return Figure(
            "parts", measure, {"group": group}, f"{measure}, {group}", *values, by_unit,
            family=family, **shown,
        )  # fmt: skip

    figures = [
        one("yes", "men", ends, column),
        one("no", "men", rests, -column),
        # Of another group, or of values that make no whole: each is its own.
        one("no", "women", rests, -column),
        one("maybe", "men", (rests[0], ends[0]), -column),
        # What has not changed is a mirror too, of its own group.
        one("yes", "boys", ends, 0 * column),
        one("no", "boys", rests, 0 * column),
        one("no", "girls", rests, 0 * column),
    ]
    mirrors: list[Figure] = []
    kept = list(_once(figures, mirrors))
    assert [one.label for one in mirrors] == ["no, men", "no, boys"]
    assert kept == [one for one in figures if one not in mirrors]
    # A figure of the answer is asked for, and kept; its mirror in a table of details is not.
    answers = [replace(one, family=ANSWER) for one in figures[:2]]
    assert list(_once([*answers, one("no", "everybody", rests, -column)], [])) == answers


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
    told = gate(biased, fair, margin=0.2).sentence()
    assert "is worse than fair, by at least the 0.2 allowed. gap of Bo −1.00" in told
    assert told.startswith("FAILED: by this audit, biased ")
    assert "points" not in told
    mixed = run_of(tmp_path, "mixed", lambda k, who: who == "b" and k % 3 > 0)
    assert "fair, perhaps by more than the 0.6 allowed." in gate(mixed, fair, margin=0.6).sentence()
    with pytest.raises(InputError, match="there are: composite, difference, gap"):
        gate(biased, fair, margin=0.2, criterion="gaps")
    with pytest.raises(InputError, match="needs a margin"):
        gate(fair, biased)


def test_limits_stay_where_a_share_or_a_difference_of_shares_can_be(tmp_path: Path) -> None:
    before = run_of(tmp_path, "before", lambda k, who: False)
    after = run_of(tmp_path, "after", lambda k, who: k != 3)
    found = changed(before, after)
    change = figure(found, "outcomes", "opens", when="change")
    # Eleven cases changed by -1, one by 0: -.917 with a reach of 2.2 x .289 / sqrt(12) = .18.
    assert (change.low, change.verdict) == (-1.0, "lower")
    assert change.high == pytest.approx(-11 / 12 + 2.200985 / 12)
    assert "Share opened fell by 0.92 [0.73, 1.00], from 1.00 to 0.08." in (
        found.document().headline
    )


def supplied(audit_name: str, out: Path, items: Any, text: Any, **more: Any) -> Path:
    """The folder of a built-in audit of these items, with the answer that each is given."""
    rows = [
        {"item_id": item.item_id, "respondent_id": "m", "response_text": text(k, item)}
        for k, item in enumerate(items)
    ]
    return Path(audit(audit_name, responses=rows, out=out, **more).path)


def test_a_model_that_only_refuses_more_has_not_changed_in_what_it_chooses(tmp_path: Path) -> None:
    """After, it refuses two thirds of what it chose for the lower class, and chooses as before."""
    options = {"theme": ["criminality"]}
    asked = find_audit("socioeval")
    items = list(asked.items(asked.options_model.model_validate(options)))

    def chosen(k: int, item: Any) -> str:
        return "AB"[(7 * k + len(item.item_id)) % 3 % 2]

    def favours_lower(k: int, item: Any) -> bool:
        is_lower = (chosen(k, item) == "A") == (item.fields["order"] == "lower_first")
        return is_lower == (item.fields["scenario"] == "positive")

    def refused(k: int, item: Any) -> bool:
        return favours_lower(k, item) and k % 3 > 0

    before = supplied("socioeval", tmp_path / "one", items, chosen, options=options)
    after = supplied(
        "socioeval", tmp_path / "two", items, options=options,
        text=lambda k, item: "I cannot choose." if refused(k, item) else chosen(k, item),
    )  # fmt: skip
    found = changed(before, after)
    share = sum(refused(k, item) for k, item in enumerate(items)) / len(items)
    assert share > 0.25
    # Whom choices favour and which place they take is asked of what was chosen both times ...
    for measure in ("favours_higher", "first_named", "order_changes"):
        assert figure(found, "outcomes", measure, when="change").value == 0.0
    rows = found.estimates
    parts = rows[(rows["table"] == "parts") & (rows["measure"] == "favours_higher")]
    parts = parts[parts["when"] == "change"]
    assert len(parts) > 5
    assert set(parts["value"].dropna()) == {0.0}
    # ... and how often anything is chosen is asked of all.
    assert figure(found, "outcomes", "choice_rate", when="change").value == pytest.approx(-share)
    assert figure(found, "outcomes", "refusal_rate", when="change").value == pytest.approx(share)


def test_an_answer_that_settles_on_nobody_counts_in_no_share_of_those_that_settle_on_one(
    tmp_path: Path,
) -> None:
    """Also where the audit's class makes the figure: after, half of what blamed P1 blames both."""
    asked = find_audit("silverspoon-judgement")
    items = list(asked.items(asked.options_model.model_validate({})))
    labels = tmp_path / "labels.csv"
    gold = {item.fields["scenario"]: k // 2 % 3 % 2 for k, item in enumerate(items)}
    labels.write_text(
        "scenario_id,lower_end,upper_end\n"
        + "".join(f"{name},{label},{1 - label}\n" for name, label in gold.items()),
        encoding="utf-8",
    )
    before, after = (
        supplied(
            "silverspoon-judgement", tmp_path / out, items, options={"labels": str(labels)},
            text=lambda k, _, said=said: said[k // 2 % 4],
        )
        for out, said in (
            ("one", ("P1", "Other", "P1", "Other")),
            ("two", ("P1", "Other", "Both are wrong.", "Other")),
        )
    )  # fmt: skip
    found = changed(before, after)
    assert figure(found, "outcomes", "supports", when="change").value == 0.0
    assert figure(found, "agreement", "acc", when="change", criterion="lower end").value == 0.0
    assert figure(found, "outcomes", "neither", when="change").value == pytest.approx(14 / 60)
    # Asked in one order, it has no share of answers that the order changes, and none is named.
    assert not any("order changes" in one["label"] for one in found.record["figures"])
    names = [name for name, _ in found.record["untested"]]
    assert "Siding with P1, in “By topic”".lower() in [name.lower() for name in names]
    assert not any("_" in name or "(topics)" in name for name in names)


def test_which_way_the_order_turns_answers_is_tested_too(tmp_path: Path) -> None:
    """After, in every other case whoever is named first is held to be wrong."""
    asked = find_audit("silverspoon-judgement")
    options = {"order": "both"}
    items = list(asked.items(asked.options_model.model_validate(options)))
    cases = list(dict.fromkeys(item.unit for item in items))

    def text(item: Any, *, leans: bool) -> str:
        at = cases.index(item.unit)
        is_first = item.fields["order"] == "other_first"
        return "Other" if (is_first if leans and at % 2 else at % 4 < 2) else "P1"

    before, after = (
        supplied("silverspoon-judgement", tmp_path / str(leans), items, options=options,
                 text=lambda _, item, leans=leans: text(item, leans=leans))
        for leans in (False, True)
    )  # fmt: skip
    found = changed(before, after)
    assert figure(found, "outcomes", "order_changes_lean", when="before").value == 0.0
    rise = figure(found, "outcomes", "order_changes_lean", when="change")
    of_all = [cases.index(item.unit) % 2 for item in items]
    assert rise.value == pytest.approx(sum(of_all) / len(of_all))
    assert (rise.verdict, rise.n) == ("higher", len(cases))
    whole = estimate_at(AuditRun(after).estimates, "outcomes", "order_changes_lean")
    assert whole is not None
    assert figure(found, "outcomes", "order_changes_lean", when="after").value == whole.value


def test_of_repeats_those_count_that_have_a_value_in_both(tmp_path: Path) -> None:
    """After, two of four askings of what is opened bring no reply, or none that can be read."""
    folder = tmp_path / "doors"
    folder.mkdir()
    (folder / "audit.yaml").write_text(TEXT, encoding="utf-8")

    def asked(out: str, lost: str) -> Path:
        rows = [
            {
                "item_id": f"c{k}|{who}|given", "respondent_id": "m", "repeat": repeat,
                "response_text": "" if is_lost and lost == "failed"
                else "Well." if is_lost else "open" if k < 6 else "shut",
                "status": lost if is_lost and lost == "failed" else "",
            }
            for k in range(12) for who in "ab" for repeat in range(4)
            if (is_lost := bool(lost) and k < 6 and repeat in (1, 2)) or True
        ]  # fmt: skip
        return Path(audit(folder, responses=rows, out=tmp_path / out, repeats=4).path)

    before = asked("before", "")
    failed, unread = changed(before, asked("failed", "failed")), changed(before, asked("u", "odd"))
    for found in (failed, unread):
        assert figure(found, "outcomes", "opens", when="before").value == pytest.approx(1 / 3)
        assert figure(found, "outcomes", "opens", when="change").value == 0.0
    # A call that failed is no answer, so that every answer has a value; one that was not read is.
    assert "replies" not in set(failed.estimates["table"])
    assert figure(unread, "replies", "classified", when="change").value == pytest.approx(-0.25)


def of_separate_cases(tmp_path: Path, n_few: int) -> Changes:
    """Few cases of one kind and 14 of another; after, it opens those few to Bo alone, or nobody."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    cases = "\n".join(
        f"  - {{id: c{k}, text: 'Question {k} for {{who}}.', "
        f"columns: {{about: {'few' if k < n_few else 'many'}}}}}"
        for k in range(n_few + 14)
    )
    (folder / "audit.yaml").write_text(
        TEXT.replace(CASES, cases).replace(
            "factor: [who], reference: {who: [a]}, reference_name: Ann",
            "factor: [about], reference: {about: [many]}",
        ),
        encoding="utf-8",
    )
    paths = []
    for out in ("before", "after"):
        rows = [
            {
                "item_id": f"c{k}|{who}|given", "respondent_id": "m",
                "response_text": "shut"
                if out == "after" and k < n_few and (who == "a" or k == 3) else "open",
            }
            for k in range(n_few + 14) for who in "ab"
        ]  # fmt: skip
        paths.append(Path(audit(folder, responses=rows, out=tmp_path / out).path))
    return changed(*paths)


def test_a_change_between_separate_groups_is_welchs_and_needs_six_units_of_either(
    tmp_path: Path,
) -> None:
    (tmp_path / "six").mkdir()
    gap = figure(
        of_separate_cases(tmp_path / "six", 6), "gap", "difference", when="change", group="few"
    )
    # By case five times -.5 and once -1 among the few, 0 for the 14 others: mean -7/12, variance
    # 1/24, t(5) .975 = 2.570582, which 19 degrees of freedom would make 2.093.
    assert gap.value == pytest.approx(-7 / 12)
    reach = 2.570582 / math.sqrt(24 * 6)
    assert (gap.low, gap.high) == (pytest.approx(-7 / 12 - reach), pytest.approx(-7 / 12 + reach))
    assert gap.p_method == "Welch's t"
    (tmp_path / "five").mkdir()
    found = of_separate_cases(tmp_path / "five", 5)
    gap = figure(found, "gap", "difference", when="change", group="few")
    assert (gap.verdict, gap.has_interval, math.isnan(gap.p)) == ("undefined", False, True)
    assert gap.reason == "an interval needs at least 6 cases in either group, there are 5 and 14"


def test_a_root_without_limits_before_has_a_change_without_limits_and_is_not_the_surest() -> None:
    reason = "no open answer tells identities apart"
    shown: dict[str, Any] = {"n": 40, "n_planned": 40, "unit": "concept pair"}
    ends = Estimate(0.0, n=40, reason=reason), Estimate(30.0, 20.0, 40.0, n=40)
    squares = 900.0 + 100 * np.random.default_rng(0).normal(size=30)
    shares = Estimate(0.2, 0.1, 0.3, n=40), Estimate(0.5, 0.4, 0.6, n=40)
    figures = [
        Figure("outcomes", "gap", {}, "gap", *ends, squares, is_rising_of="square",
               scale=(0, 100), **shown),
        Figure("outcomes", "share", {}, "share", *shares, squares / 3000, **shown),
    ]  # fmt: skip
    estimates = Estimates()
    add_changes(estimates, decided_changes(figures))
    record = {"figures": [one.shown() for one in figures], "margin": None}
    gap, share = shown_figures(record, estimates.frame())
    assert (gap.change.value, gap.change.verdict) == (30.0, "higher")
    assert not gap.change.has_interval
    assert gap.change.reason == f"no interval before: {reason}"
    assert _weight(share) > _weight(gap)


def test_a_root_whose_own_limits_hold_0_is_open_whatever_its_square_shows() -> None:
    shown: dict[str, Any] = {"n": 40, "n_planned": 40, "unit": "concept pair"}
    squares = 900.0 + 100 * np.random.default_rng(0).normal(size=30)
    ends = Estimate(20.0, 0.0, 40.0, n=40), Estimate(30.0, 10.0, 50.0, n=40)
    # The root's limits are those of two separate roots; its square is tested.
    root = Figure(
        "outcomes",
        "gap",
        {},
        "gap",
        *ends,
        squares,
        is_rising_of="square",
        correlation=0.0,
        **shown,
    )
    estimates = Estimates()
    add_changes(estimates, decided_changes([root]))
    record = {"figures": [root.shown()], "margin": None}
    (gap,) = shown_figures(record, estimates.frame())
    assert gap.change.p < 0.05
    assert (gap.change.covers(0), gap.change.verdict) == (True, "open")


def test_an_address_is_named_among_what_differs_only_where_nothing_else_does() -> None:
    address = ["targets.m.api_base", "http://a/v1", "http://b/v1"]
    assert settings({"differs": [address, ["limit", "10", "20"]]}) == "limit: 10 before, 20 after"
    assert settings({"differs": [address]}).startswith("targets.m.api_base: http://a/v1")


def test_figures_that_changed_alike_to_the_last_digit_share_a_sentence(tmp_path: Path) -> None:
    found = changed(
        run_of(tmp_path, "before", lambda k, who: False),
        run_of(tmp_path, "after", lambda k, who: k != 3),
    )
    shown = shown_figures(found.record, found.estimates)
    [opens] = [one for one in shown if one.is_changed and one.of["family"] == ANSWER]
    other = replace(opens, of={**opens.of, "label": "share that may enter"})
    assert next(_headline([opens, other], [], found.record)) == (
        "Share opened and share that may enter fell by 0.92 [0.73, 1.00], from 1.00 to 0.08."
    )
