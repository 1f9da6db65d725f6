"""What the graph of prompt construction carries, what it needs, and what it ends with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, TypedDict, get_args

from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from .prompt_construction_blocks import Block
from .prompt_construction_calls import Asked, AskedStatus, Material
from .prompt_construction_judges import FilterJudges, Pair, PromptRef

BundleStatus = Literal["complete", "partial", "refused", "unreadable", "failed", "not_asked"]
"""`complete`: every prompt wanted is usable. `partial`: some are. `refused`: the model or its
provider declined. `unreadable`: no prompt could be used, after one repair. `failed`: no reply came.
`not_asked`: the budget or a stop came before the bundle was finished."""

BUNDLE_STATUSES: tuple[BundleStatus, ...] = get_args(BundleStatus)

DiversityOf = Literal["generated", "passed", "none"]
DIVERSITY_OF: tuple[DiversityOf, ...] = get_args(DiversityOf)


@dataclass(frozen=True, slots=True)
class Design:
    """What is the same for all scenarios.

    Attributes:
        filter_judges: who votes on quality: the models that did not write, or all.
        diversity_of: whose pairs are compared: all usable prompts, those that passed, or none.
        cross_pairs: most pairs between two generators in a scenario.
        seed: of every draw.
    """

    filter_judges: FilterJudges = "others"
    diversity_of: DiversityOf = "generated"
    cross_pairs: int = 25
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Construction:
    """Runtime context of one run of the graph: one scenario, who writes and who judges."""

    material: Material
    generators: tuple[Backend, ...]
    judges: tuple[Backend, ...]
    desk: Desk
    design: Design
    technology: re.Pattern[str]

    def generator(self, name: str) -> Backend:
        """The generator of this name."""
        return next(item for item in self.generators if item.spec.name == name)


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one generator wrote for one scenario.

    Attributes:
        generator: the backend's name.
        status: see `BundleStatus`.
        blocks: one a prompt wanted, in order; empty where nothing could be read.
        reason: why there is nothing, or class of fault.
        is_repaired: whether it was asked once more.
        repaired_faults: what for: "number: code", or the form's fault.
        calls, cost_usd: of the replies behind it; None = unknown price.
        answered_by: the model that says it answered.
    """

    generator: str
    status: BundleStatus
    blocks: tuple[Block, ...] = ()
    reason: str = ""
    is_repaired: bool = False
    repaired_faults: tuple[str, ...] = ()
    calls: int = 0
    cost_usd: float | None = 0.0
    answered_by: str | None = None

    @property
    def usable(self) -> tuple[Block, ...]:
        """The prompts that can be used."""
        return tuple(block for block in self.blocks if block.is_usable)


@dataclass(frozen=True, slots=True)
class QualityVote:
    """One judge's vote on one prompt; `asked` holds what it said."""

    prompt: PromptRef
    judge: str
    asked: Asked


@dataclass(frozen=True, slots=True)
class PairVote:
    """One judge's word on one pair."""

    pair: Pair
    judge: str
    asked: Asked

    @property
    def value(self) -> bool | None:
        """Whether the judge calls them equivalent; None where it did not say."""
        return bool(self.asked.value["equivalent"]) if self.asked.status == "read" else None


@dataclass(frozen=True, slots=True)
class Constructed:
    """What became of one scenario.

    Attributes:
        scenario_id: which.
        bundles: one a generator, in their order.
        votes: every vote planned on quality, whatever became of it.
        pairs: every vote planned on equivalence, whatever became of it.
        unjudged_pairs: pairs that nobody could be asked about.
    """

    scenario_id: str
    bundles: tuple[Bundle, ...]
    votes: tuple[QualityVote, ...] = ()
    pairs: tuple[PairVote, ...] = ()
    unjudged_pairs: tuple[Pair, ...] = ()


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {**old, **new}


class ConstructionState(TypedDict, total=False):
    """State of one scenario, as JSON-like values; the scenario's own text is not in it.

    `drafts` holds a generator's blocks and what it takes to ask it once more; `votes` and `pairs`
    hold votes by key, so that a repeated write changes nothing.
    """

    drafts: Annotated[dict[str, dict[str, Any]], _merged]
    votes: Annotated[dict[str, dict[str, Any]], _merged]
    pairs: Annotated[dict[str, dict[str, Any]], _merged]


@dataclass(frozen=True, slots=True)
class Draft:
    """A bundle on its way, as it stands in the state.

    Attributes:
        ended: a final status where there is nothing more to do; None while there is.
        problem: what was wrong with the form of the whole reply.
        reply: the first reply, shortened, as a repair shows it back; `rung` how it was asked for.
    """

    generator: str
    blocks: tuple[Block, ...] = ()
    ended: BundleStatus | None = None
    problem: str | None = None
    reason: str = ""
    reply: str = ""
    rung: Any = "prompt"
    is_repaired: bool = False
    repaired_faults: tuple[str, ...] = ()
    calls: int = 0
    cost_usd: float | None = 0.0
    answered_by: str | None = None

    @property
    def faulty(self) -> tuple[Block, ...]:
        """The blocks that a repair would ask for."""
        return tuple(block for block in self.blocks if block.faults)

    @property
    def wants_repair(self) -> bool:
        """Whether to ask once more."""
        return self.ended is None and not self.is_repaired and bool(self.problem or self.faulty)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = asdict(self)
        plain["blocks"] = [block.to_json() for block in self.blocks]
        plain["repaired_faults"] = list(self.repaired_faults)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Draft:
        """The reverse of `to_json`."""
        blocks = tuple(Block.from_json(block) for block in plain["blocks"])
        faults = tuple(plain["repaired_faults"])
        return cls(**{**plain, "blocks": blocks, "repaired_faults": faults})

    def bundle(self) -> Bundle:
        """The bundle it ends as."""
        n_usable = sum(block.is_usable for block in self.blocks)
        status = self.ended
        if status is None:
            if self.problem is not None or n_usable == 0:
                status = "unreadable"
            else:
                status = "complete" if n_usable == len(self.blocks) else "partial"
        blocks = () if status == "not_asked" else self.blocks
        return Bundle(
            self.generator, status, blocks, self.reason, self.is_repaired, self.repaired_faults,
            self.calls, self.cost_usd, self.answered_by,
        )  # fmt: skip


def asked_json(asked: Asked) -> dict[str, Any]:
    """A vote as it stands in the state."""
    return {**asdict(asked), "value": dict(asked.value)}


def asked_from(plain: Mapping[str, Any]) -> Asked:
    """The reverse of `asked_json`."""
    status: AskedStatus = plain["status"]
    return Asked(status, plain["value"], plain["detail"], plain["calls"], plain["cost_usd"])


def usable_numbers(bundles: Sequence[Bundle]) -> dict[str, list[int]]:
    """Generator to the numbers of its usable prompts; generators without one are left out."""
    found = {bundle.generator: [block.number for block in bundle.usable] for bundle in bundles}
    return {name: numbers for name, numbers in found.items() if numbers}


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """What is to be asked about a scenario's prompts, for whoever asks and whoever estimates.

    Attributes:
        votes: prompt and judge.
        pairs: pair and judge.
        unjudged_pairs: pairs without a judge.
    """

    votes: tuple[tuple[PromptRef, Backend], ...] = ()
    pairs: tuple[tuple[Pair, Backend], ...] = ()
    unjudged_pairs: tuple[Pair, ...] = field(default=())
