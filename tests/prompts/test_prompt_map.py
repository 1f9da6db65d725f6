"""The map: vectors through the ledger, projection, hulls, against an embedder on loopback."""

from __future__ import annotations

import csv
import json
import math
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from prompt_world import MODELS, PromptWorld, draw, model

from areopagus.aggregation.estimate import Estimate
from areopagus.errors import InputError
from areopagus.prompts import PromptJob, construct_prompts
from areopagus.prompts.embedding import packed, unpacked
from areopagus.prompts.map import Embedded, hull_area, laid_out, map_estimates, projected
from areopagus.records.estimates import estimates_by, select
from areopagus.testing import ProviderServer


class Embedder:
    """An endpoint that speaks OpenAI's protocol of embeddings."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.broken = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = body["input"][0] if isinstance(body["input"], list) else body["input"]
                outer.texts.append(text)
                vector = [draw(text, k) % 1000 / 1000 - 0.5 for k in range(6)]
                answer: dict[str, Any] = {
                    "object": "list",
                    "model": body["model"],
                    "data": [{"object": "embedding", "index": 0, "embedding": vector}],
                    "usage": {"prompt_tokens": 7, "total_tokens": 7},
                }
                status = 500 if outer.broken else 200
                sent = json.dumps(answer if status == 200 else {"error": {"message": "no"}})
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent.encode())

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def settings(self, **more: Any) -> dict[str, Any]:
        return {
            "model": "openai/embedder", "api_base": self.base, "max_attempts": 1, **more,
        }  # fmt: skip


@pytest.fixture
def embedder() -> Iterator[Embedder]:
    made = Embedder()
    yield made
    made.server.shutdown()
    made.server.server_close()


def areas(frame: pd.DataFrame) -> dict[str | None, dict[str, Estimate]]:
    """Generator to its figures on the map."""
    rows = select(frame, "map")
    found = estimates_by(rows[rows["respondent"].notna()], ["respondent"])
    return {keys["respondent"]: measures for keys, measures in found}


@pytest.mark.report
def test_the_map_is_drawn_and_a_rerun_embeds_nothing(embedder: Embedder, tmp_path: Path) -> None:
    world = PromptWorld(n=2)
    with ProviderServer(world) as server:
        options: dict[str, Any] = {
            "models": [model(server, name) for name in MODELS],
            "embedding": embedder.settings(prices={"input": 1.0, "output": 0.0}),
            "diversity_of": "none",
            "ledger": tmp_path / "l.sqlite",
            "out": tmp_path / "run",
        }
        job = PromptJob(world.scenarios(), **options)
        planned = {item.stage: item.calls for item in job.estimate().stages}
        run = construct_prompts(world.scenarios(), **options)
        assert planned["embed"] == len(embedder.texts) == 2 + 30
        stage = run.record["stages"]["embed"]
        assert (stage["texts"], stage["embedded"], stage["failed"]) == (32, 32, 0)
        # 32 texts of 7 tokens at a dollar a million, and votes at unknown prices.
        assert run.record["sessions"][-1]["spent_usd"] == pytest.approx(32 * 7e-6)
        construct_prompts(world.scenarios(), **options)
        assert len(embedder.texts) == 32
    with (run.path / "map.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 32
    hulls = areas(run.estimates)
    assert list(hulls) == list(MODELS)
    assert max(one["normalised_area"].value for one in hulls.values()) == 1.0
    assert {one["prompts"].value for one in hulls.values()} == {10}
    drawing = (run.path / "figures" / "map.svg").read_text(encoding="utf-8")
    assert "in s" in drawing, "the angles of the prompts farthest out"
    assert "32 of 32 texts embedded by openai/embedder" in run.text
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "Map of the prompts" in page
    assert 'aria-label="Where the prompts lie' in page


def test_an_embedder_that_fails_leaves_the_prompt_set_standing(
    embedder: Embedder, tmp_path: Path
) -> None:
    embedder.broken = True
    world = PromptWorld(n=1)
    with ProviderServer(world) as server:
        run = construct_prompts(
            world.scenarios(),
            models=[model(server, name) for name in MODELS],
            embedding=embedder.settings(),
            diversity_of="none",
            ledger=tmp_path / "l.sqlite",
            out=tmp_path / "run",
        )
    stage = run.record["stages"]["embed"]
    assert (stage["embedded"], stage["failed"]) == (0, 16)
    assert len(embedder.texts) == 16, "litellm sends nothing again by itself"
    assert run.exit_code == 3
    assert len(run.prompts_path.read_text().splitlines()) == 16


def test_without_an_embedding_model_there_is_no_map(tmp_path: Path) -> None:
    rows = PromptWorld(n=1).scenarios()
    run = construct_prompts(rows, ledger=tmp_path / "l.sqlite", out=tmp_path / "run")
    assert not list(run.path.glob("map*"))
    assert "left out: no embedding model is named" in run.text
    assert select(run.estimates, "map").empty
    with pytest.raises(InputError, match="none of them embeds"):
        PromptJob(rows, embedding="offline/lexical")


def test_vectors_survive_the_ledger() -> None:
    vector = np.array([0.1, -2.5, 3e-7], dtype=np.float32)
    assert np.array_equal(unpacked(packed(vector)), vector)


def test_the_projection_is_that_of_the_two_largest_components() -> None:
    rng = np.random.default_rng(2)
    cloud = rng.normal(size=(40, 5)) * [3.0, 2.0, 0.3, 0.2, 0.1]
    points, share = projected(cloud)
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    values = np.sort(np.linalg.eigvalsh(np.cov(units.T, bias=True)))[::-1]
    assert points.var(axis=0) == pytest.approx(values[:2])
    assert share == pytest.approx(values[:2].sum() / values.sum())
    # Neither order nor the length of the vectors counts.
    turned, _ = projected(cloud[::-1] * 7)
    assert turned[::-1] == pytest.approx(points)


def test_umap_is_asked_for_cosines_and_a_seed_and_refused_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[dict[str, Any]] = []

    class Reducer:
        def __init__(self, **settings: Any) -> None:
            seen.append(settings)

        def fit_transform(self, vectors: Any) -> Any:
            return vectors[:, :2]

    cloud = np.random.default_rng(1).normal(size=(30, 4))
    named: dict[str, Any] = {"embedding": "openai/embedder", "projection": "umap"}
    monkeypatch.setattr("areopagus.prompts.map.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install umap-learn"):
        PromptJob(PromptWorld(n=1).scenarios(), **named, out=tmp_path / "run")
    module = ModuleType("umap")
    module.UMAP = Reducer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "umap", module)
    points, share = laid_out(cloud, "umap", seed=7)
    assert np.array_equal(points, cloud[:, :2])
    assert math.isnan(share)
    assert (seen[0]["metric"], seen[0]["random_state"], seen[0]["n_neighbors"]) == ("cosine", 7, 15)
    # Four texts make no graph: the components serve.
    assert laid_out(cloud[:4], "umap", seed=7)[0] == pytest.approx(projected(cloud[:4])[0])
    assert len(seen) == 1


def test_hulls_of_known_figures() -> None:
    square = np.array([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]], dtype=float)
    assert hull_area(square) == pytest.approx(4.0)
    assert hull_area(square[[0, 4, 2]]) == 0.0, "on a line"
    assert math.isnan(hull_area(square[:2]))
    placed = [
        (Embedded(f"p{i}", "s", "bbq", "ab"[i % 2], ""), vector)
        for i, vector in enumerate(np.random.default_rng(0).normal(size=(12, 4)))
    ]
    _, found = map_estimates(placed)
    by_name = areas(found.frame())
    largest = max(one["area"].value for one in by_name.values())
    for one in by_name.values():
        assert one["normalised_area"].value == pytest.approx(one["area"].value / largest)
    same = [(item, np.ones(4)) for item, _ in placed]
    _, flat = map_estimates(same)
    assert not any(one["normalised_area"].is_defined for one in areas(flat.frame()).values())
    assert "variance_share" not in set(flat.frame()["measure"])
