"""The scoring command: embedding stores in, a score file out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evenhand.benchmarks.uccs.data import read_subjects
from evenhand.benchmarks.uccs.scoring import score_stores, write_binary, write_text
from evenhand.compat.uccs.config import Configuration


def scoring(config: Configuration, say: Callable[[str], None]) -> None:
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
