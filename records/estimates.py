"""estimates.parquet and estimates.csv: every figure of a result, one row a figure.

One schema for every method, so that whoever reads one result can read them all:

    table        which of the method's tables the figure belongs to
    keys         what it is a figure of; null where a key plays no part (`KEYS`)
    measure      which figure
    value … reason, verdict    the `Estimate`

What is shown of a result, on a page, a terminal or in JSON, is a view of these rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..errors import InputError, InputFault
from .run_folder import replaced
from .spreadsheets import spreadsheet_safe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

ESTIMATES_FILE: Final = "estimates.parquet"
ESTIMATES_CSV: Final = "estimates.csv"

KEYS: Final = (
    "respondent",  # whose responses; the model under test
    "baseline",  # who or what it is compared with
    "persona",
    "model",  # of a judge
    "rater",
    "criterion",  # of the rubric; "composite" is their mean
    "framing",
    "factor",  # by what rows are grouped: "theme", "category", …
    "group",  # which of the groups
    "item",
    "when",  # of two runs: "before", "after", or "change"
    "detail",  # what else tells two rows apart
)
"""Key columns, in the order in which they stand."""

_FIGURES: Final = tuple(field.name for field in fields(Estimate))
_WHOLE: Final = ("n", "n_planned", "needed")
_TEXTS: Final = ("unit", "method", "reason", "universe", "p_method", "family", "verdict")

COLUMNS: Final = ("table", *KEYS, "measure", *_FIGURES)
"""Every column, in order."""


class Estimates:
    """The figures of a result while they are made: rows in the order in which they were added."""

    def __init__(self) -> None:
        """Begins without a row."""
        self._rows: list[tuple[Any, ...]] = []  # in the order of COLUMNS: there may be many

    def add(self, table: str, measure: str, found: Estimate | float | None, **keys: str) -> None:
        """Adds one figure.

        Args:
            table: which table it belongs to.
            measure: which figure.
            found: the estimate; a bare number is one whose unit and interval play no part, such as
                a count or a seed. None adds nothing.
            keys: what it is a figure of, by the names of `KEYS`; "" is null.

        Raises:
            ValueError: a key of another name.
        """
        if found is None:
            return
        if unknown := set(keys) - set(KEYS):
            raise ValueError(f"no key is called {', '.join(sorted(unknown))}; there are {KEYS}")
        given = (
            found
            if isinstance(found, Estimate)
            else Estimate(float(found), unit="", method="count", level=math.nan)
        )
        self._rows.append(
            (
                table,
                *(keys.get(name) or None for name in KEYS),
                measure,
                *(getattr(given, name) for name in _FIGURES),
            )
        )

    def add_all(
        self, table: str, figures: Mapping[str, Estimate | float | None], **keys: str
    ) -> None:
        """Adds several measures of the same keys; None, and a bare nan, add nothing."""
        for measure, found in figures.items():
            if isinstance(found, Estimate) or (found is not None and not math.isnan(found)):
                self.add(table, measure, found, **keys)

    def extend(self, other: Estimates) -> None:
        """Adds the rows of another."""
        self._rows += other._rows

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with the columns of `COLUMNS`; nan and None where missing."""
        import pandas as pd

        return _typed(pd.DataFrame(self._rows, columns=list(COLUMNS)))


def write_estimates(folder: str | Path, estimates: Estimates | pd.DataFrame) -> pd.DataFrame:
    """Writes both files into the folder, each at once or not at all, and returns the rows.

    In the CSV file, text that a spreadsheet would take for a formula has an apostrophe before it.

    Raises:
        StoreError: they cannot be written.
    """
    frame = estimates.frame() if isinstance(estimates, Estimates) else _typed(estimates)
    with replaced(Path(folder) / ESTIMATES_FILE) as part:
        frame.to_parquet(part, index=False)
    plain = frame.assign(
        **{
            name: frame[name].map(spreadsheet_safe, na_action="ignore")
            for name in ("table", *KEYS, "measure", *_TEXTS)
        }
    )
    with replaced(Path(folder) / ESTIMATES_CSV) as part:
        plain.to_csv(part, index=False, lineterminator="\n")
    return frame


def read_estimates(folder: str | Path) -> pd.DataFrame:
    """The rows of a folder, as `write_estimates` left them.

    Raises:
        InputError: there are none, or they are none of ours.
    """
    import pandas as pd

    path = Path(folder) / ESTIMATES_FILE
    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise InputError(
            [InputFault(str(path), "does not exist: the result has no figures yet")]
        ) from None
    except Exception as error:  # pyarrow's own classes, by what is wrong with the file
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        raise InputError([InputFault(str(path), f"lacks the columns {', '.join(missing)}")])
    return _typed(frame)


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows that `json_rows` has made, as a DataFrame."""
    import pandas as pd

    return _typed(pd.DataFrame(list(rows), columns=list(COLUMNS)))


def json_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows for JSON, an object a figure: what is missing is left out, but for its value."""
    is_there = frame.notna() & ~frame.isin([math.inf, -math.inf])
    plain = frame.astype("object").where(is_there, None)
    return [
        {str(name): one for name, one in row.items() if one is not None or name == "value"}
        for row in plain.to_dict("records")
    ]


def select(frame: pd.DataFrame, table: str, **keys: str | None) -> pd.DataFrame:
    """The rows of one table, in their order; a key given as None has to be null."""
    return frame[_mask(frame, {"table": table, **keys})]


def _mask(frame: pd.DataFrame, wanted: Mapping[str, str | None]) -> npt.NDArray[np.bool_]:
    """Which rows hold these texts; None is a null."""
    import numpy as np

    found = np.ones(len(frame), dtype=np.bool_)
    for name, value in wanted.items():
        column = frame[name]
        found &= column.isna().to_numpy() if value is None else column.to_numpy(object) == value
    return found


def estimates_of(frame: pd.DataFrame) -> list[Estimate]:
    """The `Estimate` of each row, as it was added."""
    columns: list[list[Any]] = []
    for name in _FIGURES:
        if name in _WHOLE:
            numbers = frame[name].to_numpy("float64", na_value=math.nan).tolist()
            columns.append([None if math.isnan(n) else int(n) for n in numbers])
        elif name in _TEXTS:
            missing = "" if name in ("unit", "method") else None
            columns.append([one if isinstance(one, str) else missing for one in frame[name]])
        else:
            columns.append(frame[name].to_numpy("float64").tolist())
    return [Estimate(*row) for row in zip(*columns, strict=True)]


def estimate_of(row: Mapping[Any, Any]) -> Estimate:
    """The `Estimate` of one row."""
    return Estimate(*(_figure(name, row.get(name)) for name in _FIGURES))


def _figure(name: str, value: Any) -> Any:
    """One of an estimate's fields, as it was added; see `estimates_of`, which takes many rows."""
    import pandas as pd

    if name in _TEXTS:
        return value if isinstance(value, str) else "" if name in ("unit", "method") else None
    if pd.isna(value):
        return None if name in _WHOLE else math.nan
    return int(value) if name in _WHOLE else float(value)


def estimate_at(
    frame: pd.DataFrame, table: str, measure: str, **keys: str | None
) -> Estimate | None:
    """The one estimate of these keys, of which None has to be null; the first of several."""
    (rows,) = _mask(frame, {"table": table, "measure": measure, **keys}).nonzero()
    return estimate_of(frame.iloc[int(rows[0])].to_dict()) if len(rows) else None


def estimates_by(
    frame: pd.DataFrame, keys: Iterable[str]
) -> Iterator[tuple[dict[str, str | None], dict[str, Estimate]]]:
    """Rows that belong together: (their keys, measure to estimate), in order of appearance.

    Args:
        frame: rows of one table.
        keys: the key columns that tell the groups apart.
    """
    names = list(keys)
    at = zip(*(frame[name] for name in names), strict=True) if names else [()] * len(frame)
    groups: dict[tuple[Any, ...], dict[str, Estimate]] = {}
    for key, measure, found in zip(at, frame["measure"], estimates_of(frame), strict=True):
        plain = tuple(one if isinstance(one, str) else None for one in key)
        groups.setdefault(plain, {})[measure] = found
    for key, measures in groups.items():
        yield dict(zip(names, key, strict=True)), measures


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns in order, with one type each also where all of it is missing."""
    import pandas as pd

    found: dict[str, Any] = {}
    for name in COLUMNS:
        given = frame[name] if name in frame.columns else pd.Series(None, frame.index, object)
        if name in _WHOLE:
            found[name] = given.astype("Int64")
        elif name in _FIGURES and name not in _TEXTS:
            found[name] = given.astype("float64")
        else:
            texts = given.to_numpy(object, copy=True)
            texts[pd.isna(texts)] = None
            found[name] = pd.Series(texts, frame.index, object)
    return pd.DataFrame(found, index=frame.index)
