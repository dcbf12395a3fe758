"""`BiasReport`: the published report from a results folder, with honest statistics beside the published ones.

The PDF has the task, the data and the attributes in words; for every metric the threshold curve, one
figure per attribute with 95 % intervals, the published disparity table, and a table of groups with
intervals that count subjects. No picture of a subject is ever in it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary, words
from evenhand.benchmarks.fhibe.disparity import MIN_GROUP, Bars, bars, disparities, disparity_table
from evenhand.compat.fhibe import plots, typeset
from evenhand.compat.fhibe.arguments import dataset_folder, results_folder
from evenhand.compat.fhibe.errors import ArgumentValueError
from evenhand.compat.fhibe.honest import Honest, from_outputs, from_picture_scores
from evenhand.compat.fhibe.stored import from_content, open_scores, stored_metrics, threshold_curve
from evenhand.core.errors import EvenhandError
from evenhand.core.records import Group

_PICTURE_TASKS = ("face_encoding", "face_super_resolution")


@dataclass(frozen=True)
class MetricPages:
    """What the report shows of one metric."""

    metric: str
    curve: tuple[list[float], list[float]]
    figures: Mapping[str, Mapping[str, Any]]  # attribute → Vega-Lite document
    bars: Mapping[str, Bars]
    table: list[list[str]] | None
    honest: Mapping[str, list[list[str]]] = field(default_factory=dict)  # attribute → rows


class BiasReport:
    """The bias report of one model on one task, from the files that `evaluate_task` wrote."""

    def __init__(
        self,
        model_name: str,
        task_name: str,
        data_rootdir: str | Path,
        dataset_version: str,
        results_base_dir: str | Path,
        dataset_name: str,
        results_dir: str | Path | None = None,
        downsampled: bool = False,
        use_mini_dataset: bool = False,
    ) -> None:
        base = Path(results_base_dir)
        inside = base / "mini" if use_mini_dataset else base
        if results_dir is None and not (inside / task_name).is_dir():
            raise ArgumentValueError(f"{inside} has no results for the task {task_name!r}. Run evaluate_task first.")
        self.model_name, self.task_name, self.dataset_version = model_name, task_name, dataset_version
        self.data_rootdir, self.dataset_name, self.use_mini_dataset = Path(data_rootdir), dataset_name, use_mini_dataset
        self.results_dir = Path(results_dir) if results_dir is not None else self._found(base, downsampled)

    def _found(self, base: Path, downsampled: bool) -> Path:
        """The results folder; downsampled or not, whichever is there (the two defaults differ, Q19)."""
        places = [
            results_folder(base, self.task_name, folder, self.model_name, mini=self.use_mini_dataset)
            for folder in (
                dataset_folder(self.dataset_name, downsampled=downsampled),
                dataset_folder(self.dataset_name, downsampled=not downsampled),
            )
        ]
        return next((place for place in places if place.is_dir()), places[0])

    def calculate_disparity(
        self,
        results: Mapping[str, Any],
        attributes: list[str],
        metric: str,
        group_largest_regions: bool = True,
        k: int = 0,
        min_group_size: int | None = MIN_GROUP,
    ) -> list[list[Any]]:
        """Significant pairs in the published layout, from the content of an `intersectional_results` file."""
        found = disparities(
            from_content(metric, results),
            _checked(attributes),
            largest_regions=group_largest_regions,
            size=k,
            min_group=min_group_size,
        )
        return [pair.row for pair in found]

    def generate_pdf_report(
        self,
        attributes: list[str],
        group_largest_regions: bool = True,
        show_significance_on_plots: bool = True,
        report_savename: str = "bias_report.pdf",
    ) -> Path:
        """Write `<results>/bias_report/<name>` and its figures as PNG; the path of the PDF comes back."""
        asked = _checked(attributes)
        metrics = stored_metrics(self.results_dir)
        if not metrics:
            raise ArgumentValueError(f"{self.results_dir} has no results. Run evaluate_task first.")
        evaluated = self._evaluated(asked, metrics)
        pages = [self.pages(metric, asked, group_largest_regions, evaluated) for metric in metrics]
        target = self.results_dir / "bias_report"
        target.mkdir(parents=True, exist_ok=True)
        for page in pages:
            for attribute, spec in page.figures.items():
                plots.save(spec, target / f"{page.metric}_{attribute}.png")
            if page.curve[0]:
                plots.save(plots.curve(*page.curve, page.metric), target / f"{page.metric}_thresholds.png")
        with tempfile.TemporaryDirectory() as folder:
            text = self._document(
                pages, asked, Path(folder), group_largest_regions, show_significance_on_plots, evaluated
            )
            typeset.compile_pdf(text, Path(folder), target / report_savename)
        return target / report_savename

    def pages(self, metric: str, asked: Sequence[str], regions: bool, evaluated: Honest | None) -> MetricPages:
        """What is shown of one metric."""
        stored = open_scores(self.results_dir, metric)
        figures, found, honest = {}, {}, {}
        for attribute in asked:
            if metric == "VAL":
                shown = _rates(stored.entries((attribute,)), attribute)
            else:
                shown = bars(stored, attribute, largest_regions=regions)
            limits = _limits(evaluated, metric, attribute)
            found[attribute] = shown
            figures[attribute] = plots.groups(shown, metric, attribute, limits)
            if rows := _honest(evaluated, metric, attribute):
                honest[attribute] = rows
        table = None if metric == "VAL" else disparity_table(stored, asked, largest_regions=regions)
        return MetricPages(metric, threshold_curve(self.results_dir, metric), figures, found, table, honest)

    def _evaluated(self, asked: Sequence[str], metrics: Sequence[str]) -> Honest | None:
        """The same outputs through the house's statistics; None when data or outputs are not at hand."""
        if self.use_mini_dataset:
            return None  # the size of the mini data set is not in the results folder
        try:
            if self.task_name in _PICTURE_TASKS:
                return from_picture_scores(self.task_name, self.results_dir, self.data_rootdir, asked, metrics)
            return from_outputs(self.task_name, self.results_dir, self.data_rootdir, asked, metrics)
        except EvenhandError:
            return None

    def _document(
        self,
        pages: Sequence[MetricPages],
        asked: Sequence[str],
        folder: Path,
        regions: bool,
        stars: bool,
        evaluated: Honest | None,
    ) -> str:
        face = self.task_name in vocabulary.FACE_TASKS
        out = typeset.Document(f"Bias report: {self.task_name.replace('_', ' ')}")
        out.line(f"Model: {self.model_name}. Data set: {self.dataset_name}, version {self.dataset_version}.")
        out.heading("Task")
        out.line(words.TASKS[self.task_name])
        out.heading("Data")
        out.line(words.DATA[face])
        if pages and pages[0].metric.endswith("_DET"):
            parts = open_scores(self.results_dir, pages[0].metric).parts or ()
            out.line("Evaluated parts: " + ", ".join(parts) + ".")
        out.line("Attributes: " + ", ".join(names.display_name(name) for name in asked) + ".")
        out.line(words.CAUTION)
        for number, page in enumerate(pages, start=1):
            self._metric(out, number, page, folder, stars, evaluated)
        out.page()
        out.heading("Attributes")
        for name in asked:
            grouped = regions and name in vocabulary.REGIONS
            more = "; grouped by continent or region here" if grouped else ""
            out.bullet(f"{names.display_name(name)}: {words.attribute_meaning(name)}{more}")
        return out.text

    def _metric(
        self,
        out: typeset.Document,
        number: int,
        page: MetricPages,
        folder: Path,
        stars: bool,
        evaluated: Honest | None,
    ) -> None:
        title, meaning = words.METRICS[page.metric]
        out.page()
        out.heading(f"Metric {number}. {page.metric}: {title}")
        out.line(meaning)
        if page.curve[0]:
            out.line("Thresholds: " + ", ".join(f"{level:.2f}" for level in page.curve[0]) + ".")
            plots.save(plots.curve(*page.curve, page.metric), folder / f"{page.metric}-curve.svg")
            out.image(f"{page.metric}-curve.svg")
        for attribute, spec in page.figures.items():
            out.subheading(names.display_name(attribute))
            name = f"{page.metric}-{attribute}.svg"
            plots.save(spec, folder / name)
            out.image(name)
            if stars and page.bars[attribute].pairs:
                out.line("Published marks: " + "; ".join(_marked(page.bars[attribute], attribute)) + ".")
            if attribute in page.honest:
                out.table(["Group", "Value, 95 % interval", "Rows", "Subjects", "Size"], page.honest[attribute])
        out.page()
        out.heading("Published disparity table", level=2)
        if page.table is not None:
            out.table(
                [typeset.plain(cell) for cell in page.table[1]], [[typeset.plain(c) for c in r] for r in page.table[2:]]
            )
        elif page.metric == "VAL":
            out.line("The published report does not test verification results.")
        else:
            out.line("No pair of groups was significant by the published procedure.")
        out.line(_PUBLISHED)
        if rows := _verdicts(evaluated, page.metric):
            out.heading("Pairs with subjects as units", level=2)
            out.table(["Groups", "Difference, 95 % interval", "Adjusted p", "Verdict"], rows)


_PUBLISHED = (
    "By the published procedure, pictures of one subject count as independent, each attribute is corrected for its own "
    "pairs only, «worst» follows medians (and list order where these are equal), and the effect size is a z value that "
    "grows with the number of scores. For metrics where lower is better, «worst» is inverted."
)


def _checked(asked: Any) -> tuple[str, ...]:
    if not isinstance(asked, list) or not asked:
        raise ArgumentValueError("attributes must be a list with at least one attribute.")
    unknown = [name for name in asked if name not in vocabulary.ATTRIBUTES]
    if unknown:
        raise ArgumentValueError(f"There is no attribute {unknown[0]!r}. Known: {', '.join(vocabulary.ATTRIBUTES)}.")
    return names.canonical(asked)


def _rates(entries: Mapping[str, Any], attribute: str) -> Bars:
    values = [names.parse_key(key)[0] for key in entries]
    sizes = tuple(int(entry["Class_Size"]) for entry in entries.values())
    labels = tuple(
        f"{names.display_value(attribute, value)} ({size})" for value, size in zip(values, sizes, strict=True)
    )
    heights = tuple(float(entry["VAL"] or 0.0) for entry in entries.values())
    return Bars(labels, heights, sizes, tuple(values), (), ())


def _limits(evaluated: Honest | None, metric: str, attribute: str) -> plots.Limits:
    return {
        estimate.group.terms[0][1]: (estimate.low, estimate.high)
        for estimate in ([] if evaluated is None else evaluated.of(metric, attribute))
        if estimate.low is not None and estimate.high is not None
    }


def _honest(evaluated: Honest | None, metric: str, attribute: str) -> list[list[str]]:
    rows = []
    for estimate in [] if evaluated is None else evaluated.of(metric, attribute):
        if not estimate.rows:
            continue
        value = "undefined" if estimate.number is None else f"{estimate.number:.3f}"
        limits = (
            "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.3f} to {estimate.high:.3f})"
        )
        level = names.display_value(attribute, estimate.group.terms[0][1])
        rows.append([level, value + limits, str(estimate.rows), str(estimate.units), estimate.status.value])
    return rows


def _verdicts(evaluated: Honest | None, metric: str, most: int = 50) -> list[list[str]]:
    if evaluated is None:
        return []
    found = [contrast for contrast in evaluated.contrasts if contrast.metric == metric and contrast.verdict is not None]
    found.sort(key=lambda contrast: -abs(contrast.difference or 0.0))
    rows = []
    for contrast in found[:most]:
        limits = "" if contrast.low is None else f" ({contrast.low:.3f} to {contrast.high:.3f})"
        p = "" if contrast.adjusted is None else f"{contrast.adjusted:.3g}"
        rows.append(
            [
                f"{_shown(contrast.first)} − {_shown(contrast.second)}",
                f"{contrast.difference or 0.0:.3f}{limits}",
                p,
                "" if contrast.verdict is None else contrast.verdict.value,
            ]
        )
    return rows


def _shown(group: Group) -> str:
    return ", ".join(names.display_value(name, level) for name, level in group.terms)


def _marked(found: Bars, attribute: str) -> list[str]:
    return [
        f"{names.display_value(attribute, names.parse_key(pair.worst)[0])} against "
        f"{names.display_value(attribute, names.parse_key(pair.best)[0])} {mark}"
        for pair, mark in zip(found.pairs, found.stars, strict=True)
    ]
