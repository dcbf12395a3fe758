"""Protocol files: windows, sources and flavours, in both readings."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.synthesis.data import load_items
from evenhand.benchmarks.synthesis.options import ProtocolOptions
from evenhand.benchmarks.synthesis.protocol import FLAVOURS, Protocol, Rules, flavour_named
from evenhand.benchmarks.synthesis.protocol_file import ProtocolQuestion
from evenhand.core.errors import DataError, OptionError, UnknownNameError


def entry(**changed: Any) -> dict[str, Any]:
    plain = {
        "s_n": {"1": ["0001.jpg"], "2": ["0001.jpg", "0003.jpg"], "3": ["0000.jpg", "0001.jpg", "0003.jpg"]},
        "self_imitation": {"target": "a", "range": [0, 2]},
        "cross_imitation": {"target": "b", "range": [1, 2]},
        "flag": [2, 3],
        "novel view": True,
        "mask": ["0003.jpg", "0000.jpg"],
    }
    return plain | changed


def lay_out(
    root: Path, flavour: str = "iPER", names: tuple[str, ...] = ("0000", "0001", "0002", "0003"), **a: Any
) -> Path:
    for video in ("a", "b"):
        place = root / FLAVOURS[flavour].images.format(video=video)
        place.mkdir(parents=True)
        for name in names:
            (place / f"{name}.jpg").touch()
        (place / ".hidden").touch()
    path = root / "protocol.json"
    path.write_text(json.dumps({"val": {"a": entry(**a), "b": entry(self_imitation={"target": "b", "range": [0, 3]})}}))
    return path


def item(path: Path, flavour: str = "iPER", number: int = 0, **how: Any) -> Any:
    return Protocol(path, path.parent, FLAVOURS[flavour], **how)[number]


def names(paths: Any) -> list[str]:
    return [path.name for path in paths]


def test_windows_include_both_ends_and_count_positions_in_the_sorted_listing(tmp_path: Path) -> None:
    found = item(lay_out(tmp_path))
    assert names(found.own.images) == ["0000.jpg", "0001.jpg", "0002.jpg"]
    assert names(found.cross.images) == ["0001.jpg", "0002.jpg"]
    assert found.cross.images[0].parent.name == "b"
    assert names(found.flag) == ["0002.jpg", "0003.jpg"]


def test_a_window_past_the_end_is_cut_with_a_warning_or_refused(tmp_path: Path) -> None:
    path = lay_out(tmp_path, flag=[3, 4])
    assert names(item(path).flag) == ["0003.jpg"]
    said = list(Protocol(path, tmp_path, FLAVOURS["iPER"]).warnings())
    assert any("flag window 3–4 reaches past the end of a video of 4 frames; it is cut to 1" in text for text in said)
    with pytest.raises(DataError, match="flag window 3–4 reaches past the end"):
        item(path, rules=Rules.STRICT)


def test_a_source_is_the_entry_of_its_number_or_strictly_the_file_of_its_name(tmp_path: Path) -> None:
    path = lay_out(tmp_path, names=("0000", "0001", "0003", "0004"), s_n={"1": ["0003.jpg"]})
    assert names(item(path).source.images) == ["0004.jpg"]
    assert names(item(path, rules=Rules.STRICT).source.images) == ["0003.jpg"]
    said = list(Protocol(path, tmp_path, FLAVOURS["iPER"]).warnings())
    assert any("0003.jpg is looked up as entry 3 of the folder, which is 0004.jpg" in text for text in said)


def test_a_source_past_the_end_or_absent_is_an_error(tmp_path: Path) -> None:
    path = lay_out(tmp_path, s_n={"1": ["0505.jpg"]})
    with pytest.raises(DataError, match=r"looked up as entry 505, but .* has 4"):
        item(path)
    with pytest.raises(DataError, match=r"no 0505\.jpg in"):
        item(path, rules=Rules.STRICT)


def test_iper_iccv_has_three_items_per_video_with_one_source_each(tmp_path: Path) -> None:
    protocol = Protocol(lay_out(tmp_path), tmp_path, FLAVOURS["iPER_ICCV"], sources=4)
    assert len(protocol) == protocol.published_total == 6
    assert [item.name for item in protocol][:3] == ["a#0", "a#1", "a#2"]
    assert [names(one.source.images) for one in list(protocol)[:3]] == [["0000.jpg"], ["0001.jpg"], ["0003.jpg"]]


def test_youtube_dancers_are_swept_in_sorted_order_until_a_name_is_absent(tmp_path: Path) -> None:
    sources = {"1": ["0003.jpg", "0001.jpg", "0002x.jpg"]}
    path = lay_out(tmp_path, "YoutubeDancer18", s_n=sources)
    assert names(item(path, "YoutubeDancer18").source.images) == ["0001.jpg"]
    with pytest.raises(DataError, match=r"no 0002x\.jpg"):
        item(path, "YoutubeDancer18", rules=Rules.STRICT)


@pytest.mark.parametrize("rules", list(Rules))
def test_a_video_that_no_item_needs_need_not_be_there(tmp_path: Path, rules: Rules) -> None:
    path = lay_out(tmp_path)
    path.write_text(json.dumps({"val": {"a": entry(), "b": entry(**{"novel view": False})}}))
    shutil.rmtree(tmp_path / FLAVOURS["iPER"].images.format(video="b"))
    options = ProtocolOptions(metrics=("l1",), rules=rules, protocol=path)
    dataset = load_items(tmp_path, options, question=ProtocolQuestion.NOVEL_VIEW, cross=False)
    assert [sample.id for sample in dataset.samples] == ["a"]


def test_numbers_without_zeros_in_front_are_pointed_out_once_items_were_read(tmp_path: Path) -> None:
    protocol = Protocol(lay_out(tmp_path, names=("2", "3", "4", "10")), tmp_path, FLAVOURS["iPER"], rules=Rules.STRICT)
    protocol.listing("a")
    (said,) = protocol.order_warnings()
    assert said.startswith("1 of 1 videos have names whose numbers are not padded with zeros.")


def test_novel_views_are_the_listed_frames_and_the_first_is_the_source(tmp_path: Path) -> None:
    found = item(lay_out(tmp_path), question=ProtocolQuestion.NOVEL_VIEW)
    assert names(found.own.images) == ["0003.jpg", "0000.jpg"]
    assert names(found.source.images) == ["0003.jpg"]
    assert found.own.as_dictionary()["masks"][0].endswith("pred_masks/mask_0003.jpg")


def test_an_appearance_transfer_takes_sources_of_the_first_and_motion_of_the_second(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    infos = {video: {"s_n": {"1": ["0001.jpg"]}, "flag": [0, 3]} for video in ("a", "b")}
    path.write_text(json.dumps({"video_infos": infos, "vid_name_pairs": [["a", "b"]]}))
    found = item(path, question=ProtocolQuestion.APPEARANCE)
    videos = [frames.infos["name"] for frames in (found.source, found.appearance, found.own)]
    assert (found.name, videos) == ("a→b", ["a", "b", "b"])
    assert len(found.own.images) == 4


def test_parameters_are_read_from_pickles_that_python_2_wrote(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    place = tmp_path / "smpls" / "a"
    place.mkdir(parents=True)
    body = {"cams": np.arange(12.0).reshape(4, 3), "pose": np.zeros((4, 72)), "shape": np.ones((4, 10))}
    (place / "pose_shape.pkl").write_bytes(pickle.dumps(body, protocol=2))
    (place / "kps.pkl").write_bytes(pickle.dumps({"kps": np.zeros((4, 19, 2))}, protocol=2))
    given = item(path).own.as_dictionary()
    assert given["smpls"].shape == (3, 85)
    assert given["smpls"][1, :3].tolist() == [3.0, 4.0, 5.0]
    assert given["kps"].shape == (3, 19, 2)
    assert item(path, number=1).own.as_dictionary()["smpls"] is None


def test_a_pickle_that_would_run_something_is_refused_and_does_not_run(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    place = tmp_path / "smpls" / "a"
    place.mkdir(parents=True)
    (place / "pose_shape.pkl").write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR.")
    with pytest.raises(DataError, match="asks for os"):
        item(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"flag": [0, 5]}, "flag window of 6 frames and a cross_imitation window of 2"),
        ({"flag": [3, 2]}, "expected 0 ≤ first ≤ last"),
        ({"self_imitation": None}, "has no 'self_imitation'"),
    ],
)
def test_an_entry_that_can_not_be_meant_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    path = lay_out(tmp_path, **changed)
    with pytest.raises(DataError, match=message):
        Protocol(path, tmp_path, FLAVOURS["iPER"])


def test_a_file_of_another_kind_an_empty_folder_and_an_absent_one_are_named(tmp_path: Path) -> None:
    path = lay_out(tmp_path)
    path.write_text('{"train": {}}')
    with pytest.raises(DataError, match="is no protocol for motion imitation"):
        Protocol(path, tmp_path, FLAVOURS["iPER"])
    path.write_text(json.dumps({"val": {"c": entry(), "a": entry()}}))
    with pytest.raises(DataError, match="names the video 'c'"):
        item(path)
    (tmp_path / "images_HD" / "c").mkdir()
    with pytest.raises(DataError, match="is empty"):
        item(path)


def test_an_unknown_data_set_or_number_of_sources_names_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'iPER'"):
        flavour_named("iPR")
    with pytest.raises(OptionError, match="lists no sources for 8; it has them for 1, 2, 3"):
        item(lay_out(tmp_path), sources=8)
