"""How every figure of this project looks: one palette, one style, PNG and SVG that never differ.

Colours are of the Okabe-Ito palette; whatever a colour says, a marker, a hatch or a number says as
well, so that figures are read by colour-blind people and in grey.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError, StoreError

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, GREY, BLACK = "#56B4E9", "#E69F00", "#777777", "#000000"
PALETTE = (GREY, BLUE, SKY, ORANGE, AMBER, GREEN, PURPLE, "#332288", "#88CCEE", "#882255")
"""Colours of conditions or sources, the first for the one that the others are compared with."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
HATCHES = ("", "///", "\\\\\\", "...", "xxx", "|||", "---", "++", "oo", "**")

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "areopagus",
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
}


def new_figure(width: float, height: float) -> Any:
    """A figure of its own (inches), without any state shared between figures.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("figures need matplotlib: pip install 'areopagus[figures]'") from error
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def style() -> Any:
    """A context in which figures have this project's style."""
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def save(figure: Any, path: str | Path) -> tuple[Path, Path]:
    """Writes PATH.png and PATH.svg, the same bytes for the same figure, and returns their paths.

    Raises:
        StoreError: they cannot be written.
    """
    base = Path(path)
    paths = (base.with_name(f"{base.name}.png"), base.with_name(f"{base.name}.svg"))
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(paths[0], metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    except OSError as error:
        raise StoreError(f"{base}: the figure cannot be written ({error.strerror})") from error
    return paths
