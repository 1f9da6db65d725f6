"""The scenario graph of SilverSpoon: a model writes scenarios on a topic and rewords each of them.

    start → generate (write, check, repair once) → vary → compare → end

`generate` is a run of the generate graph: all scenarios of a batch in one reply, checked by rule,
others asked for once in place of those that do not serve. `vary` asks for wordings with synonyms,
and `compare` keeps the wordings that are similar enough and not the same. The wording stands in
`templates/scenarios.yaml` and `templates/wordings.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypedDict

from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.schema import TEXT, object_schema
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
    run_graph,
    sum_of,
    together,
)
from .prompt_template import ECHO_CHARACTERS, load_prompt_template

if TYPE_CHECKING:
    # LangGraph is loaded when a graph is built.
    from langgraph.runtime import Runtime

SIMILARITY: Final = 0.8
FEWEST_WORDS, MOST_WORDS = 12, 120
ALIKE: Final = 0.75
"""Two scenarios with so many words in common are one."""

_LABELS: Mapping[str, str] = {"job": "silverspoon"}


@dataclass(frozen=True, slots=True)
class ScenarioWork:
    """The runtime context of one batch.

    Attributes:
        client: where calls are handed in.
        writer: who writes and rewords.
        topic: what the scenarios are about.
        batch: number of the batch; another number gives other scenarios.
        count: scenarios wanted.
        versions: wordings of each, the first one included.
        similarity: least share of words that a wording keeps.
    """

    client: Client
    writer: Backend
    topic: str
    batch: int = 0
    count: int = 10
    versions: int = 3
    similarity: float = SIMILARITY


@dataclass(frozen=True, slots=True)
class MadeScenario:
    """A scenario with its wordings.

    Attributes:
        number: from 1, within its batch.
        other: who the other is.
        texts: the scenario, then its wordings.
    """

    number: int
    other: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MadeBatch:
    """What came of a batch.

    Attributes:
        scenarios: those that serve.
        counts: `wanted`, `written`, `repaired`, `unusable`, `wordings_wanted`, `wordings`,
            `wordings_unlike` (below the similarity), `wordings_same`, `wordings_missing` (no reply
            had them). Of the scenarios that serve, wordings_wanted is the sum of the last four.
        faults: number of the scenario to why it does not serve.
        unanswered: `write`, `repair` or `vary_NUMBER` to status and detail of that call, where
            nothing could be read.
        calls, cost_usd: of the replies behind it; None = unknown price.
    """

    scenarios: tuple[MadeScenario, ...]
    counts: Mapping[str, int]
    faults: Mapping[str, str]
    unanswered: Mapping[str, tuple[str, str]]
    calls: int
    cost_usd: float | None

    @property
    def outcome(self) -> str:
        """`read`, or what became of the call that should have written the scenarios."""
        return self.unanswered["write"][0] if "write" in self.unanswered else "read"


@dataclass(frozen=True, slots=True)
class ScenarioTask(WritingTask):
    """The scenarios of one batch."""

    topic: str
    batch: int
    count: int

    @property
    def parts(self) -> tuple[str, ...]:
        """The numbers of the scenarios."""
        return tuple(str(number) for number in range(1, self.count + 1))

    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        """All scenarios of the batch, in one reply."""
        return self._question(self.parts, [], secret)

    def split(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Number to the scenario's `text` and who the `other` is."""
        texts: dict[str, dict[str, str]] = {}
        for key, value in reply.items():
            kind, _, number = key.partition("_")
            kind = "text" if kind == "scenario" else "other"
            texts.setdefault(number, {})[kind] = str(value).strip()
        return texts

    def check(self, written: Mapping[str, Any]) -> Checked:
        """Why scenarios do not serve."""
        found = faults_of(written, self.count)
        return Checked(tuple(Fault(number, "unusable", why) for number, why in found.items()))

    def repair(self, asked: RepairRequest, secret: bytes) -> Question[dict[str, Any]]:
        """The request for others in place of those that do not serve."""
        return self._question(asked.parts, asked.faults, secret)

    def _question(
        self, numbers: Sequence[str], faults: Sequence[Fault], secret: bytes
    ) -> Question[dict[str, Any]]:
        template = load_prompt_template("scenarios")
        wanted = template.text(
            "task", topic=self.topic, batch=str(self.batch + 1), count=str(len(numbers))
        )
        if faults:
            said = "\n".join(sorted(f"{fault.part}: {fault.detail}" for fault in faults))
            wanted += f"\n\n{template.texts['again']}\n{said}"
        keys = [f"{part}_{number}" for number in numbers for part in ("scenario", "other")]
        return template.question(
            {"TASK": wanted},
            object_schema(dict.fromkeys(keys, TEXT)),
            secret=secret,
            purpose="generate",
            labels=_LABELS,
            echo_characters=ECHO_CHARACTERS,
        )


class ScenarioState(TypedDict, total=False):
    """Texts by number, as JSON-like values.

    `generated` is what the generate graph ended in, `wordings` what was said of each scenario that
    serves, `kept` the scenario and those of its wordings that are taken, `asked` what became of the
    calls for wordings.
    """

    generated: GenerateState
    wordings: dict[str, list[str]]
    kept: dict[str, list[str]]
    unlike: int
    same: int
    asked: dict[str, dict[str, Any]]


async def vary_node(state: ScenarioState, runtime: Runtime[ScenarioWork]) -> ScenarioState:
    """Wordings of every scenario that serves."""
    work = runtime.context
    usable = _usable(state, work) if work.versions > 1 else {}
    found = await together(
        [ask(work.client, work.writer, _wordings(work, one["text"])) for one in usable.values()]
    )
    named = dict(zip(usable, found, strict=True))
    return {
        "wordings": {
            number: [str(text).strip() for text in asked.value.values()]
            for number, asked in named.items()
        },
        "asked": {f"vary_{number}": asked.to_json() for number, asked in named.items()},
    }


async def compare_node(state: ScenarioState, runtime: Runtime[ScenarioWork]) -> ScenarioState:
    """The wordings that are similar enough, and neither the scenario nor each other."""
    kept: dict[str, list[str]] = {}
    unlike = same = 0
    for number, one in _usable(state, runtime.context).items():
        texts = [one["text"]]
        for text in state.get("wordings", {}).get(number, []):
            if any(_plain(text) == _plain(other) for other in texts):
                same += 1
            elif not _names_p1(text) or similarity(one["text"], text) < runtime.context.similarity:
                unlike += 1
            else:
                texts.append(text)
        kept[number] = texts
    return {"kept": kept, "unlike": unlike, "same": same}


def build_scenario_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `ScenarioWork` is its runtime context."""
    from langgraph.graph import END, START, StateGraph

    # In the node's closure LangGraph finds the graph that it runs, and shows its nodes.
    writing = build_generate_graph()

    async def generate_node(state: ScenarioState, runtime: Runtime[ScenarioWork]) -> ScenarioState:
        work = runtime.context
        task = ScenarioTask(work.topic, work.batch, work.count)
        written = await generate(Generation(task, work.client, work.writer), writing)
        return {"generated": written}

    graph: Any = StateGraph(ScenarioState, context_schema=ScenarioWork)
    graph.add_node("generate", generate_node)
    graph.add_node("vary", vary_node)
    graph.add_node("compare", compare_node)
    graph.add_edge(START, "generate")
    graph.add_edge("generate", "vary")
    graph.add_edge("vary", "compare")
    graph.add_edge("compare", END)
    return graph.compile(checkpointer=checkpointer, name="scenarios")


@cache
def scenario_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_scenario_graph()


async def make_scenarios(work: ScenarioWork) -> MadeBatch:
    """One batch; expected faults are in it, and do not raise.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    state: ScenarioState = await run_graph(scenario_graph(), {}, work)
    made = Generated.of(state["generated"])
    written = made.written or {}
    faults = faults_of(written, work.count)
    usable = _usable(state, work)
    scenarios = tuple(
        MadeScenario(int(number), one["other"], tuple(state["kept"][number]))
        for number, one in usable.items()
    )
    varied = {name: CallOutcome(**call) for name, call in state["asked"].items()}
    calls = {**made.calls, **varied}
    unanswered = {
        name: (str(call.status), call.detail)
        for name, call in calls.items()
        if call.status != "read"
    }
    return MadeBatch(
        scenarios,
        {
            "wanted": work.count,
            "written": len(written),
            "repaired": len({fault.part for fault in made.repaired} - set(faults)),
            "unusable": work.count - len(usable),
            "wordings_wanted": (work.versions - 1) * len(usable),
            "wordings": sum(len(one.texts) - 1 for one in scenarios),
            "wordings_unlike": state["unlike"],
            "wordings_same": state["same"],
            "wordings_missing": (work.versions - 1)
            * sum(call.startswith("vary_") for call in unanswered),
        },
        faults,
        unanswered,
        sum(call.calls for call in calls.values()),
        sum_of(*(call.cost_usd for call in calls.values())),
    )


def faults_of(written: Mapping[str, Mapping[str, str]], count: int) -> dict[str, str]:
    """Number to why a scenario does not serve; the first of two that are alike does."""
    found: dict[str, str] = {}
    sound: list[str] = []
    for number in range(1, count + 1):
        one = written.get(str(number))
        fault = "is missing" if one is None else _fault(one["text"], one["other"], sound)
        if fault:
            found[str(number)] = fault
        elif one is not None:
            sound.append(one["text"])
    return found


def similarity(one: str, other: str) -> float:
    """Share of words that two texts have in common in their order, 2 M / (n + m), in [0, 1]."""
    return SequenceMatcher(None, _words(one), _words(other), autojunk=False).ratio()


def are_alike(one: str, other: str) -> bool:
    """Whether two scenarios are one: a `similarity` of `ALIKE` or more."""
    matcher = SequenceMatcher(None, _words(one), _words(other), autojunk=False)
    # Upper bounds first: most pairs are told apart without the slow comparison.
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return all(bound() >= ALIKE for bound in bounds)


def _fault(text: str, other: str, sound: Sequence[str]) -> str:
    n_words = len(text.split())
    if not FEWEST_WORDS <= n_words <= MOST_WORDS:
        return f"must have {FEWEST_WORDS} to {MOST_WORDS} words, has {n_words}"
    if not _names_p1(text):
        return "must call the poor person P1"
    if "?" in text:
        return "must hold no question"
    if re.search(r"\b(?:in the wrong|is wrong|to blame|at fault)\b", text, re.IGNORECASE):
        return "must not say who is in the wrong"
    if not other.strip() or len(other.split()) > 8 or "?" in other:
        return "must say in a few words who the other is"
    if any(are_alike(text, before) for before in sound):
        return "must differ from those before it"
    return ""


def _names_p1(text: str) -> bool:
    return re.search(r"\bP1\b", text) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold())


def _plain(text: str) -> str:
    return " ".join(_words(text))


def _usable(state: ScenarioState, work: ScenarioWork) -> dict[str, dict[str, str]]:
    written = state["generated"].get("written", {})
    faults = faults_of(written, work.count)
    return {number: written[number] for number in sorted(written, key=int) if number not in faults}


def _wordings(work: ScenarioWork, text: str) -> Question[dict[str, Any]]:
    keys = [f"wording_{number}" for number in range(1, work.versions)]
    return load_prompt_template("wordings").question(
        {"SCENARIO": text},
        object_schema(dict.fromkeys(keys, TEXT)),
        secret=work.client.ledger.secret,
        purpose="generate",
        labels=_LABELS,
        echo_characters=ECHO_CHARACTERS,
    )
