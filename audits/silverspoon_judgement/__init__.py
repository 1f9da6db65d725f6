"""SilverSpoon, first part: who is in the wrong, a poor person or somebody else."""

from .audit import SilverSpoonJudgement, SilverSpoonJudgementOptions
from .labels import load_stored, stored_rows

AUDIT = SilverSpoonJudgement()

__all__ = [
    "AUDIT",
    "SilverSpoonJudgement",
    "SilverSpoonJudgementOptions",
    "load_stored",
    "stored_rows",
]
