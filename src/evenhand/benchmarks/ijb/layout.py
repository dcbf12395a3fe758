"""Where the protocol files of an IJB folder are.

Folder names, prefixes and gallery names differ between releases, so files are found by the
part of their name that says what they are. Media folders are never searched.
"""

from __future__ import annotations

import filecmp
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evenhand.core.errors import DataError
from evenhand.files.packaged import packaged_table
from evenhand.search.stores import by_number

_PROTOCOL_FOLDERS = ("protocol", "protocols")
_FOLDERS_BESIDE = ("cluster", "clustering", "meta", "ijb-a_11_sets", "ijb-a_1n_sets")
_FOLDERS = (*_PROTOCOL_FOLDERS, *_FOLDERS_BESIDE)
_RELEASES = ("IJBA", "IJBB", "IJBC")


class FileKind(NamedTuple):
    """A file of the protocols: what it is, a pattern that its names match, and one of these names."""

    what: str
    pattern: str
    example: str
    plain: str = ""  # the name that it may have in the data folder itself


KINDS = {name: FileKind(**entry) for name, entry in packaged_table(__package__, "files.toml").items()}


@dataclass(frozen=True)
class NamedFile:
    """A file, and the names that its own name carries."""

    path: Path
    match: re.Match[str]

    def __getitem__(self, name: str) -> str:
        return self.match[name]


@dataclass(frozen=True)
class ProtocolFiles:
    """The protocol files below a data folder; names may be written in capitals."""

    folder: Path
    files: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> ProtocolFiles:
        """Look into the protocol folders, or into the folder itself when it has none."""
        folder = Path(folder)
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder. Give the folder that holds `protocol/` (or the list files).")
        return cls(folder, tuple(sorted(_protocol_files(folder), key=lambda path: (*by_number(path), (0, str(path))))))

    def all(self, kind: str) -> list[NamedFile]:
        """All files of a kind, in the order of their names with numbers by value; equal copies count once."""
        files: list[NamedFile] = []
        for path in self.files:
            match = re.fullmatch(KINDS[kind].pattern, path.name, flags=re.IGNORECASE)
            if match and not any(_is_copy(path, other.path) for other in files):
                files.append(NamedFile(path, match))
        return files

    def paths(self, *kinds: str) -> list[Path]:
        """The files of some kinds, one kind after the other."""
        return [entry.path for kind in kinds for entry in self.all(kind)]

    def refuse_mixed(self, *kinds: str) -> None:
        """Raise when files of some kinds are of different releases: their template ids mean different people."""
        of_release = {release_of(path): path for path in reversed(self.paths(*kinds)) if release_of(path) in _RELEASES}
        if len(of_release) > 1:
            names = ", ".join(str(path.relative_to(self.folder)) for path in of_release.values())
            raise DataError(
                f"{self.folder} has files of several releases: {names}. Their template ids mean different people. Keep "
                "the files of one release."
            )

    def splits(self, wanted: Sequence[int], kind: str, other: str) -> list[tuple[int, Path, Path]]:
        """The wanted splits of IJB-A, all by default: the number of each, and its files of both kinds."""
        there, beside = ({int(entry["name"]): entry.path for entry in self.all(name)} for name in (kind, other))
        numbers = wanted or sorted(there)
        for number in numbers:
            if number not in there or number not in beside:
                raise DataError(f"{self.folder} has no split {number}; there are {', '.join(map(str, sorted(there)))}.")
        return [(number, there[number], beside[number]) for number in numbers]

    def one(self, kind: str) -> Path:
        """The only file of a kind; raises when there is none or several."""
        path = self.optional(kind)
        if path is None:
            what, example = KINDS[kind].what, KINDS[kind].example
            raise DataError(f"{self.folder} has no {what}: no file like {example}. {self.advice()}")
        return path

    def optional(self, kind: str) -> Path | None:
        """The only file of a kind, or None; raises when there are several."""
        plain = KINDS[kind].plain
        if plain and (self.folder / plain).is_file():
            return self.folder / plain
        paths = self.paths(kind)
        if len(paths) > 1:
            names = ", ".join(str(path.relative_to(self.folder)) for path in paths)
            what = KINDS[kind].what
            raise DataError(f"{self.folder} has several files that could be the {what}: {names}. Keep one release.")
        return paths[0] if paths else None

    def advice(self) -> str:
        """What to do when a file is not there, for messages."""
        releases = sorted(
            entry.name
            for entry in self.folder.iterdir()
            if entry.is_dir()
            and entry.name.lower() not in _FOLDERS  # protocol/ has cluster/, and is no release
            and _folders(entry, _FOLDERS)
        )
        if releases:
            return f"Give the folder of one release: {', '.join(str(self.folder / name) for name in releases)}."
        if not self.files:
            return "It has no protocol files at all: give the folder that holds `protocol/` or `meta/`."
        there = sorted({path.name for path in self.files})
        return f"It has {', '.join(there[:5])}{', …' if len(there) > 5 else ''}."


def release_of(path: Path) -> str:
    """The release that a file of the protocols belongs to, by its name.

    >>> release_of(Path("protocol/ijbb_metadata.csv"))
    'IJBB'
    """
    return path.name.partition("_")[0].upper()


def is_list(path: Path) -> bool:
    """Whether a file is one of the lists of faces, by its name."""
    kinds = KINDS["face_list"], KINDS["landmark_list"]
    return any(re.fullmatch(kind.pattern, path.name, flags=re.IGNORECASE) for kind in kinds)


def _protocol_files(folder: Path) -> Iterator[Path]:
    inside = _folders(folder, _PROTOCOL_FOLDERS)
    for place in (*inside, *_folders(folder, _FOLDERS_BESIDE)):
        yield from (path for path in place.rglob("*") if path.suffix.lower() in (".csv", ".txt"))
    if not inside:
        yield from (path for path in folder.iterdir() if path.suffix.lower() in (".csv", ".txt"))


def _folders(folder: Path, names: Sequence[str]) -> list[Path]:
    """The folders of some names, whatever their case; none where the folder can't be listed."""
    try:
        return [entry for entry in folder.iterdir() if entry.name.lower() in names and entry.is_dir()]
    except OSError:
        return []


def _is_copy(path: Path, other: Path) -> bool:
    return path.name == other.name and filecmp.cmp(path, other, shallow=False)
