"""A design among the estimates of a run, and in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from areopagus.aggregation.design import Design, design_of
from areopagus.records.design import add_design, design_sentence, stored_design
from areopagus.records.estimates import Estimates


def of(prompts: int, each: int, personas: int, models: int, **given: Any) -> Design:
    """The design of a crossed panel."""
    q, k, p, m = (i.ravel() for i in np.indices((prompts, each, personas, models)))
    return design_of(q, q * each + k, p, m, **given)


HARSH = np.arange(100 * 3 * 30) % 3 != 0
HARSH[: 90 * 30] = True  # the first of three models ends after 90 of 300 responses

CANNOT = "Response and prompt cannot be told apart."
SENTENCES = [
    (
        of(100, 3, 10, 3),
        "100 prompts with 3 responses each, all judged by the same 10 personas × 3 models",
    ),
    (
        of(500, 1, 10, 3),
        "500 prompts with one response each, all judged by the same 10 personas × 3 models. "
        + CANNOT,
    ),
    (
        of(40, 2, 10, 1),
        (
            "40 prompts with 2 responses each, all judged by the same 10 personas on one model. "
            "These intervals hold for this model only."
        ),
    ),
    (
        of(40, 2, 1, 3),
        (
            "40 prompts with 2 responses each, all judged by one persona on 3 models. "
            "These intervals hold for this persona only."
        ),
    ),
    (
        of(1, 9, 1, 1),
        (
            "one prompt with 9 responses, judged by one judge, asked once. "
            "The error of a judge and the response cannot be told apart."
        ),
    ),
    (
        design_of([0, 0, 1, 1], [0, 0, 1, 1], [0] * 4, [0] * 4, repeat=[0, 1, 0, 1]),
        (
            "2 prompts with one response each, judged by one judge, asked 2 times. "
            f"{CANNOT} These intervals hold for this judge only."
        ),
    ),
    (
        design_of([0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 2], [0, 0, 0, 1]),
        (
            "one prompt with 2 responses, each judged by 2 of 3 judges "
            "(3 personas on 2 models, not crossed)"
        ),
    ),
    (
        of(100, 3, 10, 3, scored=HARSH, model_names=["x/harsh", "x/soft", "x/mild"]),
        (
            "100 prompts with 3 responses each, all judged by the same 10 personas × 3 models. "
            "UNBALANCED: model x/harsh scored 900 of 3,000."
        ),
    ),
]


@pytest.mark.parametrize(("design", "said"), SENTENCES)
def test_every_design_is_one_plain_sentence(design: Design, said: str) -> None:
    assert design_sentence(design) == said


@pytest.mark.parametrize("design", [design for design, _ in SENTENCES])
def test_a_design_is_read_as_it_was_written(design: Design) -> None:
    out = Estimates()
    add_design(out, design)
    assert stored_design(out.frame()) == design


def test_figures_without_a_design_have_none() -> None:
    assert stored_design(Estimates().frame()) is None


def test_respondents_are_named_by_how_they_answered() -> None:
    who = np.indices((20, 3, 2, 2))[1].ravel()
    both = of(20, 3, 2, 2, respondent=who)
    assert design_sentence(both).startswith("20 prompts, each answered by 3 respondents, all")
    apart = of(20, 1, 2, 2, respondent=np.repeat([0, 1], 40))
    assert "one response each (2 respondents, who share no prompt)" in design_sentence(apart)
    q = np.repeat([0, 0, 0, 1], 2)
    uneven = design_of(q, np.repeat(np.arange(4), 2), [0, 1] * 4, [0] * 8)
    assert design_sentence(uneven).startswith("2 prompts with 1 to 3 responses (4 in all), all")
