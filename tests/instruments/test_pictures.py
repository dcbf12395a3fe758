"""Pictures at the door: each unusual file gives what the specification says, or an error with its name."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from evenhand.instruments.errors import PictureError
from evenhand.instruments.pictures import (
    AS_IT_IS,
    FHIBE,
    HIS_EVALUATORS,
    Decoder,
    Loading,
    PixelResampling,
    decode,
    load,
    resize,
)

BOTH = [Loading("one", Decoder.OPENCV), Loading("other", Decoder.PILLOW)]
RAMP = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3)


def encoded(picture: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("loading", BOTH, ids=["opencv", "pillow"])
class TestUnusualPictures:
    def test_a_png_gives_its_pixels_in_rgb(self, loading: Loading) -> None:
        assert np.array_equal(decode(encoded(Image.fromarray(RAMP), "PNG"), "a.png", loading).pixels, RAMP)

    def test_grey_is_repeated_three_times(self, loading: Loading) -> None:
        grey = RAMP[:, :, 0]
        found = decode(encoded(Image.fromarray(grey), "PNG"), "grey.png", loading).pixels
        assert np.array_equal(found, np.repeat(grey[:, :, None], 3, axis=2))

    def test_alpha_is_dropped_and_not_blended(self, loading: Loading) -> None:
        alpha = np.concatenate([RAMP, np.zeros((40, 30, 1), np.uint8)], axis=2)
        assert np.array_equal(decode(encoded(Image.fromarray(alpha), "PNG"), "alpha.png", loading).pixels, RAMP)

    def test_sixteen_bits_give_their_high_byte(self, loading: Loading) -> None:
        deep = RAMP[:, :, 0].astype(np.uint16) * 256 + 255
        found = decode(encoded(Image.fromarray(deep), "PNG"), "deep.png", loading).pixels
        assert np.array_equal(found[:, :, 1], RAMP[:, :, 0])

    def test_sixteen_bit_colours_give_their_high_byte(self, loading: Loading) -> None:
        deep = RAMP[:, :, ::-1].astype(np.uint16) * 256 + 200  # OpenCV writes blue first
        data = cv2.imencode(".png", deep)[1].tobytes()
        assert np.array_equal(decode(data, "deep.png", loading).pixels, RAMP)

    def test_cmyk_becomes_rgb(self, loading: Loading) -> None:
        red = Image.new("RGB", (16, 16), (200, 30, 40)).convert("CMYK")
        found = decode(encoded(red, "JPEG", quality=95), "cmyk.jpg", loading).pixels
        assert found.shape == (16, 16, 3)
        assert found[8, 8, 0] > found[8, 8, 1] + 100

    def test_exif_orientation_turns_the_picture_upright(self, loading: Loading) -> None:
        picture = Image.fromarray(np.repeat(np.repeat(RAMP[:5, :4], 8, axis=0), 8, axis=1))
        exif = Image.Exif()
        exif[0x0112] = 6
        turned = decode(encoded(picture, "JPEG", exif=exif, quality=100), "phone.jpg", loading).pixels
        straight = decode(encoded(picture, "JPEG", quality=100), "still.jpg", loading).pixels
        assert turned.shape == (32, 40, 3)
        assert np.abs(turned.astype(int) - np.rot90(straight, -1).astype(int)).max() <= 2

    def test_a_palette_with_transparency_gives_its_colours(self, loading: Loading) -> None:
        picture = Image.fromarray(RAMP // 64 * 64).quantize(16)
        found = decode(encoded(picture, "PNG", transparency=0), "palette.png", loading).pixels
        assert np.array_equal(found, np.asarray(picture.convert("RGB")))

    def test_an_animation_is_refused_with_its_number_of_frames(self, loading: Loading) -> None:
        frames = [Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in (10, 120, 250)]
        data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
        with pytest.raises(PictureError, match=r"^walk\.gif: has 3 frames"):
            decode(data, "walk.gif", loading)

    @pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
    def test_a_truncated_file_is_refused_by_name(self, loading: Loading, form: str) -> None:
        whole = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)), form)
        with pytest.raises(PictureError, match=r"^half\.img: "):
            decode(whole[: len(whole) * 2 // 3], "half.img", loading)

    def test_an_empty_file_is_refused_by_name(self, loading: Loading) -> None:
        with pytest.raises(PictureError, match=r"^nothing\.png: the file is empty \(zero bytes\)"):
            decode(b"", "nothing.png", loading)

    def test_text_is_no_picture(self, loading: Loading) -> None:
        with pytest.raises(PictureError, match=r"^notes\.jpg: is no picture"):
            decode(b"these are notes, not pixels", "notes.jpg", loading)

    def test_a_decompression_bomb_is_refused_before_it_is_decoded(self, loading: Loading) -> None:
        bomb = encoded(Image.new("1", (20_000, 20_000)), "PNG")
        assert len(bomb) < 100_000
        with pytest.raises(PictureError, match=r"^bomb\.png: .*(at most|limit of) [0-9,]+ pixels"):
            decode(bomb, "bomb.png", loading)

    def test_the_limit_of_pixels_can_be_set(self, loading: Loading) -> None:
        small = Loading("small", loading.decoder, most_pixels=1000)
        with pytest.raises(PictureError, match=r"30 × 40 pixels; at most 1,000"):
            decode(encoded(Image.fromarray(RAMP), "PNG"), "a.png", small)

    def test_a_missing_file_and_a_folder_are_named(self, loading: Loading, tmp_path: Path) -> None:
        with pytest.raises(PictureError, match="there is no such file"):
            load(tmp_path / "absent.png", loading)
        with pytest.raises(PictureError, match="a folder; a file was expected"):
            load(tmp_path, loading)


def test_a_camera_s_mpo_counts_as_its_first_frame() -> None:
    first, second = Image.new("RGB", (8, 8), (200, 0, 0)), Image.new("RGB", (8, 8), (0, 0, 200))
    data = encoded(first, "MPO", save_all=True, append_images=[second])
    assert decode(data, "stereo.mpo", AS_IT_IS).pixels[4, 4, 0] > 180


def test_floating_point_pixels_are_refused_because_their_range_is_unknown() -> None:
    data = encoded(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF")
    with pytest.raises(PictureError, match="whose range is not said"):
        decode(data, "depth.tiff", AS_IT_IS)


def test_the_content_is_the_hash_of_the_bytes_not_of_the_name(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        Image.fromarray(RAMP).save(tmp_path / name)
    first, second = load(tmp_path / "a.png"), load(tmp_path / "b.png")
    assert first.content == second.content
    assert first.name != second.name


def test_fhibe_s_loading_is_pillow_s_smoothing_bilinear(tmp_path: Path) -> None:
    picture = Image.fromarray(np.random.default_rng(1).integers(0, 256, (300, 400, 3), np.uint8))
    picture.save(tmp_path / "x.png")
    expected = np.asarray(picture.resize((256, 256), Image.Resampling.BILINEAR))
    assert np.array_equal(load(tmp_path / "x.png", FHIBE).pixels, expected)


def fixed_point_resize(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """The synthesis protocol's description of the resize, written out (section 5)."""

    def taps(source: int, target: int, *, clamp: bool) -> tuple[np.ndarray, np.ndarray]:
        place = ((np.arange(target) + 0.5) * (source / target) - 0.5).astype(np.float32)
        low = np.floor(place).astype(int)
        part = (place - low).astype(np.float32)
        if clamp:
            part[(low < 0) | (low >= source - 1)] = 0
            low = np.clip(low, 0, source - 1)
        return low, part

    def weights(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.rint((1 - part) * np.float32(2048)).astype(int), np.rint(part * np.float32(2048)).astype(int)

    values = pixels.astype(int)
    x, fx = taps(pixels.shape[1], width, clamp=True)
    left, right = (part[None, :, None] for part in weights(fx))
    rows = values[:, x] * left + values[:, np.minimum(x + 1, pixels.shape[1] - 1)] * right
    y, fy = taps(pixels.shape[0], height, clamp=False)
    top, bottom = (part[:, None, None] for part in weights(fy))
    first = rows[np.clip(y, 0, pixels.shape[0] - 1)] >> 4
    second = rows[np.clip(y + 1, 0, pixels.shape[0] - 1)] >> 4
    return ((((top * first) >> 16) + ((bottom * second) >> 16) + 2) >> 2).astype(np.uint8)


@pytest.mark.parametrize(("source", "target"), [((37, 53), (64, 64)), ((128, 90), (96, 96)), ((20, 20), (33, 17))])
def test_the_synthesis_resize_is_the_fixed_point_of_the_protocol(
    source: tuple[int, int], target: tuple[int, int]
) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (*source, 3), dtype=np.uint8)
    expected = fixed_point_resize(pixels, *target)
    assert np.array_equal(resize(pixels, target, PixelResampling.OPENCV_LINEAR), expected)


def test_a_fingerprint_names_decoder_size_and_resampling() -> None:
    assert HIS_EVALUATORS.at(96, 64).fingerprint == "his_evaluators:opencv:96x64:opencv-linear"
    assert AS_IT_IS.fingerprint == "as-it-is:pillow:own-size"
