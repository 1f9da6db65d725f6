"""A stress test as one graph: reframing, the answers, the panel, what changed, and what people say.

    plan → reframing (a run a prompt) → respond → panel (a run a response) → ctd → agreement

It is the staged job in one piece: the subgraphs are those that are served alone, and every step
calls what `areopagus stress` and `areopagus calibrate` call. What only the job has: people who look
at the variants between the stages, judges and targets asked a second time, and a folder that stays.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import TypedDict

from ..errors import InputError
from ..graphs.generate import merged
from .graphs import Change, State, context_of, on_own_loop, panel_graph, reframing_graph, require
from .run_context import StressContext

if TYPE_CHECKING:
    import pandas as pd

    from ..records.variants import VariantSet
    from ..run import Run
    from ..stress_test.design import StressDesign
    from ..stress_test.responses import StressSource


class StressInput(TypedDict, total=False):
    """What a client sends.

    `prompts`: each with `prompt_text` and, where it has one, `prompt_id`.
    `human`: people's ratings or ranks of the answers, a row each in any layout of `calibrate`; an
    answer is called `PROMPT|CONDITION|TARGET`.
    """

    prompts: list[dict[str, Any]]
    human: list[dict[str, Any]]


class StressOutput(TypedDict, total=False):
    """What a client gets: sentences and figures of the stress test, and of the agreement."""

    ctd: dict[str, Any]
    agreement: dict[str, Any]


class StressState(StressInput, StressOutput, total=False):
    """The input; variants by prompt; the answers, a row each; verdicts by response; results."""

    reframed: Annotated[dict[str, Any], merged]
    responses: list[dict[str, Any]]
    verdicts: Annotated[dict[str, Any], merged]


async def plan_node(state: State, runtime: Any) -> Change:
    """Checks prompts, models, access and people's rows before anything is spent."""
    given = state.get("prompts")
    require({"prompts": given or None}, "prompts")
    chosen: StressContext = context_of(runtime, StressContext)
    design = await asyncio.to_thread(chosen.design, given or [])
    asked = (*design.targets, *design.rewriters, *design.reviewers)
    # The judges must be there before the first answer is paid for.
    await chosen.asking.of((*asked, *chosen.spec.backends))
    if state.get("human"):
        with tempfile.TemporaryDirectory() as folder:
            await asyncio.to_thread(_read_people, state, Path(folder), chosen)
    return {}


async def respond_node(state: State, runtime: Any) -> Change:
    """Every target's answer to every prompt and to its variants."""
    from ..experiment.ask import ask_each
    from ..records.spreadsheets import writable
    from ..stress_test.asking import RESPONSE_COLUMNS, askings_of, questions, response_cells

    chosen, design = await _design(state, runtime)
    askings = askings_of(design, _variants(state, design))
    repeats = design.config.response_repeats
    asked = list(questions(askings, design.targets, repeats, frozenset()))
    client = await chosen.asking.of(design.targets)
    rows = []
    async for question, answer in ask_each(asked, client, design.wording, design.targets):
        cells = [writable(cell) for cell in response_cells(question, answer)]
        rows.append(dict(zip(RESPONSE_COLUMNS, cells, strict=True)))
        told = {"response": rows[-1]["response_id"], "status": answer.status}
        runtime.stream_writer(told)
    return {"responses": rows}


async def ctd_node(state: State, runtime: Any) -> Change:
    """How critical thinking changes between a prompt and its variants: baseline minus variant."""
    from ..stress_test.answer import Answer
    from ..stress_test.estimates import estimate
    from ..stress_test.rewriting import counted
    from ..stress_test.scores import read_panel

    chosen, design = await _design(state, runtime)
    spec, config = chosen.spec, design.config
    counts, refused = _counts(state, design)
    schema = spec.judge_prompt.schema
    with panel_run(state, chosen, design) as run:
        scores = read_panel(
            None if run is None else run.path,
            None,
            counts,
            targets=design.target_names,
            conditions=design.conditions,
            prompts={row.prompt_id: row.prompt_text for row in design.prompts},
            criteria=spec.criteria,
            repeats=config.response_repeats,
            panel_repeats=spec.repeats,
            refused=refused,
            scale=(schema.low, schema.high),
        )
    found, said = estimate(scores, config, counted(_outcomes(state, design)))
    frame = found.frame()
    record = {
        "identity": design.identity() | {"panel": spec.identity()},
        "targets": design.target_names,
        "conditions": design.conditions,
    }
    told = {
        "headline": Answer(record, frame).headline(),
        "demonstration": any(b.spec.is_offline for b in (*design.others, *spec.backends)),
        **said,
        "estimates": _plain(frame),
    }
    return {"ctd": told}


async def agreement_node(state: State, runtime: Any) -> Change:
    """How far the panel agrees with the people who rated or ranked these answers."""
    from ..calibration import calibrate

    chosen, design = await _design(state, runtime)
    with panel_run(state, chosen, design) as run:
        if run is None:
            return {"agreement": {"reason": "no response was scored"}}
        people = run.path / "people.jsonl"
        _write_rows(people, state["human"])
        try:
            found = await asyncio.to_thread(calibrate, run.path, people, on_progress=False)
        except InputError as error:  # the answers are paid for: the rest of the result stands
            return {"agreement": {"reason": str(error)}}
    told = {"headline": list(found.document().headline), "estimates": _plain(found.estimates)}
    return {"agreement": told}


async def each_prompt(state: State, runtime: Any) -> list[Any]:
    """A Send to the reframing subgraph for every prompt, with who rewrites and reviews it."""
    from langgraph.types import Send

    from ..stress_test.rewriting import assignments

    _, design = await _design(state, runtime)
    who = assignments(design.prompts, design.rewriters, design.reviewers, design.config.seed)

    def task(prompt_id: str, text: str) -> dict[str, Any]:
        reviewer = who[prompt_id].reviewer
        return {
            "prompt_id": prompt_id,
            "prompt_text": text,
            "rewriter": who[prompt_id].rewriter.spec.name,
            "reviewer": None if reviewer is None else reviewer.spec.name,
        }

    return [Send("reframing", task(row.prompt_id, row.prompt_text)) for row in design.prompts]


async def each_response(state: State, runtime: Any) -> list[Any] | str:
    """A Send to the panel subgraph for every answer."""
    from langgraph.types import Send

    from ..records.readers.responses import ResponseSource, text_key

    _, design = await _design(state, runtime)
    rows = _panel_rows(state, design)
    if not rows:
        return "ctd"
    repeated = ResponseSource(rows).check().repeated_texts
    return [
        Send(
            "panel",
            {name: row[name] for name in _OF_A_RESPONSE}
            | {"repeated_text": text_key(row["response_text"]) in repeated},
        )
        for row in rows
    ]


async def people_or_end(state: State) -> str:
    """To `agreement` where people's rows are given."""
    return "agreement" if state.get("human") else "__end__"


_OF_A_RESPONSE = ("response_id", "prompt_id", "respondent_id", "prompt_text", "response_text")


async def _design(state: State, runtime: Any) -> tuple[StressContext, StressDesign]:
    chosen: StressContext = context_of(runtime, StressContext)
    return chosen, await asyncio.to_thread(chosen.design, state["prompts"])


def _outcomes(state: State, design: StressDesign) -> list[Any]:
    from ..graphs.reframing import Reframed

    found = state.get("reframed", {})
    return [Reframed.from_json(found[row.prompt_id]) for row in design.prompts]


def _variants(state: State, design: StressDesign) -> VariantSet:
    from ..stress_test.rewriting import variants_of

    baselines = {row.prompt_id: row.prompt_text for row in design.prompts}
    return variants_of(_outcomes(state, design), design.framings, baselines)


def _source(state: State) -> StressSource | None:
    """The answers as the job reads them from its table; None where none came."""
    from ..stress_test.responses import NO_RESPONSE, StressSource

    rows = state.get("responses", [])
    if all(row["status"] in NO_RESPONSE for row in rows):
        return None
    source = StressSource(rows)
    source.check()
    return source


def _panel_rows(state: State, design: StressDesign) -> list[dict[str, Any]]:
    from ..stress_test.responses import panel_rows

    source = _source(state)
    if source is None:
        return []
    baselines = {row.prompt_id: row.prompt_text for row in design.prompts}
    return list(panel_rows(source.rows(), design.config.judged_prompt, baselines))


def _counts(state: State, design: StressDesign) -> tuple[dict[Any, Any], set[str]]:
    """What became of every planned response, and the ids of those that are refusals."""
    from ..stress_test.asking import askings_of
    from ..stress_test.counts import ConditionCounts, count, count_missing

    repeats = design.config.response_repeats
    counts = {
        (target, condition): ConditionCounts()
        for target in design.target_names
        for condition in design.conditions
    }
    variants = _variants(state, design)
    there = {(one.prompt_id, one.condition) for one in askings_of(design, variants)}
    unasked = {(r.prompt_id, r.condition) for r in variants.rows if r.status == "not_asked"}
    count_missing(there, design.prompt_ids, counts, repeats, unasked)
    rows = state.get("responses", [])
    for row in rows:
        count(counts[row["respondent_id"], row["condition"]], row["status"], is_again=False)
    return counts, {row["response_id"] for row in rows if row["status"] == "refused"}


@contextmanager
def panel_run(state: State, chosen: StressContext, design: StressDesign) -> Iterator[Run | None]:
    """The panel's run folder of these verdicts, for as long as the block lasts; None without any.

    Estimates and people's ratings are read beside a run folder, here as in the job.
    """
    from ..experiment.run_writer import write_run
    from ..records.types import Verdict
    from ..stress_test.responses import CARRIED

    rows, verdicts = _panel_rows(state, design), state.get("verdicts", {})
    if not rows:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="areopagus-") as folder:
        judged = ((row, Verdict.from_json(verdicts[row["response_id"]])) for row in rows)
        yield write_run(
            chosen.spec, Path(folder) / "panel", judged, chosen.asking.client,
            source="a served stress test", carried=CARRIED,
        )  # fmt: skip


def _read_people(state: State, folder: Path, chosen: StressContext) -> None:
    from ..records.humans import read_humans

    people = folder / "people.jsonl"
    _write_rows(people, state["human"])
    read_humans(people, dimensions=chosen.spec.criteria).require_sound()


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The figures as rows without what they do not have."""
    rows = json.loads(frame.to_json(orient="records"))
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


@lru_cache(maxsize=32)
def stress_graph(personas: Sequence[str], models: str) -> Any:
    """The graph for a panel of these personas; see `graphs.panel_graph`."""
    from langgraph.graph import END, START, StateGraph

    graph: Any = StateGraph(
        StressState,
        context_schema=StressContext,
        input_schema=StressInput,
        output_schema=StressOutput,
    )
    graph.add_node("plan", on_own_loop(plan_node))
    graph.add_node("reframing", reframing_graph(StressContext, is_part=True))
    graph.add_node("respond", on_own_loop(respond_node))
    graph.add_node("panel", panel_graph(personas, models, is_part=True))
    graph.add_node("ctd", on_own_loop(ctd_node))
    graph.add_node("agreement", on_own_loop(agreement_node))
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", on_own_loop(each_prompt), ["reframing"])
    graph.add_edge("reframing", "respond")
    graph.add_conditional_edges("respond", on_own_loop(each_response), ["panel", "ctd"])
    graph.add_edge("panel", "ctd")
    graph.add_conditional_edges("ctd", people_or_end, ["agreement", END])
    graph.add_edge("agreement", END)
    return graph.compile(name="areopagus-stress")
