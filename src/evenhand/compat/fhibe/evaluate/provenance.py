"""What the files of a results folder were computed from: `evenhand_evaluation.json` beside them.

The published files do not say which model outputs, data or exact thresholds they belong to. A report needs to know,
so that it never shows numbers of earlier outputs beside those of the present ones.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evenhand import __version__
from evenhand.benchmarks.fhibe.output_file import OUTPUTS
from evenhand.benchmarks.fhibe.pictures import ENCODINGS
from evenhand.files import inputs
from evenhand.files.writing import write_file

FILENAME = "evenhand_evaluation.json"


@dataclass(frozen=True)
class Provenance:
    """What one metric's files were computed from."""

    attributes: tuple[str, ...]
    thresholds: tuple[float, ...]
    custom_keypoints: tuple[str, ...] | None
    mini: int | None
    outputs: str  # digest of the model's outputs
    table: str  # hash of the data set's table
    version: str = __version__
    date: str = ""  # of the evaluation; set when it is written
    hashes: str = "SHA-256"  # of which kind they are; files that do not say so are older

    @property
    def is_comparable(self) -> bool:
        """Whether its hashes can be compared with those of today's files."""
        return self.hashes == HASHES


HASHES = "BLAKE3"


class _ProvenanceFile(msgspec.Struct):
    metrics: dict[str, Provenance]  # further keys of the file are ignored


def outputs_digest(folder: Path, task: str) -> str:
    """A digest of the model outputs in a results folder; empty when there are none."""
    digest = hashlib.sha256()
    file = folder / OUTPUTS
    pictures: list[Path] = []
    if task == "face_encoding":
        pictures = sorted((folder / ENCODINGS).glob("*"))
    elif task == "face_super_resolution":
        pictures = sorted(folder.glob("super_*"))
    if file.is_file() and task != "face_encoding":
        digest.update(inputs.hash_of(file).hash.encode())
    elif not pictures:
        return ""
    for picture in pictures:
        fact = inputs.stamp(picture)
        digest.update(os.fsencode(picture.name) + f":{fact.size}:{fact.modified}\n".encode())
    return digest.hexdigest()


def read_provenance(folder: Path) -> dict[str, Provenance]:
    """Metric → what its files were computed from; nothing for a folder that another tool wrote."""
    try:
        return msgspec.json.decode((folder / FILENAME).read_bytes(), type=_ProvenanceFile).metrics
    except (OSError, msgspec.MsgspecError, RecursionError):
        return {}


def write_provenance(folder: Path, entries: Mapping[str, Provenance]) -> None:
    """Add what some metrics were computed from; entries of other metrics stay, an unchanged one keeps its date."""
    known = read_provenance(folder)
    today = datetime.now(tz=UTC).date().isoformat()
    for metric, entry in entries.items():
        before = known.get(metric)
        if before is None or replace(before, date="") != entry:
            known[metric] = replace(entry, date=today)
    content = {"metrics": {metric: asdict(known[metric]) for metric in sorted(known)}}
    write_file(folder / FILENAME, json.dumps(content, indent=2) + "\n")
