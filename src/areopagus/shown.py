"""`Shown`: what every result can do with itself, in a notebook and elsewhere.

    result                    # in a notebook: the answer, why it can be trusted, a picture, a table
    result.to_pandas()        # its figures, a row each
    result.plot()             # its first picture, as SVG

How a result is shown, `reports.notebook` knows, which stands above all results. It is found by its
name when something is first shown: a figure or a verdict needs to know nothing of pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a notebook shows.

    Attributes:
        svg: the drawing, with its text as text.
    """

    svg: str

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"

    def save(self, path: str | Path) -> Path:
        """Writes the SVG file and returns its path."""
        file = Path(path)
        file.write_text(self.svg, encoding="utf-8")
        return file

    def _repr_svg_(self) -> str:
        return self.svg


class Shown:
    """A result that shows itself."""

    __slots__ = ()

    def to_pandas(self) -> pd.DataFrame:
        """Every figure, a row each, with the columns of estimates.csv."""
        found: pd.DataFrame = _shows().frame_of(self)
        return found

    def plot(self, name: str | None = None) -> Picture:
        """A picture of the result, as SVG.

        Args:
            name: which of its pictures; the first one when left out.

        Raises:
            ValueError: it has no such picture; the message names those that it has.
        """
        found: Picture = _shows().picture_of(self, name)
        return found

    def _repr_html_(self) -> str:
        """What a notebook shows of it: about a screen, without script, all text escaped."""
        return str(_shows().html_of(self))


def _shows() -> Any:
    return import_module(".reports.notebook", __package__)
