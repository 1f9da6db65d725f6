"""The folder of a calibration: its numbers, written and read back.

report.txt          the report as it is printed
numbers.json        every number, in the stable layout of `result`
calibration.json    what `apply` takes to a later run
report.html         the same for reading; *.png, *.svg: its pictures
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from ..errors import InputError, InputFault
from ..rebuilt import rebuilt
from ..records.run_folder import NUMBERS_FILE, replaced
from .result import RESULT_FORMAT, Calibration

_NOT_STORED: Final[dict[str, Any]] = {
    "material": None,
    "target": None,
    "levels": None,
    "panel_identity": {},
    "texts_sha256": {},
}


def write_numbers(calibration: Calibration, folder: Path) -> Path:
    """Writes numbers.json, at once or not at all, and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    path = folder / NUMBERS_FILE
    text = json.dumps(calibration.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
    return path


def read_numbers(folder: Path) -> Calibration:
    """The calibration of a folder, without its data: material and target are None.

    Raises:
        InputError: there is none, it is no calibration, or it is from a later version.
    """
    path = folder / NUMBERS_FILE
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    if not isinstance(plain, dict) or plain.get("kind") != "calibration":
        raise InputError([InputFault(str(path), "is not a calibration")])
    if not isinstance(plain.get("format"), int) or plain["format"] > RESULT_FORMAT:
        told = f"has format {plain.get('format')!r}; this version reads {RESULT_FORMAT}"
        raise InputError([InputFault(str(path), told)])
    try:
        return rebuilt(Calibration, plain, given=_NOT_STORED)
    except ValueError as error:
        raise InputError([InputFault(str(path), str(error))]) from error
