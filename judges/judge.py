"""`Judge`: a persona on a backend, which returns one Judgment of a sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..personas import Persona
from ..records.types import Judgment, Sample, ScoreMode, Status
from .logprobs import weighted_scores
from .models.backend import Backend
from .models.client import Client
from .models.prefix_cache import one_goes_first
from .models.request import Request, ResponseFormat
from .prompt import ECHO_CHARACTERS, JudgePrompt, nonce_for
from .schema import ParsedScore
from .structured import Completion, Question, complete

TOP_LOGPROBS = 20
_LOGPROBS: Mapping[str, Any] = {"logprobs": True, "top_logprobs": TOP_LOGPROBS}


@dataclass(frozen=True, slots=True)
class Judge:
    """A persona on a backend."""

    persona: Persona
    backend: Backend
    score_mode: ScoreMode = "integer"
    _labels: list[tuple[JudgePrompt, dict[str, str]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def model(self) -> str:
        """The backend's name."""
        return self.backend.spec.name

    def question(
        self,
        judge_prompt: JudgePrompt,
        sample: Sample,
        *,
        secret: bytes,
        repeat: int,
        shares: bool = False,
    ) -> Question[ParsedScore]:
        """What this judge is asked about this response.

        Args:
            judge_prompt: the wording.
            sample: what is judged.
            secret: the ledger's, for the marker.
            repeat: which asking this is.
            shares: whether other judges of this backend begin with the same text, one before the
                others.
        """
        nonce = nonce_for(secret, sample.prompt_text, sample.response_text)
        offline = self.backend.spec.is_offline
        return Question(
            messages=judge_prompt.messages(
                self.persona, sample.prompt_text, sample.response_text, nonce
            ),
            schema=judge_prompt.schema,
            template=judge_prompt.template.version,
            purpose="judge",
            nonce=nonce,
            shown=(sample.prompt_text, sample.response_text),
            repeat=repeat,
            order=judge_prompt.order,
            labels=self._labels_for(judge_prompt),
            shared=len(judge_prompt.opening(sample.prompt_text, sample.response_text, nonce))
            if shares
            else 0,
            params=_LOGPROBS if self.score_mode == "expected" else {},
            stand_in=_offline_parameters(self.persona, judge_prompt) if offline else None,
            repair_wording=judge_prompt.repair_request,
            echo_characters=ECHO_CHARACTERS,
        )

    def request(
        self,
        judge_prompt: JudgePrompt,
        sample: Sample,
        *,
        secret: bytes,
        repeat: int,
        response_format: ResponseFormat,
        shares: bool = False,
    ) -> Request:
        """The first request of this judge on this response; see `question`."""
        question = self.question(judge_prompt, sample, secret=secret, repeat=repeat, shares=shares)
        return question.request(self.backend, response_format)

    def goes_first(self, judge_prompt: JudgePrompt, sample: Sample, *, calls: int) -> bool:
        """Whether one of so many calls to this backend is to be answered before the others go."""
        return one_goes_first(
            self.backend,
            judge_prompt.order,
            judge_prompt.system(self.persona) if calls > 1 else "",
            sample.prompt_text,
            sample.response_text,
            calls=calls,
        )

    async def vote(
        self,
        client: Client,
        judge_prompt: JudgePrompt,
        sample: Sample,
        *,
        repeat: int,
        shares: bool = False,
    ) -> Judgment:
        """The judgment, whatever became of it; only a defect of this program raises.

        Args:
            client: the client that sends the calls.
            judge_prompt, sample, repeat, shares: see `question`.
        """
        secret = client.ledger.secret
        done = await complete(
            client,
            self.backend,
            self.question(judge_prompt, sample, secret=secret, repeat=repeat, shares=shares),
        )
        status: Status = done.status if done.status != "read" else "scored"
        fields: dict[str, Any] = {"reason": done.reason, "detail": done.detail}
        if done.value is not None:
            fields |= {"scores": dict(done.value.scores), "rationale": done.value.rationale}
            status = "abstained" if done.value.abstained else "scored"
        if status == "scored" and self.score_mode == "expected":
            weighted = weighted_scores(done.replies[-1], judge_prompt.schema)
            if weighted.problem is None:
                fields["scores"] = dict(weighted.values)
            else:
                # The integer is there, and is not used: a silent change of the kind of score
                # would mix two measurements under one name.
                status = "unreadable"
                fields |= {"reason": weighted.problem, "detail": weighted.detail, "scores": {}}
        return self._judgment(
            judge_prompt, sample, repeat=repeat, status=status, **fields, **_record_of(done)
        )

    def not_asked(
        self,
        judge_prompt: JudgePrompt,
        sample: Sample,
        *,
        repeat: int,
        reason: str,
        detail: str | None = None,
    ) -> Judgment:
        """A planned judgment for which nothing is sent."""
        return self._judgment(
            judge_prompt, sample, repeat=repeat, status="not_asked", reason=reason, detail=detail
        )

    def _judgment(
        self,
        judge_prompt: JudgePrompt,
        sample: Sample,
        *,
        repeat: int,
        status: Status,
        **fields: Any,
    ) -> Judgment:
        return Judgment(
            response_id=sample.response_id,
            prompt_id=sample.prompt_id,
            respondent_id=sample.respondent_id,
            persona=self.persona.id,
            axis=self.persona.axis,
            model=self.model,
            repeat=repeat,
            status=status,
            mode=judge_prompt.mode,
            score_mode=self.score_mode,
            **fields,
        )

    def _labels_for(self, judge_prompt: JudgePrompt) -> dict[str, str]:
        """What the record says of a call; kept, because the hashes are those of whole files."""
        if not self._labels or self._labels[0][0] is not judge_prompt:
            labels = {
                "persona": self.persona.id,
                "persona_sha256": self.persona.sha256,
                "rubric": judge_prompt.rubric.id,
                "rubric_sha256": judge_prompt.rubric.sha256,
                "mode": judge_prompt.mode,
            }
            self._labels[:] = [(judge_prompt, labels)]
        return self._labels[0][1]


def _offline_parameters(persona: Persona, judge_prompt: JudgePrompt) -> Mapping[str, Any]:
    """What the embedded judge needs and cannot read out of the messages."""
    from .offline.lexical import LEXICAL_VERSION

    return {
        "version": LEXICAL_VERSION,
        "mode": judge_prompt.mode,
        "dimensions": [[d.id, d.offline] for d in judge_prompt.rubric.dimensions],
        "low": judge_prompt.schema.low,
        "high": judge_prompt.schema.high,
        "lexicon": dict(persona.lexicon or {}),
        "rationale": judge_prompt.rationale,
    }


def _record_of(done: Completion[ParsedScore]) -> dict[str, Any]:
    """What a judgment records of the calls behind it."""
    replies = done.replies
    return {
        "structured": done.response_format,
        "answered_by": done.answered_by,
        "repaired": len(replies) > 1,
        "calls": len(replies),
        "attempts": done.attempts_in_vain
        + sum(answer.reply.attempts for answer in done.answers if not answer.from_ledger),
        "from_ledger": bool(replies) and all(answer.from_ledger for answer in done.answers),
        "input_tokens": _sum([reply.usage.input_tokens for reply in replies]),
        "cached_input_tokens": _sum([reply.usage.cached_input_tokens for reply in replies]),
        "output_tokens": _sum([reply.usage.output_tokens for reply in replies]),
        "reasoning_tokens": _sum([reply.usage.reasoning_tokens for reply in replies]),
        "cost_usd": _sum([reply.cost_usd for reply in replies]),
        "ledger_key": done.answers[0].key if replies else "",
    }


def _sum(values: list[Any]) -> Any:
    """The sum; None where a value is unknown or there is none: unknown is not 0."""
    return None if not values or None in values else sum(values)
