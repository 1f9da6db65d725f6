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

import hashlib
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
from ..experiment.config import faults_of
from ..records.humans.columns import known_columns
from ..records.readers.cells import read_id
from ..records.readers.dispatch import read_rows
from ..records.spreadsheets import CsvLines, writable
from ..rubrics import Rubric
from .settings import MOST_RATERS

PACKETS, ORGANISER, STORE_FILE = "packets", "organiser", "ratings.sqlite"
STUDY_FILE, PACKETS_FILE, ACCESS_FILE = "study.json", "packets.jsonl", "access.json"
SOURCE_MAP_FILE, RATERS_FILE, LINKS_FILE = "source_map.csv", "raters.csv", "links.csv"
RESPONSES_FILE, NORMALISATION_FILE, BUILD_FILE = (
    "responses.csv",
    "normalisation.jsonl",
    "build.json",
)

StudyKind = Literal["rating", "writing", "labelling"]
RaterCode = Annotated[str, StringConstraints(pattern=r"^[rwl]\d{2,5}$")]


class Blinded(BaseModel):
    """A response as a rater sees it: a label and a text, nothing else."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str
    text: str


class Category(BaseModel):
    """A label, and what it is called on the page."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    shown: str


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

    `minutes` and `words` are of writing studies; `question`, `categories` and `criterion` (what
    labels are called in tables) of labelling studies; the rest of rating studies: `rank`, whether
    raters order the responses themselves; `justify`, the criteria ("overall": the order) that need
    a reason of `justify_chars` characters.
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
    rank: bool = False
    justify: tuple[str, ...] = ()
    justify_chars: int = 0
    question: str = ""
    criterion: str = ""
    categories: tuple[Category, ...] = ()


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
        raise InputError(faults_of(error, str(file))) from error


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
            faults += faults_of(error, f"{file}:{number}")
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
            hint="choose another folder as `out`; nothing was overwritten",
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


DEFAULT_URL = "http://127.0.0.1:8765"
SECRET_BYTES = 24
"""192 bits: nobody finds one by trying."""

Raters = int | str | Path | Sequence[str]


def read_raters(given: Raters, *, word: str = "rater") -> tuple[list[str], list[InputFault]]:
    """Returns the ids of raters, and every fault.

    Args:
        given: how many (they are then called rater-01, …), their ids, or a table with a column
            rater_id (or `Participant id`, `worker_id` and the like).
        word: what to call them.
    """
    faults: list[InputFault] = []
    if isinstance(given, bool) or (isinstance(given, int) and not 1 <= given <= MOST_RATERS):
        return [], [
            InputFault(f"{word}s", f"must be a whole number from 1 to {MOST_RATERS}, got {given!r}")
        ]
    if isinstance(given, int):
        return [f"{word}-{number:02d}" for number in range(1, given + 1)], []
    if isinstance(given, str | Path):
        try:
            named = _from_table(Path(given), word, faults)
        except InputError as error:
            return [], [*faults, *error.faults]
    else:
        named = [(f"{word} {number}", name) for number, name in enumerate(given, start=1)]
    found: dict[str, str] = {}
    for where, name in named:
        try:
            rater = read_id(name)
        except ValueError as error:
            faults.append(InputFault(where, str(error)))
            continue
        if rater is None:
            faults.append(InputFault(where, "must not be empty"))
        elif rater in found:
            faults.append(InputFault(where, f"{rater!r} stands at {found[rater]}"))
        else:
            found[rater] = where
    if not found and not faults:
        faults.append(InputFault(f"{word}s", "there are none"))
    if len(found) > MOST_RATERS:
        faults.append(InputFault(f"{word}s", f"must be at most {MOST_RATERS:,}"))
    return list(found), faults


def _from_table(path: Path, word: str, faults: list[InputFault]) -> list[tuple[str, str]]:
    column: str | None = None
    named: list[tuple[str, str]] = []
    for line, values in read_rows(path, faults=faults):
        if column is None:
            names = known_columns(values)
            wanted = (f"{word}_id", word, "rater_id", "respondent_id")
            column = next((name for name in wanted if name in values), names.get("rater_id"))
            if column is None:
                shown = ", ".join(values)
                raise InputError(
                    [InputFault(str(path), f"names no {word}; columns found: {shown}")],
                    hint=f'call the column "{word}_id"',
                )
        named.append((f"{path}:{line}", values[column]))
    return named


def read_groups(given: Raters, raters: Sequence[str], faults: list[InputFault]) -> dict[str, str]:
    """Returns rater to group, by the column `group` of the table of raters; "" without one."""
    found = dict.fromkeys(raters, "")
    if not isinstance(given, str | Path) or not raters:
        return found
    named = _from_table(Path(given), "rater", [])
    for (where, name), (_, values) in zip(named, read_rows(Path(given)), strict=True):
        rater = read_id(name)
        if rater in found:
            found[rater] = str(values.get("group") or "").strip()
            if "group" in values and not found[rater]:
                faults.append(InputFault(where, "must not be empty", "group"))
    return found


def codes_of(raters: Sequence[str], *, letter: str) -> dict[str, str]:
    """Returns rater to code (r01, …): what packets and the server know instead of names."""
    width = max(2, len(str(len(raters))))
    return {rater: f"{letter}{place:0{width}d}" for place, rater in enumerate(raters, start=1)}


def write_access(
    folder: Path, codes: dict[str, str], *, url: str, groups: Mapping[str, str]
) -> None:
    """Draws a secret for each rater, and writes links, hashes and, where there are any, groups.

    The links go into one file of the organiser and nowhere else; the server gets their hashes.
    """
    secret_of = {rater: secrets.token_urlsafe(SECRET_BYTES) for rater in codes}
    hashes = {code: secret_hash(secret_of[rater]) for rater, code in codes.items()}
    write_private(folder / PACKETS / ACCESS_FILE, json_text(hashes))
    rows = [
        {"rater_id": rater, "rater_code": code, "group": groups.get(rater)}
        for rater, code in codes.items()
    ]
    names = ("rater_id", "rater_code", *(("group",) if any(groups.values()) else ()))
    write_private(folder / ORGANISER / RATERS_FILE, csv_text(names, rows))
    links = [{"rater_id": rater, "link": link(url, secret_of[rater])} for rater in codes]
    write_private(folder / ORGANISER / LINKS_FILE, csv_text(("rater_id", "link"), links))


def link(url: str, secret: str) -> str:
    """Returns a personal link.

    The secret stands in the fragment, which browsers do not send: it reaches no access log, no
    proxy and no `Referer`.
    """
    return f"{url.rstrip('/')}/#{secret}"


def secret_hash(secret: str) -> str:
    """Returns the SHA-256 of a link's secret; with 192 random bits nothing slower is needed."""
    # A request may bring any bytes, of which those that are no UTF-8 arrive as surrogates.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def check_url(url: str) -> list[InputFault]:
    """Returns what is wrong with the address that links begin with."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
        sound = sound and not (parts.query or parts.fragment or parts.username)
        _ = parts.port
    except ValueError:
        sound = False
    if sound and url.isascii() and url.isprintable() and " " not in url:
        return []
    return [InputFault("`url`", f"must be like https://study.example.org, got {url[:80]!r}")]


def organiser_file(folder: str | Path, name: str) -> Path:
    """A file of the organiser's folder.

    Raises:
        InputError: the folder is not here, as on a machine that only serves.
    """
    file = Path(folder) / ORGANISER / name
    if not file.is_file():
        raise InputError(
            [InputFault(str(file), "is not here: only the organiser can unblind")],
            hint=f"give the folder that still has its {ORGANISER}/ folder",
        )
    return file


def read_codes(folder: str | Path) -> dict[str, str]:
    """Returns code to rater, from the organiser's folder.

    Raises:
        InputError: the folder is not here.
    """
    rows = read_rows(organiser_file(folder, RATERS_FILE))
    return {str(row["rater_code"]): str(row["rater_id"]) for _, row in rows}


def read_groups_of(folder: str | Path) -> dict[str, str]:
    """Returns code to group, "" where raters have none.

    Raises:
        InputError: the organiser's folder is not here.
    """
    rows = read_rows(organiser_file(folder, RATERS_FILE))
    return {str(row["rater_code"]): str(row.get("group") or "") for _, row in rows}


def renew_links(folder: str | Path, *, url: str | None = None, rater: str | None = None) -> Path:
    """Writes the links with another address, or a new secret for one rater.

    Args:
        folder: the study, with its organiser's folder.
        url: what links begin with from now on; None leaves it.
        rater: whose old link ends: what was saved under it stays.

    Returns:
        The file of links. A running server knows the new link once it is started again.

    Raises:
        InputError: with every fault.
    """
    import json

    folder = Path(folder)
    codes = {name: code for code, name in read_codes(folder).items()}
    faults = [] if url is None else check_url(url)
    if rater is not None and rater not in codes:
        shown = ", ".join(list(codes)[:8])
        faults.append(InputFault("`rater`", f"there is no rater {rater!r}; there are {shown} …"))
    if faults:
        raise InputError(faults)
    file = folder / ORGANISER / LINKS_FILE
    old = {str(row["rater_id"]): str(row["link"]) for _, row in read_rows(file)}
    secret_of = {name: found.rpartition("#")[2] for name, found in old.items()}
    base = url or next(iter(old.values())).partition("#")[0]
    if rater is not None:
        secret_of[rater] = secrets.token_urlsafe(SECRET_BYTES)
        access = folder / PACKETS / ACCESS_FILE
        hashes = json.loads(access.read_text(encoding="utf-8"))
        hashes[codes[rater]] = secret_hash(secret_of[rater])
        write_private(access, json_text(hashes))
    rows = [{"rater_id": name, "link": link(base, secret_of[name])} for name in codes]
    write_private(file, csv_text(("rater_id", "link"), rows))
    return file
