"""FHIBE at its real size: whole evaluations, groupings, verification, masks, label maps.

    python -m bench fhibe

Data are made from a fixed seed. `published` in a goal is what the published tool took for the same work, measured on
another two-core machine.
"""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.hot import Hot
from bench.plain import people as plain

ROWS, IMAGES, SUBJECTS = 10_557, 10_000, 1_980
EIGHT = ["pronoun", "age", "ancestry", "scene", "apparent_skin_color", "lighting", "weather", "hairstyle"]
FOUR = ["pronoun", "age", "ancestry", "apparent_skin_color"]


def _cells(rng: np.random.Generator, name: str, count: int) -> list[str]:
    from evenhand.benchmarks.fhibe import vocabulary

    if name == "age":
        return [str(age) for age in rng.integers(18, 75, count)]
    values = vocabulary.VALUES[name]
    if name not in vocabulary.MULTI_VALUED:
        return [values[place] for place in rng.integers(0, len(values), count)]
    first, second = rng.integers(0, len(values), (2, count))
    both = rng.random(count) < 0.25
    return [
        str([values[a], values[b]] if two and a != b else [values[a]])
        for a, b, two in zip(first, second, both, strict=True)
    ]


def _people(names: list[str], rows: int = ROWS) -> Any:
    from evenhand.benchmarks.fhibe.data import prepared_cells, published_attribute

    rng = np.random.default_rng(5)
    people = {name: published_attribute(name, prepared_cells(name, _cells(rng, name, rows))) for name in names}
    return people, rng.integers(0, 11, rows) / 10


def _count_groups(data: Any) -> None:
    from evenhand.benchmarks.fhibe import grouping

    people, scores = data
    grouping.count_memberships(people, EIGHT)
    groups = 0
    for subset in grouping.subsets(people, EIGHT):
        groups += len(subset)
        subset.means(scores)
    assert groups > 1_500_000, groups


def _write_groups(data: Any) -> None:
    from evenhand.compat.fhibe.evaluate import files

    people, scores = data
    with tempfile.TemporaryDirectory() as folder:
        files.write_intersections(Path(folder) / "x.json", "AR_IOU", people, EIGHT, scores)


def _localization() -> tuple[Path, Path]:
    """A data root with 10,000 images and the stored boxes of a model."""
    folder = Path(tempfile.gettempdir()) / "evenhand-bench-fhibe"
    root, results = folder / "data", folder / "results"
    stored = results / "person_localization" / "fhibe_downsampled" / "m" / "model_outputs.json"
    if stored.exists():
        return root, results
    table = root / "data/processed/fhibe_downsampled/fhibe_downsampled.csv"
    for path in (table, stored):
        path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(6)
    image = np.sort(np.concatenate([np.arange(IMAGES), rng.integers(0, IMAGES, ROWS - IMAGES)]))
    boxes = np.column_stack([rng.uniform(0, 800, (ROWS, 2)), rng.uniform(200, 900, (ROWS, 2))]).round(2)
    columns = {name: _cells(rng, name, ROWS) for name in FOUR}
    names = [f"data/raw/fhibe_downsampled/s{n % SUBJECTS}/i{n}/main_i{n}.png" for n in range(IMAGES)]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["image_id", "filepath", "json_path", "subject_id", "location_country", "person_bbox", *columns]
        )
        for row in range(ROWS):
            n = int(image[row])
            fixed = [f"i{n}", names[n], f"{names[n]}.json", f"s{n % SUBJECTS}", "Kenya", str(boxes[row].tolist())]
            writer.writerow([*fixed, *(columns[name][row] for name in columns)])
    answers: dict[str, Any] = {name: {"detections": [], "scores": []} for name in names}
    moved = boxes + rng.normal(0, 25, boxes.shape)
    for n, (x, y, width, height) in zip(image.tolist(), moved.tolist(), strict=True):
        answers[names[n]]["detections"].append([x, y, x + width, y + height])
        answers[names[n]]["scores"].append(0.9)
    stored.write_text(json.dumps(answers))
    return root, results


def _evaluate_task(data: Any) -> None:
    from evenhand.compat.fhibe import evaluate_task

    root, results = data
    evaluate_task(
        data_rootdir=root, dataset_name="fhibe", model=None, model_name="m", task_name="person_localization",
        attributes=FOUR, reuse_model_outputs=True, results_rootdir=results,
    )  # fmt: skip


def _evaluate(data: Any, depth: int = 2, *more: str) -> None:
    """The whole command, with intervals, differences of all pairs of groups, and what is written."""
    root, results = data
    stored = results / "person_localization/fhibe_downsampled/m/model_outputs.json"
    with tempfile.TemporaryDirectory() as runs:
        _evenhand(
            "evaluate", "fhibe/person_localization", str(stored), "--data", str(root), "--runs", runs,
            "--by", ",".join(FOUR), "--depth", str(depth), *more,
        )  # fmt: skip


def _evaluate_all(data: Any) -> None:
    _evaluate(data, 4)


def _evaluate_values(data: Any) -> None:
    _evaluate(data, 4, "--draws", "0")


def _evenhand(*arguments: str) -> None:
    """A command, run in this process so that its time and memory are counted."""
    import contextlib
    import io

    from evenhand.cli.main import app

    with contextlib.redirect_stdout(io.StringIO()):
        app(list(arguments), standalone_mode=False)


def _faces() -> Any:
    rng = np.random.default_rng(7)
    identity = np.repeat(np.arange(1_667), 3)[:5_000]
    vectors = rng.normal(size=(1_667, 512))[identity] + 1.2 * rng.normal(size=(5_000, 512))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), identity, rng.integers(0, 2, 5_000), rng.integers(0, 5, 5_000)


def _verify(data: Any) -> None:
    from evenhand.benchmarks.fhibe.verification import group_validation

    vectors, identity, pronoun, age = data
    for groups in (pronoun, age, 5 * pronoun + age):
        for group in range(int(groups.max()) + 1):
            group_validation(vectors[groups == group], identity[groups == group])


def _stored_faces() -> tuple[Path, Path]:
    """A data root with 5,000 face pictures and the stored embeddings of a model, 53 MB of text."""
    folder = Path(tempfile.gettempdir()) / "evenhand-bench-fhibe-faces"
    root, results = folder / "data", folder / "results"
    stored = results / "face_verification" / "fhibe_face_crop_align" / "m" / "model_outputs.json"
    if stored.exists():
        return root, results
    table = root / "data/processed/fhibe_face_crop_align/fhibe_face_crop_align.csv"
    for path in (table, stored):
        path.parent.mkdir(parents=True, exist_ok=True)
    vectors, identity, _, _ = _faces()
    rng = np.random.default_rng(8)
    columns = {name: _cells(rng, name, len(identity)) for name in ("pronoun", "age")}
    names = [f"data/raw/fhibe_downsampled/s{s}/i{n}/face_i{n}.png" for n, s in enumerate(identity.tolist())]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        header = ["image_id", "filepath", "json_path", "subject_id", "location_country", "multiple_subjects", *columns]
        writer.writerow(header)
        for row, (name, subject) in enumerate(zip(names, identity.tolist(), strict=True)):
            more = (columns[column][row] for column in columns)
            writer.writerow([f"i{row}", name, f"{name}.json", f"s{subject}", "Kenya", "0", *more])
    listed = vectors.astype(np.float64).tolist()
    stored.write_text(json.dumps({name: {"detections": one} for name, one in zip(names, listed, strict=True)}))
    return root, results


def _verify_stored(data: Any) -> None:
    from evenhand.compat.fhibe import evaluate_task

    root, results = data
    evaluate_task(
        data_rootdir=root, dataset_name="fhibe_face_crop_align", model=None, model_name="m",
        task_name="face_verification", attributes=["pronoun", "age"], reuse_model_outputs=True,
        results_rootdir=results, cuda=False,
    )  # fmt: skip


def _person_masks() -> Any:
    from evenhand.benchmarks.fhibe.demo import make_subjects
    from evenhand.geometry.masks import runs_of_polygons
    from evenhand.scenes.figures import PersonFigure

    found = []
    for number, subject in enumerate(make_subjects(40, "bench")):
        outlines = [
            list(PersonFigure(subject.look, 700.0 + shift, 1_950.0, 1_700.0).walking(number / 40).parts().values())
            for shift in (0, 25)
        ]
        found.append(tuple(runs_of_polygons(outline, 2048, 1536) for outline in outlines))
    return found


def _on_runs(data: Any) -> None:
    from evenhand.geometry.masks import overlap_matrix

    for first, second in data:
        overlap_matrix([first], [second])


def _on_pixels(data: Any) -> None:
    from pycocotools import mask as coco

    for first, second in data:
        a, b = coco.decode(first.coded).astype(bool), coco.decode(second.coded).astype(bool)
        assert (a & b).sum() / (a | b).sum() > 0


def _polygons() -> Any:
    from evenhand.benchmarks.fhibe.demo import make_subjects
    from evenhand.scenes.figures import PersonFigure

    return [
        list(PersonFigure(subject.look, 700.0, 1_950.0, 1_700.0).walking(number / 40).parts().values())
        for number, subject in enumerate(make_subjects(100, "bench"))
    ]


def _rasterise(data: Any) -> None:
    from evenhand.geometry.masks import runs_of_polygons

    for outlines in data:
        runs_of_polygons(outlines, 2048, 1536)


def _rasterise_whole(data: Any) -> None:
    from pycocotools import mask as coco

    from evenhand.geometry.masks import fill_polygons

    for outlines in data:
        coco.encode(np.asfortranarray(fill_polygons(outlines, 2048, 1536).view(np.uint8)))


def _label_maps() -> Any:
    from evenhand.benchmarks.fhibe.codec import FaceMapCodec, face_map
    from evenhand.benchmarks.fhibe.demo import make_subjects
    from tests.benchmarks.fhibe.face_tables import write_faces

    folder = Path(tempfile.mkdtemp())
    rows = write_faces(folder, make_subjects(50, "bench"), images=4, size=512, pixels=True)
    codec = FaceMapCodec()
    answers = [json.dumps(codec.stored(face_map(row.draw().labels))).encode() for row in rows]
    return [folder / row.mask for row in rows], answers


def _parse_faces(data: Any) -> None:
    from evenhand.benchmarks.fhibe.codec import FaceMapCodec
    from evenhand.benchmarks.fhibe.face_segmentation import face_score, read_label_map
    from evenhand.benchmarks.fhibe.output_file import parse

    codec, (paths, answers) = FaceMapCodec(), data
    for path, answer in zip(paths, answers, strict=True):
        face_score(read_label_map(path), codec.answer(parse(answer), set()))


def _decode_faces(data: Any) -> None:
    """What reading the maps and decoding every stored mask costs, without scoring anything."""
    from pycocotools import mask as coco

    from evenhand.benchmarks.fhibe.face_segmentation import read_label_map

    for path, answer in zip(*data, strict=True):
        read_label_map(path)
        for found in json.loads(answer)["detections_rle"].values():
            coco.decode({"size": found["size"], "counts": found["counts"].encode()})


def _noise_maps() -> Any:
    """50 face pictures with their label maps, and answers that are noise, as the published demo makes them."""
    from evenhand.benchmarks.fhibe.demo import make_subjects
    from tests.benchmarks.fhibe.face_tables import write_faces

    folder = Path(tempfile.mkdtemp())
    rows = write_faces(folder, make_subjects(25, "noise"), images=2, size=512, pixels=True)
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 19, (512, 512), dtype=np.uint8) for _ in rows]
    return folder, [folder / row.mask for row in rows], noise


def _real_maps() -> Any:
    """The same pictures, and as answers their label maps moved by a few pixels: regions, as a model gives them."""
    from evenhand.benchmarks.fhibe.face_segmentation import read_label_map

    folder, maps, _ = _noise_maps()
    return folder, maps, [np.roll(read_label_map(path), (5, -7), (0, 1)) for path in maps]


def _parse_noise(data: Any) -> None:
    from evenhand.compat.fhibe import BaseModelWrapper, evaluate_task

    class Replay(BaseModelWrapper):
        map_ears_to_skin = True

        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Any:
            return range(len(img_filepaths))

        def __call__(self, batch: int) -> Any:
            return [{"detections": self.model[batch]}]

    folder, _, noise = data
    with tempfile.TemporaryDirectory() as results:
        evaluate_task(
            data_rootdir=folder, dataset_name="fhibe_face_crop_align", model=Replay(noise), model_name="noise",
            task_name="face_parsing", attributes=["pronoun"], results_rootdir=results,
        )  # fmt: skip


def _face_root(rows: int = 10_000) -> tuple[Path, Path]:
    """A data root whose rows share 200 label maps of 512 × 512, and the stored label maps of a model."""
    folder = Path(tempfile.gettempdir()) / f"evenhand-bench-fhibe-maps-{rows}"
    stored = folder / "model_outputs.json"
    if stored.exists():
        return folder, stored
    from evenhand.benchmarks.fhibe.codec import FaceMapCodec, face_map
    from evenhand.benchmarks.fhibe.demo import make_subjects
    from tests.benchmarks.fhibe.face_tables import write_faces

    made = write_faces(folder, make_subjects(50, "bench"), images=4, size=512, pixels=True)
    codec = FaceMapCodec()
    answers = [json.dumps(codec.stored(face_map(row.draw().labels))) for row in made]
    rng = np.random.default_rng(9)
    columns = {name: _cells(rng, name, rows) for name in FOUR}
    table = folder / "data/processed/fhibe_face_crop_align/fhibe_face_crop_align.csv"
    names = [f"data/raw/fhibe_downsampled/s{n % SUBJECTS}/i{n}/face_i{n}.png" for n in range(rows)]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "filepath", "json_path", "subject_id", "location_country", "CelebA", *columns])
        for n, name in enumerate(names):
            fixed = [f"i{n}", name, f"{name}.json", f"s{n % SUBJECTS}", "Kenya", str([made[n % len(made)].mask])]
            writer.writerow([*fixed, *(columns[column][n] for column in columns)])
    with stored.with_suffix(".partial").open("w") as file:
        for n, name in enumerate(names):
            file.write(f"{',' if n else '{'}{json.dumps(name)}: {answers[n % len(answers)]}")
        file.write("}")
    stored.with_suffix(".partial").rename(stored)
    return folder, stored


def _parse_stored(data: Any) -> None:
    root, stored = data
    with tempfile.TemporaryDirectory() as runs:
        _evenhand("evaluate", "fhibe/face_parsing", str(stored), "--data", str(root), "--runs", runs, "--depth", "1")


def _decode_stored(data: Any) -> None:
    """What reading every map and decoding every stored mask costs, without scoring anything."""
    from pycocotools import mask as coco

    from evenhand.benchmarks.fhibe.face_segmentation import read_label_map

    root, stored = data
    table = root / "data/processed/fhibe_face_crop_align/fhibe_face_crop_align.csv"
    with table.open(newline="") as file:
        paths = [row["CelebA"].strip("[']") for row in csv.DictReader(file)]
    for path, answer in zip(paths, json.loads(stored.read_text()).values(), strict=True):
        read_label_map(root / path)
        for found in answer["detections_rle"].values():
            coco.decode({"size": found["size"], "counts": found["counts"].encode()})


def _mask_truth() -> Any:
    from evenhand.benchmarks.fhibe.table import Segment

    rows = _polygons() * 32
    segments = [[Segment(str(n), np.asarray(one, dtype=np.int32)) for n, one in enumerate(row)] for row in rows]
    return segments, np.tile([2048, 1536], (len(rows), 1))


def _areas_by(engine: str, data: Any) -> None:
    from evenhand.benchmarks.fhibe.scores import mask_areas
    from evenhand.engines import parse

    segments, sizes = data
    assert mask_areas(segments, sizes, parse(engine)).min() > 0


def _areas_in_two(data: Any) -> None:
    _areas_by("processes:2", data)


def _areas_in_one(data: Any) -> None:
    _areas_by("serial", data)


def _write_zeros(data: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "x").open("wb") as file:
        for _ in range(600):
            file.write(bytes(1_000_000))


_TABLE = "data/processed/fhibe_downsampled/fhibe_downsampled.csv"
_STORED = "person_localization/fhibe_downsampled/m/model_outputs.json"
_FACE_TABLE = "data/processed/fhibe_face_crop_align/fhibe_face_crop_align.csv"
_FACES_STORED = "face_verification/fhibe_face_crop_align/m/model_outputs.json"

_BUSY = "measured in seconds of CPU, on a busy machine"
HOT = [
    Hot(
        "fhibe/person_localization_drop_in",
        f"evaluate_task on stored boxes: {IMAGES:,} images, four attributes, all intersections, all published files",
        _localization,
        _evaluate_task,
        plain.localization,
        "pandas, group by group",
        bound=plain.files_of(_TABLE, _STORED),
        bound_name="reading the files",
        goal="under 3 s (published: 49–61 CPU s)",
        repeat=2,
    ),
    Hot(
        "fhibe/person_localization_evaluate",
        f"`evenhand evaluate` on the same: {IMAGES:,} images, four attributes and their pairs, all intervals and tests",
        _localization,
        _evaluate,
        plain.localization,
        "pandas, values alone",
        bound=plain.files_of(_TABLE, _STORED),
        bound_name="reading the files",
        goal=f"under 2.5 s on two idle cores; {_BUSY} (published, without any of them: 49–61 CPU s)",
        repeat=1,
    ),
    Hot(
        "fhibe/person_localization_evaluate_all",
        "the same with all intersections of the four attributes: 8,231 groups, 316,688 pairs tested, 80,782 listed",
        _localization,
        _evaluate_all,
        goal=f"under 5 s on two idle cores; {_BUSY}: more than what is published, with all intervals and tests",
        repeat=1,
    ),
    Hot(
        "fhibe/person_localization_evaluate_values",
        "the same without draws",
        _localization,
        _evaluate_values,
        goal="no more than with them, in seconds of CPU",
        repeat=1,
        slow=True,
    ),
    Hot(
        "fhibe/groups",
        f"count and average all groups of eight attributes over {ROWS:,} rows",
        lambda: _people(EIGHT),
        _count_groups,
        plain.groups,
        "pandas, 92 of 255 subsets",
        bound=plain.groups_bound,
        bound_name="255 counts",
        goal="under 5 s and 1 GB",
        repeat=2,
    ),
    Hot(
        "fhibe/groups_file",
        "the same with the published file of some 600 MB, streamed",
        lambda: _people(EIGHT),
        _write_groups,
        plain.groups,
        "pandas, 92 of 255 subsets, not written",
        bound=_write_zeros,
        bound_name="writing 600 MB",
        goal="under 15 s (published: 183 CPU s, 1.4 GB)",
        repeat=1,
    ),
    Hot(
        "fhibe/verification",
        "VAL of 17 groups of two attributes over 5,000 images, 512 numbers each",
        _faces,
        _verify,
        plain.verification,
        "all pairs in a loop",
        peer_share=1 / 80,
        bound=plain.verification_bound,
        bound_name="all products",
        goal="under 1 s (published: 67 CPU s, 3.7 GB)",
        repeat=2,
    ),
    Hot(
        "fhibe/verification_drop_in",
        "evaluate_task on 5,000 stored embeddings of 512 numbers, two attributes, all intersections",
        _stored_faces,
        _verify_stored,
        plain.stored_verification,
        "all pairs in a loop, one group of 17",
        bound=plain.files_of(_FACE_TABLE, _FACES_STORED),
        bound_name="reading the files",
        goal="under 1 s (published: 67 CPU s, 3.7 GB)",
        repeat=2,
    ),
    Hot(
        "fhibe/mask_overlap",
        "overlap of 40 pairs of person masks of 2048 × 1536",
        _person_masks,
        _on_runs,
        peer=_on_pixels,
        peer_name="decoded",
        peer_here=True,
        goal="at least 50 × decoding",
    ),
    Hot(
        "fhibe/rasterise",
        "polygons of 100 people to run lengths, 2048 × 1536, one core",
        _polygons,
        _rasterise,
        peer=_rasterise_whole,
        peer_name="full canvas",
        peer_here=True,
        repeat=2,
    ),
    Hot(
        "fhibe/face_parsing",
        "F1 of 200 label maps of 512 × 512 (10,000 take 50 times as long, in the same memory)",
        _label_maps,
        _parse_faces,
        bound=_decode_faces,
        bound_name="decoding alone",
        goal="under 500 MB, as fast as decoding",
        repeat=2,
    ),
    Hot(
        "fhibe/face_parsing_noise",
        "evaluate_task of face parsing on 50 maps of noise, 512 × 512 and 19 labels: stored, read back and scored",
        _noise_maps,
        _parse_noise,
        peer=plain.noise_maps,
        peer_name="label by label, as published",
        peer_here=True,
        goal="at least as fast as the published code",
        repeat=2,
    ),
    Hot(
        "fhibe/face_parsing_regions",
        "the same on 50 maps of regions, as models give them",
        _real_maps,
        _parse_noise,
        peer=plain.noise_maps,
        peer_name="label by label, as published",
        peer_here=True,
        goal="at least as fast as the published code",
        repeat=2,
    ),
    Hot(
        "fhibe/face_parsing_evaluate",
        "`evenhand evaluate` on 10,000 label maps of 512 × 512, streamed",
        _face_root,
        _parse_stored,
        bound=_decode_stored,
        bound_name="decoding alone",
        goal="under 500 MB, as fast as decoding",
        repeat=1,
        slow=True,
    ),
    Hot(
        "fhibe/rasterise_parallel",
        "polygons of 3,200 people to areas, 2048 × 1536, by two processes",
        _mask_truth,
        _areas_in_two,
        peer=_areas_in_one,
        peer_name="one process",
        peer_here=True,
        repeat=1,
        slow=True,
    ),
]
