"""Who writes prompts and who judges them, checked before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..errors import InputError, InputFault
from ..experiment.ask import Protocol, target_backend
from ..experiment.backends import backends_from, checked_models, repeated_names
from ..judges.models.backend import Backend
from ..judges.offline.models import require_role
from .config import PromptsConfig

OFFLINE_GENERATOR = "offline/generator"
"""The embedded stand-in: prompts from templates."""
GENERATOR_TOKENS = 6_000


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a construction.

    Attributes:
        generators: who writes.
        judges: who judges: the generators' models, with room for a vote, and any named beside them.
    """

    generators: tuple[Backend, ...]
    judges: tuple[Backend, ...]

    @property
    def asked_judges(self) -> tuple[Backend, ...]:
        """The judges that can be asked at all: embedded stand-ins judge nothing."""
        return tuple(judge for judge in self.judges if not judge.spec.is_offline)

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in takes part."""
        return any(backend.spec.is_offline for backend in self.generators)


def models_from(models: Any, judges: Any = None, *, effort: str | None = None) -> Models:
    """The models; the embedded generator when none is named.

    Args:
        models: who writes, and judges what the others wrote.
        judges: models that judge and do not write.
        effort: reasoning effort of the writers, where their settings name none.

    Raises:
        InputError: settings that are none, two backends of one name, an embedded model that cannot
            do what is asked of it.
    """
    from ..judges.factory import backend_of

    named = checked_models(models if models else [OFFLINE_GENERATOR])
    protocol = Protocol(max_tokens=GENERATOR_TOKENS, effort=effort)
    generators = backends_from(named, lambda spec: target_backend(spec, protocol))
    require_role(generators, "generator")
    voters = backends_from(named, backend_of)
    further = backends_from(judges, backend_of) if judges else ()
    faults = [
        InputFault(backend.spec.name, "is an embedded model, and none of them can judge prompts")
        for backend in further
        if backend.spec.is_offline
    ]
    faults += repeated_names((*generators, *further))
    if faults:
        raise InputError(faults)
    return Models(generators, (*voters, *further))


def model_notices(models: Models, config: PromptsConfig) -> list[str]:
    """What cannot be checked or measured with these models, before anything is spent."""
    notices: list[str] = []
    strings = [judge.spec.model for judge in models.asked_judges]
    kinds = set(strings)
    if len(kinds) < len(strings):
        notices.append("two names stand for one model: it votes once, and never on its own prompts")
    unchecked = [
        generator.spec.name
        for generator in models.generators
        if not (kinds - (set() if config.filter_judges == "all" else {generator.spec.model}))
    ]
    if unchecked:
        notices.append(
            f"nobody but its writer could vote on the prompts of {', '.join(unchecked)}: their "
            "quality is not checked; name another model in `judges` or `models`"
        )
    if config.diversity_of == "none":
        return notices
    writers = [generator.spec.model for generator in models.generators]
    pairs = list(zip(writers, writers, strict=True))
    pairs += combinations(writers, 2) if config.cross_pairs else ()
    free = [len(kinds - set(pair)) for pair in pairs]
    if 1 in free:
        notices.append(
            "for some pairs of prompts there is one model that wrote neither, so one judge says "
            "whether they are equivalent, not two; `judges` may name a further one"
        )
    if 0 in free:
        notices.append(
            "for some pairs of prompts there is no model that wrote neither: their diversity is "
            "not measured"
        )
    return notices
