"""Pairs of frames to rows.

Paired: a row is a synthesised frame beside its truth, with what was measured on both. Unpaired: a row is a frame, real
or synthesised, with its features; a synthesised frame also has its cosines to the real one at its position. Whatever
could not be measured is NaN, and `reason` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.benchmarks.synthesis.catalogue import SPLITS, column_of, entry_of, features_of
from evenhand.benchmarks.synthesis.looks import Compared, Looks, Seen, Side
from evenhand.benchmarks.synthesis.numbers import batch_weights, cosine_rows, paired_face_shares, sspe_rows
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.protocol import Reading
from evenhand.core.engine import Engine, Serial, Workplace, finished
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array, Attribute, Records, blocks

PART = 256  # pairs that are measured together
PIXELS = ("ssim", "psnr", "ms-ssim")
WORST: Mapping[str, float] = {"ssim": -1.0, "psnr": 0.0, "ms_ssim": 0.0, "lps": 1.0, "squared_error": 4.0}
"""What a missing frame counts as under `on_missing=worst`; cosines count as −1. Distances of sets leave it out."""

Attributes = Callable[[Sequence[FramePair]], Mapping[str, Attribute]]


@dataclass(frozen=True)
class Asked:
    """What is measured, and how."""

    names: tuple[str, ...]
    reading: Reading = Reading.COMPAT
    image_size: int = 512  # 0: every picture at its own size
    batch: int = 16
    on_missing: str = "error"
    engine: Engine = field(default_factory=Serial)
    attributes: Attributes = lambda pairs: {}
    progress: Callable[[int, int | None, str], None] = lambda done, total, what: None


class PixelPart(NamedTuple):
    """Pairs whose pixels are compared by one worker."""

    pairs: tuple[FramePair, ...]
    names: tuple[str, ...]
    image_size: int


def paired_rows(pairs: Sequence[FramePair], looks: Looks, asked: Asked) -> Iterator[Records]:
    """The rows of paired frames, part by part, in order."""
    weights = batch_weights(len(pairs), asked.batch)
    features = [name for name in features_of(asked.names, asked.reading) if looks.available(name)]
    comparisons = [name for name in _comparisons(asked.names) if looks.available(name, comparison=True)]
    faces = _face_flags(pairs, looks) if "face" in features else None
    shares = None
    for span, pixels in zip(blocks(len(pairs), PART), _pixel_parts(pairs, asked), strict=True):
        part = pairs[span]
        reasons = [pair.reason or reason for pair, reason in zip(part, pixels["reason"].tolist(), strict=True)]
        columns: dict[str, Array] = {name: pixels[name] for name in pixels.columns if name != "reason"}
        for name in comparisons:
            compared = _compare(looks, name, part)
            columns[name] = compared.values
            _note(reasons, compared.reasons)
        for feature in features:
            values, why, _ = _cosines(looks, feature, part)
            columns["sspe" if feature == "body" else f"cosine_{feature}"] = values
            _note(reasons, why)
        for name in asked.names:  # what is not available is a column without values
            columns.setdefault(column_of(name), np.full(len(part), np.nan))
        columns["weight"] = weights[span]
        if "face-CS" in asked.names:
            found = faces[span] if faces is not None else np.zeros(len(part), dtype=np.bool_)
            columns["reference_has_face"] = found
            if faces is not None:
                shares = shares if shares is not None else paired_face_shares(np.zeros(len(pairs)), faces, asked.batch)
                cosine = columns["cosine_face"]
                columns["face_published"] = np.where(found, cosine, np.where(np.isnan(cosine), np.nan, 0.0))
                columns["face_weight"] = shares.weights[span]
                columns["cosine_face"] = np.where(found, cosine, np.nan)
            else:
                columns["face_published"], columns["face_weight"] = columns["cosine_face"], weights[span]
        _settle(columns, part, reasons, asked)
        columns["reason"] = np.array(reasons, dtype=np.str_)
        asked.progress(span.stop, len(pairs), "pairs")
        yield Records(columns, asked.attributes(part))


def unpaired_rows(pairs: Sequence[FramePair], looks: Looks, asked: Asked) -> Iterator[Records]:
    """The rows of two sets, part by part: a row per frame on either side. A pair may have one side only."""
    features = [name for name in features_of(asked.names, asked.reading) if looks.available(name)]
    wanted = features_of(asked.names, asked.reading)
    made = [number for number, pair in enumerate(pairs) if pair.prediction is not None]
    weights, split = np.zeros(len(pairs)), np.zeros(len(pairs), dtype=np.int64)
    weights[made] = batch_weights(len(made), asked.batch)
    split[made] = np.arange(len(made)) * SPLITS // max(len(made), 1)
    has_cosines = any(column_of(name).startswith(("cosine_", "sspe")) for name in asked.names)
    for span in blocks(len(pairs), PART):
        part = pairs[span]
        seen = {feature: _both(looks, feature, part) for feature in features}
        for is_made in (True, False):
            inside = [number for number, pair in enumerate(part) if _path(pair, made=is_made) is not None]
            if not inside:
                continue
            reasons = [part[number].reason for number in inside]
            columns: dict[str, Array] = {
                "item": np.array([f"{part[n].id}:{'synthesised' if is_made else 'real'}" for n in inside]),
                "unit": np.array([part[n].unit for n in inside]),
                "synthesised": np.full(len(inside), is_made),
                "split": split[span][inside] if is_made else np.zeros(len(inside), dtype=np.int64),
            }
            for feature in wanted:
                if feature not in seen:
                    columns[feature] = np.full((len(inside), 1), np.nan, dtype=np.float32)
                    continue
                own = seen[feature][0 if is_made else 1]
                columns[feature] = own.values[inside]
                _note(reasons, [own.reasons[n] for n in inside])
            both = np.array([part[n].prediction is not None and part[n].reference is not None for n in inside], bool)
            counted = both & is_made
            for feature in wanted if has_cosines else ():
                name = "sspe" if feature == "body" else f"cosine_{feature}"
                columns[name] = np.full(len(inside), np.nan)
                if feature in seen and is_made and feature not in ("inception", "logits"):
                    columns[name] = _row_values(feature, *seen[feature])[inside]
            columns["weight"] = np.where(counted, weights[span][inside], 0.0)
            columns["asked"] = counted.astype(np.float64)
            if "face" in wanted:
                face = seen.get("face")
                own_face = face[0 if is_made else 1].found[inside] if face else np.zeros(len(inside), bool)
                partner = face[1].found[inside] if face else own_face
                columns["reference_has_face"] = np.where(both, partner, own_face)
                columns["face_asked"] = np.where(columns["reference_has_face"], columns["asked"], 0.0)
            if asked.on_missing == "error":
                _refuse(reasons, [part[n].id for n in inside])
            columns["reason"] = np.array(reasons, dtype=np.str_)
            yield Records(columns, asked.attributes([part[n] for n in inside]))
        asked.progress(span.stop, len(pairs), "frames")


def measure_pixels(part: PixelPart, place: Workplace) -> Records:
    """The pixel metrics of some pairs: what a worker does."""
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import HIS_EVALUATORS, Loading, load
    from evenhand.instruments.pixels import MS_SSIM, PSNR, ms_ssim, psnr, ssim

    size = part.image_size
    loading = HIS_EVALUATORS.at(size, size) if size else Loading("his_evaluators", HIS_EVALUATORS.decoder)
    count = len(part.pairs)
    columns: dict[str, Array] = {column_of(name): np.full(count, np.nan) for name in part.names}
    if "psnr" in part.names:
        columns["squared_error"] = np.full(count, np.nan)
    reasons = [""] * count
    for number, pair in enumerate(part.pairs):
        if pair.prediction is None or pair.reference is None or not part.names:
            continue
        try:
            made, real = load(pair.prediction, loading).pixels, load(pair.reference, loading).pixels
            for name in part.names:
                if name == "ssim":
                    columns["ssim"][number] = ssim(made, real)
                elif name == "ms-ssim":
                    columns["ms_ssim"][number] = ms_ssim(made, real, MS_SSIM["pytorch_msssim"])
                else:
                    columns["psnr"][number] = psnr(made, real)
                    fixed = psnr(made, real, PSNR["his_evaluators_strict"])
                    columns["squared_error"][number] = 4.0 * 10.0 ** (-fixed / 10.0)
        except PictureError as error:
            where = "" if error.picture.startswith(str(pair.prediction.parent)) else f"{pair.prediction.name}, "
            reasons[number] = f"{where}{error}"
    columns |= {
        "item": np.array([pair.id for pair in part.pairs], dtype=np.str_),
        "unit": np.array([pair.unit for pair in part.pairs], dtype=np.str_),
        "reason": np.array(reasons, dtype=np.str_),
    }
    return Records(columns, {})


def _pixel_parts(pairs: Sequence[FramePair], asked: Asked) -> Iterator[Records]:
    names = tuple(name for name in asked.names if name in PIXELS)
    parts = [PixelPart(tuple(pairs[span]), names, asked.image_size) for span in blocks(len(pairs), PART)]
    yield from finished(asked.engine.map(measure_pixels, parts), "part")


def _comparisons(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if not entry_of(name).feature and name not in PIXELS)


def _path(pair: FramePair, *, made: bool) -> Path | None:
    return pair.prediction if made else pair.reference


def _both(looks: Looks, feature: str, part: Sequence[FramePair]) -> tuple[Seen, Seen]:
    """The features on both sides; frames that are not there hold NaN."""
    return _see(looks, feature, part, looks.synthesised, made=True), _see(looks, feature, part, looks.real, made=False)


def _see(looks: Looks, feature: str, part: Sequence[FramePair], side: Side, *, made: bool) -> Seen:
    paths = [_path(pair, made=made) for pair in part]
    there = [number for number, path in enumerate(paths) if path is not None]
    seen = looks.see(feature, [path for path in paths if path is not None], side)
    if len(there) == len(paths):
        return seen
    values = np.full((len(paths), *seen.values.shape[1:]), np.nan, dtype=np.float32)
    found, reasons = np.zeros(len(paths), dtype=np.bool_), [""] * len(paths)
    values[there], found[there] = seen.values, seen.found
    for number, reason in zip(there, seen.reasons, strict=True):
        reasons[number] = reason
    return Seen(values, found, tuple(reasons))


def _row_values(feature: str, made: Seen, real: Seen) -> Array:
    """(pairs,): the cosine of both sides, or the body error; NaN where a side is missing."""
    known: Array = np.asarray(np.isfinite(made.values).all(axis=1) & np.isfinite(real.values).all(axis=1))
    values = np.full(len(known), np.nan)
    if known.any():
        of_rows = sspe_rows if feature == "body" else cosine_rows
        values[known] = of_rows(made.values[known], real.values[known])
    return values


def _cosines(looks: Looks, feature: str, part: Sequence[FramePair]) -> tuple[Array, list[str], Array]:
    made, real = _both(looks, feature, part)
    reasons = [a or b for a, b in zip(made.reasons, real.reasons, strict=True)]
    return _row_values(feature, made, real), reasons, real.found


def _compare(looks: Looks, name: str, part: Sequence[FramePair]) -> Compared:
    there = [n for n, pair in enumerate(part) if pair.prediction is not None and pair.reference is not None]
    compared = looks.compare(
        name,
        [path for n in there if (path := part[n].prediction) is not None],
        [path for n in there if (path := part[n].reference) is not None],
    )
    values, reasons = np.full(len(part), np.nan), [""] * len(part)
    values[there] = compared.values
    for number, reason in zip(there, compared.reasons, strict=True):
        reasons[number] = reason
    return Compared(values, tuple(reasons))


def _face_flags(pairs: Sequence[FramePair], looks: Looks) -> Array:
    """Whether each reference shows a face; needed for all pairs before the first batch can be weighed."""
    parts = [_see(looks, "face", pairs[span], looks.real, made=False).found for span in blocks(len(pairs), PART)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)


def _settle(columns: dict[str, Array], part: Sequence[FramePair], reasons: list[str], asked: Asked) -> None:
    """What becomes of frames that could not be measured."""
    if asked.on_missing == "error":
        _refuse(reasons, [pair.id for pair in part])
    elif asked.on_missing == "worst":
        lost = np.array([pair.prediction is None for pair in part])
        for name in columns:
            if name in WORST or name.startswith("cosine_"):
                columns[name] = np.where(lost, WORST.get(name, -1.0), columns[name])


def _refuse(reasons: Sequence[str], ids: Sequence[str]) -> None:
    wrong = [(name, reason) for name, reason in zip(ids, reasons, strict=True) if reason]
    if wrong:
        more = f" So are {len(wrong) - 1} other frames of this part." if len(wrong) > 1 else ""
        raise PredictionError(
            f"{wrong[0][0]} can't be measured: {wrong[0][1]}{more} The published evaluation stops here. To leave such "
            "frames out and count them: --set reading=strict --set on_missing=skip."
        )


def _note(reasons: list[str], new: Sequence[str]) -> None:
    for number, reason in enumerate(new):
        if reason and not reasons[number]:
            reasons[number] = reason
