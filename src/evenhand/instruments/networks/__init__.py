"""The networks behind the published numbers, written out: forward passes only, with the published names of weights.

Each module holds one network and imports torch; nothing here is imported before a reader or comparer is built.
Weights come from `evenhand.instruments.checkpoints`.
"""

from evenhand.instruments.networks.dists import Dists
from evenhand.instruments.networks.i3d import InceptionI3d
from evenhand.instruments.networks.inception_resnet_v1 import InceptionResnetV1
from evenhand.instruments.networks.inception_v3 import InceptionV3
from evenhand.instruments.networks.iresnet import Ir, IResNet
from evenhand.instruments.networks.lpips import Lpips
from evenhand.instruments.networks.mtcnn import Mtcnn
from evenhand.instruments.networks.osnet import OsNet
from evenhand.instruments.networks.pcb import Pcb
from evenhand.instruments.networks.vit import ClipVision, DinoVision
from evenhand.instruments.networks.yolov3 import YoloV3Spp

BY_NAME = {
    network.__name__: network
    for network in (
        *(ClipVision, DinoVision, Dists, InceptionI3d, InceptionResnetV1, InceptionV3),
        *(Ir, IResNet, Lpips, Mtcnn, OsNet, Pcb, YoloV3Spp),
    )
}
"""The classes of networks, for `networks.toml`."""
