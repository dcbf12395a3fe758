"""Models written to the published wrapper contract."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.fhibe.wrapped import WrappedModel, predict_wrapped
from evenhand.core.errors import ModelError
from evenhand.core.task import Sample

IDS = [f"data/{letter}.png" for letter in "abcde"]
SAMPLES = [
    Sample(name, (Path("/root") / name,), {"task": "face_localization", "person_boxes_xyxy": [[0, 0, 2, 4]]})
    for name in IDS
]


class Wrapper:
    """Answers with the position of the image; batches carry paths when asked to."""

    map_ears_to_skin = True

    def __init__(self, order: Sequence[int] = range(5), *, paths: bool = True, answer: Any = None) -> None:
        self.order, self.paths, self.answer = list(order), paths, answer
        self.arguments: dict[str, Any] = {}

    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[dict[str, Any]]:
        self.arguments = kwargs
        chosen = [number for number in self.order if number < len(img_filepaths)]
        batches = [chosen[start : start + 2] for start in range(0, len(chosen), 2)]
        found = []
        for batch in batches:
            entry: dict[str, Any] = {"numbers": batch}
            if self.paths:
                entry["image_paths"] = [img_filepaths[number] for number in batch]
            found.append(entry)
        return found

    def __call__(self, batch: dict[str, Any]) -> Any:
        if self.answer is not None:
            return [self.answer for _ in batch["numbers"]]
        return [{"detections": [[number, 0, number + 1, 1]], "scores": [0.5]} for number in batch["numbers"]]

    def align_faces(self, paths: list[str], aligned: list[str], **kwargs: Any) -> list[bool]:
        return [number != 2 for number in range(len(paths))]

    def save_encoding(self, encoding: Any, path: str) -> None:
        Path(path).write_bytes(bytes(encoding))

    def save_array(self, array: Any, path: str) -> None:
        Path(path).write_bytes(bytes(array))


def asked(wrapper: Any, task: str = "face_localization") -> dict[str, Any]:
    return dict(WrappedModel("mine", wrapper, task, Path("/root")).predict(SAMPLES))


def test_a_loader_that_reorders_is_tied_by_the_paths_it_carries() -> None:
    found = asked(Wrapper([4, 2, 0, 1, 3]))
    assert [found[name].boxes_xyxy[0, 0] for name in IDS] == [0, 1, 2, 3, 4]


def test_without_paths_answers_are_tied_by_position() -> None:
    found = asked(Wrapper(paths=False))
    assert [found[name].boxes_xyxy[0, 0] for name in IDS] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("paths", [True, False])
def test_a_loader_that_drops_an_image_is_caught_and_the_image_named(paths: bool) -> None:
    with pytest.raises(ModelError, match=r"dropped 1 of 5 images, such as data/e.png"):
        asked(Wrapper([0, 1, 2, 3], paths=paths))


def test_a_loader_that_repeats_an_image_is_caught_and_the_image_named() -> None:
    with pytest.raises(ModelError, match=r"gave image data/b.png twice"):
        asked(Wrapper([0, 1, 1, 2, 3, 4]))
    with pytest.raises(ModelError, match="repeats images"):
        asked(Wrapper([0, 1, 1, 2, 3, 4], paths=False))


def test_a_loader_that_shuffles_is_refused() -> None:
    class RandomSampler:
        pass

    class Loader(list[Any]):
        sampler = RandomSampler()

    wrapper = Wrapper()
    wrapper.data_preprocessor = lambda paths, **kwargs: Loader()  # type: ignore[method-assign, assignment]
    with pytest.raises(ModelError, match="shuffles"):
        asked(wrapper)


def test_only_people_are_kept_of_what_a_detector_finds() -> None:
    answer = {"bboxes": [[0, 0, 1, 1], [2, 2, 3, 3]], "scores": [0.9, 0.8], "labels": [1, 0]}
    found = asked(Wrapper(answer=answer), "person_localization")[IDS[0]]
    assert found.boxes_xyxy.tolist() == [[2, 2, 3, 3]]
    assert found.scores == (0.8,)


@pytest.mark.parametrize(
    ("task", "answer", "message"),
    [
        ("person_localization", {"bboxes": [[0, 0, 1]], "scores": [1], "labels": [0]}, "data/a.png"),
        ("person_localization", {"bboxes": [[0, 0, 1, 1]], "scores": [1], "labels": []}, "0 labels for 1"),
        ("keypoint_estimation", {"keypoints": [[[1, 2]]], "scores": []}, r"data/a.png: keypoints of shape \(1, 2\)"),
        ("body_parts_detection", [{"Face": 1.0}, {"Face": 1.0}], "data/a.png: 2 people, but 1"),
        ("face_parsing", {"detections": np.full((2, 2), 40)}, "data/a.png"),
        ("face_encoding", {"code": 1}, "no 'encoding'"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused_with_the_image(task: str, answer: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        asked(Wrapper(answer=answer), task)


def test_documented_and_actual_forms_are_accepted() -> None:
    for key in ("encoding", "encodings"):
        assert asked(Wrapper(answer={key: b"png"}), "face_encoding")[IDS[0]] == b"png"
    for answer in ({"embeddings": [1.0, 0.0]}, [1.0, 0.0], {"embeddings": [[1.0, 0.0]]}):
        assert asked(Wrapper(answer=answer), "face_verification")[IDS[0]].tolist() == [1.0, 0.0]
    points = [[[float(n), 0.0]] * 17 for n in range(1)]
    for people in (points, [points]):
        found = asked(Wrapper(answer={"keypoints": people, "scores": [[[0.5]] * 17]}), "keypoint_estimation")
        assert found[IDS[0]].keypoints.shape == (1, 17, 2)


def test_a_face_that_could_not_be_aligned_is_answered_with_nothing() -> None:
    found = asked(Wrapper(answer=[0.0, 1.0]), "face_verification")
    assert len(found[IDS[2]]) == 0
    assert sum(len(vector) == 2 for vector in found.values()) == 4


def test_body_parts_get_boxes_as_left_top_width_height_and_keypoints_as_corners() -> None:
    parts = Wrapper(answer=[{"Face": 1.0}])
    asked(parts, "body_parts_detection")
    assert parts.arguments["img_filepath_gt_bboxes"]["/root/data/a.png"] == [[0, 0, 2, 4]]
    pose = Wrapper(answer={"keypoints": [[[0, 0]] * 17], "scores": []})
    asked(pose, "keypoint_estimation")
    assert set(pose.arguments) >= {"kpt_oks_sigmas", "custom_keypoints", "gt_face_bbox_column_name"}


def test_a_wrapper_that_lacks_a_member_is_named() -> None:
    class Bare:
        def __call__(self, batch: Any) -> Any:
            return []

    with pytest.raises(ModelError, match="lacks data_preprocessor, align_faces"):
        asked(Bare(), "face_verification")


def test_samples_say_which_task_a_wrapper_is_asked_for() -> None:
    assert len(dict(predict_wrapped(Wrapper(), SAMPLES))) == 5
    with pytest.raises(ModelError, match="FHIBE tasks only"):
        list(predict_wrapped(Wrapper(), [Sample("x")]))
