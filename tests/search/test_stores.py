"""Embeddings on disk give what embeddings in memory give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import DataError
from evenhand.engines import parse
from evenhand.search import one_to_many
from evenhand.search.enrol import Templates
from evenhand.search.one_to_many import search, search_scores, search_stores
from evenhand.search.stores import open_store


def unit(count: int, dimensions: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def sharded(folder: Path, vectors: np.ndarray, size: int, *, parquet: bool = False) -> Path:
    folder.mkdir()
    for number, start in enumerate(range(0, len(vectors), size)):
        part = vectors[start : start + size]
        if parquet:
            pl.DataFrame({"embedding": part.tolist()}, schema={"embedding": pl.List(pl.Float32)}).write_parquet(
                folder / f"shard-{number}.parquet"
            )
        else:
            np.save(folder / f"shard-{number}.npy", part)
    return folder


@pytest.mark.parametrize("parquet", [False, True])
def test_rows_are_numbered_through_all_shards(tmp_path: Path, parquet: bool):
    vectors = unit(130, 8, 1)
    store = open_store(sharded(tmp_path / "s", vectors, 11, parquet=parquet))  # shard-2 comes before shard-10
    assert (len(store), store.dimensions) == (130, 8)
    np.testing.assert_array_equal(store.rows(0, 130), vectors)
    np.testing.assert_array_equal(store.rows(9, 40), vectors[9:40])
    np.testing.assert_array_equal(store.rows(128, 500), vectors[128:])
    index = np.random.default_rng(2).permutation(130)
    np.testing.assert_array_equal(store.take(index), vectors[index])


@pytest.mark.parametrize("parquet", [False, True])
@pytest.mark.parametrize("engine", ["serial", "threads:2"])
def test_a_search_on_disk_finds_what_a_search_in_memory_finds(
    tmp_path: Path, engine: str, parquet: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(one_to_many, "_PROBES", 16)
    monkeypatch.setattr(one_to_many, "_TILE", 32)
    gallery, probes = unit(200, 8, 3), unit(90, 8, 4)
    rng = np.random.default_rng(5)
    who, people = rng.integers(0, 150, 90), rng.permutation(np.arange(200) // 2)  # two templates each, anywhere
    on_disk = search_stores(
        open_store(sharded(tmp_path / "p", probes, 40, parquet=parquet)),
        who,
        open_store(sharded(tmp_path / "g", gallery, 70, parquet=parquet)),
        people,
        engine=parse(engine),
        largest=20,
    )
    everyone = (np.ones(90, np.bool_), np.ones(200, np.bool_))
    in_memory = search(Templates(probes, everyone[0], 0), who, Templates(gallery, everyone[1], 0), people, largest=20)
    for name in ("mated", "above", "tied"):
        np.testing.assert_array_equal(getattr(on_disk, name), getattr(in_memory, name), err_msg=name)
    for name in ("mate", "top", "largest_others"):
        np.testing.assert_allclose(getattr(on_disk, name), getattr(in_memory, name), rtol=1e-5, err_msg=name)


def test_vectors_are_scaled_and_those_without_length_are_not_enrolled(tmp_path: Path):
    gallery = np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 5.0], [np.nan, 1.0]], dtype=np.float32)
    probes = np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)
    np.save(tmp_path / "g.npy", gallery)
    np.save(tmp_path / "p.npy", probes)
    found = search_stores(
        open_store(tmp_path / "p.npy"), np.array([1, 2]), open_store(tmp_path / "g.npy"), np.array([1, 2, 3, 4])
    )
    assert found.mated.tolist() == [True, True]
    np.testing.assert_allclose(found.mate, [0.6, -np.inf], rtol=1e-6)
    np.testing.assert_allclose(found.top, [0.8, -np.inf], rtol=1e-6)
    assert found.above.tolist() == [1, 0]


def test_fifty_thousand_on_disk_have_exact_ranks(tmp_path: Path):
    rng = np.random.default_rng(11)
    gallery, probes = unit(50_000, 16, 6), unit(2_000, 16, 7)
    people, who = rng.permutation(50_000), rng.integers(0, 60_000, 2_000)
    stores = [open_store(sharded(tmp_path / name, rows, 9_000)) for name, rows in (("p", probes), ("g", gallery))]
    found = search_stores(stores[0], who, stores[1], people, engine=parse("threads:2"))
    some = rng.choice(2_000, 60, replace=False)
    expected = search_scores(probes[some] @ gallery.T, who[some], people)
    np.testing.assert_array_equal(found.mated[some], expected.mated)
    np.testing.assert_allclose(found.mate[some], expected.mate, rtol=1e-5, atol=1e-6)
    assert np.abs(found.above[some] - expected.above).max() <= 1  # another shape of product, another last bit


def test_shards_of_two_networks_are_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", unit(3, 4, 1))
    np.save(tmp_path / "b.npy", unit(3, 5, 1))
    with pytest.raises(DataError, match=r"b\.npy has vectors of 5 numbers, but a\.npy has vectors of 4"):
        open_store(tmp_path)


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda folder: None, "has no embeddings"),
        (lambda folder: np.save(folder / "a.npy", np.arange(3)), "real numbers"),
        (lambda folder: (folder / "a.npy").write_bytes(b"nothing"), "does not begin like a NumPy array"),
        (lambda folder: (folder / "a.parquet").write_bytes(b"nothing"), "can't be read as Parquet"),
        (lambda folder: pl.DataFrame({"x": [1.0]}).write_parquet(folder / "a.parquet"), "no column 'embedding'"),
        (lambda folder: pl.DataFrame({"embedding": [1.0]}).write_parquet(folder / "a.parquet"), "lists of numbers"),
    ],
)
def test_a_store_that_is_none_says_why(tmp_path: Path, write, words: str):
    write(tmp_path)
    with pytest.raises(DataError, match=words):
        open_store(tmp_path)


def test_subjects_of_another_number_are_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", unit(3, 4, 1))
    store = open_store(tmp_path / "a.npy")
    with pytest.raises(DataError, match="3 embeddings and 2 subjects"):
        search_stores(store, np.arange(2), store, np.arange(3))
