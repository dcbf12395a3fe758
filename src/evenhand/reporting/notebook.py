"""Results in a notebook: the first screen of the report, and its chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from evenhand.core.page import Block, Figure, Table, Text
from evenhand.core.results import Results
from evenhand.reporting.display import names_of_family, shown
from evenhand.reporting.drawing import svg, write_figure
from evenhand.reporting.groups import group_tables, output_figures
from evenhand.reporting.phrases import headline
from evenhand.reporting.rounding import cell as cell_text
from evenhand.reporting.summary import overview


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
    return "".join(_html(block) for block in blocks)


def _html(block: Block) -> str:
    if isinstance(block, Text):
        inner = escape(block.text)
        return f"<p>{f'<b>{inner}</b>' if block.tone == 'lead' else inner}</p>"
    if isinstance(block, Figure):
        return svg(block, alone=True)
    return _table(block)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell_text(cell))}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
