"""The garbage collector during a job: what stands is left alone, and given back afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from areopagus.experiment.engine import frozen_heap


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Whatever a test does to the collector is undone."""
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_what_was_there_is_frozen_within_the_outermost_block_only() -> None:
    gc.set_threshold(700, 10, 10)
    with frozen_heap():
        assert gc.get_freeze_count() > 1000
        assert gc.get_threshold()[0] > 700
        with frozen_heap():
            pass
        assert gc.get_freeze_count() > 1000
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == (700, 10, 10)


def test_blocks_that_end_in_another_order_end_all_the_same() -> None:
    gc.set_threshold(700, 10, 10)
    one, other = frozen_heap(), frozen_heap()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_freeze_count() > 0
    other.__exit__(None, None, None)
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, (700, 10, 10))


def test_what_somebody_else_has_frozen_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with frozen_heap():
        pass
    assert gc.get_freeze_count() > 0.9 * before  # some objects have died meanwhile


def test_a_collector_that_is_off_stays_as_it_is() -> None:
    gc.set_threshold(0)
    with frozen_heap():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0
