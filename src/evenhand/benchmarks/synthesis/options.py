"""The switches of the synthesis tasks; every default is the published protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evenhand.benchmarks.synthesis.catalogue import PAIRED_DEFAULT, SETS_DEFAULT, TABLE, UNPAIRED_DEFAULT
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.errors import OptionError
from evenhand.core.options import Options, option
from evenhand.files.inputs import MOST_PIXELS


@dataclass(frozen=True)
class SynthesisOptions(Options):
    """Options of all tasks."""

    metrics: tuple[str, ...] = option(PAIRED_DEFAULT, "what is measured, by name; `describe` lists them")
    rules: Rules = option(Rules.COMPAT, "the published rules, or the corrected ones", former="reading")
    image_size: int = option(512, "pictures are squeezed to this many pixels squared; 0 keeps their own size")
    batch: int = option(16, "frames of a batch, whose mean is averaged under the published rules")
    on_missing: Literal["error", "skip", "worst"] = option(
        "error",
        "a frame that can't be measured stops the evaluation, is left out, or counts as the worst (strict only)",
    )
    empty_crop: Literal["error", "whole"] = option(
        "error",
        "a person's box without pixels, as the published scaling gives near an edge, stops the evaluation or makes the "
        "whole picture count",
    )
    weights: Path | None = option(None, "a folder with weights files; `evenhand weights` lists them")
    networks: tuple[str, ...] = option((), "networks of your own for features: NAME=FILE.onnx")
    most_pixels: int = option(MOST_PIXELS, "a picture with more pixels is refused before it is decoded")

    @property
    def onnx(self) -> Mapping[str, Path]:
        """The user's networks by feature name."""
        files = {}
        for text in self.networks:
            name, joint, path = text.partition("=")
            if not joint or not name or not path:
                raise OptionError(f"networks: {text!r} is not NAME=FILE.onnx.")
            files[name] = Path(path)
        return files

    def check(self) -> None:
        """Refuse combinations that no protocol knows."""
        if self.rules is Rules.COMPAT and self.on_missing != "error":
            raise OptionError(
                f"on_missing={self.on_missing} changes what is averaged; the published numbers are those of complete "
                "runs. Use it with --set rules=strict."
            )
        if not self.metrics:
            raise OptionError("metrics is empty. Name what is to be measured; `evenhand describe` lists it.")
        if self.most_pixels < 1:
            raise OptionError(f"most_pixels={self.most_pixels}: expected at least 1.")
        if self.batch < 1 or self.image_size < 0:
            raise OptionError(f"batch={self.batch}, image_size={self.image_size}: expected at least 1 and 0.")


_PLAIN = "boxes and windows as published, or the corrected ones; means are over pictures in both"


@dataclass(frozen=True)
class PairedOptions(SynthesisOptions):
    """Options of pictures that have a real one each."""

    rules: Rules = option(Rules.STRICT, _PLAIN, former="reading")
    match: Literal["name", "order"] = option("name", "predictions belong to references of the same name, or by order")
    frames: Literal["number", "time"] = option(
        "number", "frames of films belong together by their number, or by the time at which they are shown"
    )


@dataclass(frozen=True)
class PictureOptions(PairedOptions):
    """Options of the table over two folders or films."""

    metrics: tuple[str, ...] = option(TABLE, "what is measured, by name; `describe` lists them")
    image_size: int = option(0, "pictures are squeezed to this many pixels squared; 0 keeps their own size")


@dataclass(frozen=True)
class UnpairedOptions(SynthesisOptions):
    """Options of two sets of frames."""

    metrics: tuple[str, ...] = option(SETS_DEFAULT, "what is measured, by name; `describe` lists them")
    rules: Rules = option(Rules.STRICT, _PLAIN, former="reading")
    pairing: Literal["none", "name", "order"] = option("none", "which real frame a cosine is taken with, if any")
    frechet: Literal["features", "moments"] = option(
        "features", "what Fréchet distances keep: features, or sums (for sets beyond memory)"
    )


@dataclass(frozen=True)
class ProtocolOptions(SynthesisOptions):
    """Options of tasks with a protocol file."""

    dataset: Literal["iPER", "iPER_ICCV", "MotionSynthetic", "FashionVideo", "YoutubeDancer18"] = option(
        "iPER", "how the data folder is laid out"
    )
    protocol: Path | None = option(None, "the protocol file; looked for in the data folder when not given")
    sources: int = option(1, "source frames per item: 1, 2, 4 or 8")


@dataclass(frozen=True)
class AppearanceOptions(ProtocolOptions):
    """Options of appearance transfer."""

    motion: Literal["appearance", "source"] = option(
        "appearance", "whose video the person moves through and is measured against: the appearance's, or their own"
    )


@dataclass(frozen=True)
class CrossOptions(ProtocolOptions):
    """Options of cross-imitation."""

    metrics: tuple[str, ...] = option(UNPAIRED_DEFAULT, "what is measured, by name; `describe` lists them")
    frechet: Literal["features", "moments"] = option(
        "features", "what Fréchet distances keep: features, or sums (for sets beyond memory)"
    )
