"""What would make a silent wrong number is refused: shapes, lengths, ranges, unknown names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from areopagus import aggregation as a
from areopagus.aggregation.agreement import kendall_w_uncorrected
from areopagus.aggregation.intervals import half_width, variance_degrees
from areopagus.aggregation.retest_noise import noise_floor

NAN = math.nan
PAIR = [[1.0, 2.0], [2.0, 1.0]]
COMPONENTS = {"r:q": 0.6, "rP": 0.1, "residual": 0.2}

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    ("one length", a.cohen_kappa, ([1], [1, 2]), {}),
    ("in labels", a.cohen_kappa, ([1, 3], [1, 2]), {"labels": [1, 2]}),
    ("not repeat", a.cohen_kappa, ([1], [1]), {"labels": [1, 1]}),
    ("weights", a.cohen_kappa, ([1], [1]), {"weights": "cubic"}),
    ("in labels", a.gwet_ac2, (PAIR,), {"labels": [1]}),
    ("weights must be one of", a.gwet_ac2, (PAIR,), {"weights": "radical"}),
    ("raters, items", a.gwet_ac2, ([1, 2],), {}),
    ("level must be one of", a.krippendorff_alpha, (PAIR, "cardinal"), {}),
    ("raters, items", a.krippendorff_alpha, ([1, 2],), {}),
    ("negative", a.krippendorff_alpha, ([[-1, 2], [1, 2]], "ratio"), {}),
    ("infinite", a.krippendorff_alpha, ([[math.inf, 2], [1, 2]],), {}),
    ("raters x items", kendall_w_uncorrected, ([1, 2, 3],), {}),
    ("one label an item", a.kendall_tau_b, ([1, 2], [1, 2], ["a"]), {}),
    ("1 missing", a.kendall_tau_b, ([1, 2], [1, 2], ["a", None]), {}),
    ("vectors of one length", a.kendall_tau_b, ([1, 2], [1, 2, 3]), {}),
    ("resamples", a.bootstrap_stratified_tau, ([1], [1], ["a"]), {"resamples": 0}),
    ("epsilon", a.alt_test, ({}, {"a": {}, "b": {}}), {"epsilon": 1}),
    ("two raters", a.alt_test, ({}, {"a": {}}), {"epsilon": 0.1}),
    ("needs groups", a.alt_test, ({}, {"a": {}, "b": {}}), {"epsilon": 0.1, "score": "rank"}),
    ("needs numbers", a.alt_test, ({0: "x"}, {"a": {0: 1}, "b": {0: 1}}),
     {"epsilon": 0.1, "score": "rank", "groups": {0: 0}}),
    ("have no group", a.alt_test, ({0: 1}, {"a": {0: 1}, "b": {0: 1}}),
     {"epsilon": 0.1, "score": "rank", "groups": {}}),
    ("one length", a.isotonic_map, ([1, 2], [1]), {}),
    ("level", a.conformal_width, ([1], [1]), {"level": 1}),
    ("one label a score", a.g_study, ([1, 2], {"a": [0]}), {}),
    ("at least 1", a.d_study, (COMPONENTS,), {"personas": 0, "models": 1}),
    ("above 0", a.smallest_designs, (COMPONENTS, [0.0]), {}),
    ("one prompt a response", a.panel_g_study, (np.ones((2, 2, 2)),), {"prompt": ["a"]}),
    ("vector", a.t_interval, (PAIR,), {}),
    ("level", a.t_interval, ([1.0],), {"level": 95}),
    ("at least two values", variance_degrees, ([1.0],), {}),
    ("3 values of a population of 2", half_width, ([1.0, 2.0, 3.0], 2), {}),
    ("must be", noise_floor, ([[1.0]], [[1.0], [2.0]]), {"dimensions": ["a"]}),
    ("source", noise_floor, ([[1.0]], [[1.0]]), {"dimensions": ["a"], "source": "cached"}),
    ("together", a.ppi_mean, ([1, 2], [1, 2], [1]), {"groups": [0, 1]}),
    ("successes", a.wilson, (3, 2), {}),
    ("ties=False", a.plackett_luce, ([[1, 1, 2]],), {"ties": False}),
    ("rankers, items", a.plackett_luce, ([1, 2],), {}),
    ("infinite", a.plackett_luce, ([[1, math.inf]],), {}),
    ("weights", a.plackett_luce, ([[1, 2]],), {"weights": [-1]}),
    ("rank fewer", a.plackett_luce, ([[1.0] * 12 + [2.0] * 12],), {}),
    ("finite", a.by_prompt_unit, ([math.inf], ["a"], ["m"]), {}),
    ("one response and one judge", a.severity, ([1, 2], ["a"], ["b", "c"]), {}),
    ("at least one score", a.stack_judges, ([[NAN, NAN], [1, 2]], [1, 2], ["a", "a"]), {}),
    (r"\[0, 1\]", a.holm, ([1.2],), {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "call", "given", "options"), CALLS, ids=[f"{c[1].__name__}: {c[0]}" for c in CALLS]
)
def test_bad_arguments_are_refused(
    said: str, call: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=said):
        call(*given, **options)
