"""Every figure of a prompt set: yield, pass rate, coverage, agreement of judges, diversity.

Functional diversity is the share of pairs of prompts that demand different analytical work:

    FD = 1 − equivalent pairs / all pairs                        (the paper's appendix 15.3)

one value a scenario and generator (pairs within its bundle), and one a scenario and pair of
generators (pairs across their bundles). A bundle with an undecided pair has no value: leaving the
pair out would favour whatever made the judges answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..aggregation.clustered import bounded_mean, clustered_rate
from ..aggregation.estimate import Estimate
from ..aggregation.proportions import wilson
from ..graphs.prompt_construction import (
    BUNDLE_STATUSES,
    QUALITY_OUTCOMES,
    EquivalenceRule,
    is_equivalent,
)
from ..graphs.prompt_writing import CRITERIA, FLAWS
from ..records.estimates import Estimates
from .tables import BUNDLES_FILE, CANDIDATES_FILE, PAIRS_FILE, USED, VOTES_FILE, Rows

SET, GENERATORS = "set", "generators"
ACROSS, AGREEMENT, REFUSALS = "diversity across", "agreement", "refusals"
"""Names of the tables."""

ENDED = ("complete", "partial", "refused", "unreadable")
"""Bundles that say something of the model: the others failed on the way, or were not asked for."""

UNJUDGED = "no model that wrote neither prompt"
UNDECIDED = "votes are missing"
TOO_FEW = "no two usable prompts"

Between = tuple[str, str]
"""Names of two generators in their order; twice the same name: within its bundles."""


def estimate(
    tables: Mapping[str, Rows],
    generators: Sequence[str],
    *,
    rule: EquivalenceRule = "both",
    level: float = 0.95,
    has_pairs: bool = True,
) -> Estimates:
    """All figures of the tables that a construction leaves, by source and over all sources.

    Args:
        tables: candidates, bundles, votes and pairs, as `tables_of` makes or `read_tables` reads
            them.
        generators: names, in order.
        rule: when a pair of prompts is equivalent.
        level: of the intervals.
        has_pairs: whether pairs of prompts were to be compared.
    """
    found = Estimates()
    bundles = tables[BUNDLES_FILE]
    sources = list(dict.fromkeys(row["source"] for row in bundles))
    candidates = tables[CANDIDATES_FILE]
    found.add(SET, "scenarios", len({row["scenario_id"] for row in bundles}))
    found.add(SET, "generators", len(generators))
    found.add(SET, "prompts_wanted", sum(int(row["wanted"]) for row in bundles))
    found.add(SET, "prompts_in_set", sum(_is_in_set(row) for row in candidates))
    for source in [*sources, ""] if len(sources) != 1 else sources:
        of = {row["scenario_id"]: None for row in bundles if not source or row["source"] == source}
        part = {name: [r for r in rows if r["scenario_id"] in of] for name, rows in tables.items()}
        keys = {"factor": "source", "group": source}
        pairs = _pairs_by_scenario(part[PAIRS_FILE], list(of)) if has_pairs else None
        for name in generators:
            _add_generator(found, part, name, list(of), level, keys)
            if pairs is not None:
                within = [one.get((name, name), []) for one in pairs]
                _add_diversity(found, GENERATORS, within, rule, level, respondent=name, **keys)
        if pairs is not None:
            _add_across(found, pairs, generators, rule, level, keys)
        _add_agreement(found, part, list(of), level, keys)
    _add_refusals(found, bundles)
    return found


def _is_in_set(row: Mapping[str, Any]) -> bool:
    return row["is_usable"] == "yes" and row["quality"] in USED


def _add_generator(
    found: Estimates,
    part: Mapping[str, Rows],
    name: str,
    scenarios: Sequence[str],
    level: float,
    keys: Mapping[str, str],
) -> None:
    """What one generator wrote, and what the votes on it come to."""

    def add(measure: str, value: Estimate | float) -> None:
        found.add(GENERATORS, measure, value, respondent=name, **keys)

    bundles = {row["scenario_id"]: row for row in part[BUNDLES_FILE] if row["generator"] == name}
    mine = [
        row
        for row in part[CANDIDATES_FILE]
        if row["generator"] == name and row["is_usable"] == "yes"
    ]
    usable = Counter(row["scenario_id"] for row in mine)
    passed = Counter(row["scenario_id"] for row in mine if row["quality"] == "passed")
    decided = passed + Counter(row["scenario_id"] for row in mine if row["quality"] == "failed")
    statuses = Counter(row["status"] for row in bundles.values())
    ended = [one for one in scenarios if bundles[one]["status"] in ENDED]
    wanted = {one: int(bundles[one]["wanted"]) for one in scenarios}
    add("scenarios", len(scenarios))
    for status in BUNDLE_STATUSES:
        add(status, statuses[status])
    add("prompts_wanted", sum(wanted[one] for one in ended))
    add("prompts_usable", sum(usable[one] for one in ended))
    add(
        "yield",
        clustered_rate(
            [usable[one] if one in ended else 0 for one in scenarios],
            [wanted[one] if one in ended else 0 for one in scenarios],
            level=level,
            empty="no bundle came to an end",
        ),
    )
    add("coverage", wilson(statuses["complete"], len(ended), level=level, unit="scenario"))
    qualities = Counter(row["quality"] for row in mine)
    for outcome in QUALITY_OUTCOMES:
        add(f"prompts_{outcome}", qualities[outcome])
    add(
        "pass_rate",
        clustered_rate(
            [passed[one] for one in scenarios],
            [decided[one] for one in scenarios],
            level=level,
            empty="no prompt is decided",
        ),
    )
    whole = [one for one in ended if decided[one] == usable[one]]
    n_passed = sum(passed[one] == wanted[one] for one in whole)
    add("coverage_passed", wilson(n_passed, len(whole), level=level, unit="scenario"))
    votes = [
        row for row in part[VOTES_FILE] if row["generator"] == name and row["status"] == "read"
    ]
    add("votes_read", len(votes))
    for criterion in CRITERIA:
        wrong = "yes" if criterion in FLAWS else "no"
        n_wrong = sum(row[criterion] == wrong for row in votes)
        add(f"missed_{criterion}", n_wrong)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The pairs of two generators in one scenario.

    Attributes:
        equivalent, different, undecided: pairs by what their judges say.
        unjudged: pairs that nobody could be asked about.
        judges: judges planned a pair (the fewest, where it differs); 0 without pairs.
    """

    equivalent: int = 0
    different: int = 0
    undecided: int = 0
    unjudged: int = 0
    judges: int = 0

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], rule: EquivalenceRule) -> PairCounts:
        """The counts of some rows of the table of pairs."""
        counts: Counter[str] = Counter()
        judges: list[int] = []
        for row in rows:
            votes = votes_of(row)
            if not votes:
                counts["unjudged"] += 1
                continue
            judges.append(len(votes))
            verdict = is_equivalent(votes, rule)
            counts[{True: "equivalent", False: "different", None: "undecided"}[verdict]] += 1
        return cls(**counts, judges=min(judges, default=0))

    @property
    def planned(self) -> int:
        """All pairs."""
        return self.equivalent + self.different + self.undecided + self.unjudged

    @property
    def diversity(self) -> float:
        """FD in [0, 1]; nan without pairs, and where a pair is undecided or nobody's to judge."""
        if self.planned == 0 or self.undecided or self.unjudged:
            return math.nan
        return 1 - self.equivalent / self.planned


def votes_of(row: Mapping[str, Any]) -> list[bool | None]:
    """Whether each judge of a pair called it equivalent; None where it did not say."""
    said = {"yes": True, "no": False}
    return [said.get(row[f"vote_{n}"]) for n in (1, 2) if row[f"judge_{n}"]]


def _pairs_by_scenario(rows: Rows, scenarios: Sequence[str]) -> list[dict[Between, Rows]]:
    """Each scenario's pairs, by the generators that wrote them."""
    found: dict[str, dict[Between, Rows]] = {name: {} for name in scenarios}
    for row in rows:
        of = (row["first_generator"], row["second_generator"])
        found[row["scenario_id"]].setdefault(of, []).append(row)
    return list(found.values())


def _add_diversity(
    found: Estimates,
    table: str,
    pairs: Sequence[Rows],
    rule: EquivalenceRule,
    level: float,
    **keys: str,
) -> None:
    """Mean FD of some pairs of each scenario, beside it that under the other rule."""
    counts = [PairCounts.of(rows, rule) for rows in pairs]
    other = [PairCounts.of(rows, _other(rule)).diversity for rows in pairs]
    whole = [one for one in counts if not math.isnan(one.diversity)]
    mean = bounded_mean([one.diversity for one in counts], level=level, empty=_why_none(counts))
    _add_mean(found, table, mean, other, whole, keys)


def _add_across(
    found: Estimates,
    pairs: Sequence[Mapping[Between, Rows]],
    generators: Sequence[str],
    rule: EquivalenceRule,
    level: float,
    keys: Mapping[str, str],
) -> None:
    """FD of each two generators, and (with three or more) over all twos.

    The mean over all twos takes the scenarios in which every two generators have a value, so that
    each of them weighs the same.
    """
    crossed = list(combinations(generators, 2))
    for one, other in crossed:
        mine = [scenario.get((one, other), []) for scenario in pairs]
        _add_diversity(found, ACROSS, mine, rule, level, respondent=one, baseline=other, **keys)
    if len(crossed) < 2:
        return

    def counted(scenario: Mapping[Between, Rows], by: EquivalenceRule) -> list[PairCounts]:
        return [PairCounts.of(scenario.get(of, []), by) for of in crossed]

    def averaged(counts: Sequence[PairCounts]) -> float:
        values = [one.diversity for one in counts]
        return math.nan if any(map(math.isnan, values)) else float(np.mean(values))

    counts = [counted(scenario, rule) for scenario in pairs]
    every = [one for scenario in counts for one in scenario]
    values = [averaged(scenario) for scenario in counts]
    whole = [
        one
        for scenario, value in zip(counts, values, strict=True)
        if not math.isnan(value)
        for one in scenario
    ]
    other_rule = [averaged(counted(scenario, _other(rule))) for scenario in pairs]
    mean = bounded_mean(values, level=level, empty=_why_none(every))
    _add_mean(found, ACROSS, mean, other_rule, whole, {**keys, "detail": "all generators"})


def _add_mean(
    found: Estimates,
    table: str,
    mean: Estimate,
    other_rule: Sequence[float],
    whole: Sequence[PairCounts],
    keys: Mapping[str, str],
) -> None:
    known = [value for value in other_rule if not math.isnan(value)]
    found.add(table, "diversity", mean, **keys)
    found.add(table, "diversity_other_rule", float(np.mean(known)) if known else None, **keys)
    found.add(table, "pairs", sum(one.planned for one in whole), **keys)
    found.add(table, "equivalent_pairs", sum(one.equivalent for one in whole), **keys)
    found.add(table, "judges_a_pair", min((one.judges for one in whole), default=0), **keys)


def _other(rule: EquivalenceRule) -> EquivalenceRule:
    return "either" if rule == "both" else "both"


def _why_none(counts: Iterable[PairCounts]) -> str:
    kept = list(counts)
    reasons = [UNJUDGED] if any(one.unjudged for one in kept) else []
    reasons += [UNDECIDED] if any(one.undecided for one in kept) else []
    return "; ".join(reasons) or TOO_FEW


def _add_agreement(
    found: Estimates,
    part: Mapping[str, Rows],
    scenarios: Sequence[str],
    level: float,
    keys: Mapping[str, str],
) -> None:
    """Share of prompts, and of pairs, on which all judges who were read say the same."""
    by_prompt: dict[tuple[str, str], list[str]] = {}
    for row in part[VOTES_FILE]:
        if row["status"] == "read":
            at = (row["scenario_id"], row["prompt_id"])
            by_prompt.setdefault(at, []).append(row["passes"])
    said: dict[str, list[tuple[str, bool]]] = {
        "quality": [
            (scenario, len(set(votes)) == 1)
            for (scenario, _), votes in by_prompt.items()
            if len(votes) > 1
        ],
        "equivalence": [
            (row["scenario_id"], votes[0] == votes[1])
            for row in part[PAIRS_FILE]
            if len(votes := votes_of(row)) == 2 and None not in votes
        ],
    }
    for about, both in said.items():
        agreed = Counter(scenario for scenario, is_same in both if is_same)
        asked = Counter(scenario for scenario, _ in both)
        if not asked:
            continue
        rate = clustered_rate(
            [agreed[one] for one in scenarios], [asked[one] for one in scenarios], level=level
        )
        found.add(AGREEMENT, "agreement", rate, detail=about, **keys)
        found.add(AGREEMENT, "judged", asked.total(), detail=about, **keys)


def _add_refusals(found: Estimates, bundles: Rows) -> None:
    """One row a model, source and stratum, with the number of scenarios declined."""
    counts = Counter(
        (row["generator"], row["source"], row["stratum"])
        for row in bundles
        if row["status"] == "refused"
    )
    for (name, source, stratum), n in counts.most_common():
        keys = {"factor": "source", "group": source, "detail": stratum}
        found.add(REFUSALS, "scenarios", n, respondent=name, **keys)
