"""`apply`: what a calibration makes of a later run of the same panel, and who moved since."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import mean_by_prompt
from ..aggregation.estimate import Estimate
from ..aggregation.jackknife import jackknife
from ..aggregation.multiplicity import holm
from ..aggregation.sign_flips import sign_flip_test
from ..errors import InputError, InputFault
from ..formats import units
from ..records.estimates import Estimates, estimate_at, estimates_by, select
from ..records.humans import JudgmentReading, read_judgments
from ..records.run_folder import RUN_FILE
from ..records.tables import read_scores
from ..run import Run
from .answer import demonstration
from .calibration import Calibration, CalibrationRun
from .corrections import ADOPTED
from .dataset import is_stand_in, responses_of, with_unique_ids
from .panel_scores import QUORUM, PanelScores, panel_of_run
from .reading import Judges, identity_of, panel_of_judgments, texts_of

if TYPE_CHECKING:
    import pandas as pd

FIRST_FORMAT = 1
"""Of the first version's calibration.json."""

MOVED = "moved"
"""The verdict on a judge that scores identical responses differently now."""

Floats = npt.NDArray[np.float64]

_SHOWN = 200

_OF_JUDGMENTS = {"judges", "criteria"}
"""What makes the panel of stored judgments this panel: all that such a table says."""


@dataclass(frozen=True, eq=False)
class SavedCalibration:
    """What a calibration has to correct a later run with.

    Attributes:
        panel: what makes the panel this panel.
        criterion: the panel's criterion that was calibrated; None for its composite.
        weights: judge to weight; empty unless a fitted weighting was earned.
        map_name, map_x, map_y: the earned map and its knots; none for "as is".
        severities: judge to points above the panel, where its interval leaves out 0.
        half_width: of the conformal interval around a calibrated score; nan where there is none.
        judge_scores: of the calibrated responses, a row a response and judge.
    """

    panel: Mapping[str, Any]
    criterion: str | None
    weights: Mapping[str, float]
    map_name: str
    map_x: tuple[float, ...]
    map_y: tuple[float, ...]
    severities: Mapping[str, float]
    half_width: float
    judge_scores: pd.DataFrame

    @property
    def earned(self) -> list[str]:
        """What there is to correct with, in the order in which it is applied."""
        found = ["severities"] if self.severities else []
        found += ["weights"] if self.weights else []
        return found + ([self.map_name] if self.map_x else [])


def load(calibration: Calibration | CalibrationRun | str | Path) -> SavedCalibration:
    """Returns what a calibration has to correct with.

    Args:
        calibration: itself, its folder, or a calibration.json of the first version.

    Raises:
        InputError: it cannot be read, is something else, or is from a later version; or people and
            panel shared no criterion.
    """
    if isinstance(calibration, str | Path):
        path = Path(calibration)
        if path.suffix == ".json" and path.name != RUN_FILE:
            return _first_version(path)
        calibration = CalibrationRun(path.parent if path.name == RUN_FILE else path)
    record, estimates = calibration.record, calibration.estimates
    target, levels = record["target"], record["levels"]
    if target is None:
        raise InputError("people and panel share no criterion: there is nothing to apply")
    # map and width belong to the criterion that they were fitted on
    is_alike = levels is not None and levels["of_panel"] == target["of_panel"]
    weights = estimates[(estimates["table"] == "weights") & (estimates["verdict"] == ADOPTED)]
    is_fitted = bool(len(weights)) and weights.iloc[0]["group"] != "equal"
    of_judges = select(estimates, "judge weights")
    knots = select(estimates, "map knots") if is_alike else select(estimates, "")
    width = estimate_at(estimates, "conformal", "half_width")
    severities = {
        str(keys["group"]): found["severity"].value
        for keys, found in estimates_by(select(estimates, "judges", factor="judge"), ["group"])
        if found["severity"].has_interval and not found["severity"].covers(0.0)
    }
    return SavedCalibration(
        panel=record["panel"],
        criterion=target["of_panel"],
        weights=dict(zip(of_judges["group"], of_judges["value"], strict=True)) if is_fitted else {},
        map_name=str(knots["group"].iloc[0]) if len(knots) else "as is",
        map_x=tuple(knots.loc[knots["measure"] == "x", "value"].tolist()),
        map_y=tuple(knots.loc[knots["measure"] == "y", "value"].tolist()),
        severities=severities,
        half_width=width.value if width is not None and is_alike else math.nan,
        judge_scores=calibration.judge_scores,
    )


def _first_version(file: Path) -> SavedCalibration:
    """The content of the first version's calibration.json."""
    import pandas as pd

    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([InputFault(str(file), f"cannot be read: {error}")]) from error
    if not isinstance(content, dict) or content.get("kind") != "saved calibration":
        raise InputError([InputFault(str(file), "is not a saved calibration")])
    if content.get("format") != FIRST_FORMAT:
        told = f"has format {content.get('format')!r}; this version reads {FIRST_FORMAT}"
        raise InputError([InputFault(str(file), told)])
    prompts, hashes = content["prompts"], content["texts_sha256"]
    rows = [
        [name, prompts[name], hashes.get(name), judge, score]
        for judge, scores in content["judge_scores"].items()
        for name, score in scores.items()
    ]
    width = content["conformal_width"]
    return SavedCalibration(
        panel=content["panel"],
        criterion=content["criterion"],
        weights=content["weights"],
        map_name=content["map"]["name"],
        map_x=tuple(content["map"]["x"]),
        map_y=tuple(content["map"]["y"]),
        severities=content["severities"],
        half_width=width["value"] if width else math.nan,
        judge_scores=pd.DataFrame(
            rows, columns=["response_id", "prompt_id", "text_sha256", "judge", "score"]
        ),
    )


@dataclass(frozen=True, eq=False)
class Applied:
    """A calibration applied to a run.

    Attributes:
        scores: one row a response of the run: response_id, prompt_id, score (as it is), calibrated,
            low and high (the conformal interval around that); nan where it has no score.
        drift: the table "drift" of estimates: `change` of each judge on identical responses, the
            mean over prompts of now less then, with Holm's p; the verdict is "moved" below .05.
        corrections: what was applied: "severities", "weights", "line", "isotonic".
        withheld: what was earned and not applied: (correction, why not).
        differences: what differs between the panels, where that was allowed.
        notices: sentences for the reader.
    """

    scores: pd.DataFrame
    drift: pd.DataFrame
    corrections: tuple[str, ...]
    withheld: tuple[tuple[str, str], ...]
    differences: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def moved(self) -> tuple[str, ...]:
        """Judges that moved: the responses are the same, so they moved by themselves."""
        return tuple(self.drift.loc[self.drift["verdict"] == MOVED, "group"])


def apply(
    saved: SavedCalibration | Calibration | CalibrationRun | str | Path,
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
        saved: a calibration or its folder; see `load`.
        run: a run (or its folder) of the same panel; where stored judgments were calibrated,
            later ones of the same judges, or their file.
        responses: what was scored, as for scoring, to compare texts; without it, the texts that
            the run's folder keeps.
        despite_differences: go on with a panel that differs, to see which judges moved; nothing
            is then corrected.
        seed: of sign flips beyond 20 prompts.

    Raises:
        InputError: no calibration; unreadable judgments; or another panel, with what differs.
    """
    if not isinstance(saved, SavedCalibration):
        saved = load(saved)
    later = later_panel(run)
    panel = later.panel
    if saved.criterion is not None and saved.criterion not in panel.criteria:
        told = f"has no criterion {saved.criterion!r}, which was calibrated"
        raise InputError([InputFault(later.path, told)])
    differences = panel_differences(saved.panel, later.identity)
    if differences and not despite_differences:
        raise InputError(
            [InputFault(later.path, text) for text in differences],
            hint="The calibration is of another panel: a judge's prompt, persona or model "
            "changed. Calibrate this panel anew.",
        )
    texts = texts_of(responses, run).sha256
    drift, notices = _drift(saved, later, texts, seed)
    stand_ins = [name for name in panel.models if is_stand_in(name)]
    notices = [*later.notices, *notices]
    if stand_ins:
        notices.insert(0, f"DEMONSTRATION: {demonstration(stand_ins)}")
    scores, applied, withheld = _scores(saved, later, is_other=bool(differences))
    found = Applied(scores, drift.frame(), applied, withheld, differences, tuple(notices))
    if found.moved:
        told = (
            f"the judge moved, not the respondents: {', '.join(found.moved)} score identical "
            "responses differently now; calibrate anew before comparing runs"
        )
        found = replace(found, notices=(*found.notices, told))
    return found


def _drift(
    saved: SavedCalibration, later: LaterPanel, texts: Mapping[str, str], seed: int
) -> tuple[Estimates, list[str]]:
    import pandas as pd

    out, notices = Estimates(), []
    before = saved.judge_scores.drop_duplicates("response_id").set_index("response_id")
    then = {name: text for name, text in before["text_sha256"].items() if isinstance(text, str)}
    shared = [name for name in later.ids if name in before.index]
    changed = {n for n in shared if n in texts and n in then and texts[n] != then[n]}
    same = [name for name in shared if name not in changed]
    if changed:
        notices.append(f"another text now, left out of the test: {units(len(changed), 'response')}")
    unchecked = sum(1 for n in same if n not in texts or n not in then)
    if unchecked:
        notices.append(f"texts not compared, only their ids: {units(unchecked, 'response')}")
    if not same:
        notices.append("drift was not tested: the runs share no response")
        return out, notices
    names = later.panel.judge_names()
    stored = saved.judge_scores.pivot_table(index="response_id", columns="judge", values="score")
    stored = stored.reindex(index=same, columns=list(names))
    now = later.panel.by_judge(saved.criterion).reshape(len(later.ids), -1)
    place = {name: at for at, name in enumerate(later.ids)}
    changes = np.round(now[[place[name] for name in same]] - stored.to_numpy(), 6)
    prompt, found = pd.factorize(before.loc[same, "prompt_id"])
    rows: list[tuple[str, int, Estimate, float]] = []
    for judge, change in zip(names, changes.T, strict=True):
        n = int(np.isfinite(change).sum())
        if not n:
            continue
        means = mean_by_prompt(change, prompt.astype(np.int64), len(found))
        known = means[np.isfinite(means)]
        test = sign_flip_test(known, rng=seed)
        left_out = (known.sum() - known) / max(len(known) - 1, 1)
        method = "mean over prompts of now less then, identical responses"
        estimate = jackknife(float(known.mean()), left_out, n=len(known), method=method)
        rows.append((judge, n, estimate, test.p))
    adjusted = holm([row[3] for row in rows]).tolist() if rows else []
    for (judge, n, estimate, p), holm_p in zip(rows, adjusted, strict=True):
        keys = {"factor": "judge", "group": judge}
        tested = replace(
            estimate, p=p, p_adjusted=holm_p, p_method="sign flip over prompts, two-sided",
            family="judges, Holm", verdict=MOVED if holm_p < 0.05 else None,
        )  # fmt: skip
        out.add("drift", "change", tested, **keys)
        out.add("drift", "n_responses", n, **keys)
    return out, notices


def _scores(
    saved: SavedCalibration, later: LaterPanel, *, is_other: bool
) -> tuple[pd.DataFrame, tuple[str, ...], tuple[tuple[str, str], ...]]:
    import pandas as pd

    panel = later.panel
    raw = panel.ensemble(saved.criterion)
    calibrated, applied = raw.copy(), []
    why_not = dict.fromkeys(saved.earned, "it was earned for another panel")
    if not is_other:
        why_not["severities"] = "every judge scored every response"
        if saved.weights:
            why_not["severities"] = why_not[saved.map_name] = "fitted weights stand instead"
        table = panel.by_judge(saved.criterion).reshape(len(raw), -1)
        names = panel.judge_names()
        there = np.isfinite(table)
        judged = np.isfinite(raw)
        incomplete = judged & ~there[:, there.any(axis=0)].all(axis=1)
        weights = np.array([saved.weights.get(name, 0.0) for name in names])
        if saved.severities and incomplete.any() and not saved.weights:
            # where judges are missing, the mean depends on who is left
            level = np.array([saved.severities.get(name, 0.0) for name in names])
            calibrated[incomplete] = np.nanmean((table - level)[incomplete], axis=1)
            applied.append("severities")
        if saved.weights:
            mass = (there * weights).sum(axis=1)
            usable = judged & (mass > 0)
            weighted = np.nansum(np.where(there, table, 0.0) * weights, axis=1)
            calibrated[usable] = weighted[usable] / mass[usable]
            applied.append("weights")
        if saved.map_x and not saved.weights:
            mapped = np.interp(calibrated, saved.map_x, saved.map_y)
            calibrated = np.where(np.isnan(calibrated), np.nan, mapped)
            applied.append(saved.map_name)
    reach = math.nan if is_other else saved.half_width
    scores = pd.DataFrame(
        {
            "response_id": later.ids,
            "prompt_id": later.prompts,
            "score": raw,
            "calibrated": calibrated,
            "low": calibrated - reach,
            "high": calibrated + reach,
        }
    )
    withheld = tuple((n, why_not[n]) for n in saved.earned if n not in applied)
    return scores, tuple(applied), withheld


@dataclass(frozen=True, slots=True)
class LaterPanel:
    """The panel that a calibration is applied to: of a run, or of stored judgments.

    Attributes:
        path: the folder or file, for messages.
        panel: its judgments.
        identity: what makes its panel this panel.
        ids, prompts: of each response, in the panel's order.
        notices: what was left out or assumed on reading.
    """

    path: str
    panel: PanelScores
    identity: dict[str, Any]
    ids: list[str]
    prompts: list[str]
    notices: tuple[str, ...]


def later_panel(judges: Judges) -> LaterPanel:
    """Returns the panel of a run or its folder, or of stored judgments or their file.

    Raises:
        InputError: they cannot be read.
    """
    if isinstance(judges, str | Path):
        path = Path(judges)
        is_run = path.is_dir() or path.name == RUN_FILE
        judges = Run(path) if is_run else read_judgments(path)
    if not isinstance(judges, Run):
        return _of_judgments(judges)
    rows = read_scores(judges.path)
    ids, prompts = ([row[name] for row in rows] for name in ("response_id", "prompt_id"))
    panel = panel_of_run(
        judges.path,
        {name: place for place, name in enumerate(ids)},
        quorum=float(judges.record.get("panel", {}).get("quorum", QUORUM)),
        axis_of={},
    )
    return LaterPanel(str(judges.path), panel, identity_of(judges), ids, prompts, ())


def _of_judgments(judges: JudgmentReading) -> LaterPanel:
    stored = judges.reading.require_sound()
    (table,) = with_unique_ids(stored.table)
    responses, notices = responses_of(table)
    panel, identity, told = panel_of_judgments(judges, table, responses)
    prompts = [responses.prompt_ids[code] for code in responses.prompt.tolist()]
    return LaterPanel(stored.path, panel, identity, list(responses.ids), prompts, (*notices, *told))


def panel_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns how two panels differ, one sentence each; none where they are the same."""
    if (set(then) == _OF_JUDGMENTS) != (set(now) == _OF_JUDGMENTS):
        kinds = ("a run of this program", "a table of stored judgments")
        told = kinds if set(now) == _OF_JUDGMENTS else kinds[::-1]
        return (f"the panel of {told[0]} was calibrated, and this is {told[1]}",)
    return tuple(_differences(dict(then), dict(now)))


def _differences(there: Any, here: Any, prefix: str = "") -> list[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for name in sorted(set(there) | set(here)):
            found += _differences(there.get(name), here.get(name), f"{prefix}{name}.")
        return found
    if there == here:
        return []
    name = prefix.rstrip(".")
    if _is_names(there) and _is_names(here) and set(there) != set(here):
        parts = [
            f"{word}: {', '.join(names)}"
            for word, names in (
                ("calibrated and missing now", [one for one in there if one not in here]),
                ("new", [one for one in here if one not in there]),
            )
            if names
        ]
        return [f"{name}: {'; '.join(parts)}"]
    return [f"{name}: calibrated with {_shown(there)}, now {_shown(here)}"]


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _shown(value: Any) -> str:
    """The value as JSON; a long one is cut between its words, and says so."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN].rsplit(' ', 1)[0]} … ({len(text):,} characters)"
