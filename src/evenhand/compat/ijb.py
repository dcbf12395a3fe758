"""`evenhand ijb …`: the cluster scripts of the dataset's guide, and a converter of protocol files.

```text
evenhand ijb modified_bcubed             cluster_file            ground_truth [-no_fte] [-h]
evenhand ijb association_modified_bcubed detection_cluster_file  ground_truth [-no_fte] [-h]
evenhand ijb to_lists                    DATA OUTPUT [--faces faces.csv]
evenhand ijb to_official                 LISTS OUTPUT
evenhand ijb cluster                     SUBMISSION --data DATA --output FILE [--test 8] [--threshold 0.4]
evenhand ijb stream                      SCORES.npy LABELS.npy [SCORES.npy LABELS.npy …] [--far 1e-6,1e-4]
```

Precision, recall and F are printed with six decimals (IJB-B README, 5); `--json` prints all
counts. Malformed input ends with one line that names file, line and column, and code 2.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand.core.command_line import CommandParser
from evenhand.core.errors import EvenhandError, OptionError
from evenhand.core.metric import Undefined
from evenhand.core.printing import printable_lines
from evenhand.files.writing import PathPolicy


class IjbCommand:
    """The command `ijb` with its parts."""

    name = "ijb"
    summary = "The cluster scripts of IJB-B, a converter of protocol files and a clustering baseline."

    def main(self, argv: Sequence[str]) -> int:
        """Run a command line; 0 when it was done, 2 when the input can't be used."""
        parser = _parser()
        given = parser.parse_args(list(argv))
        try:
            lines: list[str] = given.run(given)
        except EvenhandError as error:
            sys.stderr.write(f"{error}\n")
            return 2
        sys.stdout.write("".join(f"{printable_lines(line)}\n" for line in lines))
        return 0


command = IjbCommand()


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="evenhand ijb", description=IjbCommand.summary)
    parts = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    seven = parts.add_parser("modified_bcubed", help="BCubed of test 7: clusters of given faces")
    seven.add_argument("cluster_file", type=Path, help="TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE")
    seven.add_argument("ground_truth", type=Path, help="TEMPLATE_ID,SUBJECT_ID,FILENAME")
    _scoring(seven)
    seven.set_defaults(run=_modified)
    eight = parts.add_parser("association_modified_bcubed", help="BCubed of test 8: clusters of detections")
    eight.add_argument(
        "detection_cluster_file",
        type=Path,
        help="TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT",
    )
    eight.add_argument("ground_truth", type=Path, help="SUBJECT_ID,FILENAME,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT")
    _scoring(eight)
    eight.add_argument("--assigned-only", action="store_true", help="with -no_fte: keep undetected faces as zeros")
    eight.add_argument("--iou", type=float, default=0.5, help="smallest overlap that attaches a detection (0.5)")
    eight.set_defaults(run=_association)
    lists = parts.add_parser("to_lists", help="write the community's list files from the official ones")
    lists.add_argument("data", type=Path, help="folder with protocol/ or protocols/")
    lists.add_argument("output", type=Path, help="folder to write into")
    lists.add_argument("--faces", type=Path, default=None, help="faces.csv with FACE_SCORE, for detector scores")
    lists.set_defaults(run=_to_lists)
    official = parts.add_parser("to_official", help="write official CSVs of test 1 from list files")
    official.add_argument("data", type=Path, help="folder with the list files")
    official.add_argument("output", type=Path, help="folder to write into")
    official.set_defaults(run=_to_official)
    cluster = parts.add_parser("cluster", help="cluster the faces of test 7 or 8 by a simple baseline")
    cluster.add_argument(
        "submission",
        type=Path,
        help="test 7: folder or TOML with embeddings and faces; test 8: folder with detections and their embeddings",
    )
    cluster.add_argument("--data", type=Path, required=True, help="folder with protocol/")
    cluster.add_argument("--output", type=Path, required=True, help="cluster file to write")
    cluster.add_argument("--test", type=int, choices=(7, 8), default=7, help="given faces (7) or detections (8)")
    cluster.add_argument(
        "--subjects", type=int, default=None, help="the sub-protocol of test 7; the largest by default"
    )
    cluster.add_argument("--threshold", type=float, default=None, help="cosine to join at, in place of the hint")
    cluster.set_defaults(run=_cluster)
    stream = parts.add_parser("stream", help="operating points of more scores than fit into memory")
    stream.add_argument("files", type=Path, nargs="+", help="scores.npy and labels.npy, any number of such shards")
    stream.add_argument("--far", default="1e-6,1e-5,1e-4,1e-3,1e-2,1e-1", help="false accept rates")
    stream.add_argument(
        "--convention",
        default="exact",
        choices=("exact", "at_impostor", "nearest", "nearest_full_curve", "linear"),
        help="how TAR is read at FAR (exact)",
    )
    stream.add_argument("--json", action="store_true", help="print everything as JSON")
    stream.set_defaults(run=_stream)
    pairs = parts.add_parser(
        "all_pairs", help="error rates over all pairs of many embeddings, by group, at one threshold"
    )
    pairs.add_argument("embeddings", type=Path, help="a .npy or Parquet file, or a folder of them")
    pairs.add_argument("people", type=Path, help="table with PERSON and, where known, GROUP, one line per embedding")
    pairs.add_argument("--far", default="1e-6,1e-5,1e-4,1e-3,1e-2", help="false match rates")
    pairs.add_argument("--engine", default="serial", help="serial, threads:N, processes:N or ray")
    pairs.add_argument("--json", action="store_true", help="print everything as JSON")
    pairs.set_defaults(run=_all_pairs)
    return parser


def _scoring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-no_fte", "--no-fte", "--no_fte", dest="no_fte", action="store_true", help="ignore all FTEs")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def _modified(given: argparse.Namespace) -> list[str]:
    from evenhand.benchmarks.ijb.cluster_reports import report_clusters

    return _lines(report_clusters(given.cluster_file, given.ground_truth, no_fte=given.no_fte), given.json)


def _association(given: argparse.Namespace) -> list[str]:
    from evenhand.benchmarks.ijb.cluster_reports import report_association

    if given.assigned_only and not given.no_fte:
        raise OptionError("--assigned-only says which failures -no_fte leaves out: give -no_fte too.")
    if not 0 < given.iou <= 1:
        raise OptionError(f"--iou {given.iou:g}: an overlap above 0 and up to 1 was expected.")
    report = report_association(
        given.detection_cluster_file,
        given.ground_truth,
        no_fte=given.no_fte,
        assigned_only=given.assigned_only,
        iou=given.iou,
    )
    for warning in report.warnings:
        sys.stderr.write(f"warning: {printable_lines(warning)}\n")
    return _lines(report, given.json)


def _lines(report: Any, as_json: bool) -> list[str]:
    plain = asdict(report)
    for name in ("precision", "recall", "f"):
        if isinstance(getattr(report, name), Undefined):
            plain[name] = None
    if "association" in plain:
        plain["association"] = [
            {"ground_truth_row": face, "detection_row": detection} for face, detection in report.association
        ]
    if as_json:
        return [json.dumps(plain, indent=1)]
    shown = {"precision": report.precision, "recall": report.recall, "F": report.f}
    return [f"{name}: {value if isinstance(value, Undefined) else f'{value:.6f}'}" for name, value in shown.items()]


def _check_output(output: Path, *inputs: Path | None) -> None:
    """Raise OptionError when an output, or a file in an output folder, is one of the files that are read."""
    outputs = sorted(output.iterdir()) if output.is_dir() else [output]
    read = [(path, "what is read") for path in inputs if path is not None]
    PathPolicy(read, [(path, "the output") for path in outputs]).check()


def _to_lists(given: argparse.Namespace) -> list[str]:
    from evenhand.benchmarks.ijb.convert import to_lists

    _check_output(given.output, given.data, given.faces)
    return [f"wrote {path}" for path in to_lists(given.data, given.output, faces=given.faces)]


def _to_official(given: argparse.Namespace) -> list[str]:
    from evenhand.benchmarks.ijb.convert import to_official

    _check_output(given.output, given.data)
    return [f"wrote {path}" for path in to_official(given.data, given.output)]


def _cluster(given: argparse.Namespace) -> list[str]:
    from evenhand.benchmarks.ijb.baseline import cluster_detections, cluster_submission

    _check_output(given.output, given.data, given.submission)
    if given.threshold is not None and not -1 <= given.threshold <= 1:
        raise OptionError(f"--threshold {given.threshold:g}: a cosine from −1 to 1 was expected.")
    if given.test == 8:
        if given.subjects is not None:
            raise OptionError("--subjects chooses a sub-protocol of test 7; test 8 has one list.")
        clustering = cluster_detections(given.submission, given.data, given.output, threshold=given.threshold)
    else:
        clustering = cluster_submission(
            given.submission, given.data, given.output, subjects=given.subjects, threshold=given.threshold
        )
    return [
        f"wrote {given.output}",
        f"{clustering.faces} faces in {clustering.clusters} clusters (hint {clustering.hint}), "
        f"threshold {clustering.threshold:.4f}, {clustering.failures} failures to enrol",
    ]


def _stream(given: argparse.Namespace) -> list[str]:
    from evenhand.benchmarks.ijb.streams import report_stream
    from evenhand.metrics.operating_points import Convention

    rates = _rates(given.far)
    if len(given.files) % 2:
        raise OptionError("Give a file of labels after every file of scores.")
    shards = list(zip(given.files[::2], given.files[1::2], strict=True))
    report = report_stream(shards, rates, Convention(given.convention))
    if given.json:
        return [json.dumps(report, indent=1)]
    lines = [f"genuine: {report['genuine']}, impostor: {report['impostor']}"]
    for entry in report["tar_at_far"]:
        lines.append(
            f"TAR@FAR={entry['far']:g}: {entry['tar']} ({report['convention']}; FMR {entry['fmr']}, "
            f"threshold {entry['threshold']}, {entry['false_accepts']} false accepts)"
        )
    return [*lines, f"AUC: {report['auc']}", f"EER: {report['eer']}"]


def _all_pairs(given: argparse.Namespace) -> list[str]:
    """Every embedding with every other: rates of each group at its own threshold and at everyone's."""
    import numpy as np

    from evenhand.engines import parse
    from evenhand.files.delimited import CellKind, read_table
    from evenhand.run.stores import points_of_all_pairs
    from evenhand.search.stores import open_store

    table = read_table(given.people, {"PERSON": CellKind.TEXT}, optional={"GROUP": CellKind.CELL})
    person = np.unique(table.frame["PERSON"].to_numpy(), return_inverse=True)[1].reshape(-1)
    cells = table.frame["GROUP"].fill_null("").to_list() if "GROUP" in table.frame.columns else [""] * len(table)
    names = sorted(set(cells) - {""})
    group = np.array([names.index(cell) if cell else -1 for cell in cells], dtype=np.int64)
    engine = parse(given.engine)
    points = points_of_all_pairs(open_store(given.embeddings), person, group, names, _rates(given.far), engine=engine)
    rows = [
        {
            "group": point.group,
            "far": point.rate,
            "tar_at_own_threshold": _finite(point.own.tar),
            "threshold": _finite(point.shared.threshold),
            "fmr": _finite(point.shared.fmr),
            "fnmr": None if np.isnan(point.shared.tar) else 1.0 - point.shared.tar,
            "genuine": point.genuine,
            "impostor": point.impostors,
        }
        for point in points
    ]
    if given.json:
        return [json.dumps(rows, indent=1)]
    return [
        f"{row['group']}, FAR {row['far']:g}: TAR {row['tar_at_own_threshold']} at its own threshold; at everyone's "
        f"({row['threshold']}) FMR {row['fmr']}, FNMR {row['fnmr']} ({row['genuine']:,} genuine, {row['impostor']:,} "
        "impostor pairs)"
        for row in rows
    ]


def _rates(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(float(rate) for rate in text.split(","))
    except ValueError:
        raise OptionError(f"--far {text!r}: numbers separated by commas were expected.") from None
    if not all(0 <= rate <= 1 for rate in rates):
        raise OptionError(f"--far {text!r}: rates from 0 to 1 were expected.")
    return rates


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
