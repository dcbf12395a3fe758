"""What a model is asked, item by item: the frames of the source, those to be imitated, and the model's other inputs.

`as_dictionary` gives the dictionaries of the published package, under its own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.records import Array


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
    attributes: Mapping[str, str] = field(default_factory=dict)
