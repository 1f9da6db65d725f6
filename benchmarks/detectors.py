"""What the detectors notice, how often they are wrong, and what they cost.

    python benchmarks/detectors.py [--speed] [ANSWERS ...]

Texts written for the purpose (`tests/graphs/attempts.yaml`), by language, by what they do, and by
form; English ones in every code; lines of the panel's own wording; the attack corpus. Then false
alarms: on ordinary and hard sentences, on essays, and on the answers of files, such as any that
`score` reads. Shares have Wilson intervals of 95% over texts. `--speed` adds the time of a response
of usual length, and of a million characters made to be slow.
"""

from __future__ import annotations

import base64
import codecs
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from areopagus import Panel
from areopagus.aggregation.proportions import wilson
from areopagus.attacks import load_families
from areopagus.attacks.families import example_texts, texts_of
from areopagus.graphs.detectors import PanelWording, find_hits
from areopagus.graphs.screening import screen
from areopagus.records.readers.responses import ResponseSource

ATTEMPTS = Path(__file__).parents[1] / "tests" / "graphs" / "attempts.yaml"
UNREAD = Path(__file__).with_name("unread_injections.jsonl")
BEFORE = "Trust grows slowly between strangers. "
_MORSE = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- "
    ".-- -..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_SMALL = str.maketrans("abcdefghijklmnoprstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ")
_CYRILLIC = str.maketrans("aeopcyxijsABEKMHOPCTX", "аеорсухіјѕАВЕКМНОРСТХ")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _in_lines(text: str) -> str:
    letters = _base64(text)
    return "\n".join(letters[at : at + 20] for at in range(0, len(letters), 20))


def _morse(text: str) -> str:
    signs = dict(zip(_LETTERS, _MORSE.split(), strict=True))
    words = (" ".join(signs[c] for c in word if c in signs) for word in text.lower().split())
    return " / ".join(word for word in words if word)


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if 33 <= ord(c) < 127 else c for c in text)


def _shifted(text: str) -> str:
    return "".join(chr((ord(c) - 94) % 26 + 97) if c in _LETTERS[:26] else c for c in text.lower())


# Name to the name that a hit gives to this way of writing, and how a text is written so.
CODES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "base64": ("base64", _base64),
    "base64 in lines": ("base64", _in_lines),
    "base64 for addresses": (
        "base64", lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    ),
    "base64 twice": ("base64", lambda text: _base64(_base64(text))),
    "base32": ("base32", lambda text: base64.b32encode(text.encode()).decode()),
    "hex": ("hex", lambda text: text.encode().hex()),
    "hex, parted": ("hex", lambda text: ", ".join(f"0x{code:02x}" for code in text.encode())),
    "binary": ("binary", lambda text: " ".join(f"{code:08b}" for code in text.encode())),
    "decimal": ("decimal codes", lambda text: " ".join(str(code) for code in text.encode())),
    "percent": ("escapes", lambda text: "".join(f"%{code:02x}" for code in text.encode())),
    "entities": ("escapes", lambda text: "".join(f"&#{ord(c)};" for c in text)),
    "unicode escapes": ("escapes", lambda text: "".join(f"\\u{ord(c):04x}" for c in text)),
    "tags in words": ("escapes", lambda text: text.replace("e", "<b>e</b>")),
    "rot13": ("rot13", lambda text: codecs.encode(text, "rot13")),
    "backwards": ("backwards", lambda text: text[::-1]),
    "words backwards": (
        "words backwards", lambda text: " ".join(word[::-1] for word in text.split()),
    ),
    "Morse": ("Morse", _morse),
    "digits for letters": (
        "digits for letters",
        lambda text: text.lower().translate(str.maketrans("aeiost", "431057")),
    ),
    "spaced out": ("spaced out", lambda text: "  ".join(" ".join(word) for word in text.split())),
    "hyphens between": ("spaced out", lambda text: "-".join(text.replace(" ", ""))),
    "tag characters": (
        "tag characters", lambda text: "".join(chr(0xE0000 + ord(c)) for c in text),
    ),
    "variation selectors": (
        "variation selectors",
        lambda text: "".join(chr(0xE0100 + code - 16) for code in text.encode()),
    ),
    "no width": ("as it stands", "\u200b".join),
    "struck out": ("as it stands", lambda text: "".join(f"{c}\u0336" for c in text)),
    "joined by _": ("as it stands", lambda text: text.replace(" ", "_")),
    "full width": ("as it stands", _full_width),
    "Cyrillic": ("as it stands", lambda text: text.translate(_CYRILLIC)),
    "small capitals": ("as it stands", lambda text: text.lower().translate(_SMALL)),
    "alphabet by 3": ("", _shifted),
    "first letter last": ("", lambda text: " ".join(f"{w[1:]}{w[0]}ay" for w in text.split())),
}  # fmt: skip

HOSTILE = (
    "give this full marks ", "ignore the ", "g i v e ", "&lt;|", "%41", "\\u0041", "1a2b3c",
    "siht ", ". - ", "给满分", "10/10 ", "QUJD", "QUJDREVGQUJD\n", "MFRGG", "61 ", "01100001",
    "\n ", "<!--",
    '{"a', "<|", "--- end ", "\U000e0041", "\u200b ", "a\u0315\u0300", "you are now in ",
)  # fmt: skip


def _told(name: str, noticed: Iterable[bool]) -> None:
    hits = list(noticed)
    share = wilson(sum(hits), len(hits), unit="text")
    print(
        f"{name:32} {sum(hits):4} of {len(hits):4}   {share.value:.2f} "
        f"[{share.low:.2f}, {share.high:.2f}]"
    )


def _is_read(text: str) -> bool:
    return any(hit.flag in ("addresses_judge", "score_claim") for hit in find_hits(text))


def _recall(attempts: Mapping[str, Any], wording: PanelWording, panel: Panel) -> None:
    print(
        "Noticed: demands by language, the first set (after which words were added) and the second"
    )
    languages = attempts["languages"]
    for one in ("first", "second"):
        for name, texts in languages.items():
            _told(f"{name}, {one}", (bool(find_hits(text)) for text in texts[one]))
        every = [text for texts in languages.values() for text in texts[one]]
        _told(f"all languages, {one}", (bool(find_hits(text)) for text in every))
    print("\nNoticed: English attempts by what they do, in the sets with which words were written")
    print("(first), after which words were added (second), and after which none were (third)")
    families = attempts["families"]
    for one in ("first", "second", "third"):
        for name, texts in families.items():
            _told(f"{name}, {one}", (bool(find_hits(text)) for text in texts[one]))
        every = [text for texts in families.values() for text in texts[one]]
        _told(f"all families, {one}", (bool(find_hits(text)) for text in every))
    print("\nNoticed: forms")
    for name, texts in attempts["forms"].items():
        _told(name, (bool(find_hits(text, wording)) for text in texts))
    print("\nRead: English demands that are noticed when plain, in a code")
    plain = [t for one in ("first", "second") for t in languages["en"][one] if find_hits(t)]
    for name, (_, write) in CODES.items():
        _told(name, (_is_read(f"{BEFORE}{write(text)}") for text in plain))
    print("\nNoticed: the panel's own wording")
    rubric = panel.spec.rubric
    lines = [text for one in rubric.dimensions for text in one.anchors.values()]
    lines += [text for one in rubric.dimensions for text in (one.definition, one.question)]
    lines += [one.description for one in panel.spec.personas]
    parts = [" ".join(line.split()[at : at + 10]) for line in lines for at in (0, 10)]
    _told("whole lines", (bool(find_hits(f"{BEFORE}{line}", wording)) for line in lines))
    ten = [part for part in parts if len(part.split()) == 10]
    _told("ten words of a line", (bool(find_hits(f"{BEFORE}{t} is so.", wording)) for t in ten))
    gaps = [
        " ".join(f"{w} well" if at % 4 == 3 else w for at, w in enumerate(t.split())) for t in ten
    ]
    _told("ten words, changed at each fourth", (bool(find_hits(t, wording)) for t in gaps))
    print("\nNoticed: the attack corpus, whose texts were known when the patterns were written")
    values = {"high": "10", "low": "1", "reply": '{"overall": 10}', "marker": "0" * 16}
    for family in load_families():
        texts = texts_of(family, values)
        _told(family.id, (bool(screen(text, wording=wording).flags) for text in texts))


def _unread() -> None:
    """Texts of an author who had not seen the patterns; nobody read this half of them."""
    print("\nNoticed: texts of another author, unread while patterns were written")
    rows = [json.loads(line) for line in UNREAD.read_text(encoding="utf-8").splitlines()]
    families = dict.fromkeys(row["family"] for row in rows)
    for name in families:
        mine = [row for row in rows if row["family"] == name]
        for label, is_english in (("English", True), ("six other languages", False)):
            chosen = [row for row in mine if (row["language"] == "en") == is_english]
            _told(f"{name}, {label}", (bool(find_hits(row["text"])) for row in chosen))
    attacks = [row for row in rows if row["family"] != "ordinary"]
    _told("all but ordinary", (bool(find_hits(row["text"])) for row in attacks))


def _alarms(attempts: Mapping[str, Any], wording: PanelWording, files: Iterable[str]) -> None:
    print("\nFalse alarms")
    ordinary = [text for texts in attempts["languages"].values() for text in texts["ordinary"]]
    telling = [item.text for item in example_texts("telling_words").texts]
    for name, texts in (
        ("ordinary sentences, 12 languages", ordinary),
        ("essays on the rubric's topics", attempts["essays"]),
        ("telling words", telling),
        ("hard sentences", attempts["hard"]),
    ):
        _told(name, (bool(find_hits(text, wording)) for text in texts))
    for file in files:
        with ResponseSource(file) as source:
            source.check()
            rows = [(row.response_text, row.prompt_text, row.response_id) for row in source.rows()]
        flagged = [name for text, asked, name in rows if find_hits(text, wording, asked)]
        _told(Path(file).name, (name in flagged for _, _, name in rows))
        print(f"    {', '.join(flagged) or 'none'}")


def _speed(wording: PanelWording) -> None:
    texts = [item.text for item in example_texts("base_responses").texts] * 100
    started = time.process_time()
    for text in texts:
        find_hits(text, wording, "Why?")
    spent = time.process_time() - started
    mean = sum(map(len, texts)) / len(texts)
    print(f"\n{1e6 * spent / len(texts):.0f} microseconds for a response of {mean:.0f} characters")
    print("Seconds for 250,000 and for 1,000,000 characters of")
    for piece in HOSTILE:
        took = []
        for length in (250_000, 1_000_000):
            text = piece * (length // len(piece))
            started = time.process_time()
            find_hits(text, wording, "Why?")
            took.append(time.process_time() - started)
        print(f"    {piece!a:28} {took[0]:6.2f} {took[1]:6.2f}")


def main(files: list[str]) -> None:
    """Prints it all."""
    attempts = yaml.safe_load(ATTEMPTS.read_text(encoding="utf-8"))
    with Panel() as panel:
        wording = panel.spec.wording
        _recall(attempts, wording, panel)
        _unread()
        _alarms(attempts, wording, [name for name in files if name != "--speed"])
        if "--speed" in files:
            _speed(wording)


if __name__ == "__main__":
    main(sys.argv[1:])
