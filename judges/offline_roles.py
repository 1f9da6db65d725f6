"""Which embedded models there are, and what each of them can do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from ..errors import InputError, InputFault
from .models.backend import Backend

PROVIDER: Final = "offline"
LEXICAL: Final = "lexical"
REWRITER: Final = "rewriter"
RESPONDENT: Final = "respondent"
GENERATOR: Final = "generator"

Role = Literal["judge", "rewriter", "respondent", "generator"]

OFFLINE_ROLES: Final[dict[str, Role]] = {
    f"{PROVIDER}/{LEXICAL}": "judge",
    f"{PROVIDER}/{REWRITER}": "rewriter",
    f"{PROVIDER}/{RESPONDENT}": "respondent",
    f"{PROVIDER}/{GENERATOR}": "generator",
}
OFFLINE_MODELS: Final = tuple(OFFLINE_ROLES)
"""Names of the embedded models, as they are written where a model is named."""

_DOES: Final[dict[Role, str]] = {
    "judge": "an embedded judge",
    "rewriter": "an embedded rewriter of prompts",
    "respondent": "an embedded writer of responses",
    "generator": "an embedded writer of prompts",
}
_CANNOT: Final[dict[Role, str]] = {
    "judge": "judges nothing",
    "rewriter": "rewrites no prompts",
    "respondent": "writes no responses",
    "generator": "writes no prompts",
}


def require_role(backends: Iterable[Backend], role: Role) -> None:
    """Refuses embedded models that do other work than this; models of any other kind do all.

    Raises:
        InputError: with every backend of another role, or of a name that no embedded model has.
    """
    able = next(name for name, own in OFFLINE_ROLES.items() if own == role)
    faults: list[InputFault] = []
    for backend in backends:
        if not backend.spec.is_offline or OFFLINE_ROLES.get(backend.spec.model) == role:
            continue
        own = OFFLINE_ROLES.get(backend.spec.model)
        if own is None:
            known = ", ".join(OFFLINE_MODELS)
            rule = f"no such embedded model; there is {known}"
        else:
            rule = f"is {_DOES[own]} and {_CANNOT[role]}; {able} does"
        faults.append(InputFault(backend.spec.name, rule))
    if faults:
        raise InputError(faults)
