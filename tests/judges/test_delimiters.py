"""The marker around untrusted text: nobody who writes the text can close it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from areopagus.judges import prompt as guard
from areopagus.judges.prompt import NONCE_DIGITS, marked, nonce_for

texts = st.text(max_size=200) | st.text("<>END RESPONSE0123456789abcdefABCDEF\n", max_size=200)


@given(prompt=texts, response=texts, secret=st.binary(min_size=1, max_size=64))
def test_a_nonce_is_hexadecimal_repeatable_and_absent_from_the_texts(
    prompt: str, response: str, secret: bytes
) -> None:
    nonce = nonce_for(secret, prompt, response)
    assert re.fullmatch(rf"[0-9a-f]{{{NONCE_DIGITS}}}", nonce)
    assert nonce == nonce_for(secret, prompt, response)
    assert nonce not in prompt.casefold()
    assert nonce not in response.casefold()


@given(response=texts)
def test_no_text_can_close_its_marker(response: str) -> None:
    nonce = nonce_for(b"secret", "Why?", response)
    block = marked("RESPONSE", response, nonce)
    closing = f"<<<END RESPONSE {nonce}>>>"
    assert block.count(closing) == 1
    assert block.endswith(f"\n{closing}")
    assert block.count(nonce) == 2
    assert block.removeprefix(f"<<<RESPONSE {nonce}>>>\n").removesuffix(f"\n{closing}") == response


def test_another_secret_or_another_text_gives_another_nonce() -> None:
    nonces = {
        nonce_for(b"one", "Why?", "Because."),
        nonce_for(b"two", "Why?", "Because."),
        nonce_for(b"one", "Why?", "Because!"),
        nonce_for(b"one", "Why? ", "Because."),
        nonce_for(b"one", "Because.", "Why?"),
    }
    assert len(nonces) == 5


def test_where_one_text_ends_and_the_next_begins_counts() -> None:
    assert nonce_for(b"s", "ab", "c") != nonce_for(b"s", "a", "bc")
    assert nonce_for(b"s", "abc") != nonce_for(b"s", "abc", "")


def test_a_text_that_happens_to_hold_the_first_nonce_gets_another(monkeypatch) -> None:
    # No text can be made that holds its own 16 digits, so the digits are made few: any text with
    # all sixteen of them but one then leaves a single nonce.
    monkeypatch.setattr(guard, "NONCE_DIGITS", 1)
    assert nonce_for(b"s", "012345 6789ABCDE") == "f"
