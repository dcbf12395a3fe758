"""`BiasReport`: the published report from a results folder, with intervals by subject beside the published numbers.

The PDF has the task, the data and the attributes in words; for every metric the threshold curve, one figure per
attribute with 95 % intervals, the published disparity table, and a table of pairs. It never shows numbers of
earlier model outputs beside those of the present ones. No picture of a subject is ever in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenhand import __version__
from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import MIN_GROUP, disparities, disparity_table
from evenhand.compat.fhibe.errors import ArgumentKeyError, ArgumentValueError, PlotError, logger
from evenhand.compat.fhibe.evaluate.arguments import (
    THRESHOLDED,
    check_attributes,
    check_model_name,
    dataset_folder,
)
from evenhand.compat.fhibe.reporting import figures
from evenhand.compat.fhibe.reporting.document import MetricPages, ReportContent, sections
from evenhand.compat.fhibe.reporting.figures import FigureAxes, FigureLine, PublishedFigure
from evenhand.compat.fhibe.reporting.results_folder import (
    custom_keypoints,
    from_content,
    open_scores,
    stored_metrics,
    stored_thresholds,
    threshold_curve,
)
from evenhand.compat.fhibe.reporting.statistics import ReportSource, ReportStatistics, disagreement
from evenhand.core.page import Figure
from evenhand.core.printing import printable_lines
from evenhand.files.writing import PathPolicy, make_folder, storing
from evenhand.reporting.html import Article, Page
from evenhand.reporting.pdf import write_pdf

_LOG = logger(__name__)
_MANY = 8  # attributes beyond which a report takes long
_OVERLAP_TASKS = ("person_localization", "person_parsing", "face_localization")
_RERUN = "Run evaluate_task again to have it here."


class BiasReport:
    """The bias report of one model on one task, from the files that `evaluate_task` wrote."""

    def __init__(
        self,
        model_name: str,
        task_name: str,
        data_rootdir: str | Path,
        dataset_version: str | None = None,
        results_base_dir: str | Path | None = None,
        dataset_name: str | None = None,
        results_dir: str | Path | None = None,
        downsampled: bool = False,
        use_mini_dataset: bool = False,
    ) -> None:
        # Only the version, which newer releases lack, may be absent.
        if results_base_dir is None or dataset_name is None:
            raise TypeError("BiasReport() needs results_base_dir and dataset_name.")
        self.model_name, self.task_name, self.dataset_version = check_model_name(model_name), task_name, dataset_version
        self.data_rootdir, self.use_mini_dataset, self.downsampled = str(data_rootdir), use_mini_dataset, downsampled
        self.dataset_base = "fhibe_face" if "_crop" in dataset_name or "_align" in dataset_name else "fhibe"
        self.dataset_name = dataset_name
        if "downsampled" not in dataset_name:
            self.dataset_name = dataset_folder(dataset_name, downsampled=downsampled)
        self.results_base_dir = str(Path(results_base_dir) / "mini" if use_mini_dataset else Path(results_base_dir))
        self.results_dir = str(self._results_folder() if results_dir is None else results_dir)
        base = Path(self.results_base_dir)
        there = {path.name for path in base.iterdir()} if base.is_dir() else set()
        self.valid_tasks = [task for task in vocabulary.DEFAULT_METRICS if task in there]
        if task_name not in self.valid_tasks and (results_dir is None or base.is_dir()):
            error = ArgumentValueError(f"Task: {task_name} has not yet been evaluated for this model: {model_name}")
            error.add_note(printable_lines(f"{base} has no results for it; run evaluate_task first."))
            raise error

    def _results_folder(self) -> Path:
        """The results folder; downsampled or not, whichever is there (the two published defaults differ)."""
        base = Path(self.results_base_dir) / self.task_name
        plain = self.dataset_name.removesuffix("_downsampled")
        folders = [self.dataset_name, dataset_folder(plain, downsampled=True), plain]
        places = [base / folder / self.model_name for folder in folders]
        return next((place for place in places if place.is_dir()), places[0])

    @property
    def _source(self) -> ReportSource:
        return ReportSource(self.task_name, Path(self.results_dir), Path(self.data_rootdir), self.use_mini_dataset)

    @property
    def evaluated_body_parts(self) -> list[str]:
        """The body parts that were evaluated; empty for other tasks."""
        folder, of_parts = Path(self.results_dir), vocabulary.DEFAULT_METRICS["body_parts_detection"]
        metric = next((name for name in stored_metrics(folder) if name in of_parts), None)
        return [] if metric is None else list(open_scores(folder, metric).parts or ())

    def validate_metric(self, metric_name: str) -> str:
        """The name of a metric of the task, in capitals; raises ValueError for any other."""
        if metric_name.upper() not in vocabulary.DEFAULT_METRICS.get(self.task_name, ()):
            raise ArgumentValueError(f"{metric_name} is not a valid metric for task: {self.task_name}")
        return metric_name.upper()

    def get_available_metrics(self) -> list[str]:
        """The metrics that have been evaluated, sorted."""
        return list(stored_metrics(Path(self.results_dir)))

    def get_metric_thresholds(self, metric_name: str) -> str | None:
        """The thresholds of a metric as text, with two decimals; None for a metric without thresholds."""
        keys = stored_thresholds(Path(self.results_dir), metric_name)
        return ", ".join(keys) if keys else None

    def get_attr_scores(
        self,
        intersectional_results: Mapping[str, Any],
        metric_name: str,
        attr_name: str,
        group_largest_regions: bool,
    ) -> list[dict[str, Any]]:
        """Every score of the groups of one attribute, with the group's name as the report prints it.

        Body parts have a `Body Part` in each entry; verification has VAL, its error and `class_size`.
        """
        stored = from_content(metric_name, intersectional_results)
        rows: list[dict[str, Any]] = []
        for value, entry in stored.by_group(attr_name, regions=group_largest_regions).items():
            shown = {attr_name: names.display_value(attr_name, value)}
            if self.task_name == "face_verification":
                error = f"{metric_name}_Error"
                numbers = {metric_name: entry[metric_name], error: entry[error], "class_size": entry["Class_Size"]}
                rows.append({**shown, **numbers})
            elif stored.parts is not None:
                rows += [
                    {**shown, "Body Part": part, metric_name: score}
                    for part, of_part in entry.items()
                    for score in of_part["scores"]
                ]
            else:
                rows += [{**shown, metric_name: score} for score in entry["scores"]]
        return rows

    def calculate_disparity(
        self,
        intersectional_results: Mapping[str, Any],
        attributes_to_consider: list[str],
        metric_name: str,
        group_largest_regions: bool = True,
        k: int = 0,
        min_group_size: int | None = MIN_GROUP,
    ) -> list[list[Any]]:
        """Significant pairs in the published layout, from the content of an `intersectional_results` file."""
        pairs = disparities(
            from_content(metric_name, intersectional_results),
            self._checked(attributes_to_consider),
            largest_regions=group_largest_regions,
            size=k,
            min_group=min_group_size,
        )
        return [pair.row for pair in pairs]

    def make_disparity_table(
        self,
        intersectional_results: Mapping[str, Any],
        attributes_to_consider: list[str],
        metric_name: str,
        group_largest_regions: bool = True,
    ) -> list[list[str]] | None:
        """The cells of the published disparity table, title and header first; None when nothing was significant."""
        stored = from_content(metric_name, intersectional_results)
        return disparity_table(stored, self._checked(attributes_to_consider), largest_regions=group_largest_regions)

    def plot_iou_vs_threshold(self, savefig: bool = False, fig_savename: str | Path | None = None) -> PublishedFigure:
        """The share of rows whose overlap reaches each threshold."""
        if self.task_name not in _OVERLAP_TASKS:
            raise PlotError(f"IoU cannot be plotted for task: {self.task_name}")
        return self._plot_curve("AR_MASK" if self.task_name == "person_parsing" else "AR_IOU", savefig, fig_savename)

    def plot_oks_vs_threshold(self, savefig: bool = False, fig_savename: str | Path | None = None) -> PublishedFigure:
        """The share of rows whose keypoint similarity reaches each threshold."""
        if self.task_name != "keypoint_estimation":
            raise PlotError("OKS is only available for task: keypoint_estimation")
        return self._plot_curve("AR_OKS", savefig, fig_savename)

    def plot_pck_vs_threshold(self, savefig: bool = False, fig_savename: str | Path | None = None) -> PublishedFigure:
        """The mean share of correct keypoints at each threshold."""
        if self.task_name != "keypoint_estimation":
            raise PlotError("PCK is only available for task: keypoint_estimation.")
        return self._plot_curve("PCK", savefig, fig_savename)

    def plot_metric_by_intersectional_group(
        self,
        metric_name: str,
        attr_name: str,
        intersectional_results: Mapping[str, Any] | None = None,
        group_largest_regions: bool = True,
        show_medians: bool = False,
        show_significance: bool = False,
        savefig: bool = False,
        fig_savename: str | Path | None = None,
    ) -> PublishedFigure:
        """The mean of each group of an attribute with a 68 % interval over its rows, as published.

        With `show_medians` the figure's table has the medians too; with `show_significance`
        brackets join the groups that differ by the published test.
        """
        metric = self.validate_metric(metric_name)
        check_attributes([attr_name], self.task_name)
        if intersectional_results is None:
            stored = open_scores(Path(self.results_dir), metric)
        else:
            stored = from_content(metric, intersectional_results)
        regions, marks = group_largest_regions, show_significance
        figure = figures.attribute_figure(
            stored, attr_name, ReportStatistics(), regions=regions, marks=marks, medians=show_medians
        )
        axes = figures.published_axes(stored, attr_name, regions=regions, marks=marks)
        return self._published(figure, axes, savefig, fig_savename)

    def generate_pdf_report(
        self,
        attributes: list[str],
        group_largest_regions: bool = True,
        show_significance_on_plots: bool = True,
        report_savename: str = "bias_report.pdf",
    ) -> Path:
        """Write `<results>/bias_report/<name>` and its figures as PNG; the path of the PDF comes back."""
        asked = self._checked(attributes)
        path = Path(self.results_dir) / "bias_report" / report_savename
        self._check_output(path)
        if len(asked) > _MANY:
            _LOG.warning("A report with more than %d attributes can take long.", _MANY)
        content = self.content(asked, regions=group_largest_regions, marks=show_significance_on_plots)
        folder = make_folder(Path(self.results_dir) / "bias_report")
        for page in content.pages:
            if page.curve is not None:
                figures.PublishedFigure(page.curve).savefig(folder / f"{THRESHOLDED[page.metric].kind}_thresh.png")
            for attribute, figure in page.figures.items():
                name = f"intersectional_results_{page.metric}_{attribute}.png"
                figures.PublishedFigure(figure).savefig(folder / name)
        title = f"FHIBE bias report: {self.task_name.replace('_', ' ')}"
        article = Article(title, sections(content))
        write_pdf(Page(title, [article], kicker=f"evenhand {__version__}"), path, paper="us-letter")
        _LOG.info("Saved %s", path)
        return path

    def content(self, asked: Sequence[str], *, regions: bool = True, marks: bool = True) -> ReportContent:
        """What the report shows, as data."""
        folder = Path(self.results_dir)
        metrics = list(stored_metrics(folder))
        if metrics:
            shown, statistics, notes = self._fresh(metrics, asked, regions)
        else:  # as published: a report without results
            _LOG.warning("%s has no results, and so has the report. Run evaluate_task first.", folder)
            shown, statistics = [], ReportStatistics()
            notes = [f"No metric has been evaluated: {folder} has no results. Run evaluate_task first."]
        pages = [self._pages(metric, asked, regions, statistics, marks=marks) for metric in shown]
        facts = self._facts(shown, asked, regions)
        return ReportContent(self.task_name, facts, tuple(asked), regions, pages, statistics, notes)

    def _fresh(
        self, metrics: Sequence[str], asked: Sequence[str], regions: bool
    ) -> tuple[list[str], ReportStatistics, list[str]]:
        """The metrics to show, their statistics, and what is to be said of the others.

        Numbers of earlier outputs are left out; where there are no others they are shown alone.
        """
        source = self._source
        stale = source.stale(metrics)
        fresh = [metric for metric in metrics if metric not in stale]
        statistics = source.statistics(asked, fresh, regions=regions) if fresh else ReportStatistics()
        for metric in fresh:
            entry = source.provenance(metric)
            unknown = entry is None or not entry.is_comparable
            if unknown and (why := disagreement(open_scores(source.folder, metric), statistics, asked)):
                stale[metric] = why
        fresh = [metric for metric in fresh if metric not in stale]
        if not fresh:
            metric, why = next(iter(stale.items()))
            note = (
                f"Stale: no number below belongs to what is in the folder now; of {metric}, {why}. There are no "
                "intervals. Run evaluate_task again for a report of the present outputs."
            )
            return list(metrics), ReportStatistics(), [note]
        notes = [f"{metric} is left out: {why}. {_RERUN}" for metric, why in stale.items()]
        notes += [f"{metric} has no intervals: {why}" for metric, why in statistics.problems.items()]
        return fresh, statistics, notes

    def _pages(
        self, metric: str, asked: Sequence[str], regions: bool, statistics: ReportStatistics, *, marks: bool
    ) -> MetricPages:
        folder, source = Path(self.results_dir), self._source
        stored = open_scores(folder, metric)
        marks = marks and metric != "VAL" and stored.parts is None  # as published
        domain = figures.shared_domain(stored, asked, statistics, regions=regions)
        curve = threshold_curve(folder, metric)
        keypoints: tuple[str, ...] = ()
        if self.task_name == "keypoint_estimation":
            keypoints = custom_keypoints(folder) or vocabulary.KEYPOINTS
        return MetricPages(
            metric,
            source.thresholds(metric),
            keypoints,
            figures.curve_figure(metric, curve) if curve[0] else None,
            {
                attribute: figures.attribute_figure(
                    stored, attribute, statistics, regions=regions, marks=marks, domain=domain
                )
                for attribute in asked
            },
            marks,
            None if metric == "VAL" else disparity_table(stored, asked, largest_regions=regions),
            stored.parts or (),
        )

    def _facts(self, metrics: Sequence[str], asked: Sequence[str], regions: bool) -> dict[str, str]:
        folder = Path(self.results_dir)
        entries = [entry for metric in metrics if (entry := self._source.provenance(metric)) is not None]
        dates = sorted({entry.date for entry in entries})
        versions = sorted({entry.version for entry in entries})
        if not dates and not metrics:
            dates = ["never"]
        elif not dates:
            newest = max((folder / f"intersectional_results_{metric}.json").stat().st_mtime for metric in metrics)
            dates = [datetime.fromtimestamp(newest, tz=UTC).date().isoformat()]
        sizes = sorted({entry.mini for entry in entries if entry.mini is not None})
        mini = f", mini data set of {', '.join(map(str, sizes)) or 'unknown'} rows" if self.use_mini_dataset else ""
        return {
            "Model": self.model_name,
            "Task": self.task_name.replace("_", " "),
            "Data set": f"{self.dataset_name}, version {self.dataset_version or 'not given'}{mini}",
            "Metrics": ", ".join(metrics),
            "Attributes": ", ".join(names.display_name(name) for name in asked),
            "Options": "ancestry and nationality by continent or region"
            if regions
            else "every ancestry and nationality",
            "Evaluated": f"{', '.join(dates)}, {'evenhand ' + ', '.join(versions) if versions else 'by another tool'}",
        }

    def _plot_curve(self, metric: str, savefig: bool, name: str | Path | None) -> PublishedFigure:
        curve = threshold_curve(Path(self.results_dir), metric)
        if not curve[0]:
            raise ArgumentKeyError(f"{metric} was not evaluated: {self.results_dir} has no file with its thresholds.")
        axes = FigureAxes(lines=[FigureLine(*curve)])
        return self._published(figures.curve_figure(metric, curve), axes, savefig, name)

    def _published(self, figure: Figure, axes: FigureAxes, savefig: bool, name: str | Path | None) -> PublishedFigure:
        published = PublishedFigure(figure, [axes], self._check_output)
        if savefig and name:
            figures.PublishedFigure.savefig(published, name)
        return published

    def _check_output(self, path: Path) -> None:
        """Raise when a file of the data, or one that the report is made from, would be overwritten."""
        parts = ("raw", "processed", "data/raw", "data/processed")
        read = [(Path(self.data_rootdir) / part, "the data") for part in parts]
        read += [(stored, "a file of the results") for stored in Path(self.results_dir).glob("*.json")]
        with storing(path):
            PathPolicy(read, [(path, "the report")]).check()

    def _checked(self, asked: Any) -> tuple[str, ...]:
        chosen = check_attributes(asked, self.task_name)
        if not chosen:
            raise ArgumentValueError("Attributes must be a list with at least one attribute.")
        return chosen
