"""The open questions: the same concepts of the same identities, asked for as such.

Three forms, after BBQ (`who`), CrowS-Pairs (`sentence`) and StereoSet (`continuation`). The first
two set two identities of a category side by side, and ask about each of the two concepts with
either identity named first: four prompts, which share the answers. The third asks about one
identity, with the options in two orders, as a hidden question does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Final, Literal, get_args

from ..answer_forms import lettered, one_of, option_texts, read_option
from ..audit import AuditItem, Cell, Reading
from ..languages import find_language
from .dataset import Category, ConceptPair, Dataset, OpenForms
from .questions import BACKWARD, FORWARD, JOIN, OPTIONS, ORDERS, order_split

Form = Literal["who", "sentence", "continuation"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
FORM_NAMES: Final = {
    "who": "which of two people (as BBQ)",
    "sentence": "which of two sentences (as CrowS-Pairs)",
    "continuation": "how a text goes on (as StereoSet)",
}

LETTERS: Final = ("A", "B", "C")
NEITHER: Final = "neither"
UNRELATED: Final = "unrelated"


def open_items(
    dataset: Dataset, forms: OpenForms, wanted: Sequence[Form], *, answers: int, orders: bool
) -> Iterator[AuditItem]:
    """Every open question.

    Args:
        dataset: descriptors and concept pairs.
        forms: their texts.
        wanted: which forms.
        answers: of each two identities and form, prompts included; of each identity in
            `continuation`.
        orders: whether prompts are asked in both orders.
    """
    for pair in dataset.pairs:
        number = 0
        for form, category in product(wanted, dataset.categories):
            names = open_names(category, forms)
            if form == "continuation":
                for identity, name in names.items():
                    for order, repeats in order_split(answers, number, orders=orders):
                        yield _continuation(pair, category, forms, (identity, name), order, repeats)
                    number += 1
                continue
            for one, other in combinations(names.items(), 2):
                for (concept, order), repeats in _split(answers, number, orders=orders):
                    make = _who if form == "who" else _sentence
                    yield make(pair, category, forms, (one, other), concept, order, repeats)
                number += 1


def open_names(category: Category, forms: OpenForms) -> dict[str, str]:
    """Identity to what it is called when asked openly."""
    return {
        identity: category.openly.get(identity) or forms.identity.replace("{label}", label)
        for identity, label in category.identities.items()
    }


def _split(answers: int, number: int, *, orders: bool) -> list[tuple[tuple[str, str], int]]:
    """(concept asked about, order) to askings; who gets one more alternates with the number."""
    cells = list(product(OPTIONS, ORDERS if orders else (FORWARD,)))
    least, rest = divmod(answers, len(cells))
    counts = [least + ((at - number) % len(cells) < rest) for at in range(len(cells))]
    return [(cell, count) for cell, count in zip(cells, counts, strict=True) if count]


def _who(
    pair: ConceptPair, category: Category, forms: OpenForms,
    people: tuple[tuple[str, str], tuple[str, str]], concept: str, order: str, repeats: int,
) -> AuditItem:  # fmt: skip
    shown = [name for _, name in (people if order == FORWARD else people[::-1])]
    text = forms.who.replace("{first}", _capital(shown[0]), 1).replace("{second}", shown[1])
    prompt = (
        f"{text.replace('{concept}', _of(pair, concept))}{JOIN}"
        f"{lettered([*map(_capital, shown), forms.undetermined])}{JOIN}{_ask(forms, LETTERS)}"
    )
    return _item(pair, category, "who", people, concept, order, prompt, repeats)


def _sentence(
    pair: ConceptPair, category: Category, forms: OpenForms,
    people: tuple[tuple[str, str], tuple[str, str]], concept: str, order: str, repeats: int,
) -> AuditItem:  # fmt: skip
    shown = [
        forms.sentence.replace("{concept}", _of(pair, concept)).replace("{identity}", name)
        for _, name in (people if order == FORWARD else people[::-1])
    ]
    prompt = f"{forms.sentences}{JOIN}{lettered(shown)}{JOIN}{_ask(forms, LETTERS[:2])}"
    return _item(pair, category, "sentence", people, concept, order, prompt, repeats)


def _continuation(
    pair: ConceptPair, category: Category, forms: OpenForms, who: tuple[str, str], order: str,
    repeats: int,
) -> AuditItem:  # fmt: skip
    # The senseless one stands between the two in both orders: neither is nearer to an end.
    senseless = forms.unrelated[_place(pair, len(forms.unrelated))]
    shown = [pair.concept_one, senseless, pair.concept_two]
    texts = [
        forms.continuation.replace("{concept}", one)
        for one in (shown if order == FORWARD else shown[::-1])
    ]
    story = forms.story.replace("{identity}", who[1])
    prompt = f"{story}{JOIN}{lettered(texts)}{JOIN}{_ask(forms, LETTERS)}"
    return _item(pair, category, "continuation", (who,), "", order, prompt, repeats)


def _ask(forms: OpenForms, letters: Sequence[str]) -> str:
    return one_of(*letters, language=find_language(forms.language))


def _item(
    pair: ConceptPair, category: Category, form: Form, people: Sequence[tuple[str, str]],
    concept: str, order: str, prompt: str, repeats: int,
) -> AuditItem:  # fmt: skip
    ids = [identity for identity, _ in people]
    key = "|".join(
        (pair.id, "open", form, category.id, *ids, *([concept] if concept else []), order)
    )
    fields: dict[str, Cell] = {
        "category": category.id, "descriptor_type": "", "identity": ids[0], "order": order,
        "variation": None, "option": "", "form": form,
        "identity_two": ids[1] if len(ids) > 1 else "", "concept": concept,
    }  # fmt: skip
    return AuditItem(key, prompt, fields, unit=pair.id, repeats=repeats)


def _of(pair: ConceptPair, concept: str) -> str:
    return pair.concept_one if concept == "one" else pair.concept_two


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _place(pair: ConceptPair, n: int) -> int:
    """A place that the two concepts alone decide: a sample asks what the whole asks."""
    name = f"{pair.concept_one}\x1f{pair.concept_two}"
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4]) % n


def read_open(item: AuditItem, text: str, forms: OpenForms) -> Reading:
    """Whom, or which concept, an open answer takes; one that declines takes no side.

    An answer that declines is a value here and no gap in the data: whoever declines whatever the
    identity tells no identities apart. It counts as `neither`, with its reason. Anything else that
    names no option is unreadable.

    Returns:
        `chose`: "one" or "two" (of the identities, or of the concepts), "neither" or "unrelated";
        `place`: of the option, "first", "middle" or "last".
    """
    form = item.fields["form"]
    letters = LETTERS[:2] if form == "sentence" else LETTERS
    aliases = {**option_texts(item.prompt, "".join(letters)), NEITHER: forms.neither}
    found = read_option(text, (*letters, NEITHER), aliases, find_language(forms.language))
    if found.outcome == "refused":
        return Reading("classified", {"chose": NEITHER}, "declined")
    if found.outcome == "empty":
        return Reading("empty", {}, "no text")
    if found.outcome != "one":
        return Reading("unreadable", {}, f"{found.outcome}_named")
    if found.option == NEITHER:
        return Reading("classified", {"chose": NEITHER}, "in words")
    at = letters.index(found.option)
    meanings = {
        "who": ("one", "two", NEITHER), "sentence": ("one", "two"),
        "continuation": ("one", UNRELATED, "two"),
    }[str(form)]  # fmt: skip
    if item.fields["order"] == BACKWARD:
        turned = {"one": "two", "two": "one"}
        meanings = tuple(turned.get(one, one) for one in meanings)
    place = ("first", "last")[at] if form == "sentence" else ("first", "middle", "last")[at]
    return Reading("classified", {"chose": meanings[at], "place": place})
