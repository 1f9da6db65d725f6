"""A study set: balanced, reproducible, and the same whatever the order of the rows."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

from areopagus.errors import InputError
from areopagus.prompts import sample_prompts, write_sample
from areopagus.records.readers.responses import PromptSource


def prompt_set(
    strata: dict[str, int], generators: tuple[str, ...] = ("a", "b", "c"), source: str = "bbq"
) -> list[dict[str, str]]:
    """So many scenarios a stratum, one prompt of each generator for each."""
    return [
        {
            "prompt_id": f"{source}-{stratum}-{i}-{generator}",
            "prompt_text": f"What about {source} {stratum} {i} {generator}?",
            "source": source,
            "stratum": stratum,
            "scenario_id": f"{source}-{stratum}-{i}",
            "generator": generator,
        }
        for stratum, n in strata.items()
        for i in range(n)
        for generator in generators
    ]


def ids(rows: list[dict[str, str]], n: int, seed: int = 0) -> list[str]:
    return [one.row.prompt_id for one in sample_prompts(rows, n, seed=seed).rows]


def test_with_more_strata_than_prompts_each_drawn_stratum_gives_one() -> None:
    rows = prompt_set({f"g{i}": 4 for i in range(11)})
    found = sample_prompts(rows, 10, seed=42)
    assert len(found.rows) == 10
    assert max(found.count("stratum").values()) == 1
    assert found.strata == {"bbq": 11}


def test_with_fewer_strata_they_share_evenly_and_short_ones_give_theirs_to_others() -> None:
    found = sample_prompts(prompt_set({"x": 20, "y": 20, "z": 1}), 12)
    # z has one scenario, so three prompts of it at the most; 12 = 4 + 4 + 4, z giving 3.
    counts = found.count("stratum")
    assert counts["bbq", "z"] == 3
    assert sorted(counts.values()) == [3, 4, 5]


def test_no_generator_dominates() -> None:
    rows = prompt_set({f"g{i}": 6 for i in range(5)})
    for seed in range(20):
        by = Counter(one.generator for one in sample_prompts(rows, 10, seed=seed).rows)
        assert max(by.values()) - min(by.values()) <= 1
    # Also over sources: 3 x 10 prompts of three generators are ten of each.
    three = [row for name in ("bbq", "hle", "msc") for row in prompt_set({"g": 30}, source=name)]
    by = Counter(one.generator for one in sample_prompts(three, 10, seed=1).rows)
    assert set(by.values()) == {10}


def test_no_scenario_comes_twice_while_others_are_left() -> None:
    rows = prompt_set({"x": 5, "y": 5})
    for seed in range(20):
        found = sample_prompts(rows, 10, seed=seed)
        assert len({one.row.extra["scenario_id"] for one in found.rows}) == 10


def test_the_order_of_rows_changes_nothing_and_the_seed_does() -> None:
    rows = prompt_set({"x": 6, "y": 7, "z": 3})
    straight = ids(rows, 8, seed=5)
    random.Random(1).shuffle(rows)
    assert ids(rows, 8, seed=5) == straight
    assert len({tuple(ids(rows, 8, seed=n)) for n in range(10)}) > 5


def test_every_prompt_has_the_chance_it_should_have() -> None:
    # One stratum of 12 scenarios x 3 generators, 3 drawn: each prompt has 3/36 = 1/12.
    rows = prompt_set({"x": 12})
    n = 120
    counts = Counter(name for seed in range(n) for name in ids(rows, 3, seed=seed))
    expected, error = n / 12, (n * (1 / 12) * (11 / 12)) ** 0.5
    assert len(counts) == 36
    assert max(abs(count - expected) for count in counts.values()) < 4 * error


def test_a_source_with_too_few_gives_all_it_has() -> None:
    found = sample_prompts(prompt_set({"x": 1}), 10)
    assert len(found.rows) == 3
    assert (found.wanted, found.available) == (10, {"bbq": 3})


def test_prompts_without_provenance_are_drawn_as_one_stratum() -> None:
    rows = [{"prompt_id": f"p{i}", "prompt_text": f"What is {i}?"} for i in range(9)]
    found = sample_prompts(rows, 4)
    assert [one.study_id for one in found.rows] == [
        "PROMPTS_01", "PROMPTS_02", "PROMPTS_03", "PROMPTS_04",
    ]  # fmt: skip


def test_the_study_set_can_be_asked_and_carries_its_columns(tmp_path: Path) -> None:
    rows = prompt_set({"x": 6}) + prompt_set({"y": 6}, source="hle")
    write_sample(tmp_path / "set.csv", sample_prompts(rows, 3))
    with (tmp_path / "set.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [row["study_id"] for row in written] == [
        "BBQ_01", "BBQ_02", "BBQ_03", "HLE_01", "HLE_02", "HLE_03",
    ]  # fmt: skip
    assert written[0]["generator"] in "abc"
    with PromptSource(tmp_path / "set.csv") as prompts:
        assert prompts.check().n_prompts == 6
    # A sample of a sample keeps one study_id.
    again = sample_prompts(tmp_path / "set.csv", 2)
    write_sample(tmp_path / "smaller.csv", again)
    header = (tmp_path / "smaller.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.split(",").count("study_id") == 1


def test_nothing_to_draw_from_is_refused() -> None:
    with pytest.raises(InputError, match="per_source"):
        sample_prompts(prompt_set({"x": 1}), 0)
    with pytest.raises(InputError):
        sample_prompts([], 3)
