"""The protocols' named switches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from evenhand.benchmarks.ijb.covariates import YAW_EDGES
from evenhand.core.errors import OptionError
from evenhand.core.options import Options, option
from evenhand.search.enrol import Detector, Flip, Media, Norm, Pooling
from evenhand.search.sanity import Halves

Conventions = Literal["exact", "at_impostor", "nearest", "nearest_full_curve", "linear"]


def _refuse_beyond(name: str, values: tuple[float, ...], low: float, high: float = math.inf, *, some: str = "") -> None:
    """Raise when a value of an option lies outside its range, is infinite, or stands there twice.

    `some`: an example, where at least one value is needed.
    """
    if some and not values:
        raise OptionError(
            f"Option {name!r} is empty: it takes one or several numbers, such as {some}. Leave it out for the usual "
            "ones."
        )
    wrong = [value for value in values if not low <= value <= high or value == math.inf]
    if wrong:
        span = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise OptionError(f"Option {name!r} can't be {wrong[0]:g}: it takes numbers {span}.")
    if len(set(values)) < len(values):
        raise OptionError(f"Option {name!r} has a value twice: {', '.join(f'{value:g}' for value in values)}.")


def _refuse_conventions(names: tuple[str, ...]) -> None:
    """Raise when no convention is named, or one twice."""
    if not names or len(set(names)) < len(names):
        found = f"{', '.join(names)} names one twice" if names else "there is none"
        raise OptionError(f"Option 'conventions' takes one or several conventions, each once: {found}.")


def _refuse_overlap(iou: float) -> None:
    """Raise when an overlap would match boxes that do not touch, or no boxes at all."""
    if not 0 < iou <= 1:
        raise OptionError(f"Option 'iou' can't be {iou:g}: it takes an overlap above 0 and up to 1.")


@dataclass(frozen=True)
class PoolingOptions(Options):
    """How faces become templates, and what becomes of templates that fail."""

    flip: Flip = option("sum", "the mirrored pass: ignored, added (or averaged), or set beside the first")
    halves: Halves = option(
        "auto", "columns that hold a pass and its mirrored pass side by side: split where flip asks and they look so"
    )
    norm: Norm = option("keep", "keep the length of an embedding as its weight, or scale it to one")
    detector: Detector = option("on", "weigh faces by their detector score")
    media: Media = option("mean", "average within a medium first, average and scale to one, or ignore media")
    fte: Literal["penalise", "exclude"] = option(
        "penalise", "a failure to enrol is never accepted but counted, or leaves numerator and denominator"
    )

    @property
    def pooling(self) -> Pooling:
        """The four switches of pooling."""
        return Pooling(self.flip, self.norm, self.detector, self.media)


@dataclass(frozen=True)
class VerificationOptions(PoolingOptions):
    """Test 1."""

    far: tuple[float, ...] = option((1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1), "false accept rates to report")
    conventions: tuple[Conventions, ...] = option(("exact",), "how TAR is read at FAR")
    splits: tuple[int, ...] = option((), "IJB-A only: the splits to average over, such as 1,2,3,4,5,6,7,8,9,10")
    layout: Literal["auto", "official", "lists"] = option("auto", "official CSVs, or the community's list files")
    variants: bool = option(
        False, "also evaluate the eight variants that papers print: norm kept or not, detector on or off, flip or not"
    )

    def __post_init__(self) -> None:
        _refuse_beyond("far", self.far, 0, 1, some="0.0001")
        _refuse_conventions(self.conventions)
        _refuse_beyond("splits", self.splits, 1)


@dataclass(frozen=True)
class CovariateOptions(PoolingOptions):
    """Test 2."""

    far: tuple[float, ...] = option((1e-4, 1e-3, 1e-2, 1e-1), "false accept rates to report")
    conventions: tuple[Conventions, ...] = option(("exact",), "how TAR is read at FAR")
    unknown_age: Literal["missing", "level"] = option("missing", "age 0 (unknown): not annotated, or a level")
    yaw_edges: tuple[float, ...] = option(YAW_EDGES, "edges of bins of yaw difference, degrees, left-closed")
    roll_edges: tuple[float, ...] = option(YAW_EDGES, "edges of bins of roll difference, degrees, left-closed")
    occlusions: Literal["auto", "on", "off"] = option(
        "auto",
        "IJB-C's 18 cells of occlusion as attributes; auto: with up to ten million comparisons, they take memory",
    )

    def __post_init__(self) -> None:
        _refuse_beyond("far", self.far, 0, 1, some="0.0001")
        _refuse_conventions(self.conventions)
        for name, edges in (("yaw_edges", self.yaw_edges), ("roll_edges", self.roll_edges)):
            _refuse_beyond(name, edges, 0, 360)
            if len(edges) < 2 or list(edges) != sorted(edges):
                raise OptionError(f"Option {name!r} takes two or more edges in rising order.")


@dataclass(frozen=True)
class SearchOptions(PoolingOptions):
    """Tests 3, 4 and 5."""

    fpir: tuple[float, ...] = option((1e-3, 1e-2, 1e-1), "false positive identification rates to report")
    ranks: tuple[int, ...] = option((1, 5, 10), "ranks of the CMC to report")
    list_length: int = option(20, "length L of the candidate list; Janus evaluations used 20 and 50")
    cmc_depth: int | None = option(None, "ranks that the CMC curve shows; the list's length by default")
    any_rank: bool = option(True, "also report hits at any rank; candidate lists can't tell these")
    ties: Literal["pessimistic", "optimistic"] = option("pessimistic", "whether a tie counts against the mate")
    combine: Literal["mean", "pooled"] = option("mean", "mean of the galleries' rates, or pooled counts")
    splits: tuple[int, ...] = option((), "IJB-A only: the splits to average over; all by default")
    legacy: bool = option(False, "also evaluate the merged gallery of older scripts (not an FPIR)")

    def __post_init__(self) -> None:
        _refuse_beyond("fpir", self.fpir, 0, 1, some="0.01")
        _refuse_beyond("ranks", self.ranks, 1, some="1")
        _refuse_beyond("splits", self.splits, 1)
        _refuse_beyond("list_length", (self.list_length,), 1)
        _refuse_beyond("cmc_depth", (1 if self.cmc_depth is None else self.cmc_depth,), 1)


@dataclass(frozen=True)
class FaceDetectionOptions(Options):
    """Test 6."""

    ignore: Literal["media", "box", "none"] = option(
        "media", "a flagged row drops its image, makes its box one that does not count, or is ignored"
    )
    match: Literal["available", "argmax"] = option(
        "available", "a detection takes the best face still free, or wants the best face of all"
    )
    iou: float = option(0.5, "smallest overlap of a detection with a face")
    fppi: tuple[float, ...] = option((0.01, 0.1, 1.0), "false positives per image to report")

    def __post_init__(self) -> None:
        _refuse_overlap(self.iou)
        _refuse_beyond("fppi", self.fppi, 0, some="0.1")


@dataclass(frozen=True)
class ClusteringOptions(Options):
    """Test 7."""

    subjects: int | None = option(
        None, "the sub-protocol, by its number of subjects; by default the largest that is answered"
    )


@dataclass(frozen=True)
class DetectionClusteringOptions(Options):
    """Test 8."""

    iou: float = option(0.5, "smallest overlap that attaches a detection to a subject of interest")

    def __post_init__(self) -> None:
        _refuse_overlap(self.iou)


@dataclass(frozen=True)
class FaceQuestionOptions(Options):
    """Which faces are put to a model."""

    tests: tuple[int, ...] = option((1, 2, 3, 4, 5, 7), "faces of these tests")
    mirror: bool = option(True, "also ask for the mirrored face")
    crops: Literal["auto", "media", "loose"] = option(
        "auto", "pictures of the release itself, or the loose crops of the community's; auto: those where there are"
    )

    def __post_init__(self) -> None:
        wrong = [test for test in self.tests if test not in (1, 2, 3, 4, 5, 7)]
        if wrong or not self.tests:
            found = f"can't be {wrong[0]}" if wrong else "names no test"
            raise OptionError(f"Option 'tests' {found}: it takes one or several of 1, 2, 3, 4, 5 and 7.")
