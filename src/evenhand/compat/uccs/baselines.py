"""The three commands before the evaluation: pictures in; a detection file, embedding stores and a score file out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from evenhand.benchmarks.uccs.data import list_images, read_gallery, read_subjects
from evenhand.benchmarks.uccs.detections import read_found, write_detections
from evenhand.benchmarks.uccs.scoring import score_stores, write_binary, write_text
from evenhand.compat.uccs.config import Configuration
from evenhand.compat.uccs.extraction import (
    DetectorSetting,
    Extraction,
    ExtractionSummary,
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
    setting = DetectorSetting(
        own.detector,
        tuple(config["detection.thresholds"]),
        Path(own.model_folder) if own.model_folder else None,
        device_of(config, say) if own.detector == "mtcnn" else "cpu",
    )
    out = Path(config["detection.results"])
    detected, journal = detect(
        names,
        pictures,
        setting,
        engines.parse(f"processes:{parallel}") if parallel else None,
        out,
        most=int(config["detection.max_detections"]),
        upright=own.upright,
        say=say,
        progress=RateOfProgress(say, "pictures"),
    )
    unreadable = detected.unreadable
    _say_reasons(f"{len(unreadable)} of {len(names)} pictures could not be used", [*unreadable.values()], say)
    if not detected.answers:
        reason = next(iter((detected.failed or detected.unreadable).values()))
        if not detected.failed:
            journal.discard()
        raise DataError(f"None of {len(names)} pictures could be used, so {out} is left as it is: {reason}")
    rows = write_detections(out, detected.answers)
    say(f"wrote {out}: {rows} detections in {len(detected.answers)} pictures ({own.detector})")
    if detected.failed:
        name, cause = next(iter(detected.failed.items()))
        raise PartError(
            f"The detector failed at {len(detected.failed)} of {len(names)} pictures, first at {name}: {cause}. "
            f"{out} lacks them; the same command looks at these pictures only."
        )
    journal.discard()


def baseline_recognition(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Embed the detected faces of the set, then the gallery."""
    device = device_of(config, say) if own.network == "magface" else "cpu"
    detections, source = read_found(Path(config["recognition.detection_file"]))
    embedder = build_embedder(
        _network(config, own),
        checkpoint=Path(own.checkpoint) if own.checkpoint else None,
        folder=Path(own.model_folder) if own.model_folder else None,
        device=device,
    )
    wanted = int(config["recognition.embedding_size"])
    if embedder.dimensions != wanted:
        if "recognition.embedding_size" in config.given:
            given = embedder.dimensions
            raise OptionError(f"recognition.embedding_size is {wanted}; {own.network} gives {given} values.")
        say(f"note: {own.network} gives {embedder.dimensions} values per face, not {wanted}.")

    workers = int(config["recognition.workers"])

    def extraction(key: str, what: str) -> Extraction:
        progress = RateOfProgress(say, what)
        return Extraction(embedder, Path(config[key]), key, own.form, workers, own.upright, own.replace, progress)

    probes = extraction("recognition.result_dir", "pictures")
    done = embed_probes(detections, source, Path(config["image_directory"]), probes)
    _say_embedded(
        probes.folder, done, len(detections), f"{done.faces} faces in {done.stores} stores ({own.network})", say
    )
    if own.disable_gallery:
        return
    data = Path(config["data_directory"])
    gallery, source = read_gallery(data / "gallery.csv")
    subjects = extraction("scoring.gallery", "subjects")
    batch = int(config["recognition.batch_size_perImg"])
    done = embed_gallery(gallery, source, data / "gallery_images", subjects, batch=batch)
    _say_embedded(subjects.folder, done, len(gallery), f"{done.faces} faces of {done.stores} subjects", say)


def scoring(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Enrol the gallery, compare all probe faces, and write text or, for a name in `.npy`, the binary store."""
    subjects, table = read_subjects(Path(config["data_directory"]) / "gallery.csv")
    out = Path(config["scoring.results"])
    enrolment, blocks, notes = score_stores(
        Path(config["scoring.gallery"]), Path(config["scoring.probe"]), subjects, table
    )
    for note in notes:
        say(f"note: {note}")
    write = write_binary if out.suffix == ".npy" else write_text
    rows = write(out, blocks, enrolment.subjects)
    say(f"wrote {out}: {rows} detections × {len(enrolment.subjects)} subjects")


def _network(config: Configuration, own: argparse.Namespace) -> str:
    depth = config["recognition.arch"].removeprefix("iresnet")
    return f"magface-{depth}" if own.network == "magface" and depth != "100" else str(own.network)


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


def _say_embedded(folder: Path, done: ExtractionSummary, of: int, summary: str, say: Say) -> None:
    _say_reasons(f"{len(done.unreadable)} of {of} pictures could not be used", [*done.unreadable.values()], say)
    _say_reasons(f"{len(done.skipped)} faces were skipped", done.skipped, say)
    say(f"wrote {folder}: {summary}")


def _say_reasons(what: str, reasons: Sequence[str], say: Say, most: int = 20) -> None:
    if not reasons:
        return
    say(f"note: {what}:")
    for reason in reasons[:most]:
        say(f"  {reason}")
    if len(reasons) > most:
        say(f"  and {len(reasons) - most} more")


class RateOfProgress:
    """Says how far the work is, from the first piece on and then every ten seconds, with rate and remaining time."""

    def __init__(self, say: Say, what: str, clock: Callable[[], float] = monotonic, every: float = 10.0) -> None:
        self._say, self._what, self._clock, self._every = say, what, clock, every
        self._begun = self._said = clock()
        self._first = 0

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if not self._first:
            self._first = done
        elif now - self._said < self._every and done < total:
            return
        self._said = now
        here = done - self._first + 1
        rate = here / max(now - self._begun, 1e-9)
        left = f", {_duration((total - done) / rate)} left" if done < total else ""
        self._say(f"{done} of {total} {self._what}, {_per_second(rate)}{left}")


def _per_second(rate: float) -> str:
    return f"{rate:.1f} per second" if rate >= 1 else f"{1 / rate:.1f} seconds each"


def _duration(seconds: float) -> str:
    """A time in the two units that matter.

    >>> _duration(5000)
    '1 h 23 min'
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
