"""Run folders for the tests of reports: small ones with every outcome, and a very large one."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from areopagus.records.run_folder import RUN_FORMAT, RunFolder
from areopagus.records.tables import (
    TEXT_COLUMNS,
    TEXTS_FILE,
    RunTables,
    judgment_schema,
    score_header,
)
from areopagus.records.types import STATUSES, Judgment, Verdict, count_statuses

CRITERIA = ("conceptual_clarity", "evidential_grounding")
PERSONAS = {"historian": "disciplinary", "ethicist": "disciplinary", "libertarian": "ideological"}
MODELS = ("openai/one", "ollama_chat/two")
HOSTILE = (
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(2)>",
    "</title></table>{{ 7 * 7 }}{% for %}",
    '" onmouseover="alert(3)',
    "evil\u202egnp.exe",
    "zero\u200bwidth\x07bell\nline",
    "i" * 300,
)


def judgment(response: str, prompt: str, respondent: str, **changes: Any) -> Judgment:
    plain = Judgment(
        response_id=response,
        prompt_id=prompt,
        respondent_id=respondent,
        persona="historian",
        axis="disciplinary",
        model=MODELS[0],
        repeat=0,
        status="scored",
        scores=dict.fromkeys(CRITERIA, 5.0),
        calls=1,
        cost_usd=0.001,
    )
    return replace(plain, **changes)


def unscored(given: Judgment, status: Any, reason: str) -> Judgment:
    return replace(given, status=status, reason=reason, scores={}, cost_usd=None)


def verdict(judgments: Sequence[Judgment], **changes: Any) -> Verdict:
    """A verdict with the means of its judgments; intervals stand in as mean ± 1."""
    scored = [j for j in judgments if j.status == "scored"]
    enough = 3 * len(scored) >= 2 * len(judgments)
    means = {
        name: sum(j.scores[name] for j in scored) / len(scored) if enough else None
        for name in CRITERIA
    }
    known = [value for value in means.values() if value is not None]
    composite = sum(known) / len(known) if known else None
    first = judgments[0]
    plain = Verdict(
        response_id=first.response_id,
        prompt_id=first.prompt_id,
        respondent_id=first.respondent_id,
        status="scored" if enough else "inconclusive",
        reason=None if enough else "below the quorum",
        composite=composite,
        dimensions=means,
        interval=None if composite is None else (composite - 1, composite + 1),
        interval_method="personas and models as random facets",
        interval_reason=None if enough else "below the quorum",
        dimension_intervals=dict.fromkeys(CRITERIA),
        median=composite,
        trimmed_mean=composite,
        sd=0.5 if enough else None,
        by_persona={},
        by_model={},
        by_axis={"disciplinary": composite, "ideological": composite},
        disagreement="low" if enough else "undefined",
        share_abstained=0.0,
        n_scored=len(scored),
        n_planned=len(judgments),
        counts=count_statuses(tuple(judgments)),
        judgments=tuple(judgments),
    )
    return replace(plain, **changes)


def panel_votes(response: str, prompt: str, respondent: str, level: float) -> list[Judgment]:
    """Every persona on every model; the second model is one point milder."""
    return [
        judgment(
            response,
            prompt,
            respondent,
            persona=persona,
            axis=axis,
            model=model,
            scores={"conceptual_clarity": level + milder, "evidential_grounding": level},
        )
        for milder, model in enumerate(MODELS)
        for persona, axis in PERSONAS.items()
    ]


def respondent(name: str, **changes: Any) -> dict[str, Any]:
    plain = {
        "respondent_id": name,
        "n_responses": 8,
        "n_scored": 8,
        "n_prompts": 8,
        "composite": 6.25,
        "interval": [5.5, 7.0],
        "unit": "prompt",
        "method": "t interval over prompt means, 95%",
        "reason": None,
        "dimensions": dict(zip(CRITERIA, ([6.5, 5.75, 7.25], [6.0, None, None]), strict=False)),
    }
    return plain | changes


def record(counted: Mapping[str, int], **changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "format": RUN_FORMAT,
        "kind": "panel",
        "state": "complete",
        "demonstration": False,
        "identity": {
            "rubric": {"id": "critical_thinking", "sha256": "ab" * 32},
            "personas": dict.fromkeys(PERSONAS, "cd" * 32),
            "models": {
                name: {"model": name, "api_base": None, "score_mode": "integer"} for name in MODELS
            },
            "mode": "dimensions",
            "order": "response_first",
            "rationale": "none",
            "anchors": True,
            "repeats": 1,
            "template": {"id": "areopagus_v2", "version": "2"},
            "criteria": list(CRITERIA),
            "scale": [1, 10],
        },
        "versions": {"areopagus": "0.1.0"},
        "source": "/home/somebody/secret-folder/responses.csv",
        "notices": [],
        "responses": {"n": 8, "prompts": 8, "respondents": 1},
        "panel": {
            "personas": [
                {"id": name, "label": name.title(), "axis": axis, "version": "1"}
                for name, axis in PERSONAS.items()
            ],
            "rubric": {"id": "critical_thinking", "label": "Critical thinking"},
            "quorum": 2 / 3,
            "models": [
                {
                    "name": name,
                    "requested": {"max_tokens": 2048, "temperature": 0.0},
                    "effective": {"max_completion_tokens": 2048},
                    "structured": "json_schema",
                }
                for name in MODELS
            ],
        },
        "ledger": "/home/somebody/secret-folder/ledger.sqlite",
        "n_planned": sum(counted.values()),
        "counts": dict(counted),
        "verdicts": {},
        "faults": {},
        "flags": {},
        "cost": {"replies_usd": 0.048, "judgments_with_unknown_price": 0, "note": ""},
        "respondents": [respondent("model-a")],
        "total": respondent("run"),
        "sessions": [
            {
                "started": "2026-01-02T03:04:05+00:00",
                "ended": "2026-01-02T03:05:05+00:00",
                "state": "complete",
                "calls": {"sent": 48, "from_ledger": 0, "failed": 0},
                "spent_usd": 0.048,
                "possibly_spent_usd": 0.0,
                "calls_with_unknown_price": 0,
                "max_cost_usd": None,
            }
        ],
    }
    return plain | changes


def make_run(path: Path, verdicts: Sequence[Verdict], **changes: Any) -> Path:
    folder = RunFolder.open(path, {})
    try:
        counts = dict.fromkeys(STATUSES, 0)
        with RunTables(
            path,
            criteria=CRITERIA,
            personas=list(PERSONAS),
            models=MODELS,
            axes=sorted(set(PERSONAS.values())),
        ) as tables:
            for item in verdicts:
                tables.add(item, "", "")
                for status, number in item.counts.items():
                    counts[status] += number
        (path / TEXTS_FILE).unlink()  # see `write_texts`
        folder.write_run_file(record(counts, **changes))
    finally:
        folder.close()
    return path


def plain_verdicts(n: int) -> Iterator[Verdict]:
    for k in range(n):
        yield verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3))


def hostile_verdicts() -> list[Verdict]:
    """Everything that a model or a user can name holds an attack."""
    verdicts = []
    for k, text in enumerate(HOSTILE):
        votes = panel_votes(f"{k} {text}", text, text, 5)
        votes[0] = replace(votes[0], rationale=text)
        votes[1] = unscored(votes[1], "failed", text)
        verdicts.append(verdict(votes, flags=("bidi_controls", f"x{text}".split()[0])))
    asked_of = panel_votes("unsure", "p", "model-a", 5)
    few = [unscored(vote, "unreadable", "not_json") for vote in asked_of]
    verdicts.append(verdict(few, reason=HOSTILE[0]))
    none = [unscored(vote, "not_asked", "screened") for vote in asked_of]
    screened = [replace(vote, response_id="blank") for vote in none]
    verdicts.append(
        verdict(screened, status="screened", reason="no_letters", flags=("no_letters",))
    )
    return verdicts


def write_texts(path: Path, texts: Mapping[str, tuple[str, str]]) -> None:
    """texts.parquet from response id to (prompt, response)."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = [(name, *both) for name, both in texts.items()]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    parquet.write_table(pa.table(columns, names=TEXT_COLUMNS), path / TEXTS_FILE)


def make_large_run(path: Path, *, n_responses: int, n_personas: int, n_models: int) -> Path:
    """A run folder written at once: five criteria, texts of some 2,000 characters."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(20)
    criteria = [f"criterion_{k}" for k in range(5)]
    personas = [f"persona_{k}" for k in range(n_personas)]
    models = [f"provider/model-{k}" for k in range(n_models)]
    axis = ["disciplinary" if k < n_personas / 2 else "ideological" for k in range(n_personas)]
    each = n_personas * n_models
    n = n_responses * each
    level = rng.normal(6, 1.5, n_responses)
    votes = np.clip(np.rint(np.repeat(level, each)[:, None] + rng.normal(0, 1.2, (n, 5))), 1, 10)
    ids = [f"response-{k:05d}" for k in range(n_responses)]
    prompts = [f"prompt-{k // 5:04d}" for k in range(n_responses)]
    who = [f"respondent-{k % 5}" for k in range(n_responses)]
    path.mkdir()
    columns: dict[str, Any] = {
        "response_id": np.repeat(ids, each),
        "prompt_id": np.repeat(prompts, each),
        "respondent_id": np.repeat(who, each),
        "persona": np.tile(np.repeat(personas, n_models), n_responses),
        "axis": np.tile(np.repeat(axis, n_models), n_responses),
        "model": np.tile(models, n_responses * n_personas),
        "repeat": np.zeros(n, dtype=np.int64),
        "status": ["scored"] * n,
        "repaired": [False] * n,
        **{name: votes[:, k] for k, name in enumerate(criteria)},
    }
    schema = judgment_schema(criteria)
    arrays = [columns.get(name, [None] * n) for name in schema.names]
    parquet.write_table(
        pa.table(dict(zip(schema.names, arrays, strict=True)), schema=schema),
        path / "judgments.parquet",
        compression="zstd",
    )
    composites = votes.mean(axis=1).reshape(n_responses, each)
    header = score_header(criteria, personas, models, ["disciplinary", "ideological"])
    with (path / "scores.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, header, restval="")
        writer.writeheader()
        for k in range(n_responses):
            mean, sd = composites[k].mean(), composites[k].std(ddof=1)
            row: dict[str, Any] = {
                "response_id": ids[k],
                "prompt_id": prompts[k],
                "respondent_id": who[k],
                "status": "scored",
                "n_scored": each,
                "n_planned": each,
                "composite": f"{mean:.4f}",
                "composite_low": f"{mean - sd:.4f}",
                "composite_high": f"{mean + sd:.4f}",
                "interval_method": "personas and models as random facets",
                "median": f"{mean:.4f}",
                "trimmed_mean": f"{mean:.4f}",
                "sd": f"{sd:.4f}",
                "disagreement": ("low", "moderate", "split")[k % 3],
                "axis_disciplinary": f"{mean + 0.2:.4f}",
                "axis_ideological": f"{mean - 0.2:.4f}",
            }
            by_criterion = votes[k * each : (k + 1) * each].mean(axis=0)
            row |= {name: f"{by_criterion[c]:.4f}" for c, name in enumerate(criteria)}
            writer.writerow(row)
    # Words drawn at random pack worse than anybody's prose.
    words = np.array(["".join(chr(97 + c) for c in rng.integers(0, 26, 6)) for _ in range(4000)])
    drawn = words[rng.integers(0, len(words), (n_responses, 285))]
    texts = {
        ids[k]: (f"What is to be said of {prompts[k]}?", " ".join(drawn[k]))
        for k in range(n_responses)
    }
    write_texts(path, texts)
    counts = dict.fromkeys(STATUSES, 0) | {"scored": n}
    means = {name: [6.0, 5.5, 6.5] for name in criteria}
    content = record(counts)
    content["identity"] |= {
        "criteria": criteria,
        "personas": dict.fromkeys(personas, "cd" * 32),
        "models": {name: {"model": name} for name in models},
    }
    content["panel"] |= {
        "personas": [
            {"id": name, "label": name.title(), "axis": side, "version": "1"}
            for name, side in zip(personas, axis, strict=True)
        ],
        "models": [
            {"name": name, "requested": {}, "effective": {}, "structured": "none"}
            for name in models
        ],
    }
    content["responses"] = {"n": n_responses, "prompts": n_responses // 5, "respondents": 5}
    content["respondents"] = [respondent(f"respondent-{k}", dimensions=means) for k in range(5)]
    content["total"] = respondent("run", dimensions=means)
    (path / "run.json").write_text(json.dumps(content), encoding="utf-8")
    return path


def make_hostile_run(path: Path) -> Path:
    """Everything that a model or a user can name or write holds an attack."""
    verdicts = hostile_verdicts()
    run = make_run(
        path,
        verdicts,
        demonstration=True,
        source=HOSTILE[1],
        notices=[HOSTILE[0], HOSTILE[4]],
        respondents=[
            respondent(HOSTILE[0]),
            respondent(HOSTILE[1], interval=None, reason="fewer than 6 prompts"),
            respondent(HOSTILE[4]),
            respondent(HOSTILE[6]),
            respondent("nobody", composite=None, interval=None, reason=HOSTILE[2], n_scored=0)
            | {"dimensions": {name: [None, None, None] for name in CRITERIA}},
        ],
        cost={"replies_usd": 0.0, "judgments_with_unknown_price": 6, "note": ""},
    )
    write_texts(
        run,
        {
            item.response_id: (f"asked: {item.prompt_id}", "</script>" + item.prompt_id * 2)
            for item in verdicts
        },
    )
    return run
