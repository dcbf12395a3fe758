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
from evenhand.benchmarks.synthesis.measuring import FrameFeatures, FrameInstruments, FrameSource, PairValues
from evenhand.benchmarks.synthesis.numbers import batch_weights, cosine_rows, paired_face_shares, sspe_rows
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.protocol import Reading
from evenhand.core.engine import Engine, Serial, Workplace, finished
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array, Attribute, Records, blocks
from evenhand.instruments.ahead import TIME_LIMIT

PART = 256  # pairs that are measured together
DECODED_AHEAD = 2  # pairs of pictures that wait in memory while one is compared
PIXELS = ("ssim", "psnr", "ms-ssim")
WORST: Mapping[str, float] = {
    "ssim": -1.0,
    "psnr": 0.0,
    "ms_ssim": 0.0,
    "lps": 1.0,
    "dists": 1.0,
    "squared_error": 4.0,
}
"""What a missing or unreadable frame counts as under `on_missing=worst`; cosines count as −1.

Distances of sets leave it out, and so does the body error, which has no worst."""

_NO_FACE = "no face in the reference"
_NO_PERSON = "no person found: the whole picture was looked at"
_NOT_LOOKED_FOR = "not looked for"

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
    time_limit: float = TIME_LIMIT


def paired_rows(pairs: Sequence[FramePair], looks: FrameInstruments, asked: Asked) -> Iterator[Records]:
    """The rows of paired frames, part by part, in order."""
    weights = batch_weights(len(pairs), asked.batch)
    features = [name for name in features_of(asked.names, asked.reading) if looks.available(name)]
    comparisons = [name for name in _comparisons(asked.names) if looks.available(name, comparison=True)]
    # Batches are weighed by the faces of their references, so these are looked for before the first row is written.
    references = _reference_faces(pairs, looks) if "face" in features else []
    faces = np.concatenate([seen.found for seen in references]) if references else None
    shares = paired_face_shares(np.zeros(len(pairs)), faces, asked.batch) if faces is not None else None
    for span, pixels in zip(blocks(len(pairs), PART), _pixel_parts(pairs, asked), strict=True):
        part = pairs[span]
        reasons = [pair.reason or reason for pair, reason in zip(part, pixels["reason"].tolist(), strict=True)]
        columns: dict[str, Array] = {name: pixels[name] for name in pixels.columns if name != "reason"}
        for name in comparisons:
            compared = _compare(looks, name, part)
            columns[name] = compared.values
            _note(reasons, compared.reasons)
        for feature in features:
            known = references[span.start // PART] if feature == "face" else None
            values, why, persons = _cosines(looks, feature, part, known)
            if feature in ("osnet", "pcb"):
                _note_persons(columns, persons, looked_for=True)
            columns["sspe" if feature == "body" else f"cosine_{feature}"] = values
            _note(reasons, why)
        if any(entry_of(name).feature in ("osnet", "pcb") for name in asked.names) and "person_found" not in columns:
            _note_persons(columns, np.zeros(len(part), dtype=np.bool_), looked_for=False)
        for name in asked.names:  # what is not available is a column without values
            columns.setdefault(column_of(name), np.full(len(part), np.nan))
        columns["weight"] = weights[span]
        if "face-CS" in asked.names:
            found = faces[span] if faces is not None else np.zeros(len(part), dtype=np.bool_)
            columns["reference_has_face"] = found
            columns["face_looked_for"] = np.full(len(part), faces is not None)
            columns["face_reason"] = _why(found, _NO_FACE if faces is not None else _NOT_LOOKED_FOR)
            if shares is not None:
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


def unpaired_rows(pairs: Sequence[FramePair], looks: FrameInstruments, asked: Asked) -> Iterator[Records]:
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
            # A frame that was asked for and is not there is a row too: without features, with its reason.
            inside = [
                number
                for number, pair in enumerate(part)
                if _path(pair, made=is_made) is not None or (is_made and pair.reason)
            ]
            if not inside:
                continue
            reasons = [part[number].reason if is_made else "" for number in inside]
            columns: dict[str, Array] = {
                "item": np.array([f"{part[n].id}:{'synthesised' if is_made else 'real'}" for n in inside]),
                "unit": np.array([part[n].unit for n in inside]),
                "synthesised": np.full(len(inside), is_made),
                "split": split[span][inside] if is_made else np.zeros(len(inside), dtype=np.int64),
                "weight": weights[span][inside] if is_made else np.zeros(len(inside)),
            }
            partnered = np.array([part[n].reference is not None for n in inside], dtype=np.bool_)
            columns["asked"] = (partnered & is_made).astype(np.float64)
            columns["weight"] = np.where(partnered, columns["weight"], 0.0)
            _add_features(columns, reasons, wanted, seen, inside, is_made=is_made)
            if has_cosines:
                _add_cosines(columns, wanted, seen, inside, is_made=is_made)
            if "face" in wanted:
                _add_faces(columns, seen.get("face"), part, inside, is_made=is_made)
            if asked.on_missing == "error":
                _refuse(reasons, [part[n].id for n in inside])
            columns["reason"] = np.array(reasons, dtype=np.str_)
            yield Records(columns, asked.attributes([part[n] for n in inside]))
        asked.progress(span.stop, len(pairs), "frames")


def measure_pixels(part: PixelPart, place: Workplace) -> Records:
    """The pixel metrics of some pairs: what a worker does. The next pair is decoded while one is compared."""
    from evenhand.instruments.ahead import ahead
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import HIS_EVALUATORS, Loading, Pixels, load

    size = part.image_size
    loading = HIS_EVALUATORS.at(size, size) if size else Loading("his_evaluators", HIS_EVALUATORS.decoder)
    count = len(part.pairs)
    columns: dict[str, Array] = {column_of(name): np.full(count, np.nan) for name in part.names}
    if "psnr" in part.names:
        columns["squared_error"] = np.full(count, np.nan)
    reasons = [""] * count

    def decoded(paths: tuple[Path, Path]) -> tuple[Pixels, Pixels] | PictureError:
        try:
            return load(paths[0], loading).pixels, load(paths[1], loading).pixels
        except PictureError as error:
            return error

    whole = {
        number: (pair.prediction, pair.reference)
        for number, pair in enumerate(part.pairs)
        if pair.prediction is not None and pair.reference is not None and part.names
    }
    for (number, paths), outcome in zip(
        whole.items(),
        ahead(whole.values(), decoded, workers=1, depth=DECODED_AHEAD, limit=part.time_limit),
        strict=True,
    ):
        try:
            if outcome.done is None:
                both = " or ".join(map(str, paths))
                raise PictureError(both, f"was not read within {part.time_limit:g} seconds. Write it again.")
            if isinstance(outcome.done, PictureError):
                raise outcome.done
            for name, value in _pixel_values(*outcome.done, part.names).items():
                columns[name][number] = value
        except PictureError as error:
            where = "" if error.picture.startswith(str(paths[0].parent)) else f"{paths[0].name}, "
            reasons[number] = f"{where}{error}"
    columns |= {
        "item": np.array([pair.id for pair in part.pairs], dtype=np.str_),
        "unit": np.array([pair.unit for pair in part.pairs], dtype=np.str_),
        "reason": np.array(reasons, dtype=np.str_),
    }
    return Records(columns, {})


def _pixel_values(made: Array, real: Array, names: Sequence[str]) -> dict[str, float]:
    """The numbers of one pair by column."""
    from evenhand.instruments.pixels import MS_SSIM, PSNR, ms_ssim, psnr, ssim

    found: dict[str, float] = {}
    if "ssim" in names:
        found["ssim"] = ssim(made, real)
    if "ms-ssim" in names:
        found["ms_ssim"] = ms_ssim(made, real, MS_SSIM["pytorch_msssim"])
    if "psnr" in names:
        found["psnr"] = psnr(made, real)
        found["squared_error"] = 4.0 * 10.0 ** (-psnr(made, real, PSNR["his_evaluators_strict"]) / 10.0)
    return found


def _add_features(
    columns: dict[str, Array],
    reasons: list[str],
    wanted: Sequence[str],
    seen: Mapping[str, tuple[FrameFeatures, FrameFeatures]],
    inside: Sequence[int],
    *,
    is_made: bool,
) -> None:
    """The feature vectors of one side's frames; a feature that is not available has no values."""
    for feature in wanted:
        is_about_a_person = feature in ("osnet", "pcb")
        if feature not in seen:
            columns[feature] = np.full((len(inside), 1), np.nan, dtype=np.float32)
            if is_about_a_person and "person_found" not in columns:
                _note_persons(columns, np.zeros(len(inside), dtype=np.bool_), looked_for=False)
            continue
        own = seen[feature][0 if is_made else 1]
        columns[feature] = own.values[inside]
        if is_about_a_person:
            _note_persons(columns, own.found[inside], looked_for=True)
        _note(reasons, [own.reasons[number] for number in inside])


def _add_cosines(
    columns: dict[str, Array],
    wanted: Sequence[str],
    seen: Mapping[str, tuple[FrameFeatures, FrameFeatures]],
    inside: Sequence[int],
    *,
    is_made: bool,
) -> None:
    """How alike a synthesised frame and the real one at its place are; real frames have no such number."""
    for feature in wanted:
        name = "sspe" if feature == "body" else f"cosine_{feature}"
        columns[name] = np.full(len(inside), np.nan)
        if feature in seen and is_made and feature not in ("inception", "logits"):
            columns[name] = _row_values(feature, *seen[feature])[list(inside)]


def _add_faces(
    columns: dict[str, Array],
    face: tuple[FrameFeatures, FrameFeatures] | None,
    part: Sequence[FramePair],
    inside: Sequence[int],
    *,
    is_made: bool,
) -> None:
    """Whether the reference of a pair shows a face; of a frame without a partner, whether it does itself."""
    both = np.array([part[n].prediction is not None and part[n].reference is not None for n in inside], dtype=np.bool_)
    found: Array = np.zeros(len(inside), dtype=np.bool_)
    if face is not None:
        own, partner = face[0 if is_made else 1].found[list(inside)], face[1].found[list(inside)]
        found = np.where(both, partner, own)
    columns["reference_has_face"] = found
    columns["face_looked_for"] = np.full(len(inside), is_made and face is not None)
    columns["face_asked"] = np.where(found, columns["asked"], 0.0)
    columns["face_reason"] = _why(found, _NO_FACE if face is not None else _NOT_LOOKED_FOR)


def _note_persons(columns: dict[str, Array], found: Array, *, looked_for: bool) -> None:
    """Whether a person was found, and whether one was looked for at all."""
    columns["person_found"], columns["person_looked_for"] = found, np.full(len(found), looked_for)
    columns["person_reason"] = _why(found, _NO_PERSON if looked_for else _NOT_LOOKED_FOR)


def _pixel_parts(pairs: Sequence[FramePair], asked: Asked) -> Iterator[Records]:
    names = tuple(name for name in asked.names if name in PIXELS)
    parts = [PixelPart(tuple(pairs[span]), names, asked.image_size) for span in blocks(len(pairs), PART)]
    yield from finished(asked.engine.map(measure_pixels, parts), "part")


def _comparisons(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if not entry_of(name).feature and name not in PIXELS)


def _path(pair: FramePair, *, made: bool) -> Path | None:
    return pair.prediction if made else pair.reference


def _both(looks: FrameInstruments, feature: str, part: Sequence[FramePair]) -> tuple[FrameFeatures, FrameFeatures]:
    """The features on both sides; frames that are not there hold NaN."""
    return _see(looks, feature, part, looks.synthesised, made=True), _see(looks, feature, part, looks.real, made=False)


def _see(
    looks: FrameInstruments, feature: str, part: Sequence[FramePair], side: FrameSource, *, made: bool
) -> FrameFeatures:
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
    return FrameFeatures(values, found, tuple(reasons))


def _row_values(feature: str, made: FrameFeatures, real: FrameFeatures) -> Array:
    """(pairs,): the cosine of both sides, or the body error; NaN where a side is missing."""
    known: Array = np.asarray(np.isfinite(made.values).all(axis=1) & np.isfinite(real.values).all(axis=1))
    values = np.full(len(known), np.nan)
    if known.any():
        of_rows = sspe_rows if feature == "body" else cosine_rows
        values[known] = of_rows(made.values[known], real.values[known])
    return values


def _cosines(
    looks: FrameInstruments, feature: str, part: Sequence[FramePair], known: FrameFeatures | None
) -> tuple[Array, list[str], Array]:
    """The row values of a feature, why some are missing, and whether what it is about was found on both sides.

    `known` is the real side when it was seen before.
    """
    made = _see(looks, feature, part, looks.synthesised, made=True)
    real = known if known is not None else _see(looks, feature, part, looks.real, made=False)
    reasons = [a or b for a, b in zip(made.reasons, real.reasons, strict=True)]
    return _row_values(feature, made, real), reasons, made.found & real.found


def _compare(looks: FrameInstruments, name: str, part: Sequence[FramePair]) -> PairValues:
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
    return PairValues(values, tuple(reasons))


def _reference_faces(pairs: Sequence[FramePair], looks: FrameInstruments) -> list[FrameFeatures]:
    """The face features of the references, part by part."""
    return [_see(looks, "face", pairs[span], looks.real, made=False) for span in blocks(len(pairs), PART)]


def _settle(columns: dict[str, Array], part: Sequence[FramePair], reasons: list[str], asked: Asked) -> None:
    """What becomes of frames that could not be measured."""
    if asked.on_missing == "error":
        _refuse(reasons, [pair.id for pair in part])
    elif asked.on_missing == "worst":
        # A reference that can't be read is not the model's fault: such a pair stays left out.
        lost = np.array(
            [
                pair.prediction is None or reason.startswith(f"{pair.prediction}:")
                for pair, reason in zip(part, reasons, strict=True)
            ]
        )
        for name in columns:
            if name in WORST or name.startswith("cosine_"):
                counts = lost & columns["reference_has_face"] if name == "cosine_face" else lost
                columns[name] = np.where(counts, WORST.get(name, -1.0), columns[name])


def _why(found: Array, reason: str) -> Array:
    """(rows,): a reason where something was not found, else nothing."""
    return np.where(found, "", reason)


def _refuse(reasons: Sequence[str], ids: Sequence[str]) -> None:
    wrong = [(name, reason) for name, reason in zip(ids, reasons, strict=True) if reason]
    if wrong:
        more = f" So are {len(wrong) - 1} other frames of this part." if len(wrong) > 1 else ""
        raise PredictionError(
            f"{wrong[0][0]} can't be measured: {wrong[0][1]}{more} The evaluation stops here, as published. To leave "
            "such frames out and count them: --set reading=strict --set on_missing=skip."
        )


def _note(reasons: list[str], new: Sequence[str]) -> None:
    for number, reason in enumerate(new):
        if reason and not reasons[number]:
            reasons[number] = reason
