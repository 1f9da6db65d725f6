"""The graph that makes a question of the hidden-bias audit from a source.

    summary → pair → check → scene → second → review ┬→ repair (once) → review
                                                     └→ end

One run is one source: the belief in it, two opposite concepts, a check that may replace them, a
scene with an ending that hides the first concept, another that hides the second. The review is by
rules; what it finds goes back to the writer once. Every reply whose form cannot be read is asked
for once more. Calls go through the desk, so the ledger makes a run resumable, and what can be
expected to go wrong is a status and not an exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Literal, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..judges.models.request import Request, Rung
from ..judges.prompt import nonce_for
from .hidden_bias_brief import (
    CONCEPTS_TEMPLATE,
    Step,
    concept_faults,
    contract_of,
    question_faults,
    step_messages,
)
from .prompt_construction_calls import Asked, ask_object

BuiltStatus = Literal["built", "unsuitable", "refused", "unreadable", "failed", "not_asked"]
"""`built`: a question that passed the review. `unsuitable`: rules refuse what was written, after
one repair. The others as in every call: declined, unreadable after one repair of the form, no
reply, not asked."""

BUILT_STATUSES: tuple[BuiltStatus, ...] = get_args(BuiltStatus)
STEPS: tuple[Step, ...] = ("summary", "pair", "check", "scene", "second")

_CONCEPTS = ("concept_one", "concept_two")
_QUESTION = ("scene", "option_one", "option_two")


@dataclass(frozen=True, slots=True)
class ConceptWork:
    """Runtime context of one run: a source, who writes, who checks the pair."""

    source_id: str
    source: str
    writer: Backend
    checker: Backend
    desk: Desk


class ConceptState(TypedDict, total=False):
    """What the graph carries; all of it JSON-like."""

    summary: str
    raw: dict[str, str]
    concepts: dict[str, str]
    is_refined: bool
    question: dict[str, str]
    faults: list[list[str]]
    first_faults: list[list[str]]
    is_repaired: bool
    ended: str
    step: str
    detail: str
    calls: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class BuiltConcept:
    """What became of a source.

    Attributes:
        source_id: which.
        status: see `BuiltStatus`.
        summary: the belief in one sentence.
        raw: the two concepts before the check; `concepts` after it; `is_refined` whether it changed
            them.
        question: scene and endings; empty unless all were written.
        faults: what the review holds against the question as it stands.
        first_faults: what it held against the first form, where it was repaired.
        step: where a source that was not built ended; `detail` says why.
        calls, cost_usd: of the replies behind it; None = unknown price.
    """

    source_id: str
    status: BuiltStatus
    summary: str = ""
    raw: Mapping[str, str] = field(default_factory=dict)
    concepts: Mapping[str, str] = field(default_factory=dict)
    is_refined: bool = False
    question: Mapping[str, str] = field(default_factory=dict)
    faults: Sequence[tuple[str, str]] = ()
    first_faults: Sequence[tuple[str, str]] = ()
    step: str = ""
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0


def concept_request(
    backend: Backend,
    step: Step,
    material: Mapping[str, str],
    *,
    secret: bytes,
    rung: Rung,
    faults: Sequence[tuple[str, str]] = (),
) -> Request:
    """The call of one step."""
    nonce = nonce_for(secret, *material.values())
    spec = backend.spec
    return Request(
        backend=spec.model,
        endpoint=spec.api_base or "",
        messages=step_messages(step, material, nonce, faults),
        params=spec.parameters(),
        schema=contract_of(step).schema(),
        structured=rung,
        nonce=nonce,
        template=CONCEPTS_TEMPLATE,
        purpose="generate",
        labels={"job": "concepts", "step": step},
    )


async def summary_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The belief that the source plays on."""
    material = {"SOURCE": runtime.context.source}
    asked = await _ask(runtime.context, runtime.context.writer, "summary", material)
    found = _texts(asked, ("summary",))
    return {**_paid(state, asked, "summary"), "summary": found.get("summary", "")}


async def pair_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """Two opposite concepts, as first written."""
    material = {"BELIEF": state.get("summary", "")}
    asked = await _ask(runtime.context, runtime.context.writer, "pair", material)
    return {**_paid(state, asked, "pair"), "raw": _texts(asked, _CONCEPTS)}


async def check_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The pair that is kept: the same, or a better one."""
    raw = state.get("raw", {})
    material = {
        "BELIEF": state.get("summary", ""),
        "FIRST CONCEPT": raw.get("concept_one", ""),
        "SECOND CONCEPT": raw.get("concept_two", ""),
    }
    asked = await _ask(runtime.context, runtime.context.checker, "check", material)
    found = _paid(state, asked, "check")
    if found.get("ended"):
        return found
    is_good = bool(asked.value.get("is_good"))
    concepts = dict(raw) if is_good else _texts(asked, _CONCEPTS)
    faults = concept_faults(concepts["concept_one"], concepts["concept_two"])
    if faults:
        detail = "; ".join(f"{part}: {code}" for part, code in faults)
        return {**found, "ended": "unsuitable", "step": "check", "detail": detail}
    return {**found, "concepts": concepts, "is_refined": concepts != raw}


async def scene_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The scene, and the ending that hides the first concept."""
    asked = await _ask(runtime.context, runtime.context.writer, "scene", _named(state))
    return {**_paid(state, asked, "scene"), "question": _texts(asked, ("scene", "option_one"))}


async def second_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The ending that hides the second concept."""
    question = state.get("question", {})
    material = {
        **_named(state),
        "SCENE": question.get("scene", ""),
        "FIRST ENDING": question.get("option_one", ""),
    }
    asked = await _ask(runtime.context, runtime.context.writer, "second", material)
    found = _texts(asked, ("option_two",))
    return {**_paid(state, asked, "second"), "question": {**question, **found}}


async def review_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """What rules hold against the question as it stands."""
    concepts, question = state.get("concepts", {}), state.get("question", {})
    faults = question_faults(
        (concepts.get("concept_one", ""), concepts.get("concept_two", "")),
        question.get("scene", ""),
        (question.get("option_one", ""), question.get("option_two", "")),
    )
    return {"faults": [list(fault) for fault in faults]}


async def repair_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """Scene and endings written anew."""
    question, faults = state.get("question", {}), state.get("faults", [])
    shown = {
        "SCENE": question.get("scene", ""),
        "FIRST ENDING": question.get("option_one", ""),
        "SECOND ENDING": question.get("option_two", ""),
    }
    told = [(fault[0], fault[1]) for fault in faults]
    material = {**_named(state), **shown}
    asked = await _ask(runtime.context, runtime.context.writer, "repair", material, told)
    found = _paid(state, asked, "repair")
    found["is_repaired"], found["first_faults"] = True, faults
    if not found.get("ended"):
        found["question"] = _texts(asked, _QUESTION)
    return found


def _goes_on(state: ConceptState, to: str) -> str:
    return END if state.get("ended") else to


def after_review(state: ConceptState) -> str:
    """Where to go once the review is done."""
    return "repair" if state.get("faults") and not state.get("is_repaired") else END


def build_concept_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `ConceptWork` is its runtime context."""
    graph: Any = StateGraph(ConceptState, context_schema=ConceptWork)
    nodes = {
        "summary_step": summary_node,
        "pair": pair_node,
        "check": check_node,
        "scene": scene_node,
        "second": second_node,
        "review": review_node,
    }
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_node("repair", repair_node)
    graph.add_edge(START, "summary_step")
    names = list(nodes)
    for name, following in pairwise(names):
        graph.add_conditional_edges(
            name, lambda state, to=following: _goes_on(state, to), [following, END]
        )
    graph.add_conditional_edges("review", after_review, ["repair", END])
    graph.add_conditional_edges("repair", lambda state: _goes_on(state, "review"), ["review", END])
    return graph.compile(checkpointer=checkpointer, name="hidden_bias_construction")


@cache
def concept_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_concept_graph()


async def build_concept(work: ConceptWork) -> BuiltConcept:
    """What became of one source.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    from langsmith import tracing_context

    start: ConceptState = {"calls": 0, "cost_usd": 0.0}
    # Whatever the environment says, texts go to the endpoints named and nowhere else.
    with tracing_context(enabled=False):
        state: ConceptState = await concept_graph().ainvoke(start, context=work)
    faults = tuple((fault[0], fault[1]) for fault in state.get("faults", []))
    ended = state.get("ended")
    status: Any = ended or ("unsuitable" if faults else "built")
    detail = state.get("detail", "")
    if not ended and faults:
        detail = "; ".join(f"{part}: {code}" for part, code in faults)
    return BuiltConcept(
        source_id=work.source_id,
        status=status,
        summary=state.get("summary", ""),
        raw=state.get("raw", {}),
        concepts=state.get("concepts", {}),
        is_refined=state.get("is_refined", False),
        question=state.get("question", {}),
        faults=faults,
        first_faults=tuple((fault[0], fault[1]) for fault in state.get("first_faults", [])),
        step="" if status == "built" else state.get("step", "") or "review",
        detail=detail,
        calls=state.get("calls", 0),
        cost_usd=state.get("cost_usd"),
    )


async def _ask(
    work: ConceptWork,
    backend: Backend,
    step: Step,
    material: Mapping[str, str],
    faults: Sequence[tuple[str, str]] = (),
) -> Asked:
    secret = work.desk.ledger.secret

    def build(rung: Rung) -> Request:
        return concept_request(backend, step, material, secret=secret, rung=rung, faults=faults)

    return await ask_object(work.desk, backend, build, contract_of(step))


def _named(state: ConceptState) -> dict[str, str]:
    concepts = state.get("concepts", {})
    return {
        "FIRST CONCEPT": concepts.get("concept_one", ""),
        "SECOND CONCEPT": concepts.get("concept_two", ""),
    }


def _texts(asked: Asked, keys: Sequence[str]) -> dict[str, str]:
    """The texts of a reply, each as one line; empty where there is no reply."""
    return {key: " ".join(str(asked.value.get(key, "")).split()) for key in keys}


def _paid(state: ConceptState, asked: Asked, step: str) -> ConceptState:
    cost = state.get("cost_usd", 0.0)
    found: ConceptState = {
        "calls": state.get("calls", 0) + asked.calls,
        "cost_usd": None if cost is None or asked.cost_usd is None else cost + asked.cost_usd,
    }
    if asked.status != "read":
        found["ended"], found["step"], found["detail"] = asked.status, step, asked.detail
    return found
