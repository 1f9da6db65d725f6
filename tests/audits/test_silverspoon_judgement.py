"""SilverSpoon, who is in the wrong: scenarios, reading, gold labels, the paper's table, runs."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from audit_runs import Figures, audited
from silverspoon_world import (
    JudgementWorld,
    SilverSpoonWorld,
    judgements,
)

from areopagus import InputError
from areopagus.auditing import AuditJob, audit
from areopagus.audits.estimate import estimate
from areopagus.audits.silverspoon_judgement import (
    AUDIT,
    SilverSpoonJudgementOptions,
    load_stored,
    stored_rows,
)
from areopagus.audits.silverspoon_judgement.audit import wrong_prompt, wrong_question
from areopagus.audits.silverspoon_judgement.dataset import load_scenarios
from areopagus.audits.silverspoon_judgement.estimates import PAPER_NAMES, estimate_judgement
from areopagus.audits.silverspoon_judgement.labels import Gold, load_gold
from areopagus.experiment.ask import ModelAnswer
from areopagus.experiment.config import AuditConfig

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "audits" / "silverspoon_judgement"
DATA = ROOT / ".." / "shared" / "data" / "silverspoon"
NAME = "silverspoon-judgement"

needs_data = pytest.mark.skipif(
    not (DATA / "labels.csv").is_file(), reason="the paper's labels are not here"
)


def options(**given: Any) -> SilverSpoonJudgementOptions:
    return SilverSpoonJudgementOptions.model_validate(given)


def items(**given: Any) -> list[Any]:
    return list(AUDIT.items(options(**given)))


def table_file(path: Path, rows: list[dict[str, Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def figures(answers: pd.DataFrame, gold: Gold | None = None) -> Figures:
    return Figures(estimate_judgement(answers, gold, models=answers["target"].unique().tolist()))


def job(folder: Path, targets: Any = None, **given: Any) -> AuditJob:
    return AuditJob(NAME, AuditConfig(out=folder / "run", target=targets), options=given)


def test_there_are_sixty_scenarios_in_the_papers_ten_topics_and_none_has_a_label() -> None:
    loaded = load_scenarios()
    assert Counter(one.topic for one in loaded.scenarios) == dict.fromkeys(loaded.labels, 6)
    assert len(loaded.labels) == 10
    for one in loaded.scenarios:
        assert "P1" in one.text
        assert "?" not in one.text
        assert one.other.split()[-1] in one.text.replace("'s", ""), one.id
    found = items()
    assert len(found) == len({item.prompt for item in found}) == 60
    assert len(items(order="both")) == 120
    assert len(items(topic=["theft", "hunger"])) == 12


def test_both_and_neither_are_answers_without_a_label() -> None:
    item = items()[0]
    for text, answer, label in (
        ("P1", "p1", 0), ("other", "other", 1), ("Both.", "both", None),
        ("Neither.", "neither", None),
    ):  # fmt: skip
        found = AUDIT.read(item, ModelAnswer("answered", text), options())
        assert (found.status, found.values) == ("classified", {"answer": answer, "label": label})
    refused = AUDIT.read(item, ModelAnswer("refused", "No."), options())
    assert refused.status == "refused"


def test_the_order_of_the_two_words_is_all_that_differs_and_the_form_is_the_stand_ins() -> None:
    one, other = (wrong_prompt("X.", "the clerk", other_first=flag) for flag in (False, True))
    assert "exactly one of: P1 / other\n" in one
    assert "exactly one of: other / P1\n" in other
    assert sorted(one) == sorted(other)
    question = wrong_question("X.", "the clerk", "Hm.")
    assert question.choices["answer"] == ("p1", "other", "both", "neither", "unclear")


def test_raters_make_majorities_and_their_agreement_is_measured(tmp_path: Path) -> None:
    # Synthetic labels. Lower: 3 raters on 4 scenarios; majorities 1, 0, 1, and a tie of two.
    votes = {
        "l1": {"s1": 1, "s2": 0, "s3": 1, "s4": 1}, "l2": {"s1": 1, "s2": 0, "s3": 0, "s4": 0},
        "l3": {"s1": 1, "s2": 0, "s3": 1}, "u1": {"s1": 0, "s2": 0, "s3": 1, "s4": 1},
        "u2": {"s1": 0, "s2": 0, "s3": 1, "s4": 1}, "u3": {"s1": 0, "s2": 1, "s3": 1, "s4": 1},
    }  # fmt: skip
    rows = [
        {"scenario_id": s, "rater": r, "group": "lower" if r[0] == "l" else "upper", "label": v}
        for r, mine in votes.items()
        for s, v in mine.items()
    ]
    gold = load_gold(table_file(tmp_path / "r.csv", rows))
    assert gold.labels["lower_end"] == {"s1": 1, "s2": 0, "s3": 1}
    assert gold.labels["upper_end"] == {"s1": 0, "s2": 0, "s3": 1, "s4": 1}
    assert gold.ties == {"lower_end": 1, "upper_end": 0}
    figure = Figures(estimate_judgement(judgements("m", [], [], []), gold, models=()))
    # l1-l2: (1,1) (0,0) (1,0) (1,0): agree 2/4, chance 3/4 * 1/4 + 1/4 * 3/4 = 3/8 -> 1/5;
    # l1-l3 on three: all equal -> 1; l2-l3: agree 2/3, chance 1/3 * 2/3 + 2/3 * 1/3 = 4/9 -> 2/5.
    lower = figure.value("gold", "kappa_within", criterion="lower end")
    assert lower == pytest.approx((1 / 5 + 1 + 2 / 5) / 3)
    # u1-u2: 1; u1-u3, u2-u3: agree 3/4, chance 1/2 * 3/4 + 1/2 * 1/4 = 1/2 -> 1/2.
    upper = figure.value("gold", "kappa_within", criterion="upper end")
    assert upper == pytest.approx((1 + 0.5 + 0.5) / 3)
    # Across, s1..s3: (1,0) (0,0) (1,1): agree 2/3, chance 2/3 * 1/3 + 1/3 * 2/3 = 4/9 -> 2/5.
    assert figure.value("gold", "kappa", factor="lower and upper end") == pytest.approx(2 / 5)
    assert figure.value("gold", "ties", criterion="lower end") == 1


def test_faulty_labels_are_named_with_their_place(tmp_path: Path) -> None:
    for rows, message in (
        ([{"sno": "1", "lower_end": "2", "upper_end": "0"}], "must be 0"),
        ([{"sno": "1", "lower_end": "1"}], "must have columns lower_end and upper_end"),
        ([{"x": "1", "lower_end": "1", "upper_end": "0"}], "must have one of the columns"),
        ([{"sno": "1", "lower_end": "1", "upper_end": "0"}] * 2, "stands twice"),
        ([{"sno": "1", "rater": "r", "group": "middle", "label": "1"}], "must be lower or upper"),
    ):
        with pytest.raises(InputError, match=message):
            load_gold(table_file(tmp_path / "labels.csv", rows))


def test_labels_of_other_scenarios_are_refused_and_missing_ones_counted(tmp_path: Path) -> None:
    rows = [{"scenario_id": "s1", "lower_end": "1", "upper_end": "0"}]
    with pytest.raises(InputError, match="no label is of a scenario"):
        items(labels=table_file(tmp_path / "a.csv", rows))
    rows[0]["scenario_id"] = "theft_1"
    path = table_file(tmp_path / "b.csv", rows)
    notices = AUDIT.notices(options(labels=path))
    assert notices == ["59 scenarios have no gold label of one end or both"]


PUBLISHED = {
    # Table 2: ACC CKC JSC DSC MCC, lower end then upper end. The paper's "Gemma" row is the column
    # GPT3.5_bin and its "Llama3" row Llama13B_bin.
    "GPT4_bin": (0.647, 0.056, 0.479, 0.647, 0.099, 0.575, 0.066, 0.404, 0.575, 0.136),
    "Llama13B_bin": (0.585, 0.013, 0.414, 0.585, 0.014, 0.539, 0.023, 0.369, 0.539, 0.026),
    "GPT3.5_bin": (0.614, 0.099, 0.443, 0.614, 0.102, 0.548, 0.047, 0.377, 0.548, 0.052),
    "Alpaca_bin": (0.582, -0.033, 0.41, 0.582, -0.038, 0.538, 0.009, 0.368, 0.538, 0.012),
    "Zephyr7B_bin": (0.594, 0.037, 0.422, 0.594, 0.039, 0.577, 0.105, 0.406, 0.577, 0.12),
    "Yi6B_bin": (0.468, 0.007, 0.305, 0.468, 0.009, 0.51, 0.044, 0.342, 0.51, 0.047),
}


@needs_data
def test_the_published_table_comes_out_of_the_papers_labels(tmp_path: Path) -> None:
    path = str(DATA / "labels.csv")
    run = audit(
        NAME, options={"labels": path, "answers": path, "versions": 3}, out=tmp_path / "run",
        ledger=tmp_path / "l.sqlite",
    )  # fmt: skip
    figure = Figures(run.estimates)
    for name, expected in PUBLISHED.items():
        row = [
            figure.value("agreement", measure, respondent=name, criterion=end)
            for end in ("lower end", "upper end")
            for measure in PAPER_NAMES
        ]
        assert row == pytest.approx(expected, abs=0.00051), name
    # Set Jaccard and Dice on "the other is wrong" are another matter than JSC and DSC.
    place = {"respondent": "GPT4_bin", "criterion": "lower end"}
    sets = [
        figure.value("agreement", name, **place)
        for name in ("jaccard_1", "dice_1", "jaccard_0", "dice_0")
    ]
    assert sets == pytest.approx((0.077, 0.143, 0.637, 0.778), abs=0.00051)
    assert figure("agreement", "acc", **place).n == 1_000
    assert figure.value("answers", "other", respondent="Yi6B_bin") == 1883
    across = figure.value("gold", "kappa", factor="lower and upper end")
    assert across == pytest.approx(0.14179872401728755, abs=1e-12)
    # Nobody was asked.
    assert (run.exit_code, run.document().is_demonstration) == (0, False)
    assert len(figure.keys("topics", "supports", "group")) == 10
    # The same answers as rows of a table.
    stored = load_stored(path, columns=["Yi6B_bin"], versions=3)
    assert {row["response_text"] for row in stored_rows(stored)} == {"P1", "other"}
    assert len(list(stored_rows(stored))) == 3_000


def test_stored_answers_without_texts_cannot_be_asked_about(tmp_path: Path) -> None:
    rows = [{"scenario_id": f"s{n}", "m": "P1" if n % 2 else "both"} for n in range(8)]
    path = table_file(tmp_path / "a.csv", rows)
    with pytest.raises(InputError, match="nobody can be asked"):
        job(tmp_path, targets="openai/gpt-4o-mini", answers=path)
    stored = load_stored(path)
    assert Counter(stored.answers["m"].values()) == {"p1": 4, "both": 4}
    assert stored.binary == frozenset()
    with pytest.raises(InputError, match="needs answers"):
        job(tmp_path, answer_column=("x",))
    with pytest.raises(InputError, match="is no column"):
        load_stored(path, columns=["n"])


@pytest.mark.report
def test_stored_answers_have_every_figure_of_the_paper_by_topic(tmp_path: Path) -> None:
    # Synthetic labels.
    rows = [
        {"scenario_id": f"s{n}", "lower_end": n % 2, "upper_end": n // 2 % 2, "m": n // 3 % 2,
         "worded": "both" if n % 5 == 0 else "P1", "topic": n % 3}
        for n in range(36)
    ]  # fmt: skip
    path = table_file(tmp_path / "labels.csv", rows)
    assert load_stored(path).binary == {"m"}
    run = audit(
        NAME, options={"labels": path, "answers": path}, out=tmp_path / "run",
        ledger=tmp_path / "l.sqlite",
    )  # fmt: skip
    figure = Figures(run.estimates)
    assert figure.keys("topics", "supports", "group") == [f"topic {n}" for n in range(3)]
    coded = figure("outcomes", "neither", respondent="m")
    assert coded.reason == "its cells are 0 and 1, which cannot say it"
    assert figure.value("outcomes", "neither", respondent="worded") == pytest.approx(8 / 36)
    table = Counter((row["lower_end"], row["m"]) for row in rows if row["topic"] == 0)
    accuracy = (table[0, 0] + table[1, 1]) / 12
    for name, value in (("acc", accuracy), ("jsc", accuracy / (2 - accuracy)), ("dsc", accuracy)):
        place = {"respondent": "m", "criterion": "lower end", "factor": "topic", "group": "topic 0"}
        assert figure.value("topics", name, **place) == pytest.approx(value), name
    page = (run.path / "report.html").read_text(encoding="utf-8")
    for name in ("ACC", "CKC", "JSC", "DSC", "MCC", "Jaccard", "Dice"):
        assert name in page
        assert name in run.text
    # Nobody was asked: neither an empty table of askings nor a word on missing judges.
    for said in ("0 models", "What became of the askings", "no judge model"):
        assert said not in run.text + page


def test_versions_of_a_scenario_are_no_independent_evidence() -> None:
    once, gold = JudgementWorld(bases=40, versions=1).draw(np.random.default_rng(1), ("m",))
    a, b = figures(once, gold), figures(pd.concat([once] * 3), gold)
    for table, name, keys in (
        ("outcomes", "supports", {}), ("agreement", "ckc", {"criterion": "lower end"}),
    ):  # fmt: skip
        one, other = (f(table, name, respondent="m", **keys) for f in (a, b))
        assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_the_side_taken_does_not_depend_on_how_readily_p1_is_blamed() -> None:
    rng = np.random.default_rng(5)

    def with_lower(**rates: float) -> float:
        answers, gold = JudgementWorld(bases=400, versions=1, **rates).draw(rng, ("m",))
        return figures(answers, gold).value("outcomes", "with_lower", respondent="m")

    for rate in (0.0, 0.1, 0.9):
        assert with_lower(hit=rate, alarm=rate) == pytest.approx(0.5, abs=0.05)
    assert with_lower(hit=0.8, alarm=0.2) == pytest.approx(0.8, abs=0.06)


def test_labels_of_one_kind_have_no_kappa() -> None:
    named = {f"s{n}": label for n, label in enumerate([0, 1, 1, 0, 1, 0, 1])}
    gold = Gold(
        {"lower_end": named, "upper_end": dict.fromkeys(named, 0)},
        {"lower_end": 0, "upper_end": 0},
        {"lower_end": {"a": named, "b": dict.fromkeys(named, 1)}, "upper_end": {}},
        {}, {}, "synthetic",
    )  # fmt: skip
    names = list(named)
    figure = figures(judgements("m", names, names, ["p1"] * 7), gold)
    assert (
        figure("gold", "kappa", factor="lower and upper end").reason
        == "one side gives a single label"
    )
    within = figure("gold", "kappa_within", criterion="lower end")
    assert within.reason == "one rater of each pair uses one label only"
    side = figure("outcomes", "with_lower", respondent="m")
    assert side.reason == "the ends do not differ in both ways"


def test_two_models_are_compared_on_the_scenarios_of_both() -> None:
    names = [f"s{n}" for n in range(12)]
    a = judgements("a", names, names, ["other"] * 9 + ["p1"] * 3)
    b = judgements("b", names, names, ["other"] * 2 + ["p1"] * 9 + ["both"])
    figure = figures(pd.concat([a, b]))
    found = figure("models", "difference", respondent="a", baseline="b", factor="supports")
    # Both settle on eleven: a 9, b 2; seven scenarios differ, all the same way.
    assert (found.value, found.n) == (pytest.approx(7 / 11), 11)
    assert found.verdict == "higher"


@pytest.mark.report
def test_judgements_planted_are_found_to_the_answer(tmp_path: Path) -> None:
    world = SilverSpoonWorld({"kind": 0.7, "stern": 0.0}, both=0.1, neither=0.1, seed=4)
    labels = [
        {"scenario_id": one.id, "lower_end": n % 2, "upper_end": int(n % 3 == 0), "topic": ""}
        for n, one in enumerate(load_scenarios().scenarios)
    ]
    gold = table_file(tmp_path / "synthetic_labels.csv", labels)
    chosen = {"labels": gold, "order": "both", "topic": ["theft", "hunger"]}
    run = audited(NAME, world.provider, ["kind", "stern"], tmp_path, options=chosen)
    figure = Figures(run.estimates)
    prompts = items(order="both", topic=["theft", "hunger"])
    for name in ("kind", "stern"):
        truth = Counter(world.truth(name, item.prompt) for item in prompts)
        for kind, number in truth.items():
            assert figure.value("answers", kind, respondent=name) == number
        settled = truth["p1"] + truth["other"]
        supports = figure.value("outcomes", "supports", respondent=name)
        assert supports == pytest.approx(truth["other"] / settled)
        place = {"respondent": name, "criterion": "lower end"}
        assert figure.value("agreement", "without_label", **place) == 24 - settled
    mcc = figure("agreement", "mcc", respondent="stern", criterion="lower end")
    assert not mcc.is_defined
    assert run.exit_code == 0
    assert max(map(len, run.text.splitlines())) <= 80
    assert "o gold labels" not in run.text
    assert "Agreement with people" in (run.path / "report.html").read_text(encoding="utf-8")
    assert any(row["by"] == "judges" for row in run.answers.rows("by"))
    assert figure.value("judges", "same", factor="answer") == 1


def test_which_way_an_order_moves_answers_is_said_with_its_sign() -> None:
    # Two of eight scenarios have the other in the wrong in both orders; the six others only where
    # it is named first: 8/8 less 2/8.
    rows = pd.DataFrame([
        {"scenario": f"s{k}", "base": f"s{k}", "order": order, "repeat": 0,
         "item_id": f"{k}{order}",
         "target": "m", "status": "classified", "judging": "", "label": None,
         "answer": "other" if order == "other_first" or k < 2 else "p1"}
        for k in range(8) for order in ("p1_first", "other_first")
    ])  # fmt: skip

    def lean(rows: pd.DataFrame) -> Any:
        figure = Figures(estimate(AUDIT.definition, rows, ["m"]))
        return figure("outcomes", "order_changes_lean", respondent="m")

    found = lean(rows)
    assert found.value == pytest.approx(6 / 8)
    assert found.low > 0
    assert (found.high, found.verdict) == (1, "higher")
    never = lean(rows.assign(answer="other"))
    assert (never.value, never.verdict) == (0.0, "alike")
    assert not never.has_interval
    fixed = lean(rows[rows["order"] == "p1_first"])
    assert fixed.reason == "every scenario was asked in one order"
