"""What a rating study cannot be built from: every prompt and rater that does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import InputFault
from .material import StudyMaterial
from .settings import RatingSettings


def rater_faults(
    material: StudyMaterial, people: Sequence[str], settings: RatingSettings
) -> Iterator[InputFault]:
    """More raters asked for than there are; raters who wrote what is rated."""
    if settings.per_prompt is not None and people and settings.per_prompt > len(people):
        yield InputFault(
            "settings", f"must be at most the {len(people)} raters, got {settings.per_prompt}",
            "per_prompt",
        )  # fmt: skip
    writers = {one.respondent_id for one in material.responses if one.source == "human"}
    for rater in people:
        if rater in writers:
            yield InputFault(
                f"rater {rater!r}", "wrote a response of this study: raters and writers must be "
                "different people, or they know what they read",
            )  # fmt: skip


def prompt_faults(
    material: StudyMaterial, all_models: Sequence[str], settings: RatingSettings
) -> Iterator[InputFault]:
    """Prompts with too few responses of a source, and calibration items that cannot be."""
    for name in all_models:
        if name not in material.prompts:
            yield InputFault("--all-models", f"there is no prompt {name!r}")
    for prompt in material.prompts:
        where = f"prompt {prompt!r}"
        humans, models = material.of(prompt, "human"), material.of(prompt, "model")
        weak = material.of(prompt, "weak")
        is_all_models = prompt in all_models
        if len(weak) > 1:
            places = ", ".join(one.where for one in weak)
            yield InputFault(where, f"must have one weak response, got {len(weak)} ({places})")
        if weak and is_all_models:
            yield InputFault(where, "is named for models only and has a weak response: one of both")
        wanted = settings.per_packet if is_all_models else settings.models - bool(weak)
        if weak and settings.models < 1:
            yield InputFault(
                where, "has a weak response, which stands in the place of a model's: packets "
                "without responses of models have none",
            )  # fmt: skip
        elif len(models) < wanted:
            yield InputFault(where, f"needs {wanted} responses of models, got {len(models)}")
        if not is_all_models and len(humans) < settings.humans:
            yield InputFault(
                where, f"needs {settings.humans} responses by people, got {len(humans)}"
            )
        texts: dict[str, str] = {}
        for one in (*humans, *models, *weak):
            other = texts.setdefault(one.plain.text, one.response_id)
            if other != one.response_id and one.plain.text.strip():
                yield InputFault(
                    one.where, f"{one.response_id!r} is {other!r} word for word: a rater would "
                    "see one text twice", "response_text",
                )  # fmt: skip
