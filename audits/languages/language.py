"""`Language`: the words in which audits ask in one language, and by which rules read its answers.

One YAML file a language. What is the same in all languages (where a label stands, that a number is
alone on its line) is code in `answer_forms`, `samaritan.ratings` and `silverspoon_judgement.blame`;
every word that it looks for stands in the file. docs/guides/languages.md says how to write one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, field_validator

from ...catalogue import PLACEHOLDER, STILL_A_SCAFFOLD, Catalogue, is_path
from ...environment import home
from ...errors import InputError, InputFault
from ...yaml_files import STRICT, Document, Line, Paragraph, Slug, read_document, shown

ENGLISH: Final = "en"
CODE: Final = re.compile(r"[a-z][a-z0-9_]*")
"""A language's code, which is also the name of its file."""


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}") from error
    if groups:
        raise ValueError("must hold no group that captures: write (?:…) for (…)")
    return text


def _holds(*places: str) -> AfterValidator:
    def check(text: str) -> str:
        if missing := [place for place in places if place not in text]:
            raise ValueError(f"must hold {' and '.join(missing)}")
        return text

    return AfterValidator(check)


Pattern = Annotated[str, AfterValidator(_pattern)]
Words = Annotated[
    tuple[Pattern, ...],
    Field(description="words or phrases in small letters; regular expressions, each a whole word"),
]
"""Alternatives, of which the first that fits is taken."""


def any_of(words: tuple[str, ...]) -> str:
    """Pattern of any of these, as whole words; of none where there are none."""
    return rf"\b{group(words)}\b"


def group(words: tuple[str, ...]) -> str:
    """Pattern of any of these, wherever they stand; of none where there are none."""
    return f"(?:{'|'.join(words)})" if words else "(?!)"


class _Part(BaseModel):
    model_config = STRICT


class Frames(_Part):
    """The sentences in which every audit asks for an answer in a set form."""

    one_of: Annotated[Line, _holds("{options}")] = Field(
        description="asks for exactly one of {options}, which stand as A / B"
    )
    whole_number: Annotated[Line, _holds("{low}", "{high}")] = Field(
        description="asks for a whole number from {low} to {high}"
    )


class OptionWords(_Part):
    """How an answer names one of the options that it was asked to choose from."""

    lead_in: Words = Field(description='what opens an answer before the option: "my answer is"')
    option: Words = Field(description='the noun that stands before a letter: "option" (A)')
    articles: Words = Field(default=(), description='what may stand before it: "the", "a"')
    chosen: tuple[Annotated[Pattern, _holds("{option}")], ...] = Field(
        description='{option} is chosen: "I choose {option}"; {option} may stand in the middle'
    )
    unless: Words = Field(
        description="before that, in its clause: then nothing is chosen (if, whether, never, not)"
    )
    denied: Words = Field(
        description='after a chosen option, which is then none: "is not", "would be wrong"'
    )
    rejected: Words = Field(description='after a label, of which it is a word: "A: no", "A: wrong"')
    equal: Words = Field(
        description="beside another option, which then counts as well: both, either, or, and"
    )
    joins: Words = Field(description='what joins two options that are both named: "or", "and"')
    joint: Words = Field(
        description="what stands between options that are listed and not chosen (and, or, than)"
    )
    perhaps: Words = Field(description='what may stand after such a join: "or perhaps B"')
    predicates: Words = Field(
        description='what makes another option named after a comma no answer: "A, B is worse"'
    )
    cited: Words = Field(description='other ways to name an option: "the former", "option"')
    common: tuple[Line, ...] = Field(
        default=(), description="options that are common words too: in English a and i"
    )
    before_common: Words = Field(
        default=(), description="after these such a word is an option: option, choose, or"
    )
    after_common: Words = Field(
        default=(), description="before these such a word is an option: or, and, than"
    )


class RefusalWords(_Part):
    """How an answer declines, and by what it then answers all the same."""

    declines: Words = Field(description='a sentence that declines: "I can\'t", "as an AI"')
    all_the_same: Words = Field(
        description='it answers all the same: "if I had to", "my guess", "that said"'
    )
    but: Words = Field(description='what opens a clause with an answer: "but" (probably B)')
    hedged: Words = Field(description="words that open a guess: probably, perhaps, about")
    turns: Words = Field(
        description="what follows is an answer, unless it declines or offers help: but, however"
    )
    offers: Words = Field(description='what offers help instead: "happy to", "let me know"')


class NumberWords(_Part):
    """How numbers are written."""

    decimal: Literal[".", ","] = Field(description="the sign before decimal places")
    words: Mapping[str, int] = Field(
        description="number words that count within a sentence: those from twenty to a hundred"
    )
    words_alone: Mapping[str, int] = Field(
        description='those that count only as the whole answer: "one" to "nineteen"'
    )
    to: Words = Field(description='between the ends of a range: 70 "to" 80')
    between: Words = Field(description='before a range: "between" 70 and 80')
    joins: Words = Field(description='between the ends of a range after that word: "and"')
    since: Words = Field(description='before the first end: "from" 70 to 80')
    percent: Words = Field(description="words for per cent")
    out_of: Words = Field(description='a part of a whole: 85 "out of" 100')
    in_all: Words = Field(
        default=(), description='likewise, but not by itself a rating: 85 "in" 100'
    )
    hundred: Words = Field(description='the whole in words: "a hundred"')


class SocioEvalWords(_Part):
    """What SocioEval asks."""

    choose: Annotated[Line, _holds("{options}")] = Field(
        description="asks to choose, and to begin with one of {options}"
    )
    reason: Line = Field(description="asks for a reason after that")


class HiddenBiasWords(_Part):
    """What the hidden-bias audit asks."""

    question: Line = Field(description="which of the two is what happened next")
    carriers: tuple[Annotated[Line, _holds("{scene}")], ...] = Field(
        min_length=10,
        max_length=10,
        description="ten surroundings of a {scene} that say nothing of it, for perplexities",
    )


class SamaritanWords(_Part):
    """What the Samaritan asks, and how answers give a rating from 1 to 100."""

    ask: Line = Field(description="asks for a whole number from 1 to 100, and says what ends mean")
    articles: Words = Field(description='with one of these a phrase begins: "a", "an"')
    without_article: bool = Field(
        description="whether a phrase stands unchanged after another word: 'the {person}'"
    )
    lead_in: Words = Field(description="what may open a rating: my, rating, I, would, say, is")
    hedges: Words = Field(description="what may stand before its number: about, around, a")
    because: Words = Field(description="what may follow a rating that opens the answer")
    keys: Words = Field(description="keys of a rating in JSON")
    nouns: Words = Field(description="nouns for the rating: rating, likelihood, chance")
    copulas: Words = Field(description='between such a noun and the number: "is", "of", "at"')
    i_say: Words = Field(description='before a rating in a sentence: "I\'d say", "I would rate"')
    likely: Words = Field(description='after a rating: 85% "likely", an 80% "chance"')
    scale: Words = Field(description='what names the scale, before "1 to 100": on, from, scale')
    scale_to: Words = Field(description='between 1 and 100 where the scale is named: "to", "and"')
    scale_after: Words = Field(default=(), description='after that: "scale"')
    either: Words = Field(description='before another rating: 70 "or" 80')
    even: Words = Field(default=(), description='after that: "even"')
    bound_before: Words = Field(
        description='before a number that is then no rating: "not", "at least", "more than"'
    )
    bound_between: Words = Field(description='between these and the number: "a", "about"')
    bound_after: Words = Field(description='after such a number: "or more", "at most"')
    anchors: Words = Field(description='after an end of the scale that is explained: "means"')
    units: Words = Field(description='after a number that counts something: "minutes", "people"')
    no_number: Words = Field(default=(), description='number words that are none here: "one" of')


class JudgementWords(_Part):
    """What SilverSpoon's judgement asks, and how answers blame P1 or the other."""

    question: Line = Field(description="who is in the wrong")
    who: Annotated[Line, _holds("{other}")] = Field(
        description="says that P1 is poor, and the other is {other}"
    )
    ask: Line = Field(description="asks to begin the answer with one of the two words")
    reason: Line = Field(description="asks for a reason after that")
    the_other: Line = Field(description='the word for the other, as an option: "other"')
    somebody: Line = Field(description='the other where nothing is said: "the other person"')
    articles: Words = Field(description="what a role begins with: the, a, his, her")
    the: Words = Field(description="of these, what it begins with in answers: the")
    head: Literal["last", "first", "none"] = Field(
        description="the word of a role that names it by itself: 'the bank teller', last"
    )
    role_endings: Words = Field(default=(), description='endings of a role in other cases: "n"')
    p1: Words = Field(description="names of P1")
    other: Words = Field(description="names of the other beside the role")
    not_the_other: Words = Field(default=(), description='no name of the other: "each other"')
    lead_in: Words = Field(description='what opens an answer before the label: "my verdict is"')
    both: Words = Field(description="both of them, as a subject")
    neither: Words = Field(description="neither of them, as a subject")
    label_both: Words = Field(description="both, as a bare answer")
    label_neither: Words = Field(description="neither, as a bare answer")
    as_well: Words = Field(description='after a verb: are "both" wrong')
    joins: Words = Field(description='joins the two as a subject: "and"')
    nor: Words = Field(description='after neither: "nor", "or"')
    label_goes_on: Words = Field(description='after a label and a comma, which is then none: "and"')
    be: Words = Field(description="verbs that take what is wrong: is, are, was")
    the_one: Pattern = Field(default="", description='may follow the verb: "the one who is"')
    surely: Words = Field(description="adverbs before what is wrong: clearly, morally")
    wrong: Words = Field(description='what it is to be blamed: "in the wrong", "at fault"')
    wrong_unless: Words = Field(default=(), description='after it, which takes it back: "for no"')
    inverted: tuple[Annotated[Pattern, _holds("{who}")], ...] = Field(
        default=(),
        description="statements in another order than {who} {be} {wrong}, with these places",
    )
    clauses: Words = Field(description="what opens a clause: but, because, and")
    hedges_before: Words = Field(description="before a statement, which then counts for nothing")
    hedges_after: Words = Field(description="after a statement, which then counts for nothing")
    predicates: Words = Field(description='directly after it: "(punishing P1 is wrong) is"')
    reports: Words = Field(description="what others say, and conditions")
    leads: Words = Field(description="what may stand between a clause's start and its subject")
    adds: Words = Field(description="what brings a second one in, or weighs the two")
    turns: Words = Field(description="what takes back that both, or neither, are wrong")
    innocent: Words = Field(description="finds no fault: innocent, justified, in the right")
    blame: Words = Field(description="finds fault: wrong, guilty, unjust, should")
    negated: Words = Field(description="no, not, never, …")
    denies: Words = Field(description="up to three words before blame, which is then denied")
    never: Words = Field(description='before innocent, which is then blame: "never" justified')
    no: Words = Field(description="not")
    fillers: Words = Field(description="words that say nothing where somebody is only named")
    deeds_p1: Words = Field(description="what P1 is most often blamed for: theft, begging")
    deeds_other: Words = Field(description="what the other is: refusal, eviction")
    verbs: Words = Field(description="between a deed and blame: is, are, be")
    somebodys: Words = Field(description='before a noun that is a third one: "the" law is wrong')
    acts: Words = Field(description='nouns that are no third one: "the act is wrong"')


class ProfessionWords(_Part):
    """What profession prediction asks, and what stands around a profession in answers."""

    ask: Annotated[Paragraph, _holds("{name}", "{city}")] = Field(
        description="what {name}, who lives in {city}, does for a living"
    )
    the_person: Line = Field(description="stands for the name where judges must not see it")
    the_city: Line = Field(description="stands for the city")
    lead_in: Words = Field(description='what opens an answer: "my best guess is"')
    subjects: Words = Field(description='then: "the person", "she", "I would guess that"')
    verbs: Words = Field(description='then: "is", "works as"')
    perhaps: Words = Field(description='then: "probably"')
    verbs_after: Words = Field(description='then: "be", "employed as"')
    articles: Words = Field(description='before a profession: "a", "the"')
    joins: Words = Field(description='between two professions: "or", "and"')
    plural_s: bool = Field(description="whether a name of the list is also known with an s")


class NarrativeWords(_Part):
    """What the narratives ask."""

    ask: Annotated[Paragraph, _holds("{name}", "{city}", "{words}")] = Field(
        description="a story of {words} words about {name}, who lives in {city}"
    )
    function_words: tuple[Line, ...] = Field(
        description="words that are not listed among the commonest of a group's stories"
    )


class Language(Document):
    """One language. The sections of audits are needed only where these are asked in it."""

    id: Slug = Field(description="its code, which is the file's name: fr, pt_br")
    label: Line = Field(description="its name in English")
    provenance: Paragraph = Field(description="who wrote it, and what it was tried on")
    frames: Frames
    options: OptionWords
    refusals: RefusalWords
    numbers: NumberWords
    socioeval: SocioEvalWords | None = None
    hidden_bias: HiddenBiasWords | None = None
    samaritan: SamaritanWords | None = None
    silverspoon_judgement: JudgementWords | None = None
    silverspoon_professions: ProfessionWords | None = None
    silverspoon_narratives: NarrativeWords | None = None

    @field_validator("provenance")
    @classmethod
    def _is_written(cls, value: str) -> str:
        if PLACEHOLDER in value:
            raise ValueError(STILL_A_SCAFFOLD)
        return value

    def __hash__(self) -> int:
        """By its id: rules made of a language are kept by language."""
        return hash(self.id)

    def section(self, model: type[SectionT]) -> SectionT:
        """The section of an audit.

        Raises:
            InputError: the file has none, with what to write.
        """
        for name, field in type(self).model_fields.items():
            found = getattr(self, name)
            if isinstance(found, model):
                return found
            if field.annotation == model | None:
                rule = f"has no section {name}, which this audit needs in {self.label}"
                hint = "Copy the section from the English file and write it in this language: "
                raise InputError([InputFault(f"language {self.id}", rule)], hint=hint + _COPY)
        raise TypeError(model)


SectionT = TypeVar("SectionT", bound=_Part)

_COPY: Final = (
    "`areopagus audit --new-language CODE` writes that one as CODE.yaml "
    "(docs: Audits in other languages)."
)
LANGUAGES: Final = Catalogue("language", Language, __name__.rpartition(".")[0], (ENGLISH,))


def find_language(name: str = ENGLISH) -> Language:
    """The language of this code or file.

    Args:
        name: "de"; or a file such as "my/fr.yaml". A code is looked for in
            `$AREOPAGUS_HOME/languages`, then among those of the package.

    Raises:
        InputError: there are no rules for it, with what to write; every fault of the file.
    """
    place: Any = _place(name, str(home()))
    if isinstance(place, Path):
        try:
            changed = place.stat().st_mtime_ns
        except OSError:
            changed = 0
        return _read(place, changed)
    return _read(place, 0)


def known_languages() -> tuple[str, ...]:
    """Codes of the languages that there are rules for, English first."""
    return tuple(entry.name for entry in LANGUAGES.entries())


def new_language(code: str, folder: str | Path = ".") -> Path:
    """Writes `CODE.yaml`, the English file to be translated, and its JSON Schema beside it.

    It is refused until its author has said in `provenance` who wrote it.

    Raises:
        InputError: the code cannot be one, there are rules for it already, the file exists, or it
            cannot be written.
    """
    if code in known_languages():
        raise InputError(
            f"there are rules for {code!r} already ({find_language(code).label})",
            hint="Ask in it by this code; for words of your own, take another one.",
        )
    english = resources.files(LANGUAGES.package).joinpath(f"{ENGLISH}.yaml")
    text = english.read_text(encoding="utf-8").replace("{", "{{").replace("}", "}}")
    head, _, rest = text.partition("id: en\n")
    rest = rest[rest.index("\n# ") :]
    head = head.replace("language.schema.json", "{schema}")
    scaffold = f"{head}id: {{id}}\nlabel: {{label}}\nprovenance: {{placeholder}}\n{rest}"
    return replace(LANGUAGES, scaffold=scaffold).write_new(code, folder)


def no_rules(code: str, where: str, field: str = "language") -> InputError:
    """What is raised for material in a language without rules."""
    there = ", ".join(known_languages())
    return InputError(
        [InputFault(where, f"no rules read answers in {code!r}; there are {there}", field)],
        hint=f"`areopagus audit --new-language {code}` writes {code}.yaml, the English words to "
        f"translate; then name it: `language='{code}.yaml'`",
    )


# Answers are read one by one, and a run may have a million.
@lru_cache(maxsize=64)
def _place(name: str, _home: str) -> Any:
    if not is_path(name) and name not in known_languages():
        if not CODE.fullmatch(name):
            there = ", ".join(known_languages())
            rule = (
                f"must be one code of a language, or a file, got {shown(name)}; there are {there}"
            )
            raise InputError([InputFault("language", rule)])
        raise no_rules(name, "language", "")
    return LANGUAGES.find(name).path


@lru_cache(maxsize=64)
def _read(path: Any, _changed: int) -> Language:
    return read_document(path, Language, kind="language")
