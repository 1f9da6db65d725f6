"""What one judge is: a persona on a backend, whose vote on one response is exactly one Judgment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..errors import ProviderError
from ..personas import Persona
from ..records.types import Judgment, Reply, ScoreMode, Status
from .logprobs import expected_scores
from .models.backend import Backend
from .models.budget import BudgetSpentError, Purse
from .models.client import REPAIR_OUTPUT_FACTOR, Answer, Desk
from .models.prefix_cache import one_goes_first
from .models.rate_limit import StoppedError
from .models.request import Message, Request, Rung
from .parse import Vote, read_vote
from .prompt import TEMPLATE_VERSION, Brief, nonce_for
from .schema import Contract, json_schema

TOP_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class Matter:
    """A response before the panel, with the texts that no graph state ever holds."""

    response_id: str
    prompt_id: str
    respondent_id: str
    prompt: str
    response: str


@dataclass(frozen=True, slots=True)
class Judge:
    """A persona on a backend."""

    persona: Persona
    backend: Backend
    score_mode: ScoreMode = "integer"
    _labels: list[tuple[Brief, dict[str, str]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def model(self) -> str:
        """The backend's name."""
        return self.backend.spec.name

    def requests(
        self,
        brief: Brief,
        matter: Matter,
        *,
        secret: bytes,
        repeat: int,
        rung: Rung,
        shares: bool = False,
    ) -> Request:
        """The first request of this judge on this matter."""
        nonce = nonce_for(secret, matter.prompt, matter.response)
        messages = brief.messages(self.persona, matter.prompt, matter.response, nonce)
        shared = len(brief.opening(matter.prompt, matter.response, nonce)) if shares else 0
        return self._request(brief, messages, nonce=nonce, repeat=repeat, rung=rung, shared=shared)

    def repair(self, brief: Brief, request: Request, reply: Reply, vote: Vote) -> Request:
        """The request that follows a reply in which no vote could be read."""
        return self._request(
            brief,
            brief.repair(request.messages, reply.text, vote.problem or "not_json"),
            nonce=request.nonce,
            repeat=request.repeat,
            rung=request.structured,
            truncated=vote.problem == "truncated",
            shared=request.shared,
        )

    def goes_first(self, brief: Brief, matter: Matter, *, calls: int) -> bool:
        """Whether one of so many calls to this backend is to be answered before the others go."""
        return one_goes_first(
            self.backend,
            brief.order,
            brief.system(self.persona) if calls > 1 else "",
            matter.prompt,
            matter.response,
            calls=calls,
        )

    async def vote(
        self, desk: Desk, brief: Brief, matter: Matter, *, repeat: int, shares: bool = False
    ) -> Judgment:
        """The judgment, whatever became of it; only a defect of this program raises.

        Args:
            desk: where the call is handed in.
            brief: the wording.
            matter: what is judged.
            repeat: which asking this is.
            shares: whether other judges of this backend begin with the same text, one before the
                others.
        """
        case = _Case(self, desk, brief, matter, repeat, desk.purse(), shares)
        try:
            return await case.hear()
        finally:
            case.purse.close()

    def not_asked(
        self, brief: Brief, matter: Matter, *, repeat: int, reason: str, detail: str | None = None
    ) -> Judgment:
        """A planned judgment for which nothing is sent."""
        return self._judgment(
            brief, matter, repeat=repeat, status="not_asked", reason=reason, detail=detail
        )

    def _judgment(
        self, brief: Brief, matter: Matter, *, repeat: int, status: Status, **fields: Any
    ) -> Judgment:
        return Judgment(
            response_id=matter.response_id,
            prompt_id=matter.prompt_id,
            respondent_id=matter.respondent_id,
            persona=self.persona.id,
            axis=self.persona.axis,
            model=self.model,
            repeat=repeat,
            status=status,
            mode=brief.mode,
            score_mode=self.score_mode,
            **fields,
        )

    def _request(
        self,
        brief: Brief,
        messages: tuple[Message, ...],
        *,
        nonce: str,
        repeat: int,
        rung: Rung,
        truncated: bool | None = None,
        shared: int = 0,
    ) -> Request:
        spec = self.backend.spec
        parameters: dict[str, Any] = spec.parameters()
        if truncated:
            parameters["max_tokens"] = REPAIR_OUTPUT_FACTOR * spec.max_tokens
        if self.score_mode == "expected":
            parameters |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        if spec.is_offline:
            parameters["offline"] = offline_contract(self.persona, brief)
        return Request(
            backend=spec.model,
            endpoint=spec.api_base or "",
            messages=messages,
            params=parameters,
            schema=_schema_of(brief.contract),
            structured=rung,
            nonce=nonce,
            repeat=repeat,
            template=TEMPLATE_VERSION,
            order=brief.order,
            purpose="judge" if truncated is None else "repair",
            labels=self._labels_for(brief),
            shared=shared,
        )

    def _labels_for(self, brief: Brief) -> dict[str, str]:
        """What the record says of a call; kept, because the hashes are those of whole files."""
        if not self._labels or self._labels[0][0] is not brief:
            labels = {
                "persona": self.persona.id,
                "persona_sha256": self.persona.sha256,
                "rubric": brief.rubric.id,
                "rubric_sha256": brief.rubric.sha256,
                "mode": brief.mode,
            }
            self._labels[:] = [(brief, labels)]
        return self._labels[0][1]


@lru_cache(maxsize=16)
def _schema_of(contract: Contract) -> Mapping[str, Any]:
    """The schema of a reply: one object for all requests, so that it is written down once."""
    return json_schema(contract)


def offline_contract(persona: Persona, brief: Brief) -> Mapping[str, Any]:
    """What the embedded judge needs and cannot read out of the messages."""
    from .offline.lexical import LEXICAL_VERSION

    return {
        "version": LEXICAL_VERSION,
        "mode": brief.mode,
        "dimensions": [[d.id, d.offline] for d in brief.rubric.dimensions],
        "low": brief.contract.low,
        "high": brief.contract.high,
        "lexicon": dict(persona.lexicon or {}),
        "rationale": brief.rationale,
    }


@dataclass(slots=True)
class _Case:
    """One judge, one response, one asking."""

    judge: Judge
    desk: Desk
    brief: Brief
    matter: Matter
    repeat: int
    purse: Purse
    shares: bool = False

    async def hear(self) -> Judgment:
        """Asks, reads, repairs once if need be."""
        answers: list[Answer] = []
        rung: Rung | None = None
        try:
            first, request = await self.desk.ask_structured(
                self.judge.backend, self._first_request, self.purse
            )
            answers.append(first)
            rung = request.structured
            judged = (self.matter.prompt, self.matter.response)
            vote = read_vote(first.reply, self.brief.contract, judged=judged)
            if vote.outcome == "unreadable":
                second = await self._repair(request, first.reply, vote)
                answers.append(second)
                vote = read_vote(second.reply, self.brief.contract, judged=judged)
        except ProviderError as error:
            return self._closed(
                "failed", error.fault, error.detail, answers, rung, in_vain=error.attempts
            )
        except BudgetSpentError as error:
            return self._closed(
                "not_asked", "budget", str(error), answers, rung, in_vain=error.attempts
            )
        except StoppedError as error:
            return self._closed(
                "not_asked", "interrupted", None, answers, rung, in_vain=error.attempts
            )
        return self._judgment(vote, answers, rung)

    def _first_request(self, rung: Rung) -> Request:
        return self.judge.requests(
            self.brief,
            self.matter,
            secret=self.desk.ledger.secret,
            repeat=self.repeat,
            rung=rung,
            shares=self.shares,
        )

    async def _repair(self, request: Request, reply: Reply, vote: Vote) -> Answer:
        repair = self.judge.repair(self.brief, request, reply, vote)
        return await self.desk.ask(self.judge.backend, repair, self.purse)

    def _judgment(self, vote: Vote, answers: list[Answer], rung: Rung | None) -> Judgment:
        scores: dict[str, float] = dict(vote.scores)
        status: Status = vote.outcome
        reason: str | None = vote.problem
        detail = vote.detail
        if status == "scored" and self.judge.score_mode == "expected":
            expected = expected_scores(answers[-1].reply, self.brief.contract)
            if expected.problem is None:
                scores = dict(expected.values)
            else:
                # The integer is there, and is not used: a silent change of the kind of score
                # would mix two measurements under one name.
                status, reason, detail = "unreadable", expected.problem, expected.detail
                scores = {}
        return self._closed(
            status, reason, detail, answers, rung, scores=scores, rationale=vote.rationale
        )

    def _closed(
        self,
        status: Status,
        reason: str | None,
        detail: str | None,
        answers: list[Answer],
        rung: Rung | None,
        *,
        in_vain: int = 0,
        scores: Mapping[str, float] | None = None,
        rationale: str | None = None,
    ) -> Judgment:
        replies = [answer.reply for answer in answers]
        self.desk.account.closed(status, replies)
        return self.judge._judgment(
            self.brief,
            self.matter,
            repeat=self.repeat,
            status=status,
            reason=reason,
            detail=detail,
            structured=rung,
            answered_by=replies[-1].answered_by if replies else None,
            repaired=len(replies) > 1,
            calls=len(replies),
            attempts=in_vain
            + sum(answer.reply.attempts for answer in answers if not answer.from_ledger),
            from_ledger=bool(answers) and all(answer.from_ledger for answer in answers),
            input_tokens=_sum([reply.usage.input_tokens for reply in replies]),
            cached_input_tokens=_sum([reply.usage.cached_input_tokens for reply in replies]),
            output_tokens=_sum([reply.usage.output_tokens for reply in replies]),
            reasoning_tokens=_sum([reply.usage.reasoning_tokens for reply in replies]),
            cost_usd=_sum([reply.cost_usd for reply in replies]),
            ledger_key=answers[0].key if answers else "",
            scores=scores or {},
            rationale=rationale,
        )


def _sum(values: list[Any]) -> Any:
    """The sum; None where a value is unknown or there is none: unknown is not 0."""
    return None if not values or None in values else sum(values)
