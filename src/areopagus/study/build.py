"""From responses to blinded packets, one a rater and prompt, and the map that unblinds them."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..rubrics import DEFAULT, Rubric, load_rubric
from . import files
from .build_faults import prompt_faults, rater_faults
from .build_notices import notices_of
from .design import assigned, drawn_order, labels, rotated_sets, session_of
from .files import Blinded, Packet, StudyFile, csv_text, json_text, write_private
from .material import StudyMaterial, StudyResponse, read_material
from .raters import DEFAULT_URL, Raters, check_url, codes_of, read_raters, write_access
from .settings import RatingSettings
from .wording import RATING

STANDARD, FLOOR, ALL_MODELS = "standard", "quality_floor", "all_models"
"""Item types; all but the first are calibration items."""

DEFAULT_PER_PROMPT = 10

SOURCE_MAP_COLUMNS = (
    "rater_id", "rater_code", "packet", "session", "prompt_id", "blinded_label", "response_id",
    "respondent_id", "source", "model", "domain", "item_type",
)  # fmt: skip
RESPONSE_COLUMNS = (
    "response_id", "prompt_id", "prompt_text", "response_text", "respondent_id", "source", "model",
    "domain", "item_type",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BuiltStudy:
    """A study that was built.

    Attributes:
        folder: where.
        kind: "rating" or "writing".
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
class _Shown:
    """One packet with what it hides."""

    rater: str
    prompt: str
    item_type: str
    responses: tuple[StudyResponse, ...]


def build_study(
    responses: Any = (),
    *,
    raters: Raters,
    out: str | Path,
    human: Sequence[Any] = (),
    model: Sequence[Any] = (),
    weak: Sequence[Any] = (),
    all_models: Iterable[str] = (),
    settings: RatingSettings | None = None,
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
        settings: the design.
        rubric: what is scored: a name, a file, or a rubric.
        seed: of everything drawn; by default one that cannot be guessed, which matters: whoever
            knows seed and input can unblind.
        url: what personal links begin with.

    Raises:
        InputError: with every fault of responses, raters and settings.
        StoreError: the folder cannot be written.
    """
    settings = settings or RatingSettings()
    named = list(dict.fromkeys(all_models))
    is_tables = isinstance(responses, list | tuple) and not any(
        isinstance(one, Mapping) for one in responses
    )
    tables = responses if is_tables else (responses,)
    faults = list(settings.faults()) + check_url(url)
    material, wrong = read_material(
        tables, human=human, model=model, weak=weak, normal=settings.normal
    )
    people, wrong_raters = read_raters(raters)
    faults += wrong + wrong_raters
    try:
        scored = load_rubric(rubric)
    except InputError as error:
        faults += error.faults
        scored = None
    if not material.responses and not faults:
        faults.append(InputFault("responses", "there are none"))
    faults += rater_faults(material, people, settings)
    if not any(fault.field == "source" for fault in wrong):
        faults += prompt_faults(material, named, settings)
    if faults or scored is None:
        raise InputError(faults)
    chosen_seed = secrets.randbits(64) if seed is None else seed
    shown, repeated = _packets(material, people, named, settings, chosen_seed)
    notices = notices_of(material, [one.responses for one in shown], repeated, settings)
    study = StudyFile(
        kind="rating",
        study_id=secrets.token_hex(8),
        title=settings.title.strip(),
        instructions=settings.instructions.strip() or RATING,
        pause_minutes=settings.pause_minutes,
        rubric=scored,
    )
    with files.new_folder(out) as folder:
        built = _write(folder, study, material, shown, people, settings, chosen_seed, notices, url)
    return BuiltStudy(**{**built, "folder": Path(out)})


def _packets(
    material: StudyMaterial,
    people: Sequence[str],
    all_models: Sequence[str],
    settings: RatingSettings,
    seed: int,
) -> tuple[list[_Shown], dict[str, tuple[int, int]]]:
    """Packets in the order of raters and of what each is shown, and prompt to (possible, repeated)
    sets of human responses where those had to repeat."""
    type_of = {
        prompt: ALL_MODELS
        if prompt in all_models
        else FLOOR
        if material.of(prompt, "weak")
        else STANDARD
        for prompt in material.prompts
    }
    standard = [prompt for prompt, kind in type_of.items() if kind == STANDARD]
    per_prompt = min(settings.per_prompt or DEFAULT_PER_PROMPT, len(people))
    raters_of = assigned(standard, people, per_prompt, seed=seed)
    repeated: dict[str, tuple[int, int]] = {}
    found: dict[tuple[str, str], _Shown] = {}
    for prompt, kind in type_of.items():
        raters = raters_of.get(prompt, tuple(people))
        chosen, short = _chosen(material, prompt, kind, raters, settings, seed)
        if short is not None:
            repeated[prompt] = short
        for rater, some in zip(raters, chosen, strict=True):
            by_id = {one.response_id: one for one in some}
            order = drawn_order(seed, f"labels\x1f{rater}\x1f{prompt}", by_id)
            shown = _Shown(rater, prompt, kind, tuple(by_id[name] for name in order))
            found[rater, prompt] = shown
    prompts_of: dict[str, list[str]] = {rater: [] for rater in people}
    for rater, prompt in found:
        prompts_of[rater].append(prompt)
    ordered = [
        found[rater, prompt]
        for rater in people
        for prompt in drawn_order(seed, f"order\x1f{rater}", prompts_of[rater])
    ]
    return ordered, repeated


def _chosen(
    material: StudyMaterial,
    prompt: str,
    kind: str,
    raters: Sequence[str],
    settings: RatingSettings,
    seed: int,
) -> tuple[list[list[StudyResponse]], tuple[int, int] | None]:
    """The responses each rater sees of a prompt; and (possible, repeated) where sets repeat."""
    n_humans = 0 if kind == ALL_MODELS else settings.humans
    weak = material.of(prompt, "weak")[:1] if kind == FLOOR else []
    n_models = settings.per_packet - n_humans - len(weak)
    picked: list[list[StudyResponse]] = [list(weak) for _ in raters]
    short: tuple[int, int] | None = None
    # Which rater gets which set is drawn too: the first set is not the first rater's.
    places = drawn_order(seed, f"sets\x1f{prompt}", [str(place) for place in range(len(raters))])
    humans, models = material.of(prompt, "human"), material.of(prompt, "model")
    for pool, size, word in ((humans, n_humans, "human"), (models, n_models, "model")):
        by_id = {one.response_id: one for one in pool}
        ids = sorted(by_id)  # the order of the input must not matter
        if word == "human" and not settings.rotate:
            ids = drawn_order(seed, f"fixed\x1f{prompt}", ids)[:size]
        rotation = rotated_sets(ids, size, len(raters), seed=seed, purpose=f"{word}\x1f{prompt}")
        if word == "human" and size and settings.rotate and rotation.n_repeated:
            short = (rotation.n_possible, rotation.n_repeated)
        for place, chosen in zip(places, rotation.sets, strict=True):
            picked[int(place)] += [by_id[name] for name in chosen]
    return picked, short


def _write(
    folder: Path,
    study: StudyFile,
    material: StudyMaterial,
    shown: Sequence[_Shown],
    people: Sequence[str],
    settings: RatingSettings,
    seed: int,
    notices: tuple[str, ...],
    url: str,
) -> dict[str, Any]:
    codes = codes_of(people, letter="r")
    place: Counter[str] = Counter()
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    type_of: dict[str, str] = {}
    for one in shown:
        number = place[one.rater] + 1
        place[one.rater] = number
        session = session_of(number - 1, settings.per_session)
        letters = labels(len(one.responses))
        packet = Packet(
            rater=codes[one.rater],
            number=number,
            session=session,
            prompt=material.prompts[one.prompt],
            responses=tuple(
                Blinded(label=label, text=response.plain.text)
                for label, response in zip(letters, one.responses, strict=True)
            ),
        )
        lines.append(packet.model_dump_json())
        for label, response in zip(letters, one.responses, strict=True):
            type_of[response.response_id] = one.item_type
            rows.append(
                {
                    "rater_id": one.rater,
                    "rater_code": codes[one.rater],
                    "packet": number,
                    "session": session,
                    "prompt_id": one.prompt,
                    "blinded_label": label,
                    "response_id": response.response_id,
                    "respondent_id": response.respondent_id,
                    "source": response.said_source,
                    "model": response.said_model,
                    "domain": response.domain,
                    "item_type": one.item_type,
                }
            )
    used = [one for one in material.responses if one.response_id in type_of]
    changes: Counter[str] = Counter(kind for one in used for kind in one.plain.changes)
    packets, organiser = folder / files.PACKETS, folder / files.ORGANISER
    write_private(packets / files.STUDY_FILE, study.model_dump_json(indent=1) + "\n")
    write_private(packets / files.PACKETS_FILE, "".join(f"{line}\n" for line in lines))
    write_access(folder, codes, url=url)
    write_private(organiser / files.SOURCE_MAP_FILE, csv_text(SOURCE_MAP_COLUMNS, rows))
    write_private(
        organiser / files.RESPONSES_FILE,
        csv_text(RESPONSE_COLUMNS, (_as_row(one, material, type_of) for one in used)),
    )
    write_private(
        organiser / files.NORMALISATION_FILE,
        "".join(
            json.dumps(
                {
                    "response_id": one.response_id,
                    "changes": one.plain.changes,
                    "original_text": one.original,
                }
            )
            + "\n"
            for one in used
        ),
    )
    counts = {
        "kind": study.kind,
        "n_raters": len(people),
        "n_prompts": len({one.prompt for one in shown}),
        "n_packets": len(shown),
        "n_responses": len(used),
        "n_calibration": len({one.prompt for one in shown if one.item_type != STANDARD}),
        "per_rater": (min(place[r] for r in people), max(place[r] for r in people)),
        "seed": seed,
        "changes": dict(changes.most_common()),
        "notices": notices,
    }
    record = {"study_id": study.study_id, "settings": asdict(settings), **counts}
    write_private(organiser / files.BUILD_FILE, json_text(record))
    return counts


def _as_row(one: StudyResponse, material: StudyMaterial, type_of: dict[str, str]) -> dict[str, Any]:
    return {
        "response_id": one.response_id,
        "prompt_id": one.prompt_id,
        "prompt_text": material.prompts[one.prompt_id],
        "response_text": one.plain.text,
        "respondent_id": one.respondent_id,
        "source": one.said_source,
        "model": one.said_model,
        "domain": one.domain,
        "item_type": type_of[one.response_id],
    }
