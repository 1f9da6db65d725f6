"""A draft from departures on half of the prompts, checked on the other half, adopted by none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from in_process import areopagus
from review_worlds import (
    MENDED,
    Scripted,
    drafter,
    models,
    panel_of,
    write_files,
)

from areopagus import InputError, ReviewRun, areview_persona, load_persona, review_persona
from areopagus.records.estimates import estimate_at, select
from areopagus.testing import ProviderServer

OPTIONS = {"personas": ("antiquarian",), "draft": True, "on_progress": False, "seed": 3}


class World(NamedTuple):
    """A run over a loopback server, and its people."""

    folder: Path
    server: ProviderServer
    script: Scripted

    def review(self, out: Path, **options: object) -> ReviewRun:
        """A review with a draft, unless the options say otherwise."""
        given = {**OPTIONS, "model": drafter(self.server), "out": out, **options}
        with panel_of(self.folder, self.server) as panel:
            return review_persona(
                self.folder / "run", self.folder / "humans.csv", panel=panel, scale=(1, 10),
                **given,  # type: ignore[arg-type]
            )  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, script = tmp_path_factory.mktemp("review"), Scripted()
    write_files(folder)
    with ProviderServer(script) as server:
        with panel_of(folder, server) as panel:
            panel.score_many(folder / "responses.csv", folder / "run", on_progress=False)
        yield World(folder, server, script)


@pytest.fixture(scope="module")
def drafted(world: World) -> ReviewRun:
    world.script.description = MENDED
    world.server.reset()
    return world.review(world.folder / "review")


def test_a_persona_turned_around_on_one_criterion_is_named_there_and_nowhere_else(
    drafted: ReviewRun,
) -> None:
    named = select(drafted.estimates, "departures")
    named = named[(named["measure"] == "order") & (named["verdict"] == "lower")]
    assert list(zip(named["persona"], named["criterion"], strict=True)) == [
        ("antiquarian", "composite"), ("antiquarian", "evidence"),
    ] or list(named["criterion"]) == ["evidence"]  # fmt: skip


def test_no_response_to_a_prompt_held_out_reaches_the_model_that_drafts(
    world: World, drafted: ReviewRun
) -> None:
    assert drafted.draft is not None
    asked = [one for one in world.server.requests if one.model == "drafter"]
    judged = [one for one in world.server.requests if one.model != "drafter"]
    assert len(asked) == 1
    held_out = {
        f"HOUSE{g} " for one in judged for g in range(16) if f"HOUSE{g} " in one.text_of("user")
    }
    shown = {f"HOUSE{g} " for g in range(16) if f"HOUSE{g} " in asked[0].text_of("user")}
    assert len(held_out) == 8
    assert shown
    assert not shown & held_out
    whole = asked[0].text_of("user")
    assert not any(f"HOUSE{g}." in whole for g in range(16) if f"HOUSE{g} " in held_out)
    assert "REASON given by a judge." in whole
    assert "COMMENT of h" in whole


def test_the_draft_keeps_its_name_raises_its_version_and_says_where_it_comes_from(
    world: World, drafted: ReviewRun
) -> None:
    assert drafted.draft == drafted.path / "antiquarian.yaml"
    made = load_persona(drafted.draft)
    old = load_persona(world.folder / "mine" / "antiquarian.yaml")
    assert (made.id, made.label, made.axis) == (old.id, old.label, old.axis)
    assert (made.version, made.description) == ("2", MENDED)
    assert made.provenance.startswith("Drafted by drafter from version 1")
    apart = (drafted.path / "antiquarian.diff").read_text()
    assert f"+  {MENDED}" in apart
    assert f"-  {old.description}" in apart


def test_the_draft_is_compared_with_the_present_version_on_the_prompts_held_out(
    drafted: ReviewRun,
) -> None:
    keys = {"persona": "antiquarian", "criterion": "evidence", "detail": "score"}
    old, new, apart = (
        estimate_at(drafted.estimates, "draft", name, **keys)
        for name in ("old", "new", "difference")
    )
    assert old is not None and new is not None and apart is not None  # noqa: PT018
    assert old.value < 0.3
    assert new.value > 0.8
    assert apart.value == pytest.approx(new.value - old.value)
    assert apart.n == 8
    assert drafted.record["draft"]["verdict"] == "better"
    first = drafted.document().headline[0]
    assert first.startswith(
        "Version 2 of antiquarian, drafted by drafter, agrees with people better"
    )
    assert first.endswith("It is adopted by nobody.")
    assert drafted.exit_code == 0


def test_nothing_is_adopted(world: World, drafted: ReviewRun) -> None:
    assert drafted.draft is not None
    assert load_persona("antiquarian", [world.folder / "mine"]).version == "1"
    with panel_of(world.folder, world.server) as panel:
        assert {one.version for one in panel.personas} == {"1"}
        with pytest.raises(InputError, match="whose personas are used"):
            review_persona(
                world.folder / "run", world.folder / "humans.csv", panel=panel,
                persona_folders=[world.folder / "mine"], out=world.folder / "mine",
                model=drafter(world.server), **OPTIONS,  # type: ignore[arg-type]
            )  # fmt: skip


def test_the_line_of_the_persona_that_names_the_criterion_is_shown_as_a_may(
    drafted: ReviewRun,
) -> None:
    told = drafted.text
    assert "may bear on it" in told
    assert "sources" in told
    assert "words in common show no cause" in told


def test_a_review_given_again_pays_nothing(world: World, drafted: ReviewRun) -> None:
    world.server.reset()
    again = world.review(drafted.path)
    assert not world.server.requests
    assert again.record["draft"]["verdict"] == "better"


def test_a_dry_run_prices_the_draft_and_its_judgments_and_sends_nothing(
    world: World, tmp_path: Path
) -> None:
    from areopagus.persona_review import ReviewConfig, ReviewJob

    world.server.reset()
    config = ReviewConfig.checked(
        personas=("antiquarian",), draft=True, seed=99, out=tmp_path / "dry",
        model=drafter(world.server),
    )  # fmt: skip
    with panel_of(world.folder, world.server) as panel:
        found = ReviewJob(
            world.folder / "run", world.folder / "humans.csv", config, panel=panel
        ).estimate()
    assert not world.server.requests
    assert [(one.stage, one.calls) for one in found.stages] == [
        ("draft", 1), ("score", 40), ("score", 40),
    ]  # fmt: skip
    assert found.most_usd is not None and found.most_usd > 0  # noqa: PT018


def test_a_cost_cap_stops_before_the_draft(world: World, tmp_path: Path) -> None:
    world.server.reset()
    found = world.review(tmp_path / "cap", max_cost=1e-9, seed=98)
    assert not world.server.requests
    assert found.exit_code == 4
    assert found.document().headline[0].startswith("No draft of antiquarian: drafter, not asked")
    assert not (tmp_path / "cap" / "antiquarian.yaml").exists()


@pytest.mark.parametrize(
    ("description", "seed"), [(None, 95), ("Too short.", 96), ("REPLACE THIS TEXT " * 5, 97)]
)
def test_a_draft_that_the_loader_would_refuse_is_none(
    world: World, tmp_path: Path, description: str | None, seed: int
) -> None:
    world.server.reset()
    world.script.description = description
    try:
        found = world.review(tmp_path / "none", seed=seed)
    finally:
        world.script.description = MENDED
    assert len(world.server.requests) == 2  # asked, and asked once more
    assert found.draft is None
    assert found.exit_code == 3
    assert not list((tmp_path / "none").glob("*.yaml"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"personas": ()}, "a draft is of one persona"),
        ({"personas": ("nobody",)}, "has no persona nobody"),
        ({"model": None}, "one must be named to draft"),
        ({"draft": False}, "is for a draft"),
        ({"model": "offline/lexical"}, "no embedded model drafts"),
    ],
)
def test_what_cannot_be_drafted_is_refused_before_anything_is_asked(
    world: World, tmp_path: Path, options: dict[str, object], told: str
) -> None:
    world.server.reset()
    with pytest.raises(InputError, match=told):
        world.review(tmp_path / "refused", **options)
    assert not world.server.requests


def test_without_the_panel_the_run_is_set_up_from_its_record(world: World, tmp_path: Path) -> None:
    shutil.copy(world.folder / "two.yaml", world.folder / "mine" / "two.yaml")
    try:
        found = review_persona(
            world.folder / "run", world.folder / "humans.csv", out=tmp_path / "record",
            persona_folders=[world.folder / "mine"], model=drafter(world.server),
            ledger=world.folder / "ledger.sqlite", **OPTIONS,  # type: ignore[arg-type]
        )  # fmt: skip
    finally:
        (world.folder / "mine" / "two.yaml").unlink()
    assert found.record["draft"]["verdict"] == "better"


def test_another_panel_is_refused(world: World, tmp_path: Path) -> None:
    from areopagus import Panel

    with (
        Panel(models(world.server), personas=[world.folder / "mine" / "antiquarian.yaml"],
              rubric=world.folder / "two.yaml", ledger=tmp_path / "l.sqlite") as panel,
        pytest.raises(InputError, match="is not that of the run"),
    ):  # fmt: skip
        review_persona(
            world.folder / "run", world.folder / "humans.csv", panel=panel, out=tmp_path / "o",
            model=drafter(world.server), **OPTIONS,  # type: ignore[arg-type]
        )  # fmt: skip


def test_the_command_drafts_and_its_dry_run_says_what_it_will_cost(
    world: World, tmp_path: Path
) -> None:
    import yaml

    (tmp_path / "drafter.yaml").write_text(yaml.safe_dump({"models": [drafter(world.server)]}))
    panel = {
        "models": models(world.server), "rubric": str(world.folder / "two.yaml"),
        "personas": [str(world.folder / "mine" / "antiquarian.yaml")], "rationale": "before",
    }  # fmt: skip
    (tmp_path / "panel.yaml").write_text(yaml.safe_dump(panel))
    words = (
        "personas", "review", world.folder / "run", world.folder / "humans.csv",
        "--persona", "antiquarian", "--draft", "--model-file", "drafter.yaml",
        "--panel", "panel.yaml", "--scale", "1:10", "--out", "next", "--seed", "94",
        "--ledger", world.folder / "ledger.sqlite",
    )  # fmt: skip
    world.server.reset()
    dry = areopagus(*words, "--dry-run", folder=tmp_path)
    assert dry.returncode == 0
    assert "81 calls to send" in dry.stdout
    assert not world.server.requests
    assert not (tmp_path / "next").exists()
    done = areopagus(*words, folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Version 2 of antiquarian, drafted by drafter, agrees")
    asked = [one.model for one in world.server.requests]
    assert asked.count("drafter") == 1
    assert len(asked) > 1  # what an earlier draft of the same words was asked is not paid twice
    assert (tmp_path / "next" / "antiquarian.yaml").is_file()
    assert "drafter" in areopagus("report", "next", "--full", folder=tmp_path).stdout


def test_what_a_cap_leaves_of_the_check_is_said(world: World, tmp_path: Path) -> None:
    world.script.description = f"{MENDED} You ask twice."
    try:
        dear = world.review(tmp_path / "part", max_cost=0.04, seed=93)
    finally:
        world.script.description = MENDED
    assert dear.exit_code == 4
    apart = estimate_at(
        dear.estimates, "draft", "difference", persona="antiquarian", criterion="composite",
        detail="score",
    )  # fmt: skip
    assert apart is not None
    assert 0 < apart.n < 8
    assert f"on {apart.n} of 8 prompts held out" in dear.document().headline[0]


async def test_the_asynchronous_twin_gives_the_same(world: World, drafted: ReviewRun) -> None:
    with panel_of(world.folder, world.server) as panel:
        again = await areview_persona(
            world.folder / "run", world.folder / "humans.csv", panel=panel, scale=(1, 10),
            model=drafter(world.server), out=drafted.path, **OPTIONS,  # type: ignore[arg-type]
        )  # fmt: skip
    assert again.document().headline == drafted.document().headline
