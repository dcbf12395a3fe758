"""How a made-up person looks: colours and proportions that belong to an identity.

The same identity always looks the same, so that recognising it by its pixels is possible; skin follows
a tone from 0 (darkest) to 5 (lightest), where one is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.streams import stream

Colour = tuple[int, int, int]  # red, green, blue

SKIN: tuple[Colour, ...] = (
    (102, 78, 65),
    (136, 105, 81),
    (164, 131, 103),
    (175, 148, 120),
    (189, 163, 137),
    (198, 180, 157),
)
HAIR: tuple[Colour, ...] = ((30, 22, 20), (70, 45, 30), (120, 85, 50), (190, 160, 100), (140, 60, 30), (150, 150, 150))


@dataclass(frozen=True)
class Look:
    """Colours and proportions of one person; proportions are factors around 1."""

    skin: Colour
    hair: Colour
    top: Colour
    trousers: Colour
    shoes: Colour
    hair_length: float  # 0 bald … 1 down to the chin
    face_width: float
    eye_distance: float
    mouth_width: float
    nose_length: float
    build: float

    @property
    def vector(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The look as numbers in about [−1, 1]: people who look alike are close."""
        colours = np.array([*self.skin, *self.hair, *self.top], dtype=np.float64) / 127.5 - 1
        shape = (self.face_width, self.eye_distance, self.mouth_width, self.nose_length, self.build)
        return np.concatenate([colours, (np.array(shape) - 1) * 5, [self.hair_length * 2 - 1]])


def look_of(identity: object, *, tone: int | None = None) -> Look:
    """The look that belongs to an identity.

    >>> look_of("a") == look_of("a"), look_of("a", tone=0).skin
    (True, (102, 78, 65))
    """
    rng = stream("scenes", "look", identity)
    chosen = int(rng.integers(len(SKIN)))
    top, trousers, shoes = (_colour(rng) for _ in range(3))
    face_width, eye_distance, mouth_width, nose_length, build = (float(value) for value in rng.uniform(0.85, 1.15, 5))
    return Look(
        skin=SKIN[chosen if tone is None else tone],
        hair=HAIR[int(rng.integers(len(HAIR)))],
        top=top,
        trousers=trousers,
        shoes=shoes,
        hair_length=float(rng.uniform(0, 1)),
        face_width=face_width,
        eye_distance=eye_distance,
        mouth_width=mouth_width,
        nose_length=nose_length,
        build=build,
    )


def _colour(rng: np.random.Generator) -> Colour:
    red, green, blue = (int(value) for value in rng.integers(20, 236, 3))
    return red, green, blue
