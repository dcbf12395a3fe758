"""From faces to templates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand.core.errors import PredictionError
from evenhand.search import enrol as enrolling
from evenhand.search.enrol import Membership, Pooling, enrol

RNG = np.random.default_rng(5)
FACES = RNG.normal(size=(9, 6)).astype(np.float32)
MIRRORED = RNG.normal(size=(9, 6)).astype(np.float32)
SCORES = RNG.uniform(0.5, 1.0, 9)
# Template 1 is not contiguous; faces 3 and 5 share a medium; face 2 is in two templates.
MEMBERS = Membership(
    np.array([0, 0, 1, 0, 1, 1, 2]), np.array([0, 1, 2, 2, 3, 5, 8]), np.array([10, 10, 11, 12, 13, 13, 14]), 3
)
EVERY = [
    Pooling(flip, norm, detector, media)  # type: ignore[arg-type]
    for flip, norm, detector, media in itertools.product(
        ("none", "sum", "concat"), ("keep", "unit"), ("on", "off"), ("mean", "mean_unit", "flat")
    )
]


def by_the_book(members: Membership, pooling: Pooling) -> np.ndarray:
    """Pooling as the definition reads: face by face, medium by medium."""
    out = []
    for template in range(members.templates):
        rows = np.flatnonzero(members.template == template)
        vectors = []
        for row in rows:
            face = members.face[row]
            vector = FACES[face].astype(np.float64)
            if pooling.flip == "sum":
                vector = vector + MIRRORED[face]
            elif pooling.flip == "concat":
                vector = np.concatenate([vector, MIRRORED[face]])
            if pooling.norm == "unit":
                vector = vector / np.linalg.norm(vector)
            vectors.append(vector * (SCORES[face] if pooling.detector == "on" else 1.0))
        if pooling.media == "flat":
            pooled = np.sum(vectors, axis=0)
        else:
            means = [
                np.mean([vectors[place] for place, row in enumerate(rows) if members.medium[row] == medium], axis=0)
                for medium in np.unique(members.medium[rows])
            ]
            if pooling.media == "mean_unit":
                means = [mean / np.linalg.norm(mean) for mean in means]
            pooled = np.sum(means, axis=0)
        out.append(pooled / np.linalg.norm(pooled))
    return np.array(out)


@pytest.mark.parametrize("pooling", EVERY, ids=[pooling.words for pooling in EVERY])
def test_the_sparse_product_pools_as_the_definition_reads(pooling: Pooling) -> None:
    made = enrol(FACES, MEMBERS, pooling, flipped=MIRRORED, detector_scores=SCORES)
    np.testing.assert_allclose(made.vectors, by_the_book(MEMBERS, pooling), atol=1e-6)
    assert made.enrolled.all()


def test_faces_without_embedding_are_skipped_and_counted() -> None:
    members = Membership(np.array([0, 0, 1]), np.array([0, -1, -1]), np.array([1, 2, 3]), 2)
    made = enrol(FACES, members, Pooling("none", "keep", "off", "mean"))
    assert made.enrolled.tolist() == [True, False]
    assert (made.skipped, made.failures) == (1, 1)


def test_a_pooled_vector_without_length_is_a_failure_to_enrol() -> None:
    faces = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    members = Membership(np.array([0, 0]), np.array([0, 1]), np.array([1, 2]), 1)
    assert not enrol(faces, members, Pooling("none", "keep", "off", "mean")).enrolled.any()


def test_half_and_double_precision_are_accepted() -> None:
    members = Membership(np.arange(9), np.arange(9), np.zeros(9, np.int64), 9)
    for dtype in (np.float16, np.float64):
        made = enrol(FACES.astype(dtype), members, Pooling("none", "unit", "off", "flat"))
        np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("pooling", "given", "mentions"),
    [
        (Pooling("sum", "keep", "off", "mean"), {}, "embeddings_flip"),
        (Pooling("none", "keep", "on", "mean"), {}, "detector=off"),
        (Pooling("sum", "keep", "off", "mean"), {"flipped": MIRRORED[:4]}, "must agree"),
        (Pooling("none", "keep", "on", "mean"), {"detector_scores": SCORES[:3]}, "must agree"),
    ],
)
def test_what_a_switch_needs_must_be_given(pooling: Pooling, given: dict[str, np.ndarray], mentions: str) -> None:
    with pytest.raises(PredictionError, match=mentions):
        enrol(FACES, MEMBERS, pooling, **given)


def test_an_embedding_that_is_not_finite_is_named() -> None:
    broken = FACES.copy()
    broken[3, 2] = np.nan
    with pytest.raises(PredictionError, match="row 3"):
        enrol(broken, MEMBERS, Pooling("none", "keep", "off", "mean"))


@pytest.mark.parametrize(
    "medium",
    [
        np.array([-100, 100, 5, 100], dtype=np.int8),
        np.array([-(2**31), 2**31 - 1, 5, 2**31 - 1], dtype=np.int32),
        np.array([0, 2**64 - 1, 5, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**62), 2**62, 5, 2**62]),
        np.array(["a", "b", "c", "b"]),
        np.array([0.5, 1.5, 1.0, 1.5]),
    ],
)
def test_media_may_have_any_numbers_or_names(medium: np.ndarray) -> None:
    faces = np.array([[3, 0], [0, 1], [0, 1], [1, 1]], dtype=np.float32)
    pooling = Pooling("none", "unit", "off", "mean_unit")
    plain = enrol(faces, Membership(np.array([0, 0, 1, 1]), np.arange(4), np.array([1, 3, 2, 3]), 2), pooling)
    other = enrol(faces, Membership(np.array([0, 0, 1, 1]), np.arange(4), medium, 2), pooling)
    assert np.array_equal(other.vectors, plain.vectors)


@pytest.mark.parametrize("pooling", [Pooling("none", "keep"), Pooling("sum", "unit"), Pooling("concat", "keep")])
def test_faces_in_the_order_of_their_templates_give_the_bits_of_the_sparse_product(
    pooling: Pooling, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    faces, mirrored = rng.normal(size=(2, 2500, 16)).astype(np.float32)
    template = np.sort(rng.integers(0, 40, 2500))  # about sixty each: some go on in the next part that is read
    members = Membership(template, np.arange(2500), np.arange(2500) // 3, 40)
    given = {"flipped": mirrored, "detector_scores": rng.random(2500)}
    as_read = enrol(faces, members, pooling, **given)
    monkeypatch.setattr(enrolling, "_FACES_WORTH_A_SUM", 10**9)
    np.testing.assert_array_equal(as_read.vectors, enrol(faces, members, pooling, **given).vectors)
