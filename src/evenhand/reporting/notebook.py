"""Results in a notebook: the first screen of the report, and its chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.page import Block, Figure
from evenhand.core.results import Results
from evenhand.reporting.display import names_of_family, shown
from evenhand.reporting.drawing import svg, write_figure
from evenhand.reporting.groups import group_tables, output_figures
from evenhand.reporting.html import environment
from evenhand.reporting.phrases import headline
from evenhand.reporting.sections import overview


@dataclass(frozen=True)
class Plot:
    """The chart of groups with their intervals, as notebooks show it; `save` writes SVG, PNG or PDF."""

    figures: tuple[Figure, ...]

    def _repr_html_(self) -> str:
        return "".join(f"<figure>{svg(figure, alone=True)}</figure>" for figure in self.figures)

    def save(self, path: str | Path) -> Path:
        """Write the chart, in the format that the name tells; several get a number each."""
        target = Path(path)
        for place, figure in enumerate(self.figures):
            write_figure(figure, target if place == 0 else target.with_stem(f"{target.stem}-{place + 1}"))
        return target


def plot(
    results: Results, metric: str | None = None, output: str | None = None, by: Sequence[str] | None = None
) -> Plot:
    """The chart of one output: every attribute, or the attributes in `by` together."""
    first = headline(results) if metric is None else None
    chosen = results.get(*(first or (metric or "", output)))
    wanted = None if by is None else set(map(names_of_family(results.task).attribute, by))
    return Plot(output_figures(results, chosen.metric, chosen.output, wanted))


def first_screen(results: Results) -> str:
    """What a person wants to see first, as HTML: the summary, and the groups of each attribute."""
    readable = shown(results)
    blocks: list[Block] = [*overview(readable).blocks, *group_tables(readable)]
    return environment("evenhand.reporting").get_template("screen.html.j2").render(blocks=blocks)
