"""What a contrast of any method has changed by, from one long table to another."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from areopagus.aggregation.effects import Contrast, Scores
from areopagus.changes.contrasts import changes_of, describe
from areopagus.changes.figures import WHEN, Change, add_changes
from areopagus.records.estimates import Estimates, estimate_at

LOSS = Contrast(
    {"plain": 1, "pressed": -1}, "score", {"table": "losses", "measure": "loss", "framing": "p"}
)
LEVEL = Contrast(
    {"plain": 1}, "score", {"table": "levels", "measure": "mean", "framing": "q"}, "levels"
)


def table(loss: np.ndarray, *, judges: int = 3, without: tuple[int, ...] = ()) -> pd.DataFrame:
    """A plain and a pressed answer to each prompt, scored by judges who differ in severity."""
    return pd.DataFrame(
        [
            {"arm": arm, "unit": f"u{unit}", "item": f"i{unit}", "judge": f"j{judge}",
             "text": f"{arm} {unit}", "score": 7.0 + unit % 3 - judge - (arm == "pressed") * lost}
            for unit, lost in enumerate(loss) for judge in range(judges)
            for arm in ("plain", "pressed")
            if unit not in without
        ]
    )  # fmt: skip


def coded(rows: pd.DataFrame) -> Scores:
    return Scores.of(
        {str(name): column for name, column in rows.items()}, arm="arm", unit="unit", item="item",
        persona="judge", columns=["score"],
    )  # fmt: skip


def changed(before: pd.DataFrame, after: pd.DataFrame, margin: float | None = None) -> Change:
    (one,) = changes_of(before, after, [LOSS], coded, describe, margin=margin)
    return one


BEFORE = np.array([2.0, 2.5, 1.5, 2.0, 3.0, 1.0, 2.0, 2.5])
AFTER = np.array([1.0, 0.5, 1.0, 0.0, 1.5, 0.5, 1.0, 0.5])


def test_a_change_is_the_contrast_after_less_that_before_prompt_by_prompt() -> None:
    one = changed(table(BEFORE), table(AFTER))
    differences = AFTER - BEFORE
    assert one.change.value == pytest.approx(differences.mean())
    assert one.change.se == pytest.approx(differences.std(ddof=1) / np.sqrt(8))
    assert (one.change.verdict, one.change.n) == ("lower", 8)
    assert (one.before.value, one.after.value) == pytest.approx((BEFORE.mean(), AFTER.mean()))
    # What one run decides by itself is in its own folder.
    assert (one.before.verdict, one.after.verdict) == (None, None)


def test_values_before_and_after_are_on_what_both_runs_have() -> None:
    """Two prompts are new, and a judge is missing on one: it counts there in neither run."""
    after = table(AFTER)
    lost = (after["unit"] == "u0") & (after["judge"] == "j0") & (after["arm"] == "plain")
    one = changed(table(BEFORE, without=(6, 7)), after[~lost])
    assert (one.change.n, one.before.n, one.after.n) == (6, 6, 6)
    assert one.change.value == pytest.approx(one.after.value - one.before.value)
    assert one.before.value == pytest.approx(BEFORE[:6].mean())


def test_an_item_whose_text_is_another_in_the_other_run_counts_in_neither() -> None:
    after = table(AFTER)
    after.loc[(after["unit"] == "u1") & (after["arm"] == "pressed"), "text"] = "worded anew"
    one = changed(table(BEFORE), after)
    kept = np.arange(8) != 1
    assert one.change.n == 7
    assert one.change.value == pytest.approx((AFTER - BEFORE)[kept].mean())


def test_what_is_shown_to_lie_within_the_margin_is_alike_and_a_lacking_arm_left_out() -> None:
    small = BEFORE + np.array([0.1, -0.1] * 4)
    assert changed(table(BEFORE), table(small), margin=0.5).change.verdict == "alike"
    plain = table(AFTER)
    plain = plain[plain["arm"] == "plain"]
    (level,) = changes_of(table(BEFORE), plain, [LOSS, LEVEL], coded, describe)
    assert level.of["measure"] == "mean"
    assert level.change.value == pytest.approx(0.0)


def test_rows_are_told_apart_by_the_key_when() -> None:
    out = Estimates()
    add_changes(out, [changed(table(BEFORE), table(AFTER))])
    rows = out.frame()
    assert rows["when"].tolist() == list(WHEN)
    assert set(rows["measure"]) == {"loss"}
    change = estimate_at(rows, "losses", "loss", framing="p", when="change")
    assert change is not None
    assert change.verdict == "lower"
