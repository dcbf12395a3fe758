"""Small made-up videos with a planted truth: people in overalls are imitated worse, men only look so.

Forty-eight drawn people move for six frames each, in the folders and with the protocol file of a published data set.
A simulated model blurs what it imitates: more for some videos than for others, and much more for everyone who wears an
overall. Men are blurred like everybody else; by the luck of the draw they come out a little worse. Some of them,
larger, are two plain folders of pictures, for the whole table of a paper.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.benchmarks.synthesis.availability import obtainable
from evenhand.benchmarks.synthesis.catalogue import TABLE
from evenhand.benchmarks.synthesis.drawn import Motion, draw, read, save
from evenhand.benchmarks.synthesis.features import FEATURES_FILE
from evenhand.benchmarks.synthesis.folders import ATTRIBUTES_FILE
from evenhand.benchmarks.synthesis.options import PictureOptions
from evenhand.core.optional import cv2
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.files.outputs import write_csv
from evenhand.files.writing import make_folder, open_file, write_file
from evenhand.scenes.figures import Pixels

VIDEOS, FRAMES, SIZE = 48, 6, 64
CLOTHES, SEXES = ("two-piece", "overall"), ("female", "male")
MOTIONS: tuple[Motion, ...] = ("arms", "walk", "turn")
PLANTED, CHANCE = "clothing=overall", "sex=male"
_LAYOUT = 6  # the picture in 6 × 6 patches: a feature that needs no network
_FEW, _LARGE = 10, 162  # people in either clothing, and pixels a side, of the table
_MILDER = 0.25  # blurred less, so that faces are found


class Video(NamedTuple):
    """One drawn person and what is known of them."""

    name: str
    clothing: str
    motion: Motion
    sex: str
    blur: float  # how strongly the simulated model blurs it


def demo(folder: Path) -> Sequence[Demo]:
    """Write the data and the simulated model's pictures below a folder, and say what is in them."""
    data, synthesised = folder / "videos", folder / "model"
    videos = cast_of_videos()
    write_videos(data, videos)
    _imitate(data, synthesised, videos)
    real, plain = folder / "pictures" / "real", folder / "pictures" / "model"
    _write_pictures(real, plain, videos)
    metrics, note = obtainable(TABLE, PictureOptions())
    story = (
        f"{VIDEOS} drawn people, {FRAMES} frames each. The model blurs everyone a little and people in overalls a lot; "
        "men are blurred like the others and fare worse by chance alone."
    )
    common = {"dataset": "iPER", "image_size": SIZE}
    protocol = {
        "synthesis/self_imitation": ("ssim", "psnr", "CS:layout"),
        "synthesis/cross_imitation": ("fid:layout", "kid:layout", "CS:layout"),
    }
    return [
        *(
            Demo(task, data, synthesised, PLANTED, CHANCE, story, {**common, "metrics": names})
            for task, names in protocol.items()
        ),
        Demo("synthesis/pictures", real, plain, PLANTED, CHANCE, story, {"metrics": metrics}, note=note),
    ]


def _write_pictures(real: Path, made: Path, videos: Sequence[Video]) -> None:
    """Plain folders for the table of a paper: few of the people, larger, in two frames each.

    Networks take most of a second for a pair, multi-scale SSIM needs 161 pixels, a group ten videos and twenty rows.
    """
    few = [video for video in videos if video.clothing == "overall"][:_FEW]
    few += [video for video in videos if video.clothing != "overall"][:_FEW]
    for video in few:
        for side in (real, made):
            make_folder(side / video.name)
        for frame in range(2):
            name = f"{video.name}/{frame:04d}.png"
            picture = frame_of(video, frame, size=_LARGE)
            save(str(real / name), picture)
            save(str(made / name), _blurred(picture, _MILDER * video.blur))
    _write_attributes(real, few)


def cast_of_videos(count: int = VIDEOS) -> tuple[Video, ...]:
    """The people of the demonstration."""
    rng = stream("synthesis", "demo", "cast", 7)
    videos = []
    for number in range(count):
        clothing = CLOTHES[int(number % 3 == 0)]
        usual = 0.30 + 0.05 * float(rng.normal())
        videos.append(
            Video(
                f"{number:03d}/1/1",
                clothing,
                MOTIONS[(number // 3) % 3],
                SEXES[number % 2],
                float(np.clip(usual + (0.35 if clothing == "overall" else 0.0), 0.05, 1.0)),
            )
        )
    return tuple(videos)


def write_videos(data: Path, videos: Sequence[Video], *, frames: int = FRAMES, size: int = SIZE) -> None:
    """Frames, protocol file and attributes, as the published data set lays them out."""
    entries = {}
    for number, video in enumerate(videos):
        place = data / "images_HD" / video.name
        make_folder(place)
        names = [f"{frame:04d}.png" for frame in range(frames)]
        for frame, name in enumerate(names):
            save(str(place / name), frame_of(video, frame, frames, size))
        other = videos[(number + 1) % len(videos)].name
        window = [0, frames - 1]
        entries[video.name] = {
            "source": [names[0]] * 8,
            "view angle": [0, 45, 90, 135, 180, 225, 270, 315],
            "s_n": {"1": names[:1], "2": names[:2], "3": [*names[:2], names[-1]]},
            "mask": names[:2],
            "novel view": number % 4 == 0,
            "self_imitation": {"target": video.name, "range": window},
            "cross_imitation": {"target": other, "range": window},
            "flag": window,
        }
    write_file(data / "protocol.json", json.dumps({"val": entries}, indent=1))
    _write_attributes(data, videos)
    write_layouts(data)


def _write_attributes(folder: Path, videos: Sequence[Video]) -> None:
    rows = [(video.name, video.clothing, video.motion, video.sex) for video in videos]
    write_csv(folder / ATTRIBUTES_FILE, ("video", "clothing", "motion", "sex"), rows)


def frame_of(video: Video, frame: int, frames: int = FRAMES, size: int = SIZE) -> Pixels:
    """One frame of a drawn video."""
    return draw(video.name, video.motion, frame / frames, overall=video.clothing == "overall", size=size)


def _imitate(data: Path, made: Path, videos: Sequence[Video]) -> None:
    """The simulated model: its own person in the pose of each reference frame, blurred."""
    for side in ("self_imitation", "cross_imitation"):
        make_folder(made / side)
    number = 0
    for position, video in enumerate(videos):
        other = videos[(position + 1) % len(videos)]
        for frame in range(FRAMES):
            own = frame_of(video, frame)
            posed = frame_of(video._replace(motion=other.motion), frame)
            for side, picture in (("self_imitation", own), ("cross_imitation", posed)):
                save(str(made / side / f"pred_{number:08d}.png"), _blurred(picture, video.blur))
            number += 1
    write_layouts(made)


def _blurred(picture: Pixels, strength: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), 0.08 * picture.shape[1] * strength), np.uint8)


def write_layouts(folder: Path) -> None:
    """A file of features: mean and spread of colour in patches of each picture."""
    ids, rows = [], []
    for path in sorted(folder.rglob("*.png")):
        pixels = read(str(path)).astype(np.float32) / 255
        means = cv2.resize(pixels, (_LAYOUT, _LAYOUT), interpolation=cv2.INTER_AREA)
        squares = cv2.resize(pixels**2, (_LAYOUT, _LAYOUT), interpolation=cv2.INTER_AREA)
        spread = np.sqrt(np.maximum(squares - means**2, 0))
        ids.append(path.relative_to(folder).with_suffix("").as_posix())
        rows.append(np.concatenate([means.ravel(), 3 * spread.ravel()]))
    with open_file(folder / FEATURES_FILE, "wb") as file:
        np.savez(file, ids=np.array(ids), layout=np.stack(rows).astype(np.float32))
