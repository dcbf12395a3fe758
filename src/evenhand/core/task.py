"""What a benchmark brings: samples, truth, official files, rows and metrics.

A `Question` is what can be put to a model: data, and the official format of answers. A
`Task` is a question whose answers can be evaluated: it also knows how to record rows and
which metrics read them. A `Benchmark` is a name and its tasks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from evenhand.core.engine import Engine, Serial
from evenhand.core.errors import InputError, UnknownNameError
from evenhand.core.metric import Metric
from evenhand.core.names import DisplayNames
from evenhand.core.options import Options
from evenhand.core.page import Section
from evenhand.core.records import Array, Records
from evenhand.core.results import Coverage, Results
from evenhand.core.view import SampleView

T = TypeVar("T")  # the benchmark's truth
P = TypeVar("P")  # its prediction for one sample
P_co = TypeVar("P_co", covariant=True)
A = TypeVar("A")  # all predictions of a model, as the codec reads them
A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True)
class InputFact:
    """A file that was read: what it was, so that a result can be tied to it."""

    path: str
    size: int
    hash: str  # BLAKE3, or "sha256:" and that of weights; empty for media that were not hashed
    modified: float | None = None  # time stamp, where the content was not hashed


@dataclass(frozen=True)
class Sample:
    """One thing to be answered, and all that a model may see of it."""

    id: str
    media: tuple[Path, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)  # boxes, prompts, poses: what the protocol gives away


class LazySamples(Sequence[Sample]):
    """Samples that are made from their numbers when they are looked at.

    To be sent to another process, `make` is a function of a module, or a `partial` of one.

    >>> samples = LazySamples(1_000_000, lambda number: Sample(f"{number}.jpg"))
    >>> len(samples), samples[-1].id, [sample.id for sample in samples[2:4]]
    (1000000, '999999.jpg', ['2.jpg', '3.jpg'])
    """

    def __init__(self, count: int, make: Callable[[int], Sample]) -> None:
        self._numbers, self._make = range(count), make

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        numbers = self._numbers[index]
        return [self._make(number) for number in numbers] if isinstance(index, slice) else self._make(numbers)

    def __iter__(self) -> Iterator[Sample]:
        return map(self._make, self._numbers)


@dataclass(frozen=True)
class Dataset(Generic[T]):
    """Samples, and the truth that no model sees."""

    version: str
    samples: Sequence[Sample]
    truth: T
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # every attribute, in declared order
    inputs: tuple[InputFact, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # counts and conventions to print
    media: bool = True  # whether samples have pictures or videos to be looked at


class Predictions(Protocol[P_co]):
    """The answers of one model: by sample id (`Answers`), or as a whole (`Submitted`)."""

    @property
    def coverage(self) -> Coverage: ...
    @property
    def inputs(self) -> tuple[InputFact, ...]: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Answers(Generic[P]):
    """Predictions by sample id."""

    by_id: Mapping[str, P]
    coverage: Coverage = field(default_factory=Coverage)
    inputs: tuple[InputFact, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> Sequence[str]:
        return tuple(self.by_id)

    def get(self, sample: str) -> P | None:
        """The answer to a sample; None when there is none."""
        return self.by_id.get(sample)


@dataclass(frozen=True)
class Submitted(Generic[P]):
    """Predictions that are read as a whole, where answers by sample id make no sense: a table, a matrix of scores."""

    content: P
    coverage: Coverage = field(default_factory=Coverage)
    inputs: tuple[InputFact, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Codec(ABC, Generic[P]):
    """The official format of answers: read before anything is recorded, written by `predict`."""

    filename: str = "predictions.json"  # what `predict` writes
    example: str = ""  # shown by `describe`

    @abstractmethod
    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Predictions[P]:
        """The answers in a file, a folder or a TOML that names files, matched to the samples."""

    @abstractmethod
    def write(self, path: Path, answers: Iterable[tuple[str, P]], dataset: Dataset[Any], options: Any) -> None:
        """Write answers in the official format, at `path`."""

    def to_plain(self, answer: P) -> Any:
        """An answer as JSON values and NumPy arrays, for the journal of `predict`."""
        return answer

    def from_plain(self, plain: Any) -> P:
        """The answer that `to_plain` took apart; raises PredictionError when it can't be one."""
        answer: P = plain
        return answer


class ReadingCodec(Protocol[A_co]):
    """A `Codec` by what it reads, so that a task's `record` gets the predictions that its codec gives."""

    @property
    def filename(self) -> str: ...
    @property
    def example(self) -> str: ...

    def read(self, path: Path, dataset: Any, options: Any, /) -> A_co: ...
    def write(self, path: Path, answers: Any, dataset: Any, options: Any, /) -> None: ...
    def to_plain(self, answer: Any, /) -> Any: ...
    def from_plain(self, plain: Any, /) -> Any: ...


class Model(Protocol[P_co]):
    """Answers samples, by id, in any order, batching as it likes."""

    @property
    def name(self) -> str: ...

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, P_co]]: ...


class Adapt(Protocol):
    """Makes a model from an object that is written to another contract; None when it is not."""

    def __call__(self, wrapper: Any, name: str, device: str, /) -> Model[Any] | None: ...


@dataclass(frozen=True)
class Unanswered:
    """What a model yields, with the sample's id, for a sample that it can't answer."""

    reason: str


def ignore(message: str) -> None:
    """Nobody listens."""


def no_progress(done: int, total: int | None, what: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class Tools:
    """What a protocol works with: an engine, the instruments it asked for, a place for caches."""

    engine: Engine = field(default_factory=Serial)
    # Name → what has a `fingerprint`, and `read(images)` → (images, features) or `compare(images, others)` → (images,).
    instruments: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None  # RUNS/.cache; None: keep nothing
    device: str = "cpu"
    warn: Callable[[str], None] = ignore
    progress: Callable[[int, int | None, str], None] = no_progress  # done, of how many, what

    def instrument(self, name: str) -> Any:
        """The instrument of that name."""
        if name not in self.instruments:
            raise UnknownNameError("instrument", name, self.instruments)
        return self.instruments[name]


@dataclass(frozen=True)
class Target:
    """A published number that is looked for among the values under all conventions."""

    value: str = ""  # as it was printed: 0.9628, 96.28 or 96.28 %; nothing: no number is looked for, all are shown
    quantity: str = ""  # the output that it is a value of; any by default
    most: int = 20  # combinations to show
    data: Path | None = None  # where the data and predictions of the run are now; where they were, by default
    predictions: Path | None = None


@dataclass(frozen=True)
class About:
    """What `describe` prints, in the words of the user."""

    data: str = ""  # layout of the data folder
    predictions: str = ""  # format of answers
    rows: str = ""  # what a row is
    unit: str = ""  # what was sampled independently
    conventions: tuple[str, ...] = ()
    licence: str = ""  # duties of whoever uses the data
    cautions: tuple[str, ...] = ()
    rules: str = ""  # long tables: normalisation rules, enumerations


@dataclass(frozen=True)
class Finding:
    """One thing that `check` noticed."""

    level: str  # "error", "warning" or "note"
    where: str
    message: str


@dataclass(frozen=True)
class CheckReport:
    """What `check` found in data or predictions."""

    findings: tuple[Finding, ...] = ()
    coverage: Coverage | None = None
    tables: Mapping[str, tuple[tuple[Any, ...], ...]] = field(default_factory=dict)  # first row is the header

    @property
    def ok(self) -> bool:
        return all(finding.level != "error" for finding in self.findings)


def check_with(
    load: Callable[[Path, Any], Dataset[Any]],
    codec: ReadingCodec[Any],
    inspect_data: Callable[[Dataset[Any], Path, Any], CheckReport] = lambda dataset, data, options: CheckReport(),
    inspect_answers: Callable[[Dataset[Any], Any, Path], Iterable[Finding]] = lambda dataset, answers, path: (),
) -> Callable[[Path | None, Path, Any], CheckReport]:
    """A check that loads and inspects the data, and the predictions where they are given, with all their warnings."""

    def check(predictions: Path | None, data: Path, options: Any) -> CheckReport:
        try:
            dataset = load(data, options)
        except InputError as error:
            return CheckReport((Finding("error", str(data), str(error)),))
        report = inspect_data(dataset, data, options)
        findings = [*report.findings, *(Finding("warning", str(data), text) for text in dataset.warnings)]
        coverage = None
        if predictions is not None:
            try:
                answers = codec.read(predictions, dataset, options)
                findings += [Finding("warning", str(predictions), text) for text in answers.warnings]
                findings += inspect_answers(dataset, answers, predictions)
                coverage = answers.coverage
            except InputError as error:
                findings.append(Finding("error", str(predictions), str(error)))
        return CheckReport(tuple(findings), coverage, report.tables)

    return check


def counts_of(dataset: Dataset[Any]) -> Mapping[str, tuple[tuple[Any, ...], ...]]:
    """The facts of a dataset, as the table of a check."""
    return {"data": (("count", "here"), *((name, count_words(value)) for name, value in dataset.facts.items()))}


def count_words(value: Any) -> str:
    """A fact of a dataset in words.

    >>> count_words({"S1": 931, "S2": 914}), count_words([32, 64]), count_words(7)
    ('S1 931, S2 914', '32, 64', '7')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count_words(part)}" for name, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True, kw_only=True)
class Question(Generic[T, A]):
    """Something that can be put to a model: its truth is a T, the answers of a model are an A."""

    name: str  # "uccs/detection"
    summary: str
    load: Callable[[Path, Any], Dataset[T]]
    codec: ReadingCodec[A]
    options: type[Options] = Options
    about: About = field(default_factory=About)
    aliases: tuple[str, ...] = ()
    # The same data, with a folder in which what is slow to parse is kept; for data that `load` takes long to read.
    load_kept: Callable[[Path, Any, Path], Dataset[T]] | None = None
    # A `Model` from an object written to the family's published contract; None for any other object.
    adapt: Adapt | None = None
    serves: str = ""  # the task that takes the answers, where a question can't be evaluated by its own name

    def open(self, data: Path, options: Any, cache: Path | None = None) -> Dataset[T]:
        """The data; what was parsed is kept below `cache` (RUNS/.cache), where the family can make use of it."""
        if cache is None or self.load_kept is None:
            return self.load(data, options)
        return self.load_kept(data, options, cache)


@dataclass(frozen=True, kw_only=True)
class Task(Question[T, A]):
    """A question whose answers can be evaluated."""

    record: Callable[[Dataset[T], A, Any, Tools], Iterator[Records]]
    metrics: Callable[[Any], tuple[Metric[Any], ...]]  # from the options
    attributes: tuple[str, ...] = ()  # grouped by, unless the user says otherwise
    headline: tuple[str, str] | None = None  # metric, output
    margin: float = 0.05  # a difference that matters, for verdicts
    instruments: Callable[[Any], tuple[str, ...]] = lambda options: ()
    sections: tuple[Callable[[Results], Section | None], ...] = ()
    check: Callable[[Path | None, Path, Any], CheckReport] | None = None  # predictions, data, options
    # Multiply-adds of recording (dataset, predictions, options), for `--dry-run`; None: too few to count.
    cost: Callable[[Dataset[T], Path, Any], int] | None = None
    # The options with what only the data tell, such as the classes of a table: (data, predictions, options).
    resolve: Callable[[Dataset[T], A, Any], Any] | None = None
    attributes_option: str = ""  # the option that takes the attributes to group by, where the data do not declare them
    data_optional: bool = False  # the file of predictions holds the truth too, so that no data need to be named
    store_rows: bool = True  # comparisons by the million are stored only when asked (`--rows all`)
    # What only the rows can tell: verification differentials, published pair tests. Called with all rows.
    extras: Callable[[Records, Any], Mapping[str, Any]] | None = None
    # What a page shows of a row: (data, answers or None, the row's columns).
    view: Callable[[Dataset[T], Any, Mapping[str, Any]], SampleView] | None = None
    # How wrong each row is, for lists of the worst where no metric scores rows; NaN: the row is no sample.
    badness: Callable[[Records], Array] | None = None
    explain: Callable[[Any], Section] | None = None  # `evenhand explain`: a run → the number under every convention
    explain_target: Callable[[Any, Target], Section] | None = None  # … and those nearest to a published number


@dataclass(frozen=True)
class Demo:
    """Small data with a planted truth, written on the spot."""

    task: str
    data: Path
    predictions: Path
    planted: str  # the group for which the model performs worse
    chance: str  # the group that only looks worse
    story: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    production: Path | None = None  # predictions of the model in use, which the demonstrated one would replace
    require: Path | None = None  # requirements that hold it against that model
    note: str = ""  # what it leaves out on this machine, and why


@dataclass(frozen=True)
class Benchmark:
    """A family: its tasks, questions that are only asked, and its demonstration."""

    name: str
    summary: str
    tasks: tuple[Task[Any, Any], ...]
    questions: tuple[Question[Any, Any], ...] = ()
    demo: Callable[[Path], Sequence[Demo]] | None = None  # writes below the folder, says what it wrote
    limits: Callable[[], Iterable[tuple[str, str]]] | None = None  # metrics that can't be computed here, and why
    names: DisplayNames = field(default_factory=DisplayNames)  # how reports write keys

    def find(self, name: str) -> Question[Any, Any]:
        """The task or question of that name or alias."""
        entries: tuple[Question[Any, Any], ...] = (*self.tasks, *self.questions)
        for entry in entries:
            if name == entry.name or name in entry.aliases:
                return entry
        raise UnknownNameError("task", name, [entry.name for entry in entries])
