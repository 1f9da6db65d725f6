"""What a text says once hiding is undone: readings of it, each with the places of its characters.

The first reading is the text itself without characters of no width, letters of other alphabets and
widths read as the Latin ones they imitate. Others exist only where something speaks for them: codes
(base64, hex, ...) whose content is readable text, escapes, and ways of writing (backwards, rot13,
spaced out, digits for letters). Every step takes time linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")
"""A word, in every script with blanks."""

AS_IT_STANDS: Final = "as it stands"
_DEEPEST: Final = 3
"""Codes within codes that are read."""


@dataclass(frozen=True)
class View:
    """One reading of a text.

    Attributes:
        text: what is searched, in lower case.
        written: how it is written in the original.
        starts, ends: of each of its characters in the original; None where they are the same.
        is_code: it is noticed whatever it says, because nobody writes readable text so.
        is_joined: it has no blanks, because words could not be told apart.
    """

    text: str
    written: str = AS_IT_STANDS
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    is_code: bool = False
    is_joined: bool = False

    @cached_property
    def words(self) -> list[str]:
        """Its words in their order."""
        return WORD.findall(self.text)

    @cached_property
    def word_spans(self) -> list[tuple[int, int]]:
        """Where its words stand."""
        return [match.span() for match in WORD.finditer(self.text)]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Its words, each once."""
        return frozenset(self.words)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original the characters from start to end stand."""
        if self.starts is None or self.ends is None:
            return start, end
        # A reading may run backwards.
        first, last = self.starts[start], self.starts[end - 1]
        return min(first, last), max(self.ends[start], self.ends[end - 1])


class _Same(Sequence[int]):
    """One place for every character: that of the code which was read."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int | slice) -> int:  # type: ignore[override]
        return self._place


def views_of(text: str) -> Iterator[View]:
    """The readings of a text, the first the text itself."""
    plain, places = unveiled(text)
    first = View(lowered(plain), starts=places, ends=_behind(places))
    yield first
    if not text.isascii():
        for start, end, content, written in _unseen_payloads(text):
            yield from _inside(content, View("", written, _Same(start), _Same(end)))
    yield from _readings(plain, first, 0)


def unveiled(text: str) -> tuple[str, list[int] | None]:
    """The text as a reader would spell it out, and where each of its characters stood.

    Characters without width and combining marks are taken out, letters lose their accents, and
    look-alikes become the Latin letters they imitate. The places are None where nothing was taken
    out: then they are the same.

    Single characters are folded and not the whole text: normalising a text takes time quadratic in
    a run of combining marks.
    """
    if text.isascii():
        return text, None
    plain = text.translate(_FOLDS)
    if not _UNSEEN.search(plain):
        return plain, None
    places = [index for index, character in enumerate(plain) if not _UNSEEN.match(character)]
    return "".join(plain[index] for index in places), places


def lowered(plain: str) -> str:
    """Lower case, character for character: İ alone would become two."""
    return plain.replace("İ", "i").lower()


def folded(text: str) -> str:
    """A text as it stands in the first of its readings."""
    return lowered(unveiled(text)[0])


def _behind(places: list[int] | None) -> list[int] | None:
    return None if places is None else [place + 1 for place in places]


def _readings(plain: str, of: View, depth: int) -> Iterator[View]:
    """What else a reading may say.

    Args:
        plain: its text before it was put into lower case.
        of: the reading.
        depth: how many codes it stood in.
    """
    yield from _rewritten(of)
    if depth >= _DEEPEST:
        return
    loose = _unescaped(plain)
    if loose is not None:
        content, starts, ends = loose
        at = replace(of, text="", starts=starts, ends=ends, written="escapes", is_code=False)
        if of.starts is not None and of.ends is not None:
            at = replace(
                at,
                starts=[of.place(a, b)[0] for a, b in zip(starts, ends, strict=True)],
                ends=[of.place(a, b)[1] for a, b in zip(starts, ends, strict=True)],
            )
        yield from _inside(content, at, depth=depth)
    for start, end, content, written in _payloads(plain):
        first, last = of.place(start, end)
        code = View("", written, _Same(first), _Same(last), is_code=True)
        yield from _inside(content, code, depth=depth)


def _inside(content: str, at: View, depth: int = 0) -> Iterator[View]:
    """The reading of a content that stands at a place, and what that may say in turn."""
    plain, places = unveiled(content)
    if places is not None and at.starts and at.ends and not isinstance(at.starts, _Same):
        starts, ends = [at.starts[i] for i in places], [at.ends[i] for i in places]
        at = replace(at, starts=starts, ends=ends)
    view = replace(at, text=lowered(plain))
    yield view
    yield from _readings(plain, view, depth + 1)


# Characters ---------------------------------------------------------------------------------------

# What a reading lacks: joiners too, which belong to words of some languages and to emoji; accents
# and other combining marks; the marks that stretch or point Arabic words.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u0300-\u036f\u0640\u064b-\u0655\u093c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u061c\u20d0-\u20f0\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_LOOKALIKES: Final[dict[str, str]] = {
    **dict(
        zip(
            # Cyrillic, both cases alike where one of them looks Latin; Greek; Armenian; others.
            "аеорсухіјѕԁһԛԝѵвнкмтӏАЕОРСУХІЈЅВНКМТӀαοϲνρικτΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսհոցıɑɡ",
            "aeopcyxijsdhqwvbhkmtlAEOPCYXIJSBHKMTlaocvpiktABEZHIKMNOPTYXouhngiag",
            strict=True,
        )
    ),
    **dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True)),
    **{chr(0x1F1E6 + at): letter for at, letter in enumerate(_ALPHABET)},  # flags' letters
    **{chr(0x1F170 + at): letter for at, letter in enumerate(_ALPHABET)},  # in squares
    **{chr(0x1F150 + at): letter for at, letter in enumerate(_ALPHABET)},  # in dark circles
    **{chr(0x249C + at): letter for at, letter in enumerate(_ALPHABET)},  # in brackets
    **dict.fromkeys("‹〈⟨❮⧼《", "<"),
    **dict.fromkeys("›〉⟩❯⧽》", ">"),
    **dict.fromkeys("❘∣│ǀ❙┃｜￨", "|"),
    **dict(zip("ٱىة", "ايه", strict=True)),
    "▁": "_",
    "’": "'",
    "İ": "i",
}

_MARKS: Final = "\u0653\u0654\u0655\u093c"
"""Marks of Arabic and Hindi letters that many writers leave out."""


class _Folds(dict[int, str]):
    """What each character is read as; always one character, so that places stay."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = _fold(character)
        if len(self) < 20_000:
            self[code] = kept
        return kept


def _fold(character: str) -> str:
    known = _LOOKALIKES.get(character)
    if known is not None:
        return known
    parts = unicodedata.normalize("NFKD", character)
    letters = [c for c in parts if not "\u0300" <= c <= "\u036f" and c not in _MARKS]
    if len(letters) == 1:
        return _LOOKALIKES.get(letters[0], letters[0])
    composed = unicodedata.normalize("NFKC", character)
    return composed if len(composed) == 1 else character


_FOLDS: Final = _Folds()


# Codes: start, end, content, name -----------------------------------------------------------------

Payload = tuple[int, int, str, str]

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}(?:={0,2}\s{1,4}[A-Za-z0-9+/_-]{4,})*={0,2}")
_BASE64_TWICE: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_MIXED: Final = re.compile(r"[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z]")
_BASE32: Final = re.compile(r"[A-Z2-7]{16,}(?:\s{1,4}[A-Z2-7]{8,})*")
# The bytes of Latin letters and signs begin with the digits 2 to 7 in hex, with 0 in binary.
_HEX: Final = re.compile(
    r"(?:0x|\\x)?[2-7][0-9a-fA-F](?:[\s:,;-]{0,2}(?:0x|\\x)?[0-9a-fA-F]{2}){11,}"
)
_BINARY: Final = re.compile(r"0[01]{7}(?:[\s,]{0,2}[01]{8}){7,}")
_DECIMAL: Final = re.compile(r"\d{2,3}(?:[ ,;]{1,2}\d{2,3}){11,}")
_MORSE: Final = re.compile(r"(?<!\S)[.\-]{1,6}(?:(?:\s{0,3}/\s{0,3}|\s{1,3})[.\-]{1,6}){9,}")
_MORSE_WORD: Final = re.compile(r"\s*/\s*|[ ]{3,}|\n")
_MORSE_SIGNS: Final = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- "
    ".-- -..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----. .-.-.- "
    "--..-- ..--.."
)
_MORSE_LETTERS: Final[dict[str, str]] = dict(
    zip(_MORSE_SIGNS.split(), f"{_ALPHABET}0123456789.,?", strict=True)
)
_MORSE_VARIETY: Final = 6
"""Signs that differ in what is read as Morse: rules of dots and dashes have fewer."""

_DASHES: Final = str.maketrans("·•−–—_", "..----")


def _payloads(plain: str) -> Iterator[Payload]:
    """What stands in a code and decodes to readable text."""
    if any(map(_MIXED.search, [run for run in plain.split() if len(run) > 11])):
        for match in _BASE64.finditer(plain):
            yield from _base64(match)
    digits = sum(map(plain.count, "0123456789"))
    for name, pattern, decode in _CODES if digits >= _FEWEST_DIGITS else _CODES[:1]:
        for match in pattern.finditer(plain):
            content = decode(match[0])
            if content is not None and _is_readable(content):
                yield match.start(), match.end(), content, name
    yield from _morse(plain)


def _base64(match: re.Match[str]) -> Iterator[Payload]:
    # Words, paths and hashes are runs of the same letters.
    if not _MIXED.search(match[0]):
        return
    # What stands behind a padding begins anew.
    for part in re.finditer(r"[^=]+", match[0]):
        chunks = list(re.finditer(r"\S+", part[0]))
        while chunks and chunks[0][0].isalpha() and chunks[0][0][1:].islower():
            del chunks[0]
        first = match.start() + part.start()
        whole = _decoded_base64("".join(chunk[0] for chunk in chunks))
        if whole is not None:
            content, used = whole
            for chunk in chunks:
                used -= len(chunk[0])
                if used <= 0:
                    yield first + chunks[0].start(), first + chunk.end(), content, "base64"
                    break
            continue
        # Something before it may have been taken for a part of it.
        for chunk in chunks:
            alone = _decoded_base64(chunk[0]) if len(chunk[0]) >= 24 else None
            if alone is not None:
                yield first + chunk.start(), first + chunk.end(), alone[0], "base64"


def _decoded_base64(run: str) -> tuple[str, int] | None:
    """The readable text that a run begins with, and of how many letters; None without one."""
    run = run.replace("-", "+").replace("_", "/")
    # A rest of one character holds less than a byte.
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        raw = base64.b64decode(run + "=" * (-len(run) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    content = raw.decode("utf-8", "replace")
    # Words behind it may have been taken for a part of it: they decode to bytes that are no text.
    text = re.split("[\ufffd\x00-\x08\x0e-\x1f]", content, maxsplit=1)[0]
    for one in (content, text):
        # What decodes to the letters of the code once more was encoded twice.
        if len(one) >= 12 and (_is_readable(one) or _BASE64_TWICE.fullmatch(one)):
            return one, -(-len(one.encode()) * 4 // 3)
    return None


def _base32(run: str) -> str | None:
    letters = "".join(run.split())
    letters = letters[: len(letters) - {1: 1, 3: 1, 6: 1}.get(len(letters) % 8, 0)]
    try:
        raw = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (binascii.Error, ValueError):
        return None
    return raw.decode("utf-8", "replace")


def _hex(run: str) -> str | None:
    digits = re.sub(r"0x|\\x|[\s:,;-]", "", run)
    return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "replace")


def _binary(run: str) -> str | None:
    digits = re.sub(r"[\s,]", "", run)
    raw = bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits) - 7, 8))
    return raw.decode("utf-8", "replace")


def _decimal(run: str) -> str | None:
    return "".join(chr(int(number)) for number in re.findall(r"\d+", run))


_FEWEST_DIGITS: Final = 12
"""Of which hex, binary and decimal codes that are long enough have at least so many."""

_CODES: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], str | None]], ...]] = (
    ("base32", _BASE32, _base32),
    ("hex", _HEX, _hex),
    ("binary", _BINARY, _binary),
    ("decimal codes", _DECIMAL, _decimal),
)


def _morse(plain: str) -> Iterator[Payload]:
    if not any(piece in plain for piece in ("- .", ". -", "· ", "• ", "− ", "– ", "— ")):
        return
    signs = plain.translate(_DASHES)
    for match in _MORSE.finditer(signs):
        words = [
            "".join(_MORSE_LETTERS.get(letter, "\ufffd") for letter in word.split())
            for word in _MORSE_WORD.split(match[0])
        ]
        content = " ".join(words)
        if "\ufffd" not in content and len(set(content)) >= _MORSE_VARIETY:
            yield match.start(), match.end(), content, "Morse"


def _is_readable(content: str) -> bool:
    """Whether it is text: letters and ordinary signs, with blanks or in a script without them."""
    stripped = content.strip()
    sound = sum(c.isalnum() or c in " .,:;!?'\"{}()[]<>|/\n-_*#&%。，、！？：；" for c in content)
    if len(stripped) < 8 or sound < 0.95 * len(content):
        return False
    return " " in stripped or sum("\u3040" <= c <= "\uffdc" for c in stripped) * 2 > len(stripped)


_TAGS: Final = re.compile("[\U000e0020-\U000e007e]+")
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")


def _unseen_payloads(text: str) -> Iterator[Payload]:
    """What characters without a shape of their own spell."""
    for match in _TAGS.finditer(text):
        yield (
            match.start(),
            match.end(),
            "".join(chr(ord(c) - 0xE0000) for c in match[0]),
            "tag characters",
        )
    for match in _SELECTORS.finditer(text):
        raw = bytes(
            ord(c) - 0xFE00 if ord(c) <= 0xFE0F else ord(c) - 0xE0100 + 16 for c in match[0]
        )
        content = raw.decode("utf-8", "replace")
        if _is_readable(content):
            yield match.start(), match.end(), content, "variation selectors"


_ESCAPE: Final = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|(?:\\x[0-9A-Fa-f]{2})+|(?:=[0-9A-F]{2}){3,}"
    r"|&#\d{2,7};?|&#[xX][0-9A-Fa-f]{2,6};?|&[A-Za-z]{2,8};"
    r"|<!--[^<>]{0,200}-->|</?(?:b|i|u|em|strong|span|mark|small|sup|sub|font|wbr)\b[^<>\n]{0,80}>"
    r"|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\U[0-9A-Fa-f]{8}|\bU\+[0-9A-Fa-f]{4,5}\s?|\\[nrt]"
)


def _unescaped(plain: str) -> tuple[str, list[int], list[int]] | None:
    """The text with its escapes read and without tags inside its sentences; None without any.

    With it the places of its characters, where they start and end.
    """
    if not any(sign in plain for sign in ("%", "&", "\\", "U+", "=", "</", "-->")):
        return None
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in _ESCAPE.finditer(plain):
        content = _unescape(match[0])
        if content is None or content == match[0]:
            continue
        pieces += [plain[done : match.start()], content]
        starts += range(done, match.start())
        ends += range(done + 1, match.start() + 1)
        starts += [match.start()] * len(content)
        ends += [match.end()] * len(content)
        done = match.end()
    if not pieces:
        return None
    pieces.append(plain[done:])
    starts += range(done, len(plain))
    ends += range(done + 1, len(plain) + 1)
    return "".join(pieces), starts, ends


def _unescape(run: str) -> str | None:
    if run[0] == "<":
        return ""
    if run[0] == "&":
        return html.unescape(run)
    if run[:2] in ("\\n", "\\r", "\\t"):
        return "\n" if run[1] != "t" else "\t"
    if run[0] in "%=" or run[:2] == "\\x":
        digits = re.sub(r"[%=]|\\x", "", run)
        return bytes.fromhex(digits).decode("utf-8", "replace")
    code = int(re.sub(r"[^0-9A-Fa-f]", "", run[2:]), 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else None


# Ways of writing ----------------------------------------------------------------------------------

_ROT13: Final = str.maketrans(_ALPHABET, _ALPHABET[13:] + _ALPHABET[:13])
# Telling words of each way; ordinary text has none of them, or seldom.
_OFTEN: Final = (
    "this", "score", "marks", "ignore", "highest", "response", "answer", "rating", "grade", "full",
    "give", "please", "rubric", "instruct", "criteri", "award", "judge", "antwort", "bewert",
    "punkt", "respuesta", "resposta", "risposta", "reponse", "calific", "evalua", "avali", "valut",
    "punteggio", "puntuaci", "pontua", "copie", "meilleur", "mejor", "melhor", "migliore", "beste",
)  # fmt: skip
_ROT13_SIGNS: Final = tuple(word.translate(_ROT13) for word in _OFTEN)
_REVERSED_SIGNS: Final = tuple(word[::-1] for word in _OFTEN)
_LEET_START: Final = re.compile(r"[0134578@$!|](?=[a-z])")
_LEET_WORD: Final = re.compile(r"[a-z0134578@$!|+]+")
_LEET: Final = tuple(
    # A one stands for an i or for an l.
    str.maketrans("034578@$!|+1", f"oeastbasilt{one}")
    for one in "il"
)
_SPACED: Final = re.compile(r"(?<![^\W_])[^\W_](?:[\s\-._*~|/,+:;!?'\"]{1,4}[^\W_]){7,}(?![^\W_])")
# Single letters that are no words of their own, nor what an apostrophe leaves.
_LONE: Final = frozenset(_ALPHABET) - frozenset("aist")


def _rewritten(of: View) -> Iterator[View]:
    """A reading backwards, by rot13, with letters for digits, and with its spaces taken out."""
    text = of.text
    if any(sign in text for sign in _REVERSED_SIGNS):
        backwards = _moved(of, text[::-1], range(len(text) - 1, -1, -1), "backwards")
        yield backwards
        order = [
            place
            for match in re.finditer(r"\w+|\W+", text)
            for place in (
                range(match.end() - 1, match.start() - 1, -1)
                if match[0][0].isalnum()
                else range(match.start(), match.end())
            )
        ]
        yield _moved(of, "".join(text[place] for place in order), order, "words backwards")
    if any(sign in text for sign in _ROT13_SIGNS):
        yield replace(of, text=text.translate(_ROT13), written="rot13", is_code=False)
    if len(_LEET_START.findall(text)) >= 3:
        for table in _LEET:
            changed = _LEET_WORD.sub(partial(_with_letters, table), text)
            yield replace(of, text=changed, written="digits for letters", is_code=False)
    if not of.vocabulary.isdisjoint(_LONE):
        places = [
            place
            for match in _SPACED.finditer(text)
            for place in (*range(match.start(), match.end()), None)
            if place is None or text[place].isalnum()
        ]
        if places:
            joined = "".join("\n\n" if place is None else text[place] for place in places)
            order = [one for p in places for one in ([0, 0] if p is None else [p])]
            yield replace(_moved(of, joined, order, "spaced out"), is_joined=True)


def _with_letters(table: Mapping[int, int], match: re.Match[str]) -> str:
    word = match[0]
    # A number stays one.
    return word.translate(table) if any(c.isalpha() for c in word) else word


def _moved(of: View, text: str, order: Sequence[int], written: str) -> View:
    """A reading whose characters stand in another order, or lack some, of the same text."""
    starts: Sequence[int] = order
    ends: Sequence[int] = [place + 1 for place in order]
    if of.starts is not None and of.ends is not None:
        own_starts, own_ends = of.starts, of.ends
        starts = [own_starts[place] for place in order]
        ends = [own_ends[place] for place in order]
    return View(text, written, starts, ends)
