"""`Judge`: a persona on a backend, which returns one Judgment of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..personas import Persona
from ..records.types import Judgment, Sample, ScoreMode, Status
from .logprobs import weighted_scores
from .models.backend import Backend
from .models.client import Client
from .models.prefix_cache import one_goes_first_from
from .models.request import ENFORCED_FORMATS
from .prompt import ECHO_CHARACTERS, JudgePrompt, nonce_for
from .schema import OutputSchema, ParsedScore
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

    def questions(
        self, sample: Sample, *, secret: bytes, repeat: int, shares: bool = False
    ) -> tuple[Question[ParsedScore], ...]:
        """What this judge is asked about this response: one call, or one for each criterion.

        Args:
            sample: what is judged.
            secret: the ledger's, for the marker.
            repeat: which asking this is.
            shares: whether other judges of this backend begin with the same text, one before the
                others.
        """
        texts = (sample.prompt_text, sample.response_text)
        nonce = nonce_for(secret, *texts)
        return tuple(
            Question(
                messages=part.messages(self.persona, *texts, nonce),
                schema=part.schema,
                template=part.template.version,
                purpose="judge",
                nonce=nonce,
                mark=part.mark(*texts, nonce),
                shown=texts,
                repeat=repeat,
                order=part.order,
                labels=self._labels,
                shared=len(part.opening(*texts, nonce)) if shares else 0,
                params=_LOGPROBS if self.score_mode == "expected" else {},
                stand_in=self._stand_in(part) if self.backend.spec.is_offline else None,
                repair_wording=part.repair_request,
                echo_characters=ECHO_CHARACTERS,
            )
            for part in self.judge_prompt.parts
        )

    def question(
        self, sample: Sample, *, secret: bytes, repeat: int, shares: bool = False
    ) -> Question[ParsedScore]:
        """The one call, or the first of `questions`."""
        return self.questions(sample, secret=secret, repeat=repeat, shares=shares)[0]

    def goes_first(self, sample: Sample, *, calls: int) -> bool:
        """Whether one of so many calls to this backend is to be answered before the others go."""
        wording = self.judge_prompt
        if calls < 2 or wording.order != "response_first" or wording.criterion_calls == "apart":
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
            sample, repeat, shares: see `questions`.

        Of one call a criterion, all must be read: the judgment is what the first call is that is
        not. It is abstained where most calls say so, or one that says so gives no score.
        """
        asked = self.questions(sample, secret=client.ledger.secret, repeat=repeat, shares=shares)
        done: list[Completion[ParsedScore]] = []
        parts: list[tuple[Status, dict[str, Any]]] = []
        for question in asked:
            done.append(await complete(client, self.backend, question))
            parts.append(self._read(done[-1], question.schema))
            if parts[-1][0] not in ("scored", "abstained"):
                break  # without it the others are no judgment: they are not paid for
        status, fields = parts[0] if len(parts) == 1 else _together(parts)
        return self.judgment(sample, repeat, status, **fields, **_record_of(done))

    def _read(
        self, done: Completion[ParsedScore], schema: OutputSchema[ParsedScore]
    ) -> tuple[Status, dict[str, Any]]:
        """What one call says, as the status and the fields of a judgment."""
        status: Status = done.status if done.status != "read" else "scored"
        fields: dict[str, Any] = {"reason": done.reason, "detail": done.detail}
        if done.value is not None:
            fields |= {"scores": dict(done.value.scores), "rationale": done.value.rationale}
            status = "abstained" if done.value.abstained else "scored"
        if status == "scored" and self.score_mode == "expected":
            weighted = weighted_scores(
                done.replies[-1],
                schema,
                is_enforced=done.response_format in ENFORCED_FORMATS,
            )
            if weighted.problem is None:
                fields["scores"] = dict(weighted.values)
            else:
                # The integer is there, and is not used: a silent change of the kind of score
                # would mix two measurements under one name.
                status = "unreadable"
                fields |= {"reason": weighted.problem, "detail": weighted.detail, "scores": {}}
        return status, fields

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

    def _stand_in(self, judge_prompt: JudgePrompt) -> dict[str, Any]:
        """What the embedded judge needs and cannot read out of the messages."""
        from .offline.lexical import LEXICAL_VERSION

        return {
            "version": LEXICAL_VERSION,
            "mode": judge_prompt.mode,
            "dimensions": [[d.id, d.offline] for d in judge_prompt.asked.dimensions],
            "low": judge_prompt.schema.low,
            "high": judge_prompt.schema.high,
            "lexicon": dict(self.persona.lexicon or {}),
            "rationale": judge_prompt.rationale,
            # Left out where it is off, so that a ledger of earlier versions answers.
            **({"datamark": True} if judge_prompt.datamark else {}),
        }


def _together(parts: Sequence[tuple[Status, dict[str, Any]]]) -> tuple[Status, dict[str, Any]]:
    """The judgment that calls for single criteria make; see `Judge.vote`."""
    for status, fields in parts:
        if status not in ("scored", "abstained"):
            return status, {"reason": fields["reason"], "detail": fields["detail"]}
    scores: dict[str, float] = {}
    rationales: list[str] = []
    for _, fields in parts:
        scores |= fields["scores"]
        rationales += [fields["rationale"]] if fields["rationale"] else []
    n_abstained = sum(status == "abstained" for status, _ in parts)
    is_abstained = 2 * n_abstained > len(parts) or len(scores) < len(parts)
    rationale = "\n\n".join(rationales) or None
    return "abstained" if is_abstained else "scored", {"scores": scores, "rationale": rationale}


def _record_of(parts: Sequence[Completion[ParsedScore]]) -> dict[str, Any]:
    """What a judgment records of the calls behind it."""
    answers = [answer for done in parts for answer in done.answers]
    replies = [answer.reply for answer in answers]
    return {
        "structured": parts[0].response_format,
        "answered_by": next((d.answered_by for d in reversed(parts) if d.answered_by), None),
        "repaired": any(done.calls > 1 for done in parts),
        "calls": len(replies),
        "attempts": sum(done.attempts_in_vain for done in parts)
        + sum(answer.reply.attempts for answer in answers if not answer.from_ledger),
        "from_ledger": bool(replies) and all(answer.from_ledger for answer in answers),
        "input_tokens": _sum([reply.usage.input_tokens for reply in replies]),
        "cached_input_tokens": _sum([reply.usage.cached_input_tokens for reply in replies]),
        "output_tokens": _sum([reply.usage.output_tokens for reply in replies]),
        "reasoning_tokens": _sum([reply.usage.reasoning_tokens for reply in replies]),
        "cost_usd": _sum([reply.cost_usd for reply in replies]),
        "ledger_key": answers[0].key if replies else "",
    }


def _sum(values: list[Any]) -> Any:
    """The sum; None where a value is unknown or there is none: unknown is not 0."""
    return None if not values or None in values else sum(values)
