"""Answer files, record by record, in whatever shape they come; nothing is matched or merged here.

JSON lines, JSON lists, objects keyed by image, delimited text, Parquet and Excel tables, each perhaps
compressed; the format is detected from the content. A record has the key of an image, and either an
answer or the error that came instead.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from evenhand.benchmarks.fairface.image_answers import AnswerReader, FileSummary, ImageAnswer
from evenhand.benchmarks.fairface.json_records import json_records
from evenhand.benchmarks.fairface.normalise import FaceAnswer, Normaliser
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.table_records import delimited_table, excel_table, parquet_table, table_records
from evenhand.benchmarks.fairface.taxonomy import ATTRIBUTES
from evenhand.core.errors import PredictionError
from evenhand.files.delimited import LONGEST_LINE
from evenhand.files.inputs import decode, opened
from evenhand.files.text_files import TextFile, text_file

_BLOCK: Final = 1 << 20
_FOLDER_KINDS: Final = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz", ".ndjson")
_TYPED_TABLES: Final = {b"PAR1": parquet_table, b"PK\x03\x04": excel_table}  # by the first bytes of a file


def records(path: Path, options: FaceOptions, summary: FileSummary) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a file in its order, with the keys as they are written; of a folder, those of all its files."""
    read = AnswerReader(options, summary)
    if path.is_dir():
        for file in _files_of(path):
            yield from _records_of(file, read, _attribute_of_name(file.name))
    else:
        yield from _records_of(path, read, "")


def texts_of(path: Path, normaliser: Normaliser) -> Iterator[tuple[str, FaceAnswer]]:
    """The answers of a file with what they give; a file without records has an answer in each line."""
    try:
        for _, answer in records(path, FaceOptions(), FileSummary()):
            yield answer.raw, answer.answer if answer.cells is not None else normaliser.answer(answer.raw)
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


def _records_of(path: Path, read: AnswerReader, attribute: str) -> Iterator[tuple[str, ImageAnswer]]:
    with opened(path, PredictionError) as file:
        typed_table = _TYPED_TABLES.get(file.read(4))
    if typed_table is not None:
        yield from table_records(typed_table(path), path, read)
        return
    with text_file(path, PredictionError) as source:
        head = bytes(source.fetch(4096)).removeprefix(b"\xef\xbb\xbf")
        begun = head.lstrip()
        if not begun:
            raise PredictionError(f"{path} is empty. It should have one record per image.")
        decode(begun.rsplit(b"\n", 1)[0] if b"\n" in begun else begun[:64], path, PredictionError)
        family = read.options.family
        is_json = begun[:1] in b"{[" if family == "auto" else family in ("vlm", "deepface")
        if is_json:
            yield from json_records(_lines(head, source), path, read, attribute)
            read.summary.facts.append(source.fact())
            return
    yield from table_records(delimited_table(path), path, read)


def _lines(head: bytes, source: TextFile) -> Iterator[bytes]:
    """The lines of a file that begins with some bytes that were fetched already."""
    number, rest = 0, head
    while block := source.fetch(_BLOCK):
        *lines, rest = io.BytesIO(rest + block).readlines()
        yield from lines
        number += len(lines)
        if len(rest) >= LONGEST_LINE:
            raise PredictionError(
                f"{source.path}, line {number + 1}: no line may have {LONGEST_LINE >> 20} MiB. "
                "Write one record per line."
            )
    yield from io.BytesIO(rest)
