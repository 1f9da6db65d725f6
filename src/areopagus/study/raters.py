"""Raters and writers: who they are, the codes they go by, and their personal links."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError, InputFault
from ..records.humans.columns import known_columns
from ..records.readers.cells import read_id
from ..records.readers.dispatch import read_rows
from .files import (
    ACCESS_FILE,
    LINKS_FILE,
    ORGANISER,
    PACKETS,
    RATERS_FILE,
    csv_text,
    json_text,
    write_private,
)
from .settings import MOST_RATERS

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


def codes_of(raters: Sequence[str], *, letter: str) -> dict[str, str]:
    """Returns rater to code (r01, …): what packets and the server know instead of names."""
    width = max(2, len(str(len(raters))))
    return {rater: f"{letter}{place:0{width}d}" for place, rater in enumerate(raters, start=1)}


def write_access(folder: Path, codes: dict[str, str], *, url: str) -> None:
    """Draws a secret for each rater, and writes links and hashes.

    The links go into one file of the organiser and nowhere else; the server gets their hashes.
    """
    secret_of = {rater: secrets.token_urlsafe(SECRET_BYTES) for rater in codes}
    hashes = {code: secret_hash(secret_of[rater]) for rater, code in codes.items()}
    write_private(folder / PACKETS / ACCESS_FILE, json_text(hashes))
    rows = [{"rater_id": rater, "rater_code": code} for rater, code in codes.items()]
    write_private(folder / ORGANISER / RATERS_FILE, csv_text(("rater_id", "rater_code"), rows))
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
    return [InputFault("--url", f"must be like https://study.example.org, got {url[:80]!r}")]


def read_codes(folder: str | Path) -> dict[str, str]:
    """Returns code to rater, from the organiser's folder.

    Raises:
        InputError: the folder is not here, as on a machine that only serves.
    """
    file = Path(folder) / ORGANISER / RATERS_FILE
    if not file.is_file():
        raise InputError(
            [InputFault(str(file), "is not here: only the organiser can unblind")],
            hint=f"give the folder that still has its {ORGANISER}/ folder",
        )
    return {str(row["rater_code"]): str(row["rater_id"]) for _, row in read_rows(file)}


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
        faults.append(InputFault("--renew", f"there is no rater {rater!r}; there are {shown} …"))
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
