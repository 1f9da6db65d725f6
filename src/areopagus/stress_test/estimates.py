"""The estimates of a stress test: its contrasts decided, and every other figure, in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..aggregation.effects import Contrast, Effect, Scores, effects
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import t_interval
from ..aggregation.retest_noise import NoiseFloor, noise_floor
from ..formats import units
from ..records.estimates import Estimates
from .config import StressConfig
from .contrasts import (
    ABSTAINED,
    COMPOSITE,
    abstention_contrasts,
    abstentions,
    coded,
    columns_of,
    contrasts_of,
    long_table,
)
from .scores import StressScores

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

FREED: Final = "additive fit of responses and judges"
"""How means are made where judges are missing."""


def estimate(
    scores: StressScores, config: StressConfig, rewriting: Mapping[str, Any] | None = None
) -> tuple[Estimates, dict[str, Any]]:
    """Every figure of a stress test, and what it cannot say.

    Args:
        scores: the panel's scores by design.
        config: what was decided beforehand.
        rewriting: the outcome of the rewriting stage, where there was one.

    Returns:
        The estimates; and for run.json the `limitations`: what these figures cannot say, and why.
    """
    rows = Estimates()
    table = long_table(scores)
    found = _effects(coded(table, scores.criteria), contrasts_of(table, scores.criteria, config),
                     scores, config)  # fmt: skip
    for effect in found:
        rows.add(found=effect.this_panel, **effect.contrast.keys)
        if _is_of_framing(effect.contrast):
            at = {name: effect.contrast.keys[name] for name in ("respondent", "framing")}
            rows.add("balance", "scored", effect.scored, **at)
            rows.add("balance", "bounds", effect.bounds, **at)
            rows.add("balance", "one_sided", effect.matched.n_one_sided, **at)
            rows.add("balance", "left_out", effect.matched.n_few + effect.matched.n_apart, **at)
    _add_by_model(rows, table, [effect.contrast for effect in found], scores, config)
    _add_levels(rows, table, scores, 1 - config.alpha)
    declined = abstentions(scores)
    for effect in _effects(declined, abstention_contrasts(scores, config.baseline), scores, config):
        # A response declines whoever judges it.
        rows.add(found=replace(effect.this_panel, universe=None), **effect.contrast.keys)
    rows.add("worth", "effective judges", scores.worth)
    noise = _noise(scores.retested, scores.criteria, "re-asked")
    response_noise = _noise(scores.regenerated, scores.criteria, "re-generated")
    n_prompts = len(set(scores.units))
    for floor, pairs in ((noise, scores.retested), (response_noise, scores.regenerated)):
        if floor is not None:
            _add_noise(rows, floor, len(pairs), n_prompts, config.response_repeats)
    _add_counts(rows, scores, rewriting)
    return rows, {"limitations": _limitations(found, noise, config, scores)}


def _effects(
    coded_scores: Scores, contrasts: Sequence[Contrast], scores: StressScores, config: StressConfig
) -> list[Effect]:
    """Contrasts of which every arm has scores that were wanted."""
    asked = [one for one in contrasts if set(one.arms) <= set(coded_scores.arms)]
    scale = (0, 1) if coded_scores.columns == (ABSTAINED,) else scores.scale
    return effects(
        coded_scores, asked, scale=scale, level=1 - config.alpha, seed=config.seed, of=""
    )


def _is_of_framing(contrast: Contrast) -> bool:
    """Whether it is the composite's degradation under one framing."""
    keys = contrast.keys
    return keys["table"] == "degradation" and keys["criterion"] == COMPOSITE and "framing" in keys


def _add_by_model(
    rows: Estimates,
    table: pd.DataFrame,
    contrasts: Sequence[Contrast],
    scores: StressScores,
    config: StressConfig,
) -> None:
    """`direction`: the composite's degradation in the scores of each model's judges alone."""
    composites = [
        replace(one, keys={**one.keys, "table": "direction"})
        for one in contrasts
        if _is_of_framing(one)
    ]
    for model in dict.fromkeys(scores.models):
        mine = coded(table[table["model"] == model], scores.criteria)
        for effect in _effects(mine, composites, scores, config):
            rows.add(found=effect.this_panel, **effect.contrast.keys, model=model)


def _add_levels(rows: Estimates, table: pd.DataFrame, scores: StressScores, level: float) -> None:
    """`level`: mean scores under each condition, and the share of judgments at the top.

    One additive fit of all of a target's responses, so that a judge that is missing under one
    condition moves no mean.
    """
    criteria = scores.criteria
    for target in scores.targets:
        mine = table[table["respondent"] == target]
        is_scored = mine[criteria[0]].notna().groupby([mine["arm"], mine["item"]]).mean()
        is_uneven = bool(((is_scored > 0) & (is_scored < 1)).any())
        cells = coded(
            mine.assign(arm=target, unit=mine["condition"] + "\n" + mine["unit"]), criteria
        )
        condition_of = np.array([unit.split("\n")[0] for unit in cells.units], dtype=object)
        asked = [Contrast({target: 1.0}, columns) for columns in columns_of(criteria).values()]
        for name, effect in zip(columns_of(criteria), effects(cells, asked), strict=True):
            condition = condition_of[effect.units]
            for one in scores.conditions:
                mean = t_interval(effect.by_unit[condition == one], level=level)
                if is_uneven:
                    mean = mean.of(FREED)
                if not mean.n:
                    mean = replace(mean, reason="no prompt was scored")
                keys = {"respondent": target, "framing": one, "criterion": name}
                rows.add("level", "mean", replace(mean, n_planned=len(set(scores.units))), **keys)
        for one in scores.conditions:
            of_condition = mine[mine["condition"] == one]
            for name in criteria:
                known = of_condition[name].dropna()
                share = Estimate(
                    float((known >= scores.scale[1]).mean()), n=len(known), unit="judgment",
                    n_planned=len(of_condition), reason=None if len(known) else "none was scored",
                )  # fmt: skip
                keys = {"respondent": target, "framing": one, "criterion": name}
                rows.add("level", "at_top", share, **keys)


def _noise(
    pairs: Floats, criteria: tuple[str, ...], source: Literal["re-asked", "re-generated"]
) -> NoiseFloor | None:
    if not len(pairs):
        return None
    return noise_floor(pairs[:, 0], pairs[:, 1], dimensions=criteria, source=source)


def _add_noise(rows: Estimates, floor: NoiseFloor, n: int, n_prompts: int, repeats: int) -> None:
    """`noise`: how much panel means vary when nothing but the asking differs."""
    for one in floor.components:
        keys = {"detail": floor.source, "criterion": one.dimension or COMPOSITE}
        spread = Estimate(
            one.retest_sd, high=one.upper, n=one.n, unit="response", n_planned=n,
            method="retest standard deviation; upper bound by chi-square", level=one.level,
            reason=one.reason,
        )  # fmt: skip
        rows.add("noise", "retest_sd", spread, **keys)
        for measure, value in (
            ("shift", one.shift),
            ("sdc_prompt", one.sdc_prompt),
            ("sdc_mean", one.sdc(n_prompts, repeats=repeats)),
        ):
            made = Estimate(value, n=one.n, unit="response", level=one.level, reason=one.reason)
            rows.add("noise", measure, made, **keys)


_OF_RESPONSES = (
    "planned", "answered", "empty", "refused", "failed", "not_asked", "no_variant", "scored",
    "abstained",
)  # fmt: skip


def _add_counts(rows: Estimates, scores: StressScores, rewriting: Mapping[str, Any] | None) -> None:
    """`responses`, `judgments` and `variants`: what became of them."""
    rows.add("responses", "prompts", len(scores.prompts))
    rows.add("responses", "units", len(set(scores.units)))
    for (target, condition), counts in scores.counts.items():
        keys = {"respondent": target, "framing": condition}
        plain = asdict(counts)
        for name in _OF_RESPONSES:
            rows.add("responses", name, plain[name], **keys)
        for status, number in counts.regenerated.items():
            rows.add("responses", f"again_{status}", number, **keys)
        for status, number in counts.judgments.items():
            rows.add("judgments", status, number, **keys)
    if rewriting is None:
        return
    for name in ("planned", "accepted", "failed", "not_asked", "repaired"):
        rows.add("variants", name, rewriting[name])
    for name, key in (("rewriters", "model"), ("reviewed", "detail"), ("reasons", "detail")):
        for value, number in rewriting[name].items():
            rows.add("variants", name, number, **{key: value})


def _limitations(
    found: Sequence[Effect], noise: NoiseFloor | None, config: StressConfig, scores: StressScores
) -> list[str]:
    counts, sentences = scores.counts, []
    if not any(one.scored for one in counts.values()):
        sentences.append("No response was scored: there is no figure.")
    bare = max(one.no_variant for (_, name), one in counts.items() if name == config.baseline)
    if bare:
        prompts = units(bare // config.response_repeats, "prompt")
        sentences.append(
            f"{prompts} without any usable variant: the baseline was not asked for either, since "
            "there is nothing to compare it with."
        )
    if same := len(scores.units) - len(set(scores.units)):
        sentences.append(
            f"{units(same, 'prompt')} with the text of another: each text is one unit, whose "
            "changes are averaged."
        )
    cells = [one for one in found if one.contrast.keys["table"] == "degradation"]
    if any(one.matched.n_one_sided for one in cells):
        sentences.append(
            "Judges that scored a prompt in one condition and not in the other are left out of "
            "that comparison on both sides; mean scores come from the additive fit of responses "
            "and judges."
        )
    reasons = {one.this_panel.reason for one in cells} - {None}
    sentences += [f"No interval for some cells: {reason}." for reason in sorted(map(str, reasons))]
    whole = noise.of(None) if noise is not None else None
    if noise is None:
        asked = "no judge was asked again" + (" with success" if config.retest_share else "")
        sentences.append(f"How far scores move when judges are asked again is unknown: {asked}.")
    elif whole is not None and whole.reason:
        sentences.append(
            f"How far scores move when judges are asked again is unknown: {whole.reason}."
        )
    if missing := [n for n in (config.agree, config.disagree) if n not in scores.conditions]:
        sentences.append(f"No declared asymmetry: no condition named {' or '.join(missing)}.")
    elif config.asymmetry_dimension not in scores.criteria:
        sentences.append(
            f"No declared asymmetry: no criterion is named {config.asymmetry_dimension}."
        )
    if config.response_repeats == 1 and not config.regenerate_share:
        sentences.append(
            "Each cell rests on one response a prompt: how much responses vary when they are "
            "generated again is part of the spread over prompts and was not measured by itself."
        )
    sentences.append(
        "The panel is taken as fixed: the intervals say how the result would vary over prompts "
        "such as these, not over other judges."
    )
    return sentences
