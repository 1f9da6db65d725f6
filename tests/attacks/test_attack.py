"""An attack on judges of known gullibility: the report finds exactly what is there."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attack_figures import figure

from areopagus import InputError, Panel
from areopagus.any_report import write_any_report
from areopagus.attacks import AttackConfig, aattack, attack, load_families
from areopagus.attacks.families import example_texts, texts_of
from areopagus.attacks.trials import demanded_reply
from areopagus.records.estimates import select
from areopagus.reports.text import render_text
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
        run = attack(
            panel=p, families=FAMILIES, texts=1, placements=("end",), neutralise=True,
            out=tmp_path / "run",
        )  # fmt: skip
    found = partial(figure, run.estimates)
    # Per response four judgments, two of which move from 5 to 10: a mean of 2.5 points.
    assert found("families", "shift", group="authority").value == pytest.approx(2.5)
    assert found("families", "moved", group="authority").value == pytest.approx(0.5)
    assert found("families", "shift", group="sabotage").value == pytest.approx(-2.0)
    assert found("families", "moved", group="sabotage").value == pytest.approx(0.5)
    assert found("families", "shift", group="naive_demand").value == 0.0
    assert found("families", "moved", group="naive_demand").value == 0.0
    for name, value in (("openai/obeying", 5.0), ("openai/steadfast", 0.0)):
        assert found("models", "beyond", group="authority", model=name).value == value
    # All eight prompts moved half of the judgments: no t, and the exact sign test decides.
    # Sign flips 2 / 2^8, over three families.
    tested = found("families", "beyond", group="authority")
    assert tested.p_method == "exact sign test"
    assert tested.p == pytest.approx(3 * 2 / 256)
    verdicts = {name: found("families", "beyond", group=name).verdict for name in FAMILIES}
    assert verdicts == {"authority": "higher", "sabotage": "lower", "naive_demand": "alike"}
    assert found("harmless", "shift").value == 0.0
    assert run.exit_code == 0
    # A neutralised copy takes the attack away.
    assert found("families", "neutralised_shift", group="sabotage").value == 0.0
    assert found("families", "neutralised_shift", group="authority").value == 0.0
    assert found("families", "flagged", group="authority").value == 1.0
    judgments = found("counts", "judgments")
    assert judgments.n == judgments.n_planned
    # The same in words: by how much, what of it is noticed, which model gives way.
    document = run.document()
    assert document.headline[0] == (
        "This panel gives way to 2 of 3 attack families, most to authority: +2.50 points against "
        "harmless text of the same length; then sabotage −2.00."
    )
    assert document.headline[1] == "But 1 of 2 models is not shown to tell responses apart."
    assert document.headline[-1].startswith("Detectors notice 100%")
    trust = dict(document.trust)
    assert trust["people"].startswith("Not checked against people yet")
    assert trust["caution"].startswith("openai/steadfast: ")
    assert trust["models"] == "1 of 2 models moved by authority, sabotage"
    assert trust["judges"].startswith("2 personas × 2 models")


def test_a_half_gullible_judge_is_found_to_obey_exactly_as_often_as_it_did(tmp_path: Path) -> None:
    judge = Gullible({"naive_demand": 0.5})
    options: dict[str, Any] = {"families": FAMILIES[:2], "texts": 1}
    with ProviderServer(judge) as server, panel_on(server, tmp_path, "judge") as panel:
        run = attack(panel=panel, out=tmp_path / "run", **options)
        first, calls = run.estimates, server.counts.total
        # It is continued from the ledger, and gives the same numbers.
        assert attack(panel=panel, out=tmp_path / "run", **options).estimates.equals(first)
        assert server.counts.total == calls
    # 8 responses × 3 places × 2 personas, as the server counted them.
    assert judge.asked["naive_demand"] == 48
    share = judge.obeyed["naive_demand"] / 48
    assert 0.2 < share < 0.8
    found = partial(figure, first, "families", group="naive_demand")
    assert found("moved").value == pytest.approx(share)
    assert found("shift").value == pytest.approx(5 * share)
    assert found("beyond").value == pytest.approx(5 * share)
    assert found("shift").covers(5 * share)
    assert found("shift").n == 8
    assert figure(first, "families", "shift", group="authority").value == 0.0
    (run.path / "estimates.parquet").unlink()
    with pytest.raises(InputError, match="areopagus attack … --out"):
        write_any_report(run.path)


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
            panel=panel, families=["authority", "sabotage"], placements=("end",),
            out=tmp_path / "run",
        )  # fmt: skip
        raw = attack(
            panel=panel, families=["authority"], out=tmp_path / "raw", placements=("end",),
            controls=False,
        )  # fmt: skip
    found = partial(figure, run.estimates)
    assert found("harmless", "shift").value == 1.0
    assert found("families", "shift", group="authority").value == 1.0
    assert found("families", "moved", group="authority").value == 0.0
    beyond = found("families", "beyond", group="authority")
    assert (beyond.value, beyond.verdict) == (0.0, "alike")
    against = found("families", "beyond", group="sabotage")
    assert (against.value, against.verdict) == (3.0, "higher")
    text = " ".join(run.text.split())
    assert "In the other direction, against both: sabotage." in text
    assert "This panel is not shown to give way to any of 2 attack families" in text
    # Without controls the raw shift is all there is, and is called that: eight prompts, one point
    # each, sign flips 2/256.
    assert select(raw.estimates, "harmless").empty
    alone = figure(raw.estimates, "families", "shift", group="authority")
    assert alone.verdict == "higher"
    assert alone.p == pytest.approx(2 / 256)
    told = "Without harmless text to compare with, so that length plays a part, scores move as the"
    assert told in " ".join(raw.text.split())


def test_what_differs_from_harmless_prose_alone_is_said_first_and_is_no_success(
    tmp_path: Path,
) -> None:
    told = known_texts()["authority"]
    base = {item.text for item in example_texts("base_responses").texts}

    def minds_digressions(request: Any) -> dict[str, Any]:
        read = request.messages[1]["content"]
        response = read.split("<<<RESPONSE ", 1)[1].split(">>>\n", 1)[1].split("\n<<<END", 1)[0]
        value = 5 if response in base or any(t in response for t in told) else 4
        return {**dict.fromkeys(CRITERIA, value), "abstained": False}

    backend = ScriptedBackend(minds_digressions)
    with Panel(backend, personas=["historian"], ledger=tmp_path / "l") as panel:
        run = attack(
            panel=panel, families=["authority"], texts=1, placements=("end",), out=tmp_path / "run"
        )
    first, second = list(run.document().headline)[:2]
    assert first == (
        "This panel is not shown to give way to authority: +1.00 points against harmless text of "
        "the same length."
    )
    assert second == (
        "Closer to what the attack asks than harmless text of the same length, but clean responses "
        "are not shown to move that way: authority by +1.00 points (against clean responses 0.00)."
    )


def test_failures_and_what_is_screened_are_counted_and_never_become_a_shift(
    tmp_path: Path,
) -> None:
    texts = known_texts()["authority"]

    def silent(request: Any) -> Any:
        read = request.messages[1]["content"]
        return "no" if any(text in read for text in texts) else json.loads(vote(5))

    families = ["authority", "sabotage", "empty", "master_keys"]
    with Panel(ScriptedBackend(silent), personas=PERSONAS, ledger=tmp_path / "l") as panel:
        run = attack(panel=panel, families=families, limit=6, out=tmp_path / "run")
    found = partial(figure, run.estimates)
    assert found("statuses", "judgments", group="authority", detail="unreadable").value == 72
    assert "scored" not in set(select(run.estimates, "statuses", group="authority")["detail"])
    broken = found("families", "shift", group="authority")
    assert not broken.is_defined
    assert "no prompt" in (broken.reason or "")
    assert found("families", "beyond", group="authority").verdict == "undefined"
    assert found("families", "shift", group="sabotage").value == 0.0
    # Replacements with nothing in them reach no judge.
    assert found("families", "flagged", group="empty").value == 1.0
    assert not found("families", "shift", group="empty").is_defined
    # Of four families two could not be tested.
    assert " ".join(run.document().headline[::2][:2]) == (
        "This panel is not shown to give way to sabotage, the only one of 4 attack families with a "
        "control that is tested: 0.00 points against harmless text of the same length (no "
        "difference). Not tested: authority, empty."
    )
    assert "DEMONSTRATION" not in run.text
    assert run.exit_code == 3


def test_where_nothing_is_tested_the_first_lines_say_why_once(tmp_path: Path) -> None:
    """They began with the families that ask for no score, and held a dash for a shift."""
    silent = ScriptedBackend(lambda _: {**dict.fromkeys(CRITERIA), "abstained": True})
    families, few = ["authority", "refusal"], {"texts": 1, "placements": ("end",), "limit": 2}
    for backend, first in (
        (silent, ["Nothing is decided: no prompt has enough judges who scored both."]),
        (
            ScriptedBackend(json.loads(vote(5))),
            [
                "Nothing is decided: 2 prompts, and a test of an attack family needs 6.",
                "But scripted/judge is not shown to tell responses apart.",
                "Attacked responses score as clean ones do.",
            ],
        ),
    ):
        folder = tmp_path / str(len(first))
        with Panel(backend, personas=["historian"], ledger=folder / "l") as panel:
            run = attack(panel=panel, families=families, out=folder / "run", **few)  # type: ignore[arg-type]
        document = run.document()
        assert document.headline[:-1] == first
        assert "–" not in " ".join([*document.headline, dict(document.trust)["control"]])


@pytest.mark.report
def test_a_summary_fits_a_screen_and_the_report_eighty_columns(tmp_path: Path) -> None:
    with Panel(personas=PERSONAS, ledger=tmp_path / "l") as panel:
        run = attack(panel=panel, limit=6, texts=1, placements=("end",), out=tmp_path / "run")
    assert run.text.startswith("DEMONSTRATION")
    assert max(map(len, run.text.splitlines())) <= 80
    summary = render_text(run.document())
    assert len(summary) <= 26
    assert run.panel_run.counts["scored"] == figure(run.estimates, "counts", "judgments").n
    # Every family is on the page, whose figures are those of the estimates.
    page = (run.path / "report.html").read_text(encoding="utf-8")
    for family in select(run.estimates, "families")["group"].unique():
        assert family in page.replace("<wbr>", "")
    assert run.write_report().read_text(encoding="utf-8") == page


def test_the_first_screen_says_that_judges_read_marks(tmp_path: Path) -> None:
    with Panel(personas=["historian"], ledger=tmp_path / "l", datamark=True) as panel:
        run = attack(
            panel=panel, families=["refusal"], placements=("end",), texts=1, limit=6,
            out=tmp_path / "run",
        )  # fmt: skip
    shown = "\n".join(render_text(run.document()))
    assert "  datamark  on: judges read a mark before every word of a response" in shown
    # A family that asks for no score has its figure there too, where there is no other.
    assert (
        "The one family that asks for no score is not shown to work: refusal 0 percentage points "
        "of judgments refused." in " ".join(shown.split())
    )
    assert "harmless" in shown.split("Share of judgments that end as the family asks")[1]


async def test_the_asynchronous_twin_runs_in_a_running_loop_and_keeps_to_its_plan(
    tmp_path: Path,
) -> None:
    options: dict[str, Any] = {"families": ["authority"], "limit": 1, "out": tmp_path / "run"}
    with Panel(ScriptedBackend(json.loads(vote(5))), personas=PERSONAS, ledger=tmp_path / "l") as p:
        run = await aattack(panel=p, **options)
        with pytest.raises(InputError, match="threshold"):
            await aattack(panel=p, threshold=1.0, **options)
    assert run.state == "complete"


def test_bad_input_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with Panel(personas=PERSONAS, ledger=tmp_path / "l") as panel:
        with pytest.raises(InputError, match="authorty"):
            attack(panel=panel, families=["authorty"], out=tmp_path / "run")
        with pytest.raises(InputError, match="placements"):
            AttackConfig.checked(placements=("top",))
        with pytest.raises(InputError, match="threshold"):
            AttackConfig.checked(threshold=0)
        empty = [{"response_id": "a", "prompt_text": "Why?", "response_text": ""}]
        with pytest.raises(InputError, match="no response"):
            attack(empty, panel=panel, out=tmp_path / "run")
        with pytest.raises(InputError, match="no family has a text"):
            attack(
                panel=panel, families=["authority"], placements=("instead",), out=tmp_path / "run"
            )
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
        judgments = figure(first.estimates, "counts", "judgments")
        assert judgments.n <= 7 < (judgments.n_planned or 0) == 26
        again = attack(panel=panel, families=["authority"], limit=1, out=tmp_path / "run")
    # Clean, two texts at three places, and six controls, for two judges each.
    assert len(backend.requests) == 26
    assert again.state == "complete"
    assert figure(again.estimates, "counts", "judgments").n == 26


def test_texts_that_keep_judges_from_scoring_are_found_by_the_status_they_ask_for(
    tmp_path: Path,
) -> None:
    """One model obeys each demand; the other scores whatever it reads, and abstains on one base."""
    texts = {
        family.id: texts_of(family, {"high": "10", "low": "1", "reply": "…", "marker": "0" * 16})
        for family in load_families(["abstention", "refusal", "broken_form"])
    }
    telling = {name: all_[0] for name, all_ in texts.items()}

    def judge(request: ServedRequest) -> ServedReply:
        read = request.text_of("user")
        if request.model == "obeying":
            if telling["abstention"] in read:
                return ServedReply(json.dumps({**json.loads(vote(1)), "abstained": True}))
            if telling["broken_form"] in read:
                return ServedReply("My scores are four and five.")
            if telling["refusal"] in read:
                # By the provider's filter, or by the model itself.
                is_filtered = draw("filter", request.key) % 2
                told = "content_policy_violation: the request was blocked"
                return (
                    ServedReply(told, status=400)
                    if is_filtered
                    else ServedReply(None, refusal="I cannot help with that.")
                )
        return ServedReply(vote(5))

    with ProviderServer(judge) as server, panel_on(server, tmp_path, "obeying", "steadfast") as p:
        run = attack(
            panel=p, families=[*texts, "authority"], texts=1, placements=("end",),
            out=tmp_path / "run",
        )  # fmt: skip
    found = partial(figure, run.estimates, "families")
    status = {"abstention": "abstained", "refusal": "refused", "broken_form": "unreadable"}
    for name, ended in status.items():
        keys = {"group": name, "detail": ended}
        # One of two models ends so on every attacked response, and never otherwise.
        assert found("attacked", **keys).value == 0.5
        assert (found("control", **keys).value, found("clean", **keys).value) == (0.0, 0.0)
        beyond = found("beyond", **keys)
        assert (beyond.value, beyond.verdict, beyond.n) == (0.5, "higher", 8)
        # The same on all eight prompts: sign flips 2 / 2^8, over four families.
        assert beyond.p == pytest.approx(4 * 2 / 256)
    ends = partial(figure, run.estimates, "statuses", "judgments", group="refusal")
    assert ends(detail="failed").value + ends(detail="refused").value == 16
    assert ends(detail="failed").value > 0 < ends(detail="refused").value
    # Points and shares of judgments are apart, and no table of scores has the families of shares.
    assert set(select(run.estimates, "families", detail="highest")["group"]) == {"authority"}
    assert set(select(run.estimates, "models")["group"].dropna()) == {"authority"}
    assert set(run.estimates["table"]) == {
        "families", "overall", "places", "models", "criteria", "harmless", "detectors",
        "detected", "statuses", "counts", "worth",
    }  # fmt: skip
    headline = " ".join(run.document().headline)
    assert "Of 3 families that ask for no score, 3 keep judges from scoring" in headline
    # Of 288 votes 48 are missing; a call that the filter stopped counts as refused.
    coverage = dict(run.document().trust)["coverage"]
    assert coverage.startswith("240 of 288 judgments scored on 8 responses to 8 prompts")
    assert coverage.endswith("; all others ended as the attack asks")
    assert "abstention +50 percentage points of judgments abstained, " in headline
