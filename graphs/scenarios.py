"""The scenarios of SilverSpoon: a model writes them on a topic, and rewords each of them.

All scenarios of a batch are written by one run of the generate graph: in one reply, checked by
rule, others asked for once in place of those that do not serve. The writer is told which scenarios
stand already, and one that repeats them does not serve. Then each is reworded with synonyms, and
the wordings that are similar enough and not the same are kept. What the model is told stands in
`templates/scenarios.yaml` and `templates/wordings.yaml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.schema import TEXT, object_schema
from ..judges.structured import Question
from .generate import (
    Checked,
    Fault,
    Generated,
    WritingTask,
    ask,
    generate,
    sum_of,
    together,
)
from .prompt_template import ECHO_CHARACTERS, load_prompt_template
from .variant_checks import normalised

SIMILARITY: Final = 0.8
FEWEST_WORDS, MOST_WORDS = 12, 120
ALIKE: Final = 0.75
"""Two scenarios with so many words in common are one."""

MOST_TOLD: Final = 200
"""Scenarios that stand already, the last ones, of which a writer is told."""
REPEATED: Final = "must differ from those before it"

_LABELS: Mapping[str, str] = {"job": "silverspoon"}


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
        counts: `wanted`, `written`, `repaired`, `unusable`, `repeated` (like one that stood),
            `wordings_wanted`, `wordings`, `wordings_unlike` (below the similarity),
            `wordings_same`, `wordings_missing` (no reply had them). Of the scenarios that serve,
            wordings_wanted is the sum of the last four.
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

    @property
    def is_open(self) -> bool:
        """Whether another run may bring other scenarios: a call failed, or was not asked for."""
        found = [
            self.unanswered[call][0] for call in ("write", "repair") if call in self.unanswered
        ]
        return bool({"failed", "not_asked"} & set(found))

    @classmethod
    def unasked(cls, count: int, after: MadeBatch) -> MadeBatch:
        """The batch that comes after an open one: its writer cannot be told what will stand."""
        status, why = next(iter(after.unanswered.values()))
        why = why if status == "not_asked" else f"an earlier batch {status}"
        faults = {str(number): "is missing" for number in range(1, count + 1)}
        counts = dict.fromkeys(after.counts, 0) | {"wanted": count, "unusable": count}
        return cls((), counts, faults, {"write": ("not_asked", why)}, 0, 0.0)


@dataclass(frozen=True, slots=True)
class ScenarioTask(WritingTask):
    """The scenarios of one batch.

    Attributes:
        topic: what they are about.
        batch: number of the batch.
        count: scenarios wanted.
        before: scenarios of the topic that stand already: the writer is told of them.
        taken: `normalised` texts that must not come again either.
    """

    topic: str
    batch: int
    count: int
    before: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()

    @property
    def parts(self) -> tuple[str, ...]:
        """The numbers of the scenarios."""
        return tuple(str(number) for number in range(1, self.count + 1))

    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        """All scenarios of the batch, in one reply."""
        return self._question(self.parts, [], self.before, secret)

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
        found = faults_of(written, self.count, self.before, self.taken)
        return Checked(tuple(Fault(number, "unusable", why) for number, why in found.items()))

    def repair(
        self, parts: Sequence[str], faults: Sequence[Fault], before: Generated, secret: bytes
    ) -> Question[dict[str, Any]]:
        """The request for others in place of those that do not serve."""
        known = self.before
        if any(fault.detail == REPEATED for fault in faults):
            written = before.written or {}
            known += tuple(written[part]["text"] for part in before.sound(self))
        return self._question(parts, faults, known, secret)

    def _question(
        self,
        numbers: Sequence[str],
        faults: Sequence[Fault],
        known: Sequence[str],
        secret: bytes,
    ) -> Question[dict[str, Any]]:
        template = load_prompt_template("scenarios")
        wanted = template.text(
            "task", topic=self.topic, batch=str(self.batch + 1), count=str(len(numbers))
        )
        if faults:
            said = "\n".join(sorted(f"{fault.part}: {fault.detail}" for fault in faults))
            wanted += f"\n\n{template.texts['again']}\n{said}"
        if known:
            told = "\n".join(f"- {' '.join(text.split())}" for text in known[-MOST_TOLD:])
            wanted += f"\n\n{template.texts['known']}\n{told}"
        keys = [f"{part}_{number}" for number in numbers for part in ("scenario", "other")]
        return template.question(
            {"TASK": wanted},
            object_schema(dict.fromkeys(keys, TEXT)),
            secret=secret,
            purpose="generate",
            labels=_LABELS,
            echo_characters=ECHO_CHARACTERS,
        )


async def make_scenarios(
    client: Client,
    writer: Backend,
    topic: str,
    *,
    batch: int = 0,
    count: int = 10,
    versions: int = 3,
    similarity: float = SIMILARITY,
    before: Sequence[str] = (),
    taken: Iterable[str] = (),
) -> MadeBatch:
    """One batch; expected faults are in it, and do not raise.

    Args:
        client: where calls are handed in.
        writer: who writes and rewords.
        topic: what the scenarios are about.
        batch: number of the batch; another number gives other scenarios.
        count: scenarios wanted.
        versions: wordings of each, the first one included.
        similarity: least share of words that a wording keeps.
        before: scenarios of the topic that stand already: the writer is told, and none comes again.
        taken: further texts that must not come again.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    task = ScenarioTask(topic, batch, count, tuple(before), frozenset(map(normalised, taken)))
    made = await generate(client, task, writer)
    written = made.written or {}
    faults = faults_of(written, count, task.before, task.taken)
    repeated = sum(why == REPEATED for why in faults.values())
    usable = {name: written[name] for name in sorted(written, key=int) if name not in faults}
    reworded = usable if versions > 1 else {}
    questions = [
        _wordings(one["text"], versions, client.ledger.secret) for one in reworded.values()
    ]
    asked = await together([ask(client, writer, question) for question in questions])
    varied = dict(zip(reworded, asked, strict=True))
    scenarios: list[MadeScenario] = []
    counts: Counter[str] = Counter()
    for name, one in usable.items():
        wordings = varied[name].value.values() if name in varied else ()
        kept, left_out = _kept(one["text"], [str(text).strip() for text in wordings], similarity)
        scenarios.append(MadeScenario(int(name), one["other"], kept))
        counts += left_out
    calls = {**made.calls, **{f"vary_{name}": call for name, call in varied.items()}}
    return MadeBatch(
        tuple(scenarios),
        {
            "wanted": count,
            "written": len(written),
            "repaired": len({fault.part for fault in made.repaired or ()} - set(faults)),
            "unusable": count - len(usable) - repeated,
            "repeated": repeated,
            "wordings_wanted": (versions - 1) * len(usable),
            "wordings": sum(len(one.texts) - 1 for one in scenarios),
            "wordings_unlike": counts["unlike"],
            "wordings_same": counts["same"],
            "wordings_missing": (versions - 1) * sum(call.status != "read" for call in asked),
        },
        faults,
        {name: (call.status, call.detail) for name, call in calls.items() if call.status != "read"},
        sum(call.calls for call in calls.values()),
        sum_of(*(call.cost_usd for call in calls.values())),
    )


def _kept(text: str, wordings: Sequence[str], least: float) -> tuple[tuple[str, ...], Counter[str]]:
    """The scenario with the wordings that are taken, and how many are `same` or `unlike`."""
    texts, left_out = [text], Counter[str]()
    for wording in wordings:
        if any(_words(wording) == _words(other) for other in texts):
            left_out["same"] += 1
        elif not _names_p1(wording) or similarity(text, wording) < least:
            left_out["unlike"] += 1
        else:
            texts.append(wording)
    return tuple(texts), left_out


def faults_of(
    written: Mapping[str, Mapping[str, str]],
    count: int,
    before: Sequence[str] = (),
    taken: Collection[str] = frozenset(),
) -> dict[str, str]:
    """Number to why a scenario does not serve; the first of two that are alike does.

    Args:
        written: number to its text and who the other is.
        count: scenarios wanted.
        before: scenarios that stand already.
        taken: `normalised` texts that must not come again.
    """
    found: dict[str, str] = {}
    sound = list(before)
    for number in range(1, count + 1):
        one = written.get(str(number))
        fault = "is missing" if one is None else _fault(one["text"], one["other"], sound)
        if one is not None and not fault and normalised(one["text"]) in taken:
            fault = REPEATED
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
        return REPEATED
    return ""


def _names_p1(text: str) -> bool:
    return re.search(r"\bP1\b", text) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.casefold())


def _wordings(text: str, versions: int, secret: bytes) -> Question[dict[str, Any]]:
    keys = [f"wording_{number}" for number in range(1, versions)]
    return load_prompt_template("wordings").question(
        {"SCENARIO": text},
        object_schema(dict.fromkeys(keys, TEXT)),
        secret=secret,
        purpose="generate",
        labels=_LABELS,
        echo_characters=ECHO_CHARACTERS,
    )
