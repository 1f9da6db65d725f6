"""The figures of an examination: each bias of the judges as an estimate, or why there is none.

table                keys                        measures
biases               group (which), factor       effect; equivalence where a margin is given
by model             the same, model             effect
places               item (1 = first)            effect
correlations         detail (as scored, beyond   mean correlation, first component
                     the response, together,
                     apart)
consistency          criterion, factor           SD, equal
drift by judge       persona, model              effect
probes               item                        judgments, words
counts                                           responses, prompts, judgments
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.common_judges import mean_of_known
from ..aggregation.effects import adjusted_by_holm, consistent, effect_verdict, mean_effects
from ..aggregation.equivalence import tost_from_error
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import BLOCKS
from ..aggregation.judge_biases import (
    compared_responses,
    criterion_correlation,
    first_component,
    form_slopes,
    mean_correlation,
    over_prompts,
    own_family_by_prompt,
    place_effects,
    place_slope_by_prompt,
    repeat_spread,
    shift_by_prompt,
)
from ..calibration.panel_scores import mean_over_judges
from ..calibration.responses import family_of
from ..records.estimates import Estimates
from .config import JudgesConfig
from .scores import JudgeScores
from .texts import Form

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Factor = Literal["probe", "stored", "two runs"]
COMPOSITE: Final = "composite"
UNIVERSE: Final = "this panel"
NO_PROBE: Final = "not asked: it needs a probe"
NO_EARLIER: Final = "no earlier run of these judges was given"
NO_CRITERIA: Final = "one criterion: there is no order, and nothing to tell apart"


@dataclass(frozen=True, slots=True)
class Bias:
    """One thing that may move judges beside the quality of a response.

    Attributes:
        id: the key `group` of its figures.
        factor: from what it is estimated.
        label: the row of the table, with the direction of the figure.
        shown: the end of a sentence that begins with the figure.
        estimator: of the value of a prompt, or of the statistic of all.
        unit: "points" or "" for a correlation.
        is_association: whether something else may explain it.
    """

    id: str
    factor: Factor
    label: str
    shown: str
    estimator: str
    unit: Literal["points", ""] = "points"
    is_association: bool = False


BIASES: Final = (
    Bias(
        "order", "probe", "criterion last, less first",
        "for a criterion asked last instead of first",
        "slope of turned less plain scores on places moved, from the first place to the last, by "
        "judge, response and criterion",
    ),
    Bias(
        "one_call", "probe", "criteria apart, less together",
        "where each criterion has a call of its own",
        "composite of one call a criterion less that of one call for all, by judge and response",
    ),
    Bias(
        "halo_calls", "probe", "halo, together less apart",
        "in the correlation of criteria where one call asks for all of them",
        "mean correlation among criteria over judgments, in one call less one call each", "",
    ),
    Bias(
        "persona_first", "probe", "persona first, less last",
        "where the persona stands before the response",
        "composite with the persona before the response less that with it behind, by judge and "
        "response",
    ),
    Bias(
        "said_again", "probe", "half of it said again",
        "where a response says half of its sentences again",
        "composite of the response with every second sentence again at its end less as it is, by "
        "judge and response",
    ),
    Bias(
        "markdown", "probe", "markdown, less plain",
        "for the same words with headings, lists and bold",
        "composite of the words with headings, lists and bold less that without, by judge and "
        "response",
    ),
    Bias(
        "own_family", "stored", "own family's responses",
        "for responses of the judge's own family",
        "additive fit within the prompt: response + family of judges + own family",
        is_association=True,
    ),
    Bias(
        "length", "stored", "twice the length", "for twice the length",
        "least squares within prompts, respondent held fixed", is_association=True,
    ),
    Bias(
        "formatting", "stored", "formatted responses",
        "for responses with headings, lists or bold",
        "least squares within prompts, respondent held fixed", is_association=True,
    ),
    Bias(
        "halo", "stored", "halo within one judge",
        "of correlation among one judge's criteria beyond what others see in the response",
        "mean correlation among criteria, means of judges and of responses taken out", "",
        is_association=True,
    ),
    Bias(
        "drift", "two runs", "now, less then",
        "on the same texts since the earlier run",
        "composite now less then, by judge and text",
    ),
)  # fmt: skip
"""In the order of the page; those of one examination that are tested are one family (Holm)."""

OF_ID: Final = {one.id: one for one in BIASES}


@dataclass(frozen=True)
class Probed:
    """What the panel was asked anew about the responses that were drawn.

    Attributes:
        base: as the run asked, with repeats.
        turn: shape (R,), by how many places the criteria of each response were rotated.
        arms: "order", "calls", "persona", "length", "plain", "formatted" to values of shape
            (R, J, T, C).
        is_apart: whether the base asks one call a criterion, and the arm "calls" all in one.
        is_persona_first: whether the base has the persona before the response.
        words: of an arm to its words over those of the response as it is, on average.
        judgments: of an arm, (scored, planned).
        skipped: of an arm, why it was not asked.
    """

    base: JudgeScores
    turn: Integers
    arms: Mapping[str, Floats]
    is_apart: bool = False
    is_persona_first: bool = False
    words: Mapping[str, float] = field(default_factory=dict)
    judgments: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Earlier:
    """An earlier run's scores of the same texts, in the order of the later one.

    Attributes:
        before, after: shape (R, J), composites; nan where a side has none, or nothing was asked.
        prompt: shape (R,).
        prompts: how many there are.
        personas, models: of the J judges, as the later run calls them.
        reason: why nothing can be said, or None.
    """

    before: Floats
    after: Floats
    prompt: Integers
    prompts: int
    personas: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    reason: str | None = None


def estimate(
    stored: JudgeScores,
    forms: Sequence[Form] | None,
    config: JudgesConfig,
    *,
    lengths: Floats | None = None,
    probed: Probed | None = None,
    earlier: Earlier | None = None,
) -> Estimates:
    """Every figure of an examination.

    Args:
        stored: of the run.
        forms: of its responses, in their order; None where their texts are not kept.
        config: what was chosen.
        lengths: of its responses, where their texts are not kept but their lengths are known.
        probed: what was asked anew, if anything.
        earlier: of the earlier run, if there is one.
    """
    found = _Figures(config)
    _own_family(found, stored)
    _forms(found, stored, forms, lengths)
    _halo(found, stored)
    _probes(found, probed)
    _consistency(found, stored, probed)
    _drift(found, earlier)
    found.add_biases()
    out = found.out
    out.add("counts", "responses", _counted(len(stored.ids), len(stored.ids) + stored.n_left_out,
                                            "response"))  # fmt: skip
    out.add("counts", "prompts", len(np.unique(stored.prompt)))
    out.add("counts", "judgments", _counted(stored.n_scored, stored.n_planned, "judgment"))
    return out


class _Figures:
    """The figures while they are made; biases are tested together at the end."""

    def __init__(self, config: JudgesConfig) -> None:
        self.config = config
        self.out = Estimates()
        self._effects: dict[str, Estimate] = {}
        self._same: dict[str, Estimate] = {}
        self._of_models: list[tuple[str, str, Estimate]] = []

    def by_prompt(self, bias: str, values: Floats) -> None:
        """A bias that is a mean of one value a prompt; nan is a prompt without one."""
        self._effects[bias], same = self.mean(OF_ID[bias].estimator, values)
        if same is not None:
            self._same[bias] = same

    def mean(self, of: str, values: Floats) -> tuple[Estimate, Estimate | None]:
        """The mean over prompts, tested, and its test of equivalence where a margin is given."""
        config = self.config
        known = values[~np.isnan(values)]
        if not known.size:
            return undefined("no judge scored both sides", method=of), None
        (effect,) = mean_effects(
            known[:, None], of=of, margin=config.margin, level=config.level, seed=config.seed
        )
        same = effect.equivalence
        planned = replace(effect.mean, n_planned=len(values))
        return planned, None if same is None else replace(same, n_planned=len(values))

    def statistic(self, bias: str, found: Estimate) -> None:
        """A bias with a jackknife interval and its p."""
        self._effects[bias] = found
        margin = self.config.margin
        if margin is None or OF_ID[bias].unit != "points" or not found.has_interval:
            return
        blocks = min(found.n, BLOCKS)
        same = tost_from_error(
            found.value, found.se, blocks - 1, margin, level=self.config.level, n=found.n
        )
        how = f"two one-sided t of the jackknife, margin ±{margin:g}"
        self._same[bias] = replace(same, unit=found.unit, p_method=how, verdict=None)

    def none(self, bias: str, reason: str) -> None:
        """A bias that cannot be estimated."""
        self._effects[bias] = undefined(reason, method=OF_ID[bias].estimator)

    def add_biases(self) -> None:
        """Adjusts the tests of all biases together, and adds every bias."""
        alpha = 1 - self.config.level
        names = [one.id for one in BIASES if one.id in self._effects]
        n_tested = sum(not math.isnan(self._effects[name].p) for name in names)
        family = f"{n_tested} biases, Holm"
        tested = adjusted_by_holm([self._effects[n] for n in names], [family] * len(names))
        inside = [name for name in names if name in self._same]
        n_tested = sum(not math.isnan(self._same[name].p) for name in inside)
        family = f"{n_tested} biases within the margin, Holm"
        within = adjusted_by_holm([self._same[n] for n in inside], [family] * len(inside))
        same = dict(zip(inside, within, strict=True))
        for name, effect in zip(names, tested, strict=True):
            keys = {"group": name, "factor": OF_ID[name].factor}
            verdict = effect_verdict(effect, same.get(name), alpha=alpha)
            told = consistent(replace(effect, verdict=verdict, universe=UNIVERSE))
            if math.isnan(effect.p):
                told = replace(told, family=None)
            self.out.add("biases", "effect", told, **keys)
            if name in same:
                alike = same[name]
                alike = replace(alike, family=None if math.isnan(alike.p) else alike.family)
                self.out.add("biases", "equivalence", alike, **keys)
        order = [one.id for one in BIASES]
        for name, model, one in sorted(self._of_models, key=lambda row: order.index(row[0])):
            keys = {"group": name, "factor": OF_ID[name].factor, "model": model}
            self.out.add("by model", "effect", one, **keys)

    def add_model(self, bias: str, model: str, found: Estimate) -> None:
        """The same bias of one model's judges: an interval, and no test."""
        bare = replace(
            found, p=math.nan, p_adjusted=math.nan, p_method=None, family=None, verdict=None,
            universe=UNIVERSE,
        )  # fmt: skip
        if bare.is_defined:
            self._of_models.append((bias, model, bare))


def _counted(n: int, n_planned: int, unit: str) -> Estimate:
    return Estimate(n, n=n, n_planned=n_planned, unit=unit, method="count", level=math.nan)


def _by_model(scores: JudgeScores) -> dict[str, list[int]]:
    """Model to the places of its judges; nothing where there is one model."""
    found: dict[str, list[int]] = {}
    for place, model in enumerate(scores.models):
        found.setdefault(model, []).append(place)
    return found if len(found) > 1 else {}


# From stored scores


def _own_family(found: _Figures, stored: JudgeScores) -> None:
    given = found.config.families
    of_judge = [family_of(name, given) for name in stored.models]
    families = list(dict.fromkeys(of_judge))
    wrote = np.array([family_of(name, given) if name else "" for name in stored.respondents])
    if len(families) < 2:
        found.none(
            "own_family",
            f"the judges are of one family ({families[0] if families else 'none'}): nobody of "
            "another says what the responses are worth",
        )
        return
    if not np.isin(wrote, families).any():
        found.none("own_family", "no respondent is of a family of the judges")
        return
    by_judge = stored.by_judge
    # A harsh judge that is missing on some responses would lift these in its family's mean.
    table = np.stack(
        [
            mean_over_judges(by_judge[:, [one == name for one in of_judge]]).score
            for name in families
        ],
        axis=1,
    )
    own = wrote[:, None] == np.array(families)[None, :]
    values = own_family_by_prompt(table, own, stored.prompt, stored.prompts)
    if np.isnan(values).all():
        why = "no prompt has responses of a judge's family and of another, scored by both"
        found.none("own_family", why)
        return
    found.by_prompt("own_family", values[np.unique(stored.prompt)])
    for k, name in enumerate(families):
        if not own[:, k].any():
            continue
        # Responses of the other judges' families would count theirs against this one's.
        is_own = wrote == name
        rows = np.flatnonzero(is_own | ~np.isin(wrote, families))
        one = is_own[rows, None] & (np.arange(len(families)) == k)[None, :]
        mine = own_family_by_prompt(table[rows], one, stored.prompt[rows], stored.prompts)
        effect, _ = found.mean(OF_ID["own_family"].estimator, mine[np.unique(stored.prompt)])
        found.add_model("own_family", name, effect)


def _forms(
    found: _Figures, stored: JudgeScores, forms: Sequence[Form] | None, lengths: Floats | None
) -> None:
    if forms is not None:
        lengths = np.array([form.words for form in forms], dtype=np.float64)
    columns: dict[str, Floats] = {}
    if lengths is None:
        found.none("length", "the run keeps no texts")
    else:
        columns["length"] = np.log2(np.where(lengths > 0, lengths, np.nan))
    if forms is None:
        found.none("formatting", "the run keeps no texts")
    else:
        columns["formatting"] = np.array([form.is_formatted for form in forms], dtype=np.float64)
    if not columns:
        return
    _, who = np.unique(np.array(stored.respondents, dtype=str), return_inverse=True)
    who = who.reshape(-1).astype(np.int64)
    of = "slopes on doublings of words and on headings, lists or bold"

    def slopes(score: Floats) -> dict[str, Estimate]:
        level = found.config.level
        if len(columns) > 1:
            both = form_slopes(
                score, np.stack([*columns.values()], axis=1), stored.prompt, who, level=level, of=of
            )
            if both[0].is_defined:
                return dict(zip(columns, both, strict=True))
        # One of them does not vary: the other is estimated without it.
        return {
            name: form_slopes(
                score, column[:, None], stored.prompt, who, level=level,
                of=f"slope on {OF_ID[name].label}",
            )[0]
            for name, column in columns.items()
        }  # fmt: skip

    by_judge = stored.by_judge
    for name, one in slopes(mean_over_judges(by_judge).score).items():
        found.statistic(name, one)
    for model, places in _by_model(stored).items():
        for name, one in slopes(mean_over_judges(by_judge[:, places]).score).items():
            found.add_model(name, model, one)


def _halo(found: _Figures, stored: JudgeScores) -> None:
    if len(stored.criteria) < 2:
        found.none("halo", NO_CRITERIA)
        return
    first = stored.values[:, :, 0]
    _correlations(found, "as scored", first, stored.prompt)
    if len(stored.models) < 2:
        found.none("halo", "one judge: nobody else says what the response deserves")
        return
    found.statistic(
        "halo", _correlations(found, "beyond the response", first, stored.prompt, beyond=True)
    )
    for model, places in _by_model(stored).items():
        if len(places) > 1:
            one = _correlation(found, first[:, places], stored.prompt, beyond=True)
            found.add_model("halo", model, one)


def _correlations(
    found: _Figures, detail: str, values: Floats, prompt: Integers, *, beyond: bool = False
) -> Estimate:
    """Adds the mean correlation among criteria and the share of the first component."""
    mean = _correlation(found, values, prompt, beyond=beyond)
    found.out.add("correlations", "mean correlation", mean, detail=detail)
    share = _correlation(found, values, prompt, beyond=beyond, of=first_component)
    found.out.add("correlations", "first component", share, detail=detail)
    return mean


def _correlation(
    found: _Figures,
    values: Floats,
    prompt: Integers,
    *,
    beyond: bool = False,
    of: Callable[[Floats], float] = mean_correlation,
) -> Estimate:
    method = "mean correlation among criteria over judgments, judges' means taken out"
    if of is first_component:
        method = "share of the first component of the criteria, judges' means taken out"
    if beyond:
        method = method.replace("judges' means", "means of judges and of responses")
    one = over_prompts(
        lambda places: of(criterion_correlation(values[places], beyond_response=beyond)),
        prompt, counts=compared_responses(values, beyond_response=beyond), method=method,
        level=found.config.level,
        bounds=(-1.0, 1.0) if of is mean_correlation else (0.0, 1.0),
    )  # fmt: skip
    if of is first_component:  # it is above 0 in any case
        one = replace(one, p=math.nan, p_method=None)
    return replace(one, universe=UNIVERSE)


# From new calls


def _probes(found: _Figures, probed: Probed | None) -> None:
    of_probe = [one.id for one in BIASES if one.factor == "probe"]
    if probed is None:
        for name in of_probe:
            found.none(name, NO_PROBE)
        return
    base = probed.base
    for arm, (scored, planned) in probed.judgments.items():
        found.out.add("probes", "judgments", _counted(scored, planned, "judgment"), item=arm)
        if arm in probed.words:
            found.out.add("probes", "words", probed.words[arm], item=arm)
    for arm, names in (
        ("order", ("order",)),
        ("calls", ("one_call", "halo_calls")),
        ("persona", ("persona_first",)),
        ("length", ("said_again",)),
        ("formatting", ("markdown",)),
    ):
        for name in names:
            if arm in probed.skipped:
                found.none(name, probed.skipped[arm])
            elif not ({"plain", "formatted"} if arm == "formatting" else {arm}) & set(probed.arms):
                found.none(name, NO_PROBE)
    if "order" in probed.arms:
        _order(found, probed)
    if "calls" in probed.arms:
        _calls(found, probed)
    sides = _sides(probed)
    for name, (before, after) in sides.items():
        found.by_prompt(name, _shift(before, after, base))
        for model, places in _by_model(base).items():
            one, _ = found.mean(
                OF_ID[name].estimator, _shift(before[:, places], after[:, places], base)
            )
            found.add_model(name, model, one)


def _sides(probed: Probed) -> dict[str, tuple[Floats, Floats]]:
    """Bias to composites of shape (R, J) on both sides."""
    as_it_is = _composite(probed.base.values)
    arms = {name: _composite(values) for name, values in probed.arms.items()}
    found: dict[str, tuple[Floats, Floats]] = {}
    if "calls" in arms:
        one, two = (arms["calls"], as_it_is) if probed.is_apart else (as_it_is, arms["calls"])
        found["one_call"] = (one, two)
    if "persona" in arms:
        other = arms["persona"]
        one, two = (other, as_it_is) if probed.is_persona_first else (as_it_is, other)
        found["persona_first"] = (one, two)
    if "length" in arms:
        found["said_again"] = (as_it_is, arms["length"])
    if "plain" in arms or "formatted" in arms:
        nothing = np.full(as_it_is.shape, np.nan)
        plain, formatted = arms.get("plain", nothing), arms.get("formatted", nothing)
        # A response stands on one side as it is, and on the other in the form that it had not.
        has_other = ~(np.isnan(plain) & np.isnan(formatted))
        as_it_was = np.where(has_other, as_it_is, np.nan)
        found["markdown"] = (
            np.where(np.isnan(plain), as_it_was, plain),
            np.where(np.isnan(formatted), as_it_was, formatted),
        )
    return found


def _composite(values: Floats) -> Floats:
    """Shape (R, J): mean over criteria, then over askings."""
    return mean_of_known(values.mean(axis=3), axis=2)


def _shift(before: Floats, after: Floats, base: JudgeScores) -> Floats:
    values = shift_by_prompt(before, after, base.prompt, base.prompts)
    return values[np.unique(base.prompt)]


def _order(found: _Figures, probed: Probed) -> None:
    base = probed.base
    plain, turned = (mean_of_known(v, axis=2) for v in (base.values, probed.arms["order"]))
    given = (probed.turn, base.prompt, base.prompts)
    mine = np.unique(base.prompt)
    found.by_prompt("order", place_slope_by_prompt(plain, turned, *given)[mine])
    for model, places in _by_model(base).items():
        values = place_slope_by_prompt(plain[:, places], turned[:, places], *given)[mine]
        found.add_model("order", model, found.mean(OF_ID["order"].estimator, values)[0])
    effects = place_effects(plain, turned, *given, level=found.config.level)
    for place, one in enumerate(effects, start=1):
        told = replace(one, universe=UNIVERSE)
        found.out.add("places", "effect", told, item=str(place))


def _calls(found: _Figures, probed: Probed) -> None:
    """How far criteria are more alike where one call asks for all of them."""
    base = probed.base
    first, other = base.values[:, :, 0], probed.arms["calls"][:, :, 0]
    both = np.asarray(~np.isnan(first + other).any(axis=2), dtype=bool)
    first, other = (np.where(both[..., None], one, np.nan) for one in (first, other))
    together, apart = (other, first) if probed.is_apart else (first, other)
    for detail, values in (("together", together), ("apart", apart)):
        _correlations(found, detail, values, base.prompt)

    def falls(places: Integers) -> float:
        return mean_correlation(criterion_correlation(together[places])) - mean_correlation(
            criterion_correlation(apart[places])
        )

    fall = over_prompts(
        falls, base.prompt, counts=compared_responses(together),
        method=OF_ID["halo_calls"].estimator, level=found.config.level,
    )  # fmt: skip
    found.statistic("halo_calls", fall)


def _consistency(found: _Figures, stored: JudgeScores, probed: Probed | None) -> None:
    sources: list[tuple[Factor, JudgeScores]] = []
    if stored.has_repeats or probed is None or not probed.base.has_repeats:
        sources.append(("stored", stored))
    if probed is not None and probed.base.has_repeats:
        sources.append(("probe", probed.base))
    for factor, scores in sources:
        n_judges, n_criteria = scores.values.shape[1], scores.values.shape[3]
        single = scores.values.transpose(0, 1, 3, 2).reshape(
            len(scores.ids), n_judges * n_criteria, -1
        )
        for criterion, table in ((COMPOSITE, scores.composites), ("one criterion", single)):
            spread, equal = repeat_spread(
                table, scores.prompt, scores.prompts, level=found.config.level
            )
            keys = {"criterion": criterion, "factor": factor}
            found.out.add("consistency", "SD", replace(spread, universe=UNIVERSE), **keys)
            found.out.add("consistency", "equal", replace(equal, universe=UNIVERSE), **keys)


# From two runs


def _drift(found: _Figures, earlier: Earlier | None) -> None:
    if earlier is None:
        found.none("drift", NO_EARLIER)
        return
    if earlier.reason is not None:
        found.none("drift", earlier.reason)
        return
    mine = np.unique(earlier.prompt)

    def change(places: Sequence[int] | slice) -> Floats:
        values = shift_by_prompt(
            earlier.before[:, places], earlier.after[:, places], earlier.prompt, earlier.prompts
        )
        return values[mine]

    label = OF_ID["drift"].estimator
    found.by_prompt("drift", change(slice(None)))
    if len(earlier.models) < 2:
        return
    for model in dict.fromkeys(earlier.models):
        places = [k for k, name in enumerate(earlier.models) if name == model]
        found.add_model("drift", model, found.mean(label, change(places))[0])
    judges = [found.mean(label, change([k]))[0] for k in range(len(earlier.models))]
    adjusted = adjusted_by_holm(judges, [f"{len(judges)} judges, Holm"] * len(judges))
    for persona, model, one in zip(earlier.personas, earlier.models, adjusted, strict=True):
        verdict = effect_verdict(one, alpha=1 - found.config.level)
        told = consistent(replace(one, verdict=verdict, universe=UNIVERSE))
        found.out.add("drift by judge", "effect", told, persona=persona, model=model)
