"""Calibration of a panel against human judgments, and the agreement of people alone.

Names are resolved when they are first used: the report of a run needs a corner of this alone.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "RESULT_FORMAT": "result",
    "SAVED_FORMAT": "saved",
    "AgreementReport": "result",
    "Applied": "saved",
    "Calibration": "result",
    "Number": ".number",
    "agreement": "api",
    "apply": "saved",
    "calibrate": "api",
    "load": "saved",
    "save": "saved",
    "write_figures": "figures",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
