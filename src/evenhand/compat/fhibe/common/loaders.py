"""torch data loaders over lists of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evenhand.compat.fhibe.common.data import ImageDataset
from evenhand.core.errors import MissingExtraError


def image_data_loader_from_paths(
    transform: Callable[[Any], Any] | None,
    image_paths_1: list[str],
    image_paths_2: list[str] | None = None,
    exif_transpose: bool = True,
    batch_size: int = 32,
    shuffle: bool = False,
    num_workers: int = 8,
    grayscale: bool = False,
    collate_fn: Callable[[Any], Any] | None = None,
) -> Any:
    """A `DataLoader` over pictures, or two for two lists of files; batches have `images` and `image_paths`."""
    try:
        from torch.utils import data
    except ImportError:
        raise MissingExtraError("image_data_loader_from_paths needs torch", "torch") from None
    make: Any = data.DataLoader
    loaders = [
        make(
            ImageDataset(paths, exif_transpose, transform, grayscale),
            batch_size=batch_size,
            shuffle=shuffle,
            num_workers=num_workers,
            collate_fn=collate_fn,
        )
        for paths in (image_paths_1, image_paths_2)
        if paths is not None
    ]
    return loaders[0] if image_paths_2 is None else tuple(loaders)
