"""Inspect AI: the panel as a scorer of its evaluations, and a run's scores in its logs.

    Task(dataset=…, solver=…, scorer=areopagus_panel(models="openai/gpt-5-mini"))
    inspect score LOG.eval --scorer areopagus/areopagus_panel -S models=openai/gpt-5-mini
    areopagus score LOG.eval --out RUN; areopagus export RUN --as inspect --log LOG.eval

Inspect finds the scorer by the entry point `inspect_ai`. Where a verdict has no number the score is
unscored, with its reason, and no part of Inspect's means.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault, StoreError
from ..formats import interval, number
from ..judges.models.backend import Backend, BackendSpec
from ..judges.models.credentials import without_secrets
from ..judges.models.prices import Prices
from ..judges.models.provider_errors import one_attempt
from ..judges.models.request import Request
from ..records.chat import content_text
from ..records.export import Exported, require_other_file
from ..records.readers.inspect_log import asked, log_response_id
from ..records.run_folder import read_run_file, replaced
from ..records.tables import read_scores, read_texts
from ..records.types import Reply, Usage
from .evaluator import PanelEvaluator
from .verdicts import COMPOSITE, DEMONSTRATION, CriterionScore, scores_of
from .verdicts import verdict_metadata as metadata_of

try:
    from inspect_ai import score as score_log  # pyright: ignore[reportMissingImports]
    from inspect_ai.log import (  # pyright: ignore[reportMissingImports]
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalSample,
        EvalSpec,
        read_eval_log,
        write_eval_log,
    )
    from inspect_ai.model import (  # pyright: ignore[reportMissingImports]
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        Model,
        ModelOutput,
        get_model_info,
        model_roles,
    )
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr  # pyright: ignore[reportMissingImports]
    from inspect_ai.solver import TaskState  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise InputError(
        [InputFault("inspect_ai", f"is not installed, or too old ({error})")],
        hint='install it with: pip install "areopagus[inspect]"',
    ) from error

RESPONSE_ID = "areopagus_response_id"
"""Metadata of a sample that was written from a run: the response's id there."""


# The scorer ---------------------------------------------------------------------------------------


# Inspect has types of its own, which the checker of this project does not see.
@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def areopagus_panel(
    models: str | Sequence[Any] | None = None,
    panel: str | None = None,
    run: str | None = None,
    model_role: str | None = "grader",
    personas: str | Sequence[str] | None = None,
    rubric: str | None = None,
    mode: str | None = None,
    repeats: int | None = None,
    max_cost: float | None = None,
    out: str | None = None,
    ledger: str | None = None,
) -> Scorer:
    """A panel of judges as a scorer: a value for `composite` and for each criterion of the rubric.

    Who judges: the `models` or the `panel` that are named, over areopagus's own calls and ledger;
    else what the evaluation binds to the role `model_role`, over Inspect's calls; else the embedded
    text-feature baseline, whose scores say of themselves that they are a demonstration. The model
    that is evaluated never judges itself by default.

    Args:
        models: as of `areopagus.Panel`: one name, several, or settings.
        panel: the path of a panel.yaml, instead of everything else about the panel.
        run: the folder of a finished run over this log (`areopagus score LOG`): its scores are
            taken, and nobody is asked.
        model_role: Inspect's role whose models judge where none are named; None for none.
        personas, rubric, mode, repeats, ledger: as of `areopagus.Panel`.
        max_cost: US dollars that are not passed, over all samples of the process.
        out: the run folder; a new one under runs/ for each process when left out.

    Raises:
        InputError: settings that do not go together, or a folder that holds no run.
    """
    named: dict[str, Any] = {"models": models, "personas": personas, "rubric": rubric, "mode": mode}
    named |= {"repeats": repeats, "ledger": ledger}
    settings = {name: value for name, value in named.items() if value is not None}
    if run is not None:
        if settings or panel is not None or max_cost is not None or out is not None:
            raise InputError("run: its scores are taken as they are; leave the other settings out")
        return _finished(Path(run))
    if panel is not None and settings:
        raise InputError(f"{', '.join(settings)}: stand in the panel's file; leave them out here")
    if isinstance(personas, str):
        settings["personas"] = [personas]
    by_role = model_role if panel is None and models is None else None

    async def score(state: TaskState, target: Target) -> Score:
        said = _answered(state)
        if said is None:
            return Score.unscored(reason="no_response", explanation="the sample has no output")
        prompt = _asked(state)
        judges = _bound_to(by_role)
        evaluator = _evaluator(panel, settings, list(judges), judges, max_cost, out)
        sample = f"{log_response_id(state.sample_id, state.epoch)}"
        respondent = str(state.model)
        digest = hashlib.sha256("\0".join((respondent, prompt, said)).encode(errors="replace"))
        _CALLER.set((asyncio.get_running_loop(), judges))
        verdict = await evaluator.ascore(
            prompt,
            said,
            # Several tasks and models may share a run folder, and their samples have the same ids.
            response_id=f"{sample}-{digest.hexdigest()[:8]}",
            respondent_id=respondent,
        )
        told = metadata_of(verdict, is_demonstration=evaluator.is_demonstration)
        not_asked = {one.reason or "" for one in verdict.judgments if one.status == "not_asked"}
        told |= {"not_asked_because": sorted(not_asked), "run": evaluator.out.name}
        return _score(scores_of(verdict), told)

    return score


def _finished(folder: Path) -> Scorer:
    """A scorer that takes the scores of a run's folder."""
    record = read_run_file(folder, kind="panel")
    rows = {row["response_id"]: row for row in read_scores(folder)}
    texts = read_texts(folder, rows)
    run_name = folder.resolve().name

    async def score(state: TaskState, target: Target) -> Score:
        name = _row_id(state.sample_id, state.epoch, state.metadata)
        row = rows.get(name)
        if row is None:
            missing = f"{folder} has no verdict on {name}"
            return Score.unscored(reason="scoring_failed", explanation=missing)
        if name in texts and texts[name] != (_asked(state), _answered(state)):
            raise InputError(
                [InputFault(name, f"has other texts in the log than in {folder}")],
                hint="Score this log itself: areopagus score LOG --out FOLDER",
            )
        scores, told = _row_scores(row, record)
        return _score(scores, {**told, "run": run_name})

    return score


def _asked(state: TaskState) -> str:
    text = asked(state.input, [choice.value for choice in state.choices or ()])
    if text is None:
        raise InputError([InputFault(str(state.sample_id), "asks nothing: its input has no text")])
    return text


def _answered(state: TaskState) -> str | None:
    """The output's text, "" where the model said nothing; None where there is no output."""
    output = state.output
    if output is None or not output.choices or (output.error and not output.completion):
        return None
    return content_text(output.choices[0].message.content) or ""


def _score(scores: Sequence[CriterionScore], told: Mapping[str, Any]) -> Score:
    explanation = _explanation(scores, told)
    if scores[0].value is None:
        return Score.unscored(
            reason=_unscored_reason(told), explanation=explanation, metadata=dict(told)
        )
    # What is nan is left out of the criterion's metrics; None would count as 0 there.
    values = {one.name: float("nan") if one.value is None else one.value for one in scores}
    return Score(value=values, explanation=explanation, metadata=dict(told))


def _unscored_reason(told: Mapping[str, Any]) -> str:
    """The nearest of Inspect's own words; the explanation has ours."""
    if told["status"] == "screened":
        return "no_response" if "empty" in told["flags"] else "scoring_failed"
    return "scoring_failed" if told["counts"].get("not_asked") else "grader_failed"


def _explanation(scores: Sequence[CriterionScore], told: Mapping[str, Any]) -> str:
    judged = f"{told['n_scored']} scored of {told['n_planned']} planned judgments"
    first = scores[0]
    lines = [f"No score: {first.reason} ({judged})."]
    if first.value is not None:
        lines = [f"{one.name}: {_shown(one)}" for one in scores]
        lines[0] += f" ({judged})"
    if told.get("not_asked_because") and told["status"] != "screened":
        lines.append(f"Not asked because of: {', '.join(told['not_asked_because'])}")
    if told["flags"]:
        lines.append(f"Flags: {', '.join(told['flags'])}")
    if "demonstration" in told:
        lines.append(f"DEMONSTRATION: {told['demonstration']}")
    return "\n".join(lines)


def _shown(one: CriterionScore) -> str:
    if one.value is None:
        return f"no score: {one.reason}"
    limits = "" if one.interval is None else f" {interval(*one.interval)}"
    return number(one.value) + limits


def _row_scores(
    row: Mapping[str, str], record: Mapping[str, Any]
) -> tuple[list[CriterionScore], dict[str, Any]]:
    """What `scores_of` and `verdict_metadata` give, of a row of scores.csv."""

    def of(name: str) -> float | None:
        return float(row[name]) if row.get(name) else None

    has = row["status"] == "scored"
    reason = None if has else f"{row['status']}: {row['reason']}"
    scores = []
    for name in (COMPOSITE, *record["identity"]["criteria"]):
        low, high = of(f"{name}_low"), of(f"{name}_high")
        limits = None if low is None or high is None else (low, high)
        value = of(name) if has else None
        why = None if value is not None else reason or "no judgment scored it"
        scores.append(CriterionScore(name, value, None if value is None else limits, why))
    n_scored = int(row["n_scored"])
    counts = {name: int(row[f"n_{name}"] or 0) for name in _COUNTED}
    told: dict[str, Any] = {
        "status": row["status"],
        "reason": row["reason"] or None,
        "n_scored": n_scored,
        "n_planned": int(row["n_planned"]),
        "counts": {name: n for name, n in {"scored": n_scored, **counts}.items() if n},
        "interval": None if scores[0].interval is None else list(scores[0].interval),
        "interval_reason": row["interval_reason"] or None,
        "disagreement": row["disagreement"],
        "by_persona": _means(row, "persona_"),
        "by_model": _means(row, "model_"),
        "flags": row["flags"].split(),
        "unbalanced": [one for one in row["unbalanced"].split(", ") if one],
        "cost_usd": of("cost_usd"),
    }
    if record.get("demonstration"):
        told["demonstration"] = DEMONSTRATION
    return scores, told


_COUNTED = ("abstained", "refused", "unreadable", "failed", "not_asked")


def _means(row: Mapping[str, str], prefix: str) -> dict[str, float]:
    return {
        name.removeprefix(prefix): float(value)
        for name, value in row.items()
        if name.startswith(prefix) and value and _NUMBER.fullmatch(value)
    }


_NUMBER = re.compile(r"-?\d+(\.\d+)?")

_evaluators: dict[str, PanelEvaluator] = {}
_making = threading.Lock()


def _evaluator(
    panel: str | None,
    settings: Mapping[str, Any],
    roles: Sequence[str],
    judges: Mapping[str, Model],
    max_cost: float | None,
    out: str | None,
) -> PanelEvaluator:
    """The evaluator of these settings: one for all tasks, as a folder has one writer."""
    backends = [GraderBackend(name, judges[name]) for name in roles]
    identity = [panel, settings, [repr(one.spec) for one in backends], max_cost, out]
    key = repr(identity)
    with _making:
        if key not in _evaluators:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
            place = out or f"runs/inspect-{stamp}-{os.getpid()}-{len(_evaluators) + 1}"
            given = dict(settings)
            chosen: Any = panel or backends or given.pop("models", None)
            _evaluators[key] = PanelEvaluator(chosen, out=place, max_cost=max_cost, **given)
        return _evaluators[key]


# Inspect's models as judges -----------------------------------------------------------------------

_CALLER: ContextVar[tuple[asyncio.AbstractEventLoop, Mapping[str, Model]]] = ContextVar(
    "areopagus_inspect_caller"
)
"""The loop of the scorer that wants a verdict, and the models that its evaluation binds by name."""

_FINISH = {"max_tokens": "length", "model_length": "length"}


def _bound_to(role: str | None) -> dict[str, Model]:
    """The models that the evaluation at work binds to a role, by the name of their judges."""
    bound = model_roles().get(role) if role is not None else None
    models = bound if isinstance(bound, list) else [] if bound is None else [bound]
    found: dict[str, Model] = {}
    for model in models:
        name = f"inspect/{model}"
        if name in found:
            raise InputError(f"{role}: {model} is bound twice; a panel asks each model once")
        found[name] = model
    return found


class GraderBackend(Backend):
    """A model of Inspect as a backend: its logs, usage, cache and connection limits see the calls.

    Structured output is asked for in words. One `generate` is one attempt: retries are the panel's,
    so that its cost cap counts them. A call is made in the context of the sample whose scorer
    wants the verdict.
    """

    def __init__(self, name: str, model: Model) -> None:
        """Takes the model's settings.

        Args:
            name: of the backend; `inspect/` and Inspect's name of the model.
            model: of the role, with its configuration.
        """
        config = model.config
        identity = [config.model_dump(exclude_none=True), model.api.base_url, model.model_args]
        written = json.dumps(identity, sort_keys=True, default=repr)
        info = get_model_info(model)
        cost = None if info is None else info.cost
        prices = None
        if cost is not None:
            prices = Prices(
                input=cost.input,
                output=cost.output,
                cached_input=cost.input_cache_read,
                cache_write=cost.input_cache_write,
            )
        self.spec = BackendSpec(
            model=name,
            name=name,
            structured="prompt",
            max_tokens=config.max_tokens or 2048,
            timeout_s=600,
            concurrency=min(config.max_connections or model.api.max_connections(), 4096),
            prices=prices,
            extra={"inspect_sha256": hashlib.sha256(written.encode()).hexdigest()},
        )

    async def send(self, request: Request) -> Reply:
        """The reply to one `generate`; see `Backend.send`."""
        loop, models = _CALLER.get()
        model = models[self.spec.name]
        kinds: dict[str, Any] = {
            "system": ChatMessageSystem,
            "user": ChatMessageUser,
            "assistant": ChatMessageAssistant,
        }
        messages = [kinds[one["role"]](content=one["content"]) for one in request.messages]
        config = GenerateConfig(max_tokens=request.params["max_tokens"], max_retries=0)
        started = time.perf_counter()
        call = asyncio.run_coroutine_threadsafe(model.generate(messages, config=config), loop)

        def secrets() -> tuple[str, ...]:
            return (model.api.api_key,) if model.api.api_key else ()

        output = await one_attempt(asyncio.wrap_future(call), self.spec.timeout_s, secrets)
        return without_secrets(self._reply(output, time.perf_counter() - started), secrets())

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """By the prices that Inspect knows of the model; see `Backend.worst_cost`."""
        prices = self.unit_prices
        if prices is None:
            return None
        dearest = max(prices.input, prices.cache_read, prices.cache_write)
        return input_tokens * dearest + output_tokens * prices.output

    def _reply(self, output: ModelOutput, latency_s: float) -> Reply:
        usage, prices = _usage(output), self.unit_prices
        message = output.choices[0].message if output.choices else None
        text = None if message is None else content_text(message.content) or ""
        told = None if output.usage is None else output.usage.total_cost
        if told is None and prices is not None:
            told = prices.cost(usage)
        return Reply(
            text=text,
            finish_reason=_FINISH.get(output.stop_reason, output.stop_reason),
            refusal=_refusal(message),
            answered_by=output.model or None,
            usage=usage,
            cost_usd=told,
            latency_s=round(latency_s, 4),
            created_at=time.time(),
        )


def _usage(output: ModelOutput) -> Usage:
    told = output.usage
    if told is None:
        return Usage()
    read, written = told.input_tokens_cache_read or 0, told.input_tokens_cache_write or 0
    return Usage(
        input_tokens=told.input_tokens + read + written,  # Inspect counts those apart
        output_tokens=told.output_tokens,
        cached_input_tokens=told.input_tokens_cache_read,
        cache_write_tokens=told.input_tokens_cache_write,
        reasoning_tokens=told.reasoning_tokens,
    )


def _refusal(message: Any) -> str | None:
    content = getattr(message, "content", None)
    parts = content if isinstance(content, list) else []
    return next((part.text for part in parts if getattr(part, "refusal", None)), None)


# A run's scores in a log --------------------------------------------------------------------------


def export_inspect(
    run_folder: Path,
    out: Path | None = None,
    *,
    log: str | Path | None = None,
    texts: bool = False,
) -> Exported:
    """Writes a run's scores into a copy of the log that it scored, or into logs of their own.

    Args:
        run_folder: a panel's run.
        out: a folder, `inspect` in the run folder when left out; or with `log` a file, such as the
            log itself.
        log: the log whose samples were scored: every sample gets the score `areopagus_panel` beside
            those that it has, and all else is kept.
        texts: without `log`: whether prompts and responses may stand in the new logs, which are
            one for each respondent.

    Returns:
        The file or folder, with responses of the run and those that were written.

    Raises:
        InputError: no run, no log, or one of other samples or other texts.
        StoreError: a file cannot be written.
    """
    record = read_run_file(run_folder, kind="panel")
    place = out or run_folder / "inspect"
    if log is not None:
        return _into_log(run_folder, Path(log), place)
    if not texts:
        raise InputError(
            "a log of its own holds every prompt and response: give `texts`, or name with `log` "
            "the log that was scored"
        )
    return _own_logs(run_folder, record, place)


def _into_log(run_folder: Path, log: Path, place: Path) -> Exported:
    target = place if place.suffix in (".eval", ".json") else place / log.name
    require_other_file(run_folder, target)
    try:
        content = read_eval_log(log)
    except Exception as error:  # whatever a file that is none runs into; Inspect has no list
        message = f"not readable as an Inspect log: {type(error).__name__}: {error}"[:300]
        raise InputError([InputFault(str(log), message)]) from error
    samples = content.samples or []
    names = {row["response_id"] for row in read_scores(run_folder)}
    written = sum(_row_id(one.id, one.epoch, one.metadata) in names for one in samples)
    if not written:
        fault = f"none of its {len(samples):,} samples was scored in {run_folder}"
        raise InputError([InputFault(str(log), fault)])
    _write(target, _scored(content, run_folder))
    return Exported(target, len(names), written, unit="response")


def _row_id(sample_id: str | int, epoch: int, metadata: Mapping[str, Any]) -> str:
    """The response_id of a sample in the run that scored its log, or that it was written from."""
    return metadata.get(RESPONSE_ID) or log_response_id(sample_id, epoch)


def _scored(content: EvalLog, run_folder: Path) -> EvalLog:
    """The log with the run's scores, which Inspect appends and aggregates."""
    # It would make the models anew, with their keys, though no model is asked.
    roles, content.eval.model_roles = content.eval.model_roles, None
    scored = score_log(
        content,
        areopagus_panel(run=str(run_folder)),
        action="append",
        model="none",
        display="none",
        copy=False,
    )
    scored.eval.model_roles = roles
    return scored


def _write(target: Path, content: EvalLog) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{target.parent} cannot be made: {error}") from error
    with replaced(target) as part:
        write_eval_log(content, part, format="json" if target.suffix == ".json" else "eval")


def _own_logs(run_folder: Path, record: Mapping[str, Any], folder: Path) -> Exported:
    rows = read_scores(run_folder)
    texts = read_texts(run_folder, [row["response_id"] for row in rows])
    if len(texts) < len(rows):
        raise InputError([InputFault(str(run_folder), "holds no texts, which a log needs")])
    by_respondent: dict[str, list[EvalSample]] = {}
    epochs: dict[tuple[str, str], int] = {}
    for row in rows:
        respondent, prompt_id = row["respondent_id"], row["prompt_id"]
        epoch = epochs[respondent, prompt_id] = epochs.get((respondent, prompt_id), 0) + 1
        prompt, response = texts[row["response_id"]]
        output = ModelOutput.from_content(respondent, response)
        sample = EvalSample(
            id=prompt_id,
            epoch=epoch,
            input=prompt,
            target="",
            messages=[ChatMessageUser(content=prompt), output.choices[0].message],
            output=output,
            metadata={RESPONSE_ID: row["response_id"]},
        )
        by_respondent.setdefault(respondent, []).append(sample)
    for number_, (respondent, samples) in enumerate(by_respondent.items(), start=1):
        ids = list(dict.fromkeys(sample.id for sample in samples))
        name = re.sub(r"[^\w.-]+", "_", respondent)[:80]
        content = EvalLog(
            status="success",
            eval=EvalSpec(
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                task="areopagus",
                eval_id=hashlib.sha256(f"{run_folder.name}\0{respondent}".encode()).hexdigest()[
                    :22
                ],
                dataset=EvalDataset(name=_source(record), samples=len(ids), sample_ids=ids),
                # Inspect's names of models have a provider.
                model=respondent if "/" in respondent else f"respondent/{respondent}",
                config=EvalConfig(epochs=max(sample.epoch for sample in samples)),
            ),
            samples=samples,
        )
        _write(folder / f"{number_:03d}_{name}.eval", _scored(content, run_folder))
    return Exported(folder, len(rows), len(rows), unit="response")


def _source(record: Mapping[str, Any]) -> str | None:
    source = record.get("source")
    found = source.get("name") if isinstance(source, Mapping) else source
    return None if found is None else Path(str(found)).name
