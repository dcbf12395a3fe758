"""Our own SVG drawings as Encapsulated PostScript, for papers that ask for it.

Only what `drawing` draws is known: rectangles, lines, circles, paths of straight lines, texts, and one level of clipped
areas. PostScript has no transparency: a colour that lets the paper through becomes the mixture. Texts are in Helvetica,
which every interpreter has; a character that it lacks becomes a question mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

_SPACE = "{http://www.w3.org/2000/svg}"
_POINTS = 0.75  # per pixel
_HEAD = """%%!PS-Adobe-3.0 EPSF-3.0
%%%%BoundingBox: 0 0 %d %d
%%%%HiResBoundingBox: 0 0 %.2f %.2f
%%%%EndComments
/Helvetica findfont dup length dict begin {1 index /FID ne {def} {pop pop} ifelse} forall
/Encoding ISOLatin1Encoding def currentdict end /Words exch definefont pop
%.4f %.4f scale 0 %.2f translate
"""


def eps(drawn: str) -> bytes:
    """A drawing of ours as an EPS file."""
    root = ElementTree.fromstring(drawn)  # our own drawing, not a user's file
    wide, tall = float(root.get("width", 0)), float(root.get("height", 0))
    x, y = wide * _POINTS, tall * _POINTS
    lines = [_HEAD % (-(-x // 1), -(-y // 1), x, y, _POINTS, _POINTS, tall)]
    size = float(root.get("font-size", 12))
    for element in root:
        lines += _element(element, size)
    return ("\n".join([*lines, "showpage", "%%EOF"]) + "\n").encode("latin-1", "replace")


def _element(element: ElementTree.Element, size: float) -> Iterator[str]:
    """One element; y grows downwards in SVG, so it is negated."""
    tag = element.tag.removeprefix(_SPACE)
    get = element.get
    if tag == "svg":
        x, y, wide, tall = (float(get(name, 0)) for name in ("x", "y", "width", "height"))
        yield f"gsave {x:.2f} {-y:.2f} translate 0 {-tall:.2f} {wide:.2f} {tall:.2f} rectclip"
        for inner in element:
            yield from _element(inner, size)
        yield "grestore"
    elif tag == "rect":
        x, y, wide, tall = (float(get(name, 0)) for name in ("x", "y", "width", "height"))
        yield from _painted(element, f"{x:.2f} {-y - tall:.2f} moveto {wide:.2f} 0 rlineto 0 {tall:.2f} rlineto "
                                     f"{-wide:.2f} 0 rlineto closepath")  # fmt: skip
    elif tag == "line":
        x1, y1, x2, y2 = (float(get(name, 0)) for name in ("x1", "y1", "x2", "y2"))
        yield from _painted(element, f"{x1:.2f} {-y1:.2f} moveto {x2:.2f} {-y2:.2f} lineto", fill="none")
    elif tag == "circle":
        x, y, radius = (float(get(name, 0)) for name in ("cx", "cy", "r"))
        yield from _painted(element, f"{x:.2f} {-y:.2f} {radius:.2f} 0 360 arc closepath")
    elif tag == "path":
        steps = [
            "closepath" if step == "Z" else f"{float(x):.2f} {-float(y):.2f} {'moveto' if step == 'M' else 'lineto'}"
            for step, x, y in re.findall(r"([MLZ])(?:\s*(-?[\d.]+)[ ,](-?[\d.]+))?", get("d", ""))
        ]
        yield from _painted(element, " ".join(steps))
    elif tag == "text":
        yield from _words(element, size)


def _painted(element: ElementTree.Element, path: str, fill: str = "") -> Iterator[str]:
    inside, line = fill or element.get("fill", "#000000"), element.get("stroke", "none")
    if inside != "none":
        yield f"newpath {path} {_colour(inside, float(element.get('fill-opacity', 1)))} fill"
    if line != "none":
        dashes = element.get("stroke-dasharray", "")
        width = float(element.get("stroke-width", 1))
        yield f"newpath {path} {_colour(line)} {width:.2f} setlinewidth 1 setlinejoin [{dashes}] 0 setdash stroke"


def _words(element: ElementTree.Element, size: float) -> Iterator[str]:
    text = "".join(
        part for part in (element.text, *(inner.text for inner in element if "title" not in inner.tag)) if part
    )
    safe = text.replace("−", "-").replace("–", "-").encode("latin-1", "replace").decode("latin-1")
    safe = re.sub(r"([\\()])", r"\\\1", safe)
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    turned = re.match(r"rotate\((-?[\d.]+)", element.get("transform", ""))
    shift = {"middle": "dup stringwidth pop -2 div 0 rmoveto ", "end": "dup stringwidth pop neg 0 rmoveto "}
    yield (
        f"gsave {x:.2f} {-y:.2f} translate {-float(turned[1]) if turned else 0:.1f} rotate 0 0 moveto "
        f"/Words findfont {float(element.get('font-size', size)):.1f} scalefont setfont "
        f"{_colour(element.get('fill', '#000000'))} ({safe}) "
        f"{shift.get(element.get('text-anchor', ''), '')}show grestore"
    )


def _colour(colour: str, opacity: float = 1.0) -> str:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return " ".join(f"{1 - opacity * (1 - part):.3f}" for part in parts) + " setrgbcolor"
