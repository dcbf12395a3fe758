"""Putting a question to a model, and writing the official file.

Answers are journalled as they come, so a crash loses at most what was in flight; `resume` asks only
for what is not on disk. The official file is assembled at the end, in the order of the samples, from the
journal alone: whatever order the model answered in, and however often it was interrupted, it is the same file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from evenhand import engines
from evenhand.core.engine import ClusterEngine, Done, Engine, Failed
from evenhand.core.errors import DataError, EvenhandError, ModelError, OptionError, PredictionError, RunError
from evenhand.core.options import parse as parse_options
from evenhand.core.records import blocks
from evenhand.core.task import Adapt, Dataset, Model, Question, Sample, Unanswered, ignore, no_progress
from evenhand.files.inputs import damage_in_words
from evenhand.files.writing import make_folder, storing, write_file
from evenhand.models.batched import Batched
from evenhand.models.python import ModelFile
from evenhand.run.format_1 import dataset_in_format_1, model_facts_in_format_1
from evenhand.run.inference import (
    AT_ONCE,
    Factory,
    WorkerTime,
    answer_chunk,
    clock_seconds,
    is_model,
    load_model,
    made,
    plain_answer,
    utilisation,
)
from evenhand.run.places import JOURNAL, PredictionPlace, folder_of
from evenhand.run.recording import reporting_to
from evenhand.store.caches import FOLDER as CACHE
from evenhand.store.journal import SHARD_ANSWERS, Journal, UnwritableError, asked_before, copy_answers, read_journal
from evenhand.store.manifest import (
    FILENAME,
    Clock,
    Manifest,
    fingerprint,
    input_facts,
    platform_facts,
    read_manifest,
    versions,
)
from evenhand.store.plain import dumps, loads, to_plain
from evenhand.store.runs import PREDICTIONS
from evenhand.store.unfinished import claim

UNANSWERED, ABOUT = "unanswered.json", "model.json"
CHUNK = 16  # samples that a worker answers at a time
CHUNK_OF_A_CLUSTER = 64
USAGE = ("prompt_tokens", "completion_tokens", "cost")
NO_ANSWER = "the model gave no answer to it"

Progress = Callable[[int, int | None, str], None]
Warn = Callable[[str], None]


@dataclass(frozen=True)
class PredictOutcome:
    """What a model said: the official file, and what became of every sample."""

    file: Path  # the official file
    folder: Path  # with run.json, and unanswered.json
    answered: int
    unanswered: Mapping[str, str] = field(default_factory=dict)  # sample → reason
    asked_now: int = 0
    asked_again: tuple[str, ...] = ()  # they were in flight when an earlier start ended
    utilisation: float | None = None  # share of time in which the model did not wait, where it was measured
    usage: Mapping[str, float] = field(default_factory=dict)  # tokens and cost of all answers, where they are known
    without_text: Mapping[str, int] = field(default_factory=dict)  # replies that say nothing, by reason; not answered

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many samples are unanswered for each reason, most frequent first."""
        return dict(Counter(self.unanswered.values()).most_common())


def predict(
    question: Question[Any, Any],
    model: Model[Any] | Factory,
    data: Path,
    *,
    runs: Path,
    options: Mapping[str, Any] | None = None,
    resume: bool = False,
    ask_unanswered: bool = False,
    engine: Engine | None = None,
    workers: int = 0,
    gpus_per_worker: float = 0.0,
    progress: Progress = no_progress,
    warn: Warn = ignore,
) -> PredictOutcome:
    """Ask a model everything that is not on disk, and write the official file below `runs`.

    Predictions are never taken from an earlier run, unless `resume` says so: then an interrupted run goes
    on, and of a finished one nothing is asked. `ask_unanswered` (with `resume`) asks once more for the samples
    that the model could not answer. `model` is a model, or a function that makes one: each worker makes its own.
    `workers` is how many of them work at once, by default as many as the engine has; on a cluster each of them may
    hold `gpus_per_worker`.
    """
    data, runs = Path(data), Path(runs)
    chosen = parse_options(question.options, options or {})
    started = datetime.now(UTC)
    with damage_in_words(data, DataError, f"data of {question.name}"):
        dataset = question.open(data, chosen, runs / CACHE)
    ids = [sample.id for sample in dataset.samples]
    if repeated := [sample for sample, count in Counter(ids).items() if count > 1]:
        raise RunError(f"{question.name}: the data name the sample {repeated[0]!r} twice; ids must be unique.")
    job = _PredictionJob(question, _adapted(question, model), data, chosen, dataset, progress, warn)
    place = job.place(runs, resume=resume)
    if resume and (finished := place.finished()) and not place.interrupted():
        if not ask_unanswered or not _read_unanswered(finished):
            return _outcome(question, finished, asked_now=0, asked_again=())
        held = claim(place.parent, place.free().name)
        copy_answers(finished / JOURNAL, held.folder / JOURNAL)
    else:
        held = place.take(resume=resume)
    try:
        held.announce(task=question.name, model=job.name, samples=len(ids))
        staffed = _with_workers(engine, workers, gpus_per_worker)
        asked_now, asked_again = job.ask(held.folder, staffed, ask_unanswered=ask_unanswered)
        job.assemble(held.folder, started)
        while not held.publish(final := place.free()):  # another process took the name
            pass
    except BaseException:
        if any((held.folder / JOURNAL).glob("shard-*")):
            held.release()
        else:
            held.discard()
        raise
    return _outcome(question, final, asked_now=asked_now, asked_again=asked_again)


class _PredictionJob:
    """One question to one model."""

    def __init__(
        self,
        question: Question[Any, Any],
        model: Model[Any] | Factory,
        data: Path,
        options: Any,
        dataset: Dataset[Any],
        progress: Progress,
        warn: Warn,
    ) -> None:
        self.question, self.data, self.options, self.dataset = question, data, options, dataset
        self.progress, self.warn = progress, warn
        self.engine, self.seconds = "serial", dict[str, float]()
        self.given = model
        self.model = model if is_model(model) else None
        facts, name = getattr(model, "facts", None), getattr(model, "name", None)
        self.facts = to_plain(facts) if isinstance(facts, Mapping) else {}
        self.name = name if isinstance(name, str) else str(self._loaded().name)
        identity = getattr(model, "identity", None)  # what answers depend on besides the name: other values ask anew
        identity = to_plain(identity) if isinstance(identity, Mapping) else {}
        self.inputs = input_facts(dataset.inputs, "data", data)
        self._asked = ("predictions", question.name, self.name, identity, options)
        self.fingerprint = self._fingerprint_on(dataset)

    def _fingerprint_on(self, dataset: Dataset[Any]) -> str:
        files = input_facts(dataset.inputs, "data", self.data)
        content = [(file.name, file.size, file.hash) for file in files]
        return fingerprint(*self._asked, dataset.version, content)

    def place(self, runs: Path, *, resume: bool) -> PredictionPlace:
        """Where the predictions are kept; that of format 1 when there is something to go on with, and none since."""
        parent = folder_of(runs, self.question.name, self.name)
        place = PredictionPlace(parent, self.fingerprint[:8])
        if not parent.is_dir() or place.finished() or place.interrupted():
            return place
        former = PredictionPlace(parent, self._fingerprint_on(dataset_in_format_1(self.dataset))[:8])
        return former if former.interrupted() or (resume and former.finished()) else place

    def _loaded(self) -> Model[Any]:
        if self.model is None:
            self.model = made(self.given)
        return self.model

    def ask(self, folder: Path, engine: Engine | None, *, ask_unanswered: bool) -> tuple[int, tuple[str, ...]]:
        """Ask what is not in the journal; how many were asked, and which of them a second time."""
        place = folder / JOURNAL
        done = read_journal(place) if place.exists() else {}
        if ask_unanswered:
            done = {sample: answer for sample, answer in done.items() if not isinstance(answer, Unanswered)}
        self._compare_model(folder)
        before = asked_before(place)
        rest = [sample for sample in self.dataset.samples if sample.id not in done]
        again = tuple(sample.id for sample in rest if sample.id in before)
        self.progress(len(done), len(self.dataset.samples), "answers")
        if not rest:
            return 0, ()
        # A model whose answers cost money has each of them put on disk before the next one is taken in.
        every = int(getattr(self.model, "journal_every", SHARD_ANSWERS))
        with closing(Journal(place, most_answers=every)) as journal:
            session = _PredictionSession(self, journal, rest, len(done))
            if engine is None or engine.name == "serial":
                session.ask_here(self._loaded())
            else:
                session.ask_workers(engine, self.given)
        self.engine = "serial" if engine is None else engine.name
        self.seconds = clock_seconds(session.times.values())
        return len(rest), again

    def assemble(self, folder: Path, started: datetime) -> None:
        """Write the official file, what was not answered, and the manifest."""
        codec = self.question.codec
        journal = read_journal(folder / JOURNAL)
        unanswered = {}
        answers = []
        for sample in self.dataset.samples:
            plain = journal.get(sample.id, Unanswered(NO_ANSWER))
            if isinstance(plain, Unanswered):
                unanswered[sample.id] = plain.reason
            else:
                answers.append((sample.id, codec.from_plain(plain)))
        target = folder / PREDICTIONS
        make_folder(target)
        try:
            with storing(target):
                codec.write(target / codec.filename, answers, self.dataset, self.options)
        except PredictionError as error:
            if answers or not unanswered:
                raise
            ((reason, count),) = Counter(unanswered.values()).most_common(1)
            raise PredictionError(f"{error} Of {len(unanswered):,} samples, {count:,} are this: {reason}") from error
        write_file(folder / UNANSWERED, dumps(unanswered), flush=False)
        manifest = Manifest(
            kind="predictions",
            task=self.question.name,
            model=self.name,
            fingerprint=self.fingerprint,
            stages={"predictions": self.fingerprint},
            dataset=self.dataset.version,
            options=to_plain(self.options),
            inputs=self.inputs,
            model_facts=self.facts,
            versions=versions(),
            platform=platform_facts(),
            stored={"predictions": True, "rows": False},
            engine=self.engine,
            clock=Clock(started.isoformat(), datetime.now(UTC).isoformat(), self.seconds),
        )
        write_file(folder / FILENAME, dumps(manifest), flush=False)

    def _compare_model(self, folder: Path) -> None:
        """Say so when the model is no longer the one that gave the first answers."""
        path = folder / ABOUT
        before = loads(path.read_bytes()) if path.exists() else self.facts
        if before not in (self.facts, model_facts_in_format_1(self.facts)):
            self.warn(
                f"{self.name} has changed since its first answers, which are kept. "
                f"To ask everything again, remove {folder}."
            )
        write_file(path, dumps(self.facts), flush=False)


class _PredictionSession:
    """Hands samples out and takes answers in, each sample once."""

    def __init__(self, job: _PredictionJob, journal: Journal, rest: Sequence[Sample], done: int) -> None:
        self.job, self.journal, self.rest, self.done = job, journal, rest, done
        self.known = frozenset(sample.id for sample in job.dataset.samples)
        self.in_flight: dict[str, None] = {}
        self.answered: set[str] = set()
        self.times: dict[str, WorkerTime] = {}  # by worker

    def samples_to_ask(self) -> Iterator[Sample]:
        """The samples that have no answer; each has the data folder, which no picture that is sent may leave."""
        data = self.job.data
        root = {"root": str(data if data.is_dir() else data.parent)}
        for sample in self.rest:
            self.journal.ask(sample.id)
            self.in_flight[sample.id] = None
            yield sample if "root" in sample.given else replace(sample, given={**root, **sample.given})

    def store_answer(self, sample: Any, answer: Any) -> None:
        """Journal one answer; raises ModelError when it is to nothing that was asked, or a second one."""
        name = self.job.name
        if sample not in self.in_flight:
            if sample in self.answered:
                problem = f"a second answer to {sample!r}"
            elif sample in self.known:
                problem = f"an answer to {sample!r}, which it had not been given"
            else:
                problem = f"an answer to {sample!r}, which is no sample of {self.job.question.name}"
            raise ModelError(
                f"{name} gave {problem}. Answer each sample once, with the id that it came with. "
                "The answers so far are kept (--resume)."
            )
        del self.in_flight[sample]
        self.answered.add(sample)
        try:
            self.journal.add(sample, answer)
        except UnwritableError as error:
            self.journal.add(sample, Unanswered(f"the answer has another form than expected: {error}"))
        self.done += 1
        self.job.progress(self.done, len(self.known), "answers")

    def ask_here(self, model: Model[Any]) -> None:
        """One stream of samples through one model."""
        codec = self.job.question.codec
        try:
            for sample, answer in model.predict(self.samples_to_ask()):
                self.store_answer(sample, plain_answer(codec, answer))
        except DataError as error:  # of a file that the model wanted to read
            raise ModelError(self._stopped(str(error).rstrip("."))) from error
        except EvenhandError:
            raise
        except Exception as error:
            raise ModelError(self._stopped(f"{type(error).__name__}: {error}")) from error
        if isinstance(model, Batched):
            self.times["here"] = WorkerTime(model.meter.span, model.meter.busy)

    def ask_workers(self, engine: Engine, model: Model[Any] | Factory) -> None:
        """Chunks of samples to several models; a chunk that fails leaves the others."""
        size = CHUNK_OF_A_CLUSTER if isinstance(engine, ClusterEngine) else CHUNK
        chunks = [self.rest[part] for part in blocks(len(self.rest), size)]

        def parts() -> Iterator[Sequence[Sample]]:
            handed = self.samples_to_ask()
            for chunk in chunks:
                yield [next(handed) for _ in chunk]

        failures, reported = [], set[int]()

        def take_in(outcome: Done[Any] | Failed) -> None:
            if outcome.part in reported:
                return
            reported.add(outcome.part)
            if isinstance(outcome, Failed):
                failures.append(outcome)
                return
            answers, worker, time = outcome.value
            for sample, answer in answers:
                self.store_answer(sample, answer)
            self.journal.close_shard()
            self.times[worker] = max(time, self.times.get(worker, time))  # chunks of one worker come in any order

        work = partial(answer_chunk, self.job.question.codec)
        for outcome in reporting_to(engine, take_in).map(work, parts(), setup=partial(load_model, model)):
            take_in(outcome)
        if failures:
            raise ModelError(self._stopped(failures[0].cause, len(failures)))

    def _stopped(self, cause: str, chunks: int = 0) -> str:
        waiting = list(self.in_flight)
        shown = ", ".join(repr(sample) for sample in waiting[:5]) + (" …" if len(waiting) > 5 else "")
        where = f" in {chunks} chunks" if chunks else ""
        busy = f"It was working on {len(waiting)} samples: {shown}. " if waiting else "It had taken no sample yet. "
        kept = f"{self.done} answers are kept: --resume asks only for the others. " if self.done else ""
        return (
            f"{self.job.name} raised {cause}{where}. {busy}{kept}"
            "For a sample that it can't answer, the model yields (id, Unanswered(reason))."
        )


def _with_workers(engine: Engine | None, workers: int, gpus: float) -> Engine | None:
    """The engine with so many workers: threads where it was one after the other, actors on a cluster."""
    if isinstance(engine, ClusterEngine):
        return engine.with_workers(workers, gpus, AT_ONCE)
    if gpus:
        raise OptionError(
            "--gpus-per-worker needs a cluster that deals them out: --engine ray. Else use --device cuda:N."
        )
    if workers > 1 and (engine is None or engine.name == "serial"):
        return engines.parse(f"threads:{workers}")
    return engine


def _adapted(question: Question[Any, Any], model: Model[Any] | Factory) -> Model[Any] | Factory:
    """The model, or what makes one; an object written to the family's published contract is adapted first."""
    if question.adapt is None:
        return model
    if isinstance(model, ModelFile):
        return replace(model, adapt=question.adapt)
    return partial(_adapt, question.adapt, model) if isinstance(model, type) else _adapt(question.adapt, model)


def _adapt(adapt: Adapt, given: Any) -> Model[Any]:
    model: Any = given() if isinstance(given, type) else given
    return adapt(model, str(getattr(model, "name", None) or type(model).__name__), "cpu") or model


def _read_unanswered(folder: Path) -> dict[str, str]:
    return {str(sample): str(reason) for sample, reason in loads((folder / UNANSWERED).read_bytes()).items()}


def _outcome(
    question: Question[Any, Any], folder: Path, *, asked_now: int, asked_again: tuple[str, ...]
) -> PredictOutcome:
    unanswered = _read_unanswered(folder)
    answers = [plain for plain in read_journal(folder / JOURNAL).values() if not isinstance(plain, Unanswered)]
    file = folder / PREDICTIONS / question.codec.filename
    share = utilisation(read_manifest(folder).clock.seconds)
    silent = Counter(str(plain["no_text"]) for plain in answers if isinstance(plain, Mapping) and plain.get("no_text"))
    answered = len(answers) - sum(silent.values())
    usage = _usage(answers)
    return PredictOutcome(file, folder, answered, unanswered, asked_now, asked_again, share, usage, dict(silent))


def _usage(answers: Sequence[Any]) -> dict[str, float]:
    """What the answers together took, of those that tell it."""
    totals: dict[str, float] = {}
    for plain in answers:
        for name in USAGE:
            if isinstance(plain, Mapping) and isinstance(value := plain.get(name), int | float):
                totals[name] = totals.get(name, 0) + value
    return totals
