"""The protocol's switches; every default is the published protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenhand.benchmarks.fairface.normalise import Normaliser
from evenhand.core.options import Options, option


@dataclass(frozen=True)
class FaceOptions(Options):
    """Options of all three tasks."""

    split: Literal["val", "train"] = option("val", "which label file of the data folder is evaluated")
    labels: str = option("", "another name of the label file in the data folder")
    label_order: str = option("", "meaning of integer race codes: hub, script, or the seven races in order")
    subset: Literal["all", "service_test"] = option("all", "all labelled images, or the balanced service_test rows")
    family: Literal["auto", "vlm", "deepface", "fairface_csv", "csv"] = option("auto", "kind of the answer file")
    race_column: Literal["race", "race4"] = option("race", "which column of the FairFace script's CSV is the race")
    duplicates: Literal["error", "first", "last", "unknown"] = option("error", "what conflicting answers become")
    extra: Literal["ignore", "error"] = option("ignore", "answers to images that are not labelled")
    profile: Literal["full", "strict"] = option("full", "all normalisation rules, or the labels themselves only")
    multi: Literal["unknown", "first"] = option("unknown", "what an answer that names several races is (rule R7)")
    age_words: Literal["on", "off"] = option("on", "whether words such as teenager are ages (rule A8)")
    seen: Literal["yes", "no", "unknown"] = option(
        "unknown", "were these images or their labels available to the model in training?"
    )
    crop_margin: Literal["unknown", "0.25", "1.25"] = option(
        "unknown", "margin of the face crops that the model saw; FairFace publishes both"
    )
    confidence: Literal["off", "on"] = option(
        "off", "whether confidences that the answers state are judged: reliability and expected calibration error"
    )
    repeats: Literal["off", "on"] = option(
        "off", "whether agreement between repeated answers to the same question is a metric"
    )
    prompt: str = option(
        "",
        "for `predict`: all-v1 (the default), gender-v1, race-v1, age-v1, or your own text; an evaluation ignores it",
    )

    @property
    def normaliser(self) -> Normaliser:
        """The normaliser that these options ask for."""
        return Normaliser(
            first_of_several=self.multi == "first", age_words=self.age_words == "on", strict=self.profile == "strict"
        )


@dataclass(frozen=True)
class RaceTaskOptions(FaceOptions):
    """Further options of the race task."""

    taxonomy: Literal["coarse", "fine"] = option("coarse", "the six evaluated classes, or the seven of the label file")


@dataclass(frozen=True)
class AgeOptions(FaceOptions):
    """Further options of the age task."""

    age_overlap: Literal["inclusive", "strict"] = option(
        "inclusive", "which scoring convention is named first; all three are always shown"
    )
