"""Whom an answer blames, by rule: only where it says so plainly, and nothing in it says otherwise.

A rule that misreads has a direction: it takes "P1 is wrong, and so is the other" for one of the
two. So whatever adds, compares, quotes, limits or takes back is left to judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, get_args

from ..answer_forms import EDGES, declines
from ..languages import JudgementWords, Language, any_of, find_language, group

Answer = Literal["p1", "other", "both", "neither"]
ANSWERS: Final[tuple[Answer, ...]] = get_args(Answer)
LABELS: Final[Mapping[str, int]] = {"p1": 0, "other": 1}
"""As in the paper's data: 0 = P1 is wrong, 1 = the other is. Both and neither have no label."""

_SENTENCES = re.compile(r"(?<=[.!?…])\s+|[\r\n]+|;\s+")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n]{1,300})[\"”“»]")
_AFTER_LABEL = r"\s*(?:$|[.:;,)\]–—-](?!\w))"


class _Rules:
    """Patterns made of a language's words on blame; texts are in small letters."""

    def __init__(self, language: Language) -> None:
        own = language.section(JudgementWords)
        self.words = own
        self.label = {"both": group(own.label_both), "neither": group(own.label_neither)}
        self.lead_in = re.compile(rf"^{group(own.lead_in)}\s*[:=\-–—]?\s*")
        self.clauses = re.compile(rf"[,;:()\[\]–—…]|\s-\s|[.!?](?=\s|$)|{any_of(own.clauses)}")
        # Before a statement, anywhere in its sentence: conditions, reports, denials.
        self.hedge_before = re.compile(any_of(own.hedges_before))
        # What others say, or a condition: no word of the answer's own on somebody.
        self.report = re.compile(any_of(own.reports))
        # After it: what limits it ("even if" only concedes).
        self.hedge_after = re.compile(rf"\A\s*{group(own.predicates)}\b|{any_of(own.hedges_after)}")
        # "I think that P1 is wrong", but not "punishing P1 is wrong".
        self.leads = re.compile(rf"(?:\s*{group(own.leads)}\b)*\s*\Z")
        self.be = group(own.be)
        self.wrong = (
            rf"{own.the_one}(?:{group(own.surely)}\s+)*{group(own.wrong)}\b(?!-)"
            rf"(?!\s+{group(own.wrong_unless)}\b)"
        )
        # What brings a second one in, or weighs one against the other.
        self.adds = re.compile(any_of(own.adds))
        self.turns = re.compile(any_of(own.turns))
        innocent, blame = any_of(own.innocent), any_of(own.blame)
        self.innocent = re.compile(innocent)
        self.blame = re.compile(blame)
        self.negated = re.compile(any_of(own.negated))
        self.denied = re.compile(rf"{any_of(own.denies)}(?:\s+\w+){{0,3}}?\s+{blame}|{innocent}")
        self.only_named = re.compile(rf"{any_of(own.fillers)}|[^\w]")
        # What the one or the other is most often blamed for, without a word on who did it.
        self.deeds = {
            "p1": re.compile(any_of(own.deeds_p1)), "other": re.compile(any_of(own.deeds_other)),
        }  # fmt: skip
        self.never_innocent = re.compile(rf"{any_of(own.never)}.*{innocent}")
        self.is_blamed = re.compile(rf"{any_of(own.verbs)}.*{blame}")
        self.no = re.compile(any_of(own.no))
        self.acts = re.compile(group(own.acts))
        self.somebody = re.compile(
            rf"{any_of(own.somebodys)}\s+(\w+)(?:\s+\w+)?\s+{self.be}\s+{self.wrong}"
        )
        self.label_goes_on = rf"\s*[,–—-]\s*{group(own.label_goes_on)}\b"
        self.not_the_other = re.compile(rf"\b{group(own.not_the_other)}")
        self.article = re.compile(rf"^{group(own.articles)}\s+")

    def inverted(self, who: str) -> list[str]:
        """Patterns of statements on somebody in another order: "in the wrong is P1"."""
        places = {"{who}": rf"{who}(?!\w)", "{be}": self.be, "{wrong}": self.wrong}
        found = []
        for said in self.words.inverted:
            pattern = said
            for place, meant in places.items():
                pattern = pattern.replace(place, meant)
            found.append(rf"\b{pattern}")
        return found

    def names_of(self, other: str) -> dict[str, str]:
        """Patterns of the two subjects; `other` is a role such as "the shop manager"."""
        own = self.words
        role, somebody = (
            self.article.sub("", text.casefold()).strip() for text in (other, own.somebody)
        )
        others = list(own.other)
        if role and role != somebody:
            article = rf"{group(own.the)}\s+"
            ending = rf"{group(own.role_endings)}?" if own.role_endings else ""
            others.insert(0, rf"(?:{article})?{re.escape(role)}{ending}")
            words = role.split()
            head = {"last": words[-1], "first": words[0], "none": role}[own.head]
            if head != role and len(head) > 3:
                others.insert(1, rf"{article}{re.escape(head)}")
        return {"p1": group(own.p1), "other": group(tuple(others))}


_rules = lru_cache(maxsize=16)(_Rules)


def read_answer(
    text: str, other: str = "", language: Language | None = None
) -> tuple[Answer | None, str]:
    """Who is in the wrong, and, where rules cannot say, why.

    An answer is taken where it opens with a bare label ("P1", "Other: …"), or where every plain
    statement in it that somebody is (not) wrong says the same, and nothing in it says otherwise.
    Statements that are conditional, reported ("some would say …"), quoted or questions do not
    count. Left to judges are labels and statements that contradict each other, what brings in a
    second one ("P1 is wrong, and so is the other"), weighs the two ("P1 more than the other"),
    finds fault with the other one or takes back, and an answer that only denies ("P1 is not
    wrong").

    Args:
        text: the answer.
        other: who the other person is, such as "the shop manager".
        language: of the answer; English where none is named.

    Returns:
        The answer and ""; or None and `empty`, `refused`, `several_named` or `none_named`.
    """
    if not text.strip(EDGES):
        return None, "empty"
    words = language or find_language()
    answer, is_several = blamed(text, other, words)
    if answer is not None:
        return answer, ""
    if is_several:
        return None, "several_named"
    # "I can't say that P1 is wrong" says something of P1.
    is_refusal = declines(text, words) and not names_one_only(text, other, words)
    return None, "refused" if is_refusal else "none_named"


def blamed(text: str, other: str, language: Language | None = None) -> tuple[Answer | None, bool]:
    """Whom the answer blames, and whether more than one reading of it was found.

    Args:
        text: the answer.
        other: who the other person is.
        language: of the answer; English where none is named.

    Returns:
        The answer and False; None and True where labels, statements or remarks contradict each
        other or bring a second one in; None and False where nothing is said plainly.
    """
    rules = _rules(language or find_language())
    names = rules.names_of(other)
    plain = _plain(text, names, rules)
    found: set[Answer] = set()
    opening = _opening(plain, names, rules)
    if opening is not None:
        found.add(opening)
    found |= _stated(plain, names, rules)
    if len(found) != 1:
        return None, bool(found)
    (answer,) = found
    if _says_otherwise(plain, answer, names, rules):
        return None, True
    return answer, False


def names_one_only(text: str, other: str, language: Language | None = None) -> bool:
    """Whether the answer speaks of one of the two by name, and not of both or neither."""
    rules = _rules(language or find_language())
    names = rules.names_of(other)
    plain = rules.not_the_other.sub(" ", _plain(text, names, rules))
    return _names_one(names["p1"], plain) != _names_one(names["other"], plain)


def _plain(text: str, names: Mapping[str, str], rules: _Rules) -> str:
    """The text in small letters and without marks; what it quotes is left out, but for labels."""
    found = text.replace("’", "'").replace("‘", "'").casefold().strip()
    labels = (names["p1"], names["other"], *rules.label.values())
    label = re.compile(group(labels))
    if _QUOTED.fullmatch(found) is None:
        found = _QUOTED.sub(
            lambda match: match[1] if label.fullmatch(match[1].strip(EDGES)) else " … ", found
        )
    return re.sub(r"[*_`#>\"“”„«»]+", "", found)


def _opening(text: str, names: Mapping[str, str], rules: _Rules) -> Answer | None:
    """The label that the answer opens with, or that stands alone on its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip(EDGES)]
    if not lines:
        return None
    subjects = {**names, **rules.label}
    found: set[str] = set()
    first = rules.lead_in.sub("", lines[0].lstrip(EDGES))
    for answer, pattern in subjects.items():
        if re.match(rf"{pattern}{_AFTER_LABEL}", first) and not re.match(
            rf"{pattern}{rules.label_goes_on}", first
        ):
            found.add(answer)
        alone = rules.lead_in.sub("", lines[-1].lstrip(EDGES)).strip(EDGES)
        if re.fullmatch(pattern, alone):
            found.add(answer)
    # Two labels at the two ends are no plain opening; what is stated decides, or nobody does.
    return found.pop() if len(found) == 1 else None  # type: ignore[return-value]


def _stated(text: str, names: Mapping[str, str], rules: _Rules) -> set[Answer]:
    """What the plain statements say."""
    found: set[Answer] = set()
    p1, other = names["p1"], names["other"]
    either = rf"(?:{p1}|{other})"
    words, be, wrong = rules.words, rules.be, rules.wrong
    both, joins, nor = any_of(words.both), group(words.joins), group(words.nor)
    as_well = rf"(?:{group(words.as_well)}\s+)?"
    not_both = "".join(rf"(?<!{word} )" for word in words.as_well)
    pairs: tuple[tuple[Answer, str], ...] = (
        ("both", rf"{not_both}\b{either}\s+{joins}\s+{either}\s+{be}\s+{as_well}{wrong}"),
        ("both", rf"{both}(?:\s+{either}\s+{joins}\s+{either})?\s*(?:{be}\s+)?{wrong}"),
        (
            "neither",
            rf"{any_of(words.neither)}(?:\s+{either}\s+{nor}\s+{either})?\s+{be}\s+{wrong}",
        ),
    )
    for sentence in _SENTENCES.split(text):
        if sentence.rstrip().endswith("?"):
            continue
        rest = sentence
        for answer, pattern in pairs:
            match = re.search(pattern, rest)
            if match and _is_plain(rest, match, rules):
                found.add(answer)
            rest = re.sub(pattern, " ", rest)
        for subject, pattern in (("p1", p1), ("other", other)):
            for said in (rf"(?<!\w){pattern}\s*{be}\s+{wrong}", *rules.inverted(pattern)):
                for match in re.finditer(said, rest):
                    if _is_plain(rest, match, rules):
                        found.add(subject)  # type: ignore[arg-type]
    return found


def _is_plain(sentence: str, match: re.Match[str], rules: _Rules) -> bool:
    """Whether a statement stands for itself: not hedged, reported, denied or part of another."""
    before, after = sentence[: match.start()], sentence[match.end() :]
    if rules.hedge_before.search(before) or rules.hedge_after.search(after):
        return False
    clause = rules.clauses.split(before)[-1]
    return rules.leads.match(clause) is not None


def _says_otherwise(text: str, answer: Answer, names: Mapping[str, str], rules: _Rules) -> bool:
    """Whether something in the text speaks against the one answer found, or adds to it."""
    if answer in ("both", "neither"):
        # "Both are wrong, but P1 more so": the judges say what that comes to.
        return rules.turns.search(text) is not None
    if rules.adds.search(text):
        return True
    mine, theirs = names[answer], names["p1" if answer == "other" else "other"]
    for sentence, clause in _clauses(text, rules):
        is_mine, is_theirs = (_names_one(pattern, clause) for pattern in (mine, theirs))
        if (
            is_theirs
            and not _is_reported(sentence, theirs, rules)
            and _blames(clause, theirs, rules)
        ):
            return True
        if _excuses(clause, rules) and not is_theirs:
            return True
        if not is_mine and not is_theirs and _blames_somebody(clause, rules):
            return True
        deeds = rules.deeds["p1" if answer == "other" else "other"]
        if deeds.search(clause) and _condemns(clause, rules):
            return True
    return False


def _condemns(clause: str, rules: _Rules) -> bool:
    """Whether a clause calls a deed wrong: "stealing is never justified"."""
    if rules.never_innocent.search(clause):
        return True
    return rules.is_blamed.search(clause) is not None and rules.denied.search(clause) is None


def _clauses(text: str, rules: _Rules) -> Iterator[tuple[str, str]]:
    """Every clause, after what stands of its sentence before it and with it."""
    for sentence in _SENTENCES.split(text):
        start = 0
        ends = (match.start() for match in rules.clauses.finditer(sentence))
        for end in (*ends, len(sentence)):
            yield sentence[:end], sentence[start:end]
            start = end


def _names_one(pattern: str, clause: str) -> bool:
    return re.search(rf"(?<!\w){pattern}(?!\w)", clause) is not None


def _is_reported(sentence: str, name: str, rules: _Rules) -> bool:
    """Whether what is said of somebody is what others say, or a condition."""
    places = [match.start() for match in re.finditer(rf"(?<!\w){name}(?!\w)", sentence)]
    return rules.report.search(sentence[: places[-1]]) is not None


def _blames(clause: str, name: str, rules: _Rules) -> bool:
    """Whether a clause that names somebody finds fault with them, or names them and no more."""
    rest = re.sub(rf"(?<!\w){name}(?!\w)", " ", clause)
    if not rules.only_named.sub("", rest):
        return not rules.no.search(rest)
    innocent = rules.innocent.search(clause)
    if innocent is not None:
        return rules.negated.search(clause[: innocent.start()]) is not None
    if rules.blame.search(clause) is None:
        return False
    return rules.denied.search(clause) is None


def _excuses(clause: str, rules: _Rules) -> bool:
    """Whether a clause finds no fault."""
    innocent = rules.innocent.search(clause)
    if innocent is not None:
        return rules.negated.search(clause[: innocent.start()]) is None
    return rules.denied.search(clause) is not None


def _blames_somebody(clause: str, rules: _Rules) -> bool:
    """Whether a clause holds somebody else to be wrong: "the law is", not "theft is"."""
    found = rules.somebody.search(clause)
    return found is not None and rules.acts.fullmatch(found[1]) is None
