"""How good a panel of another size would be, and the best size for a number of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .generalizability import RESIDUAL, GStudy

Target = Literal["response_within_prompt", "response"]
"""What is told apart: responses to the same prompt, or responses wherever they stand."""

Criterion = Literal["relative", "absolute"]
"""Which error: of the order of responses, or of their level."""

LARGEST_PANEL: Final = (100, 20, 10)
"""Most personas, models and repeats that `best_designs` looks at unless told otherwise."""


@dataclass(frozen=True, slots=True)
class DecisionStudy:
    """The expected quality of a mean over personas x models x repeats.

    Attributes:
        personas, models, repeats: the design; calls is their product.
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


def d_study(
    components: GStudy | Mapping[str, float],
    *,
    personas: int,
    models: int,
    repeats: int = 1,
    target: Target = "response_within_prompt",
    fixed_models: bool = False,
) -> DecisionStudy:
    """Returns the errors and coefficients of a panel of nP personas, nM models, n repeats.

    Within a prompt: relative error = s2_rP/nP + s2_rM/nM + s2_rPM/(nP nM) + s2_e/(nP nM n);
    q, P, M, PM, qP and qM cancel, because all responses of a prompt meet the same judges. The
    absolute error adds P/nP, M/nM, PM/(nP nM), qP/nP, qM/nM. For responses wherever they stand
    the universe variance is q + r:q, and qP/nP + qM/nM belong to the relative error.

    Args:
        components: of `panel_g_study`, or a mapping by the same names; absent ones count as 0,
            negative ones as 0. A residual without an "rPM" beside it holds that interaction
            too, so repeats are not credited with shrinking it.
        personas, models, repeats: the design.
        target: what is told apart.
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
    s2 = _components(components)
    if any(value != value for value in s2.values()):
        raise ValueError("a design study needs defined components, got nan")
    judges = personas * models
    per_call = judges * repeats if "rPM" in s2 else judges
    of_model = 0.0 if fixed_models else 1.0

    def part(name: str, count: int) -> float:
        return s2.get(name, 0.0) / count

    response_error = (
        part("rP", personas)
        + of_model * part("rM", models)
        + part("rPM", judges)
        + part(RESIDUAL, per_call)
    )
    prompt_error = part("qP", personas) + of_model * part("qM", models)
    level_error = part("P", personas) + of_model * part("M", models) + part("PM", judges)
    universe = s2.get("r:q", 0.0) + (part("rM", models) if fixed_models else 0.0)
    relative = response_error
    if target == "response":
        universe += s2.get("q", 0.0) + (part("qM", models) if fixed_models else 0.0)
        relative += prompt_error
        absolute = relative + level_error
    else:
        absolute = relative + prompt_error + level_error
    nan = float("nan")
    return DecisionStudy(
        personas=personas,
        models=models,
        repeats=repeats,
        calls=judges * repeats,
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
    target: Target = "response_within_prompt",
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
    target: Target = "response_within_prompt",
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
    target: Target,
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
