"""What a number is: metrics, and states that add.

A metric reduces a set of rows to values by way of a *state*. Every array of a state
starts with the axis of cells, so one pass over the rows tallies all cells at once:

- `measure(rows, cells, size)` tallies the rows into `size` cells;
- `a + b` is the state of the rows of both, cell by cell;
- `place(index, size)` moves cell *i* to cell `index[i]`; cells that meet are added;
- `weigh(weights)` makes new cells from weighted old ones: a row of 0 and 1 is a group,
  a row of multinomial counts is a bootstrap draw.

`result(part, whole)` turns a state into values, cell by cell; `whole` is the state of
everyone and lets a group be judged at a threshold that was set on all.

A state is *linear* (sums; derive from `Linear`) or *collected* (the rows it needs, kept
with their cell codes; derive from `Collected`).
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import UnknownNameError
from evenhand.core.records import Array, Records
from evenhand.core.sparse import dense_rows

Matrix = Any  # (out, size): a NumPy array or a `SparseMatrix`


class Direction(Enum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Resampling(Enum):
    """How the uncertainty of a metric is found when no formula applies."""

    BOOTSTRAP = "bootstrap"  # units with replacement
    SUBSAMPLE = "subsample"  # units without replacement, for distances between sets
    NONE = "none"  # the protocol brings its own spread


class Kind(Enum):
    """What a ratio of sums is."""

    PROPORTION = "proportion"  # every row gives 0 or 1
    MEAN = "mean"  # every row gives a number


class Scale(NamedTuple):
    """The range that an output can't leave, whatever the rows; no limit of an interval leaves it either."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def span(self) -> float:
        """The largest difference that two values can have."""
        return self.high - self.low


UNBOUNDED = Scale()
UNIT_SCALE = Scale(0.0, 1.0)  # shares, probabilities, overlaps
POSITIVE = Scale(0.0)  # errors, distances, counts


@dataclass(frozen=True)
class Undefined:
    """A value that does not exist, and why."""

    reason: str

    def __str__(self) -> str:
        return f"undefined: {self.reason}"


class _EqualByFields:
    """Dataclasses with arrays, which are equal where all their fields are."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            _is_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(cast(Any, self))
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash; the declared way to say so


@dataclass(frozen=True, eq=False)
class Curve(_EqualByFields):
    """One quantity against another, with the threshold that gives each point."""

    x: Array
    y: Array
    x_name: str
    y_name: str
    threshold: Array | None = None
    log_x: bool = False


@dataclass(frozen=True, eq=False)
class Grid(_EqualByFields):
    """A matrix with named rows and columns, such as a confusion matrix."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array  # (rows, columns)
    row_name: str = ""
    column_name: str = ""


Value = float | Curve | Grid | Undefined


@dataclass(frozen=True, eq=False)
class Numbers:
    """One number per cell, or the reason why there is none.

    >>> Numbers(np.array([0.5, np.nan]), "the group has no faces")[1]
    Undefined(reason='the group has no faces')
    """

    values: NDArray[np.float64]  # (cells,); not a number where undefined
    reason: str | Sequence[str] = "undefined"  # one for all, or one per cell

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, cell: int) -> float | Undefined:
        value = float(self.values[cell])
        if np.isnan(value):
            return Undefined(self.reason if isinstance(self.reason, str) else self.reason[cell])
        return value


Column = Numbers | Sequence[Curve | Grid | Undefined]  # an output of every cell


@dataclass(frozen=True)
class Ratio:
    """An output that is a sum over rows divided by a sum over rows, cell by cell.

    What intervals, tests, draws and permutations of means and proportions are made from.
    """

    top: NDArray[np.float64]  # (cells,)
    bottom: NDArray[np.float64]  # (cells,)
    kind: Kind
    scale: Scale = UNBOUNDED  # filled in from the metric's `scales`
    own_rows: bool = False  # `bottom` counts rows, and not all that were measured: those that were answered, of a class


@dataclass(frozen=True)
class OperatingPoint:
    """At which threshold a rate was read, by which rule, and what was really reached."""

    convention: str
    asked: float
    realised: float | None
    threshold: float | None
    events: int | None = None  # how many errors the operating point is based on


def canonical_output(name: str) -> str:
    """The name of an output with its numbers as we write them: people write rates in many ways.

    >>> canonical_output("TAR@FAR=1e-4"), canonical_output("TPIR@FPIR=.010, rank 1")
    ('TAR@FAR=0.0001', 'TPIR@FPIR=0.01, rank 1')
    """
    return re.sub(r"=\s*(\d*\.?\d+(?:[eE][+-]?\d+)?)", lambda match: f"={float(match[1]):.12g}", name.strip())


class State(Protocol):
    """What a metric keeps of rows; the top of this module says what its methods do."""

    @property
    def size(self) -> int: ...  # the number of cells
    def __add__(self, other: Self, /) -> Self: ...
    def place(self, index: Array, size: int) -> Self: ...
    def weigh(self, weights: Matrix) -> Self: ...


S = TypeVar("S", bound=State)


class Sampled(Protocol):
    """The units that the cells of a state are about, and which cells make which group."""

    @property
    def unit(self) -> Array: ...  # (cells,): the unit of each cell, 0 … units − 1
    @property
    def unit_b(self) -> Array | None: ...  # (cells,): the other unit, for rows about two
    @property
    def units(self) -> int: ...  # how many there are
    @property
    def pattern(self) -> Array: ...  # (cells,): the membership pattern of each cell
    @property
    def kept(self) -> Array: ...  # (groups, patterns): whether the cells of a pattern make a group's value


class Metric(ABC, Generic[S]):
    """How rows become values. Derive a frozen dataclass from it; its fields are its parameters.

    The first line of the docstring is the definition that people read.
    """

    name: str
    resampling: ClassVar[Resampling] = Resampling.BOOTSTRAP
    output_scale: ClassVar[Scale | None] = None  # that none of its outputs can leave
    collects: ClassVar[bool] = False  # its state keeps rows, so many rows are better measured in one piece

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, Direction]:
        """The values it gives, in the order of display, with their direction."""

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The outputs that can't leave a range."""
        return {} if self.output_scale is None else dict.fromkeys(self.outputs, self.output_scale)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads; checked before anything runs."""

    @abstractmethod
    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> S:
        """The state of the rows, tallied into `size` cells; without `cells`, into cell 0."""

    @abstractmethod
    def result(self, part: S, whole: S) -> Mapping[str, Column]:
        """The values of every cell of `part`. `whole` has one cell, or as many as `part`."""

    def ratios(self, state: S) -> Mapping[str, Ratio]:
        """The outputs that are ratios of sums, by name; none by default."""
        return {}

    def missing(self, state: S) -> Array | None:
        """(cells,): rows that could not be measured; None when that can't happen."""
        return None

    def tallied(self, state: S) -> Array | None:
        """(cells,): how many rows were tallied; None when the state does not keep it."""
        return None

    def points(self, part: S, whole: S) -> Mapping[str, Sequence[OperatingPoint | None]]:
        """The operating point of every cell, for outputs that have one."""
        return {}

    @property
    def keeps(self) -> Hashable:
        """What its state keeps of the rows; metrics that keep the same share one state. None: its own."""
        return None

    def redrawn(
        self, state: S, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        """Outputs (draws, groups) under weights of units (draws, units), where that is quicker than weighing cells.

        None, the default, when there is no quicker way; `weights` are then left as they were.
        """
        return None

    @property
    def linearised(self) -> frozenset[str]:
        """Outputs of which `redrawn` gives the first order of their change only."""
        return frozenset()

    def row_scores(self, rows: Records) -> Array | None:
        """One score per row when the metric is a mean of rows, for rank tests; else None."""
        return None

    @property
    def definition(self) -> str:
        """What the metric is, in one line."""
        return (self.__doc__ or self.name).strip().splitlines()[0]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every field but the name, as plain values where possible."""
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self)) if field.name != "name"}

    def check_columns(self, rows: Records) -> None:
        """Raise when a column that the metric reads is not there."""
        for column in self.columns:
            if column not in rows:
                raise UnknownNameError("column", column, rows.columns, f"The metric {self.name!r} reads it.")


@dataclass(frozen=True, eq=False)
class Linear:
    """A state that is sums: every field an array (cells, …). Derive a frozen dataclass."""

    adds: ClassVar[bool] = True  # `arrays` are the sums themselves, not a code for them

    @property
    def size(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def __add__(self, other: Self, /) -> Self:
        return type(self)(*(mine + theirs for mine, theirs in zip(self.arrays(), other.arrays(), strict=True)))

    def place(self, index: Array, size: int) -> Self:
        return type(self)(*(_scatter(array, index, size) for array in self.arrays()))

    def weigh(self, weights: Matrix) -> Self:
        return type(self)(
            *(np.asarray(weights @ _flat(array)).reshape(weights.shape[0], *array.shape[1:]) for array in self.arrays())
        )

    def arrays(self) -> list[Array]:
        """What is kept of each cell: arrays (cells, …)."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True, eq=False)
class Collected:
    """A state that keeps rows: every field an array (rows, …), with the cell of each row.

    A cell is a weighted set of *basis* cells: `mixture` (cells, basis) says how often the rows
    of a basis cell count in a cell; None means that the two are the same. Derive a frozen
    dataclass that adds fields *after* these three; read a cell through `weights_of`.
    """

    codes: Array  # (rows,): the basis cell of each row
    basis: int
    mixture: Matrix | None

    @property
    def size(self) -> int:
        return self.basis if self.mixture is None else int(self.mixture.shape[0])

    def __add__(self, other: Self, /) -> Self:
        mine, theirs = self._flat(), other._flat()
        if mine.basis != theirs.basis:
            raise ValueError(f"states of {mine.basis} and {theirs.basis} cells can't be added")
        joined = [np.concatenate(pair) for pair in zip(mine._kept(), theirs._kept(), strict=True)]
        return type(self)(np.concatenate([mine.codes, theirs.codes]), mine.basis, None, *joined)

    def place(self, index: Array, size: int) -> Self:
        flat = self._flat()
        return type(self)(np.asarray(index)[flat.codes], size, None, *flat._kept())

    def weigh(self, weights: Matrix) -> Self:
        mixture = weights if self.mixture is None else weights @ self.mixture
        return type(self)(self.codes, self.basis, mixture, *self._kept())

    def weights_of(self, cell: int) -> Array:
        """(rows,): how often each kept row counts in a cell."""
        if self.mixture is None:
            return np.asarray(self.codes == cell).astype(np.int64)
        return np.asarray(dense_rows(self.mixture, [cell])[0][self.codes])

    def basis_weights(self, cells: Array) -> Array:
        """(cells, basis): how often the rows of each basis cell count in some cells."""
        if self.mixture is None:
            return np.asarray(cells[:, np.newaxis] == np.arange(self.basis)).astype(np.int64)
        return np.asarray(dense_rows(self.mixture, cells))

    def per_cell(self, values: Array) -> Array:
        """(cells,): the sum over the rows of each cell of a value of each row, or how often it is true."""
        if values.dtype == np.bool_:
            sums = np.bincount(self.codes[values], minlength=self.basis)
        else:
            sums = np.bincount(self.codes, values, minlength=self.basis)
        return sums if self.mixture is None else np.asarray(self.mixture @ sums)

    def _flat(self) -> Self:
        """The same state without a mixture; possible when no row is in two cells or counts twice."""
        if self.mixture is None:
            return self
        dense = dense_rows(self.mixture, np.arange(self.size))
        if ((dense != 0) & (dense != 1)).any() or (dense != 0).sum(axis=0).max(initial=0) > 1:
            raise ValueError(
                "rows that are in several cells or count twice can't be added or moved; do so before weighing"
            )
        used = (dense != 0).any(axis=0)
        keep = used[self.codes]
        kept = [array[keep] for array in self._kept()]
        return type(self)(dense.argmax(axis=0)[self.codes[keep]], len(dense), None, *kept)

    def _kept(self) -> list[Array]:
        return [getattr(self, field.name) for field in fields(self)[3:]]


def tally(values: Array, cells: Array | None = None, size: int = 1) -> Array:
    """Sums of `values` (rows, …) per cell: (size, …); whole numbers stay whole.

    >>> tally(np.array([True, False, True]), np.array([0, 0, 2]), 3).tolist()
    [1, 0, 1]
    """
    values = np.asarray(values)
    if values.dtype == np.bool_ and values.ndim == 1 and cells is not None:
        return np.bincount(cells[values], minlength=size) if values.any() else np.zeros(size, dtype=np.intp)
    if cells is None:
        whole = values.sum(axis=0, dtype=np.float64 if values.dtype.kind == "f" else np.int64)
        return np.asarray(whole)[np.newaxis] if size == 1 else _scatter(values, np.zeros(len(values), np.intp), size)
    return _scatter(values, cells, size)


def count_rows(rows: Records, cells: Array | None = None, size: int = 1) -> Array:
    """How many rows each cell has: (size,)."""
    return np.array([len(rows)]) if cells is None else np.bincount(cells, minlength=size)


def ratio(top: Array, bottom: Array, reason: str | Sequence[str]) -> Numbers:
    """Cell by cell `top / bottom`, undefined for `reason` where the bottom is 0."""
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    values = np.divide(top, bottom, out=np.full(np.broadcast(top, bottom).shape, np.nan), where=bottom != 0)
    return Numbers(values, reason)


def _scatter(array: Array, index: Array, size: int) -> Array:
    flat = _flat(array)
    whole = array.dtype.kind in "iub"
    out = np.zeros((size, flat.shape[1]), dtype=np.int64 if whole else np.float64)
    if not flat.any():
        return out.reshape(size, *array.shape[1:])
    if flat.shape[1] <= max(len(array), 1):
        for column in range(flat.shape[1]):
            sums = np.bincount(index, weights=flat[:, column], minlength=size)
            out[:, column] = np.rint(sums) if whole else sums
    else:  # few cells with long arrays each
        for cell, row in zip(index, flat, strict=True):
            out[cell] += row
    return out.reshape(size, *array.shape[1:])


def _flat(array: Array) -> Array:
    """(cells, everything else)."""
    return array.reshape(len(array), math.prod(array.shape[1:]))


def _is_same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) and theirs is not None:
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return bool(np.all(mine == theirs))
