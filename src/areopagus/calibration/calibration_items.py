"""Calibration items: did raters see a deliberately weak response, and did source sway them?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..number import Number, undefined
from .concordance import concordance
from .material import CalibrationRatings, Material
from .rater_pairs import pairwise_tau
from .ratings import Ratings
from .responses import HUMAN, MODEL


@dataclass(frozen=True, slots=True)
class CalibrationItem:
    """One calibration prompt on one criterion.

    Attributes:
        prompt, item_type, criterion: which, and "overall, rank" or the like.
        role: "quality floor" (some response was made weak on purpose), "all models" (no person's
            response among them), or "other".
        n_raters, n_responses: of the item.
        lowest: the response with the lowest mean.
        floor_response: the response known to be weak, or None where the file does not say.
        floor_last: share of raters who put the weak response last (alone or with others).
        w, chance_w: concordance on this item.
        tau: mean pairwise tau on this item.
        gap_to_standard: mean score of models here less that of models on standard items: raters
            who mark responses down for being a model's would lift them where only models stand.
    """

    prompt: str
    item_type: str
    criterion: str
    role: str
    n_raters: int
    n_responses: int
    lowest: str
    floor_response: str | None
    floor_last: Number
    w: Number
    chance_w: float
    tau: Number
    gap_to_standard: Number


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
    weak = [r for r in responses.tolist() if _is_weak(found, r)]
    is_floor = bool(weak) or any(word in item_type.lower() for word in ("floor", "quality"))
    role = "quality floor" if is_floor else "all models" if all_models else "other"
    agreed = concordance(mine, permute=False)
    floor_last = undefined("no response is marked as the weak one", unit="rater")
    if weak:
        shares = _last_shares(mine, weak[0])
        floor_last = Number(
            float(np.mean(shares)) if shares else float("nan"), len(shares), "rater",
            "share of raters who put the weak response last",
            reason="one item: a description" if shares else "nobody rated it beside another",
        )  # fmt: skip
    return CalibrationItem(
        prompt=found.responses.prompt_ids[code],
        item_type=item_type,
        criterion=ratings.name,
        role=role,
        n_raters=mine.n_raters,
        n_responses=len(responses),
        lowest=found.responses.ids[lowest],
        floor_response=found.responses.ids[weak[0]] if weak else None,
        floor_last=floor_last,
        w=agreed.w,
        chance_w=agreed.chance_w,
        tau=pairwise_tau(mine).tau,
        gap_to_standard=_gap(material, mine, all_models),
    )


def _is_weak(found: CalibrationRatings, response: int) -> bool:
    texts = (found.responses.ids[response], found.responses.respondent[response] or "")
    words = ("floor", "weak", "degraded", "low_quality", "low-quality")
    return any(word in text.lower() for text in texts for word in words)


def _last_shares(ratings: Ratings, weak: int) -> list[float]:
    shares = []
    for rater in np.unique(ratings.rater).tolist():
        mine = ratings.rater == rater
        values, responses = ratings.value[mine], ratings.response[mine]
        if len(values) > 1 and (responses == weak).any():
            shares.append(float(values[responses == weak][0] <= values.min()))
    return shares


def _gap(material: Material, mine: Ratings, all_models: bool) -> Number:
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
    return Number(
        float(mine.value.mean() - standard[0].value[of_models].mean()), len(mine), "rating",
        method, reason="one prompt: no interval",
    )  # fmt: skip
