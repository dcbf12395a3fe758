"""The protocol files as they are written: their schema, and what is checked when one is read.

Motion imitation and novel views: `{"val": {VIDEO: entry}}`. Appearance transfer: `{"video_infos": {VIDEO: entry},
"vid_name_pairs": [[VIDEO, VIDEO]]}`. An entry may hold `attributes` (our addition): texts by name, such as
`{"sex": "female", "clothing": "skirt"}`, by which results can be grouped.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Annotated, NamedTuple

import msgspec

from evenhand.core.errors import DataError
from evenhand.core.task import InputFact
from evenhand.files.inputs import read


class ProtocolQuestion(Enum):
    """What a model is asked to do."""

    IMITATION = "motion imitation"
    APPEARANCE = "appearance transfer"
    NOVEL_VIEW = "novel view"


class FrameWindow(msgspec.Struct):
    """Frames of a video: first and last, both included."""

    target: str
    range: tuple[int, int]


class ProtocolEntry(msgspec.Struct):
    """What a protocol says of one video."""

    s_n: dict[str, Annotated[list[str], msgspec.Meta(min_length=1)]]
    flag: tuple[int, int]
    self_imitation: FrameWindow | None = None
    cross_imitation: FrameWindow | None = None
    source: list[str] = []
    view_angle: list[float] = msgspec.field(default_factory=list, name="view angle")
    mask: list[str] = []
    novel_view: bool = msgspec.field(default=False, name="novel view")
    attributes: dict[str, str] = {}


class _MotionFile(msgspec.Struct):
    val: dict[str, ProtocolEntry]


class _AppearanceFile(msgspec.Struct):
    video_infos: dict[str, ProtocolEntry]
    vid_name_pairs: list[tuple[str, str]]


class ProtocolFile(NamedTuple):
    """The entries of a file in its order, the pairs of an appearance transfer, and what file it was."""

    entries: dict[str, ProtocolEntry]
    pairs: list[tuple[str, str]]
    fact: InputFact


def read_protocol(path: Path, question: ProtocolQuestion) -> ProtocolFile:
    """The entries and pairs of a protocol file, checked."""
    source = read(path, DataError)
    appearance = question is ProtocolQuestion.APPEARANCE
    try:
        if appearance:
            transfer = msgspec.json.decode(source.data, type=_AppearanceFile)
            entries, pairs = transfer.video_infos, transfer.vid_name_pairs
        else:
            entries, pairs = msgspec.json.decode(source.data, type=_MotionFile).val, []
    except msgspec.DecodeError as error:
        expected = (
            '{"video_infos": {VIDEO: {"s_n", "flag"}}, "vid_name_pairs": [[VIDEO, VIDEO]]}'
            if appearance
            else '{"val": {VIDEO: {"s_n", "self_imitation", "cross_imitation", "flag"}}}'
        )
        raise DataError(f"{path} is no protocol for {question.value}: {error}. Expected {expected}.") from None
    if not entries:
        raise DataError(f"{path} lists no video.")
    for video, entry in entries.items():
        _check_entry(path, video, entry, question)
    for pair in pairs:
        for video in pair:
            if video not in entries:
                raise DataError(f"{path}: the pair {pair[0]} – {pair[1]} names {video!r}, which is not in video_infos.")
    return ProtocolFile(entries, pairs, source.fact)


def _check_entry(path: Path, video: str, entry: ProtocolEntry, question: ProtocolQuestion) -> None:
    windows = {"flag": entry.flag}
    _check_name(path, video)
    if question is ProtocolQuestion.IMITATION:
        for what, window in (("self_imitation", entry.self_imitation), ("cross_imitation", entry.cross_imitation)):
            if window is None:
                raise DataError(f"{path}: {video!r} has no {what!r}. Give its target video and its range.")
            _check_name(path, window.target)
            windows[what] = window.range
    for what, (first, last) in windows.items():
        if first < 0 or last < first:
            raise DataError(f"{path}: the {what} window of {video!r} is [{first}, {last}]; expected 0 ≤ first ≤ last.")
    if question is ProtocolQuestion.IMITATION:
        flag, cross = entry.flag, windows["cross_imitation"]
        if flag[1] - flag[0] != cross[1] - cross[0]:
            raise DataError(
                f"{path}: {video!r} has a flag window of {flag[1] - flag[0] + 1} frames and a cross_imitation window "
                f"of {cross[1] - cross[0] + 1}. They are compared frame by frame and must be equally long."
            )


def _check_name(path: Path, video: str) -> None:
    """Frames are read below the data folder and nowhere else."""
    parts = PurePosixPath(video).parts
    if not parts or ".." in parts or parts[0] == "/":
        raise DataError(f"{path}: {video!r} is no name of a video below the data folder.")
