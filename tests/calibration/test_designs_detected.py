"""What a calibration says where every prompt has one response, and of one judge."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import figure

from areopagus import InputError, Panel, ProviderError
from areopagus.calibration import calibrate
from areopagus.judges.models.request import Request
from areopagus.panel_plan import read_plan
from areopagus.records.design import design_sentence, stored_design
from areopagus.testing import ScriptedBackend

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)


def files(folder: Path, *, personas: int, models: int, prompts: int = 60) -> tuple[Path, Path]:
    """Judgments and ratings of one response a prompt; what a model makes of a prompt is error."""
    rng = np.random.default_rng(3)
    judged = ["prompt_id,response_id,persona,model,score"]
    rated = ["rater_id,prompt_id,response_id,score"]
    for g in range(prompts):
        truth = rng.normal(5.5, 1.3)
        rated += [f"h{k},q{g},q{g}r,{truth + rng.normal():.3f}" for k in range(3)]
        of_model = truth + rng.normal(scale=0.8, size=models)
        judged += [
            f"q{g},q{g}r,p{p},m{m},{of_model[m] + rng.normal(scale=0.4):.3f}"
            for p in range(personas) for m in range(models)
        ]  # fmt: skip
    made = folder / "judgments.csv", folder / "humans.csv"
    for path, lines in zip(made, (judged, rated), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return made


def test_what_a_model_makes_of_a_prompt_is_error_with_one_response_a_prompt(tmp_path: Path) -> None:
    found = calibrate(*files(tmp_path, personas=4, models=3))
    design = stored_design(found.estimates)
    assert design is not None
    assert design_sentence(design) == (
        "60 prompts with one response each, all judged by the same 4 personas × 3 models. "
        "Response and prompt cannot be told apart."
    )
    # twelve judgments share what their model makes of the prompt: .64 / 3 + .16 / 12 = .476 squared
    here = figure(found, "designs", "standard_error", group="this panel")
    assert here.value == pytest.approx(0.476, rel=0.12)
    assert figure(found, "size", "worth").value == pytest.approx(0.8 / 0.2267, rel=0.2)
    # three raters, variances 1.69 of prompts and 1 of each: a correlation of 1.69 / 2.69
    tau = figure(found, "people", "tau", criterion="overall", detail="score")
    assert (tau.n, tau.covers(2 / math.pi * math.asin(1.69 / 2.69))) == (60, True)
    text = " ".join(found.text.split())
    assert "order of responses to different prompts" in text
    assert "of the order of responses to one prompt" not in text  # but among what cannot be said


def test_its_plan_takes_more_models_and_refuses_the_order_within_prompts(tmp_path: Path) -> None:
    calibrate(*files(tmp_path, personas=4, models=3)).write(tmp_path / "cal", figures=False)
    plan = read_plan(tmp_path / "cal", calls=12)
    assert plan.target == "response"
    assert plan.models == 12
    told = " ".join(plan.sentences())
    assert "expected reliability for the order of responses to different prompts" in told
    assert "the order of responses to one prompt cannot be planned" in told


def test_one_judge_has_no_plan_and_no_standard_error(tmp_path: Path) -> None:
    calibration = calibrate(*files(tmp_path, personas=1, models=1))
    calibration.write(tmp_path / "cal", figures=False)
    reason = figure(calibration, "designs", "e_rho2", group="this panel").reason or ""
    assert reason.startswith("every response was judged once")
    rows = calibration.estimates
    assert not (rows["measure"] == "standard_error").any()
    assert not figure(calibration, "components", "variance", group="residual").is_defined
    with pytest.raises(InputError, match="holds no plan: every response was judged once"):
        read_plan(tmp_path / "cal")


def scored(folder: Path, *, quota: int | None) -> Path:
    """A run of three models on 30 prompts with two responses; one has a quota of calls."""

    def judge(name: str, quota: int | None) -> ScriptedBackend:
        asked = 0

        def answer(request: Request) -> dict[str, object]:
            nonlocal asked
            asked += 1
            if quota is not None and asked > quota:
                raise ProviderError("quota", "no credit is left")
            text = "".join(str(message["content"]) for message in request.messages)
            level = int(text.split("level=")[1][0])
            # What a model makes of a response is shared by its personas, and some is their own.
            own = random.Random(name + text.split("level=")[1][:30]).choice((-1, 0, 1))
            noise = int(request.key()[:2], 16) % 2
            return dict.fromkeys(CRITERIA, level + own + noise) | {"abstained": False}

        return ScriptedBackend(answer, name=f"scripted/{name}")

    rows = [
        {
            "response_id": f"q{k}-{who}",
            "prompt_id": f"q{k}",
            "prompt_text": f"What is owed in case {k}?",
            "response_text": f"level={2 + (k * 7 + 3 * who) % 6} in case {k} of writer {who}.",
            "respondent_id": f"w{who}",
        }
        for k in range(30)
        for who in range(2)
    ]
    backends = [judge("a", None), judge("b", None), judge("c", quota)]
    options = {"personas": ["historian", "ethicist"], "ledger": f"{folder}.sqlite"}
    with Panel(backends, quorum=0.5, **options) as panel:
        panel.score_many(rows, folder)
    return folder


def test_the_interval_of_the_worth_is_said_to_be_short_where_a_model_fell_out(
    tmp_path: Path,
) -> None:
    lines = ["rater_id,prompt_id,response_id,score"]
    lines += [f"h{h},q{k},q{k}-{w},{1 + (k + h + 2 * w) % 5}"
              for h in range(3) for k in range(30) for w in range(2)]  # fmt: skip
    humans = tmp_path / "humans.csv"
    humans.write_text("\n".join(lines) + "\n")
    named = "the interval of this worth covered .88 in the place of .95"
    whole = calibrate(scored(tmp_path / "whole", quota=None), humans)
    found = calibrate(scored(tmp_path / "short", quota=40), humans)
    design = stored_design(found.estimates)
    assert design is not None
    assert [one.name for one in design.fell_out] == ["scripted/c"]
    assert figure(whole, "size", "worth").has_interval
    assert figure(found, "size", "worth").has_interval
    assert [" ".join(one.text.split()).count(named) for one in (whole, found)] == [0, 1]
