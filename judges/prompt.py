"""What a judge is told: the messages that a template, a rubric and a persona make.

The rubric and the form of the reply stand in the system message; the prompt and the response stand
in the user message, between marker lines. The persona stands in the system message
(`persona_first`) or in the closing block after the marked response (`response_first`).

The marker carries a nonce that the writer of the texts could not foresee: an HMAC of them under a
secret kept with the ledger. It does not occur in the texts, and is the same for every judge and on
every rerun, so that prefix caches and the ledger work. With `datamark` every word of the response
carries a mark too; the system message names it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal, get_args

from ..errors import InputError, InputFault
from ..personas import Persona
from ..records.types import OVERALL, Mode
from ..rubrics import Rubric
from .datamark import datamarked, mark_for
from .models.request import Message
from .schema import ABSTAINED, RATIONALE, OutputSchema, ParsedScore, judgment_schema, what_was_wrong
from .templates import JudgeTemplate, fill, load_template, without

NONCE_DIGITS = 16
NONCE_LINE = "Marker of this message: "

Order = Literal["response_first", "persona_first"]
ORDERS: tuple[Order, ...] = get_args(Order)
DEFAULT_ORDER: Order = "response_first"
"""Chosen by measurement: benchmarks/prompt_order.py prints what share of a panel's input tokens
each order lets a prefix cache serve."""

Rationale = Literal["none", "before"]

_MARK = "\x00"
"""Stands in a kept system message where the mark of each response goes."""

CriterionCalls = Literal["together", "apart"]
"""Whether one call asks for all criteria, or one for each."""

ECHO_CHARACTERS = 1_000
"""Most characters of an unreadable reply that a judge is shown again."""


# Every judge of a response asks for the same one.
@lru_cache(maxsize=64)
def nonce_for(secret: bytes, *texts: str) -> str:
    """Sixteen hex digits for these texts, none of which contains them."""
    folded = [text.casefold() for text in texts]
    attempt = 0
    while True:
        digest = hmac.new(secret, attempt.to_bytes(4, "big"), hashlib.sha256)
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            # The length first: ("ab", "c") and ("a", "bc") are different pairs of texts.
            digest.update(len(encoded).to_bytes(8, "big"))
            digest.update(encoded)
        nonce = digest.hexdigest()[:NONCE_DIGITS]
        if not any(nonce in text for text in folded):
            return nonce
        attempt += 1


def delimited(name: str, text: str, nonce: str) -> str:
    """The text, unaltered, between an opening and a closing marker line."""
    return f"<<<{name} {nonce}>>>\n{text}\n<<<END {name} {nonce}>>>"


def require_readable(template: JudgeTemplate) -> None:
    """Nothing, where an embedded judge can find the texts in messages of this template.

    Raises:
        InputError: it cannot: it knows one form of markers.
    """
    rules = [NONCE_LINE + "{nonce}\n", delimited("PROMPT", "{prompt}", "{nonce}")]
    rules.append(delimited("RESPONSE", "{response}", "{nonce}"))
    if not template.user.startswith(rules[0]) or any(rule not in template.user for rule in rules):
        raise InputError(
            [
                InputFault(
                    template.id, "its user message has other markers than areopagus_v2", "user"
                )
            ],
            hint="The embedded baseline finds the texts by these markers. Name models as "
            "`models`, or take the markers over.",
        )


@dataclass(frozen=True)
class JudgePrompt:
    """The wording of a panel: one template with one rubric, in one mode and order.

    A system message is put together once and then kept.

    Attributes:
        criterion_order: by how many places the criteria are rotated in the messages and the reply;
            0 is the rubric's order. Results stand in the rubric's order in any case.
        criterion_calls: see `CriterionCalls`; `apart` wants the mode `dimensions`.
    """

    rubric: Rubric
    mode: Mode = "dimensions"
    order: Order = DEFAULT_ORDER
    rationale: Rationale = "none"
    anchors: bool = True
    template: JudgeTemplate = field(default_factory=load_template)
    datamark: bool = False
    criterion_order: int = 0
    criterion_calls: CriterionCalls = "together"
    schema: OutputSchema[ParsedScore] = field(init=False, compare=False)
    _systems: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        single = self.mode != "dimensions"
        if faults := self._faults():
            raise InputError(faults)
        schema = judgment_schema(
            (OVERALL,) if single else self.asked.dimension_ids,
            self.rubric.scale.low,
            self.rubric.scale.high,
            abstained=not single,
            rationale=self.rationale == "before",
        )
        object.__setattr__(self, "schema", schema)

    def mark(self, prompt: str, response: str, nonce: str) -> str:
        """The mark before every word of the response; "" where the panel marks none."""
        return mark_for(nonce, prompt, response) if self.datamark else ""

    def _faults(self) -> list[InputFault]:
        n = len(self.rubric.dimensions)
        found = []
        if not 0 <= self.criterion_order < n:
            told = f"must be from 0 to {n - 1}: the rubric has {n} criteria"
            found.append(InputFault("criterion_order", f"{told}, got {self.criterion_order}"))
        if self.criterion_calls == "apart" and self.mode != "dimensions":
            told = f"apart needs the mode dimensions: {self.mode} asks for one score"
            found.append(InputFault("criterion_calls", told))
        return found

    @cached_property
    def asked(self) -> Rubric:
        """The rubric as judges read it: with its criteria rotated."""
        turn, all_of_them = self.criterion_order, self.rubric.dimensions
        if not turn:
            return self.rubric
        rotated = (*all_of_them[turn:], *all_of_them[:turn])
        return self.rubric.model_copy(update={"dimensions": rotated})

    @property
    def criteria(self) -> tuple[str, ...]:
        """What is scored, in the order of the results: the rubric's, or `overall`."""
        return self.rubric.dimension_ids if self.mode == "dimensions" else (OVERALL,)

    @cached_property
    def parts(self) -> tuple[JudgePrompt, ...]:
        """The wording of each call of a judgment: this one, or one for each criterion."""
        if self.criterion_calls == "together":
            return (self,)
        return tuple(
            replace(
                self,
                rubric=self.rubric.model_copy(update={"dimensions": (one,)}),
                criterion_order=0,
                criterion_calls="together",
            )
            for one in self.asked.dimensions
        )

    def system(self, persona: Persona, mark: str = "") -> str:
        """The system message for this persona (the same for all under `response_first`)."""
        about = persona.sha256 if self.order == "persona_first" else ""
        if about not in self._systems:
            self._systems[about] = self._system(persona if about else None)
        kept = self._systems[about]
        return kept.replace(_MARK, mark) if mark else kept

    def _system(self, persona: Persona | None) -> str:
        template, rubric = self.template, self.asked
        scale = _scale(template, rubric)
        values = {"rubric": rubric_text(rubric, template, anchors=self.anchors), "scale": scale}
        return fill(
            template.system,
            {
                "persona": "" if persona is None else _persona(template, persona),
                "persona_note": (template.persona_note or "") if persona is None else "",
                "criteria": fill(getattr(template.criteria, self.mode), values),
                "form": f"{fill(template.datamark, {'mark': _MARK})}\n\n{self.form()}"
                if self.datamark
                else self.form(),
            },
        )

    def opening(self, prompt: str, response: str, nonce: str) -> str:
        """The part of the user message that all judges of a response share."""
        if mark := self.mark(prompt, response, nonce):
            response = datamarked(response, mark)
        values = {"nonce": nonce, "prompt": prompt, "response": response}
        return fill(self._user[0], values)

    def closing(self, persona: Persona, nonce: str) -> str:
        """The end of the user message: the persona under `response_first`, and what follows."""
        if self.order != "response_first":
            return ""
        return fill(self._user[1], {"nonce": nonce, "persona": _persona(self.template, persona)})

    @cached_property
    def _user(self) -> tuple[str, str]:
        """The template of the user message, divided before the persona."""
        user = self.template.user
        if self.order != "response_first":
            return without(user, "persona"), ""
        before, persona, behind = user.partition("{persona}")
        return before, persona + behind

    def messages(
        self, persona: Persona, prompt: str, response: str, nonce: str
    ) -> tuple[Message, ...]:
        """The exact messages that a judge gets."""
        mark = self.mark(prompt, response, nonce)
        user = self.opening(prompt, response, nonce) + self.closing(persona, nonce)
        return (
            {"role": "system", "content": self.system(persona, mark)},
            {"role": "user", "content": user},
        )

    def form(self) -> str:
        """The form of the reply in words."""
        schema, template = self.schema, self.template
        several = len(schema.criteria) > 1
        keys = schema.keys
        abstained = fill(template.abstained, {"s": "s" if several else ""})
        return fill(
            template.form,
            {
                "these_keys": "these keys" if len(keys) > 1 else "this key",
                "rationale": template.rationale if RATIONALE in keys else "",
                "names": ", ".join(f'"{name}"' for name in schema.criteria),
                "each": "each " if several else "",
                "low": str(schema.low),
                "high": str(schema.high),
                "abstained": abstained if ABSTAINED in keys else "",
                "shape": self._shape,
            },
        )

    def repair_request(self, problem: str) -> str:
        """The request to send an unreadable reply again, as the text of a user message.

        Only the code of the problem is used: its detail may quote the judged text, which must not
        return outside its marks.
        """
        values = {"problem": what_was_wrong(problem), "shape": self._shape}
        return fill(self.template.repair, values)

    @cached_property
    def _shape(self) -> str:
        return self.schema.shape(**{RATIONALE: '"<your reasons>"'})


def rubric_text(rubric: Rubric, template: JudgeTemplate, *, anchors: bool = True) -> str:
    """The rubric as a judge reads it."""
    dimensions = [
        fill(
            template.dimension,
            {
                "number": str(number),
                "label": dimension.label,
                "id": dimension.id,
                "standard": f" (standard: {dimension.standard})" if dimension.standard else "",
                "definition": dimension.definition,
                "question": dimension.question,
                "anchors": _anchors(dimension.anchors) if anchors else [],
            },
        )
        for number, dimension in enumerate(rubric.dimensions, start=1)
    ]
    return fill(
        template.rubric,
        {
            "purpose": rubric.purpose,
            "label": rubric.label,
            "dimensions": dimensions,
            "scale": _scale(template, rubric),
            "anchors": _anchors(rubric.anchors) if anchors else [],
        },
    )


def _anchors(anchors: Mapping[int, str]) -> list[str]:
    return [f"{score}: {text}" for score, text in sorted(anchors.items())]


def _scale(template: JudgeTemplate, rubric: Rubric) -> str:
    ends = {"low": str(rubric.scale.low), "high": str(rubric.scale.high)}
    return fill(template.scale, ends)


def _persona(template: JudgeTemplate, persona: Persona) -> str:
    values = {"label": persona.label, "description": persona.description.strip()}
    return fill(template.persona, values)
