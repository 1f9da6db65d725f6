"""What the estimates of a panel run say of respondents, judges and their agreement."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "reports"))
from report_runs import (
    CRITERIA,
    MODELS,
    judgment,
    make_large_run,
    make_run,
    panel_votes,
    plain_verdicts,
    respondent,
    unscored,
    verdict,
)

from areopagus.panel_estimates import effective_judges, run_design
from areopagus.records.design import design_sentence, stored_design
from areopagus.records.estimates import estimates_by, select
from areopagus.records.judgments import read_judgment_table
from areopagus.records.types import Judgment, Verdict
from areopagus.reports.document import Table
from areopagus.reports.panel_judges import worth_told
from areopagus.reports.text import render_text
from areopagus.run import Run


def by_response(votes: list[Judgment]) -> list[Verdict]:
    ids = dict.fromkeys(vote.response_id for vote in votes)
    return [verdict([v for v in votes if v.response_id == name]) for name in ids]


def test_means_by_judge_weigh_every_response_the_same(tmp_path: Path) -> None:
    # r1: historian on model one scores 2 and, asked again, 4: its mean is 3.
    # r2: historian 9 on model one, 5 on model two: its mean is 7.
    # Over responses: (3 + 7) / 2 = 5, not (2 + 4 + 9 + 5) / 4 = 5 by chance of equal n;
    # so r3 adds one vote of 2 on model one: (3 + 7 + 2) / 3 = 4, over judgments 22 / 5 = 4.4.
    votes = [
        judgment("r1", "p", "m", scores=dict.fromkeys(CRITERIA, 2.0)),
        judgment("r1", "p", "m", repeat=1, scores=dict.fromkeys(CRITERIA, 4.0)),
        judgment("r2", "p", "m", scores=dict.fromkeys(CRITERIA, 9.0)),
        judgment("r2", "p", "m", model=MODELS[1], scores=dict.fromkeys(CRITERIA, 5.0)),
        judgment("r3", "p", "m", scores={CRITERIA[0]: 1.0, CRITERIA[1]: 3.0}),
        unscored(judgment("r4", "p", "m"), "refused", "policy"),
    ]
    frame = Run(make_run(tmp_path / "run", by_response(votes))).estimate_stored().frame()
    rows = select(frame, "judges", factor="persona")
    means = rows[rows["measure"] == "mean"]
    assert means["value"].tolist() == [4.0, pytest.approx(11 / 3), pytest.approx(13 / 3)]
    assert set(means["n"]) == {3}
    assert set(means["method"]) == {"description: mean over responses of the group's mean"}
    (judged,) = rows[rows["measure"] == "judgments"].to_dict("records")
    assert (judged["n"], judged["n_planned"]) == (5, 6)
    cells = {
        at["model"]: figures["mean"]
        for at, figures in estimates_by(select(frame, "persona by model"), ["model"])
    }
    assert (cells[MODELS[0]].value, cells[MODELS[0]].n) == (pytest.approx(14 / 3), 3)
    assert (cells[MODELS[1]].value, cells[MODELS[1]].n) == (5.0, 1)
    counts = select(frame, "judgments", detail="policy")
    assert counts[["group", "value"]].values.tolist() == [["refused", 1.0]]


def test_agreement_of_personas_is_tau_b(tmp_path: Path) -> None:
    # a and b order six responses alike but for the pair (5, 6): 14 of 15 pairs concordant,
    # one discordant, no ties: (14 - 1) / 15. c never varies: undefined. d shares too few.
    given = {
        "a": [1, 2, 3, 4, 5, 6],
        "b": [1, 2, 3, 4, 6, 5],
        "c": [7, 7, 7, 7, 7, 7],
        "d": [1, 2, 3, 4, 5],
    }
    votes = [
        judgment(f"r{k}", f"p{k}", "m", persona=persona, scores=dict.fromkeys(CRITERIA, float(s)))
        for k in range(6)
        for persona, scores in given.items()
        for s in scores[k : k + 1]
    ]
    frame = Run(make_run(tmp_path / "run", by_response(votes))).estimate_stored().frame()
    found = {
        (at["persona"], at["baseline"]): figures["tau"]
        for at, figures in estimates_by(select(frame, "agreement"), ["persona", "baseline"])
    }
    assert found["a", "b"].value == pytest.approx(13 / 15)
    assert found["a", None].value == pytest.approx(13 / 15)
    assert not found["a", "c"].is_defined
    assert found["a", "c"].reason == "one of them gives all responses one score"
    assert (found["a", "d"].n, found["a", "d"].is_defined) == (5, False)
    assert "fewer than 6" in str(found["a", "d"].reason)


def test_thirty_judges_are_worth_what_errors_they_share_leave(tmp_path: Path) -> None:
    # Each model has an error of its own on a response, shared by its ten personas, and each
    # judgment a small one: the thirty judgments are then worth hardly more than three.
    run = make_large_run(tmp_path / "run", n_responses=60, n_personas=10, n_models=3)
    table = read_judgment_table(run, [f"criterion_{k}" for k in range(5)])
    prompts = [f"p{k // 5}" for k in range(60)]
    rng = np.random.default_rng(4)
    independent = effective_judges(table, prompts)
    assert independent.n == 30
    assert independent.value == pytest.approx(30, rel=0.2)
    own = rng.normal(0, 1.0, (60, 3))[table.response, table.model.codes]
    noise = rng.normal(0, 0.1, table.n_judgments)
    level = rng.normal(6, 1, 60)[table.response]
    shared = replace(table, scores=np.repeat((level + own + noise)[:, None], 5, axis=1))
    assert 2.5 < effective_judges(shared, prompts).value < 4.5


def test_what_one_model_is_worth_is_undefined(tmp_path: Path) -> None:
    votes = [judgment(f"r{k}", f"p{k}", "m", persona=p) for k in range(4) for p in ("a", "b")]
    table = read_judgment_table(make_run(tmp_path / "run", by_response(votes)), CRITERIA)
    found = effective_judges(table, [f"p{k}" for k in range(4)])
    told = worth_told(replace(found, n=1))
    assert told.startswith("What the 1 judgment of a response is worth in independent ones is unde")
    assert (found.n, found.is_defined) == (2, False)
    assert found.reason


def test_mean_ranks_share_places_and_use_common_prompts_only(tmp_path: Path) -> None:
    # Prompt 1: a best (1), b and c tied (2.5 each). Prompt 2: c, b, a. Prompt 3 lacks c.
    table = {"p1": {"a": 9, "b": 5, "c": 5}, "p2": {"a": 1, "b": 2, "c": 3}, "p3": {"a": 4, "b": 5}}
    verdicts = [
        verdict(panel_votes(f"{prompt}-{who}", prompt, who, score))
        for prompt, scores in table.items()
        for who, score in scores.items()
    ]
    frame = Run(make_run(tmp_path / "run", verdicts)).estimate_stored().frame()
    ranks = select(frame, "rank")
    assert dict(zip(ranks["respondent"], ranks["value"], strict=True)) == {
        "a": 2.0,
        "b": 2.25,
        "c": 1.75,
    }
    assert set(ranks["n"]) == {2}
    assert set(ranks["reason"]) == {"2 prompts: an interval needs at least 6"}


def test_a_criterion_without_an_interval_has_its_own_reason(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", list(plain_verdicts(2)), respondents=[respondent("a")])
    rows = select(Run(run).estimate_stored().frame(), "respondent")
    means = rows[rows["measure"] == "mean"]
    means = means[means["universe"] == "this panel"]
    assert means["reason"].tolist() == [None, None, "the prompt means do not vary"]
    assert set(means["unit"]) == {"prompt"}


def test_the_design_of_a_run_stands_first_and_decides_what_its_judges_are_worth(
    tmp_path: Path,
) -> None:
    # One response a prompt; what a model makes of a prompt is shared by its personas.
    rng = np.random.default_rng(6)
    votes = []
    for k in range(40):
        truth, of_model = rng.normal(5, 1), rng.normal(0, 1, len(MODELS))
        votes += [
            judgment(
                f"r{k}", f"p{k}", "w", persona=persona, model=model,
                scores=dict.fromkeys(CRITERIA, float(truth + of_model[m] + rng.normal(0, 0.2))),
            )
            for persona in ("a", "b", "c", "d")
            for m, model in enumerate(MODELS)
        ]  # fmt: skip
    run = Run(make_run(tmp_path / "run", by_response(votes)))
    frame = run.estimate_stored().frame()
    design = stored_design(frame)
    assert design is not None
    said = (
        f"40 prompts with one response each, all judged by the same 4 personas × {len(MODELS)} "
        "models. Response and prompt cannot be told apart."
    )
    assert design_sentence(design) == said
    worth = select(frame, "worth")["value"].iloc[0]
    assert worth == pytest.approx(len(MODELS), rel=0.2)  # not four times as many
    run.require_estimates()
    assert run.document().trust[0] == ("design", said)


def test_what_a_rule_did_not_want_is_a_rotation_and_screened_responses_are_none(
    tmp_path: Path,
) -> None:
    votes = [
        judgment(f"r{k}", f"p{k // 2}", "w", persona=persona)
        if (k + place) % 3
        else unscored(
            judgment(f"r{k}", f"p{k // 2}", "w", persona=persona), "not_asked", "precision"
        )
        for k in range(6)
        for place, persona in enumerate("abc")
    ]
    votes += [
        unscored(judgment("empty", "p0", "w", persona=persona), "not_asked", "screened")
        for persona in "abc"
    ]
    run = make_run(tmp_path / "run", by_response(votes))
    table = read_judgment_table(run, CRITERIA)
    design = run_design(table, [f"p{k // 2}" for k in range(6)] + ["p0"], ["w"] * 7)
    assert design is not None
    assert design_sentence(design) == (
        "3 prompts with 2 responses each, each judged by 2 of 3 judges (3 personas on one model). "
        "These intervals hold for this model only."
    )


def test_a_respondent_whose_answers_judges_leave_unscored_is_warned_of(tmp_path: Path) -> None:
    """One respondent's answers are refused on every prompt by one of two models."""
    votes = []
    for prompt in range(8):
        for name in ("plain", "odd"):
            for model in MODELS[:2]:
                one = judgment(
                    f"{name}{prompt}", f"p{prompt}", name, model=model,
                    scores=dict.fromkeys(CRITERIA, 5.0),
                )  # fmt: skip
                if name == "odd" and model == MODELS[1]:
                    one = unscored(one, "refused", "content_policy")
                votes.append(one)
    frame = Run(make_run(tmp_path / "run", by_response(votes))).estimate_stored().frame()
    found = {
        (at["respondent"], at["detail"]): figures
        for at, figures in estimates_by(select(frame, "missing"), ["respondent", "detail"])
    }
    assert found["odd", "not scored"]["share"].value == 0.5
    assert found["odd", "refused"]["share"].value == 0.5
    assert found["plain", "not scored"]["share"].value == 0.0
    difference = found["odd", "not scored"]["difference"]
    # Eight prompts, the same sign and size on each: 2 of 2^8 arrangements.
    assert (difference.value, difference.verdict) == (0.5, "higher")
    assert difference.p == pytest.approx(2 / 256, abs=0.005)
    run = Run(tmp_path / "run")
    run.write_results()
    document = run.document()
    (told,) = [told for what, told in document.trust if what == "missing"]
    assert told.startswith("UNEQUAL: judgments without a score differ by respondent (odd 50%")
    (section,) = [one for one in document.sections if one.name == "missing"]
    assert {type(part).__name__ for part in section.parts} == {"Chart", "Table"}
    (table,) = [part for part in section.parts if isinstance(part, Table)]
    assert "percent" not in {column.kind for column in table.columns}  # shares, all in one form
    assert "content policy" in " ".join(" ".join(render_text(document, full=True)).split())
    assert max(map(len, run.text.splitlines())) <= 80
