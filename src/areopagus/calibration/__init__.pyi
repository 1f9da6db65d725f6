from ..aggregation.estimate import Estimate as Estimate
from .api import agreement as agreement
from .api import calibrate as calibrate
from .figures import write_figures as write_figures
from .result import RESULT_FORMAT as RESULT_FORMAT
from .result import AgreementReport as AgreementReport
from .result import Calibration as Calibration
from .saved import SAVED_FORMAT as SAVED_FORMAT
from .saved import Applied as Applied
from .saved import apply as apply
from .saved import load as load
from .saved import save as save

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
