"""Plain tables, the columns of the paper's release among them."""

from __future__ import annotations

from ....errors import InputError, InputFault
from .layout import HumanFile, Layout, Opened


def _open(file: HumanFile) -> Opened:
    if file.has("submission id", "participant id"):
        message = "is a Prolific roster: it names raters and holds no ratings"
        raise InputError(
            [InputFault(str(file.path), message)],
            hint="give the file of answers, and this one as the roster",
        )
    return Opened(file.rows())


ROWS = Layout("rows", lambda file: True, _open)
SCRUB = Layout(
    "scrub", lambda file: file.has("judge_id", "true_id", "true_source", "item_type"), _open
)
