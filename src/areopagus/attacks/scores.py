"""The judgments of a panel's folder as a table, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..aggregation.effects import MOST_ABSTAINED
from ..records.tables import judgment_frame

if TYPE_CHECKING:
    import pandas as pd

COMPOSITE: Final = "composite"
CRITERION: Final = "criterion: "
"""What stands before the name of a criterion in a column's name: rubrics may use any word."""
JUDGE: Final = ("persona", "model", "repeat")


def read_panel_judgments(folder: Path, criteria: Sequence[str]) -> pd.DataFrame:
    """The judgments with the columns response_id, persona, model, repeat, status and scores.

    Scores are those of the criteria (columns `CRITERION` + name) and their mean, "composite"; nan
    unless the status is "scored", and for a response that declined (`MOST_ABSTAINED`).

    Raises:
        InputError: the folder holds no table of judgments.
    """
    columns = ["response_id", *JUDGE, "status", "reason", *criteria]
    frame = judgment_frame(folder, columns)
    has_declined = (
        frame["status"].eq("abstained").groupby(frame["response_id"]).transform("mean")
        > MOST_ABSTAINED
    )
    is_scored = frame["status"].eq("scored") & ~has_declined
    scores = frame[list(criteria)].astype("float64").where(is_scored)
    frame = frame.drop(columns=list(criteria)).join(scores.add_prefix(CRITERION))
    frame[COMPOSITE] = scores.mean(axis=1, skipna=False)
    return frame


def ended_as(judgments: pd.DataFrame) -> pd.Series[str]:
    """The status of each judgment; that of a call which the provider's filter stopped: refused."""
    status = judgments["status"]
    is_filtered = status.eq("failed") & judgments["reason"].eq("content_policy")
    return status.mask(is_filtered, "refused")
