"""Real weights on a real photograph: detectors find the face, embeddings tell it from others, a person has a pose."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from filled import fill_network, filled_tensors
from PIL import Image
from skimage import data

from evenhand.core.errors import DataError, OptionError, UnknownNameError
from evenhand.instruments.architectures import ReadyNetwork, build_network
from evenhand.instruments.bodies import PersonMask, PoseReader
from evenhand.instruments.checkpoints import load_into, shapes_of
from evenhand.instruments.comparers import dists_comparer, lpips_comparer
from evenhand.instruments.detectors import face_detector, mtcnn_detector
from evenhand.instruments.embedders import face_embedder, face_similarity
from evenhand.instruments.faces import Face
from evenhand.instruments.networks.iresnet import Ir, IResNet
from evenhand.instruments.networks.mtcnn import CascadeSettings, Mtcnn, largest_first, suppress
from evenhand.instruments.people import Scaling
from evenhand.instruments.pictures import HIS_EVALUATORS, Loading
from evenhand.instruments.readers import face_reader, inception_reader, person_detector, person_reader

EYES_NOSE_MOUTH = np.array([[203, 102], [247, 103], [222, 126], [200, 141], [243, 143]])  # of the astronaut, by eye


@cache
def astronaut() -> np.ndarray:
    return np.asarray(data.astronaut())


@cache
def altered() -> dict[str, np.ndarray]:
    picture = astronaut()
    return {
        "mirrored": np.ascontiguousarray(picture[:, ::-1]),
        "darker": (picture * 0.6).astype(np.uint8),
        "blurred": cv2.GaussianBlur(picture, (0, 0), 1.5),
        "smaller": cv2.resize(picture, (300, 300), interpolation=cv2.INTER_AREA),
    }


@cache
def located() -> list[tuple[np.ndarray, Face]]:
    """The photograph and its altered copies, each with its face."""
    detector = face_detector("mtcnn")
    return [(picture, detector.faces(picture)[0]) for picture in (astronaut(), *altered().values())]


def overlap(first: Face, second: Face) -> float:
    corner, opposite = np.maximum(first.box[:2], second.box[:2]), np.minimum(first.box[2:], second.box[2:])
    shared = float(np.maximum(opposite - corner, 0).prod())
    return shared / (first.area + second.area - shared)


@pytest.mark.parametrize("name", ["mtcnn", "yunet"])
def test_the_one_face_is_found_with_its_landmarks(name: str) -> None:
    (face,) = face_detector(name).faces(astronaut())
    assert face.score > 0.9
    assert face.landmarks is not None
    assert np.abs(face.landmarks - EYES_NOSE_MOUTH).max() < 8
    assert overlap(face, Face((180.0, 62.0, 268.0, 174.0), 1.0)) > 0.8


def test_dlib_finds_the_same_face_without_landmarks() -> None:
    (face,) = face_detector("dlib").faces(astronaut())
    assert overlap(face, Face((180.0, 62.0, 268.0, 174.0), 1.0)) > 0.6
    with pytest.raises(DataError, match="aligns faces by five landmarks"):
        face_embedder("sface").embed(astronaut(), [face])


@pytest.mark.parametrize("name", ["mtcnn", "yunet"])
def test_a_picture_without_a_face_gives_none(name: str) -> None:
    assert face_detector(name).faces(np.asarray(data.chelsea())[:, :200] // 4 * 0 + 90) == ()
    assert face_detector(name).faces(np.zeros((9, 200, 3), np.uint8)) == ()


@pytest.mark.parametrize(("name", "apart", "size"), [("vggface2", 0.5, 160), ("sface", 0.36, 112), ("dlib", 0.93, 150)])
def test_an_embedding_tells_altered_copies_of_a_face_from_other_faces(name: str, apart: float, size: int) -> None:
    embedder = face_embedder(name)

    def unit(vectors: np.ndarray) -> np.ndarray:
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    same = unit(np.concatenate([embedder.embed(picture, [face]) for picture, face in located()]))
    patches = (data.lfw_subset()[:6] * 255).astype(np.uint8)  # faces of other people
    crops = [cv2.resize(np.repeat(patch[:, :, None], 3, axis=2), (size, size)) for patch in patches]
    others = unit(embedder.embed_crops(crops))
    assert same.shape[1] == embedder.dimensions
    assert (same[0] @ same[1:].T).min() > apart > (same[0] @ others.T).max()


def test_no_faces_give_no_rows() -> None:
    assert face_embedder("sface").embed(astronaut(), []).shape == (0, 128)
    with pytest.raises(UnknownNameError, match="sface"):
        face_embedder("sfase")
    with pytest.raises(UnknownNameError, match="yunet"):
        face_detector("younet")


def test_the_watchlist_challenge_s_low_thresholds_give_more_boxes_in_order_of_probability() -> None:
    faces = mtcnn_detector(least_face=40, thresholds=(0.2, 0.2, 0.2)).faces(astronaut())
    assert len(faces) > 1
    assert [face.score for face in faces] == sorted((face.score for face in faces), reverse=True)


def test_boxes_at_the_edge_of_the_picture_do_not_stop_the_cascade() -> None:
    cut = np.ascontiguousarray(astronaut()[95:, 215:])  # half a face in the corner
    for face in mtcnn_detector(thresholds=(0.1, 0.1, 0.1)).faces(cut):
        assert np.isfinite(face.box).all()


def test_a_filled_cascade_finds_nothing_and_says_so() -> None:
    network = fill_network("mtcnn").network
    assert isinstance(network, Mtcnn)
    assert network.faces(np.zeros((64, 64, 3), np.uint8), CascadeSettings(thresholds=(1.1, 1.1, 1.1))) == ()


def test_the_largest_face_comes_first() -> None:
    small, large = Face((0.0, 0.0, 10.0, 10.0), 0.99), Face((0.0, 0.0, 20.0, 20.0), 0.8)
    assert largest_first((small, large)) == (large, small)
    assert largest_first(()) == ()


def test_a_contained_box_goes_when_the_smaller_one_counts() -> None:
    boxes = np.array([[0, 0, 100, 100], [40, 40, 60, 60]], np.float32)
    scores = np.array([0.9, 0.8], np.float32)
    assert suppress(boxes, scores, 0.7).tolist() == [0, 1]
    assert suppress(boxes, scores, 0.7, by_smaller=True).tolist() == [0]
    assert suppress(boxes[:0], scores[:0], 0.7).tolist() == []
    apart = np.array([[0, 0, 9, 9], [50, 0, 59, 9], [90, 0, 99, 9]], np.float32)
    equal = np.array([0.9, 1.0, 1.0], np.float32)
    assert suppress(apart, equal, 0.7).tolist() == [1, 2, 0]
    assert suppress(apart, equal, 0.7, by_smaller=True).tolist() == [2, 1, 0]  # as the published last stage has it


@pytest.mark.parametrize("by_smaller", [False, True])
def test_suppression_is_that_of_comparing_all_boxes(by_smaller: bool) -> None:
    rng = np.random.default_rng(5)
    corner = rng.uniform(0, 300, (400, 2)).round()
    boxes = np.concatenate([corner, corner + rng.uniform(5, 80, (400, 2)).round()], axis=1).astype(np.float32)
    scores = rng.random(400).round(2).astype(np.float32)
    one = np.float32(by_smaller)
    areas = (boxes[:, 2] - boxes[:, 0] + one) * (boxes[:, 3] - boxes[:, 1] + one)

    def shares(first: int, second: int) -> float:
        wide, high = (
            max(
                0,
                min(boxes[first, side + 2], boxes[second, side + 2])
                - max(boxes[first, side], boxes[second, side])
                + one,
            )
            for side in (0, 1)
        )
        smaller, both = min(areas[first], areas[second]), areas[first] + areas[second] - wide * high
        return float(wide * high / (smaller if by_smaller else both))

    kept: list[int] = []
    order = np.argsort(scores, kind="stable")[::-1] if by_smaller else np.argsort(-scores, kind="stable")
    for index in order.tolist():
        if all(shares(index, other) <= 0.3 for other in kept):
            kept.append(index)
    assert suppress(boxes, scores, 0.3, by_smaller=by_smaller).tolist() == kept


def test_a_person_has_a_mask_and_a_pose(capfd: pytest.CaptureFixture[str]) -> None:
    mask = PersonMask().mask(astronaut())
    assert mask.shape == (512, 512)
    assert mask[100, 225] > 0.9  # the face
    assert mask[60, 330] < 0.1  # the wall
    pose = PoseReader().pose(astronaut())
    assert pose is not None
    assert pose.score > 0.9
    nose, left_eye, right_eye = pose.coco[:3]
    assert np.abs(nose - EYES_NOSE_MOUTH[2]).max() < 20
    assert right_eye[0] < nose[0] < left_eye[0] + 10
    assert pose.coco.shape == (17, 2)
    assert PoseReader(least_score=0.9).pose(np.full((200, 100, 3), 127, np.uint8)) is None
    assert "delegate" not in capfd.readouterr().err


def saved(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path)
    return path


def test_lpips_is_small_for_small_changes_and_zero_for_none(tmp_path: Path) -> None:
    first = saved(tmp_path / "a.png", astronaut())
    changed = [saved(tmp_path / f"{name}.png", altered()[name]) for name in ("darker", "mirrored")]
    for backbone in ("alex", "vgg"):
        comparer = lpips_comparer(backbone, loading=HIS_EVALUATORS.at(128, 128))
        same, darker, mirrored = comparer.compare([first] * 3, [first, *changed])
        assert same == 0.0
        assert 0.0 < darker < mirrored < 1.0
        assert comparer.compare(changed[:1], [first])[0] == pytest.approx(darker, abs=1e-6)


PUBLISHED_LPIPS = {  # the lpips package, 0.1.4, on the pictures below
    "alex": (0.1328919232, 0.1392665803),
    "vgg": (0.3510837555, 0.3391641974),
}


@pytest.mark.parametrize("backbone", list(PUBLISHED_LPIPS))
def test_lpips_is_that_of_its_authors_package(backbone: str) -> None:
    source = torch.Generator().manual_seed(0)
    first, second = (torch.rand(2, 3, 96, 80, generator=source) * 2 - 1 for _ in range(2))
    with torch.inference_mode():
        found = build_network(f"lpips-{backbone}").network(first, second)
    assert found.tolist() == pytest.approx(PUBLISHED_LPIPS[backbone], abs=1e-6)


def test_pairs_that_lpips_can_not_compare_are_named(tmp_path: Path) -> None:
    small, tiny, other = (
        saved(tmp_path / f"{side}.png", np.full((side, side, 3), 90, np.uint8)) for side in (40, 20, 44)
    )
    comparer = lpips_comparer("alex", loading=Loading("own", HIS_EVALUATORS.decoder))
    readings = comparer.comparisons([small, small, tiny], [small, other, tiny])
    assert readings.positions.tolist() == [0]
    assert "40 × 40 against 44 × 44" in readings.problems[0].reason
    assert "at least 32 × 32" in readings.problems[1].reason


def test_the_face_reader_reads_the_face_or_the_whole_picture(tmp_path: Path) -> None:
    paths = [
        saved(tmp_path / "face.png", astronaut()),
        saved(tmp_path / "cat.png", np.asarray(data.chelsea())[:, 300:]),
    ]
    reader = face_reader(image_size=256, cache=tmp_path / "cache")
    assert reader.found(paths).tolist() == [True, False]
    vectors = reader.read(paths)
    assert vectors.shape == (2, 512)
    assert np.isfinite(vectors).all()
    assert reader.fingerprint.startswith("face|mtcnn-pnet@")


def test_the_fid_reader_resizes_by_corners_as_the_2015_graph_does(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", cv2.resize(astronaut(), (150, 120)))
    ready = build_network("inception-fid")
    reader = inception_reader("fid", ready=ready)
    features = reader.read([path])
    pixels = np.asarray(Image.open(path)).astype(np.float64)

    def taps(length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = np.arange(299) * (length / 299)
        low = np.floor(place).astype(int)
        return low, np.minimum(low + 1, length - 1), place - low

    y0, y1, fy = taps(120)
    x0, x1, fx = taps(150)
    rows = pixels[y0] * (1 - fy)[:, None, None] + pixels[y1] * fy[:, None, None]
    small = rows[:, x0] * (1 - fx)[None, :, None] + rows[:, x1] * fx[None, :, None]
    with torch.inference_mode():
        expected = ready.network(
            torch.from_numpy(((small - 128) / 128).astype(np.float32)).permute(2, 0, 1)[None]
        ).numpy()
    assert features.shape == (1, 2048)
    assert np.abs(features - expected).max() < 1e-3 * np.abs(expected).max()


def small_network(network: torch.nn.Module) -> ReadyNetwork:
    load_into(network, filled_tensors(shapes_of(network), 1.0), "a small network")
    return ReadyNetwork(network, "filled", "cpu")


def test_aligned_faces_reach_magface_and_curricularface_in_their_own_order_and_range() -> None:
    (face,) = face_detector("yunet").faces(astronaut())
    seen = []
    for name, network in (("magface", IResNet((1, 1, 1, 1))), ("curricularface", Ir((1, 1, 1, 1)))):
        first = network.conv1 if isinstance(network, IResNet) else network.input_layer[0]
        first.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].clone()))
        embedder = face_embedder(name, ready=small_network(network))
        assert embedder.embed(astronaut(), [face, face]).shape == (2, 512)
    blue_first, signed = seen
    assert (blue_first.min() >= 0, blue_first.max() <= 1) == (True, True)
    assert signed.min() < -0.5
    assert torch.allclose(blue_first.flip(1) * 2 - 1, signed, atol=1e-6)


def test_a_pair_without_a_face_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    face = saved(tmp_path / "face.png", astronaut())
    darker = saved(tmp_path / "darker.png", altered()["darker"])
    empty = saved(tmp_path / "empty.png", np.full((120, 120, 3), 90, np.uint8))
    similarity = face_similarity(face_detector("yunet"), face_embedder("sface"))
    readings = similarity.comparisons([face, face, darker], [darker, empty, face])
    assert readings.positions.tolist() == [0, 2]
    assert readings.values.min() > 0.8
    assert "no face was found" in readings.problems[0].reason


class OnePerson(torch.nn.Module):
    """A detector that sees one person in the upper left of every picture."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        rows = torch.zeros(len(pictures), 2, 85)
        rows[:, 0, :6] = torch.tensor([20.0, 24.0, 20.0, 32.0, 0.95, 0.9])
        return rows


class CountingPerson(OnePerson):
    """Sees the person in bright pictures only, and counts the pictures it is shown."""

    shown = 0

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        self.shown += len(pictures)
        return super().forward(pictures) * (pictures.mean(dim=(1, 2, 3)) > 0.5)[:, None, None]


def test_a_detector_looks_once_at_each_picture_and_says_where_it_found_nobody(tmp_path: Path) -> None:
    paths = [saved(tmp_path / f"{grey}.png", np.full((64, 64, 3), grey, np.uint8)) for grey in (20, 200, 220)]
    looker = CountingPerson()
    detector = person_detector(image_size=64, scaling=Scaling.NONE, ready=ReadyNetwork(looker, "counting", "cpu"))
    ready = fill_network("osnet-ibn")
    for _ in range(2):  # as for two networks that look at the same persons, without a cache on disk
        reader = person_reader("osnet", detector=detector, image_size=64, ready=ready)
        assert reader.found(paths).tolist() == [False, True, True]
    assert looker.shown == 3


class PersonAtTheEdge(OnePerson):
    """A detector that sees a person so far to the right that the published scaling pushes them out of the picture."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        rows = super().forward(pictures)
        rows[:, 0, :4] = torch.tensor([500.0, 100.0, 12.0, 60.0])
        return rows


def test_a_box_that_was_scaled_out_of_the_picture_is_an_error_or_the_whole_picture(tmp_path: Path) -> None:
    path = saved(tmp_path / "edge.png", np.full((512, 512, 3), 90, np.uint8))
    detector = person_detector(ready=ReadyNetwork(PersonAtTheEdge(), "edge", "cpu"))
    ready = fill_network("osnet-ibn")
    with pytest.raises(DataError, match=r"edge\.png: the person's box .* has no pixel .*empty_crop=whole"):
        person_reader("osnet", detector=detector, ready=ready).read([path])
    assert person_reader("osnet", detector=detector, whole_if_empty=True, ready=ready).found([path]).tolist() == [False]


def test_re_identification_reads_the_person_that_the_detector_found(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    other = pixels.copy()
    other[:, 40:] = 0  # outside the person's box
    paths = [saved(tmp_path / "a.png", pixels), saved(tmp_path / "b.png", other)]
    detector = person_detector(image_size=64, scaling=Scaling.NONE, ready=ReadyNetwork(OnePerson(), "one", "cpu"))
    assert detector.read(paths).tolist() == [[1, 9, 7, 30, 40]] * 2
    ready = fill_network("osnet-ibn")
    reader = person_reader("osnet", detector=detector, image_size=64, ready=ready)
    assert reader.found(paths).tolist() == [True, True]
    with_box = reader.read(paths)
    assert with_box.shape == (2, 512)
    assert np.array_equal(with_box[0], with_box[1])
    whole = person_reader("osnet", image_size=64, ready=ready).read(paths)
    assert not np.array_equal(whole[0], whole[1])
    with pytest.raises(OptionError, match="multiples of 32"):
        person_detector(image_size=100, ready=ready)
    with pytest.raises(OptionError, match="Use osnet or pcb"):
        person_reader("resnet")


def test_dists_forgives_a_redrawn_texture_more_than_blur_and_more_than_lpips_does(tmp_path: Path) -> None:
    """What its authors made it for: grass elsewhere is still grass, and blurred grass is not."""
    grass = np.repeat(np.asarray(data.grass())[:, :, None], 3, axis=2)
    places = {"here": grass[:128, :128], "elsewhere": grass[256:384, 256:384]}
    places["blurred"] = cv2.GaussianBlur(places["here"], (0, 0), 2.0)
    for name, pixels in places.items():
        Image.fromarray(np.ascontiguousarray(pixels)).save(tmp_path / f"{name}.png")
    here, others = [tmp_path / "here.png"] * 3, [tmp_path / f"{name}.png" for name in ("here", "elsewhere", "blurred")]
    small = HIS_EVALUATORS.at(128, 128)
    dists = dists_comparer(loading=small)
    same, elsewhere, blurred = dists.compare(others, here)
    assert abs(same) < 1e-6
    assert 0.01 < elsewhere < blurred < 1
    _, far, near = lpips_comparer("vgg", loading=small).compare(others, here)
    assert elsewhere / blurred < 0.8 * far / near
    assert dists.compare(here[:1], others[2:]) == pytest.approx(blurred, abs=1e-6)
