"""Calibration of a panel against human judgments, and the agreement of people alone."""

from .api import agreement, calibrate
from .figures import write_figures
from .number import Number
from .result import RESULT_FORMAT, AgreementReport, Calibration
from .saved import SAVED_FORMAT, Applied, apply, load, save

__all__ = [
    "RESULT_FORMAT",
    "SAVED_FORMAT",
    "AgreementReport",
    "Applied",
    "Calibration",
    "Number",
    "agreement",
    "apply",
    "calibrate",
    "load",
    "save",
    "write_figures",
]
