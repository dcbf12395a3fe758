"""The three FairFace tasks: their table of contents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from evenhand.benchmarks.fairface import sections
from evenhand.benchmarks.fairface.check import check
from evenhand.benchmarks.fairface.codec import FaceCodec
from evenhand.benchmarks.fairface.data import Faces, load
from evenhand.benchmarks.fairface.demo import write_demo
from evenhand.benchmarks.fairface.image_answers import ImageAnswer
from evenhand.benchmarks.fairface.metrics import LabelAgreement
from evenhand.benchmarks.fairface.normalise.rules import rule_text
from evenhand.benchmarks.fairface.options import AgeOptions, FaceOptions, RaceTaskOptions
from evenhand.benchmarks.fairface.record import record
from evenhand.benchmarks.fairface.sections import TEXTS
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, ATTRIBUTES, FINE_RACES, GENDERS, RACES
from evenhand.core.metric import POSITIVE, Direction, Metric
from evenhand.core.names import DisplayNames
from evenhand.core.page import Section
from evenhand.core.results import Results
from evenhand.core.task import About, Answers, Benchmark, Question, Task
from evenhand.metrics.means import Mean, Rate
from evenhand.metrics.reliability import Reliability

_NOBODY: Final = "the group has no faces"
_NO_AGE: Final = "no answer names an age"
_NO_BIN: Final = "no answer can be reduced to one bin"


def _further_metrics(options: FaceOptions) -> tuple[Metric[Any], ...]:
    repeated = Mean("repeat_agreement", "repeat_agreement", Direction.HIGHER, nothing="no question was asked again")
    return (
        Rate("refusals", "refused", direction=Direction.LOWER, nothing=_NOBODY),
        *((Reliability("confidence"),) if options.confidence == "on" else ()),
        *((repeated,) if options.repeats == "on" else ()),
    )


def _gender_metrics(options: FaceOptions) -> tuple[Metric[Any], ...]:
    return LabelAgreement("gender", GENDERS), *_further_metrics(options)


def _race_metrics(options: RaceTaskOptions) -> tuple[Metric[Any], ...]:
    if options.taxonomy == "coarse":
        return LabelAgreement("race", RACES), *_further_metrics(options)
    unspecified = Rate("asian_unspecified", "asian_unspecified", direction=Direction.NEITHER)
    return LabelAgreement("race", FINE_RACES), unspecified, *_further_metrics(options)


def _age_metrics(options: AgeOptions) -> tuple[Metric[Any], ...]:
    literal = Rate("bin_overlap_accuracy_inclusive", "overlaps", output="accuracy", nothing=_NOBODY)
    strict = Rate("bin_overlap_accuracy_touch_excluded", "overlaps_beyond_touch", output="accuracy", nothing=_NOBODY)
    readings = (literal, strict) if options.age_overlap == "inclusive" else (strict, literal)
    return (
        *readings,
        LabelAgreement("single_bin", AGE_BINS, brief=True),
        Mean("bins_covered", "bins_covered", Direction.NEITHER, nothing=_NO_AGE, scale=POSITIVE),
        Rate("open_ended", "open_ended", direction=Direction.NEITHER, among="answered", nothing=_NO_AGE),
        Rate("within_one_bin", "within_one_bin", nothing=_NOBODY),
        Mean("bin_distance", "bin_distance", Direction.LOWER, nothing=_NO_BIN, scale=POSITIVE),
        Rate("unknown", "unknown", direction=Direction.LOWER, nothing=_NOBODY),
        *_further_metrics(options),
    )


def _about(**more: Any) -> About:
    return About(**TEXTS["about"], cautions=(TEXTS["contamination"],), **more)


def _task(
    attribute: str,
    options: type[FaceOptions],
    metrics: Callable[[Any], tuple[Metric[Any], ...]],
    *own_sections: Callable[[Results], Section | None],
    headline: str = "",
    explain: Callable[[Any], Section] = sections.explain_labels,
) -> Task[Faces, Answers[ImageAnswer]]:
    texts, rows = TEXTS["tasks"][attribute], TEXTS["rows"]
    conventions = (*rows["conventions"], *texts["conventions"])
    return Task(
        name=f"fairface/{attribute}",
        summary=texts["summary"],
        load=load,
        codec=FaceCodec(attribute),
        options=options,
        about=_about(rows=rows["rows"], unit=rows["unit"], conventions=conventions, rules=rule_text(attribute)),
        record=partial(record, attribute),
        metrics=metrics,
        attributes=ATTRIBUTES,
        headline=(headline or attribute, "accuracy"),
        sections=(
            sections.contamination,
            *own_sections,
            sections.confusion,
            sections.reliability,
            sections.unknown_answers,
            sections.provenance,
        ),
        check=check,
        explain=explain,
    )


gender = _task("gender", FaceOptions, _gender_metrics)
race = _task("race", RaceTaskOptions, _race_metrics, sections.fine_race_caution)
age = _task(
    "age",
    AgeOptions,
    _age_metrics,
    sections.age_conventions,
    headline="bin_overlap_accuracy_inclusive",
    explain=sections.explain_ages,
)
everything = Question(
    name="fairface",
    summary="Ask a model about gender, race and age at once; the answers are evaluated by the three tasks.",
    load=load,
    codec=FaceCodec(),
    options=FaceOptions,
    about=_about(),
)
benchmark = Benchmark(
    "fairface",
    summary="Gender, race and age of FairFace's faces, from any kind of answer.",
    tasks=(gender, race, age),
    questions=(everything,),
    demo=write_demo,
    names=DisplayNames(**TEXTS["names"]),
)
