"""From responses, or prompts, to blinded packets, one a person and prompt, and the source map."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.readers.responses import PromptRow, PromptSource
from ..records.readings import split_categories
from ..records.types import OVERALL
from ..rubrics import DEFAULT, Rubric, load_rubric
from .design import assigned, drawn_order, labels, rotated_sets, session_of
from .folder import (
    BUILD_FILE,
    DEFAULT_URL,
    NORMALISATION_FILE,
    ORGANISER,
    PACKETS,
    PACKETS_FILE,
    RESPONSES_FILE,
    SOURCE_MAP_FILE,
    STUDY_FILE,
    Blinded,
    Category,
    Packet,
    Raters,
    StudyFile,
    check_url,
    codes_of,
    csv_text,
    json_text,
    new_folder,
    read_groups,
    read_raters,
    write_access,
    write_private,
)
from .responses import (
    StudyResponse,
    StudyResponses,
    notices_of,
    read_responses,
    study_faults,
)
from .settings import (
    LABEL_TITLE,
    LABELLING,
    RANKING,
    RATING,
    RATING_TITLE,
    WRITING,
    WRITING_TITLE,
    LabelSettings,
    RatingSettings,
    StudySettings,
    WritingSettings,
)

STANDARD, FLOOR, ALL_MODELS = "standard", "quality_floor", "all_models"
"""Item types; all but the first are calibration items."""

DEFAULT_PER_PROMPT = 10

_PAGE_COLUMNS = ("rater_id", "rater_code", "packet", "session", "prompt_id")
SOURCE_MAP_COLUMNS = {
    "rating": (
        *_PAGE_COLUMNS, "blinded_label", "response_id", "respondent_id", "source", "model",
        "domain", "item_type",
    ),
    "writing": (*_PAGE_COLUMNS, "prompt_text"),
    "labelling": (*_PAGE_COLUMNS, "prompt_text"),
}  # fmt: skip
RESPONSE_COLUMNS = (
    "response_id", "prompt_id", "prompt_text", "response_text", "respondent_id", "source", "model",
    "domain", "item_type",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BuiltStudy:
    """A study that was built.

    Attributes:
        folder: where.
        kind: "rating", "writing" or "labelling".
        n_raters, n_prompts, n_packets, n_responses: how many; responses that are shown to somebody.
        n_calibration: prompts that are calibration items.
        per_rater: fewest and most packets a rater has.
        seed: of everything drawn; it unblinds, and is kept with the organiser only.
        changes: kind of change of form to the number of responses it was made in.
        notices: sentences for the organiser.
    """

    folder: Path
    kind: str
    n_raters: int
    n_prompts: int
    n_packets: int
    n_responses: int
    n_calibration: int
    per_rater: tuple[int, int]
    seed: int
    changes: dict[str, int]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    """One packet with what it hides: who gets it, and the responses in the order of letters."""

    rater: str
    prompt: str
    item_type: str = STANDARD
    responses: tuple[StudyResponse, ...] = ()


def build_study(
    responses: Any = (),
    *,
    raters: Raters,
    out: str | Path,
    human: Sequence[Any] = (),
    model: Sequence[Any] = (),
    weak: Sequence[Any] = (),
    all_models: Iterable[str] = (),
    settings: RatingSettings | Mapping[str, Any] | None = None,
    rubric: str | Path | Rubric = DEFAULT,
    seed: int | None = None,
    url: str = DEFAULT_URL,
) -> BuiltStudy:
    """Builds a rating study (task 2) and returns what it is.

    Each packet holds `settings.per_packet` responses to one prompt under letters drawn anew for
    each rater and prompt. A prompt with a response made weak on purpose is a calibration item in
    which that one takes the place of a model's response; a prompt named in `all_models` is one
    without responses by people. Every rater gets every calibration item, unmarked among the others;
    the other prompts are dealt out evenly.

    Args:
        responses: a table, or a list of tables, with response_id, prompt_text, response_text,
            optional prompt_id, respondent_id, model, domain, and `source`: human, model, weak.
        raters: how many, their ids, or a table with rater_id.
        out: the folder to make.
        human, model, weak: tables whose responses all have that source.
        all_models: ids of prompts to be shown with responses of models only.
        settings: the design, or its fields as a mapping.
        rubric: what is scored: a name, a file, or a rubric.
        seed: of everything drawn; by default one that cannot be guessed, which matters: whoever
            knows seed and input can unblind.
        url: what personal links begin with.

    Raises:
        InputError: with every fault of responses, raters and settings.
        StoreError: the folder cannot be written.
    """
    faults: list[InputFault] = []
    chosen = RatingSettings.checked(settings, faults)
    # Of a size that is none, the default stands in, which nobody chose.
    has_size = not any("humans" in str(fault) or "per_packet" in str(fault) for fault in faults)
    is_tables = isinstance(responses, list | tuple) and not any(
        isinstance(one, Mapping) for one in responses
    )
    given, wrong = read_responses(
        {None: responses if is_tables else (responses,), "human": human, "model": model,
         "weak": weak},
        keep_form=chosen.keep_form,
    )  # fmt: skip
    faults += [*wrong, *check_url(url)]
    people = _people(raters, "rater", chosen, faults)
    scored: Rubric | None = None
    try:
        scored = load_rubric(rubric)
    except InputError as error:
        faults += error.faults
    if scored is not None:
        known = (*scored.dimension_ids, OVERALL)
        faults += [
            InputFault("`justify`", f"must be among {', '.join(known)}, got {name!r}")
            for name in chosen.justify
            if name not in known
        ]
    named = list(dict.fromkeys(all_models))
    if not given.responses and not faults:
        rule = "there are none: give FILE, `model` FILE or `human` FILE"
        faults.append(InputFault("responses", rule))
    if has_size and not any(fault.field == "source" for fault in wrong):
        faults += study_faults(given, people, named, chosen)
    if faults or scored is None:
        raise InputError(faults)
    drawn = secrets.randbits(64) if seed is None else seed
    pages, repeated = _rating_pages(given, people, named, chosen, drawn)
    notices = notices_of(given, [one.responses for one in pages], repeated, chosen)
    study = _study_file(
        "rating", chosen, RATING_TITLE, RATING + RANKING * chosen.rank,
        rubric=scored, rank=chosen.rank,
        justify=tuple(dict.fromkeys(chosen.justify)),
        justify_chars=chosen.justify_chars if chosen.justify else 0,
    )  # fmt: skip
    return _written(out, study, chosen, pages, given, people, drawn, notices, url)


def build_writing(
    prompts: Any,
    *,
    writers: Raters,
    out: str | Path,
    settings: WritingSettings | Mapping[str, Any] | None = None,
    seed: int | None = None,
    url: str = DEFAULT_URL,
) -> BuiltStudy:
    """Builds a writing study (task 1) and returns what it is.

    Args:
        prompts: a table with prompt_text, optional prompt_id.
        writers: how many, their ids, or a table with writer_id or rater_id.
        out: the folder to make.
        settings: time, words, sittings, or the fields as a mapping.
        seed: of the assignment and the order of prompts; drawn where left out.
        url: what personal links begin with.

    Raises:
        InputError: with every fault of prompts, writers and settings.
        StoreError: the folder cannot be written.
    """
    faults: list[InputFault] = []
    chosen = WritingSettings.checked(settings, faults)
    faults += check_url(url)
    texts = _prompts(prompts, faults)
    people = _people(writers, "writer", chosen, faults)
    if faults:
        raise InputError(faults)
    drawn = secrets.randbits(64) if seed is None else seed
    writers_of = assigned(list(texts), people, _per_prompt(chosen, people), seed=drawn)
    dealt = [_Page(one, prompt) for prompt, mine in writers_of.items() for one in mine]
    pages = _in_order(dealt, people, drawn)
    idle = len(people) - len({one.rater for one in pages})
    notices = (f"{idle} writers have nothing to write",) if idle else ()
    study = _study_file(
        "writing", chosen, WRITING_TITLE, WRITING, minutes=chosen.minutes, words=chosen.words
    )
    given = StudyResponses(texts, ())
    return _written(out, study, chosen, pages, given, people, drawn, notices, url)


def build_labelling(
    items: Any,
    *,
    raters: Raters,
    out: str | Path,
    settings: LabelSettings | Mapping[str, Any] | None = None,
    seed: int | None = None,
    url: str = DEFAULT_URL,
) -> BuiltStudy:
    """Builds a labelling study (task 3) and returns what it is.

    Every item gets `settings.golds` labels by different raters. Where raters have groups, such as
    the two that an audit compares, every group gives as many of them.

    Args:
        items: a table with prompt_text (what is labelled), optional prompt_id; question and
            categories as its first row has them where the settings do not say them, as in what a
            job draws for people (for_study.csv).
        raters: how many, their ids, or a table with rater_id and, if wanted, group.
        out: the folder to make.
        settings: question and categories, or the fields as a mapping.
        seed: of the assignment and the order of items; drawn where left out.
        url: what personal links begin with.

    Raises:
        InputError: with every fault of items, raters and settings.
        StoreError: the folder cannot be written.
    """
    faults: list[InputFault] = []
    rows = _prompt_rows(items, faults)
    texts = {row.prompt_id: row.prompt_text for row in rows}
    if not isinstance(settings, LabelSettings):
        settings = {**_asked(rows), **(settings or {})}
    chosen = LabelSettings.checked(settings, faults)
    faults += check_url(url)
    people = _people(raters, "rater", chosen, faults)
    groups = read_groups(raters, people, faults)
    categories = _categories(chosen, faults)
    names = sorted(set(groups.values()))
    if people and chosen.golds % len(names):
        rule = f"must be a multiple of the {len(names)} groups of raters, got {chosen.golds}"
        faults.append(InputFault("`golds`", rule))
    members = {one: [rater for rater in people if groups[rater] == one] for one in names}
    for name, those in members.items():
        wanted = chosen.golds // len(names)
        if len(those) < wanted:
            who = f"raters of group {name!r}" if name else "raters"
            rule = f"must be at least {wanted} {who} for `golds` {chosen.golds}, got {len(those)}"
            faults.append(InputFault("`raters`", rule))
    if faults:
        raise InputError(faults)
    drawn = secrets.randbits(64) if seed is None else seed
    dealt = [
        _Page(rater, prompt)
        for those in members.values()
        for prompt, mine in assigned(
            list(texts), those, chosen.golds // len(names), seed=drawn
        ).items()
        for rater in mine
    ]
    study = _study_file(
        "labelling", chosen, LABEL_TITLE, LABELLING,
        question=chosen.question.strip(), criterion=chosen.criterion, categories=categories,
    )  # fmt: skip
    pages = _in_order(dealt, people, drawn)
    idle = len(people) - len({one.rater for one in pages})
    notices = (f"{idle} raters have nothing to label",) if idle else ()
    given = StudyResponses(texts, ())
    return _written(out, study, chosen, pages, given, people, drawn, notices, url, groups=groups)


def _categories(settings: LabelSettings, faults: list[InputFault]) -> tuple[Category, ...]:
    """The labels: "NAME" or "NAME=what the page says"."""
    found = [
        Category(name=name.strip(), shown=shown.strip() or name.strip())
        for name, _, shown in (one.partition("=") for one in settings.category)
    ]
    names = [one.name for one in found]
    if len(found) < 2 or len(set(names)) < len(names) or not all(names):
        rule = f"must be two different names at least, got {', '.join(names) or 'none'}: give"
        faults.append(InputFault("`category`", f"{rule} `category` NAME `category` NAME"))
    if not settings.question.strip():
        rule = "must say what is asked of each item: give `question` TEXT"
        faults.append(InputFault("`question`", rule))
    return tuple(found)


def _prompts(given: Any, faults: list[InputFault]) -> dict[str, str]:
    """Prompt id to text; what is wrong is added to the faults."""
    return {row.prompt_id: row.prompt_text for row in _prompt_rows(given, faults)}


def _prompt_rows(given: Any, faults: list[InputFault]) -> list[PromptRow]:
    """The prompts; what is wrong is added to the faults."""
    try:
        with PromptSource(given) as opened:
            opened.check()
            return list(opened.rows())
    except InputError as error:
        faults += error.faults
        return []


def _asked(rows: Sequence[PromptRow]) -> dict[str, Any]:
    """The question and the categories that the items bring along."""
    said = rows[0].extra if rows else {}
    question, categories = (str(said.get(name) or "") for name in ("question", "categories"))
    found: dict[str, Any] = {"question": question} if question else {}
    return found | ({"category": split_categories(categories)} if categories else {})


def _people(
    given: Raters, word: str, settings: StudySettings, faults: list[InputFault]
) -> list[str]:
    people, wrong = read_raters(given, word=word)
    faults += wrong
    if settings.per_prompt is not None and people and settings.per_prompt > len(people):
        rule = f"must be at most the {len(people)} {word}s, got {settings.per_prompt}"
        faults.append(InputFault("`per_prompt`", rule))
    return people


def _per_prompt(settings: StudySettings, people: Sequence[str]) -> int:
    return min(settings.per_prompt or DEFAULT_PER_PROMPT, len(people))


def _study_file(
    kind: Any, settings: StudySettings, title: str, instructions: str, **more: Any
) -> StudyFile:
    return StudyFile(
        kind=kind,
        study_id=secrets.token_hex(8),
        title=settings.title.strip() or title,
        instructions=settings.instructions.strip() or instructions,
        pause_minutes=settings.pause_minutes,
        **more,
    )


def _rating_pages(
    given: StudyResponses,
    people: Sequence[str],
    all_models: Sequence[str],
    settings: RatingSettings,
    seed: int,
) -> tuple[list[_Page], dict[str, tuple[int, int]]]:
    """Packets in the order of raters and of what each is shown, and prompt to (possible, repeated)
    sets of human responses where those had to repeat."""
    type_of = {
        prompt: ALL_MODELS
        if prompt in all_models
        else FLOOR
        if given.of(prompt, "weak")
        else STANDARD
        for prompt in given.prompts
    }
    standard = [prompt for prompt, kind in type_of.items() if kind == STANDARD]
    raters_of = assigned(standard, people, _per_prompt(settings, people), seed=seed)
    repeated: dict[str, tuple[int, int]] = {}
    pages: list[_Page] = []
    for prompt, kind in type_of.items():
        raters = raters_of.get(prompt, tuple(people))
        chosen, short = _chosen(given, prompt, kind, raters, settings, seed)
        if short is not None:
            repeated[prompt] = short
        for rater, some in zip(raters, chosen, strict=True):
            by_id = {one.response_id: one for one in some}
            order = drawn_order(seed, f"labels\x1f{rater}\x1f{prompt}", by_id)
            pages.append(_Page(rater, prompt, kind, tuple(by_id[name] for name in order)))
    return _in_order(pages, people, seed), repeated


def _in_order(pages: Sequence[_Page], people: Sequence[str], seed: int) -> list[_Page]:
    """Pages person by person, in the order drawn for each."""
    mine: dict[str, dict[str, _Page]] = {person: {} for person in people}
    for page in pages:
        mine[page.rater][page.prompt] = page
    return [
        mine[person][prompt]
        for person in people
        for prompt in drawn_order(seed, f"order\x1f{person}", mine[person])
    ]


def _chosen(
    given: StudyResponses,
    prompt: str,
    kind: str,
    raters: Sequence[str],
    settings: RatingSettings,
    seed: int,
) -> tuple[list[list[StudyResponse]], tuple[int, int] | None]:
    """The responses each rater sees of a prompt; and (possible, repeated) where sets repeat."""
    n_humans = 0 if kind == ALL_MODELS else settings.humans
    weak = given.of(prompt, "weak")[:1] if kind == FLOOR else []
    n_models = settings.per_packet - n_humans - len(weak)
    picked: list[list[StudyResponse]] = [list(weak) for _ in raters]
    short: tuple[int, int] | None = None
    # Which rater gets which set is drawn too: the first set is not the first rater's.
    places = drawn_order(seed, f"sets\x1f{prompt}", [str(place) for place in range(len(raters))])
    humans, models = given.of(prompt, "human"), given.of(prompt, "model")
    for pool, size, word in ((humans, n_humans, "human"), (models, n_models, "model")):
        by_id = {one.response_id: one for one in pool}
        ids = sorted(by_id)  # the order of the input must not matter
        rotates = word == "human" and not settings.fixed_humans
        if word == "human" and not rotates:
            ids = drawn_order(seed, f"fixed\x1f{prompt}", ids)[:size]
        rotation = rotated_sets(ids, size, len(raters), seed=seed, purpose=f"{word}\x1f{prompt}")
        if rotates and size and rotation.n_repeated:
            short = (rotation.n_possible, rotation.n_repeated)
        for place, chosen in zip(places, rotation.sets, strict=True):
            picked[int(place)] += [by_id[name] for name in chosen]
    return picked, short


def _written(
    out: str | Path,
    study: StudyFile,
    settings: StudySettings,
    pages: Sequence[_Page],
    given: StudyResponses,
    people: Sequence[str],
    seed: int,
    notices: tuple[str, ...],
    url: str,
    groups: Mapping[str, str] | None = None,
) -> BuiltStudy:
    """Writes the folder, and returns what it is."""
    codes = codes_of(people, letter=study.kind[0])
    place: Counter[str] = Counter()
    packets: list[Packet] = []
    rows: list[dict[str, Any]] = []
    type_of: dict[str, str] = {}
    for one in pages:
        place[one.rater] += 1
        packet = Packet(
            rater=codes[one.rater],
            number=place[one.rater],
            session=session_of(place[one.rater] - 1, settings.per_session),
            prompt=given.prompts[one.prompt],
            responses=tuple(
                Blinded(label=label, text=response.plain.text)
                for label, response in zip(labels(len(one.responses)), one.responses, strict=True)
            ),
        )
        packets.append(packet)
        page: dict[str, Any] = dict(
            zip(
                (*_PAGE_COLUMNS, "prompt_text", "item_type"),
                (one.rater, packet.rater, packet.number, packet.session, one.prompt,
                 packet.prompt, one.item_type),
                strict=True,
            )
        )  # fmt: skip
        for label, response in zip(packet.labels, one.responses, strict=True):
            type_of[response.response_id] = one.item_type
            rows.append(page | {"blinded_label": label, **response.columns()})
        if not one.responses:
            rows.append(page)
    used = [one for one in given.responses if one.response_id in type_of]
    loads = [place[person] for person in people]
    built = BuiltStudy(
        folder=Path(out),
        kind=study.kind,
        n_raters=len(people),
        n_prompts=len(given.prompts),
        n_packets=len(pages),
        n_responses=len(used),
        n_calibration=len({one.prompt for one in pages if one.item_type != STANDARD}),
        per_rater=(min(loads), max(loads)),
        seed=seed,
        changes=dict(Counter(kind for one in used for kind in one.plain.changes).most_common()),
        notices=notices,
    )
    record = {"study_id": study.study_id, "settings": settings.model_dump(), **asdict(built)}
    del record["folder"]
    lines = [packet.model_dump_json() for packet in packets]
    files = {
        f"{PACKETS}/{STUDY_FILE}": study.model_dump_json(indent=1) + "\n",
        f"{PACKETS}/{PACKETS_FILE}": "".join(f"{line}\n" for line in lines),
        f"{ORGANISER}/{SOURCE_MAP_FILE}": csv_text(SOURCE_MAP_COLUMNS[study.kind], rows),
        f"{ORGANISER}/{BUILD_FILE}": json_text(record),
    }
    if study.kind == "rating":
        files |= _responses_as_shown(used, given.prompts, type_of)
    with new_folder(out) as folder:
        for name, text in files.items():
            write_private(folder / name, text)
        write_access(folder, codes, url=url, groups=groups or {})
    return built


def _responses_as_shown(
    used: Sequence[StudyResponse], prompts: Mapping[str, str], type_of: Mapping[str, str]
) -> dict[str, str]:
    """The responses as `score` reads them, and their texts as they came."""
    shown = [
        {
            **one.columns(),
            "prompt_id": one.prompt_id,
            "prompt_text": prompts[one.prompt_id],
            "response_text": one.plain.text,
            "item_type": type_of[one.response_id],
        }
        for one in used
    ]
    came = [
        {
            "response_id": one.response_id,
            "changes": one.plain.changes,
            "original_text": one.original,
        }
        for one in used
    ]
    return {
        f"{ORGANISER}/{RESPONSES_FILE}": csv_text(RESPONSE_COLUMNS, shown),
        f"{ORGANISER}/{NORMALISATION_FILE}": "".join(f"{json.dumps(one)}\n" for one in came),
    }
