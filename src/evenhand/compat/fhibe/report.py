"""`BiasReport`: the published report from a results folder, with statistics statistics beside the published ones.

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
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import MIN_GROUP, Bars, bars, disparities, disparity_table
from evenhand.benchmarks.fhibe.table import MINI_ROWS
from evenhand.compat.fhibe import descriptions, plots, typeset, wording
from evenhand.compat.fhibe.arguments import dataset_folder, results_folder
from evenhand.compat.fhibe.errors import ArgumentValueError
from evenhand.compat.fhibe.results_folder import (
    StoredScores,
    custom_keypoints,
    from_content,
    open_scores,
    scored_rows,
    stored_metrics,
    threshold_curve,
)
from evenhand.compat.fhibe.statistics import Statistics, from_outputs, from_picture_scores
from evenhand.core.errors import EvenhandError

UNBIASED = "TAR_AT_FAR"
_PICTURE_TASKS = ("face_encoding", "face_super_resolution")


@dataclass(frozen=True)
class MetricPages:
    """What the report shows of one metric."""

    metric: str
    curve: tuple[list[float], list[float]]
    figures: Mapping[str, Mapping[str, Any]]  # attribute → Vega-Lite document
    bars: Mapping[str, Bars]
    table: list[list[str]] | None
    statistics: Mapping[str, list[list[str]]] = field(default_factory=dict)  # attribute → rows


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
        evaluated = self.judged(asked, metrics)
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

    def pages(self, metric: str, asked: Sequence[str], regions: bool, evaluated: Statistics | None) -> MetricPages:
        """What is shown of one metric."""
        stored = open_scores(self.results_dir, metric)
        found = {
            attribute: _rates(stored.entries((attribute,)), attribute)
            if metric == "VAL"
            else bars(stored, attribute, largest_regions=regions)
            for attribute in asked
        }
        heights = [height for shown in found.values() for height in shown.heights]
        if metric == "VAL":
            folds = [_over_folds(stored.entries((attribute,))) for attribute in asked]
            heights += [end for spread in folds for ends in spread.values() for end in ends]
        judged = evaluated or Statistics((), ())
        whole, domain = wording.everyone(judged, metric), wording.domain(judged, metric, asked, heights)
        figures = {}
        for attribute, shown in found.items():
            if stored.parts is not None:
                figures[attribute] = self._part_figure(stored, attribute, regions, judged)
                continue
            over = None if metric != "VAL" else _over_folds(stored.entries((attribute,)))
            limits = wording.limits(judged, metric, attribute) if over is None else over
            middle = None if whole is None else whole.number
            figures[attribute] = plots.groups(shown, metric, attribute, limits, everyone=middle, domain=domain)
        by = _beside(metric)
        statistics = {attribute: rows for attribute in asked if (rows := wording.group_rows(judged, by, attribute))}
        table = None if metric == "VAL" else disparity_table(stored, asked, largest_regions=regions)
        return MetricPages(metric, threshold_curve(self.results_dir, metric), figures, found, table, statistics)

    def _part_figure(self, stored: StoredScores, attribute: str, regions: bool, judged: Statistics) -> dict[str, Any]:
        """Every part's means by group, with its intervals."""
        shown = {
            part: (
                bars(stored, attribute, largest_regions=regions, part=part),
                wording.limits(judged, stored.metric, attribute, f"mean:{part}"),
            )
            for part in stored.parts or ()
        }
        return plots.parts(shown, stored.metric)

    def judged(self, asked: Sequence[str], metrics: Sequence[str]) -> Statistics | None:
        """The same outputs through the house's statistics; None when data or outputs are not at hand."""
        # Verification keeps no scores to count: the usual size is tried, and given up when the outputs are of another.
        mini = (scored_rows(self.results_dir) or MINI_ROWS) if self.use_mini_dataset else None
        judge = from_picture_scores if self.task_name in _PICTURE_TASKS else from_outputs
        try:
            return judge(self.task_name, self.results_dir, self.data_rootdir, asked, metrics, mini=mini)
        except EvenhandError:
            return None

    def _document(
        self,
        pages: Sequence[MetricPages],
        asked: Sequence[str],
        folder: Path,
        regions: bool,
        stars: bool,
        evaluated: Statistics | None,
    ) -> str:
        face = self.task_name in vocabulary.FACE_TASKS
        out = typeset.Document(f"Bias report: {self.task_name.replace('_', ' ')}")
        out.facts(self._facts(pages, asked))
        if evaluated is not None:
            out.heading("In short")
            for line in wording.in_short(evaluated, [_beside(page.metric) for page in pages]):
                out.bullet(line)
            out.line("")
            out.line(wording.READING.format(margin=evaluated.margin))
        else:
            out.line(_NOT_JUDGED)
        out.heading("Task")
        out.line(descriptions.TASKS[self.task_name])
        out.heading("Data")
        out.line(descriptions.DATA[face])
        if pages and pages[0].metric.endswith("_DET"):
            parts = open_scores(self.results_dir, pages[0].metric).parts or ()
            out.line("Evaluated parts: " + ", ".join(parts) + ".")
        out.heading("Metrics")
        for page in pages:
            title, meaning = descriptions.METRICS[page.metric]
            out.bullet(f"{page.metric}, {title}: {meaning}")
        out.heading("What this report can't say")
        out.line(descriptions.CAUTION)
        for number, page in enumerate(pages, start=1):
            self._metric(out, number, page, folder, stars, evaluated)
        out.page()
        out.heading("Attributes")
        for name in asked:
            grouped = regions and name in vocabulary.REGIONS
            more = "; grouped by continent or region here" if grouped else ""
            out.bullet(f"{names.display_name(name)}: {descriptions.attribute_meaning(name)}{more}")
        return out.text

    def _facts(self, pages: Sequence[MetricPages], asked: Sequence[str]) -> dict[str, str]:
        mini = ", the mini data set" if self.use_mini_dataset else ""
        return {
            "Model": self.model_name,
            "Task": self.task_name.replace("_", " "),
            "Data": f"{self.dataset_name}, version {self.dataset_version}{mini}",
            "Metrics": ", ".join(page.metric for page in pages),
            "Attributes": ", ".join(names.display_name(name) for name in asked),
        }

    def _metric(
        self,
        out: typeset.Document,
        number: int,
        page: MetricPages,
        folder: Path,
        stars: bool,
        evaluated: Statistics | None,
    ) -> None:
        title, meaning = descriptions.METRICS[page.metric]
        out.page()
        out.heading(f"Metric {number}. {page.metric}: {title}")
        out.line(meaning)
        if page.metric in ("PCK", "AR_OKS"):
            chosen = custom_keypoints(self.results_dir) or vocabulary.KEYPOINTS
            out.line("Keypoints: " + ", ".join(chosen) + ".")
        if page.curve[0]:
            out.line("Thresholds: " + ", ".join(f"{level:.2f}" for level in page.curve[0]) + ".")
            plots.save(plots.curve(*page.curve, page.metric), folder / f"{page.metric}-curve.svg")
            out.image(f"{page.metric}-curve.svg")
        out.line(_FOLDS if page.metric == "VAL" else _PARTS if page.metric in _PART_METRICS else _FIGURES)
        for attribute, spec in page.figures.items():
            out.together()
            out.subheading(names.display_name(attribute))
            name = f"{page.metric}-{attribute}.svg"
            plots.save(spec, folder / name)
            out.image(name)
            if stars and page.bars[attribute].pairs:
                out.line("Published marks: " + "; ".join(_marked(page.bars[attribute], attribute)) + ".")
            if attribute in page.statistics:
                if page.metric == "VAL":
                    out.line(_UNBIASED)
                out.table(wording.GROUP_HEADER, page.statistics[attribute])
            out.apart()
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
        if page.metric != "VAL":
            out.line(_PUBLISHED)
        if evaluated is not None and (rows := wording.pair_rows(evaluated, _beside(page.metric))):
            out.heading(f"Pairs of groups by {_beside(page.metric)}, with subjects as units", level=2)
            out.table(wording.PAIR_HEADER, rows)
            if len(rows) == wording.MOST_PAIRS:
                out.line(f"The first {wording.MOST_PAIRS} pairs; `evenhand evaluate` lists all.")


_FIGURES = (
    "In the figures a point is a group's mean, the line through it the 95 % interval by subjects, the dashed "
    "line everyone's mean; behind a group's name stands its number of rows. All attributes have the same scale."
)
_FOLDS = (
    "In the figures a point is a group's VAL, the line through it VAL ± its spread over ten folds, no interval: "
    "folds share people and pairs. The dashed line is everyone's VAL; behind a group's name stands its number of rows."
)
_PARTS = (
    "In the figures a point is a group's mean for one part, the line through it the 95 % interval by subjects. The "
    "tables and the pairs of groups are about the plain mean over the parts."
)
_PART_METRICS = ("AR_DET", "ACC_DET")
_UNBIASED = (
    "Beside VAL: the share of all genuine pairs accepted at a false accept rate of 0.001 that was set on everyone's "
    "impostor pairs; unlike VAL it does not shrink with the number of pairs."
)
_NOT_JUDGED = (
    "The model's stored outputs, the data or the size of a mini data set are not known, so there are no intervals: the "
    "figures and tables below are the published numbers alone."
)
_PUBLISHED = (
    "By the published procedure, pictures of one subject count as independent, each attribute is corrected for its own "
    "pairs only, «worst» follows medians (and list order where these are equal), and the effect size is a z value that "
    "grows with the number of scores. For metrics where lower is better, «worst» is inverted."
)


def _beside(metric: str) -> str:
    """The metric that groups are judged by where the published one can't be: VAL has no score per row."""
    return UNBIASED if metric == "VAL" else metric


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


def _over_folds(entries: Mapping[str, Any]) -> plots.Limits:
    """VAL ± VAL_Error of every group that has both, as the published report draws them."""
    return {
        names.parse_key(key)[0]: (entry["VAL"] - entry["VAL_Error"], entry["VAL"] + entry["VAL_Error"])
        for key, entry in entries.items()
        if entry["VAL"] is not None and entry["VAL_Error"] is not None
    }


def _marked(found: Bars, attribute: str) -> list[str]:
    return [
        f"{names.display_value(attribute, names.parse_key(pair.worst)[0])} against "
        f"{names.display_value(attribute, names.parse_key(pair.best)[0])} {mark}"
        for pair, mark in zip(found.pairs, found.stars, strict=True)
    ]
