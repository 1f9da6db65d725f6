"""The folder of a study: what may go to the machine that serves it, and what stays.

STUDY/packets/        what raters may see, and hashes of their links: all that a server needs
    study.json        kind, title, instructions, rubric, sittings
    packets.jsonl     one line a rater and prompt
    access.json       rater code to the SHA-256 of the secret in the link (0600)
STUDY/ratings.sqlite  what raters have saved
STUDY/organiser/      stays with the organiser (0700)
    source_map.csv    rater, prompt and label to response, source and item type
    raters.csv        rater code to rater
    links.csv         rater to personal link: secret (0600)
    responses.csv     the responses as shown, as `score` reads them
    normalisation.jsonl   each response's text as it came, and what was changed
    build.json        settings, seed, counts, notices
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ..errors import InputError, InputFault, StoreError
from ..records.spreadsheets import CsvLines, writable
from ..rubrics import Rubric

FORMAT = 1
PACKETS, ORGANISER, STORE_FILE = "packets", "organiser", "ratings.sqlite"
STUDY_FILE, PACKETS_FILE, ACCESS_FILE = "study.json", "packets.jsonl", "access.json"
SOURCE_MAP_FILE, RATERS_FILE, LINKS_FILE = "source_map.csv", "raters.csv", "links.csv"
RESPONSES_FILE, NORMALISATION_FILE, BUILD_FILE = (
    "responses.csv",
    "normalisation.jsonl",
    "build.json",
)

StudyKind = Literal["rating", "writing"]
RaterCode = Annotated[str, StringConstraints(pattern=r"^[rw]\d{2,5}$")]


class Blinded(BaseModel):
    """A response as a rater sees it: a label and a text, nothing else."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str
    text: str


class Packet(BaseModel):
    """One prompt for one rater; `number` counts the rater's packets from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    rater: RaterCode
    number: int = Field(ge=1)
    session: int = Field(ge=1)
    prompt: str
    responses: tuple[Blinded, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order shown."""
        return tuple(one.label for one in self.responses)


class StudyFile(BaseModel):
    """What all raters of a study are told; nothing of it depends on who wrote what.

    `minutes` and `words` are of writing studies, the rubric is of rating studies.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal[1] = 1
    kind: StudyKind
    study_id: str
    title: str
    instructions: str
    pause_minutes: int
    minutes: int = 0
    words: int = 0
    rubric: Rubric | None = None


def read_study(folder: str | Path) -> StudyFile:
    """Returns the study of a folder.

    Raises:
        InputError: there is none, or its file cannot be read.
    """
    file = Path(folder) / PACKETS / STUDY_FILE
    try:
        return StudyFile.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise InputError(
            [InputFault(str(folder), f"is not a study: no {PACKETS}/{STUDY_FILE}")],
            hint="make one with: areopagus study build",
        ) from None
    except OSError as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error.strerror}")]) from error
    except ValidationError as error:
        raise InputError(
            InputFault(str(file), one["msg"], ".".join(map(str, one["loc"])))
            for one in error.errors()
        ) from error


def read_packets(folder: str | Path) -> tuple[Packet, ...]:
    """Returns the packets of a study, rater by rater in the order shown.

    Raises:
        InputError: with every line that cannot be read.
    """
    file = Path(folder) / PACKETS / PACKETS_FILE
    packets: list[Packet] = []
    faults: list[InputFault] = []
    try:
        # Only a line feed ends a line here: texts may hold what else Python takes for one.
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            packets.append(Packet.model_validate_json(line))
        except ValidationError as error:
            faults += [
                InputFault(f"{file}:{number}", one["msg"], ".".join(map(str, one["loc"])))
                for one in error.errors()
            ]
    if faults:
        raise InputError(faults)
    return tuple(packets)


def json_text(content: Any) -> str:
    """Returns a value as indented JSON with a line feed at its end."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_private(path: Path, text: str) -> None:
    """Writes or replaces a file that only its owner may read, whatever the umask.

    Raises:
        StoreError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from error


def csv_text(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns rows as CSV; a missing value is an empty cell, texts stay as they are."""
    import io

    out = io.StringIO(newline="")
    lines = CsvLines(out)
    lines.write(names)
    for row in rows:
        cells = (row.get(name) for name in names)
        lines.write(["" if cell is None else writable(cell) for cell in cells])
    return out.getvalue()


@contextmanager
def new_folder(out: str | Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its name when all went well.

    Raises:
        InputError: there is something under that name already.
        StoreError: it cannot be made.
    """
    target = Path(out).absolute()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(
            [InputFault(str(out), "is there already: a study is built once")],
            hint="choose another folder with --out; nothing was overwritten",
        )
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        part.mkdir(parents=True)
        (part / PACKETS).mkdir()
        (part / ORGANISER).mkdir(mode=0o700)
        yield part
        if target.exists():
            target.rmdir()
        part.rename(target)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
