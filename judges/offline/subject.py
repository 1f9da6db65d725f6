"""What the embedded writers take from a prompt: the words of its subject, and its question.

Word lists and cuts, nothing else: no sentence is understood.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..english import FUNCTION_WORDS, QUESTION_WORDS, WORD, key_of

_SENTENCE: Final = re.compile(r"[^.!?。！？]{1,2000}[.!?。！？]{0,3}[\"'”’)\]]{0,3}")
_TASK: Final = re.compile(
    r"^(?:please )?(?:(?:critically|briefly|carefully|thoroughly) )*(?:discuss|analy[sz]e|evaluate|"
    r"examine|assess|explore|consider|explain|describe|compare and contrast|compare|outline|"
    r"justify|reflect on|comment on|argue|write an? \w{0,12} ?essay (?:on|about))"
    r"(?: and (?:discuss|analy[sz]e|evaluate|examine|assess|explain))? ",
    re.IGNORECASE,
)
_ASKS_INDIRECTLY: Final = re.compile(r"(?:whether|how|why|what|if|who|when|where|which)\b", re.I)
# Spoken for written; each breaks up the wording a little and leaves the question as it was.
_SPOKEN: Final = (
    ("to what extent", "how far"),
    ("under what conditions", "when exactly"),
    ("under which conditions", "when exactly"),
    ("in what ways", "how"),
    ("in what sense", "how"),
    ("what follows for", "what does that mean for"),
    ("what is left of", "what's even left of"),
    ("does not", "doesn't"),
    ("do not", "don't"),
    ("should not", "shouldn't"),
    ("cannot", "can't"),
    ("what is", "what's"),
    ("who is", "who's"),
    ("individuals", "people"),
    ("whether or not", "if"),
    ("whether", "if"),
    ("such as", "like"),
    ("require", "need"),
    ("regarding", "about"),
    ("ought to", "should"),
    ("therefore", "so"),
    ("however", "but"),
    ("if ever", "if at all"),
    ("morally", "really"),
)
_ASIDES: Final = ("honestly", "you know", "I mean", "seriously", "actually")
_FILLER_WORDS = (
    "able also already another any anyone argue case certain certainly change choose claim "
    "common concept decide different difference during enough entitled extent fact form four "
    "general given group half however idea important include involve issue justified kind last "
    "late later less level matter member might moral nature never new next number old open other "
    "others own past person place point position possible present problem provide rather real "
    "really relation require result right role same several single social society some start "
    "state still term three time today two understand understanding using various view whether "
    "word wrong year young"
)
_FILLER: Final = frozenset(_FILLER_WORDS.split())
_ADJECTIVE: Final = re.compile(r"\w{2,30}(?:ive|al|ous|ful|ible|able|ic|ed|less)")
_PAUSES: Final = frozenset(
    {"and", "as", "because", "but", "by", "for", "from", "if", "in", "or", "than", "that", "when"}
)
MOST_QUESTION_WORDS: Final = 40
_SHORT_PROMPT_WORDS: Final = 18
"""Below it a variant's own words outweigh those taken over from the prompt."""


def chosen(options: Sequence[str], *facts: str) -> str:
    """One of the options, by a hash of the facts: always the same, and all of them in use."""
    digest = hashlib.sha256("\x1f".join(facts).encode("utf-8", "surrogatepass")).digest()
    return options[int.from_bytes(digest[:8], "big") % len(options)]


def sentences_of(prompt: str) -> list[str]:
    """The prompt's sentences, on one line each."""
    found = (match[0].strip() for match in _SENTENCE.finditer(" ".join(prompt.split())))
    return [sentence for sentence in found if WORD.search(sentence)]


def subject_words(prompt: str, most: int = 3) -> list[str]:
    """The words that the prompt is most about, in its order and in lower case unless names.

    Words that come again weigh more, then longer ones. Empty where there is no word at all.
    """
    words = WORD.findall(prompt)
    counts: Counter[str] = Counter()
    first: dict[str, tuple[int, str]] = {}
    for place, word in enumerate(words):
        lowered = word.lower().replace("’", "'").removesuffix("'s")
        key = key_of(lowered)
        empty = {lowered, lowered.split("'")[0], key} & (FUNCTION_WORDS | QUESTION_WORDS | _FILLER)
        if len(key) < 4 or empty or key[0].isdigit() or lowered.endswith("ly"):
            continue
        counts[key] += 1
        first.setdefault(key, (place, lowered))
    # What has an adjective's ending comes last: a topic is a matter, not a quality.
    best = sorted(
        counts,
        key=lambda key: (
            _ADJECTIVE.fullmatch(first[key][1]) is not None,
            -counts[key],
            -len(key),
            first[key][0],
        ),
    )[:most]
    return [first[key][1] for key in sorted(best, key=lambda key: first[key][0])]


def topic_of(prompt: str) -> str:
    """The subject as a phrase in the singular, whatever its words are; "all this" without any."""
    words = subject_words(prompt)
    if not words:
        return "all this"
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"the whole thing with {listed}"


def question_of(prompt: str) -> str:
    """The prompt's question in more spoken words, ending in a question mark.

    Of several questions the longest that is not too long; an order to discuss something becomes a
    question about it, and so does a bare statement.
    """
    sentences = sentences_of(prompt)
    asked = [sentence for sentence in sentences if sentence.rstrip("\"'”’)]").endswith(("?", "？"))]
    if asked:
        fitting = [sentence for sentence in asked if _size(sentence) <= MOST_QUESTION_WORDS]
        question = max(fitting, key=_size) if fitting else min(asked, key=_size)
    else:
        question = _turned(max(sentences, key=_size)) if sentences else "What do you make of it?"
    return _loosened(_spoken(_cut(question)), prompt)


def _size(sentence: str) -> int:
    return len(WORD.findall(sentence))


def _turned(statement: str) -> str:
    """A question about what a sentence orders to be discussed, or says."""
    bare = statement.rstrip(".!。！\"'”’ ")
    rest = _TASK.sub("", bare, count=1)
    if rest != bare:
        opening = (
            "How would you work out" if _ASKS_INDIRECTLY.match(rest) else "What do you make of"
        )
        return f"{opening} {_lowered(rest)}?"
    return f"What do you make of the idea that {_lowered(bare)}?"


def _cut(question: str) -> str:
    """The last clauses of a question that is far too long for a chat."""
    while _size(question) > MOST_QUESTION_WORDS and ", " in question:
        question = question.split(", ", 1)[1]
    return question


def _spoken(question: str) -> str:
    for written, said in _SPOKEN:
        question = re.sub(rf"\b{written}\b", said, question, flags=re.IGNORECASE)
    return question


def _loosened(question: str, prompt: str) -> str:
    """The question with asides, where it is all of a long prompt and would be its copy."""
    size = len(WORD.findall(prompt))
    if size < _SHORT_PROMPT_WORDS or size > 2 * _size(question):
        return capital(question)
    words = question.split()
    paused = _with_asides(words, at_pauses=True)
    if paused.count(",") - question.count(",") < len(words) // 10:
        paused = _with_asides(words, at_pauses=False)
    return capital(paused)


def _with_asides(words: list[str], *, at_pauses: bool) -> str:
    """The words with asides among them, before small words, or else every seventh word or so."""
    out: list[str] = []
    since = 0
    used = 0
    for place, word in enumerate(words):
        out.append(word)
        since += 1
        following = words[place + 1 :]
        if len(following) < 2 or not word[-1].isalnum() or since < 5:
            continue
        if (following[0].lower() in _PAUSES) if at_pauses else since >= 6:
            out[-1] += f", {_ASIDES[used % len(_ASIDES)]},"
            used += 1
            since = 0
    return " ".join(out)


def _lowered(text: str) -> str:
    """The text with a small first letter, unless it opens with a name or an abbreviation."""
    first = text.split(" ", 1)[0].lower()
    return text[0].lower() + text[1:] if first in FUNCTION_WORDS | QUESTION_WORDS else text


def capital(text: str) -> str:
    """The text with a capital letter first."""
    return text[:1].upper() + text[1:]
