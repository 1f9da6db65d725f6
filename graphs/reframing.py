"""Reframing: one prompt put into the mouths of different people, by the generate graph.

`reframe` is one run: a model rewrites the prompt into every framing, rules check the variants, the
faulty ones are rewritten once, and a second model reviews what passed. What the two are told stands
in `templates/rewrite.yaml` and `templates/review.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from ..errors import InputError
from ..judges.models.backend import Backend
from ..judges.models.budget import REPAIR_OUTPUT_FACTOR, worst_usd
from ..judges.models.client import Client
from ..judges.models.request import Request
from ..judges.schema import FLAG, TEXT, OutputSchema, Value, object_schema
from ..judges.structured import Question
from ..records.spreadsheets import writable
from ..records.variants import VariantRow, as_generated
from .framings import Framing, opposite_pairs
from .generate import (
    WHOLE,
    Checked,
    Fault,
    Generated,
    Review,
    ReviewOutcome,
    WritingTask,
    draw,
    generate,
    independent,
)
from .prompt_template import load_prompt_template
from .variant_checks import check_variants, variants_schema

ReframedStatus = Literal["accepted", "partial", "failed", "not_asked"]
"""`accepted`: every framing has a usable variant. `partial`: some have. `failed`: none has.
`not_asked`: the budget or a stop came before the prompt was finished; nothing of it is used, and
the next run takes up where the ledger ends."""

REFRAMED_STATUSES: tuple[ReframedStatus, ...] = get_args(ReframedStatus)

VariantStatus = Literal["accepted", "failed", "not_asked"]

NO_SECOND_MODEL = "no second model"

REVIEW_CODES: Mapping[str, str] = {
    "self_contained": "not_self_contained",
    "same_question": "other_question",
    "natural": "not_natural",
    "faithful": "not_faithful",
}
"""What a reviewer answers of each variant, and the fault where it says no."""

NOT_IN_TENSION = "not_in_tension"
"""The fault of both halves of a pair of opposites that do not stand against each other."""

_REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ReframingTask(WritingTask):
    """One prompt to be rewritten into these framings; another repeat asks for other variants."""

    baseline: str
    framings: tuple[Framing, ...]
    repeat: int = 0

    # Of a pair that does not stand in tension it is enough to write one half anew.
    soft = frozenset({NOT_IN_TENSION})

    @property
    def parts(self) -> tuple[str, ...]:
        """The framings' ids."""
        return tuple(framing.id for framing in self.framings)

    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        """What a rewriter is asked: one variant in each framing."""
        return load_prompt_template("rewrite").question(
            {"PROMPT": self.baseline},
            variants_schema(self.framings),
            secret=secret,
            purpose="rewrite",
            values={"framings": _framing_text(self.framings)},
            repeat=self.repeat,
            labels=_labels(self.framings),
            stand_in=_stand_in(self.framings),
            repairs=False,
        )

    def check(self, written: Mapping[str, Any]) -> Checked:
        """What the rules find in the variants."""
        return check_variants(self.baseline, written, self.framings)

    def repair(
        self, parts: Sequence[str], faults: Sequence[Fault], before: Generated, secret: bytes
    ) -> Question[dict[str, Any]]:
        """The request to write the variants of some framings anew."""
        wanted = self._named(parts)
        return load_prompt_template("rewrite").asked_anew(
            self.write(secret),
            variants_schema(wanted),
            reply=before.reply,
            problem=before.problem,
            faults=[(f"{fault.part} " if fault.part else "", fault.code) for fault in faults],
            parts=parts,
            stand_in=_stand_in(wanted),
            labels=_labels(wanted),
        )

    def shown_together(self, fresh: Sequence[str], sound: Sequence[str]) -> list[str]:
        """The fresh variants, each beside its opposite where that is sound."""
        return [
            framing.id
            for framing in self.framings
            if framing.id in fresh or (framing.opposite in fresh and framing.id in sound)
        ]

    def review(self, written: Mapping[str, Any], secret: bytes) -> Question[dict[str, Any]]:
        """What a second model is asked about these variants."""
        template = load_prompt_template("review")
        framings = self._named(written)
        pairs = [
            f"pair_{number} is {one.id} and {other.id}"
            for number, (one, other) in enumerate(opposite_pairs(framings), start=1)
        ]
        return template.question(
            {"ORIGINAL": self.baseline} | {f"VERSION {f.id}": written[f.id] for f in framings},
            _review_schema(framings),
            secret=secret,
            purpose="review",
            values={
                "questions": template.asked(),
                "pairs": template.text("pairs", pairs="; ".join(pairs)) if pairs else "",
                "framings": _framing_text(framings),
            },
            repeat=self.repeat,
            labels=_labels(framings),
        )

    def read_review(
        self, value: Mapping[str, Any], shown: Sequence[str], fresh: Sequence[str]
    ) -> list[Fault]:
        """The faults of the fresh variants, and of pairs that do not stand in tension."""
        framings = self._named(shown)
        faults = [
            Fault(framing.id, code, _reason(value, f"{framing.id}__reason"))
            for framing in framings
            for key, code in REVIEW_CODES.items()
            if framing.id in fresh and value[f"{framing.id}__{key}"] is False
        ]
        for number, pair in enumerate(opposite_pairs(framings), start=1):
            if value[f"pair_{number}__in_tension"] is False:
                reason = _reason(value, f"pair_{number}__reason")
                faults += [Fault(framing.id, NOT_IN_TENSION, reason) for framing in pair]
        return faults

    def _named(self, ids: Iterable[str]) -> list[Framing]:
        wanted = set(ids)
        return [framing for framing in self.framings if framing.id in wanted]


def _review_schema(framings: Sequence[Framing]) -> OutputSchema[dict[str, Any]]:
    """A reason and four answers for each variant, a reason and one answer for each pair."""
    fields: dict[str, Value] = {}
    for framing in framings:
        fields[f"{framing.id}__reason"] = TEXT
        fields |= {f"{framing.id}__{key}": FLAG for key in REVIEW_CODES}
    for number, _ in enumerate(opposite_pairs(framings), start=1):
        fields |= {f"pair_{number}__reason": TEXT, f"pair_{number}__in_tension": FLAG}
    return object_schema(fields)


def _framing_text(framings: Sequence[Framing]) -> list[str]:
    template = load_prompt_template("rewrite")
    return [
        "The framings:",
        *(
            template.text("framing", id=one.id, label=one.label, instruction=one.instruction)
            for one in framings
        ),
        *(
            template.text("opposites", one=one.id, other=other.id)
            for one, other in opposite_pairs(framings)
        ),
    ]


def _labels(framings: Sequence[Framing]) -> dict[str, str]:
    return {"framings": ",".join(framing.id for framing in framings)}


def _stand_in(framings: Sequence[Framing]) -> Mapping[str, Any]:
    """What the embedded rewriter needs and cannot read out of the messages."""
    from ..judges.offline.writers import REWRITER_VERSION

    return {
        "version": REWRITER_VERSION,
        "framings": {framing.id: list(framing.stand_in) for framing in framings},
    }


def _reason(value: Mapping[str, object], key: str) -> str:
    text = " ".join(str(value[key]).split())
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown if len(shown) <= _REASON_CHARACTERS else shown[: _REASON_CHARACTERS - 1] + "…"


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
    skipped: tuple[str, ...]
    review: ReviewOutcome
    review_why: str

    def __str__(self) -> str:
        words = {True: "passed", False: "failed", None: "not_checked"}
        why = f" ({self.review_why})" if self.review_why else ""
        skipped = f"; skipped {', '.join(self.skipped)}" if self.skipped else ""
        return f"deterministic {words[self.deterministic]}; review {self.review}{why}{skipped}"


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
    variants: Mapping[str, str]
    rejected: Mapping[str, str]
    reasons: tuple[Fault, ...]
    statuses: Mapping[str, VariantStatus]
    repaired: bool
    repaired_faults: tuple[Fault, ...]
    checks: VariantChecks
    calls: int
    cost_usd: float | None
    ledger_keys: tuple[str, ...]
    answered_by: str | None

    def reasons_for(self, framing: str) -> tuple[Fault, ...]:
        """What is wrong with this variant, or with the whole reply."""
        return tuple(fault for fault in self.reasons if fault.part in (WHOLE, framing))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **asdict(self),
            "reasons": _plain(self.reasons),
            "repaired_faults": _plain(self.repaired_faults),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Reframed:
        """The outcome that `to_json` wrote."""
        checks = plain["checks"]
        return cls(
            **{
                **plain,
                "reasons": _faults(plain["reasons"]),
                "repaired_faults": _faults(plain["repaired_faults"]),
                "checks": VariantChecks(**{**checks, "skipped": tuple(checks["skipped"])}),
                "ledger_keys": tuple(plain["ledger_keys"]),
            }
        )


def _plain(faults: Iterable[Fault]) -> list[dict[str, str]]:
    return [{"framing": fault.part, "code": fault.code, "detail": fault.detail} for fault in faults]


def _faults(plain: Iterable[Mapping[str, str]]) -> tuple[Fault, ...]:
    return tuple(Fault(one["framing"], one["code"], one["detail"]) for one in plain)


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
    order = sorted(set(prompt_ids), key=lambda name: (draw(seed, name), name))
    # Without the shift the first model by name would have the larger batch in every study.
    shift = int(draw(seed, ""), 16) % len(writers)
    assigned = {name: (place + shift) % len(writers) for place, name in enumerate(order)}
    found: dict[str, Assignment] = {}
    for name, place in sorted(assigned.items()):
        others = [*sorted(reviewers, key=_by_name), *writers[place + 1 :], *writers[:place]]
        found[name] = Assignment(
            writers[place], next(iter(independent(others, [writers[place]])), None)
        )
    return found


def _by_name(backend: Backend) -> tuple[str, str]:
    return backend.spec.name, backend.spec.identity


def reframed(
    prompt_id: str,
    task: ReframingTask,
    made: Generated,
    rewriter: Backend,
    reviewer: Backend | None,
) -> Reframed:
    """The outcome: each framing for itself, both halves of a pair that is not in tension failed."""
    names = task.parts
    reviewed = made.review.faults if made.review else ()
    faulty = {fault.part for fault in (*made.faults, *reviewed)}
    written = made.written or {}
    is_open = made.status == "read"
    # Unfinished or unreadable as a whole: nothing of it was found good.
    closed: VariantStatus = "not_asked" if made.status == "not_asked" else "failed"
    statuses: dict[str, VariantStatus] = {
        name: closed if not is_open else "failed" if name in faulty else "accepted"
        for name in names
    }
    usable = {name: str(written[name]) for name in names if statuses[name] == "accepted"}
    texts = {name: written[name] for name in names if type(written.get(name)) is str}
    if made.review is not None:
        review = made.review
    elif reviewer is None:
        review = Review("not_checked", NO_SECOND_MODEL)
    else:
        review = Review("not_checked", "not_asked" if closed == "not_asked" else "no_variant")
    return Reframed(
        prompt_id=prompt_id,
        rewriter=rewriter.spec.name,
        reviewer=None if reviewer is None else reviewer.spec.name,
        status=_status(statuses, usable),
        variants=usable,
        rejected={name: text for name, text in texts.items() if statuses[name] == "failed"},
        reasons=(*made.whole, *made.faults, *reviewed),
        statuses=statuses,
        repaired=made.repaired is not None,
        repaired_faults=made.repaired or (),
        checks=VariantChecks(
            not made.faults if texts and is_open else None,
            made.skipped,
            review.outcome,
            review.why,
        ),
        calls=made.n_calls,
        cost_usd=made.cost_usd,
        ledger_keys=made.ledger_keys,
        answered_by=made.answered_by,
    )


def _status(statuses: Mapping[str, VariantStatus], usable: Mapping[str, str]) -> ReframedStatus:
    if "not_asked" in statuses.values():
        return "not_asked"
    if len(usable) == len(statuses):
        return "accepted"
    return "partial" if usable else "failed"


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
    task = ReframingTask(baseline, tuple(framings), repeat)
    made = await generate(client, task, rewriter, reviewer)
    return reframed(prompt_id, task, made, rewriter, reviewer)


MOST_WRITING_CALLS = 2
"""The first set of variants, and one repair."""

MOST_REVIEW_CALLS = 4
"""A review before the repair and one after it, each asked once more where its form cannot be
read."""

_UTF8_BYTES = 4
_ECHO_CHARACTERS = 4_000


def most_writing_usd(
    backend: Backend, request: Request, *, framings: int, is_first_paid: bool = False
) -> float | None:
    """US dollars if the set has to be repaired; None where the price is unknown.

    Args:
        backend: the rewriter.
        request: the first call.
        framings: how many are written.
        is_first_paid: whether the first reply is in the ledger.
    """
    lines = sum(map(len, load_prompt_template("rewrite").faults.values()))
    repair = worst_usd(backend, _longer(request, (framings + 1) * lines))
    first = 0.0 if is_first_paid else worst_usd(backend, request)
    return None if first is None or repair is None else first + repair


def most_review_usd(backend: Backend, request: Request) -> float | None:
    """US dollars if the variants are reviewed twice and no review can be read at first.

    Args:
        backend: the reviewer.
        request: a call that shows all variants.
    """
    first, again = worst_usd(backend, request), worst_usd(backend, _longer(request, 0))
    return None if first is None or again is None else 2 * (first + again)


def _longer(request: Request, lines: int) -> Request:
    """The request with the echo of a reply and what is said of it, and room for a longer one."""
    added = _UTF8_BYTES * _ECHO_CHARACTERS + lines + len(str(request.schema)) + 1_000
    return replace(
        request,
        messages=(*request.messages, {"role": "user", "content": "x" * added}),
        params={
            **request.params,
            "max_tokens": REPAIR_OUTPUT_FACTOR * int(request.params.get("max_tokens") or 0),
        },
    )
