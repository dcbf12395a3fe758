"""Models written to the published wrapper contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.fhibe import codec
from evenhand.benchmarks.fhibe.wrapped import WrappedModel
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

    def align_faces(self, img_filepaths: list[str], aligned_img_filepaths: list[str], **kwargs: Any) -> list[bool]:
        return [number != 2 for number in range(len(img_filepaths))]

    def save_encoding(self, encoding: Any, path: str) -> None:
        Path(path).write_bytes(bytes(encoding))

    def save_array(self, array: Any, path: str) -> None:
        Path(path).write_bytes(bytes(array))


def asked(wrapper: Any, task: str = "face_localization") -> dict[str, Any]:
    samples = [replace(sample, given={**sample.given, "task": task}) for sample in SAMPLES]
    return dict(WrappedModel("mine", wrapper).predict(samples))


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
    wrapper.data_preprocessor = lambda paths, **kwargs: Loader()  # type: ignore[method-assign, assignment]  # users do so
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
        ("body_parts_detection", {"Face": 1.0}, "no 'detections' in the answer"),
        ("face_parsing", {"detections": np.full((2, 2), 400)}, "data/a.png"),
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

    with pytest.raises(ModelError, match="must have a 'data_preprocessor' method"):
        asked(Bare(), "face_verification")


def test_samples_say_which_task_a_wrapper_is_asked_for() -> None:
    assert len(dict(WrappedModel("finder", Wrapper()).predict(SAMPLES))) == 5
    with pytest.raises(ModelError, match="FHIBE tasks only"):
        list(WrappedModel("finder", Wrapper()).predict([Sample("x")]))


class Listing:
    """A loader like torch's: its data set lists the images, its batches carry pixels alone."""

    def __init__(self, listed: Sequence[str], size: int = 2) -> None:
        self.dataset = type("Data", (), {})()
        self.dataset.files = list(listed)
        self.size = size

    def __iter__(self) -> Any:
        for start in range(0, len(self.dataset.files), self.size):
            yield np.zeros((len(self.dataset.files[start : start + self.size]), 3, 4, 4))


class Positional:
    """Answers by position to what a data set of its own order gives."""

    def __init__(self, order: Any, answers: int | None = None) -> None:
        self.order, self.answers = order, answers

    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Listing:
        return Listing(self.order(img_filepaths))

    def __call__(self, batch: Any) -> list[Any]:
        return [{"detections": [], "scores": []}] * (len(batch) if self.answers is None else self.answers)


@pytest.mark.parametrize(
    ("order", "named"),
    [
        (lambda paths: paths[::-1], "data/a.png"),
        (lambda paths: [*paths[:2], paths[1], *paths[2:]], "data/c.png"),
        (lambda paths: [paths[0], *paths[2:]], "data/b.png"),
        (lambda paths: paths[:4], "data/e.png"),
    ],
)
def test_a_data_set_that_lists_other_images_than_given_is_caught_though_batches_carry_no_paths(
    order: Any, named: str
) -> None:
    with pytest.raises(ModelError, match=f"first out of place is {named}"):
        asked(Positional(order))


def test_a_data_set_that_keeps_the_order_is_asked_by_position() -> None:
    assert list(asked(Positional(list))) == IDS


def test_another_number_of_answers_than_images_in_the_batch_is_refused() -> None:
    with pytest.raises(ModelError, match="dropped 2 of 5 images"):
        asked(Positional(list, answers=1))

    class Short(Wrapper):
        def __call__(self, batch: dict[str, Any]) -> Any:
            return super().__call__(batch)[:1]

    with pytest.raises(ModelError, match=r"paths of 2 images, such as data/a.png, but __call__ gave 1"):
        asked(Short())


def test_paths_that_stand_twice_in_a_batch_name_each_image_once() -> None:
    class Twice(Wrapper):
        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[dict[str, Any]]:
            batches = super().data_preprocessor(img_filepaths, **kwargs)
            return [{**batch, "again": list(batch["image_paths"])} for batch in batches]

    found = asked(Twice([1, 0, 3, 2, 4]))
    assert [found[name].boxes_xyxy[0, 0] for name in IDS] == [0, 1, 2, 3, 4]


def _pictures(folder: Path, task: str) -> list[Sample]:
    from PIL import Image

    found = []
    for name in ("a.png", "b.png"):
        Image.new("RGB", (6, 4)).save(folder / name)
        found.append(Sample(name, (folder / name,), {"task": task}))
    return found


@pytest.mark.parametrize(
    ("task", "answer", "message"),
    [
        ("person_parsing", {"masks": [np.ones((5, 5))], "scores": [1.0]}, "a mask of 5 × 5 for a picture of 4 × 6"),
        ("face_parsing", {"detections": np.zeros((2, 3), int)}, "a label map of 2 × 3 for a picture of 4 × 6"),
    ],
)
def test_a_mask_of_another_size_than_its_picture_is_refused_with_the_image(
    task: str, answer: Any, message: str, tmp_path: Path
) -> None:
    samples = _pictures(tmp_path, task)
    with pytest.raises(ModelError, match=f"image a.png: {message}"):
        list(WrappedModel("finder", Wrapper(answer=answer)).predict(samples))


PLAIN_CLASS = '''
class Finder:
    """Written to the published contract, and to nothing of ours."""

    calls = 0

    def data_preprocessor(self, img_filepaths, **kwargs):
        assert kwargs == {"gt_column_name": "person_bbox"}
        return [{"paths": img_filepaths[n : n + 1]} for n in range(len(img_filepaths))]

    def __call__(self, batch):
        Finder.calls += 1
        if Finder.calls == FAIL_AT:
            raise RuntimeError("out of memory")
        return [{"bboxes": [[0, 0, 10, 10]], "scores": [0.5], "labels": [0]} for _ in batch["paths"]]


class Loaded(Finder):
    def __init__(self, model):
        self.model = model


ready = Loaded("some network")
'''


@pytest.mark.parametrize("name", ["Finder", "ready"])
def test_a_class_or_object_of_the_published_contract_alone_is_asked_by_the_command(
    name: str, write: Any, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from evenhand.cli.main import app

    root = write({}, {"filepath": "b.png"}, {"filepath": "c.png"})
    (tmp_path / "mine.py").write_text(PLAIN_CLASS.replace("FAIL_AT", "0"))
    arguments = ["predict", "fhibe/person_localization", "--model", f"{tmp_path / 'mine.py'}:{name}"]
    done = CliRunner().invoke(app, [*arguments, "--data", str(root), "--runs", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    assert "3 answered, 0 not" in done.output


def test_a_model_file_is_read_anew_and_nothing_is_written_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.run import find_model

    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "quick.py"
    for name in ("one", "two"):  # of one length, within one second
        path.write_text(f"def predict(sample):\n    return {name!r}\n")
        found: Any = find_model(f"{path}:predict")
        assert dict(found().predict([Sample("a")])) == {"a": name}
    assert [entry.name for entry in tmp_path.iterdir()] == ["quick.py"]


def test_after_a_crash_of_a_plain_class_only_the_rest_is_asked(write: Any, tmp_path: Path) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.run import find_model, predict

    root = write({}, {"filepath": "b.png"}, {"filepath": "c.png"})
    path, task = tmp_path / "mine.py", task_named("person_localization")
    path.write_text(PLAIN_CLASS.replace("FAIL_AT", "2"))
    with pytest.raises(ModelError, match="out of memory"):
        predict(task, find_model(f"{path}:Finder"), root, runs=tmp_path / "runs")
    path.write_text(PLAIN_CLASS.replace("FAIL_AT", "0"))
    outcome = predict(task, find_model(f"{path}:Finder"), root, runs=tmp_path / "runs", resume=True)
    assert (outcome.asked_now, outcome.answered) == (2, 3)


def test_a_wrapper_whose_constructor_needs_a_network_is_told_to_be_made_in_the_file(tmp_path: Path) -> None:
    from evenhand.run import find_model

    (tmp_path / "mine.py").write_text(PLAIN_CLASS.replace("FAIL_AT", "0"))
    model: Any = find_model(f"{tmp_path / 'mine.py'}:Loaded")
    with pytest.raises(ModelError, match="name the object instead"):
        model()


def test_a_wrapper_object_or_class_can_be_handed_over_as_it_is(write: Any, tmp_path: Path) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.run import predict

    root, task = write({}, {"filepath": "b.png"}), task_named("face_localization")
    for given in (Wrapper(), Wrapper):
        outcome = predict(task, given, root, runs=tmp_path / "runs")  # type: ignore[arg-type]  # no Model, which is the point
        assert outcome.answered == 2
        assert outcome.folder.parent.name == "Wrapper"


@pytest.mark.parametrize("answer", [None, {}, {"bboxes": None}, {"bboxes": [], "scores": None, "labels": None}])
def test_an_answer_of_none_is_nothing_predicted(answer: Any) -> None:
    class Silent(Wrapper):
        def __call__(self, batch: dict[str, Any]) -> Any:
            return [answer for _ in batch["numbers"]]

    for task in ("person_localization", "face_localization"):
        assert all(len(found.boxes_xyxy) == 0 for found in asked(Silent(), task).values())


@pytest.mark.parametrize(
    ("task", "answer", "empty"),
    [
        ("person_parsing", {"masks": None}, codec.PersonMasks(())),
        ("person_parsing", {}, codec.PersonMasks(())),
        ("body_parts_detection", None, codec.PartProbabilities(())),
        ("face_parsing", {"detections": None}, codec.FaceMap({})),
    ],
)
def test_a_value_of_none_is_nothing_predicted(task: str, answer: Any, empty: Any) -> None:
    class Silent(Wrapper):
        map_ears_to_skin = True

        def __call__(self, batch: dict[str, Any]) -> Any:
            return [answer for _ in batch["numbers"]]

    assert set(map(repr, asked(Silent(), task).values())) == {repr(empty)}


def test_verification_hands_over_the_original_paths_and_matches_either() -> None:
    class Embedder(Wrapper):
        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[dict[str, Any]]:
            self.given = img_filepaths
            return super().data_preprocessor(kwargs["success_aligned_img_filepaths"], **kwargs)

    originals = Wrapper(answer=[0.0, 1.0])
    assert len(asked(originals, "face_verification")[IDS[2]]) == 0  # every original answered, one was not aligned
    aligned = Embedder(answer=[0.0, 1.0])
    found = asked(aligned, "face_verification")
    assert aligned.given == [str(sample.media[0]) for sample in SAMPLES]
    assert [len(found[name]) for name in IDS] == [2, 2, 0, 2, 2]


def test_a_wrapper_that_aligns_nothing_looks_at_the_originals() -> None:
    class Plain:
        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[list[str]]:
            assert all(kwargs["success"])
            return [[path] for path in img_filepaths]

        def __call__(self, batch: list[str]) -> Any:
            return np.ones((len(batch), 2))

    assert [len(vector) for vector in asked(Plain(), "face_verification").values()] == [2] * 5
    elsewhere = [replace(SAMPLES[0], id="/elsewhere/a.png", given={**SAMPLES[0].given, "task": "face_verification"})]
    assert len(dict(WrappedModel("mine", Plain()).predict(elsewhere))["/elsewhere/a.png"]) == 2  # nothing is written


def test_a_batch_of_the_crops_of_one_image_has_one_answer() -> None:
    class TopDown:
        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[Any]:
            return [np.zeros((3, 3, 8, 8)) for _ in img_filepaths]  # three crops of every image

        def __call__(self, batch: Any) -> Any:
            return [{"keypoints": [[[1.0, 2.0]] * 17] * len(batch), "scores": [[0.5] * 17] * len(batch)}]

    assert all(found.keypoints.shape == (3, 17, 2) for found in asked(TopDown(), "keypoint_estimation").values())
