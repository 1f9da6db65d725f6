"""Builds the site: python docs/tools/build.py [OUT]; needs the extra `docs`.

The pages are the Markdown files under docs/, in the order of docs/nav.yaml, with the files of the
project's root that they point to, and the reference pages that `reference.py` makes from the code
and the command line. They are put together in a folder that goes away again; a link or an anchor
that leads nowhere ends the build. The site fetches nothing from elsewhere, and its search works
from a folder on disk too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from reference import pages

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROJECT_PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changes.md",
}
"""Pages of the project's root that are part of the site, with their places there."""

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCED = re.compile(r"^(```.*?^```\s*?$)", re.MULTILINE | re.DOTALL)


class Assembly:
    """The folder of pages that Sphinx reads."""

    def __init__(self, folder: Path) -> None:
        """Begins empty."""
        self.folder = folder
        self.sources = {f"docs/{name}": name for name in committed()} | PROJECT_PAGES
        # The README says on GitHub what the first page says here.
        self.places = {**self.sources, "README.md": "index.md"}

    def add(self, source: str) -> None:
        """Puts in a page of the repository, its links made those of the site."""
        place = self.places[source]
        text = (ROOT / source).read_text(encoding="utf-8")
        parts = _FENCED.split(text)
        parts[::2] = [
            _LINK.sub(lambda found: self._link(found, source, place), part) for part in parts[::2]
        ]
        self.write(place, "".join(parts))

    def write(self, place: str, text: str) -> None:
        """Puts in a page."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def append(self, place: str, text: str) -> None:
        """Adds to a page."""
        with (self.folder / place).open("a", encoding="utf-8") as page:
            page.write(text)

    def _link(self, found: re.Match[str], source: str, place: str) -> str:
        target, mark, anchor = found[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        named = os.path.normpath(Path(source).parent / target)
        led = self.places.get(named)
        if led is None:
            if not (ROOT / named).is_file() or named.endswith(".md"):
                raise SystemExit(f"{source}: {target} is no page of the site, and no other file")
            led = named.removeprefix("docs/") if named.startswith("docs/") else f"files/{named}"
            (self.folder / led).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / named, self.folder / led)
        return f"{found[1]}{os.path.relpath(led, Path(place).parent)}{mark}{anchor}{found[3]}"


def committed() -> list[str]:
    """Every page under docs/, as it is named in docs/nav.yaml."""
    return sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def toctree(entries: list[str], caption: str = "", *, is_shown: bool = False) -> str:
    """The contents of a part of the site, or of a page that has others below it."""
    head = f":caption: {caption}\n" if caption else ""
    head += ":maxdepth: 1\n" if is_shown else ":hidden:\n"
    lines = "\n".join(f"/{entry.removesuffix('.md')}" for entry in entries)
    return f"\n\n```{{toctree}}\n{head}\n{lines}\n```\n"


def assemble(folder: Path) -> None:
    """Puts all pages into the folder."""
    made = Assembly(folder)
    for source in made.sources:
        made.add(source)
    for place, text in pages():
        made.write(place, text)
    nav = yaml.safe_load((DOCS / "nav.yaml").read_text(encoding="utf-8"))
    for part, entries in nav.items():
        top = [entry if isinstance(entry, str) else next(iter(entry)) for entry in entries]
        made.append("index.md", toctree(top, part))
        for entry in entries:
            if isinstance(entry, dict):
                ((page, below),) = entry.items()
                is_folder = isinstance(below, str)
                if is_folder:
                    below = [one for one in committed() if one != page and Path(one).match(below)]
                if below:
                    made.append(page, toctree(below, is_shown=is_folder))


def fetched(out: Path) -> list[str]:
    """What a page would have a browser fetch from elsewhere."""
    asks = re.compile(
        r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//[^>]*>"""
        r"""|<link[^>]*rel=["']?(?:stylesheet|preconnect|preload|icon)[^>]*href=["']?(?:https?:)?//[^>]*>"""
    )
    styles = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])(?:https?:)?//[^)"']+""")
    found = [
        f"{page.relative_to(out)}: {hit}"
        for page in out.rglob("*.html")
        for hit in asks.findall(page.read_text(encoding="utf-8"))
    ]
    return found + [
        f"{sheet.relative_to(out)}: {hit}"
        for sheet in [*out.rglob("*.css"), *out.rglob("*.svg")]
        for hit in styles.findall(sheet.read_text(encoding="utf-8"))
    ]


def main() -> None:
    """Builds into the folder that the command line names, else into site/."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site").resolve()
    if out.exists() and any(out.iterdir()):
        if not (out / ".buildinfo").is_file():
            raise SystemExit(f"{out} is not empty, and holds no site")
        shutil.rmtree(out)  # pages that are gone would stay
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "pages"
        folder.mkdir()
        assemble(folder)
        command = ["-m", "sphinx", "--builder", "html", "--conf-dir", str(Path(__file__).parent)]
        command += ["--fail-on-warning", "--quiet", "--doctree-dir", f"{work}/doctrees"]
        done = subprocess.run([sys.executable, *command, str(folder), str(out)], check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    if found := fetched(out):
        raise SystemExit("\n".join(["the site would fetch these from elsewhere:", *found]))
    print(f"{len(list(out.rglob('*.html')))} pages in {out}")


if __name__ == "__main__":
    main()
