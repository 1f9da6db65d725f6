"""The order in which judges are asked, and when it is enough."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus import InputError
from areopagus.graphs.stopping import (
    FIRST_BLOCK,
    PlannedJudgment,
    StoppingRule,
    balanced_order,
    ending_of,
    next_block,
    reached_half_width,
    why_enough,
)


def assignments(personas: int = 10, models: int = 3, repeats: int = 1) -> list[PlannedJudgment]:
    return [
        PlannedJudgment(f"p{p}|m{m}|{t}", f"m{m}", "one" if p < personas // 2 else "other", f"p{p}")
        for t in range(repeats)
        for m in range(models)
        for p in range(personas)
    ]


def parts(key: str) -> tuple[str, str, str]:
    persona, model, repeat = key.split("|")
    return persona, model, repeat


def test_an_order_holds_every_judgment_once_and_is_the_same_again() -> None:
    order = balanced_order(assignments(), seed=7, response_id="r1")
    assert sorted(order) == sorted(assignment.key for assignment in assignments())
    assert balanced_order(assignments(), seed=7, response_id="r1") == order
    # Whatever the order in which the panel lists them.
    assert balanced_order(assignments()[::-1], seed=7, response_id="r1") == order
    assert balanced_order(assignments(), seed=8, response_id="r1") != order
    assert balanced_order(assignments(), seed=7, response_id="r2") != order


def test_an_order_is_that_of_every_other_machine_and_version() -> None:
    # Runs are reproducible only if this never changes.
    order = balanced_order(assignments(2, 2), seed=0, response_id="r")
    assert order == ["p1|m0|0", "p0|m1|0", "p1|m1|0", "p0|m0|0"]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 10), st.integers(1, 4), st.integers(1, 3), st.integers())
def test_at_every_place_backends_axes_and_personas_are_asked_alike(
    personas: int, models: int, repeats: int, seed: int
) -> None:
    order = balanced_order(assignments(personas, models, repeats), seed=seed, response_id="r")
    for n in range(1, len(order) + 1):
        asked = [parts(key) for key in order[:n]]
        by_model = Counter(model for _, model, _ in asked)
        assert max(by_model.values()) - min(by_model[f"m{m}"] for m in range(models)) <= 1
    if personas == 10 and models == 3:
        first = [parts(key) for key in order[:10]]
        assert max(Counter(persona for persona, _, _ in first).values()) <= 2


def test_every_judge_comes_first_equally_often() -> None:
    first = Counter(
        balanced_order(assignments(4, 2), seed=0, response_id=f"r{i}")[0] for i in range(800)
    )
    assert len(first) == 8
    # binomial sd of 800 draws at 1/8 is 9.4
    assert all(abs(number - 100) < 45 for number in first.values())


def run(rule: StoppingRule, values: list[float | None], *, grain: float = 0.2) -> list[int]:
    """Sizes of the blocks until the rule has enough."""
    blocks: list[int] = []
    asked: list[float | None] = []
    while block := next_block(rule, len(values), asked, grain=grain):
        blocks.append(block)
        asked += values[len(asked) : len(asked) + block]
    return blocks


def test_a_first_block_is_asked_whatever_it_says() -> None:
    assert run(StoppingRule(5.0), [6.0] * 30) == [FIRST_BLOCK]
    assert run(StoppingRule(5.0), [6.0] * 5) == [5]


def test_the_rule_stops_at_the_first_place_at_which_the_half_width_is_reached() -> None:
    # Blocks must not ask for what looking after each judgment would not have; a failure more or
    # less in a block may.
    draw = random.Random(4)
    for _ in range(300):
        spread = draw.uniform(0.2, 2.0)
        values: list[float | None] = [
            draw.gauss(6, spread) if draw.random() > 0.1 else None for _ in range(30)
        ]
        width = draw.choice([0.25, 0.5, 1.0])
        asked = sum(run(StoppingRule(width), values))
        places = [
            n
            for n in range(1, 31)
            if sum(value is not None for value in values[:n]) >= FIRST_BLOCK
            and reached_half_width(30, values[:n], grain=0.2) <= width
        ]
        assert places[0] <= asked <= places[0] + 2
        assert reached_half_width(30, values[:asked], grain=0.2) <= width or asked == 30


def test_blocks_shrink_as_the_end_comes_near() -> None:
    values: list[float | None] = [5.0, 7.0] * 15
    blocks = run(StoppingRule(0.3), values)
    assert blocks[0] == FIRST_BLOCK
    assert all(later <= earlier for earlier, later in pairwise(blocks[1:]))
    assert blocks[-1] == 1


def test_judgments_that_came_to_nothing_are_made_up_for_and_leave_the_panel() -> None:
    values: list[float | None] = [None] * 3 + [6.0] * 27
    assert run(StoppingRule(1.0), values) == [8, 3]
    # 8 scored of the 27 that can still be: 1 - 8/27, not 1 - 8/30
    assert reached_half_width(30, values[:11], grain=1.0) < reached_half_width(
        30, values[3:11], grain=1.0
    )
    nothing: list[float | None] = [None] * 30
    assert sum(run(StoppingRule(1.0), nothing)) == 30


def test_an_allowance_is_kept_with_and_without_a_wanted_half_width() -> None:
    apart: list[float | None] = [1.0, 10.0] * 15
    assert run(StoppingRule(most=12), apart) == [12]
    assert run(StoppingRule(most=3), apart) == [3]
    assert run(StoppingRule(most=90), apart) == [30]
    assert sum(run(StoppingRule(0.25, most=12), apart)) == 12
    assert run(StoppingRule(0.25, most=5), apart) == [5]


def test_the_rule_says_why_it_stopped() -> None:
    calm: list[float | None] = [6.0, 6.2] * 4
    apart: list[float | None] = [1.0, 10.0] * 6
    rule = StoppingRule(0.5, most=12)
    assert ending_of(rule, 30, calm, grain=0.2) == "precise"
    assert ending_of(rule, 30, apart, grain=0.2) == "allowance"
    assert ending_of(rule, 12, apart, grain=0.2) == "everyone"
    assert ending_of(StoppingRule(most=8), 30, calm, grain=0.2) == "allowance"
    assert why_enough(rule, 30, calm, grain=0.2) == (
        "after 8 of 30 judgments the whole panel's mean is known to within 0.08; 0.5 was wanted"
    )
    assert "to within 2.31; no more than 12 were allowed" in why_enough(rule, 30, apart, grain=0.2)
    assert "cannot be told" in why_enough(StoppingRule(most=1), 30, [5.0], grain=0.2)


def test_rules_that_make_no_sense_are_refused_with_all_faults() -> None:
    with pytest.raises(InputError, match=r"(?s)precision.*judges_per_response"):
        StoppingRule(0.0, 0)
    with pytest.raises(InputError, match="must be given"):
        StoppingRule()
    with pytest.raises(InputError, match="above 0, got nan"):
        StoppingRule(float("nan"))
