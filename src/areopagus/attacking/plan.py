"""What an attack decides before it looks: it stands in the plan and is not moved later."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, get_args

from ..errors import InputError
from .family import Placement

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)


@dataclass(frozen=True, slots=True)
class AttackPlan:
    """The plan of an attack.

    Attributes:
        threshold: points in the demanded direction from which a score counts as moved; reaching
            the demanded end of the scale counts too where the clean score was not there.
        placements: where texts are put; a family's own placements outside of these are left out.
        texts: only the first so many texts of each family; None = all.
        controls: whether harmless prose of the same length is put into the same places.
        neutralise: whether attacked responses are scored once more with what the detectors notice
            taken out.
        level: of the intervals.
        alpha: level of the tests, Holm's correction over families included.
    """

    threshold: float = 2.0
    placements: tuple[Placement, ...] = PLACEMENTS
    texts: int | None = None
    controls: bool = True
    neutralise: bool = False
    level: float = 0.95
    alpha: float = 0.05

    def __post_init__(self) -> None:
        known = set(self.placements) <= set(PLACEMENTS) and len(self.placements) > 0
        faults = [
            f"{name}: must be {rule}, got {getattr(self, name)!r}"
            for name, rule, holds in (
                (
                    "threshold",
                    "points above 0",
                    math.isfinite(self.threshold) and self.threshold > 0,
                ),
                ("placements", f"of {', '.join(PLACEMENTS)}", known),
                ("texts", "at least 1", self.texts is None or self.texts >= 1),
                ("level", "between 0 and 1", 0 < self.level < 1),
                ("alpha", "between 0 and 1", 0 < self.alpha < 1),
            )
            if not holds
        ]
        if faults:
            raise InputError(faults)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values."""
        return {**asdict(self), "placements": list(self.placements)}
