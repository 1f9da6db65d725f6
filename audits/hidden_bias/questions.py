"""The questions: a scene, two ways it goes on, and the form of the answer; and how many there are.

Within a type every two identities are compared: a test instance is a concept pair with one type and
two of its identities. The question about an identity is asked once for all instances it stands in,
so that the ten instances of a type of five identities rest on five questions and not on twenty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..answer_forms import lettered, one_of
from ..audit import AuditItem
from ..languages import HiddenBiasWords, Language, find_language
from .dataset import PLACE, Category, ConceptPair, Dataset, Descriptor, DescriptorType

FORWARD: Final = "one_first"
BACKWARD: Final = "two_first"
ORDERS: Final = (FORWARD, BACKWARD)

OPTIONS: Final = ("one", "two")
JOIN: Final = "\n\n"
"""What stands between the text before and the option whose perplexity is wanted."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A type with its category."""

    category: Category
    type: DescriptorType


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


def filled(text: str, phrase: str) -> str:
    """The text with the descriptor in its place, capital where a sentence begins with it."""
    found = text.replace(PLACE, phrase)
    if text.startswith(PLACE):
        found = found[:1].upper() + found[1:]
    return found


def choice_items(
    dataset: Dataset, *, answers: int, orders: bool, language: Language | None = None
) -> Iterator[AuditItem]:
    """Every question, in one order of its options or in both, which split the answers.

    With an odd number of answers the order that is asked once more alternates from question to
    question.
    """
    language = language or find_language()
    question = language.section(HiddenBiasWords).question
    ask = f"{question}{JOIN}{{options}}{JOIN}{one_of('A', 'B', language=language)}"
    for pair in dataset.pairs:
        number = 0
        for placed in placed_types(dataset.categories):
            for descriptor in placed.type.descriptors:
                split = order_split(answers, number, orders=orders)
                number += 1
                for order, repeats in split:
                    yield _choice(pair, placed, descriptor, order, repeats, ask)


def order_split(answers: int, number: int, *, orders: bool) -> list[tuple[str, int]]:
    """Order of the options to the number of askings; orders that are not asked are left out."""
    if not orders:
        return [(FORWARD, answers)]
    half, rest = divmod(answers, 2)
    more = number % 2
    counts = [half + rest * (more == 0), half + rest * (more == 1)]
    return [(order, count) for order, count in zip(ORDERS, counts, strict=True) if count]


def perplexity_items(dataset: Dataset, language: Language | None = None) -> Iterator[AuditItem]:
    """Every question, each option in every variation: one text to be scored each.

    The paper says that it has ten variations and not how they came about; ours surround scene and
    option with words that say nothing of either.
    """
    carriers = (language or find_language()).section(HiddenBiasWords).carriers
    for pair in dataset.pairs:
        for placed in placed_types(dataset.categories):
            for descriptor in placed.type.descriptors:
                for number, carrier in enumerate(carriers):
                    for option in OPTIONS:
                        yield _scored(pair, placed, descriptor, number, carrier, option)


def _choice(
    pair: ConceptPair,
    placed: Placed,
    descriptor: Descriptor,
    order: str,
    repeats: int,
    ask: str,
) -> AuditItem:
    one, two = (filled(text, descriptor.phrase) for text in (pair.option_one, pair.option_two))
    shown = (one, two) if order == FORWARD else (two, one)
    asked = ask.replace("{options}", lettered(shown))
    prompt = f"{filled(pair.scene, descriptor.phrase)}{JOIN}{asked}"
    return AuditItem(
        f"{pair.id}|{placed.type.id}|{descriptor.identity}|{order}",
        prompt,
        {**_fields(pair, placed, descriptor), "order": order, "variation": None, "option": ""},
        unit=pair.id,
        repeats=repeats,
    )


def _scored(
    pair: ConceptPair,
    placed: Placed,
    descriptor: Descriptor,
    number: int,
    carrier: str,
    option: str,
) -> AuditItem:
    text = pair.option_one if option == "one" else pair.option_two
    before = carrier.replace("{scene}", filled(pair.scene, descriptor.phrase))
    return AuditItem(
        f"{pair.id}|{placed.type.id}|{descriptor.identity}|{number}|{option}",
        f"{before}{JOIN}{filled(text, descriptor.phrase)}",
        {
            **_fields(pair, placed, descriptor),
            "order": "",
            "variation": number,
            "option": option,
        },
        unit=pair.id,
    )


def _fields(pair: ConceptPair, placed: Placed, descriptor: Descriptor) -> dict[str, str]:
    return {
        "category": placed.category.id,
        "descriptor_type": placed.type.id,
        "identity": descriptor.identity,
    }
