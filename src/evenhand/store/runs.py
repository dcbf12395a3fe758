"""Stored runs: opening, finding and reading them.

```text
RUNS/family/task/model/a1b2c3d4/   named by its fingerprint; the date is inside
├── run.json          what, with what, on what, when
├── predictions/      the official file
├── records/          part-0000.parquet …, and recorded.json that counts them
└── results.json      estimates, contrasts, summaries, coverage
```
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import msgspec

from evenhand.core.errors import PredictionError, RunError
from evenhand.core.records import Records, concatenate
from evenhand.core.results import Contrast, Coverage, Results
from evenhand.core.task import InputFact
from evenhand.files import inputs
from evenhand.files.writing import PathPolicy, make_folder, remove, write_file
from evenhand.store.manifest import FILENAME, FORMAT, Manifest, check_format, damaged_run, name_below, read_manifest
from evenhand.store.plain import dumps_lines, from_plain, loads
from evenhand.store.rows import from_parquet
from evenhand.store.unfinished import REPLACED, UNFINISHED

EDITED = (
    "results.json was changed after the run was written: these are not the numbers that were computed. "
    "Evaluate again with --force."
)
MOST_BYTES = 64 << 20  # larger submissions are named by their hash and not copied
RESULTS, RECORDS, PREDICTIONS, RECORDED = "results.json", "records", "predictions", "recorded.json"
_BEGIN, _BETWEEN, _END = b'\n"contrasts": [\n', b",\n", b"\n]"  # of the pairs in `results.json`


@dataclass(frozen=True)
class Part:
    name: str
    rows: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class RecordedParts:
    """What recording gave: the parts, with warnings and counts."""

    format: int = FORMAT
    fingerprint: str  # of the stage
    parts: tuple[Part, ...]
    coverage: Coverage = field(default_factory=Coverage)
    inputs: tuple[InputFact, ...] = ()  # of the predictions
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Run:
    """One evaluation: what it was made of, what it found, and the rows behind it.

    `folder` is None for a run that was not stored.
    """

    folder: Path | None
    manifest: Manifest
    results: Results
    reused: bool = field(default=False, compare=False)  # it was there already
    _rows: tuple[Records, ...] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        first = next((e for e in self.results.of(*(self.results.headline or ("", "")))), None)
        value = f"{len(self.results.estimates)} estimates"
        if first is not None and first.number is not None:
            value = f"{first.output} {first.number:.4g}"
        where = "not stored" if self.folder is None else str(self.folder)
        return f"<Run {self.results.task} of {self.results.model}: {value}; {self.results.rows:,} rows; {where}>"

    def _repr_html_(self) -> str:
        return self.results._repr_html_()

    def frame(self) -> Any:
        """Every estimate as a Polars table."""
        return self.results.to_frame()

    def to_pandas(self) -> Any:
        """Every estimate as a pandas table; pandas must be installed."""
        return self.results.to_pandas()

    def records(self) -> Records:
        """All rows; raises RunError when they were not stored."""
        return concatenate(list(self.parts()))

    def parts(self) -> Iterator[Records]:
        """The rows part by part, as they were recorded."""
        if self._rows is not None:
            yield from self._rows
            return
        if self.folder is None or not self.manifest.stored.get("rows", False):
            raise RunError(
                f"The run of {self.manifest.task} by {self.manifest.model} keeps no rows. "
                "Evaluate again with --rows all to store them."
            )
        yield from read_parts(self.folder / RECORDS, self.recorded)

    @cached_property
    def recorded(self) -> RecordedParts:
        """What recording gave, without the rows."""
        if self.folder is None:
            raise RunError("The run was not stored. Name a folder for runs (--runs).")
        return read_recorded(self.folder / RECORDS)

    @property
    def predictions(self) -> Path | None:
        """The stored official file or folder; None when it was too large to be copied, or not stored."""
        folder = None if self.folder is None else self.folder / PREDICTIONS
        if folder is None or not folder.is_dir():
            return None
        entries = sorted(folder.iterdir())
        return entries[0] if len(entries) == 1 else folder


def open_run(folder: Path | str, *, pairs_on_disk: bool = False) -> Run:
    """The run in a folder; raises RunError when it is none, damaged, or of a newer version.

    With `pairs_on_disk`, the pairs of groups of a run that is as it was written are read when they are looked at.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest.kind != "evaluation":
        raise RunError(
            f"{folder} holds predictions of {manifest.model} for {manifest.task}, no results. "
            f"Evaluate the file in {folder / PREDICTIONS} first."
        )
    path = folder / RESULTS
    source = inputs.read(path, RunError)
    is_written = source.has_hash(manifest.results_hash)
    data, pairs = (pairs_on_disk and is_written and without_contrasts(source.data, path)) or (source.data, None)
    with damaged_run(path), _without_collection():
        results = from_plain(results_plain(data, path), Results)
    if pairs is not None:
        results = replace(results, contrasts=pairs)
    if manifest.results_hash and not is_written:
        results = replace(results, warnings=(*results.warnings, EDITED))
    return Run(folder, manifest, results)


@contextmanager
def _without_collection() -> Iterator[None]:
    """No search for garbage while tens of thousands of objects are made that all stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def results_plain(data: bytes, path: Path) -> dict[str, Any]:
    """What `results.json` holds, of a version that we know; raises RunError or ValueError."""
    return {name: value for name, value in check_format(loads(data), path).items() if name != "format"}


@dataclass(frozen=True, eq=False)
class StoredContrasts(Sequence[Contrast]):
    """The pairs in a part of a file; reads like a tuple of `Contrast`.

    A run has thousands of pairs, which make most of `results.json`. A report of a hundred runs shows those of one
    output of each: a line is decoded when its output is asked for.
    """

    path: Path
    start: int
    stop: int
    changed: int  # when the file was written, in nanoseconds

    def __len__(self) -> int:
        return self._text().count(_BETWEEN) + 1

    def __iter__(self) -> Iterator[Contrast]:
        return iter(self._decoded(self._text().split(_BETWEEN)))

    @overload
    def __getitem__(self, at: int) -> Contrast: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Contrast, ...]: ...
    def __getitem__(self, at: int | slice) -> Contrast | tuple[Contrast, ...]:
        lines = self._text().split(_BETWEEN)
        return self._decoded(lines[at]) if isinstance(at, slice) else self._decoded([lines[at]])[0]

    def of_output(self, metric: str, output: str, order: int | None = None) -> tuple[Contrast, ...]:
        """The pairs of one output, of all orders of intersections or of one."""
        begins = b'{"metric":%b,"output":%b,"first":' % (msgspec.json.encode(metric), msgspec.json.encode(output))
        text = self._text()
        start, last = text.find(begins), text.rfind(begins)
        if start < 0:
            return ()
        stop = text.find(_BETWEEN, last)
        lines = text[start : None if stop < 0 else stop].split(_BETWEEN)
        # Between two terms stand these signs, which no encoded text can hold.
        return self._decoded(
            [
                line
                for line in lines
                if line.startswith(begins) and order in (None, line.count(b'"],["', 0, line.find(b',"second":')) + 1)
            ]
        )

    def _text(self) -> bytes:
        with inputs.opened(self.path, RunError) as file:
            if os.fstat(file.fileno()).st_mtime_ns != self.changed:
                raise RunError(f"{self.path} was changed while it was read. Do it again.")
            file.seek(self.start)
            return file.read(self.stop - self.start)

    def _decoded(self, lines: Sequence[bytes]) -> tuple[Contrast, ...]:
        with damaged_run(self.path):
            pairs: tuple[Contrast, ...] = from_plain(loads(b"[%b]" % b",".join(lines)), tuple[Contrast, ...])
        return pairs


def without_contrasts(data: bytes, path: Path) -> tuple[bytes, StoredContrasts] | None:
    """The JSON of results without their pairs, and the pairs; None where the file is not as we write it."""
    start = data.find(_BEGIN) + len(_BEGIN)
    stop = data.find(_END, start)
    if start < len(_BEGIN) or stop < 0:
        return None
    return data[:start] + data[stop:], StoredContrasts(path, start, stop, path.stat().st_mtime_ns)


def find_runs(root: Path | str, *, problem: Callable[[str], None] = lambda message: None) -> tuple[Run, ...]:
    """All evaluations below a folder, sorted by path; what can't be opened is reported to `problem`."""
    runs = []
    for folder in run_folders(Path(root)):
        try:
            if read_manifest(folder).kind == "evaluation":
                runs.append(open_run(folder))
        except RunError as error:
            problem(str(error))
    return tuple(runs)


def run_folders(root: Path) -> Iterator[Path]:
    """The folders of finished runs and predictions below a folder, in order."""
    return (folder for folder, is_finished, _ in walk_runs(root, (FILENAME,)) if is_finished)


def walk_runs(root: Path, marks: Sequence[str] = (FILENAME, RESULTS)) -> Iterator[tuple[Path, bool, int]]:
    """Every folder of a run below a folder: its path, whether it is finished, and how many links were passed to it.

    A finished run holds a file of one of the names `marks`. Links are not followed, hidden folders not entered.
    """
    links = 0
    for parent, names, files in os.walk(root):
        here = Path(parent)
        linked = [name for name in names if (here / name).is_symlink()]
        links += len(linked)
        names[:] = sorted(name for name in names if name not in linked)
        if not set(marks).isdisjoint(files):
            names.clear()
            yield here, True, links
            links = 0
            continue
        for name in list(names):
            if name.startswith("."):
                names.remove(name)
                if UNFINISHED in name and REPLACED not in name:
                    yield here / name, False, links
                    links = 0


def check_output(output: Path | None, what: str, runs: Iterable[Path | Run], *files: Path) -> None:
    """Raise OptionError when an output would destroy a part of the runs that it is made from, or another input."""
    policy = PathPolicy()
    for run in runs:
        folder = run.folder if isinstance(run, Run) else run
        if folder is not None:
            for name in (FILENAME, RESULTS, RECORDS, PREDICTIONS):
                policy.reads(folder / name, "a part of the run")
    for file in files:
        policy.reads(file, "a file that is read")
    policy.writes(output, what)
    policy.check()


def store_submission(facts: Sequence[InputFact], submission: Path, folder: Path) -> bool:
    """Copy the files that were read below `folder`; False when they are too large to be copied.

    The copy has the bytes that were read: a file that changed since is refused.
    """
    files = {name_below(Path(fact.path), submission) or submission.name: fact for fact in facts if fact.hash}
    named = len({fact.path for fact in facts})
    if not files or len(files) < named or sum(fact.size for fact in files.values()) > MOST_BYTES:
        return False
    remove(folder, below=folder.parent)
    make_folder(folder, below=folder.parent)
    for name, fact in sorted(files.items()):
        source = inputs.read(Path(fact.path), PredictionError, allow_empty=True)
        if source.fact.hash != fact.hash:
            raise PredictionError(
                f"{fact.path} was changed while it was being evaluated. Evaluate it again when it is finished."
            )
        write_file(folder / name, source.data, below=folder, flush=False)
    return True


def results_json(results: Results) -> bytes:
    """The results as they stand in `results.json`."""
    return dumps_lines({"format": FORMAT, **{name: getattr(results, name) for name in results.__dataclass_fields__}})


def read_recorded(records: Path) -> RecordedParts:
    """What `recorded.json` says; raises RunError when it is not there or damaged."""
    path = records / RECORDED
    with damaged_run(path):
        recorded: RecordedParts = from_plain(check_format(loads(inputs.read(path, RunError).data), path), RecordedParts)
    return recorded


def is_plain(name: str) -> bool:
    """Whether a text names a file in the same folder, and nothing else.

    >>> is_plain("part-0000.parquet"), is_plain("../secret"), is_plain("..")
    (True, False, False)
    """
    return bool(name) and name not in (".", "..") and not any(mark in name for mark in "/\\\0")


def read_parts(records: Path, recorded: RecordedParts) -> Iterator[Records]:
    """The rows of every part, checked against their hashes."""
    for part in recorded.parts:
        if not is_plain(part.name):
            raise RunError(
                f"{records / RECORDED} names the part {part.name!r}, which is no file beside it. The run is damaged, "
                "or somebody wants another file to be read; evaluate again with --force."
            )
        source = inputs.read(records / part.name, RunError)
        if not source.has_hash(part.hash):
            raise RunError(
                f"{source.path} is not the file that was written: its content has changed. Evaluate again with --force."
            )
        yield from_parquet(source.data, str(source.path))
