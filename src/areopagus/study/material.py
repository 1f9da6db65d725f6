"""The responses of a study: read from any number of tables, and who wrote each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..errors import InputError, InputFault
from ..records.readers.responses import UNNAMED, ResponseSource
from .normalise import Normalised, normalise

Source = Literal["human", "model", "weak"]
SOURCES: tuple[Source, ...] = get_args(Source)

_WEAK_WORDS = ("weak", "floor", "quality_floor", "model (weak)")
_SOURCE_COLUMNS = ("source", "true_source")
_MODEL_COLUMNS = ("model", "model_name", "generator")


@dataclass(frozen=True, slots=True)
class StudyResponse:
    """One response that may be shown.

    Attributes:
        response_id: unique in the study.
        prompt_id: of its prompt.
        respondent_id: who wrote it.
        source: "human", "model", or "weak" (made weak on purpose, for a calibration item).
        model: the model, "" where a person wrote it or none is named.
        domain: the prompt's domain, "" where none is named.
        plain: the text as it is shown, and what was changed.
        original: the text as it came.
        where: file and line.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    source: Source
    model: str
    domain: str
    plain: Normalised
    original: str
    where: str

    @property
    def said_source(self) -> str:
        """The source as `calibrate` reads it."""
        return "model (weak)" if self.source == "weak" else self.source

    @property
    def said_model(self) -> str:
        """The model as `calibrate` reads it: a weak response is told by the word."""
        return f"{self.model} (weak)" if self.source == "weak" and self.model else self.model

    @property
    def n_words(self) -> int:
        """Words of the text as it is shown."""
        return len(self.plain.text.split())


@dataclass(frozen=True, slots=True)
class StudyMaterial:
    """What a study may show.

    Attributes:
        prompts: prompt id to its text, in order of first appearance.
        responses: all responses.
    """

    prompts: dict[str, str]
    responses: tuple[StudyResponse, ...]
    _grouped: dict[tuple[str, Source], list[StudyResponse]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        grouped: dict[tuple[str, Source], list[StudyResponse]] = {}
        for one in self.responses:
            grouped.setdefault((one.prompt_id, one.source), []).append(one)
        object.__setattr__(self, "_grouped", grouped)

    def of(self, prompt: str, source: Source) -> list[StudyResponse]:
        """The responses to a prompt from one source, in the order of the files."""
        return self._grouped.get((prompt, source), [])


def read_material(
    responses: Sequence[Any] = (),
    *,
    human: Sequence[Any] = (),
    model: Sequence[Any] = (),
    weak: Sequence[Any] = (),
    normal: bool = True,
) -> tuple[StudyMaterial, list[InputFault]]:
    """Returns the responses of all tables, and every fault found in them.

    Args:
        responses: tables with a column `source` (human, model, or weak).
        human, model, weak: tables whose responses are all of that source, whatever they say.
        normal: bring texts into the plain form.
    """
    faults: list[InputFault] = []
    rows: list[tuple[str, Any, Source | None]] = []
    for tables, source in ((responses, None), (human, "human"), (model, "model"), (weak, "weak")):
        for table in tables:
            rows += _rows(table, _checked(source), faults)
    prompts: dict[str, str] = {}
    seen: dict[str, str] = {}
    found: list[StudyResponse] = []
    decided = _decided(rows)
    for (where, row, _), source in zip(rows, decided, strict=True):
        plain = normalise(row.response_text) if normal else Normalised(row.response_text, {})
        known = prompts.setdefault(row.prompt_id, row.prompt_text)
        wrong: list[tuple[str, str]] = []
        if known.split() != row.prompt_text.split():
            wrong.append(("prompt_text", f"prompt {row.prompt_id!r} has another text elsewhere"))
        if row.response_id in seen:
            wrong.append(("response_id", f"{row.response_id!r} stands at {seen[row.response_id]}"))
        if not plain.text.strip():
            wrong.append(("response_text", "is empty: there is nothing to rate"))
        if source is None:
            wrong.append(
                ("source", f"must be one of {', '.join(SOURCES)}: it says who wrote the response")
            )
        faults += [InputFault(where, message, field) for field, message in wrong]
        seen.setdefault(row.response_id, where)
        found.append(
            StudyResponse(
                response_id=row.response_id,
                prompt_id=row.prompt_id,
                respondent_id=row.respondent_id,
                source=source or "model",
                model=""
                if source == "human"
                else _said(row.extra, _MODEL_COLUMNS)
                or ("" if row.respondent_id == UNNAMED else row.respondent_id),
                domain=_said(row.extra, ("domain",)),
                plain=plain,
                original=row.response_text,
                where=where,
            )
        )
    return StudyMaterial(prompts, tuple(found)), faults


def _checked(source: str | None) -> Source | None:
    return next((one for one in SOURCES if one == source), None)


def _rows(
    table: Any, source: Source | None, faults: list[InputFault]
) -> Iterable[tuple[str, Any, Source | None]]:
    rows: list[tuple[str, Any, Source | None]] = []
    try:
        with ResponseSource(table) as opened:
            opened.check()
            rows.extend((f"{opened.name}:{row.line}", row, source) for row in opened.rows())
    except InputError as error:
        faults += error.faults
    return rows


def _decided(rows: Sequence[tuple[str, Any, Source | None]]) -> list[Source | None]:
    """The source of each row: what its table is given as, else what its columns say."""
    from ..calibration.responses import HUMAN, MODEL, sources

    said = [_said(row.extra, _SOURCE_COLUMNS) for _, row, _ in rows]
    # Where a table says who wrote, its names of people and models are not asked.
    codes = sources(
        [text or None for text in said],
        [None if text else _said(row.extra, _MODEL_COLUMNS) or None
         for text, (_, row, _) in zip(said, rows, strict=True)],
        [None if text or row.respondent_id == UNNAMED else row.respondent_id
         for text, (_, row, _) in zip(said, rows, strict=True)],
    )  # fmt: skip
    decided: list[Source | None] = []
    for (_, row, given), text, code in zip(rows, said, codes.tolist(), strict=True):
        if given is not None:
            decided.append(given)
        elif text.lower() in _WEAK_WORDS or _said(row.extra, ("item_type",)).lower() in _WEAK_WORDS:
            decided.append("weak")
        else:
            decided.append("human" if code == HUMAN else "model" if code == MODEL else None)
    return decided


def _said(extra: dict[str, Any], names: Sequence[str]) -> str:
    return next((str(extra[name]).strip() for name in names if extra.get(name)), "")
