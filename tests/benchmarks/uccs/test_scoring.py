"""Stores, enrolment, similarities and the two forms of score files."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenhand.benchmarks.uccs.data import GALLERY_COLUMNS, read_faces
from evenhand.benchmarks.uccs.scores import ScoredBlock, as_written, read_scores
from evenhand.benchmarks.uccs.scoring import (
    enrol,
    score,
    score_stores,
    unit_vectors,
    write_binary,
    write_text,
)
from evenhand.benchmarks.uccs.stores import (
    ProbeEmbeddings,
    StoreOrigin,
    load_arrays,
    read_gallery_embeddings,
    read_probes,
    save_npz,
    save_store,
)
from evenhand.compat.uccs.outcomes import as_plain
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.task import InputFact
from evenhand.files.inputs import hash_of

FACES = "FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"


def probe(name: str, rows: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "detection_scores": rng.random((rows, 1)).round(2),
        "bboxes": rng.uniform(0, 500, (rows, 4)).round(2),
        "embeddings": rng.normal(size=(rows, 6)).astype(np.float32),
    }


@pytest.fixture
def probes() -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(5)
    return {name: probe(name, rows, rng) for name, rows in (("b", 2), ("a", 3), ("c", 1))}


def listed(path: Path) -> list[tuple[list[str], list[float]]]:
    return [
        (name, row)
        for found in read_probes(path)
        for name, row in zip(found.names, found.embeddings.tolist(), strict=True)
    ]


@pytest.mark.parametrize("form", ["npz", "pth"])
def test_stores_of_every_form_hold_the_same(tmp_path: Path, probes, form: str) -> None:
    (tmp_path / "folder").mkdir()
    for name, arrays in probes.items():
        save_store(tmp_path / "folder", name, arrays, form)
    found = listed(tmp_path / "folder")
    assert [name for name, _ in found] == list("aaabbc")
    assert [row for _, row in found] == np.concatenate([probes[n]["embeddings"] for n in "abc"]).tolist()


def test_one_file_for_all_holds_the_same(tmp_path: Path, probes) -> None:
    flat = {f"{name}/{entry}": array for name, arrays in probes.items() for entry, array in arrays.items()}
    save_npz(tmp_path / "one.npz", flat)
    save_npz(
        tmp_path / "prefixed.npz", {f"probe/{name}": array for name, array in flat.items()} | {"gallery/1": np.eye(2)}
    )
    assert listed(tmp_path / "one.npz") == listed(tmp_path / "prefixed.npz")
    assert [name for name, _ in listed(tmp_path / "one.npz")] == list("aaabbc")


@pytest.mark.parametrize("order", ["bac", "abc"])
def test_rows_with_ids_hold_the_same_in_any_order(tmp_path: Path, probes, order: str) -> None:
    np.save(tmp_path / "rows.npy", np.concatenate([probes[n]["embeddings"] for n in order]))
    ids = {key: np.concatenate([probes[n][key] for n in order]) for key in ("detection_scores", "bboxes")}
    names = [f"{n}.jpg" for n in order for _ in probes[n]["bboxes"]]
    save_npz(tmp_path / "rows.ids.npz", ids | {"files": np.array(names)})
    expected = np.concatenate([probes[n]["embeddings"] for n in "abc"]).tolist()
    assert listed(tmp_path / "rows.npy") == list(zip("aaabbc", expected, strict=True))


def test_safetensors_are_read(tmp_path: Path, probes) -> None:
    numpy_form = pytest.importorskip("safetensors.numpy")
    (tmp_path / "folder").mkdir()
    for name, arrays in probes.items():
        numpy_form.save_file(arrays, tmp_path / "folder" / f"{name}.safetensors")
    assert [name for name, _ in listed(tmp_path / "folder")] == list("aaabbc")


def test_compressed_archives_are_read_too(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", embeddings=np.eye(3))
    assert load_arrays(tmp_path / "x.npz")[0]["embeddings"].tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bboxes": np.zeros((1, 4))}, "3 scores, 1 boxes, 3 embeddings"),
        ({"embeddings": np.full((3, 6), np.nan)}, "row 0 is not finite"),
        ({"embeddings": np.zeros(3)}, r"\(faces, dimensions\) are needed"),
        ({"embeddings": None}, "has no embeddings"),
        ({"bboxes": None}, "lacks bboxes"),
    ],
)
def test_stores_that_do_not_fit_together_are_refused(tmp_path: Path, probes, change, message: str) -> None:
    arrays = {name: array for name, array in (probes["a"] | change).items() if array is not None}
    save_store(tmp_path, "a", arrays)
    with pytest.raises(PredictionError, match=message):
        list(read_probes(tmp_path))


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"nonsense"])
def test_a_damaged_store_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(PredictionError, match=r"a\.npz"):
        list(read_probes(tmp_path))


def test_a_folder_without_stores_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match="Extract embeddings first"):
        list(read_probes(tmp_path))


def test_a_missing_subject_is_named_and_nothing_is_shifted(tmp_path: Path) -> None:
    save_store(tmp_path, "0001", {"embeddings": np.ones((10, 2), np.float32)})
    with pytest.raises(DataError, match=r"1 of 2 subjects in gallery\.csv: S_0004"):
        read_gallery_embeddings(tmp_path, (1, 4))


def test_templates_are_means_of_raw_vectors_so_long_ones_weigh_more() -> None:
    enrolment = enrol({3: np.array([[10.0, 0.0], [0.0, 1.0]], np.float32), 1: np.array([[1.0, 1.0]], np.float32)})
    assert enrolment.subjects == (1, 3)
    assert enrolment.templates.tolist() == [[1.0, 1.0], [5.0, 0.5]]
    assert enrolment.templates.dtype == np.float32


def test_a_zero_vector_scores_zero_everywhere() -> None:
    assert unit_vectors(np.zeros((1, 3))).tolist() == [[0.0, 0.0, 0.0]]


def test_vectors_of_another_network_are_refused() -> None:
    found = ProbeEmbeddings(["a"], np.ones(1), np.ones((1, 4)), np.ones((1, 3), np.float32))
    with pytest.raises(PredictionError, match="Were both extracted by the same network"):
        list(score([found], enrol({1: np.ones((1, 2), np.float32)})))


def test_two_galleries_in_one_process_do_not_mix() -> None:
    found = ProbeEmbeddings(["a"], np.ones(1), np.ones((1, 4)), np.array([[1.0, 0.0]], np.float32))
    first = next(score([found], enrol({1: np.array([[1.0, 0.0]], np.float32)}))).similarities
    second = next(score([found], enrol({1: np.array([[0.0, 1.0]], np.float32)}))).similarities
    assert (first.item(), second.item()) == (1.0, 0.0)


def test_numbers_are_written_as_python_writes_them(tmp_path: Path) -> None:
    values = [
        0.35412353,
        -0.04,
        1.2e-05,
        0.0001,
        -0.0001,
        9.9e-05,
        1e-7,
        -1.234e-5,
        0.0,
        1.0000001,
        1.5e-10,
        0.00010001,
    ]
    similar = np.array([values], dtype=np.float32)
    block = ScoredBlock(["e-5"], np.array([0.9]), np.array([[2584.95, 1.0, 0.00001, 1e16]]), similar)
    write_text(tmp_path / "s.txt", [block], range(1, len(values) + 1))
    line = (tmp_path / "s.txt").read_text().splitlines()[1].split(",")
    assert line[:6] == ["e-5", "0.9", "2584.95", "1.0", "1e-05", "1e+16"]
    assert line[6:] == [str(value) for value in similar[0]]


def test_single_precision_is_read_back_as_its_text_would_be() -> None:
    values = np.array([0.35412353, 1e-5, -0.1], dtype=np.float32)
    assert as_written(values).tolist() == [0.35412353, 1e-5, -0.1]


def watchlist(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A gallery of three, two probe images, and the truth."""
    rng = np.random.default_rng(3)
    lines = [",".join(GALLERY_COLUMNS)]
    for subject in (1, 2, 5):
        vectors = rng.normal(size=(4, 6)).astype(np.float32)
        (tmp_path / "gallery").mkdir(exist_ok=True)
        save_store(tmp_path / "gallery", f"{subject:04d}", {"embeddings": vectors})
        lines += [f"{subject:04d}_{k}.png,{subject}" + ",1" * 10 for k in range(4)]
    (tmp_path / "gallery.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "probes").mkdir(exist_ok=True)
    rows = [FACES]
    for number, name in enumerate("ab"):
        arrays = probe(name, 20, rng)
        save_store(tmp_path / "probes", name, arrays)
        for place, box in enumerate(arrays["bboxes"][:6].tolist()):
            subject = (1, 2, 5, -1)[place % 4]
            rows.append(f"{name}.jpg,{10 * number + place},{subject}," + ",".join(map(str, box)))
    (tmp_path / "validation.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "gallery", tmp_path / "probes", tmp_path / "validation.csv"


def test_text_binary_and_no_file_at_all_give_the_same_numbers(tmp_path: Path, detected, identified) -> None:
    gallery, probes, _ = watchlist(tmp_path)
    subjects = (1, 2, 5)
    text, binary, stores = tmp_path / "s.txt", tmp_path / "s.npy", tmp_path / "stores.toml"
    assert write_text(text, score_stores(gallery, probes, subjects)[1], subjects) == 40
    assert write_binary(binary, score_stores(gallery, probes, subjects)[1], subjects) == 40
    stores.write_text('gallery = "gallery"\nprobe = "probes"\n')
    plain = [as_plain(identified(path, tmp_path, ranks=(1, 2, 3))) for path in (text, binary, stores)]
    assert "does not say what made its gallery stores" in " ".join(plain[2].pop("warnings"))
    assert plain[0].pop("warnings") == plain[1].pop("warnings")
    assert plain[0] == plain[1] == plain[2]
    assert json.dumps(plain[0])
    assert as_plain(detected(text, tmp_path)) == as_plain(detected(binary, tmp_path))
    inputs = read_scores(binary, read_faces(tmp_path / "validation.csv")[0]).inputs
    assert {fact.path for fact in inputs} == {str(binary), str(tmp_path / "s.ids.npz")}


def test_a_binary_store_that_was_cut_or_does_not_fit_is_refused(tmp_path: Path) -> None:
    gallery, probes, table = watchlist(tmp_path)
    faces, _ = read_faces(table)
    path = tmp_path / "s.npy"
    write_binary(path, score_stores(gallery, probes, (1, 2, 5))[1], (1, 2, 5))
    assert np.load(path).shape == (40, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(PredictionError, match="its header promises 480 bytes, 473 are there"):
        read_scores(path, faces)
    np.save(path, np.zeros((40, 2), np.float32))
    with pytest.raises(PredictionError, match=r"an array \(40, 2\) of float32; s\.ids\.npz asks for \(40, 3\)"):
        read_scores(path, faces)
    values = np.zeros((40, 3), np.float32)
    values[6, 1] = np.inf
    np.save(path, values)
    with pytest.raises(PredictionError, match="row 7: a similarity is not finite"):
        read_scores(path, faces)


def test_a_score_file_that_was_not_finished_does_not_appear(tmp_path: Path) -> None:
    def broken():
        yield ScoredBlock(["a"], np.ones(1), np.ones((1, 4)), np.ones((1, 1), np.float32))
        raise PredictionError("the next store is damaged")

    for write in (write_text, write_binary):
        with pytest.raises(PredictionError):
            write(tmp_path / "s.npy", broken(), [1])
        assert list(tmp_path.iterdir()) == []


STOPPED = """
import os, sys
from pathlib import Path
import numpy as np
from evenhand.benchmarks.uccs.scoring import ScoredBlock, write_binary

path, name, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def stop(event, arguments):
    global steps
    if event in ("os.rename", "os.remove"):
        steps -= 1
        if not steps:
            os._exit(9)

sys.addaudithook(stop)
value = float(name == "new")
block = ScoredBlock([name] * 2, np.full(2, value), np.zeros((2, 4)), np.full((2, 3), value, np.float32))
write_binary(path, [block], (1, 2, 5))
"""


def test_a_binary_store_is_never_half_of_one_and_half_of_another(tmp_path: Path) -> None:
    faces, _ = read_faces(watchlist(tmp_path)[2])
    for step in range(1, 5):  # of those that give or take a name; the last is not reached
        path = tmp_path / f"{step}.npy"
        line = [sys.executable, "-c", STOPPED, str(path)]
        subprocess.run([*line, "old", "0"], check=True)
        subprocess.run([*line, "new", str(step)], check=False)
        if not (tmp_path / f"{step}.ids.npz").exists():
            with pytest.raises(PredictionError, match=r"ids\.npz does not exist"):
                read_scores(path, faces)
            continue
        named = load_arrays(tmp_path / f"{step}.ids.npz")[0]["detection_scores"][0]
        assert np.load(path).tolist() == [[named] * 3] * 2
    assert named == 1


def test_stores_in_one_file_have_an_origin_too(tmp_path: Path, identified) -> None:
    folder, _, _ = watchlist(tmp_path)
    gallery, probes, stores = tmp_path / "gallery.npz", tmp_path / "probes.npy", tmp_path / "stores.toml"
    every = {f"{path.stem}/embeddings": load_arrays(path)[0]["embeddings"] for path in sorted(folder.iterdir())}
    save_npz(gallery, every)
    np.save(probes, np.ones((3, 6), np.float32))
    ids = {"files": np.array(["a", "a", "b"]), "detection_scores": np.ones(3), "bboxes": np.ones((3, 4))}
    save_npz(tmp_path / "probes.ids.npz", ids)
    table = hash_of(tmp_path / "gallery.csv")
    found = hash_of(tmp_path / "validation.csv")
    stores.write_text('gallery = "gallery.npz"\nprobe = "probes.npy"\n')

    def write(name: str, source: InputFact, stores: int, network: str = "net|1") -> None:
        origin = StoreOrigin(network, "as stored", source.path, source.hash, "npz", stores)
        (tmp_path / f"{name}.origin.json").write_bytes(msgspec.json.encode(origin))

    write("gallery", table, 3)
    write("probes", found, 2)
    assert not any("stores" in warning for warning in identified(stores, tmp_path).run.results.warnings)
    for name, source, count, network, message in (
        ("probes", found, 2, "net|2", r"differ in the network \(net\|2, not net\|1\)"),
        ("probes", found, 3, "net|1", "has 2 probe stores, but 3 were made"),
        ("gallery", found, 3, "net|1", r"made from another gallery\.csv"),
    ):
        write(name, source, count, network)
        with pytest.raises(PredictionError, match=message):
            identified(stores, tmp_path)
        write("gallery", table, 3)
        write("probes", found, 2)
    for name, source in (("gallery", table), ("probes", found)):  # as written before hashes were BLAKE3
        path = tmp_path / f"{name}.origin.json"
        told = msgspec.json.decode(path.read_bytes())
        del told["source_hash"]
        told["source_sha256"] = hashlib.sha256(Path(source.path).read_bytes()).hexdigest()
        path.write_bytes(msgspec.json.encode(told))
    assert not any("stores" in warning for warning in identified(stores, tmp_path).run.results.warnings)
    write("probes", replace(found, hash="0" * 64), 2)
    assert "was changed after" in " ".join(identified(stores, tmp_path).run.results.warnings)


def test_a_folder_whose_name_looks_like_a_file_is_a_folder(tmp_path: Path, probes) -> None:
    folder = tmp_path / "probes.npy"
    folder.mkdir()
    for name, arrays in probes.items():
        save_store(folder, name, arrays)
    assert [name for name, _ in listed(folder)] == list("aaabbc")


def binary_store(folder: Path, **entries: np.ndarray) -> Path:
    block = ScoredBlock(["a", "b"], np.array([0.9, 0.8]), np.zeros((2, 4)), np.eye(2, dtype=np.float32))
    write_binary(folder / "s.npy", [block], (7, 9))
    with np.load(folder / "s.ids.npz") as stored:
        np.savez(folder / "s.ids.npz", **{**stored, **entries})
    return folder / "s.npy"


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("subjects", np.array([7, 7]), "two columns of .* name the same subject"),
        ("subjects", np.array(["S_0007", "S_0009"]), "as whole numbers"),
        ("subjects", np.zeros(0, np.int64), "as whole numbers"),
        ("bboxes", np.zeros((4, 2)), r"bboxes are \(4, 2\)"),
    ],
)
def test_a_binary_store_whose_ids_are_in_another_form_is_refused(
    data: Path, tmp_path: Path, entry: str, value: np.ndarray, message: str
) -> None:
    faces, _ = read_faces(data / "validation.csv")
    with pytest.raises(PredictionError, match=message):
        read_scores(binary_store(tmp_path, **{entry: value}), faces)


def test_one_probe_of_another_length_among_many_is_named() -> None:
    enrolment = enrol({7: np.ones((1, 6))})
    probes = [
        ProbeEmbeddings([name], np.ones(1), np.zeros((1, 4)), np.ones((1, width)))
        for name, width in (("a", 6), ("b", 5))
    ]
    with pytest.raises(PredictionError, match="embeddings of b have 5 values"):
        list(score(probes, enrolment))


def test_gallery_rows_of_other_subjects_are_pointed_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    vectors = (np.repeat(rng.normal(size=(6, 16)), 4, axis=0) + 0.1 * rng.normal(size=(24, 16))).astype(np.float32)
    for name, order in (("right", np.arange(24)), ("other", rng.permutation(24))):
        for subject in range(6):
            (tmp_path / name).mkdir(exist_ok=True)
            save_store(
                tmp_path / name, f"{subject + 1:04d}", {"embeddings": vectors[order][4 * subject : 4 * subject + 4]}
            )
    notes = {
        name: " ".join(score_stores(tmp_path / name, tmp_path / "nobody", tuple(range(1, 7)))[2])
        for name in ("right", "other")
    }
    assert "another order" not in notes["right"]
    assert "another order" in notes["other"]
