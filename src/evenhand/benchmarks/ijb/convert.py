"""From the official files to the community's lists, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evenhand.benchmarks.ijb import layout as names
from evenhand.benchmarks.ijb.data import load_verification
from evenhand.benchmarks.ijb.files import read_table
from evenhand.benchmarks.ijb.layout import ProtocolFiles
from evenhand.benchmarks.ijb.lists import write_lists, write_official
from evenhand.benchmarks.ijb.options import VerificationOptions
from evenhand.benchmarks.ijb.submission import FaceIndex
from evenhand.core.errors import DataError


def to_lists(data: Path, output: Path, *, faces: Path | None = None) -> tuple[Path, ...]:
    """Write the list files of test 1: galleries in the order of their names, then the mixed probes.

    Detector scores come from the column FACE_SCORE of `faces`, matched by file, subject and sighting.
    """
    truth = load_verification(data, VerificationOptions(layout="official")).truth
    assert truth.templates is not None
    scores, number = None, None
    if faces is not None:
        table = read_table(faces)
        numbers = table.whole("FACE_INDEX") if "FACE_INDEX" in table else np.arange(table.rows)
        rows = FaceIndex.of_table(table, np.arange(table.rows)).find(truth.templates.faces)
        if (rows < 0).any():
            name = truth.templates.faces.filename[int(np.flatnonzero(rows < 0)[0])]
            raise DataError(f"{faces} has no line for {name} ({int((rows < 0).sum())} faces without a score).")
        scores, number = table.numbers("FACE_SCORE")[rows], numbers[rows]
    ids = truth.templates.ids
    prefix = ProtocolFiles.of(data).one(names.MATCHES, "match list of test 1").name.partition("_")[0]
    pairs = (ids[truth.first], ids[truth.second], truth.same)
    return write_lists(output, prefix, truth.templates, pairs, scores, number)


def to_official(data: Path, output: Path) -> tuple[Path, ...]:
    """Write the templates and the match list of test 1 as official CSVs."""
    truth = load_verification(data, VerificationOptions(layout="lists")).truth
    assert truth.templates is not None
    ids = truth.templates.ids
    prefix = ProtocolFiles.of(data).one(names.PAIR_LIST, "list of pairs").name.partition("_")[0]
    return write_official(output, prefix, truth.templates, (ids[truth.first], ids[truth.second]))
