"""The web application of a view: the list, the pages, and what has changed.

Everything is read, nothing is written. Addresses begin with a secret made for this process; runs
are named by ids that this process gave, so that no address can name a file.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from ..reports.html import page_policy
from ..web_server import json_answer, only_from_here, outermost, set_headers
from .index import index_page, index_script, index_style
from .listing import ListedRun, Listing
from .pages import Pages

log = logging.getLogger("areopagus.view")

T = TypeVar("T")


class ViewApp:
    """The handlers of one folder's view.

    Attributes:
        secret: the first part of every address.
    """

    def __init__(self, folder: str | Path) -> None:
        """Takes the folder of runs.

        Raises:
            InputError: there is no such folder.
        """
        self.listing = Listing(folder)
        self.secret = secrets.token_urlsafe(24)
        self._cache = tempfile.TemporaryDirectory(prefix="areopagus-view-")
        self._pages = Pages(self.listing, Path(self._cache.name))
        # One thread looks at the folder, one reads figures and draws: a page that takes seconds
        # keeps nobody from the list.
        self._looking = ThreadPoolExecutor(max_workers=1, thread_name_prefix="view-list")
        self._making = ThreadPoolExecutor(max_workers=1, thread_name_prefix="view-pages")
        self._reading: asyncio.Task[None] | None = None

    def application(self) -> web.Application:
        """Returns the application, to be run on any loop."""
        shown = outermost(
            log,
            unavailable="the folder cannot be read just now",
            defect="a defect of the view's server",
        )
        app = web.Application(middlewares=[shown, only_from_here])
        app.on_response_prepare.append(set_headers)
        # Browsers ask for it at the root; there is none.
        app.router.add_get("/favicon.ico", _nothing)
        for path, handler in {
            "": self._index,
            "index.html": self._index,
            "view.css": self._style,
            "view.js": self._script,
            "api/runs": self._runs,
            "runs/{run}.html": self._run,
            "compare/{first}-{second}.html": self._comparison,
        }.items():
            app.router.add_get(f"/{{secret}}/{path}", self._secretly(handler))
        return app

    def close(self) -> None:
        """Ends the threads and removes the pages that were made."""
        for pool in (self._looking, self._making):
            pool.shutdown(wait=True, cancel_futures=True)
        self._cache.cleanup()

    def _secretly(self, handler: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
        async def answered(request: web.Request) -> web.StreamResponse:
            given = request.match_info["secret"].encode("utf-8", "replace")
            if not hmac.compare_digest(given, self.secret.encode()):
                raise web.HTTPNotFound(reason="there is no such page")
            response: web.StreamResponse = await handler(request)
            return response

        return answered

    async def _index(self, _request: web.Request) -> web.Response:
        return web.Response(text=index_page(), content_type="text/html")

    async def _style(self, _request: web.Request) -> web.Response:
        return web.Response(text=index_style(), content_type="text/css")

    async def _script(self, _request: web.Request) -> web.Response:
        return web.Response(text=index_script(), content_type="text/javascript")

    async def _runs(self, request: web.Request) -> web.Response:
        """The list where it differs from the one that the page has; else only that it does not."""
        await self._in(self._looking, self.listing.refresh)
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        version = await self._in(self._looking, lambda: self.listing.version)
        if request.query.get("seen") == version:
            return json_answer({"version": version})
        runs = [run.to_json() for run in self.listing.runs]
        return json_answer({"version": version, "notice": self.listing.notice, "runs": runs})

    async def _read(self) -> None:
        """Reads figures, run by run, so that a page that is asked for comes in between."""
        while await self._in(self._making, self.listing.read_next):
            pass

    async def _run(self, request: web.Request) -> web.StreamResponse:
        run = await self._wanted(request.match_info["run"])
        return _page(await self._in(self._making, self._pages.of_run, run))

    async def _comparison(self, request: web.Request) -> web.StreamResponse:
        first = await self._wanted(request.match_info["first"])
        second = await self._wanted(request.match_info["second"])
        if not (first.is_comparable and second.is_comparable and first.kind == second.kind):
            raise web.HTTPNotFound(reason="two runs of one kind, with figures, are compared")
        return _page(await self._in(self._making, self._pages.of_comparison, first, second))

    async def _wanted(self, run_id: str) -> ListedRun:
        await self._in(self._looking, self.listing.refresh)
        run = self.listing.find(run_id)
        if run is None or not run.has_page:
            raise web.HTTPNotFound(reason="there is no such page")
        return run

    async def _in(self, pool: ThreadPoolExecutor, function: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *given)


async def _nothing(_request: web.Request) -> web.Response:
    return web.Response(status=204)


def _page(path: Path) -> web.Response:
    response = web.Response(body=path.read_bytes(), content_type="text/html", charset="utf-8")
    policy = f"{page_policy()}; frame-ancestors 'none'"
    response.headers["Content-Security-Policy"] = policy
    return response
