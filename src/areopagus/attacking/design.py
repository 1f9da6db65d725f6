"""Every response of an attack: the clean ones, the attacked ones, and their controls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..graphs.screening import Screening, screen
from ..judges.schema import ABSTAINED, RATIONALE, OutputSchema, ParsedScore
from .family import AttackFamily, Placement
from .hiding import texts_of
from .insertion import harmless, inserted
from .neutralise import neutralised
from .plan import AttackPlan

Kind = Literal["clean", "attack", "control", "neutralised"]

GUESSED_MARKER = "4f1c09be7a23d658"
"""What stands for {{marker}}: any sixteen hex digits are as good a guess as any others."""

CARRIED = ("attack_kind", "attack_base", "attack_family", "attack_text", "attack_placement")
"""Columns that lead from a row of the panel's tables back to the design."""


@dataclass(frozen=True, slots=True)
class Base:
    """A response that is attacked.

    Attributes:
        base_id: its id in its source.
        prompt_id, prompt_text, response_text, respondent_id: as in `Sample`.
    """

    base_id: str
    prompt_id: str
    prompt_text: str
    response_text: str
    respondent_id: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One response that is put before the panel.

    Attributes:
        response_id: unique; made of numbers and the family's id alone.
        kind: what it is.
        base: index of its base response.
        family, text, placement: whose text stands where; "", 0 and None for clean ones.
        response_text: what is judged.
        seen: what the screen says of it, repeated texts apart.
    """

    response_id: str
    kind: Kind
    base: int
    family: str
    text: int
    placement: Placement | None
    response_text: str
    seen: Screening


def trials(
    bases: Sequence[Base],
    families: Sequence[AttackFamily],
    plan: AttackPlan,
    schema: OutputSchema[ParsedScore],
) -> Iterator[Trial]:
    """All responses of an attack, base by base, so that what prompts share is asked together.

    A replacement has no control: harmless prose alone would be another answer, and no longer one.
    """
    written = {
        family.id: texts_of(family, _values(family, schema))[: plan.texts] for family in families
    }
    for number, base in enumerate(bases):
        yield _trial(number, "clean", "", 0, None, base.response_text)
        for turn, family in enumerate(families):
            for placement in family.placements:
                if placement not in plan.placements:
                    continue
                for index, text in enumerate(written[family.id]):
                    attacked = inserted(base.response_text, text, placement)
                    yield _trial(number, "attack", family.id, index, placement, attacked)
                    if plan.controls and placement != "instead":
                        plain = harmless(len(text), first=number + turn + index)
                        control = inserted(base.response_text, plain, placement)
                        yield _trial(number, "control", family.id, index, placement, control)
                    if plan.neutralise:
                        copy = neutralised(attacked)
                        if copy.is_changed:
                            yield _trial(
                                number, "neutralised", family.id, index, placement, copy.text
                            )


def response_rows(
    found: Iterator[Trial] | Sequence[Trial], bases: Sequence[Base]
) -> Iterator[dict[str, Any]]:
    """The trials as rows for the panel."""
    for trial in found:
        base = bases[trial.base]
        yield {
            "response_id": trial.response_id,
            "prompt_id": base.prompt_id,
            "prompt_text": base.prompt_text,
            "response_text": trial.response_text,
            "respondent_id": base.respondent_id,
            "attack_kind": trial.kind,
            "attack_base": base.base_id,
            "attack_family": trial.family,
            "attack_text": trial.text,
            "attack_placement": trial.placement or "",
        }


def fingerprint(bases: Sequence[Base]) -> str:
    """SHA-256, hex, of the base responses."""
    rows = [
        [b.base_id, b.prompt_id, b.prompt_text, b.response_text, b.respondent_id] for b in bases
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def demanded_reply(schema: OutputSchema[ParsedScore], value: int) -> str:
    """A reply in the form that the judges use, with one value throughout."""
    reply: dict[str, Any] = {RATIONALE: "Strong throughout."} if RATIONALE in schema.keys else {}
    reply |= dict.fromkeys(schema.criteria, value)
    if ABSTAINED in schema.keys:
        reply[ABSTAINED] = False
    return json.dumps(reply)


def _values(family: AttackFamily, schema: OutputSchema[ParsedScore]) -> Mapping[str, str]:
    demanded = schema.high if family.asks == "highest" else schema.low
    return {
        "high": str(schema.high),
        "low": str(schema.low),
        "reply": demanded_reply(schema, demanded),
        "marker": GUESSED_MARKER,
    }


def _trial(
    base: int, kind: Kind, family: str, text: int, placement: Placement | None, response: str
) -> Trial:
    parts = [f"{base:05d}", kind]
    if family:
        parts += [family, str(text), placement or ""]
    return Trial("-".join(parts), kind, base, family, text, placement, response, screen(response))
