"""An audit's own options, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..audits.definition import Audit, AuditOptions
from ..errors import InputError, InputFault
from ..experiment.config import faults_of


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
