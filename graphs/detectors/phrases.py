"""Demands for a score and claims of one, in the languages of `languages/`.

A language file lists words by what they do in such a sentence; the sentences themselves are the
same in every language and are declared here, as orders of such words within one sentence. Words are
found one kind after the other and then put together by their places, so that the time stays linear
whatever a text is made of.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, StringConstraints

from ...yaml_files import Document, Line, Paragraph, Version, read_documents
from .views import folded

Kind = Literal[
    "give", "give_last", "text", "pronoun", "top", "best", "score", "of", "numbers", "each", "please",
    "ignore", "ignore_last", "rules", "rubric", "void", "hail", "judge", "deserves", "role",
]  # fmt: skip
"""What words do: see the descriptions in `Language.words`."""

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]


class Language(Document):
    """The words of one language.

    In a word `*` stands for up to twelve letters, and a blank for any few signs between words.
    Letters are compared without case and accents.
    """

    label: Line
    signs: tuple[_Words, ...] = Field(
        description="Pieces of text of which every text to be searched has one; all when empty."
    )
    has_blanks: bool = Field(default=True, description="Whether blanks part the words.")
    best_follows: bool = Field(
        default=False, description="Whether `best` may also stand after `score`."
    )
    words: Mapping[Kind, tuple[_Words, ...]] = Field(
        description="give: verbs of giving a score, as a command; give_last: the same at the end "
        "of the sentence; text: what is judged; pronoun: words that stand for it; top: the end of the scale in one expression; best "
        "and score: in two words that stand together; of: between two numbers; numbers: such as "
        "ten; each: on every criterion; please: what may stand before a command; ignore, "
        "ignore_last: set aside; rules: what is set aside; rubric: what only a judge has; void: "
        "is not in force; hail: what is said to somebody; judge: who judges; deserves: gets or "
        "has got; role: another role for the judge, in full."
    )
    version: Version
    provenance: Paragraph


class Rule(NamedTuple):
    """A sentence: kinds of words in their order, the first to the last within so many characters.

    Beside the kinds of the files: `this` (text or pronoun), `highest` (top, or best with score), `mark` (a number with its
    scale or with score), `number` (the same, or one that ends a clause), `order` (give, where a
    command begins).
    """

    flag: str
    about: str
    order: tuple[str, ...]
    window: int


RULES: Final = (
    Rule("addresses_judge", "sets the rules aside", ("ignore", "rules"), 70),
    Rule("addresses_judge", "sets the rules aside", ("rules", "ignore_last"), 70),
    Rule("addresses_judge", "asks for a score", ("give", "this", "highest"), 110),
    Rule("addresses_judge", "asks for a score", ("give", "highest", "this"), 80),
    Rule("addresses_judge", "asks for a score", ("this", "highest", "give_last"), 110),
    Rule("addresses_judge", "asks for a score", ("highest", "this", "give_last"), 80),
    Rule("addresses_judge", "asks for a score", ("order", "highest"), 60),
    Rule("addresses_judge", "asks for a score", ("highest", "give_last"), 60),
    Rule("addresses_judge", "asks for a score", ("give", "this", "number"), 60),
    Rule("addresses_judge", "asks for a score", ("this", "number", "give_last"), 60),
    Rule("addresses_judge", "asks for a score", ("order", "mark"), 40),
    Rule("addresses_judge", "talks to the judge", ("hail", "judge"), 40),
    Rule("addresses_judge", "gives the judge a role", ("role",), 160),
    Rule("addresses_judge", "says that the rubric is void", ("rubric", "void"), 90),
    Rule("score_claim", "a score on each criterion", ("number", "each"), 70),
    Rule("score_claim", "a score on each criterion", ("highest", "each"), 70),
    Rule("score_claim", "a score on each criterion", ("each", "highest"), 60),
    Rule("score_claim", "a score on each criterion", ("each", "number"), 50),
    Rule("score_claim", "says what it deserves", ("text", "deserves", "highest"), 130),
    Rule("score_claim", "says what it deserves", ("text", "deserves", "number"), 110),
    Rule("score_claim", "says what it deserves", ("text", "highest", "deserves"), 110),
)  # fmt: skip

_RARE: Final = (
    "role", "ignore_last", "ignore", "rubric", "each", "deserves", "hail", "give_last", "rules",
    "judge", "void", "highest", "mark", "order", "give", "text", "this", "number",
)  # fmt: skip
"""The kinds in the order in which they are looked for: what is seldom there decides first."""

Span = tuple[int, int]

_BETWEEN: Final = r"[\s_+*\"'~|/-]{1,4}"
_SENTENCE_END: Final = re.compile(r"[.!?।؟…](?=[\s\"')\]*_]|$)|[。！？]|\n\s{0,20}\n")
_NUMBER: Final = re.compile(r"(?<![\w.,%])\d{1,3}(?![\w%])")
_LIST_MARK: Final = re.compile(r"^[ \t]{0,8}\(?\d{1,3}[.)]", re.MULTILINE)
_TOPS: Final = frozenset({0, 1, 10, 20, 100})


class Words:
    """The compiled words of one language."""

    def __init__(self, language: Language, *, is_joined: bool) -> None:
        self.label = language.label
        self.signs = tuple(folded(sign) for sign in language.signs)
        self.best_follows = language.best_follows
        self.is_bounded = language.has_blanks and not is_joined
        self._is_joined = is_joined
        self._words = language.words
        self._patterns: dict[str, re.Pattern[str] | None] = {}

    def pattern(self, kind: str) -> re.Pattern[str] | None:
        """Compiled when first needed: most texts need few of them."""
        if kind not in self._patterns:
            words = self._words.get(kind, ())  # type: ignore[call-overload]
            self._patterns[kind] = self._compiled(words) if words else None
        return self._patterns[kind]

    def _compiled(self, words: Iterable[str]) -> re.Pattern[str]:
        between = r"\W{0,4}" if not self._is_joined else ""
        gap = _BETWEEN if self.is_bounded else between
        kinds = sorted({folded(word) for word in words}, key=lambda word: (-len(word), word))
        written = (
            gap.join(re.escape(part).replace(r"\*", r"\w{0,12}") for part in word.split())
            for word in kinds
        )
        return re.compile(f"(?:{'|'.join(written)})" + (r"(?!\w)" if self.is_bounded else ""))


@cache
def load_languages(*, is_joined: bool = False) -> tuple[Words, ...]:
    """Every language, read once a process; English first."""
    folder = resources.files(__package__) / "languages"
    paths = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".yaml")),
        key=lambda path: (path.name != "en.yaml", path.name),
    )
    found = read_documents(paths, Language, kind="language")
    return tuple(Words(language, is_joined=is_joined) for language in found)


class Found(NamedTuple):
    """A sentence that was found: `text[start:end]` of the reading."""

    flag: str
    start: int
    end: int
    about: str


def find_phrases(text: str, *, is_joined: bool = False) -> Iterator[Found]:
    """The demands and claims of a reading, in any language."""
    for words in load_languages(is_joined=is_joined):
        if not words.signs or any(sign in text for sign in words.signs):
            yield from _Sentences(text, words).found()


class _Sentences:
    """A reading searched by one language."""

    def __init__(self, text: str, words: Words) -> None:
        self._text, self._words = text, words
        self._spans: dict[str, list[Span]] = {}

    def found(self) -> Iterator[Found]:
        for rule in RULES:
            for start, end in self._ordered(rule):
                yield Found(rule.flag, start, end, f"{self._words.label}: {rule.about}")

    def _ordered(self, rule: Rule) -> Iterator[Span]:
        if not all(self._places(kind) for kind in sorted(rule.order, key=_RARE.index)):
            return
        first, *others = [self._places(kind) for kind in rule.order]
        starts = [[start for start, _ in spans] for spans in others]
        for start, end in first:
            for spans, begins in zip(others, starts, strict=True):
                # The next one, which leaves most room for those after it.
                at = bisect_left(begins, end)
                if at == len(spans):
                    return
                end = spans[at][1]
            if end - start <= rule.window and not self._is_parted(start, end):
                yield start, end

    def _is_parted(self, start: int, end: int) -> bool:
        ends = self._ends
        at = bisect_right(ends, start)
        return at < len(ends) and ends[at] < end

    @cached_property
    def _ends(self) -> list[int]:
        return [match.start() for match in _SENTENCE_END.finditer(self._text)]

    def _places(self, kind: str) -> list[Span]:
        if kind not in self._spans:
            made = {
                "highest": self._highest, "mark": self._marks, "number": self._numbers,
                "order": self._orders, "this": self._this,
            }.get(kind)  # fmt: skip
            self._spans[kind] = made() if made is not None else self._matches(kind)
        return self._spans[kind]

    def _matches(self, kind: str) -> list[Span]:
        pattern, text = self._words.pattern(kind), self._text
        if pattern is None:
            return []
        spans = [match.span() for match in pattern.finditer(text)]
        if self._words.is_bounded:
            spans = [span for span in spans if not span[0] or not text[span[0] - 1].isalnum()]
        return spans

    def _this(self) -> list[Span]:
        return sorted(self._places("text") + self._places("pronoun"))

    def _highest(self) -> list[Span]:
        found = list(self._places("top"))
        best = self._places("best")
        if best:
            score = self._places("score")
            found += self._near(best, score, 14)
            if self._words.best_follows:
                found += self._near(score, best, 10)
        return sorted(found)

    def _near(self, first: Sequence[Span], second: Sequence[Span], gap: int) -> list[Span]:
        begins = [start for start, _ in second]
        found = []
        for start, end in first:
            at = bisect_left(begins, end)
            if at < len(second) and begins[at] - end <= gap:
                found.append((start, second[at][1]))
        return found

    def _digits(self) -> list[Span]:
        if "digits" not in self._spans:
            found = [match.span() for match in _NUMBER.finditer(self._text)]
            if found:
                marks = {match.end() - 1 for match in _LIST_MARK.finditer(self._text)}
                found = [span for span in found if span[1] not in marks]
            self._spans["digits"] = sorted(found + self._matches("numbers"))
        return self._spans["digits"]

    def _marks(self) -> list[Span]:
        """Ends of a scale: 10/10, 10 out of 10, ten points."""
        digits, text = self._digits(), self._text
        if not digits:
            return []
        found = []
        joiners = self._matches("of")
        joined = {start: end for start, end in joiners}
        scores = [start for start, _ in self._places("score")]
        for at, (start, end) in enumerate(digits):
            rest = end + len(text[end : end + 3]) - len(text[end : end + 3].lstrip())
            after = rest + 1 if text[rest : rest + 1] == "/" else joined.get(rest, 0)
            if after and at + 1 < len(digits) and 0 <= digits[at + 1][0] - after <= 3:
                of = digits[at + 1]
                if text[start:end] in (text[of[0] : of[1]], "0", "1"):
                    found.append((start, of[1]))
                continue
            near = bisect_left(scores, end)
            if near < len(scores) and scores[near] - end <= 2 and self._is_end_of_scale(start, end):
                found.append((start, self._places("score")[near][1]))
        return found

    def _is_end_of_scale(self, start: int, end: int) -> bool:
        written = self._text[start:end]
        return not written.isdecimal() or int(written) in _TOPS

    def _numbers(self) -> list[Span]:
        """Numbers that can be scores: with their scale, or at the end of a clause."""
        text, found = self._text, list(self._places("mark"))
        each = [start for start, _ in self._places("each")]
        for start, end in self._digits():
            rest = text[end : end + 2].lstrip()
            at = bisect_left(each, end)
            is_near = at < len(each) and each[at] - end <= 8
            if (is_near or not rest or not rest[0].isalnum()) and self._is_end_of_scale(start, end):
                found.append((start, end))
        return sorted(found)

    def _orders(self) -> list[Span]:
        """Commands: verbs of giving at the beginning of a sentence or after `please` and its like."""
        found = []
        ends = {end for _, end in self._places("please")}
        text = self._text
        for start, end in self._places("give"):
            before = start
            while before and start - before < 4 and not text[before - 1].isalnum():
                before -= 1
            between = text[before:start]
            if before == 0 or before in ends or re.search(r"[.!?:;\n。！？,，]", between):
                found.append((start, end))
        return found
