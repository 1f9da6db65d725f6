"""The estimates of a stress test: the panel's tables read into arrays, measured, put into rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..aggregation.common_judges import MOST_ABSTAINED, common_judges
from ..aggregation.ctd import Degradation, degradation
from ..aggregation.degradation_cells import DegradationCell
from ..aggregation.estimate import Estimate
from ..aggregation.retest_noise import NoiseFloor, noise_floor
from ..formats import units
from ..records.estimates import Estimates
from ..records.run_folder import JUDGMENTS_FILE
from ..records.tables import read_judgments, read_scores
from ..reports.panel_answer import panel_worth
from .config import StressConfig
from .counts import ConditionCounts
from .profile import profile_sentences

Floats = NDArray[np.float64]

COMPOSITE = "composite"
"""The criterion's name of a response's mean over the criteria."""


@dataclass(frozen=True, slots=True)
class StressScores:
    """What every judge gave, by design.

    Attributes:
        targets, conditions, prompts, criteria: the names along the axes.
        models: the model of each judge: a persona, a model and an asking.
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
    """

    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...]
    criteria: tuple[str, ...]
    models: tuple[str, ...]
    scores: Floats
    units: tuple[str, ...]
    abstained: Floats
    regenerated: Floats
    retested: Floats
    counts: Mapping[tuple[str, str], ConditionCounts]
    scale: tuple[int, int]
    quorum: float
    worth: Estimate | None = None


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
    declined = set(refused)
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
        if share <= MOST_ABSTAINED:
            cells[row["response_id"]] = (*cell, repeat)
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
    models, scores = _by_judge(scored, cells, (*shape, max(repeats, 2)), criteria)
    return StressScores(
        tuple(targets), tuple(conditions), tuple(prompts), tuple(criteria), models,
        scores=scores[:, :, :, :repeats],
        units=tuple(prompts.values()),
        abstained=flags,
        regenerated=_pairs_of_responses(scores, models),
        retested=_read_retest(retested, criteria, panel_repeats),
        counts=counts,
        scale=scale,
        quorum=quorum,
        worth=panel_worth(scored),
    )  # fmt: skip


def _by_judge(
    folder: Path | None,
    cells: Mapping[str, tuple[int, int, int, int]],
    shape: tuple[int, int, int, int],
    criteria: Sequence[str],
) -> tuple[tuple[str, ...], Floats]:
    """Model of each judge; scores by judge and criterion, of the responses that have a cell."""
    import pyarrow.parquet as parquet

    if folder is None:
        return ("",), np.full((*shape, 1, len(criteria)), np.nan)
    keys = ["response_id", "status", "persona", "model", "repeat"]
    table = parquet.read_table(folder / JUDGMENTS_FILE, columns=[*keys, *criteria])
    plain = {name: table[name].to_pylist() for name in keys}
    who = list(zip(plain["persona"], plain["model"], plain["repeat"], strict=True))
    judges = {judge: at for at, judge in enumerate(sorted(set(who)))}
    nowhere = (0, 0, 0, shape[3])
    at = np.asarray([cells.get(name, nowhere) for name in plain["response_id"]]).reshape(-1, 4)
    columns = np.asarray([judges[judge] for judge in who], dtype=np.int64)
    scores = np.full((*shape, len(judges), len(criteria)), np.nan)
    is_scored = np.asarray(plain["status"], dtype=object) == "scored"
    values = np.column_stack([table[name].to_numpy() for name in criteria]).astype(np.float64)
    rows = is_scored & (at[:, 3] < shape[3])
    scores[(*at[rows].T, columns[rows])] = values[rows]
    return tuple(model for _, model, _ in judges), scores


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
        models=scores.models,
        quorum=scores.quorum,
        units=scores.units,
        baseline=config.baseline,
        margin=config.margin,
        alpha=config.alpha,
        scale=scores.scale,
        abstained=scores.abstained,
        asymmetry=(config.agree, config.disagree),
        asymmetry_dimension=config.asymmetry_dimension,
        family=config.family,
        seed=config.seed,
    )
    rows = Estimates()
    _add_cells(rows, found)
    for (target, framing, model), delta in found.by_model.items():
        keys = {"respondent": target, "framing": framing, "model": model}
        rows.add("direction", "degradation", delta, **keys, criterion=COMPOSITE)
    _add_contrasts(rows, found)
    rows.add("worth", "effective judges", scores.worth)
    n_prompts = len(set(scores.units))
    for floor, pairs in ((noise, scores.retested), (response_noise, scores.regenerated)):
        if floor is not None:
            _add_noise(rows, floor, len(pairs), n_prompts, config.response_repeats)
    _add_counts(rows, scores, rewriting)
    said = {
        "profile": {
            target: list(profile_sentences(target, found.findings)) for target in found.targets
        },
        "limitations": _limitations(found, noise, config, scores),
    }
    return rows, said


def _noise(
    pairs: Floats, criteria: tuple[str, ...], source: Literal["re-asked", "re-generated"]
) -> NoiseFloor | None:
    if not len(pairs):
        return None
    return noise_floor(pairs[:, 0], pairs[:, 1], dimensions=criteria, source=source)


def _add_cells(rows: Estimates, found: Degradation) -> None:
    """`degradation`, `balance`, `robust_everywhere`, `family`, `level`."""
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
        if cell.dimension is None:
            _add_balance(rows, cell)
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
    n = cell.delta.n

    def sized(value: float, least: int = 2, **more: Any) -> Estimate:
        why = f"{units(n, 'prompt')}: needs at least {least}" if n < least else "does not vary"
        return Estimate(value, n=n, reason=None if value == value else why, **more)

    found: list[tuple[str, Estimate | float | None]] = [
        ("degradation", cell.delta),
        ("equivalence", cell.equivalence),
        ("sd", sized(cell.standard_deviation, method="between prompts")),
        ("p_max_t", sized(cell.p_max_t, p=cell.p_max_t, p_method="max-T, sign flips")),
        ("d_z", sized(cell.d_z)),
        ("hedges_g", sized(cell.hedges_g, 3)),
        ("d_av", sized(cell.d_av)),
        ("at_top_baseline", cell.at_top[0]),
        ("at_top", cell.at_top[1]),
        ("only_baseline_scored", cell.n_baseline_only),
        ("only_framing_scored", cell.n_variant_only),
        ("prompts_to_detect", cell.prompts_to_detect),
        ("prompts_for_equivalence", cell.prompts_for_equivalence),
    ]
    if not cell.balance.is_even:
        moved = Estimate(
            cell.raw.value - cell.delta.value, n=cell.raw.n, method="raw minus common judges",
            reason=None if cell.delta.is_defined else cell.delta.reason, verdict="unbalanced",
        )  # fmt: skip
        found += [("raw", cell.raw), ("moved", moved)]
    if cell.verdict == "undecided":
        needed = cell.prompts_needed
        method = "decides changed or robust"
        if needed is None:
            method = f"no number: {cell.prompts_needed_reason}"
        made = Estimate(math.nan if needed is None else needed, method=method, reason=cell.reason)
        found.append(("prompts_needed", made))
    return found


def _add_balance(rows: Estimates, cell: DegradationCell) -> None:
    """`balance`: the judgments that both arms share, and what that leaves out."""
    balance, at = cell.balance, {"respondent": cell.target, "framing": cell.condition}
    pairs = Estimate(
        balance.n_common, n=balance.n_common, n_planned=balance.n_planned, method="count",
        unit="pair of judgments", level=math.nan,
    )  # fmt: skip
    rows.add("balance", "judgments", pairs, **at)
    rows.add("balance", "one_sided", balance.n_one_sided, **at)
    rows.add("balance", "prompts_left_out", balance.n_left_out, **at)
    for model in balance.without:
        rows.add("balance", "model_left_out", 1, **at, model=model)


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
    found: Degradation, noise: NoiseFloor | None, config: StressConfig, scores: StressScores
) -> list[str]:
    counts, said = scores.counts, []
    if not any(one.scored for one in counts.values()):
        said.append("No response was scored: there is no figure.")
    bare = max(one.no_variant for (_, name), one in counts.items() if name == config.baseline)
    if bare:
        prompts = units(bare // config.response_repeats, "prompt")
        said.append(
            f"{prompts} without any usable variant: the baseline was not asked for either, since "
            "there is nothing to compare it with."
        )
    if same := len(scores.units) - len(set(scores.units)):
        said.append(
            f"{units(same, 'prompt')} with the text of another: each text is one unit, whose "
            "changes are averaged."
        )
    if any(not cell.balance.is_even for cell in found.cells):
        said.append(
            "Judges that scored a prompt in one condition and not in the other are left out of "
            "that comparison on both sides; mean scores come from the additive fit of responses "
            "and judges."
        )
    undefined = sorted({c.delta.reason for c in found.cells if c.delta.reason is not None})
    said += [f"No interval for some cells: {reason}." for reason in undefined]
    whole = noise.of(None) if noise is not None else None
    if noise is None:
        asked = "no judge was asked again" + (" with success" if config.retest_share else "")
        said.append(f"How far scores move when judges are asked again is unknown: {asked}.")
    elif whole is not None and whole.reason:
        said.append(f"How far scores move when judges are asked again is unknown: {whole.reason}.")
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
            "generated again is part of the spread over prompts and was not measured by itself."
        )
    said.append(
        "The panel is taken as fixed: the intervals say how the result would vary over prompts "
        "such as these, not over other judges."
    )
    return said
