"""Axes: from values to pixels, with round numbers at their ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.reporting.canvas import INK, RULE, SOFT, Canvas
from evenhand.reporting.rounding import number


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
        digits, _, power = f"{value:.3g}".partition("e")
        text = f"{digits}e{int(power)}" if power else f"{value:.3g}"
        if not power:
            digits, _, power = f"{value:e}".partition("e")
            text = f"{float(digits):g}e{int(power)}"
        return text.replace("-", "−", 1) if value < 0 else text
    return f"{value:.6g}".replace("-", "−")


def bottom_axis(
    canvas: Canvas, axis: Axis, top: float, bottom: float, title: str, *, decades_only: bool = False
) -> None:
    for value, text in axis.ticks():
        x = axis.place(value)
        if not (decades_only and axis.log) or math.isclose(math.log10(value) % 1, 0, abs_tol=1e-9):
            canvas.add("line", "grid", x1=x, x2=x, y1=top, y2=bottom, stroke=RULE)
        anchor = "end" if x > axis.end - 12 else "middle"
        canvas.words(x, bottom + 17, text, "tick", anchor=anchor, fill=SOFT)
    if title:
        canvas.words((axis.start + axis.end) / 2, bottom + 36, title, "axis", anchor="middle", fill=INK)


def left_axis(canvas: Canvas, axis: Axis, left: float, right: float, title: str) -> None:
    for value, text in axis.ticks():
        y = axis.place(value)
        canvas.add("line", "grid", x1=left, x2=right, y1=y, y2=y, stroke=RULE)
        canvas.words(left - 7, y + 4, text, "tick", anchor="end", fill=SOFT)
    middle = (axis.start + axis.end) / 2
    canvas.words(13, middle, title, "axis", anchor="middle", fill=INK, turn=-90)


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
