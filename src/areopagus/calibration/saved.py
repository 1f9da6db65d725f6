"""A calibration on disk, and what it makes of a later run of the same panel.

Layout of calibration.json, format 1:
    format, kind ("saved calibration"), level, seed, main_target
    panel               what makes the panel this panel: a run's identity without its responses
    criterion           the panel's criterion, null for its composite
    weights             judge to weight, empty unless a fitted weighting was earned
    map                 {name, x, y}: knots of the earned map; empty knots for "as is"
    folds               prompt to the fold it was predicted in
    severities          judge to points above the panel, where its interval leaves out 0
    conformal_width     half-width and its level, null where there is none
    judge_scores        judge to {response_id: score} on the calibrated responses
    prompts             response_id to prompt_id of those
    texts_sha256        response_id to the SHA-256 of its text, where texts were given
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate
from ..aggregation.multiplicity import holm
from ..aggregation.sign_flips import sign_flip_test
from ..errors import InputError, InputFault
from ..formats import units
from ..number import as_json
from ..records.run_folder import replaced
from .cautions import demonstration
from .corrections import CONFORMAL_LEVEL
from .judge_bias import prompt_means
from .later_panel import later_panel, panel_differences
from .leave_out import jackknife
from .material import is_stand_in
from .panel_scores import PanelScores
from .result import Calibration
from .sources import Judges, texts_of

SAVED_FORMAT = 1
MOST_KEPT = 2000
"""Calibrated responses whose judge scores are kept for the test of drift; whole prompts, in
order."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgeDrift:
    """One judge, then and now, on identical responses.

    Attributes:
        judge: which.
        n_responses: responses scored both times.
        change: mean over prompts of now less then.
        p: two-sided sign-flip over prompts, Holm-adjusted over judges; nan when undefined.
        moved: p below .05: the judge moved, not the respondents.
    """

    judge: str
    n_responses: int
    change: Estimate
    p: float
    moved: bool


@dataclass(frozen=True, slots=True)
class CalibratedScore:
    """One response: its score as it is, calibrated, and the conformal interval around that."""

    response_id: str
    prompt_id: str
    score: float
    calibrated: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Applied:
    """A saved calibration applied to a run.

    Attributes:
        scores: one entry a response of the run; nan where it has no score.
        corrections: what was applied: "severities", "weights", "line", "isotonic".
        withheld: what was earned and not applied: (correction, why not).
        drift: every judge; empty where the runs share no response.
        moved: judges that moved.
        differences: what differs between the panels, where that was allowed.
        notices: sentences for the reader.
    """

    scores: tuple[CalibratedScore, ...]
    corrections: tuple[str, ...]
    drift: tuple[JudgeDrift, ...]
    moved: tuple[str, ...]
    differences: tuple[str, ...]
    notices: tuple[str, ...]
    withheld: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the fields as JSON-like values."""
        found = as_json(self)
        return dict(found)


def saved_form(calibration: Calibration) -> dict[str, Any]:
    """Returns the content of calibration.json."""
    material, target = calibration.material, calibration.target
    panel = material.panel
    if panel is None or target is None:
        raise InputError("people and panel share no criterion: there is nothing to save")
    weights, score_map = calibration.corrections.weights, calibration.corrections.score_map
    levels = calibration.levels
    # map and width belong to the criterion that they were fitted on
    is_alike = levels is not None and levels.criterion == target.criterion
    rows = np.flatnonzero(target.both)
    order = rows[np.argsort(material.responses.prompt[rows], kind="stable")][:MOST_KEPT]
    table = panel.by_judge(target.criterion).reshape(len(material.responses), -1)
    ids, prompts = material.responses.ids, material.responses.prompt
    width = calibration.corrections.conformal
    severities = {
        row.name: row.severity.value
        for row in calibration.judges.of("judge")
        if row.severity.has_interval and not row.severity.covers(0.0)
    }
    return {
        "format": SAVED_FORMAT,
        "kind": "saved calibration",
        "level": calibration.level,
        "seed": calibration.seed,
        "main_target": calibration.main_target,
        "panel": calibration.panel_identity,
        "criterion": target.criterion,
        "weights": {} if weights.adopted == "equal" else dict(weights.weights),
        "map": {"name": score_map.adopted, "x": list(score_map.x), "y": list(score_map.y)}
        if is_alike else {"name": "as is", "x": [], "y": []},
        "folds": dict(score_map.folds),
        "severities": severities,
        "conformal_width": {"value": width.value, "level": CONFORMAL_LEVEL}
        if width.is_defined and is_alike else None,
        "judge_scores": {
            name: {
                ids[r]: round(float(table[r, k]), 6) for r in order.tolist()
                if math.isfinite(table[r, k])
            }
            for k, name in enumerate(panel.judge_names())
            if np.isfinite(table[order, k]).any()
        },
        "prompts": {ids[r]: material.responses.prompt_ids[prompts[r]] for r in order.tolist()},
        "texts_sha256": {
            ids[r]: calibration.texts_sha256[ids[r]] for r in order.tolist()
            if ids[r] in calibration.texts_sha256
        },
    }  # fmt: skip


def save(calibration: Calibration, path: str | Path) -> Path:
    """Writes calibration.json at once or not at all, and returns its path.

    Raises:
        InputError: there is nothing to save.
        StoreError: it cannot be written.
    """
    target = Path(path)
    text = json.dumps(saved_form(calibration), indent=1, ensure_ascii=False, allow_nan=False)
    with replaced(target) as part:
        part.write_text(text + "\n", encoding="utf-8")
    return target


def load(path: str | Path) -> dict[str, Any]:
    """Returns the content of a calibration.json.

    Raises:
        InputError: it cannot be read, is something else, or is from a later version.
    """
    file = Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
    if not isinstance(content, dict) or content.get("kind") != "saved calibration":
        raise InputError([InputFault(str(file), "is not a saved calibration")])
    if not isinstance(content.get("format"), int) or content["format"] > SAVED_FORMAT:
        raise InputError(
            [InputFault(str(file), f"has format {content.get('format')!r}; this version reads "
                        f"{SAVED_FORMAT}")]
        )  # fmt: skip
    return content


def apply(
    saved: Mapping[str, Any] | str | Path,
    run: Judges,
    *,
    responses: Any = None,
    despite_differences: bool = False,
    seed: int = 0,
) -> Applied:
    """Returns the calibrated scores of a run, and which judges moved since.

    Drift is tested on responses that both runs scored: the same ids, and where both sides know
    the texts, the same texts. The mean change of each judge by prompt is tested by sign flips,
    with Holm over judges. A judge that moved moved by itself: the responses are the same.

    Args:
        saved: a calibration.json or its content.
        run: a run (or its folder) of the same panel; where stored judgments were calibrated,
            later ones of the same judges, or their file.
        responses: what was scored, as for scoring, to compare texts; without it, the texts that
            the run's folder keeps.
        despite_differences: go on with a panel that differs, to see which judges moved; nothing
            is then corrected.
        seed: of sign flips beyond 20 prompts.

    Raises:
        InputError: not a saved calibration; unreadable judgments; or another panel, with what
            differs.
    """
    content = load(saved) if isinstance(saved, str | Path) else saved
    later = later_panel(run)
    panel, rows = later.panel, later.rows
    if content["criterion"] is not None and content["criterion"] not in panel.criteria:
        told = f"has no criterion {content['criterion']!r}, which was calibrated"
        raise InputError([InputFault(later.path, told)])
    differences = panel_differences(content["panel"], later.identity)
    if differences and not despite_differences:
        raise InputError(
            [InputFault(later.path, text) for text in differences],
            hint="The calibration is of another panel: a judge's prompt, persona or model "
            "changed. Calibrate this panel anew.",
        )
    ids = [row["response_id"] for row in rows]
    texts = texts_of(responses, run).sha256
    drift, notices = _drift(content, panel, ids, texts, seed)
    stand_ins = [name for name in panel.models if is_stand_in(name)]
    notices = [*later.notices, *notices]
    if stand_ins:
        notices.insert(0, f"DEMONSTRATION: {demonstration(stand_ins)}")
    moved = tuple(one.judge for one in drift if one.moved)
    if moved:
        notices.append(
            f"the judge moved, not the respondents: {', '.join(moved)} score identical responses "
            "differently now; calibrate anew before comparing runs"
        )
    scores, applied, withheld = _scores(content, panel, rows, is_other=bool(differences))
    return Applied(scores, applied, drift, moved, differences, tuple(notices), withheld)


def _drift(
    content: Mapping[str, Any], panel: PanelScores, ids: list[str], texts: Mapping[str, str],
    seed: int,
) -> tuple[tuple[JudgeDrift, ...], list[str]]:  # fmt: skip
    stored, prompt_of, before = (
        content["judge_scores"], content["prompts"], content["texts_sha256"]
    )  # fmt: skip
    shared = [name for name in ids if name in prompt_of]
    changed = [n for n in shared if n in texts and n in before and texts[n] != before[n]]
    same = [name for name in shared if name not in set(changed)]
    notices = []
    if changed:
        notices.append(f"another text now, left out of the test: {units(len(changed), 'response')}")
    unchecked = sum(1 for n in same if n not in texts or n not in before)
    if unchecked:
        notices.append(f"texts not compared, only their ids: {units(unchecked, 'response')}")
    if not same:
        notices.append("drift was not tested: the runs share no response")
        return (), notices
    place = {name: at for at, name in enumerate(ids)}
    table = panel.by_judge(content["criterion"]).reshape(len(ids), -1)
    at = np.array([place[name] for name in same])
    codes: dict[str, int] = {}
    prompt = np.array([codes.setdefault(prompt_of[n], len(codes)) for n in same], dtype=np.int64)
    rows: list[tuple[str, int, Estimate, float]] = []
    for k, judge in enumerate(panel.judge_names()):
        then = np.array([stored.get(judge, {}).get(n, math.nan) for n in same], dtype=np.float64)
        change = np.round(table[at, k] - then, 6)
        n = int(np.isfinite(change).sum())
        if not n:
            continue
        means = prompt_means(change, prompt, len(codes))
        known = means[np.isfinite(means)]
        test = sign_flip_test(known, rng=seed)
        left_out = (known.sum() - known) / max(len(known) - 1, 1)
        rows.append((
            judge, n,
            jackknife(float(known.mean()), left_out, n=len(known),
                      method="mean over prompts of now less then, identical responses"),
            test.p_value,
        ))  # fmt: skip
    adjusted = holm([row[3] for row in rows]) if rows else np.empty(0)
    drift = tuple(
        JudgeDrift(judge, n, change, float(p), bool(p < 0.05))
        for (judge, n, change, _), p in zip(rows, adjusted.tolist(), strict=True)
    )
    return drift, notices


def _scores(
    content: Mapping[str, Any], panel: PanelScores, rows: list[dict[str, str]], *, is_other: bool
) -> tuple[tuple[CalibratedScore, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
    raw = panel.ensemble(content["criterion"])
    calibrated, applied = raw.copy(), []
    why_not = dict.fromkeys(_earned(content), "it was earned for another panel")
    if not is_other:
        why_not["severities"] = "every judge scored every response"
        if content["weights"]:
            why_not["severities"] = why_not[content["map"]["name"]] = "fitted weights stand instead"
        table = panel.by_judge(content["criterion"]).reshape(len(raw), -1)
        names = panel.judge_names()
        there = np.isfinite(table)
        judged = np.isfinite(raw)
        incomplete = judged & ~there[:, there.any(axis=0)].all(axis=1)
        weights = np.array([content["weights"].get(name, 0.0) for name in names])
        if content["severities"] and incomplete.any() and not content["weights"]:
            # where judges are missing, the mean depends on who is left
            level = np.array([content["severities"].get(name, 0.0) for name in names])
            calibrated[incomplete] = _mean((table - level)[incomplete])
            applied.append("severities")
        if content["weights"]:
            mass = (there * weights).sum(axis=1)
            usable = judged & (mass > 0)
            weighted = np.nansum(np.where(there, table, 0.0) * weights, axis=1)
            calibrated[usable] = weighted[usable] / mass[usable]
            applied.append("weights")
        knots = content["map"]
        if knots["x"] and not content["weights"]:
            mapped = np.interp(calibrated, knots["x"], knots["y"])
            calibrated = np.where(np.isnan(calibrated), np.nan, mapped)
            applied.append(knots["name"])
    width = content["conformal_width"]
    reach = width["value"] if width and not is_other else math.nan
    return (
        tuple(
            CalibratedScore(
                row["response_id"],
                row["prompt_id"],
                float(raw[k]),
                float(calibrated[k]),
                float(calibrated[k] - reach),
                float(calibrated[k] + reach),
            )
            for k, row in enumerate(rows)
        ),
        tuple(applied),
        tuple((n, why_not[n]) for n in _earned(content) if n not in applied),
    )


def _earned(content: Mapping[str, Any]) -> list[str]:
    """What a calibration has to correct with, in the order in which it is applied."""
    found = ["severities"] if content["severities"] else []
    found += ["weights"] if content["weights"] else []
    return found + ([str(content["map"]["name"])] if content["map"]["x"] else [])


def _mean(table: Floats) -> Floats:
    counts = np.isfinite(table).sum(axis=1)
    mean: Floats = np.divide(
        np.nansum(table, axis=1), counts, out=np.full(len(table), np.nan), where=counts > 0
    )
    return mean
