"""What a browser may send: checked whole against the page it is for."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .files import Packet, StudyFile
from .store import Save

MOST_COMMENT_CHARS = 20_000
MOST_TEXT_CHARS = 100_000


class RatingBody(BaseModel):
    """A save of a rating page; a score of None is one taken back."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    revision: int = Field(ge=0)
    save_id: str = Field(min_length=1, max_length=64)
    scores: dict[str, dict[str, int | None]]
    comment: str = Field(max_length=MOST_COMMENT_CHARS)
    done: bool
    active_ms: int = Field(ge=0)


class WritingBody(BaseModel):
    """A save of a writing page."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    revision: int = Field(ge=0)
    save_id: str = Field(min_length=1, max_length=64)
    text: str = Field(max_length=MOST_TEXT_CHARS)
    done: bool
    active_ms: int = Field(ge=0)
    pasted_chars: int = Field(ge=0, le=10**9)


def read_body(study: StudyFile, packet: Packet, body: bytes) -> Save | list[str]:
    """Returns the save that a request holds, or everything wrong with it."""
    try:
        if study.kind == "writing":
            written = WritingBody.model_validate_json(body)
            if written.done and not written.text.strip():
                return ["text: is empty: there is nothing to hand in"]
            return Save(
                revision=written.revision,
                save_id=written.save_id,
                text=_encodable(written.text),
                done=written.done,
                active_ms=written.active_ms,
                pasted_chars=written.pasted_chars,
            )
        rated = RatingBody.model_validate_json(body)
    except ValidationError as error:
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    wrong = list(_wrong_scores(study, packet, rated))
    if wrong:
        return wrong
    return Save(
        revision=rated.revision,
        save_id=rated.save_id,
        scores={
            label: {dimension: score for dimension, score in row.items() if score is not None}
            for label, row in rated.scores.items()
        },
        comment=_encodable(rated.comment),
        done=rated.done,
        active_ms=rated.active_ms,
    )


def _wrong_scores(study: StudyFile, packet: Packet, body: RatingBody) -> Iterator[str]:
    if study.rubric is None:
        yield "scores: this study has no rubric"
        return
    values, dimensions = study.rubric.scale.values, study.rubric.dimension_ids
    for label, row in body.scores.items():
        if label not in packet.labels:
            yield f"scores.{label[:40]}: is no response of this page"
            continue
        for dimension, score in row.items():
            if dimension not in dimensions:
                yield f"scores.{label}.{dimension[:80]}: is no criterion"
            elif score is not None and score not in values:
                yield f"scores.{label}.{dimension}: must be from {values[0]} to {values[-1]}"
    if not body.done:
        return
    for label in packet.labels:
        row = body.scores.get(label, {})
        for dimension in dimensions:
            if row.get(dimension) is None:
                yield f"scores.{label}.{dimension}: is missing"


def _encodable(text: str) -> str:
    """JSON can hold half a surrogate pair; a file cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
