from .calibration import Agreement as Agreement
from .calibration import Calibration as Calibration
from .calibration import CalibrationRun as CalibrationRun
from .calibration import agreement as agreement
from .calibration import calibrate as calibrate
from .later_run import Applied as Applied
from .later_run import SavedCalibration as SavedCalibration
from .later_run import apply as apply
from .later_run import load as load

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
