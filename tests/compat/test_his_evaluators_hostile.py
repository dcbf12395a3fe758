"""The evaluators of image synthesis with hostile names: no line is forged, no item lost, nothing read outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from degrading import DegradingModel, degrade

from evenhand.benchmarks.synthesis.demo import cast_of_videos, write_videos
from evenhand.benchmarks.synthesis.drawn import read, save
from evenhand.compat.his_evaluators import (
    AppearanceTransferModel,
    IPERAppearanceTransferEvaluator,
    IPERMotionImitationEvaluator,
    IPERNovelViewEvaluator,
    NovelViewModel,
)
from evenhand.compat.his_evaluators.evaluators import PairedMetricRunner
from evenhand.core.errors import DataError, OptionError, PartError

SUBJECTS = (
    "red\x1b[31m", "turned\u202etxt", "line\nFORGED", "over\rFORGED", "c1\x9b31m", "split\u2028FORGED", "bell\x07",
    "next\x85FORGED", "<script>alert(1)</script>", "{video}", "%s%n", "..", "...hidden", "=1+1", "back\\slash",
    "|pipe|`code`", "[bold]x[/]", "tab\tFORGED", " space ", "\u2066iso\u2069",
)  # fmt: skip
NAMES = [f"{number:03d}/{subject}/1" for number, subject in enumerate(SUBJECTS) if subject != ".."]
UNDECODABLE = "\udcff"  # as Python reads a name that is no UTF-8
FRAMES = 2


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos of such subjects, with frames of such names."""
    folder = tmp_path_factory.mktemp("iPER") / "red\x1b[31m\nFORGED"
    videos = [video._replace(name=name) for video, name in zip(cast_of_videos(len(NAMES)), NAMES, strict=True)]
    write_videos(folder, videos, frames=FRAMES, size=24)
    text = (folder / "protocol.json").read_text()
    for number in range(FRAMES):
        text = text.replace(f'"{number:04d}.png"', json.dumps(_frame(number)))
    protocol = json.loads(text)
    for entry in protocol["val"].values():
        entry["flag"] = entry["self_imitation"]["range"] = entry["cross_imitation"]["range"] = [0, 4]  # one is cut
    (folder / "iPER_protocol.json").write_text(json.dumps(protocol))
    (folder / "protocol.json").unlink()
    for name in NAMES:
        for number in range(FRAMES):
            place = folder / "images_HD" / name
            (place / f"{number:04d}.png").rename(place / (UNDECODABLE * (name == NAMES[3]) + _frame(number)))
    infos = {name: {"s_n": {"1": [_frame(0)]}, "flag": [0, 1]} for name in NAMES}
    transfer = {"video_infos": infos, "vid_name_pairs": [[NAMES[0], NAMES[2]], [NAMES[5], NAMES[8]]]}
    (folder / "iPER_appearance_transfer_protocol.json").write_text(json.dumps(transfer))
    return folder


def _frame(number: int) -> str:
    return f"fr\x1b[2J\nFORGED<b>\u2028_{number:04d}.png"


def check_printed(text: str) -> None:
    for line in text.split("\n"):
        assert not line.startswith(("FORGED", "ssim = 9")), line
        assert not [char for char in line if not char.isprintable() and char != "\t"], line


def test_motion_imitation_runs_whole_and_is_resumed_by_its_journal(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluator = IPERMotionImitationEvaluator(data, "iPER", cache=tmp_path / "cache")
    broken = DegradingModel(tmp_path / "out\x1b[1m\nFORGED", "blur", 0.3, crash_on=[NAMES[2], NAMES[16]])
    with pytest.raises(PartError, match="did not finish 2 of"):
        evaluator.evaluate(broken, image_size=24, pair_types=("ssim",), unpair_types=(), start="here")
    model = DegradingModel(tmp_path / "out\x1b[1m\nFORGED", "blur", 0.3)
    own, cross = evaluator.evaluate(
        model, image_size=24, pair_types=("ssim", "psnr", "OS-CS-reid"), unpair_types=("OS-freid",), resume=True
    )
    assert [outcome.item.name for outcome in evaluator.outcomes if not outcome.resumed] == [NAMES[2], NAMES[16]]
    assert [outcome.item.name for outcome in evaluator.outcomes] == NAMES
    assert 0 < own["ssim"] < 1
    evaluator.save_results(tmp_path / "results.txt", own, cross)
    assert len((tmp_path / "results.txt").read_text().splitlines()) == 2 + len(own) + len(cross)
    films = evaluator.save_films(tmp_path / "films", height=32)
    assert len(films) == 2 * len(NAMES)
    assert {film.parent for film in films} == {tmp_path / "films"}
    for position, infos in enumerate(evaluator.protocols):
        assert infos["source"]["name"] == NAMES[position]
        assert all(Path(path).is_file() for path in infos["self_imitation"]["images"])
    check_printed(capsys.readouterr().out)


class Copy:
    """Gives the reference frames back, under names that are as bad."""

    output_dir: str
    written: int = 0

    def build_model(self) -> None: ...

    def terminate(self) -> None: ...

    def _copy(self, infos: dict[str, Any]) -> list[str]:
        made = []
        for path in infos["images"]:
            self.written += 1
            made.append(str(Path(self.output_dir) / f"{infos['name'].split('/')[1]}{self.written}\x07\nFORGED.png"))
            save(made[-1], degrade(read(path), "blur", 0.3))
        return made


class View(Copy, NovelViewModel):
    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        return self._copy(ref_infos)


class Swap(Copy, AppearanceTransferModel):
    def swap(self, src_infos: dict[str, Any], app_infos: dict[str, Any], motion_infos: dict[str, Any]) -> list[str]:
        return self._copy(motion_infos)


def test_novel_views_and_appearance_transfer_run_whole(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    views = IPERNovelViewEvaluator(data)
    assert 0 < views.evaluate(View(tmp_path / "views"), image_size=24, pair_types=("ssim",), start="here")["ssim"] < 1
    transfer = IPERAppearanceTransferEvaluator(data)
    results = transfer.evaluate(Swap(tmp_path / "swaps"), image_size=24, pair_types=("ssim",), start="here")
    assert 0 < results["ssim"] < 1
    check_printed(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["../outside", "001/../../outside", "/etc", "", "."])
@pytest.mark.parametrize("where", ["video", "target", "pair"])
def test_a_video_outside_the_data_folder_is_refused(data: Path, tmp_path: Path, name: str, where: str) -> None:
    protocol = json.loads((data / "iPER_protocol.json").read_text())
    entry = protocol["val"].pop(NAMES[0])
    if where == "target":
        entry["cross_imitation"]["target"] = name
    protocol["val"][name if where == "video" else NAMES[0]] = entry
    if where == "pair":
        transfer = {"video_infos": {name: {"s_n": {"1": ["0"]}, "flag": [0, 1]}}, "vid_name_pairs": [[name, name]]}
        (tmp_path / "iPER_appearance_transfer_protocol.json").write_text(json.dumps(transfer))
        with pytest.raises(DataError, match="is no name of a video"):
            IPERAppearanceTransferEvaluator(tmp_path)
        return
    (tmp_path / "iPER_protocol.json").write_text(json.dumps(protocol))
    with pytest.raises(DataError, match="is no name of a video"):
        IPERMotionImitationEvaluator(data, protocol=tmp_path / "iPER_protocol.json")


@pytest.mark.parametrize(("image_size", "batch_size"), [(-1, 16), (32, 0)])
def test_a_size_or_a_batch_that_can_not_be_is_refused(tmp_path: Path, image_size: int, batch_size: int) -> None:
    picture = tmp_path / "a.png"
    save(str(picture), np.zeros((32, 32, 3), np.uint8))
    with pytest.raises(OptionError, match="expected at least 1 and 0"):
        PairedMetricRunner(("ssim",)).evaluate([(picture, picture)], image_size, batch_size)


def test_pictures_that_are_the_real_ones_are_pointed_out(tmp_path: Path) -> None:
    said: list[str] = []
    rng = np.random.default_rng(1)
    paths = [tmp_path / f"{number}.png" for number in range(8)]
    for path in paths:
        save(str(path), rng.integers(0, 255, (32, 32, 3), dtype=np.uint8))
    PairedMetricRunner(("ssim",), say=said.append).evaluate([(path, path) for path in paths], 32)
    assert "equal to their real ones" in " ".join(said)
