"""IJB at its real sizes, each against what people use.

    python -m bench ijb              the quick ones
    python -m bench ijb --all        with a gallery of a million and whole commands

Peers are scikit-learn's `roc_curve`, the pooling loop and the gathered pair scores of the
usual scripts, pycocotools, and PyPI's `bcubed` (on a part of the faces: it compares all pairs).
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.hot import Hot
from bench.plain import templates as plain

RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
FACES, TEMPLATES, DIMENSIONS = 227_630, 12_115, 512
PART_OF_FACES = 2_000  # for PyPI's bcubed, whose time grows with the square


# Verification


def scores(genuine: int, impostor: int) -> dict[str, Any]:
    """Made piece by piece, so that the peak of memory is that of the work."""
    rng = np.random.default_rng(1)
    made = {"genuine": (rng.random((genuine, 4)).mean(axis=1) * 0.5 + 0.35).astype(np.float32)}
    made["impostor"] = np.empty(impostor, dtype=np.float32)
    for start in range(0, impostor, 250_000):
        piece = made["impostor"][start : start + 250_000]
        piece[:] = rng.random((len(piece), 4)).mean(axis=1) * 0.9 - 0.25
    return made


def scores_b() -> dict[str, Any]:
    return scores(10_270, 8_000_000)


def scores_c() -> dict[str, Any]:
    return scores(19_557, 15_638_932)


def roc_ours(data: dict[str, Any]) -> Any:
    from evenhand.metrics.operating_points import SortedScores, rates_at, roc

    genuine, impostor = SortedScores.of(data["genuine"]), SortedScores.of(data["impostor"])
    return roc(genuine, impostor), rates_at(genuine, impostor, RATES)


def roc_sklearn(data: dict[str, Any]) -> Any:
    from sklearn.metrics import roc_curve

    label = np.zeros(len(data["genuine"]) + len(data["impostor"]), dtype=np.int64)
    label[: len(data["genuine"])] = 1
    false, true, _ = roc_curve(label, np.concatenate([data["genuine"], data["impostor"]]))
    return [true[np.argmin(np.abs(false - rate))] for rate in RATES]


def sort_bound(data: dict[str, Any]) -> Any:
    return np.sort(data["impostor"])


def score_files(count: int) -> dict[str, Any]:
    """Shards of scores and labels on disk, made once in the temporary folder: one comparison in 5,000 is genuine."""
    folder = Path(tempfile.gettempdir()) / f"evenhand-bench-ijb-scores-{count}"
    size = 5_000_000
    shards = [(folder / f"scores_{number}.npy", folder / f"labels_{number}.npy") for number in range(count // size)]
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for number, (scores_, labels) in enumerate(shards):
            score = np.random.default_rng(number).standard_normal(size, dtype=np.float32)
            score[: size // 5000] += np.float32(4)
            np.save(scores_, score)
            np.save(labels, (np.arange(size) < size // 5000).astype(np.int8))
        (folder / "done").touch()
    return {"shards": shards}


def score_files_10m() -> dict[str, Any]:
    return score_files(10_000_000)


def score_files_100m() -> dict[str, Any]:
    return score_files(100_000_000)


def stream_ours(data: dict[str, Any]) -> Any:
    from evenhand.benchmarks.ijb.streams import report_stream

    return report_stream(data["shards"], RATES)


def stream_sorted(data: dict[str, Any]) -> Any:
    """All scores in memory, and nothing but the sort."""
    loaded = [(np.load(scores_), np.load(labels)) for scores_, labels in data["shards"]]
    score, label = (np.concatenate([pair[side] for pair in loaded]) for side in (0, 1))
    return np.sort(score[label == 0]), np.sort(score[label == 1])


# Templates


def faces() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    template = np.sort(np.concatenate([np.arange(TEMPLATES), rng.integers(0, TEMPLATES, FACES - TEMPLATES)]))
    return {
        "vectors": rng.standard_normal((FACES, DIMENSIONS), dtype=np.float32),
        "template": template,
        "medium": rng.integers(0, 10, FACES),
        "score": rng.random(FACES),
    }


def pool_ours(data: dict[str, Any]) -> Any:
    from evenhand.search.enrol import Membership, Pooling, enrol

    members = Membership(data["template"], np.arange(FACES), data["medium"], TEMPLATES)
    return enrol(data["vectors"], members, Pooling("none", "keep", "on", "mean"), detector_scores=data["score"])


def pool_loop(data: dict[str, Any]) -> Any:
    """As the usual scripts do: a scan of all faces for every template, then a loop over its media."""
    vectors = data["vectors"] * data["score"][:, None]
    out = np.zeros((TEMPLATES, DIMENSIONS))
    for place, template in enumerate(np.unique(data["template"])):
        (rows,) = np.where(data["template"] == template)
        media = data["medium"][rows]
        means = []
        for medium in np.unique(media):
            inside = vectors[rows[media == medium]]
            means.append(np.mean(inside, axis=0, keepdims=True))
        out[place] = np.sum(np.concatenate(means), axis=0)
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def copy_bound(data: dict[str, Any]) -> Any:
    return data["vectors"].sum(axis=0)


def pairs() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((TEMPLATES, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return {
        "vectors": vectors,
        "first": rng.integers(0, 1_845, 8_010_270),
        "second": rng.integers(1_845, TEMPLATES, 8_010_270),
    }


def pairs_ours(data: dict[str, Any]) -> Any:
    from evenhand.search.compare import pair_scores
    from evenhand.search.enrol import Templates

    return pair_scores(Templates(data["vectors"], np.ones(TEMPLATES, np.bool_), 0), data["first"], data["second"])


def pairs_gathered(data: dict[str, Any]) -> Any:
    """As the usual scripts do: two vectors fetched for every pair, a hundred thousand pairs at a time."""
    out = np.empty(len(data["first"]))
    for start in range(0, len(out), 100_000):
        part = slice(start, start + 100_000)
        out[part] = np.sum(data["vectors"][data["first"][part]] * data["vectors"][data["second"][part]], axis=-1)
    return out


def pairs_bound(data: dict[str, Any]) -> Any:
    return data["vectors"][:1_845] @ data["vectors"][1_845:].T


# Search


def galleries(probes: int, gallery: int) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    made = {
        "probes": rng.standard_normal((probes, DIMENSIONS), dtype=np.float32),
        "gallery": rng.standard_normal((gallery, DIMENSIONS), dtype=np.float32),
        "subject": rng.integers(0, 2 * gallery, probes),
    }
    mated = made["subject"] < gallery
    made["probes"][mated] += 0.2 * made["gallery"][made["subject"][mated]]
    for name in ("probes", "gallery"):
        made[name] /= np.linalg.norm(made[name], axis=1, keepdims=True)
    return made


def gallery_c() -> dict[str, Any]:
    return galleries(19_593, 1_772)


def gallery_million() -> dict[str, Any]:
    return galleries(10_000, 1_000_000)


def search_ours(data: dict[str, Any]) -> Any:
    from evenhand.search.enrol import Templates
    from evenhand.search.one_to_many import search

    probes = Templates(data["probes"], np.ones(len(data["probes"]), np.bool_), 0)
    gallery = Templates(data["gallery"], np.ones(len(data["gallery"]), np.bool_), 0)
    return search(probes, data["subject"], gallery, np.arange(len(data["gallery"])))


def search_bound(data: dict[str, Any]) -> None:
    """The bare products, in tiles that are thrown away."""
    for start in range(0, len(data["probes"]), 1024):
        for first in range(0, len(data["gallery"]), 4096):
            np.matmul(data["probes"][start : start + 1024], data["gallery"][first : first + 4096].T)


# Clustering


def clustering() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    n, people = 68_195, 1_845
    truth = np.minimum((rng.random(n) ** 1.7 * people).astype(np.int64), people - 1)
    u, v, w = rng.random(n), rng.random(n), rng.random(n)
    cluster = np.where(u < 0.85, 3 * truth + (v * 2).astype(np.int64), ((w * 3) * people).astype(np.int64))
    return {"truth": truth, "cluster": cluster}


def bcubed_ours(data: dict[str, Any]) -> Any:
    from evenhand.metrics.clustering import bcubed

    scores_ = bcubed(data["truth"], data["cluster"])
    return scores_.precision.mean(), scores_.recall.mean()


def bcubed_peer(data: dict[str, Any]) -> Any:
    import bcubed

    truth = {face: {int(data["truth"][face])} for face in range(PART_OF_FACES)}
    cluster = {face: {int(data["cluster"][face])} for face in range(PART_OF_FACES)}
    return bcubed.precision(cluster, truth), bcubed.recall(cluster, truth)


def detections(images: int, faces_: int) -> dict[str, Any]:
    rng = np.random.default_rng(9)
    image = np.sort(rng.integers(0, images, faces_))
    box = np.column_stack([rng.uniform(0, 900, (faces_, 2)), rng.uniform(30, 200, (faces_, 2))]).round()
    kept = rng.random(faces_) < 0.9
    found = box[kept] + rng.normal(0, 4, (int(kept.sum()), 4)).round()
    extra = faces_ // 5
    extra_box = np.column_stack([rng.uniform(0, 900, (extra, 2)), rng.uniform(30, 200, (extra, 2))]).round()
    return {
        "images": images,
        "image": image,
        "box": box,
        "found_image": np.concatenate([image[kept], rng.integers(0, images, extra)]),
        "found_box": np.maximum(np.concatenate([found, extra_box]), 1.0),
        "score": rng.random(int(kept.sum()) + extra),
        "subject": rng.integers(0, 1_845, faces_),
    }


def detection_data() -> dict[str, Any]:
    return detections(76_824, 125_000)


def detection_ours(data: dict[str, Any]) -> Any:
    from evenhand.benchmarks.ijb.detection import AnnotatedFaces, FaceDetections, match_detections, rows_of
    from evenhand.benchmarks.ijb.metrics import DetectionRates
    from evenhand.benchmarks.ijb.options import FaceDetectionOptions

    none = np.zeros(len(data["box"]), np.bool_)
    names = tuple(f"img/{number}.jpg" for number in range(data["images"]))
    truth = AnnotatedFaces(names, data["box"], data["image"], none, np.zeros(data["images"], np.bool_))
    order = np.argsort(data["found_image"], kind="stable")
    found = FaceDetections(data["found_box"][order], data["found_image"][order], data["score"][order])
    rows = rows_of(truth, found, match_detections(truth, found, FaceDetectionOptions()))
    metric = DetectionRates("detection")
    state = metric.measure(rows)
    return metric.result(state, state)["AP"][0]


def detection_coco(data: dict[str, Any]) -> Any:
    import contextlib
    import io

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth = COCO()
    truth.dataset = {
        "info": {},
        "images": [{"id": number} for number in range(data["images"])],
        "categories": [{"id": 1}],
        "annotations": [
            {
                "id": n + 1,
                "image_id": int(i),
                "category_id": 1,
                "bbox": b.tolist(),
                "area": float(b[2] * b[3]),
                "iscrowd": 0,
            }
            for n, (i, b) in enumerate(zip(data["image"], data["box"], strict=True))
        ],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        entries = zip(data["found_image"], data["found_box"], data["score"], strict=True)
        found = truth.loadRes(
            [{"image_id": int(i), "category_id": 1, "bbox": b.tolist(), "score": float(s)} for i, b, s in entries]
        )
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.params.iouThrs = np.array([0.5])
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.params.maxDets = [1000]
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"].mean()


def association_ours(data: dict[str, Any]) -> Any:
    from evenhand.benchmarks.ijb.clusters import ClusteredDetections, FacesOfInterest, associate

    names = np.array([f"img/{number}.jpg" for number in range(data["images"])], dtype=object)
    truth = FacesOfInterest(data["subject"], names[data["image"]], data["box"])
    found = ClusteredDetections(names[data["found_image"]], np.zeros(len(data["score"]), np.int64), data["found_box"])
    return associate(truth, found, 0.5)


# Whole commands


def ijb_b() -> dict[str, Any]:
    """Protocol files and a submission of the size of IJB-B, made once in the temporary folder."""
    folder = Path(tempfile.gettempdir()) / "evenhand-bench-ijb-b"
    if not (folder / "done").exists():
        _write_ijb_b(folder)
    return {"folder": folder}


def _write_ijb_b(folder: Path) -> None:
    rng = np.random.default_rng(5)
    protocol = folder / "protocol"
    protocol.mkdir(parents=True, exist_ok=True)
    template = np.sort(np.concatenate([np.arange(TEMPLATES), rng.integers(0, TEMPLATES, FACES - TEMPLATES)]))
    person = np.concatenate([np.arange(1_845), rng.integers(0, 1_845, TEMPLATES - 1_845)])
    centre = rng.standard_normal((1_845, DIMENSIONS), dtype=np.float32)
    header = (
        "TEMPLATE_ID", "SUBJECT_ID", "FILENAME", "SIGHTING_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT",
        "RIGHT_EYE_X", "RIGHT_EYE_Y", "LEFT_EYE_X", "LEFT_EYE_Y", "NOSE_X", "NOSE_Y", "FRAME_NUM",
    )  # fmt: skip
    rows: dict[str, list[tuple[Any, ...]]] = {"gallery_S1": [], "gallery_S2": [], "probe_mixed": []}
    index = [("FACE_INDEX", "FILENAME", "SUBJECT_ID", "SIGHTING_ID", "FACE_SCORE")]
    for face, number in enumerate(template.tolist()):
        where = "probe_mixed" if number >= 1_845 else "gallery_S1" if number < 931 else "gallery_S2"
        name, sighting = f"img/{face}.jpg", face // 3
        who = 1 + int(person[number])
        rows[where].append((number + 1, who, name, sighting, 62, 189, 89, 98, 88, 228, 124, 228, 106, 247, "NaN"))
        index.append((face, name, who, sighting, 0.9))
    for name, listed in rows.items():
        _csv(protocol / f"ijbb_1N_{name}.csv", [header, *listed])
    _csv(folder / "faces.csv", index)
    people = [(1 + number, int(rng.integers(1, 7)), int(rng.integers(0, 2))) for number in range(1_845)]
    metadata = [("SUBJECT_ID", "FILENAME", "SKINTONE", "GENDER"), *((who, "img/0.jpg", s, g) for who, s, g in people)]
    _csv(protocol / "ijbb_metadata.csv", metadata)
    first = rng.integers(0, 1_845, 8_000_000)
    second = rng.integers(1_845, TEMPLATES, 8_000_000)
    different = person[first] != person[second]
    first = np.concatenate([person[1_845:], first[different]])
    second = np.concatenate([np.arange(1_845, TEMPLATES), second[different]])
    order = rng.permutation(len(first))
    np.savetxt(protocol / "ijbb_11_S1_S2_matches.csv", np.column_stack([first, second])[order] + 1, "%d", ",")
    noise = rng.standard_normal((FACES, DIMENSIONS), dtype=np.float32)
    np.save(folder / "embeddings.npy", centre[person[template]] + 9.0 * noise)
    (folder / "done").touch()


def ijb_c() -> dict[str, Any]:
    """The sizes of IJB-C, made once in the temporary folder."""
    folder = Path(tempfile.gettempdir()) / "evenhand-bench-ijb-c"
    if not (folder / "done").exists():
        _write_ijb_c(folder)
    return {"folder": folder}


def _write_ijb_c(folder: Path) -> None:
    rng = np.random.default_rng(5)
    protocol = folder / "protocol"
    protocol.mkdir(parents=True, exist_ok=True)
    faces_, templates, people, first_gallery = 469_375, 23_124, 3_531, 1_772
    template = np.sort(np.concatenate([np.arange(templates), rng.integers(0, templates, faces_ - templates)]))
    person = np.concatenate([np.arange(people), rng.integers(0, people, templates - people)])
    header = "TEMPLATE_ID,SUBJECT_ID,FILENAME,SIGHTING_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT\n"
    parts = {"gallery_G1": [header], "gallery_G2": [header], "probe_mixed": [header]}
    index = ["FACE_INDEX,FILENAME,SUBJECT_ID,SIGHTING_ID,FACE_SCORE\n"]
    scores_ = rng.uniform(0.5, 1.0, faces_).round(4)
    for face, (number, score) in enumerate(zip(template.tolist(), scores_.tolist(), strict=True)):
        where = "probe_mixed" if number >= people else "gallery_G1" if number < first_gallery else "gallery_G2"
        who = 1 + int(person[number])
        parts[where].append(f"{number + 1},{who},img/{face}.jpg,{face // 3},62,189,89,98\n")
        index.append(f"{face},img/{face}.jpg,{who},{face // 3},{score}\n")
    for name, lines in parts.items():
        (protocol / f"ijbc_1N_{name}.csv").write_text("".join(lines))
    (folder / "faces.csv").write_text("".join(index))
    about = [f"{1 + one},img/0.jpg,{rng.integers(1, 7)},{rng.integers(0, 2)}\n" for one in range(people)]
    (protocol / "ijbc_metadata.csv").write_text("SUBJECT_ID,FILENAME,SKINTONE,GENDER\n" + "".join(about))
    first, second = rng.integers(0, people, 15_638_932), rng.integers(people, templates, 15_638_932)
    different = person[first] != person[second]
    first = np.concatenate([person[people:], first[different]])
    second = np.concatenate([np.arange(people, templates), second[different]])
    order = rng.permutation(len(first))
    np.savetxt(protocol / "ijbc_11_G1_G2_matches.csv", np.column_stack([first, second])[order] + 1, "%d", ",")
    centre = rng.standard_normal((people, DIMENSIONS), dtype=np.float32)
    vectors = np.lib.format.open_memmap(folder / "embeddings.npy", "w+", np.float32, (faces_, DIMENSIONS))
    for start in range(0, faces_, 20_000):
        some = template[start : start + 20_000]
        noise = rng.standard_normal((len(some), DIMENSIONS), dtype=np.float32)
        vectors[start : start + 20_000] = centre[person[some]] + 9.0 * noise
    vectors.flush()
    (folder / "done").touch()


def _csv(path: Path, rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def pair_list_ours(data: dict[str, Any]) -> Any:
    from evenhand.benchmarks.ijb.files import read_pairs

    return read_pairs(_pair_list(data))


def pair_list_pandas(data: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.read_csv(_pair_list(data), header=None).to_numpy()


def pair_list_bytes(data: dict[str, Any]) -> int:
    """Nothing but the bytes, as they come from the disk or its cache."""
    count, buffer = 0, bytearray(1 << 20)
    with _pair_list(data).open("rb", buffering=0) as file:
        while read := file.readinto(buffer):
            count += read
    return count


def _pair_list(data: dict[str, Any]) -> Path:
    return data["folder"] / "protocol" / "ijbc_11_G1_G2_matches.csv"


def _test1(data: dict[str, Any], **settings: Any) -> Any:
    from evenhand.benchmarks.ijb import benchmark
    from evenhand.run import evaluate

    folder = data["folder"]
    return evaluate(benchmark.find("ijb/test1"), folder, folder, options={"flip": "none"}, rows="none", **settings)


def _test4(data: dict[str, Any], **settings: Any) -> Any:
    from evenhand.benchmarks.ijb import benchmark
    from evenhand.run import evaluate

    folder = data["folder"]
    return evaluate(benchmark.find("ijb/test4"), folder, folder, options={"flip": "none"}, rows="none", **settings)


def test4_kernels(data: dict[str, Any]) -> Any:
    return _test4(data, draws=0, permutations=0, by=())


def test4_default(data: dict[str, Any]) -> Any:
    return _test4(data)


def gallery_half_million() -> dict[str, Any]:
    """Embeddings of any length in files, made once in the temporary folder."""
    folder = Path(tempfile.gettempdir()) / "evenhand-bench-ijb-half-million"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = galleries(2_000, 500_000)
        for name in ("probes", "gallery"):
            made[name] *= np.random.default_rng(5).uniform(10, 30, (len(made[name]), 1)).astype(np.float32)
        for name, array in made.items():
            np.save(folder / f"{name}.npy", array)
        (folder / "done").touch()
    return {"folder": folder}


def _loaded(data: dict[str, Any]) -> dict[str, Any]:
    """Loaded and normalised, as both sides begin."""
    loaded = {name: np.load(data["folder"] / f"{name}.npy") for name in ("probes", "gallery", "subject")}
    for name in ("probes", "gallery"):
        loaded[name] /= np.linalg.norm(loaded[name], axis=1, keepdims=True)
    return loaded


def loaded_search_ours(data: dict[str, Any]) -> Any:
    return search_ours(_loaded(data))


def loaded_search_bound(data: dict[str, Any]) -> None:
    search_bound(_loaded(data))


def test1_kernels(data: dict[str, Any]) -> Any:
    return _test1(data, draws=0, permutations=0, by=())


def test1_default(data: dict[str, Any]) -> Any:
    return _test1(data)


HOT = [
    Hot(
        "ijb/roc_8m",
        "ROC and six operating points, 8.0 M scores",
        scores_b,
        roc_ours,
        roc_sklearn,
        "sklearn roc_curve",
        bound=sort_bound,
        bound_name="np.sort",
        goal="15 times, a third of the memory",
    ),
    Hot(
        "ijb/roc_16m",
        "ROC and six operating points, 15.7 M scores",
        scores_c,
        roc_ours,
        roc_sklearn,
        "sklearn roc_curve",
        bound=sort_bound,
        bound_name="np.sort",
        goal="15 times, a third of the memory",
    ),
    Hot(
        "ijb/stream_10m",
        "operating points, AUC and EER of 10 M scores on disk, read in blocks",
        score_files_10m,
        stream_ours,
        bound=stream_sorted,
        bound_name="sorting in memory",
        goal="under 500 MB",
    ),
    Hot(
        "ijb/stream_100m",
        "operating points, AUC and EER of 100 M scores on disk, read in blocks",
        score_files_100m,
        stream_ours,
        bound=stream_sorted,
        bound_name="sorting in memory",
        goal="under 500 MB",
        repeat=1,
        slow=True,
    ),
    Hot(
        "ijb/pooling",
        "227,630 × 512 faces to 12,115 templates",
        faces,
        pool_ours,
        pool_loop,
        "the usual loop",
        bound=copy_bound,
        bound_name="one pass over the array",
        goal="15 times",
    ),
    Hot(
        "ijb/pairs",
        "8.0 M pair scores of 512 dimensions",
        pairs,
        pairs_ours,
        pairs_gathered,
        "gathered vectors",
        bound=pairs_bound,
        bound_name="bare GEMM",
        goal="15 times",
    ),
    Hot(
        "ijb/search",
        "19,593 probes in 1,772 templates",
        gallery_c,
        search_ours,
        plain.search,
        "a sort for every probe",
        peer_share=plain.FEW_PROBES / 19_593,
        bound=search_bound,
        bound_name="bare GEMM",
        goal="1.5 times the CPU of the GEMM",
    ),
    Hot(
        "ijb/bcubed",
        "BCubed of 68,195 faces",
        clustering,
        bcubed_ours,
        bcubed_peer,
        "PyPI bcubed",
        peer_share=(PART_OF_FACES / 68_195) ** 2,
        bound=lambda data: np.unique(data["truth"] * (1 << 20) + data["cluster"], return_counts=True),
        bound_name="counting pairs of labels",
        goal="under 20 ms",
    ),
    Hot(
        "ijb/detection",
        "125,000 faces in 76,824 images",
        detection_data,
        detection_ours,
        detection_coco,
        "pycocotools",
        bound=lambda data: np.argsort(-data["score"]),
        bound_name="one sort",
        goal="10 times",
    ),
    Hot(
        "ijb/association",
        "test 8: 125,000 faces attached to detections",
        detection_data,
        association_ours,
        plain.association,
        "a loop over images",
        bound=lambda data: np.argsort(data["found_image"], kind="stable"),
        bound_name="one sort",
        goal="under 1 s",
    ),
    Hot(
        "ijb/million",
        "10,000 probes in a gallery of a million",
        gallery_million,
        search_ours,
        plain.search,
        "a sort for every probe",
        peer_share=plain.FEW_PROBES / 10_000,
        bound=search_bound,
        bound_name="bare GEMM",
        goal="1.5 times the CPU of the GEMM, under 6 GB",
        repeat=1,
        slow=True,
    ),
    Hot(
        "ijb/pair_list",
        "a match list of 15.7 M pairs (162 MB), parsed and hashed",
        ijb_c,
        pair_list_ours,
        pair_list_pandas,
        "pandas read_csv",
        bound=pair_list_bytes,
        bound_name="reading the bytes",
        goal="less CPU than pandas or Polars",
        slow=True,
    ),
    Hot(
        "ijb/test1_kernels",
        "test 1 from embeddings, --draws 0 --rows none",
        ijb_b,
        test1_kernels,
        plain.verification,
        "the usual script, no intervals",
        bound=plain.reading,
        bound_name="reading the files",
        goal="under 4 s",
        repeat=2,
        slow=True,
    ),
    Hot(
        "ijb/test1_default",
        "test 1 from embeddings with intervals",
        ijb_b,
        test1_default,
        plain.verification,
        "the usual script, no intervals",
        bound=plain.reading,
        bound_name="reading the files",
        goal="under 15 s",
        repeat=1,
        slow=True,
    ),
    Hot(
        "ijb/test1_kernels_c",
        "test 1 from embeddings at the size of IJB-C, --draws 0 --rows none",
        ijb_c,
        test1_kernels,
        plain.verification,
        "the usual script, no intervals",
        goal="15 times less CPU",
        peer_repeat=2,
        slow=True,
    ),
    Hot(
        "ijb/test1_default_c",
        "test 1 from embeddings at the size of IJB-C with intervals",
        ijb_c,
        test1_default,
        goal="under 14 s of CPU, 2.5 GB",
        repeat=2,
        slow=True,
    ),
    Hot(
        "ijb/test4_kernels_c",
        "test 4 from embeddings at the size of IJB-C, --draws 0 --rows none",
        ijb_c,
        test4_kernels,
        plain.identification,
        "the public open-set script",
        peer_here=True,
        goal="half the CPU",
        repeat=1,
        slow=True,
    ),
    Hot(
        "ijb/test4_default_c",
        "test 4 from embeddings at the size of IJB-C with intervals",
        ijb_c,
        test4_default,
        plain.identification,
        "the public open-set script, no intervals",
        peer_here=True,
        goal="no more CPU than the script",
        repeat=1,
        slow=True,
    ),
    Hot(
        "ijb/half_million",
        "2,000 probes in a gallery of 500,000, from files",
        gallery_half_million,
        loaded_search_ours,
        bound=loaded_search_bound,
        bound_name="load, normalise, GEMM",
        goal="1.3 times the CPU of loading, normalising and the GEMM",
        repeat=2,
        slow=True,
    ),
]
