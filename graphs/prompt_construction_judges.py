"""Who looks at which prompt, and what the looks come to: never a prompt's own generator alone.

Two backends of one model are one model here: a model does not judge what it wrote under another
name, and does not vote twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Literal, NamedTuple, get_args

from ..judges.models.backend import Backend
from .prompt_construction_brief import FLAWS, WANTED

FilterJudges = Literal["others", "all"]
FILTER_JUDGES: tuple[FilterJudges, ...] = get_args(FilterJudges)

EquivalenceRule = Literal["both", "either"]
EQUIVALENCE_RULES: tuple[EquivalenceRule, ...] = get_args(EquivalenceRule)

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


class Pair(NamedTuple):
    """Two prompts of a scenario, in the order of their generators and numbers."""

    one: PromptRef
    other: PromptRef

    @property
    def is_within(self) -> bool:
        """Whether one generator wrote both."""
        return self.one.generator == self.other.generator


def independent_judges(judges: Sequence[Backend], writers: Iterable[Backend]) -> list[Backend]:
    """The judges that are another model than all writers, one a model; stand-ins left out."""
    taken = {writer.spec.model for writer in writers}
    found: dict[str, Backend] = {}
    for judge in judges:
        if judge.spec.model not in taken and not judge.spec.is_offline:
            found.setdefault(judge.spec.model, judge)
    return list(found.values())


def quality_judges(
    generator: Backend, judges: Sequence[Backend], rule: FilterJudges
) -> list[Backend]:
    """Who votes on the quality of this generator's prompts."""
    return independent_judges(judges, () if rule == "all" else (generator,))


def pair_judges(
    one: Backend, other: Backend, judges: Sequence[Backend], *, scenario_id: str, seed: int
) -> list[Backend]:
    """The two judges for the pairs of these generators in this scenario; fewer where there are.

    Of more than two they are drawn by the seed, the same for all pairs of the two generators in a
    scenario, so that one bundle is held to one standard.
    """

    def draw(judge: Backend) -> str:
        names = sorted((one.spec.name, other.spec.name))
        said = "\x1f".join((str(seed), scenario_id, *names, judge.spec.name))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    free = independent_judges(judges, (one, other))
    return sorted(free, key=draw)[:PAIR_JUDGES]


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
        between.sort(key=lambda pair: _drawn(seed, scenario_id, pair))
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


def _drawn(seed: int, scenario_id: str, pair: Pair) -> str:
    said = "\x1f".join((str(seed), scenario_id, *(f"{ref.generator}#{ref.number}" for ref in pair)))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
