"""Human judgments from files: any tool's export to one long table, matched against a run."""

from .columns import HumanColumns, read_column_map
from .layouts import LAYOUTS
from .match import MatchReport, match, off_scale
from .reading import (
    Exclusion,
    HumanReading,
    JudgmentReading,
    Look,
    look_at,
    read_humans,
    read_judgments,
    read_look,
)
from .side_tables import SourceMap, read_roster, read_source_map
from .table import Coded, HumanTable, LabelTable, PreferenceTable, RatingMatrix

__all__ = [
    "LAYOUTS",
    "Coded",
    "Exclusion",
    "HumanColumns",
    "HumanReading",
    "HumanTable",
    "JudgmentReading",
    "LabelTable",
    "Look",
    "MatchReport",
    "PreferenceTable",
    "RatingMatrix",
    "SourceMap",
    "look_at",
    "match",
    "off_scale",
    "read_column_map",
    "read_humans",
    "read_judgments",
    "read_look",
    "read_roster",
    "read_source_map",
]
