"""What the report says about tasks, data, metrics and attributes, in our own words."""

from __future__ import annotations

from collections.abc import Mapping

TASKS: Mapping[str, str] = {
    "person_localization": "The model draws a box around every person in a picture.",
    "person_parsing": "The model marks the pixels of every person in a picture.",
    "keypoint_estimation": "The model places keypoints of the body for every person, given the person's box.",
    "face_localization": "The model draws a box around every face in a picture.",
    "body_parts_detection": "The model says, for every person, how probable it is that each part is visible.",
    "face_parsing": "The model names, for every pixel of a face picture, the part of the face it belongs to.",
    "face_verification": "The model turns a face picture into a vector; pictures of one person should lie close.",
    "face_encoding": "The model encodes a face picture; what can be recovered is compared with the original.",
    "face_super_resolution": "The model restores a face picture in full resolution, compared with the original.",
}
DATA: Mapping[bool, str] = {
    False: "FHIBE: pictures of one or two people who consented, described themselves, and may withdraw. A row is one "
    "subject in one picture.",
    True: "FHIBE-Face: aligned crops of single faces, 512 × 512 pixels, of people who consented and may withdraw. A "
    "row is one picture.",
}
METRICS: Mapping[str, tuple[str, str]] = {
    "AR_IOU": (
        "average recall over box overlap",
        "For every annotated box the best overlap with any predicted box; the share of boxes whose overlap reaches a "
        "threshold, averaged over thresholds.",
    ),
    "AR_MASK": (
        "average recall over mask overlap",
        "For every annotated person the best overlap with any predicted mask; the share that reaches a threshold, "
        "averaged over thresholds.",
    ),
    "PCK": (
        "percentage of correct keypoints",
        "Share of visible keypoints within a threshold times the diagonal of the face box, averaged over thresholds. "
        "Predictions are matched to people by their order.",
    ),
    "AR_OKS": (
        "average recall over keypoint similarity",
        "For every annotated person the best keypoint similarity of any predicted pose; the share that reaches a "
        "threshold, averaged over thresholds.",
    ),
    "AR_DET": (
        "average recall of parts",
        "For every visible part, the share of thresholds that the predicted probability reaches.",
    ),
    "ACC_DET": ("accuracy of parts", "For every part, the share of thresholds at which the model is right about it."),
    "F1": (
        "F1 of face parts",
        "Harmonic mean of precision and recall over pixels, averaged over the labels of a face.",
    ),
    "VAL": (
        "validation rate",
        "Share of pairs of one person accepted at a false accept rate of 0.001, over ten folds, with pairs drawn "
        "inside each group. With fewer than about 3,000 impostor pairs it is small whatever the model.",
    ),
    "LPIPS": ("learned perceptual distance", "Distance between two pictures in a network's features; lower is better."),
    "PSNR": ("peak signal-to-noise ratio", "In decibel; higher is better."),
    "CURRICULAR_FACE": (
        "similarity of face embeddings",
        "Product of the CurricularFace embeddings of two pictures; higher is better.",
    ),
}
ATTRIBUTES: Mapping[str, str] = {
    "pronoun": "the pronouns that a subject selected; several are possible",
    "age": "age in years when the picture was taken, in five bands",
    "ancestry": "continents and regions of ancestry that a subject selected; several are possible",
    "nationality": "nationalities that a subject selected, with the region they belong to",
    "apparent_skin_color": "skin colour in the picture, chosen by the subject from six; shown as Fitzpatrick type",
    "natural_skin_color": "natural skin colour, chosen by the subject from six; shown as Fitzpatrick type",
    "apparent_skin_color_hue_lum": "hue and lightness of the skin, measured in the picture",
    "location_country": "country in which the picture was taken, as written by the subject and cleaned",
    "user_hour_captured": "time of day at which the picture was taken, in four windows",
    "head_pose": "whether the head is turned away from the camera",
    "camera_distance": "distance of the camera, in five steps",
    "camera_position": "height of the camera relative to the subject",
    "lighting": "directions from which the head is lit",
    "weather": "weather in the picture",
    "scene": "where the picture was taken",
}
CAUTION = (
    "No evidence of a difference is not evidence of none. Groups are labels that people gave themselves or that were "
    "annotated. A verdict holds for this data set, these thresholds and this margin."
)


def attribute_meaning(name: str) -> str:
    """What an attribute means, in a few words."""
    return ATTRIBUTES.get(name, name.replace("_", " ") + ", as annotated in the data set")
