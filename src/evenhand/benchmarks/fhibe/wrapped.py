"""Models written to the published wrapper contract, as models that `evenhand predict` can run.

A wrapper has `data_preprocessor(img_filepaths, **kwargs)`, which gives batches, and `__call__(batch)`,
which gives one element per image of the batch; some tasks need `save_encoding`, `save_array`,
`map_ears_to_skin` or `align_faces`. Which image an answer belongs to is found in `batches`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.batches import BatchMatcher, refuse_shuffling
from evenhand.benchmarks.fhibe.codec import (
    BoxDetections,
    FaceMap,
    PartProbabilities,
    PersonMasks,
    Poses,
    aligned_path,
    data_root,
    face_map,
)
from evenhand.benchmarks.fhibe.data import checked_keypoints
from evenhand.core.errors import DataError, ModelError
from evenhand.core.task import Sample
from evenhand.files.inputs import opened_picture
from evenhand.files.writing import remove, temporary_folder
from evenhand.geometry.boxes import extents
from evenhand.geometry.masks import Runs, encode


class WrapperMemberError(ModelError, AttributeError):
    """A wrapper lacks a method or attribute that its task needs."""


@dataclass(frozen=True)
class WrappedModel:
    """Any object of the published contract as a model for every task whose samples it is given."""

    name: str
    wrapper: Any
    cuda: bool = False

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        """The wrapper's answer to every sample, tied to it by path where its batches carry paths.

        Samples say which task they are asked for. What the wrapper lacks is said before the first answer is asked for.
        """
        asked = list(samples)
        task = asked[0].given.get("task") if asked else ""
        if task is None:
            raise ModelError("A wrapped model answers samples of FHIBE tasks only.")
        for member, kind in {"data_preprocessor": "method", "__call__": "method", **_MEMBERS.get(task, {})}.items():
            if not hasattr(self.wrapper, member):
                raise WrapperMemberError(
                    f"Model must have a '{member}' {kind} for {task}; {self.name} has none "
                    f"({type(self.wrapper).__name__})."
                )
        return self._answers(asked)

    def _answers(self, samples: Sequence[Sample]) -> Iterator[tuple[str, Any]]:
        if not samples:
            return
        with temporary_folder() as folder:
            adapter = _TaskAdapter(self.name, self.wrapper, self.cuda, samples[0], folder)
            paths, arguments, failed = adapter.prepare(samples)
            for sample in failed:
                yield sample.id, np.zeros(0)
            apart = {sample.id for sample in failed}
            for sample, output in self._outputs(samples, apart, paths, arguments):
                yield sample.id, adapter.read(sample, output)

    def _outputs(
        self, samples: Sequence[Sample], failed: set[str], paths: Sequence[str], arguments: Mapping[str, Any]
    ) -> Iterator[tuple[Sample, Any]]:
        """Every answer with its sample; answers to pictures that could not be aligned are left out."""
        if len(failed) == len(samples):
            return
        with _no_gradients():
            loader = self.wrapper.data_preprocessor(list(paths), **arguments)
        refuse_shuffling(self.name, loader)
        matcher = BatchMatcher(self.name, samples, failed, arguments.get("aligned_img_filepaths", paths), loader)
        for number, batch in enumerate(loader):
            with _no_gradients():
                outputs = _as_list(self.wrapper(batch))
            for sample, output in zip(matcher.take(number, batch, len(outputs)), outputs, strict=True):
                if sample.id not in failed:
                    yield sample, output
        matcher.close()


def adapt_wrapper(wrapper: Any, name: str, device: str) -> WrappedModel | None:
    """An object with `data_preprocessor` and `__call__` as a model; None for any other.

    It need not derive from our `BaseModelWrapper`: what counts is what it has.
    """
    if not callable(getattr(wrapper, "data_preprocessor", None)) or not callable(wrapper) or isinstance(wrapper, type):
        return None
    own = getattr(wrapper, "name", None)
    return WrappedModel(own if isinstance(own, str) and own else name, wrapper, device.startswith("cuda"))


class _TaskAdapter:
    """What a task passes to the preprocessor, and how it reads what comes back."""

    def __init__(self, name: str, wrapper: Any, cuda: bool, first: Sample, folder: Path) -> None:
        self.name, self.wrapper, self.cuda, self.folder = name, wrapper, cuda, folder
        self.task, self.root = first.given["task"], data_root(first)
        self.is_subset = first.given.get("custom_keypoints") is not None
        self.keypoints = checked_keypoints(first.given.get("custom_keypoints"))

    def prepare(self, samples: Sequence[Sample]) -> tuple[list[str], dict[str, Any], list[Sample]]:
        """Paths and keyword arguments for the preprocessor, and the samples that could not be aligned."""
        paths = [str(sample.media[0]) for sample in samples]
        boxes = {path: sample.given.get("person_boxes_xyxy", []) for path, sample in zip(paths, samples, strict=True)}
        encoded = [str(self._encoded(sample)) for sample in samples]
        arguments: Mapping[str, dict[str, Any]] = {
            "person_localization": {"gt_column_name": "person_bbox"},
            "face_localization": {"gt_column_name": "face_bbox"},
            "person_parsing": {"to_rle": True, "gt_column_name": "segments"},
            "keypoint_estimation": {
                "img_filepath_gt_bboxes": boxes,
                "gt_keypoint_column_name": "keypoints",
                "gt_face_bbox_column_name": "face_bbox",
                "kpt_oks_sigmas": [vocabulary.SIGMAS[name] for name in self.keypoints],
                "custom_keypoints": list(self.keypoints) if self.is_subset else None,
            },
            # Left, top, width, height here, corners for keypoints: the published tool does so (Q10).
            "body_parts_detection": {
                "img_filepath_gt_bboxes": {path: extents(np.array(listed)).tolist() for path, listed in boxes.items()}
                if self.task == "body_parts_detection"
                else {},
                "gt_column_name": None,
            },
            "face_parsing": {
                "mask_filepaths": [str(sample.given.get("mask_filepath", "")) for sample in samples],
                "prediction_change_map": {"l_ear": "skin", "r_ear": "skin"},
            },
            "face_encoding": {"aligned": True, "aligned_filepaths": paths, "encoded_filepaths": encoded},
            "face_super_resolution": {"aligned": True},
        }
        if self.task == "face_verification":
            return self._align(samples, paths)
        return paths, arguments[self.task], []

    def _align(self, samples: Sequence[Sample], paths: list[str]) -> tuple[list[str], dict[str, Any], list[Sample]]:
        """Aligned pictures where the wrapper makes them; one that aligns nothing looks at the originals."""
        aligned = [str(aligned_path(self.root, sample.id)) for sample in samples]
        align = getattr(self.wrapper, "align_faces", None)
        outcome = None
        if align is not None:
            for image in (Path(sample.id) for sample in samples):
                if image.is_absolute() or ".." in image.parts:
                    raise DataError(
                        f"Image {image} may lead out of the data folder; no aligned picture is written there."
                    )
            with _no_gradients():
                outcome = align(
                    img_filepaths=list(paths),
                    aligned_img_filepaths=list(aligned),
                    batch_size=1,
                    num_workers=0,
                    cuda=self.cuda,
                )
        success = [True] * len(samples) if outcome is None else [bool(done) for done in outcome]
        if len(success) != len(samples):
            raise ModelError(
                f"{self.name}: align_faces gave {len(success)} answers for {len(samples)} images; one per image "
                "is needed."
            )
        arguments = {
            "aligned": True,
            "aligned_img_filepaths": aligned,
            "success": success,
            "success_aligned_img_filepaths": [path for path, done in zip(aligned, success, strict=True) if done],
        }
        return paths, arguments, [sample for sample, done in zip(samples, success, strict=True) if not done]

    def read(self, sample: Sample, output: Any) -> Any:
        """The answer that a wrapper's element stands for."""
        try:
            return _READERS[self.task](self, sample, output)
        except ModelError:
            raise
        except Exception as error:  # whatever the wrapper's value raises while it is read
            raise ModelError(
                f"{self.name}: the answer to image {sample.id} is not what {self.task} expects "
                f"({type(error).__name__}: {error})."
            ) from error

    def boxes(self, sample: Sample, output: Mapping[str, Any] | None) -> BoxDetections:
        corners = _array(_listed(output, "bboxes", "detections")).reshape(-1, 4)
        scores = _array(_listed(output, "scores")).reshape(-1)
        keep = _people(output, len(corners))
        return BoxDetections(corners[keep], tuple(scores[keep].tolist() if len(scores) == len(corners) else ()))

    def face_boxes(self, sample: Sample, output: Mapping[str, Any] | None) -> BoxDetections:
        corners = _array(_listed(output, "detections", "bboxes")).reshape(-1, 4)
        return BoxDetections(corners, tuple(_array(_listed(output, "scores")).reshape(-1).tolist()))

    def masks(self, sample: Sample, output: Mapping[str, Any] | None) -> PersonMasks:
        listed = list(_listed(output, "masks", "detections"))
        scores = _array(_listed(output, "scores")).reshape(-1)
        keep = _people(output, len(listed))
        runs = tuple(_runs(mask) for mask, kept in zip(listed, keep, strict=True) if kept)
        for mask in runs:
            self._of_picture(sample, (mask.height, mask.width), "mask")
        return PersonMasks(runs, tuple(scores[keep].tolist() if len(scores) == len(listed) else ()))

    def poses(self, sample: Sample, output: Mapping[str, Any] | None) -> Poses:
        count = len(self.keypoints)
        people = [_array(person) for person in _listed(output, "keypoints", "detections")]
        people = [person[0] if person.ndim == 3 and len(person) == 1 else person for person in people]
        for person in people:
            if person.ndim != 2 or person.shape[0] != count or person.shape[1] < 2:
                raise ModelError(
                    f"{self.name}: image {sample.id}: keypoints of shape {person.shape}; ({count}, 2) were expected."
                )
        stacked = np.array([person[:, :2] for person in people]).reshape(len(people), count, 2)
        return Poses(stacked, [_array(score).reshape(-1).astype(float).tolist() for score in _listed(output, "scores")])

    def parts(self, sample: Sample, output: Any) -> PartProbabilities:
        listed = _listed(output, "detections") if output is None or isinstance(output, Mapping) else output
        annotated = len(sample.given.get("person_boxes_xyxy", []))
        if len(listed) and len(listed) < annotated:
            raise ModelError(
                f"{self.name}: image {sample.id}: {len(listed)} people, but {annotated} are annotated; "
                "one mapping per annotated person was expected."
            )
        return PartProbabilities(
            tuple({str(part): float(value) for part, value in (person or {}).items()} for person in listed)
        )

    def face(self, sample: Sample, output: Mapping[str, Any] | None) -> FaceMap:
        answer = None if not output else _first(output, "detections")
        if answer is None:
            return FaceMap({})
        labels = np.squeeze(_array(answer))
        self._of_picture(sample, labels.shape, "label map")
        return face_map(labels, ears_to_skin=bool(self.wrapper.map_ears_to_skin))

    def embedding(self, sample: Sample, output: Any) -> Any:
        vector = _array(_first(output, "embeddings", "detections") if isinstance(output, Mapping) else output)
        vector = vector.astype(np.float64).reshape(-1) if vector.ndim == 1 or len(vector) == 1 else vector
        if vector.ndim != 1:
            raise ModelError(
                f"{self.name}: image {sample.id}: an embedding of shape {vector.shape}; one row of numbers "
                "per image was expected."
            )
        return vector

    def encoding(self, sample: Sample, output: Any) -> bytes:
        encoded = _first(output, "encoding", "encodings") if isinstance(output, Mapping) else output
        return self._saved(sample, encoded, self._encoded(sample), "save_encoding")

    def picture(self, sample: Sample, output: Any) -> bytes:
        return self._saved(sample, output, self.folder / f"super_{Path(sample.id).name}", "save_array")

    def _of_picture(self, sample: Sample, shape: tuple[int, ...], what: str) -> None:
        """Raises ModelError when a mask has another size than its picture (turned or not, as cameras tag them)."""
        size = picture_size(sample.media[0])
        if size is not None and shape not in (size, size[::-1]):
            sides = " × ".join(str(side) for side in shape)
            raise ModelError(
                f"{self.name}: image {sample.id}: a {what} of {sides} for a picture of {size[0]} × {size[1]} "
                "(height × width). Bring it back to the picture's size."
            )

    def _encoded(self, sample: Sample) -> Path:
        return self.folder / Path(sample.id).name

    def _saved(self, sample: Sample, output: Any, target: Path, method: str) -> bytes:
        """The content of the file that a method of the wrapper saves."""
        getattr(self.wrapper, method)(output, str(target))
        if not target.is_file():
            raise ModelError(f"{self.name}: {method} wrote no picture for image {sample.id}.")
        content = target.read_bytes()
        remove(target, below=self.folder)
        return content


_READERS: Mapping[str, Callable[[_TaskAdapter, Sample, Any], Any]] = {
    "person_localization": _TaskAdapter.boxes,
    "face_localization": _TaskAdapter.face_boxes,
    "person_parsing": _TaskAdapter.masks,
    "keypoint_estimation": _TaskAdapter.poses,
    "body_parts_detection": _TaskAdapter.parts,
    "face_parsing": _TaskAdapter.face,
    "face_verification": _TaskAdapter.embedding,
    "face_encoding": _TaskAdapter.encoding,
    "face_super_resolution": _TaskAdapter.picture,
}


def picture_size(path: Path) -> tuple[int, int] | None:
    """Height and width that a picture's header tells; None when it can't be read."""
    from PIL import Image

    try:
        with opened_picture(path) as picture:
            return picture.height, picture.width
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


_MEMBERS: Mapping[str, Mapping[str, str]] = {  # task → what else its wrapper needs
    "face_parsing": {"map_ears_to_skin": "attribute"},
    "face_encoding": {"save_encoding": "method"},
    "face_super_resolution": {"save_array": "method"},
}


@contextmanager
def _no_gradients() -> Iterator[None]:
    """As the published tool runs wrapped models; torch is not imported for it."""
    torch = sys.modules.get("torch")
    with nullcontext() if torch is None else torch.no_grad():
        yield


def _as_list(outputs: Any) -> list[Any]:
    """One element per image; a tensor or array is taken apart along its first axis."""
    if hasattr(outputs, "detach"):
        outputs = outputs.detach().cpu().numpy()
    return list(outputs)


def _array(value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def _first(output: Any, *names: str) -> Any:
    for name in names:
        if name in output:
            return output[name]
    raise KeyError(f"no {names[0]!r} in the answer; it has {sorted(map(str, output))}")


def _listed(output: Any, *names: str) -> Any:
    """The list under the first of these names; an answer that is None or empty, or a value None, is an empty list."""
    if output is not None and not isinstance(output, Mapping):
        raise TypeError(f"{type(output).__name__} found, but a mapping with {names[0]!r} was expected")
    values = [output[name] for name in names if name in output] if output else []
    if output and not values and names[0] != "scores":
        raise KeyError(f"no {names[0]!r} in the answer; it has {sorted(map(str, output))}")
    return [] if not values or values[0] is None else values[0]


def _people(output: Mapping[str, Any] | None, count: int) -> Any:
    """(found,): which findings are people (label 0); all of them when there are no labels."""
    if not count or not output or output.get("labels") is None:
        return np.ones(count, dtype=np.bool_)
    labels = _array(output["labels"]).reshape(-1)
    if len(labels) != count:
        raise ValueError(f"{len(labels)} labels for {count} findings")
    return np.asarray(labels == 0)


def _runs(mask: Any) -> Runs:
    if isinstance(mask, Mapping):
        counts = mask["counts"]
        height, width = (int(side) for side in mask["size"])
        return Runs(height, width, counts.decode() if isinstance(counts, bytes) else str(counts))
    return encode(_array(mask).astype(np.bool_))
