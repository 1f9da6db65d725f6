"""Two attacks before and after: judges that obey less, on the same attacked responses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_attack import FAMILIES, Gullible, panel_on, vote

import areopagus
from areopagus import gate
from areopagus.attacks import AttackRun, attack, load_families
from areopagus.changes import Changes
from areopagus.publishing.methods import methods
from areopagus.records.estimates import estimate_at
from areopagus.testing import ProviderServer, ServedReply, ServedRequest


def ran(folder: Path, judge: Gullible, *models: str) -> AttackRun:
    folder.mkdir()
    with ProviderServer(judge) as server, panel_on(server, folder, *models) as panel:
        return attack(
            panel=panel, families=FAMILIES, texts=1, placements=("end",), out=folder / "run"
        )


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> AttackRun:
    judge = Gullible({"authority": 1.0, "sabotage": 1.0})
    return ran(tmp_path_factory.mktemp("attacks") / "one", judge, "judge")


def test_a_family_that_no_longer_works_is_found_and_the_others_are_not(
    before: AttackRun, tmp_path: Path
) -> None:
    after = ran(tmp_path / "two", Gullible({"sabotage": 1.0}), "judge")
    found = areopagus.compare(before, after)
    assert isinstance(found, Changes)

    def change(table: str, measure: str, group: str | None) -> tuple[float, str | None]:
        one = estimate_at(found.estimates, table, measure, when="change", group=group)
        assert one is not None
        return one.value, one.verdict

    # The judge gave 10 in the place of 5 to every attacked response, and does so no more: all
    # eight prompts alike, of which the sign test over five figures makes 5 × 2/2^8.
    assert change("families", "beyond", "authority") == (-5.0, "lower")
    assert change("families", "beyond", "sabotage") == (0.0, "alike")
    assert change("families", "beyond", "naive_demand") == (0.0, "alike")
    assert change("overall", "moved", None)[0] == pytest.approx(-1 / 3)
    assert change("overall", "flagged", None)[0] == 0.0
    one = estimate_at(found.estimates, "families", "beyond", when="change", group="authority")
    assert one is not None
    assert one.p == pytest.approx(5 * 2 / 2**8)
    assert (one.n, one.n_planned) == (8, 8)
    document = found.document()
    assert document.headline[0].startswith(
        "Points beyond harmless prose, nearer to no effect after: authority by 5.00, from 5.00 to "
    )
    assert dict(document.trust)["judges"].startswith("the same in both")
    assert (
        gate(before, after, margin=0.1, criterion="moved")
        .sentence()
        .endswith("judgments moved +0.33 over 8 prompts; the statistic does not vary over prompts.")
    )


def test_other_judges_are_compared_as_panels_and_a_judge_missing_once_counts_in_neither(
    before: AttackRun, tmp_path: Path
) -> None:
    after = ran(tmp_path / "three", Gullible({}), "another")
    found = areopagus.compare(before, after)
    assert dict(found.document().trust)["judges"] == ("not the same in both: each panel as it is")
    one = estimate_at(found.estimates, "families", "beyond", when="change", group="sabotage")
    assert one is not None
    assert one.value == 4.0


def test_texts_that_only_one_panel_filters_are_in_no_figure_of_the_other(
    before: AttackRun, tmp_path: Path
) -> None:
    """Another judge obeys the same texts, but its provider stops those of authority."""
    obeying = Gullible({"authority": 1.0, "sabotage": 1.0})

    class Filtered(Gullible):
        def __call__(self, request: ServedRequest) -> ServedReply:
            if any(text in request.text_of("user") for text in self.texts["authority"]):
                return ServedReply("content_policy_violation: blocked", status=400)
            return obeying(request)

    after = ran(tmp_path / "four", Filtered({}), "another")
    found = areopagus.compare(before, after)
    assert isinstance(found, Changes)
    moved = {
        when: estimate_at(found.estimates, "overall", "moved", when=when)
        for when in ("before", "after", "change")
    }
    # Of two families that both panels judged one moves every judgment, before and after.
    assert all(one is not None and one.n == 8 for one in moved.values())
    values = [one.value for one in moved.values() if one is not None]
    assert values == [0.5, 0.5, 0.0]


def test_a_family_that_asks_judges_to_abstain_is_compared_by_how_many_do(tmp_path: Path) -> None:
    (family,) = load_families(["abstention"])
    text = family.texts[0].strip()  # it has no places to fill

    def judge(request: ServedRequest) -> ServedReply:
        obeys = text in request.text_of("user")
        return ServedReply(json.dumps({**json.loads(vote(5)), "abstained": obeys}))

    runs = []
    for name, one in (("one", judge), ("two", lambda request: ServedReply(vote(5)))):
        (tmp_path / name).mkdir()
        with ProviderServer(one) as server, panel_on(server, tmp_path / name, "judge") as panel:
            runs.append(
                attack(panel=panel, families=[family.id], texts=1, placements=("end",),
                       out=tmp_path / name / "run")
            )  # fmt: skip
    found = areopagus.compare(*runs)
    one = estimate_at(found.estimates, "families", "beyond", when="change", detail="abstained")
    assert one is not None
    assert (one.value, one.n, one.verdict) == (-1.0, 8, "lower")
    assert "judgments abstained beyond harmless prose" in found.document().headline[0].lower()


@pytest.mark.report
def test_replies_of_the_same_ledger_are_said_first_and_another_setting_is_named(
    tmp_path: Path,
) -> None:
    def attacked(name: str, threshold: float = 2.0, **more: bool) -> AttackRun:
        model = {"name": "judge", "model": "openai/one", "api_base": server.openai_base}
        with areopagus.Panel(
            [model], personas=["historian"], ledger=tmp_path / "ledger.sqlite", **more
        ) as panel:
            return attack(
                panel=panel, families=["authority"], texts=1, placements=("end",),
                threshold=threshold, out=tmp_path / name,
            )  # fmt: skip

    with ProviderServer(lambda request: ServedReply(vote(5))) as server:
        one, again = attacked("one"), attacked("again")
        marked = attacked("marked", threshold=3.0, datamark=True)
    found = areopagus.compare(one, again)
    assert isinstance(found, Changes)
    document = found.document()
    (told,) = document.headline
    assert told.startswith("Nothing was asked anew: both runs read one ledger")
    assert "--ledger FILE" in told
    assert dict(document.trust)["settings"] == "the same in both"
    decided = gate(again, one)
    assert "Nothing was asked anew" in decided.sentence()
    assert decided.exit_code == 6
    # Words that carry a mark are other texts, which the ledger does not hold.
    found = areopagus.compare(one, marked)
    assert isinstance(found, Changes)
    document = found.document()
    assert "Nothing was asked anew" not in document.headline[0]
    settings = "plan.threshold: 2 before, 3 after; panel.datamark: not set before, yes after"
    assert dict(document.trust)["settings"] == settings
    assert document.notices == ["Threshold: 2 before, 3 after; figures are by the later one."]
    kept = found.write(tmp_path / "kept", figures=False)
    paragraphs = dict(methods(kept.path).sections[0].parts[0].items)  # type: ignore[union-attr]
    assert settings in paragraphs["Grounds."]
    assert ", none" not in paragraphs["Tests."]
    assert "judge (openai/one)" in (kept.path / "report.txt").read_text("utf-8")
