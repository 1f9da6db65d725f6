"""The cells of one target, as a person reads them on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..aggregation.degradation import Degradation
from ..aggregation.degradation_cells import DegradationCell
from ..formats import listed
from ..number import heading, item, table
from .cell_words import HIGH_CEILING, ceiling_text, is_high, limits, needed_note, p_text, signed

MARKS = {"changed": "*", "robust": "=", "undecided": "?"}
CEILING_MARK = "^"
MEAN = "mean"


def cell_lines(found: Degradation, target: str, codes: dict[str, str], noun: str) -> list[str]:
    """Every cell of a target, with what makes it changed, robust or undecided.

    Args:
        found: the figures.
        target: whose cells.
        codes: dimension to its short heading.
        noun: what the conditions are called.
    """
    lines = heading(f"{target}: delta by {noun} and dimension")
    rows = []
    for condition in found.variants:
        columns = (*found.dimensions, None)
        rows.append([condition, *(_marked(found.cell(target, condition, d)) for d in columns)])
    lines += table([noun, *(codes[d] for d in found.dimensions), MEAN], rows)
    legend = ", ".join(f"{code} {name.replace('_', ' ')}" for name, code in codes.items())
    lines += item("", legend)
    mine = [c for c in found.cells if c.target == target and c.dimension is not None]
    tests = next((f.n_tests for f in found.families if target in f.targets), len(mine))
    counts = {name: sum(c.verdict == name for c in mine) for name in MARKS}
    lines += item(
        "",
        f"* changed: {counts['changed']} (Holm over {tests} cells, p at most {found.alpha:g}); "
        f"= robust: {counts['robust']} (inside ±{found.margin:g} points, and the noise floor "
        f"below it); ? undecided: {counts['undecided']}",
    )
    lines += _changed([c for c in mine if c.verdict == "changed"], codes)
    lines += _undecided(mine, codes)
    lines += _at_the_top(mine, codes, noun)
    return lines


def dimension_codes(dimensions: Sequence[str]) -> dict[str, str]:
    """A short heading for each dimension: its initials, or more letters where two share them."""
    codes: dict[str, str] = {}
    for name in dimensions:
        code = "".join(part[0] for part in name.split("_") if part).upper()
        codes[name] = code
    if len(set(codes.values())) < len(codes) or any(len(code) < 2 for code in codes.values()):
        return {name: name[:8] for name in dimensions}
    return codes


def _changed(cells: Sequence[DegradationCell], codes: dict[str, str]) -> list[str]:
    """Changed cells; prompts and ceilings have a column where they differ or matter."""
    if not cells:
        return []
    header = ["changed", "delta", "95% interval", "Holm p", "max-T p"]
    rows = []
    is_uneven = any(cell.n_prompts != cell.n_planned for cell in cells)
    is_at_top = any(is_high(cell) for cell in cells)
    for cell in cells:
        small = " (small)" if cell.within_margin else ""
        row = [
            f"{_name(cell, codes)}{small}",
            signed(cell.mean),
            limits(cell.interval),
            p_text(cell.p_holm),
            p_text(cell.p_max_t),
        ]
        if is_uneven:
            row.append(f"{cell.n_prompts} of {cell.n_planned}")
        if is_at_top:
            row.append(ceiling_text(cell))
        rows.append(row)
    header += ["prompts"] if is_uneven else []
    header += ["at top"] if is_at_top else []
    lines = table(header, rows)
    if any(cell.within_margin for cell in cells):
        lines += item("", "(small): significant, and shown to be inside the margin all the same")
    return lines


def _undecided(cells: Sequence[DegradationCell], codes: dict[str, str]) -> Iterator[str]:
    """Undecided cells by reason, so that twenty cells of one reason are one line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if cell.verdict != "undecided":
            continue
        name = _name(cell, codes)
        if cell.prompts_needed is not None:
            name += f" ({cell.prompts_needed} prompts)"
        groups.setdefault((_kind_of_reason(cell), needed_note(cell)), []).append(name)
    for (reason, note), names in groups.items():
        said = f" ({note})" if note else ""
        yield from item("undecided", f"{reason}{said}: {listed(names, most=40)}")
    undecided = [cell for cell in cells if cell.prompts_needed is not None]
    if not undecided:
        return
    is_for_both = any(cell.prompts_needed_for != "changed" for cell in undecided)
    yield from item(
        "",
        "in brackets: prompts that would decide the cell at 80% power, a change of the margin as "
        "changed"
        + (" and no change as robust" if is_for_both else "")
        + ("" if is_for_both else "; without a measured noise floor no number makes it robust"),
    )


def _at_the_top(
    cells: Sequence[DegradationCell], codes: dict[str, str], noun: str
) -> Iterator[str]:
    """Every cell with many judgments at the top of the scale; changed ones have their column."""
    high = [cell for cell in cells if is_high(cell)]
    for verdict in ("robust", "undecided"):
        names = [f"{_name(c, codes)} {ceiling_text(c)}" for c in high if c.verdict == verdict]
        if names:
            mark = f" {CEILING_MARK}" if verdict == "robust" else ""
            yield from item(f"{verdict}, at top{mark}", listed(names, most=40))
    if high:
        yield from item(
            "", f"at top: share of judgments at the top of the scale, at the baseline / under the "
            f"{noun}, where it is above {HIGH_CEILING:.0%}; there a rise can no longer show, and "
            "that nothing moves says less",
        )  # fmt: skip


def _kind_of_reason(cell: DegradationCell) -> str:
    if cell.interval.reason:
        return cell.interval.reason
    parts = []
    if not cell.equivalence.is_equivalent:
        parts.append(f"neither significant nor shown inside ±{cell.margin:g}")
    if cell.noise.reason:
        parts.append("the noise floor is not below the margin or was not measured")
    return " and ".join(parts) or str(cell.reason)


def _name(cell: DegradationCell, codes: dict[str, str]) -> str:
    return f"{cell.condition} {codes[cell.dimension or '']}"


def _marked(cell: DegradationCell) -> str:
    if math.isnan(cell.mean):
        return "undef."
    top = CEILING_MARK if cell.verdict == "robust" and is_high(cell) else ""
    return f"{signed(cell.mean)}{MARKS[cell.verdict]}{top}"
