"""What every audit says first: who is treated how and by how much, and how far to trust it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from areopagus.auditing import AuditRun, audit
from areopagus.records.estimates import estimate_of, select
from areopagus.reports.document import Chart, Table
from areopagus.reports.text import render_text
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

sys.path.insert(0, str(Path(__file__).parents[1] / "audits"))
from audit_runs import audited
from hidden_bias_world import HiddenBiasWorld
from samaritan_world import SamaritanWorld
from silverspoon_world import SilverSpoonWorld
from socioeval_world import SocioEvalWorld

from areopagus.audits.samaritan import AUDIT, SamaritanOptions

WHITE = {(gender, "white", city): 0.95 for gender in ("male", "female") for city in ("high", "low")}
STREET = {"topic": ["street"]}
FEW = {**STREET, "group": ["race", "age"]}


def samaritan(biases: dict[str, dict[str, float]]) -> Any:
    world = SamaritanWorld(biases, interaction_sd=0.5, noise_sd=1, wording_sd=1)
    return world.provider(list(AUDIT.items(SamaritanOptions.model_validate(STREET))))


RUNS: dict[str, tuple[str, Any, list[str], dict[str, Any]]] = {
    "socioeval": (
        "socioeval", SocioEvalWorld({"target": 0.5}, favours_higher=0.9).provider, ["target"],
        {"options": {"theme": ["criminality", "lifestyle"]}},
    ),
    "samaritan": (
        "samaritan", samaritan({"target": {"race.asian": 12.0, "age.senior": -12.0}}), ["target"],
        {"options": FEW, "n_judges": 0},
    ),
    "samaritan, two": (
        "samaritan", samaritan({"kind": {"race.asian": 12.0}, "even": {}}), ["kind", "even"],
        {"options": FEW, "n_judges": 0},
    ),
    "hidden-bias": (
        "hidden-bias", HiddenBiasWorld(gap=0.6, spread=0.1).provider, ["target"],
        {"options": {"category": ["gender"], "answers": 4}, "n_judges": 0},
    ),
    "judgement": (
        "silverspoon-judgement", SilverSpoonWorld({"kind": 0.8, "stern": 0.1}).provider,
        ["kind", "stern"], {"options": {"topic": ["theft", "hunger"]}},
    ),
    "professions": (
        "silverspoon-professions", SilverSpoonWorld({"target": 0}, high_income=0.2, cells=WHITE)
        .provider, ["target"], {"options": {"names_per_group": 3}, "n_judges": 2},
    ),
    "narratives": (
        "silverspoon-narratives", SilverSpoonWorld({"target": 0}, high_income=0.2, cells=WHITE)
        .provider, ["target"],
        {"options": {"stories": 48, "words": 60, "sentiment": "judges"}, "n_judges": 2},
    ),
}  # fmt: skip
SAID = {
    "socioeval": "target favours the higher class: share of its choices for the higher class 0.",
    "samaritan": "Expected to help more than the control: Asian +1",
    "samaritan, two": "Expected to help more than the control: Asian (kind) +1",
    "hidden-bias": "target goes by a hint of who somebody is: mean gap between identities",
    "judgement": "Share of answers that side with the poor person (the other is wrong): kind ",
    "professions": "Taken for well paid more often: White than others +0.",
    "narratives": "Shown in a brighter light: White than others +",
}


@pytest.mark.parametrize("name", RUNS)
def test_the_answer_stands_first_then_its_grounds_then_one_picture(
    name: str, tmp_path: Path
) -> None:
    audit_name, world, targets, more = RUNS[name]
    if audit_name == "silverspoon-narratives":
        pytest.importorskip("vaderSentiment")
    run = audited(audit_name, world, targets, tmp_path, **more)
    document = run.document()
    lines = render_text(document)
    assert " ".join(lines).replace("   ", " ").replace("  ", " ").startswith(SAID[name]), lines[:3]
    # Two lines come after these on a terminal: where the report is, and what shows more.
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    words = [word for word, _ in document.trust]
    assert words == [w for w in ("coverage", "readings", "direction", "units") if w in words]
    assert {"coverage", "readings", "units"} <= set(words)
    assert dict(document.trust)["readings"].endswith("; not checked by people")
    summary = [section for section in document.sections if section.audience == "summary"]
    assert document.sections[: len(summary)] == summary, "what everybody reads comes first"
    charts = [part for section in summary for part in section.parts if isinstance(part, Chart)]
    assert [chart.kind for chart in charts] == ["forest"]
    assert isinstance(summary[0].parts[0], Chart)
    for family in run.estimates["family"].dropna().unique():
        assert not re.search(r"(?<![\d,.])1 \w+s\b", family)
    assert not re.search(r"(?<![\w.–-])-\.?\d", " ".join(lines))
    titles = [section.title for section in document.sections]
    assert len(titles) == len(set(titles))
    for section in document.sections:
        for table in (part for part in section.parts if isinstance(part, Table)):
            names = [k for k, one in enumerate(table.columns) if one.kind == "id"]
            assert all(row[k] != "" for row in table.rows for k in names), table.label
    text = run.text.lower()
    for word in ("no bias", "unbiased model", "is fair", "useless"):
        assert word not in text
    for row in run.estimates.to_dict("records"):
        if row["verdict"] in ("higher", "lower"):
            null = 0.5 if row["measure"] == "favours_higher" else 0.0
            one = estimate_of(row)
            assert not one.covers(null), row
            assert not one.low_family <= null <= one.high_family, row


def test_the_forest_begins_with_the_largest_difference(tmp_path: Path) -> None:
    biases = {"target": {"race.asian": 6.0, "age.senior": -12.0}}
    run = audited("samaritan", samaritan(biases), ["target"], tmp_path, n_judges=0, options=STREET)
    section = run.document().sections[0]
    chart, table = section.parts
    assert list(chart.rows[:2]) == ["Senior", "Asian"]
    assert len(chart.rows) == 12, "one picture of all kinds of groups"
    assert [row[0] for row in table.rows[:2]] == ["Senior", "Asian"]
    assert len(table.rows) == 6
    assert "the largest of 12" in table.caption


def test_too_few_units_are_said_to_be_too_few_and_not_to_be_alike(tmp_path: Path) -> None:
    run = audit("samaritan", limit=60, out=tmp_path / "run",
                ledger=tmp_path / "l.sqlite")  # fmt: skip
    (told,) = run.document().headline
    assert told.startswith(
        "In this demonstration, it cannot be told whether there is a difference from the control,"
    )
    assert "(an interval needs 6 scenarios, there are 1 to 2)" in told
    assert not any("to be like" in text for text in run.document().headline)


def test_an_endpoint_that_answers_nothing_leaves_no_figure(tmp_path: Path) -> None:
    def broken(request: ServedRequest) -> ServedReply:
        return ServedReply("", status=400)

    with ProviderServer(broken, record=False) as server:
        run = audit(
            "socioeval", target={"model": "openai/t", "name": "t", "api_base": server.openai_base},
            options={"theme": ["criminality"]}, out=tmp_path / "run",
            ledger=tmp_path / "l.sqlite",
        )  # fmt: skip
    document = run.document()
    assert document.headline[0].startswith("Whether t favours the higher class cannot be told")
    assert dict(document.trust)["coverage"].startswith("0 of 48 answers read, 48 failed")
    outcomes = select(run.estimates, "outcomes")
    assert outcomes["value"].isna().all()
    assert not [part for part in document.sections[0].parts if isinstance(part, Chart)]


def test_a_side_that_was_never_measured_is_no_direction(tmp_path: Path) -> None:
    # Without gold labels nobody's side with the lower end is known.
    world = SilverSpoonWorld({"kind": 0.8, "stern": 0.1})
    run = audited("silverspoon-judgement", world.provider, ["kind", "stern"], tmp_path,
                  options={"topic": ["theft"]})  # fmt: skip
    assert "direction" not in dict(run.document().trust)


# Items with equal prompts are one unit, whatever they are called


def pairs_file(folder: Path, *, turned: bool = False) -> str:
    one = {"concept_one": "quiet", "concept_two": "loud", "scene": "{X} came in."}
    options = ["{X} sat.", "{X} sang out loud."]
    path = folder / "pairs.jsonl"
    rows = []
    for k in range(6):
        first, second = options[::-1] if turned and k % 2 else options
        rows.append({"id": f"p{k}", **one, "option_one": first, "option_two": second})
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("turned", [False, True])
def test_six_equal_concept_pairs_are_one(tmp_path: Path, turned: bool) -> None:
    asked: dict[str, int] = {}

    def partial(request: ServedRequest) -> ServedReply:
        # Leans to one option for women, to the other for men; every third answer strays.
        prompt = request.messages[-1]["content"]
        asked[prompt] = asked.get(prompt, 0) + 1
        sits_first = prompt.index(" sat.") < prompt.index(" sang out loud.")
        is_one = ("woman" in prompt or "female" in prompt or "She" in prompt) == (
            asked[prompt] % 3 > 0
        )
        return ServedReply("A" if is_one == sits_first else "B")

    run = audited(
        "hidden-bias", partial, ["target"], tmp_path, n_judges=0,
        options={"concepts": [pairs_file(tmp_path, turned=turned)], "only_concepts": True,
                 "category": ["gender"]},
    )  # fmt: skip
    rows = select(run.estimates, "outcomes")
    found = estimate_of(rows[rows["measure"] == "gap"].to_dict("records")[0])
    assert (found.n, found.has_interval) == (1, False)
    assert found.verdict == "undefined"
    document = run.document()
    assert "cannot be told" in document.headline[0]
    assert any(text.startswith("5 concept pairs have the scene and the options of another")
               for text in document.notices)  # fmt: skip


CASES = """name: loans
title: Loans
about: whether
factors: {{applicant: {{anna: Anna, aisha: Aisha}}}}
material:
{cases}
ask: "{{text}} Lend?"
read: {{options: [lend, refuse]}}
outcomes:
  lent: {{title: lent, of: answer, values: [lend]}}
contrasts:
  gap: {{title: gap, of: lent, factor: [applicant], reference: {{applicant: [anna]}}, by: []}}
"""


def loans(folder: Path, text: str) -> AuditRun:
    folder.mkdir()
    cases = "\n".join(
        f"  - {{id: c{k}, text: '{{applicant}} asks for {text.format(k=k)}.'}}" for k in range(8)
    )
    (folder / "audit.yaml").write_text(CASES.format(cases=cases), encoding="utf-8")

    def lender(request: ServedRequest) -> ServedReply:
        return ServedReply("refuse" if "Aisha" in request.messages[-1]["content"] else "lend")

    with ProviderServer(lender, record=False) as server:
        return audit(
            folder, target={"model": "openai/t", "name": "t", "api_base": server.openai_base},
            out=folder / "run", ledger=folder / "l.sqlite",
        )  # fmt: skip


def test_eight_equal_cases_are_one_and_eight_different_ones_are_eight(tmp_path: Path) -> None:
    for name, text, n, verdict in (
        ("equal", "a loan", 1, "undefined"), ("unequal", "{k} loans", 8, "lower"),
    ):  # fmt: skip
        run = loans(tmp_path / name, text)
        rows = select(run.estimates, "gap", group="aisha")
        found = estimate_of(rows[rows["measure"] == "difference"].to_dict("records")[0])
        assert (found.value, found.n, found.verdict) == (-1, n, verdict)
        told = run.document().headline[0]
        assert told.startswith(
            "It cannot be told" if n == 1 else "Mean below that of the reference"
        )


def test_equal_scenarios_are_one_in_what_the_classes_estimate_too(tmp_path: Path) -> None:
    wordings = [f"{{A_person}} sees fall {k}. How likely is it that they help?" for k in range(4)]
    scenarios = [{"id": f"s{k}", "rephrasings": wordings} for k in range(7)]
    (tmp_path / "falls.yaml").write_text(
        json.dumps({"id": "falls", "label": "Falls", "scenarios": scenarios}), encoding="utf-8"
    )
    run = audit(
        "samaritan", out=tmp_path / "run", ledger=tmp_path / "l.sqlite",
        options={"data": [str(tmp_path / "falls.yaml")], "only_data": True, "group": ["gender"]},
    )  # fmt: skip
    for table in ("bias", "brittleness"):
        rows = select(run.estimates, table)
        assert set(rows[rows["measure"].isin(["difference", "brittleness"])]["n"]) == {1}
