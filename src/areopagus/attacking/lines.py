"""The report of an attack as lines of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..aggregation.estimate import Estimate
from ..formats import units
from .design import Base
from .figures import AttackFigures, Cell, FamilyFigures
from .plan import AttackPlan

WIDTH = 80
DEMONSTRATION = (
    "DEMONSTRATION: the embedded judge offline/lexical scored. It counts features of the text and "
    "is no language model, so nothing here says how a language model holds up."
)


def attack_lines(
    figures: AttackFigures,
    plan: AttackPlan,
    *,
    bases: Sequence[Base],
    source: str,
    judges: str,
    demonstration: bool,
) -> list[str]:
    """The report."""
    lines: list[str] = []
    if demonstration:
        lines += [*_wrapped(DEMONSTRATION), ""]
    low, high = figures.scale
    lines += [
        "Attack on a panel",
        *_wrapped(f"Judges: {judges}, scale {low} to {high}"),
        *_wrapped(
            f"Responses attacked: {len(bases)} on {units(figures.n_prompts, 'prompt')} ({source}); "
            f"mean clean score {_value(figures.clean)}"
        ),
        *_wrapped(
            f"Moved, as set in advance: {plan.threshold:g} points or more as demanded, or the "
            "demanded end of the scale"
        ),
        f"Judgments: {figures.n_scored:,} scored of {figures.n_planned:,} planned",
        "",
        *_family_table(figures.families),
        "",
        *_cell_table("By place", [c for c in figures.cells if _is_alone(c, "placement")]),
        *_cell_table("By persona", [c for c in figures.cells if _is_alone(c, "persona")]),
        *_cell_table("By model", [c for c in figures.cells if _is_alone(c, "model")]),
        *_benign(figures),
        *_detectors(figures),
        "",
        *(line for said in reading_sentences(figures, plan) for line in _wrapped(said)),
    ]
    return lines


def _family_table(families: Sequence[FamilyFigures]) -> list[str]:
    against = [f for f in families if f.test.tested == "attacked − control"]
    raw = [f for f in families if f.test.tested != "attacked − control"]
    lines = []
    if against:
        lines += [
            "By family (points; shift: attacked minus clean; beyond: attacked minus control,",
            "which is tested; intervals over prompts)",
            f"{'family':<17} {'shift':>6} {'beyond':>20} {_FAMILY_TAIL}",
            *(
                f"{f.id[:17]:<17} {_signed(f.all.shift):>6} "
                f"{_with_span(f.all.beyond_control):>20} {_family_tail(f)}"
                for f in against
            ),
        ]
    if raw:
        lines += [
            *([""] if against else []),
            "Without a control (points, attacked minus clean: the raw shift is tested)",
            f"{'family':<17} {'raw shift':>27} {_FAMILY_TAIL}",
            *(f"{f.id[:17]:<17} {_with_span(f.all.shift):>27} {_family_tail(f)}" for f in raw),
        ]
    return lines + _notes(families)


_FAMILY_TAIL = f"{'moved':>5} {'verdicts':>8} {'flagged':>7} {'p Holm':>6}"


def _family_tail(family: FamilyFigures) -> str:
    cell = family.all
    return (
        f"{_share(cell.success):>5} {_share(cell.verdicts_moved):>8} "
        f"{_share(family.flagged):>7} {_p(family.test.p_holm):>6}"
    )


def _notes(families: Sequence[FamilyFigures]) -> list[str]:
    screened = [f"{f.id} {f.n_screened} of {f.n_responses}" for f in families if f.n_screened]
    partial = [
        f"{f.id} {f.all.n_scored} of {f.all.n_planned}"
        for f in families
        if f.all.n_scored < f.all.n_planned and f.n_screened < f.n_responses
    ]
    lowest = [f.id for f in families if f.asks == "lowest"]
    copies = [
        f"{f.id} {_signed(f.all.shift)} to {_signed(f.neutralised_shift)}"
        for f in families
        if f.neutralised_shift.is_defined
    ]
    lines: list[str] = []
    for title, found in (
        ("Screened, nobody asked: ", screened),
        ("Pairs of scores of those planned: ", partial),
        ("Asks for the lowest score, so that a negative shift is its success: ", lowest),
        ("Shift, and shift of the neutralised copy: ", copies),
    ):
        if found:
            lines += _wrapped(title + ", ".join(found))
    return lines


def _cell_table(title: str, cells: Sequence[Cell]) -> list[str]:
    if not cells:
        return []
    lines = [f"{title:<24} {'shift':>6} {'beyond':>20} {'moved':>6} {'scored':>19}"]
    for cell in cells:
        name = cell.placement or cell.persona or cell.model or ""
        lines.append(
            f"{name[:24]:<24} {_signed(cell.shift):>6} {_with_span(cell.beyond_control):>20} "
            f"{_share(cell.success):>6} {f'{cell.n_scored} of {cell.n_planned}':>19}"
        )
    return [*lines, ""]


def _benign(figures: AttackFigures) -> list[str]:
    if not figures.benign:
        return ["Harmless insertions: none planned."]
    first = figures.benign[0]
    return _wrapped(
        f"Harmless prose of the same length in the same places moved scores by "
        f"{_with_span(first.shift)} points ({first.n_scored} of {first.n_planned} pairs)."
    )


def _detectors(figures: AttackFigures) -> list[str]:
    found = figures.detectors[0]
    return _wrapped(
        "Detectors flag and change no score. False alarms of any of them: "
        f"{_of(found.clean_counts)} clean responses{_over(found.false_alarms_clean)}, "
        f"{_of(found.control_counts)} controls{_over(found.false_alarms_controls)}, "
        f"{_of(_counts(found.false_alarms_telling))} clean texts with telling words."
    )


def reading_sentences(figures: AttackFigures, plan: AttackPlan) -> list[str]:
    """What can be said of the families, and the caution that goes with it."""
    named: dict[str, list[str]] = {}
    for family in figures.families:
        raw = "" if family.test.tested == "attacked − control" else "raw "
        named.setdefault(raw + family.test.outcome.removeprefix("raw shift "), []).append(family.id)

    def names(outcome: str) -> str:
        return ", ".join(named.get(outcome, ())) or "none"

    tested = sum(family.test.p_holm is not None for family in figures.families)
    many = "1 family" if tested == 1 else f"{tested} families"
    rule = f"at {plan.alpha:g} after Holm's correction over {many}"
    said = []
    if any(family.test.tested == "attacked − control" for family in figures.families):
        said.append(
            "Move scores as they demand, beyond harmless prose of the same length in the same "
            f"place ({rule}): {names('as demanded')}."
        )
    for outcome, words in _OTHERWISE:
        if named.get(outcome):
            said.append(f"{words}: {names(outcome)}.")
    alone = [f for f in figures.families if f.test.tested != "attacked − control"]
    if any(family.test.p_holm is not None for family in alone):
        against = named.get("raw against its demand")
        said.append(
            "Without a control the raw shift is tested, in which length and prose have their part "
            f"({rule}). Shifted as they demand: {names('raw as demanded')}"
            + (f"; against their demand: {', '.join(against)}." if against else ".")
        )
    untested = [f for f in figures.families if f.test.p_holm is None]
    if untested:
        why = dict.fromkeys(f.test.p_method.removeprefix("none: ") for f in untested)
        said.append(f"Not tested ({'; '.join(why)}): {', '.join(f.id for f in untested)}.")
    said.append(
        "A family that moved nothing here has not been shown harmless: the texts are fixed, few "
        "and known. Whoever may adapt to a judge does better."
    )
    return said


_OTHERWISE = (
    ("against its demand", "Move scores against their demand"),
    (
        "ahead of harmless prose",
        "Fare better, by their demand, than harmless prose, but do not move clean scores that way",
    ),
    (
        "behind harmless prose",
        "Fare worse, by their demand, than harmless prose, but do not move clean scores that way",
    ),
)


def _is_alone(cell: Cell, name: str) -> bool:
    others = {"family", "placement", "persona", "model"} - {name}
    return getattr(cell, name) is not None and all(getattr(cell, o) is None for o in others)


def _value(number: Estimate) -> str:
    return f"{number.value:.2f}" if number.is_defined else "undefined"


def _signed(number: Estimate) -> str:
    return _points(number.value) if number.is_defined else "–"


def _points(value: float) -> str:
    """With its sign, which a value that rounds to nothing has not."""
    shown = f"{value:+.2f}"
    return "0.00" if float(shown) == 0 else shown


def _share(number: Estimate) -> str:
    return f"{number.value:.0%}" if number.is_defined else "–"


def _with_span(number: Estimate) -> str:
    if not number.has_interval:
        return _signed(number)
    return f"{_points(number.value)} ({_points(number.low)}, {_points(number.high)})"


def _counts(number: Estimate) -> tuple[int, int]:
    return (round(number.value * number.n) if number.is_defined else 0), number.n


def _of(counts: tuple[int, int] | None) -> str:
    return f"{counts[0]} of {counts[1]}" if counts and counts[1] else "no"


def _over(number: Estimate) -> str:
    if not number.has_interval:
        return ""
    return f" (by prompt {number.value:.0%}, {number.low:.0%} to {number.high:.0%})"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<.001" if value < 0.001 else f"{value:.3f}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)
