"""A figure's SVG file as markup that may stand inside a page with a strict content policy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from ..errors import InputError, InputFault

if TYPE_CHECKING:
    from markupsafe import Markup

_SVG: Final = "{http://www.w3.org/2000/svg}"
_LINK: Final = "{http://www.w3.org/1999/xlink}href"

_ELEMENTS: Final = re.compile(
    "svg|g|defs|clipPath|path|rect|circle|line|polyline|polygon|use|text|tspan|image|pattern"
)
_ATTRIBUTES: Final = re.compile(
    "viewBox|id|d|[xy][12]?|cx|cy|r|width|height|points|transform|clip-path|patternUnits"
)
_STYLES: Final = re.compile(
    "fill(-opacity|-rule)?|opacity|font-(size|weight|style)|text-anchor"
    "|stroke(-(width|opacity|linecap|linejoin|dasharray|dashoffset|miterlimit))?"
)
_PICTURE: Final = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*\Z")
_REFERENCE: Final = re.compile(r"url\(\s*#([\w.-]+)\s*\)")
_PLAIN: Final = re.compile(r"[\w\s.,:;#%()+/-]*\Z")
_PIXELS: Final = re.compile(r"([1-9]\d*(?:\.\d+)?)px")
_FONT: Final = re.compile(r"(?:(bold|italic|oblique|\d{3})\s+)*([\d.]+px)")

_SIZES: Final = (("small", 330), ("narrow", 420), ("wide", 520), ("widest", float("inf")))
"""Classes of the frame's style, by the points of a drawing's width."""

LEAST_LETTERS: Final = 10
"""CSS pixels of the smallest letters of a drawing; a window too narrow for it scrolls."""

LEAST_WIDTHS: Final = (*range(20, 37, 2), *range(40, 61, 4), 72, 96)
"""Rem of the frame's classes for the least width of a drawing."""


def inline_svg(path: Path, *, key: str, label: str, shown: str = "") -> Markup:
    """The drawing of an SVG file as one <svg> element, without anything that acts or loads.

    Only shapes and text of an allowed list stay. Style attributes, which a strict policy blocks,
    become presentation attributes; ids are prefixed; plain black becomes the page's ink and plain
    white its paper, so that the drawing is read on a dark page.

    Args:
        path: as `chart_style.save` wrote it.
        key: prefix of its ids, unique in the page.
        label: what a screen reader says of it.
        shown: class of the frame that says where it is shown: "roomy", "phone", or "" everywhere.

    Raises:
        InputError: it cannot be read as SVG.
    """
    from markupsafe import Markup

    try:
        root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314  our own file
    except (OSError, ValueError, ET.ParseError) as error:
        raise InputError([InputFault(str(path), f"cannot be read as SVG: {error}")]) from error
    width = float(root.get("viewBox", "0 0 400 300").split()[2])
    kept = _kept(root, key)
    if kept is None:
        raise InputError([InputFault(str(path), "is not an SVG drawing")])
    for name in ("width", "height", "id"):
        kept.attrib.pop(name, None)
    size = next(name for name, most in _SIZES if width <= most)
    kept.attrib |= {
        "role": "img",
        "aria-label": label,
        "fill": "currentColor",
        "class": " ".join(filter(None, (size, _least(kept, width), shown))),
    }
    return Markup(ET.tostring(kept, encoding="unicode"))  # noqa: S704  rebuilt from a list


def _least(drawing: ET.Element, width: float) -> str:
    """The class of the least width at which the smallest letters can be read."""
    found = [_PIXELS.fullmatch(element.get("font-size", "")) for element in drawing.iter()]
    sizes = [float(match[1]) for match in found if match]
    needed = width * LEAST_LETTERS / min(sizes, default=LEAST_LETTERS) / 16
    return f"least-{next((rem for rem in LEAST_WIDTHS if rem >= needed), LEAST_WIDTHS[-1])}"


def _kept(element: ET.Element, key: str) -> ET.Element | None:
    name = element.tag.removeprefix(_SVG) if isinstance(element.tag, str) else ""
    if not _ELEMENTS.fullmatch(name):
        return None
    copy = ET.Element(name)
    link = element.get(_LINK) or element.get("href") or ""
    if name == "use":
        if not link.startswith("#"):
            return None
        copy.set("href", f"#{key}-{link[1:]}")
    if name == "image":
        if not _PICTURE.match(link):
            return None
        copy.set("href", link)
    given = [
        (attribute, value)
        for attribute, value in element.attrib.items()
        if _ATTRIBUTES.fullmatch(attribute) or _STYLES.fullmatch(attribute)
    ]
    for attribute, value in [*given, *_styles(element.get("style", ""))]:
        if attribute == "id":
            copy.set("id", f"{key}-{value}")
        elif _PLAIN.match(value):
            copy.set(attribute, _colour(attribute, _REFERENCE.sub(rf"url(#{key}-\1)", value)))
    if name in ("text", "tspan"):
        copy.text = element.text
    for child in element:
        kept = _kept(child, key)
        if kept is not None:
            if name in ("text", "tspan"):
                kept.tail = child.tail
            copy.append(kept)
    return copy


def _styles(style: str) -> list[tuple[str, str]]:
    found = []
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # the shorthand of earlier releases of matplotlib
            match = _FONT.match(value)
            if match:
                found.append(("font-size", match[2]))
                found += [("font-weight", "bold")] if match[1] in ("bold", "700") else []
        elif _STYLES.fullmatch(name):
            found.append((name, value))
    return found


def _colour(attribute: str, value: str) -> str:
    if attribute in ("fill", "stroke"):
        if value.lower() in ("#000000", "black"):
            return "currentColor"
        if value.lower() in ("#ffffff", "white"):
            return "var(--paper)"
    return value
