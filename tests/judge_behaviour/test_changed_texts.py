"""The same words in another form: only the form differs."""

from __future__ import annotations

import re

import pytest

from areopagus.judge_behaviour.texts import form_of, said_again, with_markdown, without_markdown

PLAIN = (
    "Trust is learned. It grows where promises are kept, and it is lost at once.\n"
    'Who would deny that?\n\nYet "trust" has a price! It can be misused. So we watch.'
)
SET = (
    "## What trust is\n\n**Trust** is learned:\n\n- it grows *slowly*\n- it is __lost__ at once\n\n"
    "1. Keep promises.\n2. Say so.\n\n---\n\n> As she said."
)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", re.sub(r"^\d+\. ", "", text, flags=re.MULTILINE))


def test_form_is_counted() -> None:
    form = form_of(SET)
    assert (form.headings, form.items, form.bold) == (1, 4, 2)
    assert form.is_formatted
    assert not form_of(PLAIN).is_formatted
    assert not form_of("It costs 5 * 3 and 2 ** 4, in 1990. So it is - perhaps.").is_formatted


def test_markdown_is_added_and_taken_out_and_every_word_stays() -> None:
    formatted = with_markdown(PLAIN)
    assert form_of(formatted) != form_of(PLAIN)
    assert (form_of(formatted).headings, form_of(formatted).bold) == (1, 1)
    assert form_of(formatted).items == 4
    assert words(formatted) == words(PLAIN)
    bare = without_markdown(SET)
    assert not form_of(bare).is_formatted
    assert not set("#*_>") & set(bare)
    assert words(bare) == words(SET.replace("__", ""))


def test_a_text_that_has_the_form_already_stays_as_it_is() -> None:
    assert with_markdown(SET) == SET
    assert without_markdown(PLAIN) == PLAIN
    assert with_markdown("Short") == "## Short"


@pytest.mark.parametrize("text", [PLAIN, SET, "One sentence only", "去年下雨。今年没有。"])
def test_said_again_is_the_text_and_sentences_of_its_own(text: str) -> None:
    again = said_again(text)
    assert again.startswith(text.rstrip())
    assert set(words(again)) == set(words(text.replace("__", ""))) | set(words(text))
    assert form_of(again).words > form_of(text).words
    assert said_again("A b. C d. E f.").endswith("\n\nA b. E f.")
