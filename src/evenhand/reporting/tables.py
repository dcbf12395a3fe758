"""Results as tables for papers and programs: CSV, JSON, Markdown, LaTeX.

CSV and JSON are the twin of the report: every number that is printed, at full precision. Of a CSV
`report.csv` the values of groups are in the file itself; pairs, gaps, coverage and the points of curves are
in files beside it (`report-pairs.csv`, `report-gaps.csv`, `report-coverage.csv`, `report-curves.csv`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.metric import Curve, Grid, Undefined
from evenhand.core.page import Figure, Section, Table, Text
from evenhand.core.results import Results
from evenhand.files.writing import open_file, write_file
from evenhand.reporting.contrasts import gaps, pairs
from evenhand.reporting.groups import group_figures
from evenhand.reporting.reported import Reported
from evenhand.reporting.rounding import cell

if TYPE_CHECKING:
    import polars as pl


def write_csv(runs: Sequence[Reported], path: Path) -> None:
    """Every estimate of every run, one line each, at full precision; what is no estimate in files beside."""
    import polars as pl

    from evenhand.store.frames import estimates_frame

    with open_file(path, "wb") as file:
        pl.concat([estimates_frame(run.results) for run in runs]).write_csv(file)
    results = [run.results for run in runs]
    for name, frame in beside(results).items():
        if len(frame):
            with open_file(path.with_name(f"{path.stem}-{name}.csv"), "wb") as file:
                frame.write_csv(file)


def beside(results: Sequence[Results]) -> Mapping[str, pl.DataFrame]:
    """Pairs, gaps, coverage, and the points of curves and cells of matrices, as tables."""
    import polars as pl

    found = {
        "pairs": [row for one in results for row in _pairs(one)],
        "gaps": [row for one in results for row in _gaps(one)],
        "coverage": [row for one in results for row in _coverage(one)],
    }
    frames = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in found.items()}
    curves = [frame for one in results for frame in _curves(one)]
    grids = [row for one in results for row in _grids(one)]
    frames["curves"] = pl.concat(curves) if curves else pl.DataFrame()
    frames["matrices"] = pl.DataFrame(grids)
    return frames


def write_json(runs: Sequence[Reported], path: Path) -> None:
    """All results as one strict JSON document, at full precision."""
    from evenhand.store.plain import dumps

    write_file(path, dumps({"results": [run.results for run in runs]}))


def write_markdown(runs: Sequence[Reported], path: Path) -> None:
    """The sections of the report as Markdown."""
    parts = []
    for run in runs:
        parts.append(f"# {_md(run.results.task)}: {_md(run.results.model)}\n")
        parts.extend(_markdown(section, 2) for section in run.sections)
    write_file(path, "\n".join(parts))


def write_latex(runs: Sequence[Reported], path: Path) -> None:
    """The tables of groups, gaps and pairs as LaTeX `tabular`s."""
    found = [
        table
        for run in runs
        for section in (group_figures(run.results), gaps(run.results), pairs(run.results))
        for table in tables_of(section)
    ]
    write_file(path, "\n\n".join(_latex(table) for table in found) + "\n")


def tables_of(section: Section) -> Iterator[Table]:
    """Every table of a section and those below it, those behind figures too."""
    for block in section.blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Figure):
            yield block.data
    for inner in section.sections:
        yield from tables_of(inner)


def _pairs(results: Results) -> Iterator[dict[str, Any]]:
    for c in results.contrasts:
        yield {
            "task": results.task, "model": results.model, "metric": c.metric, "output": c.output,
            "first": str(c.first), "second": str(c.second), "difference": c.difference, "low": c.low, "high": c.high,
            "p": c.p, "adjusted": c.adjusted, "verdict": c.verdict.value if c.verdict else "",
            "worse": str(c.worse) if c.worse is not None else "", "test": c.test, "interval": c.interval,
            "family": c.family, "family_size": c.family_size, "correction": c.correction,
            "detectable": c.detectable, "margin": c.margin, "shared_rows": c.shared_rows,
        }  # fmt: skip


def _gaps(results: Results) -> Iterator[dict[str, Any]]:
    for s in results.summaries:
        reference = s.reference
        values = {name: None if isinstance(value, Undefined) else value for name, value in s.values.items()}
        yield {
            "task": results.task, "model": results.model, "metric": s.metric, "output": s.output,
            "by": " × ".join(s.by), "worst": str(s.worst) if s.worst is not None else "",
            "best": str(s.best) if s.best is not None else "", **values,
            "even_model_gap": reference.mean if reference else None,
            "even_model_gap_95": reference.upper if reference else None,
            "excess_gap": reference.excess if reference else None, "p": reference.p if reference else None,
            "groups": len(s.eligible), "excluded": len(s.excluded),
        }  # fmt: skip


def _coverage(results: Results) -> Iterator[dict[str, Any]]:
    found = results.coverage
    counts = {name: getattr(found, name) for name in ("asked", "answered", "empty", "unusable", "missing", "extra")}
    counts |= {f"reason: {reason}": count for reason, count in found.reasons.items()}
    counts |= {f"rows without {name}": count for name, count in results.missing_attributes.items()}
    for what, count in counts.items():
        yield {"task": results.task, "model": results.model, "what": what, "count": count}


def _curves(results: Results) -> Iterator[pl.DataFrame]:
    import polars as pl

    for e in results.estimates:
        if isinstance(e.value, Curve):
            size = len(e.value.x)
            facts = {"task": results.task, "model": results.model, "metric": e.metric, "output": e.output}
            facts |= {"group": str(e.group), "x_name": e.value.x_name, "y_name": e.value.y_name}
            points = {"x": e.value.x, "y": e.value.y}
            points["threshold"] = np.full(size, np.nan) if e.value.threshold is None else e.value.threshold
            frame = pl.DataFrame({name: np.asarray(column, dtype=np.float64) for name, column in points.items()})
            yield frame.select(*(pl.lit(text).alias(name) for name, text in facts.items()), *points)


def _grids(results: Results) -> Iterator[dict[str, Any]]:
    for e in results.estimates:
        if not isinstance(e.value, Grid):
            continue
        for row, counts in zip(e.value.rows, e.value.values, strict=True):
            for column, count in zip(e.value.columns, counts, strict=True):
                facts = {"task": results.task, "model": results.model, "metric": e.metric, "output": e.output}
                yield {**facts, "group": str(e.group), "row": row, "column": column, "value": float(count)}


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
        "–": "--",
        "∞": r"$\infty$",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
    special |= {char: "\\" + char for char in "&%$#_{}"}
    return "".join(special.get(char, char) for char in text).replace("\n", " ")
