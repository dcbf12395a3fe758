"""SVG elements, one after the other, in the colours of light paper.

Every mark carries its colours as attributes, so a figure is right where styles are not applied (mail, strict content
security policies), and classes by which a page gives it the colours of dark paper. A mark says in its `title` what
it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape as _xml_escape

from evenhand.core.printing import printable

LINE_COLOURS = ("#308fc4", "#803403", "#24905f", "#451249", "#2717d5", "#9f8125", "#230a12", "#24768f")
DARK_LINE_COLOURS = ("#2a9df9", "#e29366", "#49d4b6", "#d829a3", "#8156e1", "#eaeba0", "#f43944", "#29efe3")
DASHES = ("", "6 3", "2 2", "8 3 2 3")
FONT = "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', Arial, sans-serif"
INK, SOFT, RULE = "#1d2429", "#55616a", "#dfe4e8"
TONES = {"worse": "#b5480a", "better": "#0a7a5c", "": "#0b5fa5", "muted": "#6b7780"}


class Canvas:
    """SVG elements, one after the other; everything that is text in it is escaped."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def add(self, tag: str, css: str = "", title: str = "", **attributes: object) -> None:
        """One element; with a title it says what it shows."""
        text = f"<{tag}{_attributes({'class': css or None, **attributes})}"
        self.parts.append(f"{text}><title>{escape(title)}</title></{tag}>" if title else f"{text}/>")

    def words(
        self, x: float, y: float, text: str, css: str, *, anchor: str, turn: float = 0.0, **attributes: object
    ) -> None:
        """A line of text, turned by so many degrees."""
        if turn:
            attributes["transform"] = f"rotate({short(turn)} {short(x)} {short(y)})"
        known = {"class": css, "x": x, "y": y, "text_anchor": None if anchor == "start" else anchor, **attributes}
        self.parts.append(f"<text{_attributes(known)}>{escape(text)}</text>")

    def open(self, tag: str, **attributes: object) -> None:
        """The beginning of an element around others."""
        self.parts.append(f"<{tag}{_attributes(attributes)}>")

    def close(self, tag: str) -> None:
        """Its end."""
        self.parts.append(f"</{tag}>")

    def text(self, title: str, *, alone: bool) -> str:
        """The whole drawing."""
        size = {
            "width": self.width,
            "height": self.height,
            "viewBox": f"0 0 {short(self.width)} {short(self.height)}",
        }
        if alone:
            paper = f'<rect width="{short(self.width)}" height="{short(self.height)}" fill="#ffffff"/>'
            named = f"<title>{escape(title)}</title>" if title else ""
            head = {"xmlns": "http://www.w3.org/2000/svg", **size, "font_family": FONT, "font_size": 12}
            return f"<svg{_attributes(head)}>{named}{paper}{''.join(self.parts)}</svg>\n"
        head = {"class": "plot", **size, "font_family": FONT, "font_size": 12, "aria_hidden": "true"}
        return f"<svg{_attributes(head)}>{''.join(self.parts)}</svg>"


def escape(text: str) -> str:
    """Text that is only text in SVG; control characters are replaced.

    >>> escape('a<b>&"' + chr(27))
    'a&lt;b&gt;&amp;&quot;�'
    """
    return _xml_escape(printable(text, keep="\n"), {'"': "&quot;"})


def add_legend(canvas: Canvas, names: Sequence[str], colours: Sequence[str], left: float) -> Canvas:
    x, y = left, canvas.height + 14
    for place, name in enumerate(names):
        shown = shortened(name, canvas.width - left - 40)
        if x > left and x + 30 + text_width(shown) > canvas.width:
            x, y = left, y + 20
        line_sample(canvas, place, (x, x + 20, y - 4), line_colour(place, colours), 3, " legend")
        canvas.words(x + 26, y, shown, "label legend", anchor="start", fill=INK)
        x += 42 + text_width(shown)
    canvas.height = y + 8
    return canvas


def line_sample(
    canvas: Canvas, place: int, at: tuple[float, float, float], colour: str, width: float, css: str = ""
) -> None:
    """A piece of a line in a legend: from x to x at y."""
    pen: dict[str, object] = {"stroke": colour, "stroke_width": width, "stroke_dasharray": dash_of(place)}
    canvas.add("line", line_class(place) + css, "", x1=at[0], x2=at[1], y1=at[2], y2=at[2], **pen)


def line_class(place: int) -> str:
    """The class by which a page gives a line its colour on dark paper."""
    return f"line{place % len(LINE_COLOURS)}"


def line_colour(place: int, colours: Sequence[str] = ()) -> str:
    """The colour of a line on light paper: of those that a chart asks for, or of ours."""
    colours = colours or LINE_COLOURS
    return colours[place % len(colours)]


def dash_of(place: int) -> str | None:
    return DASHES[place // len(LINE_COLOURS) % len(DASHES)] or None


def short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, int | float) else str(value)


def text_width(text: str) -> float:
    """About how wide a text is, in pixels."""
    return sum(map(_char, text))


def shortened(text: str, space: float) -> str:
    """A text that fits; its end is cut where it does not."""
    if text_width(text) <= space:
        return text
    while text and text_width(text) > space - 8:
        text = text[:-1]
    return text.rstrip() + "…"


def _attributes(given: dict[str, object]) -> str:
    parts = []
    for name, value in given.items():
        if value is None:
            continue
        text = short(value) if isinstance(value, float) else str(value)
        parts.append(f' {name if name == "viewBox" else name.replace("_", "-")}="{escape(text)}"')
    return "".join(parts)


def _char(char: str) -> float:
    if char in "ijlt.,:;|'()[]fI ":
        return 4.2
    return 11.0 if char in "mwMW%@" else 8.8 if char.isupper() else 7.4
