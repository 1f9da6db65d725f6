"""An audit's own options: read from Python's keywords, and as options of the command line."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ..audits.definition import Audit, AuditOptions
from ..errors import InputError, InputFault
from ..experiment.backends import faults_of


def read_options(audit: Audit[Any], given: Mapping[str, Any]) -> AuditOptions:
    """The options, checked.

    Raises:
        InputError: with every fault, and the options there are.
    """
    unknown = [name for name in given if name not in audit.options_model.model_fields]
    if unknown:
        known = ", ".join(audit.options_model.model_fields) or "none"
        raise InputError(
            [InputFault(audit.name, f"has no such option; there are: {known}", n) for n in unknown]
        )
    try:
        return audit.options_model.model_validate(dict(given))
    except ValidationError as error:
        raise InputError(faults_of(error, audit.name)) from error


def click_options(model: type[AuditOptions]) -> list[Any]:
    """The fields as options of a click command; one that is not given is left out."""
    import click

    made = []
    for name, info in model.model_fields.items():
        flag = f"--{name.replace('_', '-')}"
        shown = _shown_default(info)
        help_text = f"{info.description or name}{shown}"
        kind = _bare(info.annotation)
        if kind is bool:
            made.append(click.Option([f"{flag}/--no-{flag[2:]}"], default=None, help=help_text))
            continue
        parameters: dict[str, Any] = {"default": None, "help": help_text, "type": str}
        if get_origin(kind) is Literal:
            parameters["type"] = click.Choice([str(value) for value in get_args(kind)])
        elif kind in (int, float):
            parameters["type"] = kind
            parameters["metavar"] = "N"
        elif get_origin(kind) is tuple:
            parameters["multiple"] = True
            inner = _bare(get_args(kind)[0])
            if get_origin(inner) is Literal:
                parameters["type"] = click.Choice([str(value) for value in get_args(inner)])
            elif inner in (int, float):
                parameters["type"] = inner
            parameters["metavar"] = "VALUE"
        else:
            parameters["metavar"] = "TEXT"
        made.append(click.Option([flag], **parameters))
    return made


def _bare(annotation: Any) -> Any:
    """The type without "or None"."""
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return annotation


def _shown_default(info: FieldInfo) -> str:
    default = info.default
    if default is None or default == () or info.is_required() or default == "":
        return ""
    if isinstance(default, bool):
        return " [default: yes]" if default else ""
    return f" [default: {default}]"
