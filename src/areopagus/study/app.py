"""The web application of a study: one page for everybody, and its data by personal link.

Blinding rests on what this process is given: it reads the packets folder and the store, and never
the organiser's. Everything that leaves it is the same for every kind of response: labels in
alphabetical order, texts in the plain form, no ids, no validators of caches.

The secret of a link comes in an `Authorization` header that only our own script sets. There is no
cookie, so that a request from another site carries no rights.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError, InputFault
from ..records.types import OVERALL
from ..web_server import body_of, json_answer, outermost, refuse_other_sites, set_headers
from .folder import (
    ACCESS_FILE,
    PACKETS,
    STORE_FILE,
    Packet,
    StudyFile,
    read_packets,
    read_study,
    secret_hash,
)
from .store import ConflictError, Save, SavedPage, Store

MOST_COMMENT_CHARS = 20_000
MOST_TEXT_CHARS = 100_000

Feedback = Literal["unclear", "offensive", "other"]
"""What a rater may say of a prompt."""

Comment = Annotated[str, Field(max_length=MOST_COMMENT_CHARS)]


class PageBody(BaseModel):
    """A save of a page."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    revision: int = Field(ge=0)
    save_id: str = Field(min_length=1, max_length=64)
    done: bool
    active_ms: int = Field(ge=0)


class RatingBody(PageBody):
    """A save of a rating page; a score of None is one taken back, no places an order not given."""

    scores: dict[str, dict[str, int | None]]
    comment: Comment
    places: dict[str, int] = {}
    reasons: dict[str, Comment] = {}
    feedback: dict[Feedback, Comment] = Field(default={}, max_length=1)


class LabelBody(PageBody):
    """A save of a labelling page."""

    label: str | None
    comment: Comment
    feedback: dict[Feedback, Comment] = Field(default={}, max_length=1)


class WritingBody(PageBody):
    """A save of a writing page."""

    text: str = Field(max_length=MOST_TEXT_CHARS)
    pasted_chars: int = Field(ge=0, le=10**9)


def read_body(study: StudyFile, packet: Packet, body: bytes) -> Save | list[str]:
    """Returns the save that a request holds, or everything wrong with it."""
    try:
        if study.kind == "writing":
            written = WritingBody.model_validate_json(body)
            if written.done and not written.text.strip():
                return ["text: is empty: there is nothing to hand in"]
            return Save(
                revision=written.revision,
                save_id=written.save_id,
                text=_encodable(written.text),
                done=written.done,
                active_ms=written.active_ms,
                pasted_chars=written.pasted_chars,
            )
        if study.kind == "labelling":
            return _read_label(study, LabelBody.model_validate_json(body))
        rated = RatingBody.model_validate_json(body)
    except ValidationError as error:
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    wrong = [*_wrong_scores(study, packet, rated), *_wrong_answers(study, packet, rated)]
    if wrong:
        return wrong
    return Save(
        revision=rated.revision,
        save_id=rated.save_id,
        scores={
            label: {dimension: score for dimension, score in row.items() if score is not None}
            for label, row in rated.scores.items()
        },
        comment=_encodable(rated.comment),
        places=rated.places,
        reasons={name: _encodable(text) for name, text in rated.reasons.items() if text},
        feedback={kind: _encodable(text) for kind, text in rated.feedback.items()},
        done=rated.done,
        active_ms=rated.active_ms,
    )


def _read_label(study: StudyFile, given: LabelBody) -> Save | list[str]:
    names = [one.name for one in study.categories]
    if given.label is not None and given.label not in names:
        return [f"label: must be one of {', '.join(names)}"]
    if given.done and given.label is None:
        return ["label: is missing"]
    return Save(
        revision=given.revision,
        save_id=given.save_id,
        labels={} if given.label is None else {study.criterion: given.label},
        comment=_encodable(given.comment),
        feedback={kind: _encodable(text) for kind, text in given.feedback.items()},
        done=given.done,
        active_ms=given.active_ms,
    )


def _wrong_scores(study: StudyFile, packet: Packet, body: RatingBody) -> Iterator[str]:
    if study.rubric is None:
        yield "scores: this study has no rubric"
        return
    values, dimensions = study.rubric.scale.values, study.rubric.dimension_ids
    for label, row in body.scores.items():
        if label not in packet.labels:
            yield f"scores.{label[:40]}: is no response of this page"
            continue
        for dimension, score in row.items():
            if dimension not in dimensions:
                yield f"scores.{label}.{dimension[:80]}: is no criterion"
            elif score is not None and score not in values:
                yield f"scores.{label}.{dimension}: must be from {values[0]} to {values[-1]}"
    if not body.done:
        return
    for label in packet.labels:
        row = body.scores.get(label, {})
        for dimension in dimensions:
            if row.get(dimension) is None:
                yield f"scores.{label}.{dimension}: is missing"


def _wrong_answers(study: StudyFile, packet: Packet, body: RatingBody) -> Iterator[str]:
    """What is wrong with the rater's own order and the reasons."""
    places = body.places
    if places and (not study.rank or set(places) != set(packet.labels)):
        yield "places: must be of all responses of this page, or of none"
    elif any(at != 1 + sum(one < at for one in places.values()) for at in places.values()):
        yield "places: must count from 1, equal ones sharing the best"
    for name in body.reasons:
        if name not in study.justify or name == OVERALL:  # whose reason is the comment
            yield f"reasons.{name[:80]}: is not asked for"
    if not body.done:
        return
    if study.rank and not places:
        yield "places: are missing"
    for name in study.justify:
        text = body.comment if name == OVERALL else body.reasons.get(name, "")
        if len(text.strip()) < study.justify_chars:
            yield f"reasons.{name}: must have at least {study.justify_chars} characters"


def _encodable(text: str) -> str:
    """JSON can hold half a surrogate pair; a file cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


GRACE_S = 20.0
"""Seconds after the end of the time in which a last save still counts: the network's, not ours."""

PageState = Literal["done", "started", "new", "later"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a rater stands.

    Attributes:
        states: state of each page, in order.
        session: the sitting that is open, or that comes next.
        opens_in_s: seconds until it opens; 0 where it is open.
        is_finished: whether all pages are done.
    """

    states: tuple[PageState, ...]
    session: int
    opens_in_s: float
    is_finished: bool


def progress(
    study: StudyFile, packets: Sequence[Packet], saved: Mapping[int, SavedPage], now: float
) -> Progress:
    """Returns where a rater stands; `packets` in the rater's order, `saved` by page number."""
    done_at = {
        packet.number: ended(study, saved[packet.number], now)
        for packet in packets
        if packet.number in saved
    }
    session, opens_at = 1, 0.0
    for number in sorted({packet.session for packet in packets}):
        session = number
        ends = [done_at.get(packet.number) for packet in packets if packet.session == number]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            break
        opens_at = max(known) + 60.0 * study.pause_minutes
    is_finished = all(done_at.get(packet.number) is not None for packet in packets)
    waits = max(0.0, opens_at - now) if not is_finished else 0.0
    # A sitting that was begun stays open, whatever becomes of the one before.
    if any(p.session == session and p.number in saved for p in packets):
        waits = 0.0
    states: list[PageState] = []
    for packet in packets:
        if done_at.get(packet.number) is not None:
            states.append("done")
        elif packet.number in saved:
            states.append("started")
        elif packet.session > session or (packet.session == session and waits > 0):
            states.append("later")
        else:
            states.append("new")
    return Progress(tuple(states), session, waits, is_finished)


def seconds_left(study: StudyFile, page: SavedPage, now: float) -> float | None:
    """Returns the time left to write in, at least 0; None where there is no limit or no start."""
    if study.kind != "writing" or not study.minutes or page.opened_at is None:
        return None
    return max(0.0, page.opened_at + 60.0 * study.minutes - now)


def ended(study: StudyFile, page: SavedPage, now: float) -> float | None:
    """Returns when the page was done: by the rater, or because the time was up; None if not yet."""
    if page.done_at is not None:
        return page.done_at
    if seconds_left(study, page, now - GRACE_S) == 0.0 and page.opened_at is not None:
        return page.opened_at + 60.0 * study.minutes
    return None


log = logging.getLogger("areopagus.study")

MOST_BODY_BYTES = 1024 * 1024
RATER = web.RequestKey("rater", str)

ASSETS = {
    "/": ("index.html", "text/html"),
    "/study.css": ("study.css", "text/css"),
    "/study.js": ("study.js", "text/javascript"),
    "/rating.js": ("rating.js", "text/javascript"),
    "/ranking.js": ("ranking.js", "text/javascript"),
    "/answers.js": ("answers.js", "text/javascript"),
    "/labelling.js": ("labelling.js", "text/javascript"),
    "/writing.js": ("writing.js", "text/javascript"),
    "/saving.js": ("saving.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}

T = TypeVar("T")


class StudyApp:
    """The handlers of one study.

    Args:
        folder: the study.
        store: its store.
        clock: seconds since 1970.
    """

    def __init__(
        self, folder: str | Path, store: Store, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.study: StudyFile = read_study(folder)
        self._packets: dict[str, list[Packet]] = {}
        for packet in read_packets(folder):
            self._packets.setdefault(packet.rater, []).append(packet)
        self._rater_of = _read_access(Path(folder) / PACKETS / ACCESS_FILE)
        self._store = store
        self._clock = clock
        # SQLite waits for the disk: one thread of its own, so that nobody else waits with it.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="study-store")
        self._assets = _read_assets()

    def application(self) -> web.Application:
        """Returns the application, to be run on any loop."""
        shown = outermost(
            log,
            unavailable="the ratings cannot be saved just now",
            defect="a defect of the study's server",
            who=lambda request: request.get(RATER, "-"),
        )
        app = web.Application(middlewares=[shown], client_max_size=MOST_BODY_BYTES)
        app.on_response_prepare.append(set_headers)
        for path in self._assets:
            app.router.add_get(path, self._asset)
        app.router.add_get("/api/study", self._overview)
        app.router.add_get("/api/pages/{number}", self._page)
        app.router.add_post("/api/pages/{number}/start", self._start)
        app.router.add_put("/api/pages/{number}", self._save)
        return app

    def close(self) -> None:
        """Waits for the last save and closes the store."""
        self._thread.shutdown(wait=True)
        self._store.close()

    async def _asset(self, request: web.Request) -> web.Response:
        body, content_type = self._assets[request.path]
        return web.Response(body=body, content_type=content_type, charset="utf-8")

    async def _overview(self, request: web.Request) -> web.Response:
        rater = self._rater(request)
        pages = await self._in_thread(self._store.pages, rater)
        return json_answer(self._overview_of(rater, pages))

    async def _page(self, request: web.Request) -> web.Response:
        rater, packet = self._packet(request)
        state = await self._state(rater, packet)
        if self.study.kind == "writing" and state == "new":
            # The question is shown when the clock starts.
            return json_answer(self._page_of(packet, SavedPage(rater, packet.number)))
        opened = await self._in_thread(self._store.open_page, rater, packet.number, self._clock())
        return json_answer(self._page_of(packet, opened))

    async def _start(self, request: web.Request) -> web.Response:
        rater, packet = self._packet(request)
        if self.study.kind != "writing":
            raise web.HTTPNotFound(reason="there is nothing to start")
        await self._state(rater, packet)
        opened = await self._in_thread(self._store.open_page, rater, packet.number, self._clock())
        return json_answer(self._page_of(packet, opened))

    async def _save(self, request: web.Request) -> web.Response:
        rater, packet = self._packet(request)
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(reason="must be application/json")
        await self._state(rater, packet)
        save = read_body(self.study, packet, await body_of(request))
        if isinstance(save, list):
            return json_answer({"error": "the page cannot be saved so", "faults": save[:50]}, 422)
        now = self._clock()
        if self.study.kind == "writing":
            before = await self._in_thread(self._store.page, rater, packet.number)
            if before.opened_at is None:
                return json_answer({"error": "the page was not started"}, 409)
            if before.save_id != save.save_id and ended(self.study, before, now) is not None:
                page = self._page_of(packet, before)
                return json_answer({"error": "the time for this page is over", "page": page}, 409)
        try:
            saved = await self._in_thread(self._store.save, rater, packet.number, save, now)
        except ConflictError as conflict:
            page = self._page_of(packet, conflict.page)
            return json_answer(
                {"error": "the page was changed in another window", "page": page}, 409
            )
        pages = await self._in_thread(self._store.pages, rater)
        return json_answer(
            {
                "revision": saved.revision,
                "done": saved.done_at is not None,
                "study": self._overview_of(rater, pages),
            }
        )

    def _rater(self, request: web.Request) -> str:
        """The code of the rater whose link this is; the same answer for no link and a wrong one."""
        refuse_other_sites(request, "the study's own pages")
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        given = secret_hash(secret.strip())
        found = [
            rater for known, rater in self._rater_of.items() if hmac.compare_digest(known, given)
        ]
        if scheme != "Bearer" or not found:
            raise web.HTTPUnauthorized(reason="this link is not known")
        request[RATER] = found[0]
        return found[0]

    def _packet(self, request: web.Request) -> tuple[str, Packet]:
        rater = self._rater(request)
        text = request.match_info["number"]
        packets = self._packets.get(rater, [])
        for packet in packets:
            if str(packet.number) == text:
                return rater, packet
        raise web.HTTPNotFound(reason="there is no such page")

    async def _state(self, rater: str, packet: Packet) -> PageState:
        """How far the page is; one of a later sitting is refused."""
        pages = await self._in_thread(self._store.pages, rater)
        packets = self._packets[rater]
        found = progress(self.study, packets, {page.number: page for page in pages}, self._clock())
        state = found.states[packets.index(packet)]
        if state == "later":
            raise web.HTTPForbidden(reason="this page opens in a later sitting")
        return state

    def _overview_of(self, rater: str, pages: list[SavedPage]) -> dict[str, Any]:
        packets = self._packets.get(rater, [])
        found = progress(self.study, packets, {page.number: page for page in pages}, self._clock())
        study = self.study
        return {
            "kind": study.kind,
            "title": study.title,
            "instructions": study.instructions,
            "minutes": study.minutes,
            "words": study.words,
            "pause_minutes": study.pause_minutes,
            "rubric": _rubric(study),
            "rank": study.rank,
            "justify": list(study.justify),
            "justify_chars": study.justify_chars,
            "question": study.question,
            "categories": [one.model_dump() for one in study.categories],
            "pages": [
                {"number": packet.number, "session": packet.session, "state": state}
                for packet, state in zip(packets, found.states, strict=True)
            ],
            "session": found.session,
            "opens_in_s": round(found.opens_in_s),
            "is_finished": found.is_finished,
        }

    def _page_of(self, packet: Packet, saved: SavedPage) -> dict[str, Any]:
        now = self._clock()
        is_writing = self.study.kind == "writing"
        left = seconds_left(self.study, saved, now)
        is_started = saved.opened_at is not None
        page: dict[str, Any] = {
            "number": packet.number,
            "revision": saved.revision,
            "done": ended(self.study, saved, now) is not None,
        }
        if is_writing:
            return page | {
                "started": is_started,
                "prompt": packet.prompt if is_started else None,
                "text": saved.text,
                "seconds_left": None if left is None else round(left, 1),
            }
        if self.study.kind == "labelling":
            return page | {
                "prompt": packet.prompt,
                "label": saved.labels.get(self.study.criterion),
                "comment": saved.comment,
                "feedback": saved.feedback,
            }
        return page | {
            "prompt": packet.prompt,
            "responses": [{"label": one.label, "text": one.text} for one in packet.responses],
            "scores": {label: saved.scores.get(label, {}) for label in packet.labels},
            "comment": saved.comment,
            "places": dict(sorted(saved.places.items())),
            "reasons": {
                name: saved.reasons.get(name, "") for name in self.study.justify if name != OVERALL
            },
            "feedback": saved.feedback,
        }

    async def _in_thread(self, function: Callable[..., T], *given: Any) -> T:
        # A save goes on to its end also where the browser has gone meanwhile.
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, function, *given))


def open_app(
    folder: str | Path,
    *,
    store: str | Path | None = None,
    clock: Callable[[], float] = time.time,
) -> StudyApp:
    """Returns the application of a study.

    Args:
        folder: the study; only its packets folder is read.
        store: the file of saves; by default `ratings.sqlite` in the folder.
        clock: seconds since 1970.

    Raises:
        InputError: the folder is no study, or the store is of another one.
        StoreError: the store cannot be written.
    """
    study = read_study(folder)
    path = Path(store) if store is not None else Path(folder) / STORE_FILE
    return StudyApp(folder, Store(path, study.study_id), clock=clock)


def _rubric(study: StudyFile) -> dict[str, Any] | None:
    rubric = study.rubric
    if rubric is None:
        return None

    def anchors(found: Mapping[int, str]) -> list[dict[str, Any]]:
        return [{"score": score, "text": found[score]} for score in sorted(found)]

    return {
        "label": rubric.label,
        "purpose": rubric.purpose,
        "low": rubric.scale.low,
        "high": rubric.scale.high,
        "anchors": anchors(rubric.anchors),
        "dimensions": [
            {
                "id": one.id,
                "label": one.label,
                "definition": one.definition,
                "question": one.question,
                "anchors": anchors(one.anchors),
            }
            for one in rubric.dimensions
        ],
    }


def _read_access(file: Path) -> dict[str, str]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        found = {str(known): str(rater) for rater, known in content.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
    if not found:
        raise InputError([InputFault(str(file), "names nobody")])
    return found


def _read_assets() -> dict[str, tuple[bytes, str]]:
    folder = resources.files(__name__.rpartition(".")[0]).joinpath("web")
    return {
        path: (folder.joinpath(name).read_bytes(), content_type)
        for path, (name, content_type) in ASSETS.items()
    }
