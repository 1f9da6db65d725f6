"""Logprob-weighted scores (`expected`): the mean over the scale, weighted by token probability.

    E = Σ_v p(v) v / Σ_v p(v)      p(v): probability that the reply's next number is v, given all
                                   that it had written before; v runs over the scale's integers

The sum below the line is the covered mass. Where a response format lets the model write nothing but
values of the scale, E is the mean of what it would write, however much of its unconstrained
probability lies elsewhere: only values that the endpoint did not list could change it. Where the
format is a wish, mass off the scale is what the model may well write, and too much of it is a
reason for no score. Where a figure cannot be had the reason is returned; the sampled integer never
stands in for it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..records.types import Reply
from .parse import locate, parse
from .schema import OutputSchema, ParsedScore

WeightingProblem = Literal[
    "not_scored",
    "no_logprobs",
    "malformed_logprobs",
    "misaligned",
    "two_token_values",
    "mass",
]
"""Why there are none: no vote with scores in the reply; no log-probabilities or no
alternatives in them; not of the expected form; their tokens do not spell the reply; too much
probability on a first digit whose value the next token would have settled; or too little of it on
the scale's values, or on those that were listed."""

_DIGITS = re.compile(rb"[0-9]+")
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class WeightedScores:
    """Logprob-weighted scores of one reply: all criteria or none.

    Attributes:
        values: criterion to weighted score, within the scale; empty where there is a problem.
        mass: criterion to covered probability mass before any format, as far as it was computed.
        problem, detail: why there are no values, as a code and a sentence; None where there are.
    """

    values: dict[str, float] = field(default_factory=dict)
    mass: dict[str, float] = field(default_factory=dict)
    problem: WeightingProblem | None = None
    detail: str | None = None


class _NotComputableError(Exception):
    def __init__(self, problem: WeightingProblem, detail: str) -> None:
        super().__init__(detail)
        self.problem: WeightingProblem = problem
        self.detail = detail


@dataclass(frozen=True, slots=True)
class _Step:
    """One sampled token, where it starts in the bytes of all of them, and what else could be."""

    token: bytes
    start: int
    alternatives: tuple[tuple[bytes, float], ...]  # the sampled token among them; probabilities


def weighted_scores(
    reply: Reply,
    schema: OutputSchema[ParsedScore],
    *,
    is_enforced: bool = False,
    min_mass: float = 0.9,
    max_unsettled: float = 0.01,
) -> WeightedScores:
    """The probability-weighted score of each criterion, or why it cannot be computed.

    On a scale with values of several digits a token "1" may be 1 or the start of 10. Where it was
    sampled, the distribution of the next token divides its mass. Where it was not, nobody knows
    what would have come next: its mass counts for 1 only if a token of as many digits as the
    longer values have is seen anywhere in these log-probabilities, which shows that the vocabulary
    writes numbers of that length as one token; otherwise it is unsettled.

    Args:
        reply: must be a vote with scores, and carry OpenAI-style log-probabilities
            with alternatives.
        schema: what the reply had to be.
        is_enforced: whether the endpoint was told to let nothing pass but the schema.
        min_mass: least covered mass of each criterion, in (0, 1]; where the schema is enforced, of
            that which the scale can have at all.
        max_unsettled: most unsettled mass of each criterion, in [0, 1), of the same.
    """
    parsed = parse(reply, schema)
    vote = parsed.value
    if vote is None or vote.abstained or reply.text is None:
        said = "abstained" if vote else f"{parsed.outcome}: {parsed.detail}"
        return WeightedScores(problem="not_scored", detail=f"the reply is {said}")
    values: dict[str, float] = {}
    covered: dict[str, float] = {}
    try:
        steps = _steps(reply.logprobs)
        offset = _offset(steps, reply.text)
        one_token_lengths = _lengths_of_numbers(steps)
        for criterion, position in _value_positions(reply.text, schema):
            before = len(reply.text[:position].encode("utf-8", "surrogatepass"))
            number = _Number(steps, schema, one_token_lengths, is_enforced=is_enforced)
            number.read_from(offset + before)
            covered[criterion] = sum(number.mass.values())
            on_scale = covered[criterion] + number.unsettled + number.unlisted
            whole = on_scale if is_enforced else 1.0
            if number.unsettled > max_unsettled * whole:
                raise _NotComputableError(
                    "two_token_values",
                    f"{criterion}: {number.unsettled:.3g} of the probability is on a digit that "
                    "may have been the start of a longer number",
                )
            if vote.scores[criterion] not in number.mass:
                raise _NotComputableError(
                    "misaligned", f"{criterion}: its number is not where the tokens say"
                )
            if covered[criterion] < min_mass * whole:
                said = f"{criterion}: {covered[criterion]:.3g} of the probability is on the scale"
                limit = f"{min_mass}"
                if is_enforced:
                    limit += f" of the {whole:.3g} that may be with values that were not listed"
                raise _NotComputableError("mass", f"{said}, less than {limit}")
            values[criterion] = (
                sum(value * mass for value, mass in number.mass.items()) / covered[criterion]
            )
    except _NotComputableError as reason:
        return WeightedScores(mass=covered, problem=reason.problem, detail=reason.detail)
    return WeightedScores(  # in the order asked for: the reply may have them in another
        values={criterion: values[criterion] for criterion in schema.criteria},
        mass={criterion: covered[criterion] for criterion in schema.criteria},
    )


def _steps(logprobs: Sequence[Mapping[str, Any]] | None) -> list[_Step]:
    """The sampled tokens in order, checked for form.

    Raises:
        _NotComputableError: for none, none with alternatives, or an unusable form.
    """
    if not logprobs:
        raise _NotComputableError("no_logprobs", "the reply carries no log-probabilities")
    if not isinstance(logprobs, (list, tuple)):
        raise _NotComputableError("malformed_logprobs", "log-probabilities are not a list")
    steps: list[_Step] = []
    start = 0
    has_alternatives = False
    for entry in logprobs:
        sampled, probability = _token(entry)
        # An endpoint may list one token twice, but two tokens may spell the same bytes.
        listed = {_token(other) for other in _listed(entry)}
        has_alternatives = has_alternatives or bool(listed)
        if all(token != sampled for token, _ in listed):
            listed.add((sampled, probability))
        if sum(chance for _, chance in listed) > 1.01:
            raise _NotComputableError("malformed_logprobs", "probabilities add up to more than 1")
        steps.append(_Step(sampled, start, tuple(sorted(listed))))
        start += len(sampled)
    if not has_alternatives:
        raise _NotComputableError("no_logprobs", "no token carries alternatives (top_logprobs)")
    return steps


def _listed(entry: Mapping[str, Any]) -> Sequence[Any]:
    listed = entry.get("top_logprobs")
    if listed is None:
        return ()
    if not isinstance(listed, (list, tuple)):
        raise _NotComputableError("malformed_logprobs", "top_logprobs is not a list")
    return listed


def _token(entry: Any) -> tuple[bytes, float]:
    """Bytes and probability of one entry; the bytes given count before the token's string."""
    if not isinstance(entry, Mapping):
        raise _NotComputableError("malformed_logprobs", "an entry is not an object")
    logprob = entry.get("logprob")
    if isinstance(logprob, bool) or not isinstance(logprob, (int, float)):
        raise _NotComputableError("malformed_logprobs", "an entry has no log-probability")
    # Written this way round nan fails too; -9999 is how some endpoints say "hardly ever".
    if not logprob <= 0.01:
        raise _NotComputableError("malformed_logprobs", "a log-probability is above 0")
    given = entry.get("bytes")
    text = entry.get("token")
    try:
        # A part of a character has no string of its own, so its bytes are the better witness.
        token = bytes(given) if isinstance(given, (list, tuple)) and given else None
    except (TypeError, ValueError):
        token = None
    if token is None:
        if not isinstance(text, str):
            raise _NotComputableError("malformed_logprobs", "an entry has no token")
        token = text.encode("utf-8", "surrogatepass")
    return token, math.exp(max(min(logprob, 0), -9999))


def _offset(steps: Sequence[_Step], text: str) -> int:
    """Where the reply's text starts in the bytes of its tokens.

    Some endpoints strip the text, some list the end token too, some list what was thought before;
    the text must stand in the tokens exactly once.
    """
    spelled = b"".join(step.token for step in steps)
    wanted = text.encode("utf-8", "surrogatepass")
    first = spelled.find(wanted)
    if first < 0 or spelled.find(wanted, first + 1) >= 0:
        found = "do not spell the reply" if first < 0 else "spell the reply more than once"
        raise _NotComputableError("misaligned", f"the tokens {found}")
    return first


def _lengths_of_numbers(steps: Sequence[_Step]) -> frozenset[int]:
    """Lengths, in digits, of the numbers seen written as one token anywhere in the reply."""
    return frozenset(
        len(token.strip(_SPACE))
        for step in steps
        for token, _ in step.alternatives
        if _DIGITS.fullmatch(token.strip(_SPACE))
    )


def _value_positions(text: str, schema: OutputSchema[ParsedScore]) -> Iterator[tuple[str, int]]:
    """Each criterion with the index in `text` at which its number starts.

    Walks the members of an object that is known to be valid, so that a number or a key's name
    inside a rationale is never taken for the score.
    """
    located = locate(text, schema)
    if not isinstance(located.value, dict):
        yield schema.criteria[0], located.start
        return
    decoder = json.JSONDecoder(strict=False)
    position = located.start + 1
    while True:
        position = _after_space(text, position)
        key, position = decoder.raw_decode(text, position)
        position = _after_space(text, _after_space(text, position) + 1)  # the colon
        if key in schema.criteria:
            yield key, position
        _, position = decoder.raw_decode(text, position)
        position = _after_space(text, position)
        if text[position] == "}":
            return
        position += 1  # the comma


def _after_space(text: str, position: int) -> int:
    while text[position] in " \t\r\n":
        position += 1
    return position


class _Number:
    """Adds up what a number in the reply could have been: `mass` by value, what is `unsettled`, and
    the most that values can have which were not `unlisted`."""

    def __init__(
        self,
        steps: Sequence[_Step],
        schema: OutputSchema[ParsedScore],
        one_token_lengths: frozenset[int],
        *,
        is_enforced: bool,
    ) -> None:
        self._steps = steps
        self._schema = schema
        self._one_token_lengths = one_token_lengths
        self._is_enforced = is_enforced
        self.mass: dict[int, float] = {}
        self.unsettled = 0.0
        self._left = 0.0  # what the listed tokens leave of the probability
        self._least = 0.0  # the most that one token can have without being listed

    @property
    def unlisted(self) -> float:
        """The most probability that values of the scale can have without having been listed."""
        n_missing = self._schema.high - self._schema.low + 1 - len(self.mass)
        return min(self._left, n_missing * self._least)

    def read_from(self, position: int) -> None:
        """Reads the number whose first digit is the byte at `position` of all tokens."""
        index = next(
            (
                number
                for number, step in enumerate(self._steps)
                if step.start <= position < step.start + len(step.token)
            ),
            None,
        )
        if index is None:
            raise _NotComputableError("misaligned", "a number starts behind the last token")
        step = self._steps[index]
        before = step.token[: position - step.start]
        self._leave(step, 1.0)
        for token, chance in step.alternatives:
            rest = _without_lead(token, before)
            found = _DIGITS.match(rest)
            if found:
                self._continue(index, token, found[0], rest[found.end() :], chance)

    def _continue(self, index: int, token: bytes, digits: bytes, tail: bytes, mass: float) -> None:
        """Files `mass` under the number begun as `digits`, followed by `tail` in its token."""
        if tail:
            if self._ends_number(tail):
                self._settle(digits, mass)
            return
        longer = self._lengths_of_longer_values(digits)
        if not longer:
            self._settle(digits, mass)
        elif token == self._steps[index].token and index + 1 < len(self._steps):
            self._divide(index + 1, digits, mass)
        elif longer <= self._one_token_lengths:
            self._settle(digits, mass)
        else:
            self.unsettled += mass

    def _divide(self, index: int, digits: bytes, mass: float) -> None:
        """Divides the mass of a sampled beginning by what could have followed it."""
        step = self._steps[index]
        if self._is_enforced:
            possible = sum(
                chance for token, chance in step.alternatives if self._may_follow(digits, token)
            )
            mass = mass / possible if possible else 0.0
        self._leave(step, mass)
        for token, chance in step.alternatives:
            found = _DIGITS.match(token)
            if found:
                tail = token[found.end() :]
                self._continue(index, token, digits + found[0], tail, mass * chance)
            elif self._ends_number(token):
                self._settle(digits, mass * chance)

    def _may_follow(self, digits: bytes, token: bytes) -> bool:
        """Whether a number begun as `digits` can go on with `token` and be on the scale."""
        more = _DIGITS.match(token)
        number = digits + more[0] if more else digits
        tail = token[more.end() :] if more else token
        if more and not tail:
            return self._is_value(number) or bool(self._lengths_of_longer_values(number))
        return self._ends_number(tail) and self._is_value(number)

    def _leave(self, step: _Step, mass: float) -> None:
        chances = [chance for _, chance in step.alternatives]
        self._left += mass * max(0.0, 1 - sum(chances))
        self._least = max(self._least, mass * min(chances))

    def _ends_number(self, tail: bytes) -> bool:
        if not tail:
            return self._schema.is_single_integer  # an end token
        after = tail.lstrip(_SPACE)[:1]
        # A bare integer may be followed by "<|…|>" or a fence, one in an object by what JSON has.
        return after in b",}" or (self._schema.is_single_integer and after in b"<`")

    def _settle(self, digits: bytes, mass: float) -> None:
        if self._is_value(digits):
            value = int(digits)
            self.mass[value] = self.mass.get(value, 0.0) + mass

    def _is_value(self, digits: bytes) -> bool:
        has_leading_zero = len(digits) > 1 and digits.startswith(b"0")
        if has_leading_zero or len(digits) > len(str(self._schema.high)):
            return False
        return self._schema.low <= int(digits) <= self._schema.high

    def _lengths_of_longer_values(self, digits: bytes) -> frozenset[int]:
        """Lengths of the scale's values that begin with `digits` and go on."""
        if digits.startswith(b"0"):
            return frozenset()  # JSON has no leading zeros
        lengths = set()
        for more in range(1, len(str(self._schema.high)) - len(digits) + 1):
            least = int(digits) * 10**more
            if least <= self._schema.high and least + 10**more - 1 >= self._schema.low:
                lengths.add(len(digits) + more)
        return frozenset(lengths)


def _without_lead(token: bytes, before: bytes) -> bytes:
    """What `token` says from the number on, or b"" where it leads elsewhere.

    The sampled token may open with a space, a colon or a piece of the key (`before`); another may
    write the same with other spacing, which changes nothing in JSON.
    """
    if token.startswith(before):
        return token[len(before) :].lstrip(_SPACE)
    first_digit = _DIGITS.search(token)
    if first_digit is None or _DIGITS.search(before):
        return b""
    lead = token[: first_digit.start()]
    same = b"".join(lead.split()) == b"".join(before.split())
    return token[first_digit.start() :] if same else b""
