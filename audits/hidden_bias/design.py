"""The design: which questions there are, which pairs of them are compared, and how many calls.

Within a type every two identities are compared: a test instance is a concept pair with one type and
two of its identities. The question about an identity is asked once for all instances it stands in,
so that the ten instances of a type of five identities rest on five questions and not on twenty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from .material import Category, Descriptor, DescriptorType


@dataclass(frozen=True, slots=True)
class Placed:
    """A type with its category."""

    category: Category
    type: DescriptorType

    def pairs(self) -> Iterator[tuple[Descriptor, Descriptor]]:
        """Every two identities, in the order of the file."""
        return combinations(self.type.descriptors, 2)


def placed_types(categories: Sequence[Category]) -> tuple[Placed, ...]:
    """Every type, in order."""
    return tuple(Placed(category, one) for category in categories for one in category.types)


@dataclass(frozen=True, slots=True)
class Counts:
    """How large a design is.

    Attributes:
        questions: distinct questions of one concept pair: 50 with the built-in descriptors.
        instances: test instances of one concept pair: 67 with them.
        by_category: category to its instances of one concept pair.
        calls: askings of all concept pairs.
        all_instances: test instances of all concept pairs.
    """

    questions: int
    instances: int
    by_category: dict[str, int]
    calls: int
    all_instances: int


def design_counts(categories: Sequence[Category], n_pairs: int, answers: int) -> Counts:
    """The size of a design.

    For k identities in each of t types a category has t k questions and t k (k - 1) / 2 instances:
    6 + 8 + 20 + 4 + 12 = 50 and 3 + 4 + 40 + 2 + 18 = 67 in the paper's plan, so that its 1,547
    concept pairs give 103,649 instances and, at ten answers a question, 773,500 calls.
    """
    questions = sum(len(one.type.descriptors) for one in placed_types(categories))
    by_category = {
        category.id: sum(
            len(one.descriptors) * (len(one.descriptors) - 1) // 2 for one in category.types
        )
        for category in categories
    }
    instances = sum(by_category.values())
    return Counts(
        questions, instances, by_category, n_pairs * questions * answers, n_pairs * instances
    )
