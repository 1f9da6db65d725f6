"""The hand corpus, one text a test."""

from __future__ import annotations

import pytest
from hostile_texts import HAND_CORPUS


@pytest.fixture(params=HAND_CORPUS, ids=lambda text: f"{HAND_CORPUS.index(text):02d}")
def hostile(request: pytest.FixtureRequest) -> str:
    """One text of the hand corpus."""
    text: str = request.param
    return text
