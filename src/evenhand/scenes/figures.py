"""Standing people made of capsules: boxes, masks, keypoints and parts follow from the pose.

A figure faces the camera, so its left is the picture's right. Angles of limbs are in degrees from
straight down, outward positive. Coordinates are pixels, x to the right, y down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.core.optional import cv2
from evenhand.scenes.looks import Colour, Look

Points = NDArray[np.float64]  # (points, 2)
Pixels = NDArray[np.uint8]  # (height, width, 3), red-green-blue
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # x0, y0, x1, y1

_SIDES = {"Right": -1.0, "Left": 1.0}
_TURN = np.linspace(0, 2 * np.pi, 24, endpoint=False)
_CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)


@dataclass(frozen=True)
class PersonFigure:
    """One person in a picture: a look, a place and a pose."""

    look: Look
    centre: float  # x of the body's axis
    ground: float  # y of the soles
    height: float  # from sole to crown
    left_arm: float = 15.0
    right_arm: float = 15.0
    left_leg: float = 6.0
    right_leg: float = 6.0

    def keypoints(self) -> dict[str, Point]:
        """The 33 keypoints of the body, by name."""
        points: dict[str, Point] = {}
        x, head, radius = self.centre, self._head(), self._radius()
        eye, mouth = 0.38 * radius * self.look.eye_distance, 0.35 * radius * self.look.mouth_width
        points["Nose"] = (x, head + 0.15 * radius)
        for side, sign in _SIDES.items():
            for name, factor in ((" inner", 0.6), ("", 1.0), (" outer", 1.4)):
                points[f"{side} eye{name}"] = (x + sign * eye * factor, head - 0.15 * radius)
            points[f"{side} ear"] = (x + sign * 0.8 * radius * self.look.face_width, head)
            points[f"Mouth {side.lower()}"] = (x + sign * mouth, head + 0.55 * radius)
            shoulder = (x + sign * 0.11 * self.height * self.look.build, self._up(0.81))
            hip = (x + sign * 0.065 * self.height * self.look.build, self._up(0.52))
            arm = self.left_arm if side == "Left" else self.right_arm
            leg = self.left_leg if side == "Left" else self.right_leg
            elbow = self._along(shoulder, sign, arm, 0.17)
            wrist = self._along(elbow, sign, arm * 0.8, 0.14)
            knee = self._along(hip, sign, leg, 0.25)
            ankle = (knee[0] + 0.25 * (knee[0] - hip[0]), self._up(0.04))
            points |= {f"{side} shoulder": shoulder, f"{side} elbow": elbow, f"{side} wrist": wrist}
            for finger, spread in (("pinky", 0.015), ("index", 0.0), ("thumb", -0.015)):
                tip = self._along(wrist, sign, arm * 0.8, 0.035)
                points[f"{side} {finger} knuckle"] = (tip[0] + sign * spread * self.height, tip[1])
            points |= {f"{side} hip": hip, f"{side} knee": knee, f"{side} ankle": ankle}
            points[f"{side} heel"] = (ankle[0] - sign * 0.01 * self.height, self._up(0.01))
            points[f"{side} foot index"] = (ankle[0] + sign * 0.05 * self.height, self._up(0.01))
        return points

    def parts(self) -> dict[str, Points]:
        """The outlines of the visible parts by name, from back to front."""
        return dict(self._outlines)

    @cached_property
    def _outlines(self) -> dict[str, Points]:
        points, thick = self.keypoints(), 0.035 * self.height * self.look.build
        x, head, radius = self.centre, self._head(), self._radius()
        outlines: dict[str, Points] = {}
        hips = [points[f"{side} hip"] for side in _SIDES]
        for side in _SIDES:
            leg = [points[f"{side} {name}"] for name in ("hip", "knee", "ankle")]
            outlines[f"{side} leg clothes"] = _capsule(leg, 1.2 * thick)
            outlines[f"{side} shoe"] = _capsule([points[f"{side} heel"], points[f"{side} foot index"]], 0.6 * thick)
        shoulders = [points[f"{side} shoulder"] for side in _SIDES]
        low = [(hips[1][0] + thick, hips[1][1]), (hips[0][0] - thick, hips[0][1])]
        for side in _SIDES:
            arm = [points[f"{side} {name}"] for name in ("shoulder", "elbow", "wrist", "index knuckle")]
            outlines[f"{side} arm skin"] = _capsule(arm, 0.75 * thick)
        neck = (x, head + radius)
        outlines["Upper body skin"] = _capsule([neck, (x, shoulders[0][1])], 0.9 * thick)
        outlines["Upper body clothes"] = np.array([*shoulders, *low])
        if self.look.hair_length > 0.05:
            outlines["Head hair"] = _ellipse(x, head - 0.2 * radius, 1.0, 1.0, radius)
        outlines["Face skin"] = _ellipse(x, head, 0.8 * self.look.face_width, 0.95, radius)
        for side, sign in _SIDES.items():
            eye = points[f"{side} eye"]
            outlines[f"{side} eye"] = _ellipse(*eye, 0.14, 0.09, radius)
            outlines[f"{side} eyebrow"] = _capsule(
                [(eye[0] + sign * offset * radius, eye[1] - 0.2 * radius) for offset in (-0.15, 0.2)],
                0.04 * radius,
            )
        outlines["Nose"] = _ellipse(*points["Nose"], 0.1, 0.2 * self.look.nose_length, radius)
        outlines["Lower lip"] = _ellipse(x, points["Mouth left"][1], 0.35 * self.look.mouth_width, 0.09, radius)
        return outlines

    def box(self) -> Box:
        """The smallest box around all parts."""
        return _around(np.concatenate(list(self.parts().values())))

    def face_box(self) -> Box:
        """The box around the face's skin."""
        return _around(self.parts()["Face skin"])

    def mask(self, height: int, width: int) -> NDArray[np.bool_]:
        """(height, width): the pixels of the whole figure."""
        from evenhand.geometry.masks import fill_polygons

        return fill_polygons(self.parts().values(), height, width)

    def walking(self, phase: float) -> PersonFigure:
        """The same person a moment later in a walk; a phase of 1 is a full step with both legs."""
        swing = np.sin(2 * np.pi * phase)
        return replace(
            self,
            left_arm=12 + 22 * float(swing),
            right_arm=12 - 22 * float(swing),
            left_leg=6 - 14 * float(swing),
            right_leg=6 + 14 * float(swing),
        )

    def _up(self, share: float) -> float:
        return self.ground - share * self.height

    def _head(self) -> float:
        return self._up(0.93)

    def _radius(self) -> float:
        return 0.065 * self.height

    def _along(self, start: Point, sign: float, angle: float, share: float) -> Point:
        turn = np.deg2rad(angle)
        step = share * self.height
        return start[0] + sign * step * float(np.sin(turn)), start[1] + step * float(np.cos(turn))


def picture(
    figures: Iterable[PersonFigure],
    height: int,
    width: int,
    *,
    background: Colour = (205, 214, 222),
    light: float = 1.0,
) -> Pixels:
    """A picture of figures, the first farthest back; `light` below 1 is a dim room."""
    canvas = np.empty((height, width, 3), dtype=np.uint8)
    canvas[:] = background
    canvas[int(0.82 * height) :] = tuple(int(0.75 * part) for part in background)
    for figure in figures:
        for name, outline in figure.parts().items():
            corners = np.trunc(outline).astype(np.int32).reshape(-1, 1, 2)
            cv2.fillPoly(canvas, [corners], _paint(name, figure.look))
    return np.clip(canvas * light, 0, 255).astype(np.uint8) if light != 1.0 else canvas


def _paint(name: str, look: Look) -> Colour:
    red, green, blue = look.skin
    colours: Mapping[str, Colour] = {
        "Upper body clothes": look.top,
        "leg clothes": look.trousers,
        "shoe": look.shoes,
        "Head hair": look.hair,
        "eye": (250, 250, 250),
        "eyebrow": look.hair,
        "Lower lip": (170, 70, 75),
        "Nose": (int(red * 0.85), int(green * 0.82), int(blue * 0.8)),
    }
    return colours.get(name.removeprefix("Left ").removeprefix("Right "), look.skin)


def _capsule(path: list[Point], radius: float) -> Points:
    """An outline around a path: down one side, up the other."""
    line = np.array(path, dtype=np.float64)
    steps = np.empty_like(line)
    steps[1:-1] = line[2:] - line[:-2]
    steps[0], steps[-1] = line[1] - line[0], line[-1] - line[-2]
    along = steps / np.maximum(np.hypot(steps[:, 0], steps[:, 1]), 1e-9)[:, np.newaxis]
    across = along[:, ::-1] * (-radius, radius)
    first, last = line[:1] - along[:1] * radius, line[-1:] + along[-1:] * radius
    return np.concatenate([first, line + across, last, (line - across)[::-1]])


def _ellipse(x: float, y: float, wide: float, high: float, radius: float) -> Points:
    return np.asarray(_CIRCLE * (wide * radius, high * radius) + (x, y))


def _around(points: Points) -> Box:
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)
