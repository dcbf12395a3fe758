"""Pictures as a data set that torch's `DataLoader` takes, and the collate function for batches of pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evenhand.compat.fhibe.common.utils import open_image_with_pil


def identity_function(x: Any) -> Any:
    """What it is given."""
    return x


def pil_image_collate_function(batch: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """A batch of pictures of any size, with the paths of their files."""
    return {name: [item[name] for item in batch] for name in ("images", "image_paths")}


class ImageDataset:
    """The pictures in a list of files, each with its path; derive from it to give more."""

    def __init__(
        self,
        image_paths: list[str],
        exif_transpose: bool = True,
        transform: Callable[[Any], Any] | None = None,
        grayscale: bool = False,
    ) -> None:
        self.image_paths = image_paths
        self.exif_transpose = exif_transpose
        self.transform = identity_function if transform is None else transform
        self.grayscale = grayscale

    def __len__(self) -> int:
        return len(self.image_paths)

    def __getitem__(self, image_index: int) -> dict[str, Any]:
        path = self.image_paths[image_index]
        image = open_image_with_pil(path, self.exif_transpose, self.grayscale)
        return {"images": None if image is None else self.transform(image), "image_paths": path}
