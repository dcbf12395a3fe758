"""Networks by name, ready to run: built, given their weights, checked, put on a device.

`build_network("osnet-ibn")` finds the weights (a path the user names, a folder, an installed package), reads only
tensors from them and refuses what does not fit. `fill_network` gives reproducible weights instead, for checks of the
arithmetic where the published ones can't be distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from evenhand.core.errors import UnknownNameError
from evenhand.instruments import carriers, checkpoints
from evenhand.instruments.checkpoints import filled_tensors, load_into, require_torch, shapes_of
from evenhand.instruments.device import choose_device
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.weight_files import WeightKind
from evenhand.instruments.weights import Located, locate

if TYPE_CHECKING:
    from torch import Tensor, nn

WeightPaths = Mapping[str, Path]  # weights' name → the file that the user names for them
NO_PATHS: WeightPaths = MappingProxyType({})


@dataclass(frozen=True)
class NetworkPart:
    """A piece of a network that has a weights file of its own."""

    weights: str
    module: str = ""  # where in the network; empty is the whole
    left_out: tuple[str, ...] = ()  # beginnings of names that are published but never run
    gain: float = 1.0  # of reproducible weights


@dataclass(frozen=True)
class Architecture:
    """How a network is built and which weights its parts take."""

    title: str
    build: Callable[[], nn.Module]
    parts: tuple[NetworkPart, ...]


@dataclass(frozen=True)
class ReadyNetwork:
    """A network with its weights on a device, and the fingerprint of those weights."""

    network: nn.Module
    fingerprint: str
    device: str


def build_network(
    name: str, *, paths: WeightPaths = NO_PATHS, folder: Path | None = None, device: str = "cpu"
) -> ReadyNetwork:
    """The network of that name with its published weights."""
    architecture = _known(name)
    require_torch(architecture.title)
    where = choose_device(device)
    found = [locate(part.weights, given=paths.get(part.weights), folder=folder) for part in architecture.parts]
    network = _empty(architecture)
    for part, located in zip(architecture.parts, found, strict=True):
        target = network.get_submodule(part.module)
        tensors = _tensors(located, target)
        title = f"{architecture.title} ({located.name})"
        load_into(target, tensors, title, left_out=part.left_out, source=str(located.path))
    network.eval()
    return ReadyNetwork(network.to(where), "+".join(located.fingerprint for located in found), where)


def fill_network(name: str, *, parts: tuple[str, ...] | None = None, device: str = "cpu") -> ReadyNetwork:
    """The network of that name with reproducible weights in all parts, or in those named; others get published ones."""
    architecture = _known(name)
    require_torch(architecture.title)
    network = _empty(architecture)
    prints = []
    for part in architecture.parts:
        target = network.get_submodule(part.module)
        if parts is None or part.weights in parts:
            load_into(target, filled_tensors(shapes_of(target), part.gain), architecture.title, source="filled weights")
            prints.append(f"{part.weights}@filled")
        else:
            located = locate(part.weights)
            load_into(
                target, _tensors(located, target), architecture.title, left_out=part.left_out, source=str(located.path)
            )
            prints.append(located.fingerprint)
    network.eval()
    return ReadyNetwork(network.to(choose_device(device)), "+".join(prints), device)


def _known(name: str) -> Architecture:
    if name not in ARCHITECTURES:
        raise UnknownNameError("network", name, ARCHITECTURES)
    return ARCHITECTURES[name]


def _empty(architecture: Architecture) -> nn.Module:
    """The network with uninitialised weights; all of them are about to be loaded."""
    import torch

    with torch.device("meta"):
        network = architecture.build()
    return network.to_empty(device="cpu")


def _tensors(located: Located, target: nn.Module) -> dict[str, Tensor]:
    match located.kind:
        case WeightKind.STATE:
            return checkpoints.read_tensors(located.path)
        case WeightKind.DARKNET:
            return checkpoints.read_darknet(located.path, target)
        case WeightKind.FLAX:
            return carriers.flax_backbone(located.path)
        case WeightKind.FLAX_HEADS:
            return carriers.flax_heads(located.path)
        case WeightKind.FACENET_GRAPH:
            return carriers.facenet_graph(located.path)
        case WeightKind.FID_SCRIPT:
            return carriers.fid_network(located.path)
        case WeightKind.MTCNN_ONNX:
            return carriers.mtcnn_onnx(located.path)
        case WeightKind.ONNX if located.name.startswith("mtcnn-"):
            return carriers.mtcnn_onnx(located.path)
        case kind:
            raise WeightsError(f"{located.path}: a {kind.value} can't be loaded into a network of ours.")


def _lpips_alex() -> nn.Module:
    from evenhand.instruments.networks.lpips import Lpips, alexnet

    return Lpips(alexnet())


def _lpips_vgg() -> nn.Module:
    from evenhand.instruments.networks.lpips import Lpips, vgg16

    return Lpips(vgg16())


def _dists() -> nn.Module:
    from evenhand.instruments.networks.dists import Dists

    return Dists()


def _inception_imagenet() -> nn.Module:
    from evenhand.instruments.networks.inception_v3 import InceptionV3

    return InceptionV3()


def _inception_fid() -> nn.Module:
    from evenhand.instruments.networks.inception_v3 import Form, InceptionV3

    return InceptionV3(Form.FID_2015, classes=1008)


def _inception_resnet() -> nn.Module:
    from evenhand.instruments.networks.inception_resnet_v1 import InceptionResnetV1

    return InceptionResnetV1()


def _mtcnn() -> nn.Module:
    from evenhand.instruments.networks.mtcnn import Mtcnn

    return Mtcnn()


def _yolo() -> nn.Module:
    from evenhand.instruments.networks.yolov3 import YoloV3Spp

    return YoloV3Spp()


def _osnet() -> nn.Module:
    from evenhand.instruments.networks.osnet import OsNet

    return OsNet()


def _pcb() -> nn.Module:
    from evenhand.instruments.networks.pcb import Pcb

    return Pcb()


def _clip_b32() -> nn.Module:
    from evenhand.instruments.networks.vit import ClipVision

    return ClipVision(224, 32, 768, 12, 12, 512)


def _clip_l14() -> nn.Module:
    from evenhand.instruments.networks.vit import ClipVision

    return ClipVision(336, 14, 1024, 24, 16, 768)


def _dino() -> nn.Module:
    from evenhand.instruments.networks.vit import DinoVision

    return DinoVision()


def _i3d() -> nn.Module:
    from evenhand.instruments.networks.i3d import InceptionI3d

    return InceptionI3d()


def _magface(stages: tuple[int, ...] = (3, 13, 30, 3)) -> nn.Module:
    from evenhand.instruments.networks.iresnet import IResNet

    return IResNet(stages)


def _curricularface() -> nn.Module:
    from evenhand.instruments.networks.iresnet import Ir

    return Ir()


_CLIP_TEXT = ("transformer.", "token_embedding.", "positional_embedding", "ln_final.", "text_projection", "logit_scale")

ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "lpips-alex": Architecture(
            "LPIPS on AlexNet",
            _lpips_alex,
            (
                NetworkPart("alexnet", "backbone", ("classifier.",), gain=2.0),
                NetworkPart("lpips-alex-heads", "heads", gain=2.0),
            ),
        ),
        "lpips-vgg": Architecture(
            "LPIPS on VGG-16",
            _lpips_vgg,
            (
                NetworkPart("vgg16", "backbone", ("classifier.",), gain=2.0),
                NetworkPart("lpips-vgg-heads", "heads", gain=2.0),
            ),
        ),
        "dists": Architecture(
            "DISTS",
            _dists,
            (NetworkPart("vgg16", "backbone", ("classifier.",), gain=2.0), NetworkPart("dists", "shares")),
        ),
        "inception-imagenet": Architecture(
            "Inception v3",
            _inception_imagenet,
            (NetworkPart("inception-imagenet", left_out=("AuxLogits.",), gain=2.0),),
        ),
        "inception-fid": Architecture(
            "the 2015 FID network", _inception_fid, (NetworkPart("inception-fid", gain=2.0),)
        ),
        "vggface2": Architecture(
            "Inception-ResNet v1", _inception_resnet, (NetworkPart("vggface2", left_out=("logits.",), gain=2.0),)
        ),
        "mtcnn": Architecture(
            "MTCNN",
            _mtcnn,
            (NetworkPart("mtcnn-pnet", "pnet"), NetworkPart("mtcnn-rnet", "rnet"), NetworkPart("mtcnn-onet", "onet")),
        ),
        "yolov3-spp": Architecture("YOLOv3-SPP", _yolo, (NetworkPart("yolov3-spp", gain=0.5),)),
        "osnet-ibn": Architecture(
            "OSNet-IBN x1.0", _osnet, (NetworkPart("osnet-ibn", left_out=("classifier.",), gain=1.5),)
        ),
        "pcb": Architecture("PCB", _pcb, (NetworkPart("pcb", left_out=("classifier", "model.fc.", "fc."), gain=1.0),)),
        "clip-b32": Architecture("CLIP ViT-B/32", _clip_b32, (NetworkPart("clip-vit-b32", left_out=_CLIP_TEXT),)),
        "clip-l14": Architecture(
            "CLIP ViT-L/14 at 336", _clip_l14, (NetworkPart("clip-vit-l14-336", left_out=_CLIP_TEXT),)
        ),
        "dino": Architecture("DINO ViT-S/16", _dino, (NetworkPart("dino-vits16"),)),
        "i3d": Architecture("I3D", _i3d, (NetworkPart("i3d-kinetics-400"),)),
        "arcface": Architecture("ArcFace's iResNet-100", _magface, (NetworkPart("arcface"),)),
        "magface": Architecture("MagFace's iResNet-100", _magface, (NetworkPart("magface"),)),
        "magface-18": Architecture("MagFace's iResNet-18", partial(_magface, (2, 2, 2, 2)), (NetworkPart("magface"),)),
        "magface-34": Architecture("MagFace's iResNet-34", partial(_magface, (3, 4, 6, 3)), (NetworkPart("magface"),)),
        "magface-50": Architecture("MagFace's iResNet-50", partial(_magface, (3, 4, 14, 3)), (NetworkPart("magface"),)),
        "curricularface": Architecture("CurricularFace's IR-101", _curricularface, (NetworkPart("curricularface"),)),
    }
)
"""The networks by name."""
