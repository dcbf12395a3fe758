"""The table of contents: eight tests, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.ijb.about import (
    CLUSTERING,
    COVARIATES,
    DETECTION,
    DETECTION_CLUSTERING,
    FACES,
    SEARCH,
    VERIFICATION,
    VIDEOS,
)
from evenhand.benchmarks.ijb.check import against_published
from evenhand.benchmarks.ijb.clusters import (
    ClusterCodec,
    DetectionClusterCodec,
    load_clustering,
    load_detection_clustering,
    record_clusters,
    record_detection_clusters,
)
from evenhand.benchmarks.ijb.codec import PairCodec, SearchCodec, limits_of, pair_cost, search_cost
from evenhand.benchmarks.ijb.conventions import (
    conventions_section,
    search_conventions,
    verification_conventions,
)
from evenhand.benchmarks.ijb.data import load_covariates, load_search, load_verification
from evenhand.benchmarks.ijb.detection import FaceDetectionCodec, load_detection, record_detections
from evenhand.benchmarks.ijb.detection_metric import DetectionRates
from evenhand.benchmarks.ijb.differentials import differentials_section
from evenhand.benchmarks.ijb.faces import FaceFolderCodec, VideoCodec, load_faces, load_videos
from evenhand.benchmarks.ijb.figures import confidence_curve, confidence_section, histogram_section
from evenhand.benchmarks.ijb.legacy import ListStyleSearch, MergedGallerySearch
from evenhand.benchmarks.ijb.options import (
    ClusteringOptions,
    CovariateOptions,
    DetectionClusteringOptions,
    FaceDetectionOptions,
    FaceQuestionOptions,
    SearchOptions,
    VerificationOptions,
)
from evenhand.benchmarks.ijb.papers import search_papers, verification_papers
from evenhand.benchmarks.ijb.record import LEGACY_RATES, record_pairs, record_searches
from evenhand.benchmarks.ijb.splits import splits_section
from evenhand.benchmarks.ijb.variants import explain, explain_target
from evenhand.benchmarks.ijb.view import search_badness, view_pair, view_search
from evenhand.core.metric import Metric
from evenhand.core.names import DisplayNames
from evenhand.core.task import Benchmark, Demo, Question, Task, check_with
from evenhand.metrics.clustering import BCubed
from evenhand.metrics.counts import Counts
from evenhand.metrics.curves import Event
from evenhand.metrics.names import VERIFICATION_VALUES
from evenhand.metrics.operating_points import Convention
from evenhand.metrics.search import Cmc, OpenSetSearch, tpir_name
from evenhand.metrics.strata import Stratified
from evenhand.metrics.verification import Separation, Verification, misplacement, tar_name

Metrics = tuple[Metric[Any], ...]


def verification_metrics(options: VerificationOptions | CovariateOptions) -> Metrics:
    """TAR at FAR with shared thresholds, AUC and EER with their curves, and counts; means over splits for IJB-A."""
    conventions = tuple(Convention(name) for name in options.conventions)
    found: list[Metric[Any]] = [
        Verification("verification", options.far, conventions, options.fte),
        Separation("separation", options.fte),
    ]
    splits = getattr(options, "splits", ())
    if splits:
        found = [
            Stratified(metric.name, metric, "split", tuple(f"split {number}" for number in splits)) for metric in found
        ]
    unless = "failed" if options.fte == "exclude" else None
    sorts = (("genuine", "same", True), ("impostor", "same", False), ("failures to enrol", "failed", True))
    return (*found, Counts("comparisons", sorts, unless))


def search_metrics(options: SearchOptions) -> Metrics:
    """CMC, TPIR at FPIR and counts; the conventions of public scripts on request."""
    limits = limits_of(options)
    sorts = (("mated", "mated", True), ("non-mated", "mated", False), ("failures to enrol", "failed", True))
    found: Metrics = (
        OpenSetSearch("search", options.fpir, limits, options.ties, options.combine),
        Cmc("CMC", options.ranks, options.ties, options.combine, depth=options.cmc_depth or options.list_length),
        Counts("searches", sorts, unless="uncounted"),
    )
    if options.legacy:
        found += (
            ListStyleSearch("legacy: insightface open-set script", options.fpir),
            MergedGallerySearch("legacy: merged gallery", LEGACY_RATES),
        )
    return found


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


def clustering_metrics(options: ClusteringOptions) -> Metrics:
    """BCubed with failures to enrol, and without."""
    return (
        BCubed("BCubed"),
        BCubed("BCubed without FTE", recall="recall_enrolled", among="enrolled"),
        Counts("faces", (("enrolled", "enrolled", True), ("failures to enrol", "enrolled", False))),
    )


def detection_clustering_metrics(options: DetectionClusteringOptions) -> Metrics:
    """The three conventions for failures to enrol: all count, none counts, those that were not detected count."""
    return (
        BCubed("BCubed"),
        BCubed("BCubed without FTE", recall="recall_enrolled", among="enrolled"),
        BCubed("BCubed without assigned FTE", recall="recall_assigned", among="not_assigned_failure"),
        Counts(
            "faces",
            (
                ("enrolled", "enrolled", True),
                ("failures to enrol", "enrolled", False),
                ("detected", "detected", True),
                ("undetected", "detected", False),
            ),
        ),
    )


def _task(number: int, alias: str, **entries: Any) -> Task[Any, Any]:
    return Task(
        name=f"ijb/test{number}",
        aliases=(f"ijb/{alias}",),
        check=check_with(entries["load"], entries["codec"], partial(against_published, number)),
        explain=explain,
        explain_target=explain_target,
        **entries,
    )


def _search_task(number: int, kind: str, summary: str) -> Task[Any, Any]:
    return _task(
        number,
        f"search_{kind}",
        summary=summary,
        load=partial(load_search, kind),
        codec=SearchCodec(),
        options=SearchOptions,
        about=SEARCH,
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
    _task(
        1,
        "verification",
        summary="Compare templates of mixed media one to one.",
        load=load_verification,
        codec=PairCodec(),
        options=VerificationOptions,
        about=VERIFICATION,
        record=record_pairs,
        view=view_pair,
        badness=misplacement,
        cost=pair_cost,
        metrics=verification_metrics,
        attributes=("gender",),
        headline=("verification", tar_name(1e-4)),
        sections=(conventions_section, histogram_section, splits_section, differentials_section, verification_papers),
        extras=verification_conventions,
        store_rows=False,
    ),
    _task(
        2,
        "covariates",
        summary="Compare single faces one to one, split by what was annotated of them.",
        load=load_covariates,
        codec=PairCodec(),
        options=CovariateOptions,
        about=COVARIATES,
        record=record_pairs,
        view=view_pair,
        badness=misplacement,
        cost=pair_cost,
        metrics=verification_metrics,
        attributes=("gender", "skin_tone_match", "age_match", "indoor_match", "yaw_difference"),
        headline=("verification", tar_name(1e-3)),
        sections=(conventions_section, histogram_section, differentials_section),
        extras=verification_conventions,
        store_rows=False,
    ),
    _search_task(3, "image", "Search probes of still images in two galleries, open set."),
    _search_task(4, "mixed", "Search probes of stills and frames in two galleries, open set."),
    _search_task(5, "video", "Search probes of full-motion video in two galleries, open set."),
    _task(
        6,
        "detection",
        summary="Find all faces in images, and none in images without.",
        load=load_detection,
        codec=FaceDetectionCodec(),
        options=FaceDetectionOptions,
        about=DETECTION,
        record=record_detections,
        metrics=detection_metrics,
        attributes=("medium",),
        headline=("detection", "TPR@FPPI=0.1"),
    ),
    _task(
        7,
        "clustering",
        summary="Cluster given faces by person.",
        load=load_clustering,
        codec=ClusterCodec(),
        options=ClusteringOptions,
        about=CLUSTERING,
        record=record_clusters,
        metrics=clustering_metrics,
        attributes=("gender", "skin_tone"),
        headline=("BCubed", "F"),
        sections=(confidence_section,),
        extras=confidence_curve,
    ),
    _task(
        8,
        "detection_clustering",
        summary="Detect all faces in a pile of media and cluster them by person.",
        load=load_detection_clustering,
        codec=DetectionClusterCodec(),
        options=DetectionClusteringOptions,
        about=DETECTION_CLUSTERING,
        record=record_detection_clusters,
        metrics=detection_clustering_metrics,
        attributes=("gender", "skin_tone"),
        headline=("BCubed", "F"),
    ),
)

QUESTIONS: tuple[Question[Any, Any], ...] = (
    Question(
        name="ijb/faces",
        summary="Embed every face of the protocols; the answers serve tests 1 to 5 and 7.",
        load=load_faces,
        codec=FaceFolderCodec(),
        options=FaceQuestionOptions,
        about=FACES,
        serves="ijb/test1",
    ),
    Question(
        name="ijb/videos",
        summary="Track and embed the person of each video probe of test 5.",
        load=load_videos,
        codec=VideoCodec(),
        about=VIDEOS,
        serves="ijb/test5",
    ),
)


NAMES = DisplayNames(
    family="IJB",
    values=(
        (r"\w+: TPIR@FPIR=(\S+), rank (\d+)", r"TPIR at FPIR \1, rank \2"),
        (r"\w+: TPIR@FPIR=(\S+), top (\d+)", r"TPIR at FPIR \1, among the first \2"),
        *VERIFICATION_VALUES,
        (r"CMC: rank (\d+)", r"Rank-\1 identification rate"),
        ("CMC: curve", "Identification rate by rank (CMC)"),
        (r"search: TPIR@FPIR=(\S+), any rank", r"TPIR at FPIR \1, any rank"),
        (r"search: (FNIR|FPIR)@overall FPIR=(\S+)", r"\1 at the threshold of FPIR \2"),
        (r"searches: (.*)", r"Searches, \1"),
    ),
    shares=(r".*: (TPIR|TAR|rank|FNIR|FPIR|TMR|FMR|FNMR)\b.*",),
    tasks={
        "ijb/test1": "IJB: 1:1 verification (test 1)",
        "ijb/test2": "IJB: verification by covariate (test 2)",
        "ijb/test3": "IJB: search of still images (test 3)",
        "ijb/test4": "IJB: search of mixed media (test 4)",
        "ijb/test5": "IJB: search of video (test 5)",
        "ijb/test6": "IJB: face detection (test 6)",
        "ijb/test7": "IJB: clustering (test 7)",
        "ijb/test8": "IJB: detection and clustering (test 8)",
    },
    items="comparisons",
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
    names=NAMES,
)
