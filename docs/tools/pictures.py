"""Makes the pictures of the docs anew: python docs/tools/pictures.py; needs Chromium for the pages.

    first-screen.svg    the terminal after the README's first command, 80 columns
    report-*.png        the first screen of report pages

The reports are those of the examples, by the embedded judges; a picture changes when they do.
"""

from __future__ import annotations

import base64
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from PIL import Image, ImageOps

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from chromium import Chromium, Tab  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 80
SCREEN = (1100, 900)

_CELL, _LINE, _EDGE = 8.4, 20, 16
"""Width of a character, height of a line and margin, in the drawing's own units."""
_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def run(words: Sequence[str], folder: Path, home: Path) -> str:
    """What a command prints, standard error first as a terminal has it."""
    done = subprocess.run(
        [sys.executable, "-m", "areopagus", *words], cwd=folder, text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "AREOPAGUS_HOME": str(home), "COLUMNS": str(COLUMNS)},
    )  # fmt: skip
    return done.stdout


def terminal(command: str, printed: str, to: Path) -> None:
    """The command and what it printed, as a drawing of a terminal in the reader's own font."""
    lines = [f"$ {command}", *printed.rstrip().splitlines()]
    width, height = COLUMNS * _CELL + 2 * _EDGE, len(lines) * _LINE + 2 * _EDGE
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#ffffff" stroke="#d1d5db"/>',
        f'<g font-family="{_FONT}" font-size="14" fill="#1f2937">',
    ]
    for number, line in enumerate(lines):
        # A drawing makes one blank of several, but not of those that do not break.
        text = line.strip().replace(" ", "\N{NO-BREAK SPACE}")
        if text:
            left = _EDGE + _CELL * (len(line) - len(line.lstrip()))
            strong = ' font-weight="700"' if number == 0 else ""
            drawn.append(
                f'<text x="{left:.1f}" y="{_EDGE + _LINE * number + 15}" '
                f'textLength="{_CELL * len(text):.1f}"{strong}>{escape(text)}</text>'
            )
    to.write_text("\n".join([*drawn, "</g>", "</svg>"]) + "\n", encoding="utf-8")


def page(tab: Tab, report: Path, to: Path) -> None:
    """The first screen of a report, in few colours: a small file."""
    tab.open(report)
    shown = tab.send("Page.captureScreenshot", format="png")["data"]
    with Image.open(io.BytesIO(base64.b64decode(shown))) as picture:
        framed = ImageOps.expand(picture.convert("RGB"), 1, "#d1d5db")
        framed.quantize(64, dither=Image.Dither.NONE).save(to, optimize=True)


def main() -> None:
    """Makes every picture."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Chromium() as browser:
        folder, home = Path(work), Path(work) / "home"
        (folder / "examples").symlink_to(ROOT / "examples")
        command = "areopagus score examples/responses.csv"
        terminal(command, run(command.split()[1:], folder, home), PICTURES / "first-screen.svg")
        reports = {
            "report-scores.png": "score examples/responses.csv --out runs/a",
            "report-people.png": "calibrate runs/a examples/humans/ratings.csv --out runs/people",
            "report-pressure.png": "stress examples/stress_prompts.csv --out runs/pressure",
        }
        tab = browser.tab()
        for name, words in reports.items():
            run(words.split(), folder, home)
            tab.fresh(width=SCREEN[0], height=SCREEN[1])
            page(tab, folder / words.split()[-1] / "report.html", PICTURES / name)


if __name__ == "__main__":
    main()
