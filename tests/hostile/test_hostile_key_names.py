"""A key is kept out of what is written however the variable that holds it is called."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from areopagus import Panel, environment
from areopagus.batch.runner import in_few_words
from areopagus.cli.main import _show_defect
from areopagus.engines import worker as worker_module
from areopagus.errors import ProviderError
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.credentials import redact, without_secrets
from areopagus.judges.models.provider_errors import classify
from areopagus.records.types import Reply
from areopagus.testing import ScriptedBackend

NAME = "JUDGE_LOGIN"
KEY = "zq0123456789login"


@pytest.fixture(autouse=True)
def _key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_key_names", set[str]())
    monkeypatch.setenv(NAME, KEY)


def made() -> BackendSpec:
    return BackendSpec(model="openai/x", api_base="http://h", api_key_env=NAME)


def test_whatever_is_written_without_the_backend_at_hand_is_without_its_key() -> None:
    assert KEY in redact(f"bad key {KEY}")
    made()
    assert redact(f"bad key {KEY}") == f"bad key [{NAME}]"
    assert KEY not in str(classify(ValueError(KEY)))
    assert KEY not in in_few_words(ProviderError("server", f"bad key {KEY}"))
    assert KEY not in repr(without_secrets(Reply(text=f"You sent {KEY}.")))


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_defect_of_a_command_is_told_without_it(
    debug: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AREOPAGUS_DEBUG", debug)
    made()
    _show_defect(RuntimeError(f"odd {KEY}"))
    told = capsys.readouterr().err
    assert "a defect of areopagus" in told
    assert KEY not in told


def test_a_defect_in_the_panel_is_told_without_it() -> None:
    class Broken(ScriptedBackend):
        async def send(self, request: Any) -> Reply:
            raise RuntimeError(f"odd {KEY}")

    made()
    with Panel([Broken("7")], personas=["historian"]) as panel:
        judgments = panel.score("Why?", "Because it is so, and for no other reason.").judgments
    assert [judgment.status for judgment in judgments] == ["failed"]
    assert NAME in str(judgments[0].detail)
    assert KEY not in repr(judgments)


def test_a_defect_on_a_node_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def worker(*given: Any) -> Any:
        made()
        raise RuntimeError(f"odd {KEY}")

    monkeypatch.setattr(worker_module, "worker_for", worker)
    given: Any = None
    outcome = worker_module.score_shard(given, given, given)
    assert NAME in outcome.defect[0]
    assert KEY not in repr(outcome)


@pytest.mark.parametrize(
    "again",
    [
        lambda spec: BackendSpec(**spec.model_dump()),
        lambda spec: BackendSpec.model_validate_json(spec.model_dump_json()),
        lambda spec: BackendSpec.model_construct(**dict(spec)),
        lambda spec: pickle.loads(pickle.dumps(spec)),
    ],
)
def test_settings_that_came_another_way_name_their_key_too(
    again: Callable[[BackendSpec], BackendSpec],
) -> None:
    spec = made()
    environment._key_names.clear()
    assert again(spec) == spec
    assert environment._key_names == {NAME}
    assert copy.deepcopy(spec) == spec == spec.model_copy()


def test_settings_unpickled_in_another_process_name_their_key_there() -> None:
    script = (
        "import pickle, sys; spec = pickle.loads(sys.stdin.buffer.read()); "
        "from areopagus.judges.models.credentials import redact; print(redact(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, f"bad key {KEY}"],
        input=pickle.dumps(made()),
        capture_output=True,
        env={**os.environ, NAME: KEY},
        timeout=60,
    )
    assert done.stdout.decode().strip() == f"bad key [{NAME}]", done.stderr.decode()
