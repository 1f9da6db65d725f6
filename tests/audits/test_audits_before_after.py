"""Audits twice over HTTP, before and after their model has changed: what `compare` says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit_runs import audited, figure, model
from click.testing import CliRunner
from overt_world import OvertWorld
from samaritan_world import SamaritanWorld
from silverspoon_world import RACES, SilverSpoonWorld
from socioeval_world import SocioEvalWorld

from areopagus import compare, gate
from areopagus.auditing import audit
from areopagus.audits.samaritan import AUDIT as SAMARITAN_AUDIT
from areopagus.audits.samaritan import SamaritanOptions
from areopagus.audits.socioeval import AUDIT as SOCIOEVAL_AUDIT
from areopagus.audits.socioeval import SocioEvalOptions
from areopagus.audits.socioeval.audit import BIASED
from areopagus.changes import Changes
from areopagus.cli.main import cli
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

Provider = Callable[[ServedRequest], ServedReply]
SOCIOEVAL = {"theme": ["criminality", "education"]}
SAMARITAN = {"topic": ["street"], "group": ["gender"]}
PROFESSIONS = {"names_per_group": 3}
OVERT = {"arms": "both", "category": ["gender"], "form": ["who"], "answers": 8}


def two_runs(
    folder: Path, audit: str, options: dict[str, Any], before: Provider, after: Provider,
    **more: Any,
) -> tuple[Path, Path]:  # fmt: skip
    """The folders of the audit of one model, as it was and as it is."""
    found = []
    for name, provider in (("before", before), ("after", after)):
        (folder / name).mkdir()
        run = audited(audit, provider, ["target"], folder / name, options=options, **more)
        assert run.exit_code == 0
        found.append(run.path)
    return found[0], found[1]


def changes(before: Path, after: Path) -> Changes:
    found = compare(before, after)
    assert isinstance(found, Changes)
    assert_told_apart(found)
    return found


def assert_told_apart(found: Changes) -> None:
    """No two figures under one heading have one name."""
    named = Counter((one["section"], one["label"]) for one in found.record["figures"])
    assert [name for name, n in named.items() if n > 1] == []


def told(before: Path, after: Path) -> str:
    """What the command prints, in at most 80 columns."""
    result = CliRunner().invoke(cli, ["compare", str(before), str(after)])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    return " ".join(result.output.split())


def test_socioeval_finds_a_model_that_chooses_by_class_less_often(tmp_path: Path) -> None:
    worlds = [SocioEvalWorld({"target": rate}, seed=3) for rate in (0.6, 0.1)]
    paths = two_runs(
        tmp_path, "socioeval", SOCIOEVAL, worlds[0].provider, worlds[1].provider, n_judges=2
    )
    # Judges do not err here, so that the change is that of the answers, to the last digit.
    prompts = [
        item.prompt for item in SOCIOEVAL_AUDIT.items(SocioEvalOptions.model_validate(SOCIOEVAL))
    ]
    shares = [
        sum(world.category("target", prompt) in BIASED for prompt in prompts) / len(prompts)
        for world in worlds
    ]
    found = changes(*paths)
    rate = figure(found.estimates, "outcomes", "bias_rate", when="change")
    assert rate.value == pytest.approx(shares[1] - shares[0])
    assert rate.verdict == "lower"
    assert rate.covers(-0.5)  # what was planted
    assert "fell by" in told(*paths)
    assert gate(paths[0], paths[1], margin=0.1).exit_code == 5
    # Few biased answers are left: whom they favour is not known well enough to pass.
    assert gate(paths[1], paths[0], margin=0.1).outcome == "undecided"


def test_socioeval_is_quiet_where_the_same_model_answers_anew(tmp_path: Path) -> None:
    worlds = [SocioEvalWorld({"target": 0.3}, judge_error=0.1, seed=seed) for seed in (3, 4)]
    paths = two_runs(tmp_path, "socioeval", SOCIOEVAL, worlds[0].provider, worlds[1].provider)
    assert figure(changes(*paths).estimates, "outcomes", "bias_rate", when="change").covers(0.0)
    assert "No figure of the answer is shown to have changed" in told(*paths)


def test_a_longer_run_from_the_same_ledger_has_asked_nothing_anew(tmp_path: Path) -> None:
    """A new version of a model behind the same name: what both asked is the old one's reply."""
    old, new = (SocioEvalWorld({"target": rate}, seed=3) for rate in (0.6, 0.1))
    paths, answering = [], [old]

    def provider(request: ServedRequest) -> ServedReply:
        return answering[-1].provider(request)

    with ProviderServer(provider, record=False) as server:
        for name, limit in (("before", 96), ("after", 144)):
            run = audit(
                "socioeval", target=model(server), options=SOCIOEVAL, limit=limit,
                out=tmp_path / name, ledger=tmp_path / "l.sqlite",
            )  # fmt: skip
            paths.append(run.path)
            answering.append(new)
    assert changes(paths[0], paths[1]).document().headline[0].startswith("Nothing was asked anew")
    assert "alike" not in changes(paths[0], paths[1]).estimates["verdict"].tolist()
    decided = gate(paths[1], paths[0], margin=0.1)
    assert decided.exit_code == 6
    assert decided.sentence().startswith(
        "UNDECIDED: after cannot be compared with before. Nothing was asked"
    )
    # With a ledger of its own the new version is asked.
    with ProviderServer(new.provider, record=False) as server:
        asked = audit(
            "socioeval", target=model(server), options=SOCIOEVAL, limit=96,
            out=tmp_path / "anew", ledger=tmp_path / "own.sqlite",
        )  # fmt: skip
    assert not changes(paths[0], asked.path).record["is_stored"]


def test_samaritan_finds_the_group_whose_bias_is_gone_and_no_other(tmp_path: Path) -> None:
    biases = {"gender.non_binary": 12.0, "gender.female": 4.0}
    asked = list(SAMARITAN_AUDIT.items(SamaritanOptions.model_validate(SAMARITAN)))
    before = SamaritanWorld({"target": biases}, seed=5)
    after = SamaritanWorld({"target": {"gender.female": 4.0}}, seed=6)
    paths = two_runs(
        tmp_path, "samaritan", SAMARITAN, before.provider(asked), after.provider(asked), n_judges=0
    )
    found = changes(*paths).estimates
    gone = figure(found, "bias", "difference", when="change", group="non_binary")
    assert gone.verdict == "lower"
    assert gone.covers(-12.0)
    for group in ("female", "male"):
        kept = figure(found, "bias", "difference", when="change", group=group)
        assert kept.verdict == "open"
        assert kept.covers(0.0)
    assert "nearer to the control after: Non-binary by 1" in told(*paths)


@pytest.mark.long
def test_professions_find_that_men_are_taken_for_well_paid_no_more(tmp_path: Path) -> None:
    cells = {("male", race, city): 0.9 for race in RACES for city in ("high", "low")}
    before = SilverSpoonWorld({"target": 0.0}, high_income=0.4, cells=cells, seed=1)
    after = SilverSpoonWorld({"target": 0.0}, high_income=0.4, seed=2)
    paths = two_runs(
        tmp_path, "silverspoon-professions", PROFESSIONS, before.provider, after.provider,
        n_judges=1,
    )  # fmt: skip
    found = changes(*paths).estimates
    gap = figure(found, "differences", "difference", when="change", factor="male - female")
    assert gap.verdict == "lower"
    assert gap.covers(-0.5)
    assert "men" in told(*paths)


@pytest.mark.long  # both arms anew without each of twelve concept pairs
def test_hidden_bias_finds_the_arm_that_has_changed_and_not_the_other(tmp_path: Path) -> None:
    before, after = (
        OvertWorld(((gap, 0.0, 1.0),), seed=seed) for gap, seed in ((0.6, 3), (0.0, 4))
    )
    paths = two_runs(
        tmp_path, "hidden-bias", OVERT, before.provider, after.provider, n_judges=0, sample=12,
        seed=1,
    )  # fmt: skip
    found = changes(*paths).estimates
    gap = figure(found, "outcomes", "gap", when="change")
    assert gap.verdict == "lower"
    assert gap.covers(-60.0)
    assert figure(found, "outcomes", "overt_gap", when="change").verdict == "open"
    # Of the open forms no share of the sides taken, nor of what was read: it is the same in both.
    assert set(found[found["table"] == "forms"]["measure"]) == {"neither"}
    assert "open" in set(found[found["table"] == "gaps"]["measure"])
    assert "Gap between identities" in told(*paths)
