"""The responses of a study: who wrote each, what does not fit, and what may tell who wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, get_args

from ..errors import InputError, InputFault
from ..formats import listed, units
from ..records.readers.responses import UNNAMED, ResponseSource
from .plain_form import Normalised, normalise
from .settings import RatingSettings

Source = Literal["human", "model", "weak"]
SOURCES: tuple[Source, ...] = get_args(Source)

_WEAK_WORDS = ("weak", "floor", "quality_floor", "model (weak)")
_SOURCE_COLUMNS = ("source", "true_source")
_MODEL_COLUMNS = ("model", "model_name", "generator")

NOTABLE_RATIO = 1.25
"""Ratio of mean lengths from which length is named as something that tells who wrote."""

NOTABLE_SHARE = 0.3
"""Difference of shares from which lists or headings are named likewise."""

_LIST = re.compile(r"^(?:• |\d+\. )", re.M)
_HEADING = re.compile(r"(?:^|\n\n)(?!• |\d+\. )[^\n]{1,60}[^\s.!?:;,\"')](?=\n\n)")

_MACHINE = re.compile(
    r"\b(?:as an? (?:ai|artificial intelligence|large language model|language model)|"
    r"(?:i am|i'm) an? (?:ai|language model)|my training data|chatgpt|claude|gemini|openai|"
    r"anthropic|i hope this helps|certainly! here)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:my (?:wife|husband|dissertation|students|thesis|childhood|mother|father)|"
    r"when i was (?:a |young)|in my own (?:life|teaching|fieldwork))\b",
    re.IGNORECASE,
)


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

    def columns(self) -> dict[str, str]:
        """What tables say of it, as `calibrate` reads it: a weak response is told by the word."""
        weak = " (weak)" if self.source == "weak" else ""
        return {
            "response_id": self.response_id,
            "respondent_id": self.respondent_id,
            "source": f"model{weak}" if weak else self.source,
            "model": self.model and f"{self.model}{weak}",
            "domain": self.domain,
        }

    @property
    def is_signed(self) -> bool:
        """Whether the text holds the name of who wrote it."""
        name = self.respondent_id.strip()
        if len(name) < 4 or name == UNNAMED:
            return False
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.plain.text, re.IGNORECASE)
        return found is not None


@dataclass(frozen=True)
class StudyResponses:
    """What a study may show: prompt id to text, in order of first appearance, and all responses."""

    prompts: dict[str, str]
    responses: tuple[StudyResponse, ...]

    @cached_property
    def _grouped(self) -> dict[tuple[str, Source], list[StudyResponse]]:
        grouped: dict[tuple[str, Source], list[StudyResponse]] = {}
        for one in self.responses:
            grouped.setdefault((one.prompt_id, one.source), []).append(one)
        return grouped

    def of(self, prompt: str, source: Source) -> list[StudyResponse]:
        """The responses to a prompt from one source, in the order of the files."""
        return self._grouped.get((prompt, source), [])


def read_responses(
    tables: Mapping[Source | None, Sequence[Any]], *, keep_form: bool = False
) -> tuple[StudyResponses, list[InputFault]]:
    """The responses of all tables, and every fault found in them.

    Args:
        tables: source to tables whose responses are all of that source, whatever they say; None to
            tables with a column `source` (human, model, or weak).
        keep_form: leave texts as they came instead of bringing them into the plain form.
    """
    faults: list[InputFault] = []
    rows: list[tuple[str, Any, Source | None]] = []
    for source, given in tables.items():
        for table in given:
            try:
                with ResponseSource(table) as opened:
                    opened.check()
                    for row in opened.rows():
                        rows.append((f"{opened.name}:{row.line}", row, source))  # noqa: PERF401
            except InputError as error:
                faults += error.faults
    prompts: dict[str, str] = {}
    seen: dict[str, str] = {}
    found: list[StudyResponse] = []
    for (where, row, _), source in zip(rows, _sources(rows), strict=True):
        plain = Normalised(row.response_text, {}) if keep_form else normalise(row.response_text)
        wrong: dict[str, str] = {}
        if prompts.setdefault(row.prompt_id, row.prompt_text).split() != row.prompt_text.split():
            wrong["prompt_text"] = f"prompt {row.prompt_id!r} has another text elsewhere"
        if row.response_id in seen:
            wrong["response_id"] = f"{row.response_id!r} stands at {seen[row.response_id]}"
        if not plain.text.strip():
            wrong["response_text"] = "is empty: there is nothing to rate"
        if source is None:
            wrong["source"] = (
                f"must be one of {', '.join(SOURCES)}: it says who wrote the response; add the "
                "column, or give the file as `model` FILE or `human` FILE"
            )
        faults += [InputFault(where, message, field) for field, message in wrong.items()]
        seen.setdefault(row.response_id, where)
        named = "" if row.respondent_id == UNNAMED else row.respondent_id
        found.append(
            StudyResponse(
                response_id=row.response_id,
                prompt_id=row.prompt_id,
                respondent_id=row.respondent_id,
                source=source or "model",
                model="" if source == "human" else _said(row, _MODEL_COLUMNS) or named,
                domain=_said(row, ("domain",)),
                plain=plain,
                original=row.response_text,
                where=where,
            )
        )
    return StudyResponses(prompts, tuple(found)), faults


def _sources(rows: Sequence[tuple[str, Any, Source | None]]) -> list[Source | None]:
    """The source of each row: what its table is given as, else what its columns say."""
    from ..calibration.responses import HUMAN, MODEL, sources

    said = [_said(row, _SOURCE_COLUMNS) for _, row, _ in rows]
    # Where a table says who wrote, its names of people and models are not asked.
    models = [
        None if text else _said(row, _MODEL_COLUMNS) or None
        for text, (_, row, _) in zip(said, rows, strict=True)
    ]
    people = [
        None if text or row.respondent_id == UNNAMED else row.respondent_id
        for text, (_, row, _) in zip(said, rows, strict=True)
    ]
    codes = sources([text or None for text in said], models, people).tolist()
    names: dict[int, Source] = {HUMAN: "human", MODEL: "model"}
    decided: list[Source | None] = []
    for (_, row, given), text, code in zip(rows, said, codes, strict=True):
        is_weak = not {text.lower(), _said(row, ("item_type",)).lower()}.isdisjoint(_WEAK_WORDS)
        decided.append(given or ("weak" if is_weak else names.get(code)))
    return decided


def _said(row: Any, names: Sequence[str]) -> str:
    return next((str(row.extra[name]).strip() for name in names if row.extra.get(name)), "")


def study_faults(
    given: StudyResponses,
    raters: Sequence[str],
    all_models: Sequence[str],
    settings: RatingSettings,
) -> Iterator[InputFault]:
    """What a rating study cannot be built from: raters, and prompts, that do not fit."""
    writers = {one.respondent_id for one in given.responses if one.source == "human"}
    for rater in raters:
        if rater in writers:
            yield InputFault(
                f"rater {rater!r}",
                "wrote a response of this study: raters and writers must be different people, or "
                "they know what they read",
            )
    for name in all_models:
        if name not in given.prompts:
            yield InputFault("`all_models`", f"there is no prompt {name!r}")
    if settings.humans and given.responses and not writers:
        # Said once: every prompt lacks its people for the same reason.
        fewest = min(len(given.of(prompt, "model")) for prompt in given.prompts)
        size = min(settings.per_packet, max(2, fewest))
        needs = "" if size == settings.per_packet else f" and `per_packet` {size}"
        yield InputFault(
            "`humans`",
            f"must be 0 where no response is by a person, got {settings.humans}: give "
            f"`humans` 0{needs} for a study of models alone, or people's responses as `human` FILE",
        )
        return
    fix = "" if all_models or not given.prompts else _settings_that_fit(given, settings)
    for prompt in given.prompts:
        yield from _prompt_faults(given, prompt, settings, fix, is_all_models=prompt in all_models)


def _settings_that_fit(given: StudyResponses, settings: RatingSettings) -> str:
    """For what settings every prompt has enough responses, in words; "" for none."""
    people = min(len(given.of(prompt, "human")) for prompt in given.prompts)
    others = min(
        len(given.of(prompt, "model")) + len(given.of(prompt, "weak")) for prompt in given.prompts
    )
    humans, models = min(settings.humans, people), min(settings.models, others)
    if not models:
        humans = min(settings.per_packet, people)
    elif not humans:
        models = min(settings.per_packet, others)
    size = humans + models
    return f"; `humans` {humans} and `per_packet` {size} would fit" if size > 1 else ""


def _prompt_faults(
    given: StudyResponses, prompt: str, settings: RatingSettings, fix: str, *, is_all_models: bool
) -> Iterator[InputFault]:
    """Too few responses of a source, calibration items that cannot be, one text twice."""
    where = f"prompt {prompt!r}"
    humans, models, weak = (given.of(prompt, one) for one in SOURCES)
    if len(weak) > 1:
        places = ", ".join(one.where for one in weak)
        yield InputFault(where, f"must have one weak response, got {len(weak)} ({places})")
    if weak and is_all_models:
        yield InputFault(where, "is named for models only and has a weak response: one of both")
    wanted = settings.per_packet if is_all_models else settings.models - bool(weak)
    if weak and settings.models < 1:
        yield InputFault(
            where,
            "has a weak response, which stands in the place of a model's: packets without "
            "responses of models have none",
        )
    elif len(models) < wanted:
        yield InputFault(where, f"needs {wanted} responses of models, got {len(models)}{fix}")
    if not is_all_models and len(humans) < settings.humans:
        needs = f"needs {settings.humans} responses by people"
        yield InputFault(where, f"{needs}, got {len(humans)}{fix}")
    texts: dict[str, str] = {}
    for one in (*humans, *models, *weak):
        other = texts.setdefault(one.plain.text, one.response_id)
        if other != one.response_id and one.plain.text.strip():
            rule = f"{one.response_id!r} is {other!r} word for word: a rater would see one twice"
            yield InputFault(one.where, rule, "response_text")


def notices_of(
    given: StudyResponses,
    packets: Iterable[Sequence[StudyResponse]],
    repeated: Mapping[str, tuple[int, int]],
    settings: RatingSettings,
) -> tuple[str, ...]:
    """What an organiser should know before raters do: repeats, lengths, give-aways.

    Args:
        given: all responses.
        packets: the responses of each packet.
        repeated: prompt to (different sets there are, sets that repeat).
        settings: the design.
    """
    shown = list({one.response_id: one for packet in packets for one in packet}.values())
    notices: list[str] = []
    if settings.fixed_humans and settings.humans:
        notices.append("all raters of a prompt see the same human responses: rotation is off")
    prompts_of: dict[tuple[int, int], list[str]] = {}
    for prompt, counts in repeated.items():
        prompts_of.setdefault(counts, []).append(prompt)
    for (possible, repeats), prompts in prompts_of.items():
        notices.append(
            f"{units(len(prompts), 'prompt')} ({listed(prompts)}): only "
            f"{units(possible, 'different set')} of {settings.humans} human responses, so "
            f"{units(repeats, 'rater')} a prompt see a set that another rater has seen"
        )
    if not any(one.source == "weak" for one in shown):
        notices.append("no calibration item with a weak response: none was handed in")
    notices += _habits([one for one in shown if one.source == "human"],
                       [one for one in shown if one.source == "model"])  # fmt: skip
    telling = {
        f"may give away that {word} wrote it": [o for o in shown if pattern.search(o.plain.text)]
        for word, pattern in (("a model", _MACHINE), ("a person", _PERSON))
    }
    telling["holds the name of who wrote it"] = [one for one in shown if one.is_signed]
    for what, those in telling.items():
        if those:
            notices.append(f"{what}: {listed([one.response_id for one in those])}: look at it")
    if unused := len(given.responses) - len(shown):
        notices.append(f"{unused} of {len(given.responses)} responses are in no packet")
    return tuple(notices)


def _habits(humans: Sequence[StudyResponse], models: Sequence[StudyResponse]) -> list[str]:
    """Whether length, lists or headings, which no plain form can take away, tell who wrote."""
    if not humans or not models:
        return []
    told: list[str] = []
    sides = (humans, models)
    by_people, by_models = (fmean(len(o.plain.text.split()) for o in side) for side in sides)
    if max(by_people, by_models) >= NOTABLE_RATIO * max(1.0, min(by_people, by_models)):
        told.append(
            f"length tells who wrote: people's responses have {by_people:.0f} words on average, "
            f"models' {by_models:.0f}"
        )
    for word, pattern in (("lists", _LIST), ("headings", _HEADING)):
        one, other = (fmean(bool(pattern.search(o.plain.text)) for o in side) for side in sides)
        if abs(one - other) >= NOTABLE_SHARE:
            told.append(
                f"structure tells who wrote: {word} in {one:.0%} of people's responses, "
                f"{other:.0%} of models'"
            )
    return told
