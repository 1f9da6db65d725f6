"""Small studies made here: texts of our own, people and models of which none exists."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from areopagus.study import read_packets, read_study
from areopagus.study.store import Save, Store

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


def write_csv(file: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Writes rows with the columns of the first."""
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


START = 1_700_000_000.0

Score = Callable[[str, int, Mapping[str, Any], int], int | None]
"""What a rater (by code) scores on a page, for a row of the source map, on a criterion."""


def by_quality(code: str, number: int, row: Mapping[str, Any], place: int) -> int | None:
    """Quality, a little otherwise on every criterion."""
    return quality_of(row["response_id"]) + (place + int(code[1:])) % 2


def rate(
    folder: Path, score: Score = by_quality, *, seconds: float = 600.0, raters: Sequence[str] = (),
    comment: str = "",
) -> None:  # fmt: skip
    """Saves all pages of some raters as the server would."""
    study, truth = read_study(folder), truth_of(folder)
    assert study.rubric is not None
    names = study.rubric.dimension_ids
    store = Store(folder / "ratings.sqlite", study.study_id)
    for packet in read_packets(folder):
        if raters and packet.rater not in raters:
            continue
        scores: dict[str, dict[str, int]] = {}
        for label in packet.labels:
            row = truth[packet.rater, packet.number, label]
            given = ((n, score(packet.rater, packet.number, row, k)) for k, n in enumerate(names))
            scores[label] = {name: value for name, value in given if value is not None}
        is_whole = all(len(row) == len(names) for row in scores.values())
        save = Save(0, f"{packet.rater}{packet.number}", scores, comment=comment, done=is_whole,
                    active_ms=round(1000 * seconds))  # fmt: skip
        store.open_page(packet.rater, packet.number, START)
        store.save(packet.rater, packet.number, save, START + seconds)
    store.close()
