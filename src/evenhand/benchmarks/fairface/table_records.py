"""Records of answer tables: delimited text, Parquet and Excel files, read column by column.

The header decides what is read; rows that say the same are understood once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenhand.benchmarks.fairface.confidences import largest_share, one_confidence
from evenhand.benchmarks.fairface.data import repair_age
from evenhand.benchmarks.fairface.image_answers import (
    FINE_STATUS,
    LONGEST_REMEMBERED,
    MOST_REMEMBERED,
    NOT_THERE,
    AnswerReader,
    ImageAnswer,
    as_text,
    exception_in,
    failed,
)
from evenhand.benchmarks.fairface.keys import without_face_number
from evenhand.benchmarks.fairface.normalise.structured import ATTRIBUTE_OF, as_number, letters_only
from evenhand.benchmarks.fairface.shapes import IMAGE_KEYS, TEXT_KEYS, attribute_asked, column_of
from evenhand.benchmarks.fairface.taxonomy import ATTRIBUTES, PerAttribute
from evenhand.core.errors import PredictionError
from evenhand.core.task import InputFact
from evenhand.files.columnar import read_parquet
from evenhand.files.delimited import CellKind, read_header, read_table, shown_names
from evenhand.files.inputs import hash_of

FACE_NAME: Final = "face_name_align"
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class AnswerTable(NamedTuple):
    """The names of a table's columns, and how to read some of them."""

    names: Sequence[str]
    read: Callable[[Sequence[int]], tuple[list[list[str]], Sequence[int], InputFact]]  # columns, lines, the file


def table_records(table: AnswerTable, path: Path, read: AnswerReader) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a table in its order."""
    summary = read.summary
    columns = _Columns(table.names, path, read)
    summary.notes.extend(columns.notes)
    cells, lines, fact = table.read(columns.places)
    keys = [key.strip() for key in cells[0]]
    if "" in keys:
        raise PredictionError(f"{path}, line {lines[keys.index('')]}: the cell that names the image is empty.")
    summary.repaired += columns.repaired(cells)
    answers: dict[tuple[str, ...], ImageAnswer] = {}  # of rows that say the same
    filled = False
    for at, (key, row) in enumerate(zip(keys, zip(*cells[1:], strict=True), strict=True)):
        answer = answers.get(row)
        if answer is None:
            try:
                answer = columns.answer(row)
            except PredictionError as error:
                raise PredictionError(f"{path}, line {lines[at]}: {error}") from None
            filled = filled or bool(answer.error) or bool(answer.raw.strip("; "))
            if len(answers) < MOST_REMEMBERED and len(answer.raw) <= LONGEST_REMEMBERED:
                answers[row] = answer
        if columns.is_script:
            key, number = without_face_number(key)
            answer = replace(answer, face_number=number) if number else answer
        yield key, answer
    summary.families[columns.family] += len(keys)
    summary.facts.append(fact)
    if keys and not filled:
        raise PredictionError(
            f"{path}: no row has an answer: the cells of {', '.join(columns.answer_names)} are all empty. The columns "
            f"are {shown_names(table.names)}; name the one that holds the answers raw_output, or gender, race and age."
        )


def delimited_table(path: Path) -> AnswerTable:
    """A file of comma-, semicolon-, tab- or bar-separated values."""
    header = read_header(path, PredictionError, separator=None)

    def read(places: Sequence[int]) -> tuple[list[list[str]], Sequence[int], InputFact]:
        wanted = {header.names[place]: CellKind.CELL for place in places}
        table = read_table(path, wanted, PredictionError, separator=header.separator)
        columns = {name: table.frame[name].to_list() for name in wanted}
        return [columns[header.names[place]] for place in places], table.lines.tolist(), table.fact

    return AnswerTable(header.names, read)


def parquet_table(path: Path) -> AnswerTable:
    """A Parquet file."""
    frame = read_parquet(path, PredictionError)
    return _typed_table(path, frame.columns, lambda place: frame.to_series(place).to_list())


def excel_table(path: Path) -> AnswerTable:
    """The first sheet of an Excel file."""
    try:
        import openpyxl  # type: ignore[import-untyped, unused-ignore]  # no types, and optional
    except ImportError:
        raise PredictionError(
            f"{path} is an Excel file, which needs openpyxl: pip install openpyxl. Or save it as CSV."
        ) from None
    try:
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets[0]
        header, *rows = [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
    except Exception as error:  # a damaged workbook raises anything
        raise PredictionError(f"{path} can't be read as an Excel file ({type(error).__name__}: {error}).") from None
    width = len(header)
    padded = [(*row[:width], *[None] * (width - len(row))) for row in rows]
    return _typed_table(path, [as_text(cell) for cell in header], lambda place: [row[place] for row in padded])


def _typed_table(path: Path, names: Sequence[str], column: Callable[[int], list[Any]]) -> AnswerTable:
    def read(places: Sequence[int]) -> tuple[list[list[str]], Sequence[int], InputFact]:
        columns = [[_cell(value) for value in column(place)] for place in places]
        return columns, range(2, 2 + len(columns[0])), hash_of(path, PredictionError)

    return AnswerTable(names, read)


def _cell(value: Any) -> str:
    """A typed cell as text; a date as spreadsheets show the ages that they take for dates (3-9, 10-19)."""
    if isinstance(value, date):
        month = _MONTHS[value.month - 1]
        return f"{month}-{value.year % 100:02}" if value.day == 1 else f"{value.day:02}-{month}"
    return as_text(value)


class _Columns:
    """Which columns of a table have its key, its attributes or its text, and what a row of them says."""

    def __init__(self, names: Sequence[str], path: Path, read: AnswerReader) -> None:
        self.path, self.read = path, read
        options = read.options
        plain = [name.strip().lower() for name in names]
        self.is_script = FACE_NAME in plain if options.family == "auto" else options.family == "fairface_csv"
        self.family = "fairface_csv" if self.is_script else "csv"
        key_names = (FACE_NAME,) if self.is_script else IMAGE_KEYS
        self.key = _place(plain, key_names)
        self.notes: list[str] = []
        if self.key < 0:
            raise PredictionError(
                f"{path}, line 1: no column for the image; found {shown_names(names) or 'nothing'}. "
                f"Name one of the columns {', '.join(key_names)}."
            )
        text = _place(plain, [name for name in TEXT_KEYS if name != plain[self.key]])
        attributes = self._attributes(names, plain, text)
        if self.is_script and options.race_column == "race4":
            attributes["race"] = _place(plain, ("race4",))
        if max(attributes.values()) < 0 and text < 0:
            raise PredictionError(
                f"{path}, line 1: no column gender, race or age; found {shown_names(names)}. "
                f"Name at least one of them, or put the whole answer into a column: {', '.join(TEXT_KEYS[:9])}."
            )
        self.reads_text = max(attributes.values()) < 0
        wanted = {"text": text} if self.reads_text else attributes
        self.answer_names = [names[at] for at in wanted.values() if at >= 0]
        wanted = {**wanted, "status": _place(plain, ("status",))}
        if self.reads_text:
            wanted["attribute"] = _place(plain, ("attribute", "question_type", "task"))
            wanted["question"] = _place(plain, ("question", "prompt", "query"))
        else:
            wanted["face_confidence"] = _place(plain, ("face_confidence",))
            if options.confidence == "on":
                for name in ATTRIBUTES:
                    wanted[f"{name}_stated"] = _place(plain, (f"{name}_confidence", f"{name}_scores_fair"))
        present = {name: at for name, at in wanted.items() if at >= 0}
        self.places = (self.key, *present.values())
        self._order = {name: order for order, name in enumerate(present)}  # of the cells of a row, without the key

    def _attributes(self, header: Sequence[str], plain: list[str], text: int) -> dict[str, int]:
        """Where the predicted attributes stand; what is called true, or stands beside a prediction, is not read."""
        by_role: dict[str, dict[str, int]] = {"predicted": {}, "true": {}, "": {}}
        precedence = {name: order for order, name in enumerate(ATTRIBUTE_OF)}
        named = [(column_of(name), at) for at, name in enumerate(header) if at != self.key]
        for column, at in sorted(
            ((column, at) for column, at in named if column),
            key=lambda pair: precedence.get(letters_only(header[pair[1]]), len(precedence)),
        ):
            by_role[column.role].setdefault(column.attribute, at)
        predicted, bare = by_role["predicted"], by_role[""]
        if predicted and (bare or by_role["true"]):
            shown = ", ".join(header[at] for at in (*bare.values(), *by_role["true"].values()))
            self.notes.append(f"columns taken as labels, not as answers: {shown}")
        chosen = predicted or bare
        if not predicted and bare and text >= 0:
            raise PredictionError(
                f"{self.path}, line 1: the columns {', '.join(header[at] for at in bare.values())} may be labels or "
                f"answers, and {header[text]} may be the answer. Call the answers gender_pred, race_pred and "
                "age_pred, or leave out what is not an answer."
            )
        if not predicted and "service_test" in plain:
            raise PredictionError(
                f"{self.path}, line 1: this is a label file (it has service_test), and no column is called predicted. "
                "Call the columns with the answers gender_pred, race_pred, age_pred."
            )
        return {attribute: chosen.get(attribute, -1) for attribute in ATTRIBUTES}

    def repaired(self, cells: Sequence[Sequence[str]]) -> int:
        """How many ages a spreadsheet has turned into dates."""
        if "age" not in self._order:
            return 0
        ages = Counter(cells[1 + self._order["age"]])
        return sum(count for age, count in ages.items() if repair_age(age) is not None)

    def answer(self, row: Sequence[str]) -> ImageAnswer:
        """What the cells of a row say, its key left out."""
        cells = {name: row[order] for name, order in self._order.items()}
        if (status := cells.get("status", "").strip().lower()) not in FINE_STATUS:
            return failed("", f"status {status!r}")
        return self._text_answer(cells) if self.reads_text else self._cells_answer(cells)

    def _cells_answer(self, cells: Mapping[str, str]) -> ImageAnswer:
        read = self.read.normaliser
        answered = PerAttribute(
            *(self.read.decoded(name, cells.get(name, ""), integers=name != "age") for name in ATTRIBUTES)
        )
        return ImageAnswer(
            "; ".join(answered),
            read.fields(answered._replace(age=repair_age(answered.age) or answered.age)),
            cells=PerAttribute(
                *(cell if name in cells else NOT_THERE for name, cell in zip(ATTRIBUTES, answered, strict=True))
            ),
            confidences=PerAttribute(*(_confidence(cells.get(f"{name}_stated", "")) for name in ATTRIBUTES)),
            nothing_found=as_number(cells.get("face_confidence")) == 0,
        )

    def _text_answer(self, cells: Mapping[str, str]) -> ImageAnswer:
        raw = cells["text"]
        if error := exception_in(raw):
            return failed(raw, error)
        answer = self.read.answer(raw, attribute_asked(cells))
        if answer.family == "deepface":
            self.family = "deepface"
        return answer


def _confidence(text: str) -> float:
    return largest_share(text) if "[" in text else one_confidence(text)


def _place(plain: list[str], names: Sequence[str]) -> int:
    return next((plain.index(name) for name in names if name in plain), -1)
