"""Small data in the form of RFW, with a planted truth.

Drawn people of four races (the drawing does not depend on the race), as embeddings and pictures. Embeddings of one
race are noisier, so that at one threshold for all more of its pairs are judged wrong. Another race has the noise of
everyone and was only unlucky.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evenhand.benchmarks.pairs.codec import EMBEDDINGS, FLIPPED
from evenhand.benchmarks.pairs.data import RACES
from evenhand.core.optional import cv2
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.files.outputs import write_npy
from evenhand.files.writing import make_folder, write_file
from evenhand.scenes.looks import look_of
from evenhand.scenes.saving import save_face

PLANTED, UNLUCKY = "African", "Indian"
PEOPLE, PAIRS, DIMENSIONS = 150, 150, 64  # of each race; pairs of each kind
PICTURES = 8  # of each person
_NOISE, _MORE_NOISE = 0.14, 0.06
_DRAW = 1  # of those tried, the first in which the unlucky race fares a little worse by chance


def write_demo(folder: Path) -> Sequence[Demo]:
    """Write pair lists and embeddings below a folder, and say what is in them."""
    data, submission = folder / "RFW-demo", folder / "submission"
    make_folder(submission)
    rng = stream("pairs", "demo", _DRAW)
    vectors, mirrored = [], []
    shown: set[tuple[str, int, int]] = set()  # pictures by race, person and number
    for race in RACES:
        noise = _NOISE + (_MORE_NOISE if race == PLANTED else 0.0)
        centre = rng.normal(size=(PEOPLE, DIMENSIONS))
        centre /= np.linalg.norm(centre, axis=1, keepdims=True)
        lines, listed = [f"10\t{PAIRS // 10}"], set()
        for _ in range(10):
            for same in (True, False):
                for _ in range(PAIRS // 10):
                    first, second = rng.choice(PEOPLE, 2, replace=False)
                    numbers = rng.choice(np.arange(1, PICTURES + 1), 2, replace=False)
                    second = first if same else second
                    while (pair := frozenset({(first, numbers[0]), (second, numbers[1])})) in listed or len(pair) < 2:
                        numbers[1] = numbers[1] % PICTURES + 1  # no pair is listed twice
                    listed.add(pair)
                    lines.append(
                        f"p{first}\t{numbers[0]}\t{numbers[1]}"
                        if same
                        else f"p{first}\t{numbers[0]}\tp{second}\t{numbers[1]}"
                    )
                    for person, picture in zip((first, second), numbers, strict=True):
                        shown.add((race, int(person), int(picture)))
                        face = centre[person] + rng.normal(size=DIMENSIONS) * noise
                        vectors.append(face + rng.normal(size=DIMENSIONS) * 0.03)
                        mirrored.append(face + rng.normal(size=DIMENSIONS) * 0.03)
        make_folder(data / race)
        write_file(data / race / f"{race}_pairs.txt", "\n".join(lines) + "\n")
    for race, person, number in sorted(shown) if cv2 else ():
        yaw = float(stream("pairs", "demo", "picture", race, person, number).uniform(-1, 1))
        save_face(data / race / f"p{person}" / f"p{person}_{number:04d}.jpg", look_of((race, person)), 80, yaw=yaw)
    for name, rows in ((EMBEDDINGS, vectors), (FLIPPED, mirrored)):
        write_npy(submission / name, np.array(rows, dtype=np.float32))
    return (
        Demo(
            task="pairs/rfw",
            data=data,
            predictions=submission,
            planted=f"race={PLANTED}",
            chance=f"race={UNLUCKY}",
            story="Pairs of faces of four races; embeddings of one race are noisier than those of the others.",
        ),
    )
