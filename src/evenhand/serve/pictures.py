"""From a row to the pictures of its sample, in the user's own data folders.

The run's data set is loaded from a data folder that was named, and the row's item is looked up among its samples. Where
that fails, an item that is the name of a file below a data folder is that file. Whatever is found is shown only
when it lies inside the served folders.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from evenhand import registry
from evenhand.core.errors import EvenhandError, InputError
from evenhand.core.options import parse
from evenhand.files.inputs import opened_picture, too_many_pixels
from evenhand.serve.folders import OutsideError, ServedFolders
from evenhand.store.manifest import Manifest

PICTURES: Mapping[str, str] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
}
FILMS: Mapping[str, str] = {".mp4": "video/mp4", ".webm": "video/webm"}
_SEPARATOR = ":"  # between a sample and a part of it, in an item


class NoPictureError(InputError):
    """Why there is no picture to show."""


@dataclass(frozen=True)
class SampleMedia:
    """The pictures of every sample of a data set, and where it was loaded from."""

    root: Path | None
    by_sample: Mapping[str, tuple[Path, ...]]
    problem: str = ""  # why it could not be loaded

    def of(self, item: str) -> tuple[Path, ...]:
        """The pictures of the sample that an item is or belongs to: `a.jpg`, or `a.jpg` for `a.jpg:face 3`.

        Of a sample with several, those that the rest of the item names come first, such as frame 0007 of a video.
        """
        if item in self.by_sample:
            return self.by_sample[item]
        sample = item
        while _SEPARATOR in sample:
            sample = sample.rpartition(_SEPARATOR)[0]
            if sample in self.by_sample:
                rest = item[len(sample) + 1 :].split(_SEPARATOR)
                every = self.by_sample[sample]
                named = tuple(path for path in every if path.stem in rest)
                return tuple(dict.fromkeys(named)) or every
        return ()


def load_media(manifest: Manifest, data: Sequence[Path], allowed: ServedFolders) -> SampleMedia:
    """The pictures of a run's samples, from the first data folder that its task can load."""
    try:
        task = registry.question(manifest.task)
        options = parse(task.options, manifest.options)
        _check_paths(options, allowed)
    except EvenhandError as error:
        return SampleMedia(None, {}, str(error))
    problem = "No data folder was named: start with --data DIR to see pictures."
    for root in candidates(manifest, data, allowed):
        try:
            dataset = task.load(root, options)
        except (EvenhandError, OSError, ValueError) as error:
            problem = f"{root.name}: {error}"
            continue
        return SampleMedia(root, {sample.id: sample.media for sample in dataset.samples if sample.media})
    return SampleMedia(None, {}, problem)


def candidates(manifest: Manifest, data: Sequence[Path], allowed: ServedFolders) -> tuple[Path, ...]:
    """Folders in which the data of a run may lie: where they were when it was made, if inside; else as named.

    A run that was made with relative paths is looked for below the named folders by the end of its path, so a named
    folder may be above the data, and the working directory does not matter.
    """
    found: list[Path] = []
    for entry in manifest.inputs:
        if entry.role == "data" and entry.name and entry.path.endswith(entry.name):
            root = Path(entry.path[: len(entry.path) - len(entry.name)])
            parts = root.parts[1:] if root.is_absolute() else root.parts
            below = (folder.joinpath(*parts[at:]) for folder in data for at in range(len(parts)))
            places = (root, *below) if root.is_absolute() else below
            found.extend(place for place in places if place.is_dir() and allowed.holds(place))
    return tuple(dict.fromkeys((*found, *data)))


def pictures_of(item: str, media: SampleMedia, data: Sequence[Path], allowed: ServedFolders) -> tuple[Path, ...]:
    """The files to show for an item, all inside the served folders; raises NoPictureError where there are none."""
    named = media.of(item)
    if not named and item:
        named = tuple(path for root in data if (path := root / item).suffix.casefold() in (*PICTURES, *FILMS))
    there, absent, outside = [], 0, 0
    for path in named:
        try:
            real = allowed.inside(path)
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


def thumbnail(path: Path, width: int) -> bytes | None:
    """A small JPEG of a picture; None when it is small itself. Raises NoPictureError when it can't be decoded."""
    from PIL import Image, ImageOps

    try:
        with opened_picture(path) as picture:
            if max(picture.size) <= width:
                return None
            picture.draft("RGB", (width, width))
            if reason := too_many_pixels(picture.size):
                raise NoPictureError(f"{path.name}: {reason}")
            small = picture if picture.mode in ("RGB", "L") else picture.convert("RGB")
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
