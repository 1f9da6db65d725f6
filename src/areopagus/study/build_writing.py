"""From prompts to the pages on which people write responses (task 1)."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..records.readers.responses import PromptSource
from . import files
from .build import DEFAULT_PER_PROMPT, BuiltStudy
from .design import assigned, drawn_order, session_of
from .files import Packet, StudyFile, csv_text, json_text, write_private
from .raters import DEFAULT_URL, Raters, check_url, codes_of, read_raters, write_access
from .settings import WritingSettings
from .wording import WRITING

WRITING_MAP_COLUMNS = ("rater_id", "rater_code", "packet", "session", "prompt_id", "prompt_text")


def build_writing(
    prompts: Any,
    *,
    writers: Raters,
    out: str | Path,
    settings: WritingSettings | None = None,
    seed: int | None = None,
    url: str = DEFAULT_URL,
) -> BuiltStudy:
    """Builds a writing study (task 1) and returns what it is.

    Args:
        prompts: a table with prompt_text, optional prompt_id.
        writers: how many, their ids, or a table with writer_id or rater_id.
        out: the folder to make.
        settings: time, words, sittings.
        seed: of the assignment and the order of prompts; drawn where left out.
        url: what personal links begin with.

    Raises:
        InputError: with every fault of prompts, writers and settings.
        StoreError: the folder cannot be written.
    """
    settings = settings or WritingSettings()
    faults = list(settings.faults()) + check_url(url)
    texts: dict[str, str] = {}
    try:
        with PromptSource(prompts) as opened:
            opened.check()
            texts = {row.prompt_id: row.prompt_text for row in opened.rows()}
    except InputError as error:
        faults += error.faults
    people, wrong = read_raters(writers, word="writer")
    faults += wrong
    if settings.per_prompt is not None and people and settings.per_prompt > len(people):
        rule = f"per_prompt: must be at most the {len(people)} writers, got {settings.per_prompt}"
        faults += InputError(rule).faults
    if faults:
        raise InputError(faults)
    chosen_seed = secrets.randbits(64) if seed is None else seed
    per_prompt = min(settings.per_prompt or DEFAULT_PER_PROMPT, len(people))
    writers_of = assigned(list(texts), people, per_prompt, seed=chosen_seed)
    codes = codes_of(people, letter="w")
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    load: Counter[str] = Counter()
    for writer in people:
        mine = [prompt for prompt, chosen in writers_of.items() if writer in chosen]
        order = drawn_order(chosen_seed, f"order\x1f{writer}", mine)
        load[writer] = len(order)
        for place, prompt in enumerate(order):
            packet = Packet(
                rater=codes[writer],
                number=place + 1,
                session=session_of(place, settings.per_session),
                prompt=texts[prompt],
            )
            lines.append(packet.model_dump_json())
            rows.append(
                {
                    "rater_id": writer,
                    "rater_code": packet.rater,
                    "packet": packet.number,
                    "session": packet.session,
                    "prompt_id": prompt,
                    "prompt_text": texts[prompt],
                }
            )
    study = StudyFile(
        kind="writing",
        study_id=secrets.token_hex(8),
        title=settings.title.strip(),
        instructions=settings.instructions.strip() or WRITING,
        pause_minutes=settings.pause_minutes,
        minutes=settings.minutes,
        words=settings.words,
    )
    idle = [writer for writer in people if not load[writer]]
    built = BuiltStudy(
        folder=Path(out),
        kind="writing",
        n_raters=len(people),
        n_prompts=len(texts),
        n_packets=len(rows),
        n_responses=0,
        n_calibration=0,
        per_rater=(min(load.values()), max(load.values())),
        seed=chosen_seed,
        changes={},
        notices=(f"{len(idle)} writers have nothing to write",) if idle else (),
    )
    with files.new_folder(out) as folder:
        packets, organiser = folder / files.PACKETS, folder / files.ORGANISER
        write_private(packets / files.STUDY_FILE, study.model_dump_json(indent=1) + "\n")
        write_private(packets / files.PACKETS_FILE, "".join(f"{line}\n" for line in lines))
        write_access(folder, codes, url=url)
        write_private(organiser / files.SOURCE_MAP_FILE, csv_text(WRITING_MAP_COLUMNS, rows))
        record = {
            "study_id": study.study_id,
            "settings": asdict(settings),
            **{name: value for name, value in asdict(built).items() if name != "folder"},
        }
        write_private(organiser / files.BUILD_FILE, json_text(record))
    return built
