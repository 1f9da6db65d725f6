"""The estimates of a stress test: the panel's tables read into arrays, measured, put into rows."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..aggregation.degradation import Degradation, degradation
from ..aggregation.degradation_cells import DegradationCell
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import t_interval
from ..aggregation.noise_floor import NoiseFloor, noise_floor
from ..formats import units
from ..records.estimates import Estimates
from ..records.run_folder import JUDGMENTS_FILE
from ..records.tables import read_judgments, read_scores
from .config import StressConfig
from .counts import ConditionCounts
from .profile import profile_sentences
from .responses import RESPONSES_FILE

Floats = NDArray[np.float64]

COMPOSITE = "composite"
"""The criterion's name of a response's mean over the criteria."""


@dataclass(frozen=True, slots=True)
class StressScores:
    """Panel scores by design.

    Attributes:
        targets, conditions, prompts, criteria: the names along the axes.
        scores: panel means, (targets, conditions, prompts, criteria), over the repeats of a
            response; nan = not scored.
        abstained: (targets, conditions, prompts): 1 = the response declined, 0 = it did not,
            nan = unknown.
        top_share: share of a response's scored judgments at the top of the scale, as `scores`.
        by_model: judge's model to its own means over criteria, (targets, conditions, prompts).
        regenerated: pairs of panel means of two responses to one prompt, (pairs, 2, criteria).
        retested: pairs of panel means of two askings about one response, likewise.
        counts: (target, condition) to what became of the responses.
        scale: ends of the scale.
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...]
    criteria: tuple[str, ...]
    scores: Floats
    abstained: Floats
    top_share: Floats
    by_model: Mapping[str, Floats]
    regenerated: Floats
    retested: Floats
    counts: Mapping[tuple[str, str], ConditionCounts]
    scale: tuple[int, int]


def read_panel(
    scored: Path | None,
    retested: Path | None,
    counts: Mapping[tuple[str, str], ConditionCounts],
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    prompts: Sequence[str],
    criteria: Sequence[str],
    repeats: int,
    panel_repeats: int,
    refused: Iterable[str],
    scale: tuple[int, int],
) -> StressScores:
    """The scores of a scored stress test.

    Args:
        scored: the run folder of the panel; None where there was nothing to judge.
        retested: that of the panel asked again, with both askings; None where there is none.
        counts: what became of the responses, by target and condition; judgments are added.
        targets, conditions, prompts, criteria: the design.
        repeats: how many responses of a cell are averaged; those beyond serve only for the
            spread between responses.
        panel_repeats: askings of each judge that make one panel mean.
        refused: ids of responses that the target's provider marked as refusals.
        scale: ends of the scale.
    """
    place = [
        {name: at for at, name in enumerate(names)} for names in (targets, conditions, prompts)
    ]
    shape = (len(targets), len(conditions), len(prompts))
    judged = _by_response(scored, criteria, scale[1])
    declined = set(refused)
    cells: dict[tuple[int, int, int], dict[int, list[float]]] = {}
    abstained: dict[tuple[int, int, int], list[float]] = {}
    shares: dict[tuple[int, int, int], list[Floats]] = {}
    models: dict[str, dict[tuple[int, int, int], list[float]]] = {}
    for row in read_scores(scored) if scored is not None else ():
        names = (row["target"], row["condition"], row["stress_prompt_id"])
        cell = (place[0][names[0]], place[1][names[1]], place[2][names[2]])
        repeat = int(row["stress_repeat"])
        mine = counts[names[0], names[1]]
        _count_judgments(mine, row)
        is_declined = row["response_id"] in declined or float(row["share_abstained"] or 0) > 0.5
        is_scored = row["status"] == "scored"
        if repeat < repeats:
            mine.scored += is_scored
            mine.abstained += is_declined
            if is_scored or is_declined:
                abstained.setdefault(cell, []).append(float(is_declined))
            top, means = judged.get(row["response_id"], (None, {}))
            if top is not None:
                shares.setdefault(cell, []).append(top)
            for model, mean in means.items() if is_scored else ():
                models.setdefault(model, {}).setdefault(cell, []).append(mean)
        elif is_scored:
            mine.regenerated["scored"] = mine.regenerated.get("scored", 0) + 1
        if is_scored:
            values = [float(row[name]) if row[name] else math.nan for name in criteria]
            cells.setdefault(cell, {})[repeat] = values
    scores = np.full((*shape, len(criteria)), np.nan)
    top_share, flags = scores.copy(), np.full(shape, np.nan)
    pairs: list[list[list[float]]] = []
    for cell, by_repeat in cells.items():
        counted = [by_repeat[r] for r in sorted(by_repeat) if r < repeats]
        if counted:
            scores[cell] = np.mean(np.asarray(counted), axis=0)
        if 0 in by_repeat and 1 in by_repeat:
            pairs.append([by_repeat[0], by_repeat[1]])
    for cell, found in abstained.items():
        flags[cell] = float(sum(found) * 2 > len(found))
    for cell, tops in shares.items():
        top_share[cell] = np.mean(np.asarray(tops), axis=0)
    by_model = {model: np.full(shape, np.nan) for model in sorted(models)}
    for model, in_cells in models.items():
        for cell, means_of in in_cells.items():
            by_model[model][cell] = float(np.mean(means_of))
    return StressScores(
        tuple(targets), tuple(conditions), tuple(prompts), tuple(criteria),
        scores=scores,
        abstained=flags,
        top_share=np.where(np.isnan(scores), np.nan, top_share),
        by_model=by_model,
        regenerated=np.asarray(pairs, dtype=float).reshape(-1, 2, len(criteria)),
        retested=_read_retest(retested, criteria, panel_repeats),
        counts=counts,
        scale=scale,
    )  # fmt: skip


def _count_judgments(counts: ConditionCounts, row: Mapping[str, str]) -> None:
    found = {"scored": int(row["n_scored"])} | {
        status: int(row[f"n_{status}"])
        for status in ("abstained", "refused", "unreadable", "failed", "not_asked")
    }
    for status, number in found.items():
        counts.judgments[status] = counts.judgments.get(status, 0) + number


def _by_response(
    folder: Path | None, criteria: Sequence[str], top: int
) -> dict[str, tuple[Floats, dict[str, float]]]:
    """Of each response, the share of judgments at the top by criterion, and each model's mean."""
    import pyarrow.parquet as parquet

    if folder is None:
        return {}
    columns = ["response_id", "status", "model", *criteria]
    table = parquet.read_table(folder / JUDGMENTS_FILE, columns=columns)
    is_scored = np.asarray(table["status"].to_pylist(), dtype=object) == "scored"
    responses, models = (
        np.unique(np.asarray(table[name].to_pylist(), dtype=str)[is_scored], return_inverse=True)
        for name in ("response_id", "model")
    )
    values = np.column_stack([np.asarray(table[name].to_numpy())[is_scored] for name in criteria])
    n = np.bincount(responses[1], minlength=len(responses[0]))
    shares = np.column_stack(
        [
            np.bincount(responses[1], weights=values[:, k] >= top, minlength=len(n))
            / np.maximum(n, 1)
            for k in range(len(criteria))
        ]
    )
    both = responses[1] * len(models[0]) + models[1]
    size = len(responses[0]) * len(models[0])
    totals = np.bincount(both, weights=values.mean(axis=1), minlength=size)
    votes = np.bincount(both, minlength=size).reshape(len(responses[0]), len(models[0]))
    means = totals.reshape(votes.shape) / np.maximum(votes, 1)
    return {
        str(name): (
            shares[k],
            {str(m): float(means[k, j]) for j, m in enumerate(models[0]) if votes[k, j]},
        )
        for k, name in enumerate(responses[0])
    }


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
    """Every figure of a stress test, and what is said of it in words.

    Args:
        scores: the panel's scores by design.
        config: what was decided beforehand.
        rewriting: the outcome of the rewriting stage, where there was one.

    Returns:
        The estimates; and for run.json the `profile` (target to sentences, each true of numbers
        that passed their tests) and the `limitations`: what these figures cannot say, and why.
    """
    noise = _noise(scores.retested, scores.criteria, "re-asked")
    response_noise = _noise(scores.regenerated, scores.criteria, "re-generated")
    found = degradation(
        scores.scores,
        targets=scores.targets,
        conditions=scores.conditions,
        dimensions=scores.criteria,
        baseline=config.baseline,
        margin=config.margin,
        alpha=config.alpha,
        noise=noise,
        response_noise=response_noise,
        response_repeats=config.response_repeats,
        scale=scores.scale,
        top_share=scores.top_share,
        abstained=scores.abstained,
        asymmetry=(config.agree, config.disagree),
        asymmetry_dimension=config.asymmetry_dimension,
        family=config.family,
        seed=config.seed,
    )
    rows = Estimates()
    _add_cells(rows, found)
    _add_by_model(rows, scores, found)
    _add_contrasts(rows, found)
    n_prompts = len(scores.prompts)
    for floor, pairs in ((noise, scores.retested), (response_noise, scores.regenerated)):
        if floor is not None:
            _add_noise(rows, floor, len(pairs), n_prompts)
    _add_counts(rows, scores, rewriting)
    said = {
        "profile": {
            target: list(profile_sentences(target, found.findings)) for target in found.targets
        },
        "limitations": _limitations(found, noise, config, scores.counts),
    }
    return rows, said


def estimate_stored(
    folder: Path, record: Mapping[str, Any]
) -> tuple[Estimates, dict[str, Any]] | None:
    """The same of a folder of the first version, which wrote its figures into stress.json alone.

    Scores are read from the panel's runs in the folder, counts of responses from stress.json.

    Returns:
        None without that file, and where supplied responses were refusals: nothing in the folder
        says which.
    """
    file = folder / "stress.json"
    if not file.is_file():
        return None
    plain = json.loads(file.read_text(encoding="utf-8"))
    counts = {}
    for row in plain["counts"]:
        kept = {name: row[name] for name in _OF_RESPONSES if name not in ("scored", "abstained")}
        again = {name: n for name, n in row["regenerated"].items() if name != "scored"}
        counts[row["target"], row["condition"]] = ConditionCounts(**kept, regenerated=again)
    scored, retested, given = folder / "panel", folder / "retest", folder / RESPONSES_FILE
    prompts: dict[str, None] = {}
    refused = []
    if given.is_file():
        with given.open(encoding="utf-8", newline="") as table:
            for row in csv.DictReader(table):
                prompts[row["prompt_id"]] = None
                refused += [row["response_id"]] if row["status"] == "refused" else []
    elif any(one.refused for one in counts.values()):
        return None
    else:
        prompts = dict.fromkeys(row["stress_prompt_id"] for row in read_scores(scored))
    # Prompts that nothing was asked about have a place among those planned, and no name here.
    nameless = (f"\x1f{k}" for k in range(record["prompts"]["n"] - len(prompts)))
    panel = record["identity"]["panel"]
    low, high = panel["scale"]
    config = StressConfig(**record["identity"]["plan"])
    scores = read_panel(
        scored if scored.is_dir() else None,
        retested if retested.is_dir() else None,
        counts,
        targets=record["targets"],
        conditions=record["conditions"],
        prompts=[*prompts, *nameless],
        criteria=panel["criteria"],
        repeats=config.response_repeats,
        panel_repeats=panel["repeats"],
        refused=refused,
        scale=(low, high),
    )
    found, said = estimate(scores, config, record["stages"].get("rewrite"))
    stop = plain.get("cost_cap")
    return found, said | {"cost_cap": None if stop is None else stop["sentence"]}


def _noise(
    pairs: Floats, criteria: tuple[str, ...], source: Literal["re-asked", "re-generated"]
) -> NoiseFloor | None:
    if not len(pairs):
        return None
    return noise_floor(pairs[:, 0], pairs[:, 1], dimensions=criteria, source=source)


def _add_cells(rows: Estimates, found: Degradation) -> None:
    """`degradation` with all that belongs to a cell, `robust_everywhere`, `family`, `level`."""
    for target, overall in found.overall.items():
        rows.add("degradation", "degradation", overall, respondent=target, criterion=COMPOSITE)
    for cell in found.cells:
        keys = {
            "respondent": cell.target,
            "framing": cell.condition,
            "criterion": cell.dimension or COMPOSITE,
        }
        for measure, figure in _figures_of(cell):
            rows.add("degradation", measure, figure, **keys)
    for claim in found.robust_everywhere:
        words = {True: "robust", False: "not shown", None: "undefined"}
        made = Estimate(
            claim.n_failing, n=claim.n_cells, unit="cell", method="intersection-union",
            p=claim.p_value, reason=claim.reason, verdict=words[claim.is_robust],
        )  # fmt: skip
        rows.add("robust_everywhere", "cells_failing", made, respondent=claim.target)
        rows.add("robust_everywhere", "changed_inside", claim.n_changed, respondent=claim.target)
    for family in found.families:
        at = {"detail": family.kind}
        at |= {"respondent": family.targets[0]} if len(family.targets) == 1 else {}
        least = family.smallest_p_holm
        smallest = Estimate(least, unit="test", p=least, reason=family.reason)
        rows.add("family", "smallest_p_adjusted", smallest, **at)
        for name in ("n_tests", "n_changed", "n_robust", "n_undecided"):
            rows.add("family", name.removeprefix("n_"), getattr(family, name), **at)
    for (target, condition, criterion), level in found.levels.items():
        at = {"respondent": target, "framing": condition, "criterion": criterion or COMPOSITE}
        rows.add("level", "mean", level, **at)


def _figures_of(cell: DegradationCell) -> list[tuple[str, Estimate | float | None]]:
    n, gate = cell.delta.n, cell.noise
    bound = Estimate(
        gate.sdc, high=gate.sdc_bound, n=n, method=f"smallest detectable change, {gate.source}",
        reason=gate.reason,
    )  # fmt: skip
    found: list[tuple[str, Estimate | float | None]] = [
        ("degradation", cell.delta),
        ("equivalence", cell.equivalence),
        ("noise", bound),
        ("sd", Estimate(cell.standard_deviation, n=n, method="between prompts")),
        ("p_max_t", Estimate(cell.p_max_t, n=n, p=cell.p_max_t, p_method="max-T, sign flips")),
        ("d_z", Estimate(cell.d_z, n=n)),
        ("hedges_g", Estimate(cell.hedges_g, n=n)),
        ("d_av", Estimate(cell.d_av, n=n)),
        ("at_top_baseline", cell.at_top[0]),
        ("at_top", cell.at_top[1]),
        ("only_baseline_scored", cell.n_baseline_only),
        ("only_framing_scored", cell.n_variant_only),
        ("prompts_to_detect", cell.prompts_to_detect),
        ("prompts_for_equivalence", cell.prompts_for_equivalence),
        ("prompts_for_noise", gate.prompts_needed),
    ]
    if cell.verdict == "undecided":
        needed = cell.prompts_needed
        method = f"decides {cell.prompts_needed_for}"
        if needed is None:
            method = f"no number: {cell.prompts_needed_reason}"
        made = Estimate(math.nan if needed is None else needed, method=method, reason=cell.reason)
        found.append(("prompts_needed", made))
    return found


def _add_by_model(rows: Estimates, scores: StressScores, found: Degradation) -> None:
    """`direction`: how far the scores of each judge's model move by themselves."""
    at = scores.conditions.index(found.baseline)
    for model, means in scores.by_model.items():
        for t, target in enumerate(scores.targets):
            for c, condition in enumerate(scores.conditions):
                if c == at:
                    continue
                deltas = means[t, at] - means[t, c]
                made = replace(t_interval(deltas), n_planned=len(deltas))
                rows.add(
                    "direction", "degradation", made,
                    respondent=target, framing=condition, model=model, criterion=COMPOSITE,
                )  # fmt: skip


def _add_contrasts(rows: Estimates, found: Degradation) -> None:
    """`asymmetry`, `contrast`, `comparison`, `abstention`, and the tests behind the `profile`."""
    for gap in found.asymmetries:
        rows.add(
            "asymmetry", "difference", gap.estimate, respondent=gap.target,
            framing=gap.agree, baseline=gap.disagree, criterion=gap.dimension,
            detail="declared" if gap.is_declared else "",
        )  # fmt: skip
    for contrast in found.contrasts:
        rows.add(
            "contrast", "difference", contrast.estimate, respondent=contrast.target,
            factor=contrast.kind, group=", ".join(contrast.first),
            detail=", ".join(contrast.second),
        )  # fmt: skip
    for pair in found.comparisons:
        rows.add(
            "comparison", "difference", pair.estimate, respondent=pair.first, baseline=pair.second,
            framing=pair.condition or "", criterion=pair.dimension or COMPOSITE,
        )  # fmt: skip
    for change in found.abstentions:
        keys = {"respondent": change.target, "framing": change.condition}
        rows.add("abstention", "difference", change.estimate, **keys)
        for name in ("only_baseline", "only_variant", "both", "neither"):
            measure = name.replace("variant", "framing")
            rows.add("abstention", measure, getattr(change, name), **keys)
    for finding in found.findings:
        if finding.kind != "none":
            rows.add(
                "profile", "finding", finding.estimate, respondent=finding.target,
                factor=finding.kind, group=", ".join(finding.subject),
                detail=", ".join(finding.against),
            )  # fmt: skip


def _add_noise(rows: Estimates, floor: NoiseFloor, n: int, n_prompts: int) -> None:
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
            ("sdc_mean", one.sdc(n_prompts)),
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
    found: Degradation,
    noise: NoiseFloor | None,
    config: StressConfig,
    counts: Mapping[tuple[str, str], ConditionCounts],
) -> list[str]:
    said = []
    if not any(one.scored for one in counts.values()):
        said.append("No response was scored: there is no figure.")
    bare = max(one.no_variant for (_, name), one in counts.items() if name == config.baseline)
    if bare:
        prompts = units(bare // config.response_repeats, "prompt")
        said.append(
            f"{prompts} without any usable variant: the baseline was not asked for either, since "
            "there is nothing to compare it with."
        )
    undefined = sorted({c.delta.reason for c in found.cells if c.delta.reason is not None})
    said += [f"No interval for some cells: {reason}." for reason in undefined]
    whole = noise.of(None) if noise is not None else None
    if noise is None:
        why = "(--retest 0)" if not config.retest_share else "with success"
        said.append(f"No cell can be called robust: no judge was asked again {why}.")
    elif whole is not None and whole.reason:
        said.append(f"No cell can be called robust: {whole.reason}.")
    if found.asymmetry_reason:
        said.append(f"No declared asymmetry: {found.asymmetry_reason}.")
    for family in found.families:
        if not family.smallest_p_holm > config.alpha:
            continue
        what = "change of a criterion" if family.kind == "dimensions" else "mean change"
        said.append(
            f"{', '.join(family.targets)}: among {family.n_tests} tests the smallest Holm p that "
            f"these prompts can give is {family.smallest_p_holm:.2g}, above {config.alpha:g}; no "
            f"{what} could be called."
        )
    if config.response_repeats == 1 and not config.regenerate_share:
        said.append(
            "Each cell rests on one response a prompt: how much responses vary when they are "
            "generated again is part of the spread over prompts and was not measured by itself "
            "(--regenerate, --response-repeats)."
        )
    said.append(
        "The panel is taken as fixed: the intervals say how the result would vary over prompts "
        "such as these, not over other judges."
    )
    return said
