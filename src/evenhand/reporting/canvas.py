"""SVG elements, one after the other, in the colours of light paper, and the axes of figures.

Every mark carries its colours as attributes, so a figure is right where styles are not applied (mail, strict content
security policies), and classes by which a page gives it the colours of dark paper. A mark says in its `title` what
it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape as _xml_escape

from evenhand.core.printing import printable
from evenhand.reporting.rounding import number

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
        self.parts.append(f"<{tag}{_attributes(attributes)}>")

    def close(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")

    def legend(self, names: Sequence[str], colours: Sequence[str], left: float) -> Canvas:
        x, y = left, self.height + 14
        for place, name in enumerate(names):
            shown = shortened(name, self.width - left - 40)
            if x > left and x + 30 + text_width(shown) > self.width:
                x, y = left, y + 20
            pen = {"stroke": line_colour(place, colours), "stroke_width": 3, "stroke_dasharray": dash_of(place)}
            self.add("line", f"{line_class(place)} legend", "", x1=x, x2=x + 20, y1=y - 4, y2=y - 4, **pen)
            self.words(x + 26, y, shown, "label legend", anchor="start", fill=INK)
            x += 42 + text_width(shown)
        self.height = y + 8
        return self

    def bottom_axis(self, axis: Axis, top: float, bottom: float, title: str, *, decades_only: bool = False) -> None:
        for value, text in axis.ticks():
            x = axis.place(value)
            if not (decades_only and axis.log) or math.isclose(math.log10(value) % 1, 0, abs_tol=1e-9):
                self.add("line", "grid", x1=x, x2=x, y1=top, y2=bottom, stroke=RULE)
            anchor = "end" if x > axis.end - 12 else "middle"
            self.words(x, bottom + 17, text, "tick", anchor=anchor, fill=SOFT)
        if title:
            self.words((axis.start + axis.end) / 2, bottom + 36, title, "axis", anchor="middle", fill=INK)

    def left_axis(self, axis: Axis, left: float, right: float, title: str) -> None:
        for value, text in axis.ticks():
            y = axis.place(value)
            self.add("line", "grid", x1=left, x2=right, y1=y, y2=y, stroke=RULE)
            self.words(left - 7, y + 4, text, "tick", anchor="end", fill=SOFT)
        middle = (axis.start + axis.end) / 2
        self.words(13, middle, title, "axis", anchor="middle", fill=INK, turn=-90)

    def text(self, title: str, *, alone: bool) -> str:
        """The whole drawing."""
        wide, tall, drawn = short(self.width), short(self.height), "".join(self.parts)
        head = {"width": wide, "height": tall, "viewBox": f"0 0 {wide} {tall}", "font_family": FONT, "font_size": 12}
        if not alone:
            return f"<svg{_attributes({'class': 'plot', **head, 'aria_hidden': 'true'})}>{drawn}</svg>"
        named = f"<title>{escape(title)}</title>" if title else ""
        paper = f'<rect width="{wide}" height="{tall}" fill="#ffffff"/>'
        return f"<svg{_attributes({'xmlns': 'http://www.w3.org/2000/svg', **head})}>{named}{paper}{drawn}</svg>\n"


def escape(text: str) -> str:
    """Text that is only text in SVG; control characters are replaced.

    >>> escape('a<b>&"' + chr(27))
    'a&lt;b&gt;&amp;&quot;�'
    """
    return _xml_escape(printable(text, keep="\n"), {'"': "&quot;"})


def line_class(place: int) -> str:
    """The class by which a page gives a line its colour on dark paper."""
    return f"line{place % len(LINE_COLOURS)}"


def line_colour(place: int, colours: Sequence[str] = ()) -> str:
    """The colour of a line on light paper: of those that a chart asks for, or of ours."""
    colours = colours or LINE_COLOURS
    return colours[place % len(colours)]


def dash_of(place: int) -> str | None:
    return DASHES[place // len(LINE_COLOURS) % len(DASHES)] or None


def path_of(points: Sequence[tuple[float, float]]) -> str:
    """Straight lines from point to point."""
    return "M" + "L".join(f"{short(x)} {short(y)}" for x, y in points)


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


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    start: float  # pixels
    end: float
    log: bool = False
    percent: bool = False
    suffix: str = " %"  # after numbers in per cent

    def place(self, value: float) -> float:
        low, high, at = (math.log10(part) if self.log else part for part in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def clamped(self, value: float) -> float:
        """The place of a value, at the end of the axis where it lies beyond it."""
        return self.place(min(max(value, self.low), self.high))

    def ticks(self) -> list[tuple[float, str]]:
        most = max(int(abs(self.end - self.start) / 70), 2)
        values = log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high, most)
        if len(values) < 2 and not self.log:  # one number says nothing about the scale
            values = linear_ticks(self.low, self.high, 2 * most)
        if self.percent:
            return [(value, f"{number(100 * value, 10).rstrip('0').rstrip('.')}{self.suffix}") for value in values]
        return [(value, tick_text(value)) for value in values]


def linear_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Round numbers between two limits.

    >>> linear_ticks(0.0, 1.0, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / max(most, 1)
    if not rough > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * part for part in (1, 2, 5, 10) if power * part >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between two limits; where there are fewer than two, 1, 2 and 5 times them.

    >>> log_ticks(1e-3, 1.0)
    [0.001, 0.01, 0.1, 1.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers if low * 0.999 <= 10.0**power <= high * 1.001]
    if len(tens) >= 3:
        return tens[:: max(len(tens) // 7, 1)]
    return [
        value for power in powers for part in (1, 2, 5) if low * 0.999 <= (value := part * 10.0**power) <= high * 1.001
    ]


def tick_text(value: float) -> str:
    """A number at an axis.

    >>> tick_text(0.2), tick_text(1e-5), tick_text(1000000.0), tick_text(-0.5)
    ('0.2', '1e-5', '1e6', '−0.5')
    """
    if value and not 1e-4 <= abs(value) < 1e5:
        digits, _, power = f"{value:.2e}".partition("e")
        text = f"{float(digits):g}e{int(power)}"
        return text.replace("-", "−", 1) if value < 0 else text
    return f"{value:.6g}".replace("-", "−")


def padded_span(ends: Sequence[float]) -> tuple[float, float]:
    """Limits around all ends, a little wider; never beyond 0 and 1 where all ends lie between them."""
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    pad = (high - low) * 0.04 or max(abs(high), 1.0) * 0.05
    if low >= 0 and high <= 1:
        return max(low - pad, 0.0), min(high + pad, 1.0)
    return low - pad, high + pad


def padded_domain(values: Sequence[float], log: bool) -> tuple[float, float]:
    usable = [value for value in values if value > 0 or not log]
    low, high = (min(usable), max(usable)) if usable else ((0.001, 1.0) if log else (0.0, 1.0))
    if log:
        low = max(low, high * 1e-8)
        return (low / 10, high) if low >= high else (low, high)
    return (low, high) if high > low else (low - 0.5, low + 0.5)
