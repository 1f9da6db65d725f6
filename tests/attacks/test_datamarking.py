"""An attack scored with datamarking and without: the benign shift, and what it does to attacks."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from attack_figures import figure

from areopagus import InputError, Panel
from areopagus.attacks import attack, load_families
from areopagus.attacks.families import texts_of
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


def test_a_panel_that_marks_already_cannot_be_scored_both_ways(tmp_path: Path) -> None:
    with (
        Panel(personas=["historian"], ledger=tmp_path / "l", datamark=True) as panel,
        pytest.raises(InputError, match="leave `datamark` off"),
    ):
        attack(panel=panel, try_datamark=True, out=tmp_path / "run")
