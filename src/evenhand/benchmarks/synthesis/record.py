"""Pairs of frames to rows.

Paired: a row is a synthesised frame beside its truth, with what was measured on both; where distances between sets are
asked for too (`MeasurementPlan.sets`), it also holds the features of both, and a frame without a partner is a row with
one side. Unpaired: a row is a frame, real or synthesised, with its features; a synthesised frame also has its cosines
to the real one at its position. Whatever could not be measured is NaN, and `reason` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.synthesis.catalogue import CATALOGUE, SPLITS, column_of, entry_of, features_of
from evenhand.benchmarks.synthesis.measuring import FrameFeatures, FrameInstruments
from evenhand.benchmarks.synthesis.numbers import batch_weights, cosine_rows, face_weights, pose_errors, sspe_rows
from evenhand.benchmarks.synthesis.options import SynthesisOptions
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.pixel_rows import PixelPart, is_of_pixels, measure_pixels
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.engine import Engine, Serial, finished
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Array, Attribute, Records, blocks
from evenhand.metrics.distances.frames import PARTNER

PART = 256  # pairs that are measured together
CLIP = 16  # frames that FVD looks at together
WORST: Mapping[str, float] = {
    "squared_error": 4.0,
    **{column_of(entry.name): entry.worst for entry in CATALOGUE.values() if entry.worst is not None},
}
"""What a missing or unreadable frame counts as under `on_missing=worst`; cosines count as −1.

Distances of sets leave it out, and so do the body error and the distance of key points, which have no worst."""

_NO_FACE = "no face in the reference"
_NO_PERSON = "no person found: the whole picture was looked at"
_NOT_LOOKED_FOR = "not looked for"

Attributes = Callable[[Sequence[FramePair]], Mapping[str, Attribute]]


@dataclass(frozen=True)
class MeasurementPlan:
    """What is measured, and how."""

    names: tuple[str, ...]
    options: SynthesisOptions = field(default_factory=SynthesisOptions)
    engine: Engine = field(default_factory=Serial)
    attributes: Attributes = lambda pairs: {}
    progress: Callable[[int, int | None, str], None] = lambda done, total, what: None
    sets: bool = False  # rows of pairs hold the features of both frames
    by_content: bool = False  # splits of the inception score by what files hold, not by their order
    part: int = PART


def paired_rows(pairs: Sequence[FramePair], instruments: FrameInstruments, asked: MeasurementPlan) -> Iterator[Records]:
    """The rows of paired frames, part by part, in order."""
    if pairs and asked.options.on_missing == "skip" and all(pair.prediction is None for pair in pairs):
        raise PredictionError(
            f"None of {len(pairs)} frames has a synthesised picture ({pairs[0].id}: {pairs[0].reason})"
        )
    weights = batch_weights(len(pairs), asked.options.batch)
    wanted = features_of(asked.names, asked.options.rules)
    features, comparisons = available_networks(instruments, asked.names, asked.options.rules)
    face_published = "face-CS" in asked.names and not asked.sets
    references: list[FrameFeatures] = []
    if face_published and "face" in features:
        # Batches are weighed by the faces of their references, so these are looked for before the first row is written.
        spans = blocks(len(pairs), asked.part)
        references = [
            instruments.see("face", [pair.reference for pair in pairs[span]], instruments.real) for span in spans
        ]
    of_faces = (
        face_weights(np.concatenate([r.found for r in references]), asked.options.batch) if references else weights
    )
    clips = _clip_starts(pairs) if "i3d" in features else np.zeros(len(pairs), dtype=np.bool_)
    for span, pixels in zip(blocks(len(pairs), asked.part), _pixel_parts(pairs, asked), strict=True):
        part = pairs[span]
        reasons = [pair.reason or reason for pair, reason in zip(part, pixels["reason"].tolist(), strict=True)]
        columns: dict[str, Array] = {name: pixels[name] for name in pixels.columns if name != "reason"}
        for name in comparisons:
            compared = instruments.compare(name, [(pair.prediction, pair.reference) for pair in part])
            columns[column_of(name)] = compared.values
            _note(reasons, compared.reasons)
        for feature in features:
            if feature == "i3d":
                _add_clips(columns, instruments, pairs, span, clips)
                continue
            synthesised = instruments.see(feature, [pair.prediction for pair in part], instruments.synthesised)
            if feature == "face" and references:
                real = references[span.start // asked.part]
            else:
                real = instruments.see(feature, [pair.reference for pair in part], instruments.real)
            _note(reasons, [first or second for first, second in zip(synthesised.reasons, real.reasons, strict=True)])
            columns |= _pair_values(feature, synthesised, real)
            if feature in ("osnet", "pcb"):
                _note_persons(columns, synthesised.found & real.found, looked_for=True)
            if feature == "face":
                columns["reference_has_face"] = real.found
            if asked.sets and feature in _of_sets(asked.names):
                columns[feature], columns[PARTNER + feature] = synthesised.values, real.values
        _fill_unavailable(columns, len(part), wanted, asked)
        columns["weight"] = weights[span]
        if "face" in wanted:
            _settle_faces(columns, of_faces[span], "face" in features)
        if "logits" in columns:
            columns["split"] = _splits(part)
        _settle(columns, part, reasons, asked)
        columns["reason"] = np.array(reasons, dtype=np.str_)
        asked.progress(span.stop, len(pairs), "pairs")
        yield Records(columns, asked.attributes(part))


def available_networks(
    instruments: FrameInstruments, names: Sequence[str], rules: Rules
) -> tuple[list[str], list[str]]:
    """The features and the comparisons of two frames that are asked for and can be had here; builds their networks."""
    features = [name for name in features_of(names, rules) if instruments.available(name)]
    others = (name for name in names if not entry_of(name).feature and not is_of_pixels(name))
    return features, [name for name in others if instruments.available(name, comparison=True)]


def _fill_unavailable(columns: dict[str, Array], count: int, wanted: Sequence[str], asked: MeasurementPlan) -> None:
    """What is not available is a column without values."""
    if any(entry_of(name).feature in ("osnet", "pcb") for name in asked.names) and "person_found" not in columns:
        _note_persons(columns, np.zeros(count, dtype=np.bool_), looked_for=False)
    for name in asked.names:
        if entry_of(name).paired:
            columns.setdefault(column_of(name), np.full(count, np.nan))
    for feature in (*_of_sets(asked.names), *(["logits"] if "logits" in wanted else [])) if asked.sets else ():
        for name in (feature, PARTNER + feature):
            columns.setdefault(name, np.full((count, 1), np.nan, dtype=np.float32))
    if "i3d" in wanted:
        columns.setdefault("clip", np.zeros(count, dtype=np.bool_))


def _settle_faces(columns: dict[str, Array], weights: Array, looked_for: bool) -> None:
    """Which references show a face; a cosine without one does not count, and is 0 in the published mean."""
    cosine = columns.setdefault("cosine_face", np.full(len(weights), np.nan))
    has_face = columns.setdefault("reference_has_face", np.zeros(len(weights), dtype=np.bool_))
    columns["face_looked_for"] = np.full(len(weights), looked_for)
    columns["face_reason"] = _why(has_face, _NO_FACE if looked_for else _NOT_LOOKED_FOR)
    columns["face_weight"] = weights
    columns["face_published"] = (
        np.where(has_face, cosine, np.where(np.isnan(cosine), np.nan, 0.0)) if looked_for else cosine
    )
    columns["cosine_face"] = np.where(has_face, cosine, np.nan)


def _of_sets(names: Sequence[str]) -> tuple[str, ...]:
    """The features of which distances between sets are asked for."""
    return tuple(dict.fromkeys(entry_of(n).feature for n in names if not entry_of(n).paired and n != "is"))


def _splits(part: Sequence[FramePair]) -> Array:
    """The split of each frame for the inception score, by the content of its file: no name or order decides."""
    marks = [0 if pair.prediction is None else _digest(pair.prediction) for pair in part]
    return np.array(marks, dtype=np.int64) % SPLITS


def _digest(path: Path) -> int:
    from evenhand.instruments.pictures import content_of, read_bytes

    try:
        return int(content_of(read_bytes(path))[:8], 16)
    except DataError:
        return 0


def _clip_starts(pairs: Sequence[FramePair]) -> NDArray[np.bool_]:
    """Which pairs begin a run of so many frames of one film that both sides have; runs do not overlap."""
    starts = np.zeros(len(pairs), dtype=np.bool_)
    begun = 0
    for number, pair in enumerate(pairs):
        if pair.unit != pairs[begun].unit or pair.prediction is None or pair.reference is None:
            begun = number if pair.prediction is not None and pair.reference is not None else number + 1
        if number - begun + 1 == CLIP:
            starts[begun] = True
            begun = number + 1
        begun = min(begun, len(pairs) - 1)
    return starts


def _add_clips(
    columns: dict[str, Array],
    instruments: FrameInstruments,
    pairs: Sequence[FramePair],
    span: slice,
    starts: NDArray[np.bool_],
) -> None:
    """The features of the runs of frames that begin in this part."""
    inside = np.flatnonzero(starts[span])
    columns["clip"] = starts[span]
    for name, prediction in (("i3d", True), (PARTNER + "i3d", False)):
        runs = [
            [path for pair in pairs[first : first + CLIP] if (path := _path(pair, made=prediction)) is not None]
            for first in (span.start + inside).tolist()
        ]
        vectors = instruments.clips("i3d", runs)
        columns[name] = np.full((len(starts[span]), vectors.shape[1]), np.nan, dtype=np.float32)
        columns[name][inside] = vectors


def unpaired_rows(pairs: Sequence[FramePair], looks: FrameInstruments, asked: MeasurementPlan) -> Iterator[Records]:
    """The rows of two sets, part by part: a row per frame on either side. A pair may have one side only."""
    wanted = features_of(asked.names, asked.options.rules)
    features = [name for name in wanted if looks.available(name)]
    synthesised = [number for number, pair in enumerate(pairs) if pair.prediction is not None]
    weights, split = np.zeros(len(pairs)), np.zeros(len(pairs), dtype=np.int64)
    weights[synthesised] = batch_weights(len(synthesised), asked.options.batch)
    split[synthesised] = np.arange(len(synthesised)) * SPLITS // max(len(synthesised), 1)
    if asked.by_content and "logits" in features:
        split = _splits(pairs)
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
            both = np.array([part[n].prediction is not None for n in inside], dtype=np.bool_) & partnered
            _add_side(columns, reasons, wanted, seen, inside, both)
            if asked.options.on_missing == "error":
                _refuse(reasons, [part[n].id for n in inside])
            columns["reason"] = np.array(reasons, dtype=np.str_)
            yield Records(columns, asked.attributes([part[n] for n in inside]))
        asked.progress(span.stop, len(pairs), "frames")


def _add_side(
    columns: dict[str, Array],
    reasons: list[str],
    wanted: Sequence[str],
    seen: Mapping[str, tuple[FrameFeatures, FrameFeatures]],
    inside: Sequence[int],
    both: Array,
) -> None:
    """The feature vectors of one side's frames, and how alike a synthesised frame and the real one at its place are.

    A feature that is not available has no values; real frames have no cosines. `both`: whether a frame has a partner.
    """
    is_made = bool(columns["synthesised"].all())
    nothing = np.zeros(len(inside), dtype=np.bool_)
    cosines: dict[str, Array] = {}
    for feature in wanted:
        cosine = "sspe" if feature == "body" else f"cosine_{feature}"
        cosines[cosine] = np.full(len(inside), np.nan)
        is_about_a_person = feature in ("osnet", "pcb")
        if feature not in seen:
            columns[feature] = np.full((len(inside), 1), np.nan, dtype=np.float32)
            if is_about_a_person and "person_found" not in columns:
                _note_persons(columns, nothing, looked_for=False)
            continue
        own = seen[feature][0 if is_made else 1]
        columns[feature] = own.values[inside]
        if is_about_a_person:
            _note_persons(columns, own.found[inside], looked_for=True)
        _note(reasons, [own.reasons[number] for number in inside])
        if is_made and feature not in ("inception", "logits"):
            cosines[cosine] = _row_values(feature, *seen[feature])[list(inside)]
    columns |= cosines
    if "face" in wanted:
        # Whether the reference of a pair shows a face; of a frame without a partner, whether it does itself.
        has_face: Array = nothing
        if "face" in seen:
            own, partner = seen["face"][0 if is_made else 1], seen["face"][1]
            has_face = np.where(both, partner.found[list(inside)], own.found[list(inside)])
        columns["reference_has_face"] = has_face
        columns["face_looked_for"] = np.full(len(inside), is_made and "face" in seen)
        columns["face_asked"] = np.where(has_face, columns["asked"], 0.0)
        columns["face_reason"] = _why(has_face, _NO_FACE if "face" in seen else _NOT_LOOKED_FOR)


def _note_persons(columns: dict[str, Array], found: Array, *, looked_for: bool) -> None:
    """Whether a person was found, and whether one was looked for at all."""
    columns["person_found"], columns["person_looked_for"] = found, np.full(len(found), looked_for)
    columns["person_reason"] = _why(found, _NO_PERSON if looked_for else _NOT_LOOKED_FOR)


def _pixel_parts(pairs: Sequence[FramePair], asked: MeasurementPlan) -> Iterator[Records]:
    names = tuple(name for name in asked.names if is_of_pixels(name))
    parts = [
        PixelPart(
            tuple(pairs[span]),
            names,
            asked.options.image_size,
            pairs[span.start - 1] if span.start else None,
            asked.options.most_pixels,
        )
        for span in blocks(len(pairs), asked.part)
    ]
    yield from finished(asked.engine.map(measure_pixels, parts), "part")


def _path(pair: FramePair, *, made: bool) -> Path | None:
    return pair.prediction if made else pair.reference


def _both(looks: FrameInstruments, feature: str, part: Sequence[FramePair]) -> tuple[FrameFeatures, FrameFeatures]:
    """The features on both sides; frames that are not there hold NaN."""
    made, real = [pair.prediction for pair in part], [pair.reference for pair in part]
    return looks.see(feature, made, looks.synthesised), looks.see(feature, real, looks.real)


def _row_values(feature: str, made: FrameFeatures, real: FrameFeatures) -> Array:
    """(pairs,): the cosine of both sides, or the body error; NaN where a side is missing."""
    known: Array = np.asarray(np.isfinite(made.values).all(axis=1) & np.isfinite(real.values).all(axis=1))
    values = np.full(len(known), np.nan)
    if known.any():
        of_rows = sspe_rows if feature == "body" else cosine_rows
        values[known] = of_rows(made.values[known], real.values[known])
    return values


def _pair_values(feature: str, made: FrameFeatures, real: FrameFeatures) -> dict[str, Array]:
    """What a feature says of each pair, by column."""
    if feature == "pose":
        return pose_errors(made.values, real.values)
    if feature == "logits":
        return {"logits": made.values}
    return {"sspe" if feature == "body" else f"cosine_{feature}": _row_values(feature, made, real)}


def _settle(columns: dict[str, Array], part: Sequence[FramePair], reasons: list[str], asked: MeasurementPlan) -> None:
    """What becomes of frames that could not be measured."""
    if asked.options.on_missing == "error":
        _refuse(reasons, [pair.id for pair in part])
    elif asked.options.on_missing == "worst":
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
        others = len(wrong) - 1
        more = (
            f" {others} other frame{'s' if others > 1 else ''} of this part can't be measured either." if others else ""
        )
        raise PredictionError(
            f"{wrong[0][0]} can't be measured: {wrong[0][1]}{more} The evaluation stops here. To leave such frames "
            "out and count them: --set rules=strict --set on_missing=skip."
        )


def _note(reasons: list[str], new: Sequence[str]) -> None:
    for number, reason in enumerate(new):
        if reason and not reasons[number]:
            reasons[number] = reason
