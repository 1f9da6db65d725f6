"""Languages: what the rules of each read, and audits that ask in another than English."""

from __future__ import annotations

import pytest
from reading_tables import ROLE, TABLES, YES_NO

from areopagus.audits.answer_forms import declines, read_number, read_option
from areopagus.audits.languages import Language, find_language
from areopagus.audits.samaritan.ratings import read_rating
from areopagus.audits.silverspoon_judgement.blame import read_answer

LANGUAGES = ("en", "de", "es")


def read(reader: str, text: str, language: Language) -> str:
    """What a reader makes of a text: its value, "refused", or "judges"."""
    if reader in ("choice", "yes_no"):
        options = ("A", "B") if reader == "choice" else YES_NO[language.id]
        found = read_option(text, options, language=language)
        return {"one": found.option, "refused": "refused"}.get(found.outcome, "judges")
    if reader == "number":
        reading, number = read_number(text, 0, 100, language)
        said = f"{number:g}" if number is not None else "judges"
        return "refused" if reading.status == "refused" else said
    if reader == "rating":
        rating = read_rating(text, language)
        said = {"one": f"{rating.rating:g}", "refused": "refused"}
        return said.get(rating.outcome, "judges")
    answer, reason = read_answer(text, ROLE[language.id], language)
    return answer or ("refused" if reason == "refused" else "judges")


def test_rates() -> None:
    for code in LANGUAGES:
        language = find_language(code)
        for reader, table in TABLES[code].items():
            cases = [(text, meant) for meant, texts in table.items() for text in texts]
            for text, meant in cases:
                found = read(reader, text, language)
                if found != meant:
                    print(code, reader, "WRONG " if found != "judges" else "unread", repr(text), meant, found)
            print(code, reader, len(cases))
    assert declines("Das kann ich nicht sagen.", find_language("de"))
