"""What the fuzzing of the readers starts from; the fuzzing is a command of benchmarks/README.md."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TARGETS = ["reply", "yaml", "tables", "binary_tables", "humans", "variants", "screen", "answers"]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_target_starts_from_is_read_or_refused(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = importlib.import_module("fuzz_seeds").seeds(target)
    readers = importlib.import_module("fuzz_readers")
    monkeypatch.setattr(readers, "_scratch", lambda: str(tmp_path))
    one = readers.TARGETS[target]()
    assert seeds
    for seed in seeds:
        one(seed)


def test_every_target_is_tried() -> None:
    assert list(importlib.import_module("fuzz_readers").TARGETS) == TARGETS
