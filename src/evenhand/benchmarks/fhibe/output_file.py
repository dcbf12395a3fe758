"""`model_outputs.json`: a JSON object whose keys are image paths, read without unpacking, written as a stream.

Keys are image paths. A file that was made elsewhere carries another data root, so a key is matched by
its path relative to the root, else by its last components when these are unique. An answer is decoded
when it is asked for; a file of gigabytes is held as bytes, not as Python objects.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from evenhand.core.errors import PredictionError, RunError
from evenhand.core.results import Coverage
from evenhand.core.task import Answers, Codec, Dataset, InputFact, Sample
from evenhand.files import inputs
from evenhand.files.writing import open_file

OUTPUTS = "model_outputs.json"
_EMPTY = (b"null", b"{}", b'{"detections":null,"scores":null}', b'{"detections": null, "scores": null}')
P = TypeVar("P")


class MissingAnswersError(PredictionError):
    """Images have no answer, and were not to be scored as missed."""


class AnswerFormError(TypeError):
    """A part of an answer is of another kind than expected; the message says what was found."""


class OutputFile(NamedTuple):
    """The answers of a file by sample id, in the order of the samples, each still as text."""

    path: Path
    fact: InputFact
    raw: Mapping[str, bytes | msgspec.Raw]
    extra: list[str]  # keys that match no sample


def read_outputs(path: Path, dataset: Dataset[Any]) -> OutputFile:
    """The file itself, or `model_outputs.json` in a folder, matched to the samples of a data set."""
    path = Path(path) / OUTPUTS if Path(path).is_dir() else Path(path)
    source = inputs.read(path, PredictionError)
    ids = [sample.id for sample in dataset.samples]
    entries = top_level(source.data, path)
    _refuse_repeated_keys(source.data, entries, path)
    matched, extra = match_keys(entries, ids, path)
    return OutputFile(path, source.fact, {name: matched[name] for name in ids if name in matched}, extra)


@dataclass(frozen=True)
class Outputs(Mapping[str, P], Generic[P]):
    """Answers by sample id, decoded when they are asked for."""

    raw: Mapping[str, bytes | msgspec.Raw]
    decode: Callable[[str, bytes | msgspec.Raw], P] = field(repr=False)

    def __getitem__(self, sample: str) -> P:
        return self.decode(sample, self.raw[sample])

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)


class OutputsCodec(Codec[P]):
    """The published file: image path → answer. Derive one class per task."""

    filename = OUTPUTS
    holds = ""  # what kind of answers, as `kind_of_answer` names them
    nothing: P  # the answer of an image on which a model found nothing

    @abstractmethod
    def answer(self, value: Any, forms: set[str]) -> P:
        """The answer that a JSON value stands for; adds the form it met to `forms`."""

    @abstractmethod
    def stored(self, answer: P) -> Any:
        """The answer as the published file keeps it."""

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Answers[P]:
        file = read_outputs(path, dataset)
        asked = len(dataset.samples)
        missing = [sample.id for sample in dataset.samples if sample.id not in file.raw]
        empty = sum(memoryview(value).nbytes < 64 and bytes(value).strip() in _EMPTY for value in file.raw.values())
        if missing and getattr(options, "missing", "missed") == "refuse":
            raise MissingAnswersError(
                f"{file.path} has no answer for {len(missing)} of {asked} images: {_some(missing)}. "
                "Write every image (an image without findings too), or score them as missed with --set missing=missed."
                + (f" {len(file.extra)} keys match no image, such as {_some(file.extra[:2])}." if file.extra else "")
            )
        forms: set[str] = set()
        outputs = Outputs(file.raw, partial(self._decode, file.path, forms))
        reasons = {"no answer in the file": len(missing), "answer to no image of the table": len(file.extra)}
        coverage = Coverage(
            asked=asked,
            answered=len(outputs),
            empty=empty,
            missing=len(missing),
            extra=len(file.extra),
            reasons={reason: count for reason, count in reasons.items() if count},
            examples={"no answer in the file": tuple(missing[:5])} if missing else {},
        )
        first = next(iter(outputs), None)
        if first is not None:
            outputs[first]  # the first answer tells the form, and whether this is the right file at all
        facts = {"form": ", ".join(sorted(forms)) or "published"}
        return Answers(outputs, coverage, (file.fact,), facts=facts)

    def write(self, path: Path, answers: Iterable[tuple[str, P]], dataset: Dataset[Any], options: Any) -> None:
        """Every image of the data set; one that a model could not answer is written as nothing found."""
        by_id = dict(answers)
        write_entries(path, (self.entry(sample, by_id.get(sample.id, self.nothing)) for sample in dataset.samples))

    def entry(self, sample: Sample, answer: P) -> tuple[str, Any]:
        """An answer under the path of its image below the data root it was read from."""
        return str(sample.media[0]), self.stored(answer)

    def to_plain(self, answer: P) -> Any:
        """As the file keeps it; an answer that is already in the file's form is checked first."""
        if isinstance(answer, dict | list):
            return self.stored(self.from_plain(answer))
        return self.stored(answer)

    def from_plain(self, plain: Any) -> P:
        try:
            return self.nothing if plain is None or plain == {} else self.answer(plain, set())
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PredictionError(f"an answer that is not in the published form: {error}") from None

    def _decode(self, path: Path, forms: set[str], sample: str, value: bytes | msgspec.Raw) -> P:
        try:
            plain = parse(bytes(value))
        except ValueError as error:
            raise PredictionError(f"{path}, image {sample}: not JSON: {error}") from None
        if plain is None or plain == {}:
            return self.nothing
        try:
            return self.answer(plain, forms)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            kind = kind_of_answer(plain)
            if kind and self.holds and kind != self.holds:
                raise PredictionError(
                    f"{path}, image {sample}: the answer holds {kind}, but this task needs {self.holds}. Is it "
                    f"the file of another task? Expected is {self.example}"
                ) from None
            message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
            if isinstance(error, AnswerFormError):
                message = f"the answer has another form than expected ({message}). Expected is {self.example}"
            elif isinstance(error, TypeError | AttributeError):
                message = f"the answer has another form than expected. Expected is {self.example}"
            raise PredictionError(f"{path}, image {sample}: {message}") from None


def kind_of_answer(value: Any) -> str:
    """What an answer seems to hold; empty when that is unclear.

    >>> kind_of_answer({"detections": [{"Face": 0.9}]}), kind_of_answer({"detections": [[0, 0, 9, 9]]})
    ('probabilities of parts', 'boxes')
    """
    if isinstance(value, dict):
        for name, kind in _KINDS.items():
            if name in value:
                return kind
    listed: Any = value.get("detections") if isinstance(value, dict) else value
    first = listed[0] if isinstance(listed, list) and listed else None
    if isinstance(first, dict):
        return "masks" if "counts" in first else "probabilities of parts"
    if isinstance(first, list) and first:
        return "keypoints" if isinstance(first[0], list) else "boxes"
    return "an embedding" if isinstance(first, int | float) and len(listed) > _LONGEST_BOX else ""


_KINDS = {"detections_rle": "label maps", "super_res_filename": "names of pictures", "embeddings": "an embedding",
          "masks": "masks", "bboxes": "boxes", "keypoints": "keypoints"}  # fmt: skip
_LONGEST_BOX = 8  # numbers of a flat list that may be meant as a box


def top_level(data: bytes, path: Path) -> Mapping[str, bytes | msgspec.Raw]:
    """The entries of a JSON object, each still as text; falls back to a parser that knows NaN."""
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        content = json.loads(inputs.decode(data, path, PredictionError))
    except (ValueError, RecursionError) as error:
        if data.lstrip()[:1] not in (b"{", b"["):
            raise PredictionError(
                f"{path} is not JSON but begins with {data[:40].decode('utf-8', 'replace')!r}. Predictions are a JSON "
                "object that maps the path of every image to its answer; `evenhand describe TASK` shows an example."
            ) from None
        raise PredictionError(f"{path} is not JSON: {error}. Was it written to the end?") from None
    if not isinstance(content, dict):
        raise PredictionError(f"{path} holds a {type(content).__name__}, but a mapping from image paths was expected.")
    return {str(key): json.dumps(value).encode() for key, value in content.items()}


def parse(data: bytes) -> Any:
    """A JSON value; NaN and Infinity, which the published tool writes, are read too."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        if isinstance(error, RecursionError):
            raise ValueError("nested too deep") from None
        return json.loads(data)


def read_stored(path: Path) -> Any:
    """The JSON of a file that an evaluation wrote."""
    try:
        return parse(inputs.read(path, RunError).data)
    except ValueError as error:
        raise RunError(f"{path} is not JSON: {error}. Was it changed or cut? Evaluate again.") from None


def _refuse_repeated_keys(data: bytes, entries: Mapping[str, Any], path: Path) -> None:
    """Refuses a file that names an image twice: of equal keys, a JSON object keeps only the last.

    Ends of names are counted, which is fast; only where there are more of them than keys, all keys are looked at.
    """
    ends = Counter(Path(name).suffix for name in entries)
    if all(data.count(f'{json.dumps(end)[1:-1]}":'.encode()) <= count for end, count in ends.items() if end):
        return

    def checked(pairs: list[tuple[str, Any]]) -> None:
        if repeated := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
            raise PredictionError(
                f"{path} has {len(repeated):,} images twice, such as {repeated[0]}. Write one answer per image."
            )

    json.loads(inputs.decode(data, path, PredictionError), object_pairs_hook=checked)


def match_keys(
    raw: Mapping[str, Any], ids: Sequence[str], path: Path | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Answers by sample id, and the keys that match none.

    Exact paths first, then paths that end in an id, then the last two components where these are
    unique among the ids. Of several keys that mean one image the better match counts; of a file, two that match equally
    well, or both name the whole path, are refused unless their answers are equal.

    >>> match_keys({"/old/root/data/a/b.png": 1, "other": 2}, ["data/a/b.png"])
    ({'data/a/b.png': 1}, ['other'])
    """
    known = set(ids)
    by_tail: dict[str, str | None] = {}
    for name in ids:
        by_tail[_tail(name)] = None if _tail(name) in by_tail else name
    keys: dict[str, str] = {}  # image → the key that matches it best
    matches: dict[str, _Match] = {}
    extra = []
    for key, value in raw.items():
        image, match = _match(key, known, by_tail)
        best = matches.get(image, _Match.NONE)
        alike = match is best or min(match, best) is _Match.END  # the whole path of the image, both of them
        if path is not None and best and alike and bytes(raw[keys[image]]) != bytes(value):
            raise PredictionError(
                f"{path} has two answers to one image, {image}: the second is under {key!r}. Were the files of two "
                "data roots joined? Write one answer per image."
            )
        if match > best:
            extra.extend([keys[image]] if best else [])
            keys[image], matches[image] = key, match
        else:
            extra.append(key)
    return {image: raw[key] for image, key in keys.items()}, extra


def write_entries(path: Path, entries: Iterable[tuple[str, Any]]) -> None:
    """Write a JSON object entry by entry, whole or not at all."""
    with open_file(path, flush=False) as file:
        separator = "{"
        for key, value in entries:
            text = json.dumps(value, allow_nan=False, default=_json_default)
            file.write(f"{separator}{json.dumps(key)}: {text}")
            separator = ", "
        file.write("{}" if separator == "{" else "}")


class _Match(IntEnum):
    """How well a key matches an image, the better the higher."""

    NONE = 0
    TAIL = 1
    END = 2
    EXACT = 3


def _match(key: str, known: set[str], by_tail: Mapping[str, str | None]) -> tuple[str, _Match]:
    if key in known:
        return key, _Match.EXACT
    parts = [part for part in key.replace("\\", "/").split("/") if part not in ("", ".")]
    ends = ("/".join(parts[start:]) for start in range(len(parts)))
    if image := next((end for end in ends if end in known), None):
        return image, _Match.END
    image = by_tail.get(_tail(key))
    return (image, _Match.TAIL) if image else ("", _Match.NONE)


def _tail(path: str) -> str:
    return "/".join(path.replace("\\", "/").split("/")[-2:])


def _json_default(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
