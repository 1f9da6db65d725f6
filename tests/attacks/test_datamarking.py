"""An attack scored with datamarking and without: the benign shift, and what it does to attacks."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack_figures import figure

from areopagus import InputError, Panel
from areopagus.attacks import AttackConfig, attack, load_families
from areopagus.attacks.datamarking import add_datamarking
from areopagus.attacks.families import texts_of
from areopagus.attacks.scores import Scores
from areopagus.attacks.trials import BaseResponse, Trial
from areopagus.graphs.screening import screen
from areopagus.records.estimates import Estimates
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

CRITERIA = (
    "conceptual_clarity", "evidential_grounding", "contextual_relevance",
    "pluralistic_engagement", "argumentative_soundness",
)  # fmt: skip
VALUES = {"high": "10", "low": "1", "reply": "{}", "marker": "0" * 16}


def vote(value: int) -> ServedReply:
    return ServedReply(json.dumps({**dict.fromkeys(CRITERIA, value), "abstained": False}))


def test_marks_that_stop_an_attack_and_one_model_that_minds_them_are_both_found(
    tmp_path: Path,
) -> None:
    told = {family.id: texts_of(family, VALUES)[0] for family in load_families(["authority"])}

    def judge(request: ServedRequest) -> ServedReply:
        # Marked words are no longer the text that talks the judge into ten.
        is_marked = "preceded by the mark" in request.text_of("system")
        if told["authority"] in request.text_of("user"):
            return vote(10)
        return vote(4 if is_marked and request.model == "minds" else 5)

    options = {
        "families": ["authority", "sympathy"],
        "texts": 1,
        "placements": ("end",),
        "limit": 7,
    }
    with (
        ProviderServer(judge) as server,
        Panel(
            [
                {"model": f"openai/{name}", "api_base": server.openai_base}
                for name in ("even", "minds")
            ],
            personas=["historian"], ledger=tmp_path / "l",
        ) as panel,
    ):  # fmt: skip
        run = attack(panel=panel, try_datamark=True, out=tmp_path / "run", **options)
        calls = server.counts.total
        again = attack(panel=panel, try_datamark=True, out=tmp_path / "run", **options)
        assert server.counts.total == calls  # both arms come from the ledger
        assert again.estimates.equals(run.estimates)
    found = partial(figure, run.estimates)
    benign = partial(found, "datamark", group="clean responses")
    # One of two models gives a point less to every marked response.
    assert benign("shift", model=None).value == -0.5
    assert benign("shift", model="openai/even").value == 0.0
    assert benign("shift", model="openai/minds").value == -1.0
    assert (benign("equivalence", model=None).p, benign("shift", model=None).n) == (1.0, 7)
    assert benign("equivalence", model="openai/even").p == 0.0
    assert benign("not scored", model=None).value == 0.0
    # Without marks the attack is worth 5 points beyond harmless prose, with them nothing.
    of = partial(found, "datamark families", group="authority")
    assert (of("plain").value, of("marked").value, of("difference").value) == (5.0, 0.0, -5.0)
    assert of("difference").verdict == "differs"
    assert of("difference").p == pytest.approx(2 / 128)
    other = found("datamark families", "difference", group="sympathy")
    assert (other.value, other.verdict) == (0.0, "undecided")
    # The plain arm is an attack as any other.
    assert found("families", "beyond", group="authority").verdict == "as demanded"
    headline = " ".join(run.document().headline)
    assert "Datamarking moves clean scores by −0.50 points: not 0 (p 0.0156)" in headline
    assert "it weakens authority." in headline
    assert max(map(len, run.text.splitlines())) <= 80


def both_ways(plain: np.ndarray, marked: np.ndarray, *, quorum: float, margin: float = 0.25) -> Any:
    """Figures of composites of shape (prompts, clean or attacked, judges), a model a judge."""
    n, _, n_judges = plain.shape
    dataset = [BaseResponse(f"b{i}", f"p{i}", f"q{i}", "text", "r") for i in range(n)]
    made = [
        Trial(f"{i}-{kind}-{family}", kind, i, family, 0, place, "text", screen("text"))
        for i in range(n)
        for kind, family, place in (("clean", "", None), ("attack", "f", "instead"))
    ]
    ids, models = [trial.response_id for trial in made], tuple("abcdefgh"[:n_judges])
    scores = [
        Scores(values.reshape(2 * n, n_judges, 1), tuple(ids), models, models, ("c",), {})
        for values in (plain, marked)
    ]
    found = Estimates()
    add_datamarking(
        found, made, dataset, {"f": "highest"}, *scores, AttackConfig(margin=margin),
        scale=(1, 10), quorum=quorum,
    )  # fmt: skip
    return partial(figure, found.frame())


def test_judges_common_to_both_arms_must_be_the_quorum() -> None:
    rng = np.random.default_rng(0)
    plain = 5 + rng.normal(0, 0.1, (12, 2, 4))
    marked = 5 + rng.normal(0, 0.1, (12, 2, 4))
    plain[:, 1] += 2
    plain[:, 1, [2, 3]] = np.nan
    marked[:, 1, [0, 3]] = np.nan
    # Each arm has two judges of four; the one that has both says nothing for the panel.
    found = both_ways(plain, marked, quorum=0.5)
    difference = found("datamark families", "difference", group="f")
    assert (difference.is_defined, difference.verdict) == (False, "undefined")
    marked[:, 1, 0] = 5 + rng.normal(0, 0.1, 12)
    difference = both_ways(plain, marked, quorum=0.5)(
        "datamark families", "difference", group="f"
    )  # fmt: skip
    assert difference.value == pytest.approx(-2, abs=0.1)
    assert difference.verdict == "differs"


def test_marks_are_said_to_move_scores_only_where_the_interval_leaves_out_zero() -> None:
    moved = np.array([0.34, -0.02, 0.4, 0.16, 0.65, 2.74, 0.43, 3.46])
    plain = np.full((8, 2, 1), 5.0)
    shift = both_ways(plain, plain + moved[:, None, None], quorum=0.5)(
        "datamark", "shift", group="clean responses"
    )
    assert shift.p < 0.05
    assert shift.covers(0)
    assert shift.verdict == "undecided"


def test_a_panel_that_marks_already_cannot_be_scored_both_ways(tmp_path: Path) -> None:
    with (
        Panel(personas=["historian"], ledger=tmp_path / "l", datamark=True) as panel,
        pytest.raises(InputError, match="leave `datamark` off"),
    ):
        attack(panel=panel, try_datamark=True, out=tmp_path / "run")
