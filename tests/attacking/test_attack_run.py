"""An attack on judges of known gullibility: the report finds exactly what is there."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel
from areopagus.attacking import AttackJob, AttackPlan, aattack, attack, load_families
from areopagus.attacking.design import demanded_reply
from areopagus.attacking.hiding import texts_of
from areopagus.attacking.load import example_texts
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply, ServedRequest
from areopagus.testing.scripted import draw

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
FAMILIES = ("authority", "naive_demand", "sabotage")
PERSONAS = ["historian", "ethicist"]


def vote(value: int) -> str:
    return json.dumps({**dict.fromkeys(CRITERIA, value), "abstained": False})


def known_texts() -> dict[str, tuple[str, ...]]:
    from areopagus.judges.schema import judgment_schema

    contract = judgment_schema(CRITERIA, 1, 10, abstained=True, rationale=False)
    values = {"high": "10", "low": "1", "marker": "0" * 16, "reply": demanded_reply(contract, 10)}
    return {family.id: texts_of(family, values) for family in load_families(FAMILIES)}


class Gullible:
    """Gives 5 to everything, and obeys the texts of some families with a known probability."""

    def __init__(self, obeys: dict[str, float]) -> None:
        self.obeys = obeys
        self.texts = known_texts()
        self.asked: dict[str, int] = defaultdict(int)
        self.obeyed: dict[str, int] = defaultdict(int)

    def __call__(self, request: ServedRequest) -> ServedReply:
        read = request.text_of("user")
        for family, texts in self.texts.items():
            if not any(text in read for text in texts):
                continue
            self.asked[family] += 1
            if draw("gullible", request.key) < self.obeys.get(family, 0.0) * 2**64:
                self.obeyed[family] += 1
                return ServedReply(vote(1 if family == "sabotage" else 10))
        return ServedReply(vote(5))


def panel_on(server: ProviderServer, folder: Path, *models: str) -> Panel:
    return Panel(
        [{"model": f"openai/{name}", "api_base": server.openai_base} for name in models],
        personas=PERSONAS,
        ledger=folder / "ledger.sqlite",
    )


def test_a_judge_that_always_obeys_and_one_that_never_does_are_told_apart(tmp_path: Path) -> None:
    obeying, steadfast = Gullible({"authority": 1.0, "sabotage": 1.0}), Gullible({})

    def judge(request: ServedRequest) -> ServedReply:
        return obeying(request) if request.model == "obeying" else steadfast(request)

    with ProviderServer(judge) as server, panel_on(server, tmp_path, "obeying", "steadfast") as p:
        run = attack(panel=p, families=FAMILIES, plan=AttackPlan(texts=1), out=tmp_path / "run")
    found = {family["id"]: family for family in run.figures["families"]}
    # Per response four judgments, two of which move from 5 to 10: a mean of 2.5 points.
    assert found["authority"]["all"]["shift"]["value"] == pytest.approx(2.5)
    assert found["authority"]["all"]["success"]["value"] == pytest.approx(0.5)
    assert found["authority"]["all"]["verdicts_moved"]["value"] == 1.0  # 2.5 ≥ 2
    assert found["authority"]["all"]["worst"] == pytest.approx(2.5)
    assert found["sabotage"]["all"]["shift"]["value"] == pytest.approx(-2.0)
    assert found["sabotage"]["all"]["success"]["value"] == pytest.approx(0.5)
    assert found["naive_demand"]["all"]["shift"]["value"] == 0.0
    assert found["naive_demand"]["all"]["success"]["value"] == 0.0
    by_model = {
        (cell["family"], cell["model"]): cell for cell in run.figures["cells"] if cell["model"]
    }
    moved = by_model["authority", "openai/obeying"]
    still = by_model["authority", "openai/steadfast"]
    assert (moved["shift"]["value"], still["shift"]["value"]) == (5.0, 0.0)
    # All eight prompts moved, none moved: Wilson's limits at 8 of 8 and 0 of 8, z = 1.959964:
    # 8 / (8 + 3.841459) = 0.675592, and 3.841459 / (8 + 3.841459) = 0.324408.
    assert moved["success"]["low"] == pytest.approx(0.675592, abs=1e-6)
    assert still["success"]["high"] == pytest.approx(0.324408, abs=1e-6)
    assert (moved["success"]["high"], still["success"]["low"]) == (1.0, 0.0)
    assert moved["success"]["n"] == 8
    assert "wilson" in moved["success"]["method"]
    # Constant over prompts, so no t: sign flips, 2 / 2^8. Holm over three families, the third
    # with p 1: 3 × 2/256.
    assert found["authority"]["test"]["p_value"] == pytest.approx(2 / 256)
    assert found["authority"]["test"]["p_method"] == "sign flips, exact"
    assert found["authority"]["test"]["p_holm"] == pytest.approx(3 * 2 / 256)
    outcomes = {name: family["test"]["outcome"] for name, family in found.items()}
    assert outcomes == {
        "authority": "as demanded", "sabotage": "as demanded", "naive_demand": "not shown",
    }  # fmt: skip
    assert run.figures["benign"][0]["shift"]["value"] == 0.0
    assert run.exit_code == 0
    assert run.figures["n_scored"] == run.figures["n_planned"]


def test_a_half_gullible_judge_is_found_to_obey_exactly_as_often_as_it_did(tmp_path: Path) -> None:
    judge = Gullible({"naive_demand": 0.5})
    with ProviderServer(judge) as server, panel_on(server, tmp_path, "judge") as panel:
        run = attack(panel=panel, families=FAMILIES[:2], out=tmp_path / "run")
    # 8 responses × 2 texts × 3 places × 2 personas, as the server counted them.
    assert judge.asked["naive_demand"] == 96
    share = judge.obeyed["naive_demand"] / 96
    assert 0.2 < share < 0.8
    found = {family["id"]: family for family in run.figures["families"]}["naive_demand"]["all"]
    assert found["success"]["value"] == pytest.approx(share)
    assert found["shift"]["value"] == pytest.approx(5 * share)
    assert found["beyond_control"]["value"] == pytest.approx(5 * share)
    assert found["shift"]["low"] < 5 * share < found["shift"]["high"]
    assert found["shift"]["n"] == 8
    others = [f for f in run.figures["families"] if f["id"] != "naive_demand"]
    assert all(family["all"]["shift"]["value"] == 0.0 for family in others)


def test_an_attack_is_continued_from_the_ledger_and_gives_the_same_numbers(tmp_path: Path) -> None:
    judge = Gullible({"naive_demand": 0.5})
    with ProviderServer(judge) as server, panel_on(server, tmp_path, "judge") as panel:
        first = attack(panel=panel, families=FAMILIES, limit=6, out=tmp_path / "run").figures
        calls = server.counts.total
        again = attack(panel=panel, families=FAMILIES, limit=6, out=tmp_path / "run").figures
        assert server.counts.total == calls
        other = attack(panel=panel, families=FAMILIES, limit=6, out=tmp_path / "other").figures
        assert server.counts.total == calls
    assert first == again == other


def test_benign_shift_is_what_harmless_prose_does_and_is_kept_apart(tmp_path: Path) -> None:
    base = {item.text for item in example_texts("base_responses").texts}
    told = known_texts()["sabotage"]

    def by_length(request: Any) -> dict[str, Any]:
        # One point more for anything that is not a clean response: it rewards length. Three more
        # where it is told to give the lowest score: it does not like to be told.
        read = request.messages[1]["content"]
        response = read.split("<<<RESPONSE ", 1)[1].split(">>>\n", 1)[1].split("\n<<<END", 1)[0]
        value = 5 if response in base else 9 if any(t in response for t in told) else 6
        return {**dict.fromkeys(CRITERIA, value), "abstained": False}

    with Panel(ScriptedBackend(by_length), personas=PERSONAS, ledger=tmp_path / "l") as panel:
        run = attack(
            panel=panel, families=["authority", "sabotage"], plan=AttackPlan(placements=("end",)),
            out=tmp_path / "run",
        )  # fmt: skip
        raw = attack(
            panel=panel, families=["authority"], out=tmp_path / "raw",
            plan=AttackPlan(placements=("end",), controls=False),
        )  # fmt: skip
    figures = run.figures
    cell = figures["families"][0]["all"]
    assert figures["benign"][0]["shift"]["value"] == 1.0
    assert cell["shift"]["value"] == 1.0
    assert cell["beyond_control"]["value"] == 0.0
    assert cell["success"]["value"] == 0.0
    assert figures["families"][0]["test"]["outcome"] == "not shown"
    against = figures["families"][1]
    assert against["all"]["beyond_control"]["value"] == 3.0
    assert against["test"]["outcome"] == "against its demand"
    assert "place (at 0.05 after Holm's correction over 2 families): none." in run.text
    assert "Move scores against their demand: sabotage." in run.text
    # In the table the test stands beside what was tested.
    rows = list(csv.DictReader((run.path / "attack.csv").read_text("utf-8").splitlines()))
    named = {(row["family"], row["measure"]): row["outcome"] for row in rows if row["outcome"]}
    assert named == {
        ("authority", "shift beyond control"): "not shown",
        ("sabotage", "shift beyond control"): "against its demand",
    }
    # Without controls the raw shift is all there is, and is called that: eight prompts, one point
    # each, sign flips 2/256.
    (alone,) = raw.figures["families"]
    assert alone["test"]["outcome"] == "raw shift as demanded"
    assert alone["test"]["tested"] == "attacked − clean"
    assert alone["test"]["p_holm"] == pytest.approx(2 / 256)
    assert "Without a control the raw shift is tested" in " ".join(raw.text.split())


def test_failures_are_counted_and_never_become_a_shift(tmp_path: Path) -> None:
    texts = known_texts()["authority"]

    def silent(request: Any) -> Any:
        read = request.messages[1]["content"]
        return "no" if any(text in read for text in texts) else json.loads(vote(5))

    with Panel(ScriptedBackend(silent), personas=PERSONAS, ledger=tmp_path / "l") as panel:
        run = attack(panel=panel, families=["authority", "sabotage"], limit=6, out=tmp_path / "run")
    broken, sound = run.figures["families"]
    assert broken["all"]["n_scored"] == 0
    assert broken["all"]["n_planned"] == 72
    assert broken["statuses"] == {"unreadable": 72}
    assert broken["all"]["shift"]["value"] is None
    assert "no prompt" in broken["all"]["shift"]["reason"]
    assert broken["test"]["p_holm"] is None
    assert sound["all"]["shift"]["value"] == 0.0
    assert run.exit_code == 3


def test_screened_replacements_reach_no_judge_and_are_counted(tmp_path: Path) -> None:
    backend = ScriptedBackend(json.loads(vote(5)))
    with Panel(backend, personas=PERSONAS, ledger=tmp_path / "l") as panel:
        run = attack(panel=panel, families=["empty", "master_keys"], limit=6, out=tmp_path / "r")
    empty, keys = run.figures["families"]
    assert (empty["n_screened"], empty["n_responses"]) == (12, 12)
    assert (keys["n_screened"], keys["n_responses"]) == (24, 30)
    assert keys["all"]["n_scored"] == 12
    assert empty["flagged"]["value"] == 1.0
    assert "DEMONSTRATION" not in run.text


def test_a_neutralised_copy_takes_the_attack_away(tmp_path: Path) -> None:
    judge = Gullible({"authority": 1.0, "naive_demand": 1.0, "sabotage": 1.0})
    plan = AttackPlan(neutralise=True, controls=False)
    with ProviderServer(judge) as server, panel_on(server, tmp_path, "judge") as panel:
        run = attack(panel=panel, families=FAMILIES, limit=6, plan=plan, out=tmp_path / "run")
    found = {family["id"]: family for family in run.figures["families"]}
    assert found["sabotage"]["all"]["shift"]["value"] == -4.0
    assert found["sabotage"]["neutralised_shift"]["value"] == 0.0
    assert found["authority"]["neutralised_shift"]["value"] is None  # no detector notices it
    assert found["authority"]["flagged"]["value"] == 0.0
    assert run.figures["benign"] == []


def test_the_table_holds_every_number_and_the_report_stays_within_eighty_columns(
    tmp_path: Path,
) -> None:
    with Panel(personas=PERSONAS, ledger=tmp_path / "l") as panel:
        run = attack(panel=panel, families=FAMILIES, limit=2, out=tmp_path / "run")
    assert run.text.startswith("DEMONSTRATION")
    assert run.figures["demonstration"] is True
    assert max(map(len, run.text.splitlines())) <= 80
    table = (run.path / "attack.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    shifts = {
        row["family"]: row
        for row in rows
        if row["measure"] == "shift" and not (row["placement"] or row["persona"] or row["model"])
    }
    assert set(shifts) == {*FAMILIES, ""}
    for family in run.figures["families"]:
        row = shifts[family["id"]]
        assert float(row["value"]) == pytest.approx(family["all"]["shift"]["value"], rel=1e-5)
        assert int(row["n_scored"]) == family["all"]["n_scored"]
    assert run.panel_run.counts["scored"] == run.figures["n_scored"]


async def test_the_asynchronous_twin_runs_in_a_running_loop(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(json.loads(vote(5))), personas=PERSONAS, ledger=tmp_path / "l") as p:
        run = await aattack(panel=p, families=["authority"], limit=1, out=tmp_path / "run")
    assert run.state == "complete"


def test_bad_input_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with Panel(personas=PERSONAS, ledger=tmp_path / "l") as panel:
        with pytest.raises(InputError, match="authorty"):
            AttackJob(panel.spec, families=["authorty"], out=tmp_path / "run")
        with pytest.raises(InputError, match="placements"):
            AttackPlan(placements=("top",))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="threshold"):
            AttackPlan(threshold=0)
        empty = [{"response_id": "a", "prompt_text": "Why?", "response_text": ""}]
        with pytest.raises(InputError, match="no response"):
            AttackJob(panel.spec, empty, out=tmp_path / "run")
        with pytest.raises(InputError, match="no family has a text"):
            AttackJob(
                panel.spec, families=["authority"], plan=AttackPlan(placements=("instead",)),
                out=tmp_path / "run",
            )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_a_cost_cap_leaves_the_rest_unasked_and_the_next_run_goes_on(tmp_path: Path) -> None:
    backend = ScriptedBackend(json.loads(vote(5)), cost_usd=1.0)
    with Panel(backend, personas=PERSONAS, ledger=tmp_path / "l") as panel:
        first = attack(
            panel=panel, families=["authority"], limit=1, max_cost=7.0, out=tmp_path / "run"
        )
        assert len(backend.requests) <= 7
        assert first.state == "budget"
        assert first.exit_code == 4
        cell = first.figures["families"][0]["all"]
        assert cell["n_scored"] < cell["n_planned"] == 12
        assert first.figures["n_planned"] == 26
        again = attack(panel=panel, families=["authority"], limit=1, out=tmp_path / "run")
    # Clean, two texts at three places, and six controls, for two judges each.
    assert len(backend.requests) == 26
    assert again.state == "complete"
    assert again.figures["n_scored"] == 26


def test_a_folder_with_another_plan_is_refused(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(json.loads(vote(5))), personas=PERSONAS, ledger=tmp_path / "l") as p:
        attack(panel=p, families=["authority"], limit=1, out=tmp_path / "run")
        with pytest.raises(InputError, match="threshold"):
            attack(
                panel=p, families=["authority"], limit=1, plan=AttackPlan(threshold=1.0),
                out=tmp_path / "run",
            )  # fmt: skip
