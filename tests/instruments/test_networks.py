"""Each network's forward pass against plain NumPy layers that walk the published names of its weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

from evenhand.instruments.architectures import bare_network
from evenhand.instruments.checkpoints import load_into, shapes_of
from evenhand.instruments.networks.dists import Dists
from evenhand.instruments.networks.inception_v3 import Form, InceptionV3
from evenhand.instruments.networks.iresnet import Ir, IResNet
from evenhand.instruments.networks.lpips import Lpips
from evenhand.instruments.networks.mtcnn import Mtcnn
from evenhand.instruments.networks.pcb import unit_parts
from evenhand.instruments.networks.yolov3 import ANCHORS, plan

Array = np.ndarray[Any, np.dtype[np.float64]]
Pair = tuple[int, int]


class Layers:
    """Plain layers in double precision over a dictionary of weights."""

    def __init__(self, state: Mapping[str, torch.Tensor]) -> None:
        self.state = {key: value.numpy().astype(np.float64) for key, value in state.items()}

    def conv(self, name: str, x: Array, stride: int = 1, pad: int | Pair = 0, groups: int = 1) -> Array:
        kernel, bias = self.state[f"{name}.weight"], self.state.get(f"{name}.bias")
        rows, columns = (pad, pad) if isinstance(pad, int) else pad
        x = np.pad(x, ((0, 0), (0, 0), (rows, rows), (columns, columns)))
        windows = sliding_window_view(x, kernel.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
        if groups == 1:
            y = np.einsum("nchwij,ocij->nohw", windows, kernel, optimize=True)
        else:
            y = np.einsum("nchwij,cij->nchw", windows, kernel[:, 0], optimize=True)
        return y if bias is None else y + bias[:, None, None]

    def norm(self, name: str, x: Array, eps: float) -> Array:
        mean, variance = self.state[f"{name}.running_mean"], self.state[f"{name}.running_var"]
        weight, bias = self.state.get(f"{name}.weight", np.ones_like(mean)), self.state.get(f"{name}.bias", 0 * mean)
        shape = (-1,) + (1,) * (x.ndim - 2)
        scale = weight / np.sqrt(variance + eps)
        return x * scale.reshape(shape) + (bias - mean * scale).reshape(shape)

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.state[f"{name}.weight"].T + self.state.get(f"{name}.bias", 0.0)

    def prelu(self, name: str, x: Array) -> Array:
        slope = self.state[f"{name}.weight"].reshape((-1,) + (1,) * (x.ndim - 2))
        return np.where(x > 0, x, x * slope)

    def conv_norm(self, name: str, x: Array, stride: int = 1, pad: int | Pair = 0, eps: float = 1e-3) -> Array:
        return relu(self.norm(f"{name}.bn", self.conv(f"{name}.conv", x, stride, pad), eps))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def largest(x: Array, size: int, stride: int, pad: int = 0, *, ceil: bool = False) -> Array:
    extra = [(-(side + 2 * pad - size)) % stride if ceil else 0 for side in x.shape[2:]]
    edges = ((0, 0), (0, 0), (pad, pad + extra[0]), (pad, pad + extra[1]))
    x = np.pad(x, edges, constant_values=-np.inf)
    return sliding_window_view(x, (size, size), axis=(2, 3))[:, :, ::stride, ::stride].max(axis=(4, 5))


def mean_3(x: Array, *, count_padding: bool) -> Array:
    def total(values: Array) -> Array:
        return sliding_window_view(np.pad(values, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3)).sum(
            axis=(4, 5)
        )

    return total(x) / (9 if count_padding else total(np.ones_like(x)))


def together(*parts: Array) -> Array:
    return np.concatenate(parts, axis=1)


def picture(height: int, width: int, seed: int = 0, count: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, (count, 3, height, width))


def run(network: torch.nn.Module, x: Array) -> Any:
    with torch.inference_mode():
        return network(torch.from_numpy(x.astype(np.float32)))


def assert_near(got: Any, expected: Array, tolerance: float = 2e-5) -> None:
    values = got.numpy()
    assert values.shape == expected.shape
    assert np.abs(values - expected).max() <= tolerance * np.abs(expected).max()


def lpips_by_hand(layers: Layers, first: Array, second: Array, plan_: list[Callable[[Array], Array]]) -> Array:
    shift, scale = (np.array(part).reshape(1, 3, 1, 1) for part in ((-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)))
    first, second = (first - shift) / scale, (second - shift) / scale
    total = np.zeros(len(first))
    for index, step in enumerate(plan_):
        first, second = step(first), step(second)
        units = [part / (np.sqrt((part**2).sum(axis=1, keepdims=True)) + 1e-10) for part in (first, second)]
        head = layers.state[f"heads.lin{index}.model.1.weight"]
        total += np.einsum("nchw,c->nhw", (units[0] - units[1]) ** 2, head[0, :, 0, 0]).mean(axis=(1, 2))
    return total


def seeded(build: Callable[[], torch.nn.Module], gain: float = 1.5) -> torch.nn.Module:
    """A network with weights from a fixed seed, of a size at which signals neither vanish nor explode."""
    with torch.device("meta"):
        network = build()
    network = network.to_empty(device="cpu")
    source = torch.Generator().manual_seed(0)
    tensors = {}
    for key, shape in shapes_of(network).items():
        if key.endswith("running_var"):
            tensors[key] = 0.5 + torch.rand(shape, generator=source)
        elif len(shape) >= 2:
            tensors[key] = torch.randn(shape, generator=source) * (gain / math.prod(shape[1:])) ** 0.5
        else:
            centre = 1.0 if key.endswith(".weight") else 0.0
            tensors[key] = centre + 0.1 * torch.randn(shape, generator=source)
    load_into(network, tensors, "the network")
    return network


def test_lpips_on_alexnet_equals_plain_layers() -> None:
    network = seeded(lambda: Lpips("alex"))
    layers = Layers(network.state_dict())
    name = "backbone.features"
    steps: list[Callable[[Array], Array]] = [
        lambda x: relu(layers.conv(f"{name}.0", x, 4, 2)),
        lambda x: relu(layers.conv(f"{name}.3", largest(x, 3, 2), 1, 2)),
        lambda x: relu(layers.conv(f"{name}.6", largest(x, 3, 2), 1, 1)),
        lambda x: relu(layers.conv(f"{name}.8", x, 1, 1)),
        lambda x: relu(layers.conv(f"{name}.10", x, 1, 1)),
    ]
    first, second = picture(65, 80, 1, 2), picture(65, 80, 2, 2)
    with torch.inference_mode():
        got = network(*(torch.from_numpy(x.astype(np.float32)) for x in (first, second)))
    assert_near(got, lpips_by_hand(layers, first, second, steps))


def test_lpips_on_vgg16_equals_plain_layers() -> None:
    network = seeded(lambda: Lpips("vgg"))
    layers = Layers(network.state_dict())

    def stage(numbers: tuple[int, ...], *, halve: bool) -> Callable[[Array], Array]:
        def step(x: Array) -> Array:
            x = largest(x, 2, 2) if halve else x
            for number in numbers:
                x = relu(layers.conv(f"backbone.features.{number}", x, 1, 1))
            return x

        return step

    stages = ((0, 2), (5, 7), (10, 12, 14), (17, 19, 21), (24, 26, 28))
    steps = [stage(numbers, halve=index > 0) for index, numbers in enumerate(stages)]
    first, second = picture(33, 32, 1), picture(33, 32, 2)
    with torch.inference_mode():
        got = network(*(torch.from_numpy(x.astype(np.float32)) for x in (first, second)))
    assert_near(got, lpips_by_hand(layers, first, second, steps))


def test_dists_equals_plain_layers() -> None:
    network = seeded(Dists)
    with torch.no_grad():  # shares are positive, as the authors' are
        for share in (network.shares.alpha, network.shares.beta):  # type: ignore[union-attr]  # it is a Dists
            share.abs_()  # type: ignore[union-attr,operator]
    layers = Layers(network.state_dict())
    hann = np.array([0.5, 1.0, 0.5])
    window = np.outer(hann, hann) / np.outer(hann, hann).sum()

    def halved(x: Array) -> Array:
        padded = np.pad(x**2, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
        return np.sqrt((windows * window).sum(axis=(4, 5)) + 1e-12)

    def depths(x: Array) -> list[Array]:
        found = [x]
        mean, deviation = (
            np.array(part).reshape(1, 3, 1, 1) for part in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
        )
        x = (x - mean) / deviation
        for number, stage in enumerate(((0, 2), (5, 7), (10, 12, 14), (17, 19, 21), (24, 26, 28))):
            x = halved(x) if number else x
            for layer in stage:
                x = relu(layers.conv(f"backbone.features.{layer}", x, 1, 1))
            found.append(x)
        return found

    first, second = ((picture(33, 40, seed, 2) + 1) / 2 for seed in (1, 2))
    texture, structure = [], []
    for a, b in zip(depths(first), depths(second), strict=True):
        both = [[one.reshape(-1) for one in side.reshape(-1, *side.shape[2:])] for side in (a, b)]
        for x, y in zip(*both, strict=True):
            texture.append((2 * x.mean() * y.mean() + 1e-6) / (x.mean() ** 2 + y.mean() ** 2 + 1e-6))
            covariance = np.cov(x, y, bias=True)
            structure.append((2 * covariance[0, 1] + 1e-6) / (np.trace(covariance) + 1e-6))
    widths = np.cumsum([0, 3, 64, 128, 256, 512, 512])
    alpha, beta = (layers.state[f"shares.{name}"].reshape(-1) for name in ("alpha", "beta"))
    expected = np.ones(2)
    place = 0
    for low, high in pairwise(widths.tolist()):
        for one in range(2):
            part = slice(place, place + high - low)
            expected[one] -= (alpha[low:high] * texture[part] + beta[low:high] * structure[part]).sum() / (
                alpha.sum() + beta.sum()
            )
            place += high - low
    with torch.inference_mode():
        tensors = [torch.from_numpy(x.astype(np.float32)) for x in (first, second)]
        got, same = network(*tensors), network(tensors[0], tensors[0])
    assert_near(got, expected)
    assert np.abs(same.numpy()).max() < 1e-6


def inception_by_hand(layers: Layers, x: Array, form: Form) -> Array:
    c = layers.conv_norm

    def pool(y: Array) -> Array:
        return mean_3(y, count_padding=form is Form.IMAGENET)

    def branch(name: str, y: Array, *steps: tuple[str, int, int | Pair]) -> Array:
        for suffix, stride, pad in steps:
            y = c(f"{name}{suffix}", y, stride, pad)
        return y

    x = c("Conv2d_2b_3x3", c("Conv2d_2a_3x3", c("Conv2d_1a_3x3", x, 2)), 1, 1)
    x = c("Conv2d_4a_3x3", c("Conv2d_3b_1x1", largest(x, 3, 2)))
    x = largest(x, 3, 2)
    for name in ("Mixed_5b", "Mixed_5c", "Mixed_5d"):
        x = together(
            c(f"{name}.branch1x1", x),
            branch(f"{name}.branch5x5_", x, ("1", 1, 0), ("2", 1, 2)),
            branch(f"{name}.branch3x3dbl_", x, ("1", 1, 0), ("2", 1, 1), ("3", 1, 1)),
            c(f"{name}.branch_pool", pool(x)),
        )
    x = together(
        c("Mixed_6a.branch3x3", x, 2),
        branch("Mixed_6a.branch3x3dbl_", x, ("1", 1, 0), ("2", 1, 1), ("3", 2, 0)),
        largest(x, 3, 2),
    )
    row, column = (0, 3), (3, 0)
    for name in ("Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"):
        double = (("1", 1, 0), ("2", 1, column), ("3", 1, row), ("4", 1, column), ("5", 1, row))
        x = together(
            c(f"{name}.branch1x1", x),
            branch(f"{name}.branch7x7_", x, ("1", 1, 0), ("2", 1, row), ("3", 1, column)),
            branch(f"{name}.branch7x7dbl_", x, *double),
            c(f"{name}.branch_pool", pool(x)),
        )
    x = together(
        branch("Mixed_7a.branch3x3_", x, ("1", 1, 0), ("2", 2, 0)),
        branch("Mixed_7a.branch7x7x3_", x, ("1", 1, 0), ("2", 1, row), ("3", 1, column), ("4", 2, 0)),
        largest(x, 3, 2),
    )
    for name in ("Mixed_7b", "Mixed_7c"):
        last = largest(x, 3, 1, 1) if name == "Mixed_7c" and form is Form.FID_2015 else pool(x)
        three = c(f"{name}.branch3x3_1", x)
        double_ = branch(f"{name}.branch3x3dbl_", x, ("1", 1, 0), ("2", 1, 1))
        x = together(
            c(f"{name}.branch1x1", x),
            *(c(f"{name}.branch3x3_2{side}", three, 1, pad) for side, pad in (("a", (0, 1)), ("b", (1, 0)))),
            *(c(f"{name}.branch3x3dbl_3{side}", double_, 1, pad) for side, pad in (("a", (0, 1)), ("b", (1, 0)))),
            c(f"{name}.branch_pool", last),
        )
    return x.mean(axis=(2, 3))


@pytest.mark.parametrize("form", list(Form))
def test_inception_v3_equals_plain_layers_in_both_forms(form: Form) -> None:
    network = seeded(lambda: InceptionV3(form), 2.0)
    x = picture(79, 91)
    assert_near(run(network, x), inception_by_hand(Layers(network.state_dict()), x, form))


def test_inception_resnet_v1_equals_plain_layers() -> None:
    network = seeded(partial(bare_network, "vggface2"), 2.0)
    layers = Layers(network.state_dict())
    c = layers.conv_norm

    def chain(name: str, y: Array, *steps: tuple[int, int | Pair]) -> Array:
        for number, (stride, pad) in enumerate(steps):
            y = c(f"{name}.{number}", y, stride, pad)
        return y

    def residual(name: str, y: Array, scale: float, branches: list[Array], *, last: bool = False) -> Array:
        y = layers.conv(f"{name}.conv2d", together(*branches)) * scale + y
        return y if last else relu(y)

    x = picture(79, 87)
    y = c("conv2d_2b", c("conv2d_2a", c("conv2d_1a", x, 2)), 1, 1)
    y = c("conv2d_4b", c("conv2d_4a", c("conv2d_3b", largest(y, 3, 2))), 2)
    for i in range(5):
        name = f"repeat_1.{i}"
        two, three = chain(f"{name}.branch1", y, (1, 0), (1, 1)), chain(f"{name}.branch2", y, (1, 0), (1, 1), (1, 1))
        y = residual(name, y, 0.17, [c(f"{name}.branch0", y), two, three])
    y = together(c("mixed_6a.branch0", y, 2), chain("mixed_6a.branch1", y, (1, 0), (1, 1), (2, 0)), largest(y, 3, 2))
    for i in range(10):
        name = f"repeat_2.{i}"
        branches = [c(f"{name}.branch0", y), chain(f"{name}.branch1", y, (1, 0), (1, (0, 3)), (1, (3, 0)))]
        y = residual(name, y, 0.10, branches)
    y = together(
        chain("mixed_7a.branch0", y, (1, 0), (2, 0)),
        chain("mixed_7a.branch1", y, (1, 0), (2, 0)),
        chain("mixed_7a.branch2", y, (1, 0), (1, 1), (2, 0)),
        largest(y, 3, 2),
    )
    for name, scale in [*((f"repeat_3.{i}", 0.20) for i in range(5)), ("block8", 1.0)]:
        branches = [c(f"{name}.branch0", y), chain(f"{name}.branch1", y, (1, 0), (1, (0, 1)), (1, (1, 0)))]
        y = residual(name, y, scale, branches, last=name == "block8")
    y = layers.norm("last_bn", layers.linear("last_linear", y.mean(axis=(2, 3))), 1e-3)
    assert_near(run(network, x), y)


def softmax_second(x: Array) -> Array:
    return 1 / (1 + np.exp(x[:, 0] - x[:, 1]))


def flat_by_columns(x: Array) -> Array:
    return x.transpose(0, 3, 2, 1).reshape(len(x), -1)


def test_the_three_networks_of_mtcnn_equal_plain_layers() -> None:
    network = seeded(Mtcnn)
    assert isinstance(network, Mtcnn)

    def stage(name: str, count: int, pools: tuple[int, ...]) -> Callable[[Layers, Array], Array]:
        def forward(layers: Layers, x: Array) -> Array:
            for number in range(1, count + 1):
                x = layers.prelu(f"{name}.prelu{number}", layers.conv(f"{name}.conv{number}", x))
                if number <= len(pools):
                    x = largest(x, pools[number - 1], 2, ceil=True)
            return x

        return forward

    layers = Layers(network.state_dict())
    x = picture(31, 24)
    y = stage("pnet", 3, (2,))(layers, x)
    shifts, scores = run(network.pnet, x)
    assert_near(shifts, layers.conv("pnet.conv4_2", y))
    assert_near(scores, softmax_second(layers.conv("pnet.conv4_1", y)))

    x = picture(24, 24, count=3)
    y = flat_by_columns(stage("rnet", 3, (3, 3))(layers, x))
    y = layers.prelu("rnet.prelu4", layers.linear("rnet.dense4", y))
    shifts, scores = run(network.rnet, x)
    assert_near(shifts, layers.linear("rnet.dense5_2", y))
    assert_near(scores, softmax_second(layers.linear("rnet.dense5_1", y)))

    x = picture(48, 48, count=3)
    y = flat_by_columns(stage("onet", 4, (3, 3, 2))(layers, x))
    y = layers.prelu("onet.prelu5", layers.linear("onet.dense5", y))
    shifts, marks, scores = run(network.onet, x)
    assert_near(shifts, layers.linear("onet.dense6_2", y))
    assert_near(marks, layers.linear("onet.dense6_3", y))
    assert_near(scores, softmax_second(layers.linear("onet.dense6_1", y)))


def test_yolov3_spp_equals_plain_layers() -> None:
    network = seeded(partial(bare_network, "yolov3-spp"), 0.5)
    layers = Layers(network.state_dict())
    outputs: list[Array] = []
    rows: list[Array] = []
    picture_ = np.abs(picture(32, 32))
    x = picture_
    for i, layer in enumerate(plan()):
        kind = type(layer).__name__
        if kind == "Convolution":
            stride, pad = layer.stride, (layer.kernel - 1) // 2  # type: ignore[union-attr]
            x = layers.conv(f"module_list.{i}.conv_{i}", x, stride, pad)
            if f"module_list.{i}.batch_norm_{i}.weight" in layers.state:
                x = layers.norm(f"module_list.{i}.batch_norm_{i}", x, 1e-5)
                x = np.where(x > 0, x, 0.1 * x)
        elif kind == "Add":
            x = outputs[-1] + outputs[-3]
        elif kind == "Join":
            x = together(*(outputs[number] for number in layer.layers))  # type: ignore[union-attr]
        elif kind == "MaxPool2d":
            x = largest(x, layer.kernel_size, 1, layer.kernel_size // 2)  # type: ignore[union-attr, arg-type, operator]
        elif kind == "Upsample":
            x = x.repeat(2, axis=2).repeat(2, axis=3)
        else:
            side = x.shape[2]
            for place, anchor in enumerate(layer.anchors):  # type: ignore[union-attr]
                raw = x[0, place * 85 : (place + 1) * 85]
                squashed = 1 / (1 + np.exp(-raw))
                cells = np.stack(np.meshgrid(np.arange(side), np.arange(side)))
                centre = (squashed[:2] + cells) * (32 / side)
                size = np.exp(raw[2:4]) * np.array(ANCHORS[anchor]).reshape(2, 1, 1)
                rows.append(np.concatenate([centre, size, squashed[4:]]).reshape(85, -1).T)
        outputs.append(x)
    assert len(outputs) == 114
    assert_near(run(network, picture_), np.concatenate(rows)[None])


def test_osnet_equals_plain_layers() -> None:
    network = seeded(partial(bare_network, "osnet-ibn"), 1.5)
    layers = Layers(network.state_dict())

    def instance_norm(name: str, x: Array) -> Array:
        x = (x - x.mean(axis=(2, 3), keepdims=True)) / np.sqrt(x.var(axis=(2, 3), keepdims=True) + 1e-5)
        return x * layers.state[f"{name}.weight"][:, None, None] + layers.state[f"{name}.bias"][:, None, None]

    def c(name: str, x: Array) -> Array:
        return layers.conv_norm(name, x, eps=1e-5)

    def light(name: str, x: Array) -> Array:
        y = layers.conv(f"{name}.conv2", layers.conv(f"{name}.conv1", x), 1, 1, groups=2)
        return relu(layers.norm(f"{name}.bn", y, 1e-5))

    def gate(name: str, x: Array) -> Array:
        y = relu(layers.conv(f"{name}.fc1", x.mean(axis=(2, 3), keepdims=True)))
        return x / (1 + np.exp(-layers.conv(f"{name}.fc2", y)))

    def block(name: str, x: Array) -> Array:
        y = c(f"{name}.conv1", x)
        total = gate(f"{name}.gate", light(f"{name}.conv2a", y))
        for letter, depth in (("b", 2), ("c", 3), ("d", 4)):
            z = y
            for i in range(depth):
                z = light(f"{name}.conv2{letter}.{i}", z)
            total = total + gate(f"{name}.gate", z)
        out = layers.norm(f"{name}.conv3.bn", layers.conv(f"{name}.conv3.conv", total), 1e-5)
        down = f"{name}.downsample"
        if f"{down}.conv.weight" in layers.state:
            x = layers.norm(f"{down}.bn", layers.conv(f"{down}.conv", x), 1e-5)
        out = out + x
        return relu(instance_norm(f"{name}.IN", out) if f"{name}.IN.weight" in layers.state else out)

    x = picture(64, 32)
    y = largest(relu(instance_norm("conv1.bn", layers.conv("conv1.conv", x, 2, 3))), 3, 2, 1)
    for name in ("conv2", "conv3", "conv4"):
        y = block(f"{name}.1", block(f"{name}.0", y))
        if name != "conv4":
            y = c(f"{name}.2.0", y)
            y = y.reshape(*y.shape[:2], y.shape[2] // 2, 2, y.shape[3] // 2, 2).mean(axis=(3, 5))
    y = c("conv5", y).mean(axis=(2, 3))
    y = relu(layers.norm("fc.1", layers.linear("fc.0", y), 1e-5))
    assert_near(run(network, x), y)


def test_pcb_equals_plain_layers() -> None:
    network = seeded(partial(bare_network, "pcb"), 1.0)
    layers = Layers(network.state_dict())
    x = picture(96, 32)
    y = largest(relu(layers.norm("model.bn1", layers.conv("model.conv1", x, 2, 3), 1e-5)), 3, 2, 1)
    for stage, blocks, stride in ((1, 3, 1), (2, 4, 2), (3, 6, 2), (4, 3, 1)):
        for number in range(blocks):
            name, step = f"model.layer{stage}.{number}", stride if number == 0 else 1
            z = relu(layers.norm(f"{name}.bn1", layers.conv(f"{name}.conv1", y), 1e-5))
            z = relu(layers.norm(f"{name}.bn2", layers.conv(f"{name}.conv2", z, step, 1), 1e-5))
            z = layers.norm(f"{name}.bn3", layers.conv(f"{name}.conv3", z), 1e-5)
            if number == 0:
                y = layers.norm(f"{name}.downsample.1", layers.conv(f"{name}.downsample.0", y, step), 1e-5)
            y = relu(z + y)
    parts = y.reshape(1, 2048, 6, -1).mean(axis=3)
    parts = parts / (np.linalg.norm(parts, axis=1, keepdims=True) * np.sqrt(6))
    assert_near(run(network, x), parts.reshape(1, -1))


def test_a_part_of_zeros_has_no_length_to_be_divided_by() -> None:
    parts = torch.ones(1, 4, 6)
    parts[0, :, 2] = 0
    flat = unit_parts(parts)
    assert torch.isnan(flat.reshape(4, 6)[:, 2]).all()
    assert not torch.isnan(flat.reshape(4, 6)[:, [0, 1, 3, 4, 5]]).any()


def test_magface_equals_plain_layers() -> None:
    network = seeded(lambda: IResNet((2, 1, 1, 1)), 1.0)
    layers = Layers(network.state_dict())
    x = picture(112, 112)
    y = layers.prelu("prelu", layers.norm("bn1", layers.conv("conv1", x, 1, 1), 2e-5))
    for stage, blocks in enumerate((2, 1, 1, 1), start=1):
        for number in range(blocks):
            name = f"layer{stage}.{number}"
            z = layers.conv(f"{name}.conv1", layers.norm(f"{name}.bn1", y, 2e-5), 1, 1)
            z = layers.prelu(f"{name}.prelu", layers.norm(f"{name}.bn2", z, 2e-5))
            z = layers.norm(f"{name}.bn3", layers.conv(f"{name}.conv2", z, 2 if number == 0 else 1, 1), 2e-5)
            if number == 0:
                y = layers.norm(f"{name}.downsample.1", layers.conv(f"{name}.downsample.0", y, 2), 2e-5)
            y = z + y
    y = layers.linear("fc", layers.norm("bn2", y, 2e-5).reshape(1, -1))
    assert_near(run(network, x), layers.norm("features", y, 2e-5))


def test_curricularface_equals_plain_layers() -> None:
    network = seeded(lambda: Ir((2, 1, 1, 1)), 1.0)
    layers = Layers(network.state_dict())
    x = picture(112, 112)
    y = layers.prelu("input_layer.2", layers.norm("input_layer.1", layers.conv("input_layer.0", x, 1, 1), 1e-5))
    number = 0
    for blocks in (2, 1, 1, 1):
        for place in range(blocks):
            name, stride = f"body.{number}", 2 if place == 0 else 1
            z = layers.conv(f"{name}.res_layer.1", layers.norm(f"{name}.res_layer.0", y, 1e-5), 1, 1)
            z = layers.conv(f"{name}.res_layer.3", layers.prelu(f"{name}.res_layer.2", z), stride, 1)
            z = layers.norm(f"{name}.res_layer.4", z, 1e-5)
            around = f"{name}.shortcut_layer"
            if f"{around}.0.weight" in layers.state:
                y = layers.norm(f"{around}.1", layers.conv(f"{around}.0", y, stride), 1e-5)
            else:
                y = y[:, :, ::stride, ::stride]
            y, number = z + y, number + 1
    y = layers.linear("output_layer.3", layers.norm("output_layer.0", y, 1e-5).reshape(1, -1))
    assert_near(run(network, x), layers.norm("output_layer.4", y, 1e-5))
