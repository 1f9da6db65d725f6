"""The study kit's own design, in which raters see different responses of a prompt, has its W."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from in_process import areopagus
from study_data import rate, study_rows, write_csv

from areopagus.calibration import agreement
from areopagus.records.estimates import estimate_at


def opinion(code: str, number: int, row: Mapping[str, Any], place: int) -> int:
    """Every rater sees the same quality, with noise of less than half of its spread."""
    chance = random.Random(f"{code} {row['response_id']} {place}")
    quality = random.Random(row["response_id"]).gauss(5.5, 1.8)
    return min(10, max(1, round(quality + chance.gauss(0, 0.8))))


def at_random(code: str, number: int, row: Mapping[str, Any], place: int) -> int:
    """Nobody agrees with anybody."""
    return random.Random(f"{code} {row['response_id']} {place}").randint(1, 10)


def test_the_w_of_a_study_in_rotation_is_printed_with_its_design(tmp_path: Path) -> None:
    rows = study_rows(prompts=8, humans=6, calibration=False)
    write_csv(tmp_path / "responses.csv", rows)
    found = {}
    for name, score in (("agreed", opinion), ("lots", at_random)):
        built = areopagus("study", "build", "responses.csv", "--raters", 6, "--out", name,
                          "--seed", 3, folder=tmp_path)  # fmt: skip
        assert built.returncode == 0, built.stderr
        rate(tmp_path / name, score)
        assert areopagus("study", "collect", name, folder=tmp_path).returncode == 0
        ratings = f"{name}/collected/ratings.csv"
        done = areopagus("agreement", ratings, "--full", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        plain = " ".join(done.stdout.split())
        # three of six people and the three models in each packet
        assert "In rotation: 6 of 9 responses a rater in 8 prompts, not balanced" in plain
        assert "W by Skillings-Mack (8 prompts). Skillings-Mack" in plain
        frame = agreement(tmp_path / ratings).estimates
        keys = {"criterion": "conceptual_clarity", "detail": "score"}
        for measure in ("w", "w_by_chance", "mean_spearman", "skillings_mack"):
            one = estimate_at(frame, "people", measure, **keys)
            assert one is not None
            found[name, measure] = one
    chance = found["agreed", "w_by_chance"].value
    assert 0.1 < chance < 0.5
    assert found["agreed", "w"].low > chance + 0.3
    assert found["agreed", "skillings_mack"].p < 0.01
    assert found["agreed", "mean_spearman"].p < 0.01
    assert abs(found["lots", "w"].value - chance) < 0.15
    assert found["lots", "mean_spearman"].covers(0)
    assert found["lots", "skillings_mack"].p > 0.01
