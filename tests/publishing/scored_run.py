"""A run in which judgments end in every way that a scripted backend brings about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from areopagus import Panel, ProviderError, Run
from areopagus.judges.models.request import Request
from areopagus.testing import ScriptedBackend

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)

DECLINED = "Case 3 by bert"


def answer(request: Request) -> Any:
    """Votes that differ by persona and response; three personas do not vote on everything."""
    persona = request.labels["persona"]
    (response,) = set(re.findall(r"Case \d by [\w &]+", str(request.messages)))
    n = sum(map(ord, f"{persona}{response}"))
    vote = {name: 1 + (n * (place + 3)) % 10 for place, name in enumerate(CRITERIA)}
    if response == DECLINED or persona == "ethicist":
        return {**vote, "abstained": True}
    if persona == "historian" and n % 2:
        return ProviderError("context_length", "too long\nby far")
    if persona == "sociologist" and n % 3 == 0:
        return "no vote here"
    return {**vote, "abstained": False}


def rows(texts: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Eight prompts, three respondents; one response is declined, one is empty."""
    found = []
    for k in range(8):
        for who in ("ann", "bert", "Zoë & co"):
            name = f"{who}-{k}"
            text = "" if (who, k) == ("ann", 5) else f"Case {k} by {who}: much is owed."
            found.append(
                {
                    "response_id": name,
                    "prompt_id": f"p{k}",
                    "prompt_text": f"What is owed in case {k}?",
                    "response_text": (texts or {}).get(name, text),
                    "respondent_id": who,
                    "With": k - 95,  # a reserved word of SPSS, and numbers like its codes
                    "thème du jour": "droit" if k % 2 else "",
                }
            )
    return found


def score(folder: Path, texts: dict[str, str] | None = None, **options: Any) -> Run:
    """The run, in the folder."""
    with Panel(ScriptedBackend(answer), **options) as panel:
        return panel.score_many(rows(texts), folder)
