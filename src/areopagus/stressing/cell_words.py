"""Numbers and cells of a stress test in words, the same in the report and on the page."""

from __future__ import annotations

import math

from ..aggregation.degradation_cells import DegradationCell
from ..aggregation.estimate import Estimate
from .table import ConditionCounts

HIGH_CEILING = 0.1
"""Share of judgments at the top of the scale above which a cell is said to stand there."""


def noun_of(is_supplied: bool) -> str:
    """What the variants are called: framings where prompts were rewritten into them."""
    return "condition" if is_supplied else "framing"


def is_high(cell: DegradationCell) -> bool:
    """Whether more than a tenth of either arm's judgments stand at the top of the scale.

    There a rise can no longer show, and neither can all of a fall from above it: that such a cell
    does not move says less.
    """
    return max(cell.ceiling.baseline, cell.ceiling.variant) > HIGH_CEILING


def ceiling_text(cell: DegradationCell) -> str:
    """Both shares at the top: baseline / variant."""
    return f"{_share(cell.ceiling.baseline)}/{_share(cell.ceiling.variant)}"


def verdict_text(cell: DegradationCell) -> str:
    """The verdict, with what limits it."""
    if cell.verdict == "changed" and cell.within_margin:
        return "changed (small)"
    if cell.verdict == "robust" and is_high(cell):
        return "robust (at the top)"
    return cell.verdict


def needed_note(cell: DegradationCell) -> str:
    """What an undecided cell's number of prompts is for, or why it has none; "" for the rest."""
    if cell.prompts_needed_reason is not None:
        return f"no number: {cell.prompts_needed_reason}"
    return "as changed only" if cell.prompts_needed_for == "changed" else ""


def once_more(tally: ConditionCounts) -> str:
    """How many of the responses generated once more were scored."""
    return f"{tally.regenerated.get('scored', 0)} of {tally.regenerated.get('planned', 0)}"


def signed(value: float) -> str:
    """A number of points with its sign; "undef." for nan."""
    if math.isnan(value):
        return "undef."
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def p_text(value: float) -> str:
    """A p-value."""
    if math.isnan(value):
        return "undef."
    return "<.0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"


def limits(interval: Estimate) -> str:
    """The ends of an interval."""
    if math.isnan(interval.low):
        return "–"
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}"
