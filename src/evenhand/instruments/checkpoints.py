"""Weights into networks: only tensors are read, every name and shape is checked, and the file's SHA-256 is kept.

A checkpoint is a file the user names: a state dictionary saved by torch (`.pth`, `.pt`), `.safetensors`, or Darknet's
own format (`.weights`). Training leftovers around the state dictionary and prefixes that parallel training adds are
looked through; a file that was made for another network is refused with the names that do not fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.blas import hold_new_torch
from evenhand.core.errors import MissingExtraError
from evenhand.core.records import Array
from evenhand.files.arrays import read_safetensors
from evenhand.files.pickles import load_plain, named_arrays
from evenhand.instruments.errors import WeightsError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

_WRAPPERS = ("state_dict", "model_state_dict", "model", "net", "backbone")
_PREFIXES = ("module.features.", "features.module.", "module.", "backbone.", "visual.")
_SHOWN = 4  # names that a message lists


def require_torch(what: str) -> None:
    """Nothing when torch is installed; otherwise one line that says who needs it and how to get it."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"{what} needs torch", "torch") from error
    hold_new_torch()


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise WeightsError(
            f"{path}: can't be read ({error.strerror or error}). Name a weights file that exists."
        ) from error


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint by name; files that hold anything that would have to be run are refused."""
    if not path.is_file():
        raise WeightsError(f"{path}: there is no such file. `evenhand weights` says where each file is published.")
    import torch

    if path.suffix == ".safetensors":
        arrays = read_safetensors(path, WeightsError)
    else:
        arrays = _state_dictionary(load_plain(path, WeightsError, modules=True), path)
    return {key: torch.from_numpy(np.require(array, requirements="W")) for key, array in arrays.items()}


def load_into(
    network: nn.Module,
    tensors: Mapping[str, Tensor],
    name: str,
    *,
    left_out: tuple[str, ...] = (),
    source: str = "weights",
) -> None:
    """Give `network` its weights, or say which names and shapes do not fit.

    `left_out` are beginnings of names that the published file has and the forward pass never uses (classifiers).
    Counters of batch norms (`num_batches_tracked`) may be absent: old files have none.
    """
    expected = network.state_dict()
    given = _without_prefix(dict(tensors), expected)
    unused = {key for key in given if key.startswith(left_out)} if left_out else set()
    given = {key: value for key, value in given.items() if key in expected or key not in unused}
    missing = [key for key in expected if key not in given and not key.endswith("num_batches_tracked")]
    foreign = [key for key in given if key not in expected]
    unfit = [
        f"{key} is {_shape(given[key])}, expected {_shape(value)}"
        for key, value in expected.items()
        if key in given and given[key].shape != value.shape
    ]
    if missing or foreign or unfit:
        parts = [
            f"{len(names)} {what} ({_some(names)})"
            for what, names in (("missing", missing), ("unknown", foreign), ("of another shape", unfit))
            if names
        ]
        raise WeightsError(
            f"{source}: does not belong to {name}. Of {len(expected)} tensors {'; '.join(parts)}. "
            f"Name a checkpoint of {name}; `evenhand weights` lists where it is published."
        )
    import torch

    complete = {
        key: given[key].to(value.dtype) if key in given else torch.zeros_like(value) for key, value in expected.items()
    }
    network.load_state_dict(complete)
    network.eval()
    network.requires_grad_(requires_grad=False)


def shapes_of(network: nn.Module) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all that a network's checkpoint holds."""
    return {key: tuple(value.shape) for key, value in network.state_dict().items()}


def read_darknet(path: Path, network: nn.Module) -> dict[str, Tensor]:
    """The tensors of a Darknet file, in the order of the network's convolutions.

    Five header words, then for each convolution its norm's bias, weight, mean and variance (or its plain bias) and
    its kernel, all in single precision. A file that is longer or shorter than the network is refused.
    """
    import torch

    data = path.read_bytes()
    values = np.frombuffer(data[20 : 20 + (len(data) - 20) // 4 * 4], "<f4") if len(data) > 20 else np.zeros(0, "<f4")
    shapes = shapes_of(network)
    kernels = [key for key, shape in shapes.items() if len(shape) == 4]
    order: list[str] = []
    for kernel in kernels:
        norm = kernel.replace("conv_", "batch_norm_").removesuffix(".weight")
        normed = [f"{norm}.{part}" for part in ("bias", "weight", "running_mean", "running_var")]
        order += [*(normed if normed[0] in shapes else [kernel.replace(".weight", ".bias")]), kernel]
    ends = np.cumsum([int(np.prod(shapes[key])) for key in order])
    if ends[-1] != len(values):
        raise WeightsError(
            f"{path}: holds {len(values):,} numbers, the network has {ends[-1]:,}. Name yolov3-spp.weights itself."
        )
    parts = zip(order, np.split(values, ends[:-1]), strict=True)
    return {key: torch.from_numpy(part.copy()).reshape(shapes[key]) for key, part in parts}


def _state_dictionary(content: Any, path: Path) -> dict[str, Array]:
    """The mapping of names to arrays inside whatever was saved around it."""
    while isinstance(content, dict) and not any(isinstance(value, np.ndarray) for value in content.values()):
        inner = next((content[key] for key in _WRAPPERS if isinstance(content.get(key), dict)), None)
        if inner is None:
            break
        content = inner
    if not isinstance(content, dict):
        raise WeightsError(f"{path}: holds a {type(content).__name__}, not a dictionary of tensors.")
    arrays = {str(key): value for key, value in content.items() if isinstance(value, np.ndarray)}
    arrays = arrays or dict(named_arrays(content, "."))  # modules inside modules, as TorchScript keeps them
    if not arrays:
        raise WeightsError(f"{path}: holds no tensor (keys: {_some([str(key) for key in content]) or 'none'}).")
    return arrays


def _without_prefix(tensors: dict[str, Tensor], expected: Mapping[str, torch.Tensor]) -> dict[str, Tensor]:
    """The tensors under the network's own names when a known prefix stands in front of all that fit."""
    if sum(key in expected for key in tensors) * 2 >= len(expected):
        return tensors
    for prefix in _PREFIXES:
        shorter = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        if sum(key in expected for key in shorter) * 2 >= len(expected):
            return shorter
    return tensors


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) or "a single number"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
