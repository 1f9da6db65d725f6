"""Two stress tests before and after: a model that gives way less, paired by prompt and judge."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from stress_world import StressTrial, StressWorld, read_csv, write_csv

import areopagus
from areopagus import InputError, StressRun, gate
from areopagus.any_report import run_of
from areopagus.changes import Changes
from areopagus.changes.run import _is_stored
from areopagus.records.estimates import estimate_at
from areopagus.testing import ProviderServer

CRITERIA = (
    "conceptual_clarity", "evidential_grounding", "contextual_relevance", "pluralistic_engagement",
    "argumentative_soundness",
)  # fmt: skip
WEAK = StressWorld({"emotion_agree": dict.fromkeys(CRITERIA, 2.0)}, n_prompts=8, prompt_sd=0.3)
BETTER = replace(WEAK, seed=1, deltas={"emotion_agree": dict.fromkeys(CRITERIA, 0.5)})


def ran(folder: Path, world: StressWorld, **more: object) -> StressRun:
    folder.mkdir()
    with ProviderServer(world.provider()) as server:
        return StressTrial(folder, world, server).stress(retest_share=0.0, **more)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[StressRun, StressRun]:
    folder = tmp_path_factory.mktemp("changes")
    return ran(folder / "one", WEAK), ran(folder / "two", BETTER)


def test_what_was_mended_is_found_and_the_rest_is_not_said_to_have_changed(
    both: tuple[StressRun, StressRun],
) -> None:
    found = areopagus.compare(*both)
    assert isinstance(found, Changes)
    keys = {"framing": "emotion_agree", "criterion": "composite"}
    change = estimate_at(found.estimates, "degradation", "degradation", when="change", **keys)
    before = estimate_at(found.estimates, "degradation", "degradation", when="before", **keys)
    after = estimate_at(found.estimates, "degradation", "degradation", when="after", **keys)
    assert change is not None
    assert before is not None
    assert after is not None
    assert change.value == pytest.approx(after.value - before.value)
    assert change.low < -1.5 < change.high  # what was mended
    assert (change.verdict, change.n, change.n_planned) == ("lower", 8, 8)
    stored = both[1].cells
    mine = stored[(stored["framing"] == "emotion_agree") & (stored["criterion"] == "composite")]
    assert after.value == pytest.approx(float(mine["value"].iloc[0]))
    document = found.document()
    assert document.headline[0].startswith("Degradation fell: under agreement by 1.")
    told = document.headline[1]
    assert told.startswith("Open: ")
    assert "under “I” and under “my friend”" in told
    # Two servers have two addresses, of the model, the rewriter and the judge; other prompts.
    assert dict(document.trust)["settings"].startswith("4 differ: see “The two runs”")
    assert document.headline[0].count("[") >= 1


def copied(run: StressRun, out: Path) -> Path:
    shutil.copytree(run.path, out)
    return out


def test_a_variant_that_was_worded_anew_is_left_out_and_said(
    both: tuple[StressRun, StressRun], tmp_path: Path
) -> None:
    third = copied(both[1], tmp_path / "three")
    rows = read_csv(third / "responses.csv")
    for row in [row for row in rows if row["condition"] == "empirical_i"][:3]:
        row["prompt_text"] += " Please."
    write_csv(third / "responses.csv", rows)
    found = areopagus.compare(both[0], third)
    keys = {"framing": "empirical_i", "criterion": "composite"}
    change = estimate_at(found.estimates, "degradation", "degradation", when="change", **keys)
    assert change is not None
    assert (change.n, change.n_planned) == (5, 8)
    assert any("3 variants of 8" in one for one in found.document().notices)


def test_another_panel_is_refused_with_what_differs_and_so_is_another_kind(
    both: tuple[StressRun, StressRun], tmp_path: Path
) -> None:
    other = copied(both[1], tmp_path / "other")
    record = json.loads((other / "run.json").read_text("utf-8"))
    record["identity"]["panel"]["personas"] = {"ethicist": "0" * 64}
    (other / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=r"panel\.personas: [a-z_, ]*historian[a-z_, ]* only in"):
        areopagus.compare(both[0], other)
    with pytest.raises(InputError, match="is of kind 'panel'"):
        areopagus.compare(both[0], both[0].panel_run)


def test_a_kept_comparison_is_a_folder_of_results_like_others(
    both: tuple[StressRun, StressRun], tmp_path: Path
) -> None:
    found = areopagus.compare(*both, margin=0.5)
    assert isinstance(found, Changes)
    kept = found.write(tmp_path / "kept", figures=False)
    again = run_of(tmp_path / "kept")
    assert again.text == kept.text
    assert again.document().headline == found.document().headline
    assert again.estimates.equals(found.estimates)
    assert " within ±0.5" in again.text
    with pytest.raises(InputError, match="holds another run"):
        areopagus.compare(*both, margin=0.1).write(tmp_path / "kept")  # type: ignore[union-attr]


def test_a_gate_stops_at_a_model_that_gives_way_more_and_lets_a_better_one_pass(
    both: tuple[StressRun, StressRun],
) -> None:
    weak, better = both
    worse = gate(weak, better, margin=0.5)
    assert (worse.outcome, worse.exit_code) == ("worse", 5)
    assert "degradation under agreement" in worse.sentence()
    assert (worse.n_figures, worse.difference.n) == (5, 8)
    assert gate(better, weak, margin=3.0).outcome == "not worse"
    undecided = gate(better, weak, margin=0.01)
    assert (undecided.outcome, undecided.exit_code) == ("undecided", 6)
    with pytest.raises(InputError, match="says what is worse"):
        gate(weak, better, criterion="beauty")


def test_a_run_of_supplied_responses_has_asked_nobody_and_is_no_stored_one() -> None:
    session = {"started": "2026-01-01T00:00:00", "calls": {"from_ledger": 3}}
    asked, supplied = (
        SimpleNamespace(record={"identity": given, "ledger": "l.sqlite", "sessions": [session]})
        for given in ({"targets": {"a": {"model": "openai/a"}}}, {"targets": None})
    )
    assert _is_stored([asked, asked])  # type: ignore[list-item]
    for runs in ([asked, supplied], [supplied, asked]):
        assert not _is_stored(runs)  # type: ignore[arg-type]
