"""What datamarking does: to clean responses, and to the attacks. Everything is scored both ways."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.effects import Effect, consistent, mean_effects, mean_over_prompts
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.jackknife import cut_to_range
from ..formats import estimate, number, p_value, units
from ..records.estimates import Estimates, estimates_by, select
from ..reports.document import Part, Section
from ..reports.views import Measure, estimates_table
from .config import AttackConfig
from .effects import Design, by_same_judges, family_effects
from .outcomes import differences_over_prompts
from .scores import NOT_SCORED, Floats, Scores
from .trials import BaseResponse, Trial

if TYPE_CHECKING:
    import pandas as pd

MARKED_FOLDER: Final = "panel-datamarked"
MARKED_STAGE: Final = "score with marks"


def add_datamarking(
    found: Estimates,
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
    plain: Scores,
    marked: Scores,
    config: AttackConfig,
    *,
    scale: tuple[int, int],
    quorum: float,
) -> None:
    """Adds what datamarking did.

    Tables: `datamark` (group: clean responses, or harmless prose put into them): what marks did to
    scores (`shift`, `equivalence` within the margin) and to the share of judgments without a score
    (`not scored`), in all and by model; `datamark families` (group): what a family did without
    marks (`plain`) and with them (`marked`), in points or, where it asks for no score, as share of
    judgments, by its demand: positive is as demanded. `difference` is marked less plain, tested and
    corrected by Holm over the families.

    Every comparison is between the same judge's judgments of the same responses, the prompt being
    the unit.

    Args:
        found: where they go.
        trials, dataset, asks, config, scale, quorum: as in `effects.estimate`.
        plain, marked: scores of the two arms, with the judges in the same order.
    """
    design = Design.of(trials, dataset, asks, config, scale, quorum)
    for group, kind in (("clean responses", "clean"), ("harmless prose", "control")):
        rows = design.rows(kind)
        if not rows.size:
            continue
        names = dict.fromkeys(plain.models)
        for model in (None, *names) if len(names) > 1 else (None,):
            mine = np.asarray([model in (None, name) for name in plain.models])
            keys = {"group": group} | ({} if model is None else {"model": model})
            models = [name for name, is_mine in zip(plain.models, mine, strict=True) if is_mine]
            sides = [one.composites[rows][:, mine] for one in (marked, plain)]
            most = float(scale[1] - scale[0])
            effect = _benign(design, rows, sides, models, most, margin=config.margin)
            found.add("datamark", "shift", effect.mean, **keys)
            found.add("datamark", "equivalence", effect.equivalence, **keys)
            shares = [one.share_of(NOT_SCORED)[rows][:, mine] for one in (marked, plain)]
            lost = _benign(design, rows, shares, models, 1.0, margin=None)
            found.add("datamark", "not scored", lost.mean, **keys)
    _add_families(found, design, asks, plain, marked)


def _benign(
    design: Design,
    rows: Any,
    sides: Sequence[Floats],
    models: Sequence[str],
    most: float,
    *,
    margin: float | None,
) -> Effect:
    """Marked less plain, by the judges that there are on both sides; at most `most` apart."""
    marked, plain = by_same_judges(sides, models)
    by_prompt = design.by_prompt(rows, marked - plain)
    (effect,) = mean_effects(
        by_prompt[:, None], of="marked − plain", margin=margin, level=design.config.level,
        families=["one test"], margin_families=["one test"],
    )  # fmt: skip
    return replace(effect, mean=cut_to_range(consistent(effect.mean), (-most, most)))


def _add_families(
    found: Estimates, design: Design, asks: Mapping[str, str], plain: Scores, marked: Scores
) -> None:
    names, columns, sides = [], [], []
    for family, aim in asks.items():
        (rows, without), (_, with_marks) = (
            family_effects(design, family, aim, scores) for scores in (plain, marked)
        )
        shown = by_same_judges([without, with_marks], plain.models)
        by_prompt = [design.by_prompt(rows, one) for one in shown]
        names.append(family)
        sides.append(by_prompt)
        columns.append(by_prompt[1] - by_prompt[0])
    config, by_demand = design.config, "as demanded"
    tested = differences_over_prompts(
        columns, what=f"marked − plain, {by_demand}", family="families of attacks",
        alpha=config.alpha, level=config.level,
    )  # fmt: skip
    for family, (before, after), difference in zip(names, sides, tested, strict=True):
        for measure, values in (("plain", before), ("marked", after)):
            mean = mean_over_prompts(values, level=config.level, what=f"{measure}, {by_demand}")
            mean = design.within_reach(mean, asks[family])
            found.add("datamark families", measure, mean, group=family)
        found.add(
            "datamark families", "difference", design.within_reach(difference, asks[family]),
            group=family,
        )  # fmt: skip


def datamark_told(estimates: pd.DataFrame, margin: float) -> Iterator[str]:
    """Whether marks leave clean scores as they are, and what they do to the attacks."""
    rows = estimates_by(select(estimates, "datamark", group="clean responses", model=None), [])
    clean = next((row for _, row in rows), None)
    if clean is None:
        return
    shift, same = clean["shift"], clean["equivalence"]
    size = estimate(shift, is_signed=True)
    if shift.n < MIN_UNITS:
        verdict = f"too few prompts to say more ({units(shift.n, 'prompt')})"
    elif not math.isnan(same.p) and same.p <= 1 - shift.level + 1e-9:
        verdict = f"equivalent within ±{number(margin)}"
    elif shift.verdict == "differs":
        verdict = f"not 0 (p {p_value(shift.p)})"
    else:
        verdict = f"neither shown to differ nor to stay within ±{number(margin)}"
    told = f"Datamarking moves clean scores by {size} points: {verdict}"
    families = estimates_by(select(estimates, "datamark families"), ["group"])
    weaker = [
        str(at["group"])
        for at, row in families
        if row["difference"].verdict == "differs" and row["difference"].value < 0
    ]
    stronger = [
        str(at["group"])
        for at, row in families
        if row["difference"].verdict == "differs" and row["difference"].value > 0
    ]
    told += f"; it weakens {', '.join(weaker)}" if weaker else "; no attack is shown to be weaker"
    yield told + (f", and strengthens {', '.join(stronger)}." if stronger else ".")


def datamark_section(estimates: pd.DataFrame, margin: float) -> Section:
    """The tables."""
    parts: list[Part | None] = [
        estimates_table(
            estimates, "datamark", keys={"group": "what is scored", "model": "model"},
            measures=[
                Measure("shift", "marked − plain", is_signed=True),
                Measure("shift", "p", "p"),
                Measure("shift", "found", "verdict"),
                Measure("equivalence", "p, equivalent", "p"),
                Measure("not scored", "without a score", is_signed=True),
                Measure("shift", "prompts", "n"),
            ],
            caption="What marks do to responses without an attack: points, with the interval over "
            f"prompts; p, equivalent: two one-sided tests against ±{margin:g} points; without a "
            "score: the share of judgments without one, marked minus plain.",
            label="Benign shift",
        ),
        estimates_table(
            estimates, "datamark families", keys={"group": "family"},
            measures=[
                Measure("plain", "without marks", is_signed=True),
                Measure("marked", "with marks", is_signed=True),
                Measure("difference", "difference", is_signed=True),
                Measure("difference", "p (Holm)", "p_adjusted"),
                Measure("difference", "found", "verdict"),
            ],
            caption="What attacks do without marks and with them, beyond harmless prose where "
            "there is a control, by their demand: positive is as demanded. Points; of families "
            "that ask for no score the share of judgments.",
            label="Attacks with and without marks",
        ),
    ]  # fmt: skip
    shown = [part for part in parts if part is not None]
    return Section("datamark", "With and without datamarking", shown)
