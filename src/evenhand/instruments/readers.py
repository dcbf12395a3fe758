"""One picture to a vector: inception, re-identification and face features, as readers that protocols ask for by name.

A reader has a fingerprint (name, weights, loading, mode) and reads lists of files in order. Every network has the
preparation of its publication, so a reader's numbers are comparable with those of its publication and with no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import OptionError
from evenhand.instruments.ahead import TIME_LIMIT
from evenhand.instruments.architectures import NetworkOptions, build_network
from evenhand.instruments.comparers import signed, unit_batch
from evenhand.instruments.faces import crop, standardised
from evenhand.instruments.people import Scaling, WholeBox, has_pixels, merge_rows, person_box, person_patches
from evenhand.instruments.pictures import HIS_EVALUATORS, Decoder, Loading, Pixels
from evenhand.instruments.readings import FileInstrument, Instrument, Pictures, Readings, Vectors, measure

if TYPE_CHECKING:
    from torch import Tensor


_VISIBLE = 0.5  # of a key point that counts as seen


class PictureReader(FileInstrument):
    """A reader over files."""

    def read(self, images: Sequence[Path]) -> Vectors:
        """One vector per picture; an error that counts and names the pictures when some can't be read."""
        return self.readings(images).complete(self.fingerprint)

    def readings(self, images: Sequence[Path]) -> Readings:
        """What could be read, and the reasons for the rest."""
        return self.measured([(Path(image),) for image in images])


class FlaggedReader(PictureReader):
    """A reader whose vectors say whether there was a face or a person: the first of a reading's numbers."""

    def read(self, images: Sequence[Path]) -> Vectors:
        """One vector per picture; pictures without a face or person are read whole, as published."""
        return super().read(images)[:, 1:]

    def found(self, images: Sequence[Path]) -> NDArray[np.bool_]:
        """Whether a face or person was found in each picture."""
        return super().read(images)[:, 0] > 0


def inception_reader(
    form: str = "imagenet", *, image_size: int = 512, cache: Path | None = None, **where: Unpack[NetworkOptions]
) -> PictureReader:
    """2,048 features of Inception v3.

    `imagenet` is the synthesis protocol's network: pictures at `image_size`, [-1, 1], bilinear to 299 × 299 by pixel
    centres. The others are the network of the FID literature (2015-12-05) on pictures at their own size, resized as a
    package does: `torch-fidelity` (and `fid`) by pixel corners as the original graph, (value - 128) / 128;
    `pytorch-fid` by pixel centres, [-1, 1]; `clean-fid` bicubic with smoothing, (value - 128) / 128.
    """
    forms = {
        "imagenet": _to_299,
        "fid": _to_299_by_corners,
        "torch-fidelity": _to_299_by_corners,
        "pytorch-fid": _to_299,
        "clean-fid": _clean_299,
    }
    if form not in forms:
        raise OptionError(f"There is no inception network {form!r}. Use {', '.join(forms)}.")
    which = "imagenet" if form == "imagenet" else "fid"
    network = build_network(f"inception-{which}", **where)
    loading = _his(image_size) if form == "imagenet" else Loading("fid-2015", HIS_EVALUATORS.decoder)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        import torch

        pixels = [job[0].pixels for job in jobs]
        parts = [pixels] if loading.size else [[picture] for picture in pixels]
        return network.run(torch.cat([forms[form](unit_batch(part, network.device)) for part in parts]))

    title = f"inception-{which}{f':{form}' if form in ('pytorch-fid', 'clean-fid') else ''}"
    name = f"{title}|{network.fingerprint}|{loading.fingerprint}"
    batch = 16 if loading.size else 8  # pictures of any size wait in memory
    return PictureReader(Instrument(name, loading, 2048, together=together, batch=batch), cache)


VISION: Mapping[str, tuple[str, int, int, tuple[float, ...], tuple[float, ...]]] = {
    "clip": ("clip-b32", 224, 512, (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "clip-l": ("clip-l14", 336, 768, (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "dino": ("dino", 224, 384, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
"""Readers of whole pictures by transformers: network, side, numbers, mean and deviation of their input."""


def vision_reader(name: str, *, cache: Path | None = None, **where: Unpack[NetworkOptions]) -> PictureReader:
    """CLIP (`clip`: ViT-B/32, `clip-l`: ViT-L/14 at 336) or DINO (`dino`: ViT-S/16) embeddings of whole pictures.

    Prepared as published: bicubic with smoothing, the shorter side to the network's (DINO: to 256) and the middle cut
    out; `clip-l`, for CMMD, squeezed to a square.
    """
    network_name, side, width, mean, deviation = VISION[name]
    network = build_network(network_name, **where)
    shorter = {"clip": side, "dino": 256}.get(name)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        import torch

        pixels = unit_batch([_bicubic(job[0].pixels, side, shorter) for job in jobs], network.device)
        shift, scale = (torch.tensor(part, device=network.device).view(1, 3, 1, 1) for part in (mean, deviation))
        return network.run((pixels - shift) / scale)

    own = Loading(f"{name}-{side}", Decoder.PILLOW)
    title = f"{name}|{network.fingerprint}|{own.fingerprint}"
    return PictureReader(Instrument(title, own, width, together=together, batch=8), cache)


def pose_reader(*, image_size: int = 0, cache: Path | None = None, **where: Unpack[NetworkOptions]) -> PictureReader:
    """The 17 COCO key points of the surest person: x, y and whether each is visible; all 0 when nobody is found."""
    from evenhand.instruments.bodies import COCO_POINTS, PoseReader

    reader = PoseReader(**where)

    def alone(pictures: Pictures) -> list[float]:
        pose = reader.pose(pictures[0].pixels)
        if pose is None:
            return [0.0] * (3 * len(COCO_POINTS))
        seen = pose.visibility[list(COCO_POINTS)] >= _VISIBLE
        return [float(value) for value in np.column_stack([pose.coco, seen]).ravel()]

    loading = _his(image_size)
    name = f"{reader.fingerprint}|{loading.fingerprint}|visible {_VISIBLE:g}"
    return PictureReader(Instrument(name, loading, 3 * len(COCO_POINTS), alone=alone, workers=1), cache)


class ClipReader(FileInstrument):
    """Runs of frames to vectors."""

    def read_clips(self, clips: Sequence[Sequence[Path]]) -> Vectors:
        """One vector per run of frames; an error that names a frame when some can't be read."""
        return self.measured([tuple(clip) for clip in clips]).complete(self.fingerprint)


def clip_reader(*, cache: Path | None = None, **where: Unpack[NetworkOptions]) -> ClipReader:
    """I3D's 400 numbers of runs of frames, for FVD; frames are squeezed to 224 × 224 by bilinear interpolation."""
    network = build_network("i3d", **where)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        from torch.nn import functional

        vectors = np.zeros((len(jobs), 400), np.float32)
        for number, frames in enumerate(jobs):
            batch = signed(unit_batch([frame.pixels for frame in frames], network.device))
            small = functional.interpolate(batch, size=(224, 224), mode="bilinear", align_corners=False)
            vectors[number] = network.run(small.transpose(0, 1)[None])[0]
        return vectors

    name = f"i3d|{network.fingerprint}|224-bilinear"
    one_by_one = Instrument(  # a clip is sixteen pictures
        name, Loading("i3d"), 400, together=together, batch=1, workers=1, limit=16 * TIME_LIMIT, depth=0
    )
    return ClipReader(one_by_one, cache)


def person_detector(
    *,
    image_size: int = 512,
    scaling: Scaling = Scaling.AS_PUBLISHED,
    cache: Path | None = None,
    **where: Unpack[NetworkOptions],
) -> PictureReader:
    """The largest person of each picture by YOLOv3-SPP: a flag and four whole coordinates (0 when nobody is there)."""
    if image_size % 32:
        raise OptionError(f"The person detector needs sides that are multiples of 32; image_size is {image_size}.")
    network = build_network("yolov3-spp", **where)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        rows = network.run(unit_batch([job[0].pixels for job in jobs], network.device))
        boxes = [person_box(merge_rows(one), image_size, image_size, scaling=scaling) for one in rows]
        return np.array([(1, *box) if box else (0, 0, 0, 0, 0) for box in boxes], dtype=np.float32)

    loading = _his(image_size)
    name = f"yolov3-spp|{network.fingerprint}|{loading.fingerprint}|{scaling.name.lower()}"
    return PictureReader(Instrument(name, loading, 5, together=together, batch=4), cache, remember=True)


def person_reader(
    which: str,
    *,
    detector: PictureReader | None = None,
    strict: bool = False,
    whole_if_empty: bool = False,
    image_size: int = 512,
    cache: Path | None = None,
    **where: Unpack[NetworkOptions],
) -> FlaggedReader:
    """Re-identification features: `osnet` (512) or `pcb` (12,288) of the person that `detector` finds.

    Where it finds nobody the whole picture is read; with `whole_if_empty` also where the published scaling leaves a box
    without pixels, which is an error otherwise. Without a detector all are; the published code then skips
    normalisation, `strict` does not.
    """
    if which not in ("osnet", "pcb"):
        raise OptionError(f"There is no re-identification network {which!r}. Use osnet or pcb.")
    network = build_network("osnet-ibn" if which == "osnet" else "pcb", **where)
    size, width = ((256, 128), 512) if which == "osnet" else ((384, 192), 12288)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        names = tuple(job[0].name for job in jobs)
        boxes = _boxes(detector, names, keep_empty=not whole_if_empty) if detector is not None else None
        pictures = unit_batch([job[0].pixels for job in jobs], network.device)
        patches = person_patches(pictures, boxes, size, names=names, normalise_without_boxes=strict)
        found = [box is not None for box in boxes] if boxes is not None else [True] * len(jobs)
        return _flagged(found, network.run(patches))

    loading = _his(image_size)
    seen = detector.fingerprint if detector else f"no-detector{':normalised' if strict else ''}"
    name = f"{which}+found|{network.fingerprint}|{loading.fingerprint}|{seen}{'|whole-if-empty' * whole_if_empty}"
    return FlaggedReader(Instrument(name, loading, width + 1, together=together), cache, beneath=detector)


def face_reader(*, image_size: int = 512, cache: Path | None = None, **where: Unpack[NetworkOptions]) -> FlaggedReader:
    """512 numbers of the largest face by MTCNN and Inception-ResNet v1 (VGGFace2); of the whole picture without one."""
    unbuilt: NetworkOptions = {**where, "ready": None}  # a network that is built already is the embedding's
    finder = build_network("mtcnn", **unbuilt)
    network = build_network("vggface2", **where)
    from evenhand.instruments.networks.mtcnn import Mtcnn, largest_first

    cascade = finder.network
    assert isinstance(cascade, Mtcnn)

    def together(jobs: Sequence[Pictures]) -> Vectors:
        import torch
        from torch.nn import functional

        inputs, flags = [], []
        for (picture,) in jobs:
            faces = largest_first(cascade.faces(picture.pixels))
            flags.append(bool(faces))
            if faces:
                face = standardised([crop(picture.pixels, faces[0])])
                inputs.append(torch.from_numpy(face[0]).to(network.device))
            else:
                whole = signed(unit_batch([picture.pixels], network.device))
                inputs.append(functional.adaptive_avg_pool2d(whole, 160)[0])
        return _flagged(flags, network.run(torch.stack(inputs)))

    loading = _his(image_size)
    name = f"face|{finder.fingerprint}|{network.fingerprint}|{loading.fingerprint}"
    return FlaggedReader(Instrument(name, loading, 513, together=together), cache)


def _flagged(found: Sequence[bool], features: Vectors) -> Vectors:
    """The features with what was found as their first number."""
    return np.concatenate([np.array(found, np.float32)[:, None], features], axis=1)


def _his(image_size: int) -> Loading:
    """Loading as the synthesis protocol does; at every picture's own size for 0."""
    return HIS_EVALUATORS.at(image_size, image_size) if image_size else replace(HIS_EVALUATORS, size=None)


def _bicubic(pixels: Pixels, side: int, shorter: int | None) -> Pixels:
    """A square of that side: its middle once the shorter side has `shorter` pixels, or all of it squeezed."""
    from PIL import Image

    size = side, side
    if shorter is not None:
        height, width = pixels.shape[:2]
        scale = shorter / min(height, width)
        size = max(shorter, int(width * scale)), max(shorter, int(height * scale))
    resized = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC), dtype=np.uint8)
    top, left = round((size[1] - side) / 2), round((size[0] - side) / 2)
    return resized[top : top + side, left : left + side]


def _clean_299(batch: Tensor) -> Tensor:
    """Bicubic with smoothing in real numbers, channel by channel, as clean-fid prepares pictures."""
    import torch
    from PIL import Image

    def resized(channel: NDArray[np.float32]) -> NDArray[np.float32]:
        picture = Image.fromarray(channel).resize((299, 299), Image.Resampling.BICUBIC)
        return np.asarray(picture, dtype=np.float32).clip(0, 255)

    values = np.rint(batch.cpu().numpy() * 255).astype(np.float32)
    pictures = np.stack([np.stack([resized(channel) for channel in picture]) for picture in values])
    return (torch.from_numpy(pictures).to(batch.device) - 128) / 128


def _to_299(batch: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.interpolate(signed(batch), size=(299, 299), mode="bilinear", align_corners=False)


def _to_299_by_corners(batch: Tensor) -> Tensor:
    """Bilinear as the 2015 graph resizes: output pixel i looks at i × scale, not at pixel centres."""
    import torch

    values = batch * 255
    for axis in (2, 3):
        length = values.shape[axis]
        places = torch.arange(299, device=values.device, dtype=values.dtype) * (length / 299)
        low = places.floor().long().clamp(max=length - 1)
        high = (low + 1).clamp(max=length - 1)
        part = (places - low).view((-1, 1) if axis == 2 else (1, -1))
        values = values.index_select(axis, low) * (1 - part) + values.index_select(axis, high) * part
    return (values - 128) / 128


def _boxes(detector: PictureReader, names: tuple[str, ...], *, keep_empty: bool) -> tuple[WholeBox | None, ...]:
    """The detector's boxes for the pictures of these names, from its cache where they were found before."""
    readings = measure(detector.instrument, [(Path(name),) for name in names], detector.store)  # flushed by the reader
    rows = readings.complete(detector.fingerprint)
    boxes = [(int(row[1]), int(row[2]), int(row[3]), int(row[4])) if row[0] > 0 else None for row in rows]
    return tuple(box if box is not None and (keep_empty or has_pixels(box)) else None for box in boxes)
