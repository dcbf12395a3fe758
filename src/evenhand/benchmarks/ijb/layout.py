"""Where the protocol files of an IJB folder are.

Folder names, prefixes and gallery names differ between releases, so files are found by the
part of their name that says what they are. Media folders are never searched.
"""

from __future__ import annotations

import filecmp
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evenhand.core.errors import DataError

_PROTOCOL_FOLDERS = ("protocol", "protocols")
_FOLDERS_BESIDE = ("cluster", "clustering", "meta", "IJB-A_11_sets", "IJB-A_1N_sets")


class FileKind(NamedTuple):
    """A file of the protocols: a pattern that its names match, and one of these names."""

    pattern: str
    example: str


MATCHES = FileKind(r".*_11_(?!covariate).*matches\.csv", "ijbb_11_S1_S2_matches.csv")
COVARIATE_MATCHES = FileKind(r".*_11_covariate_matches\.csv", "ijbb_11_covariate_matches.csv")
COVARIATE_TEMPLATES = FileKind(
    r".*_11_covariate_probe_reference.*\.csv", "ijbb_11_covariate_probe_reference_metadata.csv"
)
PAIR_TEMPLATES = FileKind(r".*_11_templates\.csv", "ijbb_11_templates.csv")
GALLERY = FileKind(r".*1N_gallery_(?P<name>[^.]+)\.csv", "ijbb_1N_gallery_S1.csv")
PROBES = {
    "image": FileKind(r".*1N_probe_img\.csv", "ijbb_1N_probe_img.csv"),
    "mixed": FileKind(r".*1N_probe_mixed\.csv", "ijbb_1N_probe_mixed.csv"),
    "video": FileKind(r".*1N_probe_video\.csv", "ijbb_1N_probe_video.csv"),
}
DETECTION = FileKind(r".*_face_detection(_ground_truth)?\.csv", "ijbb_face_detection.csv")
CLUSTERING = FileKind(
    r"(?!.*detection_clustering).*_clustering_(?P<subjects>\d+)_hint_(?P<hint>\d+)\.csv",
    "ijbb_clustering_32_hint_100.csv",
)
CLUSTERING_TRUTH = FileKind(
    r"(?!.*detection_clustering).*_clustering_ground_truth\.csv", "ijbb_clustering_ground_truth.csv"
)
DETECTION_CLUSTERING = FileKind(
    r".*_detection_clustering_hint_(?P<hint>\d+)\.csv", "ijbb_detection_clustering_hint_100000.csv"
)
DETECTION_CLUSTERING_TRUTH = FileKind(
    r".*_detection_clustering_ground_truth\.csv", "ijbb_detection_clustering_ground_truth.csv"
)
METADATA = FileKind(r"(?!.*covariate).*_metadata\.csv", "ijbb_metadata.csv")
FACE_LIST = FileKind(r".*_face_tid_mid\.txt", "ijbb_face_tid_mid.txt")
LANDMARK_LIST = FileKind(r".*_name_5pts_score\.txt", "ijbb_name_5pts_score.txt")
PAIR_LIST = FileKind(r".*_template_pair_label\.txt", "ijbb_template_pair_label.txt")
PLAIN_GALLERY = FileKind(r"gallery_(?P<name>[^.]+)\.csv", "gallery_S1.csv")
PLAIN_PROBES = FileKind(r"probes\.csv", "probes.csv")
SPLIT_PAIRS = FileKind(r"verify_comparisons_(?P<name>\d+)\.csv", "verify_comparisons_1.csv")
SPLIT_TEMPLATES = FileKind(r"verify_metadata_(?P<name>\d+)\.csv", "verify_metadata_1.csv")
SPLIT_GALLERY = FileKind(r"search_gallery_(?P<name>\d+)\.csv", "search_gallery_1.csv")
SPLIT_PROBES = FileKind(r"search_probe_(?P<name>\d+)\.csv", "search_probe_1.csv")


@dataclass(frozen=True)
class NamedFile:
    """A file, and the names that its own name carries."""

    path: Path
    match: re.Match[str]

    def __getitem__(self, name: str) -> str:
        return self.match[name]


@dataclass(frozen=True)
class ProtocolFiles:
    """The protocol files below a data folder."""

    folder: Path
    files: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> ProtocolFiles:
        """Look into the protocol folders, or into the folder itself when it has none."""
        folder = Path(folder)
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder. Give the folder that holds `protocol/` (or the list files).")
        return cls(folder, tuple(sorted(_protocol_files(folder), key=_natural)))

    def all(self, kind: FileKind) -> list[NamedFile]:
        """All files of a kind, in the order of their names with numbers by value; equal copies count once."""
        files: list[NamedFile] = []
        for path in self.files:
            match = re.fullmatch(kind.pattern, path.name, flags=re.IGNORECASE)
            if match and not any(_is_copy(path, other.path) for other in files):
                files.append(NamedFile(path, match))
        return files

    def one(self, kind: FileKind, what: str) -> Path:
        """The only file of a kind; raises when there is none or several."""
        files = self.all(kind)
        if not files:
            raise DataError(f"{self.folder} has no {what}: no file like {kind.example}. {self._advice()}")
        if len(files) > 1:
            names = ", ".join(str(entry.path.relative_to(self.folder)) for entry in files)
            raise DataError(f"{self.folder} has several files that could be the {what}: {names}. Keep one release.")
        return files[0].path

    def optional(self, kind: FileKind, what: str) -> Path | None:
        """The only file of a kind, or None."""
        return self.one(kind, what) if self.all(kind) else None

    def _advice(self) -> str:
        releases = sorted(
            entry.name
            for entry in self.folder.iterdir()
            if entry.is_dir() and any((entry / name).is_dir() for name in (*_PROTOCOL_FOLDERS, *_FOLDERS_BESIDE))
        )
        if releases:
            return f"Give the folder of one release: {', '.join(str(self.folder / name) for name in releases)}."
        if not self.files:
            return "It has no protocol files at all: give the folder that holds `protocol/` or `meta/`."
        there = sorted({path.name for path in self.files})
        return f"It has {', '.join(there[:5])}{', …' if len(there) > 5 else ''}."


def is_list(path: Path) -> bool:
    """Whether a file is one of the lists of faces, by its name."""
    return any(re.fullmatch(kind.pattern, path.name, flags=re.IGNORECASE) for kind in (FACE_LIST, LANDMARK_LIST))


def _protocol_files(folder: Path) -> Iterator[Path]:
    inside = [folder / name for name in _PROTOCOL_FOLDERS if (folder / name).is_dir()]
    beside = [folder / name for name in _FOLDERS_BESIDE if (folder / name).is_dir()]
    for place in (*inside, *beside):
        yield from (path for path in place.rglob("*") if path.suffix in (".csv", ".txt"))
    if not inside:
        yield from (path for path in folder.iterdir() if path.suffix in (".csv", ".txt"))


def _is_copy(path: Path, other: Path) -> bool:
    return path.name == other.name and filecmp.cmp(path, other, shallow=False)


def _natural(path: Path) -> tuple[object, ...]:
    parts = re.split(r"(\d+)", path.name)
    return (*((int(part), "") if part.isdigit() else (0, part) for part in parts), (0, str(path)))
