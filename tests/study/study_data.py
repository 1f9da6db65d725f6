"""Small studies made here: texts of our own, people and models of which none exists."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

PROMPTS = 8
WEAK_PROMPT, MODELS_PROMPT = "p6", "p7"


def study_rows(
    *, prompts: int = PROMPTS, humans: int = 5, models: int = 3, calibration: bool = True
) -> list[dict[str, str]]:
    """Responses by `humans` people and `models` models to each prompt, in different forms."""
    rows: list[dict[str, str]] = []

    def add(prompt: int, name: str, who: str, source: str, text: str) -> None:
        rows.append(
            {
                "response_id": f"p{prompt}-{name}",
                "prompt_id": f"p{prompt}",
                "prompt_text": f"What do we owe to neighbours in case {prompt}?",
                "response_text": text,
                "respondent_id": who,
                "source": source,
                "domain": "duty" if prompt % 2 else "care",
            }
        )

    for prompt in range(prompts):
        for person in range(humans):
            text = f"Neighbours matter in case {prompt}; view {person} of somebody who lives there."
            add(prompt, f"h{person}", f"expert_{person}", "human", text)
        extra = 3 if calibration and prompt == prompts - 1 else 0
        for number in range(models + extra):
            text = f"## Case {prompt}\n\n**Duty** — “weighed” in answer {number} at some length."
            add(prompt, f"m{number}", f"lab/machine-{number}", "model", text)
    if calibration:
        add(prompts - 2, "w", "lab/machine-0", "weak", f"Neighbours are good, they say, {prompts}.")
    return rows


def read_csv(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def secrets_of(folder: Path) -> dict[str, str]:
    """Rater to the secret of the personal link."""
    rows = read_csv(folder / "organiser" / "links.csv")
    return {row["rater_id"]: row["link"].partition("#")[2] for row in rows}


def quality_of(response_id: str) -> int:
    """What an invented rater thinks of a response: models above people, the weak one last."""
    name = response_id.partition("-")[2]
    if name == "w":
        return 1
    return (4 if name.startswith("h") else 6) + int(name[1:]) % 3


def truth_of(folder: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """(code, page, label) to the row of the source map."""
    rows = read_csv(folder / "organiser" / "source_map.csv")
    return {(row["rater_code"], int(row["packet"]), row["blinded_label"]): row for row in rows}
