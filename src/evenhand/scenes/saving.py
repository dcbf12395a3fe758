"""Drawn pictures as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.files.writing import make_folder, open_file
from evenhand.scenes.faces import face_picture
from evenhand.scenes.looks import Look


def save_picture(path: Path, pixels: Any) -> None:
    """Write pixels (height, width, 3 or labels) as JPEG or PNG, as the name of the file says."""
    from PIL import Image

    make_folder(path.parent)
    form = {"quality": 82} if path.suffix == ".jpg" else {}
    with open_file(path, "wb", flush=False) as file:
        Image.fromarray(pixels).save(file, format="jpeg" if form else "png", **form)


def save_face(path: Path, look: Look, size: int, *, yaw: float = 0.0, light: float = 1.0) -> None:
    """Draw a face that fills a square picture, and write it."""
    save_picture(path, face_picture(look, size, yaw=yaw, light=light).pixels)
