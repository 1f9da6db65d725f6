"""Calibration items: did raters see a deliberately weak response, and did source sway them?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..aggregation.estimate import Estimate, undefined
from .concordance import concordance
from .material import CalibrationRatings, Material
from .rater_pairs import pairwise_tau
from .ratings import Ratings
from .responses import HUMAN, MODEL

WEAK_WORDS = ("floor", "weak", "degraded", "low_quality", "low-quality")
"""In the id or the model of a response, capitals aside: it was made weak on purpose. Where a column
`item_role` says of any response of the item what it is there for, that holds instead."""

ALL_ALIKE = "(all alike)"
"""In the place of the lowest response where every response has the same mean."""


@dataclass(frozen=True, slots=True)
class CalibrationItem:
    """One calibration prompt on one criterion.

    Attributes:
        prompt, item_type, criterion: which, and "overall, rank" or the like.
        role: "quality floor" (some response was made weak on purpose), "all models" (no person's
            response among them), or "other".
        n_raters, n_responses: of the item.
        lowest: the response with the lowest mean, or `ALL_ALIKE`.
        floor_response: the response known to be weak, or None where the file does not say.
        floor_last: share of raters who put the weak response last (alone or with others), among
            those who put anything before anything; undefined where all tie.
        w, chance_w: concordance on this item.
        tau: mean pairwise tau on this item.
        gap_to_standard: mean score of models here less that of models on standard items: raters
            who mark responses down for being a model's would lift them where only models stand.
        n_tied: raters who gave all responses of the item one value: they put nothing last.
    """

    prompt: str
    item_type: str
    criterion: str
    role: str
    n_raters: int
    n_responses: int
    lowest: str
    floor_response: str | None
    floor_last: Estimate
    w: Estimate
    chance_w: float
    tau: Estimate
    gap_to_standard: Estimate
    n_tied: int = 0


def calibration_items(material: Material) -> tuple[CalibrationItem, ...]:
    """Returns every calibration item, by prompt and criterion."""
    found = material.calibration
    if found is None:
        return ()
    return tuple(
        _item(material, found, ratings, code)
        for ratings in found.ratings
        for code in np.unique(ratings.prompt).tolist()
    )


def _item(
    material: Material, found: CalibrationRatings, ratings: Ratings, code: int
) -> CalibrationItem:
    mine = ratings.select(ratings.prompt == code)
    responses = np.unique(mine.response)
    item_type = found.item_type[int(responses[0])]
    mean, _ = mine.mean_by_response(len(found.responses))
    lowest = int(responses[np.argmin(mean[responses])])
    source = found.responses.source[responses]
    all_models = bool((source == MODEL).all())
    weak = _weak(found, responses.tolist())
    is_floor = bool(weak) or any(word in item_type.lower() for word in ("floor", "quality"))
    role = "quality floor" if is_floor else "all models" if all_models else "other"
    agreed = concordance(mine, permute=False)
    floor_last, n_tied = undefined("no response is marked as the weak one", unit="rater"), 0
    if weak:
        shares, n_tied = _last_shares(mine, weak[0])
        why = "one item: a description"
        if not shares:
            why = "every rater ties all responses" if n_tied else "nobody rated it beside another"
        floor_last = Estimate(
            float(np.mean(shares)) if shares else float("nan"), n=len(shares), unit="rater",
            method="share of raters who put the weak response last", reason=why,
        )  # fmt: skip
    return CalibrationItem(
        prompt=found.responses.prompt_ids[code],
        item_type=item_type,
        criterion=ratings.name,
        role=role,
        n_raters=mine.n_raters,
        n_responses=len(responses),
        lowest=ALL_ALIKE if np.ptp(mean[responses]) == 0 and len(responses) > 1
        else found.responses.ids[lowest],
        floor_response=found.responses.ids[weak[0]] if weak else None,
        floor_last=floor_last,
        w=agreed.w,
        chance_w=agreed.chance_w,
        tau=pairwise_tau(mine).tau,
        gap_to_standard=_gap(material, mine, all_models),
        n_tied=n_tied,
    )  # fmt: skip


def _weak(found: CalibrationRatings, responses: list[int]) -> list[int]:
    """The responses made weak on purpose: by their role, else by the words in id and model."""
    if any(found.item_role[r] for r in responses):
        return [r for r in responses if _says_weak(found.item_role[r])]
    names = found.responses
    return [r for r in responses if _says_weak(names.ids[r]) or _says_weak(names.respondent[r])]


def _says_weak(text: str | None) -> bool:
    return any(word in (text or "").lower() for word in WEAK_WORDS)


def _last_shares(ratings: Ratings, weak: int) -> tuple[list[float], int]:
    """1 for each rater who put it last, 0 for who did not; and how many tied everything."""
    shares, n_tied = [], 0
    for rater in np.unique(ratings.rater).tolist():
        mine = ratings.rater == rater
        values, responses = ratings.value[mine], ratings.response[mine]
        if len(values) < 2 or not (responses == weak).any():
            continue
        if values.min() == values.max():
            n_tied += 1
        else:
            shares.append(float(values[responses == weak][0] <= values.min()))
    return shares, n_tied


def _gap(material: Material, mine: Ratings, all_models: bool) -> Estimate:
    method = "mean rating of models on this item less that of models on standard items"
    if not all_models:
        return undefined("people's responses stand among them, or sources are not known",
                         unit="rating", method=method)  # fmt: skip
    if mine.kind == "rank":
        return undefined(
            "ranks among models only hold no level to compare", unit="rating", method=method
        )
    standard = [
        one for one in material.ratings
        if (one.criterion, one.kind) == (mine.criterion, mine.kind)
    ]  # fmt: skip
    if not standard or not (material.responses.source == HUMAN).any():
        return undefined("no standard item holds both sources", unit="rating", method=method)
    of_models = material.responses.source[standard[0].response] == MODEL
    if not of_models.any():
        return undefined("no standard item holds a model", unit="rating", method=method)
    return Estimate(
        float(mine.value.mean() - standard[0].value[of_models].mean()), n=len(mine), unit="rating",
        method=method, reason="one prompt: no interval",
    )  # fmt: skip
