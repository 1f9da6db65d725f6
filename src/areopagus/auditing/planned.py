"""Which items of an audit are asked: all, the first so many, or a sample of whole units."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from ..audits.audit import AuditItem
from ..errors import InputError, InputFault

_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """The items to ask, which can be gone through as often as needed.

    Attributes:
        n_items: how many there are.
        n_units: how many units they belong to.
        n_askings: how often one target is asked, repeats included.
        fingerprint: SHA-256 over ids, prompts and fields, in order.
        repeats: rounds.
    """

    n_items: int
    n_units: int
    n_askings: int
    fingerprint: str
    repeats: int
    _items: Callable[[], Iterator[AuditItem]]

    def items(self) -> Iterator[AuditItem]:
        """The items in their order."""
        return self._items()

    def askings(self) -> Iterator[tuple[AuditItem, int]]:
        """Every item with the number of its asking, from 0."""
        for item in self._items():
            for repeat in range(item.repeats * self.repeats):
                yield item, repeat


def plan_items(
    items: Callable[[], Iterator[AuditItem]],
    *,
    repeats: int,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> Plan:
    """The plan, after one pass over all items.

    Args:
        items: gives every item of the audit, anew each time.
        repeats: rounds of asking, from 1 to 1000.
        limit: only the first so many items, after sampling.
        sample: so many units drawn at random without replacement, kept in their order.
        seed: of the sample; the same seed draws the same units of the same audit.

    Raises:
        InputError: numbers out of range, no item, an id that stands twice, an empty prompt.
    """
    for name, value in (("limit", limit), ("sample", sample)):
        if value is not None and value < 1:
            raise InputError(f"{name}: must be at least 1, got {value}")
    if not 1 <= repeats <= 1000:
        raise InputError(f"repeats: must be from 1 to 1000, got {repeats}")
    drawn = None if sample is None else _drawn(items(), sample, seed)

    def chosen() -> Iterator[AuditItem]:
        found = items()
        if drawn is not None:
            found = _of_units(found, drawn)
        return found if limit is None else islice(found, limit)

    n_items = n_units = n_askings = 0
    last: str | None = None
    digest = hashlib.sha256()
    seen: set[bytes] = set()
    faults: list[InputFault] = []
    for item in chosen():
        n_items += 1
        n_askings += item.repeats * repeats
        n_units += item.cluster != last
        last = item.cluster
        for part in (item.item_id, item.prompt, repr(sorted(item.fields.items()))):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        # Sixteen bytes an id instead of the id: there may be a million.
        short = hashlib.sha256(item.item_id.encode("utf-8", "surrogatepass")).digest()[:16]
        if short in seen:
            faults.append(InputFault(item.item_id[:80], "is the id of two items"))
        seen.add(short)
        if not item.prompt.strip():
            faults.append(InputFault(item.item_id[:80], "has an empty prompt"))
        if len(faults) >= _FAULTS:
            break
    if faults:
        raise InputError(faults)
    if not n_items:
        raise InputError("the audit has no items with these options")
    return Plan(n_items, n_units, n_askings, digest.hexdigest(), repeats, chosen)


def _drawn(items: Iterator[AuditItem], sample: int, seed: int) -> frozenset[int]:
    """Numbers of the units drawn."""
    n_units, last = 0, None
    for item in items:
        n_units += item.cluster != last
        last = item.cluster
    if sample >= n_units:
        return frozenset(range(n_units))
    chance = random.Random(f"audit sample {seed}")  # noqa: S311 - nothing secret
    return frozenset(chance.sample(range(n_units), sample))


def _of_units(items: Iterator[AuditItem], drawn: frozenset[int]) -> Iterator[AuditItem]:
    number, last = -1, None
    for item in items:
        number += item.cluster != last
        last = item.cluster
        if number in drawn:
            yield item
