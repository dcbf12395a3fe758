"""Files as they are read: what is no file, and what no reader foresaw, in words."""

import hashlib
import os
from functools import partial
from pathlib import Path

import pytest

from evenhand.core.errors import DataError, PredictionError
from evenhand.files import inputs
from evenhand.files.inputs import parse_toml


def test_a_pipe_or_device_where_a_file_is_expected_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "labels.csv")
    for path in (tmp_path / "labels.csv", Path("/dev/zero")):
        with pytest.raises(DataError, match="is a pipe or a device"):
            inputs.read(path)


def test_what_a_shell_hands_over_as_a_file_is_read(tmp_path: Path):
    reading, writing = os.pipe()
    os.write(writing, b"a,b\n")
    os.close(writing)
    assert inputs.read(Path(f"/dev/fd/{reading}")).data == b"a,b\n"
    os.close(reading)


def test_a_content_has_its_blake3_and_marked_as_such_its_sha256(tmp_path: Path):
    path = tmp_path / "labels.csv"
    path.write_bytes(b"a,b\n" * 600_000)  # more than is read at once
    source, sha256 = inputs.read(path), hashlib.sha256(path.read_bytes()).hexdigest()
    assert inputs.hash_of(path) == source.fact
    for has_hash in (source.has_hash, partial(inputs.has_hash, path)):
        assert has_hash(source.fact.hash)
        assert has_hash(f"sha256:{sha256}")
        others = ("", "sha256:", sha256, f"blake3:{source.fact.hash}", f"sha256:{source.fact.hash}")
        assert not any(map(has_hash, others))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("shape"), "KeyError: 'shape'"),
        (MemoryError(), "more memory than there is"),
        (RecursionError("maximum"), "nested too deeply"),
        (OverflowError("int too large\nto convert"), "int too large to convert"),
    ],
)
def test_what_no_reader_foresaw_is_damage_of_the_file(error: Exception, words: str, monkeypatch: pytest.MonkeyPatch):
    with (
        pytest.raises(PredictionError, match=rf"a\.csv can't be read as predictions \(.*{words}"),
        inputs.damage_in_words(Path("a.csv"), PredictionError, "predictions"),
    ):
        raise error
    monkeypatch.setenv("EVENHAND_TRACEBACK", "1")
    with pytest.raises(type(error)), inputs.damage_in_words(Path("a.csv"), PredictionError, "predictions"):
        raise error


def test_errors_of_ours_pass_as_they_are():
    with pytest.raises(DataError, match=r"^line 3$"), inputs.damage_in_words(Path("a.csv"), PredictionError, "x"):
        raise DataError("line 3")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 10_000,
        "x = " + "9" * 5000,
        "a" + ".a" * 20_000 + " = 1",
        "[" + "a." * 500 + "a]",
        "x" * 2_000_000,
        "x = " + "a" * 500_000,
    ],
    ids=["depth", "digits", "key", "header", "length", "word"],
)
def test_toml_that_would_take_for_ever_is_refused_in_words(text: str):
    with pytest.raises(DataError, match=r"gate\.toml is not TOML: .*\. Write"):
        parse_toml(text, "gate.toml", advice="Write [[require]].")
    assert parse_toml('a.b = "x.y.z"\nlist = [0.1, 0.2]', "x") == {"a": {"b": "x.y.z"}, "list": [0.1, 0.2]}
