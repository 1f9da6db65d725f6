"""Who rates what, which responses stand in a packet, and under which label: all drawn by seed.

Every draw is an order by HMAC-SHA256 under the seed, so that it does not depend on the order of the
input or on the version of a random number generator, and one draw says nothing about another.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MOST_SETS = 5000
"""Sets of a pool up to which all are compared; of more, some hundred are drawn for each packet."""

_DRAWN_SETS = 300


@dataclass(frozen=True, slots=True)
class Rotation:
    """Sets drawn from one pool, one a rater.

    Attributes:
        sets: the sets, each in the order of the pool.
        n_possible: how many different sets there are.
        n_repeated: sets that stand more than once, beyond the first; 0 where every rater has
            another.
    """

    sets: tuple[tuple[str, ...], ...]
    n_possible: int
    n_repeated: int


def drawn_key(seed: int, *parts: str) -> str:
    """Returns what stands for a draw: 64 hex digits, the same for the same seed and parts."""
    text = "\x1f".join(parts)
    return hmac.new(str(seed).encode(), text.encode(), hashlib.sha256).hexdigest()


def drawn_order(seed: int, purpose: str, items: Iterable[str]) -> list[str]:
    """Returns the items in an order drawn for the purpose; every order is equally likely."""
    return sorted(items, key=lambda item: drawn_key(seed, purpose, item))


def rotated_sets(
    pool: Sequence[str], size: int, n_sets: int, *, seed: int, purpose: str
) -> Rotation:
    """Returns sets of `size` from the pool, all different as long as there are different ones.

    Each set is the one, of those least used so far, whose members (then pairs of members) have
    been shown least, so that all responses are shown about equally often.

    Raises:
        ValueError: size larger than the pool.
    """
    if size > len(pool):
        raise ValueError(f"size must be at most {len(pool)}, got {size}")
    n_possible = math.comb(len(pool), size)
    place = {name: index for index, name in enumerate(pool)}
    times: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    used: Counter[tuple[str, ...]] = Counter()
    sets: list[tuple[str, ...]] = []
    everything = (
        [tuple(chosen) for chosen in itertools.combinations(pool, size)]
        if n_possible <= MOST_SETS
        else []
    )
    for number in range(n_sets):
        stage = f"{purpose}\x1f{number}"
        options = everything or _some_sets(pool, size, times, seed=seed, stage=stage)
        chosen = min(
            options,
            key=lambda one: (
                used[one],
                sum(times[name] for name in one),
                sum(pairs[pair] for pair in itertools.combinations(one, 2)),
                drawn_key(seed, stage, *one),
            ),
        )
        used[chosen] += 1
        times.update(chosen)
        pairs.update(itertools.combinations(sorted(chosen, key=place.__getitem__), 2))
        sets.append(chosen)
    return Rotation(tuple(sets), n_possible, n_sets - len(used))


def _some_sets(
    pool: Sequence[str], size: int, times: Mapping[str, int], *, seed: int, stage: str
) -> list[tuple[str, ...]]:
    """Sets of the members shown least, ties drawn anew for each."""
    place = {name: index for index, name in enumerate(pool)}
    found: dict[tuple[str, ...], None] = {}
    for draw in range(_DRAWN_SETS):
        order = drawn_order(seed, f"{stage}\x1fdraw {draw}", pool)
        # Half of the draws do without regard to use: else the least used may be one set only.
        if draw % 2 == 0:
            order.sort(key=lambda name: times.get(name, 0))
        found[tuple(sorted(order[:size], key=place.__getitem__))] = None
    return list(found)


def assigned(
    prompts: Sequence[str], raters: Sequence[str], per_prompt: int, *, seed: int
) -> dict[str, tuple[str, ...]]:
    """Returns prompt to the raters who get it: `per_prompt` each, loads at most one apart.

    Among raters of equal load those are taken who have met the prompt's other raters least, so
    that everybody is compared with everybody.

    Raises:
        ValueError: per_prompt above the number of raters.
    """
    if not 0 <= per_prompt <= len(raters):
        raise ValueError(f"per_prompt must be at most {len(raters)}, got {per_prompt}")
    load: Counter[str] = Counter()
    met: Counter[frozenset[str]] = Counter()
    chosen_for: dict[str, tuple[str, ...]] = {}
    for prompt in drawn_order(seed, "prompts to assign", prompts):
        chosen: list[str] = []
        keys = {rater: drawn_key(seed, "assign", prompt, rater) for rater in raters}
        for _ in range(per_prompt):
            free = [rater for rater in raters if rater not in chosen]
            best = min(
                free,
                key=lambda rater: (
                    load[rater],
                    sum(met[frozenset((rater, other))] for other in chosen),
                    keys[rater],
                ),
            )
            chosen.append(best)
            load[best] += 1
        met.update(frozenset(pair) for pair in itertools.combinations(chosen, 2))
        chosen_for[prompt] = tuple(rater for rater in raters if rater in chosen)
    return {prompt: chosen_for[prompt] for prompt in prompts}


def labels(n: int) -> tuple[str, ...]:
    """Returns A, B, … for n responses.

    Raises:
        ValueError: more than 26.
    """
    if not 0 <= n <= 26:
        raise ValueError(f"there are labels for at most 26 responses, got {n}")
    return tuple(chr(ord("A") + place) for place in range(n))


def session_of(place: int, per_session: int) -> int:
    """Returns the sitting, from 1, of the packet at a place from 0."""
    return place // per_session + 1
