"""Dry run: the calls, tokens and cost that a job would have, without sending anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..graphs.screening import screen
from ..judges.judge import Judge
from ..judges.models.backend import Backend
from ..judges.models.budget import reserve_usd
from ..judges.models.request import Request
from ..judges.parse import parse
from ..records.readers.responses import text_key
from ..records.types import Reply, Sample
from .backends import known_response_format

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.readers.responses import ResponseSource

LIKELY_OUTPUT_CHARACTERS = 170
"""A reply of five scores and a flag, as most models write it."""
LIKELY_RATIONALE_CHARACTERS = 900
_SAMPLE_CHARACTERS = 20_000


@dataclass(slots=True)
class StageEstimate:
    """One backend's part in one stage.

    Attributes:
        stage, backend: whose part, in what.
        planned: judgments, responses or other replies that are planned.
        stored: of these, what is in the ledger, or comes with an earlier response of the same text.
        calls: calls to send when nothing has to be asked for anew.
        likely_usd: their cost at likely lengths, nothing cached; None = price unknown.
        most_usd: cost if every call met its worst case, with every repair and second review; the
            cap's arithmetic. None = price unknown.
        most_calls: calls with all of those.
        input_tokens, output_tokens: likely ones of `calls`; None where they are not counted.
        most_output_tokens: if every call used all that it may; None as above.
    """

    stage: str
    backend: str
    planned: int = 0
    stored: int = 0
    calls: int = 0
    likely_usd: float | None = 0.0
    most_usd: float | None = 0.0
    most_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    most_output_tokens: int | None = None

    def add(self, backend: Backend, request: Request, *, output_tokens: float) -> None:
        """Counts one call to send, which is not asked for anew."""
        self.add_likely(backend, request, output_tokens=output_tokens)
        self.add_most(1, reserve_usd(backend, request))

    def add_likely(self, backend: Backend, request: Request, *, output_tokens: float) -> None:
        """Counts one call to send, without its worst case."""
        self.calls += 1
        text = "\n".join(message["content"] for message in request.messages)
        output = min(round(output_tokens), backend.spec.max_tokens)
        sent = backend.likely_tokens(text)
        self.likely_usd = plus(self.likely_usd, backend.likely_cost(sent, output))
        if self.input_tokens is not None:
            self.input_tokens += sent
            self.output_tokens = (self.output_tokens or 0) + output

    def add_most(self, calls: int, usd: float | None) -> None:
        """Counts the worst case: so many calls, at so much altogether."""
        self.most_calls += calls
        self.most_usd = plus(self.most_usd, usd)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would call and cost: the dry run of all its stages.

    Attributes:
        stages: one entry a stage and backend.
        assumptions: what the figures rest on, in sentences.
        notices: what was assumed about the input.
        n_responses: responses that a panel would read.
        n_screened: of these, responses that nobody would be asked about.
        least: the same for the judgments that a stopping rule asks for whatever the answers; None
            where there is no rule, or it wants a fixed number. `stages` then holds the most.
    """

    stages: tuple[StageEstimate, ...]
    assumptions: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    n_responses: int = 0
    n_screened: int = 0
    least: Estimate | None = None

    @property
    def calls(self) -> int:
        """Calls to send when nothing has to be asked for anew."""
        return sum(item.calls for item in self.stages)

    @property
    def most_calls(self) -> int:
        """Calls with every repair and second review."""
        return sum(item.most_calls for item in self.stages)

    @property
    def likely_usd(self) -> float | None:
        """Likely cost; None where a backend with calls to send has no known price."""
        return _sum(item.likely_usd for item in self.stages if item.most_calls)

    @property
    def most_usd(self) -> float | None:
        """The most it can cost; None as above."""
        return _sum(item.most_usd for item in self.stages if item.most_calls)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The backends with calls to send and no known price."""
        return tuple(
            sorted({i.backend for i in self.stages if i.most_calls and i.most_usd is None})
        )

    def followed_by(self, later: Estimate) -> Estimate:
        """This one's stages, and those of a panel that reads what they bring."""
        return replace(
            later,
            stages=(*self.stages, *later.stages),
            assumptions=(*self.assumptions, *later.assumptions),
            notices=(*self.notices, *later.notices),
        )


SCORING_ASSUMPTION = (
    "likely: usual replies, nothing cached; at most: every call at its full max_tokens, with a "
    "repair. Prices are those of the installed litellm."
)
_CALLS_OF_A_JUDGMENT = 2
"""A judge's reply, and its one repair."""


@dataclass(slots=True)
class _Tally:
    planned: int = 0
    stored: int = 0
    calls: int = 0
    characters: int = 0
    most_usd: float | None = 0.0


def estimate_scoring(panel: PanelSpec, source: ResponseSource) -> Estimate:
    """Calls, tokens and cost of scoring the source.

    Tokens are counted by the tokenizer that litellm has for a model on a sample of the texts, and
    scaled by characters; a backend whose way of structured output is not known yet is counted as
    if nothing were stored.

    Args:
        panel: who judges.
        source: what.
    """
    rule = panel.rule
    with source:
        notices = source.check().notices
        tallies = {backend.spec.name: _Tally() for backend in panel.backends}
        least = {backend.spec.name: _Tally() for backend in panel.backends}
        is_range = rule is not None and rule.half_width is not None
        texts_sampled: list[str] = []
        texts: set[int] = set()
        n_responses = n_screened = 0
        for sample in source.rows():
            n_responses += 1
            if screen(sample.response_text, most_characters=panel.most_characters).gate:
                n_screened += 1
                for judge in panel.judges.values():
                    for tally in (tallies[judge.model], least[judge.model]):
                        tally.planned += panel.repeats
                continue
            text = text_key(f"{sample.prompt_text}\0{sample.response_text}")
            # Under a rule each response has an order of its own, and so its own judges.
            if rule is None and text in texts:
                for judge in panel.judges.values():
                    tallies[judge.model].planned += panel.repeats
                    tallies[judge.model].stored += panel.repeats
                continue
            texts.add(text)
            most = frozenset(panel.most_calls(sample.response_id))
            first = frozenset(panel.first_calls(sample.response_id)) if is_range else None
            for name, judge in panel.judges.items():
                requests = _requests(panel, judge, sample)
                keys = [f"{name}|{repeat}" for repeat in range(panel.repeats)]
                asked = [k in most for k in keys]
                _count(panel, judge, sample, requests, tallies[judge.model], asked)
                if first is not None:
                    asked = [k in first for k in keys]
                    _count(panel, judge, sample, requests, least[judge.model], asked)
                if sum(map(len, texts_sampled)) < _SAMPLE_CHARACTERS:
                    texts_sampled.extend(m["content"] for m in requests[0].messages)
    sampled = "\n".join(texts_sampled)[: 2 * _SAMPLE_CHARACTERS]

    def of(tallied: Mapping[str, _Tally]) -> tuple[StageEstimate, ...]:
        return tuple(_estimate(panel, b, tallied[b.spec.name], sampled) for b in panel.backends)

    return Estimate(
        of(tallies),
        (SCORING_ASSUMPTION,),
        notices,
        n_responses,
        n_screened,
        Estimate(of(least)) if is_range else None,
    )


def _requests(panel: PanelSpec, judge: Judge, sample: Sample) -> list[Request]:
    response_format = known_response_format(panel.ledger, judge.backend) or "json_schema"
    return [
        judge.request(
            panel.judge_prompt,
            sample,
            secret=panel.ledger.secret,
            repeat=repeat,
            response_format=response_format,
        )
        for repeat in range(panel.repeats)
    ]


def _count(
    panel: PanelSpec,
    judge: Judge,
    sample: Sample,
    requests: list[Request],
    tally: _Tally,
    is_asked: list[bool],
) -> None:
    tally.planned += len(requests)
    asked = [request for request, wanted in zip(requests, is_asked, strict=True) if wanted]
    found = _stored(panel, judge, asked)
    for request in asked:
        reply = found.get(request.key())
        missing = request if reply is None else _repair(panel, judge, sample, request, reply)
        if missing is None:
            tally.stored += 1
            continue
        tally.calls += 1
        tally.characters += sum(len(message["content"]) for message in missing.messages)
        tally.most_usd = plus(tally.most_usd, reserve_usd(judge.backend, missing))


def _stored(panel: PanelSpec, judge: Judge, requests: list[Request]) -> dict[str, Reply]:
    if not known_response_format(panel.ledger, judge.backend):
        return {}
    return panel.ledger.lookup([request.key() for request in requests])


def _repair(
    panel: PanelSpec, judge: Judge, sample: Sample, request: Request, reply: Reply
) -> Request | None:
    """What is still to be sent where a stored reply cannot be read."""
    judged = (sample.prompt_text, sample.response_text)
    parsed = parse(reply, panel.judge_prompt.schema, judged=judged)
    if parsed.outcome != "unreadable":
        return None
    question = judge.question(
        panel.judge_prompt, sample, secret=panel.ledger.secret, repeat=request.repeat
    ).repaired(reply.text, parsed.problem or "not_json")
    repair = question.request(judge.backend, request.structured)
    return None if _stored(panel, judge, [repair]) else repair


def _estimate(panel: PanelSpec, backend: Backend, tally: _Tally, text: str) -> StageEstimate:
    per_character = backend.likely_tokens(text) / len(text) if text else 0.25
    reply = LIKELY_OUTPUT_CHARACTERS * max(1, len(panel.criteria)) / 5
    if panel.judge_prompt.rationale == "before":
        reply += LIKELY_RATIONALE_CHARACTERS
    incoming = round(tally.characters * per_character)
    most_outgoing = tally.calls * backend.spec.max_tokens
    outgoing = min(most_outgoing, round(tally.calls * reply * per_character))
    return StageEstimate(
        "score",
        backend.spec.name,
        planned=tally.planned,
        stored=tally.stored,
        calls=tally.calls,
        most_calls=_CALLS_OF_A_JUDGMENT * tally.calls,
        input_tokens=incoming,
        output_tokens=outgoing,
        most_output_tokens=most_outgoing,
        likely_usd=backend.likely_cost(incoming, outgoing),
        most_usd=tally.most_usd,
    )


def plus(total: float | None, amount: float | None) -> float | None:
    """The sum of two costs; None where one of them is unknown."""
    return None if total is None or amount is None else total + amount


def _sum(values: Iterable[float | None]) -> float | None:
    listed = list(values)
    return None if any(value is None for value in listed) else sum(v for v in listed if v)
