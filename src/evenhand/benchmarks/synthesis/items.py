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
class SourceFrames:
    """The person to be shown: frames of the source video, with their parameters."""

    name: str
    formatted_name: str
    folder: Path
    images: tuple[Path, ...]
    asked: int  # how many sources were asked for
    smpls: Array | None = None  # (images, 85)
    keypoints: Array | None = None  # (images, 19, 2)
    with_views: bool = False

    def as_dictionary(self) -> dict[str, Any]:
        """The dictionary that the published package hands to a model."""
        given: dict[str, Any] = {
            "s_n": self.asked,
            "name": self.name,
            "formated_name": self.formatted_name,
            "vid_path": str(self.folder),
            "images": [str(path) for path in self.images],
            "smpls": self.smpls,
            "kps": self.keypoints,
        }
        return given | _views(self.smpls, self.with_views)


@dataclass(frozen=True)
class ReferenceFrames:
    """The frames whose motion or view is to be shown, with their parameters."""

    name: str
    formatted_name: str
    images: tuple[Path, ...]
    self_imitation: bool
    smpls: Array | None = None
    keypoints: Array | None = None
    masks: tuple[Path, ...] | None = None
    with_views: bool = False

    def as_dictionary(self) -> dict[str, Any]:
        """The dictionary that the published package hands to a model."""
        given: dict[str, Any] = {
            "name": self.name,
            "formated_name": self.formatted_name,
            "images": [str(path) for path in self.images],
            "smpls": self.smpls,
            "kps": self.keypoints,
            "self_imitation": self.self_imitation,
        }
        if self.masks is not None:
            given["masks"] = [str(path) for path in self.masks]
        return given | _views(self.smpls, self.with_views)


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


def _views(smpls: Array | None, with_views: bool) -> dict[str, Any]:
    """The camera and the first joint: the first six columns."""
    return {"views": None if smpls is None else smpls[:, :6]} if with_views else {}
