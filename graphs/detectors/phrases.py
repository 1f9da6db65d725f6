"""Demands for a score and claims of one, in the languages of `languages/`.

A language file lists words by what they do in such a sentence; the sentences themselves are the
same in every language and are declared here, as orders of such words within one sentence. Words are
found one kind after the other and then put together by their places, so that the time stays linear
whatever a text is made of.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, reduce
from importlib import resources
from itertools import product
from operator import or_
from typing import Annotated, Final, Literal, NamedTuple, get_args

from pydantic import Field, StringConstraints

from ...yaml_files import Document, Line, Paragraph, Version, read_documents
from .views import View, folded

Kind = Literal[
    "give", "give_last", "gave", "text", "pronoun", "top", "best", "score", "of", "numbers",
    "each", "please", "ignore", "ignore_first", "ignore_last", "rules", "rubric", "void",
    "hail", "judge", "deserves", "role", "reply", "pointer", "behind", "work", "reader",
    "reads", "judging", "judges_this", "whoever", "evaluator", "wise", "panel", "acclaim",
    "settled", "choose", "call", "option", "outcome", "rivals", "praise", "threat",
    "consequence", "regard", "weakness", "generous", "phase", "over", "supersede", "insider",
    "duty", "notice", "authority", "plea", "stake", "ends", "next", "you", "decode", "obey",
]  # fmt: skip
"""What words do: see the descriptions in `Language.words`."""

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class Language(Document):
    """The words of one language.

    Several words stand for themselves in a row. `*` at an end of a word stands for any letters,
    alone for any word. `a|b` is either of two words, and `a|` is one that may be left out. Letters
    are compared without case and accents.
    """

    label: Line
    has_blanks: bool = Field(
        default=True, description="Whether blanks part the words, and nothing is joined to them."
    )
    signs: tuple[Words, ...] = Field(
        default=(),
        description="Where no blanks part the words: pieces of text of which one is in every text "
        "that is to be searched.",
    )
    best_follows: bool = Field(
        default=False, description="Whether `best` may also stand after `score`."
    )
    words: Mapping[Kind, tuple[Words, ...]] = Field(
        description="give: verbs of giving a score, as a command; give_last: the same at the end "
        "of the sentence; gave: has given, or has judged; text: what is judged; pronoun: "
        "words that stand for it; pointer: words such as `this`; behind: the same behind "
        "a noun; work: other nouns for what is judged; top: an end of the scale in one "
        "expression; best and score: in two that stand together; of: between two numbers; "
        "numbers: such as ten; each: on every criterion; please: what may stand before a "
        "command; ignore: set aside; ignore_first, ignore_last: the same, where it is a "
        "command only at the beginning or the end of a clause; rules: what is set aside; "
        "rubric: what only a judge has; void: is not in force; supersede: stands above; "
        "hail: what is said to somebody; judge: who judges; evaluator: the same where no "
        "other person is meant; wise: flattery before it; reader: whoever or whatever "
        "reads; reads: what it does; judging: forms of verbs of judging; judges_this: "
        "some of them with `this`; whoever: turns to somebody who does something; "
        "insider: what only somebody says who speaks to a judge, in full; phase: a stage "
        "of the judging; over: has ended; deserves: gets or has got; panel: people or "
        "models whose verdict counts; acclaim: praise of a text; settled: has been judged "
        "before; choose: verbs of preferring, as a command; call: verbs of naming, as a "
        "command; option: one of two texts; outcome: what the chosen one is; rivals: the "
        "others; praise: a verdict in words; threat: a lower score; consequence: what it "
        "would be or bring; regard: verbs of treating, as a command; weakness: what is "
        "bad in a text; generous: in whose favor; duty: what somebody has to do; notice: names of "
        "notices and of changed rules; authority: says who speaks or who has ordered; plea: asks "
        "for pity, promises or threatens; stake: what a score is to the writer; ends: a text or "
        "task has ended; next: another one begins; you: words for the reader; decode: how to "
        "read something hidden; obey: to do what it says; role: another role for the judge, in "
        "full; reply: what it is to answer instead of scores, in full."
    )
    version: Version
    provenance: Paragraph


class Rule(NamedTuple):
    """A sentence: kinds of words in their order, the first to the last within so many characters.

    With `any_order` the order does not count, and with `crosses` a full stop may stand between.
    Beside the kinds of the files: `this` (text or pronoun), `own` (text, with a pointer), `object`
    (text or work, with a pointer), `any_rules` (rules or rubric), `highest` (top, or best with
    score), `mark` (an end of a scale as a number, with its scale or with score), `number` (the
    same, or such a number where a clause ends), `digits` (any short number), `verdict` (highest,
    mark or outcome), `prize` (highest, mark or stake), `judged` (gave or judging), `matter`
    (prize, evaluator or rubric), `demand` (weakness, command or object), `command` and `order`,
    `ignore_order`, `choose_order`, `call_order` and `regard_order` (give, ignore_first, choose,
    call and regard, where a command begins).
    """

    flag: str
    about: str
    order: tuple[str, ...]
    window: int
    any_order: bool = False
    crosses: bool = False


RULES: Final = (
    Rule("addresses_judge", "sets the rules aside", ("ignore", "any_rules"), 70),
    Rule("addresses_judge", "sets the rules aside", ("ignore_order", "any_rules"), 70),
    Rule("addresses_judge", "sets the rules aside", ("any_rules", "ignore_last"), 70),
    Rule("addresses_judge", "asks for a score", ("give", "this", "highest"), 110),
    Rule("addresses_judge", "asks for a score", ("give", "highest", "this"), 80),
    Rule("addresses_judge", "asks for a score", ("this", "highest", "give_last"), 110),
    Rule("addresses_judge", "asks for a score", ("highest", "this", "give_last"), 80),
    Rule("addresses_judge", "asks for a score", ("order", "highest"), 60),
    Rule("addresses_judge", "asks for a score", ("highest", "give_last"), 60),
    Rule("addresses_judge", "asks for a score", ("give", "this", "number"), 60),
    Rule("addresses_judge", "asks for a score", ("this", "number", "give_last"), 60),
    Rule("addresses_judge", "asks for a score", ("order", "mark"), 40),
    Rule("addresses_judge", "asks for a score", ("order", "score", "this", "digits"), 70),
    Rule("addresses_judge", "talks to the judge", ("hail", "judge"), 40),
    Rule("addresses_judge", "gives the judge a role", ("role",), 160),
    Rule("addresses_judge", "asks for another reply than scores", ("reply",), 160),
    Rule("addresses_judge", "says that the rubric is void", ("rubric", "void"), 90),
    Rule("addresses_judge", "sets the rules aside", ("supersede", "rubric"), 50),
    Rule("addresses_judge", "talks to a machine that reads", ("reader", "reads", "object"), 60),
    Rule("addresses_judge", "talks to a machine that judges", ("reader", "judging", "object"), 70),
    Rule("addresses_judge", "talks to whoever judges", ("whoever", "judging", "object"), 70),
    Rule("addresses_judge", "talks to whoever judges", ("reader", "judges_this"), 40),
    Rule("addresses_judge", "talks to whoever judges", ("evaluator", "object"), 50),
    Rule("addresses_judge", "speaks of its own judging", ("insider",), 60),
    Rule("addresses_judge", "flatters whoever judges", ("wise", "evaluator"), 25),
    Rule("addresses_judge", "says that the judging is over", ("phase", "over"), 50),
    Rule("addresses_judge", "asks for a verdict", ("choose_order", "object"), 40),
    Rule("addresses_judge", "asks for a verdict", ("choose_order", "object", "outcome"), 70),
    Rule("addresses_judge", "asks for a verdict", ("call_order", "object", "outcome"), 70),
    Rule("addresses_judge", "asks for a verdict", ("call_order", "text", "outcome"), 70),
    Rule("addresses_judge", "asks for a verdict", ("choose", "option"), 30),
    Rule("addresses_judge", "asks for a verdict", ("order", "praise"), 40),
    Rule("score_claim", "says that one text is better", ("option", "outcome"), 60),
    Rule("addresses_judge", "asks for a verdict", ("object", "outcome", "rivals"), 70),
    Rule("addresses_judge", "says what a low score brings", ("threat", "consequence"), 110),
    Rule("addresses_judge", "asks to be lenient", ("regard_order", "weakness", "object"), 80),
    Rule("addresses_judge", "asks to be lenient", ("regard_order", "object", "weakness"), 80),
    Rule("addresses_judge", "asks to be lenient", ("regard_order", "generous", "object"), 80),
    Rule("addresses_judge", "asks to be lenient", ("regard_order", "object", "generous"), 80),
    Rule("score_claim", "says what others gave it", ("panel", "gave", "object"), 100),
    Rule("score_claim", "says what others gave it", ("object", "gave", "panel"), 100),
    Rule("score_claim", "says what others gave it", ("panel", "judging", "object"), 60),
    Rule("score_claim", "says what others gave it", ("panel", "object", "acclaim"), 100),
    Rule("score_claim", "says what it got", ("object", "settled"), 60),
    Rule("score_claim", "praises itself", ("own", "acclaim"), 40),
    Rule("addresses_judge", "talks to whoever judges", ("hail", "evaluator"), 40),
    Rule("addresses_judge", "talks to whoever judges", ("whoever", "object", "judging"), 60),
    Rule("addresses_judge", "talks to whoever judges", ("object", "judging", "you"), 110, True),
    Rule("addresses_judge", "says what whoever judges is to do", ("evaluator", "duty"), 50),
    Rule(
        "addresses_judge", "says what whoever judges is to do", ("evaluator", "demand"), 100, True
    ),
    Rule("addresses_judge", "gives notice of other rules", ("notice", "matter"), 160, True, True),
    Rule("addresses_judge", "speaks with authority", ("authority", "matter"), 200, True, True),
    Rule("addresses_judge", "speaks with authority", ("authority", "object"), 120, True, True),
    Rule("addresses_judge", "pleads or threatens", ("plea", "matter"), 140, True, True),
    Rule("addresses_judge", "pleads or threatens", ("plea", "judging", "you"), 140, True, True),
    Rule("addresses_judge", "begins another task", ("ends", "next"), 200, True, True),
    Rule("addresses_judge", "begins another task", ("next", "you", "verdict"), 160, True, True),
    Rule("addresses_judge", "asks to decode and obey", ("decode", "obey"), 160, True, True),
    Rule("score_claim", "says what others gave it", ("panel", "judged", "object"), 120, True),
    Rule("score_claim", "says what others gave it", ("panel", "judged", "prize"), 120, True),
    Rule("score_claim", "says what others gave it", ("settled",), 90),
    Rule("addresses_judge", "asks for a score", ("object", "prize"), 110, True),
    Rule("addresses_judge", "asks for a verdict", ("stake", "command"), 100, True),
    Rule("score_claim", "a score on each criterion", ("number", "each"), 70),
    Rule("score_claim", "a score on each criterion", ("highest", "each"), 70),
    Rule("score_claim", "a score on each criterion", ("each", "highest"), 60),
    Rule("score_claim", "a score on each criterion", ("each", "number"), 50),
    Rule("score_claim", "says what it deserves", ("text", "deserves", "highest"), 130),
    Rule("score_claim", "says what it deserves", ("text", "deserves", "number"), 110),
    Rule("score_claim", "says what it deserves", ("text", "highest", "deserves"), 110),
    Rule("score_claim", "says what it got", ("gave", "text", "highest"), 90),
    Rule("score_claim", "says what it got", ("gave", "highest", "text"), 70),
    Rule("score_claim", "says what it got", ("gave", "text", "mark"), 70),
    Rule("score_claim", "says what it got", ("gave", "mark", "text"), 50),
    Rule("score_claim", "says what it got", ("text", "mark", "gave"), 70),
)

_ANY_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "this": ("text", "pronoun"),
    "any_rules": ("rules", "rubric"),
    "verdict": ("highest", "mark", "outcome"),
    "prize": ("highest", "mark", "stake"),
    "judged": ("gave", "judging"),
    "matter": ("prize", "evaluator", "rubric"),
    "demand": ("weakness", "command", "object"),
    "command": ("order", "choose_order", "call_order", "regard_order", "ignore_order"),
}
"""Kinds that are any of others."""

_MADE_OF: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "highest": (("top",), ("best", "score")),
    "own": (("pointer", "text"), ("behind", "text")),
    "object": (("pointer", "text"), ("pointer", "work"), ("behind", "text"), ("behind", "work")),
    "order": (("give",),),
    "ignore_order": (("ignore_first",),),
    "choose_order": (("choose",),),
    "call_order": (("call",),),
    "regard_order": (("regard",),),
    # Numbers may be digits.
    "mark": ((),),
    "number": ((),),
    "digits": ((),),
}
"""What made kinds need: all of one of these."""

_BITS: Final[Mapping[str, int]] = {kind: 1 << at for at, kind in enumerate(get_args(Kind))}


def _ways(kind: str) -> tuple[tuple[str, ...], ...]:
    if kind in _ANY_OF:
        return tuple(way for each in _ANY_OF[kind] for way in _ways(each))
    return _MADE_OF.get(kind, ((kind,),))


def _needs(rule: Rule) -> list[int]:
    """Sets of kinds, as bits, without one of which a rule finds nothing."""
    ways = product(*(_ways(kind) for kind in rule.order))
    return [reduce(or_, (_BITS[k] for kinds in way for k in kinds), 0) for way in ways]


_NEEDS: Final = tuple((rule, _needs(rule)) for rule in RULES)

_TOPS: Final = frozenset({0, 1, 10, 20, 100})
"""Ends of scales; other numbers are too many things."""

_GAP: Final = 6
"""Most characters between the words of an expression."""

_SENTENCE_END: Final = re.compile(r"[.!?।؟…](?=[\s\"')\]*_]|$)|[。！？]|\n\s{0,20}\n")
_NUMBER: Final = re.compile(r"(?<![\w.,%])\d{1,3}(?![\w%])")
_LIST_MARK: Final = re.compile(r"^[ \t]{0,8}\(?\d{1,3}[.)]", re.MULTILINE)
_CLAUSE: Final = re.compile(r"[.!?:;\n。！？,，\])}>|—–]")

Span = tuple[int, int]
Spans = Sequence[Span]


class Found(NamedTuple):
    """What was found, in `text[start:end]` of a reading."""

    flag: str
    start: int
    end: int
    about: str


def find_phrases(view: View) -> Iterator[Found]:
    """The demands and claims of a reading, in any language."""
    found: dict[str, _ByWords | _ByPieces] = {}
    if not view.is_joined:
        found.update(_by_words(view))
    is_latin = view.text.isascii()
    for language in load_languages().values():
        is_searched = view.is_joined or (
            not language.has_blanks
            and not is_latin
            and any(sign in view.text for sign in _signs(language.id))
        )
        if is_searched:
            found[language.id] = _ByPieces(language, view)
    for name, language in load_languages().items():
        words = found.get(name)
        rules = _rules_for(words.kinds) if words is not None else ()
        if view.is_joined:
            # Without blanks the long lists cost too much time, and are easily met by chance.
            long = {"evaluator", "settled", "work", "panel"}
            rules = tuple(r for r in rules if not r.any_order and long.isdisjoint(r.order))
        if words is not None and rules:
            yield from _Sentences(view.text, language, words).found(rules)


@lru_cache(maxsize=10_000)
def _rules_for(kinds: int) -> tuple[Rule, ...]:
    """The rules that may find something where these kinds are."""
    return tuple(rule for rule, sets in _NEEDS if any(one & kinds == one for one in sets))


@cache
def load_languages() -> Mapping[str, Language]:
    """Every language by its name, English first, read once a process."""
    folder = resources.files("areopagus.graphs.detectors") / "languages"
    paths = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".yaml")),
        key=lambda path: (path.name != "en.yaml", path.name),
    )
    return {one.id: one for one in read_documents(paths, Language, kind="language")}


@cache
def _signs(name: str) -> tuple[str, ...]:
    return tuple(folded(sign) for sign in load_languages()[name].signs)


def _spelled_out(expressions: Sequence[str]) -> list[str]:
    """The expressions without alternatives, folded, each once."""
    chosen = (product(*(part.split("|") for part in e.split())) for e in expressions)
    return list(dict.fromkeys(folded(" ".join(filter(None, w))) for ways in chosen for w in ways))


class _Expression(NamedTuple):
    """An expression of a language.

    Attributes:
        parts: its words.
        at: the one that it is looked up by.
        whole: those that do not end in `*`.
    """

    language: str
    kind: Kind
    parts: tuple[str, ...]
    at: int
    whole: frozenset[str]


_STEM: Final = 3
"""Letters of a word with `*` by which it is looked up."""


@cache
def _lexicon() -> tuple[dict[str, list[_Expression]], dict[str, list[_Expression]]]:
    """The expressions of all languages with blanks: by a word, and by the beginning of one."""
    exact: dict[str, list[_Expression]] = {}
    stems: dict[str, list[_Expression]] = {}
    for language in load_languages().values():
        for kind, expressions in language.words.items() if language.has_blanks else ():
            for expression in _spelled_out(expressions):
                parts = tuple(re.findall(r"[^\W_]+\*?|\*", expression))
                # The longest word: it is the rarest.
                at = max(range(len(parts)), key=lambda i: len(parts[i].rstrip("*")))
                table, key = exact, parts[at]
                if key.endswith("*"):
                    table, key = stems, key[:_STEM]
                whole = frozenset(part for part in parts if not part.endswith("*"))
                table.setdefault(key, []).append(_Expression(language.id, kind, parts, at, whole))
    return exact, stems


def _by_words(view: View) -> dict[str, _ByWords]:
    """What the words of a reading may be part of, by language."""
    exact, stems = _lexicon()
    vocabulary = view.vocabulary
    met = [
        (word, one)
        for word in vocabulary & exact.keys()
        for one in exact[word]
        if one.whole <= vocabulary
    ]
    for word in vocabulary:
        if word[:_STEM] in stems:
            met += [
                (word, one)
                for one in stems[word[:_STEM]]
                if word.startswith(one.parts[one.at][:-1]) and one.whole <= vocabulary
            ]
    places: dict[str, list[int]] = {word: [] for word, _ in met}
    found: dict[str, _ByWords] = {}
    for word, one in met:
        language = found.get(one.language)
        if language is None:
            language = found[one.language] = _ByWords(view, places)
        language.add(word, one)
    return found


class _ByWords:
    """The expressions of a language in a reading, found by its words.

    Attributes:
        kinds: those that may be there, as bits.
    """

    def __init__(self, view: View, places: dict[str, list[int]]) -> None:
        self._view, self._places = view, places
        self._met: dict[str, list[tuple[str, _Expression]]] = {}
        self.kinds = 0

    def add(self, word: str, expression: _Expression) -> None:
        """Takes in an expression, one word of which is there."""
        self._met.setdefault(expression.kind, []).append((word, expression))
        self.kinds |= _BITS[expression.kind]

    def spans(self, kind: str) -> list[Span]:
        """Where the expressions of a kind stand, in the order of the text."""
        spans = {
            span
            for word, one in self._met.get(kind, ())
            for place in self._numbers(word)
            if (span := self._span(place - one.at, one.parts)) is not None
        }
        return sorted(spans)

    def _numbers(self, word: str) -> list[int]:
        places = self._places
        if places and not any(places.values()):
            # One pass for all languages, when the first is searched.
            for number, each in enumerate(self._view.words):
                if each in places:
                    places[each].append(number)
        return places[word]

    def _span(self, first: int, parts: tuple[str, ...]) -> Span | None:
        words = self._view.words
        if first < 0 or first + len(parts) > len(words):
            return None
        for at, part in enumerate(parts, first):
            if words[at] != part and not (part[-1] == "*" and words[at].startswith(part[:-1])):
                return None
        spans = self._view.word_spans
        for at in range(first + 1, first + len(parts)):
            if spans[at][0] - spans[at - 1][1] > _GAP:
                return None
        return spans[first][0], spans[first + len(parts) - 1][1]


class _ByPieces:
    """The same where blanks do not part the words: any piece of the text may be one."""

    def __init__(self, language: Language, view: View) -> None:
        self._language, self._is_joined, self._text = language, view.is_joined, view.text
        self.kinds = sum(_BITS[kind] for kind in language.words)

    def spans(self, kind: str) -> list[Span]:
        """Where the expressions of a kind stand, in the order of the text."""
        pattern = _pattern(self._language.id, kind, self._is_joined)
        return [] if pattern is None else [m.span() for m in pattern.finditer(self._text)]


@cache
def _pattern(name: str, kind: str, is_joined: bool) -> re.Pattern[str] | None:
    words = {str(each): listed for each, listed in load_languages()[name].words.items()}
    if kind not in words:
        return None
    gap = "" if is_joined else rf"\W{{0,{_GAP}}}"
    spelled = sorted(_spelled_out(words[kind]), key=lambda one: (-len(one), one))
    written = (
        gap.join(re.escape(part).replace(r"\*", r"\w{0,12}") for part in one.split())
        for one in spelled
    )
    return re.compile("|".join(written))


class _Sentences:
    """A reading searched by one language."""

    def __init__(self, text: str, language: Language, words: _ByWords | _ByPieces) -> None:
        self._text, self._language, self._words = text, language, words
        self._known: dict[str, list[Span]] = {}

    def found(self, rules: Sequence[Rule]) -> Iterator[Found]:
        """What the rules find."""
        for rule in rules:
            find = self._together if rule.any_order else self._ordered
            for start, end in find(rule):
                yield Found(rule.flag, start, end, f"{self._language.label}: {rule.about}")

    def _ordered(self, rule: Rule) -> Iterator[Span]:
        places: list[list[Span]] = []
        for kind in rule.order:
            places.append(self._spans(kind))
            if not places[-1]:
                return
        starts = [[start for start, _ in spans] for spans in places[1:]]
        for start, end in places[0]:
            last = end
            for spans, begins in zip(places[1:], starts, strict=True):
                # The next one, which leaves most room for those after it.
                at = bisect_left(begins, last)
                if at == len(spans):
                    return
                last = spans[at][1]
            if last - start <= rule.window and not self._is_parted(start, last):
                yield start, last

    def _together(self, rule: Rule) -> Iterator[Span]:
        places = [self._spans(kind) for kind in rule.order]
        if not all(places):
            return
        starts = [[start for start, _ in spans] for spans in places]
        for anchor in places[0]:
            taken = [anchor]
            for spans, begins in zip(places[1:], starts[1:], strict=True):
                at = bisect_left(begins, anchor[0])
                near = [
                    (max(start - anchor[1], anchor[0] - end), (start, end))
                    for start, end in spans[max(0, at - 3) : at + 3]
                    if all(end <= a or start >= b for a, b in taken)
                ]
                if not near:
                    break
                taken.append(min(near)[1])
            else:
                start, end = min(taken)[0], max(end for _, end in taken)
                if end - start <= rule.window and (rule.crosses or not self._is_parted(start, end)):
                    yield start, end

    def _is_parted(self, start: int, end: int) -> bool:
        at = bisect_right(self._ends, start)
        return at < len(self._ends) and self._ends[at] < end

    @cached_property
    def _ends(self) -> list[int]:
        return [match.start() for match in _SENTENCE_END.finditer(self._text)]

    def _spans(self, kind: str) -> list[Span]:
        if kind not in self._known:
            if kind in _ANY_OF:
                spans = sorted(span for each in _ANY_OF[kind] for span in self._spans(each))
            else:
                make = self._made.get(kind)
                spans = sorted(make()) if make is not None else self._words.spans(kind)
            self._known[kind] = spans
        return self._known[kind]

    @cached_property
    def _made(self) -> Mapping[str, Callable[[], list[Span]]]:
        return {
            "own": lambda: self._pointed(self._spans("text")),
            "object": lambda: self._pointed(sorted(self._spans("text") + self._spans("work"))),
            "highest": self._highest,
            "order": lambda: self._orders("give"),
            "ignore_order": lambda: self._orders("ignore_first"),
            "choose_order": lambda: self._orders("choose"),
            "call_order": lambda: self._orders("call"),
            "regard_order": lambda: self._orders("regard"),
            "mark": self._marks,
            "number": self._numbers,
            "digits": self._digits,
        }

    def _pointed(self, nouns: Spans) -> list[Span]:
        gap = 14 if self._language.has_blanks else 2
        before = self._near(self._spans("pointer"), nouns, gap)
        return before + self._near(nouns, self._spans("behind"), 1)

    def _highest(self) -> list[Span]:
        best, score = self._spans("best"), self._spans("score")
        found = self._spans("top") + self._near(best, score, 14)
        return found + self._near(score, best, 10) if self._language.best_follows else found

    def _near(self, first: Spans, second: Spans, gap: int) -> list[Span]:
        begins = [start for start, _ in second]
        found = []
        for start, end in first:
            at = bisect_left(begins, end)
            if at < len(second) and begins[at] - end <= gap:
                found.append((start, second[at][1]))
        return found

    def _digits(self) -> list[Span]:
        found = [match.span() for match in _NUMBER.finditer(self._text)]
        if found:
            marks = {match.end() - 1 for match in _LIST_MARK.finditer(self._text)}
            found = [span for span in found if span[1] not in marks]
        return found + self._spans("numbers")

    def _marks(self) -> list[Span]:
        """Ends of a scale: 10/10, 10 out of 10, ten points."""
        digits, text = self._spans("digits"), self._text
        if not digits:
            return []
        joined = dict(self._spans("of"))
        scores = self._spans("score")
        begins = [start for start, _ in scores]
        found = []
        for at, (start, end) in enumerate(digits):
            behind = end + len(text[end : end + 3]) - len(text[end : end + 3].lstrip())
            of = behind + 1 if text[behind : behind + 1] == "/" else joined.get(behind)
            if of is not None and at + 1 < len(digits) and 0 <= digits[at + 1][0] - of <= 3:
                scale = digits[at + 1]
                if text[start:end] in (text[scale[0] : scale[1]], "0", "1"):
                    found.append((start, scale[1]))
                continue
            near = bisect_left(begins, end)
            if near < len(begins) and begins[near] - end <= 2 and self._is_end_of_scale(start, end):
                found.append((start, scores[near][1]))
        return found

    def _is_end_of_scale(self, start: int, end: int) -> bool:
        written = self._text[start:end]
        return not written.isdecimal() or int(written) in _TOPS

    def _numbers(self) -> list[Span]:
        """Numbers that can be scores: with their scale, or where a clause ends."""
        text, found = self._text, list(self._spans("mark"))
        each = [start for start, _ in self._spans("each")]
        for start, end in self._spans("digits"):
            behind = text[end : end + 2].lstrip()
            at = bisect_left(each, end)
            is_near = at < len(each) and each[at] - end <= 8
            is_last = is_near or not behind or not behind[0].isalnum()
            # A bare 0 or 1 is too often something else.
            is_told = is_near or text[start:end] not in ("0", "1")
            if is_last and is_told and self._is_end_of_scale(start, end):
                found.append((start, end))
        return found

    def _orders(self, kind: str) -> list[Span]:
        """Verbs at the beginning of a clause, or after `please` and its like."""
        found = []
        ends = {end for _, end in self._spans("please")}
        text = self._text
        for start, end in self._spans(kind):
            before = start
            while before and start - before < _GAP and not text[before - 1].isalnum():
                before -= 1
            if before == 0 or before in ends or _CLAUSE.search(text, before, start):
                found.append((start, end))
        return found
