"""Cases of image synthesis: a folder with `pairs.json`, pictures, feature arrays and `expected.json`.

Each section of `expected.json` has one check. Those of the instruments (pictures, pixels, networks) are here, those of
the family in `synthesis_family.py`. A section or an array that no check knows fails by name.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from families import synthesis_family
from filled import fill_network
from harness import Case, Checks, read_expected

from evenhand.benchmarks.synthesis.options import SynthesisOptions
from evenhand.instruments.comparers import PictureComparer, lpips_comparer, psnr_comparer, ssim_comparer, unit_batch
from evenhand.instruments.detectors import mtcnn_detector
from evenhand.instruments.faces import crop, standardised
from evenhand.instruments.networks.mtcnn import largest_first
from evenhand.instruments.networks.pcb import unit_parts
from evenhand.instruments.people import enlarge, merge_rows, person_box, person_patches
from evenhand.instruments.pictures import HIS_EVALUATORS, load
from evenhand.instruments.readers import FlaggedReader, face_reader, inception_reader, person_detector, person_reader

PARTS_OF_ARRAYS = (
    "image_names",
    "inception",
    "osnet",
    "face_embedding",
    r"pcb_first\d+",
    r"face_crop_first\d+",
    r"(osnet|pcb)_patch(_no_boxes)?_every\d+",
    r"(osnet|pcb)_features(_boxes|_no_boxes)",
    r"yolov3_spp_output_\d+",
    "face_embedding_trained",
)


def cases(folder: Path) -> Iterator[Case]:
    """One case per folder that has an `expected.json`."""
    for expected in sorted(folder.rglob("expected.json")):
        place = expected.parent
        files = frozenset(path for path in place.rglob("*") if path.is_file() and _claimed(path, place))
        name = str(place.relative_to(folder)) if place != folder else "synthesis"

        def check(checks: Checks, place: Path = place) -> None:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)  # families run beside each other
            try:
                _check(checks, place)
            finally:
                torch.set_num_threads(threads)

        yield Case(name, files, check)


def _claimed(path: Path, place: Path) -> bool:
    known = {
        "expected.json",
        "expected_arrays.npz",
        "features.npz",
        "detector_rows.npz",
        "pairs.json",
        "protocols.json",
    }
    return path.name in known or place / "images" in path.parents


@dataclass(frozen=True)
class Bench:
    """A case's files, and the instruments that its sections share; readings are kept for the length of the check."""

    folder: Path
    keep: Path

    @cached_property
    def expected(self) -> dict[str, Any]:
        return dict(read_expected(self.folder / "expected.json"))

    @cached_property
    def pairs(self) -> dict[str, dict[str, str]]:
        return {pair["id"]: pair for pair in json.loads((self.folder / "pairs.json").read_text(encoding="utf-8"))}

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        path = self.folder / "expected_arrays.npz"
        return dict(np.load(path)) if path.exists() else {}

    def paths(self, names: list[str]) -> list[Path]:
        return [self.folder / name for name in names]

    def sides(self, ids: list[str]) -> tuple[list[Path], list[Path]]:
        return self.paths([self.pairs[i]["pred"] for i in ids]), self.paths([self.pairs[i]["ref"] for i in ids])

    def filled(self, size: int) -> dict[str, Any]:
        """The networks with reproducible weights, by the family's names of their features."""
        detector = person_detector(image_size=size, cache=self.keep, ready=fill_network("yolov3-spp"))
        common: dict[str, Any] = {"image_size": size, "cache": self.keep}
        return {
            "detector": detector,
            "inception": inception_reader(ready=fill_network("inception-imagenet"), **common),
            "osnet": person_reader("osnet", detector=detector, ready=fill_network("osnet-ibn"), **common),
            "pcb": person_reader("pcb", detector=detector, ready=fill_network("pcb"), **common),
            "face": face_reader(ready=fill_network("vggface2"), **common),
            "lps": self.lpips(size, fill=True),
        }

    def lpips(self, size: int, *, fill: bool = False) -> PictureComparer:
        ready = fill_network("lpips-alex", parts=("alexnet",)) if fill else None
        return lpips_comparer("alex", loading=HIS_EVALUATORS.at(size, size), ready=ready, cache=self.keep)

    def trained_face(self, size: int) -> FlaggedReader:
        return face_reader(image_size=size, cache=self.keep)

    @property
    def face_size(self) -> int:
        """The size at which faces were looked for."""
        return int(self.expected.get("face_trained_weights", {}).get("image_size", 128))

    def names_of_arrays(self) -> list[str]:
        """The pictures that rows of arrays belong to."""
        found = self.arrays.get("image_names", list(self.expected.get("mtcnn_faces", ())))
        return [str(name) for name in found]


def _check(checks: Checks, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as keep:
        bench = Bench(folder, Path(keep))
        for array in bench.arrays:
            known = any(re.fullmatch(pattern, array) for pattern in PARTS_OF_ARRAYS)
            checks.true(f"expected_arrays.{array}", known, "no check knows this array")
        part_features(checks, folder)
        for section, expected in bench.expected.items():
            if section in synthesis_family.DOCUMENTATION or section.endswith("_DO_NOT_USE"):
                continue
            if section in OURS:
                OURS[section](checks, bench, expected)
            elif section in synthesis_family.SECTIONS:
                synthesis_family.SECTIONS[section](checks, folder, expected)
            else:
                checks.true(section, False, "no check knows this section")


def image_loading(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    for name, sizes in expected.items():
        for size, told in sizes.items():
            synthesis_family.known(checks, f"image_loading.{name}", told, "sha256_rgb_hwc_u8", "mean_rgb")
            pixels = load(bench.folder / name, HIS_EVALUATORS.at(int(size), int(size))).pixels
            digest = hashlib.sha256(pixels.tobytes()).hexdigest()
            found = {"sha256_rgb_hwc_u8": digest, "mean_rgb": (pixels / 255).mean(axis=(0, 1))}
            synthesis_family.close_where_told(checks, f"image_loading.{name}.{size}", found, told, abs=1e-6)


def pixel_metrics(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    synthesis_family.known(checks, "pixel_metrics", expected, "pairs", "aggregates")
    sizes = sorted({size for pair in expected.get("pairs", {}).values() for size in pair}, key=int)
    for size in sizes:
        loading = HIS_EVALUATORS.at(int(size), int(size))
        ids = [pair for pair, told in expected.get("pairs", {}).items() if size in told]
        made, real = bench.sides(ids)
        found = {
            "ssim": ssim_comparer(loading=loading).compare(made, real),
            "psnr": psnr_comparer(loading=loading).compare(made, real),
            "psnr_swapped": psnr_comparer(loading=loading).compare(real, made),
        }
        for row, pair in enumerate(ids):
            synthesis_family.known(checks, f"pixel_metrics.{pair}", expected["pairs"][pair][size], *found)
            for metric, value in expected["pairs"][pair][size].items():
                got = found[metric][row] if metric in found else None
                checks.close(f"pixel_metrics.{pair}.{size}.{metric}", got, value, abs=1e-6)
    synthesis_family.pixel_aggregates(checks, bench.folder, expected.get("aggregates", []))


def lpips_trained(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    for size, told in expected.items():
        name = f"lpips_trained_alexnet.{size}"
        ids = list(told["per_pair"])
        comparer = bench.lpips(int(size))
        values = comparer.compare(*bench.sides(ids))
        checks.close(name, dict(zip(ids, values, strict=True)), told["per_pair"], abs=1e-5)
        for key, value in told.items():
            batch = re.fullmatch(r"mean_of_batches_of_(\d+)", key)
            if batch:
                options = SynthesisOptions(image_size=int(size), batch=int(batch[1]))
                got = synthesis_family.paired_values(bench.folder, ids, ["lps"], options, {"lps": comparer})
                checks.close(f"{name}.{key}", got["lps"], value, abs=1e-5)
            else:
                checks.true(f"{name}.{key}", key == "per_pair", "no check knows this key")


def person_boxes(checks: Checks, bench: Bench, expected: list[dict[str, Any]]) -> None:
    rows = np.load(bench.folder / "detector_rows.npz")["detector_rows"]
    for case in expected:
        name = f"person_box.{case['index']}"
        synthesis_family.known(checks, name, case, "index", "image_shape_hw", "kept_after_nms", "box")
        found = merge_rows(rows[case["index"]])
        kept = {"kept_after_nms": [list(one) for one in found] or None}
        synthesis_family.close_where_told(checks, name, kept, case, abs=1e-3)
        if "box" in case:
            checks.equal(name, person_box(found, *case["image_shape_hw"]), case["box"])


def enlarge_boxes(checks: Checks, bench: Bench, expected: list[dict[str, Any]]) -> None:
    for number, case in enumerate(expected):
        synthesis_family.known(checks, f"enlarge_box.{number}", case, "box", "shape_hw", "factor", "expected")
        x0, y0, x1, y1 = case["box"]
        got = enlarge((x0, y0, x1, y1), *case["shape_hw"], case["factor"])
        checks.equal(f"enlarge_box.{number}", got, case["expected"])


def person_crops(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    keys = ("images", "boxes_xyxy", "image_size", "osnet_patch_hw", "pcb_patch_hw")
    synthesis_family.known(checks, "person_crops", expected, *keys)
    size = expected["image_size"]
    pixels = [load(path, HIS_EVALUATORS.at(size, size)).pixels for path in bench.paths(expected["images"])]
    pictures = unit_batch(pixels, "cpu")
    given = tuple(tuple(box) if box else None for box in expected["boxes_xyxy"])
    for array, wanted in bench.arrays.items():
        told = re.fullmatch(r"(osnet|pcb)_(patch|features)(_no_boxes|_boxes)?(?:_every(\d+))?", array)
        if not told:
            continue
        which, what, boxes, every = told.groups()
        patches = person_patches(pictures, None if boxes == "_no_boxes" else given, expected[f"{which}_patch_hw"])
        if what == "patch":
            got = patches[:, :, :: int(every), :: int(every)].numpy()
            checks.close(f"person_crops.{array}", float(np.abs(got - wanted).max()), 0.0, abs=2e-6)
        else:
            ready = fill_network("osnet-ibn" if which == "osnet" else "pcb")
            _near(checks, f"person_crops.{array}", ready.network(patches).numpy(), wanted, 2e-5)


def part_features(checks: Checks, folder: Path) -> None:
    """Features of parts among the arrays of a case: what is given, and what becomes of it."""
    path = folder / "features.npz"
    arrays = np.load(path) if path.exists() else {}
    if "pcb_raw" in arrays and "pcb_flat" in arrays:
        flat = unit_parts(torch.from_numpy(arrays["pcb_raw"])).numpy()
        checks.close("features.pcb_flat", flat, arrays["pcb_flat"], abs=1e-6)


def yolo_output(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    synthesis_family.known(checks, "yolov3_spp_filled", expected, "image", "image_size", "output_shape")
    size = expected["image_size"]
    pixels = load(bench.folder / expected["image"], HIS_EVALUATORS.at(size, size)).pixels
    rows = fill_network("yolov3-spp").network(unit_batch([pixels], "cpu")).numpy()
    checks.equal("yolov3_spp_filled.output_shape", rows.shape, expected["output_shape"])
    _near(checks, "yolov3_spp_filled", rows, bench.arrays[f"yolov3_spp_output_{size}"], 2e-6)


def mtcnn_faces(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    size = bench.face_size
    detector = mtcnn_detector()
    for name, told in expected.items():
        synthesis_family.known(checks, f"mtcnn_faces.{name}", told, "boxes", "probs")
        pixels = load(bench.folder / name, HIS_EVALUATORS.at(size, size)).pixels
        faces = largest_first(detector.faces(pixels))[: len(told["boxes"] or ()) or None]
        checks.close(f"mtcnn_faces.{name}", [face.box for face in faces] or None, told["boxes"], abs=2e-3)
        checks.close(f"mtcnn_faces.{name}.probs", [face.score for face in faces] or None, told["probs"], abs=1e-4)


def images_with_face(checks: Checks, bench: Bench, expected: list[str]) -> None:
    names = bench.names_of_arrays()
    reader = bench.trained_face(bench.face_size)
    found = reader.found(bench.paths(names))
    checks.equal("images_with_face", sorted(np.array(names)[found]), sorted(expected))


def face_trained(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    size = expected["image_size"]
    reader = bench.trained_face(size)
    if "face_embedding_trained" in bench.arrays:
        vectors = reader.read(bench.paths(bench.names_of_arrays()))
        _near(checks, "face_trained_weights.embeddings", vectors, bench.arrays["face_embedding_trained"], 2e-4)
    synthesis_family.trained_runs(checks, bench.folder, expected, {"face": reader})


def filled_networks(checks: Checks, bench: Bench, expected: dict[str, Any]) -> None:
    synthesis_family.known(checks, "filled_networks", expected, "person_boxes", "lpips_per_pair", "runs")
    size = expected["runs"]["image_size"]
    given = bench.filled(size)
    names = list(expected["person_boxes"])
    boxes = [[int(side) for side in row[1:]] if row[0] else None for row in given["detector"].read(bench.paths(names))]
    checks.equal("filled_networks.person_boxes", dict(zip(names, boxes, strict=True)), expected["person_boxes"])
    ids = list(expected["lpips_per_pair"])
    distances = given["lps"].compare(*bench.sides(ids))
    checks.close("filled_networks.lpips", dict(zip(ids, distances, strict=True)), expected["lpips_per_pair"], rel=2e-5)
    every = bench.paths(bench.names_of_arrays())
    for array, feature in (("inception", "inception"), ("osnet", "osnet"), ("face_embedding", "face")):
        if array in bench.arrays:
            _near(checks, f"filled_networks.{array}", given[feature].read(every), bench.arrays[array], 2e-5)
    for array, wanted in bench.arrays.items():
        first = re.fullmatch(r"(pcb|face_crop)_first(\d+)", array)
        if first and first[1] == "pcb":
            _near(checks, f"filled_networks.{array}", given["pcb"].read(every[: int(first[2])]), wanted, 2e-5)
        elif first:
            _near(checks, f"filled_networks.{array}", _face_crops(every[: int(first[2])], size), wanted, 2e-6)
    synthesis_family.filled_runs(checks, bench.folder, expected["runs"], given)


def _face_crops(paths: list[Path], size: int) -> np.ndarray:
    """Crops of the largest face as the embedding gets them."""
    detector = mtcnn_detector()
    pictures = [load(path, HIS_EVALUATORS.at(size, size)).pixels for path in paths]
    return standardised([crop(one, largest_first(detector.faces(one))[0]) for one in pictures])


def _near(checks: Checks, name: str, got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Arrays of one shape whose largest difference is small beside the largest value."""
    same = got.shape == wanted.shape
    apart = float(np.abs(got - wanted).max() / np.abs(wanted).max()) if same else float("inf")
    checks.true(name, apart <= tolerance, f"{got.shape} against {wanted.shape}, {apart:.2e} apart")


OURS: Mapping[str, Callable[[Checks, Bench, Any], None]] = {
    "image_loading": image_loading,
    "pixel_metrics": pixel_metrics,
    "lpips_trained_alexnet": lpips_trained,
    "person_box": person_boxes,
    "enlarge_box": enlarge_boxes,
    "person_crops": person_crops,
    "yolov3_spp_filled": yolo_output,
    "mtcnn_faces": mtcnn_faces,
    "images_with_face": images_with_face,
    "face_trained_weights": face_trained,
    "filled_networks": filled_networks,
}
