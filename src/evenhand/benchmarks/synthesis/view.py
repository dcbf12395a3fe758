"""What a page shows of a synthesised frame: the frame beside the real one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.benchmarks.synthesis.codec import FrameAnswers, ItemAnswers
from evenhand.benchmarks.synthesis.data import ProtocolTruth
from evenhand.benchmarks.synthesis.folders import FrameSet
from evenhand.core.task import Dataset
from evenhand.core.view import SampleView

_VALUES = ("ssim", "psnr")  # shown beside the frame, where the rows have them


def view_frame(dataset: Dataset[FrameSet], answers: FrameAnswers | None, row: Mapping[str, Any]) -> SampleView:
    """A frame by its name in both folders."""
    name = str(row["item"]).partition(":")[0]
    made = answers.get(name) if answers is not None else None
    real = dict(zip(dataset.truth.ids, dataset.truth.paths, strict=True)).get(name)
    return _view(made, real, row)


def view_item(dataset: Dataset[ProtocolTruth], answers: ItemAnswers | None, row: Mapping[str, Any]) -> SampleView:
    """A frame of an item by its position."""
    name, _, rest = str(row["item"]).partition(":")
    position = int(rest.partition(":")[0] or 0)
    item = dataset.truth.items.get(name)
    made = answers.get(name) if answers is not None else None
    real = item.references[position] if item is not None and position < len(item.references) else None
    picture = made[position] if made is not None and position < len(made) else None
    return _view(Path(picture) if picture is not None else None, real, row)


def _view(made: Path | None, real: Path | None, row: Mapping[str, Any]) -> SampleView:
    values = [f"{name.upper()} {float(row[name]):.3g}" for name in _VALUES if name in row]
    reason = str(row.get("reason", ""))
    answer = reason or ", ".join(values)
    pictures = tuple(path for path in (made, real) if path is not None)
    return SampleView(pictures, truth="synthesised, then real" if len(pictures) > 1 else "", answer=answer)
