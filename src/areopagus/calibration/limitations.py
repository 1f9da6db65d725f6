"""What a calibration cannot say for want of data, by the shape of these."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..aggregation.intervals import MIN_UNITS
from .dataset import Dataset


def limitations(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yields what cannot be said, with its reason."""
    responses, panel = dataset.responses, dataset.panel
    rated = {int(code) for one in dataset.ratings for code in np.unique(one.prompt)}
    if len(rated) < MIN_UNITS:
        yield (
            "intervals and tests over prompts",
            (
                f"{len(rated)} prompts: at least {MIN_UNITS} are needed (with five, the smallest "
                "two-sided sign-flip p is .0625)"
            ),
        )
    if dataset.ratings and all(one.n_responses == one.n_prompts for one in dataset.ratings):
        yield (
            "the order of responses to one prompt",
            (
                "one response a prompt was rated: agreement is that over prompts, and no plan of a "
                "panel rests on it"
            ),
        )
    kinds = {one.kind for one in dataset.ratings}
    if kinds == {"rank"}:
        yield (
            "levels: severity of raters, a map to people's scale, means, conformal widths",
            "people gave ranks, and ranks hold an order and no level",
        )
    raters = {int(code) for one in dataset.ratings for code in np.unique(one.rater)}
    if len(raters) < 2:
        yield "agreement between people", "one rater"
    if not responses.has_both_sources:
        yield (
            "whether agreement is only recognition of people and models",
            "the sources of the responses are not known, or there is one only",
        )
    if not any(responses.domain):
        yield "figures by domain", "no domain column"
    if panel is None:
        return
    P, M, T = panel.shape
    if M == 1:
        yield "how other models would judge", "one model: what it shares with itself is not error"
    elif M < 5:
        yield (
            "the variance between models",
            f"{M} models: read figures for other models as for these only",
        )
    if P == 1:
        yield "what personas add", "one persona, or none"
    if T == 1:
        yield "a judge's own re-ask noise", "no repeats: it is not told from its interactions"
    if not np.isfinite(responses.length).any():
        yield "whether length sways judges", "the lengths of the responses are not known"
