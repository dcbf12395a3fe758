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
from typing import Any

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.arrays import read_npy, read_npz
from evenhand.files.pickles import load_plain, named_arrays

COLUMNS = 85
"""Camera 3, pose 72, shape 10, in that order."""


@dataclass(frozen=True)
class VideoFrames:
    """Frames of a video, and what else the published package tells a model about them.

    `infos` has `name`, `formated_name`, `smpls` (images, 85) and `kps` (images, 19, 2), None where they are not known;
    of a source also `s_n` and `vid_path`, of a reference `self_imitation`, for novel views `views` and `masks`.
    """

    images: tuple[Path, ...]
    infos: Mapping[str, Any]

    def as_dictionary(self) -> dict[str, Any]:
        """The dictionary that the published package hands to a model."""
        return {**self.infos, "images": [str(path) for path in self.images]}


@dataclass(frozen=True)
class Item:
    """One source person and what is asked of the model for it."""

    name: str  # the video; with the number of the source where a video has several items
    video: str
    source: VideoFrames
    own: VideoFrames  # self-imitation, novel views, or the motion of an appearance transfer; also the truth
    cross: VideoFrames | None = None
    flag: tuple[Path, ...] = ()  # real frames of the source video that cross-imitations are measured against
    appearance: VideoFrames | None = None


def read_parameters(folder: Path, *, shape_once: bool = False) -> dict[str, Array | None]:
    """`smpls` (frames, 85) and `kps` (frames, 19, 2) of a video's folder; each None when its file is not there.

    `shape_once`: the shape is stored once for the whole video.
    """
    return {"smpls": _body(folder, shape_once=shape_once), "kps": _keypoints(folder)}


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
            return path, read_npz(path, DataError) if suffix == ".npz" else {"": read_npy(path, DataError)}
    return None
