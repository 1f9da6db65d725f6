"""The reframing graph: rewrite, check, repair once, review by a second model.

    rewrite → check ┬→ repair (once) → check
                    └→ review ┬→ repair (once) → check → review
                              └→ end

One run is one prompt. Every call goes through the desk, so the ledger makes it resumable and no
checkpointer is needed. What can be expected to go wrong ends as a recorded outcome, not as an
exception.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from functools import cache
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..errors import AreopagusError, ProviderError
from ..judges.models.backend import Backend
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import Answer, Desk
from ..judges.models.credentials import redact
from ..judges.models.rate_limit import StoppedError
from ..judges.parse import ObjectReading, read_object
from ..judges.structured import ask
from .framings import Framing
from .reframed import failed_by_defect, reframed
from .reframing_state import Reframed, ReframingState, Rewriting
from .rewriting_brief import rewrite_contract
from .rewriting_call import rewrite_repair_request, rewrite_request
from .variant_checks import check_variants
from .variant_fault import WHOLE_SET, VariantFault
from .variant_review import review_variants

_ECHO_CHARACTERS = 4_000


async def rewrite_node(state: ReframingState, runtime: Runtime[Rewriting]) -> ReframingState:
    """The first set of variants, or why there is none."""
    work = runtime.context
    purse = work.desk.purse()
    _tell(runtime, "rewrite")
    try:
        answer, request = await ask(
            work.desk,
            work.rewriter,
            lambda rung: rewrite_request(
                work.rewriter,
                work.baseline,
                work.framings,
                secret=work.desk.ledger.secret,
                rung=rung,
                repeat=work.repeat,
            ),
            purse,
        )
    except ProviderError as error:
        return _ended("failed", "no_reply", f"{error.fault}: {error.detail}")
    except BudgetSpentError as error:
        return _ended("not_asked", "budget", str(error))
    except StoppedError:
        return _ended("not_asked", "interrupted", "")
    finally:
        purse.close()
    reading = read_object(answer.reply, rewrite_contract(framing.id for framing in work.framings))
    if reading.outcome == "refused":
        work.desk.account.closed("refused", [answer.reply])
        return {**_ended("failed", "refused", reading.detail or ""), **_paid(state, answer)}
    return {
        **_paid(state, answer),
        "variants": dict(reading.value),
        "problem": reading.problem,
        "reply": (answer.reply.text or "")[:_ECHO_CHARACTERS],
        "rung": request.structured,
        "answered_by": answer.reply.answered_by,
        "set_faults": _unread(reading) if reading.problem else [],
    }


async def check_node(state: ReframingState, runtime: Runtime[Rewriting]) -> ReframingState:
    """What the deterministic checks find in the variants as they stand now."""
    work = runtime.context
    if state.get("ended") or state.get("problem"):
        return {"faults": [], "skipped": []}
    report = check_variants(work.baseline, state.get("variants", {}), work.framings)
    return {
        "faults": [fault.to_json() for fault in report.faults],
        "skipped": list(report.skipped),
    }


async def repair_node(state: ReframingState, runtime: Runtime[Rewriting]) -> ReframingState:
    """The faulty variants written anew; the others stand as they were."""
    work = runtime.context
    problem = state.get("problem")
    faults = _standing_faults(state)
    faulty = {fault.framing for fault in faults}
    wanted = [framing for framing in work.framings if framing.id in faulty] or work.framings
    made: ReframingState = {
        "repaired": True,
        "repair_faults": [fault.to_json() for fault in faults] or state.get("set_faults", []),
    }
    purse = work.desk.purse()
    _tell(runtime, "repair")
    try:
        request = rewrite_repair_request(
            work.rewriter,
            work.baseline,
            work.framings,
            wanted,
            state.get("reply", ""),
            faults,
            secret=work.desk.ledger.secret,
            rung=state.get("rung", "prompt"),
            repeat=work.repeat,
            problem=problem,
        )
        answer = await work.desk.ask(work.rewriter, request, purse)
    except ProviderError as error:
        return {**made, **_not_mended(state, f"{error.fault}: {error.detail}")}
    except BudgetSpentError as error:
        return {**made, **_ended("not_asked", "budget", str(error))}
    except StoppedError:
        return {**made, **_ended("not_asked", "interrupted", "")}
    finally:
        purse.close()
    made.update(_paid(state, answer))
    reading = read_object(answer.reply, rewrite_contract(framing.id for framing in wanted))
    work.desk.account.repairs.add(answer.reply, None)
    work.desk.account.closed(reading.outcome, [answer.reply])
    if reading.outcome == "refused" and problem:
        return {**made, **_ended("failed", "refused", reading.detail or "")}
    if reading.outcome != "read":
        what = f"{reading.problem}: {reading.detail}"
        return {**made, **_not_mended(state, what)}
    return {**made, **_mended(state, work.framings, wanted, reading)}


async def review_node(state: ReframingState, runtime: Runtime[Rewriting]) -> ReframingState:
    """The second model's word on what passed the checks and has not passed a review yet."""
    work = runtime.context
    assert work.reviewer is not None  # noqa: S101 - the route leads here with one alone
    fresh = set(_to_review(state, work.framings))
    # A half that stands is shown once more: its opposite is new, and they are judged together.
    shown = [
        framing
        for framing in work.framings
        if framing.id in fresh
        or (framing.opposite in fresh and framing.id in _sound(state, work.framings))
    ]
    variants = state.get("variants", {})
    texts = {framing.id: str(variants[framing.id]) for framing in shown}
    _tell(runtime, "review")
    try:
        review = await review_variants(
            work.desk, work.reviewer, work.baseline, texts, shown, repeat=work.repeat
        )
    except BudgetSpentError as error:
        return _ended("not_asked", "budget", str(error))
    except StoppedError:
        return _ended("not_asked", "interrupted", "")
    faults = [
        fault for fault in review.faults if fault.framing in fresh or fault.code == "not_in_tension"
    ]
    outcome = "failed" if faults else "passed"
    passed = [name for name in texts if name not in {fault.framing for fault in faults}]
    known = [name for name in state.get("passed", []) if name not in texts]
    return {
        **_paid(state, *review.answers),
        "review": {
            "outcome": review.outcome if review.outcome == "not_checked" else outcome,
            "why": review.why,
            "faults": [fault.to_json() for fault in faults],
        },
        "passed": known + passed if review.outcome != "not_checked" else state.get("passed", []),
    }


def after_check(state: ReframingState, runtime: Runtime[Rewriting]) -> str:
    """Where to go once the checks are done."""
    work = runtime.context
    if state.get("ended"):
        return END
    if (state.get("problem") or state.get("faults")) and not state.get("repaired"):
        return "repair"
    if state.get("problem") or work.reviewer is None or state.get("review"):
        return END  # a review that is still there is of these very texts: the repair brought none
    return "review" if _to_review(state, work.framings) else END


def after_review(state: ReframingState) -> str:
    """Where to go once the review is there."""
    if state.get("ended") or state.get("repaired"):
        return END
    return "repair" if state.get("review", {}).get("outcome") == "failed" else END


def build_reframing_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `Rewriting` is its runtime context."""
    graph: Any = StateGraph(ReframingState, context_schema=Rewriting)
    graph.add_node("rewrite", rewrite_node)
    graph.add_node("check", check_node)
    graph.add_node("repair", repair_node)
    graph.add_node("review", review_node)
    graph.add_edge(START, "rewrite")
    graph.add_edge("rewrite", "check")
    graph.add_conditional_edges("check", after_check, ["repair", "review", END])
    graph.add_edge("repair", "check")
    graph.add_conditional_edges("review", after_review, ["repair", END])
    return graph.compile(checkpointer=checkpointer, name="reframing")


@cache
def reframing_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_reframing_graph()


async def reframe(
    desk: Desk,
    prompt_id: str,
    baseline: str,
    *,
    framings: Sequence[Framing],
    rewriter: Backend,
    reviewer: Backend | None = None,
    repeat: int = 0,
) -> Reframed:
    """What became of rewriting one prompt; expected faults are in it, and do not raise.

    Args:
        desk: where calls are handed in: ledger, limits and budget are its own.
        prompt_id: name of the prompt.
        baseline: its text.
        framings: what to rewrite it into, in the order of the results.
        rewriter: who writes.
        reviewer: another model that reads the result; None: not checked, and said so.
        repeat: another number asks for other variants of the same prompt.

    Raises:
        AreopagusError: the ledger cannot be written: nothing more may be paid for.
    """
    from langsmith import tracing_context

    work = Rewriting(prompt_id, baseline, tuple(framings), rewriter, reviewer, desk, repeat)
    start: ReframingState = {"prompt_id": prompt_id, "calls": 0, "cost_usd": 0.0}
    try:
        # Whatever the environment says, texts go to the endpoints named and nowhere else.
        with tracing_context(enabled=False):
            state = await reframing_graph().ainvoke(start, context=work)
    except AreopagusError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = f" ({last[0].name}, line {last[0].lineno})" if last else ""
        return failed_by_defect(work, redact(f"{type(error).__name__}: {error}{place}"))
    return reframed(state, work)


def _sound(state: ReframingState, framings: Sequence[Framing]) -> list[str]:
    faulty = {fault["framing"] for fault in state.get("faults", [])}
    variants = state.get("variants", {})
    return [f.id for f in framings if f.id in variants and f.id not in faulty]


def _to_review(state: ReframingState, framings: Sequence[Framing]) -> list[str]:
    passed = set(state.get("passed", []))
    return [name for name in _sound(state, framings) if name not in passed]


def _standing_faults(state: ReframingState) -> list[VariantFault]:
    plain = [*state.get("faults", []), *state.get("review", {}).get("faults", [])]
    return [VariantFault.from_json(fault) for fault in plain]


def _mended(
    state: ReframingState,
    framings: Sequence[Framing],
    wanted: Sequence[Framing],
    reading: ObjectReading,
) -> ReframingState:
    """The variants after a repair that could be read.

    Of framings that were not to be written anew the first text stands: it has been found good. One
    that was, and that the repair left out, is missing; but of a pair that did not stand in tension
    it is enough to write one half anew.
    """
    known = {framing.id for framing in framings}
    asked = {framing.id for framing in wanted}
    faults = _standing_faults(state)
    lost = {fault.framing for fault in faults if fault.code != "not_in_tension"} & asked
    before = {
        name: text
        for name, text in state.get("variants", {}).items()
        if name in known and name not in lost
    }
    after = {
        name: text for name, text in reading.value.items() if name in asked or name not in known
    }
    return {
        "variants": {**before, **after},
        "problem": None,
        "set_faults": [],
        "passed": [name for name in state.get("passed", []) if name not in after],
        "review": {},
    }


def _not_mended(state: ReframingState, detail: str) -> ReframingState:
    """The set as it was before a repair that brought nothing."""
    fault = VariantFault(WHOLE_SET, "repair_failed", detail).to_json()
    return {"set_faults": [*state.get("set_faults", []), fault]}


def _ended(how: str, code: str, detail: str) -> ReframingState:
    fault = VariantFault(WHOLE_SET, code, detail).to_json()
    return {"ended": how, "set_faults": [fault]}


def _unread(reading: ObjectReading) -> list[dict[str, Any]]:
    detail = f"{reading.problem}: {reading.detail}"
    return [VariantFault(WHOLE_SET, "unreadable", detail).to_json()]


def _paid(state: ReframingState, *answers: Answer) -> ReframingState:
    cost = state.get("cost_usd", 0.0)
    for answer in answers:
        paid = answer.reply.cost_usd
        cost = None if cost is None or paid is None else cost + paid
    return {
        "calls": state.get("calls", 0) + len(answers),
        "cost_usd": cost,
        "ledger_keys": [*state.get("ledger_keys", []), *(answer.key for answer in answers)],
    }


def _tell(runtime: Runtime[Rewriting], stage: str) -> None:
    runtime.stream_writer({"prompt": runtime.context.prompt_id, "stage": stage})
