"""Attacks on the blinding: everything a rater can get hold of, searched for who wrote what."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import pytest
from study_data import secrets_of, study_rows, truth_of

from areopagus.study import (
    BuiltStudy,
    Packet,
    RatingSettings,
    StudyApp,
    build_study,
    open_app,
    read_packets,
)
from areopagus.study.serving import run_app
from areopagus.web_server import Address

SWAPPED = {"human": "model", "model": "human"}


MOST_APART = 1.5
"""Ratio of median times of two kinds of pages, far above what a reader of 1 ms could use."""


@contextlib.asynccontextmanager
async def served(folder: Path) -> AsyncIterator[str]:
    """The address of a running server of the study."""
    stop = asyncio.Event()
    known: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        run_app(open_app(folder), host="127.0.0.1", port=0, started=known.set_result, stop=stop)
    )
    try:
        yield (await known).url
    finally:
        stop.set()
        await running


async def everything(folder: Path) -> dict[str, list[tuple[str, dict[str, str], bytes]]]:
    """Every answer that each rater can get, with its headers, over a real socket."""
    found: dict[str, list[tuple[str, dict[str, str], bytes]]] = {}
    paths = ["/", "/study.js", "/rating.js", "/saving.js", "/writing.js", "/study.css", "/icon.svg",
             "/api/study", *(f"/api/pages/{n}" for n in range(1, 10)), "/nowhere"]  # fmt: skip
    async with served(folder) as url, aiohttp.ClientSession() as client:
        for name, secret in secrets_of(folder.parent / "away").items():
            headers = {"Authorization": f"Bearer {secret}"}
            for path in paths:
                async with client.get(url + path, headers=headers) as answer:
                    body = await answer.read()
                    found.setdefault(name, []).append((path, dict(answer.headers), body))
    return found


def served_only(built: BuiltStudy) -> Path:
    """The study as a serving machine has it; the organiser's folder stands in `away`."""
    away = built.folder.parent / "away"
    shutil.copytree(built.folder / "organiser", away / "organiser")
    shutil.rmtree(built.folder / "organiser")
    return built.folder


async def test_no_answer_names_anything_of_the_organisers(
    tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    built = build_study([rows], raters=["ada.lovelace@example.org", "bob"], out=tmp_path / "s",
                        all_models=["p7"], settings=RatingSettings(pause_minutes=0, per_session=9),
                        seed=987654321)  # fmt: skip
    folder = served_only(built)
    words = {row[name] for row in rows for name in ("response_id", "respondent_id", "prompt_id")}
    words |= {
        "ada.lovelace", "bob", "rater-", "r01", "r02", "quality_floor", "all_models", "item_type",
        "987654321", "response_id", "respondent", "domain", "duty", 'care"',
    }  # fmt: skip
    for name, answers in (await everything(folder)).items():
        for path, headers, body in answers:
            text = body.decode() + repr(headers)
            if path.endswith((".js", ".css")):
                continue  # the same for everybody: see below
            for word in words:
                pattern = rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])"
                assert not re.search(pattern, text), (name, path, word)


def skeleton(value: Any) -> Any:
    """The shape of a JSON value: keys in their order, and types."""
    if isinstance(value, dict):
        return [(name, skeleton(inner)) for name, inner in value.items()]
    if isinstance(value, list):
        return [skeleton(inner) for inner in value]
    return type(value).__name__


def even_study(tmp_path: Path) -> BuiltStudy:
    """A study of all kinds of items whose texts have one length, in one sitting."""
    rows = [
        {**row, "response_text": f"View {number:03d} of what is owed to those who live next door."}
        for number, row in enumerate(study_rows())
    ]
    settings = RatingSettings(pause_minutes=0, per_session=9)
    return build_study([rows], raters=3, out=tmp_path / "s", all_models=["p7"], settings=settings,
                       seed=8)  # fmt: skip


def kinds_of(built: BuiltStudy) -> dict[tuple[str, int], str]:
    """Code and page to the kind of item there; all kinds are among them."""
    kinds = {at[:2]: row["item_type"] for at, row in truth_of(built.folder).items()}
    assert set(kinds.values()) == {"standard", "quality_floor", "all_models"}
    return kinds


async def test_every_page_has_one_shape_and_size_and_files_are_the_same_for_everybody(
    tmp_path: Path,
) -> None:
    """Whoever sees nothing but traffic learns no more: sizes and headers are those of any page."""
    built = even_study(tmp_path)
    kinds = kinds_of(built)
    files, pages, seen = set(), set(), set()
    for name, answers in (await everything(served_only(built))).items():
        files.add(tuple((path, body) for path, _, body in answers if not path.startswith("/api")))
        for path, headers, body in answers:
            number = int(path.rpartition("/")[2]) if path.startswith("/api/pages/") else 9
            if number == 9:  # there is none
                continue
            page = json.loads(body)
            seen.add(kinds[f"r{name[-2:]}", number])
            fixed = tuple((key, value) for key, value in headers.items() if key != "Date")
            pages.add((repr(skeleton(page)), len(body), fixed))
            assert [one["label"] for one in page["responses"]] == list("ABCDEF")
            assert all(set(one) == {"label", "text"} for one in page["responses"])
            assert len(body) == int(headers["Content-Length"])
    assert seen == set(kinds.values())
    assert len(files) == len(pages) == 1


async def times_by_kind(
    url: str, secrets: dict[str, str], kinds: dict[tuple[str, int], str], rounds: int
) -> dict[str, list[float]]:
    """Seconds until a page is there, by the kind of its item, all kinds in turn."""
    times: dict[str, list[float]] = {}
    pages = sorted(kinds)
    rng = random.Random(0)
    async with aiohttp.ClientSession() as client:
        for number in range(rounds):
            rng.shuffle(pages)  # no kind always comes after the same other
            for code, page in pages:
                headers = {"Authorization": f"Bearer {secrets[f'rater-{code[1:]}']}"}
                began = time.perf_counter()
                async with client.get(f"{url}/api/pages/{page}", headers=headers) as answer:
                    await answer.read()
                    assert answer.status == 200
                if number:  # the first opens the page, which writes
                    times.setdefault(kinds[code, page], []).append(time.perf_counter() - began)
    return times


def apart(times: dict[str, list[float]]) -> float:
    medians = [median(one) for one in times.values()]
    return max(medians) / min(medians)


async def test_the_time_an_answer_takes_does_not_tell_the_kind_of_an_item(tmp_path: Path) -> None:
    """Medians of pages asked for in turn; a busy machine is given two more tries."""
    built = even_study(tmp_path)
    kinds = kinds_of(built)
    secrets = secrets_of(built.folder)
    ratios: list[float] = []
    async with served(served_only(built)) as url:
        while len(ratios) < 3 and min(ratios, default=MOST_APART) >= MOST_APART:
            ratios.append(apart(await times_by_kind(url, secrets, kinds, rounds=13)))
    assert min(ratios) < MOST_APART, ratios


async def test_a_kind_that_took_longer_would_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: a server that looks up a weak response for 100 ms."""
    built = even_study(tmp_path)
    kinds = kinds_of(built)
    page_of = StudyApp._page_of

    def slower(app: StudyApp, packet: Packet, saved: Any) -> dict[str, Any]:
        if kinds[packet.rater, packet.number] == "quality_floor":
            time.sleep(0.1)
        return page_of(app, packet, saved)

    monkeypatch.setattr(StudyApp, "_page_of", slower)
    secrets = secrets_of(built.folder)
    async with served(served_only(built)) as url:
        assert apart(await times_by_kind(url, secrets, kinds, rounds=3)) >= MOST_APART


async def test_who_wrote_what_has_no_part_in_what_is_served(tmp_path: Path) -> None:
    """Non-interference: the same texts, people and models exchanged, are served byte for byte.

    With as many responses as a page shows nothing is chosen; all that is left for the source to
    change is letters, order, ids, forms and headers, and it changes none of them.
    """
    rows = study_rows(prompts=4, humans=3, models=3, calibration=False)
    swapped = [{**row, "source": SWAPPED[row["source"]]} for row in rows]
    answers = []
    for name, given in (("one", rows), ("two", swapped)):
        built = build_study([given], raters=3, out=tmp_path / name / "s", seed=5)
        folder = served_only(built)
        assert read_packets(folder)
        found = await everything(folder)
        answers.append(
            {
                rater: [
                    (path, {k: v for k, v in headers.items() if k != "Date"}, body)
                    for path, headers, body in mine
                ]
                for rater, mine in found.items()
            }
        )
    assert answers[0] == answers[1]


def test_two_raters_cannot_tell_a_response_by_its_letter(built: BuiltStudy) -> None:
    truth = truth_of(built.folder)
    by_response: dict[str, list[str]] = {}
    for (_, _, label), row in truth.items():
        by_response.setdefault(row["response_id"], []).append(label)
    often = [letters for letters in by_response.values() if len(letters) >= 4]
    assert sum(len(set(letters)) == 1 for letters in often) == 0


def test_calibration_items_have_no_place_of_their_own(
    tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    """Over 80 raters they stand on each of 8 pages 10 times, give or take 4 SD (3.0 each)."""
    built = build_study([rows], raters=80, out=tmp_path / "s", all_models=["p7"], seed=1,
                        settings=RatingSettings(per_prompt=80))  # fmt: skip
    truth = truth_of(built.folder)
    for hidden in ("quality_floor", "all_models"):
        numbers = [number for (_, number, label), row in truth.items()
                   if label == "A" and row["item_type"] == hidden]  # fmt: skip
        assert len(numbers) == 80
        assert all(abs(numbers.count(place) - 10) < 12 for place in range(1, 9))
