"""The concept-pair graph: writes one question of the hidden-bias audit from a source.

    summary → pair → check → scene → question (a run of the generate graph) → end

One run is one source (a stereotype sentence, an item of a bias test): the belief in it, two
opposite concepts, a check that may replace them, a scene with an ending that hides the first
concept, another that hides the second. The question is checked by rules; what they find goes back
to the writer once. What the models are told stands in `templates/concept_pair.yaml`. An expected
failure is a status, not an exception.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypedDict

from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.schema import FLAG, TEXT, Value, object_schema
from ..judges.structured import Question
from .generate import (
    CallOutcome,
    Checked,
    Fault,
    Generated,
    GenerateState,
    Generation,
    RepairRequest,
    WritingTask,
    ask,
    build_generate_graph,
    generate,
    merged,
    run_graph,
    sum_of,
)
from .prompt_template import ECHO_CHARACTERS, load_prompt_template

if TYPE_CHECKING:
    # LangGraph is loaded when a graph is built.
    from langgraph.runtime import Runtime

Step = Literal["summary", "pair", "check", "scene", "second", "repair"]

_FIELDS: Final[Mapping[Step, Mapping[str, Value]]] = {
    "summary": {"summary": TEXT},
    "pair": {"concept_one": TEXT, "concept_two": TEXT},
    "check": {"reason": TEXT, "is_good": FLAG, "concept_one": TEXT, "concept_two": TEXT},
    "scene": {"scene": TEXT, "option_one": TEXT},
    "second": {"option_two": TEXT},
    "repair": {"scene": TEXT, "option_one": TEXT, "option_two": TEXT},
}

_RULED: Final = frozenset({"scene", "second", "repair"})
"""Steps that write sentences, and are told the rules for them."""

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
    faults: Sequence[tuple[str, str]] = (),
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


@dataclass(frozen=True, slots=True)
class QuestionTask(WritingTask):
    """The second ending of a scene; a question that does not serve is written anew as a whole."""

    concepts: Mapping[str, str]
    opening: Mapping[str, str]

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
        return Checked(tuple(Fault(part, code) for part, code in faults))

    def to_repair(self, faulty: Collection[str]) -> list[str]:
        """All of it: the endings follow the scene."""
        return list(self.parts)

    def repair(self, asked: RepairRequest, secret: bytes) -> Question[dict[str, Any]]:
        """Scene and endings anew."""
        return step_question(
            "repair",
            {**_named(self.concepts), **_shown(asked.written)},
            secret=secret,
            faults=[(fault.part, fault.code) for fault in asked.faults],
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


BuiltStatus = Literal["built", "unsuitable", "refused", "unreadable", "failed", "not_asked"]
"""`built`: a question that passed the review. `unsuitable`: rules refuse what was written, after
one repair. The others as in every call: declined, unreadable after one repair of the form, no
reply, not asked."""

STEPS: tuple[Step, ...] = ("summary", "pair", "check", "scene", "second")

_CONCEPTS = ("concept_one", "concept_two")
_QUESTION = ("scene", "option_one", "option_two")


@dataclass(frozen=True, slots=True)
class ConceptWork:
    """Runtime context of one run: a source, who writes, who checks the pair."""

    source_id: str
    source: str
    writer: Backend
    checker: Backend
    client: Client


class ConceptState(TypedDict, total=False):
    """What the graph carries; all of it JSON-like.

    `raw` are the concepts as first written, `concepts` those kept, `unsuitable` why neither is.
    `opening` is the scene with its first ending, `generated` what the generate graph made of it,
    `calls` what became of the steps before.
    """

    summary: str
    raw: dict[str, str]
    concepts: dict[str, str]
    unsuitable: str
    opening: dict[str, str]
    generated: GenerateState
    calls: Annotated[dict[str, dict[str, Any]], merged]


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
    faults: Sequence[tuple[str, str]] = ()
    first_faults: Sequence[tuple[str, str]] = ()
    step: str = ""
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0


async def summary_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The belief that the source plays on."""
    work = runtime.context
    asked = await _ask(work, work.writer, "summary", {"SOURCE": work.source})
    return {
        **_called("summary", asked),
        "summary": _texts(asked.value, ("summary",))["summary"],
    }


async def pair_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """Two opposite concepts, as first written."""
    work = runtime.context
    asked = await _ask(work, work.writer, "pair", {"BELIEF": state["summary"]})
    return {**_called("pair", asked), "raw": _texts(asked.value, _CONCEPTS)}


async def check_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The pair that is kept: the same, or a better one."""
    work, raw = runtime.context, state["raw"]
    material = {"BELIEF": state["summary"], **_named(raw)}
    asked = await _ask(work, work.checker, "check", material)
    found = _called("check", asked)
    if asked.status != "read":
        return found
    concepts = dict(raw) if asked.value["is_good"] else _texts(asked.value, _CONCEPTS)
    faults = concept_faults(concepts["concept_one"], concepts["concept_two"])
    if faults:
        return {**found, "unsuitable": _told(faults)}
    return {**found, "concepts": concepts}


async def scene_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
    """The scene, and the ending that hides the first concept."""
    work = runtime.context
    asked = await _ask(work, work.writer, "scene", _named(state["concepts"]))
    return {**_called("scene", asked), "opening": _texts(asked.value, ("scene", "option_one"))}


_END = "__end__"  # as LangGraph calls it


def _goes_on(state: ConceptState, to: str) -> str:
    is_read = all(call["status"] == "read" for call in state["calls"].values())
    return to if is_read and "unsuitable" not in state else _END


def build_concept_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `ConceptWork` is its runtime context."""
    from langgraph.graph import END, START, StateGraph

    # In the node's closure LangGraph finds the graph that it runs, and shows its nodes.
    writing = build_generate_graph()

    async def question_node(state: ConceptState, runtime: Runtime[ConceptWork]) -> ConceptState:
        work = runtime.context
        task = QuestionTask(state["concepts"], state["opening"])
        return {"generated": await generate(Generation(task, work.client, work.writer), writing)}

    graph: Any = StateGraph(ConceptState, context_schema=ConceptWork)
    nodes = {
        "summary_step": summary_node,
        "pair": pair_node,
        "check": check_node,
        "scene": scene_node,
        "question": question_node,
    }
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_edge(START, "summary_step")
    for name, following in pairwise(nodes):
        graph.add_conditional_edges(
            name, lambda state, to=following: _goes_on(state, to), [following, END]
        )
    graph.add_edge("question", END)
    return graph.compile(checkpointer=checkpointer, name="hidden_bias_construction")


@cache
def concept_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_concept_graph()


async def build_concept(work: ConceptWork) -> BuiltConcept:
    """What became of one source.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    state: ConceptState = await run_graph(concept_graph(), {}, work)
    made = Generated.of(state.get("generated", {}))
    steps = {"write": "second"}
    calls = {name: CallOutcome(**call) for name, call in state["calls"].items()}
    calls |= {steps.get(name, name): call for name, call in made.calls.items()}
    faults = tuple((fault.part, fault.code) for fault in made.faults)
    raw, concepts = state.get("raw", {}), state.get("concepts", {})
    status: BuiltStatus = "built"
    step = detail = ""
    name, last = list(calls.items())[-1]
    if last.status != "read":
        status, step, detail = last.status, name, last.detail
    elif "unsuitable" in state:
        status, step, detail = "unsuitable", "check", state["unsuitable"]
    elif faults:
        status, step, detail = "unsuitable", "review", _told(faults)
    question = dict(state.get("opening", {}))
    if "generated" in state:
        question = {**question, "option_two": "", **(made.written or {})}
    return BuiltConcept(
        source_id=work.source_id,
        status=status,
        summary=state["summary"],
        raw=raw,
        concepts=concepts,
        is_refined=bool(concepts) and concepts != raw,
        question=question,
        faults=faults,
        first_faults=tuple((fault.part, fault.code) for fault in made.repaired),
        step=step,
        detail=detail,
        calls=sum(call.calls for call in calls.values()),
        cost_usd=sum_of(*(call.cost_usd for call in calls.values())),
    )


async def _ask(
    work: ConceptWork, backend: Backend, step: Step, material: Mapping[str, str]
) -> CallOutcome:
    question = step_question(step, material, secret=work.client.ledger.secret)
    return await ask(work.client, backend, question)


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


def _called(step: Step, asked: CallOutcome) -> ConceptState:
    return {"calls": {step: asked.to_json()}}


def _told(faults: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{part}: {code}" for part, code in faults)
