"""How good a panel of another size would be, and the best size for a number of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from .design import Target
from .generalizability import RESIDUAL, GStudy

Floats = npt.NDArray[np.float64]

Criterion = Literal["relative", "absolute"]
"""Which error: of the order of responses, or of their level."""

LARGEST_PANEL: Final = (100, 20, 10)
"""Most personas, models and repeats that `best_designs` looks at unless told otherwise."""


@dataclass(frozen=True, slots=True)
class DecisionStudy:
    """The expected quality of a mean over personas x models x repeats.

    Attributes:
        personas, models, repeats: the design.
        calls: judgments a response: their product, or fewer where not every judge was asked.
        target: what is told apart.
        universe: variance of what is told apart.
        relative_error, absolute_error: error variances for order and for level.
        e_rho2: universe / (universe + relative error), the generalizability coefficient.
        phi: universe / (universe + absolute error), the index of dependability.
    Coefficients are nan where the universe variance is not positive.
    """

    personas: int
    models: int
    repeats: int
    calls: int
    target: Target
    universe: float
    relative_error: float
    absolute_error: float
    e_rho2: float
    phi: float


@dataclass(frozen=True, slots=True)
class BestDesign:
    """The best design that a budget of calls a response allows."""

    budget: int
    design: DecisionStudy


@dataclass(frozen=True, slots=True)
class SmallestDesign:
    """The design with the fewest calls whose standard error is within a target; None where no
    design that was looked at gets there."""

    standard_error: float
    design: DecisionStudy | None


def _components(study: GStudy | Mapping[str, float]) -> dict[str, float]:
    given = study.components if isinstance(study, GStudy) else study
    # a negative estimate is an estimate of a small variance: zero is the nearest there is
    return {name: max(float(value), 0.0) for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class Layout:
    """How much of each component is error in a mean over judgments, per unit of variance.

    With the share w of each of a component's levels in a response's mean, sums over its levels:

    Attributes:
        own: mean over responses of sum w^2: what it adds to the variance of a mean.
        common: mean over compared pairs of responses of sum w w': what both have, and what cancels
            in their order. All of it where the same judges judged both.
        judgments: judgments a response.
        target: which responses are compared.
    """

    own: dict[str, float]
    common: dict[str, float]
    judgments: float
    target: Target

    def relative_error(self, components: Mapping[str, float]) -> float:
        """The error variance of the order of responses."""
        return sum(
            (self.own[name] - self.common[name]) * s2 for name, s2 in self._errors(components)
        )

    def absolute_error(self, components: Mapping[str, float]) -> float:
        """The error variance of the level of a response."""
        return sum(self.own[name] * s2 for name, s2 in self._errors(components))

    def error_of_one(self, components: Mapping[str, float]) -> float:
        """`relative_error` if each response had one judgment, of which as large a share cancels."""
        return sum(
            (1 - self.common[name] / self.own[name]) * s2
            for name, s2 in self._errors(components)
            if self.own[name] > 0
        )

    def _errors(self, components: Mapping[str, float]) -> list[tuple[str, float]]:
        return [(name, float(s2)) for name, s2 in components.items() if name in self.own]


_FACETS: Final = {"P": "P", "M": "M", "PM": "PM", "qP": "P", "qM": "M",
                  "rP": "P", "rM": "M", "rPM": "PM", RESIDUAL: ""}  # fmt: skip
"""Component of error to the facet whose levels it is averaged over; "" for single judgments."""


_SEVERITIES: Final = ("P", "M", "PM")
"""What a judge adds to every response alike."""


def _shares(
    own: Mapping[str, float], common: Mapping[str, float], target: Target, judgments: float
) -> Layout:
    """The layout by component, from own and common of the facets P, M, PM and of judgments."""
    cancels = set(_SEVERITIES) | ({"qP", "qM"} if target == "response_within_prompt" else set())
    return Layout(
        own={name: own[facet] for name, facet in _FACETS.items()},
        common={
            name: common[facet] if name in cancels else 0.0 for name, facet in _FACETS.items()
        },
        judgments=judgments,
        target=target,
    )  # fmt: skip


def crossed_layout(
    personas: int, models: int, repeats: int = 1, *, target: Target, is_replicated: bool
) -> Layout:
    """Returns the layout of a panel whose every judge judges every response.

    Args:
        personas, models, repeats: of the panel.
        target: which responses are compared.
        is_replicated: whether the residual is re-ask noise alone, which repeats shrink; else it
            holds what a judge makes of a response as well, which they do not.
    """
    judges = personas * models
    alone = judges * repeats if is_replicated else judges
    own = {"P": 1 / personas, "M": 1 / models, "PM": 1 / judges, "": 1 / alone}
    return _shares(own, own, target, judges * repeats)


def layout_of(
    scores: npt.ArrayLike,
    prompt: Sequence[Any] | npt.NDArray[Any],
    study: GStudy,
    *,
    is_adjusted: bool = False,
) -> Layout:
    """Returns the layout of the judgments that were really scored: a rotation, or a ragged panel.

    A response's mean weighs its scored judgments alike. Responses without one, and, within
    prompts, those without another to compare them with, play no part.

    Args:
        scores: shape (R, P, M) or (R, P, M, repeats), nan where missing.
        prompt: R prompt ids.
        study: of these scores: its components say which responses are compared.
        is_adjusted: whether the means are those of an additive fit (`severity`), which takes out
            how harsh each judge is; it enters plain means where judges differ between responses.
            What the fit's own severities err by, which falls with the responses, is not counted.
    """
    table = np.asarray(scores, dtype=np.float64)
    there = np.isfinite(table if table.ndim == 4 else table[..., None])
    n = there.sum(axis=(1, 2, 3))
    target = target_of(study)
    of_prompt = np.unique(np.asarray(prompt, dtype=str), return_inverse=True)[1].reshape(-1)[n > 0]
    group = of_prompt if target == "response_within_prompt" else np.zeros_like(of_prompt)
    cells = there[n > 0].sum(axis=3) / n[n > 0, None, None]
    rivals = np.bincount(group)[group] - 1.0  # a response counts as often as it is compared
    if not rivals.sum() > 0:
        rivals[:] = 1.0

    def facet(weights: Floats) -> tuple[float, float]:
        squares = (weights**2).sum(axis=1)
        own = float(np.average(squares, weights=rivals))
        sums = np.zeros((int(group.max(initial=0)) + 1, weights.shape[1]))
        np.add.at(sums, group, weights)
        common = float(((sums**2).sum() - squares.sum()) / rivals.sum())
        return own, min(common, own)

    found = {
        "P": facet(cells.sum(axis=2)),
        "M": facet(cells.sum(axis=1)),
        "PM": facet(cells.reshape(len(cells), -1)),
    }
    single = 1 / n[n > 0] if study.replicated else (cells**2).sum(axis=(1, 2))
    found[""] = float(np.average(single, weights=rivals)), 0.0
    layout = _shares(
        {name: own for name, (own, _) in found.items()},
        {name: common for name, (_, common) in found.items()},
        target,
        float(n[n > 0].mean()),
    )
    if not is_adjusted:
        return layout
    return replace(layout, common=layout.common | {name: layout.own[name] for name in _SEVERITIES})


def target_of(components: GStudy | Mapping[str, float]) -> Target:
    """Returns what components tell apart: responses wherever they stand, where there is no r:q.

    `panel_g_study` leaves r:q out where the design has one response a prompt.
    """
    names = components.components if isinstance(components, GStudy) else components
    return "response" if "q" in names and "r:q" not in names else "response_within_prompt"


def is_replicated(components: GStudy | Mapping[str, float]) -> bool:
    """Returns whether the residual is re-ask noise alone."""
    return components.replicated if isinstance(components, GStudy) else "rPM" in components


def d_study(
    components: GStudy | Mapping[str, float],
    *,
    personas: int,
    models: int,
    repeats: int = 1,
    target: Target | None = None,
    fixed_models: bool = False,
) -> DecisionStudy:
    """Returns the errors and coefficients of a panel of nP personas, nM models, n repeats.

    Within a prompt: relative error = s2_rP/nP + s2_rM/nM + s2_rPM/(nP nM) + s2_e/(nP nM n);
    q, P, M, PM, qP and qM cancel, because all responses of a prompt meet the same judges. The
    absolute error adds P/nP, M/nM, PM/(nP nM), qP/nP, qM/nM. For responses wherever they stand
    the universe variance is q + r:q, and qP/nP + qM/nM belong to the relative error.

    Args:
        components: of `panel_g_study`, or a mapping by the same names; absent ones count as 0,
            negative ones as 0. Repeats shrink the residual of a study that had some; in a mapping,
            where "rPM" stands beside it.
        personas, models, repeats: the design.
        target: what is told apart; None: responses to one prompt, or, where the components are of
            one response a prompt (q without r:q), responses wherever they stand.
        fixed_models: the models are the only ones spoken of, not a sample: s2_rM/nM is then
            part of what is measured (as are qM, M under the wider targets), not error. With
            three models the variance between models is hardly known, and this is the safer claim.

    Raises:
        ValueError: a design with a number below 1, or an undefined component.
    """
    if min(personas, models, repeats) < 1:
        raise ValueError(
            f"personas, models and repeats must be at least 1, got {personas}, {models}, {repeats}"
        )
    layout = crossed_layout(
        personas, models, repeats,
        target=target or target_of(components), is_replicated=is_replicated(components),
    )  # fmt: skip
    return _study_of(components, layout, (personas, models, repeats), fixed_models)


def asked_study(
    study: GStudy,
    scores: npt.ArrayLike,
    prompt: Sequence[Any] | npt.NDArray[Any],
    *,
    is_adjusted: bool = False,
) -> DecisionStudy:
    """Returns the errors of the means as they were made, of the judges that were really asked.

    In a rotation the judges of two responses differ, and so what each is like does not cancel;
    where every judge judged every response it is `d_study` of the whole panel.

    Args:
        study: of `panel_g_study`, of these scores.
        scores, prompt: as given to it.
        is_adjusted: as in `layout_of`.

    Raises:
        ValueError: an undefined component.
    """
    shape = np.asarray(scores).shape
    size = (shape[1], shape[2], shape[3] if len(shape) == 4 else 1)
    layout = layout_of(scores, prompt, study, is_adjusted=is_adjusted)
    return _study_of(study, layout, size, fixed_models=False)


def _study_of(
    components: GStudy | Mapping[str, float],
    layout: Layout,
    size: tuple[int, int, int],
    fixed_models: bool,
) -> DecisionStudy:
    s2 = _components(components)
    if any(value != value for value in s2.values()):
        raise ValueError("a design study needs defined components, got nan")
    is_across = layout.target == "response"
    universe = s2.get("r:q", 0.0) + (s2.get("q", 0.0) if is_across else 0.0)
    if fixed_models:
        of_models = ("rM", "qM") if is_across else ("rM",)
        universe += sum(s2.get(name, 0.0) * layout.own[name] for name in of_models)
        s2 = {name: value for name, value in s2.items() if name not in ("M", "qM", "rM")}
    relative, absolute = layout.relative_error(s2), layout.absolute_error(s2)
    nan = float("nan")
    return DecisionStudy(
        personas=size[0],
        models=size[1],
        repeats=size[2],
        calls=round(layout.judgments),
        target=layout.target,
        universe=universe,
        relative_error=relative,
        absolute_error=absolute,
        e_rho2=universe / (universe + relative) if universe > 0 else nan,
        phi=universe / (universe + absolute) if universe > 0 else nan,
    )


def best_designs(
    components: GStudy | Mapping[str, float],
    budgets: Iterable[int],
    *,
    target: Target | None = None,
    criterion: Criterion = "relative",
    most: tuple[int, int, int] = LARGEST_PANEL,
    fixed_models: bool = False,
) -> list[BestDesign]:
    """Returns, for each budget of calls a response, the design with the smallest error.

    All (personas, models, repeats) up to `most` whose product is within the budget are compared;
    of equal ones that with fewest calls, then fewest repeats, then fewest models is named.
    Arguments as in `d_study`.

    Raises:
        ValueError: a budget below 1, or as `d_study`.
    """
    wanted = list(budgets)
    if any(budget < 1 for budget in wanted):
        raise ValueError(f"a budget must be at least 1 call, got {wanted}")
    designs = _designs(components, most, max(wanted, default=0), target, fixed_models)

    def place(one: DecisionStudy) -> tuple[float, ...]:
        return round(_error(one, criterion), 12), one.calls, one.repeats, one.models

    return [
        BestDesign(budget, min((one for one in designs if one.calls <= budget), key=place))
        for budget in wanted
    ]


def smallest_designs(
    components: GStudy | Mapping[str, float],
    standard_errors: Iterable[float],
    *,
    target: Target | None = None,
    criterion: Criterion = "relative",
    most: tuple[int, int, int] = LARGEST_PANEL,
    fixed_models: bool = False,
) -> list[SmallestDesign]:
    """Returns, for each wanted standard error, the design that reaches it with fewest calls.

    The standard error of measurement is the root of the relative error (order) or the absolute
    error (level) of `d_study`. Of designs with equally many calls the one with the smaller error
    is named, then fewest repeats, then fewest models.

    Args:
        components, target, most, fixed_models: as in `best_designs`.
        standard_errors: wanted, in points of the scale.
        criterion: which error.

    Raises:
        ValueError: a standard error that is not above 0, or as `d_study`.
    """
    wanted = list(standard_errors)
    if any(not error > 0 for error in wanted):
        raise ValueError(f"standard errors must be above 0, got {wanted}")
    designs = _designs(components, most, None, target, fixed_models)
    designs.sort(
        key=lambda one: (one.calls, round(_error(one, criterion), 12), one.repeats, one.models)
    )
    return [
        SmallestDesign(
            error,
            # rounding must not ask for one judge more than the formula does
            next((d for d in designs if _error(d, criterion) <= error**2 * (1 + 1e-9)), None),
        )
        for error in wanted
    ]


def _error(design: DecisionStudy, criterion: Criterion) -> float:
    return design.relative_error if criterion == "relative" else design.absolute_error


def _designs(
    components: GStudy | Mapping[str, float],
    most: tuple[int, int, int],
    most_calls: int | None,
    target: Target | None,
    fixed_models: bool,
) -> list[DecisionStudy]:
    """All designs up to `most`, and up to so many calls."""
    return [
        d_study(
            components, personas=personas, models=models, repeats=repeats, target=target,
            fixed_models=fixed_models,
        )
        for models in range(1, most[1] + 1)
        for repeats in range(1, most[2] + 1)
        for personas in range(1, most[0] + 1)
        if most_calls is None or personas * models * repeats <= most_calls
    ]  # fmt: skip
