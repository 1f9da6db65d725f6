"""What is said of a stress test: ceilings, prompts needed, marks, supplied conditions, the cap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from areopagus.aggregation.estimate import Estimate
from areopagus.reports.document import Document, Table
from areopagus.reports.text import render_text
from areopagus.stress_test import StressConfig
from areopagus.stress_test.counts import ConditionCounts
from areopagus.stress_test.document import document
from areopagus.stress_test.estimates import estimate
from areopagus.stress_test.scores import StressScores

CONDITIONS = ("baseline", "pressed", "begged")
CRITERIA = ("conceptual_clarity", "evidential_grounding")


def study(
    *,
    top: float = 0.0,
    sd: float = 0.3,
    retest: int = 12,
    lost: float = 0.0,
    gained: float = 0.0,
    targets: tuple[str, ...] = ("m",),
    stop: str | None = None,
    is_supplied: bool = False,
    models: tuple[str, ...] = ("judge",),
    missing: Any = None,
    texts: int = 20,
    conditions: tuple[str, str, str] = CONDITIONS,
    seed: int = 1,
    **of_responses: Any,
) -> tuple[pd.DataFrame, Document]:
    """Targets that lose so much clarity when pressed, and gain so much grounding."""
    rng = np.random.default_rng(seed)
    scores = 6 + sd * rng.normal(size=(len(targets), 3, 20, 2))
    scores[:, 1, :, 0] -= lost
    scores[:, 1, :, 1] += gained
    judged = np.repeat(scores[:, :, :, None, None], len(models), axis=4)
    # So large a share of prompts is at the top in the first criterion, whatever is asked.
    judged[:, :, : round(20 * top), ..., 0] = 10
    if missing is not None:
        judged[missing] = np.nan
    found = StressScores(
        targets, conditions, tuple(f"p{k}" for k in range(20)), CRITERIA,
        tuple((f"persona {k}", model, 0) for k, model in enumerate(models)),
        scores=judged,
        units=tuple(f"text {k % texts}" for k in range(20)),
        abstained=np.zeros(scores.shape[:3]),
        regenerated=np.empty((0, 2, 2)),
        retested=6 + 0.1 * rng.normal(size=(retest, 2, 2)),
        counts={
            (target, name): ConditionCounts(planned=20, answered=20, scored=20, **of_responses)
            for target in targets
            for name in conditions
        },
        scale=(1, 10),
        worth=Estimate(1.4, n=len(models), unit="judgment"),
    )  # fmt: skip
    estimates, said = estimate(found, StressConfig())
    said["cost_cap"] = stop
    record = shown_record(conditions, targets, models, result=said, is_supplied=is_supplied)
    frame = estimates.frame()
    return frame, document(record, frame)


def shown_record(
    conditions: tuple[str, ...],
    targets: tuple[str, ...] = ("m",),
    models: tuple[str, ...] = ("judge",),
    *,
    result: dict[str, Any] | None = None,
    is_supplied: bool = False,
) -> dict[str, Any]:
    counted = {"responses_sha256": "0"} if is_supplied else {}
    return {
        "state": "complete",
        "demonstration": False,
        "targets": list(targets),
        "conditions": list(conditions),
        "identity": {
            "plan": StressConfig().plan,
            "panel": {"criteria": list(CRITERIA), "scale": [1, 10]},
            **counted,
        },
        "panel": {
            "personas": [{"id": "historian"}],
            "models": [
                {"name": name, "effective": {}, "requested": {}} for name in dict.fromkeys(models)
            ],
            "rubric": {"id": "critical_thinking", "label": "Critical thinking"},
        },
        "result": result or {},
    }


def text_of(shown: Document, *, full: bool = True) -> str:
    lines = render_text(shown, full=full)
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def of(frame: pd.DataFrame, measure: str, **keys: str) -> pd.DataFrame:
    rows = frame[(frame["table"] == "degradation") & (frame["measure"] == measure)]
    for name, value in keys.items():
        rows = rows[rows[name] == value]
    return rows


def test_the_answer_stands_first_with_its_grounds() -> None:
    _, shown = study(lost=2.0)
    (answer,) = shown.headline
    assert answer.startswith("m drops by 1.04 [0.87, 1.21] points under pressed")
    assert answer.endswith("no change is shown under begged, and none is ruled out.")
    trust = dict(shown.trust)
    assert trust["most in"] == "conceptual clarity (+2.02 under pressed)"
    assert trust["coverage"].startswith("60 of 60 responses scored")
    assert "direction" not in trust, "one model judged, as the line on judges says"
    assert trust["judges"].endswith("1 judgment, worth about 1.4 independent ones")
    assert trust["people"].startswith("Not checked against people yet")
    assert "UNBALANCED" not in trust["coverage"]
    assert len(render_text(shown)) <= 22, "with two lines more, of files and cost"


def test_a_framing_that_moves_one_criterion_is_not_called_steady() -> None:
    _, shown = study(lost=1.0, gained=1.0, seed=2)
    (answer,) = shown.headline
    assert answer == (
        "m stays within ±0.5 points under begged; under pressed only conceptual clarity drops by "
        "1.05 and evidential grounding rises by 1.10."
    )


def test_where_the_prompts_are_too_few_for_any_verdict_that_is_the_answer() -> None:
    _, shown = study(lost=2.0, texts=5)
    assert shown.headline == [
        (
            "m: nothing can be decided under any framing (5 prompts: an interval needs at least "
            "6); the largest is a drop by 1.04 under pressed."
        )
    ]
    _, shown = study(lost=2.0, texts=6)
    assert "drops by 1.06 [0.89, 1.22] points under pressed" in shown.headline[0]


def test_the_limits_that_are_shown_are_those_that_decide() -> None:
    frame, shown = study(lost=1.0, sd=0.7)
    cell = of(frame, "degradation", framing="pressed", criterion="composite").iloc[0]
    limits = f"[{cell['low_family']:.2f}, {cell['high_family']:.2f}]"
    assert f"drops by {cell['value']:.2f} {limits} points under pressed" in shown.headline[0]
    [table] = [one for one in shown.sections[0].parts if isinstance(one, Table)]
    shown_cell = table.rows[0][1]
    assert isinstance(shown_cell, Estimate)
    assert (shown_cell.low, shown_cell.high) == (cell["low_family"], cell["high_family"])


def test_many_framings_that_drop_have_the_least_and_the_most_of_it() -> None:
    frame, _ = study(lost=2.0, conditions=("baseline", "empirical_i", "x_y"))
    decided = frame["framing"].eq("x_y") & frame["criterion"].eq("composite")
    frame.loc[decided, ["value", "low_family", "high_family"]] = 3.0, 2.5, 3.5
    frame.loc[decided & frame["verdict"].notna(), "verdict"] = "higher"
    (answer,) = document(shown_record(("baseline", "empirical_i", "x_y")), frame).headline
    assert answer == (
        "m drops under “I” and x y: by 1.04 [0.87, 1.21] points (“I”) to 3.00 [2.50, 3.50] points "
        "(x y)."
    )


def test_a_drop_that_is_smaller_than_the_margin_says_so() -> None:
    _, shown = study(lost=0.3, sd=0.1)
    assert shown.headline[0].endswith(
        "; under pressed the change is smaller than the margin of 0.5."
    )


def test_several_targets_have_a_row_each_and_the_first_three_a_sentence() -> None:
    _, shown = study(lost=2.0, targets=tuple("abcde"))
    assert len(shown.headline) == 4
    assert shown.headline[-1] == "2 more targets below."
    (table,) = [p for p in shown.sections[0].parts if isinstance(p, Table)]
    assert [row[0] for row in table.rows] == list("abcde")
    assert str(table.rows[0][1]).endswith("*")


def test_cells_at_the_ceiling_are_named_with_what_is_decided_of_them() -> None:
    frame, shown = study(top=0.35)
    cell = of(frame, "degradation", framing="pressed", criterion="conceptual_clarity")
    assert list(cell["verdict"]) == ["alike"]
    said = text_of(shown)
    assert "pressed 35% 35% within ±0.5" in said
    assert "begged 35% 35% within ±0.5" in said
    assert "a rise can no longer show" in said
    assert "35% 35% open" in text_of(study(top=0.35, sd=1.5)[1])
    assert "At the top" not in text_of(study(top=0.09)[1])


def test_an_open_cell_has_its_number_of_prompts_where_more_would_tell() -> None:
    frame, shown = study(sd=1.2)
    cells = of(frame, "degradation")
    assert set(cells["verdict"]) == {"open"}
    needed = int(cells[cells["criterion"] == "composite"]["needed"].max())
    assert shown.headline == [
        f"m: no change is shown under any framing yet: {needed} prompts would tell."
    ]
    assert f" {needed} " in text_of(shown)

    # With a floor of noise or without: it informs, and decides nothing.
    bare, shown = study(sd=1.2, retest=0)
    columns = ["framing", "criterion", "value", "verdict"]
    assert of(bare, "degradation")[columns].equals(cells[columns])
    assert "how far scores move when judges are asked again is unknown" in text_of(shown).lower()


def test_scores_stay_alike_before_judges_that_repeat_themselves_word_for_word() -> None:
    frame, shown = study(sd=0.0, retest=0)
    assert set(of(frame, "degradation")["verdict"].dropna()) == {"alike"}
    assert shown.headline == ["m stays within ±0.5 points under pressed and begged."]
    said = text_of(shown, full=False)
    assert said.count("does not vary") == 1, "the reason is said once"
    # What has no value says why.
    assert frame["reason"][frame["value"].isna()].notna().all()


def test_framings_and_criteria_are_called_what_the_first_lines_call_them() -> None:
    _, shown = study(lost=2.0, conditions=("baseline", "empirical_friend", "long_night_shift"))
    said = text_of(shown)
    assert "“my friend” long night shift +1.0" in said, "contrasts too"
    for name in ("empirical_friend", "long_night_shift", *CRITERIA):
        assert name not in said
    four = study(lost=2.0, targets=("a", "b"), conditions=("baseline", "empirical_i", "x_y"))[1]
    (table,) = [part for part in four.sections[0].parts if isinstance(part, Table)]
    assert [column.title for column in table.columns] == ["target", "“I”", "x y"]


def test_judges_missing_on_one_side_are_marked_with_what_they_would_have_been_taken_for() -> None:
    models = ("a/kind",) * 2 + ("a/fair",) * 2 + ("a/harsh",) * 2
    missing = np.zeros((1, 3, 20, 1, 6, 2), dtype=bool)
    missing[:, 1, :, :, 4:] = True
    frame, shown = study(models=models, missing=missing)
    told = dict(shown.trust)["coverage"]
    assert (
        "Unbalanced (†): the share of judgments scored is 33 points lower under pressed than at "
        "the baseline. Only judges that scored both sides count, so that a/harsh is left out."
    ) in told
    (bounds,) = frame[frame["measure"] == "bounds"].to_dict("records")
    assert f"from −{-bounds['low']:.2f} to +{bounds['high']:.2f}." in told
    said = text_of(shown, full=False)
    assert "pressed †" in said
    assert "begged †" not in said
    assert "On one side only: judgments that count on neither side" in text_of(shown)
    assert "On one side only" not in text_of(study()[1])


def test_the_models_that_see_a_change_are_counted_and_shown_apart() -> None:
    _, shown = study(lost=2.0, models=("a/kind", "a/fair", "a/harsh"))
    assert dict(shown.trust)["direction"] == "3 of 3 models see it"
    (section,) = [one for one in shown.sections if one.name == "by-model"]
    (table,) = [part for part in section.parts if isinstance(part, Table)]
    assert len(table.rows) == 6, "two framings, three models"


def test_prompts_of_the_same_text_are_counted_once() -> None:
    frame, shown = study(texts=10)
    assert set(of(frame, "degradation")["n"].dropna()) == {10}
    assert dict(shown.trust)["coverage"].endswith("20 prompts of 10 different texts")
    assert "10 prompts with the text of another" in text_of(shown)


def test_supplied_conditions_are_not_called_framings() -> None:
    said = text_of(study(is_supplied=True)[1])
    assert "framing" not in said.lower()
    two = study(is_supplied=True, targets=("a", "b"))[1]
    assert "Conditions and targets compared" in [one.title for one in two.sections]
    assert "baseline minus condition" in said
    assert "baseline minus framing" in text_of(study()[1])


def test_judgments_that_abstain_and_responses_generated_again_have_their_columns() -> None:
    _, shown = study(
        judgments={"scored": 15, "abstained": 5},
        regenerated={"planned": 4, "scored": 3, "failed": 1},
    )
    said = text_of(shown)
    assert "once more: planned" in said
    assert "baseline 20 20 0 4 3" in said
    assert "baseline 15 5" in said
    assert "(15 abstained)" in dict(shown.trust)["coverage"]
    assert "once more: planned" not in text_of(study()[1])


def test_a_test_that_the_cap_stopped_says_so() -> None:
    _, shown = study(stop="stopped by the cost cap of $0.50: 12 of 40 planned responses asked for")
    assert "Stopped by the cost cap of $0.50: 12 of 40" in text_of(shown, full=False)


def test_every_figure_that_is_shown_is_an_estimate() -> None:
    frame, shown = study(lost=2.0)
    for section in shown.sections:
        for part in section.parts:
            if isinstance(part, Table) and section.name != "asked":
                for row in part.rows:
                    for value in row:
                        number = getattr(value, "value", value)
                        if isinstance(number, float) and number == number:
                            assert np.isclose(frame[["value", "low", "high"]], number).any()
