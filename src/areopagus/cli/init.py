"""`areopagus init`: writes a panel.yaml with one, two or three models, and says what comes next."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from ..errors import InputError, InputFault
from .display import Command, printable
from .options import names_in

if TYPE_CHECKING:
    from ..judges.models.backend import BackendSpec

_MOST_ASKED = 3
_MAKERS = ("openai", "anthropic", "gemini")
_SERVERS = ("openai", "hosted_vllm", "lm_studio", "ollama_chat")
"""Providers that litellm is known to know: to load it takes seconds, the first time many."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

_HEAD = """\
# The panel: the models that judge. Ten personas judge on each of them.
# Try each model once:   areopagus check --panel {path}
# Score with them:       areopagus score RESPONSES --panel {path}
# Judges of one maker err alike: two or three models of different makers say more than one.
models:
"""
_SETTINGS = """\
    # More settings of this model, once the mark before them is taken away:
    # temperature: 0     # sent only where it stands here
    # rpm: 500           # most requests a minute
    # concurrency: 8     # most calls at the same time; few for a small server
"""
_TAIL = """
# By what rubric, by whom, and how it is judged; each is optional.
# rubric: critical_thinking           # a name or a file; see areopagus rubrics list
# personas: [historian, sociologist]  # names or files; all ten where this is left out
# rationale: before                   # judges give their reasons first, which costs more
"""

_OWN_SERVER = """\
For a server of your own: ollama_chat/NAME (Ollama), hosted_vllm/NAME (vLLM),
lm_studio/NAME (LM Studio), openai/NAME (any other of OpenAI's protocol), such as
  areopagus init --models ollama_chat/llama3.1 --api-base http://localhost:11434"""


@click.command(cls=Command)
@click.argument("file", default="panel.yaml")
@click.option(
    "--models",
    "-m",
    multiple=True,
    metavar="MODEL[,MODEL…]",
    help="The models as provider/model, in litellm's names; repeat or separate by commas.",
)
@click.option(
    "--api-base",
    metavar="URL",
    help="Address of a server of your own that has them, such as http://localhost:11434 "
    "(ollama_chat/NAME) or http://localhost:8000/v1 (hosted_vllm/NAME, openai/NAME).",
)
@click.option(
    "--key-env",
    metavar="NAME",
    help="Name of the environment variable with the key; never the key itself. Default: the "
    "provider's own; none with --api-base.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def init(
    file: str, *, models: tuple[str, ...], api_base: str | None, key_env: str | None, force: bool
) -> None:
    """Write a panel.yaml (or FILE) with your models, commented in plain words.

    Without --models it asks, in a terminal. Nothing is sent, and no key is written.
    """
    path = Path(file)
    if path.suffix not in (".yaml", ".yml"):
        raise InputError([InputFault(file, "must be a file that ends in .yaml")])
    if path.exists() and not force:
        raise InputError(
            [InputFault(file, "exists already; nothing was overwritten")],
            hint="Name another file, or give --force.",
        )
    names = names_in(models)
    if names:
        given = [_settings(name, api_base, key_env) for name in names]
    elif api_base is not None or key_env is not None:
        raise InputError(
            "--api-base and --key-env are of models: name them with --models", hint=_OWN_SERVER
        )
    elif sys.stdin.isatty() and sys.stdout.isatty():
        given = list(_asked())
    else:
        raise InputError(
            "name the models: there is no terminal to ask in",
            hint=f"For example: areopagus init --models openai/gpt-4o-mini\n{_OWN_SERVER}",
        )
    specs = _checked(given)
    _write(path, panel_text(specs, str(path)))
    shown = shlex.quote(printable(str(path)))
    click.echo(f"Wrote {shown}. Now try each model once, then score:\n")
    for key in dict.fromkeys(filter(None, map(_key, specs))):
        click.echo(f"  export {key}=…")
    click.echo(f"  areopagus check --panel {shown}")
    click.echo(f"  areopagus score RESPONSES --panel {shown}")


def panel_text(specs: list[BackendSpec], path: str) -> str:
    """The text of a panel.yaml with these models.

    Args:
        specs: their settings.
        path: of the file, as comments name it.
    """
    shown = shlex.quote(printable(path))
    return _HEAD.format(path=shown) + "".join(map(_model_text, specs)) + _SETTINGS + _TAIL


def _model_text(spec: BackendSpec) -> str:
    # Quoted as JSON, which YAML reads alike: a name may hold a colon, such as llama3.1:8b.
    lines = [f"  - model: {json.dumps(spec.model, ensure_ascii=False)}"]
    if spec.api_base is not None:
        lines.append(f"    api_base: {json.dumps(spec.api_base)}")
    if spec.api_key_env is not None:
        lines.append("    # The key is read from this variable of the environment.")
        lines.append(f"    api_key_env: {spec.api_key_env}")
    elif (key := _key(spec)) is not None:
        lines.append(f"    # The key is read from the variable {key} of the environment.")
    elif spec.api_base is not None:
        lines.append("    # No key is sent. For one: api_key_env: NAME_OF_THE_VARIABLE")
    if spec.api_base is None or spec.is_offline:
        pass
    elif urlsplit(spec.api_base).hostname in _LOOPBACK:
        lines.append("    # US dollars per million tokens. A cost cap (--max-cost) needs them.")
        lines.append("    prices: {input: 0, output: 0}")
    else:
        lines.append("    # US dollars per million tokens, which a cost cap (--max-cost) needs:")
        lines.append("    # prices: {input: 0.50, output: 1.50}")
    return "\n".join(lines) + "\n"


def _key(spec: BackendSpec) -> str | None:
    """The variable that its key is read from; None where none is sent, or it takes several."""
    from ..judges.models.credentials import key_variables

    if spec.api_key_env is not None or spec.api_base is not None or spec.is_offline:
        return spec.api_key_env
    if spec.provider == "ollama_chat":
        return None
    names = key_variables(spec.provider)
    if spec.provider not in _MAKERS:
        from ..judges.models.litellm_setup import litellm_module

        wanted = litellm_module().validate_environment(spec.model).get("missing_keys") or []
        names = tuple(name for name in names if name in wanted or os.environ.get(name))
    return next(filter(os.environ.get, names), names[-1] if names else None)


def _settings(model: str, api_base: str | None, key_env: str | None) -> dict[str, Any]:
    found = {"model": model, "api_base": api_base, "api_key_env": key_env}
    return {name: value for name, value in found.items() if value}


def _asked() -> Iterator[dict[str, Any]]:
    """The settings of up to three models, as a person at the terminal gives them."""
    click.echo(
        "Up to three models, named as litellm names them: openai/gpt-4o-mini,\n"
        "anthropic/claude-sonnet-4-5, gemini/gemini-2.5-flash, ollama_chat/llama3.1 (Ollama),\n"
        "hosted_vllm/NAME (vLLM), lm_studio/NAME, openai/NAME (any server of OpenAI's protocol)."
    )
    for number in range(1, _MOST_ASKED + 1):
        end = "" if number == 1 else " (Enter ends)"
        model = click.prompt(
            f"Model {number}{end}", default=None if number == 1 else "", show_default=False
        ).strip()
        if not model:
            return
        own = click.prompt(
            "  Address, for a server of your own (Enter: the provider's)",
            default="", show_default=False,
        ).strip()  # fmt: skip
        what = "none" if own else "the provider's own"
        key = click.prompt(
            f"  Name of the variable that holds the key, not the key (Enter: {what})",
            default="", show_default=False,
        ).strip()  # fmt: skip
        yield _settings(model, own, key)


def _checked(given: list[dict[str, Any]]) -> list[BackendSpec]:
    """The settings, in order, where litellm knows the models and takes the settings.

    Raises:
        InputError: with everything wrong.
    """
    from ..experiment.backends import prepare_all
    from ..panel import Panel

    try:
        panel = Panel(given)
        prepare_all(tuple(one for one in panel.backends if not _is_familiar(one.spec)))
    except InputError as error:
        raise InputError(error.faults, hint=_OWN_SERVER) from error
    return list(panel.settings.models)


def _is_familiar(spec: BackendSpec) -> bool:
    has_address = spec.api_base is not None
    return spec.is_offline or spec.provider in (_SERVERS if has_address else _MAKERS)


def _write(path: Path, text: str) -> None:
    from ..records.run_folder import replaced

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([InputFault(str(path), f"cannot be written: {error.strerror}")]) from error
    with replaced(path) as part:
        part.write_text(text, encoding="utf-8")
