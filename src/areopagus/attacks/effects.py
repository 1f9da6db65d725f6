"""From the scores of an attack to its estimates: paired by judge and response, over prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.common_judges import (
    CommonJudges,
    common_judges,
    freed_means,
    mean_of_known,
    panel_means,
)
from ..aggregation.effects import mean_by_prompt, mean_over_prompts, share_over_prompts
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import cut_to_range
from ..aggregation.proportions import wilson
from ..graphs.detectors import DETECTORS
from ..graphs.screening import screen
from ..records.estimates import Estimates
from .config import AttackConfig
from .families import STATUS_OF, example_texts
from .outcomes import FamilyTest, Measured, family_tests
from .scores import NOT_SCORED, Floats, Mask, Rows, Scores
from .trials import BaseResponse, Trial, newly_flagged

ANY = "any"
"""All detectors and gates together."""


_NO_CONTROLS = "no controls: none planned, or the texts replace the response"
_NOT_NEUTRALISED = "no neutralised copies: not planned, or nothing was noticed"


@dataclass(frozen=True, slots=True)
class Design:
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
    statuses: npt.NDArray[np.str_]

    @classmethod
    def of(
        cls,
        trials: Sequence[Trial],
        dataset: Sequence[BaseResponse],
        asks: Mapping[str, str],
        config: AttackConfig,
        scale: tuple[int, int],
        quorum: float,
    ) -> Design:
        row = {trial.response_id: index for index, trial in enumerate(trials)}
        clean = {trial.base: index for index, trial in enumerate(trials) if trial.kind == "clean"}
        codes = {
            # Prompts with the same text are one, whatever their ids.
            text: code
            for code, text in enumerate(dict.fromkeys(base.prompt for base in dataset))
        }
        controls = (t.response_id.replace("-attack-", "-control-", 1) for t in trials)
        return cls(
            trials, config, scale, quorum,
            clean=np.asarray([clean[trial.base] for trial in trials]),
            control=np.asarray([row.get(name, -1) for name in controls]),
            prompts=np.asarray([codes[dataset[trial.base].prompt] for trial in trials]),
            n_prompts=len(codes),
            direction=np.asarray([-1.0 if asks.get(t.family) == "lowest" else 1.0 for t in trials]),
            kinds=np.asarray([trial.kind for trial in trials]),
            families=np.asarray([trial.family for trial in trials]),
            places=np.asarray([trial.placement or "" for trial in trials]),
            statuses=np.asarray([STATUS_OF.get(asks.get(t.family, ""), "") for t in trials]),
        )  # fmt: skip

    def rows(
        self,
        kind: str,
        *,
        family: str | None = None,
        place: str | None = None,
        after_scores: bool = False,
    ) -> Rows:
        """The trials of a kind, of one family, at one place, of families that ask for a score."""
        keep = self.kinds == kind
        if after_scores:
            keep &= self.statuses == ""
        if family is not None:
            keep &= self.families == family
        if place is not None:
            keep &= self.places == place
        return np.flatnonzero(keep)

    def paired(self, rows: Rows) -> Rows:
        """Those that have a control."""
        return rows[self.control[rows] >= 0]

    def by_prompt(self, rows: Rows, values: Floats) -> Floats:
        """Mean of each prompt, freed from which judges are missing where values are by judge."""
        # Response by response first: one with more judges weighs no more than another.
        of_prompt = self.prompts[rows]
        if values.ndim == 2:
            values = freed_means(values[None, ..., None], of_prompt)[0, :, 0]
        return mean_by_prompt(values, of_prompt, self.n_prompts)

    def has_quorum(self, rows: Rows, values: Floats) -> Mask:
        """Shape (rows,): whether these judges' means of both responses are verdicts of a panel."""
        n = (~np.isnan(values)).sum(axis=1)
        least = self.quorum * values.shape[1] - 1e-9
        return np.asarray((n[rows] >= least) & (n[self.clean[rows]] >= least), dtype=bool)

    def mean(self, rows: Rows, values: Floats, what: str) -> Estimate:
        """Mean over prompts."""
        return mean_over_prompts(self.by_prompt(rows, values), level=self.config.level, what=what)

    def difference_of_shares(self, rows: Rows, values: Floats, what: str) -> Estimate:
        """Mean over prompts of a difference of shares, with its interval within [−1, 1]."""
        return cut_to_range(self.mean(rows, values, what), (-1.0, 1.0))

    def within_reach(self, found: Estimate, aim: str) -> Estimate:
        """A difference of a family, in points or, of one that asks for no score, of shares."""
        reach = 1.0 if aim in STATUS_OF else float(self.scale[1] - self.scale[0])
        return cut_to_range(found, (-reach, reach))

    def share(self, rows: Rows, values: Floats, what: str) -> Estimate:
        """Share as mean over prompts; of judgments, of those that there are."""
        shares = values if values.ndim == 1 else mean_of_known(values, axis=1)
        return share_over_prompts(self.by_prompt(rows, shares), level=self.config.level, what=what)

    def newly_flagged(self, row: int) -> tuple[str, ...]:
        """Flags that a trial has and its clean response has not."""
        return newly_flagged(self.trials[row], self.trials[int(self.clean[row])])


@dataclass(frozen=True, slots=True)
class Pairs:
    """Which judges are compared with themselves on which trials.

    A judge counts where it scored both responses, and a trial where enough judges did
    (`common_judges`), family by family: a model that refuses the texts of one family is no effect
    of that family.

    Attributes:
        clean: shape (trials, judges), attacked, control or neutralised against clean.
        control: the same, attacked against control.
        balance: (what is compared, family) to what the pairs rest on.
    """

    clean: Mask
    control: Mask
    balance: Mapping[tuple[str, str], CommonJudges]

    @classmethod
    def of(cls, design: Design, values: Floats, models: Sequence[str]) -> Pairs:
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
                        models, units=design.prompts[mine],
                    )  # fmt: skip
                    masks[name][mine] = found.judges
                    if kind == "attack":
                        balance[name, family] = found
        return cls(masks["clean"], masks["control"], balance)

    def shifts(self, design: Design, rows: Rows, values: Floats) -> Floats:
        """Points against the clean response, by the same judge; nan where it is not counted."""
        found: Floats = values[rows] - values[design.clean[rows]]
        return np.where(self.clean[rows], found, np.nan)

    def beyond(self, design: Design, rows: Rows, values: Floats) -> Floats:
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
    `detected` (group: the flag; detail: the family), `statuses`, `counts`, `worth`; and `missing`
    (group: the family; detail: the status that it asks for, else `not scored`), in all, by persona
    and by model. Families that ask for no score stand in `missing` and in no table of scores.

    Args:
        trials: in the order of the scores' rows.
        dataset: what the trials' numbers point to.
        asks: family to what it asks for, in the order of the corpus.
        scores: of the panel.
        config: with the threshold that was set in advance.
        scale: both ends.
        quorum: share of the judges that must have scored a response for its panel mean.
        worth: how many independent judges the panel's are worth, where that is known.
    """
    design = Design.of(trials, dataset, asks, config, scale, quorum)
    composites = scores.composites
    found = Estimates()
    pairs = Pairs.of(design, composites, scores.models)
    clean = design.rows("clean")
    alone = panel_means(composites[clean][:, None, :, None], quorum)[:, 0]
    found.add("overall", "clean", design.mean(clean, alone, "mean clean score"))
    attacked = design.rows("attack")
    for measure, one in _effects(
        design, pairs, design.rows("attack", after_scores=True), composites
    ):
        found.add("overall", measure, one)
    found.add("overall", "flagged", _flagged(design, attacked))
    missing = Missing.of(design, scores)
    _add_families(found, design, asks, scores, composites, pairs, missing)
    for_scores = [family for family, aim in asks.items() if aim not in STATUS_OF]
    for table, key, label, select, values, mine in _breakdowns(design, scores, composites, pairs):
        for family in (None, *for_scores):
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
    if scores.statuses is not None and design.statuses[attacked].any():
        asked = design.statuses[attacked, None]
        as_asked = (scores.statuses[attacked] == asked) & (asked != "")
        found.add("counts", "as_asked", int(as_asked.sum()))
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
    one had not. Pairs of which a response is below the quorum are left out.

    Args:
        trials, dataset, scores, config, scale, quorum: as in `estimate`.
    """
    design = Design.of(trials, dataset, {}, config, scale, quorum)
    composites = scores.composites
    pairs = Pairs.of(design, composites, scores.models)
    rows = design.rows("attack")
    shifts = pairs.shifts(design, rows, composites)
    known = ~np.isnan(shifts) & design.has_quorum(rows, composites)[:, None]
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


def effects_by_prompt(
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
    scores: Scores,
    config: AttackConfig,
    *,
    scale: tuple[int, int],
    quorum: float,
) -> dict[tuple[str, str], Floats]:
    """(family, or "" for all that ask for a score; measure) to the figure of every prompt.

    shift, beyond and moved are those of `_effects`; of a family that asks for no score shift and
    beyond are shares of judgments that end as it asks, and nothing has moved. Prompts stand in the
    order of the dataset, those of one text once; nan where there is none.

    Args:
        trials, dataset, asks, scores, config, scale, quorum: as in `estimate`.
    """
    design = Design.of(trials, dataset, asks, config, scale, quorum)
    composites = scores.composites
    pairs, missing = Pairs.of(design, composites, scores.models), Missing.of(design, scores)
    found = {}
    for family in ("", *asks):
        status = STATUS_OF.get(asks.get(family, ""))
        values, mine = composites, pairs
        if status is not None:
            values, mine = missing.share_of[status], missing.pairs
        rows = design.rows("attack", family=family or None, after_scores=not family)
        shifts, paired = mine.shifts(design, rows, values), design.paired(rows)
        found[family, "shift"] = design.by_prompt(rows, shifts)
        found[family, "beyond"] = design.by_prompt(paired, mine.beyond(design, paired, values))
        if status is None:
            signed = shifts * design.direction[rows, None]
            moved = _moved(design, rows, signed, values[rows], values[design.clean[rows]])
            found[family, "moved"] = design.by_prompt(rows, mean_of_known(moved, axis=1))
    return found


class _Select:
    """The rows of a family, at one place or at all."""

    def __init__(self, design: Design, place: str | None = None) -> None:
        self._design, self._place = design, place

    def __call__(self, family: str | None, kind: str) -> Rows:
        return self._design.rows(
            kind, family=family, place=self._place,
            after_scores=family is None and kind == "attack",
        )  # fmt: skip


def _breakdowns(
    design: Design, scores: Scores, composites: Floats, pairs: Pairs
) -> Iterator[tuple[str, str, str, _Select, Floats, Pairs]]:
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
            yield table, key, name, everywhere, values, Pairs.of(design, values, models)
    if len(scores.criteria) > 1:
        for k, name in enumerate(scores.criteria):
            yield "criteria", "criterion", name, everywhere, scores.values[:, :, k], pairs


def _effects(
    design: Design, pairs: Pairs, rows: Rows, values: Floats
) -> Iterator[tuple[str, Estimate | float | None]]:
    """What the attacks of these rows did to these judges' scores.

    shift and beyond: points, attacked minus clean and attacked minus control. moved: share of
    judgments that moved by the threshold in the demanded direction, or that reached the demanded
    end of the scale where the clean one had not; verdicts_moved: the same of these judges' means,
    as share of responses that have the quorum, as the clean ones; worst: the largest such move of a
    mean. pairs: judgments that have a score with the attack and without.
    """
    shifts = pairs.shifts(design, rows, values)
    signed = shifts * design.direction[rows, None]
    attacked, clean = values[rows], values[design.clean[rows]]
    known = ~np.isnan(shifts)
    is_verdict = known & design.has_quorum(rows, values)[:, None]
    means, attacked_means, clean_means = (
        mean_of_known(np.where(is_verdict, one, np.nan), axis=1)
        for one in (signed, attacked, clean)
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


def _moved(design: Design, rows: Rows, signed: Floats, attacked: Floats, clean: Floats) -> Floats:
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


def _flagged(design: Design, rows: Rows) -> Estimate:
    """Share of responses with a flag that the clean one does not have."""
    flags = np.asarray([float(bool(design.newly_flagged(int(row)))) for row in rows])
    return design.share(rows, flags, "share newly flagged")


def _add_families(
    found: Estimates,
    design: Design,
    asks: Mapping[str, str],
    scores: Scores,
    composites: Floats,
    pairs: Pairs,
    missing: Missing,
) -> None:
    """Every family's figures and its test; the tests of all families are corrected together."""
    rows_of = {family: design.rows("attack", family=family) for family in asks}
    measured = []
    for family, rows in rows_of.items():
        paired = design.paired(rows)
        status = STATUS_OF.get(asks[family])
        values, mine = composites, pairs
        if status is not None:
            values, mine = missing.share_of[status], missing.pairs
        beyond = design.by_prompt(paired, mine.beyond(design, paired, values))
        measured.append(
            Measured(
                shift=design.by_prompt(rows, mine.shifts(design, rows, values)),
                beyond=beyond if paired.size else None,
                direction=-1.0 if asks[family] == "lowest" else 1.0,
            )
        )
    tests = family_tests(measured, alpha=design.config.alpha)
    for (family, rows), test in zip(rows_of.items(), tests, strict=True):
        trials = [design.trials[row] for row in rows]
        screened = sum(trial.seen.gate is not None for trial in trials)
        statuses = sum((scores.counts[t.response_id] for t in trials), Counter[str]())
        status = STATUS_OF.get(asks[family])
        _add_missing(found, design, missing, family, rows, status or NOT_SCORED, test)
        for name, number in statuses.items():
            found.add("statuses", "judgments", number, group=family, detail=name)
        if status is not None:
            keys = {"group": family, "detail": status}
            found.add("missing", "flagged", _flagged(design, rows), **keys)
            found.add("missing", "screened", _counted(screened, len(trials), "response"), **keys)
            found.add("missing", "responses", len(trials), **keys)
            continue
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


def family_effects(design: Design, family: str, aim: str, scores: Scores) -> tuple[Rows, Floats]:
    """(rows, effects by judge) of a family's attacks, by its demand: positive is as demanded.

    Beyond harmless prose where there is a control, else against the clean response; in points, of a
    family that asks for no score as share of judgments. nan where a judge is missing on one side.
    """
    status = STATUS_OF.get(aim)
    values = scores.composites if status is None else scores.share_of(status)
    answered = values if status is None else scores.share_of(NOT_SCORED)
    pairs = Pairs.of(design, answered, scores.models)
    rows = design.rows("attack", family=family)
    paired = design.paired(rows)
    found = (
        pairs.beyond(design, paired, values) if paired.size else pairs.shifts(design, rows, values)
    )
    return (paired if paired.size else rows), found * (-1.0 if aim == "lowest" else 1.0)


def by_same_judges(sides: Sequence[Floats], models: Sequence[str]) -> tuple[Floats, ...]:
    """Two arms or more of the same responses, each by the judges that there are in all of them.

    Where these are too few, nothing is left (`common_judges`).

    Args:
        sides: each of shape (responses, judges); nan is missing.
        models: of the judges.
    """
    arms = np.stack(sides)
    judges = common_judges(arms[:, :, None, :, None], models).judges
    return tuple(np.where(judges, arms, np.nan))


@dataclass(frozen=True, slots=True)
class Missing:
    """Which judgments ended without a score, as shares that are compared as scores are.

    Attributes:
        share_of: status, or `NOT_SCORED`, to `Scores.share_of` it.
        pairs: judges that were asked and answered on both sides, scored or not.
        by_name: (key column, its value, which judges, who is paired among them).
    """

    share_of: Mapping[str, Floats]
    pairs: Pairs
    by_name: Sequence[tuple[str, str, Mask, Pairs]]

    @classmethod
    def of(cls, design: Design, scores: Scores) -> Missing:
        """The judgments of the panel."""
        names = (*STATUS_OF.values(), NOT_SCORED)
        shares = {name: scores.share_of(name) for name in names}
        answered = shares[NOT_SCORED]
        by_name = []
        for key, of_judge in (("persona", scores.personas), ("model", scores.models)):
            for name in dict.fromkeys(of_judge):
                mine = np.asarray(of_judge) == name
                models = [m for m, is_mine in zip(scores.models, mine, strict=True) if is_mine]
                by_name.append((key, name, mine, Pairs.of(design, answered[:, mine], models)))
        return cls(shares, Pairs.of(design, answered, scores.models), by_name)


def _add_missing(
    found: Estimates,
    design: Design,
    missing: Missing,
    family: str,
    rows: Rows,
    status: str,
    test: FamilyTest,
) -> None:
    """`missing`: how often judgments under a family's texts end in a status, and without them.

    attacked, clean, control: shares of judgments; shift and beyond: their differences; pairs:
    judgments that were answered with the attack and without.
    """
    paired = design.paired(rows)
    values = missing.share_of[status]
    for keys, mine, pairs in (
        ({}, values, missing.pairs),
        *(({key: name}, values[:, mask], pairs) for key, name, mask, pairs in missing.by_name),
    ):
        at: dict[str, str] = {"group": family, "detail": status, **keys}
        shifts = pairs.shifts(design, rows, mine)
        what = f"share {status}, attacked − clean"
        shift: Estimate | float | None = design.difference_of_shares(rows, shifts, what)
        what = f"share {status}, attacked − control"
        beyond: Estimate | float | None = undefined(_NO_CONTROLS, method=what)
        if paired.size:
            beyond = design.difference_of_shares(paired, pairs.beyond(design, paired, mine), what)
        if status != NOT_SCORED and not keys:
            shift, beyond = _tested("shift", shift, test), _tested("beyond", beyond, test)
        found.add("missing", "shift", shift, **at)
        found.add("missing", "beyond", beyond, **at)
        sides = [("attacked", rows, rows), ("clean", rows, design.clean[rows])]
        sides += [("control", paired, design.control[paired])] if paired.size else []
        for name, of, other in sides:
            mask = pairs.control[of] if name == "control" else pairs.clean[of]
            share = design.share(of, np.where(mask, mine[other], np.nan), f"share {status}")
            found.add("missing", name, share, **at)
        n = _counted(int((~np.isnan(shifts)).sum()), shifts.size, "pair of judgments")
        found.add("missing", "pairs", n, **at)


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
    found: Estimates, design: Design, pairs: Pairs, rows: Rows, values: Floats, **keys: str
) -> None:
    shifts = pairs.shifts(design, rows, values)
    n = _counted(int((~np.isnan(shifts)).sum()), shifts.size, "pair of judgments")
    found.add("harmless", "shift", design.mean(rows, shifts, "mean control − clean"), **keys)
    found.add("harmless", "pairs", n, **keys)


def _add_balance(found: Estimates, design: Design, pairs: Pairs) -> None:
    """`balance`: where judges are missing on one side, and what whoever scored would have shown."""
    for (against, family), one in pairs.balance.items():
        rows = design.rows("attack", family=family)
        if design.statuses[rows[0]]:
            continue  # a judge that is missing there is what the family asks for
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


def _add_detectors(found: Estimates, design: Design, asks: Mapping[str, str]) -> None:
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
