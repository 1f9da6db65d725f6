"""A newcomer's first commands: init writes a panel.yaml, check tries its models, score scores."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import forked
from test_commands import Call, too_wide

from areopagus import Panel
from areopagus.cli.main import main
from areopagus.records.ledger.admin import recent_calls
from areopagus.rubrics import load_rubric
from areopagus.testing import Fault, ProviderServer, ServedReply, ServedRequest, by_hash


@pytest.fixture
def provider() -> Iterator[ProviderServer]:
    with ProviderServer(by_hash(1, 10)) as server:
        yield server


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(out: str) -> dict[str, dict[str, Any]]:
    """The table of `check --json -` by model."""
    found = json.loads(out)
    (table,) = (part for part in found["sections"][0]["parts"] if part["kind"] == "table")
    return {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


# init


def test_init_check_and_score_with_a_server_of_ones_own(
    call: Call, responses: Path, provider: ProviderServer
) -> None:
    code, out, err = call("init", "-m", "openai/own", "--api-base", provider.openai_base)
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "  areopagus check --panel panel.yaml",
        "  areopagus score RESPONSES --panel panel.yaml",
    ]
    code, out, _ = call("check", "--panel", "panel.yaml", "--max-cost", "1")
    assert (code, out.splitlines()[0]) == (0, "1 of 1 model is ready.")
    code, out, _ = call("score", responses, "--panel", "panel.yaml", "--limit", 1)
    assert code == 0
    assert provider.counts.by_model == {"own": 11}


def test_the_panel_file_names_models_and_variables_and_is_read_by_panel(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "a-secret-value-of-ours")
    models = "openai/gpt-4o-mini,ollama_chat/llama3.1:8b"
    code, out, _ = call("init", "ours.yaml", "--models", models, "--key-env", "OUR_KEY")
    text = Path("ours.yaml").read_text(encoding="utf-8")
    assert code == 0
    assert "a-secret-value-of-ours" not in text + out
    assert "export OUR_KEY=…" in out
    specs = [backend.spec for backend in Panel.from_file("ours.yaml").backends]
    assert [spec.model for spec in specs] == models.split(",")
    assert {spec.api_key_env for spec in specs} == {"OUR_KEY"}


def test_the_settings_that_the_file_offers_work_once_the_mark_is_taken_away(call: Call) -> None:
    call("init", "-m", "openai/own", "--api-base", "https://llm.example.org/v1")
    path = Path("panel.yaml")
    lines = path.read_text(encoding="utf-8").splitlines()
    offered = ("temperature:", "rpm:", "concurrency:", "prices:", "rubric:", "personas:")
    for name in (*offered, "rationale:"):
        (at,) = (i for i, line in enumerate(lines) if line.lstrip().startswith(f"# {name}"))
        lines[at] = lines[at].replace("# ", "", 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    panel = Panel.from_file(path)
    assert (panel.backends[0].spec.rpm, len(panel.personas)) == (500, 2)
    assert panel.backends[0].worst_cost(1_000_000, 0) == pytest.approx(0.5)


def test_init_overwrites_nothing_unless_it_is_told_to(call: Call) -> None:
    Path("panel.yaml").write_text("mine", encoding="utf-8")
    code, out, err = call("init", "-m", "openai/gpt-4o-mini")
    assert (code, out) == (2, "")
    assert "exists already; nothing was overwritten" in err
    assert Path("panel.yaml").read_text(encoding="utf-8") == "mine"
    assert call("init", "-m", "openai/gpt-4o-mini", "--force")[0] == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "there is no terminal to ask in"),
        (("--api-base", "http://localhost:8000/v1"), "name them with --models"),
        (("-m", "qwen3"), "must be provider/model"),
        (("-m", "Qwen/Qwen3-8B", "--api-base", "http://localhost:8000/v1"), "unknown provider"),
        (("-m", "lm_studio/qwen3"), "needs the address of its server"),
        (("-m", "openai/x", "--key-env", "sk-0123456789abcdef"), "must be the NAME"),
        (("panel.txt", "-m", "openai/x"), "must be a file that ends in .yaml"),
    ],
)
def test_init_says_what_is_wrong_and_writes_nothing(
    call: Call, given: tuple[str, ...], said: str
) -> None:
    code, out, err = call("init", *given)
    assert (code, out) == (2, "")
    assert said in err
    assert "0123456789abcdef" not in err
    assert list(Path().iterdir()) == []


def test_init_asks_in_a_terminal(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    process = forked(_init, os.ttyname(child), tmp_path)
    seen = ""
    for asked, answer in [
        ("Model 1", "ollama_chat/llama3.1"),
        ("Address", "http://localhost:11434"),
        ("Name of the variable", ""),
        ("Model 2", ""),
    ]:
        seen = _until(parent, asked, seen)
        os.write(parent, f"{answer}\n".encode())
    _until(parent, "areopagus score", seen)
    process.join(60)
    assert process.exitcode == 0
    os.close(child)
    os.close(parent)
    (backend,) = Panel.from_file(tmp_path / "panel.yaml").backends
    assert backend.spec.api_base == "http://localhost:11434"
    assert backend.worst_cost(1, 1) == 0


def _init(terminal: str, folder: Path) -> None:
    """`areopagus init` at this terminal."""
    os.chdir(folder)
    at = os.open(terminal, os.O_RDWR)
    for number in range(3):
        os.dup2(at, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a fork's is /dev/null
    sys.argv = ["areopagus", "init"]
    main()


def _until(terminal: int, text: str, seen: str) -> str:
    """What stands after the text, once it is on the terminal."""
    deadline = time.monotonic() + 60
    while text not in seen:
        assert select.select([terminal], [], [], deadline - time.monotonic())[0], seen
        seen += os.read(terminal, 4096).decode()
    return seen.partition(text)[2]


# check


def test_check_says_first_how_many_models_are_ready_and_what_the_others_lack(
    call: Call, provider: ProviderServer
) -> None:
    Path("panel.yaml").write_text(
        f"""models:
  - {{model: openai/own, api_base: "{provider.openai_base}", prices: {{input: 1, output: 1}}}}
  - {{model: hosted_vllm/own, name: second, api_base: "{provider.openai_base}"}}
  - model: openai/gpt-4o-mini
  - {{model: openai/gone, api_base: "http://127.0.0.1:9/v1"}}
""",
        encoding="utf-8",
    )
    code, out, err = call("check", "--panel", "panel.yaml")
    assert (code, err, too_wide(out)) == (2, "", [])
    first, _, rest = out.partition("\n\n")
    told = " ".join(first.split())
    assert told.startswith(
        "2 of 4 models are ready; openai/gpt-4o-mini: the environment variable OPENAI_API_KEY is "
        "not set; openai/gone: http://127.0.0.1:9/v1 cannot be reached (Connection refused). "
        "2 calls answered, $"
    )
    assert "; what second cost is unknown; in the ledger." in told
    assert "put the key into that variable" in rest
    assert "start the server, or correct its address" in rest
    assert "openai/own: no key sent, answered by own" in rest


def test_a_check_asks_anew_each_time_and_what_it_paid_is_in_the_ledger(
    call: Call, provider: ProviderServer
) -> None:
    call("init", "-m", "openai/own", "--api-base", provider.openai_base)
    for _ in range(2):
        code, out, _ = call("check", "--panel", "panel.yaml", "--json", "-", "--ledger", "l.sqlite")
        assert code == 0
    assert provider.counts.total == 2
    assert rows(out)["openai/own"]["format"] == "json_schema"
    assert len(recent_calls("l.sqlite")) == 2


@pytest.mark.parametrize(
    ("fault", "code", "problem", "to_do"),
    [
        (Fault.UNAUTHORIZED_ECHOING_KEY, 3, "the key is not accepted", "check the key"),
        (Fault.MODEL_NOT_FOUND, 3, "no such model or address", "check the model's name"),
        (Fault.QUOTA, 3, "no credit or quota is left", "the account has"),
        (Fault.RATE_LIMIT_RETRY_AFTER, 3, "its rate limit is reached", "wait"),
        (Fault.SERVER_ERROR, 3, "its server failed", "run the command again later"),
        (Fault.RESET_BEFORE_ANSWER, 3, "the connection broke off", "check that the server runs"),
        (Fault.HTML_PAGE, 3, "its server failed", "run the command again later"),
        (Fault.REFUSAL, 3, "it declined to judge the example", "name another model"),
        (Fault.CUT_BY_LENGTH, 3, "its answer cannot be read", "raise max_tokens"),
        (Fault.OTHER_LANGUAGE, 3, "its answer cannot be read", "set structured"),
    ],
)
def test_each_fault_is_named_with_what_to_do(
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    code: int,
    problem: str,
    to_do: str,
) -> None:
    monkeypatch.setenv("OUR_KEY", "a-secret-value-of-ours")

    def faulty(request: ServedRequest) -> ServedReply:
        return ServedReply("{}", fault=fault)

    with ProviderServer(faulty, retry_after_s=60) as server:
        call("init", "-m", "openai/own", "--api-base", server.openai_base, "--key-env", "OUR_KEY")
        ended, out, err = call("check", "--panel", "panel.yaml")
    assert (ended, err) == (code, "")
    assert out.startswith(f"0 of 1 model is ready; openai/own: {problem}.")
    assert f"openai/own, to do: {to_do}" in " ".join(out.split())
    assert "openai/own: key from OUR_KEY" in out
    assert "a-secret-value-of-ours" not in out


def test_the_strongest_response_format_that_an_endpoint_takes_is_found_out(call: Call) -> None:
    scores = dict.fromkeys(load_rubric().dimension_ids, 6)
    reply = ServedReply(json.dumps({**scores, "abstained": False}))
    with ProviderServer(lambda _: reply, supports=()) as server:
        call("init", "-m", "openai/own", "--api-base", server.openai_base)
        code, out, _ = call("check", "--panel", "panel.yaml", "--json", "-")
    assert code == 0
    assert rows(out)["openai/own"]["format"] == "prompt"


def test_log_probabilities_that_are_asked_for_and_missing_are_said(
    call: Call, provider: ProviderServer
) -> None:
    call("init", "-m", "openai/own", "--api-base", provider.openai_base)
    code, out, _ = call("check", "--panel", "panel.yaml", "--score-mode", "expected")
    assert code == 3
    assert "its log-probabilities cannot be used" in " ".join(out.split())
    assert "set score_mode: integer" in out


def test_the_cost_of_a_check_is_capped(call: Call, provider: ProviderServer) -> None:
    model = f'model: openai/own, api_base: "{provider.openai_base}"'
    dear = f"models: [{{{model}, prices: {{input: 1, output: 1000}}}}]"
    Path("panel.yaml").write_text(dear, encoding="utf-8")
    code, out, _ = call("check", "--panel", "panel.yaml")
    assert code == 4
    assert "the cost cap does not allow the call" in " ".join(out.split())
    assert "give a higher --max-cost" in out
    Path("panel.yaml").write_text(f"models: [{{{model}}}]", encoding="utf-8")
    code, out, _ = call("check", "--panel", "panel.yaml", "--max-cost", "1")
    assert code == 2
    assert "no known price, so a cost cap cannot be kept" in " ".join(out.split())
    assert provider.counts.total == 0


def test_a_quiet_check_tells_by_its_exit_code_alone(call: Call, provider: ProviderServer) -> None:
    call("init", "-m", "openai/own", "--api-base", provider.openai_base)
    assert call("check", "--panel", "panel.yaml", "-q") == (0, "", "")
    assert call("check", "-m", "openai/gpt-4o-mini", "-q") == (2, "", "")


def test_without_models_the_embedded_judge_is_checked_and_named_as_what_it_is(call: Call) -> None:
    code, out, _ = call("check")
    assert code == 0
    assert "The embedded judge is no language model" in out


# mcp


def test_the_mcp_server_names_the_extra_that_it_needs(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    code, out, err = call("mcp")
    assert (code, out) == (2, "")
    assert "pip install 'areopagus[mcp]'" in err
