"""Run folders that several tests of reports read."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_runs import (
    CRITERIA,
    HOSTILE,
    hostile_verdicts,
    make_run,
    plain_verdicts,
    respondent,
    write_texts,
)


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "plain", list(plain_verdicts(8)))


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    """Everything that a model or a user can name or write holds an attack."""
    verdicts = hostile_verdicts()
    run = make_run(
        tmp_path / "hostile",
        verdicts,
        demonstration=True,
        source=HOSTILE[1],
        notices=[HOSTILE[0], HOSTILE[4]],
        respondents=[
            respondent(HOSTILE[0]),
            respondent(HOSTILE[1], interval=None, reason="fewer than 6 prompts"),
            respondent(HOSTILE[4]),
            respondent(HOSTILE[6]),
            respondent("nobody", composite=None, interval=None, reason=HOSTILE[2], n_scored=0)
            | {"dimensions": {name: [None, None, None] for name in CRITERIA}},
        ],
        cost={"replies_usd": 0.0, "judgments_with_unknown_price": 6, "note": ""},
    )
    write_texts(
        run,
        {
            item.response_id: (f"asked: {item.prompt_id}", "</script>" + item.prompt_id * 2)
            for item in verdicts
        },
    )
    return run
