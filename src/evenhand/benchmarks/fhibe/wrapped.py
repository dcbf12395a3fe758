"""Models written to the published wrapper contract, as models that `evenhand predict` can run.

A wrapper has `data_preprocessor(img_filepaths, **kwargs)`, which gives batches, and `__call__(batch)`,
which gives one element per image of the batch; some tasks need `save_encoding`, `save_array`,
`map_ears_to_skin` or `align_faces`.

The published contract ties answers to images by running position alone. Here the paths that a batch
carries are used wherever it carries them; a loader that shuffles is refused, and one that drops, repeats or
reorders images is caught and the image named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import codec, vocabulary
from evenhand.benchmarks.fhibe.data import checked_keypoints
from evenhand.core.errors import DataError, ModelError
from evenhand.core.task import Sample
from evenhand.files.inputs import opened_picture
from evenhand.files.writing import remove, temporary_folder
from evenhand.geometry.boxes import extents
from evenhand.geometry.masks import encode

_DEEPEST = 3  # levels of a batch that are searched for paths


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
        if not asked:
            return iter(())
        task = asked[0].given.get("task")
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
        with temporary_folder() as folder:
            adapter = _TaskAdapter(self.name, self.wrapper, self.cuda, samples[0], folder)
            paths, arguments, failed = adapter.prepare(samples)
            yield from ((image, np.zeros(0)) for image in failed)
            if len(failed) == len(samples):
                return
            with _no_gradients():
                loader = self.wrapper.data_preprocessor(list(paths), **arguments)
            refuse_shuffling(self.name, loader)
            matcher = BatchMatcher(self.name, samples, failed, arguments.get("aligned_img_filepaths", paths), loader)
            for number, batch in enumerate(loader):
                with _no_gradients():
                    outputs = list(_detached(self.wrapper(batch)))  # one element per image
                for sample, output in zip(matcher.take(number, batch, len(outputs)), outputs, strict=True):
                    if sample.id not in failed:
                        yield sample.id, adapter.read(sample, output)
            matcher.close()


def adapt_wrapper(wrapper: Any, name: str, device: str) -> WrappedModel | None:
    """An object with `data_preprocessor` and `__call__` as a model; None for any other.

    It need not derive from our `BaseModelWrapper`: what counts is what it has.
    """
    if not callable(getattr(wrapper, "data_preprocessor", None)) or not callable(wrapper) or isinstance(wrapper, type):
        return None
    own = getattr(wrapper, "name", None)
    return WrappedModel(own if isinstance(own, str) and own else name, wrapper, device.startswith("cuda"))


class BatchMatcher:
    """Which images a batch is about: by the paths that it carries, else by running position."""

    def __init__(
        self, name: str, samples: Sequence[Sample], failed: Collection[str], paths: Sequence[str], loader: Any
    ) -> None:
        """`paths` are second paths of the samples; those in `failed` need no answer."""
        self.name, self.loader = name, loader
        self.samples = [sample for sample in samples if sample.id not in failed]
        self.by_path = dict(zip(paths, samples, strict=True))
        self.by_path.update({str(sample.media[0]): sample for sample in samples})
        self.answered: dict[str, None] = {}
        self.waiting = (sample for sample in self.samples if sample.id not in self.answered)

    def take(self, number: int, batch: Any, answers: int) -> list[Sample]:
        """The images of a batch, one per answer; raises ModelError where that can't be said or is not once each."""
        named = [self.by_path[path] for path in paths_in(batch, self.by_path)]
        if len(named) != answers:
            named = list({sample.id: sample for sample in named}.values())  # the same path may stand in two places
        if named and len(named) != answers:
            raise ModelError(
                f"{self.name}: batch {number} carries the paths of {len(named)} images, such as {named[0].id}, but "
                f"__call__ gave {answers} answers. One answer per image of the batch is needed, in its order."
            )
        chosen = named or self._next(number, answers)
        for sample in chosen:
            if sample.id in self.answered:
                raise ModelError(f"{self.name}: the loader gave image {sample.id} twice (batch {number}).")
            self.answered[sample.id] = None
        return chosen

    def close(self) -> None:
        """Raises ModelError when an image had no answer."""
        dropped = [sample.id for sample in self.samples if sample.id not in self.answered]
        if dropped:
            raise ModelError(
                f"{self.name}: the loader dropped {len(dropped)} of {len(self.samples)} images, such as {dropped[0]}. "
                "It must give every image once (is `drop_last` set?)."
            )

    def _next(self, number: int, answers: int) -> list[Sample]:
        if not self.answered:
            self._compare_order()
        chosen = list(islice(self.waiting, answers))
        if len(chosen) < answers:
            raise ModelError(
                f"{self.name}: batch {number} has {answers} answers, but only {len(chosen)} images were left after "
                f"{len(self.answered)}. The loader repeats images, or __call__ gives too many."
            )
        return chosen

    def _compare_order(self) -> None:
        """Where batches carry no paths but the loader's data set lists them, it must list ours, in our order."""
        paths = _listed_paths(getattr(self.loader, "dataset", None), self.by_path)
        listed, wanted = [self.by_path[path].id for path in paths or []], [sample.id for sample in self.samples]
        if paths is None or listed == wanted:
            return
        pairs = enumerate(zip(listed, wanted, strict=False))
        place = next((place for place, (theirs, ours) in pairs if theirs != ours), min(len(listed), len(wanted)))
        raise ModelError(
            f"{self.name}: the loader's data set lists {len(listed)} images in an order of its own, the first out of "
            f"place is {wanted[place] if place < len(wanted) else listed[place]}; {len(wanted)} were given. Keep the "
            "order and leave none out, or let every batch carry the paths of its images."
        )


def paths_in(batch: Any, known: Mapping[str, Any], depth: int = 0) -> list[str]:
    """The known paths that a batch carries, in order; none when it carries none.

    >>> paths_in({"image": [0, 1], "path": ["a.png", "b.png"]}, {"a.png": 1, "b.png": 2})
    ['a.png', 'b.png']
    """
    if isinstance(batch, str | Path):
        return [str(batch)] if str(batch) in known else []
    if depth >= _DEEPEST:
        return []
    if isinstance(batch, Mapping):
        parts: Iterable[Any] = batch.values()
    elif isinstance(batch, list | tuple):
        parts = batch
    else:
        return []
    return [path for part in parts for path in paths_in(part, known, depth + 1)]


def refuse_shuffling(name: str, loader: Any) -> None:
    sampler = type(getattr(loader, "sampler", None)).__name__
    if "Random" in sampler or "Weighted" in sampler:
        raise ModelError(
            f"{name}: the loader shuffles ({sampler}). It must give the images in the order of the list: shuffle=False."
        )


def _listed_paths(dataset: Any, known: Mapping[str, Any]) -> list[str] | None:
    """The list of known images that a data set keeps, as torch's usually do; None when it shows none."""
    for value in getattr(dataset, "__dict__", {}).values():
        if isinstance(value, list | tuple) and value and all(isinstance(path, str | Path) for path in value):
            listed = [str(path) for path in value]
            if all(path in known for path in listed):
                return listed
    return None


def preprocessor_arguments(
    task: str,
    paths: Sequence[str],
    boxes: Mapping[str, Sequence[Any]],
    masks: Sequence[str],
    encodings: Path,
    custom: Sequence[str] | None,
    *,
    aligned: bool = True,
) -> dict[str, Any]:
    """What a wrapper's preprocessor is handed beside the paths, as published.

    `boxes` are those of the people in each image: corners for keypoints, left, top, width, height for parts (Q10).
    """
    arguments: Mapping[str, dict[str, Any]] = {
        "person_localization": {"gt_column_name": "person_bbox"},
        "face_localization": {"gt_column_name": "face_bbox"},
        "person_parsing": {"to_rle": True, "gt_column_name": "person_mask"},
        "keypoint_estimation": {
            "img_filepath_gt_bboxes": boxes,
            "gt_keypoint_column_name": "keypoints_coco_fmt",
            "gt_face_bbox_column_name": "face_bbox",
            "kpt_oks_sigmas": np.array([vocabulary.SIGMAS[name] for name in custom or vocabulary.KEYPOINTS]),
            "custom_keypoints": None if custom is None else list(custom),
        },
        "body_parts_detection": {"img_filepath_gt_bboxes": boxes, "gt_column_name": None},
        "face_parsing": {"mask_filepaths": masks, "prediction_change_map": {"l_ear": "skin", "r_ear": "skin"}},
        "face_encoding": {
            "aligned": aligned,
            "aligned_filepaths": paths,
            "encoded_filepaths": [str(encodings / Path(path).name) for path in paths],
        },
        "face_super_resolution": {"aligned": aligned},
    }
    return arguments[task]


def aligned_arguments(
    wrapper: Any, name: str, paths: Sequence[str], aligned: Sequence[str], root: Path, *, cuda: bool
) -> dict[str, Any]:
    """The same for verification, after the wrapper has aligned the pictures; one that aligns nothing looks at these.

    `aligned` are the files that it is to write, all of them below `root`.
    """
    outcome = None
    if hasattr(wrapper, "align_faces"):
        for target in map(Path, aligned):
            if not target.is_relative_to(root) or ".." in target.relative_to(root).parts:
                raise DataError(
                    f"Image {target} may lead out of the data folder, {root}; no aligned picture is written there."
                )
        with _no_gradients():
            outcome = wrapper.align_faces(
                img_filepaths=list(paths), aligned_img_filepaths=list(aligned), batch_size=1, num_workers=0, cuda=cuda
            )
    success = [True] * len(paths) if outcome is None else [bool(done) for done in outcome]
    if len(success) != len(paths):
        raise ModelError(
            f"{name}: align_faces gave {len(success)} answers for {len(paths)} images; one per image is needed."
        )
    return {
        "aligned": True,
        "aligned_img_filepaths": list(aligned),
        "success": success,
        "success_aligned_img_filepaths": [path for path, done in zip(aligned, success, strict=True) if done],
    }


class _TaskAdapter:
    """What a task passes to the preprocessor, and how it reads what comes back."""

    def __init__(self, name: str, wrapper: Any, cuda: bool, first: Sample, folder: Path) -> None:
        self.name, self.wrapper, self.cuda, self.folder = name, wrapper, cuda, folder
        self.task, self.root = first.given["task"], codec.data_root(first)
        self.custom = first.given.get("custom_keypoints")
        self.keypoints = checked_keypoints(self.custom)

    def prepare(self, samples: Sequence[Sample]) -> tuple[list[str], dict[str, Any], dict[str, None]]:
        """Paths and keyword arguments for the preprocessor, and the images that could not be aligned."""
        paths = [str(sample.media[0]) for sample in samples]
        if self.task == "face_verification":
            root = codec.aligned_path(self.root, "")
            aligned = [str(root / sample.id) for sample in samples]
            arguments = aligned_arguments(self.wrapper, self.name, paths, aligned, root, cuda=self.cuda)
            outcomes = zip(samples, arguments["success"], strict=True)
            return paths, arguments, {sample.id: None for sample, done in outcomes if not done}
        boxes = {path: sample.given.get("person_boxes_xyxy", []) for path, sample in zip(paths, samples, strict=True)}
        if self.task == "body_parts_detection":
            boxes = {path: extents(np.array(listed)).tolist() for path, listed in boxes.items()}
        masks = [str(sample.given.get("mask_filepath", "")) for sample in samples]
        return paths, preprocessor_arguments(self.task, paths, boxes, masks, self.folder, self.custom), {}

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

    def boxes(self, sample: Sample, output: Mapping[str, Any] | None) -> codec.BoxDetections:
        corners = _array(_listed(output, "bboxes", "detections")).reshape(-1, 4)
        scores = _array(_listed(output, "scores")).reshape(-1)
        keep = _people(output, len(corners))
        return codec.BoxDetections(corners[keep], tuple(scores[keep].tolist() if len(scores) == len(corners) else ()))

    def face_boxes(self, sample: Sample, output: Mapping[str, Any] | None) -> codec.BoxDetections:
        corners = _array(_listed(output, "detections", "bboxes")).reshape(-1, 4)
        return codec.BoxDetections(corners, tuple(_array(_listed(output, "scores")).reshape(-1).tolist()))

    def masks(self, sample: Sample, output: Mapping[str, Any] | None) -> codec.PersonMasks:
        listed = list(_listed(output, "masks", "detections"))
        scores = _array(_listed(output, "scores")).reshape(-1)
        keep = _people(output, len(listed))
        people = [mask for mask, kept in zip(listed, keep, strict=True) if kept]
        runs = tuple(
            codec.runs_from([mask], set())[0] if isinstance(mask, Mapping) else encode(_array(mask).astype(np.bool_))
            for mask in people
        )
        for mask in runs:
            self._of_picture(sample, (mask.height, mask.width), "mask")
        return codec.PersonMasks(runs, tuple(scores[keep].tolist() if len(scores) == len(listed) else ()))

    def poses(self, sample: Sample, output: Mapping[str, Any] | None) -> codec.Poses:
        count = len(self.keypoints)
        people = [_array(person) for person in _listed(output, "keypoints", "detections")]
        people = [person[0] if person.ndim == 3 and len(person) == 1 else person for person in people]
        for person in people:
            if person.ndim != 2 or person.shape[0] != count or person.shape[1] < 2:
                raise ModelError(
                    f"{self.name}: image {sample.id}: keypoints of shape {person.shape}; ({count}, 2) were expected."
                )
        stacked = np.array([person[:, :2] for person in people]).reshape(len(people), count, 2)
        return codec.Poses(
            stacked, [_array(score).reshape(-1).astype(float).tolist() for score in _listed(output, "scores")]
        )

    def parts(self, sample: Sample, output: Any) -> codec.PartProbabilities:
        listed = _listed(output, "detections") if output is None or isinstance(output, Mapping) else output
        annotated = len(sample.given.get("person_boxes_xyxy", []))
        if len(listed) and len(listed) < annotated:
            raise ModelError(
                f"{self.name}: image {sample.id}: {len(listed)} people, but {annotated} are annotated; "
                "one mapping per annotated person was expected."
            )
        return tuple({str(part): float(value) for part, value in (person or {}).items()} for person in listed)

    def face(self, sample: Sample, output: Mapping[str, Any] | None) -> codec.FaceMap:
        answer = None if not output else codec.entry_named(output, ("detections",))
        if answer is None:
            return codec.FaceMap({})
        labels = np.squeeze(_array(answer))
        self._of_picture(sample, labels.shape, "label map")
        return codec.face_map(labels, ears_to_skin=bool(self.wrapper.map_ears_to_skin))

    def embedding(self, sample: Sample, output: Any) -> Any:
        vector = _array(
            codec.entry_named(output, ("embeddings", "detections")) if isinstance(output, Mapping) else output
        )
        vector = vector.astype(np.float64).reshape(-1) if vector.ndim == 1 or len(vector) == 1 else vector
        if vector.ndim != 1:
            raise ModelError(
                f"{self.name}: image {sample.id}: an embedding of shape {vector.shape}; one row of numbers "
                "per image was expected."
            )
        return vector

    def encoding(self, sample: Sample, output: Any) -> bytes:
        encoded = codec.entry_named(output, ("encoding", "encodings")) if isinstance(output, Mapping) else output
        return self._saved(sample, encoded, self.folder / Path(sample.id).name, "save_encoding")

    def picture(self, sample: Sample, output: Any) -> bytes:
        return self._saved(sample, output, self.folder / f"super_{Path(sample.id).name}", "save_array")

    def _of_picture(self, sample: Sample, shape: tuple[int, ...], what: str) -> None:
        """Raises ModelError when a mask has another size than its picture (turned or not, as cameras tag them)."""
        from PIL import Image

        try:
            with opened_picture(sample.media[0]) as picture:
                size = picture.height, picture.width
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            return  # a header that can't be read tells nothing
        if shape not in (size, size[::-1]):
            sides = " × ".join(str(side) for side in shape)
            raise ModelError(
                f"{self.name}: image {sample.id}: a {what} of {sides} for a picture of {size[0]} × {size[1]} "
                "(height × width). Bring it back to the picture's size."
            )

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


_MEMBERS: Mapping[str, Mapping[str, str]] = {  # task → what else its wrapper needs
    "face_parsing": {"map_ears_to_skin": "attribute"},
    "face_encoding": {"save_encoding": "method"},
    "face_super_resolution": {"save_array": "method"},
}


def _no_gradients() -> AbstractContextManager[Any]:
    """As the published tool runs wrapped models; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch.no_grad()


def _detached(value: Any) -> Any:
    """A tensor as an array; anything else as it is."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def _array(value: Any) -> Any:
    return np.asarray(_detached(value))


def _listed(output: Any, *names: str) -> Any:
    """The list under the first of these names; an answer that is None or empty, or a value None, is an empty list."""
    if output is None or (isinstance(output, Mapping) and not output):
        return []
    values = output.get("scores") if names == ("scores",) else codec.entry_named(output, names)
    return [] if values is None else values


def _people(output: Mapping[str, Any] | None, count: int) -> Any:
    """(found,): which findings are people (label 0); all of them when there are no labels."""
    if not count or not output or output.get("labels") is None:
        return np.ones(count, dtype=np.bool_)
    labels = _array(output["labels"]).reshape(-1)
    if len(labels) != count:
        raise ValueError(f"{len(labels)} labels for {count} findings")
    return np.asarray(labels == 0)
