"""Networks by name, ready to run: built, given their weights, checked, put on a device.

`build_network("osnet-ibn")` finds the weights (a path the user names, a folder, an installed package), reads only
tensors from them and refuses what does not fit. `fill_network` gives reproducible weights instead, for checks of the
arithmetic where the published ones can't be distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

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


class NetworkOptions(TypedDict, total=False):
    """Where a network's weights are looked for, and where it runs: what `build_network` takes."""

    paths: WeightPaths  # files of the user's, by the name of the weights
    folder: Path | None  # of weights files
    device: str  # "cpu" by default


@dataclass(frozen=True)
class NetworkPart:
    """A piece of a network that has a weights file of its own."""

    weights: str
    module: str = ""  # where in the network; empty is the whole
    left_out: tuple[str, ...] = ()  # beginnings of names that are published but never run
    gain: float = 1.0  # of reproducible weights


@dataclass(frozen=True)
class Architecture:
    """What a network is called, and which weights its parts take."""

    title: str
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
    network = _empty(name)
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
    network = _empty(name)
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


def _empty(name: str) -> nn.Module:
    """The network with uninitialised weights; all of them are about to be loaded."""
    import torch

    with torch.device("meta"):
        network = bare_network(name)
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


def bare_network(name: str) -> nn.Module:
    """The network of that name before it has its weights; modules of networks need torch and are imported here."""
    from evenhand.instruments.networks import (
        dists,
        i3d,
        inception_resnet_v1,
        inception_v3,
        iresnet,
        lpips,
        mtcnn,
        osnet,
        pcb,
        vit,
        yolov3,
    )

    builders: dict[str, Callable[[], nn.Module]] = {
        "lpips-alex": lambda: lpips.Lpips(lpips.alexnet()),
        "lpips-vgg": lambda: lpips.Lpips(lpips.vgg16()),
        "dists": dists.Dists,
        "inception-imagenet": inception_v3.InceptionV3,
        "inception-fid": lambda: inception_v3.InceptionV3(inception_v3.Form.FID_2015, classes=1008),
        "vggface2": inception_resnet_v1.InceptionResnetV1,
        "mtcnn": mtcnn.Mtcnn,
        "yolov3-spp": yolov3.YoloV3Spp,
        "osnet-ibn": osnet.OsNet,
        "pcb": pcb.Pcb,
        "clip-b32": lambda: vit.ClipVision(224, 32, 768, 12, 12, 512),
        "clip-l14": lambda: vit.ClipVision(336, 14, 1024, 24, 16, 768),
        "dino": vit.DinoVision,
        "i3d": i3d.InceptionI3d,
        "arcface": iresnet.IResNet,
        "magface": iresnet.IResNet,
        "magface-18": lambda: iresnet.IResNet((2, 2, 2, 2)),
        "magface-34": lambda: iresnet.IResNet((3, 4, 6, 3)),
        "magface-50": lambda: iresnet.IResNet((3, 4, 14, 3)),
        "curricularface": iresnet.Ir,
    }
    return builders[name]()


_CLIP_TEXT = ("transformer.", "token_embedding.", "positional_embedding", "ln_final.", "text_projection", "logit_scale")

ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "lpips-alex": Architecture(
            "LPIPS on AlexNet",
            (
                NetworkPart("alexnet", "backbone", ("classifier.",), gain=2.0),
                NetworkPart("lpips-alex-heads", "heads", gain=2.0),
            ),
        ),
        "lpips-vgg": Architecture(
            "LPIPS on VGG-16",
            (
                NetworkPart("vgg16", "backbone", ("classifier.",), gain=2.0),
                NetworkPart("lpips-vgg-heads", "heads", gain=2.0),
            ),
        ),
        "dists": Architecture(
            "DISTS",
            (NetworkPart("vgg16", "backbone", ("classifier.",), gain=2.0), NetworkPart("dists", "shares")),
        ),
        "inception-imagenet": Architecture(
            "Inception v3",
            (NetworkPart("inception-imagenet", left_out=("AuxLogits.",), gain=2.0),),
        ),
        "inception-fid": Architecture("the 2015 FID network", (NetworkPart("inception-fid", gain=2.0),)),
        "vggface2": Architecture("Inception-ResNet v1", (NetworkPart("vggface2", left_out=("logits.",), gain=2.0),)),
        "mtcnn": Architecture(
            "MTCNN",
            (NetworkPart("mtcnn-pnet", "pnet"), NetworkPart("mtcnn-rnet", "rnet"), NetworkPart("mtcnn-onet", "onet")),
        ),
        "yolov3-spp": Architecture("YOLOv3-SPP", (NetworkPart("yolov3-spp", gain=0.5),)),
        "osnet-ibn": Architecture("OSNet-IBN x1.0", (NetworkPart("osnet-ibn", left_out=("classifier.",), gain=1.5),)),
        "pcb": Architecture("PCB", (NetworkPart("pcb", left_out=("classifier", "model.fc.", "fc."), gain=1.0),)),
        "clip-b32": Architecture("CLIP ViT-B/32", (NetworkPart("clip-vit-b32", left_out=_CLIP_TEXT),)),
        "clip-l14": Architecture("CLIP ViT-L/14 at 336", (NetworkPart("clip-vit-l14-336", left_out=_CLIP_TEXT),)),
        "dino": Architecture("DINO ViT-S/16", (NetworkPart("dino-vits16"),)),
        "i3d": Architecture("I3D", (NetworkPart("i3d-kinetics-400"),)),
        "arcface": Architecture("ArcFace's iResNet-100", (NetworkPart("arcface"),)),
        "magface": Architecture("MagFace's iResNet-100", (NetworkPart("magface"),)),
        "magface-18": Architecture("MagFace's iResNet-18", (NetworkPart("magface"),)),
        "magface-34": Architecture("MagFace's iResNet-34", (NetworkPart("magface"),)),
        "magface-50": Architecture("MagFace's iResNet-50", (NetworkPart("magface"),)),
        "curricularface": Architecture("CurricularFace's IR-101", (NetworkPart("curricularface"),)),
    }
)
"""The networks by name."""
