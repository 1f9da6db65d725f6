"""The faults of a variant, and the checks by rule that find them.

A fault is a code that is stored and a sentence that is shown. Words are compared in English; checks
that know English only are left out, and named, for texts in other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..judges.english import FUNCTION_WORDS, QUESTION_WORDS, WORD, key_of, runs
from ..judges.schema import TEXT, OutputSchema, object_schema
from .framings import Framing, Marker
from .generate import WHOLE, Checked, Fault

ENGLISH_SHARE = 0.25
"""Share of English function words from which on a text counts as English; prose has 0.4 to 0.6."""

FOREIGN_SHARE = 0.12
"""Below it a text of some length is surely not English; German and Spanish have under 0.1."""

_RUN = 3
_STEM_LETTERS = 5


def variants_schema(framings: Iterable[Framing]) -> OutputSchema[dict[str, Any]]:
    """The form of a rewriter's reply: one text for each framing."""
    return object_schema({framing.id: TEXT for framing in framings})


def normalised(text: str) -> str:
    """The text in lower case, letters and digits of any script alone, single spaces.

    Accents and width count (résumé is not resume), compatibility forms do not.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    return " ".join(re.findall(r"\w+", folded))


def spoken(text: str) -> str:
    """The text in lower case with plain apostrophes and single spaces, as marker lists have it."""
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").lower().split())


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether a `spoken` text holds the phrase, not within a longer word."""
    before = r"(?<![\w'])" if phrase[0].isalnum() else ""
    # "friend" is there in "friend's", and so is "i" in "i've"
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return re.search(before + re.escape(phrase) + after, text) is not None


@lru_cache(maxsize=4_096)
def english_share(text: str) -> float:
    """Share of English function words among the words; 0.0 without words."""
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    if not words:
        return 0.0
    # "i've" and "it's" are function words with an ending
    known = sum(word in FUNCTION_WORDS or word.split("'")[0] in FUNCTION_WORDS for word in words)
    return known / len(words)


def is_english(text: str) -> bool:
    """Whether checks that know English only may speak about the text."""
    return english_share(text) >= ENGLISH_SHARE


def is_foreign(text: str) -> bool:
    """Whether the text is long enough to tell, and not English."""
    size = len(normalised(text))
    return size >= 60 and english_share(text) < FOREIGN_SHARE


def subject_stems(text: str) -> frozenset[str]:
    """Stems of the English words that carry the subject, cut at five letters."""
    stems = set()
    for word in WORD.findall(text):
        lowered = word.lower().replace("’", "'")
        key = key_of(word)
        plain = lowered.split("'")[0]
        if len(key) < 3 or {lowered, plain} & FUNCTION_WORDS or {plain, key} & QUESTION_WORDS:
            continue
        if not key[0].isdigit():
            stems.add(key[:_STEM_LETTERS])
    return frozenset(stems)


def text_runs(text: str) -> Counter[tuple[str, ...]]:
    """Counts of the runs of three words; of characters where words are not set apart.

    Texts of Chinese, Japanese or Thai come out as a few very long words, whose runs say nothing.
    """
    words = normalised(text).split()
    if words and sum(map(len, words)) / len(words) > 12:
        words = list("".join(words))
    if len(words) < _RUN:
        return Counter([tuple(words)] if words else [])
    return Counter(runs(words, _RUN))


def likeness(one: str, other: str) -> float:
    """How much two texts share, in [0, 1]: Dice coefficient of their runs of three words.

    2 |A ∩ B| / (|A| + |B|) over multisets; 1.0 for equal texts, 0.0 where either has no word.
    """
    first, second = text_runs(one), text_runs(other)
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if first and second else 0.0


def taken_over(baseline: str, variant: str) -> float:
    """Share of the baseline's runs of three words that stand in the variant, in [0, 1]."""
    first, second = text_runs(baseline), text_runs(variant)
    return (first & second).total() / first.total() if first else 0.0


LEAST_CHARACTERS = 12
"""Letters and digits below which no question is put in context, in any script."""

MOST_CHARACTERS = 1_500
"""Length up to which any variant may go; beyond it, up to three times its baseline."""

MOST_LIKENESS = 0.75
"""Shared runs of words from which on a text is a near copy of another."""

MOST_TAKEN_OVER = 0.9
"""Share of a baseline's runs from which on it stands in the variant as it was …"""

LONG_BASELINE_WORDS = 20
"""… for baselines of so many words; a short question is hardly asked in other words."""

_QUESTION_MARK = re.compile("[?？؟\u037e⁇⁈‽՞፧]")
_ASKING = re.compile(
    r"\b(?:what|how|where|why) (?:do|would|should|could|can|are|is|does|did|about)\b"
    r"|\b(?:tell|help|explain|show|walk|convince|enlighten|give|set) (?:to )?(?:me|us)\b"
    r"|\b(?:i|i'd|i'm|just|so|been|really|we|we're) (?:would |really |do |am |been |was )*"
    r"(?:like|love|want|need|wonder|wondering|curious|ask|asking|interested|keen)\b"
    r"|\b(?:curious|wondering|your (?:take|thoughts|view|opinion|two cents)|thoughts|any idea"
    r"|talk me through|make sense of|hear (?:what|your|how|why)|let me know|please)\b",
    re.IGNORECASE,
)
_POINTS_ELSEWHERE = re.compile(
    r"\b(?:the|this|that) (?:(?:original|given|provided|above|following|previous|same) )*"
    r"prompt(?=\s*(?:[.,;:?!)]|$)| (?:is|asks|says|above|below|i was|you)\b)"
    r"|\b(?:the|this|that|these) (?:given|provided|above|preceding|stated) (?:question|statement|"
    r"topic|text|passage|claim|scenario|premise|position|view)s?\b"
    r"|\b(?:the|this|that|these) (?:original|following|previous) (?:question|wording)s?\b"
    r"|\b(?:the|as|mentioned|described|stated|noted|quoted|see) above\b(?=\s*(?:[.,;:?!)]|$))"
    r"|\babove[- ]mentioned\b|\bmarked text\b",
    re.IGNORECASE,
)
_TASK_VERBS = (
    r"discuss|analy[sz]e|evaluate|examine|assess|appraise|elaborate|elucidate|delineate|explicate|"
    r"interrogate|problemati[sz]e|synthesi[sz]e|critique|outline|justify|substantiate"
)
_ESSAY = re.compile(
    rf"(?:^|[.!?:;]\s+|\n\s*)(?:please )?(?:(?:then|next|finally|critically|briefly|carefully|"
    rf"thoroughly) )*(?:{_TASK_VERBS}|compare and contrast|critically \w+)\b(?! me\b)"
    r"|\b(?:write|compose|draft) (?:an?|the|your) (?:\w+ ){0,2}(?:essay|paper|report|analysis)\b"
    r"|\bin your (?:answer|response|essay|analysis|discussion)\b"
    r"|\b(?:drawing|draw) (?:up)?on (?:relevant |appropriate |at least |examples|the literature|"
    r"theor)"
    r"|\bsupport your (?:answer|argument|position|claim)s? (?:with|by)\b"
    r"|\bwith (?:specific )?reference to (?:relevant|appropriate|at least|the literature)\b"
    r"|\b\d{2,4} words\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```|~~~")
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s+\S|\*\*[^*\n]+\*\*:?\s*$)", re.MULTILINE)
_LIST_ITEM = re.compile(
    r"^\s{0,8}(?:[-*•–]\s+|\(?(?:\d{1,2}|[a-h]|i{1,3}|iv|v)[.)]\s+)", re.MULTILINE
)
_REFUSAL = re.compile(
    r"^\W{0,4}(?:(?:i'?m|i am|we'?re|we are)? ?(?:very |really |so |truly )?sorry\b[^.!?\n]{0,40}?"
    r"|unfortunately,? |apologies[^.!?\n]{0,40}?|as an ai(?: language model| assistant)?,? )?"
    r"(?:i|we) (?:can'?t|can ?not|won'?t|will not|am (?:not able|unable) to|'?m (?:not able|unable)"
    r" to|am not comfortable|must decline to|have to decline to|decline to|refuse to|would rather"
    r" not|prefer not to) (?:\w+ ){0,2}(?:help|assist|comply|rewrit|rephras|reword|reformulat|"
    r"produc|generat|creat|writ|provid|fulfil|do (?:this|that|so)|continu|engag|complet|tak)",
    re.IGNORECASE,
)


def check_variants(
    baseline: str, variants: Mapping[str, object], framings: Sequence[Framing]
) -> Checked:
    """What is wrong with a set of variants.

    Args:
        baseline: the prompt that was rewritten.
        variants: framing to text, as a reply or a file has it; nothing is taken for granted.
        framings: those that were asked for.
    """
    faults = [
        Fault(WHOLE if code == "extra_key" else key, code, f"{key}: {sentence}")
        for key, code, sentence in variants_schema(framings).faults(variants)
    ]
    skipped: list[str] = []
    texts: dict[str, str] = {}
    for framing in framings:
        text = variants.get(framing.id)
        if type(text) is not str:
            continue
        found = _text_faults(baseline, text, framing, skipped)
        faults += [Fault(framing.id, code, detail) for code, detail in found]
        texts[framing.id] = text
    faults += _copies(texts)
    order = {framing.id: place for place, framing in enumerate(framings)}
    faults.sort(key=lambda fault: order.get(fault.part, len(order)))
    return Checked(tuple(faults), tuple(skipped))


def _text_faults(
    baseline: str, text: str, framing: Framing, skipped: list[str]
) -> list[tuple[str, str]]:
    """What is wrong with one text, as (code, detail)."""
    size = len(normalised(text).replace(" ", ""))
    if size == 0:
        return [("empty", "holds no word")]
    refusal = _REFUSAL.search(spoken(text))
    if refusal:
        return [("refusal", f"begins by declining: {refusal[0]!r}")]
    if normalised(text) == normalised(baseline):
        return [("copy_of_baseline", "is the baseline, letter for letter")]
    faults: list[tuple[str, str]] = []
    most = max(MOST_CHARACTERS, 3 * len(baseline))
    if size < LEAST_CHARACTERS:
        faults.append(("too_short", f"has {size} letters and digits, at least {LEAST_CHARACTERS}"))
    if len(text) > most:
        faults.append(("too_long", f"has {len(text)} characters, at most {most}"))
    alike, taken = likeness(baseline, text), taken_over(baseline, text)
    is_long = len(normalised(baseline).split()) >= LONG_BASELINE_WORDS
    if alike >= MOST_LIKENESS or (is_long and taken >= MOST_TAKEN_OVER):
        faults.append(
            ("near_copy_of_baseline", f"takes over {taken:.0%} of the baseline's wording")
        )
    if _FENCE.search(text):
        faults.append(("markdown", "holds a code fence"))
    heading, items = _HEADING.search(text), _LIST_ITEM.findall(text)
    if heading:
        faults.append(("essay_prompt", f"has a heading: {heading[0].strip()[:60]!r}"))
    if len(items) >= 2:
        faults.append(("essay_prompt", f"has a list of {len(items)} items"))
    if is_english(baseline) and is_foreign(text):
        faults.append(("other_language", "is not in English, as the baseline is"))
    return faults + _english_faults(baseline, text, framing, skipped)


def _english_faults(
    baseline: str, text: str, framing: Framing, skipped: list[str]
) -> list[tuple[str, str]]:
    """What only a reader of English can find wrong."""
    speaks = is_english(text)
    checks = [
        ("no_question", speaks or _asks_by_mark(text), _no_question(text)),
        ("points_elsewhere", speaks, _pointer(text)),
        ("off_topic", speaks and is_english(baseline), _off_topic(baseline, text)),
        ("essay_prompt", speaks, _essay(text)),
        *(("marker_missing", speaks, _unmarked(text, marker)) for marker in framing.markers),
    ]
    skipped += [f"{framing.id} {code}: not English" for code, applies, _ in checks if not applies]
    return [(code, detail) for code, applies, detail in checks if applies and detail is not None]


def _asks_by_mark(text: str) -> bool:
    return _QUESTION_MARK.search(text) is not None


def _no_question(text: str) -> str | None:
    asks = _asks_by_mark(text) or _ASKING.search(spoken(text))
    return None if asks else "has no question mark and no words that ask for anything"


def _pointer(text: str) -> str | None:
    found = _POINTS_ELSEWHERE.search(text)
    return f"points to another text: {found[0]!r}" if found else None


def _essay(text: str) -> str | None:
    found = _ESSAY.search(text)
    return f"is worded like a task: {found[0].strip()[:60]!r}" if found else None


def _unmarked(text: str, marker: Marker) -> str | None:
    said = spoken(text)
    is_marked = any(holds_phrase(said, term) for term in marker.any_of)
    return None if is_marked else f"does not show {marker.shows}"


def _off_topic(baseline: str, text: str) -> str | None:
    subject = subject_stems(baseline)
    needed = min(len(subject), 1 if len(subject) < 6 else 2)
    shared = subject & subject_stems(text)
    if len(shared) >= needed:
        return None
    return f"takes up {len(shared)} of the baseline's {len(subject)} subject words"


def _copies(texts: Mapping[str, str]) -> list[Fault]:
    """Variants that are almost another one; the later of the two is the one to write anew."""
    faults: list[Fault] = []
    names = [name for name, text in texts.items() if normalised(text)]
    for place, name in enumerate(names):
        for earlier in names[:place]:
            alike = likeness(texts[earlier], texts[name])
            if normalised(texts[earlier]) == normalised(texts[name]) or alike >= MOST_LIKENESS:
                detail = f"shares {alike:.0%} of its wording with {earlier}"
                faults.append(Fault(name, "copy_of_variant", detail))
                break
    return faults
