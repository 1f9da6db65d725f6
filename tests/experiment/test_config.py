"""The options of a job are declared once: commands, Python calls and run.json follow them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

from areopagus import InputError, Panel, Run
from areopagus.batch import BatchProgress, BatchSettings
from areopagus.cli.score import score
from areopagus.experiment import respond as respond_module
from areopagus.experiment.config import (
    InputConfig,
    JobConfig,
    RespondConfig,
    ScoreConfig,
    SessionConfig,
)
from areopagus.experiment.engine import Engine
from areopagus.progress import Progress
from areopagus.records.ledger import Ledger
from areopagus.scoring import ScoreOptions
from areopagus.settings import PanelSettings
from areopagus.testing import ScriptedBackend

BESIDE_SCORE = {"batch", "engine", "on_progress", "on_batch", "on_notice"}
ROW = {"response_id": "a", "prompt_text": "Why?", "response_text": "So."}


def fields(config: type[JobConfig]) -> dict[str, Any]:
    """Each field's type, without what the command line shows of it."""
    return get_type_hints(config, include_extras=False) | {}


def test_score_many_has_the_fields_of_its_config_with_their_types_and_defaults() -> None:
    names = {
        "BatchProgress": BatchProgress, "BatchSettings": BatchSettings, "Engine": Engine,
        "Progress": Progress, "Run": Run,
    }  # fmt: skip
    hints = get_type_hints(Panel.score_many, localns=names)
    types, wanted = get_type_hints(ScoreOptions, localns=names), fields(ScoreConfig)
    given = inspect.signature(Panel.score_many).parameters
    own = given.keys() - BESIDE_SCORE - {"self", "source"}
    assert own == ScoreConfig.model_fields.keys()
    assert types.keys() == given.keys() - {"self", "source", "out"}
    for name in own:
        assert given[name].default == ScoreConfig.model_fields[name].default, name
        assert hints[name] == wanted[name], name
    for name, kind in types.items():
        assert hints[name] == kind, name


def test_session_takes_fields_of_its_config_with_the_same_defaults() -> None:
    given = inspect.signature(Panel.session).parameters
    for name in given.keys() - {"self", "out", "tags"}:
        assert given[name].default == SessionConfig.model_fields[name].default, name


def test_respond_has_the_fields_of_its_config_with_their_types() -> None:
    types = get_type_hints(respond_module.RespondOptions, localns={"Ledger": Ledger})
    assert types.keys() - {"ledger", "on_progress"} == RespondConfig.model_fields.keys() - {
        "out",
        "resume",
    }
    wanted = fields(RespondConfig)
    for name in types.keys() & wanted.keys():
        assert types[name] == wanted[name], name


def test_a_commands_options_are_those_fields_with_descriptions_and_limits() -> None:
    options = {one.name: one for one in score.params if isinstance(one, click.Option)}
    for model, names in (
        (ScoreConfig, ScoreConfig.model_fields),
        (PanelSettings, ("rubric", "mode", "repeats", "quorum")),
    ):
        for name in names:
            said = options[name].help or ""
            assert said.startswith(model.model_fields[name].description or "?")
    assert options["columns"].opts == ["--column"]
    limit = options["limit"].type
    assert isinstance(limit, click.IntRange)
    assert (limit.min, limit.max) == (1, None)
    assert isinstance(options["mode"].type, click.Choice)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "`limit`: Input should be greater than or equal to 1"),
        ({"precision": float("nan")}, "precision"),
        (
            {"judges_per_response": 0, "order_seed": "x"},
            "`order_seed`: Input should be a",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ScoreConfig.checked(**options)
    with pytest.raises(InputError, match="`nosuch`: unknown argument; there are out, resume, "):
        InputConfig.checked(nosuch=1)
    with pytest.raises(InputError, match=r"`limits`: unknown argument; did you mean `limit`\?"):
        InputConfig.checked(limits=1)


def test_run_json_says_what_was_chosen_and_it_makes_no_other_run(tmp_path: Path) -> None:
    def once(**options: Any) -> dict[str, Any]:
        with Panel(ScriptedBackend("7"), mode="holistic") as panel:
            run = panel.score_many([ROW], tmp_path / "run", **options)
        found: dict[str, Any] = json.loads((run.path / "run.json").read_text())
        return found

    first = once(max_cost=5.0, limit=1)
    assert first["config"] == {
        "max_cost": 5.0, "columns": None, "limit": 1, "prompts_from": None, "format": None,
        "precision": None,
        "judges_per_response": None, "order_seed": 0,
    }  # fmt: skip
    assert not {"config", "max_cost", "limit"} & first["identity"].keys()
    again = once(resume=True)
    assert again["identity"] == first["identity"]
    assert again["config"]["max_cost"] is None
    assert len(again["sessions"]) == 2


def test_one_progress_tells_of_every_stage(tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []

    def look(now: Progress) -> None:
        seen.append((now.stage, now.number, now.stages, now.done, now.total, dict(now.counts)))

    from areopagus import score_prompts

    listen: Callable[[Progress], None] = look
    with Panel(ScriptedBackend("7"), mode="holistic") as panel:
        target = ScriptedBackend("Because.", name="scripted/target")
        prompts = [{"prompt_text": f"Why {n}?"} for n in range(3)]
        score_prompts(prompts, target, tmp_path / "run", panel=panel, on_progress=listen)
    assert ("respond", 1, 2, 3, 3, {"answered": 3}) in seen
    stage, number, stages, done, total, counts = seen[-1]
    assert (stage, number, stages, done, total) == ("score", 2, 2, 3, 3)
    assert counts["scored"] == 30
