"""A synthetic table of FHIBE's faces, with pictures and label maps where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.benchmarks.fhibe.demo import Subject, common_cells, write_table
from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE
from evenhand.core.streams import stream
from evenhand.scenes.faces import FacePicture, face_picture
from evenhand.scenes.saving import save_picture


@dataclass(frozen=True)
class FaceRow:
    """One face picture of a subject."""

    subject: Subject
    image: str  # relative path
    mask: str  # relative path of the combined label map
    yaw: float
    light: float
    size: int

    def draw(self) -> FacePicture:
        """The picture and its labels."""
        noise = stream("fhibe", "made up", "noise", self.image)
        return face_picture(self.subject.look, self.size, yaw=self.yaw, light=self.light, noise=noise)


def write_faces(
    root: Path, subjects: Sequence[Subject], *, images: int = 3, size: int = 512, pixels: bool = False
) -> tuple[FaceRow, ...]:
    """Write the face table (and pictures with their label maps) below a data root."""
    rng = stream("fhibe", "made up", "faces", len(subjects), images)
    rows, cells = [], []
    for subject in subjects:
        for number in range(images):
            image_id = f"face{number}{subject.id}"
            image = f"data/raw/{BODY_TABLE}/{subject.id}/{image_id}/faces_crop_and_align_{image_id}_{subject.id}.png"
            folder = f"data/processed/{FACE_TABLE}/masks/CelebAMask-HQ_format/{image_id}_{subject.id}"
            row = FaceRow(
                subject, image, f"{folder}/combined.png", float(rng.uniform(-1, 1)), float(rng.uniform(0.8, 1)), size
            )
            rows.append(row)
            cells.append(
                {
                    **common_cells(subject, f"{image_id}_{subject.id}", image, (size, size)),
                    "CelebA": str([row.mask, f"{folder}/skin.png"]),
                    "multiple_subjects": "0",
                }
            )
            if pixels:
                _save_face(root, row)
    write_table(root, FACE_TABLE, cells)
    return tuple(rows)


def _save_face(root: Path, row: FaceRow) -> None:
    drawn = row.draw()
    for path, content in ((root / row.image, drawn.pixels), (root / row.mask, drawn.labels)):
        save_picture(path, content)
