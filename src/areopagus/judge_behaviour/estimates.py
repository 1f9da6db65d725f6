"""The figures of an examination: each bias of the judges as an estimate, or why there is none.

table                keys                        measures
biases               group (which), factor       effect
by model             the same, model             effect
places               item (1 = first)            effect
correlations         detail (as scored, beyond   mean correlation
                     the response, together,
                     apart)
consistency          criterion, factor           SD, equal
drift by judge       persona, model              effect
probes               item                        judgments, words
counts                                           responses, prompts, judgments

Every bias is a mean of one value a prompt (`aggregation.judge_biases`, `aggregation.effects`),
and all of an examination are decided together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import Contrast, Scores, effects
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import mean_of_known, t_interval
from ..aggregation.judge_biases import (
    ByPrompt,
    by_prompt,
    compared_responses,
    criterion_correlation,
    form_slopes,
    jackknifed,
    mean_correlation,
    own_family_by_prompt,
    place_effects,
    place_weights,
    repeat_spread,
)
from ..aggregation.rules import cut, decided
from ..calibration.panel_scores import mean_over_judges
from ..calibration.responses import family_of
from ..records.estimates import Estimates
from .config import JudgesConfig
from .scores import JudgeScores
from .texts import Form

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Factor = Literal["probe", "stored", "two runs"]
COMPOSITE: Final = "composite"
UNIVERSE: Final = "this panel"
NO_PROBE: Final = "needs new calls"
NO_EARLIER: Final = "needs an earlier run of these judges"
NO_CRITERIA: Final = "there is one criterion, so no order and no correlation"


@dataclass(frozen=True, slots=True)
class Bias:
    """One thing that may move judges beside the quality of a response.

    Attributes:
        id: the key `group` of its figures.
        factor: from what it is estimated.
        label: the row of the table.
        when: the end of a sentence: "judges score 0.3 points lower …".
        estimator: of the value of a prompt, or of the statistic of all.
        unit: "points" or "" for a correlation.
        is_association: whether something else may explain it.
        arms: of a difference of two arms, the first less the second.
    """

    id: str
    factor: Factor
    label: str
    when: str
    estimator: str
    unit: Literal["points", ""] = "points"
    is_association: bool = False
    arms: tuple[str, str] | None = None


BIASES: Final = (
    Bias(
        "order", "probe", "order: criterion asked last instead of first",
        "for a criterion asked last instead of first",
        "slope of turned minus plain scores on places moved, from the first place to the last, by "
        "judge, response and criterion",
        arms=("order, turned", "order, plain"),
    ),
    Bias(
        "one_call", "probe", "calls: one for each criterion",
        "where each criterion has a call of its own",
        "composite of one call a criterion minus that of one call for all, by judge and response",
        arms=("apart", "together"),
    ),
    Bias(
        "halo_calls", "probe", "halo: added by one call for all criteria",
        "where one call asks for all of them",
        "mean correlation among criteria over judgments, in one call minus one call each", "",
    ),
    Bias(
        "persona_first", "probe", "persona before the response",
        "where the persona stands before the response",
        "composite with the persona before the response minus that with it behind, by judge and "
        "response",
        arms=("persona first", "persona last"),
    ),
    Bias(
        "said_again", "probe", "repetition: half of the sentences again",
        "where a response repeats half of its sentences",
        "composite of the response with every second sentence again at its end minus as it is, by "
        "judge and response",
        arms=("said again", "as it is"),
    ),
    Bias(
        "markdown", "probe", "markdown: same words, headings and lists",
        "for the same words with headings, lists and bold",
        "composite of the words with headings, lists and bold minus that without, by judge and "
        "response",
        arms=("formatted", "plain"),
    ),
    Bias(
        "own_family", "stored", "own family: the judge's model family",
        "for responses of the judge's own model family",
        "additive fit within the prompt: response + family of judges + own family",
        is_association=True,
    ),
    Bias(
        "length", "stored", "length: twice as many words",
        "for responses with twice as many words",
        "least squares within prompts, respondent held fixed", is_association=True,
    ),
    Bias(
        "formatting", "stored", "formatting: headings, lists or bold",
        "for responses with headings, lists or bold",
        "least squares within prompts, respondent held fixed", is_association=True,
    ),
    Bias(
        "halo", "stored", "halo: extra correlation among criteria",
        "beyond what the responses explain",
        "mean correlation among criteria, means of judges and of responses taken out", "",
        is_association=True,
    ),
    Bias(
        "drift", "two runs", "drift: since the earlier run",
        "than in the earlier run, on the same texts",
        "composite of this run minus that of the earlier one, by judge and text",
        arms=("later", "earlier"),
    ),
)  # fmt: skip
"""In the order of the page; those of one examination are decided together."""

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


def long_table(probed: Probed | None, earlier: Earlier | None) -> pd.DataFrame:
    """One row a judge, response and arm (`Bias.arms`): arm, prompt, item, persona, model, value.

    The value is the composite; of the order, the sum of the criteria with `place_weights`.
    """
    import pandas as pd

    parts = []

    def add(arm: str, values: Floats, of: JudgeScores | Earlier) -> None:
        """Values of shape (R, J) or (R, J, T); responses without any were not asked about."""
        wanted = np.flatnonzero((~np.isnan(values)).reshape(len(values), -1).any(axis=1))
        flat = values[wanted] if values.ndim == 3 else values[wanted][:, :, None]
        row, judge, _ = (axis.ravel() for axis in np.indices(flat.shape))
        names = np.array(of.personas, dtype=object), np.array(of.models, dtype=object)
        parts.append(
            pd.DataFrame(
                {
                    "arm": arm, "prompt": of.prompt[wanted][row], "item": wanted[row],
                    "persona": names[0][judge], "model": names[1][judge], "value": flat.ravel(),
                }
            )
        )  # fmt: skip

    if probed is not None:
        base = probed.base
        as_it_is = base.values.mean(axis=3)
        composites = {name: values.mean(axis=3) for name, values in probed.arms.items()}
        if "order" in probed.arms:
            weights = place_weights(probed.turn, len(base.criteria))[:, None, None, :]
            add("order, turned", (probed.arms["order"] * weights).sum(axis=3), base)
            add("order, plain", (base.values * weights).sum(axis=3), base)
        for name, bias, is_swapped in (
            ("calls", "one_call", probed.is_apart),
            ("persona", "persona_first", probed.is_persona_first),
            ("length", "said_again", False),
        ):
            if name not in probed.arms:
                continue
            changed, usual = OF_ID[bias].arms or ("", "")
            if is_swapped:
                changed, usual = usual, changed
            add(changed, composites[name], base)
            add(usual, as_it_is, base)
        for form, other in (("plain", "formatted"), ("formatted", "plain")):
            # A response stands on one side as it is, and on the other in the form it had not.
            if form in composites:
                add(form, composites[form], base)
                has_other = ~np.isnan(composites[form]).all(axis=(1, 2))
                add(other, np.where(has_other[:, None, None], as_it_is, np.nan), base)
    if earlier is not None and earlier.reason is None:
        add("later", earlier.after, earlier)
        add("earlier", earlier.before, earlier)
    columns = ["arm", "prompt", "item", "persona", "model", "value"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def contrasts_of(table: pd.DataFrame) -> list[Contrast]:
    """The biases that are a difference of two arms of the table."""
    there = set(table["arm"])
    return [
        Contrast(dict(zip(bias.arms, (1.0, -1.0), strict=True)), "value",
                 {"group": bias.id, "factor": bias.factor}, "biases")
        for bias in BIASES
        if bias.arms and set(bias.arms) <= there
    ]  # fmt: skip


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
    figures = _Figures(config, stored.prompts)
    figures.add_differences(long_table(probed, earlier))
    _own_family(figures, stored)
    _forms(figures, stored, forms, lengths)
    _halo(figures, stored)
    _probes(figures, probed)
    _consistency(figures, stored, probed)
    if earlier is None or earlier.reason is not None:
        figures.none("drift", NO_EARLIER if earlier is None else earlier.reason or "")
    figures.add_biases()
    out = figures.out
    n_planned = len(stored.ids) + stored.n_left_out
    out.add("counts", "responses", _counted(len(stored.ids), n_planned, "response"))
    out.add("counts", "prompts", len(np.unique(stored.prompt)))
    out.add("counts", "judgments", _counted(stored.n_scored, stored.n_planned, "judgment"))
    return out


class _Figures:
    """The figures while they are made; biases are decided together at the end."""

    def __init__(self, config: JudgesConfig, n_prompts: int) -> None:
        self.config, self.n_prompts = config, n_prompts
        self.out = Estimates()
        self.biases: dict[str, ByPrompt] = {}
        self.by_model: list[tuple[str, str, ByPrompt]] = []

    def none(self, bias: str, reason: str) -> None:
        """A bias that cannot be estimated."""
        nothing = np.full(self.n_prompts, np.nan)
        self.biases[bias] = by_prompt(nothing, OF_ID[bias].estimator, 0, reason)

    def add_differences(self, table: pd.DataFrame) -> None:
        """The biases that are differences of arms, by all judges and by the judges of a model."""
        contrasts = contrasts_of(table)
        if not contrasts:
            return
        columns = {str(name): table[name] for name in table}
        scores = Scores.of(
            columns, arm="arm", unit="prompt", item="item", persona="persona", model="model",
            columns=("value",),
        )  # fmt: skip
        judges = table[["persona", "model"]].drop_duplicates().reset_index(drop=True)
        for bias, values in self._of_contrasts(scores, contrasts).items():
            self.biases[bias] = values
        models = list(dict.fromkeys(judges["model"]))
        for model in models if len(models) > 1 else ():
            mine = scores.of_judges(judges["model"].eq(model))
            for bias, values in self._of_contrasts(mine, contrasts).items():
                self.by_model.append((bias, model, values))
        drift = [one for one in contrasts if one.keys["group"] == "drift"]
        if drift and len(judges) > 1:
            each = [
                self._of_contrasts(scores.of_judges(judges.index == k), drift)["drift"]
                for k in judges.index
            ]
            rows = self._decided(each, [f"{len(each)} judges"] * len(each))
            for (_, judge), row in zip(judges.iterrows(), rows, strict=True):
                keys = {"persona": str(judge["persona"]), "model": str(judge["model"])}
                self.out.add("drift by judge", "effect", row, **keys)

    def _of_contrasts(self, scores: Scores, contrasts: Sequence[Contrast]) -> dict[str, ByPrompt]:
        figures = {}
        for effect in effects(scores, contrasts, level=self.config.level):
            values = np.full(self.n_prompts, np.nan)
            values[[int(scores.units[k]) for k in effect.units]] = effect.spread
            bias, row = effect.contrast.keys["group"], effect.this_panel
            figures[bias] = by_prompt(
                values,
                OF_ID[bias].estimator,
                row.n_planned or 0,
                row.reason or "no judge scored both",
            )
        return figures

    def _decided(
        self, figures: Sequence[ByPrompt], families: Sequence[str],
        margins: Sequence[float | None] | None = None,
    ) -> list[Estimate]:  # fmt: skip
        rows = decided(
            np.stack([one.values for one in figures], axis=1), families=families, margins=margins,
            level=self.config.level, seed=self.config.seed,
        )  # fmt: skip
        return [_row(row, one) for row, one in zip(rows, figures, strict=True)]

    def add_biases(self) -> None:
        """Decides all biases together, and adds every one."""
        names = [one.id for one in BIASES]
        for name in names:
            if name not in self.biases:
                self.none(name, "no judge scored both")
        of_points = [OF_ID[name].unit == "points" for name in names]
        rows = self._decided(
            [self.biases[name] for name in names], ["biases"] * len(names),
            [self.config.margin if is_points else None for is_points in of_points],
        )  # fmt: skip
        for name, row, is_points in zip(names, rows, of_points, strict=True):
            # A correlation has no difference worth detecting that is known beforehand.
            kept = row if is_points else replace(cut(row, (-1.0, 1.0)), needed=None)
            self.out.add("biases", "effect", kept, group=name, factor=OF_ID[name].factor)
        order = [one.id for one in BIASES]
        for name, model, one in sorted(self.by_model, key=lambda row: order.index(row[0])):
            row = self.bare(one)
            if row.is_defined:
                keys = {"group": name, "factor": OF_ID[name].factor, "model": model}
                self.out.add("by model", "effect", row, **keys)

    def bare(self, one: ByPrompt) -> Estimate:
        """A figure with its interval, about which nothing is decided."""
        return _row(t_interval(one.values, level=self.config.level), one)


def _row(row: Estimate, one: ByPrompt) -> Estimate:
    """The estimate of a figure's values, with what is known of it beside them."""
    if one.reason is not None:
        row = replace(row, value=one.value, reason=one.reason)
    n_used = row.n
    needed = row.needed
    if needed is not None and one.n > n_used:  # of blocks of prompts
        needed = math.ceil(needed * one.n / n_used)
    return replace(
        row, n=one.n, n_planned=one.n_planned, method=one.method, universe=UNIVERSE, needed=needed
    )


def _counted(n: int, n_planned: int, unit: str) -> Estimate:
    return Estimate(n, n=n, n_planned=n_planned, unit=unit, method="count", level=math.nan)


def _by_model(scores: JudgeScores) -> dict[str, list[int]]:
    """Model to the places of its judges; nothing where there is one model."""
    places_of: dict[str, list[int]] = {}
    for place, model in enumerate(scores.models):
        places_of.setdefault(model, []).append(place)
    return places_of if len(places_of) > 1 else {}


# From stored scores


def _own_family(figures: _Figures, stored: JudgeScores) -> None:
    given = figures.config.families
    of_judge = [family_of(name, given) for name in stored.models]
    families = list(dict.fromkeys(of_judge))
    wrote = np.array([family_of(name, given) if name else "" for name in stored.respondents])
    if len(families) < 2:
        figures.none(
            "own_family",
            f"the judges are of one family ({families[0] if families else 'none'}): nobody of "
            "another says what the responses are worth",
        )
        return
    if not np.isin(wrote, families).any():
        figures.none("own_family", "no respondent is of a family of the judges")
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
        figures.none("own_family", why)
        return
    estimator, n_planned = OF_ID["own_family"].estimator, len(np.unique(stored.prompt))
    figures.biases["own_family"] = by_prompt(values, estimator, n_planned, "")
    for k, name in enumerate(families):
        if not own[:, k].any():
            continue
        # Responses of the other judges' families would count theirs against this one's.
        is_own = wrote == name
        rows = np.flatnonzero(is_own | ~np.isin(wrote, families))
        one = is_own[rows, None] & (np.arange(len(families)) == k)[None, :]
        mine = own_family_by_prompt(table[rows], one, stored.prompt[rows], stored.prompts)
        figures.by_model.append(("own_family", name, by_prompt(mine, estimator, n_planned, "none")))


def _forms(
    figures: _Figures, stored: JudgeScores, forms: Sequence[Form] | None, lengths: Floats | None
) -> None:
    if forms is not None:
        lengths = np.array([form.words for form in forms], dtype=np.float64)
    columns: dict[str, Floats] = {}
    if lengths is None:
        figures.none("length", "the run keeps no texts")
    else:
        columns["length"] = np.log2(np.where(lengths > 0, lengths, np.nan))
    if forms is None:
        figures.none("formatting", "the run keeps no texts")
    else:
        columns["formatting"] = np.array([form.is_formatted for form in forms], dtype=np.float64)
    if not columns:
        return
    _, who = np.unique(np.array(stored.respondents, dtype=str), return_inverse=True)
    who = who.reshape(-1).astype(np.int64)
    of = "slopes on doublings of words and on headings, lists or bold"

    def slopes(score: Floats) -> dict[str, ByPrompt]:
        if len(columns) > 1:
            both = form_slopes(
                score, np.stack([*columns.values()], axis=1), stored.prompt, who, stored.prompts,
                of=of,
            )  # fmt: skip
            if math.isfinite(both[0].value):
                return dict(zip(columns, both, strict=True))
        # One of them does not vary: the other is estimated without it.
        return {
            name: form_slopes(
                score, column[:, None], stored.prompt, who, stored.prompts,
                of=f"slope on {OF_ID[name].label}",
            )[0]
            for name, column in columns.items()
        }  # fmt: skip

    by_judge = stored.by_judge
    figures.biases |= slopes(mean_over_judges(by_judge).score)
    for model, places in _by_model(stored).items():
        for name, one in slopes(mean_over_judges(by_judge[:, places]).score).items():
            figures.by_model.append((name, model, one))


def _halo(figures: _Figures, stored: JudgeScores) -> None:
    if len(stored.criteria) < 2:
        figures.none("halo", NO_CRITERIA)
        return
    first = stored.values[:, :, 0]
    _add_correlation(figures, "as scored", _correlation(figures, first, stored.prompt))
    if len(stored.models) < 2:
        figures.none("halo", "one judge: nobody else says what the response deserves")
        return
    beyond = _correlation(figures, first, stored.prompt, beyond=True)
    _add_correlation(figures, "beyond the response", beyond)
    figures.biases["halo"] = beyond
    for model, places in _by_model(stored).items():
        if len(places) > 1:
            one = _correlation(figures, first[:, places], stored.prompt, beyond=True)
            figures.by_model.append(("halo", model, one))


def _add_correlation(figures: _Figures, detail: str, one: ByPrompt) -> None:
    row = cut(figures.bare(one), (-1.0, 1.0))
    figures.out.add("correlations", "mean correlation", row, detail=detail)


def _correlation(
    figures: _Figures, values: Floats, prompt: Integers, *, beyond: bool = False
) -> ByPrompt:
    method = "mean correlation among criteria over judgments, judges' means taken out"
    if beyond:
        method = method.replace("judges' means", "means of judges and of responses")
    return jackknifed(
        lambda places: mean_correlation(
            criterion_correlation(values[places], beyond_response=beyond)
        ),
        prompt, figures.n_prompts, counts=compared_responses(values, beyond_response=beyond),
        method=method,
    )  # fmt: skip


# From new calls


def _probes(figures: _Figures, probed: Probed | None) -> None:
    of_probe = [one.id for one in BIASES if one.factor == "probe"]
    if probed is None:
        for name in of_probe:
            figures.none(name, NO_PROBE)
        return
    base = probed.base
    for arm, (scored, planned) in probed.judgments.items():
        figures.out.add("probes", "judgments", _counted(scored, planned, "judgment"), item=arm)
        if arm in probed.words:
            figures.out.add("probes", "words", probed.words[arm], item=arm)
    for arm, names in (
        ("order", ("order",)),
        ("calls", ("one_call", "halo_calls")),
        ("persona", ("persona_first",)),
        ("length", ("said_again",)),
        ("formatting", ("markdown",)),
    ):
        for name in names:
            if arm in probed.skipped:
                figures.none(name, probed.skipped[arm])
            elif not ({"plain", "formatted"} if arm == "formatting" else {arm}) & set(probed.arms):
                figures.none(name, NO_PROBE)
    if "order" in probed.arms:
        plain, turned = (mean_of_known(v, axis=2) for v in (base.values, probed.arms["order"]))
        places = place_effects(
            plain, turned, probed.turn, base.prompt, base.prompts, level=figures.config.level
        )
        for place, one in enumerate(places, start=1):
            figures.out.add("places", "effect", replace(one, universe=UNIVERSE), item=str(place))
    if "calls" in probed.arms:
        _calls(figures, probed)


def _calls(figures: _Figures, probed: Probed) -> None:
    """How far criteria are more alike where one call asks for all of them."""
    base = probed.base
    first, other = base.values[:, :, 0], probed.arms["calls"][:, :, 0]
    both = np.asarray(~np.isnan(first + other).any(axis=2), dtype=bool)
    first, other = (np.where(both[..., None], one, np.nan) for one in (first, other))
    together, apart = (other, first) if probed.is_apart else (first, other)
    for detail, values in (("together", together), ("apart", apart)):
        _add_correlation(figures, detail, _correlation(figures, values, base.prompt))

    def added(places: Integers) -> float:
        return mean_correlation(criterion_correlation(together[places])) - mean_correlation(
            criterion_correlation(apart[places])
        )

    figures.biases["halo_calls"] = jackknifed(
        added, base.prompt, figures.n_prompts, counts=compared_responses(together),
        method=OF_ID["halo_calls"].estimator,
    )  # fmt: skip


def _consistency(figures: _Figures, stored: JudgeScores, probed: Probed | None) -> None:
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
                table, scores.prompt, scores.prompts, level=figures.config.level
            )
            keys = {"criterion": criterion, "factor": factor}
            figures.out.add("consistency", "SD", replace(spread, universe=UNIVERSE), **keys)
            figures.out.add("consistency", "equal", replace(equal, universe=UNIVERSE), **keys)
