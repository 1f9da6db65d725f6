"""The run folder: its files, whose run it holds, and the lock that keeps it to one process.

run.json              what was asked of whom, counts, cost; written at the start and at the end
judgments.parquet     one row a planned judgment, whatever became of it
scores.csv            one row a response
responses.csv         the answers, where models were asked for them in the same run
texts.parquet         the prompts and responses that were judged, for the report
report.html           the same for reading
figures/              its pictures, as SVG
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault, StoreError
from .spreadsheets import CsvLines, writable

RUN_FILE = "run.json"
JUDGMENTS_FILE = "judgments.parquet"
SCORES_FILE = "scores.csv"
ANSWERS_FILE = "responses.csv"
TEXTS_FILE = "texts.parquet"
REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"
LOCK_FILE = ".lock"
RUN_FORMAT = 1

_WRITTEN_BESIDE = (RUN_FILE, ANSWERS_FILE, JUDGMENTS_FILE, SCORES_FILE, TEXTS_FILE, REPORT_FILE)

OF_RESPONSES = ("responses_sha256", "prompts_sha256", "targets", "asked")
"""Parts of a run's identity that say what was judged; all others say by whom and how."""


def panel_of(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a run's identity that is the panel's: another one is another instrument."""
    return {name: value for name, value in identity.items() if name not in OF_RESPONSES}


def run_identity_hash(identity: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of what makes a run this run: its responses and its panel."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class RunFolder:
    """One run's folder, locked while it is worked in."""

    def __init__(
        self, path: Path, lock: Any, existing: dict[str, Any] | None, *, is_new: bool = False
    ) -> None:
        self.path = path
        self.existing = existing
        self._lock = lock
        self._is_new = is_new

    @classmethod
    def open(
        cls,
        path: str | Path,
        identity: Mapping[str, Any],
        *,
        must_exist: bool = False,
        replaces_other: bool = False,
    ) -> RunFolder:
        """The folder, made or continued, and locked.

        Args:
            path: the folder.
            identity: what makes the run this run.
            must_exist: demand that it holds a run.
            replaces_other: a run of another identity in it gives way: for the folders inside the
                folder of a larger job, whose own identity was compared.

        Raises:
            InputError: it holds another run (with what differs), holds files of somebody else,
                is not there though it must be, or another process works in it.
            StoreError: it cannot be written.
        """
        path = Path(path)
        if must_exist and not (path / RUN_FILE).is_file():
            raise InputError(
                [InputFault(str(path), "there is no run to resume here")],
                hint="Leave `resume` out to start one.",
            )
        is_new = _make(path)
        is_run = (path / RUN_FILE).exists()
        if not is_run:
            _refuse_foreign(path)  # before a lock is put among somebody else's files
        # What an earlier version left open to others in a run is closed as well.
        for entry in (path, *(path.rglob("*") if is_run else ())):
            _close_to_others(entry)
        folder = cls(path, _locked(path), None, is_new=is_new)
        try:
            # Read under the lock: a process that has just ended here has written its session.
            if (path / RUN_FILE).exists():
                folder.existing = read_run_file(path)
                if not replaces_other:
                    _refuse_other_run(path, folder.existing.get("identity", {}), identity)
                elif folder.existing.get("identity") != dict(identity):
                    folder.existing = None
            _sweep(path)
        except BaseException:
            folder.close()
            raise
        return folder

    def write_run_file(self, content: Mapping[str, Any]) -> None:
        """Replaces run.json at once or not at all."""
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        with replaced(self.path / RUN_FILE) as part:
            # Names of files and of the ledger may be bytes that are no UTF-8.
            part.write_text(writable(text), encoding="utf-8")

    def close(self) -> None:
        """Gives the lock back; a folder that was made for nothing goes again."""
        if not self._lock.is_locked:
            return
        # Removed while it is held: whoever waits at the removed file notices, and looks again.
        (self.path / LOCK_FILE).unlink(missing_ok=True)
        self._lock.release()
        if self._is_new:
            with suppress(OSError):
                self.path.rmdir()


def read_run_file(path: str | Path, *, kind: str | None = None) -> dict[str, Any]:
    """The content of a run folder's run.json.

    Args:
        path: the folder.
        kind: the kind of run wanted, such as "panel"; any when left out.

    Raises:
        InputError: there is none, it cannot be read, it is from a later version, or the run is of
            another kind.
    """
    file = Path(path) / RUN_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError([InputFault(str(path), f"is not a run folder: no {RUN_FILE}")]) from None
    except NotADirectoryError:
        raise InputError([InputFault(str(path), "is a file; a run is a folder")]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise InputError([InputFault(str(file), "is not the record of a run")])
    if content["format"] > RUN_FORMAT:
        raise InputError(
            [
                InputFault(
                    str(file), f"has format {content['format']}; this version reads {RUN_FORMAT}"
                )
            ],
            hint="Use the newer areopagus that wrote it.",
        )
    found = content.get("kind", "panel")
    if kind is not None and found != kind:
        inside = Path(path) / kind
        raise InputError(
            [InputFault(str(path), f"holds a run of kind {found!r}; here {kind!r} is wanted")],
            hint=f"It has one inside: {inside}" if (inside / RUN_FILE).is_file() else None,
        )
    return content


@contextmanager
def replaced(target: Path, *, durable: bool = False) -> Iterator[Path]:
    """A file beside the target to write to; it takes the target's place when all went well.

    Args:
        target: the file.
        durable: whether it must stand even if the power goes the moment after.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    part: Path | None = None
    try:
        named = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        # Prompts, responses and human judgments stand in what is written: its owner's alone,
        # whatever the umask says and whatever stood there before.
        os.close(os.open(named, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        part = named
        yield part
        if durable:
            _flush(part, os.O_RDWR)
        part.replace(target)
        if durable and os.name == "posix":  # elsewhere no folder can be opened
            _flush(target.parent, os.O_RDONLY)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)


@contextmanager
def csv_table(path: str | Path, header: Iterable[str]) -> Iterator[CsvLines]:
    """A CSV table to write rows to; it takes its place when all went well, as `replaced`.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    with replaced(Path(path)) as part, part.open("w", encoding="utf-8", newline="") as file:
        lines = CsvLines(file)
        lines.write(header)
        yield lines


def _close_to_others(path: Path) -> None:
    """Takes group and others their rights to a file or folder of ours."""
    # What belongs to somebody else cannot be changed, and is theirs to show.
    with suppress(OSError):
        if os.name == "posix" and not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)


def _flush(path: Path, flags: int) -> None:
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def unwritable(path: Path, error: OSError) -> StoreError:
    """The error to raise where a file or folder of results cannot be written."""
    return StoreError(
        f"{path}: cannot be written ({error.strerror or error}); what was paid for is in "
        "the ledger, so give the same command again once that is mended"
    )


def is_worked_in(path: Path) -> bool | None:
    """Whether a process holds the folder's lock; None where this system or its rights hide that.

    A process that was killed leaves the file and holds nothing. The file is read only.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        with (path / LOCK_FILE).open("rb") as file:
            # Given back when the file is closed. Two that look at once do not disturb each other.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def _make(path: Path) -> bool:
    """Makes the folder; whether it was not there before."""
    if writable(str(path)) != str(path):
        # The library that writes the tables takes no others, and fails amid the run.
        raise InputError([InputFault(str(path), "must have a name in UTF-8")])
    try:
        is_new = not path.exists()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError([InputFault(str(path), "is a file; a run needs a folder")]) from None
    except OSError as error:
        raise StoreError(f"{path}: the folder cannot be made ({error.strerror})") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise StoreError(f"{path}: the folder is read-only; choose another as `out`")
    return is_new


def _locked(path: Path) -> Any:
    from filelock import FileLock, Timeout

    lock = FileLock(path / LOCK_FILE, thread_local=False, mode=0o600)
    try:
        lock.acquire(timeout=0.2)  # longer than `is_worked_in` looks at it
    except Timeout:
        raise InputError(
            [InputFault(str(path), "another process is working in this run folder")],
            hint="Wait until it has ended, or choose another folder as `out`.",
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: the folder cannot be written ({error.strerror})") from error
    return lock


def _sweep(path: Path) -> None:
    """Removes the half-written files that a killed process left; the lock is ours."""
    for name in _WRITTEN_BESIDE:
        for part in path.glob(f".{name}.*"):
            with suppress(OSError):
                part.unlink()


def _refuse_foreign(path: Path) -> None:
    # Parts of a run that was killed start with a dot; they are ours and hold nothing that counts.
    found = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    if found:
        shown = ", ".join(found[:5]) + (" …" if len(found) > 5 else "")
        raise InputError(
            [InputFault(str(path), f"holds other files ({shown}) and no run")],
            hint="Choose an empty or a new folder as `out`; nothing was overwritten.",
        )


def _refuse_other_run(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    if there.get("imported") != here.get("imported"):
        kinds = ("imported judgments", "judgments of a panel that was asked")
        fault = f"holds {kinds[not there.get('imported')]}; choose another folder as `out`"
        raise InputError([InputFault(str(path), fault)])
    faults = [
        InputFault(
            str(path / RUN_FILE),
            f"holds {_shown(old)}, asked for now: {_shown(new)}",
            name,
        )
        for name, old, new in identity_differences(there, here)
    ]
    if faults:
        hint = (
            "This folder holds another run. Choose another folder as `out`: what is "
            "already paid is known by the ledger, not by the folder."
        )
        raise InputError(faults, hint=hint)


def identity_differences(
    there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """What differs between two identities: (the field's name, what is there, what is here)."""
    for name in sorted(set(there) | set(here)):
        old, new = there.get(name), here.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from identity_differences(old, new, f"{prefix}{name}.")
        elif old != new:
            yield f"{prefix}{name}", old, new


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "…"
