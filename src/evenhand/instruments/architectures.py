"""Networks by name, ready to run: built, given their weights, checked, put on a device.

`build_network("osnet-ibn")` finds the weights (a path the user names, a folder, an installed package), reads only
tensors from them and refuses what does not fit. `networks.toml` lists the networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import UnknownNameError
from evenhand.files.packaged import packaged_table
from evenhand.instruments import carriers, checkpoints
from evenhand.instruments.checkpoints import load_into, require_torch
from evenhand.instruments.device import choose_device
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.weight_files import WeightKind
from evenhand.instruments.weights import LocatedWeights, locate

if TYPE_CHECKING:
    from torch import Tensor, nn


class NetworkOptions(TypedDict, total=False):
    """Where a network's weights are looked for, and where it runs: what `build_network` takes."""

    paths: Mapping[str, Path]  # files of the user's, by the name of the weights
    folder: Path | None  # of weights files
    device: str  # "cpu" by default
    ready: ReadyNetwork | None  # a network that is built already: nothing is looked for


class NetworkPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of a network that has a weights file of its own."""

    weights: str
    module: str = ""  # where in the network; empty is the whole
    left_out: tuple[str, ...] = ()  # beginnings of names that are published but never run


class Architecture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a network is called, how it is made, and which weights its parts take."""

    title: str
    network: str  # the name of a class in `networks`
    parts: tuple[NetworkPart, ...]
    arguments: tuple[Any, ...] = ()  # of the class


ARCHITECTURES: Mapping[str, Architecture] = packaged_table(__package__, "networks.toml", dict[str, Architecture])
"""The networks by name."""


@dataclass(frozen=True)
class ReadyNetwork:
    """A network with its weights on a device, and the fingerprint of those weights."""

    network: nn.Module
    fingerprint: str
    device: str

    def run(self, *batches: Tensor) -> NDArray[np.float32]:
        """What the network makes of batches on its device."""
        import torch

        with torch.inference_mode():
            numbers: NDArray[np.float32] = self.network(*batches).cpu().numpy()
        return numbers


def build_network(name: str, **where: Unpack[NetworkOptions]) -> ReadyNetwork:
    """The network of that name with its published weights."""
    if (ready := where.get("ready")) is not None:
        return ready
    if name not in ARCHITECTURES:
        raise UnknownNameError("network", name, ARCHITECTURES)
    architecture = ARCHITECTURES[name]
    require_torch(architecture.title)
    device = choose_device(where.get("device", "cpu"))
    weights = [find_weights(part.weights, **where) for part in architecture.parts]
    network = bare_network(name)
    for part, located in zip(architecture.parts, weights, strict=True):
        target = network.get_submodule(part.module)
        tensors = read_weights(located, target)
        title = f"{architecture.title} ({located.name})"
        load_into(target, tensors, title, left_out=part.left_out, source=str(located.path))
    network.eval()
    return ReadyNetwork(network.to(device), "+".join(located.fingerprint for located in weights), device)


def find_weights(name: str, **where: Unpack[NetworkOptions]) -> LocatedWeights:
    """The weights of that name where the options say that they are."""
    return locate(name, given=where.get("paths", {}).get(name), folder=where.get("folder"))


def bare_network(name: str) -> nn.Module:
    """The network of that name with uninitialised weights; all of them are about to be loaded."""
    import torch

    from evenhand.instruments.networks import BY_NAME

    with torch.device("meta"):
        network: nn.Module = BY_NAME[ARCHITECTURES[name].network](*ARCHITECTURES[name].arguments)
    return network.to_empty(device="cpu")


def read_weights(located: LocatedWeights, target: nn.Module) -> dict[str, Tensor]:
    """The tensors of a weights file under the names of the network that they are for."""
    if located.kind is WeightKind.DARKNET:
        return checkpoints.read_darknet(located.path, target)
    is_mtcnn = located.kind is WeightKind.ONNX and located.name.startswith("mtcnn-")
    read = _READERS.get(WeightKind.MTCNN_ONNX if is_mtcnn else located.kind)
    if read is None:
        raise WeightsError(f"{located.path}: a {located.kind.value} can't be loaded into a network of ours.")
    return read(located.path)


_READERS: Mapping[WeightKind, Callable[[Path], dict[str, Tensor]]] = {
    WeightKind.STATE: checkpoints.read_tensors,
    WeightKind.FLAX: carriers.flax_backbone,
    WeightKind.FLAX_HEADS: carriers.flax_heads,
    WeightKind.FACENET_GRAPH: carriers.facenet_graph,
    WeightKind.FID_SCRIPT: carriers.fid_network,
    WeightKind.MTCNN_ONNX: carriers.mtcnn_onnx,
}
