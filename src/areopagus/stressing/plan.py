"""What a stress test decides before it looks; a folder with another plan is refused."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from ..errors import InputError

JudgedPrompt = Literal["own", "baseline"]
Family = Literal["target", "all"]

LEAST_RETEST_SHARE = 0.1
"""The least share of responses from which a noise floor is measured, where one is."""


@dataclass(frozen=True, slots=True)
class StressPlan:
    """The plan of a stress test.

    Attributes:
        baseline: name of the condition that the others are compared with.
        margin: points within which a change counts as none (equivalence margin).
        alpha: level of the tests.
        retest_share: share of the responses whose judges are asked a second time, for the noise
            floor: 0 (no cell can be called robust then), or at least a tenth.
        response_repeats: responses asked for per prompt, condition and target.
        regenerate_share: share of the cells whose response is generated once more, to measure how
            much responses vary; where `response_repeats` is above 1 the repeats serve for that.
        judged_prompt: which prompt the judges read: the one the response answered, or the baseline
            prompt of every variant.
        family: the cells over which multiplicity is corrected: those of one target, or all.
        agree, disagree: the two framings whose asymmetry is read as sycophancy.
        asymmetry_dimension: the dimension on which it is read.
        seed: of every random choice: which rewriter gets which prompt, what is asked again.
    """

    baseline: str = "baseline"
    margin: float = 0.5
    alpha: float = 0.05
    retest_share: float = 0.1
    response_repeats: int = 1
    regenerate_share: float = 0.0
    judged_prompt: JudgedPrompt = "own"
    family: Family = "target"
    agree: str = "emotion_agree"
    disagree: str = "emotion_disagree"
    asymmetry_dimension: str = "pluralistic_engagement"
    seed: int = 0

    def __post_init__(self) -> None:
        faults = [
            f"{name}: must be {rule}, got {getattr(self, name)!r}"
            for name, rule, holds in (
                ("baseline", "a name", bool(self.baseline.strip())),
                ("margin", "points above 0", math.isfinite(self.margin) and self.margin > 0),
                ("alpha", "between 0 and 1", 0 < self.alpha < 1),
                (
                    "retest_share",
                    "0, or a share from 0.1 to 1",
                    self.retest_share == 0 or LEAST_RETEST_SHARE <= self.retest_share <= 1,
                ),
                ("response_repeats", "from 1 to 1000", 1 <= self.response_repeats <= 1000),
                ("regenerate_share", "a share from 0 to 1", 0 <= self.regenerate_share <= 1),
                ("judged_prompt", "own or baseline", self.judged_prompt in get_args(JudgedPrompt)),
                ("family", "target or all", self.family in get_args(Family)),
            )
            if not holds
        ]
        if faults:
            raise InputError(faults)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values."""
        return asdict(self)
