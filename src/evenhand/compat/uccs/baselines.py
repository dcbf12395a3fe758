"""The two baseline commands: pictures in; a detection file, or embedding stores, out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from evenhand.benchmarks.uccs.data import list_images, read_gallery
from evenhand.benchmarks.uccs.detections import read_found, write_detections
from evenhand.compat.uccs.config import Configuration
from evenhand.compat.uccs.extraction import (
    DetectorSetting,
    build_embedder,
    detect,
    embed_gallery,
    embed_probes,
)
from evenhand.core.errors import DataError, OptionError, PartError

Say = Callable[[str], None]


def baseline_detection(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Find the faces in all pictures of the set and write the detection score file."""
    from evenhand import engines

    pictures = Path(config["image_directory"])
    table = Path(config["data_directory"]) / f"{config['which_set']}.csv"
    names, _ = list_images(table, pictures)
    parallel = int(config["detection.parallel"])
    if parallel < 0:
        raise OptionError(f"detection.parallel is {parallel}; 0 works in this process, N in N processes.")
    setting = DetectorSetting(
        own.detector,
        tuple(config["detection.thresholds"]),
        Path(own.model_folder) if own.model_folder else None,
        device_of(config, say) if own.detector == "mtcnn" else "cpu",
    )
    out = _ready(Path(config["detection.results"]))
    engine = engines.parse(f"processes:{parallel}" if parallel else "serial")
    most = int(config["detection.max_detections"])
    found = detect(names, pictures, setting, engine, most=most, tell=_progress(say, "pictures"))
    _name_unreadable(found.unreadable, len(names), say)
    rows = write_detections(out, found.answers)
    say(f"wrote {out}: {rows} detections in {len(found.answers)} pictures ({own.detector})")
    if found.failed:
        name, cause = next(iter(found.failed.items()))
        raise PartError(
            f"The detector failed at {len(found.failed)} of {len(names)} pictures, first at {name}: {cause}."
        )


def baseline_recognition(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Embed the detected faces of the set, then the gallery."""
    if own.network == "magface" and config["recognition.arch"] != "iresnet100":
        raise OptionError(f"recognition.arch is {config['recognition.arch']}; MagFace's iresnet100 is what we run.")
    device = device_of(config, say) if own.network == "magface" else "cpu"
    folder = Path(own.model_folder) if own.model_folder else None
    checkpoint = Path(own.checkpoint) if own.checkpoint else None
    found = read_found(Path(config["recognition.detection_file"]))
    embedder = build_embedder(own.network, checkpoint=checkpoint, folder=folder, device=device)
    wanted = int(config["recognition.embedding_size"])
    if embedder.dimensions != wanted:
        if "recognition.embedding_size" in config.given:
            given = embedder.dimensions
            raise OptionError(f"recognition.embedding_size is {wanted}; {own.network} gives {given} values.")
        say(f"note: {own.network} gives {embedder.dimensions} values per face, not {wanted}.")
    workers, out = int(config["recognition.workers"]), Path(config["recognition.result_dir"])
    how = {"form": own.form, "workers": workers}
    done = embed_probes(found, Path(config["image_directory"]), embedder, out, **how, tell=_progress(say, "pictures"))
    _name_unreadable(done.unreadable, len(found), say)
    say(f"wrote {out}: {done.faces} faces in {done.stores} stores ({own.network})")
    if own.disable_gallery:
        return
    data = Path(config["data_directory"])
    gallery, _ = read_gallery(data / "gallery.csv")
    place = Path(config["scoring.gallery"])
    batch = int(config["recognition.batch_size_perImg"])
    done = embed_gallery(
        gallery, data / "gallery_images", embedder, place, **how, batch=batch, tell=_progress(say, "subjects")
    )
    _name_unreadable(done.unreadable, len(gallery), say)
    say(f"wrote {place}: {done.faces} faces of {done.stores} subjects")


def device_of(config: Configuration, say: Say) -> str:
    """The device that `gpu` means: that GPU when there is one; else the processor, unless it was asked for by hand."""
    index = int(config["gpu"])
    if index < 0:
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"  # whoever needs torch says so itself
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index < here:
        return f"cuda:{index}"
    if "gpu" in config.given:
        raise OptionError(f"--gpu {index} was asked for, but torch sees {here or 'no'} GPU here. Use --gpu -1.")
    say("note: there is no GPU here; the processor is used.")
    return "cpu"


def _ready(path: Path) -> Path:
    """The path, with its folder made before the work begins."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path.parent} can't be made: {error.strerror}.") from None
    return path


def _name_unreadable(unreadable: Mapping[str, str], of: int, say: Say) -> None:
    if unreadable:
        say(f"note: {len(unreadable)} of {of} pictures could not be used:")
        for reason in unreadable.values():
            say(f"  {reason}")


def _progress(say: Say, what: str) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if done % 500 == 0:
            say(f"{done} of {total} {what}")

    return tell
