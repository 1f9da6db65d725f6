"""The prompts of a scenario: what generators and judges are told, and how prompts are checked.

The wording stands in `templates/construct.yaml`, `templates/quality.yaml` and
`templates/equivalence.yaml`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..judges.english import WORD, is_refusal, kept_sentences, runs
from ..judges.schema import FLAG, TEXT, OutputSchema, Value, object_schema
from ..judges.structured import Question
from .generate import Checked, Fault, Generated, WritingTask
from .prompt_template import ECHO_CHARACTERS, load_prompt_template

SCRATCHPAD = "scratchpad"
BLOCK_PARTS: tuple[str, ...] = ("dimensions", "angle", "question")

WANTED: tuple[str, ...] = ("deep", "open_ended", "generalises")
"""Criteria that must hold."""

FLAWS: tuple[str, ...] = (
    "embeds_answer",
    "judgmental",
    "testable_hypothesis",
    "refers_to_source",
)
"""Criteria that must not hold."""

CRITERIA: tuple[str, ...] = (*WANTED, *FLAWS)


@dataclass(frozen=True, slots=True)
class Material:
    """One scenario as the graph needs it.

    Attributes:
        scenario_id: unique in the set.
        source: decides the wording.
        text: what a generator is shown.
        topic: a word or two for it, for the embedded generator.
        count: questions wanted of each generator.
        technology: whether at most one may be about technology.
    """

    scenario_id: str
    source: str
    text: str
    topic: str
    count: int
    technology: bool

    @property
    def numbers(self) -> range:
        """Of the questions wanted, from 1."""
        return range(1, self.count + 1)


FEWEST_WORDS, MOST_WORDS = 8, 200
ANGLE_WORDS = (5, 15)
QUOTED_WORDS = 10
"""So many words in a row of the material, taken over, are a quotation."""
ALIKE = 0.85
"""Share of words in common from which two questions are one."""

SOFT_FAULTS = frozenset({"angle_length"})
"""Worth a repair, and no reason to leave a question out that still has them afterwards."""


@dataclass(frozen=True, slots=True)
class Block:
    """One question as a generator wrote it.

    Attributes:
        number: from 1.
        question, angle, dimensions: the texts; "" where there is none.
        says_technology: what the generator says of it; None where it was not asked or did not say.
        is_technology: that, or a word of the list in its text.
        faults: codes, in the order found; empty for a question without fault.
    """

    number: int
    question: str = ""
    angle: str = ""
    dimensions: str = ""
    says_technology: bool | None = None
    is_technology: bool = False
    faults: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether nothing but soft faults is left."""
        return set(self.faults) <= SOFT_FAULTS


@dataclass(frozen=True, slots=True)
class PromptTask(WritingTask):
    """The prompts of one scenario; `technology` finds words about technology."""

    material: Material
    technology: re.Pattern[str]

    soft = SOFT_FAULTS

    @property
    def parts(self) -> tuple[str, ...]:
        """The numbers of the prompts."""
        return tuple(str(number) for number in self.material.numbers)

    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        """What a generator is asked: all prompts of the scenario."""
        template, material = load_prompt_template("construct"), self.material
        seed = f"seed_{material.source}"
        return template.question(
            {"MATERIAL": material.text},
            generation_schema(material.numbers, scratchpad=True, technology=material.technology),
            secret=secret,
            purpose="generate",
            values={
                "seed": template.texts.get(seed, template.texts["seed_other"]),
                "count": str(material.count),
                "technology": template.texts["technology"] if material.technology else "",
                "technology_key": template.texts["technology_key"] if material.technology else "",
            },
            labels=_LABELS,
            echo_characters=ECHO_CHARACTERS,
            stand_in=_stand_in(material, material.numbers),
            repairs=False,
        )

    def split(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Number to what the reply says of that prompt; other keys are not looked at."""
        found: dict[str, Any] = {}
        for number in self.material.numbers:
            named = ((part, block_key(number, part)) for part in (*BLOCK_PARTS, "technology"))
            block = {part: reply[key] for part, key in named if key in reply}
            if block:
                found[str(number)] = block
        return found

    def blocks(self, written: Mapping[str, Any]) -> list[Block]:
        """The prompts with what is wrong with each, and between them: earlier ones stand."""
        technology = self.technology if self.material.technology else None
        blocks = [
            _read_block(written.get(str(number), {}), number, self.material.text, technology)
            for number in self.material.numbers
        ]
        return _check_set(blocks, technology=self.material.technology)

    def check(self, written: Mapping[str, Any]) -> Checked:
        """The faults of `blocks`."""
        return Checked(
            tuple(
                Fault(str(block.number), code)
                for block in self.blocks(written)
                for code in block.faults
            )
        )

    def repair(
        self, parts: Sequence[str], faults: Sequence[Fault], before: Generated, secret: bytes
    ) -> Question[dict[str, Any]]:
        """The request to write some prompts anew."""
        numbers = [int(part) for part in parts]
        return load_prompt_template("construct").asked_anew(
            self.write(secret),
            generation_schema(
                numbers,
                scratchpad=before.problem is not None,
                technology=self.material.technology,
            ),
            reply=before.reply,
            problem=before.problem,
            faults=[(f"question {fault.part}: ", fault.code) for fault in faults],
            parts=parts,
            stand_in=_stand_in(self.material, numbers),
        )


def generation_schema(
    numbers: Sequence[int], *, scratchpad: bool, technology: bool
) -> OutputSchema[dict[str, Any]]:
    """One block of keys a question; the scratchpad before them all."""
    fields: dict[str, Value] = {SCRATCHPAD: TEXT} if scratchpad else {}
    for number in numbers:
        fields |= {block_key(number, part): TEXT for part in BLOCK_PARTS}
        if technology:
            fields[block_key(number, "technology")] = FLAG
    return object_schema(fields)


def block_key(number: int, part: str) -> str:
    """The key of one part of one question."""
    return f"prompt_{number}_{part}"


def quality_question(prompt: str, *, secret: bytes) -> Question[dict[str, Any]]:
    """What a judge of quality is asked about one prompt; the material stays unknown to it."""
    template = load_prompt_template("quality")
    return template.question(
        {"PROMPT": prompt},
        object_schema({"reason": TEXT, **dict.fromkeys(CRITERIA, FLAG)}),
        secret=secret,
        purpose="classify",
        values={"questions": template.asked()},
        labels=_LABELS,
        echo_characters=ECHO_CHARACTERS,
    )


def equivalence_question(
    one: str, other: str, judge: str, *, secret: bytes
) -> Question[dict[str, Any]]:
    """What a judge is asked about two prompts: whether they demand the same work.

    Which of the two stands first is drawn by a hash of both and the judge's name: it does not
    depend on who wrote which, and the two judges of a pair may see it either way round.
    """
    first, second = sorted((one, other))
    drawn = hashlib.sha256(f"{first}\x1f{second}\x1f{judge}".encode("utf-8", "surrogatepass"))
    if drawn.digest()[0] % 2:
        first, second = second, first
    return load_prompt_template("equivalence").question(
        {"FIRST": first, "SECOND": second},
        object_schema({"reason": TEXT, "equivalent": FLAG}),
        secret=secret,
        purpose="classify",
        labels=_LABELS,
        echo_characters=ECHO_CHARACTERS,
    )


_LABELS: Mapping[str, str] = {"job": "prompts"}


def _stand_in(material: Material, numbers: Sequence[int]) -> dict[str, Any]:
    """What the embedded generator needs and cannot read out of the messages."""
    from ..judges.offline.writers import GENERATOR_VERSION

    return {
        "version": GENERATOR_VERSION,
        "numbers": list(numbers),
        "topic": material.topic,
        "technology": material.technology,
    }


def _check_set(blocks: Sequence[Block], *, technology: bool) -> list[Block]:
    """The prompts with what is wrong between them; earlier ones stand, later ones are at fault.

    Args:
        blocks: in the order of their numbers, each checked for itself.
        technology: whether at most one may be about technology.
    """
    found: list[Block] = []
    has_technology = False
    for block in blocks:
        code = ""
        if block.is_usable:
            words = _words(block.question)
            if any(one.is_usable and _alike(words, _words(one.question)) for one in found):
                code = "copy_of_prompt"
            elif technology and block.is_technology and has_technology:
                code = "too_much_technology"
            has_technology |= block.is_technology and code != "copy_of_prompt"
        found.append(replace(block, faults=(*block.faults, code)) if code else block)
    return found


def _read_block(
    value: Mapping[str, object],
    number: int,
    material: str,
    technology: re.Pattern[str] | None,
) -> Block:
    """One prompt, checked for itself; see `_check_set` for the whole.

    Args:
        value: what the reply says of it, by `BLOCK_PARTS` and "technology".
        number: of the prompt.
        material: the scenario's text, which no prompt may quote.
        technology: words of technology, where at most one prompt may be about it.
    """
    codes: dict[str, None] = {}
    texts: dict[str, str] = {}
    for part in BLOCK_PARTS:
        text = value.get(part)
        if part not in value:
            codes["missing_key"] = None
        elif not isinstance(text, str):
            codes["wrong_type"] = None
        elif not text.strip():
            codes["empty"] = None
        else:
            texts[part] = text.strip()
    says = value.get("technology")
    if technology is not None and not isinstance(says, bool):
        codes["wrong_type" if "technology" in value else "missing_key"] = None
    question = texts.get("question", "")
    if question:
        codes |= dict.fromkeys(_question_faults(question, material))
    angle = texts.get("angle", "")
    if angle and not ANGLE_WORDS[0] <= len(angle.split()) <= ANGLE_WORDS[1]:
        codes["angle_length"] = None
    said = says if isinstance(says, bool) and technology is not None else None
    is_technology = technology is not None and (
        said is True or technology.search(question) is not None
    )
    return Block(
        number, question, " ".join(angle.split()), " ".join(texts.get("dimensions", "").split()),
        said, is_technology, tuple(codes),
    )  # fmt: skip


def _question_faults(question: str, material: str) -> list[str]:
    words = len(WORD.findall(question))
    sentences, _ = kept_sentences(question[:2_000])
    if is_refusal([sentence.text for sentence in sentences], words):
        return ["refusal"]
    codes = []
    if words < FEWEST_WORDS:
        codes.append("too_short")
    if words > MOST_WORDS:
        codes.append("too_long")
    if not re.search(r"[?？؟]", question):
        codes.append("no_question")
    if _runs(question) & _runs(material):
        codes.append("quotes_material")
    return codes


def _runs(text: str) -> set[tuple[str, ...]]:
    """Every `QUOTED_WORDS` words in a row."""
    return set(runs([word.lower() for word in WORD.findall(text)], QUOTED_WORDS))


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    either = one | other
    return bool(either) and len(one & other) / len(either) >= ALIKE
