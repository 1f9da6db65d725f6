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


def test_a_study_in_rotation_is_told_with_its_design(tmp_path: Path) -> None:
    rows = study_rows(prompts=8, humans=6, calibration=False)
    write_csv(tmp_path / "responses.csv", rows)
    taus = {}
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
        frame = agreement(tmp_path / ratings).estimates
        keys = {"criterion": "conceptual_clarity", "detail": "score"}
        taus[name] = estimate_at(frame, "people", "tau", **keys)
    assert taus["agreed"].low > 0.3
    assert taus["lots"].covers(0)
