"""Small data in the layout of IJB-B, with a planted truth.

Drawn people, two galleries and probes of stills, as embeddings and pictures. Embeddings of people with one skin tone
are noisier, so that searches miss them more often. Another, small group has the noise of everyone and was only unlucky.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.templates import BOX, LANDMARKS
from evenhand.core.optional import cv2
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.files.outputs import write_csv, write_npy
from evenhand.files.writing import make_folder, write_file
from evenhand.scenes.looks import look_of
from evenhand.scenes.saving import save_face

PEOPLE, DIMENSIONS, PROBES = 160, 64, 6
IMPOSTORS = 15  # other people that a probe is compared with in test 1
PLANTED, UNLUCKY = 6, 2  # numbers of skin tones
_SIZE = 96  # pixels of a drawn face
_FACE = (23, 14, 50, 67, 38, 42, 58, 42, 48, 53)  # box and landmarks in it
_HEADER = ("TEMPLATE_ID", "SUBJECT_ID", "FILENAME", "SIGHTING_ID", *BOX, *LANDMARKS, "FRAME_NUM")


def write_demo(folder: Path) -> Sequence[Demo]:
    """Write protocol files and a submission for tests 1 and 4; searches of test 4 show the planted difference."""
    data, submission = folder / "IJB-demo", folder / "submission"
    protocol = data / "protocol"
    make_folder(protocol)
    make_folder(submission)
    rng = stream("ijb", "demo")
    luck = rng.normal(0.0, 0.03, PEOPLE)
    tone = _tones(luck)
    gender = rng.integers(0, 2, PEOPLE)
    noise = 0.17 + luck + np.where(tone == PLANTED, 0.08, 0.0)
    centre = rng.normal(size=(PEOPLE, DIMENSIONS))
    centre /= np.linalg.norm(centre, axis=1, keepdims=True)
    galleries: dict[str, list[list[object]]] = {"S1": [], "S2": []}
    probes: list[list[object]] = []
    faces: list[list[object]] = []
    metadata: list[list[object]] = []
    vectors = []
    template, sighting = 0, 9000
    for person in range(PEOPLE):
        subject = 100 + person
        gallery = "S1" if person % 2 else "S2"
        for place in range(1 + PROBES):
            template += 1
            for _ in range(2):  # two stills in a template
                sighting += 1
                number = len(faces)
                name = f"img/{number + 1}.jpg"
                row: list[object] = [template, subject, name, sighting, *_FACE, "NaN"]
                if cv2:
                    yaw = float(stream("ijb", "demo", "picture", number).uniform(-1, 1))
                    save_face(data / name, look_of(("ijb", person)), _SIZE, yaw=yaw)
                (galleries[gallery] if place == 0 else probes).append(row)
                metadata.append([*row[1:], 0, int(tone[person]), int(gender[person])])
                faces.append([number, name, subject, sighting, round(0.9 + 0.1 * rng.random(), 4)])
                vectors.append(centre[person] + rng.normal(size=DIMENSIONS) * noise[person])
    for name, rows in galleries.items():
        write_csv(protocol / f"demo_1N_gallery_{name}.csv", _HEADER, rows)
    write_csv(protocol / "demo_1N_probe_mixed.csv", _HEADER, probes)
    write_file(protocol / "demo_11_S1_S2_matches.csv", "".join(f"{one},{other}\n" for one, other in _matches()))
    write_csv(protocol / "demo_metadata.csv", (*_HEADER[1:], "FACIAL_HAIR", "SKINTONE", "GENDER"), metadata)
    write_csv(submission / "faces.csv", ("FACE_INDEX", "FILENAME", "SUBJECT_ID", "SIGHTING_ID", "FACE_SCORE"), faces)
    write_npy(submission / "embeddings.npy", np.array(vectors, dtype=np.float32))
    return (
        Demo(
            task="ijb/test4",
            data=data,
            predictions=submission,
            planted="skin_tone=dark brown",
            chance="skin_tone=light yellow",
            story="Searches of mixed media in two galleries; embeddings of one group are noisier than those of others.",
            options={"flip": "none"},
        ),
    )


def _matches() -> list[tuple[int, int]]:
    """Comparisons for test 1: every probe with the gallery template of its person and with those of some others."""
    rng = stream("ijb", "demo", "matches")
    pairs = []
    for person in range(PEOPLE):
        others = rng.choice(np.delete(np.arange(PEOPLE), person), (PROBES, IMPOSTORS))
        for place in range(PROBES):
            probe = person * (1 + PROBES) + 2 + place
            pairs += [(1 + one * (1 + PROBES), probe) for one in (person, *others[place].tolist())]
    return pairs


def _tones(luck: NDArray[np.float64]) -> NDArray[np.int64]:
    """Random skin tones, sampled again until the small group is a little unlucky."""
    for attempt in range(1000):
        rng = stream("ijb", "demo", "tones", attempt)
        tone = rng.permutation(np.repeat([1, 3, 4, 5, PLANTED, UNLUCKY], [40, 34, 20, 20, 34, 12]))
        if 0.018 < luck[tone == UNLUCKY].mean() < 0.025 and abs(luck[tone == PLANTED].mean()) < 0.003:
            return np.asarray(tone)
    raise AssertionError("a thousand draws without the wanted luck")
