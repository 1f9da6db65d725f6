"""The estimates of a stress test: the panel's tables read into arrays, measured, put into rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..aggregation.common_judges import MOST_ABSTAINED, common_judges
from ..aggregation.contrasts import Contrast, Effect, Scores, effects
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import t_interval
from ..aggregation.retest_noise import NoiseFloor, noise_floor
from ..formats import units
from ..records.estimates import Estimates
from ..records.run_folder import JUDGMENTS_FILE
from ..records.tables import read_judgments, read_scores
from ..records.types import NOT_WANTED
from ..reports.panel_answer import panel_worth
from .config import StressConfig
from .contrasts import (
    ABSTAINED,
    COMPOSITE,
    abstention_contrasts,
    abstention_table,
    coded,
    columns_of,
    contrasts_of,
    long_table,
)
from .counts import ConditionCounts

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Judge = tuple[str, str, int]
"""Persona, model and repeat."""

FREED: Final = "additive fit of responses and judges"
"""How means are made where judges are missing."""


@dataclass(frozen=True, slots=True)
class StressScores:
    """What every judge gave, by design.

    Attributes:
        targets, conditions, prompts, criteria: the names along the axes.
        judges: persona, model and repeat of each.
        scores: (targets, conditions, prompts, repeats, judges, criteria); nan = not scored.
        units: text of each prompt's baseline: those with the same text are one unit.
        abstained: (targets, conditions, prompts): 1 = the response declined, 0 = it did not,
            nan = unknown.
        regenerated: pairs of panel means of two responses to one prompt, (pairs, 2, criteria).
        retested: pairs of panel means of two askings about one response, likewise.
        counts: (target, condition) to what became of the responses.
        scale: ends of the scale.
        quorum: share of the judges that must have scored a response for its panel mean.
        worth: how many independent judges the panel's are worth; None where it was not measured.
        wanted: (targets, conditions, prompts, repeats, judges): whether the judge was to score
            the response; None where all were.
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...]
    criteria: tuple[str, ...]
    judges: tuple[Judge, ...]
    scores: Floats
    units: tuple[str, ...]
    abstained: Floats
    regenerated: Floats
    retested: Floats
    counts: Mapping[tuple[str, str], ConditionCounts]
    scale: tuple[int, int]
    quorum: float
    worth: Estimate | None = None
    wanted: NDArray[np.bool_] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """The model of each judge."""
        return tuple(model for _, model, _ in self.judges)


def read_panel(
    scored: Path | None,
    retested: Path | None,
    counts: Mapping[tuple[str, str], ConditionCounts],
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    prompts: Mapping[str, str],
    criteria: Sequence[str],
    repeats: int,
    panel_repeats: int,
    refused: Iterable[str],
    scale: tuple[int, int],
    quorum: float,
) -> StressScores:
    """The scores of a scored stress test.

    Args:
        scored: the run folder of the panel; None where there was nothing to judge.
        retested: that of the panel asked again, with both askings; None where there is none.
        counts: what became of the responses, by target and condition; judgments are added.
        targets, conditions, criteria: the design.
        prompts: id of each prompt to the text of its baseline.
        repeats: how many responses of a cell are averaged; those beyond serve only for the
            spread between responses.
        panel_repeats: askings of each judge that make one panel mean.
        refused: ids of responses that the target's provider marked as refusals.
        scale: ends of the scale.
        quorum: of the panel.
    """
    place = [
        {name: at for at, name in enumerate(names)} for names in (targets, conditions, prompts)
    ]
    shape = (len(targets), len(conditions), len(prompts))
    declined, declining = set(refused), set[str]()
    cells: dict[str, tuple[int, int, int, int]] = {}
    abstained: dict[tuple[int, int, int], list[float]] = {}
    for row in read_scores(scored) if scored is not None else ():
        names = (row["target"], row["condition"], row["stress_prompt_id"])
        cell = (place[0][names[0]], place[1][names[1]], place[2][names[2]])
        repeat = int(row["stress_repeat"])
        mine = counts[names[0], names[1]]
        _count_judgments(mine, row)
        share = float(row["share_abstained"] or 0)
        is_declined = row["response_id"] in declined or share > MOST_ABSTAINED
        is_scored = row["status"] == "scored"
        cells[row["response_id"]] = (*cell, repeat)
        if share > MOST_ABSTAINED:
            declining.add(row["response_id"])
        if repeat < repeats:
            mine.scored += is_scored
            mine.abstained += is_declined
            if is_scored or is_declined:
                abstained.setdefault(cell, []).append(float(is_declined))
        elif is_scored:
            mine.regenerated["scored"] = mine.regenerated.get("scored", 0) + 1
    flags = np.full(shape, np.nan)
    for cell, found in abstained.items():
        flags[cell] = float(sum(found) * 2 > len(found))
    # Whatever is planned, a second response shows how much responses vary.
    judges, scores, wanted = _by_judge(
        scored, cells, declining, (*shape, max(repeats, 2)), criteria
    )
    return StressScores(
        tuple(targets), tuple(conditions), tuple(prompts), tuple(criteria), judges,
        scores=scores[:, :, :, :repeats],
        units=tuple(prompts.values()),
        abstained=flags,
        regenerated=_pairs_of_responses(scores, [model for _, model, _ in judges]),
        retested=_read_retest(retested, criteria, panel_repeats),
        counts=counts,
        scale=scale,
        quorum=quorum,
        worth=panel_worth(scored),
        wanted=wanted[:, :, :, :repeats],
    )  # fmt: skip


def _by_judge(
    folder: Path | None,
    cells: Mapping[str, tuple[int, int, int, int]],
    declining: Collection[str],
    shape: tuple[int, int, int, int],
    criteria: Sequence[str],
) -> tuple[tuple[Judge, ...], Floats, NDArray[np.bool_]]:
    """Judges; their scores by criterion of responses that did not decline; whether each was wanted.

    Every judge was to score the first response of a cell, also where no response came.
    """
    import pyarrow.parquet as parquet

    if folder is None:
        nothing = np.full((*shape, 1, len(criteria)), np.nan)
        return (("", "", 0),), nothing, np.ones((*shape, 1), dtype=bool)
    keys = ["persona", "model", "repeat"]
    names = ["response_id", "status", "reason", *keys, *criteria]
    table = parquet.read_table(folder / JUDGMENTS_FILE, columns=names).to_pandas()
    who = list(table[keys].itertuples(index=False, name=None))
    judges = sorted(set(who))
    place = {judge: at for at, judge in enumerate(judges)}
    scores = np.full((*shape, len(judges), len(criteria)), np.nan)
    wanted = np.zeros((*shape, len(judges)), dtype=bool)
    nowhere = (0, 0, 0, shape[3])
    at = np.array([cells.get(name, nowhere) for name in table["response_id"]])
    index = np.column_stack([at, [place[judge] for judge in who]])
    is_of_cell = at[:, 3] < shape[3]
    wanted[tuple(index[is_of_cell & ~table["reason"].isin(NOT_WANTED)].T)] = True
    wanted[:, :, :, 0] |= ~wanted[:, :, :, 0].any(axis=-1, keepdims=True)
    is_scored = table["status"].eq("scored") & ~table["response_id"].isin(set(declining))
    rows = is_of_cell & is_scored.to_numpy()
    scores[tuple(index[rows].T)] = table[list(criteria)].to_numpy(dtype=np.float64)[rows]
    return tuple(judges), scores, wanted


def _pairs_of_responses(scores: Floats, models: Sequence[str]) -> Floats:
    """Panel means of the first and the second response to a prompt, (pairs, 2, criteria)."""
    n_judges, n_criteria = scores.shape[-2:]
    both = np.moveaxis(scores[:, :, :, :2], 3, 0).reshape(2, -1, 1, n_judges, n_criteria)
    means = common_judges(both, models).means
    found: Floats = means[:, ~np.isnan(means).any(axis=(0, 2))].transpose(1, 0, 2)
    return found


def _count_judgments(counts: ConditionCounts, row: Mapping[str, str]) -> None:
    found = {"scored": int(row["n_scored"])} | {
        status: int(row[f"n_{status}"])
        for status in ("abstained", "refused", "unreadable", "failed", "not_asked")
    }
    for status, number in found.items():
        counts.judgments[status] = counts.judgments.get(status, 0) + number


def _read_retest(folder: Path | None, criteria: Sequence[str], repeats: int) -> Floats:
    """Panel means of the first and of the second asking, (responses, 2, criteria).

    Only judges that scored the response both times count, so that a judge that failed once is no
    change of mind.
    """
    votes: dict[str, dict[tuple[str, str, int], list[Any]]] = {}
    for row in read_judgments(folder) if folder is not None else ():
        if row["status"] == "scored":
            key = (row["persona"], row["model"], row["repeat"])
            votes.setdefault(row["response_id"], {})[key] = [row[name] for name in criteria]
    pairs: list[Floats] = []
    for found in votes.values():
        both = [
            (values, found[persona, model, repeat + repeats])
            for (persona, model, repeat), values in found.items()
            if repeat < repeats and (persona, model, repeat + repeats) in found
        ]
        if both:
            pairs.append(np.asarray(both, dtype=float).mean(axis=0))
    return np.asarray(pairs, dtype=float).reshape(-1, 2, len(criteria))


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
    declined = Scores.of(
        abstention_table(scores), arm="arm", unit="unit", item="item", columns=[ABSTAINED]
    )
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
    for target, mine in table.groupby("respondent", sort=False):
        missing = bool(mine[criteria[0]].isna().any())
        cells = mine.assign(arm=target, unit=mine["condition"] + "\n" + mine["unit"])
        asked = [Contrast({target: 1.0}, columns) for columns in columns_of(criteria).values()]
        whole = effects(coded(cells.assign(item=cells["unit"] + cells["item"]), criteria), asked)
        names = np.array(coded(cells, criteria).units, dtype=object)
        for name, effect in zip(columns_of(criteria), whole, strict=True):
            condition = np.array([str(unit).split("\n")[0] for unit in names[effect.units]])
            for one in scores.conditions:
                mean = t_interval(effect.by_unit[condition == one], level=level)
                if missing:
                    mean = mean.of(FREED)
                if not mean.n:
                    mean = replace(mean, reason="no prompt was scored")
                keys = {"respondent": str(target), "framing": one, "criterion": name}
                rows.add("level", "mean", replace(mean, n_planned=len(set(scores.units))), **keys)
        for one, of_condition in mine.groupby("condition", sort=False):
            for name in criteria:
                known = of_condition[name].dropna()
                share = Estimate(
                    float((known >= scores.scale[1]).mean()), n=len(known), unit="judgment",
                    n_planned=len(of_condition), reason=None if len(known) else "none was scored",
                )  # fmt: skip
                keys = {"respondent": str(target), "framing": str(one), "criterion": name}
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
