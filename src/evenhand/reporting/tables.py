"""Results as tables for papers and programs: CSV, JSON, Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evenhand.core.page import Figure, Section, Table, Text
from evenhand.core.results import Results
from evenhand.reporting.rounding import cell
from evenhand.reporting.sections import standard

Writer = Callable[[Sequence[Results], Path], None]


def write_csv(results: Sequence[Results], path: Path) -> None:
    """Every estimate of every run, one line each, at full precision."""
    import polars as pl

    from evenhand.store.frames import estimates_frame

    path.parent.mkdir(parents=True, exist_ok=True)
    pl.concat([estimates_frame(found) for found in results]).write_csv(path)


def write_json(results: Sequence[Results], path: Path) -> None:
    """All results as one strict JSON document, at full precision."""
    from evenhand.store.plain import dumps

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dumps({"results": list(results)}))


def write_markdown(results: Sequence[Results], path: Path) -> None:
    """The sections of the report as Markdown."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = []
    for found in results:
        parts.append(f"# {_md(found.task)}: {_md(found.model)}\n")
        parts.extend(_markdown(section, 2) for section in standard(found))
    path.write_text("\n".join(parts), encoding="utf-8")


def write_latex(results: Sequence[Results], path: Path) -> None:
    """The group tables as LaTeX `tabular`s."""
    from evenhand.reporting.sections import group_tables

    path.parent.mkdir(parents=True, exist_ok=True)
    tables = [block for found in results for block in group_tables(found).blocks if isinstance(block, Table)]
    path.write_text("\n\n".join(_latex(table) for table in tables) + "\n", encoding="utf-8")


WRITERS: Mapping[str, Writer] = {
    "csv": write_csv,
    "json": write_json,
    "markdown": write_markdown,
    "latex": write_latex,
}


def _markdown(section: Section, level: int) -> str:
    lines = [f"{'#' * level} {_md(section.title)}\n"]
    for block in section.blocks:
        if isinstance(block, Text):
            lines.append(_md(block.text) + "\n")
            continue
        table = block.data if isinstance(block, Figure) else block
        lines.append(f"**{_md(table.title)}**\n")
        lines.append("| " + " | ".join(map(_md, table.columns)) + " |")
        lines.append("|" + " --- |" * len(table.columns))
        lines.extend("| " + " | ".join(_md(cell(value)) for value in row) + " |" for row in table.rows)
        lines.append(f"\n{_md(table.caption)}\n" if table.caption else "")
    lines.extend(_markdown(inner, level + 1) for inner in section.sections)
    return "\n".join(lines)


def _md(text: str) -> str:
    """Text that Markdown shows as it is."""
    for char in "\\`*_[]<>|#":
        text = text.replace(char, "\\" + char)
    return text.replace("\n", " ")


def _latex(table: Table) -> str:
    head = " & ".join(_tex(name) for name in table.columns)
    body = " \\\\\n".join(" & ".join(_tex(cell(value)) for value in row) for row in table.rows)
    columns = "l" + "r" * (len(table.columns) - 1)
    rule = "\\hline"
    lines = [f"% {_tex(table.title)}", f"\\begin{{tabular}}{{{columns}}}", rule, f"{head} \\\\", rule]
    return "\n".join([*lines, f"{body} \\\\", rule, "\\end{tabular}"])


def _tex(text: str) -> str:
    """Text that LaTeX shows as it is."""
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "×": r"$\times$",
        "−": "$-$",
        "∞": r"$\infty$",
    }
    special |= {char: "\\" + char for char in "&%$#_{}"}
    return "".join(special.get(char, char) for char in text).replace("\n", " ")
