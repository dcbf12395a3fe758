"""What can be known before any work: values, types of figures, and every path that a command reads or writes.

No command writes over one of its inputs, over a file of the data folder, or over another of its outputs; all paths of a
call are collected here and checked by `PathPolicy` before anything is computed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from evenhand.benchmarks.uccs.options import check_ranks, check_targets
from evenhand.benchmarks.uccs.stores import ids_path, origin_path
from evenhand.compat.uccs.config import Configuration, labels_of
from evenhand.core.errors import DataError, OptionError, StorageError
from evenhand.files.writing import PathPolicy
from evenhand.reporting.drawing import check_format

ARCHITECTURES = ("iresnet18", "iresnet34", "iresnet50", "iresnet100")


_LEAST = {
    "baseline_detection": {"detection.max_detections": 1, "detection.parallel": 0},
    "baseline_recognition": {
        "recognition.workers": 0,
        "recognition.batch_size_perImg": 1,
        "recognition.embedding_size": 1,
    },
}
Paths = Iterator[tuple[Path, str]]


def check_call(name: str, config: Configuration, own: argparse.Namespace, files: Sequence[Path] = ()) -> None:
    """Raise for anything that would stop the command later, or that would destroy a file."""
    for key, least in _LEAST.get(name, {}).items():
        if config[key] < least:
            raise OptionError(f"{key} is {config[key]}; a whole number from {least} on is expected.")
    if name == "evaluation":
        _check_evaluation(config, own)
    elif name == "baseline_detection":
        thresholds = config["detection.thresholds"]
        if len(thresholds) != 3 or not all(0 <= threshold <= 1 for threshold in thresholds):
            raise OptionError(f"detection.thresholds is {thresholds}; three numbers from 0 to 1 are expected.")
    else:
        _check_gallery(config, own)
    read = [(file, "the configuration") for file in files]
    policy = PathPolicy([*read, *_data(config), *_reads(name, config, own)], list(_writes(name, config, own)))
    policy.check()
    for path, what in policy.outputs:
        _check_writable(path, what)


def _check_evaluation(config: Configuration, own: argparse.Namespace) -> None:
    iou = config["eval.iou"]
    if not 0 < iou <= 1:
        raise OptionError(f"eval.iou is {iou:g}; an overlap limit lies above 0 and at most at 1, usually 0.5.")
    check_ranks(own.ranks or [config["eval.recognition.rank"]])
    if own.draws < 0:
        raise OptionError(f"--draws is {own.draws}; 0 switches intervals off, 2000 is usual.")
    check_targets(own.targets, "--targets")
    if not own.no_figure:
        for task, key in (("detection", "froc"), ("recognition", "oroc")):
            if task in own.tasks:
                check_format(figure_path(Path(config[f"eval.{task}.{key}"])))


def figure_path(path: Path) -> Path:
    """Where a figure is written: a name without extension gets `.png`."""
    return path if path.suffix else path.with_name(path.name + ".png")


def _check_gallery(config: Configuration, own: argparse.Namespace) -> None:
    if getattr(own, "network", "") == "magface" and config["recognition.arch"] not in ARCHITECTURES:
        raise OptionError(f"recognition.arch is {config['recognition.arch']!r}; known: {', '.join(ARCHITECTURES)}.")
    table = Path(config["data_directory"]) / "gallery.csv"
    if not getattr(own, "disable_gallery", False) and not table.is_file():
        raise DataError(f"{table} does not exist. It names the subjects of the watchlist; check data_directory.")


def _data(config: Configuration) -> Paths:
    """The data folder: every file in it, and what a command may look for."""
    data = Path(config["data_directory"])
    for path in sorted(data.iterdir()) if data.is_dir() else ():
        if path.is_file():
            yield path, "a file of data_directory"
    yield data / f"{config['which_set']}.csv", "the table of the set"
    yield data / "gallery.csv", "the gallery table"
    yield data / "gallery_images", "the gallery's pictures"
    yield Path(config["image_directory"]), "image_directory"


def _reads(name: str, config: Configuration, own: argparse.Namespace) -> Paths:
    """What a command reads beside the data folder."""
    if name == "evaluation":
        if config["eval.exclude_gallery"]:
            yield Path(config["eval.exclude_gallery"]), "eval.exclude_gallery"
        for task in own.tasks:
            for path in labels_of(config, task).values():
                yield from _with_ids(path, f"a file of eval.{task}.files")
    elif name == "scoring":
        for key in ("scoring.gallery", "scoring.probe"):
            yield from _with_ids(Path(config[key]), key)
            yield origin_path(Path(config[key])), f"the origin of {key}"
    elif name == "baseline_recognition":
        yield Path(config["recognition.detection_file"]), "recognition.detection_file"
    for option in ("checkpoint", "model_folder"):
        if getattr(own, option, None):
            yield Path(getattr(own, option)), f"--{option.replace('_', '-')}"


def _writes(name: str, config: Configuration, own: argparse.Namespace) -> Paths:
    if name == "evaluation":
        from evenhand.compat.uccs.evaluation import outputs_of

        yield from outputs_of(config, own)
    elif name == "scoring":
        yield from _with_ids(Path(config["scoring.results"]), "scoring.results")
    elif name == "baseline_detection":
        yield Path(config["detection.results"]), "detection.results"
    else:
        yield Path(config["recognition.result_dir"]), "recognition.result_dir"
        if not own.disable_gallery:
            yield Path(config["scoring.gallery"]), "scoring.gallery"


def _with_ids(path: Path, what: str) -> Paths:
    yield path, what
    if path.suffix == ".npy":
        yield ids_path(path), f"the ids of {what}"


def _check_writable(path: Path, what: str) -> None:
    """Raise when an output can't be written, judged by the nearest existing folder."""
    if path.is_dir() and what not in ("recognition.result_dir", "scoring.gallery"):
        raise OptionError(f"{what} is {path}, which is a folder. Name a file.")
    folder = path if path.is_dir() else path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise OptionError(f"{what} is {path}, but {folder} is a file. Name another place.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageError(f"{path} can't be written: {folder} is read-only for you. Name another place for {what}.")
