"""`Judge`: a persona on a backend, which returns one Judgment of a sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..personas import Persona
from ..records.types import Judgment, Sample, ScoreMode, Status
from .logprobs import weighted_scores
from .models.backend import Backend
from .models.client import Client
from .models.prefix_cache import one_goes_first_from
from .prompt import ECHO_CHARACTERS, JudgePrompt, nonce_for
from .schema import ParsedScore
from .structured import Completion, Question, complete

TOP_LOGPROBS = 20
_LOGPROBS: Mapping[str, Any] = {"logprobs": True, "top_logprobs": TOP_LOGPROBS}


@dataclass(frozen=True)
class Judge:
    """A persona on a backend, and the wording in which it is asked."""

    persona: Persona
    backend: Backend
    judge_prompt: JudgePrompt
    score_mode: ScoreMode = "integer"

    @property
    def id(self) -> str:
        """`persona|model`."""
        return f"{self.persona.id}|{self.model}"

    @property
    def model(self) -> str:
        """The backend's name."""
        return self.backend.spec.name

    def question(
        self, sample: Sample, *, secret: bytes, repeat: int, shares: bool = False
    ) -> Question[ParsedScore]:
        """What this judge is asked about this response.

        Args:
            sample: what is judged.
            secret: the ledger's, for the marker.
            repeat: which asking this is.
            shares: whether other judges of this backend begin with the same text, one before the
                others.
        """
        judge_prompt, texts = self.judge_prompt, (sample.prompt_text, sample.response_text)
        nonce = nonce_for(secret, *texts)
        return Question(
            messages=judge_prompt.messages(self.persona, *texts, nonce),
            schema=judge_prompt.schema,
            template=judge_prompt.template.version,
            purpose="judge",
            nonce=nonce,
            mark=judge_prompt.mark(*texts, nonce),
            shown=texts,
            repeat=repeat,
            order=judge_prompt.order,
            labels=self._labels,
            shared=len(judge_prompt.opening(*texts, nonce)) if shares else 0,
            params=_LOGPROBS if self.score_mode == "expected" else {},
            stand_in=self._stand_in if self.backend.spec.is_offline else None,
            repair_wording=judge_prompt.repair_request,
            echo_characters=ECHO_CHARACTERS,
        )

    def goes_first(self, sample: Sample, *, calls: int) -> bool:
        """Whether one of so many calls to this backend is to be answered before the others go."""
        if calls < 2 or self.judge_prompt.order != "response_first":
            return False  # with another order the judges of a response share no beginning
        least = one_goes_first_from(self.backend)
        if least is None:
            return False
        system = self.judge_prompt.system(self.persona)
        return len(system) + len(sample.prompt_text) + len(sample.response_text) >= least

    async def vote(
        self, client: Client, sample: Sample, *, repeat: int, shares: bool = False
    ) -> Judgment:
        """The judgment, whatever became of it; only a defect of this program raises.

        Args:
            client: the client that sends the calls.
            sample, repeat, shares: see `question`.
        """
        question = self.question(sample, secret=client.ledger.secret, repeat=repeat, shares=shares)
        done = await complete(client, self.backend, question)
        status: Status = done.status if done.status != "read" else "scored"
        fields: dict[str, Any] = {"reason": done.reason, "detail": done.detail}
        if done.value is not None:
            fields |= {"scores": dict(done.value.scores), "rationale": done.value.rationale}
            status = "abstained" if done.value.abstained else "scored"
        if status == "scored" and self.score_mode == "expected":
            weighted = weighted_scores(done.replies[-1], self.judge_prompt.schema)
            if weighted.problem is None:
                fields["scores"] = dict(weighted.values)
            else:
                # The integer is there, and is not used: a silent change of the kind of score
                # would mix two measurements under one name.
                status = "unreadable"
                fields |= {"reason": weighted.problem, "detail": weighted.detail, "scores": {}}
        return self.judgment(sample, repeat, status, **fields, **_record_of(done))

    def judgment(self, sample: Sample, repeat: int, status: Status, **fields: Any) -> Judgment:
        """A judgment of this judge, with what is said of how it came about."""
        return Judgment(
            response_id=sample.response_id,
            prompt_id=sample.prompt_id,
            respondent_id=sample.respondent_id,
            persona=self.persona.id,
            axis=self.persona.axis,
            model=self.model,
            repeat=repeat,
            status=status,
            mode=self.judge_prompt.mode,
            score_mode=self.score_mode,
            **fields,
        )

    @cached_property
    def _labels(self) -> dict[str, str]:
        """What the record says of a call; kept, because the hashes are those of whole files."""
        rubric = self.judge_prompt.rubric
        return {
            "persona": self.persona.id,
            "persona_sha256": self.persona.sha256,
            "rubric": rubric.id,
            "rubric_sha256": rubric.sha256,
            "mode": self.judge_prompt.mode,
        }

    @cached_property
    def _stand_in(self) -> dict[str, Any]:
        """What the embedded judge needs and cannot read out of the messages."""
        from .offline.lexical import LEXICAL_VERSION

        judge_prompt = self.judge_prompt
        return {
            "version": LEXICAL_VERSION,
            "mode": judge_prompt.mode,
            "dimensions": [[d.id, d.offline] for d in judge_prompt.rubric.dimensions],
            "low": judge_prompt.schema.low,
            "high": judge_prompt.schema.high,
            "lexicon": dict(self.persona.lexicon or {}),
            "rationale": judge_prompt.rationale,
            # Left out where it is off, so that a ledger of earlier versions answers.
            **({"datamark": True} if judge_prompt.datamark else {}),
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
