"""Scripts that were written for the published package run with another import."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from degrading import DegradingModel

from evenhand.benchmarks.synthesis.demo import cast_of_videos, write_videos
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.compat.his_evaluators import (
    AppearanceTransferModel,
    FashionVideoMotionImitationEvaluator,
    IPERAppearanceTransferEvaluator,
    IPERMotionImitationEvaluator,
    IPERNovelViewEvaluator,
    MotionImitationModel,
    MotionSyntheticMotionImitationEvaluator,
    NovelViewEvaluator,
    NovelViewModel,
    YoutubeDancer18MotionImitationEvaluator,
)
from evenhand.compat.his_evaluators.evaluators.base import PairedMetricRunner, UnpairedMetricRunner
from evenhand.core.errors import DataError, OptionError, PartError, UnknownNameError
from evenhand.instruments import weights
from evenhand.instruments.films import open_film
from evenhand.instruments.pictures import load
from evenhand.instruments.readings import Readings, Waits

LAYOUT = ("fid:layout", "CS:layout")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("iPER")
    write_videos(folder, cast_of_videos(3), frames=4, size=32)
    (folder / "protocol.json").rename(folder / "iPER_protocol.json")
    for video in cast_of_videos(3):
        place = folder / "smpls" / video.name
        place.mkdir(parents=True)
        np.savez(place / "pose_shape.npz", cams=np.zeros((4, 3)), pose=np.zeros((4, 72)), shape=np.zeros((4, 10)))
        np.save(place / "kps.npy", np.zeros((4, 19, 2)))
    return folder


class Network:
    """Stands for the network of the published example: gives the reference frames, a little blurred."""

    def inference(self, tgt_paths: list[str], tgt_smpls: Any, **how: Any) -> list[np.ndarray]:
        assert tgt_smpls.shape == (len(tgt_paths), 85)
        assert how["cam_strategy"] in ("copy", "smooth")
        return [cv2.GaussianBlur(cv2.imread(path), (0, 0), 1.0) for path in tgt_paths]


class LWGEvaluatorModel(MotionImitationModel):
    """The example of the published documentation, its counters and all, with the network replaced."""

    def __init__(self, opt: Any, output_dir: str) -> None:
        super().__init__(output_dir)
        self.opt = opt
        self.model: Any = None

    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        assert src_infos["smpls"].shape == (1, 85)
        assert ref_infos["kps"].shape == (len(ref_infos["images"]), 19, 2)
        tgt_paths = ref_infos["images"]
        tgt_smpls = ref_infos["smpls"]
        self_imitation = ref_infos["self_imitation"]
        if self_imitation:
            cam_strategy = "copy"
            count = self.num_preds_si
            out_dir = self.si_out_dir
            self.num_preds_ci += len(tgt_paths)
        else:
            cam_strategy = "smooth"
            count = self.num_preds_ci
            out_dir = self.ci_out_dir
            self.num_preds_si += len(tgt_paths)
        outputs = self.model.inference(
            tgt_paths, tgt_smpls=tgt_smpls, cam_strategy=cam_strategy, visualizer=None, verbose=True
        )
        all_preds_files = []
        for preds in outputs:
            filename = f"{count:0>8}.jpg"
            pred_file = os.path.join(out_dir, "pred_" + filename)  # noqa: PTH118  # as published
            count += 1
            cv2.imwrite(pred_file, preds)
            all_preds_files.append(pred_file)
        return all_preds_files

    def build_model(self) -> None:
        self.model = Network()

    def personalization(self, src_infos: dict[str, Any]) -> dict[str, Any]:
        assert self.opt.load_path
        return src_infos

    def terminate(self) -> None:
        (Path(self.output_dir) / "terminated").touch()


def test_the_published_example_runs_and_its_counters_overwrite_nothing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = LWGEvaluatorModel(SimpleNamespace(load_path="x"), output_dir=str(tmp_path / "out"))
    evaluator = IPERMotionImitationEvaluator(dataset="iPER", data_dir=data)
    own, cross = evaluator.evaluate(
        model=model, image_size=32, pair_types=("ssim", "psnr"), unpair_types=(), start="fork"
    )
    assert list(own) == ["ssim", "psnr"]
    assert 0.5 < own["ssim"] < 1.0
    assert cross == {}
    names = sorted(path.name for path in (tmp_path / "out" / "self_imitation").iterdir())
    assert names == [f"pred_{number:08d}.jpg" for number in range(12)]
    assert (tmp_path / "out" / "terminated").exists()
    assert "quality = higher score is better" in capsys.readouterr().out
    evaluator.save_results(tmp_path / "results.txt")
    assert "ssim = " in (tmp_path / "results.txt").read_text()
    assert "quality = lower score is better." in (tmp_path / "results.txt").read_text()


@dataclass(frozen=True)
class Colours:
    """A network in miniature: colours in patches of every picture, with the answer whether it is bright at the top."""

    fingerprint: str = "colours"
    flagged: bool = False

    def readings(self, images: list[Path]) -> Readings:
        rows = []
        for path in images:
            pixels = cv2.imread(str(path)).astype(np.float32) / 255
            patches = cv2.resize(pixels, (2, 2), interpolation=cv2.INTER_AREA).ravel()
            rows.append([1.0, *patches] if self.flagged else patches)
        return Readings(np.array(rows), np.arange(len(rows)), (), Waits(0.0, 0.0, len(rows), 0))

    def logits(self, features: np.ndarray) -> np.ndarray:
        return 10 * features

    def comparisons(self, images: list[Path], others: list[Path]) -> Readings:
        apart = np.abs(self.readings(images).values - self.readings(others).values).mean(axis=1, keepdims=True)
        return Readings(apart, np.arange(len(apart)), (), Waits(0.0, 0.0, len(apart), 0))


@dataclass(frozen=True)
class Flagged(Colours):
    flagged: bool = True

    def found(self, images: list[Path]) -> np.ndarray:
        return self.readings(images).values[:, 0] > 0


def test_the_published_call_gives_the_published_names_in_their_order(data: Path, tmp_path: Path) -> None:
    model = LWGEvaluatorModel(SimpleNamespace(load_path="x", image_size=32), output_dir=str(tmp_path / "out"))
    networks = {name: Colours() for name in ("inception", "logits", "lps")} | {
        name: Flagged() for name in ("osnet", "face")
    }
    evaluator = IPERMotionImitationEvaluator(dataset="iPER", data_dir=str(data), networks=networks, quiet=True)
    own, cross = evaluator.evaluate(
        model=model,
        image_size=model.opt.image_size,
        pair_types=("ssim", "psnr", "lps", "OS-CS-reid", "face-CS"),
        unpair_types=("is", "fid", "OS-CS-reid", "OS-freid", "face-CS", "face-FD"),
        start="fork",
    )
    assert list(own) == ["ssim", "psnr", "lps", "OS-CS-reid", "face-CS"]
    assert list(cross) == ["is", "fid", "OS-freid", "OS-CS-reid", "face-FD", "face-CS"]
    assert all(np.isfinite(value) for value in (*own.values(), *cross.values()))
    assert own["face-CS"] > 0.95 > cross["face-CS"] - 0.05


def test_a_video_that_takes_the_process_down_costs_itself_and_may_count_as_the_worst(
    data: Path, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"image_size": 32, "pair_types": ("ssim",), "unpair_types": (), "start": "fork"}
    strict = IPERMotionImitationEvaluator(data, "iPER", rules="strict", quiet=True)
    skipped, _ = strict.evaluate(DegradingModel(tmp_path / "a", die_on=["001/1/1"]), on_missing="skip", **how)
    assert [name for name, _ in strict.unfinished] == ["001/1/1"]
    assert skipped["ssim"] == pytest.approx(1.0)
    (ssim,) = (one for one in strict.blocks["Self-imitation"].estimates if one.metric == "ssim/strict")
    assert (ssim.rows, ssim.missing) == (8, 4)
    worst, _ = strict.evaluate(DegradingModel(tmp_path / "b", die_on=["001/1/1"]), on_missing="worst", **how)
    assert worst["ssim"] == pytest.approx((8 * 1.0 - 4 * 1.0) / 12)


@pytest.mark.parametrize(
    ("make", "images", "parameters"),
    [
        (MotionSyntheticMotionImitationEvaluator, "processed/{}/images", "processed/{}"),
        (FashionVideoMotionImitationEvaluator, "processed/val/{}/images", "processed/val/{}"),
        (YoutubeDancer18MotionImitationEvaluator, "processed/{}/images", "processed/{}"),
    ],
)
def test_every_data_set_s_layout_is_evaluated(
    data: Path, tmp_path: Path, make: Any, images: str, parameters: str
) -> None:
    names = {video.name: video.name.replace("/", "-") for video in cast_of_videos(3)}
    text = (data / "iPER_protocol.json").read_text()
    for old, new in names.items():
        shutil.copytree(data / "images_HD" / old, tmp_path / images.format(new))
        for file in (data / "smpls" / old).iterdir():
            shutil.copy(file, tmp_path / parameters.format(new))
        if make is MotionSyntheticMotionImitationEvaluator:  # the shape is stored once for the whole video
            once = {"cams": np.zeros((4, 3)), "pose": np.zeros((4, 72)), "shape": np.zeros(10)}
            np.savez(tmp_path / parameters.format(new) / "pose_shape.npz", **once)
        text = text.replace(old, new)
    (tmp_path / "protocol.json").write_text(text)
    evaluator = make(tmp_path, networks={"tints": Colours()}, quiet=True)
    own, cross = evaluator.evaluate(
        DegradingModel(tmp_path / "out", "blur", 0.3),
        image_size=32,
        pair_types=("ssim",),
        unpair_types=("CS:tints",),
        start="here",
    )
    assert 0.3 < own["ssim"] < 1
    assert 0.5 < cross["CS:tints"] <= 1
    assert len(list((tmp_path / "out" / "cross_imitation").iterdir())) == 12


def test_films_show_sources_motion_and_result_side_by_side(data: Path, tmp_path: Path) -> None:
    evaluator = IPERMotionImitationEvaluator(data, "iPER", quiet=True)
    with pytest.raises(OptionError, match="call evaluate first"):
        evaluator.save_films(tmp_path / "films")
    evaluator.evaluate(
        DegradingModel(tmp_path / "out", "colour", 1.0),
        num_sources=2,
        image_size=32,
        pair_types=("ssim",),
        unpair_types=(),
        start="here",
    )
    written = evaluator.save_films(tmp_path / "films", height=64)
    assert [path.name for path in written[:2]] == ["000_1_1.mp4", "000_1_1_cross.mp4"]
    frames = [load(path).pixels for path in open_film(written[0]).frames]
    assert len(frames) == 4
    assert frames[0].shape == (64, 27 + 10 + 64 + 10 + 64 + 1, 3)  # two sources above each other; an even width
    assert frames[0][:, 28:36].max() < 40  # the gap is black, but for compression
    motion, result = frames[0][:, 37:101].astype(float), frames[0][:, 111:175].astype(float)
    assert (result - motion)[..., 0].mean() > 10  # the model tints


def test_lpips_is_another_name_of_lps(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    evaluator = IPERMotionImitationEvaluator(data, "iPER", quiet=True)
    own, _ = evaluator.evaluate(
        DegradingModel(tmp_path, "blur"), image_size=64, pair_types=("lpips",), unpair_types=(), start="here"
    )
    assert list(own) == ["lps"]
    assert own["lps"] > 0


@pytest.mark.torch
def test_metrics_that_have_no_place_and_absent_devices_are_refused_before_the_model_is_built(
    data: Path, tmp_path: Path
) -> None:
    evaluator = IPERMotionImitationEvaluator(data, "iPER", quiet=True)
    model = DegradingModel(tmp_path)
    with pytest.raises(OptionError, match="compares two sets of frames"):
        evaluator.evaluate(model, pair_types=("ssim", "fid"), start="here")
    with pytest.raises(OptionError, match="Device cuda:63 was asked for"):
        evaluator.evaluate(model, pair_types=("ssim",), device="cuda:63", start="here")
    assert not model.ready


@pytest.mark.torch
def test_a_metric_without_weights_is_not_available_beside_the_other_numbers(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluator = IPERMotionImitationEvaluator(data)
    own, cross = evaluator.evaluate(
        DegradingModel(tmp_path), image_size=32, pair_types=("ssim", "PCB-CS-reid"), unpair_types=(), start="here"
    )
    assert own["ssim"] == 1.0
    assert np.isnan(own["PCB-CS-reid"])
    assert "yolov3-spp" in str(own["PCB-CS-reid"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("warning: pcb is not available: the weights yolov3-spp, pcb are not here.")  # at first
    assert any(line.startswith("PCB-CS-reid = not available: ") for line in printed)
    evaluator.save_results(tmp_path / "results.txt", own, cross)
    assert "PCB-CS-reid = not available: " in (tmp_path / "results.txt").read_text()


@pytest.mark.torch
def test_faces_that_were_never_looked_for_are_not_available_and_not_absent(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "installed_file", lambda package, inside: None)
    evaluator = IPERMotionImitationEvaluator(data, "iPER", quiet=True)
    _, cross = evaluator.evaluate(
        DegradingModel(tmp_path), image_size=32, pair_types=(), unpair_types=("face-CS",), start="here"
    )
    assert list(cross) == ["face-FD", "face-CS"]
    assert "evenhand weights get mtcnn-pnet --to DIR" in str(cross["face-FD"])


def test_a_crash_is_told_with_its_traceback_and_the_rest_is_resumed(data: Path, tmp_path: Path) -> None:
    evaluator = IPERMotionImitationEvaluator(data, "iPER", quiet=True)
    how: dict[str, Any] = {"image_size": 32, "pair_types": ("ssim",), "unpair_types": (), "start": "here"}
    with pytest.raises(PartError, match=r"(?s)did not finish 1 of 3 items.*Traceback.*lost its way.*resume=True"):
        evaluator.evaluate(DegradingModel(tmp_path, "blur", crash_on=["001/1/1"]), **how)
    own, _ = evaluator.evaluate(DegradingModel(tmp_path, "blur"), resume=True, **how)
    assert 0 < own["ssim"] < 1
    strict = IPERMotionImitationEvaluator(data, "iPER", rules="strict", quiet=True)
    model = DegradingModel(tmp_path / "other", "blur", crash_on=["001/1/1"])
    own, _ = strict.evaluate(model, on_missing="skip", **how)
    assert [name for name, _ in strict.unfinished] == ["001/1/1"]
    assert list(own) == ["ssim"]
    with pytest.raises(OptionError, match="needs rules='strict'"):
        evaluator.evaluate(model, on_missing="skip", **how)


def test_the_protocol_of_the_earlier_paper_has_three_items_per_video(data: Path, tmp_path: Path) -> None:
    evaluator = IPERMotionImitationEvaluator(dataset="iPER_ICCV", data_dir=data, quiet=True)
    evaluator.evaluate(DegradingModel(tmp_path), image_size=32, pair_types=("ssim",), unpair_types=(), start="here")
    assert len(list((tmp_path / "self_imitation").iterdir())) == 36


class Viewer(NovelViewModel):
    def build_model(self) -> None: ...
    def terminate(self) -> None: ...
    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        assert ref_infos["views"].shape == (len(ref_infos["images"]), 6)
        made = []
        for path in ref_infos["images"]:
            made.append(f"{self.output_dir}/pred_{self.num_preds_si:08d}.png")
            shutil.copy(path, made[-1])
            self.num_preds_si += 1
        return made


class Dresser(AppearanceTransferModel):
    def build_model(self) -> None: ...
    def terminate(self) -> None: ...
    def personalization(self, src_infos: dict[str, Any], app_infos: dict[str, Any]) -> dict[str, Any]:
        return src_infos | {"wearing": app_infos["name"]}

    def swap(self, src_infos: dict[str, Any], app_infos: dict[str, Any], motion_infos: dict[str, Any]) -> list[str]:
        assert src_infos["wearing"] == app_infos["name"] == motion_infos["name"]
        made = []
        for number, path in enumerate(motion_infos["images"], start=self.num_preds_si):
            made.append(f"{self.si_out_dir}/pred_{number:08d}.png")
            shutil.copy(path, made[-1])
        return made


def test_novel_views_and_appearance_transfer_can_be_evaluated(data: Path, tmp_path: Path) -> None:
    viewed = IPERNovelViewEvaluator(data, "iPER", quiet=True).evaluate(
        Viewer(tmp_path / "views"), image_size=32, pair_types=("ssim",), start="here"
    )
    assert viewed == {"ssim": pytest.approx(1.0)}
    infos = {video.name: {"s_n": {"1": ["0000.png"]}, "flag": [0, 3]} for video in cast_of_videos(3)}
    told = {"video_infos": infos, "vid_name_pairs": [["000/1/1", "001/1/1"], ["001/1/1", "002/1/1"]]}
    (tmp_path / "pairs.json").write_text(json.dumps(told))
    dressed = IPERAppearanceTransferEvaluator(data, "iPER", protocol=tmp_path / "pairs.json", quiet=True).evaluate(
        Dresser(tmp_path / "dressed"), image_size=32, pair_types=("ssim",), start="here"
    )
    assert dressed == {"ssim": pytest.approx(1.0)}


def test_novel_views_of_fashion_videos_are_the_frames_with_masks(data: Path, tmp_path: Path) -> None:
    names = {video.name: video.name.replace("/", "-") for video in cast_of_videos(3)}
    text = (data / "iPER_protocol.json").read_text()
    for old, new in names.items():
        shutil.copytree(data / "images_HD" / old, tmp_path / "processed" / "val" / new / "images")
        for file in (data / "smpls" / old).iterdir():
            shutil.copy(file, tmp_path / "processed" / "val" / new)
        text = text.replace(old, new)
    (tmp_path / "FashionVideo_novel_view_protocol.json").write_text(text)
    evaluator = NovelViewEvaluator(tmp_path, "FashionVideo", quiet=True)
    viewed = evaluator.evaluate(Viewer(tmp_path / "views"), image_size=32, pair_types=("ssim",), start="here")
    assert viewed == {"ssim": pytest.approx(1.0)}
    assert [outcome.item.video for outcome in evaluator.outcomes] == ["000-1-1"]  # the only one for novel views
    masks = evaluator.outcomes[0].item.own.infos["masks"]
    assert Path(masks[0]).name == "mask_0000.png"


def test_a_protocol_file_that_is_nowhere_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="looked for FashionVideo_protocol"):
        FashionVideoMotionImitationEvaluator(tmp_path)


@pytest.mark.parametrize("make", [IPERMotionImitationEvaluator, FashionVideoMotionImitationEvaluator])
def test_an_empty_name_of_a_data_set_is_refused(data: Path, make: Any) -> None:
    with pytest.raises(UnknownNameError, match="There is no data set ''"):
        make(data, dataset="", protocol=data / "iPER_protocol.json")


def test_an_evaluator_that_was_reset_names_its_new_data_set_only(data: Path, tmp_path: Path) -> None:
    for video in cast_of_videos(3):
        shutil.copytree(data / "images_HD" / video.name, tmp_path / "processed" / "val" / video.name / "images")
    shutil.copy(data / "iPER_protocol.json", tmp_path / "FashionVideo_protocol.json")
    evaluator = IPERMotionImitationEvaluator(data)
    assert evaluator.flavour.name == "iPER"
    evaluator.reset_dataset("FashionVideo", tmp_path)
    assert evaluator.flavour.name == "FashionVideo"
    assert (evaluator.data_dir, evaluator.protocol_path) == (tmp_path, tmp_path / "FashionVideo_protocol.json")
    assert not hasattr(evaluator, "dataset")  # it would be the default of the class
    evaluator.protocols.setup(load_smpls=False, load_kps=False)
    assert all("processed/val" in path for path in evaluator.protocols[0]["self_imitation"]["images"])
    assert IPERMotionImitationEvaluator(data).flavour.name == "iPER"


PUBLISHED_ENTRIES = {
    "evenhand.compat.his_evaluators": (
        *("MotionImitationModel", "IPERMotionImitationEvaluator", "MotionImitationEvaluator"),
        *("AppearanceTransferModel", "AppearanceTransferEvaluator", "IPERAppearanceTransferEvaluator"),
        *("NovelViewSynthesizeModel", "NovelViewSynthesizeEvaluator", "IPERNovelViewSynthesizeEvaluator"),
    ),
    "evenhand.compat.his_evaluators.evaluators": ("MotionImitationEvaluator", "IPERMotionImitationEvaluator"),
    "evenhand.compat.his_evaluators.evaluators.motion_imitation": ("MotionImitationModel", "MotionImitationEvaluator"),
    "evenhand.compat.his_evaluators.evaluators.base": ("PairedMetricRunner", "UnpairedMetricRunner"),
    "evenhand.compat.his_evaluators.metrics": ("register_metrics", "TYPES_QUALITIES"),
}
PUBLISHED_METHODS = {
    "IPERMotionImitationEvaluator": {
        "__init__": ("data_dir", "dataset"),
        "reset_dataset": ("dataset", "data_dir"),
        "build_metrics": ("pair_types", "unpair_types", "device"),
        "run_metrics": ("self_imitation_files", "cross_imitation_files", "image_size"),
        "run_inference": ("model", "src_infos", "ref_infos"),
        "evaluate": ("model", "num_sources", "image_size", "pair_types", "unpair_types", "device"),
        "save_results": ("out_path", "results"),
    },
    "IPERNovelViewSynthesizeEvaluator": {
        "__init__": ("data_dir", "dataset"),
        "build_metrics": ("pair_types", "device"),
        "run_metrics": ("self_imitation_files", "image_size"),
        "evaluate": ("model", "num_sources", "image_size", "pair_types", "device"),
    },
    "IPERAppearanceTransferEvaluator": {"__init__": ("data_dir", "dataset"), "build_metrics": ("pair_types", "device")},
    "MotionImitationModel": {
        "__init__": ("output_dir",),
        "build_model": (),
        "personalization": ("src_infos",),
        "imitate": ("src_infos", "ref_infos"),
        "terminate": (),
    },
    "NovelViewSynthesizeModel": {
        "__init__": ("output_dir",),
        "build_model": (),
        "personalization": ("src_infos",),
        "imitate": ("src_infos", "ref_infos"),
        "terminate": (),
    },
    "AppearanceTransferModel": {
        "__init__": ("output_dir",),
        "build_model": (),
        "personalization": ("src_infos", "app_infos"),
        "swap": ("src_infos", "app_infos", "motion_infos"),
        "terminate": (),
    },
}


def test_every_published_entry_is_here_with_its_arguments_in_their_order() -> None:
    import importlib
    import inspect

    for module, names in PUBLISHED_ENTRIES.items():
        for name in names:
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"
    package = importlib.import_module("evenhand.compat.his_evaluators")
    for name, methods in PUBLISHED_METHODS.items():
        for method, arguments in methods.items():
            parameters = list(inspect.signature(getattr(getattr(package, name), method)).parameters)[1:]
            assert tuple(parameters[: len(arguments)]) == arguments, f"{name}.{method}"


def test_metrics_are_built_and_run_over_lists_of_paths_as_published(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluator = IPERMotionImitationEvaluator(data, "iPER")
    evaluator.protocols.setup(num_sources=1, load_smpls=True, load_kps=True)
    infos = next(iter(evaluator.protocols))
    assert (len(evaluator.protocols), infos["source"]["s_n"]) == (3, 1)
    assert infos["self_imitation"]["smpls"].shape == (4, 85)
    files = list(zip(infos["self_imitation"]["images"], infos["flag"], strict=True))
    with pytest.raises(OptionError, match="Call build_metrics"):
        evaluator.run_metrics(files, files, 32)
    evaluator.build_metrics(("ssim", "psnr"), ("OS-CS-reid",), "cpu")
    own, cross = evaluator.run_metrics(files, files, 32)
    assert own["ssim"] == 1.0
    assert list(cross) == ["OS-freid", "OS-CS-reid"]
    assert "running ('ssim', 'psnr') metrics with paired samples = 4" in capsys.readouterr().out
    evaluator.save_results(tmp_path / "results.txt", own, cross)
    assert "Cross-imitation Results" in (tmp_path / "results.txt").read_text()
    with pytest.raises(DataError, match="no protocol file"):
        evaluator.reset_dataset("MotionSynthetic", tmp_path)


def test_a_mistyped_option_and_unknown_rules_are_refused_when_runners_and_evaluators_are_made(data: Path) -> None:
    makers: list[tuple[Any, tuple[Any, ...]]] = [
        (PairedMetricRunner, (("ssim",),)),
        (UnpairedMetricRunner, (("fid",),)),
        (IPERMotionImitationEvaluator, (data,)),
        (MotionSyntheticMotionImitationEvaluator, (data,)),
        (IPERNovelViewEvaluator, (data,)),
    ]
    for make, arguments in makers:
        for wrong in ({"wieghts": "/nonexistent"}, {"rule": "strict"}):
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{next(iter(wrong))}'"):
                make(*arguments, **wrong)
        with pytest.raises(ValueError, match="'nope' is not a valid Rules"):
            make(*arguments, rules="nope")


def test_runners_and_evaluators_show_their_settings_and_hand_them_on(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    networks = {"tints": Colours()}
    how: dict[str, Any] = {"rules": "strict", "weights": str(tmp_path), "cache": str(tmp_path / "cache")}
    evaluator = IPERMotionImitationEvaluator(data, networks=networks, empty_crop="whole", **how)
    evaluator.build_metrics(("ssim",), ("CS:tints",))
    for holder in (evaluator, evaluator.paired_metrics_runner, evaluator.unpaired_metrics_runner):
        assert holder is not None
        assert (holder.rules, holder.weights, holder.cache) == ("strict", tmp_path, tmp_path / "cache")
        assert (holder.networks, holder.empty_crop) == (networks, "whole")
    assert evaluator.unpaired_metrics_runner is not None
    built = evaluator.unpaired_metrics_runner.instruments(64).networks
    assert (built.options.image_size, built.options.rules, built.options.weights) == (64, "strict", tmp_path)
    assert (built.options.empty_crop, built.cache, built.given) == ("whole", tmp_path / "cache", networks)
    evaluator.unpaired_metrics_runner.warn("too dark")
    assert capsys.readouterr().out == "warning: too dark\n"


def test_settings_that_are_changed_later_reach_the_runners(data: Path, tmp_path: Path) -> None:
    evaluator = IPERMotionImitationEvaluator(data)
    evaluator.rules, evaluator.cache = Rules.STRICT, tmp_path
    evaluator.networks["tints"] = Colours()
    evaluator.build_metrics(("ssim",), ("CS:tints",))
    runner = evaluator.unpaired_metrics_runner
    assert runner is not None
    assert (runner.rules, runner.cache, runner.networks) == (evaluator.rules, tmp_path, evaluator.networks)


def test_plain_runners_and_evaluators_have_the_published_settings(data: Path) -> None:
    for holder in (PairedMetricRunner(), UnpairedMetricRunner(), IPERMotionImitationEvaluator(data)):
        assert (holder.rules, holder.weights, holder.cache) == ("compat", None, None)
        assert (holder.networks, holder.empty_crop) == ({}, "error")


def test_neither_runner_is_a_kind_of_the_other() -> None:
    assert not issubclass(UnpairedMetricRunner, PairedMetricRunner)
    assert not issubclass(PairedMetricRunner, UnpairedMetricRunner)


def test_no_pictures_have_the_cosine_and_the_distance_zero_as_published_and_nothing_else() -> None:
    networks = dict.fromkeys(("inception", "logits", "osnet", "face"), SimpleNamespace(fingerprint="none"))
    paired = PairedMetricRunner(("ssim", "OS-CS-reid"), networks=networks).evaluate([])
    assert paired["OS-CS-reid"] == 0.0
    assert str(paired["ssim"]) == "not available: there are no pictures"
    unpaired = UnpairedMetricRunner(("is", "OS-CS-reid", "face-CS"), networks=networks).evaluate([])
    assert [name for name, value in unpaired.items() if value == 0.0] == ["fid", "OS-freid", "OS-CS-reid"]
    assert set(unpaired) == {"is", "fid", "OS-freid", "OS-CS-reid"}  # no reference shows a face
    strict = UnpairedMetricRunner(("fid",), networks=networks, rules="strict").evaluate([])
    assert str(strict["fid"]) == "not available: there are no pictures"


def test_registered_metrics_score_batches_of_pictures() -> None:
    from evenhand.compat.his_evaluators.metrics import TYPES_QUALITIES, register_metrics

    metrics = register_metrics(types=("ssim", "psnr"), device="cpu")
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 256, (2, 3, 32, 32)) / 255
    assert metrics["ssim"].calculate_score(batch, batch) == 1.0
    assert metrics["psnr"].calculate_score(batch, 1 - batch) < 10
    assert metrics["psnr"].quality() == "higher score is better"
    assert TYPES_QUALITIES["ssim"] == "lower score is better."
    with pytest.raises(DataError, match="outside 0 to 1"):
        metrics["ssim"].calculate_score(batch * 255, batch)
