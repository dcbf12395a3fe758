"""What a model is asked, item by item: the frames of the source, those to be imitated, and the model's other inputs.

`as_dictionary` gives the dictionaries of the published package, under its own names.

Body parameters and key points of a video's frames come from the files of the data sets. `pose_shape.pkl` holds `cams`
(frames, 3), `pose` (frames, 72) and `shape` (frames, 10, or stored once and repeated); together they are 85 columns.
`kps.pkl` holds key points (frames, 19, 2), bare or under the key `kps`. The published files are pickles written by
Python 2; they are read by a loader that builds arrays and runs nothing. The same arrays in `pose_shape.npz` and
`kps.npy` are taken where there is no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.benchmarks.synthesis.features import load_arrays
from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.pickles import load_plain, named_arrays

COLUMNS = 85
"""Camera 3, pose 72, shape 10, in that order."""


@dataclass(frozen=True)
class VideoFrames:
    """Frames of a video, with their parameters."""

    name: str
    formatted_name: str
    images: tuple[Path, ...]
    smpls: Array | None = None  # (images, 85)
    keypoints: Array | None = None  # (images, 19, 2)
    with_views: bool = False

    def as_dictionary(self) -> dict[str, Any]:
        """The dictionary that the published package hands to a model."""
        given: dict[str, Any] = {
            "name": self.name,
            "formated_name": self.formatted_name,
            "images": [str(path) for path in self.images],
            "smpls": self.smpls,
            "kps": self.keypoints,
        }
        if self.with_views:  # the camera and the first joint
            given["views"] = None if self.smpls is None else self.smpls[:, :6]
        return given


@dataclass(frozen=True, kw_only=True)
class SourceFrames(VideoFrames):
    """The person to be shown: frames of the source video."""

    folder: Path
    asked: int  # how many sources were asked for

    def as_dictionary(self) -> dict[str, Any]:
        return {"s_n": self.asked, "vid_path": str(self.folder), **super().as_dictionary()}


@dataclass(frozen=True, kw_only=True)
class ReferenceFrames(VideoFrames):
    """The frames whose motion or view is to be shown."""

    self_imitation: bool
    masks: tuple[Path, ...] | None = None

    def as_dictionary(self) -> dict[str, Any]:
        masks = {} if self.masks is None else {"masks": [str(path) for path in self.masks]}
        return {**super().as_dictionary(), "self_imitation": self.self_imitation, **masks}


@dataclass(frozen=True)
class Item:
    """One source person and what is asked of the model for it."""

    name: str  # the video; with the number of the source where a video has several items
    video: str
    source: SourceFrames
    own: ReferenceFrames  # self-imitation, novel views, or the motion of an appearance transfer; also the truth
    cross: ReferenceFrames | None = None
    flag: tuple[Path, ...] = ()  # real frames of the source video that cross-imitations are measured against
    appearance: SourceFrames | None = None


class BodyParameters(NamedTuple):
    """What is known of every frame of a video; None where there is no file."""

    smpls: Array | None  # (frames, 85)
    keypoints: Array | None  # (frames, 19, 2)


def read_parameters(folder: Path, *, shape_once: bool = False) -> BodyParameters:
    """The parameters in a folder; each None when its file is not there.

    `shape_once`: the shape is stored once for the whole video.
    """
    return BodyParameters(_body(folder, shape_once=shape_once), _keypoints(folder))


def _body(folder: Path, *, shape_once: bool) -> Array | None:
    stored = _arrays(folder, "pose_shape")
    if stored is None:
        return None
    path, arrays = stored
    for key in ("cams", "pose", "shape"):
        if key not in arrays:
            raise DataError(
                f"{path}: there is no array {key!r}; found {', '.join(map(repr, arrays)) or 'none'}. "
                "Body parameters are cams (frames, 3), pose (frames, 72) and shape (frames, 10)."
            )
    camera, pose, shape = (np.asarray(arrays[key]) for key in ("cams", "pose", "shape"))
    if shape_once or (shape.ndim == 1 or (len(shape) == 1 and len(camera) > 1)):
        shape = np.repeat(shape.reshape(1, -1), len(camera), axis=0)
    if not len(camera) == len(pose) == len(shape):
        raise DataError(
            f"{path}: {len(camera)} cameras, {len(pose)} poses and {len(shape)} shapes. Write one of each per frame."
        )
    together = np.concatenate([part.reshape(len(camera), -1) for part in (camera, pose, shape)], axis=1)
    if together.shape[1] != COLUMNS:
        raise DataError(f"{path}: {together.shape[1]} body parameters per frame; expected {COLUMNS} (3 + 72 + 10).")
    return together


def _keypoints(folder: Path) -> Array | None:
    stored = _arrays(folder, "kps")
    if stored is None:
        return None
    path, arrays = stored
    array = arrays.get("kps", arrays.get(""))
    if array is None or np.asarray(array).ndim != 3:
        raise DataError(f"{path}: expected key points (frames, 19, 2), as a bare array or under the key 'kps'.")
    return np.asarray(array)


def _arrays(folder: Path, stem: str) -> tuple[Path, Mapping[str, Array]] | None:
    """The arrays of `stem` in whichever form is there; a bare array has the key ""."""
    pickled = folder / f"{stem}.pkl"
    if pickled.exists():
        return pickled, dict(named_arrays(load_plain(pickled)))
    for suffix in (".npz", ".npy"):
        path = folder / f"{stem}{suffix}"
        if path.exists():
            loaded = load_arrays(path, DataError)
            return path, {"": loaded} if isinstance(loaded, np.ndarray) else loaded
    return None
