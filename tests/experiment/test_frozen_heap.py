"""The garbage collector during a job: what stands is left alone, and given back afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from areopagus.experiment.engine import frozen_heap


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Whatever a test does to the collector is undone."""
    yield
    gc.unfreeze()


def test_what_was_there_is_frozen_within_the_outermost_block_only() -> None:
    with frozen_heap():
        assert gc.get_freeze_count() > 1000
        with frozen_heap():
            pass
        assert gc.get_freeze_count() > 1000
    assert gc.get_freeze_count() == 0


def test_what_somebody_else_has_frozen_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with frozen_heap():
        pass
    assert gc.get_freeze_count() > 0.9 * before  # some objects have died meanwhile
