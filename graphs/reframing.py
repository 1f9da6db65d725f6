"""The reframing graph: rewrite, check, repair once, review by a second model.

    rewrite → check ┬→ repair (once) → check
                    └→ review ┬→ repair (once) → check → review
                              └→ end

One run is one prompt. Every call goes through the ledger, which makes a run resumable, so no
checkpointer is needed. An expected failure is a recorded outcome, not an exception.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..errors import AreopagusError, InputError
from ..judges.models.backend import Backend
from ..judges.models.client import Answer, Client
from ..judges.models.credentials import redact
from ..judges.models.request import ResponseFormat
from ..judges.structured import Question, complete
from ..records.spreadsheets import writable
from ..records.variants import VariantRow, as_generated
from .framings import Framing
from .generate import has_object, run_graph, sum_of, why_failed
from .rewriting import ReviewOutcome, review_variants, rewrite_question, rewrite_repair
from .variant_checks import WHOLE_SET, VariantFault, check_variants

ReframedStatus = Literal["accepted", "partial", "failed", "not_asked"]
"""`accepted`: every framing has a usable variant. `partial`: some have. `failed`: none has.
`not_asked`: the budget or a stop came before the prompt was finished; nothing of it is used, and
the next run takes up where the ledger ends."""

REFRAMED_STATUSES: tuple[ReframedStatus, ...] = get_args(ReframedStatus)

VariantStatus = Literal["accepted", "failed", "not_asked"]

NO_SECOND_MODEL = "no second model"


class ReframingState(TypedDict, total=False):
    """State of one prompt. Variants are results and stand here; the prompt's own text does not.

    `variants` is what the rewriter wrote, unchecked. `reply` is its first reply, shortened, as the
    repair shows it back; `response_format` how it was asked for; `problem` what was wrong with its
    form. `faults` are those of the variants as they stand, `set_faults` those of the whole reply,
    `repair_faults` those that the repair was asked for. `passed` names the variants that passed a
    review. `ended` is `not_asked` or `failed` where there is nothing more to do.
    """

    prompt_id: str
    variants: dict[str, Any]
    faults: list[dict[str, Any]]
    set_faults: list[dict[str, Any]]
    skipped: list[str]
    reply: str
    response_format: ResponseFormat
    problem: str | None
    repaired: bool
    repair_faults: list[dict[str, Any]]
    review: dict[str, Any]
    passed: list[str]
    ended: str | None
    calls: int
    cost_usd: float | None
    ledger_keys: list[str]
    answered_by: str | None


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Runtime context of one run of the graph: one prompt, who rewrites it and who reviews."""

    prompt_id: str
    baseline: str
    framings: tuple[Framing, ...]
    rewriter: Backend
    reviewer: Backend | None
    client: Client
    repeat: int = 0

    def question(self) -> Question[dict[str, Any]]:
        """What the rewriter is asked first."""
        secret = self.client.ledger.secret
        return rewrite_question(self.baseline, self.framings, secret=secret, repeat=self.repeat)


@dataclass(frozen=True, slots=True)
class VariantChecks:
    """How far the variants were checked.

    Attributes:
        deterministic: whether every variant that is usable passed them; None where none came.
        skipped: checks left out, each with the reason ("marker_missing: not English").
        review: what the second model said of what it was shown, after the repair if there was one.
        review_why: for `not_checked`: `NO_SECOND_MODEL`, a class of fault, `unreadable`, `refused`
            or `no_variant`; for the others "".
    """

    deterministic: bool | None
    skipped: tuple[str, ...] = ()
    review: ReviewOutcome = "not_checked"
    review_why: str = NO_SECOND_MODEL

    def __str__(self) -> str:
        words = {True: "passed", False: "failed", None: "not_checked"}
        why = f" ({self.review_why})" if self.review_why else ""
        skipped = f"; skipped {', '.join(self.skipped)}" if self.skipped else ""
        return f"deterministic {words[self.deterministic]}; review {self.review}{why}{skipped}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "deterministic": self.deterministic,
            "skipped": list(self.skipped),
            "review": self.review,
            "review_why": self.review_why,
        }


@dataclass(frozen=True, slots=True)
class Reframed:
    """What became of rewriting one prompt.

    Attributes:
        prompt_id: which prompt.
        rewriter, reviewer: names of the backends; None where there was no second model.
        status: see `ReframedStatus`.
        variants: framing to text, for the usable ones alone, in the order of the framings.
        rejected: framing to text, where a text came and was not good enough.
        reasons: every fault that stands at the end; a repaired one is in `repaired_faults`.
        statuses: framing to `accepted`, `failed` or `not_asked`, for every framing asked for.
        repaired: whether a second ask was made.
        repaired_faults: what the second ask was made for.
        checks: how far the variants were checked.
        calls: replies this rests on, reviews included; `cost_usd` is what they cost when they were
            paid, None where a price is unknown.
        ledger_keys: keys of the calls.
        answered_by: the model that says it wrote the variants.
    """

    prompt_id: str
    rewriter: str
    reviewer: str | None
    status: ReframedStatus
    variants: Mapping[str, str] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[VariantFault, ...] = ()
    statuses: Mapping[str, VariantStatus] = field(default_factory=dict)
    repaired: bool = False
    repaired_faults: tuple[VariantFault, ...] = ()
    checks: VariantChecks = field(default_factory=lambda: VariantChecks(None))
    calls: int = 0
    cost_usd: float | None = 0.0
    ledger_keys: tuple[str, ...] = ()
    answered_by: str | None = None

    def reasons_for(self, framing: str) -> tuple[VariantFault, ...]:
        """What is wrong with this variant, or with the whole reply."""
        return tuple(fault for fault in self.reasons if fault.framing in ("", framing))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "prompt_id": self.prompt_id,
            "rewriter": self.rewriter,
            "reviewer": self.reviewer,
            "status": self.status,
            "variants": dict(self.variants),
            "rejected": dict(self.rejected),
            "reasons": [fault.to_json() for fault in self.reasons],
            "statuses": dict(self.statuses),
            "repaired": self.repaired,
            "repaired_faults": [fault.to_json() for fault in self.repaired_faults],
            "checks": self.checks.to_json(),
            "calls": self.calls,
            "cost_usd": self.cost_usd,
            "ledger_keys": list(self.ledger_keys),
            "answered_by": self.answered_by,
        }


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who rewrites a prompt, and who reviews it: another model, or nobody."""

    rewriter: Backend
    reviewer: Backend | None


def assign_rewriters(
    prompt_ids: Iterable[str],
    rewriters: Sequence[Backend],
    *,
    seed: int = 0,
    reviewers: Sequence[Backend] = (),
) -> dict[str, Assignment]:
    """Prompt id to who rewrites and reviews it, in batches whose sizes differ by one at most.

    The prompts are put into an order drawn by the seed and dealt out, so that no rewriter shapes
    one kind of prompt alone. The order in which prompts and models come changes nothing; another
    prompt, model or seed may change all.

    The reviewer is the next model, in order of names, that is another one than the writer: two
    backends of one model are not independent. An embedded stand-in reviews nothing.

    Args:
        prompt_ids: the prompts; a repeated one counts once.
        rewriters: who may rewrite.
        seed: of the draw.
        reviewers: who may review beside the rewriters; taken before them.

    Raises:
        InputError: without a rewriter.
    """
    if not rewriters:
        raise InputError("must name at least one rewriter, got none")
    writers = sorted(rewriters, key=_by_name)
    order = sorted(set(prompt_ids), key=lambda name: (_draw(seed, name), name))
    # Without the shift the first model by name would have the larger batch in every study.
    shift = int(_draw(seed, ""), 16) % len(writers)
    assigned = {name: (place + shift) % len(writers) for place, name in enumerate(order)}
    return {
        name: Assignment(writers[place], _reviewer(place, writers, reviewers))
        for name, place in sorted(assigned.items())
    }


def _reviewer(
    place: int, writers: Sequence[Backend], reviewers: Sequence[Backend]
) -> Backend | None:
    writer = writers[place]
    others = [*sorted(reviewers, key=_by_name), *writers[place + 1 :], *writers[:place]]
    for other in others:
        if other.spec.model != writer.spec.model and not other.spec.is_offline:
            return other
    return None


def _by_name(backend: Backend) -> tuple[str, str]:
    return backend.spec.name, backend.spec.identity


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}\x1f{name}".encode("utf-8", "surrogatepass")).hexdigest()


def reframed(state: ReframingState, work: Rewriting) -> Reframed:
    """The outcome: each framing for itself, both halves of a pair that is not in tension failed."""
    names = [framing.id for framing in work.framings]
    set_faults = _faults(state.get("set_faults", []))
    checked = _faults(state.get("faults", []))
    review = state.get("review") or {}
    reviewed = _faults(review.get("faults", []))
    ended = state.get("ended") or ("failed" if state.get("problem") else None)
    faulty = {fault.framing for fault in (*checked, *reviewed)}
    variants = state.get("variants", {})
    statuses: dict[str, VariantStatus]
    if ended is not None:
        # Unfinished or unreadable as a whole: nothing of it was found good.
        closed: VariantStatus = "not_asked" if ended == "not_asked" else "failed"
        statuses = dict.fromkeys(names, closed)
    else:
        statuses = {name: "failed" if name in faulty else "accepted" for name in names}
    usable = {name: str(variants[name]) for name in names if statuses[name] == "accepted"}
    texts = {name: variants[name] for name in names if type(variants.get(name)) is str}
    return Reframed(
        prompt_id=work.prompt_id,
        rewriter=work.rewriter.spec.name,
        reviewer=None if work.reviewer is None else work.reviewer.spec.name,
        status=_status(statuses, usable),
        variants=usable,
        rejected={name: text for name, text in texts.items() if statuses[name] == "failed"},
        reasons=(*set_faults, *checked, *reviewed),
        statuses=statuses,
        repaired=state.get("repaired", False),
        repaired_faults=_faults(state.get("repair_faults", [])),
        checks=_checks(state, work, any_text=bool(texts), any_fault=bool(checked), ended=ended),
        calls=state.get("calls", 0),
        cost_usd=state.get("cost_usd", 0.0),
        ledger_keys=tuple(state.get("ledger_keys", [])),
        answered_by=state.get("answered_by"),
    )


def variant_rows(outcome: Reframed, baseline: str) -> list[VariantRow]:
    """The outcome as rows of the table of variants, one a framing, in order."""
    texts = {**outcome.rejected, **outcome.variants}
    return [
        as_generated(
            VariantRow(
                prompt_id=outcome.prompt_id,
                condition=name,
                # A reply may hold what no CSV file can, and a table must read back as written.
                prompt_text=writable(texts.get(name, "")).replace("\0", "\ufffd"),
                baseline_text=baseline,
                rewriter=outcome.rewriter,
                reviewer=outcome.reviewer or "",
                status=status,
                reasons="; ".join(
                    f"{fault.code}: {fault.detail}" if fault.detail else fault.code
                    for fault in outcome.reasons_for(name)
                ),
                checks=str(outcome.checks),
            )
        )
        for name, status in outcome.statuses.items()
    ]


def failed_by_defect(work: Rewriting, detail: str) -> Reframed:
    """The outcome where this program fell over; the other prompts stand."""
    names = [framing.id for framing in work.framings]
    return Reframed(
        prompt_id=work.prompt_id,
        rewriter=work.rewriter.spec.name,
        reviewer=None if work.reviewer is None else work.reviewer.spec.name,
        status="failed",
        reasons=(VariantFault(WHOLE_SET, "no_reply", f"internal: {detail}"),),
        statuses=dict.fromkeys(names, "failed"),
        checks=VariantChecks(None, review_why="no_variant"),
        cost_usd=None,
    )


def _status(statuses: dict[str, VariantStatus], usable: dict[str, str]) -> ReframedStatus:
    if "not_asked" in statuses.values():
        return "not_asked"
    if len(usable) == len(statuses):
        return "accepted"
    return "partial" if usable else "failed"


def _checks(
    state: ReframingState, work: Rewriting, *, any_text: bool, any_fault: bool, ended: str | None
) -> VariantChecks:
    review = state.get("review") or {}
    outcome: ReviewOutcome = review.get("outcome", "not_checked")
    why: str = review.get("why", "")
    if not review:
        if work.reviewer is None:
            why = NO_SECOND_MODEL
        else:
            why = "not_asked" if ended == "not_asked" else "no_variant"
    return VariantChecks(
        deterministic=not any_fault if any_text and ended is None else None,
        skipped=tuple(state.get("skipped", [])),
        review=outcome,
        review_why=why,
    )


def _faults(plain: list[dict[str, str]]) -> tuple[VariantFault, ...]:
    return tuple(VariantFault.from_json(fault) for fault in plain)


_ECHO_CHARACTERS = 4_000


async def rewrite_node(state: ReframingState, runtime: Runtime[Rewriting]) -> ReframingState:
    """The first set of variants, or why there is none."""
    work = runtime.context
    _tell(runtime, "rewrite")
    done = await complete(work.client, work.rewriter, work.question())
    paid = _paid(state, done.answers)
    if done.status == "failed":
        return {**_ended("failed", "no_reply", why_failed(done)), **paid}
    if done.status == "not_asked":
        return {**_unasked(done.reason, done.detail), **paid}
    if done.status == "refused":
        return {**_ended("failed", "refused", done.detail or ""), **paid}
    form_fault = VariantFault(WHOLE_SET, "unreadable", why_failed(done)).to_json()
    return {
        **paid,
        "variants": dict(done.found),
        "problem": None if has_object(done) else done.reason,
        "reply": done.text[:_ECHO_CHARACTERS],
        "response_format": done.response_format or "prompt",
        "answered_by": done.answered_by,
        "set_faults": [] if has_object(done) else [form_fault],
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
    _tell(runtime, "repair")
    question = rewrite_repair(
        work.question(), state.get("reply", ""), faults, wanted, problem=problem
    )
    form = state.get("response_format", "prompt")
    done = await complete(work.client, work.rewriter, question, response_format=form)
    made.update(_paid(state, done.answers))
    if done.status == "not_asked":
        return {**made, **_unasked(done.reason, done.detail)}
    if done.status == "refused" and problem:
        return {**made, **_ended("failed", "refused", done.detail or "")}
    if not has_object(done):
        return {**made, **_not_mended(state, why_failed(done))}
    return {**made, **_mended(state, work.framings, wanted, done.found)}


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
    review = await review_variants(
        work.client, work.reviewer, work.baseline, texts, shown, repeat=work.repeat
    )
    if review.is_unasked:
        return {**_unasked(review.why, None), **_paid(state, review.answers)}
    faults = [
        fault for fault in review.faults if fault.framing in fresh or fault.code == "not_in_tension"
    ]
    outcome = "failed" if faults else "passed"
    passed = [name for name in texts if name not in {fault.framing for fault in faults}]
    known = [name for name in state.get("passed", []) if name not in texts]
    return {
        **_paid(state, review.answers),
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
    client: Client,
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
        client: where calls are handed in: ledger, limits and budget are its own.
        prompt_id: name of the prompt.
        baseline: its text.
        framings: what to rewrite it into, in the order of the results.
        rewriter: who writes.
        reviewer: another model that reads the result; None: not checked, and said so.
        repeat: another number asks for other variants of the same prompt.

    Raises:
        AreopagusError: the ledger cannot be written: nothing more may be paid for.
    """
    work = Rewriting(prompt_id, baseline, tuple(framings), rewriter, reviewer, client, repeat)
    start: ReframingState = {"prompt_id": prompt_id, "calls": 0, "cost_usd": 0.0}
    try:
        state = await run_graph(reframing_graph(), start, work)
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
    written: Mapping[str, Any],
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
    after = {name: text for name, text in written.items() if name in asked or name not in known}
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


def _unasked(reason: str | None, detail: str | None) -> ReframingState:
    return _ended("not_asked", reason or "budget", detail or "")


def _paid(state: ReframingState, answers: Sequence[Answer]) -> ReframingState:
    paid = [answer.reply.cost_usd for answer in answers]
    return {
        "calls": state.get("calls", 0) + len(answers),
        "cost_usd": sum_of(state.get("cost_usd", 0.0), *paid),
        "ledger_keys": [*state.get("ledger_keys", []), *(answer.key for answer in answers)],
    }


def _tell(runtime: Runtime[Rewriting], stage: str) -> None:
    runtime.stream_writer({"prompt": runtime.context.prompt_id, "stage": stage})
