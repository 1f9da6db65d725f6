"""A run's money: the cap is never passed, and never in anybody's way for long."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus.judges.models.budget import Budget, BudgetReservation, BudgetSpentError


async def test_without_a_cap_everything_is_counted_and_nothing_is_held() -> None:
    budget = Budget()
    reservation = BudgetReservation(budget)
    await reservation.need(None)
    reservation.pay(1.5)
    reservation.pay(None)
    reservation.write_off(0.5)
    reservation.close()
    assert (budget.spent, budget.unknown_calls, budget.possibly_spent) == (1.5, 1, 0.5)


async def test_what_is_left_is_what_nobody_spent_or_set_aside() -> None:
    assert Budget().left is None
    budget = Budget(cap=1.0, spent=0.2, possibly_spent=0.1)
    await budget.reserve(0.3)
    assert budget.left == pytest.approx(0.4)
    budget.book(0.9)
    assert budget.left == 0.0


async def test_what_cannot_be_paid_even_when_all_has_settled_is_refused() -> None:
    budget = Budget(cap=1.0)
    with pytest.raises(BudgetSpentError):
        await BudgetReservation(budget).need(1.01)
    # The budget is closed then: a smaller call that would fit is not preferred to a larger one.
    with pytest.raises(BudgetSpentError):
        await BudgetReservation(budget).need(0.01)


async def test_an_unknown_price_is_refused_under_a_cap() -> None:
    with pytest.raises(BudgetSpentError, match="unknown"):
        await BudgetReservation(Budget(cap=1.0)).need(None)


async def test_a_call_waits_for_others_to_settle_rather_than_give_up() -> None:
    budget = Budget(cap=1.0)
    first, second = BudgetReservation(budget), BudgetReservation(budget)
    await first.need(0.9)
    waiting = asyncio.create_task(second.need(0.5))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.pay(0.1)
    first.close()
    await asyncio.wait_for(waiting, 1)
    second.pay(0.5)
    second.close()
    assert budget.spent == pytest.approx(0.6)


async def test_an_attempt_that_may_have_been_billed_counts_against_the_cap() -> None:
    budget = Budget(cap=1.0)
    reservation = BudgetReservation(budget)
    await reservation.need(0.4)
    reservation.write_off(0.4)
    await reservation.need(0.4)  # the second attempt sets its own worst case aside
    reservation.write_off(0.4)
    with pytest.raises(BudgetSpentError):
        await reservation.need(0.4)
    assert budget.possibly_spent == pytest.approx(0.8)


@given(
    seed=st.integers(0, 2**32 - 1),
    cap=st.floats(0.0, 5.0),
    calls=st.integers(1, 60),
)
@settings(max_examples=60, deadline=None)
def test_the_cap_is_never_passed_and_nobody_waits_for_ever(
    seed: int, cap: float, calls: int
) -> None:
    chance = random.Random(seed)
    budget = Budget(cap=cap)

    async def one() -> None:
        worst = chance.uniform(0.0, 0.6)
        reservation = BudgetReservation(budget)
        try:
            await reservation.need(worst)
            for _ in range(chance.randint(1, 2)):
                await asyncio.sleep(0)
                if chance.random() < 0.2:
                    reservation.write_off(worst / 2)
                else:
                    reservation.pay(chance.uniform(0.0, worst / 2))
                assert budget.spent + budget.possibly_spent <= cap + 1e-9
        except BudgetSpentError:
            return
        finally:
            reservation.close()

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*(one() for _ in range(calls))), 10)

    asyncio.run(all_of_them())
    assert budget.spent + budget.possibly_spent <= cap + 1e-9


async def test_two_that_need_more_do_not_wait_for_what_the_other_holds() -> None:
    # What broke: each kept what it had set aside for a repair while it waited for money for a
    # second attempt, and both waited for ever.
    budget = Budget(cap=1.0)
    reservations = [BudgetReservation(budget) for _ in range(4)]

    async def one(reservation: BudgetReservation) -> bool:
        try:
            await reservation.need(0.25)
            await asyncio.sleep(0)
            reservation.write_off(0.15)  # 0.10 is left in hand
            await reservation.need(0.25)
        except BudgetSpentError:
            return False
        finally:
            reservation.close()
        return True

    await asyncio.wait_for(asyncio.gather(*map(one, reservations)), 5)
    assert budget.spent + budget.possibly_spent <= 1.0


async def test_sums_of_many_small_amounts_do_not_leave_a_crumb_that_all_wait_for() -> None:
    budget = Budget(cap=1e6)
    held = [BudgetReservation(budget) for _ in range(100)]
    for number, reservation in enumerate(held):
        await reservation.need(1000 / (number + 3))
    for number, reservation in enumerate(held):
        reservation.pay(0.1 / (number + 7))
        reservation.close()
    # Nothing is reserved: whoever asks for too much is told so at once.
    with pytest.raises(BudgetSpentError):
        await asyncio.wait_for(BudgetReservation(budget).need(2e6), 5)
