"""Dry run: the calls, tokens and cost that a job would have, without sending anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from ..judges.judge import Judge
from ..judges.models.backend import Backend
from ..judges.models.budget import reserve_usd
from ..judges.models.request import Request, ResponseFormat
from ..judges.parse import Parsed, parse
from ..judges.schema import ParsedScore
from ..judges.structured import Question
from ..records.readers.responses import text_key
from ..records.types import Reply, Sample
from .backends import known_response_format

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.ledger import Ledger
    from ..records.readers.responses import ResponseSource

T = TypeVar("T")

LIKELY_OUTPUT_CHARACTERS = 170
"""A reply of five scores and a flag, as most models write it."""
LIKELY_RATIONALE_CHARACTERS = 900
_SAMPLE_CHARACTERS = 20_000
_CALLS_OF_A_JUDGMENT = 2
"""A judge's reply, and its one repair."""


@dataclass(slots=True)
class StageCost:
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

    def plus(self, other: StageCost) -> StageCost:
        """Both together, under this one's names."""
        return StageCost(
            self.stage, self.backend, self.planned + other.planned, self.stored + other.stored,
            self.calls + other.calls, plus(self.likely_usd, other.likely_usd),
            plus(self.most_usd, other.most_usd), self.most_calls + other.most_calls,
            *(
                None if one is None or two is None else one + two
                for one, two in (
                    (self.input_tokens, other.input_tokens),
                    (self.output_tokens or 0, other.output_tokens),
                )
            ),
        )  # fmt: skip

    def add_most(self, calls: int, usd: float | None) -> None:
        """Counts the worst case: so many calls, at so much altogether."""
        self.most_calls += calls
        self.most_usd = plus(self.most_usd, usd)


@dataclass(frozen=True, slots=True)
class DryRun:
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

    stages: tuple[StageCost, ...]
    assumptions: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    n_responses: int = 0
    n_screened: int = 0
    least: DryRun | None = None

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

    def followed_by(self, later: DryRun) -> DryRun:
        """This one's stages, and those of a panel that reads what they bring."""
        return replace(
            later,
            stages=(*self.stages, *later.stages),
            assumptions=(*self.assumptions, *later.assumptions),
            notices=(*self.notices, *later.notices),
        )


class CallCounter:
    """Counts calls against what the ledger holds; one and the same call is sent once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._counted: set[str] = set()

    def stored(self, request: Request) -> Reply | None:
        """The reply that the ledger has."""
        key = request.key()
        return self._ledger.lookup([key]).get(key)

    def is_first(self, request: Request) -> bool:
        """Whether this call is not among those to send yet; from now on it is."""
        key = request.key()
        is_first = key not in self._counted
        self._counted.add(key)
        return is_first

    def complete(
        self, stage: StageCost, backend: Backend, question: Question[T], *, output_tokens: float
    ) -> Parsed[T] | None:
        """What the stored answer to a typed question says; None with its call counted.

        A backend whose way of structured output is not known yet is counted as if nothing were
        stored. Of a reply that cannot be read, the repair is what counts.
        """
        stage.planned += 1
        known = known_response_format(self._ledger, backend)
        request = question.request(backend, known or "json_schema")
        reply = self.stored(request) if known else None
        calls = _CALLS_OF_A_JUDGMENT
        if known and reply is not None:
            parsed = parse(reply, question.schema, judged=question.shown)
            if parsed.outcome != "unreadable":
                stage.stored += 1
                return parsed
            again = question.repaired(reply.text, parsed.problem or "not_json")
            request, calls = again.request(backend, known), 1
            reply = self.stored(request)
            if reply is not None:
                stage.stored += 1
                return parse(reply, question.schema, judged=question.shown)
        if self.is_first(request):
            stage.add_likely(backend, request, output_tokens=output_tokens)
            stage.add_most(calls, times(calls, reserve_usd(backend, request)))
        return None


SCORING_ASSUMPTION = (
    "likely: usual replies, nothing cached; at most: every call at its full max_tokens, with a "
    "repair. Prices are yours where you gave them, else those of the installed libraries."
)


def estimate_scoring(panel: PanelSpec, source: ResponseSource) -> DryRun:
    """Calls, tokens and cost of scoring the source.

    Tokens are counted by the tokenizer that litellm has for a model on a sample of the texts, and
    scaled by characters; a backend whose way of structured output is not known yet is counted as
    if nothing were stored.
    """
    rule = panel.rule
    most = _JudgingCalls(panel)
    least = _JudgingCalls(panel) if rule is not None and rule.half_width is not None else None
    texts: set[int] = set()
    n_responses = n_screened = 0
    with source:
        notices = source.check().notices
        for sample in source.rows():
            n_responses += 1
            for calls in (most, least) if least is not None else (most,):
                calls.plan_response()
            if panel.gate(sample):
                n_screened += 1
                continue
            text = text_key(f"{sample.prompt_text}\0{sample.response_text}")
            # Under a rule each response has an order of its own, and so its own judges.
            if rule is None and text in texts:
                most.find_all_stored()
                continue
            texts.add(text)
            most.add(sample, panel.most_calls(sample.response_id))
            if least is not None:
                least.add(sample, panel.first_calls(sample.response_id))
    return DryRun(
        most.stages(),
        (SCORING_ASSUMPTION,),
        notices,
        n_responses,
        n_screened,
        DryRun(least.stages()) if least is not None else None,
    )


class _JudgingCalls:
    """The calls that a panel's judges have still to make, by backend."""

    def __init__(self, panel: PanelSpec) -> None:
        self._panel = panel
        self._formats: dict[str, ResponseFormat | None] = {
            backend.spec.name: known_response_format(panel.ledger, backend)
            for backend in panel.backends
        }
        self._stages = {name: StageCost("score", name) for name in self._formats}
        self._characters = dict.fromkeys(self._formats, 0)
        self._text = ""

    def plan_response(self) -> None:
        """Counts the judgments planned on one more response."""
        for judge in self._panel.judges.values():
            self._stages[judge.model].planned += self._panel.repeats

    def find_all_stored(self) -> None:
        """Counts a response whose judgments come with those of an earlier one."""
        for judge in self._panel.judges.values():
            self._stages[judge.model].stored += self._panel.repeats

    def add(self, sample: Sample, keys: Iterable[str]) -> None:
        """Counts the calls for these judgments of the panel on a response."""
        secret = self._panel.ledger.secret
        asked = [
            (judge, question)
            for judge, repeat in map(self._panel.assignment, keys)
            for question in judge.questions(sample, secret=secret, repeat=repeat)
        ]
        requests = [self._request(judge, question) for judge, question in asked]
        missing_calls: dict[tuple[str, int], int] = {}
        found = self._stored(zip((judge for judge, _ in asked), requests, strict=True))
        for (judge, question), request in zip(asked, requests, strict=True):
            if len(self._text) < _SAMPLE_CHARACTERS:
                self._text += "\n".join(message["content"] for message in request.messages)
            reply = found.get(request.key())
            missing = request if reply is None else self._repair(judge, sample, question, reply)
            stage = self._stages[judge.model]
            at = (judge.id, question.repeat)
            missing_calls[at] = missing_calls.get(at, 0) + (missing is not None)
            if missing is None:
                continue
            stage.calls += 1
            stage.add_most(_CALLS_OF_A_JUDGMENT, reserve_usd(judge.backend, missing))
            self._characters[judge.model] += sum(len(m["content"]) for m in missing.messages)
        for (judge_id, _), calls in missing_calls.items():
            self._stages[self._panel.judges[judge_id].model].stored += calls == 0

    def stages(self) -> tuple[StageCost, ...]:
        """The counts, with likely tokens and cost."""
        panel, text = self._panel, self._text[: 2 * _SAMPLE_CHARACTERS]
        criteria = panel.judge_prompt.parts[0].criteria  # of one call
        reply = LIKELY_OUTPUT_CHARACTERS * max(1, len(criteria)) / 5
        if panel.judge_prompt.rationale == "before":
            reply += LIKELY_RATIONALE_CHARACTERS
        for backend in panel.backends:
            stage = self._stages[backend.spec.name]
            per_character = backend.likely_tokens(text) / len(text) if text else 0.25
            stage.input_tokens = round(self._characters[stage.backend] * per_character)
            stage.output_tokens = min(
                stage.calls * backend.spec.max_tokens, round(stage.calls * reply * per_character)
            )
            stage.likely_usd = backend.likely_cost(stage.input_tokens, stage.output_tokens)
        return tuple(self._stages.values())

    def _request(self, judge: Judge, question: Question[ParsedScore]) -> Request:
        return question.request(judge.backend, self._formats[judge.model] or "json_schema")

    def _stored(self, asked: Iterable[tuple[Judge, Request]]) -> dict[str, Reply]:
        keys = [request.key() for judge, request in asked if self._formats[judge.model]]
        return self._panel.ledger.lookup(keys)

    def _repair(
        self, judge: Judge, sample: Sample, question: Question[ParsedScore], reply: Reply
    ) -> Request | None:
        """What is still to be sent where a stored reply cannot be read."""
        judged = (sample.prompt_text, sample.response_text)
        parsed = parse(reply, question.schema, judged=judged)
        if parsed.outcome != "unreadable":
            return None
        repair = self._request(judge, question.repaired(reply.text, parsed.problem or "not_json"))
        return None if self._stored([(judge, repair)]) else repair


def plus(total: float | None, amount: float | None) -> float | None:
    """The sum of two costs; None where one of them is unknown."""
    return None if total is None or amount is None else total + amount


def times(number: int, amount: float | None) -> float | None:
    """So many times a cost; None where it is unknown."""
    return None if amount is None else number * amount


def _sum(values: Iterable[float | None]) -> float | None:
    total: float | None = 0.0
    for value in values:
        total = plus(total, value)
    return total
