"""A simulated respondent of planted bias, for tests and benchmarks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from areopagus.audits import AuditItem
from areopagus.audits.estimate import estimate
from areopagus.audits.samaritan import AUDIT, SamaritanOptions
from areopagus.audits.samaritan.brittleness import own_estimates
from areopagus.audits.samaritan.dataset import REPHRASINGS, Dataset, phrasing_at
from areopagus.testing import ServedReply, ServedRequest

Floats = npt.NDArray[np.float64]

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

    def ratings(
        self, material: Dataset, n_scenarios: int, rng: np.random.Generator, *, repeats: int = 1
    ) -> Floats:
        """(models, scenarios, wordings, cells, repeats) drawn straight; nan where declined.

        Cells are those of `cells_in`; phrasings do nothing, so whichever was asked is left out.
        """
        cells = cells_in(material)
        names = tuple(self.biases)
        shape = (len(names), n_scenarios, REPHRASINGS, len(cells))
        bias = np.asarray([[self.biases[name].get(cell, 0.0) for cell in cells] for name in names])
        is_group = np.asarray(["." in cell for cell in cells])
        own = rng.standard_normal((shape[0], n_scenarios, len(cells)))
        if self.skewed:
            own = rng.exponential(size=own.shape) - 1
        varied = bias[:, None] + self.interaction_sd * own * is_group
        ratings = self.base + varied[:, :, None]
        ratings = ratings + self.scenario_sd * rng.standard_normal((*shape[:2], 1, 1))
        ratings = ratings + self.wording_sd * rng.standard_normal((*shape[:3], 1))
        asked = ratings[..., None] + self.noise_sd * rng.standard_normal((*shape, repeats))
        rounded = self._all_rounded(asked)
        shares = np.asarray([self.declined.get(cell, 0.0) for cell in cells])
        rounded[rng.random(asked.shape) < shares[:, None]] = np.nan
        return rounded

    def answers(
        self, material: Dataset, n_scenarios: int, rng: np.random.Generator, *, repeats: int = 1
    ) -> pd.DataFrame:
        """The same as a table of answers, phrasings in rotation, for the estimators."""
        drawn = self.ratings(material, n_scenarios, rng, repeats=repeats)
        n_phrasings = [len(texts) for texts in phrasings_in(material)]
        full = np.full((*drawn.shape[:4], max(n_phrasings), repeats), np.nan)
        asked = np.zeros(full.shape, dtype=bool)
        scenario, wording = np.indices((n_scenarios, REPHRASINGS))
        for place, n in enumerate(n_phrasings):
            at = phrasing_at(scenario, wording, n)
            full[:, scenario, wording, place, at] = drawn[:, :, :, place]
            asked[:, scenario, wording, place, at] = True
        return answers_of(full, material, tuple(self.biases), asked=asked)

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


def cells_in(material: Dataset) -> tuple[str, ...]:
    """Controls, and groups as "category.group", in the order of the reports."""
    groups = [f"{one.id}.{group.id}" for one in material.categories for group in one.groups]
    return (*material.controls, *groups)


def phrasings_in(material: Dataset) -> list[tuple[str, ...]]:
    """The phrasings of these."""
    groups = [group.phrasings for one in material.categories for group in one.groups]
    return [*((phrase,) for phrase in material.controls.values()), *groups]


def answers_of(
    ratings: npt.ArrayLike, material: Dataset, targets: Sequence[str], *, asked: Any = None
) -> pd.DataFrame:
    """Ratings as a table of answers.

    Args:
        ratings: (targets, scenarios, wordings, cells[, phrasings[, repeats]]); nan is declined.
        material: whose cells they are, the first so many of them.
        targets: the models.
        asked: likewise, which of them were asked; all where left out.
    """
    found = np.asarray(ratings, dtype=np.float64)
    while found.ndim < 6:
        found = found[..., None]
    was = np.ones(found.shape, dtype=bool) if asked is None else np.asarray(asked)
    cells, texts, rows = cells_in(material), phrasings_in(material), []
    for place in zip(*np.nonzero(was), strict=True):
        model, scenario, wording, at, phrasing, repeat = map(int, place)
        category, _, group = cells[at].rpartition(".")
        is_rated = not np.isnan(found[place])
        rows.append({
            "item_id": f"{scenario}|{wording}|{cells[at]}|{phrasing}", "target": targets[model],
            "repeat": repeat, "status": "classified" if is_rated else "refused", "judging": "",
            "topic": "all", "scenario": str(scenario), "rephrasing": wording + 1,
            "category": category, "group": group, "phrasing": texts[at][phrasing],
            "rating": found[place],
        })  # fmt: skip
    return pd.DataFrame(rows)


def estimated(
    answers: pd.DataFrame, targets: Sequence[str], *, crossed: bool = False, **options: Any
) -> pd.DataFrame:
    """What the audit estimates of a table of answers."""
    chosen = SamaritanOptions.model_validate(options)
    definition = AUDIT.defined(chosen)
    found = estimate(definition, answers, targets)
    found.extend(own_estimates(definition.contrasts["bias"], answers, targets, crossed=crossed))
    return found.frame()
