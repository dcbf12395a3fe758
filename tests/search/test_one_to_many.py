"""Probes searched in a gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.core.blas import OneThread
from evenhand.search import one_to_many
from evenhand.search.enrol import Templates
from evenhand.search.one_to_many import Searched, search, search_scores


def whole_numbers(count: int, dimensions: int, seed: int) -> Templates:
    """Small whole numbers: products are exact, and tie often."""
    vectors = np.random.default_rng(seed).integers(-2, 3, (count, dimensions)).astype(np.float32)
    return Templates(vectors, np.random.default_rng(seed + 1).random(count) < 0.9, 0)


def assert_same(found: Searched, expected: Searched) -> None:
    for name in ("mated", "mate", "above", "tied", "top"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def matrix(probes: Templates, gallery: Templates) -> np.ndarray:
    scores = (probes.vectors @ gallery.vectors.T).astype(np.float64)
    scores[~probes.enrolled] = -np.inf
    scores[:, ~gallery.enrolled] = -np.inf
    return scores


@pytest.mark.parametrize(("block", "tile", "waiting"), [(1024, 4096, 100), (5, 3, 100), (7, 4, 0), (1, 1, 3)])
def test_blocks_of_any_size_find_what_the_whole_matrix_shows(
    block: int, tile: int, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_to_many, "_PROBES", block)
    monkeypatch.setattr(one_to_many, "_TILE", tile)
    monkeypatch.setattr(one_to_many, "_MOST_NEAR", waiting)
    probes, gallery = whole_numbers(60, 6, 1), whole_numbers(40, 6, 3)
    rng = np.random.default_rng(9)
    probe_subject, gallery_subject = rng.integers(0, 40, 60), rng.integers(0, 25, 40)  # several templates per person
    scores = matrix(probes, gallery)
    expected = search_scores(scores, probe_subject, gallery_subject, largest=30)
    found = search(probes, probe_subject, gallery, gallery_subject, largest=30)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.largest_others, expected.largest_others)


def test_a_mate_that_failed_to_enrol_leaves_the_search_mated_but_unranked() -> None:
    gallery = Templates(np.eye(2, dtype=np.float32), np.array([False, True]), 0)
    probes = Templates(np.eye(2, dtype=np.float32)[:1], np.array([True]), 0)
    found = search(probes, np.array([1]), gallery, np.array([1, 2]))
    assert found.mated.tolist() == [True]
    assert found.mate.tolist() == [-np.inf]
    assert found.top.tolist() == [0.0]


def test_nobody_enrolled_is_no_error() -> None:
    nothing = Templates(np.zeros((2, 3), np.float32), np.zeros(2, np.bool_), 0)
    found = search(nothing, np.array([1, 2]), nothing, np.array([1, 5]))
    assert found.mated.tolist() == [True, False]
    assert found.top.tolist() == [-np.inf, -np.inf]


def test_the_best_of_several_templates_of_a_person_is_the_mate() -> None:
    scores = np.array([[0.2, 0.9, 0.5]])
    found = search_scores(scores, np.array([7]), np.array([7, 7, 8]))
    assert (found.mate[0], found.above[0], found.top[0]) == (0.9, 0, 0.5)


def test_two_thousand_probes_in_fifty_thousand_templates_have_exact_ranks() -> None:
    rng = np.random.default_rng(11)
    gallery = Templates(rng.integers(-3, 4, (50_000, 16)).astype(np.float32), np.ones(50_000, np.bool_), 0)
    subject = rng.integers(0, 60_000, 2_000)
    vectors = rng.integers(-3, 4, (2_000, 16)).astype(np.float32)
    probes = Templates(vectors, np.ones(2_000, np.bool_), 0)
    found = search(probes, subject, gallery, np.arange(50_000))
    some = rng.choice(2_000, 60, replace=False)
    expected = search_scores((vectors[some] @ gallery.vectors.T).astype(np.float64), subject[some], np.arange(50_000))
    for name in ("mated", "mate", "above", "tied", "top"):
        np.testing.assert_array_equal(getattr(found, name)[some], getattr(expected, name), err_msg=name)


def test_every_product_is_formed_once_wherever_the_mates_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_to_many, "_TILE", 16)
    monkeypatch.setattr(one_to_many, "_PROBES", 32)
    rng = np.random.default_rng(4)
    gallery = rng.normal(size=(320, 8)).astype(np.float32)
    gallery /= np.linalg.norm(gallery, axis=1, keepdims=True)
    person = rng.permutation(np.arange(320) // 2)  # two templates each, anywhere
    probes = Templates(gallery[:64], np.ones(64, dtype=np.bool_), 0)
    formed: list[int] = []
    multiply = np.matmul

    def counted(a: Any, b: Any, out: Any = None) -> Any:
        formed.append(b.shape[1])
        return multiply(a, b, out=out)

    monkeypatch.setattr(np, "matmul", counted)
    found = search(probes, person[:64], Templates(gallery, np.ones(320, dtype=np.bool_), 0), person)
    assert len(formed) == 2 * 20
    assert found.mate.tolist() == pytest.approx([1.0] * 64, abs=1e-6)


def test_embeddings_that_are_all_alike_tie_with_every_mate() -> None:
    alike = np.full((9_000, 16), 0.25, dtype=np.float32)
    every = Templates(alike, np.ones(len(alike), np.bool_), 0)
    probes = Templates(alike[:40], np.ones(40, np.bool_), 0)
    found = search(probes, np.arange(40) * 200, every, np.arange(9_000))
    assert found.above.tolist() == [0] * 40
    assert found.tied.tolist() == [8_999] * 40


def test_scores_that_differ_from_the_mates_by_one_bit_are_no_ties() -> None:
    rng = np.random.default_rng(5)
    last_bits = rng.integers(0, 50, 9_000) * 2.0**-24
    gallery = Templates(np.stack([np.full(9_000, 0.5), last_bits], 1).astype(np.float32), np.ones(9_000, np.bool_), 0)
    probes = Templates(np.ones((30, 2), np.float32), np.ones(30, np.bool_), 0)
    subject = (np.arange(30) * 7_919) % 9_000
    found = search(probes, subject, gallery, np.arange(9_000))
    assert_same(found, search_scores(matrix(probes, gallery), subject, np.arange(9_000)))
    assert len(np.unique(found.above)) > 10
    assert found.tied.min() > 100


def test_vectors_of_any_length_have_exact_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_to_many, "_TILE", 16)
    rng = np.random.default_rng(3)
    direction = rng.standard_normal(32)
    vectors = (30 * direction + 1e-4 * rng.standard_normal((200, 32))).astype(np.float32)
    every = Templates(vectors, np.ones(200, np.bool_), 0)
    subject = rng.permutation(200)
    found = search(every, subject, every, np.arange(200))
    assert found.above.max() > 150  # by the last digits of a product alone
    scores = np.empty((200, 200), dtype=np.float32)
    order = np.argsort(subject)
    with OneThread().held():
        for start in range(0, 200, 16):
            scores[order, start : start + 16] = np.matmul(vectors[order], vectors[start : start + 16].T)
    assert_same(found, search_scores(scores, subject, np.arange(200)))
