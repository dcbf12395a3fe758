"""The three FairFace tasks: their table of contents."""

from __future__ import annotations

from typing import Any

from evenhand.benchmarks.fairface.check import check
from evenhand.benchmarks.fairface.codec import FaceCodec
from evenhand.benchmarks.fairface.data import load
from evenhand.benchmarks.fairface.demo import write_demo
from evenhand.benchmarks.fairface.metrics import LabelAgreement
from evenhand.benchmarks.fairface.names import NAMES
from evenhand.benchmarks.fairface.normalise.rules import rule_text
from evenhand.benchmarks.fairface.options import AgeOptions, FaceOptions, RaceTaskOptions
from evenhand.benchmarks.fairface.record import record_age, record_gender, record_race
from evenhand.benchmarks.fairface.sections import (
    CONTAMINATION,
    age_conventions,
    confusion,
    contamination,
    explain_ages,
    explain_labels,
    fine_race_caution,
    provenance,
    reliability,
    unknown_answers,
)
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, ATTRIBUTES, FINE_RACES, GENDERS, RACES
from evenhand.core.metric import POSITIVE, Direction, Metric
from evenhand.core.task import About, Benchmark, Question, Task
from evenhand.metrics.means import Mean, Rate
from evenhand.metrics.reliability import Reliability

_DATA = """\
DIR/fairface_label_val.csv   file,age,gender,race,service_test; a row per image
DIR/val/1.jpg …              the images; needed only to ask a model
The published file has 10,954 rows. Another of the same layout:
--set labels=NAME, or give the file itself as --data."""

_PREDICTIONS = """\
One file with an answer per image; its kind is recognised by its content:
JSON lines  {"image_path": "val/1.jpg", "raw_output": "...", "status": "ok"}
            free text or JSON of a model; also what chat servers, OpenAI Batch,
            HuggingFace pipelines, LLaVA, ms-swift and lmms-eval write
DeepFace    the same with DeepFace's dictionaries
FairFace    the CSV of the FairFace script (face_name_align,race,race4,...)
tables      CSV, TSV, semicolons, Parquet or Excel: a column for the image and
            gender, race, age (or gender_pred, ...), or one column of text
Any of them compressed by gzip; a folder may have a file per attribute.
The page of the family lists every shape. Keys may be val/12.jpg,
/any/where/val/12.jpg, 12.jpg or 12; a path through another split's folder
matches nothing."""

_CONVENTIONS = (
    "Every labelled image counts. One without a usable answer is unknown, and unknown is wrong.",
    "Groups are FairFace's labels, never predictions.",
    "The labels are what annotators saw in a picture, not what people say of themselves.",
)
_LICENCE = (
    "FairFace labels and images: CC BY 4.0 (Kärkkäinen and Joo, WACV 2021). "
    "Cite the paper; keep the images to yourself."
)


def _about(attribute: str, *more: str) -> About:
    return About(
        data=_DATA,
        predictions=_PREDICTIONS,
        rows="a labelled face: truth, answer, what was said, the rule that read it, the reason when unknown",
        unit="image; FairFace has no subject identifiers, so images are taken as independent",
        conventions=(*_CONVENTIONS, *more),
        licence=_LICENCE,
        cautions=(CONTAMINATION,),
        rules=rule_text(attribute),
    )


def _refusals() -> Metric[Any]:
    return Rate("refusals", "refused", direction=Direction.LOWER, nothing="the group has no faces")


def _confidences(options: FaceOptions) -> tuple[Metric[Any], ...]:
    repeated = Mean("repeat_agreement", "repeat_agreement", Direction.HIGHER, nothing="no question was asked again")
    return (
        *((Reliability("confidence"),) if options.confidence == "on" else ()),
        *((repeated,) if options.repeats == "on" else ()),
    )


def _gender_metrics(options: FaceOptions) -> tuple[Metric[Any], ...]:
    return LabelAgreement("gender", GENDERS), _refusals(), *_confidences(options)


def _race_metrics(options: RaceTaskOptions) -> tuple[Metric[Any], ...]:
    if options.taxonomy == "coarse":
        return LabelAgreement("race", RACES), _refusals(), *_confidences(options)
    unspecified = Rate("asian_unspecified", "asian_unspecified", direction=Direction.NEITHER)
    return LabelAgreement("race", FINE_RACES), unspecified, _refusals(), *_confidences(options)


def _age_metrics(options: AgeOptions) -> tuple[Metric[Any], ...]:
    nobody = "the group has no faces"
    literal = Rate("bin_overlap_accuracy_inclusive", "overlaps", output="accuracy", nothing=nobody)
    strict = Rate("bin_overlap_accuracy_touch_excluded", "overlaps_beyond_touch", output="accuracy", nothing=nobody)
    readings = (literal, strict) if options.age_overlap == "inclusive" else (strict, literal)
    return (
        *readings,
        LabelAgreement("single_bin", AGE_BINS, brief=True),
        Mean("bins_covered", "bins_covered", Direction.NEITHER, nothing="no answer names an age", scale=POSITIVE),
        Rate(
            "open_ended", "open_ended", direction=Direction.NEITHER, among="answered", nothing="no answer names an age"
        ),
        Rate("within_one_bin", "within_one_bin", nothing=nobody),
        Mean(
            "bin_distance",
            "bin_distance",
            Direction.LOWER,
            nothing="no answer can be reduced to one bin",
            scale=POSITIVE,
        ),
        Rate("unknown", "unknown", direction=Direction.LOWER, nothing=nobody),
        _refusals(),
        *_confidences(options),
    )


gender = Task(
    name="fairface/gender",
    summary="Name the gender that FairFace's annotators gave a face.",
    load=load,
    codec=FaceCodec("gender"),
    options=FaceOptions,
    about=_about("gender"),
    record=record_gender,
    metrics=_gender_metrics,
    attributes=ATTRIBUTES,
    headline=("gender", "accuracy"),
    sections=(contamination, confusion, reliability, unknown_answers, provenance),
    check=check,
    explain=explain_labels,
)

race = Task(
    name="fairface/race",
    summary="Name the race that FairFace's annotators gave a face: six classes, or seven with --set taxonomy=fine.",
    load=load,
    codec=FaceCodec("race"),
    options=RaceTaskOptions,
    about=_about("race", "East Asian and Southeast Asian are one class, Asian, unless --set taxonomy=fine."),
    record=record_race,
    metrics=_race_metrics,
    attributes=ATTRIBUTES,
    headline=("race", "accuracy"),
    sections=(contamination, fine_race_caution, confusion, reliability, unknown_answers, provenance),
    check=check,
    explain=explain_labels,
)

age = Task(
    name="fairface/age",
    summary="Name the age bin that FairFace's annotators gave a face; a number, a range or words will do.",
    load=load,
    codec=FaceCodec("age"),
    options=AgeOptions,
    about=_about(
        "age",
        "An age is right when it overlaps the true bin (taken literally; the headline). Beside it always: the "
        "convention that does not count a mere touch of end points, and the one that reduces an answer to one bin.",
    ),
    record=record_age,
    metrics=_age_metrics,
    attributes=ATTRIBUTES,
    headline=("bin_overlap_accuracy_inclusive", "accuracy"),
    sections=(contamination, age_conventions, confusion, reliability, unknown_answers, provenance),
    check=check,
    explain=explain_ages,
)

everything = Question(
    name="fairface",
    summary="Ask a model about gender, race and age at once; the answers are evaluated by the three tasks.",
    load=load,
    codec=FaceCodec(),
    options=FaceOptions,
    about=About(data=_DATA, predictions=_PREDICTIONS, licence=_LICENCE, cautions=(CONTAMINATION,)),
)

benchmark = Benchmark(
    "fairface",
    summary="Gender, race and age of FairFace's faces, from any kind of answer.",
    tasks=(gender, race, age),
    questions=(everything,),
    demo=write_demo,
    names=NAMES,
)
