"""`PanelSpec`: who judges and how, a frozen value that every job is given instead of `Panel`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..judges.judge import Judge
from ..judges.models.backend import Backend
from ..judges.prompt import JudgePrompt
from ..judges.templates import JudgeTemplate
from .detectors import PanelWording, wording_of
from .screening import MAX_RESPONSE_CHARACTERS, Screening, gate_of, screen
from .stopping import (
    FIRST_BLOCK,
    PlannedJudgment,
    StoppingRule,
    balanced_order,
    next_block,
)

if TYPE_CHECKING:
    from ..personas import Persona
    from ..records.ledger import Ledger
    from ..records.types import Judgment, Sample
    from ..rubrics import Rubric


class Note(Protocol):
    """Something that run.json says of a panel."""

    def to_json(self) -> dict[str, Any]:
        """Its content."""
        ...


class PanelRecord(Protocol):
    """What results say of a panel: one that was asked, or that of stored judgments."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """What judges score."""
        ...

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score."""
        ...

    @property
    def quorum(self) -> float:
        """Share of the planned judgments that must be scored."""
        ...

    @property
    def axes(self) -> Mapping[str, str]:
        """Persona to its axis."""
        ...

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the backends."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader of the results should know."""
        ...

    def describe(self) -> dict[str, Any]:
        """The panel as run.json records it beside its identity."""
        ...

    def planned(self) -> list[str]:
        """Keys of all judgments on one response."""
        ...


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """Who judges, how they are asked, and where their calls are kept: what a job needs of a panel.

    Attributes:
        judges: judge id (`persona|model`) to judge, in the order of the results.
        open_ledger: gives the store of calls, opened when first needed.
        repeats: askings of each judge.
        quorum: share of planned judgments that must be scored; of those asked where `rule` is set.
        most_characters: longer responses are screened.
        rule: when fewer judgments are enough; None = all are asked.
        notices: what a person should know before anything is spent.
        notes: what run.json says of the panel besides, by name: a plan, a rule's tally.
    """

    judges: Mapping[str, Judge]
    open_ledger: Callable[[], Ledger]
    repeats: int = 1
    quorum: float = 2 / 3
    most_characters: int = MAX_RESPONSE_CHARACTERS
    rule: StoppingRule | None = None
    notices: tuple[str, ...] = ()
    notes: Mapping[str, Note] = field(default_factory=dict)
    _wording: list[PanelWording] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __repr__(self) -> str:
        models = ", ".join(backend.spec.name for backend in self.backends)
        return f"PanelSpec({len(self.personas)} personas on {models}; rubric {self.rubric.id})"

    @property
    def judge_prompt(self) -> JudgePrompt:
        """The wording, with the rubric: the same for all judges."""
        return next(iter(self.judges.values())).judge_prompt

    @property
    def ledger(self) -> Ledger:
        """The store of calls."""
        return self.open_ledger()

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The models behind their endpoints, in the order in which they were named."""
        return tuple({id(judge.backend): judge.backend for judge in self.judges.values()}.values())

    @property
    def personas(self) -> tuple[Persona, ...]:
        """The personas, each once."""
        return tuple({judge.persona.id: judge.persona for judge in self.judges.values()}.values())

    @property
    def rubric(self) -> Rubric:
        """What is judged by."""
        return self.judge_prompt.rubric

    @property
    def criteria(self) -> tuple[str, ...]:
        """What judges score: the rubric's dimensions, or `overall`."""
        return self.judge_prompt.criteria

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest score."""
        return float(self.judge_prompt.schema.low), float(self.judge_prompt.schema.high)

    @property
    def axes(self) -> dict[str, str]:
        """Persona to its axis."""
        return {persona.id: persona.axis for persona in self.personas}

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the backends."""
        return tuple(backend.spec.name for backend in self.backends)

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in is among the judges."""
        return any(backend.spec.is_offline for backend in self.backends)

    @property
    def wording(self) -> PanelWording:
        """What only its judges are shown, indexed when first asked for."""
        if not self._wording:
            self._wording.append(wording_of(self.judge_prompt, self.personas))
        return self._wording[0]

    def screen(self, sample: Sample, *, repeated: bool = False) -> Screening:
        """The flags of a response, and the gate that closes on it, if one does.

        Args:
            sample: the response and its prompt.
            repeated: whether its respondent gives this very text to several prompts.
        """
        return screen(
            sample.response_text,
            repeated=repeated,
            most_characters=self.most_characters,
            wording=self.wording,
            prompt=sample.prompt_text,
        )

    def gate(self, sample: Sample) -> str | None:
        """The gate that closes on a response, if one does; quicker than `screen`."""
        return gate_of(sample.response_text, self.most_characters)

    def identity(self) -> dict[str, Any]:
        """What makes two runs runs of the same panel: a change here changes what is asked."""
        judge_prompt = self.judge_prompt
        how = judge_prompt.criterion_calls
        modes = {judge.model: judge.score_mode for judge in self.judges.values()}
        return {
            "rubric": {"id": self.rubric.id, "sha256": self.rubric.sha256},
            "personas": {persona.id: persona.sha256 for persona in self.personas},
            "models": {
                backend.spec.name: {
                    "model": backend.spec.model,
                    "api_base": backend.spec.api_base,
                    "structured": backend.spec.structured,
                    "score_mode": modes[backend.spec.name],
                    "parameters": backend.spec.parameters(),
                }
                for backend in self.backends
            },
            "mode": judge_prompt.mode,
            "order": judge_prompt.order,
            "rationale": judge_prompt.rationale,
            "anchors": judge_prompt.anchors,
            "repeats": self.repeats,
            "template": _template(judge_prompt.template),
            "criteria": list(judge_prompt.criteria),
            "scale": [judge_prompt.schema.low, judge_prompt.schema.high],
            # Named where they are set: a folder from before they were there is continued.
            **({"datamark": True} if judge_prompt.datamark else {}),
            **({"criterion_order": turn} if (turn := judge_prompt.criterion_order) else {}),
            **({"criterion_calls": how} if how != "together" else {}),
        }

    def describe(self) -> dict[str, Any]:
        """The panel as run.json records it beside its identity."""
        return {
            "personas": [
                {"id": p.id, "label": p.label, "axis": p.axis, "version": p.version}
                for p in self.personas
            ],
            "rubric": {"id": self.rubric.id, "label": self.rubric.label},
            "template": {
                **_template(self.judge_prompt.template),
                "label": self.judge_prompt.template.label,
            },
            "quorum": self.quorum,
            "models": [
                {
                    "name": backend.spec.name,
                    "requested": backend.spec.parameters(),
                    "effective": backend.effective_parameters(),
                    "prices": backend.price_source,
                    # Those of the settings, for whoever asks the judges of the run again.
                    "given_prices": backend.spec.prices
                    and backend.spec.prices.model_dump(exclude_none=True),
                    "structured": self.ledger.capability(backend.spec.identity)
                    if backend.spec.structured == "auto"
                    else backend.spec.structured,
                }
                for backend in self.backends
            ],
            **{name: note.to_json() for name, note in self.notes.items()},
        }

    def planned(self) -> list[str]:
        """Keys of all judgments on one response."""
        return [f"{judge}|{repeat}" for repeat in range(self.repeats) for judge in self.judges]

    def assignment(self, key: str) -> tuple[Judge, int]:
        """The judge and the repeat that a key names."""
        judge, _, repeat = key.rpartition("|")
        return self.judges[judge], int(repeat)

    def unasked(self, key: str, sample: Sample, reason: str, detail: str | None) -> Judgment:
        """A planned judgment for which nothing is sent."""
        judge, repeat = self.assignment(key)
        return judge.judgment(sample, repeat, "not_asked", reason=reason, detail=detail)

    def order(self, response_id: str) -> list[str]:
        """Keys of all judgments on a response in the order in which the rule has them asked.

        Raises:
            ValueError: there is no rule.
        """
        if self.rule is None:
            raise ValueError("only a panel with a rule has an order")
        assignments = [
            PlannedJudgment(f"{name}|{repeat}", judge.model, judge.persona.axis, judge.persona.id)
            for repeat in range(self.repeats)
            for name, judge in self.judges.items()
        ]
        return balanced_order(assignments, seed=self.rule.seed, response_id=response_id)

    def next_calls(self, order: Sequence[str], values: Sequence[float | None]) -> list[str]:
        """The keys to be asked next, after those whose composites these are; none when enough are.

        Args:
            order: of the response.
            values: composites of the first so many of it; None where one was not scored.
        """
        if self.rule is None:
            return []
        count = next_block(self.rule, len(order), values, grain=self.grain)
        return list(order[len(values) : len(values) + count])

    def first_calls(self, response_id: str) -> list[str]:
        """Keys of the judgments that are asked for whatever the others say."""
        return self.planned() if self.rule is None else self.next_calls(self.order(response_id), [])

    def most_calls(self, response_id: str) -> list[str]:
        """Keys of the judgments that may be asked for, however they turn out."""
        if self.rule is None or self.rule.most is None:
            return self.planned()
        return self.order(response_id)[: self.rule.most]

    def calls_that_share(self, keys: Sequence[str]) -> int:
        """How many calls on one response go to the backend of these keys, as far as is known.

        Later blocks of a rule read what the first has left in the provider's cache, so they count
        with it.
        """
        if self.rule is None:
            return len(keys)
        n_models = len({judge.model for judge in self.judges.values()})
        certain = len(self.judges) * self.repeats
        for limit in (self.rule.most, FIRST_BLOCK if self.rule.half_width is not None else None):
            certain = certain if limit is None else min(certain, limit)
        return max(len(keys), -(-certain // n_models))

    @property
    def grain(self) -> float:
        """The step in which composites come; 0 where they are expected values."""
        if any(judge.score_mode == "expected" for judge in self.judges.values()):
            return 0.0
        return 1.0 / max(1, len(self.criteria))


def drawn_personas(personas: Sequence[Persona], number: int, seed: int) -> list[Persona]:
    """So many personas, of every axis as evenly as can be, in their own order."""
    if number == len(personas):
        return list(personas)
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    by_axis: dict[str, list[Persona]] = {}
    for persona in personas:
        by_axis.setdefault(persona.axis, []).append(persona)
    for members in by_axis.values():
        chance.shuffle(members)
    axes = list(by_axis)
    chance.shuffle(axes)
    taken: set[str] = set()
    while len(taken) < number:
        for axis in axes:
            if by_axis[axis] and len(taken) < number:
                taken.add(by_axis[axis].pop().id)
    return [persona for persona in personas if persona.id in taken]


def _template(template: JudgeTemplate) -> dict[str, str]:
    return {"id": template.id, "version": template.version, "sha256": template.sha256}
