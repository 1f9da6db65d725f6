"""A planted run: judges on a loopback server that read quality out of the texts, and people."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from areopagus import Panel
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

CRITERIA = ("clarity", "evidence")
RUBRIC = """\
id: two
label: Two criteria
version: "1"
provenance: written for the tests
purpose: The scores say how well a response thinks.
scale: {low: 1, high: 10}
dimensions:
  - id: clarity
    label: Clarity
    definition: Terms are given a meaning and keep it.
    question: Could a reader retell it?
  - id: evidence
    label: Evidence and sources
    definition: Claims rest on findings, archives and named cases.
    question: Is each claim backed by a source?
"""
PERSONAS = ("antiquarian", "ethicist_plain", "planner")
_ABOUT = {
    "antiquarian": "You are wary of sources and named cases, and prefer a story with an ending.",
    "ethicist_plain": "You look for duties, and for what people owe each other.",
    "planner": "You look for consequences, for costs and for whoever pays them.",
}
MENDED = "You credit archives and what they can bear, and ask what was left out of the story told."
N_PROMPTS = 16


def write_files(folder: Path) -> None:
    """The rubric, three personas, the responses and people's ratings with comments."""
    (folder / "mine").mkdir(parents=True)
    (folder / "two.yaml").write_text(RUBRIC)
    for name, about in _ABOUT.items():
        (folder / "mine" / f"{name}.yaml").write_text(
            f"id: {name}\nlabel: {name.title()}\naxis: own\ndescription: {about}\n"
            'version: "1"\nprovenance: written for the tests\n'
        )
    with (folder / "responses.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["response_id", "prompt_id", "prompt_text", "response_text", "respondent_id"])
        for g in range(N_PROMPTS):
            for k in range(5):
                rows.writerow([f"q{g}-{k}", f"q{g}", f"What is owed in case HOUSE{g}?",
                               text_of(g, k), f"writer{k}"])  # fmt: skip
    with (folder / "humans.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["rater_id", "prompt_id", "response_id", *CRITERIA, "comment"])
        for who in range(3):
            for g in range(N_PROMPTS):
                for k in range(5):
                    scores = [clip(quality(g, k, c) + (hashed(who, g, k, c) - 1)) for c in (0, 1)]
                    rows.writerow([f"h{who}", f"q{g}", f"q{g}-{k}", *scores,
                                   f"COMMENT of h{who} on HOUSE{g}."])  # fmt: skip


def hashed(*parts: int) -> int:
    """0, 1 or 2, the same each time."""
    return sum(p * w for p, w in zip(parts, (7, 11, 13, 17), strict=False)) % 3


def clip(value: float) -> int:
    return int(min(10, max(1, value)))


def quality(g: int, k: int, criterion: int) -> int:
    """From 2 to 9, in another order for each criterion."""
    return 2 + ((k * (1 if criterion == 0 else 3) + g) % 5) + (g % 4) * (k == 2) % 3


def text_of(g: int, k: int) -> str:
    """A response that says its qualities, for the scripted judges."""
    marks = " ".join(str(quality(g, k, c)) for c in (0, 1))
    return f"In HOUSE{g} answer {k} holds that much is owed. QUALITY {marks} END"


def judged(request: ServedRequest, *, wrong: Callable[[str], bool]) -> ServedReply:
    """Scores by the qualities in the text; evidence turned around where `wrong` says so."""
    whole = "\n".join(message["content"] for message in request.messages)
    found = re.search(r"QUALITY (\d+) (\d+) END", whole)
    assert found is not None, whole
    clarity, evidence = int(found[1]), int(found[2])
    noise = len(request.model) + (clarity * evidence) % 2
    if wrong(whole):
        evidence = 11 - evidence
    values: dict[str, Any] = {"clarity": clip(clarity + noise % 2), "evidence": clip(evidence)}
    properties = (request.schema or {}).get("properties", {})
    if "rationale" in properties:
        values = {"rationale": "REASON given by a judge.", **values}
    if "abstained" in properties:
        values["abstained"] = False
    return ServedReply(json.dumps(values))


def is_antiquarian(whole: str) -> bool:
    """Whether the judge reads with the present version of the planted persona."""
    return _ABOUT["antiquarian"] in whole


class Scripted:
    """Judges and a drafter in one server; `description` is what it drafts."""

    def __init__(self, description: str | None = MENDED) -> None:
        self.description = description

    def __call__(self, request: ServedRequest) -> ServedReply:
        if request.model == "drafter":
            value = {"changes": "It credits archives now.", "description": self.description}
            return ServedReply("no" if self.description is None else json.dumps(value))
        return judged(request, wrong=is_antiquarian)


def models(server: ProviderServer) -> list[dict[str, Any]]:
    """Two models of the panel."""
    return [
        {"model": f"hosted_vllm/{name}", "api_base": server.openai_base, "name": name,
         "prices": {"input": 1, "output": 2}}
        for name in ("first", "second")
    ]  # fmt: skip


def drafter(server: ProviderServer) -> dict[str, Any]:
    """The model that drafts."""
    return {"model": "hosted_vllm/drafter", "api_base": server.openai_base, "name": "drafter",
            "prices": {"input": 1, "output": 2}}  # fmt: skip


def panel_of(folder: Path, server: ProviderServer) -> Panel:
    """The planted panel."""
    return Panel(
        models(server), personas=[folder / "mine" / f"{name}.yaml" for name in PERSONAS],
        rubric=folder / "two.yaml", rationale="before", ledger=folder / "ledger.sqlite",
    )  # fmt: skip
