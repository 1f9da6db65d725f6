"""Who is asked in an audit, and who judges."""

from __future__ import annotations

from typing import Any

from ..audits.definition import Audit
from ..errors import InputError, InputFault
from ..experiment.backends import backends_from, repeated_names
from ..judges.models.backend import Backend

NO_JUDGE = "offline/classifier"
"""The embedded classifier: the rules of the audit and nothing else, as when no judge is named."""


def judges_from(models: Any, audit: Audit[Any]) -> tuple[Backend, ...]:
    """The judges, in the order in which they are asked; none where none is named.

    Raises:
        InputError: settings that are none, two of one name, more than three, an embedded model, or
            an audit that judges have nothing to do in.
    """
    from ..judges.factory import backend_of

    if models is None or models in ((), [], NO_JUDGE, (NO_JUDGE,), [NO_JUDGE]):
        return ()
    if not audit.takes_judges:
        raise InputError(f"{audit.name}: everything is read by rule; judges have nothing to do")
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
