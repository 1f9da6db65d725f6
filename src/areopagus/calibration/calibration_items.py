"""Calibration items: did raters see a deliberately weak response, and did source sway them?"""

from __future__ import annotations

import numpy as np

from ..aggregation.concordance import concordance
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.kendall import pairwise_tau
from ..aggregation.ratings import Ratings
from ..records.estimates import Estimates
from .dataset import CalibrationRatings, Dataset, keys_of
from .responses import HUMAN, MODEL

WEAK_WORDS = ("floor", "weak", "degraded", "low_quality", "low-quality")
"""In the id or the model of a response, capitals aside: it was made weak on purpose. Where a column
`item_role` says of any response of the item what it is there for, that holds instead."""

ALL_ALIKE = "(all alike)"
"""In the place of the lowest response where every response has the same mean."""

TABLE = "calibration items"


def add_calibration_items(out: Estimates, dataset: Dataset) -> None:
    """Adds every calibration item, by criterion and prompt.

    The key `group` says what the item is there for: "quality floor" (some response was made weak
    on purpose), "all models" (no person's response among them), or "other".

    lowest           the lowest mean; its verdict is that response, or `ALL_ALIKE`
    floor_last       share of raters who put the weak response last (alone or with others), among
                     those who put anything before anything; its verdict is that response
    w, tau           concordance and mean pairwise tau on this item
    gap_to_standard  mean score of models here less that of models on standard items: raters who
                     mark responses down for being a model's would lift them where only models stand
    n_tied           raters who gave all responses of the item one value: they put nothing last
    """
    found = dataset.calibration
    for ratings in found.ratings if found is not None else ():
        for code in np.unique(ratings.prompt).tolist():
            _add_item(out, dataset, ratings.select(ratings.prompt == code), code)


def _add_item(out: Estimates, dataset: Dataset, mine: Ratings, code: int) -> None:
    found = dataset.calibration
    if found is None:
        return
    responses = np.unique(mine.response)
    item_type = found.item_type[int(responses[0])]
    mean, _ = mine.mean_by_response(len(found.responses))
    lowest = int(responses[np.argmin(mean[responses])])
    all_models = bool((found.responses.source[responses] == MODEL).all())
    weak = _weak(found, responses.tolist())
    is_floor = bool(weak) or any(word in item_type.lower() for word in ("floor", "quality"))
    agreed = concordance(mine, permute=False)
    is_alike = np.ptp(mean[responses]) == 0 and len(responses) > 1
    figures: dict[str, Estimate | float] = {
        "n_raters": mine.n_raters,
        "n_responses": len(responses),
        "lowest": Estimate(
            float(mean[lowest]), n=int((mine.response == lowest).sum()), unit="rating",
            method="mean rating of the lowest response", reason="one item: a description",
            verdict=ALL_ALIKE if is_alike else found.responses.ids[lowest],
        ),
        "w": agreed.w,
        "w_by_chance": agreed.chance_w,
        "tau": pairwise_tau(mine).tau,
    }  # fmt: skip
    if is_floor:
        floor_last, n_tied = undefined("no response is marked as the weak one", unit="rater"), 0
        if weak:
            shares, n_tied = _last_shares(mine, weak[0])
            why = "one item: a description"
            if not shares:
                why = (
                    "every rater ties all responses" if n_tied else "nobody rated it beside another"
                )
            floor_last = Estimate(
                float(np.mean(shares)) if shares else float("nan"), n=len(shares), unit="rater",
                method="share of raters who put the weak response last", reason=why,
                verdict=found.responses.ids[weak[0]],
            )  # fmt: skip
        figures |= {"floor_last": floor_last, "n_tied": n_tied}
    if all_models:
        figures["gap_to_standard"] = _gap(dataset, mine)
    keys = {
        "item": found.responses.prompt_ids[code],
        "factor": item_type,
        "group": "quality floor" if is_floor else "all models" if all_models else "other",
        **keys_of(mine),
    }
    out.add_all(TABLE, figures, **keys)


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


def _gap(dataset: Dataset, mine: Ratings) -> Estimate:
    method = "mean rating of models on this item less that of models on standard items"
    if mine.kind == "rank":
        return undefined(
            "ranks among models only hold no level to compare", unit="rating", method=method
        )
    standard = [
        one for one in dataset.ratings
        if (one.criterion, one.kind) == (mine.criterion, mine.kind)
    ]  # fmt: skip
    if not standard or not (dataset.responses.source == HUMAN).any():
        return undefined("no standard item holds both sources", unit="rating", method=method)
    of_models = dataset.responses.source[standard[0].response] == MODEL
    if not of_models.any():
        return undefined("no standard item holds a model", unit="rating", method=method)
    return Estimate(
        float(mine.value.mean() - standard[0].value[of_models].mean()), n=len(mine), unit="rating",
        method=method, reason="one prompt: no interval",
    )  # fmt: skip
