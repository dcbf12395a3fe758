"""The words of the FHIBE tables: attributes, their values in order, keypoints, segments, face labels.

Values are the exact strings found in the tables. Skin colours are ordered as the data set numbers
them: **0 is the darkest (Fitzpatrick type VI), 5 the lightest (type I)**. Nationality and country are
open vocabularies; everything else is closed, but a table may hold values that are not listed here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

_TABLE: Mapping[str, Any] = json.loads(
    resources.files("evenhand.benchmarks.fhibe").joinpath("vocabulary.json").read_text(encoding="utf-8")
)


def _tuples(name: str) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in _TABLE[name].items()}


ATTRIBUTES: tuple[str, ...] = tuple(_TABLE["attribute_order"])  # canonical order
NOT_ON_FACES: frozenset[str] = frozenset(_TABLE["attributes_missing_on_face_dataset"])
MULTI_VALUED: frozenset[str] = frozenset(_TABLE["multi_valued_attributes"])
VALUES: Mapping[str, tuple[str, ...]] = _tuples("attribute_values")
SORTED_AS_TEXT = frozenset({"age", "user_hour_captured", "location_country", "apparent_skin_color_hue_lum"})
SKIN_COLOURS = frozenset({"natural_skin_color", "apparent_skin_color"})
SKIN_TYPES: Mapping[str, str] = dict(_TABLE["skin_type_of_value"])

ANCESTRY_REGIONS: Mapping[str, tuple[str, ...]] = _tuples("ancestry_regions")
NATIONALITY_REGIONS: Mapping[str, tuple[str, ...]] = _tuples("nationality_regions")
# Region → names of nationalities that no published region lists, with both spellings of what a subject wrote in itself.
UNLISTED_NATIONALITIES: Mapping[str, tuple[str, ...]] = _tuples("unlisted_nationalities")
REGIONS: Mapping[str, frozenset[str]] = {
    "ancestry": frozenset(ANCESTRY_REGIONS),
    "nationality": frozenset(NATIONALITY_REGIONS),
}

COUNTRY_VARIANTS: Mapping[str, str] = {
    variant: canonical
    for canonical, variants in _TABLE["country_cleanup"]["canonical_to_variants"].items()
    for variant in variants
}
DROPPED_COUNTRIES: frozenset[str] = frozenset(_TABLE["country_cleanup"]["dropped_variants"])

KEYPOINTS_33: tuple[str, ...] = tuple(name.split(". ")[-1] for name in _TABLE["keypoints_33"])
KEYPOINTS: tuple[str, ...] = tuple(_TABLE["keypoints_17"])  # COCO's, in COCO's order
SIGMAS: Mapping[str, float] = dict(zip(KEYPOINTS, _TABLE["oks_sigmas"], strict=True))
SEGMENTS: tuple[str, ...] = tuple(name.split(". ")[-1] for name in _TABLE["segment_classes_28"])
FACE_LABELS: tuple[str, ...] = tuple(_TABLE["face_parsing_labels"])  # CelebAMask-HQ, 0–18
EAR_LABELS = (FACE_LABELS.index("l_ear"), FACE_LABELS.index("r_ear"))
SKIN_LABEL = FACE_LABELS.index("skin")

BODY_TASKS: tuple[str, ...] = tuple(_TABLE["tasks"]["fhibe"])
FACE_TASKS: tuple[str, ...] = tuple(_TABLE["tasks"]["fhibe_face_crop_align"])
DEFAULT_METRICS: Mapping[str, tuple[str, ...]] = _tuples("default_metrics")
DEFAULT_ATTRIBUTES = ("pronoun", "age", "apparent_skin_color", "ancestry")


def attributes_of(task: str) -> tuple[str, ...]:
    """All attributes that a task's table has, in canonical order."""
    if task in BODY_TASKS:
        return ATTRIBUTES
    return tuple(name for name in ATTRIBUTES if name not in NOT_ON_FACES)


def plain_name(name: str) -> str:
    """A keypoint or segment name without its number: what stands after the last `". "`.

    >>> plain_name("17. Right pinky knuckle")
    'Right pinky knuckle'
    """
    return name.split(". ")[-1]
