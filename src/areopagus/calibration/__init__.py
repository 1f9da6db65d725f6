"""Calibration of a panel against human judgments, and the agreement of people alone.

Names are resolved when they are first used: the report of a run needs a corner of this alone.
"""

from __future__ import annotations

from ..lazy import lazy_imports

_HOME = {
    "RESULT_FORMAT": ".result",
    "SAVED_FORMAT": ".saved",
    "AgreementReport": ".result",
    "Applied": ".saved",
    "Calibration": ".result",
    "Estimate": "..aggregation.estimate",
    "agreement": ".api",
    "apply": ".saved",
    "calibrate": ".api",
    "load": ".saved",
    "save": ".saved",
    "write_figures": ".figures",
}

__all__ = [
    "RESULT_FORMAT",
    "SAVED_FORMAT",
    "AgreementReport",
    "Applied",
    "Calibration",
    "Estimate",
    "agreement",
    "apply",
    "calibrate",
    "load",
    "save",
    "write_figures",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
