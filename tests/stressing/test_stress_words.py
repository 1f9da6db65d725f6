"""What the report and the page say of ceilings, of prompts needed, and of supplied conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.experiment.cost_cap import CapStop
from areopagus.reports.stress_figures import draw_delta_heatmap, draw_scorecard
from areopagus.stressing import StressPlan
from areopagus.stressing.measure import StressFigures, measure
from areopagus.stressing.page import StressPage, write_stress_page
from areopagus.stressing.table import ConditionCounts, StressScores
from areopagus.stressing.text import stress_lines

CONDITIONS = ("baseline", "pressed", "begged")
DIMENSIONS = ("conceptual_clarity", "evidential_grounding")
PROMPTS = tuple(f"p{place}" for place in range(20))
RECORD: dict[str, Any] = {"state": "complete", "identity": {}}


def figures_of(
    *, top: float = 0.0, sd: float = 0.3, retest: int = 12, **tally: Any
) -> StressFigures:
    rng = np.random.default_rng(1)
    scores = 6 + sd * rng.normal(size=(1, 3, len(PROMPTS), 2))
    shares = np.full(scores.shape, 0.02)
    shares[:, :2, :, 0] = top
    counts = {
        ("m", name): ConditionCounts(planned=20, answered=20, scored=20, **tally)
        for name in CONDITIONS
    }
    found = StressScores(
        ("m",), CONDITIONS, PROMPTS, DIMENSIONS, scores, np.zeros(scores.shape[:3]),
        np.empty((0, 2, 2)), counts, (1, 10),
    )  # fmt: skip
    pairs = 6 + 0.1 * rng.normal(size=(retest, 2, 2))
    return measure(found, StressPlan(), pairs, shares)


def text_of(figures: StressFigures, **options: Any) -> str:
    lines = stress_lines(figures, StressPlan(), demonstration=False, judges="1 persona", **options)
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def page_of(folder: Path, figures: StressFigures, **more: Any) -> str:
    page = StressPage(
        figures=figures, plan=StressPlan(), judges="1 persona", is_demonstration=False,
        rewriting=None, figures_folder=folder, record=RECORD, **more,
    )  # fmt: skip
    return write_stress_page(folder / "r.html", page).read_text(encoding="utf-8")


def test_robust_and_undecided_cells_at_the_ceiling_are_named_in_report_and_page(
    tmp_path: Path,
) -> None:
    high = figures_of(top=0.35)
    assert high.degradation.cell("m", "pressed", "conceptual_clarity").verdict == "robust"
    said = text_of(high)
    # The baseline's own judgments stand there, so every framing's cell of the dimension is named.
    assert "robust, at top ^: pressed CC 35%/35%, begged CC 35%/2%" in said
    assert "=^" in said
    assert "there a rise can no longer show" in said
    page = page_of(tmp_path, high)
    assert "robust (at the top)" in page
    assert "35%/2%" in page
    undecided = text_of(figures_of(top=0.35, sd=1.5))
    assert "undecided, at top: pressed CC 35%/35%" in undecided
    low = figures_of(top=0.09)
    assert "at top" not in text_of(low)
    assert "=^" not in text_of(low)
    assert "robust (at the top)" not in page_of(tmp_path, low)


def test_an_undecided_cell_has_its_number_of_prompts_or_the_reason_why_not(tmp_path: Path) -> None:
    measured = figures_of(sd=1.2)
    cell = next(c for c in measured.degradation.cells if c.verdict == "undecided")
    assert cell.prompts_needed is not None
    assert cell.prompts_needed > 20
    assert cell.prompts_needed_for == "changed or robust"
    assert f"({cell.prompts_needed} prompts)" in text_of(measured)
    assert "no change as robust" in text_of(measured)

    unmeasured = figures_of(sd=0.8, retest=0)
    cells = [c for c in unmeasured.degradation.cells if c.dimension]
    assert all(c.prompts_needed_for in ("changed", None) for c in cells)
    # Without a noise floor no number of prompts makes a cell robust: it is that of detection.
    alone = next(c for c in cells if c.prompts_needed is not None)
    assert alone.prompts_needed == alone.prompts_to_detect
    said = text_of(unmeasured)
    assert "(as changed only)" in said
    assert "no number makes it robust" in said
    assert "as changed only" in page_of(tmp_path, unmeasured)

    still = figures_of(sd=0.0, retest=0)
    (reason,) = {c.prompts_needed_reason for c in still.degradation.cells}
    assert reason == "its deltas do not vary"
    assert "no number: its deltas do not vary" in text_of(still)
    plain = still.degradation.to_json()["cells"][0]
    assert plain["prompts_needed"] is None
    assert plain["prompts_needed_reason"] == reason

    enough = figures_of(sd=0.3, retest=0)
    (why,) = {c.prompts_needed_reason for c in enough.degradation.cells}
    assert "it has so many already" in str(why)


def test_supplied_conditions_are_not_called_framings(tmp_path: Path) -> None:
    figures = figures_of()
    said = text_of(figures, is_supplied=True)
    assert "framing" not in said
    assert "20 prompts, 2 conditions, 1 target" in said
    assert "baseline minus condition" in said
    assert "framing" not in page_of(tmp_path, figures, is_supplied=True).split("<main")[-1]
    assert "2 framings" in text_of(figures)


def test_judgments_that_abstain_and_responses_generated_again_have_their_columns() -> None:
    figures = figures_of(
        judgments={"scored": 15, "abstained": 5},
        regenerated={"planned": 4, "scored": 3, "failed": 1},
    )
    said = text_of(figures)
    assert "abst." in said
    assert "20 of 20 0 3 of 4 15 of 20 5" in said
    assert "once more" not in text_of(figures_of())


def test_a_test_that_the_cap_stopped_says_so_first() -> None:
    stop = CapStop(0.5, 40, 12, "responses")
    said = text_of(figures_of(), stop=stop)
    assert said.startswith("Stopped by the cost cap of $0.50: 12 of 40 planned responses")


@pytest.mark.pictures
@pytest.mark.parametrize("is_demonstration", [True, False])
def test_pictures_say_that_they_are_a_demonstration_and_what_a_star_means(
    tmp_path: Path, is_demonstration: bool
) -> None:
    table = np.full((1, 2, 2), 1.0)
    draw_scorecard(
        tmp_path / "s", targets=["m"], conditions=CONDITIONS[:2], dimensions=DIMENSIONS,
        mean=table + 4, se=table, baseline="baseline", scale=(1, 10),
        is_demonstration=is_demonstration,
    )  # fmt: skip
    draw_delta_heatmap(
        tmp_path / "h", targets=["m"], conditions=CONDITIONS[1:], dimensions=DIMENSIONS,
        delta=table, mean_column=table[..., 0], labels_say="* changed",
        is_demonstration=is_demonstration,
    )  # fmt: skip
    for name in ("s", "h"):
        svg = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert ("DEMONSTRATION" in svg) is is_demonstration
    assert "* changed" in (tmp_path / "h.svg").read_text(encoding="utf-8")
