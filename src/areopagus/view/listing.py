"""What lies under a folder: every run with its kind, state, headline and cost, or why it is unread.

Of a run its run.json and its estimates are read, once for as long as they do not change. Links are
not followed, and a run that has a file behind a link that leads out of the folder is not opened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from ..any_report import RUNS, run_of
from ..changes.run import PAIRED
from ..errors import AreopagusError, InputError, InputFault
from ..records.estimates import ESTIMATES_FILE
from ..records.run_folder import (
    FIGURES_FOLDER,
    JUDGMENTS_FILE,
    RUN_FILE,
    SCORES_FILE,
    is_worked_in,
    read_run_file,
)
from ..reports.panel_answer import panel_answer
from ..study.folder import PACKETS, STORE_FILE, STUDY_FILE
from ..study.status import is_study, study_status

if TYPE_CHECKING:
    from ..run import JobRun

MOST_FOLDERS: Final = 20_000
"""Folders looked through; of a larger tree the rest is not listed, and the page says so."""
MOST_DEPTH: Final = 8
MOST_RECORD_BYTES: Final = 50_000_000
MOST_NAMES: Final = 200
"""Respondents or models of a run that the list carries."""

_NO_FIGURES: Final = "has no figures yet"
_LEFT_OUT: Final = frozenset(("node_modules", "__pycache__"))
_ALONE: Final = frozenset(("calibration", "comparison"))
"""Kinds that are results of their own also where they lie in the folder of another run."""


@dataclass(frozen=True)
class ListedRun:
    """A run, as the list shows it.

    Attributes:
        id: names its page; made of `path`.
        path: of its folder, relative to the one that is listed; "." for that one itself.
        kind: of the run; "" where it is not known.
        state: `running`, `stopped` (begun and not ended, and no process works in it), `complete`,
            `interrupted`, `budget`, or "unread"; of a study "open" until all are done.
        problem: why it is not read, or has no page.
        within: path of the job that it is a part of, or "".
        started: when work on it began, ISO 8601; when its record was written where it says nothing.
        written: seconds since 1970 when run.json was written.
        personas, models: of the panel, how many and who.
        respondents: whose responses, or the models under test.
        is_demonstration: whether an embedded stand-in took part.
        cost_usd: paid in all sessions; None where no price is known.
        unpriced_calls: calls whose price is not known.
        progress: of a run at work: stage, number, stages, unit, done, total, troubled.
        counts: of a run at work: status to number of judgments.
        headline: its answer; () until it is read.
        coverage: the first of the sentences on whether it can be trusted.
        has_page: whether there are results to show.
        is_comparable: whether another run of its kind can be held against it.
        is_read: whether its estimates were looked at.
    """

    id: str
    path: str
    kind: str = ""
    state: str = "unread"
    problem: str = ""
    within: str = ""
    started: str = ""
    written: float = 0.0
    personas: int = 0
    models: tuple[str, ...] = ()
    respondents: tuple[str, ...] = ()
    is_demonstration: bool = False
    cost_usd: float | None = None
    unpriced_calls: int = 0
    progress: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    headline: tuple[str, ...] = ()
    coverage: str = ""
    has_page: bool = False
    is_comparable: bool = False
    is_read: bool = False

    def to_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)


Stamp = tuple[str | tuple[int, int] | None, ...]


class Listing:
    """The runs under a folder; safe to use from several threads.

    Attributes:
        root: the folder, resolved: nothing outside it is read.
        notice: what the list does not hold, or "".
    """

    def __init__(self, folder: str | Path) -> None:
        """Takes the folder; nothing is read yet.

        Raises:
            InputError: there is no such folder.
        """
        given = Path(folder)
        if not given.is_dir():
            raise InputError([InputFault(str(folder), "is not a folder")])
        self.root = given.resolve()
        self.notice = ""
        self._known: dict[str, tuple[Stamp, ListedRun]] = {}
        self._order: list[str] = []
        self._lock = Lock()

    @property
    def runs(self) -> list[ListedRun]:
        """The runs as they were last read, the newest first."""
        with self._lock:
            found = [self._known[path][1] for path in self._order]
        return sorted(found, key=lambda run: (run.started, run.path), reverse=True)

    @property
    def version(self) -> str:
        """Changes when the list does."""
        text = json.dumps([run.to_json() for run in self.runs], default=str) + self.notice
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def find(self, run_id: str) -> ListedRun | None:
        """The run of this id."""
        return next((run for run in self.runs if run.id == run_id), None)

    def stamp(self, run: ListedRun) -> Stamp:
        """Changes when the run does."""
        return _stamp(self.place(run))

    def place(self, run: ListedRun) -> Path:
        """The folder of a run."""
        return self.root / run.path

    def refresh(self) -> None:
        """Looks what is there now; reads run.json where it has changed, and no estimates."""
        order: list[str] = []
        for path, problem in self._folders():
            place = self.root / path
            stamp = (problem, *_stamp(place))
            known = self._known.get(path)
            # Whoever is killed writes nothing more.
            is_killed = known is not None and known[1].state == "running" and _is_stopped(place)
            if known is None or known[0] != stamp or is_killed:
                found = _unread(path, problem) if problem else _listed(place, path)
                # What it came to stays in sight until the new figures are read.
                if known is not None and found.has_page:
                    found = replace(found, headline=known[1].headline, coverage=known[1].coverage)
                with self._lock:
                    self._known[path] = (stamp, found)
            order.append(path)
        with self._lock:
            self._order = order
            for path in set(self._known) - set(order):
                del self._known[path]
            self._tell_parts()

    def read_next(self) -> bool:
        """Reads the figures of the newest run that lacks its headline; whether there was one."""
        for run in self.runs:
            if not run.has_page or run.is_read:
                continue
            found = _answered(run, self.place(run))
            with self._lock:
                stamp, now = self._known.get(run.path, (None, None))
                if stamp is not None and now is run:
                    self._known[run.path] = (stamp, found)
            return True
        return False

    def _tell_parts(self) -> None:
        """Marks the runs that are a part of a larger job."""
        kinds = {path: run.kind for path, (_, run) in self._known.items() if run.kind}
        for path, (stamp, run) in list(self._known.items()):
            above = [str(one.as_posix()) for one in Path(path).parents] if path != "." else []
            owner = next((one for one in above if one in kinds), "")
            within = "" if run.kind in _ALONE else owner
            if run.within != within:
                told = run.problem
                if within and told.startswith(_NO_FIGURES):
                    told = f"{_NO_FIGURES}: they come with those of {within}"
                self._known[path] = (stamp, replace(run, within=within, problem=told))

    def _folders(self) -> Iterator[tuple[str, str]]:
        """(relative path, why it cannot be read or "") of every folder with a run, sorted."""
        left: list[tuple[Path, int]] = [(self.root, 0)]
        n = 0
        self.notice = ""
        while left:
            folder, depth = left.pop()
            n += 1
            if n > MOST_FOLDERS:
                self.notice = f"More than {MOST_FOLDERS:,} folders: not all were looked through."
                return
            path = folder.relative_to(self.root).as_posix()
            try:
                with os.scandir(folder) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
                is_run, problem, inside = self._looked_at(found, depth)
            except OSError as error:
                yield path, f"cannot be read: {error.strerror or error}"
                continue
            if is_run:
                yield path, problem
            for name, told in inside:
                if told:
                    yield (folder / name).relative_to(self.root).as_posix(), told
                else:
                    left.append((folder / name, depth + 1))

    def _looked_at(
        self, entries: list[os.DirEntry[str]], depth: int
    ) -> tuple[bool, str, list[tuple[str, str]]]:
        """Whether a folder holds a run, what is wrong with it, and its folders to look into."""
        is_run, problem = False, ""
        inside: list[tuple[str, str]] = []
        for entry in entries:
            if entry.is_symlink():
                if self._leads_out(entry.path):
                    if entry.is_dir():
                        inside.append((entry.name, "is a link that leads out of the folder"))
                    else:
                        problem = f"{entry.name} is a link that leads out of the folder"
                is_run |= entry.name == RUN_FILE
            elif entry.is_dir():
                if entry.name == FIGURES_FOLDER:
                    with os.scandir(entry.path) as drawn:
                        links = [one.name for one in drawn if one.is_symlink()]
                    problem = problem or (f"{FIGURES_FOLDER}/{links[0]} is a link" if links else "")
                elif entry.name == PACKETS and is_study(Path(entry.path).parent):
                    is_run = True
                elif entry.name[:1] != "." and entry.name not in _LEFT_OUT and depth < MOST_DEPTH:
                    inside.append((entry.name, ""))
            else:
                is_run |= entry.name == RUN_FILE
        return is_run, problem, inside

    def _leads_out(self, path: str) -> bool:
        try:
            return not Path(path).resolve().is_relative_to(self.root)
        except (OSError, RuntimeError):  # a circle of links
            return True


def run_id(path: str) -> str:
    """Names a run in addresses and files: nothing of its path stands in it."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _stamp(place: Path) -> Stamp:
    def of(name: str) -> tuple[int, int] | None:
        try:
            found = (place / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    # Of a study what raters saved last, which may still stand in the log of the store.
    stores = (of(STORE_FILE), of(f"{STORE_FILE}-wal")) if is_study(place) else ()
    return (of(RUN_FILE), of(ESTIMATES_FILE), *stores)


def _unread(path: str, problem: str, **more: Any) -> ListedRun:
    return ListedRun(id=run_id(path), path=path, problem=problem, **more)


def _listed(place: Path, path: str) -> ListedRun:
    """A run by its run.json; with the reason where that cannot be read."""
    file = place / RUN_FILE
    try:
        if is_study(place) and not file.exists():
            return _study(place, path)
        if file.stat().st_size > MOST_RECORD_BYTES:
            return _unread(path, f"{RUN_FILE} is larger than any that a run writes")
        record = read_run_file(place)
        return _described(record, place, path, file.stat().st_mtime)
    except AreopagusError as error:
        return _unread(path, _without(place, str(error)))
    except Exception as error:
        # Whatever somebody else's JSON holds: a row with the reason, never the end of the list.
        return _unread(path, f"{RUN_FILE} is not understood: {type(error).__name__}")


def _study(place: Path, path: str) -> ListedRun:
    """A study: how far it is is found with its headline."""
    written = (place / PACKETS / STUDY_FILE).stat().st_mtime
    return ListedRun(
        id=run_id(path),
        path=path,
        kind="study",
        state="open",
        started=datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
        written=written,
        has_page=True,
    )


def _described(record: Mapping[str, Any], place: Path, path: str, written: float) -> ListedRun:
    kind = str(record.get("kind", "panel"))
    state = str(record["state"]) if "state" in record else "complete"
    sessions = [dict(one) for one in record.get("sessions") or ()]
    began = min((str(one["started"]) for one in sessions if one.get("started")), default="")
    panel = record.get("panel") or {}
    # A run lists its models with their settings, a calibration by their names.
    models = [
        str(one["name"] if isinstance(one, Mapping) else one) for one in panel.get("models") or ()
    ]
    respondents = [str(one["respondent_id"]) for one in record.get("respondents") or ()]
    respondents = respondents or [str(one) for one in record.get("targets") or ()]
    unpriced = sum(int(one.get("calls_with_unknown_price") or 0) for one in sessions)
    spent = sum(float(one.get("spent_usd") or 0.0) for one in sessions)
    if state == "running" and _is_stopped(place):
        state = "stopped"
    is_running = state == "running"
    has_figures = (place / ESTIMATES_FILE).is_file()
    problem = ""
    if kind not in RUNS:
        problem = f"a run of kind {kind!r} has no page"
    elif not has_figures and not is_running:
        problem = f"{_NO_FIGURES}: {_what_makes_them(place, path)}"
    return ListedRun(
        id=run_id(path),
        path=path,
        kind=kind,
        state=state,
        problem=problem,
        started=began or datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
        written=written,
        personas=len(panel.get("personas") or ()),
        models=tuple(models[:MOST_NAMES]),
        respondents=tuple(respondents[:MOST_NAMES]),
        is_demonstration=bool(record.get("demonstration") or record.get("stand_ins")),
        cost_usd=None if unpriced and not spent else spent if sessions else None,
        unpriced_calls=unpriced,
        progress=dict(record.get("progress") or {}) if is_running else {},
        counts={str(k): int(n) for k, n in (record.get("counts") or {}).items() if n}
        if is_running
        else {},
        has_page=has_figures and kind in RUNS,
        is_comparable=has_figures and kind in ("panel", *PAIRED),
    )


def _is_stopped(place: Path) -> bool:
    """Whether no process works in a folder; where that cannot be seen, one may."""
    return is_worked_in(place) is False


def _what_makes_them(place: Path, path: str) -> str:
    """The command that makes the figures of a folder that has none."""
    run = run_of(place)
    if run.kind == "panel" and all(
        (place / name).is_file() for name in (JUDGMENTS_FILE, SCORES_FILE)
    ):
        return f"areopagus report {path} makes them of its tables"
    return f"areopagus {run.command or run.kind} … --out {path} goes on where it stopped"


def _answered(run: ListedRun, place: Path) -> ListedRun:
    """The run with its headline."""
    state = run.state
    try:
        if is_study(place):
            found = study_status(place)
            document = found.document()
            headline, trust = list(document.headline), list(document.trust)
            state = "complete" if found.is_complete else "open"
        else:
            headline, trust = answer_of(run_of(place))
    except Exception as error:
        # Estimates of another version, cut or edited: the row says so, and the others stand.
        return replace(
            run, is_read=True, has_page=False, is_comparable=False, headline=(), coverage="",
            problem=unreadable(place, error),
        )  # fmt: skip
    coverage = next((told for word, told in trust if word == "coverage"), "")
    return replace(run, is_read=True, headline=tuple(headline), coverage=coverage, state=state)


def answer_of(run: JobRun) -> tuple[list[str], list[tuple[str, str]]]:
    """Headline and trust of a run, of run.json and estimates alone."""
    if run.kind == "panel":
        return panel_answer(run.record, run.estimates)
    document = run.document()
    return list(document.headline) or [document.title], list(document.trust)


def unreadable(place: Path, error: Exception) -> str:
    """What is said of a run whose files cannot be shown."""
    if isinstance(error, AreopagusError):
        return _without(place, str(error))
    return f"its files do not fit together: {type(error).__name__}"


def _without(place: Path, text: str) -> str:
    """A message without the place of the folder, which is no business of a published page."""
    text = text.replace(f"{place}/", "").replace(str(place), "the folder")
    return " ".join(text.split())
