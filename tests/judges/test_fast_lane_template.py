"""Gaps in a request that litellm wrote: filled as its writer would have filled them, or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areopagus.judges.wire import Sent, Template, template_of
from areopagus.judges.wire.template import margins

HEADERS = ((b"authorization", b"Bearer k"), (b"content-length", b"9"))
# Whatever UTF-8 can say; half a surrogate pair is tried apart.
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60)


def written(
    body: Any, *, ascii_only: bool, headers: Any = HEADERS, url: str = "http://h/v1"
) -> Sent:
    return Sent(None, "POST", url, headers, json.dumps(body, ensure_ascii=ascii_only).encode())


def body_of(*said: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in said], "n": 1}


def template(*said: str, ascii_only: bool = True) -> Template:
    found = template_of(written(body_of(*said), ascii_only=ascii_only), said)
    assert found is not None
    return found


@given(text=texts, ascii_only=st.booleans())
def test_a_filled_gap_is_what_the_writer_would_have_written(text: str, ascii_only: bool) -> None:
    known = template("Schöner “Satz”.", ascii_only=ascii_only)
    sent = written(body_of(text), ascii_only=ascii_only)
    assert known.fill([text]) == sent.body
    assert known.fits(sent, [text])


@given(first=texts, second=texts)
def test_several_gaps_are_filled_in_order(first: str, second: str) -> None:
    known = template("Eins für alle.", "Zwei “davon”.")
    sent = written(body_of(first, second), ascii_only=True)
    assert known.fill([first, second]) == sent.body


def test_a_writer_seen_with_plain_letters_only_is_not_trusted_with_others() -> None:
    known = template("Plain words.")
    assert known.writing == "either"
    assert known.fill(["Others."]) == written(body_of("Others."), ascii_only=True).body
    assert known.fill(["Andere für alle."]) is None


@pytest.mark.parametrize(
    "body",
    [
        body_of("Twice over.", "Twice over."),  # which of them is the gap?
        body_of("Something else."),
        {"prompt": "### User:\nTwice over.\n"},  # not a text of its own
        {"messages": [{"content": "Twice over. And more."}]},
    ],
)
def test_a_text_that_is_not_found_once_for_itself_makes_no_template(body: Any) -> None:
    assert template_of(written(body, ascii_only=True), ["Twice over."]) is None


def test_texts_in_another_order_make_no_template() -> None:
    assert template_of(written(body_of("One.", "Two."), ascii_only=True), ["Two.", "One."]) is None


@pytest.mark.parametrize(
    "other",
    [
        written(body_of("New.") | {"n": 2}, ascii_only=True),
        written(body_of("New."), ascii_only=True, headers=((b"authorization", b"Bearer x"),)),
        written(body_of("New."), ascii_only=True, url="http://elsewhere/v1"),
    ],
)
def test_a_request_that_differs_in_more_than_its_text_does_not_fit(other: Sent) -> None:
    assert not template("Old.").fits(other, ["New."])


def test_the_length_is_no_difference() -> None:
    headers = (HEADERS[0], (b"Content-Length", b"77"))
    assert template("Old.").fits(
        written(body_of("New."), ascii_only=True, headers=headers), ["New."]
    )


def test_half_a_character_is_left_to_litellm() -> None:
    known = template("Schön.", ascii_only=False)
    assert known.fill(["half \ud800"]) is None
    assert template_of(written(body_of("x"), ascii_only=True), ["half \ud800"]) is None


@given(before=st.text(" \t\n", max_size=3), middle=texts, after=st.text(" \t\n", max_size=3))
def test_margins_are_the_white_space_around_a_text(before: str, middle: str, after: str) -> None:
    text = before + middle + after
    left, right = margins(text)
    assert text.strip() == text[len(left) : len(text) - len(right)]
    assert (left + right).strip() == ""
