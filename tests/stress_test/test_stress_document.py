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
from areopagus.stress_test.estimates import StressScores, estimate

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
    pressed: dict[str, Any] | None = None,
    **of_responses: Any,
) -> tuple[pd.DataFrame, Document]:
    """Targets that lose so much clarity when pressed, and gain so much grounding."""
    rng = np.random.default_rng(1)
    scores = 6 + sd * rng.normal(size=(len(targets), 3, 20, 2))
    scores[:, 1, :, 0] -= lost
    scores[:, 1, :, 1] += gained
    judged = np.repeat(scores[:, :, :, None, None], len(models), axis=4)
    # So large a share of prompts is at the top in the first criterion, whatever is asked.
    judged[:, :, : round(20 * top), ..., 0] = 10
    if missing is not None:
        judged[missing] = np.nan
    found = StressScores(
        targets, conditions, tuple(f"p{k}" for k in range(20)), CRITERIA, models,
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
        quorum=2 / 3,
        worth=Estimate(1.4, n=len(models), unit="judgment"),
    )  # fmt: skip
    config = StressConfig()
    estimates, said = estimate(found, config)
    said["cost_cap"] = stop
    record = {
        "state": "complete",
        "demonstration": False,
        "targets": list(targets),
        "conditions": list(conditions),
        "identity": {
            "plan": config.plan,
            "panel": {"criteria": list(CRITERIA), "scale": [1, 10]},
            **({"responses_sha256": "0"} if is_supplied else {}),
        },
        "panel": {
            "personas": [{"id": "historian"}],
            "models": [
                {"name": name, "effective": {}, "requested": {}} for name in dict.fromkeys(models)
            ],
            "rubric": {"id": "critical_thinking", "label": "Critical thinking"},
        },
        "result": said,
    }
    frame = estimates.frame()
    is_pressed = (frame["table"] == "degradation") & (frame["framing"] == "pressed")
    for column, value in (pressed or {}).items():
        frame.loc[is_pressed, column] = value
    return frame, document(record, frame)


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
    assert answer.startswith("m holds its ground under begged, and degrades under pressed: +1.0")
    assert " [+" in answer, "signed as in the tables"
    assert answer.endswith(" points worse.")
    trust = dict(shown.trust)
    assert trust["most in"] == "conceptual clarity (+2.02 under pressed)"
    assert trust["coverage"].startswith("60 of 60 responses scored")
    assert "direction" not in trust, "one model judged, as the line on judges says"
    assert trust["judges"].endswith("1 judgment, worth about 1.4 independent ones")
    assert trust["people"].startswith("Not checked against people yet")
    assert "UNBALANCED" not in trust["coverage"]
    assert len(render_text(shown)) <= 22, "with two lines more, of files and cost"


def test_a_framing_that_moves_one_criterion_is_not_called_held() -> None:
    _, shown = study(lost=1.0, gained=1.0)
    (answer,) = shown.headline
    assert "holds its ground under begged; under pressed only conceptual clarity (+1.0" in answer


def test_where_the_prompts_are_too_few_for_any_verdict_that_is_the_answer() -> None:
    # Two means tested by flips of 5 signs: Holm's least p is 2 × 2/2^5.
    frame, shown = study(lost=2.0, texts=5)
    (answer,) = shown.headline
    needed = of(frame, "prompts_needed", criterion="composite")["value"].max()
    assert answer.startswith(
        "m: no change could be shown: with 5 prompts no p by Holm can be below 0.1250. The largest "
        "is that under pressed, +1.0"
    )
    assert answer.endswith(f"; {needed:.0f} prompts would decide every framing.")
    _, shown = study(lost=2.0, texts=3)
    assert "with 3 prompts no p by Holm can be below 0.5000" in shown.headline[0]
    assert "(3 prompts: an interval needs at least 6)" in shown.headline[0]
    # With 7 prompts a p of .03 can be reached, and is.
    _, shown = study(lost=2.0, texts=7)
    assert "degrades under pressed" in shown.headline[0]


def test_a_framing_far_from_0_that_is_not_shown_has_the_reason_and_so_have_cells() -> None:
    # Two means tested by flips of 6 signs: Holm's least p is 2 × 2/2^6, of four cells twice that.
    _, shown = study(lost=2.0, texts=6)
    assert shown.headline == [
        (
            "m holds its ground under begged; under pressed no change could be shown, since with 6 "
            "prompts no p by Holm can be below 0.0625."
        )
    ]
    [table] = [one for one in shown.sections[0].parts if isinstance(one, Table)]
    assert table.notes[0] == (
        "no single criterion could be called changed: with 6 prompts no p by Holm can be below "
        "0.1250"
    )
    # A p above .05 beside such an interval, where smaller ones are possible.
    for p, why in ((0.03, "p is above 0.05 by Holm"), (0.06, "p is above 0.05")):
        _, shown = study(lost=2.0, pressed={"verdict": "undecided", "p": p})
        assert "no single criterion" not in text_of(shown)
        assert shown.headline == [
            (
                "m holds its ground under begged; under pressed no change is shown, and none is "
                f"ruled out ({why}, although the interval leaves out 0)."
            )
        ]


def test_several_targets_have_a_row_each_and_the_first_three_a_sentence() -> None:
    _, shown = study(lost=2.0, targets=tuple("abcde"))
    assert len(shown.headline) == 4
    assert shown.headline[-1] == "2 more targets below."
    (table,) = [p for p in shown.sections[0].parts if isinstance(p, Table)]
    assert [row[0] for row in table.rows] == list("abcde")
    assert str(table.rows[0][1]).endswith("*")


def test_robust_and_undecided_cells_at_the_ceiling_are_named() -> None:
    frame, shown = study(top=0.35)
    cell = of(frame, "degradation", framing="pressed", criterion="conceptual_clarity")
    assert list(cell["verdict"]) == ["robust"]
    said = text_of(shown)
    assert "pressed 35% 35% robust" in said
    assert "begged 35% 35% robust" in said
    assert "a rise can no longer show" in said
    assert "35% 35% undecided" in text_of(study(top=0.35, sd=1.5)[1])
    assert "At the top" not in text_of(study(top=0.09)[1])


def test_an_undecided_cell_has_its_number_of_prompts_or_the_reason_why_not() -> None:
    frame, shown = study(sd=1.2)
    needed = of(frame, "prompts_needed")
    one = needed[needed["value"].notna()].iloc[0]
    assert one["value"] > 20
    assert one["method"] == "decides changed or robust"
    assert "is not inside ±0.5" in one["reason"]
    said = text_of(shown)
    assert "and no change as robust" in said
    assert f" {int(one['value'])} " in said

    # With a floor of noise or without: it informs, and decides nothing.
    bare, shown = study(sd=1.2, retest=0)
    columns = ["framing", "criterion", "value", "verdict"]
    assert of(bare, "degradation")[columns].equals(of(frame, "degradation")[columns])
    assert "how far scores move when judges are asked again is unknown" in text_of(shown).lower()


def test_robust_is_reached_by_judges_that_repeat_themselves_word_for_word() -> None:
    frame, shown = study(sd=0.3, retest=0)
    assert set(of(frame, "degradation")["verdict"].dropna()) == {"robust"}
    assert shown.headline == ["m holds its ground under pressed and begged."]
    frame, shown = study(sd=0.0, retest=0)
    assert set(of(frame, "degradation")["verdict"].dropna()) == {"robust"}
    said = text_of(shown, full=False)
    assert said.count("does not vary") == 1, "the reason is said once"
    assert not of(frame, "equivalence")["low"].notna().any(), "nor has the test of it an interval"
    assert "[" not in text_of(shown).split("the test of equivalence", 1)[1].split("Contrasts")[0]
    # What has no value says why.
    assert frame["reason"][frame["value"].isna()].notna().all()


def test_framings_and_criteria_are_called_what_the_first_lines_call_them() -> None:
    _, shown = study(lost=2.0, conditions=("baseline", "empirical_friend", "long_night_shift"))
    said = text_of(shown)
    assert "Under “my friend”, scores fall: " in said
    assert "“my friend” long night shift +1.0" in said, "contrasts too"
    for name in ("empirical_friend", "long_night_shift", *CRITERIA):
        assert name not in said
    four = study(lost=2.0, targets=("a", "b"), conditions=("baseline", "empirical_i", "x_y"))[1]
    (table,) = [part for part in four.sections[0].parts if isinstance(part, Table)]
    assert [column.title for column in table.columns] == ["target", "“I”", "x y"]


def test_a_p_over_all_tests_is_not_called_holms_of_the_family() -> None:
    said = text_of(study(lost=2.0)[1])
    assert "its “p over all tests” is at most 0.05" in said
    assert "(20 prompts, p over all tests " in said
    assert "(20 prompts, Holm p" not in said


def test_undecided_cells_are_counted_with_the_composites_that_are_among_them() -> None:
    for found, told in (
        (study(sd=0.95), "3 cells."),
        (study(sd=1.2), "5 cells, 1 composite among them."),
        (study(top=0.35, sd=1.5), "6 cells, 2 composites among them."),
    ):
        frame, shown = found
        needed = of(frame, "prompts_needed")["criterion"]
        assert told.startswith(f"{len(needed)} cells")
        assert ("composite" in told) == needed.eq("composite").any()
        assert f"Undecided: {told}" in text_of(shown)


def test_the_claim_for_all_cells_says_once_why_it_is_undefined() -> None:
    assert (
        "Robust in all cells: undefined, since 4 of 4 cells have no test (3 prompts: an interval "
        "needs at least 6)"
    ) in text_of(study(lost=2.0, texts=3)[1])


def test_judges_missing_on_one_side_are_marked_with_what_they_would_have_been_taken_for() -> None:
    models = ("a/kind",) * 2 + ("a/fair",) * 2 + ("a/harsh",) * 2
    missing = np.zeros((1, 3, 20, 1, 6, 2), dtype=bool)
    missing[:, 1, :, :, 4:] = True
    frame, shown = study(models=models, missing=missing)
    assert shown.headline == ["m holds its ground under pressed and begged."]
    told = dict(shown.trust)["coverage"]
    assert ("UNBALANCED (†) under pressed: 40 votes on one side only count on neither") in told
    assert "a/harsh left out" in told
    said = text_of(shown, full=False)
    assert "pressed †" in said
    assert "begged †" not in said
    assert len(render_text(shown)) <= 23
    (moved,) = of(frame, "moved", framing="pressed", criterion="composite").to_dict("records")
    raw, delta = (
        of(frame, name, framing="pressed", criterion="composite")["value"].iloc[0]
        for name in ("raw", "degradation")
    )
    assert (moved["value"], moved["verdict"]) == (raw - delta, "unbalanced")
    assert "Models left out of a comparison" in text_of(shown)
    assert "Unbalanced by: how far" in text_of(shown)
    assert "Unbalanced by" not in text_of(study()[1]), "where there is no such column"
    assert of(frame, "moved", framing="begged").empty


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
                            assert np.isclose(
                                frame[["value", "low", "high", "p", "p_adjusted"]], number
                            ).any()
