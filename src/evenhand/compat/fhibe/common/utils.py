"""Files, folders and pictures for wrapped models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.compat.fhibe.errors import logger
from evenhand.files.writing import make_folder, write_file

_LOG = logger(__name__)


def get_project_root() -> str:
    """The folder below which results lie unless a place is named: the working folder."""
    return str(Path.cwd())


def read_json_file(filepath: str | Path) -> Any:
    """The content of a JSON file."""
    return json.loads(Path(filepath).read_text(encoding="utf-8"))


def save_json_file(filepath: str | Path, data: Any, indent: int | str | None = None) -> None:
    """Write a JSON file."""
    write_file(filepath, json.dumps(data, indent=indent))


def create_folders(filepath: str | Path) -> None:
    """Make the folder that a file is to lie in."""
    make_folder(Path(filepath).parent)


def check_list_lengths(list_1: Sequence[Any], list_2: Sequence[Any]) -> None:
    """Raises ValueError when two lists differ in length."""
    if len(list_1) != len(list_2):
        raise ValueError(f"Length of list_1 ({len(list_1)}) and list_2 ({len(list_2)}) are different.")


def open_image_with_pil(image_path: str | Path, exif_transpose: bool = True, grayscale: bool = False) -> Any:
    """A picture as RGB or grey, turned as its EXIF tag says; None, with a warning, when it can't be read."""
    from PIL import Image, ImageOps

    try:
        with Image.open(image_path) as opened:
            upright = ImageOps.exif_transpose(opened) if exif_transpose else opened
            return upright.convert("L" if grayscale else "RGB")
    except OSError as error:
        _LOG.warning("Failed to open image file %s: %s", image_path, error)
        return None
