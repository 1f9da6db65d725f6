"""Human judgments from files: any tool's export to one long table, matched against a run."""

from .blinding import SourceMap, read_source_map
from .column_map import LAYOUTS, HumanColumns, read_column_map
from .crowd import read_roster
from .judgments import JudgmentReading, read_judgments
from .match import MatchReport, match, off_scale
from .reading import Exclusion, HumanReading, read_humans
from .table import Coded, HumanTable, RatingMatrix

__all__ = [
    "LAYOUTS",
    "Coded",
    "Exclusion",
    "HumanColumns",
    "HumanReading",
    "HumanTable",
    "JudgmentReading",
    "MatchReport",
    "RatingMatrix",
    "SourceMap",
    "match",
    "off_scale",
    "read_column_map",
    "read_humans",
    "read_judgments",
    "read_roster",
    "read_source_map",
]
