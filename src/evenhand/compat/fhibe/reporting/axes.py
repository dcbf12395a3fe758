"""What scripts read off a published figure: its bars, lines and marks, under Matplotlib's names.

The published functions return Matplotlib figures. Ours are drawn without Matplotlib, and answer what is asked of
such a figure: `figure.axes[0].patches[0].get_height()`, `.lines[0].get_xdata()`, `.texts[0].get_text()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe.disparity import Bars
from evenhand.core.records import Array

Limits = Mapping[str, tuple[float, float]]  # group → interval
_BAR_WIDTH = 0.8
_NOTHING = (float("nan"), float("nan"))


@dataclass(frozen=True)
class FigureLine:
    """A line: a curve, an error bar or a bracket."""

    x: Sequence[float]
    y: Sequence[float]

    def get_xdata(self) -> Array:
        """The x of its points."""
        return np.asarray(self.x, dtype=np.float64)

    def get_ydata(self) -> Array:
        """The y of its points."""
        return np.asarray(self.y, dtype=np.float64)


@dataclass(frozen=True)
class FigureBar:
    """A bar from 0 to its height; the keys of a legend are bars of height 0."""

    centre: float
    height: float
    width: float = _BAR_WIDTH

    def get_height(self) -> float:
        """Its height: the mean of the group."""
        return self.height

    def get_width(self) -> float:
        """Its width."""
        return self.width

    def get_x(self) -> float:
        """Its left edge."""
        return self.centre - self.width / 2


@dataclass(frozen=True)
class FigureText:
    """A text in the figure: the asterisks over a bracket."""

    text: str

    def get_text(self) -> str:
        """The text."""
        return self.text


@dataclass(frozen=True)
class FigureAxes:
    """The bars, lines and texts of one figure, in the order in which the published tool draws them."""

    lines: list[FigureLine] = field(default_factory=list)
    patches: list[FigureBar] = field(default_factory=list)
    texts: list[FigureText] = field(default_factory=list)
    tick_labels: list[FigureText] = field(default_factory=list)

    def get_lines(self) -> list[FigureLine]:
        """The lines."""
        return self.lines

    def get_xticklabels(self) -> list[FigureText]:
        """The names of the groups, with their sizes."""
        return self.tick_labels


def curve_axes(curve: tuple[Sequence[float], Sequence[float]]) -> FigureAxes:
    """One line over the thresholds."""
    return FigureAxes(lines=[FigureLine(*curve)])


def group_axes(bars: Bars, limits: Limits, *, caps_only: bool = False, marks: bool = False) -> FigureAxes:
    """A bar and an error bar per group, and a bracket with asterisks per significant pair.

    With `caps_only` an error bar is two lines of one point, its ends, as the published figure of verification has it.
    """
    shown = [place for place, size in enumerate(bars.sizes) if size or caps_only]
    axes = FigureAxes(
        patches=[FigureBar(float(x), bars.heights[place]) for x, place in enumerate(shown)],
        tick_labels=[FigureText(bars.labels[place]) for place in shown if bars.labels],
    )
    for x, place in enumerate(shown):
        low, high = limits.get(bars.groups[place], _NOTHING)
        if caps_only:
            axes.lines.extend((FigureLine([x], [low]), FigureLine([x], [high])))
        else:
            axes.lines.append(FigureLine([x, x], [low, high]))
    if marks:
        centre = {bars.groups[place]: x for x, place in enumerate(shown)}
        top = 1.05 * max((bar.height for bar in axes.patches), default=1.0)
        for number, (pair, star) in enumerate(zip(bars.pairs, bars.stars, strict=True)):
            ends = [centre[names.parse_key(group)[0]] for group in (pair.worst, pair.best)]
            foot = top * (1 + 0.075 * number)
            head = foot + 0.05 * top
            if star:
                axes.lines.append(FigureLine([ends[0], *ends, ends[1]], [foot, head, head, foot]))
                axes.texts.append(FigureText(star))
    return axes


def part_axes(parts: Mapping[str, tuple[Bars, Limits]]) -> FigureAxes:
    """The bars of every body part side by side, part by part; then a bar without height per part, its legend's key."""
    axes = FigureAxes()
    width = _BAR_WIDTH / max(len(parts), 1)
    first = next(iter(parts.values()))[0]
    shown = [group for group in first.groups if any(_size(bars, group) for bars, _ in parts.values())]
    for number, (bars, limits) in enumerate(parts.values()):
        offset = (number + 0.5) * width - _BAR_WIDTH / 2
        for x, group in enumerate(shown):
            if _size(bars, group):
                axes.patches.append(FigureBar(x + offset, bars.heights[bars.groups.index(group)], width))
                axes.lines.append(FigureLine([x + offset] * 2, limits.get(group, _NOTHING)))
    axes.patches.extend(FigureBar(0.0, 0.0, 0.0) for _ in parts)
    return axes


def _size(bars: Bars, group: str) -> int:
    return bars.sizes[bars.groups.index(group)] if group in bars.groups else 0
