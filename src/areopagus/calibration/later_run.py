"""`apply`: what a calibration makes of a later run of the same panel, and who moved since."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import mean_by_prompt
from ..aggregation.jackknife import jackknife
from ..aggregation.multiplicity import holm
from ..aggregation.sign_flips import sign_flip_test
from ..errors import InputError, InputFault
from ..formats import units
from ..records.estimates import Estimates, select
from ..shown import Shown
from .applied_document import MOVED, applied_document
from .calibration import Calibration, CalibrationRun
from .dataset import is_stand_in
from .later_panel import LaterPanel, later_panel, panel_differences
from .reading import Judges, require_scored, texts_of
from .results import Sampled, add_results
from .saved import SavedCalibration, load

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.document import Document

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Applied(Shown):
    """A calibration applied to a run.

    Attributes:
        scores: one row a response of the run: response_id, prompt_id, score (as it is), calibrated,
            low and high (the conformal interval around that); nan where it has no score.
        estimates: every figure: the tables "means" and "comparison" (`results.add_results`), and
            "drift": `change` of each judge on identical responses, the mean over prompts of now
            less then, with Holm's p; the verdict is "moved" below .05.
        sampled: what people rated of the run, and why that corrects nothing where it does not.
        rated: how the rated prompts were taken, as was said at calibration.
        corrections: what was applied to the scores: "severities", "weights", "line", "isotonic".
        withheld: what was earned and not applied to them: (correction, why not).
        differences: what differs between the panels, where that was allowed.
        notices: sentences for the reader.
        stand_ins: embedded stand-ins that judged or answered: then these are no findings.
    """

    scores: pd.DataFrame
    estimates: pd.DataFrame
    sampled: Sampled
    rated: str | None
    corrections: tuple[str, ...]
    withheld: tuple[tuple[str, str], ...]
    differences: tuple[str, ...]
    notices: tuple[str, ...]
    stand_ins: tuple[str, ...]

    @property
    def drift(self) -> pd.DataFrame:
        """The table "drift" of the estimates."""
        return select(self.estimates, "drift")

    def document(self) -> Document:
        """What is shown."""
        return applied_document(
            self.estimates, self.sampled, rated=self.rated, corrections=self.corrections,
            withheld=self.withheld, differences=self.differences, notices=self.notices,
            stand_ins=self.stand_ins, n_responses=len(self.scores),
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The whole document as text of 80 columns."""
        from ..reports.text import render_text

        return "\n".join(render_text(self.document(), full=True))

    def __str__(self) -> str:
        from ..reports.text import render_text

        return "\n".join(render_text(self.document()))

    def __repr__(self) -> str:
        return f"Applied({' '.join(self.document().headline[:1])})"

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
    """Returns what a calibration makes of a run: scores, means and differences; and who moved.

    Means of respondents and differences between them stand beside what people would have said,
    where that can be told (`results`).

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
        InputError: no calibration; unreadable judgments, or none with a score; or another panel,
            with what differs.
    """
    if not isinstance(saved, SavedCalibration):
        saved = load(saved)
    texts = texts_of(responses, run)
    later = later_panel(run, texts)
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
    require_scored(panel, later.path, "nothing to correct")
    drift, notices = _drift(saved, later, texts.sha256, seed)
    names = [*panel.models, *dict.fromkeys(name for name in later.respondents if name)]
    scores, applied, withheld = _scores(saved, later, is_other=bool(differences))
    out = Estimates()
    different = _different(saved.people, texts.sha256)
    sampled = add_results(out, saved, later, different, is_other=bool(differences))
    out.extend(drift)
    found = Applied(
        scores, out.frame(), sampled, saved.rated, applied, withheld, differences,
        (*later.notices, *notices), tuple(name for name in names if is_stand_in(name)),
    )  # fmt: skip
    if found.moved:
        told = (
            f"the judge moved, not the respondents: {', '.join(found.moved)} score identical "
            "responses differently now; calibrate anew before comparing runs"
        )
        found = replace(found, notices=(*found.notices, told))
    return found


def _different(people: pd.DataFrame | None, texts: Mapping[str, str]) -> list[str]:
    """Ids of calibrated responses that have another text now."""
    if people is None:
        return []
    then = zip(people["response_id"], people["text_sha256"], strict=True)
    return [
        name for name, text in then
        if isinstance(text, str) and name in texts and texts[name] != text
    ]  # fmt: skip


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
