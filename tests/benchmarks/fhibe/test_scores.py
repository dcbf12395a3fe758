"""Answers and scores: every crash of the published code gives the right value or a message with the image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from face_tables import write_faces
from hypothesis import given
from hypothesis import strategies as st

from evenhand.benchmarks.fhibe import codec, data, face_segmentation, record, scores, verification
from evenhand.benchmarks.fhibe.codec import EmbeddingCodec, PersonMasks, encode_mask, write_outputs
from evenhand.benchmarks.fhibe.demo import make_subjects
from evenhand.benchmarks.fhibe.face_segmentation import score_faces
from evenhand.benchmarks.fhibe.metrics import AverageRecall, TarAtFar, TarAtOwnFar, ValidationRate
from evenhand.benchmarks.fhibe.options import (
    FaceVerificationOptions,
    FhibeOptions,
    KeypointOptions,
    RecallOptions,
    threshold_keys,
)
from evenhand.benchmarks.fhibe.tasks import TASKS, task_named
from evenhand.core.errors import PredictionError
from evenhand.core.measure import tally
from evenhand.core.records import EVERYONE, Attribute, Group, Records
from evenhand.core.task import Tools
from evenhand.engines import parse
from evenhand.geometry.masks import Runs, compress, encode
from evenhand.run import evaluate
from evenhand.stats.tables import layout

IMAGE = "data/raw/s1/i1/main_i1.png"


def saved(folder: Path, content: Any, name: str = "model_outputs.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def boxes(write: Any, content: Any, *rows: Any, missing: str = "refuse") -> Any:
    root = write(*(rows or ({},)))
    dataset = data.load("person_localization", root, FhibeOptions())
    answers = codec.PersonBoxCodec().read(saved(root, content), dataset, RecallOptions(missing=missing))
    return scores.box_overlaps(dataset.truth, answers), answers


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"detections": [[0, 0, 10, 10]], "scores": [1]}, 1.0),
        ({"detections": [[0, 0, 10, 5, 99]], "scores": [1]}, 0.5),
        ({"detections": None, "scores": None}, 0.0),
        ({"detections": [], "scores": []}, 0.0),
        (None, 0.0),
        ({"detections": [[10, 10, 0, 0]], "scores": [1]}, 0.0),
        ({"bboxes": [[0, 0, 10, 10]], "scores": [1]}, 1.0),
    ],
)
def test_the_best_overlap_whatever_form_the_answer_has(write: Any, found: Any, expected: float) -> None:
    assert boxes(write, {IMAGE: found})[0].tolist() == [expected]


def test_keys_of_another_data_root_are_matched(write: Any) -> None:
    found, answers = boxes(write, {f"/home/x/fhibe/{IMAGE}": {"detections": [[0, 0, 10, 10]], "scores": []}, "z": None})
    assert found.tolist() == [1.0]
    assert answers.coverage.extra == 1


def test_missing_images_are_all_counted_and_may_be_scored_as_missed(write: Any) -> None:
    rows = ({}, {"filepath": "b.png"}, {"filepath": "c.png"})
    with pytest.raises(PredictionError, match=r"no answer for 2 of 3 images: b.png, c.png.*missing=missed"):
        boxes(write, {IMAGE: None}, *rows)
    found, answers = boxes(write, {IMAGE: None}, *rows, missing="missed")
    assert found.tolist() == [0.0, 0.0, 0.0]
    assert answers.coverage.missing == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({IMAGE: {"detections": [[1, 2, 3]]}}, "a box of 3 numbers"),
        ({IMAGE: {"boxes": []}}, "no 'detections'"),
        ({IMAGE: {"detections": "code"}}, IMAGE),
        ({IMAGE: {"detections": [["a", 0, 0, 0]]}}, IMAGE),
        ("[1, 2", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "mapping from image paths"),
    ],
)
def test_a_malformed_file_is_refused_with_the_image(write: Any, content: Any, message: str) -> None:
    with pytest.raises(PredictionError, match=message):
        boxes(write, content)


def test_nan_that_the_published_tool_writes_is_read(write: Any) -> None:
    text = f'{{"{IMAGE}": {{"detections": [[0, 0, 10, 10]], "scores": [NaN]}}}}'
    assert boxes(write, text)[0].tolist() == [1.0]


def test_a_results_folder_opens_and_its_caches_are_ignored(write: Any) -> None:
    root = write({})
    saved(root, [0.123], "gt_bbox_iou_scores.json")
    saved(root, {IMAGE: {"detections": [[0, 0, 10, 10]], "scores": [1]}})
    dataset = data.load("person_localization", root, FhibeOptions())
    answers = codec.BoxCodec().read(root, dataset, RecallOptions())
    assert scores.box_overlaps(dataset.truth, answers).tolist() == [1.0]


def masks(write: Any, mask: Any) -> Any:
    root = write({})
    dataset = data.load("person_parsing", root, FhibeOptions())
    content = {IMAGE: {"detections": [mask], "scores": [1.0]}}
    answers = codec.MaskCodec().read(saved(root, content), dataset, RecallOptions())
    return scores.mask_columns(dataset.truth, answers, RecallOptions(), Tools())["overlap"].tolist()


def test_a_mask_is_accepted_with_its_size_either_way_round_and_uncompressed(write: Any) -> None:
    truth = np.zeros((40, 30), dtype=bool)
    truth[1:9, 1:9] = True
    runs = encode_mask(truth)
    assert masks(write, runs) == [1.0]
    assert masks(write, {**runs, "size": [30, 40]}) == [1.0]
    flat = np.concatenate([[0], np.flatnonzero(np.diff(truth.ravel(order="F"))) + 1, [truth.size]])
    assert masks(write, {"size": [40, 30], "counts": np.diff(flat).tolist()}) == [1.0]


def test_a_mask_of_the_wrong_size_is_refused_with_the_image(write: Any) -> None:
    with pytest.raises(PredictionError, match=rf"{IMAGE}: a mask of 4 × 4 for a picture of 40 × 30"):
        masks(write, encode_mask(np.ones((4, 4), bool)))


def test_run_lengths_that_cover_too_much_are_refused(write: Any) -> None:
    with pytest.raises(PredictionError, match="the runs cover"):
        masks(write, {"size": [40, 30], "counts": encode_mask(np.ones((50, 50), bool))["counts"]})


def poses(write: Any, answer: Any, *rows: Any, thresholds: tuple[float, ...] = (0.1, 0.5)) -> scores.Columns:
    root = write(*(rows or ({},)))
    options = KeypointOptions(custom_keypoints=("Nose",), missing="missed", pck_thresholds=thresholds)
    dataset = data.load("keypoint_estimation", root, options)
    answers = codec.PoseCodec().read(saved(root, {IMAGE: answer}), dataset, options)
    return scores.pose_columns(dataset.truth, answers, options, Tools())


INVISIBLE = {"keypoints": "{}", "subject_id": "s2"}


def test_without_a_prediction_pck_is_zero_and_oks_counts_as_missed(write: Any) -> None:
    found = poses(write, {"detections": [], "scores": []}, {}, {"subject_id": "s2"})
    assert found["pck_at_thresholds"].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert np.isnan(found["oks"]).all()
    rows = Records({"oks": found["oks"]}, {})
    metric = AverageRecall("AR_OKS", "oks", (0.5,))
    assert metric.result(metric.measure(rows), metric.measure(rows))["recall"][0] == 0.0


def test_a_row_without_visible_keypoints_beside_another_is_undefined_alone(write: Any) -> None:
    found = poses(write, {"detections": [[[5, 5]], [[5, 5]]], "scores": []}, {}, INVISIBLE)
    assert found["pck"][0] == 1.0
    assert np.isnan(found["pck"][1])


def test_a_single_threshold_with_two_rows_gives_two_values(write: Any) -> None:
    found = poses(
        write, {"detections": [[[5, 5]], [[99, 99]]], "scores": []}, {}, {"subject_id": "s2"}, thresholds=(0.1,)
    )
    assert found["pck_at_thresholds"].tolist() == [[1.0], [0.0]]


def test_one_prediction_for_two_people_counts_for_both_and_for_one_in_the_corrected_reading(write: Any) -> None:
    found = poses(write, {"detections": [[[5, 5]]], "scores": []}, {}, {"subject_id": "s2"})
    assert found["pck"].tolist() == [1.0, 1.0]
    assert found["pck_missing_zero"].tolist() == [1.0, 0.0]


def test_poses_with_other_keypoints_than_evaluated_are_refused_with_the_image(write: Any) -> None:
    with pytest.raises(PredictionError, match=rf"{IMAGE}: poses of 2 keypoints, but 1"):
        poses(write, {"detections": [[[5, 5], [6, 6]]], "scores": []})


def parts(write: Any, answer: Any, *rows: Any) -> scores.PartScores:
    root = write(*(rows or ({},)))
    dataset = data.load("body_parts_detection", root, FhibeOptions())
    answers = codec.PartCodec().read(saved(root, answer), dataset, FhibeOptions(missing="missed"))
    return scores.part_scores(dataset.truth, answers)


def test_null_part_detections_are_not_detected(write: Any) -> None:
    found = parts(
        write, {IMAGE: {"detections": [{"Face": 0.9}]}, "b.png": {"detections": None}}, {}, {"filepath": "b.png"}
    )
    assert found.recall((0.5,)).tolist() == [[1.0], [0.0]]


def test_parts_that_differ_between_people_are_refused(write: Any) -> None:
    with pytest.raises(PredictionError, match="Every person needs the same parts"):
        parts(write, {IMAGE: {"detections": [{"Face": 1}, {"Hand": 1}]}}, {}, {"subject_id": "s2"})


def test_of_two_mappings_for_one_row_the_first_counts_and_too_few_are_refused(write: Any) -> None:
    found = parts(write, {IMAGE: {"detections": [{"Face": 0.9}, {"Face": 0.1}]}})
    assert found.probability.tolist() == [[0.9]]
    with pytest.raises(PredictionError, match="1 people are answered, but 2 are annotated"):
        parts(write, {IMAGE: {"detections": [{"Face": 1}]}}, {}, {"subject_id": "s2"})


def test_a_part_that_nobody_has_is_legal(write: Any) -> None:
    found = parts(write, {IMAGE: {"detections": [{"Wing": 0.1}]}})
    assert np.isnan(found.recall((0.5,))).all()
    assert found.accuracy((0.5,)).tolist() == [[1.0]]


def test_stored_ears_are_wrong_skin_and_left_out_in_the_corrected_reading() -> None:
    truth = np.ones((4, 4), dtype=np.uint8)
    labels = truth.copy()
    labels[0] = 8
    found = face_segmentation.face_score(truth, codec.face_map(labels))
    assert found.mean == pytest.approx(24 / 28)
    assert found.ears_ignored == 1.0
    assert face_segmentation.face_score(truth, codec.face_map(labels), ears_to_skin=True).mean == 1.0


def test_a_pixel_without_a_label_is_background() -> None:
    truth = np.zeros((64, 64), dtype=np.uint8)
    truth[:, 33:] = 1
    found = face_segmentation.face_score(truth, codec.FaceMap({1: encode(np.eye(64, dtype=bool))}))
    assert round(found.by_label["background"], 3) == 0.677
    assert found.by_label["skin"] == pytest.approx(2 * 31 / (64 + 31 * 64))
    nothing = face_segmentation.face_score(truth, codec.FaceMap({}))
    assert nothing.by_label == {"background": 0.0, "skin": 0.0}


def test_labels_that_overlap_are_added_as_published() -> None:
    truth = np.array([[0, 1, 3]], dtype=np.uint8)
    masks = {label: encode(np.array([covered], dtype=bool)) for label, covered in {1: [0, 1, 1], 2: [0, 0, 1]}.items()}
    found = face_segmentation.face_score(truth, codec.FaceMap(masks))
    assert found.by_label == {"background": 1.0, "skin": 1.0, "eye_g": 1.0}


def test_a_label_above_eighteen_is_wrong_wherever_it_stands() -> None:
    truth = np.array([[0, 1]], dtype=np.uint8)
    found = face_segmentation.face_score(truth, codec.face_map(np.array([[0, 200]])))
    assert found.by_label == {"background": 1.0, "skin": 0.0}
    with pytest.raises(ValueError, match="label 256, but labels are"):
        codec.face_map(np.full((2, 2), 256))


def test_a_label_map_that_takes_too_long_is_named_and_left_out(write: Any, tmp_path: Path) -> None:
    import os

    from PIL import Image

    rows = [{"filepath": f"{n}.png", "CelebA": f"['combined{n}.png']", "subject_id": f"s{n}"} for n in range(2)]
    root = write(*rows, face=True)
    for n in range(2):
        Image.fromarray(np.ones((4, 4), np.uint8)).save(root / f"combined{n}.png")
    dataset = data.load("face_parsing", root, FhibeOptions())
    answers = {f"{n}.png": codec.face_map(np.ones((4, 4), int)) for n in range(2)}
    warnings: list[str] = []
    late = score_faces(dataset.truth, answers, parse("serial"), warn=warnings.append, time_limit=1e-9)
    assert [score.by_label for part in late for score in part] == [{}, {}]
    assert "combined0.png was left out: reading it took longer than" in warnings[0]
    (root / "combined1.png").unlink()
    os.mkfifo(root / "combined1.png")  # opening it would wait for a writer that never comes
    with pytest.raises(PredictionError, match="is a pipe"):
        list(score_faces(dataset.truth, answers, parse("serial"), warn=warnings.append))


def test_embeddings_are_read_in_the_documented_and_the_actual_form() -> None:
    forms: set[str] = set()
    reader = EmbeddingCodec()
    for found in ({"detections": [1, 2]}, {"embeddings": [1, 2]}, [1, 2], {"detections": [[1, 2]]}):
        assert reader.answer(found, forms).tolist() == [1.0, 2.0]
    assert len(reader.answer({"detections": None}, forms)) == 0
    assert len(forms) == 3


def faces(count: int, spread: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    identity = np.repeat(np.arange(count), 3)
    vectors = rng.normal(size=(count, 32))[identity] + spread * rng.normal(size=(3 * count, 32))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), identity


def test_val_collapses_with_few_impostors_where_the_unbiased_rate_does_not() -> None:
    vectors, identity = faces(12, 0.5)
    group = verification.group_validation(vectors, identity)
    rate = verification.accept_rate(vectors, identity)
    assert group is not None
    assert group.validation.val is not None
    assert group.validation.val < 0.8
    assert rate.rate == 1.0
    assert rate.impostor * 0.001 < verification.FEW_EVENTS


def test_a_failed_alignment_is_rejected_and_crashes_nothing() -> None:
    vectors, identity = faces(40, 0.3)
    vectors[0] = np.nan
    group = verification.group_validation(vectors, identity)
    assert group is not None
    assert group.validation.val is not None
    assert verification.accept_rate(vectors, identity).rate < 1.0


def test_embeddings_that_are_not_normalised_leave_val_undefined_or_defined_but_never_crash() -> None:
    vectors, identity = faces(60, 1.0)
    for scale in (1.0, 3.0, 30.0):
        assert verification.group_validation(scale * vectors, identity) is not None


def test_the_threshold_of_the_unbiased_rate_lets_at_most_the_asked_share_through() -> None:
    vectors, identity = faces(50, 1.0)
    rate = verification.accept_rate(vectors, identity, 0.01)
    single = vectors.astype(np.float32) @ vectors.astype(np.float32).T
    apart = identity[:, np.newaxis] < identity[np.newaxis, :]
    assert (single[apart] >= rate.threshold).mean() <= 0.01 + 1e-4
    assert rate.low < rate.rate < rate.high


def test_verification_metrics_give_numbers_by_group() -> None:
    vectors, identity = faces(30, 0.3)
    rows = Records({"item": np.array([f"{n:04d}" for n in range(90)]), "unit": identity, "embedding": vectors}, {})
    for metric in (ValidationRate(), TarAtFar(), TarAtOwnFar()):
        state = metric.measure(rows, identity % 2, 2)
        assert set(metric.result(state, metric.measure(rows))) == set(metric.outputs)


def _rate_by_hand(vectors: Any, identity: Any, inside: Any, weight: Any, far: float) -> float:
    """Every pair listed: genuine ones count as often as their subject, impostor ones as often as both."""
    single = vectors.astype(np.float32) @ vectors.astype(np.float32).T
    i, j = np.triu_indices(len(vectors), 1)
    same = identity[i] == identity[j]
    count = np.where(same, weight[identity[i]], weight[identity[i]] * weight[identity[j]])
    score = single[i, j]
    allowed = far * count[~same].sum()
    levels = np.unique(score[~same])[::-1]
    passed = [level for level in levels if count[~same & (score >= level)].sum() <= allowed]
    threshold = min(passed) if passed else np.nextafter(levels[0], np.float32(2))
    own = same & inside[i] & inside[j]
    return float(count[own & (score >= threshold)].sum() / count[own].sum())


def test_redrawn_accept_rates_are_those_of_all_pairs_counted_by_hand() -> None:
    vectors, identity = faces(25, 1.2)
    tone = Attribute.of(["a" if n % 2 else "b" for n in range(75)], levels=("a", "b"))
    rows = Records(
        {"item": np.array([f"{n:04d}" for n in range(75)]), "unit": identity, "embedding": vectors}, {"tone": tone}
    )
    metric, groups = TarAtFar(far=0.02), (EVERYONE, Group.of(tone="a"), Group.of(tone="b"))
    whole = tally(rows, [metric], ["tone"])
    places = layout(whole.cells, groups)
    weights = np.random.default_rng(3).multinomial(25, [1 / 25] * 25, size=6).astype(np.float32)
    found = metric.redrawn(whole.states[0], places, iter([np.ones((1, 25)), weights]), frozenset({"shared"}))["shared"]
    masks = [rows.kept(group) for group in groups]
    for row, weight in zip(found, [np.ones(25), *weights], strict=True):
        assert row.tolist() == pytest.approx([_rate_by_hand(vectors, identity, mask, weight, 0.02) for mask in masks])
    plain = metric.result(metric.measure(rows), metric.measure(rows))["shared"]
    assert found[0, 0] == pytest.approx(plain[0])


def test_verification_compares_groups_with_intervals_and_flags_few_impostors(tmp_path: Path) -> None:
    people = make_subjects(60, "verified")
    write_faces(tmp_path, people, images=3, size=16)
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(60, 24))
    dataset = data.load("face_verification", tmp_path, FaceVerificationOptions())
    codes = {subject: place for place, subject in enumerate(dict.fromkeys(dataset.truth.people.subjects))}
    answers = {}
    for image, subject in zip(dataset.truth.people.images, dataset.truth.people.subjects, strict=True):
        vector = centres[codes[subject]] + 0.9 * rng.normal(size=24)
        answers[image] = vector / np.linalg.norm(vector)
    stored = write_outputs("face_verification", answers, tmp_path / "model_outputs.json")
    run = evaluate(task_named("face_verification"), stored, tmp_path, by=["pronoun"], depth=1, options={"far": 0.01})
    shared = [one for one in run.results.estimates if one.metric == "TAR_AT_FAR"]
    assert all(one.low is not None and one.low <= one.number <= one.high for one in shared if one.number is not None)
    assert shared[0].at is not None
    assert shared[0].at.events is not None
    compared = [one for one in run.results.contrasts if one.metric == "TAR_AT_FAR"]
    assert compared
    assert all(one.low is not None and one.verdict is not None for one in compared)
    flags = [one.number for one in run.results.estimates if one.output == "few_impostors" and one.number is not None]
    assert 1.0 in flags


def test_thresholds_that_format_alike_count_once_and_the_last_wins() -> None:
    assert threshold_keys((0.9, 0.3, 0.301)) == {"0.90": 0.9, "0.30": 0.301}


def test_every_task_writes_what_it_reads(tmp_path: Path) -> None:
    answers = {
        "person_localization": {"detections": [[0, 0, 1, 1]], "scores": [1.0]},
        "person_parsing": {"detections": [encode_mask(np.eye(3, dtype=bool))], "scores": [1.0]},
        "face_localization": {"detections": [], "scores": []},
        "keypoint_estimation": {"detections": [[[1, 2]] * 17], "scores": [[1.0] * 17]},
        "body_parts_detection": {"detections": [{"Face": 0.5}]},
        "face_parsing": np.array([[0, 1], [1, 1]]),
        "face_verification": np.array([0.6, 0.8]),
    }
    for task, answer in answers.items():
        path = write_outputs(task, {"a.png": answer, "b.png": None}, tmp_path / f"{task}.json")
        assert set(json.loads(path.read_text())) == {"a.png", "b.png"}
    with pytest.raises(PredictionError, match=r"a.png: .*box of 1"):
        write_outputs("face_localization", {"a.png": {"detections": [[1]]}}, tmp_path / "x.json")
    with pytest.raises(PredictionError, match="one picture per image"):
        write_outputs("face_encoding", {}, tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("turn", "named"),
    [
        (lambda box: [box[0], box[2], box[1], box[3]], "x0, x1, y0, y1"),
        (lambda box: [box[0], box[1], box[2] - box[0], box[3] - box[1]], "x, y, width, height"),
        (lambda box: box, None),
    ],
)
def test_check_names_boxes_in_another_order(write: Any, turn: Any, named: str | None) -> None:
    truth = [[20.0 + n, 5.0, 28.0 + n, 35.0] for n in range(6)]
    rows = [
        {"filepath": f"{n}.png", "person_bbox": str([b[0], b[1], b[2] - b[0], b[3] - b[1]])}
        for n, b in enumerate(truth)
    ]
    root = write(*rows)
    content = {f"{n}.png": {"detections": [turn(box)], "scores": [1]} for n, box in enumerate(truth)}
    task = task_named("person_localization")
    report = task.check(saved(root, content), root, task.options())
    warnings = [finding.message for finding in report.findings if finding.level == "warning"]
    said = [message for message in warnings if message.startswith("Boxes look like")]
    assert report.ok
    assert (named is None and not said) or any(f"look like {named}" in message for message in said)


def test_rows_of_every_kind_have_an_item_a_unit_and_all_attributes(write: Any) -> None:
    root = write({}, {"filepath": "b.png"})
    dataset = data.load("body_parts_detection", root, FhibeOptions())
    answers = {IMAGE: codec.PartProbabilities(({"Face": 0.4, "Wing": 0.2},))}
    (rows,) = record.record_parts(dataset, answers, task_named("body_parts_detection").options(), Tools())  # type: ignore[arg-type]  # a plain mapping has all that recording asks for
    assert {"item", "unit", "row", "part"} <= set(rows.columns)
    assert len(rows) == 4
    assert record.PARTS[rows["part"][1]] == record.OTHER_PART


def test_all_nine_tasks_say_what_they_need() -> None:
    assert len(TASKS) == 9
    for task in TASKS:
        assert task.about.data
        assert task.about.predictions
        assert task.metrics(task.options())
        assert task.headline is not None


def test_polygons_rasterised_in_parallel_give_the_same_masks(write: Any) -> None:
    from evenhand import engines

    root = write(*({"filepath": f"{n}.png", "subject_id": f"s{n}"} for n in range(600)))
    truth = data.load("person_parsing", root, FhibeOptions()).truth
    masks = {f"{n}.png": PersonMasks((scores.row_runs(truth.segments[n], 40, 30),)) for n in range(600)}
    here, there = (
        scores.mask_columns(truth, masks, RecallOptions(), Tools(engine=engines.parse(name)))
        for name in ("serial", "threads:2")
    )
    assert (here["overlap"] == 1).all()
    assert (there["overlap"] == 1).all()
    assert (here["area"] == there["area"]).all()


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_a_label_map_is_painted_from_runs_pixel_by_pixel(height: int, width: int, seed: int, apart: bool) -> None:
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 4, (height, width))
    masks = {label: labels == label for label in range(1, 4)}
    if not apart:
        masks = {label: chance.random((height, width)) < 0.1 for label in masks}
    added = sum(label * mask.astype(np.uint8) for label, mask in masks.items())
    found = codec.label_map(codec.FaceMap({label: encode(mask) for label, mask in masks.items()}), height, width)
    assert (found == added).all()


def test_a_run_of_no_length_claims_no_pixel() -> None:
    answer = codec.FaceMap({1: encode(np.ones((2, 3), dtype=bool)), 2: Runs(2, 3, compress(np.array([2, 0, 4])))})
    assert codec.label_map(answer, 2, 3).tolist() == [[1, 1, 1], [1, 1, 1]]
