"""The garbage collector during a job: what stands is left alone, and given back afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from areopagus.experiment.engine import less_collection


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Whatever a test does to the collector is undone."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_was_there_is_frozen_within_the_outermost_block_only() -> None:
    with less_collection():
        assert gc.get_freeze_count() > 1000
        with less_collection():
            pass
        assert gc.get_freeze_count() > 1000
    assert gc.get_freeze_count() == 0


def test_what_somebody_else_has_frozen_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with less_collection():
        pass
    assert gc.get_freeze_count() > 0.9 * before  # some objects have died meanwhile


def test_within_the_block_the_collector_is_rarer_and_afterwards_as_it_was() -> None:
    gc.set_threshold(600, 5, 4)
    before = gc.get_threshold()
    with less_collection():
        assert gc.get_threshold() == (10_000, *before[1:])
        with less_collection():
            pass
        assert gc.get_threshold() == (10_000, *before[1:])
    assert gc.get_threshold() == before


@pytest.mark.parametrize("young", [0, 50_000])
def test_a_collector_that_is_switched_off_or_rarer_still_stays_so(young: int) -> None:
    gc.set_threshold(young, 5, 4)
    with less_collection():
        assert gc.get_threshold()[0] == young
    assert gc.get_threshold()[0] == young
