"""Who is asked in an audit, and who judges."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..audits.definition import Audit
from ..errors import InputError, InputFault
from ..experiment.backends import settings_of, sorted_models
from ..judges.models.backend import Backend
from ..stressing.material import targets_from

__all__ = ["NO_JUDGE", "judges_from", "settings_of", "targets_from"]

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
    specs, given = sorted_models(models)
    backends = tuple(given.get(i) or backend_of(spec) for i, spec in enumerate(specs))
    faults = [
        InputFault(backend.spec.name, "is an embedded model, and none of them can classify")
        for backend in backends
        if backend.spec.is_offline
    ]
    names = Counter(backend.spec.name for backend in backends)
    faults += [
        InputFault(name, "is named twice; give one of the two a name")
        for name, number in names.items()
        if number > 1
    ]
    if len(backends) > 3:
        rule = f"at most three are asked, two and one who settles; got {len(backends)}"
        faults.append(InputFault("judges", rule))
    if faults:
        raise InputError(faults, hint=f"Without a judge ({NO_JUDGE}) the rules alone classify.")
    return backends
