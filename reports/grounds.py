"""What the answers of a panel rest on, in words: what its judges are worth, how near people are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..formats import units
from ..records.estimates import ESTIMATES_FILE, estimate_at, read_estimates

if TYPE_CHECKING:
    from ..aggregation.estimate import Estimate

NOT_CALIBRATED = "not calibrated: nearness to people's judgments is unknown"


def panel_worth(folder: Path | None) -> Estimate | None:
    """How many independent judges a panel's run says its votes are worth; None where it does not.

    Args:
        folder: of the panel's run; None where nothing was judged.
    """
    if folder is None or not (folder / ESTIMATES_FILE).is_file():
        return None
    return estimate_at(read_estimates(folder), "worth", "effective judges")


def judges_told(panel: Mapping[str, Any], worth: Estimate | None) -> str:
    """Who judged, and what the votes on a response are worth.

    Args:
        panel: the part of run.json that describes it.
        worth: from `panel_worth`.
    """
    many = f"{units(len(panel['personas']), 'persona')} × {units(len(panel['models']), 'model')}"
    if worth is None or not worth.is_defined:
        return f"{many}; their worth in independent judges is unknown"
    votes = units(worth.n, "vote")
    return f"{many}: {votes}, worth about {worth.value:.2g} independent ones"
