"""An audit's own options, and who judges in it, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..audits.definition import Audit, AuditOptions
from ..errors import InputError, InputFault
from ..experiment.backends import backends_from, repeated_names
from ..experiment.config import faults_of
from ..judges.models.backend import Backend

NO_JUDGE = "offline/classifier"
"""The embedded classifier: the rules of the audit and nothing else, as when no judge is named."""


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


def judges_from(models: Any, audit: Audit[Any]) -> tuple[Backend, ...]:
    """The judges, in the order in which they are asked; none where none is named.

    Raises:
        InputError: settings that are none, two of one name, more than three, an embedded model, or
            an audit that judges have nothing to do in.
    """
    from ..judges.factory import backend_of

    if models is None or models in ((), [], NO_JUDGE, (NO_JUDGE,), [NO_JUDGE]):
        return ()
    if not audit.definition.takes_judges:
        raise InputError(
            f"{audit.definition.name}: everything is read by rule; judges have nothing to do"
        )
    backends = backends_from(models, backend_of)
    faults = [
        InputFault(backend.spec.name, "is an embedded model, and none of them can classify")
        for backend in backends
        if backend.spec.is_offline
    ]
    faults += repeated_names(backends)
    if len(backends) > 3:
        rule = f"at most three are asked, two and one who settles; got {len(backends)}"
        faults.append(InputFault("judges", rule))
    if faults:
        raise InputError(faults, hint=f"Without a judge ({NO_JUDGE}) the rules alone classify.")
    return backends
