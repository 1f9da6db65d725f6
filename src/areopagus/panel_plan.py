"""`PanelPlan`: the personas, models and repeats that a calibration plans, and a panel chosen by it.

The plan is the D-study behind the tables of `areopagus calibrate`: variance components of single
judgments, and from them the best design for a number of calls, or the smallest for a standard
error. It speaks of as many judges of the calibrated kind, whichever they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InputError, InputFault
from .formats import units
from .records.design import order_of
from .records.estimates import estimate_at

if TYPE_CHECKING:
    from .aggregation.decision_study import DecisionStudy
    from .aggregation.design import Target
    from .graphs.panel_spec import PanelSpec

_COMPARED = ("rubric", "mode", "order", "rationale", "anchors", "template", "scale")
_NAMED_WHERE_SET = ("datamark", "criterion_order", "criterion_calls")
_FEW_LEVELS = 5


@dataclass(frozen=True, slots=True)
class PanelPlan:
    """A design, and what is expected of it.

    Attributes:
        source: the file.
        wish: what it is the best for, in words.
        personas, models, repeats, calls: the design; calls a response, their product.
        target: what the reliability speaks of: the order of responses to one prompt, or, where the
            calibration has one response a prompt, of responses wherever they stand.
        e_rho2: expected reliability of the panel's mean for that order; None where the calibration
            shows no difference between them.
        standard_error: expected, of that order, in points of the scale.
        n_scores: judgments that the calibration rests on.
        levels: "personas" and "models" to how many of them were calibrated.
        without_limit: personas, models, repeats and expected reliability (or None) of the design
            that the calibration names where there are judges enough; None where it is this one.
        panel: what made the calibrated panel that panel; empty where that is not recorded.
    """

    source: str
    wish: str
    personas: int
    models: int
    repeats: int
    calls: int
    target: Target
    e_rho2: float | None
    standard_error: float
    n_scores: int
    levels: Mapping[str, int]
    without_limit: tuple[int, int, int, float | None] | None
    panel: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The fields as run.json holds them."""
        values = asdict(self)
        del values["panel"]
        return values

    def sentences(self) -> list[str]:
        """What a person should know before anything is spent on it."""
        expected = _reliability(self.e_rho2, self.target)
        design = _design(self.personas, self.models, self.repeats)
        size = f"{design}, {units(self.calls, 'call')} a response"
        error = f"a standard error of {self.standard_error:.2f} points"
        basis = f"D-study on {units(self.n_scores, 'judgment')}"
        what = f"expected reliability for the order of {order_of(self.target)}"
        found = [
            f"plan of {self.source}, {self.wish}: {size}",
            f"{what}: {expected}, with {error} ({basis})",
        ]
        if self.without_limit is not None:
            *sizes, value = self.without_limit
            reliability = _reliability(value, self.target)
            found.append(
                f"the calibration itself names {_design(*sizes)} (reliability "
                f"{reliability}), for which this panel has too few judges"
            )
        if self.target == "response":
            found.append(
                "one response a prompt was calibrated: the order of responses to one prompt cannot "
                "be planned"
            )
        alone = [name.removesuffix("s") for name, n in self.levels.items() if n == 1]
        found += [
            f"one {name} was calibrated: what is expected holds for that {name} only, and more of "
            "them cannot be planned"
            for name in alone
        ]
        few = [name for name, n in self.levels.items() if 1 < n < _FEW_LEVELS]
        if few:
            found.append(
                f"only {' and '.join(f'{self.levels[name]} {name}' for name in few)} were "
                "calibrated: how much others would differ is hardly known"
            )
        return found


def read_plan(
    path: str | Path,
    *,
    calls: int | None = None,
    standard_error: float | None = None,
    personas: int | None = None,
    models: int | None = None,
) -> PanelPlan:
    """The best design for a number of calls, or the smallest for a standard error.

    Args:
        path: the folder of a calibration, the run whose calibration it is, or a file of
            `calibrate --json`.
        calls: most calls a response; as many as the calibrated panel made where both are left out.
        standard_error: of the order of responses to one prompt, in points of the scale.
        personas, models: as many as there are to choose from; any number if left out.

    Raises:
        InputError: it holds no plan, or no design of these judges reaches the standard error, or
            what is asked for is no number of calls and no standard error.
    """
    from .aggregation.decision_study import best_designs, smallest_designs
    from .calibration.calibration import figures_of
    from .calibration.decision_study import THIS_PANEL, most_judges, stored_study

    if calls is not None and standard_error is not None:
        raise InputError("a plan is for a number of calls or for a standard error: give one")
    if calls is not None and calls < 1:
        raise InputError(f"a plan is for at least 1 call a response, got {calls}")
    if standard_error is not None and not 0 < standard_error < math.inf:
        raise InputError(f"a plan's standard error is a number above 0, got {standard_error}")
    file, record, estimates = figures_of(path)
    study = stored_study(estimates)
    this = estimate_at(estimates, "designs", "calls", group=THIS_PANEL)
    scores = estimate_at(estimates, "size", "n_scores")
    if this is None or scores is None:
        none = estimate_at(estimates, "designs", "e_rho2", group=THIS_PANEL)
        why = "it has no variance components of a panel's judgments"
        if record.get("kind") == "agreement":
            why = "it compares people with people, and no panel"
        if none is not None and none.reason:
            why = none.reason
        raise InputError([InputFault(str(file), f"holds no plan: {why}")])
    most = most_judges(study)
    limits = (min(most[0], personas or most[0]), min(most[1], models or most[1]), most[2])

    def best(within: tuple[int, int, int]) -> DecisionStudy | None:
        if standard_error is None:
            return best_designs(study, [budget], most=within)[0].design
        return smallest_designs(study, [standard_error], most=within)[0].design

    budget = int(this.value) if calls is None else calls
    wish = (
        f"the best for {units(budget, 'call')} a response"
        if standard_error is None
        else f"the smallest for a standard error of {standard_error:g}"
    )
    design, free = best(limits), best(most)
    if design is None:
        raise _cannot_be_met(file, limits, standard_error or 0.0, free)
    return PanelPlan(
        source=str(file),
        wish=wish,
        personas=design.personas,
        models=design.models,
        repeats=design.repeats,
        calls=design.calls,
        target=design.target,
        e_rho2=_known(design.e_rho2),
        standard_error=math.sqrt(design.relative_error),
        n_scores=scores.n,
        levels={"personas": study.levels.get("P", 1), "models": study.levels.get("M", 1)},
        without_limit=None
        if free is None or free == design
        else (free.personas, free.models, free.repeats, _known(free.e_rho2)),
        panel=_calibrated_panel(record),
    )


def panel_by_plan(panel: PanelSpec, plan: PanelPlan, *, seed: int = 0) -> PanelSpec:
    """A panel of the size of the plan, chosen from a larger one.

    Models are the first ones named. Personas are drawn evenly over their axes.

    Args:
        panel: the larger one.
        plan: how many.
        seed: of the drawing.

    Raises:
        InputError: the panel has fewer personas or models than the plan wants.
    """
    faults = [
        InputFault(plan.source, f"the plan wants {wanted}, the panel has {len(there)}", name)
        for name, wanted, there in (
            ("personas", plan.personas, panel.personas),
            ("models", plan.models, panel.backends),
        )
        if wanted > len(there)
    ]
    if faults:
        raise InputError(
            faults,
            hint="Name more of them: `models`, `personas` or `persona_folders`.",
        )
    from .graphs.panel_spec import drawn_personas

    personas = {persona.id for persona in drawn_personas(panel.personas, plan.personas, seed)}
    models = {backend.spec.name for backend in panel.backends[: plan.models]}
    planned = replace(
        panel,
        judges={
            name: judge
            for name, judge in panel.judges.items()
            if judge.persona.id in personas and judge.model in models
        },
        repeats=plan.repeats,
        notes={**panel.notes, "plan": plan},
    )
    notices = list(plan.sentences())
    who = ", ".join(persona.id for persona in planned.personas)
    where = ", ".join(backend.spec.name for backend in planned.backends)
    notices.append(f"judges of the plan: {who}; on {where}")
    notices += _differences(plan, planned)
    return replace(planned, notices=(*panel.notices, *notices))


def _cannot_be_met(
    file: Path, limits: tuple[int, int, int], standard_error: float, free: DecisionStudy | None
) -> InputError:
    told = (
        f"its plan for a standard error of {standard_error:g} points cannot be met: no design of "
        f"at most {_design(*limits)} reaches it"
    )
    hint = "Wish for a larger `standard_error`, or for a number of calls: `calls`."
    if free is not None:
        needed = _design(free.personas, free.models, free.repeats)
        hint = f"{needed} would: name more judges as `models` and `personas`. {hint}"
    return InputError([InputFault(str(file), told)], hint=hint)


def _differences(plan: PanelPlan, panel: PanelSpec) -> list[str]:
    """Where the chosen panel is of another kind than the calibrated one."""
    if not plan.panel:
        return []
    now, then = panel.identity(), plan.panel
    found = []
    other = [name for name in _COMPARED if name in then and then[name] != now[name]]
    other += [name for name in _NAMED_WHERE_SET if then.get(name) != now.get(name)]
    if other:
        found.append(
            f"the calibrated panel had another {', '.join(other)}: what the plan expects need not "
            "hold"
        )
    strange = [name for name, sha in now["personas"].items() if then["personas"].get(name) != sha]
    strange += [name for name in now["models"] if name not in then["models"]]
    if strange:
        found.append(
            f"not in the calibrated panel: {', '.join(strange)}; the plan takes them for judges "
            "of the same kind"
        )
    return found


def _calibrated_panel(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What made the calibrated panel that panel; empty where it is no run's, or not recorded."""
    panel = record.get("panel")
    is_whole = isinstance(panel, dict) and all(
        isinstance(panel.get(name), dict) for name in ("personas", "models")
    )
    return panel if is_whole and panel else {}


def _design(personas: int, models: int, repeats: int) -> str:
    return " × ".join(
        (units(personas, "persona"), units(models, "model"), units(repeats, "repeat"))
    )


def _reliability(value: float | None, target: Target) -> str:
    if value is None:
        return f"not known: {order_of(target)} are not shown to differ"
    return f"{value:.2f}"


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
