"""Our own SVG drawings as Encapsulated PostScript, for papers that ask for it.

Only what `drawing` draws is known: rectangles, lines, circles, paths of straight lines, texts, and one level of clipped
areas. PostScript has no transparency: a colour that lets the paper through becomes the mixture. Texts are outlines of
letters, which typst shapes as it does for PDF: a file needs no font and looks the same everywhere. Without typst they
are in Helvetica, which every interpreter has and no file embeds; a character that it lacks becomes a question mark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

_SPACE, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_POINTS = 0.75  # per pixel
_HEAD = """%%!PS-Adobe-3.0 EPSF-3.0
%%%%BoundingBox: 0 0 %d %d
%%%%HiResBoundingBox: 0 0 %.2f %.2f
%%%%EndComments
"""
_HELVETICA = """/Helvetica findfont dup length dict begin {1 index /FID ne {def} {pop pop} ifelse} forall
/Encoding ISOLatin1Encoding def currentdict end /Words exch definefont pop
"""
_STEPS = {"m": "rmoveto", **dict.fromkeys("hvl", "rlineto"), **dict.fromkeys("qc", "rcurveto"), "Z": "closepath"}
_STILL = "matrix(1 0 0 -1 0 0)"


class _Text(NamedTuple):
    words: str
    size: float  # pixels
    weight: int


class _Outline(NamedTuple):
    width: float  # pixels
    letters: tuple[tuple[str, float], ...]  # the name of each shape, and where it stands


_Outlines = Mapping[_Text, _Outline]


def eps(drawn: str) -> bytes:
    """A drawing of ours as an EPS file."""
    root = ElementTree.fromstring(drawn)  # our own drawing, not a user's file
    wide, tall = float(root.get("width", 0)), float(root.get("height", 0))
    x, y = wide * _POINTS, tall * _POINTS
    lines = [_HEAD % (-(-x // 1), -(-y // 1), x, y)]
    size = float(root.get("font-size", 12))
    texts = [_text(element, size) for element in root.iter(f"{_SPACE}text")]
    shapes, outlines = _outlines(list(dict.fromkeys(texts)), root.get("font-family", ""))
    lines += shapes if outlines else [_HELVETICA]
    lines.append(f"{_POINTS:.4f} {_POINTS:.4f} scale 0 {tall:.2f} translate")
    for element in root:
        lines += _element(element, size, outlines)
    return ("\n".join([*lines, "showpage", "%%EOF"]) + "\n").encode("latin-1", "replace")


def _element(element: ElementTree.Element, size: float, outlines: _Outlines) -> Iterator[str]:
    """One element; y grows downwards in SVG, so it is negated."""
    tag = element.tag.removeprefix(_SPACE)
    get = element.get
    if tag == "svg":
        x, y, wide, tall = (float(get(name, 0)) for name in ("x", "y", "width", "height"))
        yield f"gsave {x:.2f} {-y:.2f} translate 0 {-tall:.2f} {wide:.2f} {tall:.2f} rectclip"
        for inner in element:
            yield from _element(inner, size, outlines)
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
        yield from _words(element, _text(element, size), outlines)


def _painted(element: ElementTree.Element, path: str, fill: str = "") -> Iterator[str]:
    inside, line = fill or element.get("fill", "#000000"), element.get("stroke", "none")
    if inside != "none":
        yield f"newpath {path} {_colour(inside, float(element.get('fill-opacity', 1)))} fill"
    if line != "none":
        dashes = element.get("stroke-dasharray", "")
        width = float(element.get("stroke-width", 1))
        yield f"newpath {path} {_colour(line)} {width:.2f} setlinewidth 1 setlinejoin [{dashes}] 0 setdash stroke"


def _text(element: ElementTree.Element, size: float) -> _Text:
    parts = (element.text, *(inner.text for inner in element if "title" not in inner.tag))
    words = "  ".join(part for part in parts if part)
    return _Text(words, float(element.get("font-size", size)), int(element.get("font-weight", 400)))


def _words(element: ElementTree.Element, text: _Text, outlines: _Outlines) -> Iterator[str]:
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    turned = re.match(r"rotate\((-?[\d.]+)", element.get("transform", ""))
    place = f"{x:.2f} {-y:.2f} translate {-float(turned[1]) if turned else 0:.1f} rotate"
    colour, anchor = _colour(element.get("fill", "#000000")), element.get("text-anchor", "")
    if text in outlines:
        outline = outlines[text]
        start = {"middle": -outline.width / 2, "end": -outline.width}.get(anchor, 0.0)
        letters = " ".join(f"{start + at:.2f} 0 moveto {name}" for name, at in outline.letters)
        yield f"gsave {place} newpath {letters} {colour} fill grestore"
        return
    safe = text.words.replace("−", "-").replace("–", "-").encode("latin-1", "replace").decode("latin-1")
    safe = re.sub(r"([\\()])", r"\\\1", safe)
    shift = {"middle": "dup stringwidth pop -2 div 0 rmoveto ", "end": "dup stringwidth pop neg 0 rmoveto "}
    yield (
        f"gsave {place} 0 0 moveto /Words findfont {text.size:.1f} scalefont setfont "
        f"{colour} ({safe}) {shift.get(anchor, '')}show grestore"
    )


def _outlines(texts: Sequence[_Text], family: str) -> tuple[list[str], _Outlines]:
    """The shapes of all letters as procedures, and the letters of every text; nothing where typst is not installed."""
    try:
        import typst
    except ImportError:
        return [], {}
    fonts = ", ".join(f'"{name}"' for name in re.findall(r"[^,'\"]+", family) if name.strip())
    pages = "".join(
        f"#page(text(size: {text.size}pt, weight: {text.weight}, {json.dumps(text.words, ensure_ascii=False)}))\n"
        for text in texts
    )
    source = f"#set page(width: auto, height: auto, margin: 0pt, fill: none)\n#set text(font: ({fonts},))\n{pages}"
    drawn = typst.compile(source.encode("utf-8"), format="svg") if texts else []
    shapes: dict[str, str] = {}
    outlines = {}
    for text, page in zip(texts, drawn if isinstance(drawn, list) else [drawn], strict=True):
        root = ElementTree.fromstring(page.decode("utf-8"))
        for symbol in root.iter(f"{_SPACE}symbol"):
            shapes[symbol.get("id", "")] = _letter(symbol[0].get("d", ""))
        letters = [
            (use.get(f"{_LINK}href", "").removeprefix("#"), float(run.get("transform", _STILL).split()[4]) + float(x))
            for run in root.iter(f"{_SPACE}g")
            for use in run.iter(f"{_SPACE}use")
            if (x := use.get("x", "0"))
        ]
        outlines[text] = _Outline(float(root.get("width", "0pt").removesuffix("pt")), tuple(letters))
    return [f"/{name} {{{shape}}} bind def" for name, shape in shapes.items()], outlines


def _letter(path: str) -> str:
    """The outline of a letter from where the pen stands; typst writes relative steps, as PostScript can."""
    steps = []
    for step, rest in re.findall(r"([mhvlqcZ])([^a-zA-Z]*)", path):
        n = [float(number) for number in rest.split()]
        if step == "q":  # PostScript has cubic curves alone
            x, y, to_x, to_y = n
            n = [2 * x / 3, 2 * y / 3, (2 * x + to_x) / 3, (2 * y + to_y) / 3, to_x, to_y]
        n = [*n, 0.0] if step == "h" else [0.0, *n] if step == "v" else n
        steps.append(" ".join([*(f"{number:.3f}" for number in n), _STEPS[step]]))
    return " ".join(steps)


def _colour(colour: str, opacity: float = 1.0) -> str:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return " ".join(f"{1 - opacity * (1 - part):.3f}" for part in parts) + " setrgbcolor"
