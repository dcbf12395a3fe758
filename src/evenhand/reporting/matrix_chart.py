"""Confusion matrices: cells coloured by the share of their row."""

from __future__ import annotations

from evenhand.core.page import Interval, Matrix, Table
from evenhand.reporting.canvas import INK, SOFT, Canvas, shortened, text_width
from evenhand.reporting.rounding import cell as cell_text


def draw_matrix(chart: Matrix, table: Table, width: int) -> Canvas:
    """Cells coloured by the share of their row; the share in the cell, the count in its title."""
    rows = list(dict.fromkeys(cell_text(row[chart.row]) for row in table.rows))
    columns = list(dict.fromkeys(cell_text(row[chart.column]) for row in table.rows))
    narrow = width < 500
    left = min(max(map(text_width, rows), default=0.0) + 34, width * 0.4)
    size = min((width - left - 8) / max(len(columns), 1), 96.0)
    step = 40.0 if len(rows) <= 8 else 30.0
    turned = max(map(text_width, columns), default=0.0) > size - 6
    top = (min(max(map(text_width, columns), default=0.0) * 0.75, 110.0) + 34.0) if turned else 46.0
    canvas = Canvas(width, top + step * len(rows) + 8)
    canvas.words(left + size * len(columns) / 2, 14, table.columns[chart.column], "axis", anchor="middle", fill=SOFT)
    middle = top + step * len(rows) / 2
    canvas.words(12, middle, table.columns[chart.row], "axis", anchor="middle", fill=SOFT, turn=-90)
    for at, name in enumerate(columns):
        x = left + (at + 0.5) * size
        if turned:
            canvas.words(x, top - 8, shortened(name, 140), "label", anchor="start", fill=INK, turn=-45)
        else:
            canvas.words(x, top - 8, shortened(name, size), "label", anchor="middle", fill=INK)
    for at, name in enumerate(rows):
        canvas.words(left - 8, top + (at + 0.5) * step + 4, shortened(name, left - 30), "label", anchor="end", fill=INK)
    for row in table.rows:
        line, column = rows.index(cell_text(row[chart.row])), columns.index(cell_text(row[chart.column]))
        share = row[chart.share]
        value = share.value if isinstance(share, Interval) else share if isinstance(share, float) else None
        x, y = left + column * size, top + line * step
        about = f"{rows[line]} → {columns[column]}: {cell_text(row[chart.count])} ({_percent(value)} of the row)"
        weight = 0.0 if value is None else value
        box: dict[str, object] = {"x": x + 1, "y": y + 1, "width": size - 2, "height": step - 2, "rx": 3}
        canvas.add("rect", "matrix-paper", "", **box, fill="#eef4fa")
        box |= {"fill_opacity": round(weight, 3), "data_row": rows[line], "data_column": columns[column]}
        canvas.add("rect", "matrix-cell", about, **box, fill="#0b4f8a")
        if value is not None and (value > 0 or len(columns) <= 8):
            text = _percent(value) if not narrow else _percent(value).replace(" %", "")
            css, fill = ("on-far", "#ffffff") if weight > 0.5 else ("on-near", INK)
            canvas.words(x + size / 2, y + step / 2 + 4, text, css, anchor="middle", fill=fill, pointer_events="none")
    return canvas


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
