"""Pictures that say that they are huge are refused by their header; the largest that are decoded fit into 1 GB."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.benchmarks.fhibe.face_segmentation import read_label_map
from evenhand.benchmarks.pairs.data import decoded
from evenhand.core.errors import DataError
from evenhand.files.inputs import MOST_PIXELS
from evenhand.instruments.errors import PictureError
from evenhand.instruments.pictures import Decoder, Loading, load
from evenhand.models.chat import UnreadableImageError, picture_url
from evenhand.models.settings import ChatSettings
from evenhand.serve.pictures import NoPictureError, thumbnail

READERS: dict[str, tuple[Callable[[Path], Any], type[Exception]]] = {
    "OpenCV": (lambda path: load(path, Loading("x", Decoder.OPENCV)), PictureError),
    "Pillow": (lambda path: load(path, Loading("x", Decoder.PILLOW)), PictureError),
    "mask": (read_label_map, DataError),
    "sent": (lambda path: picture_url(path, ChatSettings()), UnreadableImageError),
    "sent smaller": (lambda path: picture_url(path, ChatSettings(resize=512)), UnreadableImageError),
    "shown": (lambda path: thumbnail(path, 256), NoPictureError),
}


def png(width: int, height: int, *, colour: int = 2, whole: bool = False) -> bytes:
    """A black picture; unless `whole`, with its first line alone."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    line = bytes(1 + width * {0: 1, 2: 3, 6: 4}[colour])
    packer = zlib.compressobj(1)
    data = b"".join(packer.compress(line) for _ in range(height if whole else 1)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [13_300, 40_000])  # 177 million pixels, and more than Pillow opens
@pytest.mark.parametrize("reader", READERS)
def test_a_huge_picture_is_refused_by_its_header(reader: str, side: int, tmp_path: Path):
    (tmp_path / "huge.png").write_bytes(png(side, side))
    read, error = READERS[reader]
    with pytest.raises(error, match=r"EVENHAND_MOST_PIXELS|exceeds limit"):
        read(tmp_path / "huge.png")
    assert not decoded((tmp_path / "huge.png").read_bytes())


PEAK = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_pixels import READERS
try:
    READERS[sys.argv[1]][0](Path(sys.argv[2]))
except READERS[sys.argv[1]][1] as error:
    print(error, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("colour", [0, 2, 6])
@pytest.mark.parametrize("reader", READERS)
def test_the_largest_picture_that_is_decoded_fits_into_a_gigabyte(reader: str, colour: int, tmp_path: Path):
    side = int(MOST_PIXELS**0.5)
    (tmp_path / "large.png").write_bytes(png(side, side, colour=colour, whole=True))
    command = [sys.executable, "-c", PEAK, reader, tmp_path / "large.png", Path(__file__).parent]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) * 1024 < 1e9


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_or_a_device_is_no_picture_and_is_not_waited_for(reader: str, kind: str, tmp_path: Path):
    path = tmp_path / "picture.png"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    read, error = READERS[reader]
    with pytest.raises(error):
        read(path)
