"""The embedded models and what each answers: no key, no network, no cost.

    offline/lexical      a judge: scores from text features
    offline/rewriter     writes variants of a prompt from templates
    offline/respondent   writes an essay from set phrases, or answers in a set form
    offline/generator    writes prompts about a topic from templates

They are asked as any model is: messages go in, a reply comes out. What they cannot read out of the
messages (scale, dimensions, persona lexicon; templates) comes beside them, as the parameter
`offline`. Each does its own work and no other's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from ...errors import InputError, InputFault
from ...records.types import OVERALL, Mode
from ..datamark import unmarked
from ..models.backend import Backend
from ..prompt import NONCE_DIGITS, NONCE_LINE
from ..schema import ABSTAINED, RATIONALE
from .lexical import LEXICAL_VERSION, measure, score, strongest_and_weakest
from .writers import (
    GENERATOR_VERSION,
    RESPONDENT_VERSION,
    REWRITER_VERSION,
    offline_answer,
    offline_prompts,
    offline_variants,
)

PROVIDER: Final = "offline"

Role = Literal["judge", "rewriter", "respondent", "generator"]

Messages = Sequence[Mapping[str, Any]]


def require_role(backends: Iterable[Backend], role: Role) -> None:
    """Refuses embedded models that do other work than this; models of any other kind do all.

    Raises:
        InputError: with every backend of another role, or of a name that no embedded model has.
    """
    able, wanted = next((name, one) for name, one in STAND_INS.items() if one.role == role)
    faults: list[InputFault] = []
    for backend in backends:
        if not backend.spec.is_offline:
            continue
        own = STAND_INS.get(backend.spec.model)
        if own is None:
            rule = f"no such embedded model; there is {', '.join(STAND_INS)}"
        elif own is not wanted:
            rule = f"is {own.what} and {wanted.others}; {able} does"
        else:
            continue
        faults.append(InputFault(backend.spec.name, rule))
    if faults:
        raise InputError(faults)


CHARACTERS_PER_TOKEN: Final = 4
"""Usage is an estimate: there are no tokens here, and tools that count them should see a size."""


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content may be a string or a list of typed parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(
        str(part.get("text", ""))
        for part in content
        if isinstance(part, Mapping) and part.get("type") == "text"
    )


def marked_texts(messages: Messages, names: Sequence[str], *, reader: str) -> tuple[str, ...]:
    """The marked blocks of these names in the last user message that opens with the marker line.

    Args:
        messages: the conversation; a request to repair a reply may follow the marked message.
        names: of the blocks, PROMPT and RESPONSE for a judgment.
        reader: the model and what it does, for the message where there is nothing to read.

    Raises:
        InputError: for messages without the marked texts.
    """
    for message in reversed(messages):
        if message.get("role") != "user":
            continue
        text = text_of(message)
        if text.startswith(NONCE_LINE):
            nonce = text[len(NONCE_LINE) :].split("\n", 1)[0].strip()
            if len(nonce) != NONCE_DIGITS or not set(nonce) <= set("0123456789abcdef"):
                rule = f"must name a nonce of {NONCE_DIGITS} hex digits, got {nonce[:40]!r}"
                raise InputError([InputFault("messages", rule)])
            return tuple(_block(text, name, nonce) for name in names)
    raise InputError(
        [InputFault("messages", f"must hold a user message that opens with {NONCE_LINE!r}")],
        hint=f"{reader} and answers nothing else.",
    )


def last_user_text(messages: Messages) -> str:
    """The last user message's text.

    Raises:
        InputError: where there is none, or it is blank.
    """
    texts = [text_of(message) for message in messages if message.get("role") == "user"]
    if not texts or not texts[-1].strip():
        raise InputError([InputFault("messages", "must end with a user message that has text")])
    return texts[-1]


def usage_counts(messages: Messages, reply: str) -> tuple[int, int]:
    """Estimated tokens in and out, at four characters each, rounded up."""
    characters = sum(len(text_of(message)) for message in messages)
    return -(-characters // CHARACTERS_PER_TOKEN), -(-len(reply) // CHARACTERS_PER_TOKEN)


def _block(text: str, name: str, nonce: str) -> str:
    """The text between the markers that carry the nonce; markers with any other are just text."""
    opening, closing = f"<<<{name} {nonce}>>>\n", f"\n<<<END {name} {nonce}>>>"
    if text.count(opening) != 1 or text.count(closing) != 1:
        rule = f"must hold one block {name} marked with the nonce of the first line"
        raise InputError([InputFault("messages", rule)])
    start = text.index(opening) + len(opening)
    end = text.index(closing)
    # An empty text leaves the two markers on neighbouring lines, or with one empty line between.
    return text[start:end] if end >= start else ""


class _Parameters(BaseModel):
    """The keyword `offline`, which carries what a stand-in needs beside the messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeParameters(_Parameters):
    """What `offline/lexical` needs: scale, mode, `[id, family or null]` of the dimensions in rubric
    order, and the persona's terms with their weights.
    """

    version: Literal["2"]
    mode: Mode
    dimensions: tuple[tuple[StrictStr, StrictStr | None], ...]
    low: StrictInt
    high: StrictInt
    lexicon: dict[str, Annotated[float, Field(strict=True, allow_inf_nan=False)]]
    rationale: Literal["none", "before"]
    datamark: StrictBool = False

    @field_validator("dimensions")
    @classmethod
    def _different(
        cls, given: tuple[tuple[str, str | None], ...], info: ValidationInfo
    ) -> tuple[tuple[str, str | None], ...]:
        names = {name for name, _ in given}
        if len(names) < len(given) or (info.data.get("mode") == "dimensions" and not names):
            raise ValueError("must be different ones, in mode dimensions at least one")
        return given

    @field_validator("high")
    @classmethod
    def _above_low(cls, given: int, info: ValidationInfo) -> int:
        if given <= info.data.get("low", given - 1):
            raise ValueError("must be above low")
        return given


def _with_question(template: str) -> str:
    if template.count("{question}") != 1:
        raise ValueError("must hold {question} once, perhaps {topic}")
    return template


class RewriterParameters(_Parameters):
    """What `offline/rewriter` needs: the templates of each framing."""

    version: Literal["1"]
    framings: Annotated[
        dict[str, list[Annotated[StrictStr, AfterValidator(_with_question)]]], Field(min_length=1)
    ]


class GeneratorParameters(_Parameters):
    """What `offline/generator` needs: which prompts to write, about what."""

    version: Literal["1"]
    numbers: Annotated[list[Annotated[StrictInt, Field(ge=1, le=20)]], Field(min_length=1)]
    topic: Annotated[StrictStr, Field(min_length=1, max_length=80)]
    technology: StrictBool


ParametersT = TypeVar("ParametersT", bound=_Parameters)


def _read(parameters: object, model: type[ParametersT]) -> ParametersT:
    """The parameters, once they are what the model says.

    Raises:
        InputError: for others, all faults at once.
    """
    if not isinstance(parameters, Mapping):
        keys = ", ".join(model.model_fields)
        raise InputError(
            [InputFault("offline", f"must be a mapping, got {type(parameters).__name__}")],
            hint=f"Pass the keyword `offline` to litellm, with the keys {keys}.",
        )
    try:
        return model.model_validate(parameters)
    except ValidationError as error:
        faults = {
            str(found["loc"][0]): f"{found['msg']}, got {str(found['input'])[:80]!r}"
            for found in reversed(error.errors(include_url=False))
        }
        raise InputError(
            [InputFault("offline", told, field) for field, told in reversed(faults.items())]
        ) from error


def _judged(messages: Messages, parameters: object) -> str:
    """Scores by text features, in the form of a judge's reply; a rationale comes first."""
    known = _read(parameters, JudgeParameters)
    prompt, response = marked_texts(
        messages, ["PROMPT", "RESPONSE"], reader="offline/lexical judges responses"
    )
    if known.datamark:
        response = unmarked(response, response.lstrip()[:1])
    scores = score(
        measure(prompt, response),
        dimensions=known.dimensions,
        low=known.low,
        high=known.high,
        lexicon=known.lexicon,
    )
    reply: dict[str, Any] = {}
    if known.rationale == "before":
        reply[RATIONALE] = strongest_and_weakest(scores)
    if known.mode == "dimensions":
        reply |= {**scores.scores, ABSTAINED: scores.abstained}
    else:
        reply[OVERALL] = scores.overall
    return json.dumps(reply, ensure_ascii=False)


def _rewritten(messages: Messages, parameters: object) -> str:
    """One text a framing."""
    framings = _read(parameters, RewriterParameters).framings
    (baseline,) = marked_texts(messages, ["PROMPT"], reader="offline/rewriter rewrites")
    return json.dumps(offline_variants(baseline, framings), ensure_ascii=False)


def _answered(messages: Messages, parameters: object) -> str:
    """An essay, or what a set form asks for."""
    if parameters is not None:
        raise InputError([InputFault("offline", "respondent takes no parameters")])
    return offline_answer(last_user_text(messages))


def _generated(messages: Messages, parameters: object) -> str:
    """The blocks of the prompts that are wanted."""
    wanted = _read(parameters, GeneratorParameters)
    (material,) = marked_texts(messages, ["MATERIAL"], reader="offline/generator writes")
    prompts = offline_prompts(
        material, wanted.numbers, topic=wanted.topic, technology=wanted.technology
    )
    return json.dumps(prompts, ensure_ascii=False)


class StandIn(NamedTuple):
    """An embedded model.

    Attributes:
        role: its own work.
        version: belongs to the identity of a stored reply.
        what: it is, in words; `others` is what the others do not do.
        reply: from messages and the parameter `offline` to the reply's text.
    """

    role: Role
    version: str
    what: str
    others: str
    reply: Callable[[Messages, object], str]


STAND_INS: Final = {
    "offline/lexical": StandIn(
        "judge", LEXICAL_VERSION, "an embedded judge", "judges nothing", _judged
    ),
    "offline/rewriter": StandIn(
        "rewriter", REWRITER_VERSION, "an embedded rewriter of prompts", "rewrites no prompts",
        _rewritten,
    ),
    "offline/respondent": StandIn(
        "respondent", RESPONDENT_VERSION, "an embedded writer of responses", "writes no responses",
        _answered,
    ),
    "offline/generator": StandIn(
        "generator", GENERATOR_VERSION, "an embedded writer of prompts", "writes no prompts",
        _generated,
    ),
}  # fmt: skip
"""The embedded models by their names, as they are written where a model is named."""


def offline_reply(model: str, messages: Messages, parameters: object) -> str:
    """The reply of an embedded model, as text; the same arguments always give the same reply.

    Args:
        model: its name, with or without the provider.
        messages: chat messages; the respondent reads the last one of the user, the others the last
            one of the user that opens with the marker line, so that a request to repair a reply may
            follow it.
        parameters: see `JudgeParameters`, `RewriterParameters` and `GeneratorParameters`; the
            respondent takes none.

    Raises:
        InputError: for another model, for parameters of another form (all faults at once), or
            for messages without the marked texts.
    """
    name = model.removeprefix(f"{PROVIDER}/")
    stand_in = STAND_INS.get(f"{PROVIDER}/{name}")
    if stand_in is None:
        names = " or ".join(known.removeprefix(f"{PROVIDER}/") for known in STAND_INS)
        raise InputError([InputFault("offline", f"must be {names}, got {name!r}", "model")])
    return stand_in.reply(messages, parameters)
