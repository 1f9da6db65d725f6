"""Whether a backend can be asked: everything wrong at once, and nothing where all is paid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel
from areopagus.records.tables import read_judgments
from areopagus.testing import (
    Fault,
    ProviderServer,
    ScriptedBackend,
    by_hash,
    constant,
    reserved_port,
)

ROWS = [
    {
        "response_id": f"r{i}",
        "prompt_text": f"What is owed in case {i}?",
        "response_text": f"In case {i} much is owed, because promises bind.",
    }
    for i in range(2)
]


@pytest.fixture
def closed_port() -> Iterator[int]:
    with reserved_port() as port:
        yield port


def wrong(port: int) -> list[Any]:
    return [
        "openai/gpt-4o-mini",
        {"model": "anthropic/claude-sonnet-4-5", "api_key_env": "MY_OWN_KEY"},
        "nosuchprovider/model",
        {"model": "openai/gpt-5", "temperature": 0, "api_base": f"http://127.0.0.1:{port}/v1"},
    ]


def test_everything_wrong_is_reported_together_before_any_call(
    tmp_path: Path, closed_port: int
) -> None:
    fine = ScriptedBackend("7")
    with Panel([*wrong(closed_port), fine]) as panel:
        for ask in (
            lambda: panel.score_many(ROWS, tmp_path / "run"),
            lambda: panel.score("Why?", "Because promises bind."),
        ):
            with pytest.raises(InputError) as caught:
                ask()
            said = str(caught.value)
            assert "OPENAI_API_KEY is not set" in said
            assert "MY_OWN_KEY is not set" in said
            assert "unknown provider 'nosuchprovider'" in said
            assert "openai/gpt-5: parameters:" in said
            assert "temperature" in said
            assert f"127.0.0.1:{closed_port}/v1 cannot be reached" in said
            assert "Nothing was sent and nothing was spent." in said
            assert "drop_params" not in said
    assert fine.requests == []
    assert not (tmp_path / "run").exists()


def test_a_cost_cap_without_a_price_is_reported_with_the_rest(
    tmp_path: Path, closed_port: int
) -> None:
    model = {"model": "openai/house", "api_base": f"http://127.0.0.1:{closed_port}/v1"}
    with Panel(model) as panel, pytest.raises(InputError) as caught:
        panel.score_many(ROWS, tmp_path / "run", max_cost=1)
    assert len(caught.value.faults) == 2
    assert "cannot be reached" in str(caught.value)
    assert "no known worst price" in str(caught.value)


@pytest.mark.parametrize("cap", [-1.0, float("nan"), float("inf")])
def test_a_cap_that_is_no_amount_of_money_is_refused(tmp_path: Path, cap: float) -> None:
    with Panel(ScriptedBackend("7")) as panel, pytest.raises(InputError, match="max_cost"):
        panel.score_many(ROWS, tmp_path / "run", max_cost=cap)
    assert not (tmp_path / "run").exists()


def test_a_complete_ledger_needs_neither_endpoint_nor_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_KEY", "a-key-of-the-house")
    with ProviderServer(by_hash(1, 10), api_key="a-key-of-the-house") as server:
        model = {
            "model": "openai/house",
            "api_base": server.openai_base,
            "api_key_env": "HOUSE_KEY",
        }
        with Panel(model) as panel:
            first = panel.score_many(ROWS, tmp_path / "run")
            one = panel.score("Why keep a promise?", "Because it binds.")
        assert first.n_scored == 20
    monkeypatch.delenv("HOUSE_KEY")
    with Panel(model) as panel:
        # No price is known either, and none is needed.
        again = panel.score_many(ROWS, tmp_path / "elsewhere", max_cost=1)
        assert list(read_judgments(again.path)) == list(read_judgments(first.path))
        assert panel.score("Why keep a promise?", "Because it binds.").summary() == one.summary()
        with pytest.raises(InputError, match="HOUSE_KEY is not set"):
            panel.score_many([*ROWS, {**ROWS[0], "response_id": "new", "response_text": "New."}])
        with pytest.raises(InputError, match="cannot be reached"):
            panel.score("Why keep a promise?", "Because somebody relies on it.")


def test_only_the_backend_that_has_all_its_replies_may_be_down(tmp_path: Path) -> None:
    with ProviderServer(by_hash(1, 10)) as up:
        with ProviderServer(constant(Fault.CONTEXT_LENGTH)) as down:
            models = [
                {"model": "openai/up", "api_base": up.openai_base},
                {"model": "openai/down", "api_base": down.openai_base},
            ]
            with Panel(models) as panel:
                assert panel.score_many(ROWS, tmp_path / "one").counts["failed"] == 20
        with Panel(models) as panel, pytest.raises(InputError) as caught:
            panel.score_many(ROWS, tmp_path / "two")
    (fault,) = caught.value.faults
    assert fault.where == "openai/down"


def test_text_that_is_no_text_is_refused_with_an_empty_prompt() -> None:
    backend = ScriptedBackend("7")
    with Panel(backend) as panel, pytest.raises(InputError) as caught:
        panel.score(" ", "half a pair: \ud800")
    assert len(caught.value.faults) == 2
    assert backend.requests == []
