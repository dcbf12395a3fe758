"""Answers matched to labelled images: missing, failed, foreign and repeated ones are counted, none is lost.

Every image stays in the evaluation. One without a usable answer is `unknown` in all
attributes; scoring only what a model chose to answer is not the protocol.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fairface.data import REPAIRED, Faces
from evenhand.benchmarks.fairface.keys import KeyIndex
from evenhand.benchmarks.fairface.normalise import NORMALISER_VERSION, Answer, Reason, nothing
from evenhand.benchmarks.fairface.normalise.readings import no_age, no_gender, no_race
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.replies import Reading, Reply, records
from evenhand.benchmarks.fairface.taxonomy import UNKNOWN
from evenhand.core.errors import PredictionError
from evenhand.core.results import Coverage
from evenhand.core.task import Answers, Codec, Dataset
from evenhand.models.replies import ChatReply

_SHOWN = 5  # examples per reason


@dataclass
class _Collected:
    """What a file says about the labelled images, while it is read."""

    replies: dict[int, list[Reply]] = field(default_factory=dict)  # label row → its usable replies, in file order
    errors: dict[int, Reply] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    faces: dict[int, int] = field(default_factory=dict)  # label row → faces in the picture


class FaceCodec(Codec[Any]):
    """Free text and JSON of vision-language models, DeepFace's dictionaries, and two kinds of CSV.

    An answer is a text, or JSON values; it is written as it was given, one line per image.
    """

    filename = "answers.jsonl"
    example = (
        '{"image_path": "val/1.jpg", "status": "ok", '
        '"raw_output": "{\\"gender\\": \\"Female\\", \\"race\\": \\"East Asian\\", \\"age\\": \\"20-29\\"}"}'
    )

    def read(self, path: Path, dataset: Dataset[Faces], options: FaceOptions) -> Answers[Reply]:
        """The answers of a file, matched to the images by key and normalised."""
        faces = dataset.truth
        reading = Reading()
        collected = _collect(Path(path), faces, options, reading)
        _refuse_strangers(Path(path), collected, faces, options)
        found, counts = _merge(Path(path), collected, faces, options)
        chosen = [int(row) for row in faces.chosen]
        by_id = {faces.files[row]: found[row] for row in chosen if row in found}
        warnings = []
        if reading.repaired:
            warnings.append(REPAIRED)
        if collected.extra:
            warnings.append(
                f"{len(collected.extra)} answers are about images that are not labelled, and were ignored "
                f"(such as {', '.join(collected.extra[:_SHOWN])})"
            )
        if options.race_column == "race4" and "fairface_csv" in reading.families:
            warnings.append("race4 knows four races: Latino_Hispanic and Middle_Eastern can never be right")
        return Answers(
            by_id,
            coverage=_coverage(by_id, chosen, faces, collected),
            inputs=(reading.fact,) if reading.fact else (),
            warnings=tuple(warnings),
            facts={
                "families": dict(sorted(reading.families.items())),
                "normaliser_version": NORMALISER_VERSION,
                "missing_predictions": sum(_is_missing(by_id.get(faces.files[row])) for row in chosen),
                "error_records": sum(1 for row in chosen if row in collected.errors and row not in collected.replies),
                "extra_predictions_ignored": len(collected.extra),
                "multi_face_images": sum(collected.faces.get(row, 1) > 1 for row in chosen),
                "zero_face_confidence": sum(reply.nothing_found for reply in by_id.values()),
                "unknown_reasons": _reasons(by_id, len(chosen)),
                **counts,
                **({"requests": spent} if (spent := reading.spending()) else {}),
            },
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        """JSON lines in the order of the images."""
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            for image, answer in answers:
                record = {"image_path": image, "status": "ok", **self.to_plain(answer)}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def to_plain(self, answer: Any) -> Any:
        """The answer under `raw_output`, with what a chat endpoint told about it."""
        if isinstance(answer, ChatReply):
            return {"raw_output": answer.text, **answer.facts()}
        if isinstance(answer, Reply):
            return {"raw_output": answer.raw}
        return answer if isinstance(answer, Mapping) and "raw_output" in answer else {"raw_output": _plain(answer)}

    def from_plain(self, plain: Any) -> Any:
        """The answer as it was journalled."""
        return plain


def _collect(path: Path, faces: Faces, options: FaceOptions, reading: Reading) -> _Collected:
    index = KeyIndex(faces.files)
    collected = _Collected()
    lowest: dict[int, int] = {}  # of the FairFace script's faces
    numbers: dict[int, set[int]] = {}
    for key, reply in records(path, options, reading):
        row = index.find(key)
        if row is None:
            collected.extra.append(key)
        elif reply.error:
            collected.errors[row] = reply
        else:
            numbers.setdefault(row, set()).add(reply.face_number)
            collected.faces[row] = max(collected.faces.get(row, 0), reply.faces, len(numbers[row]))
            if reply.face_number < lowest.get(row, reply.face_number + 1):
                lowest[row] = reply.face_number
                collected.replies[row] = [reply]
            elif reply.face_number == lowest[row]:
                collected.replies[row].append(reply)
    return collected


def _refuse_strangers(path: Path, collected: _Collected, faces: Faces, options: FaceOptions) -> None:
    if not collected.replies and not collected.errors:
        shown = ", ".join(repr(key) for key in collected.extra[:_SHOWN]) or "no record at all"
        raise PredictionError(
            f"{path}: no answer is about a labelled image. The file has keys such as {shown}; "
            f"the labels have {faces.files[0]!r}. Is it the file of this split?"
        )
    if collected.extra and options.extra == "error":
        raise PredictionError(
            f"{path}: {len(collected.extra)} answers are about images that are not labelled: "
            f"{', '.join(collected.extra[:_SHOWN])}. Leave out --set extra=error to ignore and count them."
        )


def _merge(
    path: Path, collected: _Collected, faces: Faces, options: FaceOptions
) -> tuple[dict[int, Reply], dict[str, int]]:
    """One reply per image, and how many repeated ones there were."""
    found: dict[int, Reply] = dict(collected.errors)
    conflicts: list[int] = []
    collapsed = 0
    for row, replies in collected.replies.items():
        different = {_values(reply) for reply in replies}
        if len(different) == 1:
            collapsed += len(replies) - 1
        else:
            conflicts.append(row)
        found[row] = replies[-1] if options.duplicates == "last" else replies[0]
        if len(different) > 1 and options.duplicates == "unknown":
            found[row] = _agreed(replies)
    if conflicts and options.duplicates == "error":
        named = ", ".join(faces.files[row] for row in conflicts[:_SHOWN])
        raise PredictionError(
            f"{path}: {len(conflicts)} images have conflicting answers: {named}. Keep one answer per image, "
            "or choose with --set duplicates=first, last or unknown."
        )
    return found, {"identical_duplicates_collapsed": collapsed, "conflicting_duplicates": len(conflicts)}


def _values(reply: Reply) -> tuple[Any, ...]:
    answer = reply.answer
    return answer.gender.label, answer.race.label, answer.race.fine, answer.age.interval


def _agreed(replies: list[Reply]) -> Reply:
    """The first reply with the attributes that conflict made unknown."""
    answer = replies[0].answer
    if len({reply.answer.gender.label for reply in replies}) > 1:
        answer = answer._replace(gender=no_gender(Reason.CONFLICT))
    if len({reply.answer.race.label for reply in replies}) > 1:
        answer = answer._replace(race=no_race(Reason.CONFLICT))
    elif len({reply.answer.race.fine for reply in replies}) > 1:
        answer = answer._replace(race=answer.race._replace(fine=UNKNOWN))
    if len({reply.answer.age.interval for reply in replies}) > 1:
        answer = answer._replace(age=no_age(Reason.CONFLICT))
    return replace(replies[0], answer=answer)


def _is_missing(reply: Reply | None) -> bool:
    return reply is None or bool(reply.error)


def _coverage(by_id: Mapping[str, Reply], chosen: list[int], faces: Faces, collected: _Collected) -> Coverage:
    usable = {image: reply for image, reply in by_id.items() if not reply.error}
    failed = [image for image, reply in by_id.items() if reply.error]
    absent = [faces.files[row] for row in chosen if faces.files[row] not in by_id]
    empty = nothing(Reason.EMPTY)
    silent = [image for image, reply in usable.items() if reply.answer == empty]
    reasons = {"missing": absent, "error": failed, "empty": silent, "not a labelled image": collected.extra}
    return Coverage(
        asked=len(chosen),
        answered=len(usable),
        empty=len(silent),
        unusable=len(failed),
        missing=len(absent),
        extra=len(collected.extra),
        reasons={reason: len(images) for reason, images in reasons.items() if images},
        examples={reason: tuple(images[:_SHOWN]) for reason, images in reasons.items() if images},
    )


def _reasons(by_id: Mapping[str, Reply], images: int) -> dict[str, dict[str, int]]:
    """Per attribute, how many images are unknown for which reason."""
    found: dict[str, dict[str, int]] = {}
    for attribute in Answer._fields:
        counts = Counter(getattr(reply.answer, attribute).reason for reply in by_id.values())
        counts[Reason.MISSING] += images - len(by_id)
        found[attribute] = {reason.value: counts[reason] for reason in Reason if counts[reason]}
    return found


def _plain(answer: Any) -> Any:
    """JSON values of an answer, NumPy numbers included (DeepFace gives them)."""
    if isinstance(answer, Mapping):
        return {str(key): _plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [_plain(value) for value in answer]
    if hasattr(answer, "item") and not isinstance(answer, str):
        return answer.item()
    return answer
