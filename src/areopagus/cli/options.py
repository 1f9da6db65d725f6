"""The options that several commands share: of a panel, of models to ask, of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import InputError, InputFault

if TYPE_CHECKING:
    from ..panel import Panel

Command = TypeVar("Command", bound=Callable[..., Any])

_PANEL_OPTIONS = (
    click.option(
        "--models", "-m", multiple=True, metavar="MODEL[,MODEL…]",
        help="Backend as provider/model, in litellm's names; repeat or separate by commas. "
        "Left out: the embedded text-feature baseline.",
    ),
    click.option("--panel", "panel_file", metavar="FILE", help="A panel.yaml with all settings."),
    click.option(
        "--personas", "persona_folders", multiple=True, metavar="DIR",
        help="Folder whose persona files join the panel; repeatable.",
    ),
    click.option(
        "--persona", "persona_names", multiple=True, metavar="NAME|FILE",
        help="Only these personas; repeatable.",
    ),
    click.option("--rubric", metavar="NAME|FILE", help="Default: critical_thinking."),
    click.option(
        "--template", metavar="NAME|FILE",
        help="Wording of the judges' messages. Default: areopagus_v2.",
    ),
    click.option("--mode", type=click.Choice(["dimensions", "holistic", "no_rubric"])),
    click.option(
        "--order", type=click.Choice(["response_first", "persona_first"]),
        help="Where the persona stands in the messages.",
    ),
    click.option("--rationale", type=click.Choice(["none", "before"])),
    click.option("--anchors/--no-anchors", default=None, help="Show judges the rubric's anchors."),
    click.option("--repeats", type=click.IntRange(1, 1000), help="Askings of each judge."),
    click.option("--score-mode", type=click.Choice(["integer", "expected"])),
    click.option(
        "--quorum", type=click.FloatRange(0, 1, min_open=True),
        help="Share of planned judgments that must be scored. Default: 2/3.",
    ),
    click.option("--ledger", metavar="PATH|URL", help="Store of paid calls. Default: shared."),
)  # fmt: skip


PANEL_NAMES = (
    "models",
    "panel_file",
    "persona_folders",
    "persona_names",
    "rubric",
    "template",
    "mode",
    "order",
    "rationale",
    "anchors",
    "repeats",
    "score_mode",
    "quorum",
    "ledger",
)
"""Names of the options that `panel_options` adds."""


def target_options(about: str) -> Callable[[Command], Command]:
    """Adds the options that name the models to ask; the command takes them for `models_from`.

    Args:
        about: what the help says of --target.
    """

    def added(command: Command) -> Command:
        file = click.option(
            "--targets-file",
            metavar="FILE",
            help="YAML with models and their settings, as under models in a panel.yaml.",
        )
        named = click.option(
            "--target", "-t", "targets", multiple=True, metavar="MODEL[,MODEL…]", help=about
        )
        return named(file(command))

    return added


_PROTOCOL_OPTIONS = (
    click.option(
        "--track",
        type=click.Choice(["matched", "maximum"]),
        help="matched: effort medium, 400 words, at most 440. maximum: effort high.",
    ),
    click.option(
        "--effort", metavar="LEVEL",
        help="Reasoning effort of the targets, instead of the track's; none sends none.",
    ),
    click.option("--words", type=click.IntRange(min=1), help="Words for the targets to aim at."),
)  # fmt: skip


def protocol_options(command: Command) -> Command:
    """Adds the options that say how targets are asked."""
    for option in reversed(_PROTOCOL_OPTIONS):
        command = option(command)
    return command


def names_in(groups: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a repeatable option that takes several by commas."""
    return tuple(name.strip() for group in groups for name in group.split(",") if name.strip())


def models_from(groups: tuple[str, ...], file: str | None) -> list[Any]:
    """The models that are named, then those of the file.

    Raises:
        InputError: with every fault of the file.
    """
    if file is None:
        return list(names_in(groups))
    from ..settings import read_targets

    return [*names_in(groups), *read_targets(file)]


def panel_options(command: Command) -> Command:
    """Adds the options; the command takes them as keyword arguments for `panel_from`."""
    for option in reversed(_PANEL_OPTIONS):
        command = option(command)
    return command


def panel_from(
    *,
    models: tuple[str, ...],
    panel_file: str | None,
    persona_folders: tuple[str, ...],
    persona_names: tuple[str, ...],
    rubric: str | None,
    template: str | None,
    mode: str | None,
    order: str | None,
    rationale: str | None,
    anchors: bool | None,
    repeats: int | None,
    score_mode: str | None,
    quorum: float | None,
    ledger: str | None,
) -> Panel:
    """The panel that the options describe; an option wins over the file."""
    from pathlib import Path

    from ..panel import Panel

    missing = [folder for folder in persona_folders if not Path(folder).is_dir()]
    if missing:
        raise InputError(
            [InputFault(folder, "is not a folder", "--personas") for folder in missing]
        )
    named = names_in(models)
    given: dict[str, Any] = {
        "models": named or None,
        "personas": persona_names or None,
        "persona_folders": persona_folders or None,
        "rubric": rubric,
        "template": template,
        "mode": mode,
        "order": order,
        "rationale": rationale,
        "anchors": anchors,
        "repeats": repeats,
        "score_mode": score_mode,
        "quorum": quorum,
        "ledger": ledger,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    if panel_file is not None:
        return Panel.from_file(panel_file, **chosen)
    return Panel(**chosen)


def columns_from(pairs: tuple[str, ...]) -> dict[str, str]:
    """`--column prompt_text=question` as {our name: their name}."""
    columns: dict[str, str] = {}
    faults: list[InputFault] = []
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        if not (equals and ours and theirs):
            faults.append(
                InputFault(f"--column {pair}", "must be OURS=THEIRS, such as prompt_text=question")
            )
        elif ours in columns:
            faults.append(InputFault(f"--column {pair}", f"{ours} is named twice"))
        else:
            columns[ours] = theirs
    if faults:
        raise InputError(faults)
    return columns
