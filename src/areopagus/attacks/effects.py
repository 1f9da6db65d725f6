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
from .scores import Floats, Mask, Rows, Scores
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

    Tables: `families` (group: the family; detail: the status that it asks for, of families that ask
    for no score), `overall` (all families that ask for a score), `places`, `models`, `criteria`
    (each alone, and by family as group), `harmless` (what the controls did), `balance` (which
    judgments the pairs of a family rest on; detail: against what), `detectors` and `detected`
    (group: the flag; detail: the family), `statuses`, `counts`, `worth`. Families that ask for no
    score stand in `families`, as shares of judgments, and in no other table of scores.

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
    found = Estimates()
    outcomes = _outcomes(design, scores)
    composites, pairs = outcomes[""]
    clean = design.rows("clean")
    alone = panel_means(composites[clean][:, None, :, None], quorum)[:, 0]
    found.add("overall", "clean", design.mean(clean, alone, "mean clean score"))
    attacked = design.rows("attack")
    for measure, one in _effects(
        design, pairs, design.rows("attack", after_scores=True), composites
    ):
        found.add("overall", measure, one)
    found.add("overall", "flagged", _flagged(design, attacked))
    _add_families(found, design, asks, scores, outcomes)
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
    outcomes = _outcomes(design, scores)
    found = {}
    for family in ("", *asks):
        status = STATUS_OF.get(asks.get(family, ""), "")
        values, pairs = outcomes[status]
        rows = design.rows("attack", family=family or None, after_scores=not family)
        shifts, paired = pairs.shifts(design, rows, values), design.paired(rows)
        found[family, "shift"] = design.by_prompt(rows, shifts)
        found[family, "beyond"] = design.by_prompt(paired, pairs.beyond(design, paired, values))
        if not status:
            signed = shifts * design.direction[rows, None]
            moved = _moved(design, rows, signed, values[rows], values[design.clean[rows]])
            found[family, "moved"] = design.by_prompt(rows, mean_of_known(moved, axis=1))
    return found


def _outcomes(design: Design, scores: Scores) -> dict[str, tuple[Floats, Pairs]]:
    """What families ask for to each judgment's value, and which judges are paired by it.

    "": the composite. A status that some families ask for: `Scores.share_of` it; a judge counts
    where it answered on both sides, scored or not.
    """
    values = {
        status: scores.share_of(status) if status else scores.composites
        for status in dict.fromkeys(["", *design.statuses.tolist()])
    }
    return {
        status: (each, Pairs.of(design, each, scores.models)) for status, each in values.items()
    }


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
    for name in dict.fromkeys(scores.models):
        mine = np.asarray(scores.models) == name
        values = composites[:, mine]
        of_model = Pairs.of(design, values, [name] * int(mine.sum()))
        yield "models", "model", name, everywhere, values, of_model
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
    outcomes: Mapping[str, tuple[Floats, Pairs]],
) -> None:
    """Every family's figures and its test; the tests of all families are corrected together."""
    rows_of = {family: design.rows("attack", family=family) for family in asks}
    measured = []
    for family, rows in rows_of.items():
        paired = design.paired(rows)
        values, pairs = outcomes[STATUS_OF.get(asks[family], "")]
        beyond = design.by_prompt(paired, pairs.beyond(design, paired, values))
        measured.append(
            Measured(
                shift=design.by_prompt(rows, pairs.shifts(design, rows, values)),
                beyond=beyond if paired.size else None,
                direction=-1.0 if asks[family] == "lowest" else 1.0,
            )
        )
    tests = family_tests(measured, alpha=design.config.alpha)
    for (family, rows), test in zip(rows_of.items(), tests, strict=True):
        trials = [design.trials[row] for row in rows]
        screened = sum(trial.seen.gate is not None for trial in trials)
        statuses = sum((scores.counts[t.response_id] for t in trials), Counter[str]())
        for name, number in statuses.items():
            found.add("statuses", "judgments", number, group=family, detail=name)
        status = STATUS_OF.get(asks[family], "")
        keys = {"group": family, "detail": status} if status else {"group": family}
        values, pairs = outcomes[status]
        effects = (
            _share_effects(design, pairs, rows, values, status)
            if status
            else _effects(design, pairs, rows, values)
        )
        for measure, one in effects:
            found.add("families", measure, _tested(measure, one, test), **keys)
        found.add("families", "flagged", _flagged(design, rows), **keys)
        found.add("families", "responses", len(trials), **keys)
        found.add("families", "screened", _counted(screened, len(trials), "response"), **keys)
        if status:
            continue
        copies = design.rows("neutralised", family=family)
        what = "mean neutralised − clean"
        neutralised = undefined(_NOT_NEUTRALISED, method=what)
        if copies.size:
            neutralised = design.mean(copies, pairs.shifts(design, copies, values), what)
        found.add("families", "neutralised_shift", neutralised, **keys)
        found.add("families", "p_both_adjusted", test.p_both_holm, **keys)
        found.add("families", "direction", 1 if asks[family] == "highest" else -1, **keys)


def _share_effects(
    design: Design, pairs: Pairs, rows: Rows, values: Floats, status: str
) -> Iterator[tuple[str, Estimate]]:
    """How often judgments under a family's texts end in the status it asks for, and without them.

    shift and beyond: differences of shares, attacked minus clean and attacked minus control.
    attacked, clean, control: the shares. pairs: judgments that were answered with the attack and
    without.
    """
    paired = design.paired(rows)
    shifts = pairs.shifts(design, rows, values)
    yield "shift", design.difference_of_shares(rows, shifts, f"share {status}, attacked − clean")
    what = f"share {status}, attacked − control"
    beyond = undefined(_NO_CONTROLS, method=what)
    if paired.size:
        beyond = design.difference_of_shares(paired, pairs.beyond(design, paired, values), what)
    yield "beyond", beyond
    sides = [("attacked", rows, rows), ("clean", rows, design.clean[rows])]
    sides += [("control", paired, design.control[paired])] if paired.size else []
    for name, of, other in sides:
        mask = pairs.control[of] if name == "control" else pairs.clean[of]
        yield name, design.share(of, np.where(mask, values[other], np.nan), f"share {status}")
    yield "pairs", _counted(int((~np.isnan(shifts)).sum()), shifts.size, "pair of judgments")


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
