"""Whose face is whose in test 7, found in the metadata where there is no file of ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.files import ProtocolTable, read_table
from evenhand.benchmarks.ijb.layout import KINDS
from evenhand.benchmarks.ijb.templates import BOX, LANDMARKS
from evenhand.core.errors import DataError
from evenhand.core.records import Array


@dataclass(frozen=True)
class FoundPeople:
    """The subject and the file of every listed template."""

    template: NDArray[np.int64]  # ascending
    subject: NDArray[np.int64]
    filename: NDArray[np.object_]
    ambiguous: frozenset[int]  # templates of people with the same box and landmarks: taken in the order of the lines
    path: Path

    def warnings(self, lists: Sequence[Array]) -> tuple[str, ...]:
        """What to know about the templates of some lists."""
        listed = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *lists]))
        inside = np.isin(self.template, listed) & np.isin(self.template, list(self.ambiguous))
        files = list(dict.fromkeys(self.filename[inside].tolist()))
        if not files:
            return ()
        count = int(inside.sum())
        return (
            f"{count:,} {'face is' if count == 1 else 'faces are'} ambiguous in {self.path.name} ({files[0]}"
            f"{', …' if len(files) > 1 else ''}): several people have the same box there. They were taken in the order "
            f"of the lines, which may be wrong. Add the file of ground truth ({KINDS['clustering_truth'].example}) to "
            "be sure.",
        )


def people_of_lists(tables: Mapping[int, ProtocolTable], path: Path) -> FoundPeople:
    """Found by file, box and landmarks, or by a file of one person; `tables` are the lists by number of subjects."""
    metadata = read_table(path)
    subjects, files = metadata.whole("SUBJECT_ID", missing=-1), metadata.text("FILENAME").tolist()
    subjects_at: dict[tuple[object, ...], list[int]] = {}  # several where two people have the same box: in their order
    by_file: dict[str, set[int]] = {}
    for name, box, landmarks, subject in zip(files, *_places(metadata), subjects.tolist(), strict=True):
        if subject >= 0:
            for key in ((name, *box), (name, *box, *landmarks)):
                subjects_at.setdefault(key, []).append(subject)
            by_file.setdefault(name, set()).add(subject)
    known: dict[int, tuple[int, str]] = {}  # subject and file by template
    ambiguous: set[int] = set()
    for number in sorted(tables, reverse=True):  # the largest list has all faces that share a box; others only some
        table = tables[number]
        rows = zip(
            table.lines.tolist(),
            table.whole("TEMPLATE_ID").tolist(),
            table.text("FILENAME").tolist(),
            *_places(table),
            strict=True,
        )
        met: dict[tuple[object, ...], int] = {}
        for line, template, name, box, landmarks in rows:
            people, key = by_file.get(name, set()), (name, *box, *landmarks)
            key = key if key in subjects_at else (name, *box)
            place = met[key] = met.get(key, -1) + 1
            if template in known and known[template][1] == name and known[template][0] in subjects_at.get(key, ()):
                continue
            here = subjects_at.get(key, list(people) if len(people) == 1 else [])
            if len(set(here)) > 1:
                ambiguous.add(template)
            who = here[0] if len(set(here)) == 1 else here[place] if place < len(here) else None
            if who is None:
                raise DataError(
                    f"{table.path}, line {line}: whose face this is in {name} can't be found in {path}: "
                    f"{_why_unknown(len(people), len(here), metadata, table)}"
                )
            if known.setdefault(template, (who, name)) != (who, name):
                raise DataError(f"{table.path}, line {line}: template {template} is another face in another list.")
    templates = np.array(sorted(known), dtype=np.int64)
    subject = np.array([known[template][0] for template in templates.tolist()], dtype=np.int64)
    filename = np.array([known[template][1] for template in templates.tolist()], dtype=object)
    return FoundPeople(templates, subject, filename, frozenset(ambiguous), path)


def _places(table: ProtocolTable) -> tuple[list[list[float]], list[list[float | None]]]:
    """The box of every row, and its landmarks; None where one is missing, so that those without are alike."""
    landmarks = [[None if np.isnan(one) else one for one in row] for row in table.matrix(LANDMARKS).tolist()]
    return table.matrix(BOX).tolist(), landmarks


def _why_unknown(people: int, at_box: int, metadata: ProtocolTable, table: ProtocolTable) -> str:
    """Why the metadata do not say whose a listed face is, and what to do about it."""
    if not people:
        return "it has no person in this file. Are both files of one release?"
    for some in (metadata, table):
        lacking = [name for name in BOX if name not in some]
        if lacking:
            return (
                f"{people} people are in this file, and {some.path} has no column {', '.join(lacking)}. Add the boxes."
            )
    if at_box:
        return f"{at_box} people are at this box, but more faces are listed there. List each face once."
    return f"{people} people are in this file, and none at this box. Are both files of one release?"
