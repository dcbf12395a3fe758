"""Answer files, record by record, in whatever shape they come; nothing is matched or merged here.

JSON lines, JSON lists, objects keyed by image, delimited text, Parquet and Excel tables, each perhaps
compressed; the format is detected from the content. A record has the key of an image, and either an
answer or the error that came instead.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from evenhand.benchmarks.fairface.image_answers import ATTRIBUTES, CachedNormaliser, FileSummary, ImageAnswer
from evenhand.benchmarks.fairface.json_records import json_records
from evenhand.benchmarks.fairface.normalise import FaceAnswer, Normaliser
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.table_records import (
    delimited_table,
    excel_table,
    parquet_table,
    table_records,
)
from evenhand.core.errors import PredictionError
from evenhand.files.delimited import LONGEST_LINE
from evenhand.files.inputs import HashingFile, decode, opened
from evenhand.files.text_files import MOST_EXPANSION, expanding, most_expanded

_FOLDER_KINDS: Final = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz", ".ndjson")
_TYPED_TABLES: Final = {b"PAR1": parquet_table, b"PK\x03\x04": excel_table}  # by the first bytes of a file


def records(path: Path, options: FaceOptions, summary: FileSummary) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a file in its order, with the keys as they are written; of a folder, those of all its files."""
    read = CachedNormaliser(options.normaliser)
    if path.is_dir():
        for file in _files_of(path):
            yield from _records_of(file, options, summary, read, _attribute_of_name(file.name))
    else:
        yield from _records_of(path, options, summary, read, "")


def texts_of(path: Path, normaliser: Normaliser) -> Iterator[tuple[str, FaceAnswer]]:
    """The answers of a file with what they give; a file without records has an answer in each line."""
    options = FaceOptions()
    try:
        for _, found in records(path, options, FileSummary()):
            yield found.raw, found.answer if found.cells is not None else normaliser.answer(found.raw)
    except PredictionError:
        with opened(path, PredictionError) as file:
            text = decode(file.read(), path, PredictionError)
        for line in filter(str.strip, text.split("\n")):
            yield line, normaliser.answer(line)


def _files_of(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.endswith(_FOLDER_KINDS))
    named = [file for file in files if _attribute_of_name(file.name)]
    if not named:
        there = ", ".join(file.name for file in files[:8]) or "no answer file"
        raise PredictionError(
            f"{folder} is a folder without a file for each attribute (there is {there}). "
            "Name the answer file itself, or call the files gender, race and age."
        )
    return named


def _attribute_of_name(name: str) -> str:
    parts = re.split(r"[^a-z]+", name.lower())
    named = [attribute for attribute in ATTRIBUTES if attribute in parts]
    return named[0] if len(named) == 1 else ""


def _records_of(
    path: Path, options: FaceOptions, summary: FileSummary, read: CachedNormaliser, attribute: str
) -> Iterator[tuple[str, ImageAnswer]]:
    with opened(path, PredictionError) as file:
        start = file.read(8)
        file.seek(0)
        typed_table = _TYPED_TABLES.get(start[:4])
        if typed_table is not None:
            yield from table_records(typed_table(path), path, options, summary, read)
            return
        raw = HashingFile(file, path)
        stream: Any = expanding(raw, start) or raw
        limit = math.inf if stream is raw else most_expanded(path.stat().st_size)
        buffered = io.BufferedReader(stream, 1 << 20)
        try:
            head = buffered.peek(4096)[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
        except (OSError, EOFError) as error:
            raise PredictionError(f"{path} is cut off or damaged: {error}.") from None
        if not head:
            raise PredictionError(f"{path} is empty. It should have one record per image.")
        decode(head.rsplit(b"\n", 1)[0] if b"\n" in head else head[:64], path, PredictionError)
        is_json = head[:1] in b"{[" if options.family == "auto" else options.family in ("vlm", "deepface")
        if is_json:
            yield from json_records(_lines(buffered, path, limit), path, options, summary, read, attribute)
            summary.facts.append(raw.fact())
            return
    yield from table_records(delimited_table(path), path, options, summary, read)


def _lines(stream: BinaryIO, path: Path, limit: float) -> Iterator[bytes]:
    number, seen = 0, 0
    try:
        while line := stream.readline(LONGEST_LINE):
            number, seen = number + 1, seen + len(line)
            if seen > limit or len(line) >= LONGEST_LINE:
                raise PredictionError(
                    f"{path}, line {number}: no line may have {LONGEST_LINE >> 20} MiB, and no compressed file may "
                    f"expand to more than {MOST_EXPANSION} times its size. Expand it yourself if it is meant to."
                )
            yield line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except (EOFError, OSError) as error:
        raise PredictionError(f"{path} is cut off or damaged: {error}.") from None
