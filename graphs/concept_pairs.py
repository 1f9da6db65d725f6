"""Concept pairs: one question of the hidden-bias audit, written from a source step by step.

    summary → pair → check → scene → second ending (a run of the generate graph)

A source (a stereotype sentence, an item of a bias test) gives the belief in it, two opposite
concepts, a check that may replace them, a scene with an ending that hides the first concept,
another that hides the second. The question is checked by rules; what they find goes back to the
writer once. A pair or a scene that stands already is told to the writer, who finds another once;
what repeats it still is refused. What the models are told stands in `templates/concept_pair.yaml`.
An expected failure is a status, not an exception.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.schema import FLAG, TEXT, Value, object_schema
from ..judges.structured import Question
from .generate import (
    CallOutcome,
    Checked,
    Fault,
    Generated,
    WritingTask,
    ask,
    generate,
    sum_of,
)
from .prompt_template import ECHO_CHARACTERS, load_prompt_template
from .variant_checks import normalised

Faults = Sequence[tuple[str, str]]
"""Parts and the codes of what is wrong with them."""

Step = Literal["summary", "pair", "another", "check", "scene", "second", "repair"]

_FIELDS: Final[Mapping[Step, Mapping[str, Value]]] = {
    "summary": {"summary": TEXT},
    "pair": {"concept_one": TEXT, "concept_two": TEXT},
    "another": {"concept_one": TEXT, "concept_two": TEXT},
    "check": {"reason": TEXT, "is_good": FLAG, "concept_one": TEXT, "concept_two": TEXT},
    "scene": {"scene": TEXT, "option_one": TEXT},
    "second": {"option_two": TEXT},
    "repair": {"scene": TEXT, "option_one": TEXT, "option_two": TEXT},
}

_RULED: Final = frozenset({"scene", "second", "repair"})
"""Steps that write sentences, and are told the rules for them."""

REPEATED: Final = "repeated"
"""The fault of what stands already."""

_MAX_WORDS: Final = 40
_PRONOUNS = re.compile(
    r"\b(?:he|she|him|her|hers|his|himself|herself|they|them|their|theirs|themselves)\b",
    re.IGNORECASE,
)
_GROUPS = re.compile(
    r"\b(?:wom[ae]n|m[ae]n|girls?|boys?|female|male|black|white|asians?|arabs?|latin[oax]s?|"
    r"africans?|americans?|europeans?|muslims?|jew(?:s|ish)?|christians?|buddhists?|hindus?|"
    r"elderly|teenagers?|old people|young people|the (?:rich|poor)|immigrants?)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{4,}")
_EMPTY_WORDS = frozenset(
    ("about", "badly", "being", "does", "from", "good", "have", "into", "less", "more", "other",
     "others", "people", "person", "than", "that", "their", "thing", "things", "this", "very",
     "well", "with", "without")
)  # fmt: skip


def step_question(
    step: Step,
    material: Mapping[str, str],
    *,
    secret: bytes,
    faults: Faults = (),
) -> Question[dict[str, Any]]:
    """What is asked in a step.

    Args:
        step: which one.
        material: name to text, each between markers.
        secret: the ledger's, for the markers.
        faults: (part, code) of `FAULTS`, for a repair.
    """
    template = load_prompt_template("concept_pair")
    told = [f"- {part}: {template.fault(code)}" for part, code in faults]
    return template.question(
        material,
        object_schema(_FIELDS[step]),
        secret=secret,
        purpose="generate",
        values={
            "task": template.texts[step],
            "rules": template.texts["rules"] if step in _RULED else "",
            "faults": [template.texts["faulty"], *told] if faults else "",
        },
        labels={"job": "concepts", "step": step},
        echo_characters=ECHO_CHARACTERS,
    )


class Taken:
    """The pairs and the scenes that stand already; case, spacing and punctuation are the same."""

    def __init__(self, questions: Iterable[Mapping[str, str]] = ()) -> None:
        """Takes what stands, by concept_one, concept_two and scene."""
        self.pairs: list[tuple[str, str]] = []
        self._pairs: set[frozenset[str]] = set()
        self._scenes: set[str] = set()
        for one in questions:
            self.add(one)

    def add(self, question: Mapping[str, str]) -> None:
        """Takes one more."""
        concepts = (question["concept_one"], question["concept_two"])
        self.pairs.append(concepts)
        self._pairs.add(frozenset(map(normalised, concepts)))
        self._scenes.add(normalised(question["scene"]))

    def holds_pair(self, concepts: Mapping[str, str]) -> bool:
        """Whether the two concepts stand, either way round."""
        return frozenset(normalised(concepts[key]) for key in _CONCEPTS) in self._pairs

    def holds(self, question: Mapping[str, str]) -> bool:
        """Whether its two concepts or its scene stand."""
        return self.holds_pair(question) or self.holds_scene(question["scene"])

    def holds_scene(self, scene: str) -> bool:
        """Whether the scene stands."""
        return normalised(scene) in self._scenes

    def told(self) -> str:
        """The pairs as a writer is told of them, the last ones."""
        return "\n".join(f"- {one} / {two}" for one, two in self.pairs[-_MOST_TOLD:])


_MOST_TOLD: Final = 200


@dataclass(frozen=True, slots=True)
class QuestionTask(WritingTask):
    """The second ending of a scene; a question that does not serve is written anew as a whole."""

    concepts: Mapping[str, str]
    opening: Mapping[str, str]
    taken: Taken

    @property
    def parts(self) -> tuple[str, ...]:
        """Scene and endings."""
        return _QUESTION

    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        """The ending that hides the second concept."""
        material = {**_named(self.concepts), **_shown(self.opening)}
        return step_question("second", material, secret=secret)

    def split(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Each text in one line."""
        return {**self.opening, **_texts(reply, [key for key in _QUESTION if key in reply])}

    def check(self, written: Mapping[str, Any]) -> Checked:
        """What keeps it from being a question."""
        faults = question_faults(
            (self.concepts["concept_one"], self.concepts["concept_two"]),
            written["scene"],
            (written["option_one"], written["option_two"]),
        )
        if self.taken.holds_scene(written["scene"]):
            faults.append(("scene", REPEATED))
        return Checked(tuple(Fault(part, code) for part, code in faults))

    def to_repair(self, faulty: Collection[str]) -> list[str]:
        """All of it: the endings follow the scene."""
        return list(self.parts)

    def repair(
        self, parts: Sequence[str], faults: Sequence[Fault], before: Generated, secret: bytes
    ) -> Question[dict[str, Any]]:
        """Scene and endings anew."""
        return step_question(
            "repair",
            {**_named(self.concepts), **_shown(before.written or {})},
            secret=secret,
            faults=[(fault.part, fault.code) for fault in faults],
        )


def concept_faults(one: str, two: str) -> list[tuple[str, str]]:
    """What keeps two concepts from being a pair, as (part, code)."""
    found: list[tuple[str, str]] = []
    for part, text in (("concept_one", one), ("concept_two", two)):
        if not text.strip():
            found.append((part, "empty"))
        elif _GROUPS.search(text):
            found.append((part, "names_group"))
    if one.strip().casefold() == two.strip().casefold():
        found.append(("concept_two", "same"))
    return found


def question_faults(
    concepts: tuple[str, str], scene: str, options: tuple[str, str]
) -> list[tuple[str, str]]:
    """What keeps a scene and its endings from being a question, as (part, code)."""
    found: list[tuple[str, str]] = []
    parts = {"scene": scene, "option_one": options[0], "option_two": options[1]}
    for part, text in parts.items():
        codes = _sentence_faults(text)
        if not codes and _names(text, concepts):
            codes = ["names_concept"]
        found += [(part, code) for code in codes]
    if options[0].strip() == options[1].strip():
        found.append(("option_two", "same"))
    return found


def _sentence_faults(text: str) -> list[str]:
    if not text.strip():
        return ["empty"]
    if "{X}" not in text:
        return ["no_place"]
    bare = text.replace("{X}", "")
    codes = []
    if not text.strip().startswith("{X}"):
        codes.append("does_not_begin")
    if "{" in bare or "}" in bare:
        codes.append("other_braces")
    if len(text.split()) > _MAX_WORDS or "\n" in text.strip():
        codes.append("too_long")
    if _PRONOUNS.search(bare):
        codes.append("pronoun")
    if _GROUPS.search(bare):
        codes.append("names_group")
    return codes


def _names(text: str, concepts: tuple[str, str]) -> bool:
    """Whether a word of a concept occurs, endings aside."""
    stems = {_stem(word) for concept in concepts for word in _words(concept)}
    return any(_stem(word) in stems for word in _words(text))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _EMPTY_WORDS]


def _stem(word: str) -> str:
    for ending in ("ation", "ness", "ing", "ies", "ful", "ed", "ly", "es", "er", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


BuiltStatus = Literal[
    "built", "unsuitable", "repeated", "refused", "unreadable", "failed", "not_asked"
]
"""`built`: a question that passed the review. `unsuitable`: rules refuse what was written, after
one repair; `repeated`: they do because it stands already. The others as in every call: declined,
unreadable after one repair of the form, no reply, not asked."""

STEPS: tuple[Step, ...] = ("summary", "pair", "check", "scene", "second")

_CONCEPTS = ("concept_one", "concept_two")
_QUESTION = ("scene", "option_one", "option_two")


@dataclass(frozen=True, slots=True)
class BuiltConcept:
    """What became of a source.

    Attributes:
        source_id: which.
        status: see `BuiltStatus`.
        summary: the belief in one sentence.
        raw: the two concepts before the check; `concepts` after it; `is_refined` whether it changed
            them.
        question: scene and endings; empty unless all were written.
        faults: what the review holds against the question as it stands.
        first_faults: what it held against the first form, where it was repaired.
        step: where a source that was not built ended; `detail` says why.
        calls, cost_usd: of the replies behind it; None = unknown price.
    """

    source_id: str
    status: BuiltStatus
    summary: str = ""
    raw: Mapping[str, str] = field(default_factory=dict)
    concepts: Mapping[str, str] = field(default_factory=dict)
    is_refined: bool = False
    question: Mapping[str, str] = field(default_factory=dict)
    faults: Faults = ()
    first_faults: Faults = ()
    step: str = ""
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0

    @property
    def item(self) -> dict[str, str]:
        """Concepts, scene and endings, as the table has them."""
        return {**self.concepts, **self.question}


@dataclass(slots=True)
class _Steps:
    """Asks the steps of one source and keeps what came of each call."""

    client: Client
    writer: Backend
    checker: Backend
    calls: dict[str, CallOutcome] = field(default_factory=dict)

    async def texts(
        self, step: Step, material: Mapping[str, str], keys: Sequence[str]
    ) -> dict[str, str] | None:
        """What the writer says under these keys; None where it cannot be read."""
        asked = await self._ask(step, material, self.writer, step)
        return _texts(asked.value, keys) if asked.status == "read" else None

    async def checked(
        self, belief: str, concepts: Mapping[str, str], name: str
    ) -> Mapping[str, str] | None:
        """The concepts, or a better pair by whoever checks; None where that cannot be read."""
        material = {"BELIEF": belief, **_named(concepts)}
        asked = await self._ask("check", material, self.checker, name)
        if asked.status != "read":
            return None
        return concepts if asked.value["is_good"] else _texts(asked.value, _CONCEPTS)

    async def _ask(
        self, step: Step, material: Mapping[str, str], backend: Backend, name: str
    ) -> CallOutcome:
        question = step_question(step, material, secret=self.client.ledger.secret)
        self.calls[name] = await ask(self.client, backend, question)
        return self.calls[name]


async def build_concept(
    source_id: str,
    source: str,
    *,
    writer: Backend,
    checker: Backend,
    client: Client,
    taken: Taken | None = None,
) -> BuiltConcept:
    """What became of one source.

    Args:
        source_id: which.
        source: its text.
        writer: who writes.
        checker: who checks the pair.
        client: where calls are handed in.
        taken: what stands already and must not come again.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    steps = _Steps(client, writer, checker)
    built = await _built(BuiltConcept(source_id, "built"), source, steps, taken or Taken())
    name, last = list(steps.calls.items())[-1]
    if last.status != "read":
        built = replace(built, status=last.status, step=name, detail=last.detail)
    return replace(
        built,
        is_refined=bool(built.concepts) and built.concepts != built.raw,
        calls=sum(call.calls for call in steps.calls.values()),
        cost_usd=sum_of(*(call.cost_usd for call in steps.calls.values())),
    )


async def _built(built: BuiltConcept, source: str, steps: _Steps, taken: Taken) -> BuiltConcept:
    """The steps in order, up to one whose reply cannot be read or does not serve."""
    summary = await steps.texts("summary", {"SOURCE": source}, ("summary",))
    if summary is None:
        return built
    belief = summary["summary"]
    built = replace(built, summary=belief)
    material, concepts = {"BELIEF": belief}, None
    tries: tuple[tuple[Step, str], ...] = (("pair", "check"), ("another", "second check"))
    for step, check in tries:
        raw = await steps.texts(step, material, _CONCEPTS)
        if raw is None:
            return built
        built = replace(built, raw=raw)
        concepts = await steps.checked(belief, raw, check)
        if concepts is None:
            return built
        if faults := concept_faults(concepts["concept_one"], concepts["concept_two"]):
            return _unsuitable(built, "check", faults)
        if not taken.holds_pair(concepts):
            break
        material["PAIRS THAT STAND"] = taken.told()
    else:
        return _unsuitable(built, "check", [("concept_two", REPEATED)])
    built = replace(built, concepts=concepts)
    opening = await steps.texts("scene", _named(concepts), ("scene", "option_one"))
    if opening is None:
        return built
    made = await generate(steps.client, QuestionTask(concepts, opening, taken), steps.writer)
    names = {"write": "second"}
    steps.calls |= {names.get(name, name): call for name, call in made.calls.items()}
    built = replace(
        built,
        question={**opening, "option_two": "", **(made.written or {})},
        faults=[(fault.part, fault.code) for fault in made.faults],
        first_faults=[(fault.part, fault.code) for fault in made.repaired or ()],
    )
    return _unsuitable(built, "review", built.faults) if built.faults else built


def _unsuitable(built: BuiltConcept, step: str, faults: Faults) -> BuiltConcept:
    is_repeated = any(code == REPEATED for _, code in faults)
    return replace(
        built,
        status="repeated" if is_repeated else "unsuitable",
        step=step,
        detail="; ".join(f"{part}: {code}" for part, code in faults),
    )


def _named(concepts: Mapping[str, str]) -> dict[str, str]:
    return {
        "FIRST CONCEPT": concepts.get("concept_one", ""),
        "SECOND CONCEPT": concepts.get("concept_two", ""),
    }


def _shown(question: Mapping[str, str]) -> dict[str, str]:
    names = {"scene": "SCENE", "option_one": "FIRST ENDING", "option_two": "SECOND ENDING"}
    return {name: question[key] for key, name in names.items() if key in question}


def _texts(reply: Mapping[str, Any], keys: Sequence[str]) -> dict[str, str]:
    """The texts of a reply, each as one line; empty where there is no reply."""
    return {key: " ".join(str(reply.get(key, "")).split()) for key in keys}
