"""Rows and estimates as Polars tables, for people who want to go on from there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import OptionError, RunError
from evenhand.core.metric import Direction, Metric
from evenhand.core.printing import json_escaped
from evenhand.core.records import MISSING, Array, Attribute, Records
from evenhand.core.results import Results
from evenhand.files.writing import open_file

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("csv", "jsonl", "parquet")
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$"
_UNPRINTABLE = r"[[\p{C}\p{Zl}\p{Zp}]--[\n\t\u200C\u200D]]"  # as core.names.printable


def rows_frame(rows: Records) -> pl.DataFrame:
    """The rows as a table: every column, and every attribute as text.

    Several levels are joined with `|`; "not annotated" is `(missing)`, "does not apply" is empty.
    """
    import polars as pl

    columns: dict[str, Any] = {
        name: column.tolist() if column.dtype.kind in "OU" else column for name, column in rows.columns.items()
    }
    for name, attribute in rows.attributes.items():
        columns[name if name not in columns else f"attribute:{name}"] = attribute_texts(attribute)
    return pl.DataFrame(columns)


def attribute_texts(attribute: Attribute) -> list[str | None]:
    """The levels of every row, as text."""
    texts: list[str | None] = [
        "|".join(level for level, inside in zip(attribute.levels, pattern, strict=True) if inside) or MISSING
        for pattern in attribute.patterns
    ]
    texts.append(None)  # code −1: does not apply
    return [texts[code] for code in attribute.codes.tolist()]


def worst_rows(
    rows: Records, metrics: Sequence[Metric[Any]], most: int, badness: Callable[[Records], Array] | None = None
) -> Records:
    """The rows that the first metric with row scores likes least, worst first; without one, by what the task says."""
    for metric in metrics:
        scores = metric.row_scores(rows)
        if scores is None:
            continue
        direction = next(iter(metric.outputs.values()))
        signed = -scores if direction is Direction.LOWER else scores
        # A row that could not be measured is the worst there is.
        order = np.argsort(np.where(np.isnan(signed), -np.inf, signed), kind="stable")
        return rows.take(order[:most])
    if badness is not None:
        return rows.take(np.argsort(-badness(rows), kind="stable")[:most])  # NaN, no sample, comes last
    raise OptionError("No metric of this task scores single rows, so none is the worst. Leave --worst out.")


def estimates_frame(results: Results) -> pl.DataFrame:
    """Every estimate that is a number or undefined, one row each."""
    import polars as pl

    kinds = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(results.columns(), schema_overrides=kinds)


def estimates_pandas(results: Results) -> Any:
    """The same as a pandas frame; raises when pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise RunError("to_pandas needs pandas: pip install pandas. to_frame gives the same with Polars.") from None
    return pandas.DataFrame(results.columns())


def write_frame(frame: pl.DataFrame, form: str, output: Path | None) -> None:
    """Write a table as CSV, JSON lines or Parquet; to standard output without a path."""
    if form not in FORMATS:
        known = f"table, {', '.join(FORMATS)}" if output is None else f"{', '.join(FORMATS)}, or a file that ends so"
        raise OptionError(f"--format {form!r} is not known: it takes {known}.")
    if form == "csv":
        frame = inert(flat(frame))
    writers: dict[str, Callable[[Any], Any]] = {
        "csv": frame.write_csv,
        "jsonl": partial(_write_json_lines, frame),
        "parquet": frame.write_parquet,
    }
    if output is not None:
        with open_file(output, "wb") as file:
            writers[form](file)
    elif form == "parquet" and sys.stdout.isatty():
        raise OptionError("Parquet is no text: name a file with -o, or redirect the output.")
    else:
        writers[form](sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _write_json_lines(frame: pl.DataFrame, file: IO[bytes]) -> None:
    for part in frame.iter_slices(50_000):
        file.write(json_escaped(part.write_ndjson()).encode())


def inert(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as CSV holds it: a quote before what a spreadsheet would run, no control characters but tabs and lines.

    Names of columns too. JSON lines and Parquet hold the exact texts.

    >>> import polars as pl
    >>> print(inert(pl.DataFrame({"=1": ["=2", "-3", "red\\x1b[31m"]})).write_csv(), end="")
    '=1
    '=2
    -3
    red�[31m
    """
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    frame = frame.with_columns(_inert(pl.col(name)).alias(name) for name in texts)
    names: dict[str, None] = {}
    for name in pl.select(_inert(pl.lit(pl.Series(frame.columns, dtype=pl.String)))).to_series():
        names[f"{name} {len(names)}" if name in names else name] = None
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _inert(text: pl.Expr) -> pl.Expr:
    import polars as pl

    text = text.str.replace_all("\r\n", "\n", literal=True).str.replace_all(_UNPRINTABLE, "�")
    is_run = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    return pl.when(is_run).then(pl.lit("'") + text).otherwise(text)


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with vectors as texts, since CSV has no lists."""
    import polars as pl

    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    texts = [pl.Series(name, [" ".join(map(str, row)) for row in frame[name].to_list()]) for name in nested]
    return frame.with_columns(texts)
