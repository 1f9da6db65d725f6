"""Finding audits: each folder beside this module with an `audit.yaml` is one, and so is yours."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import InputError, InputFault
from ..experiment.config import AuditConfig, faults_of
from .answers_table import OWN_COLUMNS
from .audit import Audit, AuditOptions
from .definition import DEFINITION_FILE
from .yaml_audit import read_yaml_audit

_OWN = "areopagus_audit_"
"""How the modules of audits from folders are called."""


def audit_names() -> tuple[str, ...]:
    """The names of the built-in audits, sorted; nothing of them is imported."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    files = resources.files(package)
    found = (
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if module.ispkg and files.joinpath(module.name, DEFINITION_FILE).is_file()
    )
    return tuple(sorted(name.replace("_", "-") for name in found))


def find_audit(which: str | Path | Audit[Any]) -> Audit[Any]:
    """The audit of this name or folder.

    Args:
        which: a built-in name; a folder with an `audit.yaml`, or with an `__init__.py` that has an
            object `AUDIT` (its code is run); or such an object.

    Raises:
        InputError: an unknown name, or a folder without an audit.
    """
    if isinstance(which, Audit):
        return _checked(which)
    text = str(which)
    if isinstance(which, Path) or "/" in text or "\\" in text:
        return _checked(_from_folder(Path(which)))
    names = audit_names()
    wanted = text.replace("_", "-")
    if wanted not in names:
        close = get_close_matches(wanted, names, n=1)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise InputError(
            f"there is no audit {text!r}{guess}",
            hint=f"Known: {', '.join(names)}; or name a folder, such as ./my-audit.",
        )
    package = __name__.rpartition(".")[0]
    module = importlib.import_module(f"{package}.{wanted.replace('-', '_')}")
    return _checked(_audit_in(module, text))


def is_builtin(audit: Audit[Any]) -> bool:
    """Whether it came with the package."""
    name = audit.definition.name
    return name in audit_names() and find_audit(name) is audit


def read_options(audit: Audit[Any], given: Mapping[str, Any]) -> AuditOptions:
    """An audit's own options, checked.

    Raises:
        InputError: with every fault, and the options there are.
    """
    name = audit.definition.name
    unknown = [option for option in given if option not in audit.options_model.model_fields]
    if unknown:
        known = ", ".join(audit.options_model.model_fields) or "none"
        raise InputError(
            [InputFault(name, f"has no such option; there are: {known}", one) for one in unknown]
        )
    try:
        return audit.options_model.model_validate(dict(given))
    except ValidationError as error:
        raise InputError(faults_of(error, name)) from error


def _from_folder(folder: Path) -> Audit[Any]:
    folder = folder.expanduser()
    entry = folder / "__init__.py"
    if not entry.is_file():
        if not (folder / DEFINITION_FILE).is_file():
            fault = f"is no audit: it has no {DEFINITION_FILE} and no __init__.py"
            raise InputError([InputFault(str(folder), fault)])
        return read_yaml_audit(folder)
    # A name of its own for each place, so that two folders called alike do not meet.
    digest = hashlib.sha256(str(entry.resolve()).encode()).hexdigest()[:12]
    name = f"{_OWN}{digest}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, entry, submodule_search_locations=[str(entry.parent)]
        )
        if spec is None or spec.loader is None:
            raise InputError([InputFault(str(entry), "cannot be imported")])
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return _audit_in(sys.modules[name], str(folder))


def _audit_in(module: Any, where: str) -> Audit[Any]:
    found = getattr(module, "AUDIT", None)
    if not isinstance(found, Audit):
        raise InputError([InputFault(where, "has no object AUDIT that is an areopagus Audit")])
    return found


_TAKEN = frozenset(AuditConfig.model_fields) | {
    "targets", "target_file", "targets_file", "judge", "judges_file", "column", "write_prompts",
    "json", "json_file", "ledger", "dry_run", "quiet", "full", "help",
}  # fmt: skip
"""Options that every audit has on the command line."""


def _checked(audit: Audit[Any]) -> Audit[Any]:
    """The audit, unless its columns or options would get into each other's way."""
    found = audit.definition
    faults = [
        InputFault(found.name, "is the name of a column that every audit has", name)
        for name in (*found.item_columns, *found.value_columns)
        if name in OWN_COLUMNS
    ]
    faults += [
        InputFault(found.name, "is an item column and a value column", name)
        for name in found.item_columns
        if name in found.value_columns
    ]
    faults += [
        InputFault(found.name, "is an option that every audit has", name)
        for name in audit.options_model.model_fields
        if name in _TAKEN
    ]
    if faults:
        raise InputError(faults)
    return audit
