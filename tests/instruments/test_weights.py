"""Which weights are here, are they intact, and `get` only when asked."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.errors import StorageError, UnknownNameError
from evenhand.files.packaged import packaged_table
from evenhand.files.pickles import save_plain
from evenhand.instruments.architectures import ARCHITECTURES
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.weight_files import WEIGHTS, Carrier, WeightFile, WeightKind
from evenhand.instruments.weights import Presence, WeightStatus, get_weights, list_weights, locate, weight_status

CONTENT = save_plain({"conv1.weight": np.zeros((2, 3), np.float32)})
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def get_weight(name: str, folder: Path, source: str | None = None) -> WeightStatus:
    (outcome,) = get_weights([name], folder, source=source)
    if isinstance(outcome, WeightsError):
        raise outcome
    return outcome


@pytest.fixture(autouse=True)
def no_weights_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_WEIGHTS", raising=False)


@contextmanager
def serving(fault: str, times: int) -> Iterator[tuple[str, list[str]]]:
    """A server that answers wrongly so many times before it gives the weights; with the requests that came."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            wrong = len(asked) <= times
            if wrong and fault == "dropped":
                self.connection.close()
                return
            content = b"<html>" if wrong and fault == "damaged" else CONTENT
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if wrong and fault == "cut" else content)

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}/weights", asked
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/weights" else 404)
            self.end_headers()
            self.wfile.write(CONTENT if self.path == "/weights" else b"no")

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_every_file_says_what_it_is_for_where_it_comes_from_and_its_licence() -> None:
    for weight in WEIGHTS.values():
        assert weight.needed_by
        assert weight.published
        assert weight.licence
        assert weight.size > 0
        assert all(len(carrier.sha256) == 64 for carrier in weight.carriers)


def test_every_network_s_parts_are_in_the_table() -> None:
    assert {part.weights for network in ARCHITECTURES.values() for part in network.parts} <= set(WEIGHTS)


def test_declared_carriers_are_permissively_licensed() -> None:
    for weight in WEIGHTS.values():
        if any(carrier.declared for carrier in weight.carriers):
            assert weight.licence in ("MIT", "CC0-1.0", "Apache-2.0", "BSD-3-Clause")


def test_carried_weights_are_found_inside_their_packages_and_intact() -> None:
    status = {one.weight.name: one for one in list_weights()}
    for name in (
        "alexnet",
        "lpips-alex-heads",
        "mtcnn-pnet",
        "vggface2",
        "inception-fid",
        "yunet",
        "sface",
        *(["pose-detection"] if importlib.util.find_spec("mediapipe") else []),  # has no build for Python 3.13
    ):
        assert status[name].presence is Presence.CARRIED, f"{name}: {status[name].note}"
    assert status["osnet-ibn"].presence is Presence.MISSING
    assert "osnet_ibn_x1_0_imagenet.pth" in status["osnet-ibn"].note
    assert status["yolov3-spp"].note == "Run `evenhand weights get yolov3-spp --to DIR` and set EVENHAND_WEIGHTS=DIR."


def test_weights_that_are_missing_say_what_needs_them_and_what_to_do() -> None:
    with pytest.raises(WeightsError, match=r"re-identification by PCB needs the weights 'pcb' \(pcb_net_last.pth\)"):
        locate("pcb")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="alexnet"):
        weight_status("alexnett")


def test_get_fetches_checks_and_pins(tmp_path: Path, server: str) -> None:
    status = get_weight("magface", tmp_path, source=f"{server}/weights")
    assert status.presence is Presence.HERE
    assert status.sha256 == SHA256
    assert json.loads((tmp_path / "pins.json").read_text()) == {"magface": SHA256}
    assert {path.name for path in tmp_path.iterdir()} == {"magface_epoch_00025.pth", "pins.json"}


def test_a_pinned_file_that_changed_is_damaged_and_refused(tmp_path: Path, server: str) -> None:
    get_weight("magface", tmp_path, source=f"{server}/weights")
    (tmp_path / "magface_epoch_00025.pth").write_bytes(b"other weights")
    assert weight_status("magface", tmp_path).presence is Presence.DAMAGED
    with pytest.raises(WeightsError, match="was pinned at first use"):
        locate("magface", folder=tmp_path)


def test_a_damaged_file_is_replaced_and_what_was_there_is_kept_under_another_name(tmp_path: Path, server: str) -> None:
    get_weight("magface", tmp_path, source=f"{server}/weights")
    (tmp_path / "magface_epoch_00025.pth").write_bytes(b"other weights")
    assert "`evenhand weights get magface` replaces it" in weight_status("magface", tmp_path).note
    status = get_weight("magface", tmp_path, source=f"{server}/weights")
    assert status.presence is Presence.HERE
    assert (tmp_path / "magface_epoch_00025.pth").read_bytes() == CONTENT
    (kept,) = tmp_path.glob("magface_epoch_00025.pth.replaced-*")
    assert kept.read_bytes() == b"other weights"
    assert str(kept) in status.note
    assert weight_status("magface", tmp_path).presence is Presence.HERE


@pytest.mark.parametrize("fault", ["cut", "damaged", "dropped"])
def test_a_download_that_is_interrupted_or_damaged_is_tried_again(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.instruments.packages.PAUSE", 0.0)
    with serving(fault, 2) as (address, asked):
        assert get_weight("magface", tmp_path, source=address).sha256 == SHA256
        assert len(asked) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"magface_epoch_00025.pth", "pins.json"}


def test_a_download_that_stays_cut_off_is_an_error_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.instruments.packages.PAUSE", 0.0)
    with serving("cut", 9) as (address, asked), pytest.raises(WeightsError, match=r"\d+ of \d+ bytes came"):
        get_weight("magface", tmp_path, source=address)
    assert len(asked) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_file_address_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "here.bin").write_bytes(CONTENT)
    address = (tmp_path / "here.bin").as_uri()
    assert get_weight("magface", tmp_path / "weights", source=address).presence is Presence.HERE


@pytest.mark.parametrize("content", [b"<!doctype html><p>Sign in", b"PK\x03\x04 half a file", b"", b"plain text"])
def test_what_can_t_be_weights_is_never_pinned(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fetched.bin").write_bytes(content)
    with pytest.raises(WeightsError, match="Nothing was kept"):
        get_weight("magface", tmp_path / "weights", source=str(tmp_path / "fetched.bin"))
    assert list((tmp_path / "weights").iterdir()) == []


def test_the_table_of_weights_has_no_key_that_its_schema_does_not_know_and_no_name_twice() -> None:
    entries = packaged_table("evenhand.instruments", "weights.toml")["weights"]
    assert [entry["name"] for entry in entries] == list(WEIGHTS)
    for entry in entries:
        assert entry.keys() <= {field.name for field in fields(WeightFile)}
        for carrier in entry.get("carriers", ()):
            assert carrier.keys() <= {field.name for field in fields(Carrier)}


def test_a_file_that_is_not_the_published_one_is_not_kept(tmp_path: Path, server: str) -> None:
    with pytest.raises(WeightsError, match=r"the published file's 0cc3c7bd\. Nothing was kept"):
        get_weight("inception-imagenet", tmp_path, source=f"{server}/weights")
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_an_address_is_not_fetched_but_described(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"has no direct address.*Save it as .*pcb_net_last\.pth"):
        get_weight("pcb", tmp_path)


def test_an_address_that_does_not_answer_leaves_nothing_behind(tmp_path: Path, server: str) -> None:
    for source in (f"{server}/absent", "ftp://example.org/x", str(tmp_path / "absent.bin")):
        with pytest.raises(WeightsError):
            get_weight("magface", tmp_path / "weights", source=source)
    assert list((tmp_path / "weights").iterdir()) == []


def test_a_local_file_can_be_the_source_and_an_intact_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "here.bin").write_bytes(CONTENT)
    first = get_weight("magface", tmp_path / "weights", source=str(tmp_path / "here.bin"))
    assert get_weight("magface", tmp_path / "weights").sha256 == first.sha256


def test_the_folder_of_the_environment_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pcb_net_last.pth").write_bytes(CONTENT)
    monkeypatch.setenv("EVENHAND_WEIGHTS", str(tmp_path))
    located = locate("pcb")
    assert located.path == tmp_path / "pcb_net_last.pth"
    assert located.fingerprint == f"pcb@{SHA256[:16]}(unverified)"  # its authors publish no hash
    assert "unverified" in weight_status("pcb").note


def test_a_file_in_the_folder_comes_before_a_carrier_and_must_be_the_published_one(tmp_path: Path) -> None:
    (tmp_path / "alexnet-owt-7be5be79.pth").write_bytes(CONTENT)
    assert weight_status("alexnet", tmp_path).presence is Presence.DAMAGED


def test_a_named_file_may_have_any_hash_and_its_ending_says_how_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.weights"
    path.write_bytes(CONTENT)
    assert locate("yolov3-spp", given=path).kind is WeightKind.DARKNET
    with pytest.raises(WeightsError, match="can't be read"):
        locate("yolov3-spp", given=tmp_path / "absent.weights")


def test_a_folder_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="can't be written"):
        get_weight("magface", tmp_path / "file" / "weights", source=str(tmp_path / "file"))


def test_broken_pins_are_named(tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_text("[]")
    (tmp_path / "pcb_net_last.pth").write_bytes(CONTENT)
    with pytest.raises(WeightsError, match=r"pins\.json: is no list of pinned hashes"):
        weight_status("pcb", tmp_path)
