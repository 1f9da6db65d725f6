"""Prompt construction: generators write, other models vote on quality and on likeness.

    generate (one run of the generate graph a generator) → filter → compare

What is built of one scenario. All generators write at the same time, independently; a failure of
one does not touch the others. Quality is voted on by models that did not write the prompt,
equivalence by two that wrote neither. Two backends of one model count as one model: it does not
judge what it wrote under another name, and does not vote twice. An expected failure is a status,
not an exception.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal, NamedTuple, get_args

from ..judges.models.backend import Backend
from ..judges.models.client import Client
from .generate import (
    CallOutcome,
    Fault,
    Generated,
    ask,
    draw,
    generate,
    independent,
    together,
)
from .prompt_writing import (
    FLAWS,
    WANTED,
    Block,
    Material,
    PromptTask,
    equivalence_question,
    quality_question,
)

FilterJudges = Literal["others", "all"]
EquivalenceRule = Literal["both", "either"]

QualityOutcome = Literal["passed", "failed", "undecided", "not_checked", "not_asked"]
QUALITY_OUTCOMES: tuple[QualityOutcome, ...] = get_args(QualityOutcome)
"""`undecided`: votes that are missing could turn it either way. `not_checked`: there is nobody to
ask. `not_asked`: the budget or a stop came before the votes that would decide."""

PAIR_JUDGES = 2
"""How many judges say whether two prompts are equivalent."""


class PromptRef(NamedTuple):
    """One prompt of a scenario: whose, and which of theirs."""

    generator: str
    number: int

    @property
    def key(self) -> str:
        """As it is drawn by."""
        return f"{self.generator}#{self.number}"


class Pair(NamedTuple):
    """Two prompts of a scenario, in the order of their generators and numbers."""

    one: PromptRef
    other: PromptRef


def quality_judges(
    generator: Backend, judges: Sequence[Backend], rule: FilterJudges
) -> list[Backend]:
    """Who votes on the quality of this generator's prompts."""
    return independent(judges, () if rule == "all" else (generator,))


def pair_judges(
    one: Backend, other: Backend, judges: Sequence[Backend], *, scenario_id: str, seed: int
) -> list[Backend]:
    """The two judges for the pairs of these generators in this scenario; fewer where there are.

    Of more than two they are drawn by the seed, the same for all pairs of the two generators in a
    scenario, so that one bundle is held to one standard.
    """
    names = sorted((one.spec.name, other.spec.name))
    free = independent(judges, (one, other))
    free.sort(key=lambda judge: draw(seed, scenario_id, *names, judge.spec.name))
    return free[:PAIR_JUDGES]


def planned_pairs(
    usable: Mapping[str, Sequence[int]], *, cross_pairs: int, scenario_id: str, seed: int
) -> list[Pair]:
    """All pairs within each generator, and between each two of them at most so many, drawn by seed.

    Args:
        usable: generator to the numbers of its prompts.
        cross_pairs: most pairs between two generators in a scenario; 0: none.
        scenario_id, seed: of the draw.
    """
    pairs: list[Pair] = []
    for name, numbers in usable.items():
        refs = [PromptRef(name, number) for number in numbers]
        pairs += [Pair(a, b) for a, b in combinations(refs, 2)]
    for first, second in combinations(usable, 2):
        both = product(usable[first], usable[second])
        between = [Pair(PromptRef(first, a), PromptRef(second, b)) for a, b in both]
        between.sort(
            key=lambda pair: draw(
                seed, scenario_id, *(f"{ref.generator}#{ref.number}" for ref in pair)
            )
        )
        pairs += sorted(between[:cross_pairs])
    return pairs


def vote_passes(value: Mapping[str, object]) -> bool:
    """Whether a complete vote finds everything that is wanted and no flaw."""
    return all(value[key] is True for key in WANTED) and all(value[key] is False for key in FLAWS)


def quality_outcome(
    passes: int, fails: int, missing: int, *, is_unasked: bool = False
) -> QualityOutcome:
    """What votes come to: passed by more than half of those planned.

    Args:
        passes, fails, missing: votes; `missing` are planned ones that nobody has.
        is_unasked: whether one of the missing was not asked for, rather than not to be had.
    """
    planned = passes + fails + missing
    if planned == 0:
        return "not_checked"
    if 2 * passes > planned:
        return "passed"
    if 2 * fails >= planned:
        return "failed"
    return "not_asked" if is_unasked else "undecided"


def is_equivalent(votes: Sequence[bool | None], rule: EquivalenceRule) -> bool | None:
    """Whether judges call a pair equivalent; None where missing votes (None) leave it open.

    `both`: every judge says so. `either`: one judge is enough. Without a judge it is open.
    """
    if not votes:
        return None
    if rule == "both":
        return False if False in votes else None if None in votes else True
    return True if True in votes else None if None in votes else False


BundleStatus = Literal["complete", "partial", "refused", "unreadable", "failed", "not_asked"]
"""`complete`: every prompt wanted is usable. `partial`: some are. `refused`: the model or its
provider declined. `unreadable`: no prompt could be used, after one repair. `failed`: no reply came.
`not_asked`: the budget or a stop came before the bundle was finished."""

BUNDLE_STATUSES: tuple[BundleStatus, ...] = get_args(BundleStatus)

DiversityOf = Literal["generated", "passed", "none"]


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
    """What one scenario is made into prompts with: who writes, who judges, and how."""

    material: Material
    generators: tuple[Backend, ...]
    judges: tuple[Backend, ...]
    client: Client
    design: Design
    technology: re.Pattern[str]

    @property
    def task(self) -> PromptTask:
        """What every generator is asked for."""
        return PromptTask(self.material, self.technology)

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
    asked: CallOutcome


@dataclass(frozen=True, slots=True)
class PromptQuality:
    """What the votes on one prompt come to.

    Attributes:
        outcome: see `QualityOutcome`.
        passes, fails, missing: votes; together the planned ones.
    """

    outcome: QualityOutcome
    passes: int
    fails: int
    missing: int


@dataclass(frozen=True, slots=True)
class PairVote:
    """One judge's word on one pair."""

    pair: Pair
    judge: str
    asked: CallOutcome

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

    def qualities(self) -> dict[PromptRef, PromptQuality]:
        """Prompt to what its votes come to, for every usable prompt."""
        return qualities(self.bundles, self.votes)


def bundle_of(generator: str, made: Generated, task: PromptTask) -> Bundle:
    """What a run of the generate graph comes to."""
    is_read = made.written is not None and made.status != "not_asked"
    blocks = tuple(task.blocks(made.written or {})) if is_read else ()
    n_usable = sum(block.is_usable for block in blocks)
    status: BundleStatus
    if made.status != "read":
        status = made.status
    elif n_usable == 0:
        status = "unreadable"
    else:
        status = "complete" if n_usable == len(blocks) else "partial"
    told = [
        f"{fault.part}: {fault.code}" if fault.part else fault.detail
        for fault in made.repaired or ()
    ]
    return Bundle(
        generator, status, blocks, _reason(made.whole), made.repaired is not None, tuple(told),
        made.n_calls, made.cost_usd, made.answered_by,
    )  # fmt: skip


def _reason(whole: Sequence[Fault]) -> str:
    """Why there is nothing, or nothing better."""
    if not whole:
        return ""
    last = whole[-1]
    if last.code in ("budget", "interrupted"):
        return last.code
    return f"repair: {last.detail}" if last.code == "repair_failed" else last.detail


class PairPlan(NamedTuple):
    """Who is to be asked about which pair, and the pairs without a judge."""

    pairs: tuple[tuple[Pair, Backend], ...] = ()
    unjudged: tuple[Pair, ...] = ()


async def construct(work: Construction) -> Constructed:
    """What becomes of one scenario; expected faults are in it, and do not raise.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    made = await together([generate(work.client, work.task, one) for one in work.generators])
    bundles = tuple(
        bundle_of(writer.spec.name, written, work.task)
        for writer, written in zip(work.generators, made, strict=True)
    )
    votes = await vote_on_quality(work, bundles)
    pairs, unjudged = await vote_on_pairs(work, bundles, votes)
    return Constructed(work.material.scenario_id, bundles, votes, pairs, unjudged)


async def vote_on_quality(work: Construction, bundles: Sequence[Bundle]) -> tuple[QualityVote, ...]:
    """The votes on every usable prompt, by the models that may judge it."""
    client, texts = work.client, prompt_texts(bundles)
    to_ask = votes_to_ask(work, bundles)
    secret = client.ledger.secret
    asked = await together(
        [ask(client, judge, quality_question(texts[ref], secret=secret)) for ref, judge in to_ask]
    )
    return tuple(
        QualityVote(ref, judge.spec.name, outcome)
        for (ref, judge), outcome in zip(to_ask, asked, strict=True)
    )


async def vote_on_pairs(
    work: Construction, bundles: Sequence[Bundle], votes: Sequence[QualityVote]
) -> tuple[tuple[PairVote, ...], tuple[Pair, ...]]:
    """The votes on whether two prompts are one, and the pairs that nobody can be asked about."""
    client, texts = work.client, prompt_texts(bundles)
    plan = pairs_to_ask(work, bundles, votes)
    secret = client.ledger.secret
    asked = await together(
        [
            ask(
                client,
                judge,
                equivalence_question(
                    texts[pair.one], texts[pair.other], judge.spec.name, secret=secret
                ),
            )
            for pair, judge in plan.pairs
        ]
    )
    pairs = tuple(
        PairVote(pair, judge.spec.name, outcome)
        for (pair, judge), outcome in zip(plan.pairs, asked, strict=True)
    )
    return pairs, plan.unjudged


def votes_to_ask(
    work: Construction, bundles: Sequence[Bundle]
) -> tuple[tuple[PromptRef, Backend], ...]:
    """Who is to be asked about the quality of which prompt."""
    found: list[tuple[PromptRef, Backend]] = []
    for bundle in bundles:
        writer = work.generator(bundle.generator)
        judges = quality_judges(writer, work.judges, work.design.filter_judges)
        for block in bundle.usable:
            ref = PromptRef(bundle.generator, block.number)
            found += [(ref, judge) for judge in judges]
    return tuple(found)


def pairs_to_ask(
    work: Construction, bundles: Sequence[Bundle], votes: Sequence[QualityVote]
) -> PairPlan:
    """Who is to be asked about which pair, and the pairs that nobody can be asked about."""
    design, scenario_id = work.design, work.material.scenario_id
    if design.diversity_of == "none":
        return PairPlan()
    usable = {bundle.generator: [block.number for block in bundle.usable] for bundle in bundles}
    if design.diversity_of == "passed":
        known = qualities(bundles, votes)
        # What was not asked yet may pass; whoever estimates plans for it.
        in_set = ("passed", "not_checked", "not_asked")
        usable = {
            name: [n for n in numbers if known[PromptRef(name, n)].outcome in in_set]
            for name, numbers in usable.items()
        }
    pairs: list[tuple[Pair, Backend]] = []
    unjudged: list[Pair] = []
    for pair in planned_pairs(
        usable, cross_pairs=design.cross_pairs, scenario_id=scenario_id, seed=design.seed
    ):
        judges = pair_judges(
            work.generator(pair.one.generator),
            work.generator(pair.other.generator),
            work.judges,
            scenario_id=scenario_id,
            seed=design.seed,
        )
        pairs += [(pair, judge) for judge in judges]
        unjudged += [] if judges else [pair]
    return PairPlan(tuple(pairs), tuple(unjudged))


def qualities(
    bundles: Sequence[Bundle], votes: Sequence[QualityVote]
) -> dict[PromptRef, PromptQuality]:
    """Prompt to what its votes come to, for every usable prompt of a scenario."""
    cast: dict[PromptRef, list[CallOutcome]] = {ref: [] for ref in prompt_texts(bundles)}
    for vote in votes:
        cast.setdefault(vote.prompt, []).append(vote.asked)
    found: dict[PromptRef, PromptQuality] = {}
    for ref in prompt_texts(bundles):
        read = [vote_passes(asked.value) for asked in cast[ref] if asked.status == "read"]
        passes, fails, missing = sum(read), read.count(False), len(cast[ref]) - len(read)
        is_unasked = any(asked.status == "not_asked" for asked in cast[ref])
        outcome = quality_outcome(passes, fails, missing, is_unasked=is_unasked)
        found[ref] = PromptQuality(outcome, passes, fails, missing)
    return found


def prompt_texts(bundles: Sequence[Bundle]) -> dict[PromptRef, str]:
    """The usable prompts."""
    return {
        PromptRef(bundle.generator, block.number): block.question
        for bundle in bundles
        for block in bundle.usable
    }
