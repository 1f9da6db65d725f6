"""Calibration of a panel against human judgments, and the agreement of people alone.

Names are resolved when they are first used: the report of a run needs a corner of this alone.
"""

from __future__ import annotations

from ..lazy import lazy_imports

_HOME = {
    "Agreement": ".calibration",
    "Applied": ".later_run",
    "Calibration": ".calibration",
    "CalibrationRun": ".calibration",
    "SavedCalibration": ".later_run",
    "agreement": ".calibration",
    "apply": ".later_run",
    "calibrate": ".calibration",
    "load": ".later_run",
}

__all__ = [
    "Agreement",
    "Applied",
    "Calibration",
    "CalibrationRun",
    "SavedCalibration",
    "agreement",
    "apply",
    "calibrate",
    "load",
]

__getattr__, __dir__ = lazy_imports(__name__, _HOME)
