"""Checkpoints: only tensors are read, names and shapes are checked, foreign files are refused by name."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filled import filled_tensors

from evenhand.core.errors import UnknownNameError
from evenhand.instruments.architectures import ARCHITECTURES, bare_network, build_network
from evenhand.instruments.checkpoints import load_into, read_darknet, read_tensors, shapes_of
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.networks.mtcnn import proposal_net, refinement_net
from evenhand.instruments.networks.yolov3 import YoloV3Spp
from evenhand.instruments.weight_files import WEIGHTS

PUBLISHED = {  # names, shapes and counts of the authors' files
    "lpips-alex": ("backbone.features.10.weight", (256, 256, 3, 3), 15),
    "lpips-vgg": ("backbone.features.28.weight", (512, 512, 3, 3), 31),
    "dists": ("shares.alpha", (1, 1475, 1, 1), 28),
    "inception-imagenet": ("Mixed_7c.branch3x3dbl_3b.conv.weight", (384, 384, 3, 1), 566),
    "inception-fid": ("fc.weight", (1008, 2048), 566),
    "vggface2": ("repeat_2.9.branch1.2.conv.weight", (128, 128, 7, 1), 714),
    "mtcnn": ("onet.dense6_3.weight", (10, 256), 50),
    "yolov3-spp": ("module_list.112.conv_112.weight", (255, 256, 1, 1), 444),
    "osnet-ibn": ("conv2.0.conv2d.3.conv2.weight", (64, 1, 3, 3), 566),
    "pcb": ("model.layer4.0.downsample.0.weight", (2048, 1024, 1, 1), 318),
    "clip-b32": ("transformer.resblocks.11.attn.in_proj_weight", (2304, 768), 152),
    "clip-l14": ("positional_embedding", (577, 1024), 296),
    "dino": ("blocks.11.attn.qkv.weight", (1152, 384), 150),
    "i3d": ("Mixed_5c.b1b.conv3d.weight", (384, 192, 3, 3, 3), 344),
    "arcface": ("layer3.29.conv2.weight", (256, 256, 3, 3), 925),
    "magface": ("layer3.29.conv2.weight", (256, 256, 3, 3), 925),
    "magface-18": ("layer3.1.conv2.weight", (256, 256, 3, 3), 187),
    "magface-34": ("layer3.5.conv2.weight", (256, 256, 3, 3), 331),
    "magface-50": ("layer3.13.conv2.weight", (256, 256, 3, 3), 475),
    "curricularface": ("body.48.res_layer.4.running_var", (512,), 672),
}


@pytest.mark.parametrize("name", list(ARCHITECTURES))
def test_networks_have_the_published_names_and_shapes(name: str) -> None:
    key, shape, count = PUBLISHED[name]
    with torch.device("meta"):
        shapes = shapes_of(bare_network(name))
    assert shapes[key] == shape
    assert len(shapes) == count


def saved(path: Path, content: Any) -> Path:
    torch.save(content, path)
    return path


def proposal() -> dict[str, torch.Tensor]:
    return filled_tensors(shapes_of(proposal_net()), 1.0)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda state: state,
        lambda state: {"epoch": 3, "state_dict": state},
        lambda state: {"state_dict": {f"module.{key}": value for key, value in state.items()}},
        lambda state: {f"features.module.{key}": value for key, value in state.items()} | {"fc.weight": torch.ones(2)},
        lambda state: {f"module.features.{key}": value for key, value in state.items()},
    ],
)
def test_state_dictionaries_are_found_inside_what_training_saved_around_them(tmp_path: Path, wrapped: Any) -> None:
    path = saved(tmp_path / "net.pth", wrapped(proposal()))
    network = proposal_net()
    load_into(network, read_tensors(path), "the proposal network")
    assert torch.equal(network.conv1.weight, proposal()["conv1.weight"])
    assert not network.training


def test_safetensors_are_read(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file(proposal(), tmp_path / "net.safetensors")
    load_into(proposal_net(), read_tensors(tmp_path / "net.safetensors"), "the proposal network")


def test_a_foreign_checkpoint_is_refused_with_names_and_shapes(tmp_path: Path) -> None:
    path = saved(tmp_path / "foreign.pth", filled_tensors(shapes_of(refinement_net()), 1.0))
    with pytest.raises(WeightsError) as caught:
        load_into(proposal_net(), read_tensors(path), "the proposal network", source=str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: does not belong to the proposal network.")
    assert "missing (conv4_1.weight, conv4_1.bias" in message
    assert "unknown (dense4.weight" in message
    assert "conv1.weight is 28 × 3 × 3 × 3, expected 10 × 3 × 3 × 3" in message


def test_a_missing_counter_of_batch_norm_is_no_fault_but_a_missing_weight_is() -> None:
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(4))
    state = filled_tensors(shapes_of(network), 1.0)
    del state["0.num_batches_tracked"]
    load_into(network, state, "a norm")
    del state["0.running_mean"]
    with pytest.raises(WeightsError, match=r"1 missing \(0.running_mean\)"):
        load_into(network, state, "a norm")


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (Path.touch, (Path("exploded"),))  # type: ignore[return-value]


def test_a_checkpoint_that_would_run_code_is_refused_and_runs_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for name, write in (
        ("new.pth", torch.save),
        ("old.pth", lambda content, path: path.write_bytes(pickle.dumps(content))),
    ):
        path = tmp_path / name
        write({"weight": Bomb()}, path)
        with pytest.raises(WeightsError, match=name):
            read_tensors(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 cut off"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.pth"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"broken\.pth"):
        read_tensors(path)


def test_a_checkpoint_without_tensors_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"holds no tensor \(keys: epoch\)"):
        read_tensors(saved(tmp_path / "empty.pth", {"epoch": 1}))
    with pytest.raises(WeightsError, match="not a dictionary of tensors"):
        read_tensors(saved(tmp_path / "list.pth", [torch.ones(1)]))
    with pytest.raises(WeightsError, match="there is no such file"):
        read_tensors(tmp_path / "absent.pth")


def test_a_network_is_built_from_paths_that_the_user_names(tmp_path: Path) -> None:
    parts = ("pnet", "rnet", "onet")
    mtcnn = bare_network("mtcnn")
    paths = {
        f"mtcnn-{part}": saved(tmp_path / f"{part}.pth", filled_tensors(shapes_of(mtcnn.get_submodule(part)), 1.0))
        for part in parts
    }
    ready = build_network("mtcnn", paths=paths)
    assert ready.fingerprint.count("@") == 3
    with pytest.raises(WeightsError, match=r"rnet\.pth: does not belong to MTCNN \(mtcnn-pnet\)"):
        build_network("mtcnn", paths=paths | {"mtcnn-pnet": paths["mtcnn-rnet"]})


def test_an_unknown_network_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="osnet-ibn"):
        build_network("osnet")


def test_yolov3_spp_has_as_many_numbers_as_the_published_darknet_file() -> None:
    with torch.device("meta"):
        shapes = shapes_of(YoloV3Spp())
    numbers = sum(int(np.prod(shape)) for key, shape in shapes.items() if not key.endswith("num_batches_tracked"))
    assert 5 * 4 + numbers * 4 == WEIGHTS["yolov3-spp"].size


def test_a_darknet_file_is_read_in_the_order_of_the_convolutions(tmp_path: Path) -> None:
    normed = torch.nn.Sequential()
    normed.add_module("conv_0", torch.nn.Conv2d(3, 4, 3, bias=False))
    normed.add_module("batch_norm_0", torch.nn.BatchNorm2d(4))
    linear = torch.nn.Sequential()
    linear.add_module("conv_1", torch.nn.Conv2d(4, 2, 1))
    network = torch.nn.Sequential(normed, linear)
    path = tmp_path / "small.weights"
    values = np.arange(4 * 4 + 4 * 27 + 2 + 8, dtype="<f4")
    path.write_bytes(np.zeros(5, "<i4").tobytes() + values.tobytes())
    tensors = read_darknet(path, network)
    assert tensors["0.batch_norm_0.bias"].tolist() == [0, 1, 2, 3]
    assert tensors["0.batch_norm_0.weight"][0] == 4
    assert tensors["0.batch_norm_0.running_mean"][0] == 8
    assert tensors["0.batch_norm_0.running_var"][0] == 12
    assert tensors["0.conv_0.weight"].flatten()[0] == 16
    assert tensors["1.conv_1.bias"].tolist() == [124, 125]
    assert tensors["1.conv_1.weight"].shape == (2, 4, 1, 1)
    load_into(network, tensors, "a small network")
    path.write_bytes(path.read_bytes() + b"\0" * 4)
    with pytest.raises(WeightsError, match="holds 135 numbers, the network has 134"):
        read_darknet(path, network)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(WeightsError, match="holds 132 numbers, the network has 134"):
        read_darknet(path, network)


def test_filled_weights_depend_on_their_name_alone() -> None:
    first = filled_tensors({"a.weight": (3, 2), "b.weight": (4,)}, 2.0)
    second = filled_tensors({"b.weight": (4,), "a.weight": (3, 2)}, 2.0)
    assert torch.equal(first["a.weight"], second["a.weight"])
    assert first["b.weight"].mean() == pytest.approx(1.0, abs=0.2)


HELD = """
from evenhand.core.blas import OneThread
from evenhand.instruments.checkpoints import require_torch
with OneThread().held():
    with OneThread().held():
        require_torch('a test')
        import torch
        inside = torch.get_num_threads()
    between = torch.get_num_threads()
print(inside, between, torch.get_num_threads())
"""
MAPPED = """
from evenhand.engines import parse
from evenhand.instruments.checkpoints import require_torch
def threads(part, place):
    require_torch('a test')
    import torch
    return torch.get_num_threads()
outcomes = [done.value for done in parse('threads:2').map(threads, range(4))]
import torch
print(max(outcomes), torch.get_num_threads())
"""


@pytest.mark.parametrize(("code", "threads"), [(HELD, "1 1 2"), (MAPPED, "1 2")])
def test_torch_that_a_part_imports_runs_on_one_thread_until_the_part_ends(code: str, threads: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == threads
