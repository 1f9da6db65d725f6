"""From the scores of an attack to its estimates: paired by judge and response, over prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.common_judges import CommonJudges, common_judges, mean_of_known
from ..aggregation.effects import mean_by_prompt, mean_over_prompts, share_over_prompts
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.proportions import wilson
from ..graphs.detectors import DETECTORS
from ..graphs.screening import screen
from ..records.estimates import Estimates
from ..records.tables import read_judgments
from .config import AttackConfig
from .families import example_texts
from .outcomes import FamilyTest, Measured, family_tests
from .trials import BaseResponse, Trial, newly_flagged

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ANY = "any"
"""All detectors and gates together."""
COMPOSITE = "composite"

_NO_CONTROLS = "no controls: none planned, or the texts replace the response"
_NOT_NEUTRALISED = "no neutralised copies: not planned, or nothing was noticed"


@dataclass(frozen=True, slots=True)
class Scores:
    """What every judge gave every response.

    Attributes:
        values: shape (responses, judges, criteria); nan where there is no vote.
        responses: ids, in the order of the rows.
        personas, models: one entry a judge; a judge that is asked repeatedly has several columns.
        criteria: of the rubric.
        counts: response id to the number of judgments by status.
    """

    values: Floats
    responses: tuple[str, ...]
    personas: tuple[str, ...]
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    counts: Mapping[str, Counter[str]]

    @property
    def composites(self) -> Floats:
        """Shape (responses, judges): mean over the criteria."""
        means: Floats = self.values.mean(axis=2)
        return means


def read_panel_scores(folder: Path, responses: Sequence[str], criteria: Sequence[str]) -> Scores:
    """The judgments of a panel's folder; a response that is not there has no votes.

    Raises:
        InputError: the folder holds no table of judgments.
    """
    rows = {name: index for index, name in enumerate(responses)}
    columns: dict[tuple[str, str, int], int] = {}
    found: list[tuple[int, int, list[float]]] = []
    counts: dict[str, Counter[str]] = {name: Counter() for name in responses}
    for judgment in read_judgments(folder):
        name = judgment["response_id"]
        if name not in rows:
            continue
        judge = (judgment["persona"], judgment["model"], int(judgment["repeat"]))
        column = columns.setdefault(judge, len(columns))
        counts[name][judgment["status"]] += 1
        if judgment["status"] == "scored":
            found.append((rows[name], column, [judgment[criterion] for criterion in criteria]))
    values = np.full((len(rows), len(columns), len(criteria)), np.nan)
    for row, column, given in found:
        values[row, column] = given
    return Scores(
        values=values,
        responses=tuple(responses),
        personas=tuple(persona for persona, _, _ in columns),
        models=tuple(model for _, model, _ in columns),
        criteria=tuple(criteria),
        counts=counts,
    )


def _prompt(base: BaseResponse) -> str:
    return base.prompt_text or base.prompt_id


@dataclass(frozen=True, slots=True)
class _Design:
    """What pairs the scores: for each trial its clean response, its control, its prompt."""

    trials: Sequence[Trial]
    config: AttackConfig
    scale: tuple[int, int]
    quorum: float
    clean: Rows
    control: Rows
    prompts: Rows
    n_prompts: int
    direction: Floats
    kinds: npt.NDArray[np.str_]
    families: npt.NDArray[np.str_]
    places: npt.NDArray[np.str_]

    @classmethod
    def of(
        cls,
        trials: Sequence[Trial],
        dataset: Sequence[BaseResponse],
        asks: Mapping[str, str],
        config: AttackConfig,
        scale: tuple[int, int],
        quorum: float,
    ) -> _Design:
        row = {trial.response_id: index for index, trial in enumerate(trials)}
        clean = {trial.base: index for index, trial in enumerate(trials) if trial.kind == "clean"}
        codes = {
            # Prompts with the same text are one, whatever their ids.
            text: code
            for code, text in enumerate(dict.fromkeys(_prompt(base) for base in dataset))
        }
        controls = (t.response_id.replace("-attack-", "-control-", 1) for t in trials)
        return cls(
            trials, config, scale, quorum,
            clean=np.asarray([clean[trial.base] for trial in trials]),
            control=np.asarray([row.get(name, -1) for name in controls]),
            prompts=np.asarray([codes[_prompt(dataset[trial.base])] for trial in trials]),
            n_prompts=len(codes),
            direction=np.asarray([-1.0 if asks.get(t.family) == "lowest" else 1.0 for t in trials]),
            kinds=np.asarray([trial.kind for trial in trials]),
            families=np.asarray([trial.family for trial in trials]),
            places=np.asarray([trial.placement or "" for trial in trials]),
        )  # fmt: skip

    def rows(self, kind: str, *, family: str | None = None, place: str | None = None) -> Rows:
        """The trials of a kind, of one family, at one place."""
        keep = self.kinds == kind
        if family is not None:
            keep &= self.families == family
        if place is not None:
            keep &= self.places == place
        return np.flatnonzero(keep)

    def paired(self, rows: Rows) -> Rows:
        """Those that have a control."""
        return rows[self.control[rows] >= 0]

    def by_prompt(self, rows: Rows, values: Floats) -> Floats:
        """Mean of each prompt."""
        # Response by response first: one with more judges weighs no more than another.
        means = values if values.ndim == 1 else mean_of_known(values, axis=1)
        return mean_by_prompt(means, self.prompts[rows], self.n_prompts)

    def mean(self, rows: Rows, values: Floats, what: str) -> Estimate:
        """Mean over prompts."""
        return mean_over_prompts(self.by_prompt(rows, values), level=self.config.level, what=what)

    def share(self, rows: Rows, values: Floats, what: str) -> Estimate:
        """Share as mean over prompts."""
        return share_over_prompts(self.by_prompt(rows, values), level=self.config.level, what=what)

    def newly_flagged(self, row: int) -> tuple[str, ...]:
        """Flags that a trial has and its clean response has not."""
        return newly_flagged(self.trials[row], self.trials[int(self.clean[row])])


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Which judges are compared with themselves on which trials.

    A judge counts where it scored both responses, and a trial where the judges that did are the
    quorum of all and of each model (`common_judges`), family by family: a model that refuses the
    texts of one family is no effect of that family.

    Attributes:
        clean: shape (trials, judges), attacked, control or neutralised against clean.
        control: the same, attacked against control.
        balance: (what is compared, family) to what the pairs rest on.
    """

    clean: Mask
    control: Mask
    balance: Mapping[tuple[str, str], CommonJudges]

    @classmethod
    def of(cls, design: _Design, values: Floats, models: Sequence[str]) -> _Pairs:
        """Of these judges, by their composites."""
        masks = {name: np.zeros(values.shape, dtype=bool) for name in ("clean", "control")}
        balance: dict[tuple[str, str], CommonJudges] = {}
        for kind in ("attack", "control", "neutralised"):
            for family in dict.fromkeys(design.families[design.rows(kind)].tolist()):
                rows = design.rows(kind, family=family)
                sides = {"clean": (rows, design.clean)}
                if kind == "attack" and (paired := design.paired(rows)).size:
                    sides["control"] = (paired, design.control)
                for name, (mine, other) in sides.items():
                    found = common_judges(
                        np.stack([values[mine], values[other[mine]]])[:, :, None, :, None],
                        models, quorum=design.quorum,
                    )  # fmt: skip
                    masks[name][mine] = found.judges
                    if kind == "attack":
                        balance[name, family] = found
        return cls(masks["clean"], masks["control"], balance)

    def shifts(self, design: _Design, rows: Rows, values: Floats) -> Floats:
        """Points against the clean response, by the same judge; nan where it is not counted."""
        found: Floats = values[rows] - values[design.clean[rows]]
        return np.where(self.clean[rows], found, np.nan)

    def beyond(self, design: _Design, rows: Rows, values: Floats) -> Floats:
        """Points against the control of the same text and place, by the same judge."""
        found: Floats = values[rows] - values[design.control[rows]]
        return np.where(self.control[rows], found, np.nan)


def estimate(
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
    scores: Scores,
    config: AttackConfig,
    *,
    scale: tuple[int, int],
    quorum: float,
    worth: Estimate | None = None,
) -> Estimates:
    """The figures of an attack.

    Tables: `families` (group: the family), `overall` (all of them), `places`, `personas`, `models`,
    `criteria` (each alone, and by family as group), `harmless` (what the controls did), `balance`
    (which judgments the pairs of a family rest on; detail: against what), `detectors` and
    `detected` (group: the flag; detail: the family), `statuses`, `counts`, `worth`.

    Args:
        trials: in the order of the scores' rows.
        dataset: what the trials' numbers point to.
        asks: family to the end of the scale that it asks for, in the order of the corpus.
        scores: of the panel.
        config: with the threshold that was set in advance.
        scale: both ends.
        quorum: share of the judges, of all and of each model, that must have scored both responses
            of a pair.
        worth: how many independent judges the panel's are worth, where that is known.
    """
    design = _Design.of(trials, dataset, asks, config, scale, quorum)
    composites = scores.composites
    found = Estimates()
    pairs = _Pairs.of(design, composites, scores.models)
    clean = design.rows("clean")
    alone = common_judges(
        composites[clean][None, :, None, :, None], scores.models, quorum=quorum
    ).means[0]  # fmt: skip
    found.add("overall", "clean", design.mean(clean, alone, "mean clean score"))
    attacked = design.rows("attack")
    for measure, one in _effects(design, pairs, attacked, composites):
        found.add("overall", measure, one)
    found.add("overall", "flagged", _flagged(design, attacked))
    _add_families(found, design, asks, scores, composites, pairs)
    for table, key, label, select, values, mine in _breakdowns(design, scores, composites, pairs):
        for family in (None, *asks):
            rows = select(family, "attack")
            if rows.size:
                for measure, one in _effects(design, mine, rows, values):
                    found.add(table, measure, one, group=family or "", **{key: label})
        rows = select(None, "control")
        if rows.size:
            _add_harmless(found, design, mine, rows, values, **{key: label})
    if (controls := design.rows("control")).size:
        _add_harmless(found, design, pairs, controls, composites)
    _add_balance(found, design, pairs)
    found.add("worth", "effective judges", worth)
    _add_detectors(found, design, asks)
    statuses = sum(scores.counts.values(), Counter[str]())
    found.add("counts", "responses", len(dataset))
    found.add("counts", "prompts", design.n_prompts)
    found.add("counts", "attacked", attacked.size)
    found.add("counts", "judgments", _counted(statuses["scored"], statuses.total(), "judgment"))
    found.add("counts", "scale_low", scale[0])
    found.add("counts", "scale_high", scale[1])
    return found


def pair_outcomes(
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    scores: Scores,
    config: AttackConfig,
    *,
    scale: tuple[int, int],
    quorum: float,
) -> Iterator[tuple[Trial, Trial, Literal["raised", "lowered", "not"]]]:
    """Each attacked response with its clean one, and which of the two the judges score higher.

    Raised or lowered by the rule of `verdicts_moved`, whatever the family asks for: the mean of the
    judges who scored both moved by the threshold, or reached the end of the scale where the clean
    one had not. Pairs without a quorum of such judges are left out.

    Args:
        trials, dataset, scores, config, scale, quorum: as in `estimate`.
    """
    design = _Design.of(trials, dataset, {}, config, scale, quorum)
    composites = scores.composites
    pairs = _Pairs.of(design, composites, scores.models)
    rows = design.rows("attack")
    shifts = pairs.shifts(design, rows, composites)
    known = ~np.isnan(shifts)
    mean, attacked, clean = (
        mean_of_known(np.where(known, one, np.nan), axis=1)
        for one in (shifts, composites[rows], composites[design.clean[rows]])
    )
    up = _moved(design, rows, mean, attacked, clean)
    down = _moved(replace(design, direction=-design.direction), rows, -mean, attacked, clean)
    for row, is_up, is_down in zip(rows.tolist(), up.tolist(), down.tolist(), strict=True):
        if not math.isnan(is_up):
            outcome: Literal["raised", "lowered", "not"] = "not"
            if is_up or is_down:
                outcome = "raised" if is_up else "lowered"
            yield trials[int(design.clean[row])], trials[row], outcome


class _Select:
    """The rows of a family, at one place or at all."""

    def __init__(self, design: _Design, place: str | None = None) -> None:
        self._design, self._place = design, place

    def __call__(self, family: str | None, kind: str) -> Rows:
        return self._design.rows(kind, family=family, place=self._place)


def _breakdowns(
    design: _Design, scores: Scores, composites: Floats, pairs: _Pairs
) -> Iterator[tuple[str, str, str, _Select, Floats, _Pairs]]:
    """(table, key column, its value, which trials, their scores, who is paired) of each."""
    everywhere = _Select(design)
    for place in dict.fromkeys(design.places[design.rows("attack")].tolist()):
        yield "places", "detail", place, _Select(design, place), composites, pairs
    for table, key, names in (
        ("personas", "persona", scores.personas),
        ("models", "model", scores.models),
    ):
        for name in dict.fromkeys(names):
            mine = np.asarray(names) == name
            models = [model for model, is_mine in zip(scores.models, mine, strict=True) if is_mine]
            values = composites[:, mine]
            yield table, key, name, everywhere, values, _Pairs.of(design, values, models)
    if len(scores.criteria) > 1:
        for k, name in enumerate(scores.criteria):
            yield "criteria", "criterion", name, everywhere, scores.values[:, :, k], pairs


def _effects(
    design: _Design, pairs: _Pairs, rows: Rows, values: Floats
) -> Iterator[tuple[str, Estimate | float | None]]:
    """What the attacks of these rows did to these judges' scores.

    shift and beyond: points, attacked minus clean and attacked minus control. moved: share of
    judgments that moved by the threshold in the demanded direction, or that reached the demanded
    end of the scale where the clean one had not; verdicts_moved: the same of these judges' means,
    as share of responses; worst: the largest such move of a mean. pairs: judgments that have a
    score with the attack and without.
    """
    shifts = pairs.shifts(design, rows, values)
    signed = shifts * design.direction[rows, None]
    attacked, clean = values[rows], values[design.clean[rows]]
    known = ~np.isnan(shifts)
    means, attacked_means, clean_means = (
        mean_of_known(np.where(known, one, np.nan), axis=1) for one in (signed, attacked, clean)
    )
    moved = _moved(design, rows, signed, attacked, clean)
    verdicts = _moved(design, rows, means, attacked_means, clean_means)
    paired = design.paired(rows)
    yield "shift", design.mean(rows, shifts, "mean attack − clean")
    yield (
        "beyond",
        design.mean(paired, pairs.beyond(design, paired, values), "mean attack − control")
        if paired.size
        else undefined(_NO_CONTROLS, method="mean attack − control"),
    )
    yield "moved", design.share(rows, moved, "share of judgments moved")
    yield "verdicts_moved", design.share(rows, verdicts, "share of responses moved")
    yield "worst", float(np.nanmax(means)) if (~np.isnan(means)).any() else None
    yield "pairs", _counted(int(known.sum()), shifts.size, "pair of judgments")


def _moved(design: _Design, rows: Rows, signed: Floats, attacked: Floats, clean: Floats) -> Floats:
    """1 where a score moved as demanded, 0 where it did not, nan where it is not known."""
    low, high = design.scale
    upward = design.direction[rows] > 0
    upward = upward if signed.ndim == 1 else upward[:, None]
    reached = np.where(
        upward, (attacked >= high) & (clean < high), (attacked <= low) & (clean > low)
    )
    # Scores are means of a few integers: a shift of 2 may be stored as 1.9999….
    moved = (signed >= design.config.threshold - 1e-9) | reached
    return np.where(np.isnan(signed), np.nan, moved.astype(np.float64))


def _counted(n: int, n_planned: int, unit: str) -> Estimate:
    return Estimate(float(n), n=n, n_planned=n_planned, unit=unit, method="count", level=math.nan)


def _flagged(design: _Design, rows: Rows) -> Estimate:
    """Share of responses with a flag that the clean one does not have."""
    flags = np.asarray([float(bool(design.newly_flagged(int(row)))) for row in rows])
    return design.share(rows, flags, "share newly flagged")


def _add_families(
    found: Estimates,
    design: _Design,
    asks: Mapping[str, str],
    scores: Scores,
    composites: Floats,
    pairs: _Pairs,
) -> None:
    rows_of = {family: design.rows("attack", family=family) for family in asks}
    measured = []
    for family, rows in rows_of.items():
        paired = design.paired(rows)
        beyond = design.by_prompt(paired, pairs.beyond(design, paired, composites))
        measured.append(
            Measured(
                shift=design.by_prompt(rows, pairs.shifts(design, rows, composites)),
                beyond=beyond if paired.size else None,
                direction=1.0 if asks[family] == "highest" else -1.0,
            )
        )
    tests = family_tests(measured, alpha=design.config.alpha)
    for (family, rows), test in zip(rows_of.items(), tests, strict=True):
        trials = [design.trials[row] for row in rows]
        screened = sum(trial.seen.gate is not None for trial in trials)
        statuses = sum((scores.counts[t.response_id] for t in trials), Counter[str]())
        copies = design.rows("neutralised", family=family)
        what = "mean neutralised − clean"
        neutralised = undefined(_NOT_NEUTRALISED, method=what)
        if copies.size:
            neutralised = design.mean(copies, pairs.shifts(design, copies, composites), what)
        for measure, one in _effects(design, pairs, rows, composites):
            found.add("families", measure, _tested(measure, one, test), group=family)
        for measure, figure in (
            ("p_both_adjusted", test.p_both_holm),
            ("flagged", _flagged(design, rows)),
            ("neutralised_shift", neutralised),
            ("direction", 1 if asks[family] == "highest" else -1),
            ("responses", len(trials)),
            ("screened", _counted(screened, len(trials), "response")),
        ):
            found.add("families", measure, figure, group=family)
        for status, number in statuses.items():
            found.add("statuses", "judgments", number, group=family, detail=status)


def _tested(
    measure: str, found: Estimate | float | None, test: FamilyTest
) -> Estimate | float | None:
    """The figure that was tested with its test."""
    tested = "shift" if test.tested == "attacked − clean" else "beyond"
    if measure != tested or not isinstance(found, Estimate):
        return found
    return replace(
        found,
        p=math.nan if test.p_value is None else test.p_value,
        p_adjusted=math.nan if test.p_holm is None else test.p_holm,
        p_method=test.p_method,
        family="families of attacks, Holm",
        verdict=test.outcome,
    )


def _add_harmless(
    found: Estimates, design: _Design, pairs: _Pairs, rows: Rows, values: Floats, **keys: str
) -> None:
    shifts = pairs.shifts(design, rows, values)
    n = _counted(int((~np.isnan(shifts)).sum()), shifts.size, "pair of judgments")
    found.add("harmless", "shift", design.mean(rows, shifts, "mean control − clean"), **keys)
    found.add("harmless", "pairs", n, **keys)


def _add_balance(found: Estimates, design: _Design, pairs: _Pairs) -> None:
    """`balance`: where judges are missing on one side, and what whoever scored would have shown."""
    for (against, family), one in pairs.balance.items():
        rows = design.rows("attack", family=family)
        mine = rows if against == "clean" else design.paired(rows)
        at = {"group": family, "detail": f"attacked − {against}"}
        n = _counted(one.n_common, one.n_planned, "pair of judgments")
        found.add("balance", "judgments", n, **at)
        found.add("balance", "one_sided", one.n_one_sided, **at)
        found.add("balance", "responses_left_out", int(one.left_out.sum()), **at)
        for model in one.without:
            found.add("balance", "model_left_out", 1, **at, model=model)
        if one.n_one_sided:
            raw, common = (
                float(np.nanmean(by_prompt)) if (~np.isnan(by_prompt)).any() else math.nan
                for by_prompt in (
                    design.by_prompt(mine, (means[0] - means[1])[:, 0])
                    for means in (one.raw, one.means)
                )
            )
            unbalanced = Estimate(
                raw - common, method="whoever scored minus common judges", level=math.nan,
                reason=None if math.isfinite(raw - common) else "no pair on one of the ways",
                verdict="unbalanced",
            )  # fmt: skip
            found.add("balance", "moved", unbalanced, **at)
            found.add("balance", "raw", raw if math.isfinite(raw) else None, **at)


def _add_detectors(found: Estimates, design: _Design, asks: Mapping[str, str]) -> None:
    """Every detector's hits and false alarms, all of them together first; no judge is asked.

    The prompt is the unit of hits and of false alarms: its texts, families and places are no
    independent trials. The built-in texts with telling words were each written for themselves.
    """
    level, what = design.config.level, "share flagged"
    telling = [set(screen(item.text).flags) for item in example_texts("telling_words").texts]
    clean, controls = design.rows("clean"), design.rows("control")
    own = {int(row): set(design.trials[row].seen.flags) for row in clean}
    new = {
        int(row): set(design.newly_flagged(int(row))) for row in (*controls, *design.rows("attack"))
    }
    for flag in (ANY, *DETECTORS):
        for name, rows, flags in (("clean", clean, own), ("control", controls, new)):
            hits = np.asarray([_is_hit(flag, flags[int(row)]) for row in rows], dtype=np.float64)
            unit = "control" if name == "control" else "clean response"
            alarms = undefined(f"no {unit}s", method=what)
            if rows.size:
                alarms = design.share(rows, hits, what)
            found.add("detectors", f"alarms_{name}", alarms, group=flag)
            count = _counted(int(hits.sum()), rows.size, unit)
            found.add("detectors", f"flagged_{name}", count, group=flag)
        hits_on_telling = sum(_is_hit(flag, flags) for flags in telling)
        alarms = wilson(hits_on_telling, len(telling), level=level, unit="clean text").of(what)
        found.add("detectors", "alarms_telling", alarms, group=flag)
        found.add(
            "detectors", "flagged_telling",
            _counted(hits_on_telling, len(telling), "clean text"), group=flag,
        )  # fmt: skip
        for family in asks:
            rows = design.rows("attack", family=family)
            if not rows.size:
                continue
            hits = np.asarray([_is_hit(flag, new[int(row)]) for row in rows], dtype=np.float64)
            if hits.any():
                one = design.share(rows, hits, what)
                found.add("detected", "flagged", one, group=flag, detail=family)


def _is_hit(flag: str, flags: set[str]) -> bool:
    return bool(flags) if flag == ANY else flag in flags
