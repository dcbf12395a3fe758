"""The closed vocabulary of FairFace, and when an age answer fits an age bin.

Genders, races (seven as annotated, six as evaluated) and nine age bins. An age
answer is an interval of completed years; its relation to the bins is decided
here, in the three readings that are always shown together.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

UNKNOWN: Final = "unknown"

GENDERS: Final = ("Male", "Female")
RACES: Final = ("Asian", "Black", "White", "Latino_Hispanic", "Middle_Eastern", "Indian")
COARSE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "White": "White",
        "Black": "Black",
        "Latino_Hispanic": "Latino_Hispanic",
        "East Asian": "Asian",
        "Southeast Asian": "Asian",
        "Indian": "Indian",
        "Middle Eastern": "Middle_Eastern",
    }
)
FINE_RACES: Final = tuple(COARSE_OF)

AGE_BINS: Final = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70+")
BIN_STARTS: Final = (0, 3, 10, 20, 30, 40, 50, 60, 70)  # a bin ends where the next begins; the last never ends
OLDEST: Final = 120
CLASSES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"gender": GENDERS, "race": RACES, "age": AGE_BINS})
ATTRIBUTES: Final = tuple(CLASSES)


class PerAttribute(NamedTuple, Generic[Value]):
    """A value for each attribute: what an object says of it, how confident a model is of it."""

    gender: Value
    race: Value
    age: Value


class AgeKind(StrEnum):
    """How an age was said: `35`, `30-40`, `over 60`, `teenager`."""

    POINT = "point"
    RANGE = "range"
    OPEN = "open"
    WORD = "word"


class AgeInterval(NamedTuple):
    """Completed years from `low` to `high`, both included; `high` None means no upper limit.

    >>> AgeInterval(20, 30, AgeKind.RANGE)
    AgeInterval(low=20, high=30, kind=<AgeKind.RANGE: 'range'>)
    """

    low: int
    high: int | None
    kind: AgeKind


def bin_of(age: int) -> int:
    """The index of the bin that holds an age in completed years.

    >>> [AGE_BINS[bin_of(age)] for age in (0, 2, 3, 19, 69, 70, 101)]
    ['0-2', '0-2', '3-9', '10-19', '60-69', '70+', '70+']
    """
    return sum(start <= age for start in BIN_STARTS) - 1


def bins_overlapped(age: AgeInterval) -> range:
    """The bins an answer overlaps, read literally: `low <= bin.high and high >= bin.low`.

    >>> [AGE_BINS[i] for i in bins_overlapped(AgeInterval(20, 30, AgeKind.RANGE))]
    ['20-29', '30-39']
    """
    last = len(AGE_BINS) - 1 if age.high is None else bin_of(age.high)
    return range(bin_of(age.low), last + 1)


def bins_beyond_touch(age: AgeInterval) -> range:
    """The bins an answer overlaps by more than its upper end point.

    For `low < high < infinity`, the bin that begins exactly at `high` is left out.

    >>> [AGE_BINS[i] for i in bins_beyond_touch(AgeInterval(25, 30, AgeKind.RANGE))]
    ['20-29']
    >>> [AGE_BINS[i] for i in bins_beyond_touch(AgeInterval(30, 30, AgeKind.POINT))]
    ['30-39']
    """
    bins = bins_overlapped(age)
    if age.high is not None and age.low < age.high and age.high in BIN_STARTS:
        return range(bins.start, bins.stop - 1)
    return bins


def single_bin(age: AgeInterval) -> int | None:
    """The one bin an answer is reduced to, or None when it names no upper limit across several bins.

    The only bin overlapped if there is one; else the bin of the middle, rounded down.

    >>> AGE_BINS[single_bin(AgeInterval(25, 35, AgeKind.RANGE))]
    '30-39'
    >>> single_bin(AgeInterval(18, None, AgeKind.OPEN)) is None
    True
    """
    bins = bins_overlapped(age)
    if len(bins) == 1:
        return bins.start
    if age.kind is AgeKind.OPEN or age.high is None:
        return None
    return bin_of((age.low + age.high) // 2)
