"""Where the protocol files of an IJB folder are.

Folder names, prefixes and gallery names differ between releases, so files are found by the
part of their name that says what they are. Media folders are never searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import DataError

_PROTOCOL_FOLDERS = ("protocol", "protocols")
_FOLDERS_BESIDE = ("cluster", "clustering", "meta", "IJB-A_11_sets", "IJB-A_1N_sets")

MATCHES = r".*_11_(?!covariate).*matches\.csv"
COVARIATE_MATCHES = r".*_11_covariate_matches\.csv"
COVARIATE_TEMPLATES = r".*_11_covariate_probe_reference.*\.csv"
PAIR_TEMPLATES = r".*_11_templates\.csv"
GALLERY = r".*1N_gallery_(?P<name>[^.]+)\.csv"
PROBES = {
    "image": r".*1N_probe_img\.csv",
    "mixed": r".*1N_probe_mixed\.csv",
    "video": r".*1N_probe_video\.csv",
}
DETECTION = r".*_face_detection(_ground_truth)?\.csv"
CLUSTERING = r"(?!.*detection_clustering).*_clustering_(?P<subjects>\d+)_hint_(?P<hint>\d+)\.csv"
CLUSTERING_TRUTH = r"(?!.*detection_clustering).*_clustering_ground_truth\.csv"
DETECTION_CLUSTERING = r".*_detection_clustering_hint_(?P<hint>\d+)\.csv"
DETECTION_CLUSTERING_TRUTH = r".*_detection_clustering_ground_truth\.csv"
METADATA = r"(?!.*covariate).*_metadata\.csv"
FACE_LIST = r".*_face_tid_mid\.txt"
LANDMARK_LIST = r".*_name_5pts_score\.txt"
PAIR_LIST = r".*_template_pair_label\.txt"
PLAIN_GALLERY = r"gallery_(?P<name>[^.]+)\.csv"
PLAIN_PROBES = r"probes\.csv"
SPLIT_PAIRS = r"verify_comparisons_(?P<name>\d+)\.csv"
SPLIT_TEMPLATES = r"verify_metadata_(?P<name>\d+)\.csv"
SPLIT_GALLERY = r"search_gallery_(?P<name>\d+)\.csv"
SPLIT_PROBES = r"search_probe_(?P<name>\d+)\.csv"


@dataclass(frozen=True)
class Found:
    """A file, and the names that its own name carries."""

    path: Path
    match: re.Match[str]

    def __getitem__(self, name: str) -> str:
        return self.match[name]


@dataclass(frozen=True)
class Layout:
    """The protocol files below a data folder."""

    folder: Path
    files: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> Layout:
        """Look into the protocol folders, or into the folder itself when it has none."""
        folder = Path(folder)
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder. Give the folder that holds `protocol/` (or the list files).")
        return cls(folder, tuple(sorted(_protocol_files(folder), key=_natural)))

    def all(self, pattern: str) -> list[Found]:
        """All files whose name matches, in the order of their names with numbers by value."""
        found = []
        for path in self.files:
            match = re.fullmatch(pattern, path.name, flags=re.IGNORECASE)
            if match:
                found.append(Found(path, match))
        return found

    def one(self, pattern: str, what: str) -> Path:
        """The only file whose name matches; raises when there is none or several."""
        found = self.all(pattern)
        if not found:
            raise DataError(
                f"{self.folder} has no {what}: no file whose name matches {pattern!r} in {self._looked()}. "
                "Is it the folder that holds `protocol/`?"
            )
        if len(found) > 1:
            names = ", ".join(str(entry.path.relative_to(self.folder)) for entry in found)
            raise DataError(f"{self.folder} has several files that could be the {what}: {names}. Keep one release.")
        return found[0].path

    def optional(self, pattern: str, what: str) -> Path | None:
        """The only file whose name matches, or None."""
        return self.one(pattern, what) if self.all(pattern) else None

    def _looked(self) -> str:
        return f"{len(self.files)} files" if self.files else "a folder without protocol files"


def _protocol_files(folder: Path) -> Iterator[Path]:
    inside = [folder / name for name in _PROTOCOL_FOLDERS if (folder / name).is_dir()]
    beside = [folder / name for name in _FOLDERS_BESIDE if (folder / name).is_dir()]
    for place in (*inside, *beside):
        yield from (path for path in place.rglob("*") if path.suffix in (".csv", ".txt"))
    if not inside:
        yield from (path for path in folder.iterdir() if path.suffix in (".csv", ".txt"))


def _natural(path: Path) -> tuple[object, ...]:
    parts = re.split(r"(\d+)", path.name)
    return (*((int(part), "") if part.isdigit() else (0, part) for part in parts), (0, str(path)))
