"""What frames are looked at with: features that were computed before, or networks that are built on first use.

A feature is available when, on both sides, it is in a table or a network can read it from pictures. What is not is
reported once, with the reason (no weights, no torch, no pictures), and its metrics are undefined: nothing is replaced
silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.synthesis.features import FOUND, FeatureTable
from evenhand.benchmarks.synthesis.options import SynthesisOptions
from evenhand.benchmarks.synthesis.pixel_rows import loading_at
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.errors import DataError, InputError, PredictionError
from evenhand.core.records import Array
from evenhand.files.inputs import parse_toml, read

if TYPE_CHECKING:
    from evenhand.instruments.pictures import Loading

_RECENT = 2  # both sides of a part


class FrameFeatures(NamedTuple):
    """The features of frames: NaN where they could not be read, and why."""

    values: Array  # (frames, dimensions)
    found: NDArray[np.bool_]  # (frames,): whether a face or person was found; true where nothing is looked for
    reasons: tuple[str, ...]  # (frames,): empty where the frame was read


class PairValues(NamedTuple):
    """One number per pair: NaN where there is none, and why."""

    values: NDArray[np.float64]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class FrameSource:
    """Where the frames of one side come from."""

    name: str  # for messages: "synthesised", "real"
    features: FeatureTable
    has_pictures: bool = True


@dataclass(frozen=True)
class NetworkBuilder:
    """The networks, each built when it is first needed and kept.

    `given` readers and comparers (anything with `readings` or `comparisons`) take the place of ours, by feature name.
    """

    options: SynthesisOptions = field(default_factory=SynthesisOptions)
    device: str = "cpu"
    cache: Path | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)  # of what was used, filled as it is built
    built: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from evenhand.instruments.device import choose_device

        choose_device(self.device)  # one that is not here stops the run; it is no reason to leave a metric out

    @property
    def squared(self) -> int:
        """The size for networks that take one size only."""
        return self.options.image_size or 512

    @property
    def loading(self) -> Loading:
        """How pictures are loaded for what compares them as they are."""
        return loading_at(self.options.image_size, self.options.most_pixels)

    def instrument(self, feature: str) -> Any:
        """The reader or comparer of a feature; raises an InputError that says what is missing."""
        if feature not in self.built:
            self.built[feature] = self.given[feature] if feature in self.given else self._build(feature)
            self.fingerprints[feature] = str(self.built[feature].fingerprint)
        return self.built[feature]

    def classifier(self, name: str = "inception-imagenet") -> Any:
        """An Inception network itself, which several features share."""
        from evenhand.instruments.architectures import build_network

        if name not in self.built:
            self.built[name] = build_network(name, folder=self.options.weights, device=self.device)
        return self.built[name]

    def _build(self, feature: str) -> Any:
        from evenhand.instruments import comparers, readers
        from evenhand.instruments.people import Scaling

        common: dict[str, Any] = {"folder": self.options.weights, "device": self.device, "cache": self.cache}
        if feature in self.options.onnx:
            return self._onnx_reader(feature)
        match feature:
            case "inception" | "logits":
                return readers.inception_reader(
                    "imagenet", image_size=self.squared, cache=self.cache, ready=self.classifier()
                )
            case "fid-2015" | "pytorch-fid" | "torch-fidelity" | "clean-fid":
                ready = self.classifier("inception-fid")
                form = "fid" if feature == "fid-2015" else feature
                return readers.inception_reader(form, cache=self.cache, ready=ready)
            case "clip" | "clip-l" | "dino":
                return readers.vision_reader(feature, **common)
            case "pose":
                return readers.pose_reader(
                    image_size=self.options.image_size, folder=self.options.weights, cache=self.cache
                )
            case "i3d":
                return readers.clip_reader(**common)
            case "osnet" | "pcb":
                strict = self.options.rules is Rules.STRICT
                if "detector" not in self.built:
                    scaling = Scaling.NONE if strict else Scaling.AS_PUBLISHED
                    self.built["detector"] = readers.person_detector(image_size=self.squared, scaling=scaling, **common)
                return readers.person_reader(
                    feature,
                    detector=self.built["detector"],
                    strict=strict,
                    whole_if_empty=self.options.empty_crop == "whole",
                    image_size=self.squared,
                    **common,
                )
            case "face":
                return readers.face_reader(image_size=self.options.image_size, **common)
            case "sface" | "dlib" | "arcface" | "magface" | "curricularface":
                return self._substitute_face(feature)
            case "lps" | "lpips-vgg":
                return comparers.lpips_comparer("alex" if feature == "lps" else "vgg", loading=self.loading, **common)
            case "dists":
                return comparers.dists_comparer(loading=self.loading, **common)
        raise InputError(
            f"there is no network for {feature!r}. Bring its values for every frame in features.npz, or a network as "
            f"ONNX file ({feature}=FILE.onnx among the networks)."
        )

    def _substitute_face(self, name: str) -> Any:
        """Another face detector and embedding: YuNet with SFace, dlib's own, MTCNN with the others.

        A picture without a face has no embedding.
        """
        from evenhand.instruments import detectors, embedders
        from evenhand.instruments.readers import FlaggedReader
        from evenhand.instruments.readings import Instrument

        finder = {"sface": "yunet", "dlib": "dlib"}.get(name, "mtcnn")
        detector = detectors.face_detector(finder, folder=self.options.weights)
        embedder = embedders.face_embedder(name, folder=self.options.weights, device=self.device)
        loading = self.loading

        def look(found: Any) -> list[float]:
            pixels = found[0].pixels
            faces = sorted(detector.faces(pixels), key=lambda face: -face.area)[:1]
            if not faces:
                return [0.0, *([float("nan")] * embedder.dimensions)]
            return [1.0, *embedder.embed(pixels, faces)[0].tolist()]

        fingerprint = f"{detector.fingerprint}|{embedder.fingerprint}|{loading.fingerprint}"
        instrument = Instrument(fingerprint, loading, embedder.dimensions + 1, alone=look, workers=1)
        return FlaggedReader(instrument, self.cache)

    def _onnx_reader(self, feature: str) -> Any:
        """The reader of an ONNX file; what it expects is in a TOML file beside it."""
        from evenhand.instruments.onnx import Preparation, onnx_reader

        path = self.options.onnx[feature]
        about = read(path.with_suffix(".toml"), DataError)
        try:
            content: dict[str, Any] = dict(parse_toml(about.text(), about.path))
            content |= {name: bool(content[name]) for name in ("blue_first", "channels_last") if name in content}
            preparation = msgspec.convert(content, Preparation)
        except msgspec.ValidationError as error:
            raise DataError(
                f"{about.path}: can't be used ({error}). It says what {path.name} expects: size = [height, width], and "
                "where they differ from 0…1 RGB, channels first: shift, scale, blue_first, channels_last."
            ) from None
        return onnx_reader(path, preparation, device=self.device, cache=self.cache)


@dataclass(frozen=True)
class FrameInstruments:
    """Everything that frames of two sides are looked at with."""

    synthesised: FrameSource
    real: FrameSource
    networks: NetworkBuilder = field(default_factory=NetworkBuilder)
    warn: Callable[[str], None] = lambda message: None
    refused: dict[str, str] = field(default_factory=dict)  # what is not available, and why
    recent: dict[tuple[str, tuple[Path, ...]], Any] = field(default_factory=dict)  # the last few Inception readings

    def available(self, name: str, *, comparison: bool = False) -> bool:
        """Whether a feature (or a comparison of two frames) is available; what is not is reported once."""
        if name in self.refused:
            return False
        if reason := self._missing(name, comparison=comparison):
            self.refused[name] = reason
            self.warn(f"{name} is not available: {reason}")
        return not reason

    def see(self, feature: str, paths: Sequence[Path | None], side: FrameSource) -> FrameFeatures:
        """The features of frames of one side; NaN for those that are not there."""
        if feature in side.features:
            return _from_table(feature, paths, side.features)
        return self._by_network(feature, paths)

    def compare(self, name: str, pairs: Sequence[tuple[Path | None, Path | None]]) -> PairValues:
        """One number per pair of frames (synthesised, real); NaN where one is not there."""
        whole = {n: pair for n, pair in enumerate(pairs) if None not in pair}
        there = list(whole)
        pictures, real = ([path for pair in whole.values() if (path := pair[side]) is not None] for side in (0, 1))
        values, reasons = np.full(len(pairs), np.nan), [""] * len(pairs)
        if name in self.synthesised.features:
            values[there] = np.asarray(self.synthesised.features.rows(name, pictures), dtype=np.float64).reshape(
                len(pictures)
            )
            for number in there:
                reasons[number] = (
                    "no value in the features file, or it is not finite." if np.isnan(values[number]) else ""
                )
            return PairValues(values, tuple(reasons))
        readings = self.networks.instrument(name).comparisons(pictures, real)
        values[np.array(there, np.intp)[readings.positions]] = readings.values[:, 0]
        for problem in readings.problems:
            reasons[there[problem.position]] = f"{problem.picture}: {problem.reason}"
        return PairValues(values, tuple(reasons))

    def clips(self, feature: str, runs: Sequence[Sequence[Path]]) -> Array:
        """(runs, numbers): the features of runs of frames, by network."""
        return np.asarray(self.networks.instrument(feature).read_clips(runs))

    def _by_network(self, feature: str, paths: Sequence[Path | None]) -> FrameFeatures:
        instrument = self.networks.instrument(feature)
        there = np.array([number for number, path in enumerate(paths) if path is not None], np.intp)
        readings = self._readings(instrument, feature, tuple(path for path in paths if path is not None))
        positions = there[readings.positions]
        rows = readings.values
        flagged = hasattr(instrument, "found")  # its first number says whether a face or person was found
        vectors = rows[:, 1:] if flagged else rows
        if feature == "logits" and len(vectors):
            vectors = self._logits(instrument, vectors)
        values = np.full((len(paths), vectors.shape[1]), np.nan, dtype=np.float32)
        has_features, reasons = np.zeros(len(paths), dtype=np.bool_), [""] * len(paths)
        values[positions] = vectors
        has_features[positions] = rows[:, 0] > 0 if flagged else True
        for problem in readings.problems:
            reasons[int(there[problem.position])] = f"{problem.picture}: {problem.reason}"
        return FrameFeatures(values, has_features, tuple(reasons))

    def _readings(self, instrument: Any, feature: str, paths: tuple[Path, ...]) -> Any:
        """What the instrument says of the frames; logits start from the pooled features of a moment ago."""
        if feature not in ("inception", "logits"):
            return instrument.readings(list(paths))
        key = instrument.fingerprint, paths
        if key not in self.recent:
            while len(self.recent) >= _RECENT:
                self.recent.pop(next(iter(self.recent)))
            self.recent[key] = instrument.readings(list(paths))
        return self.recent[key]

    def _logits(self, instrument: Any, features: Array) -> Array:
        """Class logits from pooled features, by the network's last layer."""
        if hasattr(instrument, "logits"):
            return np.asarray(instrument.logits(features))
        import torch

        ready = self.networks.classifier()
        with torch.inference_mode():
            logits = ready.network.logits(torch.from_numpy(np.asarray(features)).to(ready.device))
        return np.asarray(logits.cpu().numpy())

    def _missing(self, name: str, *, comparison: bool) -> str:
        """Why a feature or comparison is not available. Numbers of a comparison lie beside the synthesised frames."""
        synthesised, real = (side.features.arrays.get(name) for side in (self.synthesised, self.real))
        if comparison and synthesised is not None:
            return ""
        for side, table in ((self.synthesised, synthesised), (self.real, real)):
            if (comparison or table is None) and (reason := self._no_network(name, side)):
                return reason
        if synthesised is not None and real is not None and synthesised.shape[1:] != real.shape[1:]:
            raise PredictionError(
                f"The features {name!r} of synthesised frames have shape {synthesised.shape[1:]}, those of real frames "
                f"{real.shape[1:]}. Read both sides with the same network."
            )
        return ""

    def _no_network(self, name: str, side: FrameSource) -> str:
        if not side.has_pictures:
            return f"there are neither {name!r} features nor pictures of the {side.name} frames"
        try:
            self.networks.instrument(name)
        except InputError as error:
            return str(error)
        except ImportError as error:
            return f"it needs a package that is not installed ({error})"
        return ""


def _from_table(feature: str, paths: Sequence[Path | None], table: FeatureTable) -> FrameFeatures:
    values = table.rows(feature, paths)
    if None in paths:
        values = values.astype(np.float32)
    if values.ndim == 1:
        values = values[:, np.newaxis]
    there: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
    has_features = there.copy()
    flag = FOUND.get(feature)
    if flag is not None and flag in table:
        has_features &= np.nan_to_num(table.rows(flag, paths)).astype(np.bool_)
    reasons = tuple(
        "" if known or path is None else "no features in the file, or they are not finite."
        for known, path in zip(there, paths, strict=True)
    )
    return FrameFeatures(values, has_features, reasons)
