"""The table of contents: eight tests, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.ijb.clusters import (
    ALL,
    WITHOUT_ASSIGNED,
    WITHOUT_FAILURES,
    ClusterCodec,
    DetectionClusterCodec,
    load_clustering,
    load_detection_clustering,
    record_clusters,
    record_detection_clusters,
)
from evenhand.benchmarks.ijb.codec import PairCodec, SearchCodec, limits_of, pair_cost, search_cost
from evenhand.benchmarks.ijb.conventions import conventions_section, search_conventions, verification_conventions
from evenhand.benchmarks.ijb.data import load_covariates, load_search, load_verification
from evenhand.benchmarks.ijb.detection import FaceDetectionCodec, load_detection, record_detections
from evenhand.benchmarks.ijb.faces import FaceFolderCodec, VideoCodec, load_faces, load_videos
from evenhand.benchmarks.ijb.metrics import DetectionRates, ListStyleSearch, MergedGallerySearch
from evenhand.benchmarks.ijb.options import (
    ClusteringOptions,
    CovariateOptions,
    DetectionClusteringOptions,
    FaceDetectionOptions,
    FaceQuestionOptions,
    SearchOptions,
    VerificationOptions,
)
from evenhand.benchmarks.ijb.record import LEGACY_RATES, record_pairs, record_searches
from evenhand.benchmarks.ijb.sections import (
    confidence_curve,
    confidence_section,
    differentials_section,
    histogram_section,
    search_papers,
    splits_section,
    verification_papers,
)
from evenhand.benchmarks.ijb.variants import explain, explain_target
from evenhand.benchmarks.ijb.view import search_badness, view_pair, view_search
from evenhand.core.metric import Metric
from evenhand.core.task import (
    Benchmark,
    CheckReport,
    Dataset,
    Demo,
    Finding,
    Question,
    Task,
    check_with,
    count_words,
    counts_of,
)
from evenhand.files.packaged import FamilyTexts, packaged_table
from evenhand.metrics.curves import Event
from evenhand.metrics.means import Counts
from evenhand.metrics.operating_points import Convention
from evenhand.metrics.search import Cmc, OpenSetSearch, tpir_name
from evenhand.metrics.strata import Stratified
from evenhand.metrics.verification import VERIFICATION_VALUES, Separation, Verification, misplacement, tar_name

Metrics = tuple[Metric[Any], ...]
TEXTS = FamilyTexts(__package__)
_FACE_COUNTS = (("enrolled", "enrolled", True), ("failures to enrol", "enrolled", False))
_DETECTED_COUNTS = (("detected", "detected", True), ("undetected", "detected", False))


def verification_metrics(options: VerificationOptions | CovariateOptions) -> Metrics:
    """TAR at FAR with shared thresholds, AUC and EER with their curves, and counts; means over splits for IJB-A."""
    conventions = tuple(Convention(name) for name in options.conventions)
    rates: Metrics = (
        Verification("verification", options.far, conventions, options.fte),
        Separation("separation", options.fte),
    )
    if isinstance(options, VerificationOptions) and options.splits:
        splits = tuple(f"split {number}" for number in options.splits)
        rates = tuple(Stratified(metric.name, metric, "split", splits) for metric in rates)
    unless = "failed" if options.fte == "exclude" else None
    sorts = (("genuine", "same", True), ("impostor", "same", False), ("failures to enrol", "failed", True))
    return (*rates, Counts("comparisons", sorts, unless))


def search_metrics(options: SearchOptions) -> Metrics:
    """CMC, TPIR at FPIR and counts; the conventions of public scripts on request."""
    limits = limits_of(options)
    sorts = (("mated", "mated", True), ("non-mated", "mated", False), ("failures to enrol", "failed", True))
    metrics: Metrics = (
        OpenSetSearch("search", options.fpir, limits, options.ties, options.combine),
        Cmc("CMC", options.ranks, options.ties, options.combine, depth=options.cmc_depth or options.list_length),
        Counts("searches", sorts, unless="uncounted"),
    )
    if options.legacy:
        metrics += (
            ListStyleSearch("legacy: insightface open-set script", options.fpir),
            MergedGallerySearch("legacy: merged gallery", LEGACY_RATES),
        )
    return metrics


def detection_metrics(options: FaceDetectionOptions) -> Metrics:
    """TPR at false positives per image, AP, and counts."""
    sorts = (
        ("images", "kind", int(Event.IMAGE)),
        ("faces", "faces", 1),
        ("detections", "detections", 1),
        ("found", "kind", int(Event.FOUND)),
        ("missed", "kind", int(Event.MISSED)),
        ("false alarms", "kind", int(Event.FALSE_ALARM)),
    )
    return (DetectionRates("detection", options.fppi), Counts("events", sorts))


def against_published(test: str, dataset: Dataset[Any], data: Path, options: Any) -> CheckReport:
    """How the counts of a data folder differ from those of the published release."""
    expected = packaged_table(__package__, "published.toml").get(dataset.version, {}).get(test)
    differences = [
        f"{name}: {count_words(dataset.facts.get(name))} here, {count_words(value)} in the published release."
        for name, value in (expected or {}).items()
        if dataset.facts.get(name) != value
    ]
    findings = [Finding("warning", str(data), message) for message in differences]
    where = f"{dataset.version}, test {test.removeprefix('test')}"
    if expected is None:
        findings.append(Finding("note", str(data), f"No published counts are known of {where}."))
    elif not differences:
        findings.append(Finding("note", str(data), f"All counts are those of the published {where}."))
    return CheckReport(tuple(findings), tables=counts_of(dataset))


def _task(name: str, load: Any, codec: Any, **entries: Any) -> Task[Any, Any]:
    return Task(
        **TEXTS.task(name),
        load=load,
        codec=codec,
        check=check_with(load, codec, partial(against_published, name)),
        explain=explain,
        explain_target=explain_target,
        **entries,
    )


def _pair_task(name: str, load: Any, **entries: Any) -> Task[Any, Any]:
    return _task(
        name,
        load,
        PairCodec(),
        record=record_pairs,
        view=view_pair,
        badness=misplacement,
        cost=pair_cost,
        metrics=verification_metrics,
        extras=verification_conventions,
        store_rows=False,
        **entries,
    )


def _search_task(name: str, kind: str) -> Task[Any, Any]:
    return _task(
        name,
        partial(load_search, kind),
        SearchCodec(),
        options=SearchOptions,
        record=record_searches,
        view=view_search,
        badness=search_badness,
        cost=search_cost,
        metrics=search_metrics,
        attributes=("gallery", "gender", "skin_tone"),
        headline=("search", tpir_name(0.01, 1)),
        sections=(conventions_section, histogram_section, splits_section, search_papers),
        extras=search_conventions,
    )


TASKS: tuple[Task[Any, Any], ...] = (
    _pair_task(
        "test1",
        load_verification,
        options=VerificationOptions,
        attributes=("gender",),
        headline=("verification", tar_name(1e-4)),
        sections=(conventions_section, histogram_section, splits_section, differentials_section, verification_papers),
    ),
    _pair_task(
        "test2",
        load_covariates,
        options=CovariateOptions,
        attributes=("gender", "skin_tone_match", "age_match", "indoor_match", "yaw_difference"),
        headline=("verification", tar_name(1e-3)),
        sections=(conventions_section, histogram_section, differentials_section),
    ),
    _search_task("test3", "image"),
    _search_task("test4", "mixed"),
    _search_task("test5", "video"),
    _task(
        "test6",
        load_detection,
        FaceDetectionCodec(),
        options=FaceDetectionOptions,
        record=record_detections,
        metrics=detection_metrics,
        attributes=("medium",),
        headline=("detection", "TPR@FPPI=0.1"),
    ),
    _task(
        "test7",
        load_clustering,
        ClusterCodec(),
        options=ClusteringOptions,
        record=record_clusters,
        metrics=lambda options: (ALL, WITHOUT_FAILURES, Counts("faces", _FACE_COUNTS)),
        attributes=("gender", "skin_tone"),
        headline=("BCubed", "F"),
        sections=(confidence_section,),
        extras=confidence_curve,
    ),
    _task(
        "test8",
        load_detection_clustering,
        DetectionClusterCodec(),
        options=DetectionClusteringOptions,
        record=record_detection_clusters,
        metrics=lambda options: (
            ALL,
            WITHOUT_FAILURES,
            WITHOUT_ASSIGNED,
            Counts("faces", (*_FACE_COUNTS, *_DETECTED_COUNTS)),
        ),
        attributes=("gender", "skin_tone"),
        headline=("BCubed", "F"),
    ),
)

QUESTIONS: tuple[Question[Any, Any], ...] = (
    Question(
        **TEXTS.task("faces"),
        load=load_faces,
        codec=FaceFolderCodec(),
        options=FaceQuestionOptions,
        serves="ijb/test1",
    ),
    Question(**TEXTS.task("videos"), load=load_videos, codec=VideoCodec(), serves="ijb/test5"),
)


def demo(folder: Path) -> Sequence[Demo]:
    """Small data with a planted truth."""
    from evenhand.benchmarks.ijb.demo import write_demo

    return write_demo(folder)


benchmark = Benchmark(
    name="ijb",
    summary="IJB-A, IJB-B and IJB-C: verification, search, detection and clustering of faces in the wild.",
    tasks=TASKS,
    questions=QUESTIONS,
    demo=demo,
    names=TEXTS.names(*VERIFICATION_VALUES),
)
