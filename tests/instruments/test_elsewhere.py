"""Without torch: ONNX files, and the choice of a device."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.instruments.architectures import build_network
from evenhand.instruments.device import choose_device
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.onnx import Preparation, onnx_reader


def field(number: int, value: bytes | int) -> bytes:
    """A field of a protocol buffer."""

    def whole(number: int) -> bytes:
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    if isinstance(value, int):
        return whole(number << 3) + whole(value)
    return whole(number << 3 | 2) + whole(len(value)) + value


def mean_model(path: Path, batch: int | None = None) -> Path:
    """An ONNX file that averages each channel."""

    def port(name: bytes, *sides: int | bytes) -> bytes:
        shape = b"".join(field(1, field(1, side) if isinstance(side, int) else field(2, side)) for side in sides)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    node = field(1, b"x") + field(2, b"y") + field(4, b"GlobalAveragePool")
    first: int | bytes = batch or b"n"
    graph = field(1, node) + field(2, b"means")
    graph += field(11, port(b"x", first, 3, 8, 8)) + field(12, port(b"y", first, 3, 1, 1))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))
    return path


def coloured(folder: Path, *colours: tuple[int, int, int]) -> list[Path]:
    paths = []
    for number, colour in enumerate(colours):
        paths.append(folder / f"{number}.png")
        Image.new("RGB", (20, 12), colour).save(paths[-1])
    return paths


@pytest.mark.parametrize("batch", [None, 1])
def test_any_onnx_file_is_a_reader(tmp_path: Path, batch: int | None) -> None:
    paths = coloured(tmp_path, (255, 0, 51), (0, 102, 0), (1, 2, 3))
    reader = onnx_reader(mean_model(tmp_path / "m.onnx", batch), Preparation((8, 8)), cache=tmp_path / "cache")
    expected = np.array([(255, 0, 51), (0, 102, 0), (1, 2, 3)]) / 255
    assert np.allclose(reader.read(paths), expected, atol=1e-6)
    assert np.allclose(reader.read(paths), expected, atol=1e-6)
    assert reader.fingerprint.startswith("onnx:m.onnx@")


def test_a_preparation_orders_shifts_and_scales(tmp_path: Path) -> None:
    paths = coloured(tmp_path, (10, 20, 30))
    preparation = Preparation((8, 8), blue_first=True, shift=(30, 10, 0), scale=(1, 2, 3))
    assert onnx_reader(mean_model(tmp_path / "m.onnx"), preparation).read(paths).tolist() == [[0, 20, 30]]
    other = onnx_reader(mean_model(tmp_path / "m.onnx"), Preparation((8, 8)))
    assert other.fingerprint != onnx_reader(mean_model(tmp_path / "m.onnx"), preparation).fingerprint


def test_what_is_no_onnx_file_or_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "no.onnx").write_bytes(b"nothing")
    with pytest.raises(WeightsError, match=r"no\.onnx: is no ONNX model"):
        onnx_reader(tmp_path / "no.onnx", Preparation((8, 8)))
    model = mean_model(tmp_path / "m.onnx")
    with pytest.raises(OptionError, match=r"has no output 'z'\. Its outputs: y"):
        onnx_reader(model, Preparation((8, 8)), output="z")
    with pytest.raises(WeightsError, match="refused the prepared pictures"):
        onnx_reader(model, Preparation((9, 8))).read(coloured(tmp_path, (1, 2, 3)))
    with pytest.raises(OptionError, match="Use --device cpu"):
        onnx_reader(model, Preparation((8, 8)), device="cuda:0")


def test_a_device_that_is_asked_for_and_absent_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert choose_device("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda") == "cuda:0"
    assert choose_device("cuda:1") == "cuda:1"
    with pytest.raises(OptionError) as caught:
        choose_device("cuda:2")
    assert str(caught.value) == "Device cuda:2 was asked for, but torch sees 2 CUDA devices here. Use --device cpu."
    for name in ("gpu", "cuda:x", "cpu:1", ""):
        with pytest.raises(OptionError, match="Use cpu, cuda or cuda:N"):
            choose_device(name)


def test_a_package_that_is_not_installed_is_one_line_of_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"MTCNN needs torch: pip install 'evenhand\[torch\]'"):
        build_network("mtcnn")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"needs onnxruntime: pip install 'evenhand\[models\]'"):
        onnx_reader(mean_model(tmp_path / "m.onnx"), Preparation((8, 8)))
