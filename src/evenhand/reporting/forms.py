"""The forms in which a report can be written: pages, and tables for papers and programs.

CSV and JSON are the twin of the report: every number that is printed, at full precision. `report.csv` has the values
of groups; pairs, gaps, coverage and the points of curves are in files beside it (`report-pairs.csv`, …). Cells that a
spreadsheet would run as formulas are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from evenhand.core.errors import OptionError
from evenhand.core.metric import Curve, Grid, Undefined
from evenhand.core.page import Cell, Figure, Interval, Section, Table
from evenhand.core.printing import printable
from evenhand.core.records import EVERYONE
from evenhand.core.results import Estimate, Results
from evenhand.files.writing import write_file
from evenhand.reporting.display import NO_OUTPUT, ShownResults, names_of_family, shown, task_title
from evenhand.reporting.html import write_page
from evenhand.reporting.markup import latex_tables, markdown_section, markdown_table, markdown_text
from evenhand.reporting.pdf import write_pdf
from evenhand.reporting.phrases import (
    WORDING,
    as_cell,
    direction_of,
    gap_sentence,
    group_words,
    headline,
    in_words,
    value_name,
)
from evenhand.reporting.reported import MANY, Reported, names_of, report_page, reported, reported_folder
from evenhand.reporting.rounding import number_of, parts_of
from evenhand.reporting.sections import gap_of, methods_table, widest
from evenhand.store.runs import Run

if TYPE_CHECKING:
    import polars as pl

    from evenhand.stats.gate import GateOutcome

Writer = Callable[[Sequence[Reported], Path], object]


def write_report(runs: Sequence[Run | Path | str], path: Path, form: str = "html", *, intervals: bool = True) -> Path:
    writer_of(form, intervals=intervals)(opened(runs, form), path)
    return path


def writer_of(form: str, *, intervals: bool = True) -> Writer:
    """What writes a form; raises OptionError when there is no such form, or it can't go without intervals."""
    if form not in FORMS:
        raise OptionError(f"The format {form!r} is not known: it is {', '.join(FORMS)}.")
    if not intervals:
        if form != "latex":
            raise OptionError(f"Intervals can be left out of the format latex, not of {form}.")
        return partial(write_latex, intervals=False)
    return FORMS[form][1]


def opened(runs: Sequence[Run | Path | str], form: str = "html") -> list[Reported]:
    """Runs for their report in a form; stored ones as far as they can be read."""
    many = len(runs) > MANY and form in ("html", "pdf")  # files for programs hold everything
    return [
        reported(run, one_of_many=many) if isinstance(run, Run) else reported_folder(Path(run), one_of_many=many)
        for run in runs
    ]


def write_csv(runs: Sequence[Reported], path: Path) -> None:
    """Every estimate of every run, one line each, at full precision; what is no estimate in files beside."""
    import polars as pl

    from evenhand.store.frames import estimates_frame, inert

    frames = {"": pl.concat([estimates_frame(run.results) for run in runs])}
    frames |= {f"-{name}": frame for name, frame in beside([run.results for run in runs]).items() if len(frame)}
    for name, frame in frames.items():
        write_file(path.with_name(f"{path.stem}{name}.csv") if name else path, inert(frame).write_csv())


def beside(results: Sequence[Results]) -> Mapping[str, pl.DataFrame]:
    """Pairs, gaps, coverage, and the points of curves and cells of matrices, as tables."""
    import polars as pl

    makers = {"pairs": _pairs, "gaps": _gaps, "coverage": _coverage, "matrices": _cells}
    frames = {}
    for name, make in makers.items():
        rows = [{"task": one.task, "model": one.model, **row} for one in results for row in make(one)]
        frames[name] = pl.DataFrame(rows, infer_schema_length=None)
    curves = [frame for one in results for frame in _curves(one)]
    frames["curves"] = pl.concat(curves) if curves else pl.DataFrame()
    return frames


def write_json(runs: Sequence[Reported], path: Path) -> None:
    """All results as one strict JSON document, at full precision."""
    from evenhand.store.plain import dumps

    write_file(path, dumps({"results": [run.results for run in runs]}))


def write_markdown(runs: Sequence[Reported], path: Path) -> None:
    """The tables for papers, then the sections of each report, as Markdown."""
    parts = []
    for table in paper_tables(runs):
        parts.append(f"**{markdown_text(table.title)}**\n\n{markdown_table(table)}\n")
        parts += [f"{markdown_text(table.caption)}\n"] if table.caption else []
    for run in runs:
        parts.append(f"# {markdown_text(task_title(run.results.task))}: {markdown_text(run.results.model)}\n")
        parts.extend(markdown_section(section, 2) for section in run.sections)
    write_file(path, "\n".join(parts))


def write_latex(runs: Sequence[Reported], path: Path, *, intervals: bool = True) -> None:
    """The tables for papers as LaTeX; a document needs nothing for them, and booktabs makes them prettier."""
    write_file(path, latex_tables(paper_tables(runs), intervals=intervals))


def paper_tables(runs: Sequence[Reported]) -> list[Table]:
    """For each task: models × metrics, overall with worst group and gap, groups × models, and what its family adds."""
    tables: list[Table] = []
    for task in dict.fromkeys(run.results.task for run in runs):
        same = [run for run in runs if run.results.task == task]
        models, names = [run.shown for run in same], names_of([run.results for run in same])
        title = f"{task_title(task, models[0].names)}: all metrics, all groups together"
        methods = methods_table([run.added for run in same], names, title)
        metrics = _metric_tables(models, names, title) if methods is None else [_with_values(methods)]
        tables += [table for table in (_fairness_table(models, names), *metrics) if table.rows]
        tables += _group_tables(models, names)
        tables += _family_tables(same, names)
    return tables


def _fairness_table(models: Sequence[ShownResults], names: Sequence[str]) -> Table:
    """A row per model: overall, worst group, gap, and the gap that chance alone would make.

    No rows when groups were compared in no run.
    """
    first = models[0].first
    rows: list[tuple[Cell, ...]] = []
    is_any_compared = False
    for name, model in zip(names, models, strict=True):
        summary = widest(model, first)
        if next(model.of(*first), None) is None:
            continue
        if summary is None or summary.worst is None:
            rows.append((name, as_cell(model.get(*first), model.unit(*first)), *(Interval(None) for _ in range(4))))
            continue
        is_any_compared = True
        unit, points = model.unit(*first), model.points(*first)
        chance = Interval(summary.reference.mean if summary.reference else None, unit=points)
        values = (as_cell(model.get(*first), unit), as_cell(model.get(*first, summary.worst), unit))
        gap = Interval(gap_of(summary), unit=points)
        rows.append((name, values[0], values[1], group_words(summary.worst), gap, chance))
    if not is_any_compared:
        rows = []
    better = direction_of(models[0], *first)
    columns = ("Model", "All groups", "Worst group", "Which", "Gap", "By chance")
    title = f"{value_name(*first)} on {task_title(models[0].task, models[0].names)}: all groups, worst group and gap"
    return Table(title, columns, tuple(rows), form="paper", better=("", better, better, "", "lower", ""))


def _with_values(table: Table) -> Table:
    """The methods × metrics table without the metrics of which no method has a value."""
    known = [at for at, row in enumerate(table.rows) if any(number_of(value) is not None for value in row[1:])]
    rows, better = tuple(table.rows[at] for at in known), tuple(table.better[at] for at in known)
    return replace(table, rows=rows, better=better, caption="")


def _metric_tables(models: Sequence[ShownResults], names: Sequence[str], title: str) -> Iterator[Table]:
    """All metrics over all groups: a row per model where the names of metrics are short, else a row per metric."""
    pairs = dict.fromkeys(
        (e.metric, e.output)
        for model in models
        for e in model.estimates
        if e.group == EVERYONE and e.number is not None and direction_of(model, e.metric, e.output) != "neither"
    )
    titles = [value_name(*pair) for pair in pairs]
    better = tuple(direction_of(models[0], *pair) for pair in pairs)
    overall = [{(e.metric, e.output): e.number for e in model.estimates if e.group == EVERYONE} for model in models]
    # Without intervals, which a table of many metrics has no space for.
    cells = [
        [Interval(values.get(pair), unit=model.unit(*pair)) for pair in pairs]
        for model, values in zip(models, overall, strict=True)
    ]
    if sum(map(len, titles)) <= 60:
        rows: tuple[tuple[Cell, ...], ...] = tuple((name, *values) for name, values in zip(names, cells, strict=True))
        yield Table(title, ("Model", *titles), rows, form="paper", better=("", *better))
        return
    arrows = {"higher": " ↑", "lower": " ↓"}
    marked = [name + arrows.get(way, "") for name, way in zip(titles, better, strict=True)]
    lines = tuple(zip(marked, *cells, strict=True))
    for start in range(0, len(lines), 30):
        part = f" ({start // 30 + 1})" if len(lines) > 30 else ""
        some = slice(start, start + 30)
        yield Table(title + part, ("Metric", *names), lines[some], form="paper by metric", better=better[some])


def _group_tables(models: Sequence[ShownResults], names: Sequence[str], most: int = 4) -> Iterator[Table]:
    """A row per group of single attributes, a column per model; so many models a table."""
    first = models[0].first
    estimates = [e for model in models for e in model.of(*first)]
    groups = dict.fromkeys(e.group for e in estimates if len(e.group.terms) == 1 and not e.group.is_missing and e.rows)
    better, unit = direction_of(models[0], *first), models[0].unit(*first)
    own = [{e.group: e for e in model.of(*first)} for model in models]
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        size = next((known[group].rows for known in own if group in known), 0)
        values = [as_cell(known[group], unit) if group in known else Interval(None) for known in own]
        rows.append((group_words(group), size, *values))
    if rows:
        title = f"{value_name(*first)} by group on {task_title(models[0].task, models[0].names)}"
        directions = ("", "", *(better if len(models) > 1 else "" for _ in models))
        whole = Table(title, ("Group", "n", *names), tuple(rows), form="paper by row", better=directions)
        yield from parts_of(whole, kept=2, most=most)


def _family_tables(runs: Sequence[Reported], names: Sequence[str]) -> Iterator[Table]:
    """The families' tables for papers; those of several models with the same title and columns become one.

    A table that names the model in its first column is taken as it is. Captions that differ, such as those that say
    how the numbers were made, are kept with the models that they are about.
    """
    merged: dict[tuple[str, tuple[str, ...]], Table] = {}
    captions: dict[tuple[str, tuple[str, ...]], dict[str, list[str]]] = {}
    for name, run in zip(names, runs, strict=True):
        for table in (table for section in run.added for table in tables_of(section) if table.form == "paper"):
            if table.columns[0].lower() not in ("model", "method", "system"):
                rows = tuple((name, *row) for row in table.rows)
                better = ("", *table.better) if table.better else ()
                table = replace(table, columns=("Model", *table.columns), rows=rows, better=better)
            key = (table.title, table.columns)
            merged[key] = replace(table, rows=(*merged[key].rows, *table.rows)) if key in merged else table
            captions.setdefault(key, {}).setdefault(table.caption, []).append(name)
    for key, table in merged.items():
        several = [f"{', '.join(models)}: {caption or '–'}" for caption, models in captions[key].items()]
        yield table if len(several) == 1 else replace(table, caption=" ".join(several))


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
    for pair in results.contrasts:
        facts = {name: value for name, value in vars(pair).items() if name not in ("effects", "notes")}
        groups = {name: "" if facts[name] is None else str(facts[name]) for name in ("first", "second", "worse")}
        yield {**facts, **groups, "verdict": pair.verdict.value if pair.verdict else ""}


def _gaps(results: Results) -> Iterator[dict[str, Any]]:
    columns = {"gap_by_chance": "mean", "gap_by_chance_95": "upper", "excess_gap": "excess", "p": "p"}
    for summary in results.summaries:
        facts = {"metric": summary.metric, "output": summary.output, "by": " × ".join(summary.by)}
        ends = {name: str(group or "") for name, group in (("worst", summary.worst), ("best", summary.best))}
        values = {name: None if isinstance(value, Undefined) else value for name, value in summary.values.items()}
        chance = {name: getattr(summary.reference, field, None) for name, field in columns.items()}
        counts = {"groups": len(summary.eligible), "excluded": len(summary.excluded)}
        yield {**facts, **ends, **values, **chance, **counts}


def _coverage(results: Results) -> Iterator[dict[str, Any]]:
    counts = {name: getattr(results.coverage, name) for name in WORDING["coverage"]}
    counts |= {f"reason: {reason}": count for reason, count in results.coverage.reasons.items()}
    counts |= {f"rows without {name}": count for name, count in results.missing_attributes.items()}
    yield from ({"what": what, "count": count} for what, count in counts.items())


def _curves(results: Results) -> Iterator[pl.DataFrame]:
    import polars as pl

    for e in results.estimates:
        if isinstance(e.value, Curve):
            facts = {"task": results.task, "model": results.model, "metric": e.metric, "output": e.output}
            facts |= {"group": str(e.group), "x_name": e.value.x_name, "y_name": e.value.y_name}
            thresholds = np.full(len(e.value.x), np.nan) if e.value.threshold is None else e.value.threshold
            points = {"x": e.value.x, "y": e.value.y, "threshold": thresholds}
            frame = pl.DataFrame({name: np.asarray(column, dtype=np.float64) for name, column in points.items()})
            yield frame.select(*(pl.lit(text).alias(name) for name, text in facts.items()), *points)


def _cells(results: Results) -> Iterator[dict[str, Any]]:
    for e in results.estimates:
        if isinstance(e.value, Grid):
            facts = {"metric": e.metric, "output": e.output, "group": str(e.group)}
            for row, counts in zip(e.value.rows, e.value.values, strict=True):
                for column, count in zip(e.value.columns, counts, strict=True):
                    yield {**facts, "row": row, "column": column, "value": float(count)}


def card(results: Sequence[Results]) -> str:
    """A fragment for a model card: the `model-index` that Hugging Face reads, then what it says in words.

    The worst group and the gap stand beside the overall value, so that a card does not say how
    well a model does without saying for which group it performs worse.
    """
    import yaml

    models = dict.fromkeys(run.model for run in results)
    index = [{"name": model, "results": [_entry(run) for run in results if run.model == model]} for model in models]
    front = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True, width=1000)
    return printable(f"---\n{front}---\n\n## Evaluation by group\n\n" + "\n\n".join(map(_words, results)) + "\n")


def _entry(results: Results) -> dict[str, Any]:
    first = headline(results)
    metrics: list[dict[str, Any]] = []
    if first is not None:
        overall, summary, name = results.get(*first), widest(results, first), value_name(*first)
        if overall.number is not None:
            metrics.append(_metric(name, overall))
        if summary is not None and summary.worst is not None:
            metrics.append(_metric(f"{name}, worst group ({summary.worst})", results.get(*first, summary.worst)))
            even = "" if summary.reference is None else f" (expected by chance alone: {summary.reference.mean:.4g})"
            gap = f"{name}, gap by {' × '.join(summary.by)}{even}"
            metrics.append({"type": "max_gap", "name": gap, "value": summary.values["max_gap"]})
    family = results.task.partition("/")[0]
    name = results.task.rpartition("/")[2]
    kind = names_of_family(results.task).card_types.get(name, family)  # what has no type in model cards keeps our name
    return {
        "task": {"type": kind, "name": results.task},
        "dataset": {"type": family, "name": results.dataset or family},
        "metrics": metrics,
        "source": {"name": f"evenhand {results.version}".strip()},
    }


def _metric(name: str, estimate: Estimate) -> dict[str, Any]:
    limits = {} if estimate.low is None else {"confidence_interval": [estimate.low, estimate.high]}
    return {"type": estimate.output, "name": name, "value": estimate.number, **limits}


def _words(results: Results) -> str:
    results = shown(results)
    first = results.first
    title = f"### {markdown_text(task_title(results.task, results.names))}"
    if first == NO_OUTPUT:
        return f"{title}\n\nNo metric has a value."
    unit = results.unit(*first)
    overall = results.get(*first)
    lines = [title, "", markdown_text(f"{value_name(*first)}: {in_words(overall, unit)}, n = {overall.rows:,}.")]
    rows = tuple(
        (group_words(e.group), e.rows, as_cell(e, unit))
        for e in results.of(*first)
        if len(e.group.terms) == 1 and not e.group.is_missing
    )
    lines += ["", markdown_table(Table("", ("group", "n", value_name(*first)), rows))]
    gaps = [gap_sentence(s, unit) for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    return "\n".join([*lines, "", *map(markdown_text, gaps), "", *WORDING["cautions"].values()])


def write_junit(verdicts: Sequence[GateOutcome], suite: str, path: Path) -> None:
    """Write one test case per requirement."""
    failed = sum(not verdict.met for verdict in verdicts)
    root = ElementTree.Element("testsuites", tests=str(len(verdicts)), failures=str(failed))
    cases = ElementTree.SubElement(root, "testsuite", name=_xml(suite), tests=str(len(verdicts)), failures=str(failed))
    for verdict in verdicts:
        case = ElementTree.SubElement(cases, "testcase", classname="evenhand.gate", name=_xml(verdict.name))
        if not verdict.met:
            ElementTree.SubElement(case, "failure", message=_xml(verdict.message)).text = _xml(verdict.message)
    ElementTree.indent(root)
    write_file(path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _xml(text: str) -> str:
    """Text without the characters that XML forbids: controls, lone surrogates, U+FFFE and U+FFFF."""
    return re.sub("[^\\t\\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "�", text)


FORMS: Mapping[str, tuple[str, Writer]] = {  # the end of a file's name, and what writes it
    "html": ("html", lambda runs, path: write_page(report_page(runs), path)),
    "pdf": ("pdf", lambda runs, path: write_pdf(report_page(runs), path)),
    "csv": ("csv", write_csv),
    "json": ("json", write_json),
    "markdown": ("md", write_markdown),
    "latex": ("tex", write_latex),
    "card": ("card.md", lambda runs, path: write_file(path, card([run.results for run in runs]))),
}
