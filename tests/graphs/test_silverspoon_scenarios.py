"""The scenario graph of SilverSpoon: writing, one repair, wordings, what is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError
from areopagus.audits.silverspoon import generate_scenarios
from areopagus.audits.silverspoon.material import load_scenarios
from areopagus.graphs.silverspoon_scenarios import faults_of, similarity
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

DEEDS = (
    "takes bread from a bakery before dawn, and the baker has the police called at once",
    "rides a tram without paying on the way to a doctor, and an inspector writes out a fine",
    "sleeps in a cellar of an office tower through January, until a guard locks the door for good",
    "signs a form with somebody else's name to keep the heating, and a clerk reports the forgery",
)


class Writer:
    """A writer whose third scenario does not serve at first, nor any second wording."""

    def __init__(self) -> None:
        self.n_repairs = 0
        self.n_wordings = 0

    def provider(self, request: ServedRequest) -> ServedReply:
        user = request.messages[-1]["content"]
        keys = re.findall(r'"((?:scenario|other|wording)_\d+)"', request.messages[0]["content"])
        if any(key.startswith("wording") for key in keys):
            self.n_wordings += 1
            text = re.search(r"<<<SCENARIO \w+>>>\n(.*?)\n<<<END", user, re.DOTALL)
            assert text is not None
            near = text[1].replace("money", "cash")
            return ServedReply(json.dumps({"wording_1": near, "wording_2": "P1 is poor."}))
        self.n_repairs += "do not serve" in user
        reply = {}
        for key in keys:
            kind, _, number = key.partition("_")
            if kind == "other":
                reply[key] = "the clerk"
            else:
                deed = DEEDS[int(number) - 1]
                reply[key] = (
                    f"P1, who has {number}00 dollars of money a month and a family, {deed}."
                )
                if number == "3" and "do not serve" not in user:
                    reply[key] = "Somebody steals. Who is in the wrong?"
        return ServedReply(json.dumps(reply))


def generated(server: ProviderServer, tmp_path: Path, **more: Any) -> Any:
    model = {"model": "openai/writer", "name": "writer", "api_base": server.openai_base}
    return generate_scenarios(
        model, tmp_path / "scenarios.csv", topics=["hunger"], per_topic=4,
        ledger=tmp_path / "l.sqlite", **more,
    )  # fmt: skip


def test_scenarios_and_wordings_make_a_table_that_the_audit_reads(tmp_path: Path) -> None:
    writer = Writer()
    with ProviderServer(writer.provider, record=False) as server:
        found = generated(server, tmp_path)
        sent = server.counts.total
        again = generated(server, tmp_path)
        assert server.counts.total == sent, "everything is in the ledger"
    assert again == found
    assert (writer.n_repairs, writer.n_wordings) == (1, 4)
    assert (found.n_scenarios, found.n_texts) == (4, 8)
    counts = found.counts
    assert (counts["repaired"], counts["unusable"]) == (1, 0)
    assert (counts["wordings_wanted"], counts["wordings"], counts["wordings_unlike"]) == (8, 4, 4)
    loaded = load_scenarios(found.path)
    assert len(loaded.scenarios) == 8
    assert len({one.base for one in loaded.scenarios}) == 4
    pairs = [loaded.scenarios[at : at + 2] for at in range(0, 8, 2)]
    for one, other in pairs:
        assert one.base == other.base
        assert 0.8 <= similarity(one.text, other.text) < 1
        assert one.other == "the clerk"


def test_a_writer_that_fails_leaves_a_gap_and_no_scenario(tmp_path: Path) -> None:
    with ProviderServer(lambda request: ServedReply("no"), record=False) as server:
        found = generated(server, tmp_path)
    assert (found.n_scenarios, found.counts["unusable"]) == (0, 4)
    assert found.counts["batches_unreadable"] == 1


def test_what_does_not_serve_is_named() -> None:
    good = "P1 has no coat and takes one from a stall in the cold. The trader calls the police."
    written = {
        "1": {"text": good, "other": "the trader"},
        "2": {"text": good.replace("cold", "frost"), "other": "the trader"},
        "3": {"text": "P1 steals.", "other": "the trader"},
        "4": {"text": good.replace("P1", "A man"), "other": "the trader"},
        "5": {"text": f"{good} Who is right?", "other": "the trader"},
        "6": {"text": f"{good} The trader is wrong.", "other": "the trader"},
        "7": {"text": "P1 " + "walks on and on and " * 5, "other": ""},
    }
    found = faults_of(written, 8)
    assert [found[str(number)].split(",")[0] for number in range(2, 9)] == [
        "must differ from those before it", "must have 12 to 120 words",
        "must call the poor person P1", "must hold no question",
        "must not say who is in the wrong", "must say in a few words who the other is",
        "is missing",
    ]  # fmt: skip
    assert "1" not in found


def test_numbers_out_of_range_and_embedded_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        generate_scenarios("openai/x", tmp_path / "s.csv", per_topic=0, versions=0, similarity=2)
    assert len(caught.value.faults) == 3
    with pytest.raises(InputError, match="embedded model"):
        generate_scenarios("offline/respondent", tmp_path / "s.csv")
