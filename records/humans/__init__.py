"""Human judgments from files: any tool's export to one long table, matched against a run."""

from .blinding import SourceMap, read_source_map
from .columns import LAYOUTS, HumanColumns, read_column_map
from .match import MatchReport, match, off_scale
from .reading import Exclusion, HumanReading, JudgmentReading, read_humans, read_judgments
from .surveys import read_roster
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
