"""What each task writes per image in `model_outputs.json`, read in the documented and in the actual form.

What is accepted beside the published form is recorded in `facts["form"]`, never guessed in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.output_file import AnswerFormError, OutputsCodec, write_entries
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.task import Sample
from evenhand.geometry.masks import MaskError, Runs, compress, encode, encode_labels, expand_all, paint

_NULL = {"detections": None, "scores": None}
_HIGHEST_LABEL = 255  # of a pixel; labels above the 19 of FHIBE are wrong wherever they stand, as published
Embedding = NDArray[np.float64]
PartProbabilities = tuple[Mapping[str, float], ...]  # of each annotated person of an image, in row order


class BoxDetections(NamedTuple):
    """Boxes that a model found in an image, as corners, with its confidence in each."""

    boxes_xyxy: NDArray[np.float64]  # (boxes, 4)
    scores: tuple[float, ...] | None = ()  # None, without boxes: written as null, not as an empty list


class PersonMasks(NamedTuple):
    """Masks of people that a model found in an image."""

    masks: tuple[Runs, ...]
    scores: tuple[float, ...] = ()


class Poses(NamedTuple):
    """Poses that a model found in an image."""

    keypoints: NDArray[np.float64]  # (people, keypoints, 2)
    scores: Any = ()


class FaceMap(NamedTuple):
    """For each label, the mask of the pixels that a model gave it."""

    masks: Mapping[int, Runs]


class BoxCodec(OutputsCodec[BoxDetections]):
    """Person and face localization: `{"detections": [[x0, y0, x1, y1], …], "scores": […]}`."""

    holds = "boxes"
    nothing = BoxDetections(np.zeros((0, 4)), None)
    example = '{"<image path>": {"detections": [[436.6, 344.3, 1041.4, 1964.6]], "scores": [0.999]}}'

    def answer(self, value: Any, forms: set[str]) -> BoxDetections:
        boxes = entry_named(value, ("detections", "bboxes"), forms)
        if boxes is None:
            return self.nothing
        corners = np.array([_four(box) for box in boxes], dtype=np.float64).reshape(-1, 4)
        return BoxDetections(corners, tuple(_numbers(value.get("scores"))))

    def stored(self, answer: BoxDetections) -> Any:
        if answer.scores is None:
            return dict(_NULL)
        boxes = np.asarray(answer.boxes_xyxy, dtype=np.float64).reshape(-1, 4)
        return {"detections": boxes.tolist(), "scores": [float(score) for score in answer.scores]}


class PersonBoxCodec(BoxCodec):
    """Person localization writes null where nobody was found."""

    def stored(self, answer: BoxDetections) -> Any:
        return super().stored(answer) if len(answer.boxes_xyxy) else dict(_NULL)


class MaskCodec(OutputsCodec[PersonMasks]):
    """Person parsing: `{"detections": [{"size": [height, width], "counts": text}, …], "scores": […]}`."""

    holds = "masks"
    nothing = PersonMasks(())
    example = '{"<image path>": {"detections": [{"size": [2048, 1536], "counts": "ZoZo09Wo…"}], "scores": [0.99]}}'

    def answer(self, value: Any, forms: set[str]) -> PersonMasks:
        masks = entry_named(value, ("detections", "masks"), forms)
        if not masks:
            return self.nothing
        return PersonMasks(tuple(runs_from(masks, forms)), tuple(_numbers(value.get("scores"))))

    def stored(self, answer: PersonMasks) -> Any:
        if not answer.masks:
            return dict(_NULL)
        masks = [runs.plain for runs in answer.masks]
        return {"detections": masks, "scores": [float(score) for score in answer.scores]}


class PoseCodec(OutputsCodec[Poses]):
    """Keypoints: `{"detections": [person][keypoint] = [x, y], "scores": [person][keypoint]}`."""

    holds = "keypoints"
    nothing = Poses(np.zeros((0, 0, 2)))
    example = '{"<image path>": {"detections": [[[512.0, 300.5], …]], "scores": [[0.9, …]]}}'

    def answer(self, value: Any, forms: set[str]) -> Poses:
        people = entry_named(value, ("detections", "keypoints"), forms)
        if not people:
            return self.nothing
        lengths = {len(person) for person in people}
        if len(lengths) > 1:
            raise ValueError(f"people with {sorted(lengths)} keypoints; every person needs the same keypoints")
        poses = np.array([[_xy(point) for point in person] for person in people], dtype=np.float64)
        return Poses(poses.reshape(len(people), -1, 2), value.get("scores", ()))

    def stored(self, answer: Poses) -> Any:
        keypoints = np.asarray(answer.keypoints, dtype=np.float64)
        return {"detections": keypoints.tolist(), "scores": _listed(answer.scores)}


class PartCodec(OutputsCodec[PartProbabilities]):
    """Body parts: `{"detections": [{part: probability}, …]}`, one mapping per annotated person."""

    holds = "probabilities of parts"
    nothing: PartProbabilities = ()
    example = '{"<image path>": {"detections": [{"Face": 0.73, "Hand": 0.12}]}}'

    def answer(self, value: Any, forms: set[str]) -> PartProbabilities:
        if isinstance(value, list):
            forms.add("documented: a list without `detections`")
            people = value
        else:
            people = entry_named(value, ("detections",), forms) or []
        return tuple({str(part): float(share) for part, share in (person or {}).items()} for person in people)

    def stored(self, answer: PartProbabilities) -> Any:
        return {"detections": [dict(person) for person in answer]}


class FaceMapCodec(OutputsCodec[FaceMap]):
    """Face parsing: `{"detections_rle": {"<label>": {"size": [height, width], "counts": text}}}`."""

    holds = "label maps"
    nothing = FaceMap({})
    example = '{"<image path>": {"detections_rle": {"0": {"size": [512, 512], "counts": "…"}}}}'

    def answer(self, value: Any, forms: set[str]) -> FaceMap:
        masks = entry_named(value, ("detections_rle",), forms) or {}
        labels = dict(zip(map(int, masks), runs_from(masks.values(), forms), strict=True))
        _check_labels(labels)
        return FaceMap(labels)

    def to_plain(self, answer: FaceMap) -> Any:
        """As the file keeps it; a label map (height, width) will do."""
        return super().to_plain(face_map(answer) if isinstance(answer, np.ndarray) else answer)

    def stored(self, answer: FaceMap) -> Any:
        return {"detections_rle": {str(label): runs.plain for label, runs in answer.masks.items()}}


class EmbeddingCodec(OutputsCodec[Embedding]):
    """Face verification: `{"<aligned path>": {"detections": [numbers], "img_filepath": "<original>"}}`.

    The published tool keys a picture by `<data root>/data/processed/<relative path>` and matches it by its last two
    components. A picture that could not be aligned has `null` and is in no pair.
    """

    holds = "an embedding"
    nothing = np.zeros(0)
    example = '{"<root>/data/processed/<image path>": {"detections": [0.0226, 0.0781, …], "img_filepath": "…"}}'

    def answer(self, value: Any, forms: set[str]) -> Embedding:
        if isinstance(value, list):
            forms.add("a list without `detections`")
            values: Any = value
        else:
            values = entry_named(value, ("detections", "embeddings"), forms)
        if values is None:
            return self.nothing
        vector: NDArray[Any] = np.array(values, dtype=np.float64)
        if vector.ndim == 2 and len(vector) == 1:
            vector = vector[0]
            forms.add("embeddings nested once more")
        if vector.ndim != 1 or not len(vector):
            raise ValueError(f"an embedding of shape {vector.shape}; one list of numbers was expected")
        return vector

    def stored(self, answer: Embedding) -> Any:
        return {"detections": np.asarray(answer).tolist() if np.asarray(answer).size else None}

    def entry(self, sample: Sample, answer: Embedding) -> tuple[str, Any]:
        original = sample.media[0]
        return str(aligned_path(data_root(sample), sample.id)), {**self.stored(answer), "img_filepath": str(original)}


def data_root(sample: Sample) -> Path:
    """The data root below which the image of a sample lies."""
    parts = sample.media[0].parts
    return Path(*parts[: len(parts) - len(Path(sample.id).parts)])


def aligned_path(root: Path, image: str) -> Path:
    """Where the aligned picture of an image belongs.

    >>> aligned_path(Path("fhibe"), "data/raw/a/b.png").as_posix()
    'fhibe/data/processed/data/raw/a/b.png'
    """
    return Path(root).joinpath("data", "processed", image)


def face_map(labels: NDArray[Any], *, ears_to_skin: bool = False) -> FaceMap:
    """A label map (height, width) as the file keeps it: one mask per label that occurs.

    >>> sorted(face_map(np.array([[0, 8], [1, 1]]), ears_to_skin=True).masks)
    [0, 1]
    """
    labels = np.asarray(labels)
    if labels.ndim == 2 and ears_to_skin:
        labels = np.where(np.isin(labels, vocabulary.EAR_LABELS), vocabulary.SKIN_LABEL, labels)
    masks = encode_labels(labels)
    _check_labels(masks)
    return FaceMap(masks)


def _check_labels(labels: Iterable[int]) -> None:
    for label in labels:
        if not 0 <= label <= _HIGHEST_LABEL:
            raise ValueError(f"label {label}, but labels are whole numbers from 0 to {_HIGHEST_LABEL}")


def runs_from(entries: Iterable[Any], forms: set[str]) -> list[Runs]:
    """Checked run lengths from a file's entries; uncompressed counts are accepted and said."""
    masks, texts = [], []
    for entry in entries:
        if not isinstance(entry, Mapping) or not {"size", "counts"} <= set(entry):
            found = (
                f"with {sorted(map(str, entry))}" if isinstance(entry, Mapping) else f"that is a {type(entry).__name__}"
            )
            raise AnswerFormError(f"a mask {found}, where 'size' and 'counts' were expected")
        height, width = (int(side) for side in entry["size"])
        if height < 0 or width < 0 or height * width > 1 << 31:
            raise ValueError(f"a mask of size {height} × {width}")
        counts = entry["counts"]
        if isinstance(counts, list):
            forms.add("uncompressed run lengths")
            lengths = np.array(counts, dtype=np.int64)
            if lengths.sum() != height * width or (lengths < 0).any():
                raise MaskError(
                    f"the runs cover {int(lengths.sum())} pixels, but {height} × {width} are {height * width}"
                )
            masks.append(Runs(height, width, compress(lengths)))
        else:
            masks.append(Runs(height, width, counts.decode() if isinstance(counts, bytes) else str(counts)))
            texts.append(masks[-1])
    expand_all(texts)
    return masks


def fitting(runs: Runs, height: int, width: int) -> Runs:
    """The runs as a mask of a picture's size; a size written as width, height is turned round.

    The documentation says `[width, height]`, the published tool writes `[height, width]`.
    """
    if (runs.height, runs.width) == (height, width):
        return runs
    if (runs.height, runs.width) == (width, height):
        return Runs(height, width, runs.counts)
    raise MaskError(f"a mask of {runs.height} × {runs.width} for a picture of {height} × {width} (height × width)")


def label_map(answer: FaceMap, height: int, width: int) -> NDArray[np.uint8]:
    """The label of every pixel as the published tool reads it: 0 (background) where no mask covers it.

    Where several masks do, their labels are added, as published.
    """
    return paint({label: fitting(runs, height, width) for label, runs in answer.masks.items()}, height, width)


def encode_mask(mask: Array) -> dict[str, Any]:
    """A mask (height, width) as `{"size": [height, width], "counts": text}`, COCO's compressed run lengths.

    >>> encode_mask(np.array([[False, True], [False, True]]))
    {'size': [2, 2], 'counts': '22'}
    """
    return encode(mask).plain


def write_outputs(task: str, answers: Mapping[str, Any], path: str | Path) -> Path:
    """Write answers by image path, checked, as a task's `model_outputs.json`; the path comes back.

    An answer is what the task documents: boxes with scores, masks from `encode_mask`, keypoints, part
    probabilities, a label map (an array) or an embedding; None is "nothing found".

    ```python
    answers = {"data/raw/…/main_1.png": {"detections": [fhibe.encode_mask(mask)], "scores": [0.98]}}
    fhibe.write_outputs("person_parsing", answers, "model_outputs.json")
    ```
    """
    from evenhand.benchmarks.fhibe.tasks import task_named

    codec = task_named(task).codec
    if not isinstance(codec, OutputsCodec):
        raise PredictionError(
            f"{task} has no answers to write: save one picture per image, as `evenhand describe fhibe/{task}` says."
        )
    entries = []
    for image, answer in answers.items():
        try:
            if isinstance(answer, np.ndarray) and not isinstance(codec, FaceMapCodec):
                answer = answer.tolist()
            plain = codec.to_plain(codec.nothing if answer is None else answer)
        except (PredictionError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise PredictionError(f"image {image}: {error}") from None
        entries.append((str(image), plain))
    write_entries(Path(path), entries)
    return Path(path)


def entry_named(value: Any, names: Sequence[str], forms: set[str] | None = None) -> Any:
    """What an answer has under the first of these names that it has; another than the first is said in `forms`."""
    if not isinstance(value, Mapping):
        raise AnswerFormError(f"{type(value).__name__} found, but a mapping with {names[0]!r} was expected")
    name = next((name for name in names if name in value), None)
    if name is None:
        raise KeyError(f"no {names[0]!r} in the answer; it has {sorted(map(str, value))}")
    if forms is not None and name != names[0]:
        forms.add(f"{name!r} instead of {names[0]!r}")
    return value[name]


def _four(box: Any) -> list[float]:
    if isinstance(box, int | float):
        raise ValueError(
            "a flat list of numbers; a list of boxes was expected, [[x0, y0, x1, y1], …], also for one box"
        )
    if len(box) < 4:
        raise ValueError(f"a box of {len(box)} numbers; x0, y0, x1, y1 were expected")
    return list(map(float, box[:4]))


def _xy(point: Any) -> list[float]:
    if len(point) < 2:
        raise ValueError(f"a keypoint of {len(point)} numbers; x, y were expected")
    return [float(point[0]), float(point[1])]


def _numbers(values: Any) -> list[float]:
    return list(map(float, values or ()))


def _listed(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_listed(part) for part in value] if isinstance(value, list | tuple) else value
