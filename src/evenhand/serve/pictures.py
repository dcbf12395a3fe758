"""From a row to the pictures of its sample, in the user's own data folders, and to what is drawn on them.

The run's data set is loaded from a data folder that was named, and the row's item is looked up among its samples; the
task says which of the pictures a row is about and what to draw on them. Where that fails, an item that is the name of a
file below a data folder is that file. Whatever is found is shown only when it lies inside the served folders.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from evenhand import registry
from evenhand.core.errors import EvenhandError, InputError
from evenhand.core.options import parse
from evenhand.core.task import Task
from evenhand.core.view import SampleView
from evenhand.files.inputs import opened_picture, too_many_pixels
from evenhand.serve.folders import OutsideError, ServedFolders
from evenhand.store.manifest import Manifest
from evenhand.store.runs import PREDICTIONS

Box = tuple[float, float, float, float]  # x0, y0, x1, y1

PICTURES = {f".{kind}": f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "bmp")} | {".jpg": "image/jpeg"}
FILMS = {f".{kind}": f"video/{kind}" for kind in ("mp4", "webm")}
_ORIENTATION = 0x0112  # the EXIF tag that turns a picture
_SEPARATOR = ":"  # between a sample and a part of it, in an item


class NoPictureError(InputError):
    """Why there is no picture to show."""


@dataclass(frozen=True)
class SampleMedia:
    """The pictures of every sample of a data set."""

    by_sample: Mapping[str, tuple[Path, ...]]
    problem: str = ""  # why it could not be loaded
    view: Callable[[Mapping[str, Any]], SampleView] | None = None  # of a row, where the task has one

    def view_of(self, row: Mapping[str, Any]) -> SampleView:
        """What a page shows of a row; without what does not fit the data that were found."""
        if self.view is None:
            return SampleView()
        try:
            return self.view(row)
        except (EvenhandError, KeyError, IndexError, ValueError, TypeError, OSError):
            return SampleView()  # data of another version, or rows of an older run

    def of(self, item: str) -> tuple[Path, ...]:
        """The pictures of the sample that an item is or belongs to: `a.jpg`, or `a.jpg` for `a.jpg:face 3`.

        Of a sample with several, those that the rest of the item names come first, such as frame 0007 of a video.
        """
        sample = item
        while sample not in self.by_sample and _SEPARATOR in sample:
            sample = sample.rpartition(_SEPARATOR)[0]
        every = self.by_sample.get(sample, ())
        rest = item[len(sample) + 1 :].split(_SEPARATOR)
        return tuple(dict.fromkeys(path for path in every if path.stem in rest)) or every


def load_media(run: Path, manifest: Manifest, data: ServedFolders) -> SampleMedia:
    """The pictures of a run's samples, from the first data folder that its task can load."""
    try:
        task = registry.question(manifest.task)
        options = parse(task.options, manifest.options)
        _check_paths(options, data)
    except EvenhandError as error:
        return SampleMedia({}, str(error))
    problem = "No data folder was named: start with --data DIR to see pictures."
    for root in candidates(manifest, data):
        try:
            dataset = task.load(root, options)
        except (EvenhandError, OSError, ValueError) as error:
            problem = f"{root.name}: {error}"
            continue
        media = {sample.id: sample.media for sample in dataset.samples if sample.media}
        if not isinstance(task, Task) or task.view is None:
            return SampleMedia(media)
        answers = None  # where they can't be read
        for place in _answer_files(run, manifest, data):
            with suppress(EvenhandError, OSError, ValueError):
                answers = task.codec.read(place, dataset, options)
                break
        return SampleMedia(media, view=partial(task.view, dataset, answers))
    return SampleMedia({}, problem)


def _answer_files(run: Path, manifest: Manifest, data: ServedFolders) -> list[Path]:
    """Where the model's answers may be read: the copy in the run, then the named folders."""
    places = [*candidates(manifest, data, "predictions")]
    if manifest.stored.get("predictions", False):
        files = sorted((run / PREDICTIONS).iterdir()) if (run / PREDICTIONS).is_dir() else []
        places = [*(files if len(files) == 1 else [run / PREDICTIONS]), *places]
    # a TOML file names others, which need not lie in the served folders
    return [place for place in places if place.suffix != ".toml"]


def candidates(manifest: Manifest, data: ServedFolders, role: str = "data") -> tuple[Path, ...]:
    """Where the data or predictions of a run may lie: where they were when it was made, if inside; else as named.

    A run that was made with relative paths is looked for below the named folders by the end of its path, so a named
    folder may be above the data, and the working directory does not matter.
    """
    existing: list[Path] = []
    for entry in manifest.inputs:
        if entry.role == role and entry.path.endswith(entry.name) and (entry.name or role == "predictions"):
            root = Path(entry.path[: len(entry.path) - len(entry.name)])
            parts = root.parts[1:] if root.is_absolute() else root.parts
            below = (folder.joinpath(*parts[at:]) for folder in data.roots for at in range(len(parts)))
            places = (root, *below) if root.is_absolute() else below
            existing.extend(place for place in places if place.exists() and data.holds(place))
    return tuple(dict.fromkeys((*existing, *(data.roots if role == "data" else ()))))


def pictures_of(item: str, view: SampleView, media: SampleMedia, data: ServedFolders) -> tuple[Path, ...]:
    """The files to show for a row, all inside the served folders; raises NoPictureError where there are none."""
    named = view.pictures or media.of(item)
    if not named and item:
        named = tuple(path for root in data.roots if (path := root / item).suffix.casefold() in (*PICTURES, *FILMS))
    there, absent, outside = [], 0, 0
    for path in named:
        try:
            real = data.inside(path)
        except OutsideError:
            outside += 1
            continue
        if real.is_file() and path.suffix.casefold() in (*PICTURES, *FILMS):
            there.append(real)
        else:
            absent += 1
    if there:
        return tuple(there)
    if outside:
        raise NoPictureError("The picture lies outside the data folders that were named, so it is not read.")
    if absent and media.by_sample:
        raise NoPictureError(f"The data name the picture {named[0].name}, but it is not on this disk.")
    if media.problem:
        raise NoPictureError(f"The data could not be loaded: {media.problem}")
    raise NoPictureError("The data name no picture for this row.")


def part_of(size: tuple[int, int], focus: Box | None) -> Box:
    """The part of a picture that is shown: a square around what the row is about, or all of it.

    >>> part_of((1000, 800), (100.0, 100.0, 120.0, 140.0)), part_of((100, 80), None)
    ((50.0, 60.0, 170.0, 180.0), (0.0, 0.0, 100.0, 80.0))
    """
    wide, tall = size
    side = 0.0 if focus is None else 3 * max(focus[2] - focus[0], focus[3] - focus[1], 8.0)
    if focus is None or side >= min(wide, tall):
        return 0.0, 0.0, float(wide), float(tall)
    left = min(max((focus[0] + focus[2] - side) / 2, 0.0), wide - side)
    top = min(max((focus[1] + focus[3] - side) / 2, 0.0), tall - side)
    return left, top, left + side, top + side


def size_of(path: Path) -> tuple[int, int] | None:
    """Width and height of a picture as it is shown; None when it can't be decoded."""
    from PIL import Image

    try:
        with opened_picture(path) as picture:
            turned = picture.getexif().get(_ORIENTATION, 1) >= 5
            return (picture.height, picture.width) if turned else picture.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def thumbnail(path: Path, width: int, focus: Box | None = None) -> bytes | None:
    """A small JPEG of a picture, or of the part of it around `focus`; None when it is small itself.

    Raises NoPictureError when it can't be decoded.
    """
    from PIL import Image, ImageOps

    try:
        with opened_picture(path) as picture:
            if focus is None and max(picture.size) <= width:
                return None
            if focus is None:
                picture.draft("RGB", (width, width))
            if reason := too_many_pixels(picture.size):
                raise NoPictureError(f"{path.name}: {reason}")
            small: Image.Image = picture if picture.mode in ("RGB", "L") else picture.convert("RGB")
            if focus is not None:
                small = ImageOps.exif_transpose(small)
                left, top, right, bottom = map(round, part_of(small.size, focus))
                small = small.crop((left, top, right, bottom))
            small.thumbnail((width, width))  # first, so that what follows works on few pixels
            upright = ImageOps.exif_transpose(small).convert("RGB")
            file = io.BytesIO()
            upright.save(file, "JPEG", quality=85)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise NoPictureError(f"{path.name} can't be decoded: {error}") from None
    return file.getvalue()


def _check_paths(options: Any, allowed: ServedFolders) -> None:
    """Raises OutsideError when an option of the run names a file outside, which loading would read.

    A run may come from anybody; an option of it is no way to read another file than those of the data.
    """
    for entry in fields(options):
        value = getattr(options, entry.name)
        for text in value if isinstance(value, tuple) else (value,):
            if not isinstance(text, str | Path):
                continue
            path = Path(text)
            if ".." in path.parts:
                raise OutsideError(
                    f"The run's option {entry.name} is {str(text)!r}, which leads out of the data folder."
                )
            if path.is_absolute():
                allowed.inside(path)
