"""From a model's official file to results: load, read, record, measure, store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from evenhand import engines
from evenhand.core.blas import OneThread
from evenhand.core.engine import Engine
from evenhand.core.errors import DataError, OptionError, PartError, PredictionError, UnknownNameError
from evenhand.core.metric import Metric, Undefined
from evenhand.core.options import parse as parse_options
from evenhand.core.records import Records, concatenate
from evenhand.core.results import MetricFact, Results
from evenhand.core.task import Dataset, Predictions, Task, Tools, ignore, no_progress
from evenhand.files import inputs
from evenhand.files.writing import remove, write_file
from evenhand.run.analysis import RowTallies, in_metric_order, plain_estimates, tally_rows
from evenhand.run.places import folder_of, model_of, place_of
from evenhand.run.providers import LazyInstruments
from evenhand.run.recording import KEPT, CheckpointingEngine, Recorder, kept_parts, reporting_to, share, stored_before
from evenhand.stats.settings import Settings, unused_margins
from evenhand.store.caches import FOLDER as CACHE
from evenhand.store.manifest import (
    FILENAME,
    Clock,
    Input,
    Manifest,
    code_facts,
    fingerprint,
    input_facts,
    media_facts,
    own_version,
    platform_facts,
    versions,
)
from evenhand.store.plain import dumps, to_plain
from evenhand.store.runs import (
    PREDICTIONS,
    RECORDED,
    RECORDS,
    RESULTS,
    RecordedParts,
    Run,
    open_run,
    read_parts,
    results_json,
    run_folders,
    store_submission,
)
from evenhand.store.unfinished import claim

if TYPE_CHECKING:
    from evenhand.stats.analysis import Analysis

USUAL_DEPTH = 2  # deeper intersections are computed on request, and their number is reported before
Rows = Literal["auto", "none", "all"]
Warn = Callable[[str], None]
Progress = Callable[[int, int | None, str], None]


def evaluate(
    task: Task[Any, Any],
    predictions: Path,
    data: Path | None = None,
    *,
    model: str = "",
    options: Mapping[str, Any] | None = None,
    by: Sequence[str] | None = None,
    depth: int = 2,
    settings: Settings | None = None,
    engine: Engine | None = None,
    runs: Path | None = None,
    rows: Rows = "auto",
    force: bool = False,
    hash_media: bool = False,
    device: str = "cpu",
    instruments: Mapping[str, Any] | None = None,
    loaded: tuple[Dataset[Any], Predictions[Any]] | None = None,
    progress: Progress = no_progress,
    warn: Warn = ignore,
    **changes: Any,
) -> Run:
    """The run of a task over a file of predictions; stored below `runs`, or nowhere without it.

    A run that is there with the same fingerprint is opened, not computed again, unless `force`.
    Groups are those of `by`, by default the task's attributes, with intersections up to `depth`.
    `instruments` replaces what is registered, by name; `loaded` are data and predictions that are in memory, and then
    `predictions` and `data` are only names; `changes` are settings by name.
    """
    if depth < 0:
        raise OptionError(f"depth={depth}: an intersection can't have a negative number of attributes.")
    predictions = Path(predictions)
    if data is None and not task.data_optional:
        raise OptionError(f"{task.name} needs data: name the folder with --data (in Python, data=…).")
    data = Path(data if data is not None else predictions)  # predictions may hold the truth too
    clock = _Stopwatch()
    engine = engine if engine is not None else engines.parse("serial")
    if task.attributes_option and by is not None:
        options = {**(options or {}), task.attributes_option: tuple(by)}
    chosen = parse_options(task.options, options or {})
    cache = None if runs is None else Path(runs) / CACHE
    if loaded is None:
        progress(0, None, "reading data and predictions")
        with clock.time("load"), inputs.damage_in_words(data, DataError, f"data of {task.name}"):
            dataset = task.open(data, chosen, cache)
        with clock.time("read"), inputs.damage_in_words(predictions, PredictionError, f"predictions of {task.name}"):
            answers = task.codec.read(predictions, dataset, chosen)
    else:
        dataset, answers = loaded
    for message in (*dataset.warnings, *answers.warnings):  # before anything is computed
        warn(message)
    if task.resolve is not None:
        chosen = task.resolve(dataset, answers, chosen)
    groups = _groups(task, dataset, by)
    finished = count(1)  # parts, on whatever worker of a cluster and before their turn
    tools = Tools(
        engine=reporting_to(engine, lambda part: progress(next(finished), None, "parts finished on the cluster")),
        instruments=LazyInstruments(task.instruments(chosen), instruments or {}, device),
        cache=cache,
        device=device,
        progress=progress,
    )
    job = _EvaluationJob(
        task=task,
        data=data,
        predictions=predictions,
        model=model or model_of(predictions),
        options=chosen,
        dataset=dataset,
        answers=answers,
        metrics=task.metrics(chosen),
        by=groups,
        depth=depth,
        settings=Settings.make(settings, **changes).for_task(task.name, task.margin, task.about.unit),
        tools=tools,
        keeps_rows=rows == "all" or (rows == "auto" and task.store_rows),
        warn=warn,
        clock=clock,
    )
    _warn_of_margins(job)
    with clock.time("fingerprint"):
        manifest = job.manifest(hash_media=hash_media)
    if runs is None:
        return job.compute(manifest, None)
    return _stored(job, manifest, Path(runs), force=force)


def _groups(task: Task[Any, Any], dataset: Dataset[Any], by: Sequence[str] | None) -> tuple[str, ...]:
    if by is None and task.attributes_option:
        return tuple(dataset.levels)
    if by is None:
        return tuple(name for name in task.attributes if not dataset.levels or name in dataset.levels)
    if dataset.levels:
        for name in by:
            if name not in dataset.levels:
                raise UnknownNameError("attribute", name, dataset.levels)
    return tuple(dict.fromkeys(by))


def _warn_of_margins(job: _EvaluationJob) -> None:
    """Name margins that are set for no value here: a mistyped name, or one of another task in a file of settings."""
    known = [name for metric in job.metrics for name in (metric.name, *(f"{metric.name}.{o}" for o in metric.outputs))]
    unknown = unused_margins(job.settings, known)
    if unknown:
        job.warn(
            f"margins: {job.task.name} has no value {', '.join(map(repr, unknown))}, so it has no effect. A margin is "
            f"set for a metric or one of its values: {', '.join(known)}."
        )


def _stored(job: _EvaluationJob, manifest: Manifest, runs: Path, *, force: bool) -> Run:
    """The run on disk: found by its fingerprint, or computed, written and published."""
    parent = folder_of(runs, job.task.name, job.model)
    final = place_of(parent, manifest.fingerprint)
    if not force and (final / FILENAME).exists():
        stored = open_run(final)
        if not job.keeps_rows or stored.manifest.stored.get("rows"):
            return replace(stored, reused=True)
        force = True  # the same numbers, but rows are asked for and were not kept
    held = claim(parent, manifest.fingerprint)
    try:
        held.announce(task=job.task.name, model=job.model, samples=len(job.dataset.samples))
        run = job.compute(manifest, held.folder, [] if force else [folder / RECORDS for folder in run_folders(parent)])
        remove(held.folder / KEPT, below=held.folder)
        if not held.publish(final, replace=force):
            held.discard()
            return replace(open_run(final), reused=True)
        return replace(run, folder=final)
    except BaseException as error:
        finished = kept_parts(held.folder)
        if finished:
            held.release()
        else:
            held.discard()
        if finished and isinstance(error, PartError):
            raise PartError(
                f"{error} {finished} finished parts are kept: start the same command again, "
                "it computes only the others."
            ) from error
        raise


@dataclass(frozen=True, kw_only=True)
class _EvaluationJob:
    """All that an evaluation depends on, loaded."""

    task: Task[Any, Any]
    data: Path
    predictions: Path
    model: str
    options: Any
    dataset: Dataset[Any]
    answers: Predictions[Any]
    metrics: tuple[Metric[Any], ...]
    by: tuple[str, ...]
    depth: int
    settings: Settings
    tools: Tools
    keeps_rows: bool
    warn: Warn
    clock: _Stopwatch

    def manifest(self, *, hash_media: bool) -> Manifest:
        """What the run is made of, before it is computed."""
        files = (*input_facts(self.dataset.inputs, "data", self.data), *self._submission(), *self._named_by_options())
        samples = self.dataset.samples if self.dataset.media else ()
        media = media_facts((path for sample in samples for path in sample.media), self.data, content=hash_media)
        instruments = {name: self.tools.instrument(name).fingerprint for name in self.task.instruments(self.options)}
        code = code_facts([self.task.load, self.task.record, type(self.task.codec), *map(type, self.metrics)])
        installed = versions()
        options = to_plain(self.options)
        content = [(file.role, file.name, file.size, file.hash) for file in files]
        records = fingerprint(
            self.task.name, self.dataset.version, options, content, media, instruments, code, installed
        )
        facts = metric_facts(self.metrics)
        settings = to_plain({"by": list(self.by), "depth": self.depth, **self.settings.plain()})
        identity = fingerprint(records, self.model, settings, facts)
        return Manifest(
            kind="evaluation",
            task=self.task.name,
            model=self.model,
            fingerprint=identity,
            stages={"records": records, "results": identity},
            dataset=self.dataset.version,
            options=options,
            settings=settings,
            inputs=files,
            media=media,
            instruments=instruments,
            code=code,
            versions=installed,
            platform=platform_facts(),
            engine=self.tools.engine.name,
        )

    def compute(self, manifest: Manifest, folder: Path | None, siblings: Sequence[Path] = ()) -> Run:
        """Record, measure and, below `folder`, write."""
        tallied, recorded, held = self._record(manifest.stages["records"], folder, siblings)
        if tallied is None:
            raise DataError(f"{self.task.name}: the data in {self.data} gave no rows, so there is nothing to measure.")
        self.tools.progress(0, None, "measuring groups and intervals")
        with self.clock.time("measure"), OneThread().held():
            analysis = self._analyse(tallied)
            extras = dict(self.task.extras(concatenate(held), self.options)) if self.task.extras is not None else {}
            extras |= self._standardised(tallied)
        results = self._results(tallied, recorded, analysis, extras, manifest)
        stored = {"predictions": False, "rows": folder is not None and self.keeps_rows}
        if folder is not None:
            with self.clock.time("write"):
                stored["predictions"] = store_submission(self.answers.inputs, self.predictions, folder / PREDICTIONS)
                content = results_json(results)
                write_file(folder / RESULTS, content, flush=False)
                manifest = replace(manifest, results_hash=inputs.content_hash(content))
        manifest = replace(manifest, stored=stored, clock=self.clock.reading())
        if folder is not None:
            write_file(folder / FILENAME, dumps(manifest), flush=False)
        in_memory = tuple(held) if folder is None and self.keeps_rows else None
        return Run(folder, manifest, results, _rows=in_memory)

    def _record(
        self, stage: str, folder: Path | None, siblings: Sequence[Path]
    ) -> tuple[RowTallies | None, RecordedParts, list[Records]]:
        """The tally of all rows, warnings, and the rows where they are requested."""
        records = folder / RECORDS if folder is not None and self.keeps_rows else None
        hold = self.task.extras is not None or (folder is None and self.keeps_rows)
        with self.clock.time("record"):
            if records is not None:
                for source in (records, *siblings):
                    recorded = stored_before(source, stage)
                    if recorded is None:
                        continue
                    if source != records:
                        share(source, records)
                    recorder = Recorder(self.task.name, hold=hold)
                    tallied = self._tally(recorder.through(read_parts(records, recorded)))
                    return tallied, recorded, recorder.held
            warned: list[str] = []

            def warn_once(message: str) -> None:
                if message not in warned:
                    warned.append(message)
                    self.warn(message)

            tools = replace(self.tools, warn=warn_once)
            checkpoints = None
            if folder is not None:
                checkpoints = CheckpointingEngine(self.tools.engine, folder / KEPT)
                tools = replace(tools, engine=checkpoints)
            recorder = Recorder(self.task.name, records, checkpoints, hold=hold, progress=self.tools.progress)
            self.tools.progress(0, None, "recording rows")
            parts = self.task.record(self.dataset, self.answers, self.options, tools)
            tallied = self._tally(recorder.through(parts))
            recorded = RecordedParts(
                fingerprint=stage,
                parts=tuple(recorder.parts),
                coverage=self.answers.coverage,
                warnings=(*self.dataset.warnings, *self.answers.warnings, *warned),
                facts=to_plain({**self.dataset.facts, **self.answers.facts}),
            )
            if records is not None:
                write_file(records / RECORDED, dumps(recorded), flush=False)
        return tallied, recorded, recorder.held

    def _tally(self, parts: Iterator[Records]) -> RowTallies | None:
        with OneThread().held():
            return tally_rows(parts, self.metrics, self.by, draws=self.settings.draws)

    def _analyse(self, whole: RowTallies) -> Analysis:
        """Estimates, contrasts and summaries by the settings of the run."""
        from evenhand.stats.analysis import Analysis, analyse, work_asked

        depth, settings = self.depth, self.settings
        analysis = Analysis((), (), (), (), settings.method())
        if whole.by_unit is not None:
            if depth > USUAL_DEPTH:
                self.warn(work_asked(whole.by_unit, self.by, depth, settings))
            analysis = analyse(whole.by_unit, self.by, depth, settings)
        if whole.plain is not None:
            every = (*analysis.estimates, *plain_estimates(whole.plain, self.by, depth))
            analysis = replace(analysis, estimates=in_metric_order(every, self.metrics))
        return analysis

    def _standardised(self, whole: RowTallies) -> dict[str, Any]:
        """The values of groups as if all had the composition of the whole data, where that is asked for."""
        strata = self.settings.standardise
        if not strata:
            return {}
        if strata not in self.by:
            raise UnknownNameError("attribute", strata, self.by, "standardise names one of the attributes of --by.")
        from evenhand.stats.standardised import standardised_rates

        tally = whole.by_unit
        assert tally is not None, "proportions and means are tallied by unit"
        others = [name for name in self.by if name != strata]
        standardised = [
            standardised_rates(tally, metric.name, attribute, strata, output=output)
            for metric, state in zip(tally.metrics, tally.states, strict=True)
            for output in metric.ratios(state)
            if ":" not in output
            for attribute in others
        ]
        return {"standardised": standardised}

    def _results(
        self, whole: RowTallies, recorded: RecordedParts, found: Analysis, extras: Mapping[str, Any], manifest: Manifest
    ) -> Results:
        not_available = recorded.facts.get("not_available") or {}
        estimates = tuple(  # those of a metric that is not available here say why
            replace(estimate, value=Undefined(not_available[estimate.metric]))
            if estimate.metric in not_available and isinstance(estimate.value, Undefined)
            else estimate
            for estimate in found.estimates
        )
        return Results(
            task=self.task.name,
            model=self.model,
            dataset=self.dataset.version,
            options=manifest.options,
            metrics=metric_facts(self.metrics),
            estimates=estimates,
            coverage=recorded.coverage,
            contrasts=found.contrasts,
            omnibus=found.omnibus,
            summaries=found.summaries,
            method=found.method,
            instruments=manifest.instruments,
            headline=self.task.headline,
            by=self.by,
            levels={name: tuple(levels) for name, levels in self.dataset.levels.items()},
            rows=whole.rows,
            units=whole.units,
            missing_attributes=whole.unannotated(self.by),
            warnings=recorded.warnings,
            facts={**recorded.facts, **to_plain(extras)},
            version=own_version(),
        )

    def _named_by_options(self) -> Iterator[Input]:
        """Files that options name, such as weights: what is in them counts, not what they are called."""
        for entry in fields(self.options):
            value = getattr(self.options, entry.name)
            for path in value if isinstance(value, tuple) else (value,):
                if isinstance(path, Path) and path.is_file():
                    fact = inputs.hash_of(path)
                    yield Input("options", entry.name, fact.path, fact.size, fact.hash)

    def _submission(self) -> tuple[Input, ...]:
        facts = self.answers.inputs
        if not facts and self.predictions.is_file():
            facts = (inputs.hash_of(self.predictions),)
        return input_facts(facts, "predictions", self.predictions)


def metric_facts(metrics: Sequence[Metric[Any]]) -> tuple[MetricFact, ...]:
    """The metrics as they are applied, for results and fingerprints."""
    return tuple(
        MetricFact(
            metric.name,
            metric.definition,
            {name: direction.value for name, direction in metric.outputs.items()},
            to_plain(metric.parameters),
            f"{type(metric).__module__}:{type(metric).__qualname__}",
        )
        for metric in metrics
    )


@dataclass
class _Stopwatch:
    """How long each stage takes."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - begin

    def reading(self) -> Clock:
        return Clock(self.started.isoformat(), datetime.now(UTC).isoformat(), dict(self.seconds))
