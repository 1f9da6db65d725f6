"""From labels back to responses: the one place where what raters said meets who wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError, InputFault
from ..records.readers.dispatch import read_rows
from ..records.types import OVERALL
from .files import ORGANISER, SOURCE_MAP_FILE
from .returned import ReturnedPage

RATING_COLUMNS = (
    "rater_id", "prompt_id", "response_id", "criterion", "kind", "value", "duration_s", "time",
    "comment", "item_type", "blinded_label", "source", "model", "domain",
)  # fmt: skip
"""The long table that `calibrate` reads."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a label stood for."""

    rater_id: str
    prompt_id: str
    response_id: str
    respondent_id: str
    source: str
    model: str
    domain: str
    item_type: str


@dataclass(frozen=True, slots=True)
class StudyMap:
    """(code, page, label) to what the label stood for; and the same without labels.

    Attributes:
        labels: of rating studies.
        prompts: (code, page) to prompt id.
        texts: prompt id to text, of writing studies.
    """

    labels: Mapping[tuple[str, int, str], Hidden]
    prompts: Mapping[tuple[str, int], str]
    texts: Mapping[str, str]


def read_map(folder: str | Path) -> StudyMap:
    """Returns the source map of a study.

    Raises:
        InputError: the organiser's folder is not here, or the map cannot be read.
    """
    file = Path(folder) / ORGANISER / SOURCE_MAP_FILE
    if not file.is_file():
        raise InputError(
            [InputFault(str(file), "is not here: only the organiser can unblind")],
            hint=f"give the folder that still has its {ORGANISER}/ folder",
        )
    labels: dict[tuple[str, int, str], Hidden] = {}
    prompts: dict[tuple[str, int], str] = {}
    texts: dict[str, str] = {}
    for line, row in read_rows(file):
        try:
            page = (str(row["rater_code"]), int(row["packet"]))
            prompts[page] = str(row["prompt_id"])
            if "prompt_text" in row:
                texts[str(row["prompt_id"])] = str(row["prompt_text"])
            if "blinded_label" in row:
                named = {name: str(row[name]) for name in Hidden.__dataclass_fields__}
                labels[(*page, str(row["blinded_label"]))] = Hidden(**named)
        except (KeyError, ValueError) as error:
            fault = InputFault(f"{file}:{line}", f"cannot be read: {error}")
            raise InputError([fault]) from error
    return StudyMap(labels, prompts, texts)


def sums(page: ReturnedPage, labels: Sequence[str], dimensions: Sequence[str]) -> dict[str, int]:
    """Returns the sum of each response that has a score on every criterion."""
    return {
        label: sum(page.scores[label][name] for name in dimensions)
        for label in labels
        if all(name in page.scores.get(label, {}) for name in dimensions)
    }


def places(summed: Mapping[str, int]) -> dict[str, int]:
    """Returns the place of each label, 1 for the highest sum; equal sums share the best place."""
    return {
        label: 1 + sum(other > mine for other in summed.values()) for label, mine in summed.items()
    }


def unblinded(
    pages: Sequence[ReturnedPage], study_map: StudyMap, dimensions: Sequence[str]
) -> Iterator[dict[str, object]]:
    """Yields a row for each score, and one for the place of each response on a page scored whole.

    A place among some of the responses would be another thing, so that pages scored in part have
    scores only.
    """
    labels_of: dict[tuple[str, int], list[str]] = {}
    for code, number, label in study_map.labels:
        labels_of.setdefault((code, number), []).append(label)
    for page in pages:
        labels = sorted(labels_of[page.rater, page.number])
        summed = sums(page, labels, dimensions)
        place = places(summed) if len(summed) == len(labels) else {}
        for label in labels:
            hidden = study_map.labels[page.rater, page.number, label]
            shared: dict[str, object] = {
                "rater_id": hidden.rater_id,
                "prompt_id": hidden.prompt_id,
                "response_id": hidden.response_id,
                "duration_s": "" if page.active_s is None else round(page.active_s, 1),
                "time": page.time,
                "item_type": hidden.item_type,
                "blinded_label": label,
                "source": hidden.source,
                "model": hidden.model,
                "domain": hidden.domain,
            }
            if label in place:
                ranked = {"criterion": OVERALL, "kind": "rank", "value": place[label]}
                yield {**shared, **ranked, "comment": page.comment}
            row = page.scores.get(label, {})
            for name in dimensions:
                if name in row:
                    yield {**shared, "criterion": name, "kind": "score", "value": row[name],
                           "comment": ""}  # fmt: skip
