"""The options of demonstrations for tests in which networks would only take time."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.task import Demo

_PIXELS = ("ssim", "psnr", "flicker")


def quick_options(made: Demo, *networks: str) -> Mapping[str, object]:
    """The options of a demonstration; for pictures only metrics of pixels, and of networks those that are named."""
    return {"metrics": (*_PIXELS, *networks)} if made.task == "synthesis/pictures" else made.options
