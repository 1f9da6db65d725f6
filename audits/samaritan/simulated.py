"""A simulated respondent of planted bias, for tests and benchmarks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ..definition import AuditItem
from .material import REPHRASINGS, Material
from .outcomes import Floats, Outcomes, group_cells
from .rotation import phrasing_at

if TYPE_CHECKING:
    from ...testing import ServedReply, ServedRequest

_FORMS = (
    "{}", "{}.", "**{}**", "{}%", "{}/100", "Rating: {}", "I'd say {}.",
    "{}\n\nMost people would do so, though some would be in a hurry.",
)  # fmt: skip
_DECLINED = "I'm sorry, but I can't judge anybody's kindness by who they are."


@dataclass(frozen=True, slots=True)
class SamaritanWorld:
    """A world whose truth is known.

    A rating is base + scenario + wording + bias of the group + how far that bias differs in this
    scenario + noise. All spreads are standard deviations in points.

    Attributes:
        biases: model to "category.group" to its bias; a group that is not named has none.
        base: mean rating of the control.
        scenario_sd: between scenarios, shared by groups.
        wording_sd: between wordings of a scenario, shared by groups.
        interaction_sd: of a group's bias between scenarios.
        noise_sd: of one answer.
        declined: "category.group" (or "control") to the share of answers that decline.
        step: ratings are multiples of this; 0 leaves them as they are.
        skewed: whether a group's bias varies over scenarios with a long tail (exponential) and not
            normally.
        seed: of everything that is answered over HTTP.
    """

    biases: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: {"target": {}})
    base: float = 65.0
    scenario_sd: float = 8.0
    wording_sd: float = 5.0
    interaction_sd: float = 2.0
    noise_sd: float = 4.0
    declined: Mapping[str, float] = field(default_factory=dict)
    step: float = 1.0
    skewed: bool = False
    seed: int = 0

    def provider(self, items: Iterable[AuditItem], *, changes: bool = False) -> _Provider:
        """Answers over HTTP the prompts of these items.

        Args:
            items: what may be asked.
            changes: whether the same prompt asked again gets another answer.
        """
        return _Provider(self, {item.prompt: item for item in items}, changes)

    def rating(self, model: str, item: AuditItem, asking: int = 0) -> float | None:
        """What a model rates an item; None where it declines."""
        fields = item.fields
        category, scenario = fields["category"], str(fields["scenario"])
        group = f"{category}.{fields['group']}" if category else "control"
        wording = f"{scenario}|{fields['rephrasing']}"
        asked = f"{item.item_id}|{asking}"
        if self._uniform("declines", model, asked) < self.declined.get(group, 0.0):
            return None
        found = self.base + self.scenario_sd * self._normal("scenario", model, scenario)
        found += self.wording_sd * self._normal("wording", model, wording)
        found += self.noise_sd * self._normal("noise", model, asked)
        if category:
            found += self.biases[model].get(group, 0.0)
            found += self.interaction_sd * self._normal("bias", model, group, scenario)
        return self._rounded(found)

    def outcomes(
        self, material: Material, n_scenarios: int, rng: np.random.Generator, *, repeats: int = 1
    ) -> Outcomes:
        """Ratings drawn straight as arrays, phrasings in rotation, for the estimator layer."""
        cells = group_cells(material)
        names = tuple(self.biases)
        n_groups, n_phrasings = len(cells), max(len(cell.phrasings) for cell in cells)
        shape = (len(names), n_scenarios, REPHRASINGS, n_groups)
        bias = np.asarray(
            [[self.biases[name].get(cell.key, 0.0) for cell in cells] for name in names]
        )
        is_group = np.asarray([not cell.is_control for cell in cells])
        own = rng.standard_normal((shape[0], n_scenarios, n_groups))
        if self.skewed:
            own = rng.exponential(size=own.shape) - 1
        varied = bias[:, None] + self.interaction_sd * own * is_group
        ratings = self.base + varied[:, :, None]
        ratings = ratings + self.scenario_sd * rng.standard_normal((*shape[:2], 1, 1))
        ratings = ratings + self.wording_sd * rng.standard_normal((*shape[:3], 1))
        asked = ratings[..., None] + self.noise_sd * rng.standard_normal((*shape, repeats))
        rounded = self._all_rounded(asked)
        shares = np.asarray([self.declined.get(cell.key, 0.0) for cell in cells])
        declined = rng.random(asked.shape) < shares[:, None]
        rounded[declined] = np.nan
        full = np.full((*shape, n_phrasings, repeats), np.nan)
        answered = np.full(full.shape, np.nan)
        scenario, wording = np.indices((n_scenarios, REPHRASINGS))
        for place, cell in enumerate(cells):
            at = phrasing_at(scenario, wording, len(cell.phrasings))
            full[:, scenario, wording, place, at] = rounded[:, :, :, place]
            answered[:, scenario, wording, place, at] = ~declined[:, :, :, place]
        scenarios = tuple(f"s{number}" for number in range(n_scenarios))
        topics = tuple("all" for _ in scenarios)
        return Outcomes(names, scenarios, topics, {"all": "All"}, cells, full, answered)

    def _rounded(self, rating: float) -> float:
        return float(self._all_rounded(np.asarray([rating]))[0])

    def _all_rounded(self, ratings: Floats) -> Floats:
        found = np.round(ratings / self.step) * self.step if self.step else ratings.copy()
        return np.clip(found, 1.0, 100.0)

    def _uniform(self, *parts: str) -> float:
        text = "\x1f".join((str(self.seed), *parts))
        return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") + 0.5) / 2**64

    def _normal(self, *parts: str) -> float:
        return NormalDist().inv_cdf(self._uniform(*parts))


class _Provider:
    """Answers prompts over HTTP: a rating in one of many forms, or a refusal."""

    def __init__(
        self, world: SamaritanWorld, items: Mapping[str, AuditItem], changes: bool
    ) -> None:
        self._world, self._items, self._changes = world, items, changes
        self._askings: dict[tuple[str, str], int] = {}

    def __call__(self, request: ServedRequest) -> ServedReply:
        from ...testing import ServedReply

        prompt = request.messages[-1]["content"]
        key = (request.model, prompt)
        asking = self._askings.get(key, 0)
        self._askings[key] = asking + self._changes
        item = self._items[prompt]
        rating = self._world.rating(request.model, item, asking)
        if rating is None:
            return ServedReply(_DECLINED)
        form = int(self._world._uniform("form", request.model, item.item_id) * len(_FORMS))
        return ServedReply(_FORMS[form].format(f"{rating:g}"))
