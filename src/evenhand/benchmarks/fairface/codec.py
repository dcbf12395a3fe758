"""Answers matched to labelled images: missing, failed, foreign and repeated ones are counted, none is lost.

Every image stays in the evaluation. One without a usable answer is `unknown` in all
attributes; scoring only what a model chose to answer is not the protocol.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fairface.answer_files import records
from evenhand.benchmarks.fairface.data import REPAIRED, Faces
from evenhand.benchmarks.fairface.image_answers import NOT_THERE, FileSummary, ImageAnswer
from evenhand.benchmarks.fairface.keys import KeyIndex
from evenhand.benchmarks.fairface.normalise import NORMALISER_VERSION, FaceAnswer, Reason, nothing, unknown
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.prompts import PROMPTS
from evenhand.benchmarks.fairface.shapes import without_attribute
from evenhand.benchmarks.fairface.taxonomy import ATTRIBUTES, UNKNOWN
from evenhand.core.errors import EvenhandError, PredictionError
from evenhand.core.results import Coverage
from evenhand.core.task import Answers, Codec, Dataset
from evenhand.files.writing import open_file
from evenhand.models.deepface import plain_values
from evenhand.models.replies import ChatReply
from evenhand.store.manifest import FILENAME, Manifest, read_manifest

_SHOWN = 5  # examples per reason
_MOST_UNREAD = 0.2  # share of the answers
_ZERO = re.compile(r"(?:^|[/\\])0+(?:\.\w+)?\s*$")  # no image of a split is called 0
_NOT_DECODING = ("model", "base_url", "price_in", "price_out")
_UNREAD = frozenset(
    reason.value for reason in (Reason.EMPTY, Reason.NOT_UNDERSTOOD, Reason.LANGUAGE, Reason.CUT_OFF, Reason.RANGE)
)


@dataclass
class _Collected:
    """What a file has about the labelled images, while it is read."""

    answers: dict[int, ImageAnswer] = field(default_factory=dict)  # label row → its first usable answer
    repeated: dict[int, list[ImageAnswer]] = field(default_factory=dict)  # all answers of rows that have several
    asked_again: dict[tuple[int, str], list[FaceAnswer]] = field(default_factory=dict)  # the same, of one attribute
    errors: dict[int, ImageAnswer] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    faces: dict[int, int] = field(default_factory=dict)  # label row → faces in the picture, where there are several


class FaceCodec(Codec[Any]):
    """Free text and JSON of vision-language models, DeepFace's dictionaries, and two kinds of CSV.

    An answer is a text, or JSON values; it is written as it was given, one line per image.
    """

    filename = "answers.jsonl"
    example = (
        '{"image_path": "val/1.jpg", "status": "ok", '
        '"raw_output": "{\\"gender\\": \\"Female\\", \\"race\\": \\"East Asian\\", \\"age\\": \\"20-29\\"}"}'
    )

    def __init__(self, attribute: str = "") -> None:
        self.attribute = attribute  # the one that is evaluated; of the others, unread answers are not warned of

    def read(self, path: Path, dataset: Dataset[Faces], options: FaceOptions) -> Answers[ImageAnswer]:
        """The answers of a file, matched to the images by key and normalised."""
        faces, path = dataset.truth, Path(path)
        summary = FileSummary()
        collected = _collect(path, faces, options, summary)
        _refuse_strangers(path, collected, faces, options)
        _refuse_positions(path, collected, faces)
        merged, counts = _merge(path, collected, faces, options)
        chosen = faces.chosen.tolist()
        by_id = {faces.files[row]: merged[row] for row in chosen if row in merged}
        coverage = _coverage(by_id, chosen, faces, collected)
        reasons = _reasons(by_id, len(chosen))
        _refuse_other_attribute(path, self.attribute, by_id)
        return Answers(
            by_id,
            coverage=coverage,
            inputs=tuple(summary.facts),
            warnings=tuple(_warnings(self.attribute, coverage, reasons, collected, summary, options)),
            facts={
                "families": dict(sorted(summary.families.items())),
                "normaliser_version": NORMALISER_VERSION,
                "missing_predictions": coverage.missing + coverage.unusable,
                "error_records": coverage.unusable,
                "extra_predictions_ignored": len(collected.extra),
                "multi_face_images": sum(1 for row in chosen if collected.faces.get(row, 1) > 1),
                "zero_face_confidence": sum(answer.nothing_found for answer in by_id.values()),
                "unknown_reasons": reasons,
                **counts,
                **({"requests": spent} if (spent := summary.spending()) else {}),
                "provenance": _provenance(path, summary),
            },
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        """JSON lines in the order of the images."""
        with open_file(path) as file:
            for image, answer in answers:
                record = {"image_path": image, "status": "ok", **self.to_plain(answer)}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def to_plain(self, answer: Any) -> Any:
        """The answer under `raw_output`, with what a chat endpoint reported about it."""
        if isinstance(answer, ChatReply):
            return {"raw_output": answer.text, **answer.facts()}
        if isinstance(answer, ImageAnswer):
            return {"raw_output": answer.raw}
        return (
            answer if isinstance(answer, Mapping) and "raw_output" in answer else {"raw_output": plain_values(answer)}
        )


def _collect(path: Path, faces: Faces, options: FaceOptions, summary: FileSummary) -> _Collected:
    index = KeyIndex(faces.files)
    collected = _Collected()
    answers = collected.answers
    for key, answer in records(path, options, summary):
        image, asked = without_attribute(key)
        row = index.find(image)
        if asked and row is not None and not answer.error:
            answer = replace(answer, asked=asked, answer=_only(asked, answer, options))
        if row is None:
            collected.extra.append(key)
        elif answer.error:
            collected.errors[row] = answer
        else:
            if answer.faces > 1:
                collected.faces[row] = max(collected.faces.get(row, 0), answer.faces)
            if row in answers:
                _add(collected, row, answer)
            else:
                answers[row] = answer
    return collected


def _only(attribute: str, answer: ImageAnswer, options: FaceOptions) -> FaceAnswer:
    """What an answer to a question about one attribute says."""
    reading = getattr(answer.answer, attribute)
    if reading.reason is not None:
        reading = getattr(options.normaliser, attribute)(answer.raw)
    return nothing(Reason.EMPTY)._replace(**{attribute: reading})


def _add(collected: _Collected, row: int, answer: ImageAnswer) -> None:
    """A further answer about an image: another face, another attribute, or a repeated answer."""
    first = collected.answers[row]
    if answer.face_number != first.face_number:  # of the FairFace script's faces the lowest counts
        collected.faces[row] = collected.faces.get(row, 1) + 1
        if answer.face_number < first.face_number:
            collected.answers[row] = answer
            collected.repeated.pop(row, None)
    elif answer.asked and answer.asked in first.asked.split():
        collected.asked_again.setdefault((row, answer.asked), [first.answer]).append(answer.answer)
    elif answer.asked and first.asked:
        reading = getattr(answer.answer, answer.asked)
        collected.answers[row] = replace(
            first,
            raw=f"{first.raw}\n{answer.raw}",
            answer=first.answer._replace(**{answer.asked: reading}),
            asked=f"{first.asked} {answer.asked}",
        )
    else:
        collected.repeated.setdefault(row, [first]).append(answer)


def _refuse_strangers(path: Path, collected: _Collected, faces: Faces, options: FaceOptions) -> None:
    if not collected.answers and not collected.errors:
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


def _refuse_positions(path: Path, collected: _Collected, faces: Faces) -> None:
    """Refuses keys that count from 0: they are places in a list, and each would be taken for the next image.

    Places in a list of as many images as are labelled, 1 to N, leave only the 0 without an image.
    """
    if collected.extra and all(map(_ZERO.search, collected.extra)):
        raise PredictionError(
            f"{path}: the images are named by numbers from 0 (such as {collected.extra[0]!r}), but the labels have "
            f"{faces.files[0]!r}. Numbers that count the rows of a list are no names of images. Write the path of "
            "every image, as the label file has it."
        )


def _refuse_other_attribute(path: Path, attribute: str, by_id: Mapping[str, ImageAnswer]) -> None:
    """Refuses a file in which no answer has the attribute, not even empty: it was asked another question.

    Who declines to answer (`"race": null`) is scored, as `unknown`.
    """
    if not attribute or not all(_lacks(answer, attribute) for answer in by_id.values()):
        return
    there = [name for name in ATTRIBUTES if any(getattr(a.answer, name).reason is None for a in by_id.values())]
    if there:
        raise PredictionError(
            f"{path}: no answer says anything of {attribute}; they are about {' and '.join(there)}. Evaluate "
            f"fairface/{there[0]}, or name the column or key with the answers {attribute}."
        )


def _lacks(answer: ImageAnswer, attribute: str) -> bool:
    """Whether an attribute is not in an answer at all; nor is it in one that is an error, or nothing."""
    if getattr(answer.answer, attribute).reason is None:
        return False
    if answer.asked:
        return attribute not in answer.asked.split()
    return bool(answer.error) or not answer.raw or answer.about(attribute) == NOT_THERE


def _merge(
    path: Path, collected: _Collected, faces: Faces, options: FaceOptions
) -> tuple[dict[int, ImageAnswer], dict[str, int]]:
    """One answer per image, and how many repeated ones there were."""
    merged = {**collected.errors, **collected.answers}
    conflicts: list[int] = []
    collapsed = 0
    for (row, attribute), given in collected.asked_again.items():
        if len({_value(answer, attribute) for answer in given}) == 1:
            collapsed += len(given) - 1
            continue
        conflicts.append(row)
        last = getattr(given[-1], attribute)
        chosen = {"last": last, "unknown": unknown(Reason.CONFLICT)}.get(options.duplicates)
        if chosen is not None:
            merged[row] = replace(merged[row], answer=merged[row].answer._replace(**{attribute: chosen}))
    for row, answers in collected.repeated.items():
        if len({_values(answer) for answer in answers}) == 1:
            collapsed += len(answers) - 1
            continue
        conflicts.append(row)
        if options.duplicates == "unknown":
            merged[row] = _agreed(answers)
        else:
            merged[row] = answers[-1 if options.duplicates == "last" else 0]
    if conflicts and options.duplicates == "error":
        conflicts = list(dict.fromkeys(conflicts))
        named = ", ".join(faces.files[row] for row in conflicts[:_SHOWN])
        raise PredictionError(
            f"{path}: {len(conflicts)} images have conflicting answers: {named}. Keep one answer per image, "
            "or choose with --set duplicates=first, last or unknown."
        )
    return merged, {"identical_duplicates_collapsed": collapsed, "conflicting_duplicates": len(set(conflicts))}


def _values(answer: ImageAnswer) -> tuple[Any, ...]:
    return answer.answer.race.fine, *map(answer.answer.value, ATTRIBUTES)


def _value(answer: FaceAnswer, attribute: str) -> Any:
    """What an answer says of an attribute; of race, in seven classes too."""
    return answer.value(attribute), answer.race.fine if attribute == "race" else ""


def _agreed(replies: list[ImageAnswer]) -> ImageAnswer:
    """The first reply with the attributes that conflict made unknown."""
    answer = replies[0].answer
    if len({reply.answer.race.fine for reply in replies}) > 1:
        answer = answer._replace(race=answer.race._replace(fine=UNKNOWN))
    for attribute in ATTRIBUTES:
        if len({reply.answer.value(attribute) for reply in replies}) > 1:
            answer = answer._replace(**{attribute: unknown(Reason.CONFLICT)})
    return replace(replies[0], answer=answer)


def _warnings(
    attribute: str,
    coverage: Coverage,
    reasons: Mapping[str, Mapping[str, int]],
    collected: _Collected,
    summary: FileSummary,
    options: FaceOptions,
) -> Iterator[str]:
    if summary.repaired:
        yield REPAIRED
    yield from summary.notes
    if collected.extra:
        yield (
            f"{len(collected.extra)} answers are about images that are not labelled, and were ignored "
            f"(such as {', '.join(collected.extra[:_SHOWN])})"
        )
    if options.race_column == "race4" and "fairface_csv" in summary.families:
        yield "race4 knows four races: Latino_Hispanic and Middle_Eastern can never be right"
    for name in [attribute] if attribute else ATTRIBUTES:
        unread = {reason: count for reason, count in reasons[name].items() if reason in _UNREAD}
        count = sum(unread.values())
        if count > _MOST_UNREAD * coverage.answered:
            why = ", ".join(f"{reason} {number:,}" for reason, number in unread.items())
            yield (
                f"{count / coverage.answered:.0%} of the answers ({count:,} of {coverage.answered:,}) could not be "
                f"read for {name}: {why}. They count as wrong; `evenhand check` lists them, and "
                '`evenhand fairface read "TEXT"` shows how an answer is read.'
            )


def _coverage(by_id: Mapping[str, ImageAnswer], chosen: list[int], faces: Faces, collected: _Collected) -> Coverage:
    complete = len(by_id) == len(chosen)
    images: dict[str, list[str]] = {
        "missing": [] if complete else [faces.files[row] for row in chosen if faces.files[row] not in by_id],
        "error": [],
        "empty": [],
        "refusal": [],
        "not a labelled image": collected.extra,
    }
    listed: dict[int, list[str] | None] = {}  # by answer, which most images share with many others
    for image, answer in by_id.items():
        if id(answer) not in listed:
            gender, race, age = (reading.reason for reading in answer.answer)
            listed[id(answer)] = images.get(gender.value) if gender and gender is race is age else None
        if (images_alike := listed[id(answer)]) is not None:
            images_alike.append(image)
    return Coverage(
        asked=len(chosen),
        answered=len(by_id) - len(images["error"]) - len(images["refusal"]),
        empty=len(images["empty"]),
        unusable=len(images["error"]),
        missing=len(images["missing"]),
        extra=len(collected.extra),
        reasons={reason: len(alike) for reason, alike in images.items() if alike},
        examples={reason: tuple(alike[:_SHOWN]) for reason, alike in images.items() if alike},
    )


def _reasons(by_id: Mapping[str, ImageAnswer], images: int) -> dict[str, dict[str, int]]:
    """Per attribute, how many images are unknown for which reason."""
    answers = {id(answer): answer.answer for answer in by_id.values()}
    shared = Counter(map(id, by_id.values()))
    table: dict[str, dict[str, int]] = {}
    for attribute in ATTRIBUTES:
        counts: Counter[Reason | None] = Counter({Reason.MISSING: images - len(by_id)})
        for key, count in shared.items():
            counts[getattr(answers[key], attribute).reason] += count
        table[attribute] = {reason.value: counts[reason] for reason in Reason if counts[reason]}
    return table


def _provenance(path: Path, summary: FileSummary) -> dict[str, Any]:
    """What made the answers of a file: prompt, model and decoding settings, as far as it is known.

    Answers that `predict` wrote have their run's manifest beside them. Of any other file only what its records tell is
    known; nothing is assumed.
    """
    manifest = _manifest_of(path)
    common = {name: dict(counts.most_common(5)) for name, counts in summary.values.items()}
    files = {Path(fact.path).name: fact.hash for fact in summary.facts}
    finish_reasons = {"finish_reasons": common["finish_reason"]} if "finish_reason" in common else {}
    if manifest is None:
        models = ", ".join(common.get("model", ())) or UNKNOWN
        known = {"written_by": UNKNOWN, "model": models, "prompt": UNKNOWN, "decoding": UNKNOWN}
        return {**known, "files": files, **finish_reasons}
    facts = manifest.model_facts
    name = str(manifest.options.get("prompt") or "all-v1")
    return {
        "written_by": "evenhand predict",
        "model": manifest.model,
        "prompt": name,
        "prompt_text": PROMPTS.get(name, name),
        "endpoint": facts.get("base_url", ""),
        "decoding": {key: value for key, value in facts.items() if key not in _NOT_DECODING} or UNKNOWN,
        "asked": manifest.clock.started if manifest.clock else "",
        "files": files,
        **finish_reasons,
        **({"forms": common["form"]} if "form" in common else {}),
    }


def _manifest_of(path: Path) -> Manifest | None:
    """The manifest of the predictions that a file belongs to; None when it was not written by `predict`."""
    for folder in (path.parent, path.parent.parent):
        if (folder / FILENAME).is_file():
            try:
                manifest = read_manifest(folder)
            except EvenhandError:
                return None
            return manifest if manifest.kind == "predictions" and isinstance(manifest.options, Mapping) else None
    return None
