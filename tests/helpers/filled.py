"""Networks with reproducible weights, for checks of the arithmetic where the published weights can't be distributed.

Each name seeds its own values: its CRC-32 seeds NumPy's legacy generator. Counters are 0; running means 0.1 z; running
variances 0.5 + u; arrays of two or more dimensions z √(gain / inputs); other weights 1 + 0.1 z; everything else 0.1 z.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from evenhand.instruments.architectures import ARCHITECTURES, ReadyNetwork, bare_network, read_weights
from evenhand.instruments.checkpoints import load_into, shapes_of
from evenhand.instruments.weights import locate

if TYPE_CHECKING:
    from torch import Tensor

GAINS = {
    **dict.fromkeys(("alexnet", "lpips-alex-heads", "vgg16", "lpips-vgg-heads", "vggface2"), 2.0),
    **dict.fromkeys(("inception-imagenet", "inception-fid"), 2.0),
    "yolov3-spp": 0.5,
    "osnet-ibn": 1.5,
}
"""By the name of the weights; 1 for all others."""


def fill_network(name: str, *, parts: tuple[str, ...] | None = None) -> ReadyNetwork:
    """The network of that name with reproducible weights in all parts, or in those named; others get published ones."""
    architecture = ARCHITECTURES[name]
    network = bare_network(name)
    prints = []
    for part in architecture.parts:
        target = network.get_submodule(part.module)
        if parts is None or part.weights in parts:
            tensors = filled_tensors(shapes_of(target), GAINS.get(part.weights, 1.0))
            prints.append(f"{part.weights}@filled")
        else:
            located = locate(part.weights)
            tensors = read_weights(located, target)
            prints.append(located.fingerprint)
        load_into(target, tensors, architecture.title, left_out=part.left_out)
    network.eval()
    return ReadyNetwork(network, "+".join(prints), "cpu")


def filled_tensors(shapes: Mapping[str, tuple[int, ...]], gain: float) -> dict[str, Tensor]:
    """Reproducible tensors of these names and shapes."""
    import torch

    return {key: torch.from_numpy(_filled(key, shape, gain)) for key, shape in shapes.items()}


def _filled(key: str, shape: tuple[int, ...], gain: float) -> np.ndarray:
    source = np.random.RandomState(zlib.crc32(key.encode()))  # the legacy generator is the rule
    if key.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int64)
    if key.endswith("running_mean"):
        values = 0.1 * source.standard_normal(shape)
    elif key.endswith("running_var"):
        values = 0.5 + source.random_sample(shape)
    elif len(shape) >= 2:
        values = source.standard_normal(shape) * np.sqrt(gain / np.prod(shape[1:]))
    elif len(shape) == 1 and key.endswith(".weight"):
        values = 1 + 0.1 * source.standard_normal(shape)
    else:
        values = 0.1 * source.standard_normal(shape)
    return np.asarray(values).astype(np.float32)
