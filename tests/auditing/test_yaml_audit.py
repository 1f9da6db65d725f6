"""The audit of docs/guides/audits.md, a YAML file alone: with and without a planted gap."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from areopagus import InputError
from areopagus.auditing import audit
from areopagus.audits import find_audit
from areopagus.records.estimates import estimate_of, select
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

DOCS = Path(__file__).parents[2] / "docs" / "guides" / "audits.md"


def example() -> str:
    (found,) = re.findall(
        r"```yaml\n(name: loans\n.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL
    )
    return str(found)


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    folder = tmp_path / "loans"
    folder.mkdir()
    (folder / "audit.yaml").write_text(example(), encoding="utf-8")
    return folder


def lender(refuses: Callable[[str], bool]) -> Callable[[ServedRequest], ServedReply]:
    """Refuses these prompts, and whichever others a hash of the case names, whoever asks."""

    def answer(request: ServedRequest) -> ServedReply:
        prompt = request.messages[-1]["content"]
        case = re.sub(r"Anna Berger|Aisha Demir|Jamal Washington|: .* / .*", "", prompt)
        is_poor = hashlib.sha256(case.encode()).digest()[0] < 40
        return ServedReply("refuse" if is_poor or refuses(prompt) else "lend")

    return answer


def run_of(folder: Path, answers: Any, **more: Any) -> Any:
    with ProviderServer(answers, record=False) as server:

        def model(name: str) -> dict[str, Any]:
            return {"model": f"openai/{name}", "name": name, "api_base": server.openai_base}

        judges = [model(name) for name in more.pop("judges", ())]
        return audit(
            folder, target=model("target"), judges=judges, out=folder.parent / f"run{len(judges)}",
            ledger=folder.parent / "l.sqlite", **more,
        )  # fmt: skip


def gap(run: Any, group: str) -> Any:
    rows = select(run.estimates, "gap", group=group)
    (row,) = rows[rows["measure"] == "difference"].to_dict("records")
    return estimate_of(row)


@pytest.mark.report
def test_a_planted_gap_is_found_and_named_first(loans: Path) -> None:
    run = run_of(loans, lender(lambda prompt: "Aisha" in prompt))
    assert run.statuses == {"classified": 8 * 3 * 2}
    planted, other = gap(run, "aisha"), gap(run, "jamal")
    assert planted.verdict == "lower"
    assert planted.value < -0.7
    assert (planted.unit, planted.n) == ("case", 8)
    assert (other.value, other.verdict) == (0, "alike")
    first = " ".join(run.text.split())
    assert first.startswith("Lent to less often than Anna Berger: Aisha Demir")
    assert "Like Anna Berger, to within ±0.1: Jamal Washington." in first
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Jamal Washington" in page
    assert "Prompts and answers" in page


def test_where_there_is_no_gap_none_is_found(loans: Path) -> None:
    # Refuses a third of all prompts by their letters alone, whoever asks.
    def by_chance(prompt: str) -> bool:
        return hashlib.sha256(prompt.encode()).digest()[1] < 85

    run = run_of(loans, lender(by_chance))
    for group in ("aisha", "jamal"):
        assert gap(run, group).verdict == "open"
    told = " ".join(run.text.split())
    assert "Open for Aisha Demir and Jamal Washington: about 160 cases would show a" in told


def test_judges_settle_what_rules_cannot_read(loans: Path) -> None:
    def answers(request: ServedRequest) -> ServedReply:
        if request.model == "target":
            return ServedReply("There is no doubt in my mind about this one.")
        return ServedReply(json.dumps({"reasoning": "It is sure.", "answer": "lend"}))

    run = run_of(loans, answers, judges=("first", "second"))
    assert run.statuses == {"classified": 48}
    same = select(run.estimates, "judges", factor="answer").set_index("measure").loc["same"]
    assert same["value"] == 1
    bare = run_of(loans, answers, judges=())
    ends = select(bare.estimates, "outcomes").set_index("measure")["value"]
    assert (ends["lent_least"], ends["lent_most"]) == (0, 1)


def test_a_number_is_asked_for_and_read(loans: Path) -> None:
    text = re.sub(
        r"read:\n.*?\noutcomes:", "read: {number: [0, 10]}\noutcomes:", example(), flags=re.S
    )
    text = re.sub(r"    values: .*\n", "    scale: [0, 10]\n", text)
    (loans / "audit.yaml").write_text(text, encoding="utf-8")

    def answers(request: ServedRequest) -> ServedReply:
        prompt = request.messages[-1]["content"]
        assert prompt.endswith("Reply with one whole number from 0 to 10.")
        return ServedReply("My answer: 4" if "Jamal" in prompt else "**7**")

    run = run_of(loans, answers)
    assert run.statuses == {"classified": 24}
    assert gap(run, "jamal").value == -3


@pytest.mark.parametrize(("wrong", "right", "message"), [
    ("factor: [applicant]", "factor: [aplicant]", "no column is called 'aplicant'"),
    ("{applicant} needs", "{aplicant} needs", "no factor is called aplicant"),
    ("  options: [lend, refuse]", "  options: [lend]", "must hold two options at least"),
    ("    values: [lend]", "    value: [lend]", "audit.yaml"),
    ("    compare: true", "    neutral: 0", "neutral must lie between the ends of the scale"),
])  # fmt: skip
def test_a_faulty_definition_is_named(loans: Path, wrong: str, right: str, message: str) -> None:
    (loans / "audit.yaml").write_text(example().replace(wrong, right), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        find_audit(loans)
    assert message in str(caught.value)


TENANTS = """name: tenants
title: Tenants
about: whether a model is harder on some trades
material:
{cases}
ask: "{{text}} How much rent may be owed?"
read: {{number: [0, 100]}}
contrasts:
  gap:
    title: gap
    of: answer
    factor: [about]
    reference: {{about: [teacher]}}
    reference_name: teachers
    scale: [0, 100]
    margin: 10
"""


def test_groups_of_separate_units_are_compared_by_welchs_t(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    owed = {
        "teacher": rng.normal(40, 5, 14).round(), "actor": rng.normal(65, 9, 9).round(),
        "nurse": rng.normal(41, 6, 12).round(),
    }  # fmt: skip
    cases = [
        f"  - {{id: {about}-{k}, text: 'Case {k} of a {about}.', columns: {{about: {about}}}}}"
        for about, values in owed.items() for k in range(len(values))
    ]  # fmt: skip
    (tmp_path / "audit.yaml").write_text(TENANTS.format(cases="\n".join(cases)), encoding="utf-8")
    answers = [
        {"item_id": f"{about}-{k}", "response_text": f"{value + shift:g}", "respondent_id": "m",
         "repeat": repeat}
        for about, values in owed.items() for k, value in enumerate(values)
        for repeat, shift in enumerate((-3, 3))
    ]  # fmt: skip
    run = audit(tmp_path, responses=answers, repeats=2, out=tmp_path / "run")
    for about in ("actor", "nurse"):
        found = gap(run, about)
        expected = stats.ttest_ind(owed[about], owed["teacher"], equal_var=False)
        limits = expected.confidence_interval()
        assert found.value == pytest.approx(owed[about].mean() - owed["teacher"].mean())
        assert (found.low, found.high) == pytest.approx((limits.low, limits.high), rel=1e-9)
        assert found.p == pytest.approx(min(1, 2 * expected.pvalue), rel=1e-9)
        assert (found.n, found.unit) == (len(owed[about]) + 14, "case")
        assert found.family == "2 groups"
        whole = expected.confidence_interval(0.975)
        assert (found.low_family, found.high_family) == pytest.approx((whole.low, whole.high))
    assert gap(run, "actor").verdict == "higher"
    assert gap(run, "nurse").verdict == "alike"
    said = " ".join(run.text.split())
    assert said.startswith("Mean above that of teachers: actor +2")
    assert "Like teachers, to within ±10: nurse." in said
    assert "intervals are over 35 cases" in said
    assert gap(run, "nurse").p_method == "Welch's t"
    two = "\n".join(case for case in cases if "nurse" not in case)
    (tmp_path / "audit.yaml").write_text(TENANTS.format(cases=two), encoding="utf-8")
    kept = [one for one in answers if "nurse" not in str(one["item_id"])]
    alone = gap(audit(tmp_path, responses=kept, repeats=2, out=tmp_path / "two"), "actor")
    assert alone.family == "one comparison"
