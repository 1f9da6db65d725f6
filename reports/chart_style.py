"""How every figure of this project looks: one palette, one style.

Colours are of the Okabe-Ito palette; whatever a colour says, a marker, a hatch or a number says as
well, so that figures are read by colour-blind people and in grey.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..records.run_folder import replaced
from .visible import visible_plain

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, GREY, BLACK = "#56B4E9", "#E69F00", "#777777", "#000000"
ON_COLOUR, ON_DARK = "#111111", "#FDFDFD"
"""Ink upon a light and a dark colour; a page turns only plain black and white about at night."""
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
    "text.parse_math": False,  # a dollar sign in somebody's name is no formula
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
}


def new_figure(width: float, height: float) -> Any:
    """A figure of its own (inches), without any state shared between figures."""
    with style():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def style() -> Any:
    """A context in which figures have this project's style."""
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def save(figure: Any, path: str | Path) -> Path:
    """Writes PATH.svg, the same bytes for the same figure, and returns its path.

    Args:
        figure: of `new_figure`.
        path: without suffix; its folder is made where it is missing.

    Raises:
        StoreError: it cannot be written.
    """
    base = Path(path)
    file = base.with_name(f"{base.name}.svg")
    try:
        base.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with style(), warnings.catch_warnings():
            # Names in scripts that the font lacks: the SVG holds them as text all the same.
            warnings.filterwarnings("ignore", message="Glyph .* missing from", module="matplotlib")
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            with replaced(file) as part:
                figure.savefig(part, format="svg", metadata={"Date": None})
    except OSError as error:
        raise StoreError(f"{base}: the figure cannot be written ({error.strerror})") from error
    return file


def short_name(name: str, most: int) -> str:
    """The name on one line of at most so many characters, cut in its middle.

    Names of models differ at their ends. Hidden characters, which no drawing may hold, are shown
    as their codes.
    """
    text = visible_plain(name, most=400)
    if len(text) <= most:
        return text
    tail = max(1, most // 3)
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def folded_name(name: str, width: int, *, most_lines: int = 2) -> str:
    """An identifier as words on several lines; a word that is too long is hyphenated.

    What takes more lines is cut in its middle, as names often differ at their ends.
    """
    lines = _lines(name, width)
    for most in range(min(len(name), width * most_lines), width, -1):
        if len(lines) <= most_lines:
            break
        lines = _lines(short_name(name, most), width)
    if len(lines) > most_lines:
        lines = [short_name(name, width)]
    return "\n".join(lines)


def _lines(name: str, width: int) -> list[str]:
    lines: list[str] = []
    pending = visible_plain(name.replace("_", " "), most=200).split()
    while pending:
        word = pending.pop(0)
        if len(word) > width:
            pending.insert(0, word[width - 1 :])
            word = word[: width - 1] + "-"
        if lines and len(lines[-1]) + 1 + len(word) <= width and not lines[-1].endswith("-"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
