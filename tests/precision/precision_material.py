"""What the tests of the stopping rule start from."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from areopagus.judges.models.request import Request
from areopagus.testing import ScriptedBackend

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)


def rows(n: int = 6) -> list[dict[str, Any]]:
    return [
        {
            "response_id": f"r{i}",
            "prompt_id": f"p{i % 3}",
            "prompt_text": f"What is owed in case {i % 3}?",
            "response_text": f"In case {i} much is owed, because promises bind.",
            "respondent_id": f"writer-{i // 3}",
        }
        for i in range(n)
    ]


def spread(sd: float) -> Callable[[Request], dict[str, Any]]:
    """Answers around 6 that are always the same for the same question, with this spread."""

    def answer(request: Request) -> dict[str, Any]:
        draw = random.Random(request.key())
        level = draw.gauss(6.0, sd)
        scores = {name: min(10, max(1, round(level + draw.gauss(0, 0.3)))) for name in CRITERIA}
        return {**scores, "abstained": False}

    return answer


def backends(sd: float = 0.7, **settings: Any) -> list[ScriptedBackend]:
    return [ScriptedBackend(spread(sd), name=f"scripted/{n}", **settings) for n in range(3)]


def sent(given: list[ScriptedBackend]) -> int:
    return sum(len(backend.requests) for backend in given)
