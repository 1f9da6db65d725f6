"""The options of commands: made of the fields of pydantic models, and those that several share."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import annotated_types
import click

from ..errors import InputError, InputFault
from ..experiment.config import InputConfig, JobConfig, Option, RespondConfig
from ..settings import PanelSettings

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from ..panel import Panel

Command = TypeVar("Command", bound=Callable[..., Any])
ConfigT = TypeVar("ConfigT", bound=JobConfig)


def config_options(
    model: type[BaseModel],
    *,
    only: Sequence[str] | None = None,
    leave: Sequence[str] = (),
    required: Sequence[str] = (),
) -> Callable[[Command], Command]:
    """Adds a model's fields as options; one that is not given is None or empty, see `chosen`.

    Args:
        model: whose descriptions, types, limits and defaults the options show.
        only, leave: the fields wanted, and those not wanted.
        required: fields that must be given.
    """
    names = [name for name in only or model.model_fields if name not in leave]

    def added(command: Command) -> Command:
        for name in reversed(names):
            info = model.model_fields[name]
            said = _said(info)
            if said.file:
                flags = said.flag.split()
                command = model_options(name, info.description or "", *flags, in_file=said.file)(
                    command
                )
                continue
            flags, settings = _option(name, info)
            if name in required:
                settings["required"] = True
                del settings["default"]  # click takes a default of None for a value
            command = click.option(*flags, **settings)(command)
        return command

    return added


def click_options(model: type[BaseModel]) -> list[click.Option]:
    """All fields of a model as options, for a command that is made while it is called."""
    found = []
    for name, info in model.model_fields.items():
        flags, settings = _option(name, info)
        found.append(click.Option(flags, **settings))
    return found


def chosen(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Takes these options out of what a command was given; what was not given is left out."""
    taken = {name: given.pop(name) for name in names if name in given}
    return {name: value for name, value in taken.items() if value not in (None, ())}


def config_from(given: dict[str, Any], model: type[ConfigT]) -> ConfigT:
    """The configuration that options describe, taken out of what a command was given.

    Raises:
        InputError: with everything wrong in it, and every fault of a file of models.
    """
    values = chosen(given, model.model_fields)
    for name, info in model.model_fields.items():
        if _said(info).file:
            values[name] = models_from(values.get(name, ()), given.pop(f"{name}_file"))
    return model.checked(**values)


def _said(info: FieldInfo) -> Option:
    return next((item for item in info.metadata if isinstance(item, Option)), Option())


def _option(name: str, info: FieldInfo) -> tuple[list[str], dict[str, Any]]:
    """Declaration and settings of a field's option."""
    said = _said(info)
    flag = said.flag or f"--{name.replace('_', '-')}"
    settings: dict[str, Any] = {"default": None, "help": f"{info.description}{_default(info)}"}
    kind = _bare(info.annotation)
    if kind is bool:
        flags = [flag, name] if said.flag else [f"{flag}/--no-{flag[2:]}"]
        return flags, settings | ({"is_flag": True, "default": False} if said.flag else {})
    if get_origin(kind) is tuple:
        settings["multiple"] = True
        kind = _bare(get_args(kind)[0])
        if "," in said.metavar:  # several may stand in one value; the model checks them
            settings["callback"] = lambda _, __, groups: names_in(groups)
            kind = str
    elif get_origin(kind) is Mapping:
        example = said.metavar
        settings |= {"multiple": True, "callback": lambda _, __, p: pairs_from(p, flag, example)}
        kind = str
    if get_origin(kind) is Literal:
        settings["type"] = click.Choice([str(value) for value in get_args(kind)])
        return [flag, name], settings
    settings["type"], plain = _type(kind, info)
    settings["metavar"] = said.metavar or plain
    return [flag, name], settings


def _type(kind: Any, info: FieldInfo) -> tuple[Any, str | None]:
    """A field's type on the command line, with its limits, and what stands for a value."""
    if kind not in (int, float):
        return str, "TEXT"
    limits: dict[str, Any] = {}
    for item in info.metadata:
        for side, sort, is_open in (
            ("min", annotated_types.Ge, False),
            ("min", annotated_types.Gt, True),
            ("max", annotated_types.Le, False),
            ("max", annotated_types.Lt, True),
        ):
            if isinstance(item, sort):
                limits[side] = getattr(item, sort.__name__.lower())
                limits[f"{side}_open"] = is_open
    if kind is float:
        return (click.FloatRange(**limits), "N") if limits else (float, "N")
    return (click.IntRange(**limits), None) if limits else (int, "N")


def _bare(annotation: Any) -> Any:
    """The type without "or None"; of several types, text."""
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return annotation


def _default(info: FieldInfo) -> str:
    default = info.get_default(call_default_factory=False)
    if default in (None, (), "", {}) or info.is_required() or "Default" in (info.description or ""):
        return ""
    if isinstance(default, bool):
        return " [default: yes]" if default else ""
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    return f" [default: {default}]"


def dry_run_options(command: Command) -> Command:
    """Adds --dry-run and --quiet."""
    dry = click.option(
        "--dry-run", is_flag=True, help="Print calls and a cost range; send nothing."
    )
    return dry(quiet_option(command))


def report_options(command: Command) -> Command:
    """Adds --full and --json, of commands that end with a document."""
    full = click.option("--full", is_flag=True, help="Print the whole report, not its summary.")
    return full(json_option(command))


json_option = click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    help="Write what is shown and every estimate there; - is stdout, with nothing else on it.",
)
quiet_option = click.option(
    "--quiet", "-q", is_flag=True, help="Print nothing but where the result is."
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Of every random choice."
)
ledger_option = click.option(
    "--ledger", metavar="PATH|URL", help="Store of paid calls. Default: shared."
)
protocol_options = config_options(RespondConfig, only=("track", "effort", "words"))
effort_option = config_options(RespondConfig, only=("effort",))
folder_options = config_options(JobConfig)
column_option = config_options(InputConfig, only=("columns",))
input_options = config_options(InputConfig)


def model_options(
    names: str, about: str, *flags: str, file: str = "", in_file: str = ""
) -> Callable[[Command], Command]:
    """Adds the options that name models, and a file of models; for `models_from`.

    Args:
        names: what the command calls the models; it takes the file as NAMES_file.
        about: what the help says of the first option.
        flags: of the first option.
        file: what the help says of the file.
        in_file: flag of the file's option; --NAMES-file if left out.
    """
    about_file = file or "YAML with models and their settings, as under models in a panel.yaml."

    def added(command: Command) -> Command:
        flag = in_file or f"--{names}-file"
        of_file = click.option(flag, f"{names}_file", metavar="FILE", help=about_file)
        named = click.option(*flags, names, multiple=True, metavar="MODEL[,MODEL…]", help=about)
        return named(of_file(command))

    return added


def target_options(about: str) -> Callable[[Command], Command]:
    """Adds --target and --targets-file."""
    return model_options("targets", about, "--target", "-t")


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


_PANEL_FIELDS = (
    "rubric", "template", "mode", "order", "rationale", "anchors", "datamark", "criterion_order",
    "criterion_calls", "repeats", "score_mode", "quorum",
)  # fmt: skip
PANEL_NAMES = (
    "models", "panel_file", "persona_folders", "persona_names", *_PANEL_FIELDS, "ledger",
)  # fmt: skip
"""Names of the options that `panel_options` adds."""


def panel_options(command: Command) -> Command:
    """Adds the options; the command takes them as keyword arguments for `panel_from`."""
    for option in reversed(
        (
            click.option(
                "--models", "-m", multiple=True, metavar="MODEL[,MODEL…]",
                help="Backend as provider/model, in litellm's names; repeat or separate by "
                "commas. Left out: the embedded text-feature baseline.",
            ),
            click.option(
                "--panel", "panel_file", metavar="FILE", help="A panel.yaml with all settings."
            ),
            click.option(
                "--personas", "persona_folders", multiple=True, metavar="DIR",
                help="Folder whose persona files join the panel; repeatable.",
            ),
            click.option(
                "--persona", "persona_names", multiple=True, metavar="NAME|FILE",
                help="Only these personas; repeatable.",
            ),
            config_options(PanelSettings, only=_PANEL_FIELDS),
            ledger_option,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def panel_from(given: dict[str, Any]) -> Panel:
    """The panel that the options describe, taken out of a command's; an option wins over the file.

    Raises:
        InputError: with everything wrong in options, files and folders.
    """
    from pathlib import Path

    from ..panel import Panel

    options = chosen(given, PANEL_NAMES)
    missing = [name for name in options.get("persona_folders", ()) if not Path(name).is_dir()]
    if missing:
        raise InputError(
            [InputFault(folder, "is not a folder", "--personas") for folder in missing]
        )
    if "models" in options:
        options["models"] = names_in(options["models"])
    if "persona_names" in options:
        options["personas"] = options.pop("persona_names")
    if (file := options.pop("panel_file", None)) is not None:
        return Panel.from_file(file, **options)
    return Panel(**options)


_SUCH_AS = {"--column": ", such as prompt_text=question"}


def pairs_from(
    pairs: tuple[str, ...], flag: str = "--column", form: str = "OURS=THEIRS"
) -> dict[str, str]:
    """`--column prompt_text=question` as {our name: their name}.

    Args:
        pairs: as they were given.
        flag, form: of the option, for messages.

    Raises:
        InputError: with everything that is no such pair.
    """
    columns: dict[str, str] = {}
    faults: list[InputFault] = []
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        if not (equals and ours and theirs):
            faults.append(InputFault(f"{flag} {pair}", f"must be {form}{_SUCH_AS.get(flag, '')}"))
        elif ours in columns:
            faults.append(InputFault(f"{flag} {pair}", f"{ours} is named twice"))
        else:
            columns[ours] = theirs
    if faults:
        raise InputError(faults)
    return columns
