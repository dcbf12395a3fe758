"""Tables: strict, with file and line, and as fast as reading."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from blake3 import blake3

from evenhand.core.errors import DataError, PredictionError
from evenhand.files import text_files
from evenhand.files.delimited import (
    BlockReader,
    CellKind,
    Header,
    header_of,
    parse,
    raise_first,
    raise_missing,
    read_table,
)
from evenhand.files.inputs import HashingFile

WANTED = {"name": CellKind.TEXT, "x": CellKind.NUMBER, "n": CellKind.INTEGER}
HEADER = Header(("name", "x", "n", "more"))


def written(folder: Path, data: bytes, name: str = "f") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def lines_of(body: str) -> list[tuple[int, str]]:
    return [(issue.line, issue.message) for issue in parse(body.encode(), HEADER, WANTED, 2).issues]


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, b"more,n,name,x\nq,3,a,0.5\n"), WANTED)
    assert table.frame.rows() == [("a", 0.5, 3)]


def test_missing_columns_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"f, line 1: no column x, n\. The header has: name, more"):
        read_table(written(tmp_path, b"name,more\na,b\n"), WANTED)


def test_a_column_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: the column 'x' occurs more than once"):
        read_table(written(tmp_path, b"name,x,n,x\na,1,2,3\n"), WANTED)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,1,2", "3 fields, but the header has 4 columns"),
        ("a,1,2,q,r", "5 fields, but the header has 4 columns"),
        ("a,,2,q", "x is empty"),
        (",1,2,q", "name is empty"),
        ("a,nan,2,q", "x is 'nan', not a finite number"),
        ("a,inf,2,q", "x is 'inf', not a finite number"),
        ("a,half,2,q", "x is 'half', not a number"),
        ("a,1_0,2,q", "x is '1_0', not a number"),
        ("a,1,2.5,q", "n is '2.5', not a whole number"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(row: str, message: str) -> None:
    assert lines_of(f"a,1,2,q\n{row}\na,1,2,q\n") == [(3, message)]


def test_all_problems_are_found_not_only_the_first() -> None:
    assert [line for line, _ in lines_of("a,1\n\nb,x,2,q\nc,1,2,q\nd,,y,q\n")] == [2, 4, 6, 6]


def test_blanks_blank_lines_and_windows_line_ends_are_forgiven() -> None:
    block = parse(b"a, 1 ,2,q\r\n\r\nb,2,3.0,q\r\n\r\n", HEADER, WANTED, 2)
    assert block.frame.rows() == [("a", 1.0, 2), ("b", 2.0, 3)]
    assert block.lines.tolist() == [2, 4]
    assert block.issues == ()


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    assert header_of(b"\xef\xbb\xbfFILE,X\n", Path("f"), DataError).names == ("FILE", "X")


def test_text_that_is_not_utf8_is_named_with_its_line() -> None:
    assert parse(b"a,1,2,q\n\xff,1,2,q\n", HEADER, WANTED, 2).issues[0].line == 3


def test_the_first_problem_is_raised_with_the_number_of_the_others(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"f, line 2: x is empty\. \(1 more; `evenhand check` lists them all\.\)"):
        read_table(written(tmp_path, b"name,x,n\na,,2\nb,,3\n"), WANTED)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_blocks_cut_at_line_ends_and_number_their_lines(tmp_path: Path, size: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"name,x\n" + b"".join(b"r%d,%d\n" % (n, n) for n in range(50)))
    lines = BlockReader(path, PredictionError)
    found: list[tuple[str, float]] = []
    for first, body in lines.blocks(size):
        assert first == 2 + len(found)
        found += parse(body, lines.header, {"name": CellKind.TEXT, "x": CellKind.NUMBER}, first).frame.rows()
    assert found == [(f"r{n}", float(n)) for n in range(50)]
    assert lines.fact.size == path.stat().st_size
    assert lines.ends_with_line_feed


def test_the_content_is_hashed_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"name\na\nb")
    lines = BlockReader(path, PredictionError)
    assert [body for _, body in lines.blocks(3)] == [b"a\n", b"b"]
    assert lines.fact.hash == blake3(b"name\na\nb").hexdigest()
    assert not lines.ends_with_line_feed


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(PredictionError, match=r"is empty \(0 bytes\)"):
        list(BlockReader(tmp_path / "f", PredictionError).blocks())


def test_a_header_alone_has_no_blocks(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"name,x")
    lines = BlockReader(tmp_path / "f", PredictionError)
    assert list(lines.blocks()) == []
    assert lines.header.names == ("name", "x")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_compressed_files_are_told_by_their_content(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    plain = b"name,x,n\n" + b"a,0.5,3\n" * 1000
    path = written(tmp_path, pack(plain))
    assert read_table(path, WANTED).frame.equals(read_table(written(tmp_path, plain, "g"), WANTED).frame)
    reader = BlockReader(path, PredictionError)
    assert b"".join(body for _, body in reader.blocks(100)) == b"a,0.5,3\n" * 1000
    assert reader.fact.hash == blake3(path.read_bytes()).hexdigest()


def test_a_disk_that_fails_while_a_plain_file_is_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    path = tmp_path / "a.csv"
    with pytest.raises(DataError, match=r"a\.csv is cut off or damaged: .*Input/output error"):
        text_files.TextFile(path, DataError, HashingFile(Broken(), path), 3, None).read_all()


def test_a_compressed_file_that_is_cut_off_or_expands_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gzip.compress(b"name,x,n\n" + b"".join(b"a,0.%d,3\n" % n for n in range(2000)))
    with pytest.raises(DataError, match="cut off or damaged"):
        read_table(written(tmp_path, whole[:-200]), WANTED)
    monkeypatch.setattr(text_files, "_ALWAYS_EXPANDED", 1 << 20)
    with pytest.raises(DataError, match="expands to more than 32 times its size"):
        read_table(written(tmp_path, bz2.compress(b"name,x,n\n" + bytes(3 << 20))), WANTED)


def test_old_mac_line_ends_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"name,x,n\ra,0.5,3\rb,1,4\r")
    assert read_table(path, WANTED).frame.rows() == [("a", 0.5, 3), ("b", 1.0, 4)]
    reader = BlockReader(path, DataError)
    assert list(reader.blocks()) == [(2, b"a,0.5,3\nb,1,4\n")]


def test_quoted_fields_may_hold_separators_and_line_breaks_and_lines_stay_right(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, b'name,x\n"a,\nb",1\nc,2\n"say ""d""",\n'), separator=None)
    assert table.frame.rows() == [("a,\nb", "1"), ("c", "2"), ('say "d"', "")]
    assert table.lines.tolist() == [2, 4, 5]


@pytest.mark.parametrize(
    ("body", "rows", "lines"),
    [
        (b"\n\na,1\n\n\nb,2\n", [("a", "1"), ("b", "2")], [4, 7]),
        (b'"a\n\n",1\nb,"2"\n', [("a\n\n", "1"), ("b", "2")], [2, 5]),
        (b'"say ""a\nb""","1,\n"\nb,2', [('say "a\nb"', "1,\n"), ("b", "2")], [2, 5]),
        (b'5" tall,1\n6" tall,2\n', [('5" tall', "1"), ('6" tall', "2")], [2, 3]),
    ],
    ids=["blank lines", "blank lines in a field", "doubled quotes", "inches"],
)
def test_lines_are_counted_in_front_of_and_inside_of_records(
    body: bytes, rows: list[tuple[str, str]], lines: list[int]
) -> None:
    header = Header(("name", "x"))
    block = parse(body, header, dict.fromkeys(header.names, CellKind.CELL), 2)
    assert (block.frame.rows(), block.lines.tolist(), block.issues) == (rows, lines, ())


@pytest.mark.parametrize("line", ['"a\nb",1,2', "b", '"a\n"'])
def test_a_field_too_many_or_too_few_is_found_beside_line_breaks_in_fields(line: str) -> None:
    block = parse(f'"a\nb",1\n{line}\n'.encode(), Header(("name", "x")), {"name": CellKind.CELL}, 2)
    assert [issue.line for issue in block.issues] == [4]


@pytest.mark.parametrize(
    ("body", "wanted", "lines"),
    [
        (b"1,2,3\n\n1,2,3,4\n5,6\n", {"a": CellKind.NUMBER}, [4, 5]),
        (b"1,2,3\n1,2,3,4\n5,6,7\n", {"c": CellKind.NUMBER}, [3]),
        (b"1,2,3\n1,2,3,4\n5,6,7\n", {"a": CellKind.CELL, "c": CellKind.TEXT}, [3]),
        (b"1,2,3\n1,2,3,4\n5,6\n", {"a": CellKind.CELL, "c": CellKind.CELL}, [3, 4]),
        (b'"1",2,3\n1,2,3,4\n5,6,7\n', {"a": CellKind.CELL}, [3]),
        (b'"1\n",2,3\n1,2,3,4\n5,6\n', dict.fromkeys("abc", CellKind.CELL), [4, 5]),
    ],
)
def test_every_line_of_another_length_is_named_whichever_columns_are_read(
    body: bytes, wanted: dict[str, CellKind], lines: list[int]
) -> None:
    issues = parse(body, Header(("a", "b", "c")), wanted, 2).issues
    assert [issue.line for issue in issues] == lines
    assert all("fields, but the header has 3 columns" in issue.message for issue in issues)


@pytest.mark.parametrize("kind", CellKind)
@pytest.mark.parametrize(("names", "body"), [("ab", b"1,2\n3,4,"), ("ab", b'"1",2\n3,4,'), ("a", b"1\n3,")])
def test_a_separator_too_many_at_the_end_of_the_file_is_an_issue(names: str, body: bytes, kind: CellKind) -> None:
    issues = parse(body, Header(tuple(names)), dict.fromkeys(names, kind), 2).issues
    assert [issue.line for issue in issues] == [3]


@pytest.mark.parametrize(
    ("body", "wanted", "lines"),
    [
        (b'a,1\nb,"', {"x": CellKind.NUMBER}, [3]),
        (b' "1,"', {"name": CellKind.CELL, "x": CellKind.NUMBER}, [2]),
        (b',1"\n"', {"name": CellKind.INTEGER}, [2, 3]),
    ],
)
def test_a_lone_quote_in_a_column_of_numbers_is_an_issue(
    body: bytes, wanted: dict[str, CellKind], lines: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    issues = parse(body, Header(("name", "x")), wanted, 2).issues
    assert [issue.line for issue in issues] == lines
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("blank", [" ", "\t ", "\u00a0"])
@pytest.mark.parametrize("more", ["", "\n", '"c",5\n'], ids=["plain", "a blank line", "quotes"])
def test_a_text_of_blanks_is_empty(blank: str, more: str) -> None:
    block = parse(f"{blank},2\nb,4\n{more}b,4\n".encode(), Header(("a", "b")), {"a": CellKind.TEXT}, 2)
    assert block.issues == ((2, "a is empty"),)


@pytest.mark.parametrize("kind", [CellKind.TEXT, CellKind.CELL])
def test_a_line_of_blanks_is_no_row_of_a_single_column(kind: CellKind) -> None:
    block = parse(b"1\n  \n2\n", Header(("a",)), {"a": kind}, 2)
    assert (block.frame.rows(), block.lines.tolist(), block.issues) == ([("1",), ("2",)], [2, 4], ())


@pytest.mark.parametrize(
    ("body", "lines"), [(b"1,2\n3,4\n", [2, 3]), (b"1,2\n\n3,4\n", [2, 4]), (b'"1\n",2\n3,4', [2, 4])]
)
def test_lines_are_counted_where_no_column_is_read(body: bytes, lines: list[int]) -> None:
    assert parse(body, Header(("a", "b")), {}, 2).lines.tolist() == lines


@pytest.mark.parametrize("body", [b"a,1\n\nb,2\n", b'"a\n",1\nb,2\n'])
def test_a_large_block_with_blank_lines_or_quotes_is_read_alike(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    header, wanted = Header(("name", "x")), {"name": CellKind.TEXT}
    quick = parse(body, header, wanted, 2)
    monkeypatch.setattr("evenhand.files.delimited._LARGEST_SCAN", 4)
    slow = parse(body, header, wanted, 2)
    assert (slow.frame.rows(), slow.lines.tolist()) == (quick.frame.rows(), quick.lines.tolist()) != ([], [])


def test_an_open_quote_is_an_issue_not_a_field_as_long_as_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: a quoted field can't be read"):
        read_table(written(tmp_path, b'name,x\na,1\n"b,2\nc,3\n'))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_the_separator_can_be_told_from_the_header(tmp_path: Path, separator: str) -> None:
    text = "name,x,n\na,0.5,3\n".replace(",", separator)
    path = written(tmp_path, text.encode())
    assert read_table(path, WANTED, separator=None).frame.rows() == [("a", 0.5, 3)]
    with pytest.raises(DataError, match="Fields seem to be separated by"):
        read_table(path, WANTED)


def test_whole_numbers_beyond_doubles_are_exact(tmp_path: Path) -> None:
    large = 2**53 + 1
    for blank in ("", " "):  # quickly, and record by record
        table = read_table(written(tmp_path, f"name,x,n\na,1{blank},{large}\n".encode()), WANTED)
        assert table.frame["n"].to_list() == [large]
    assert lines_of(f"a,1,{2**63},q\n") == [(2, f"n is '{2**63}', beyond the whole numbers of 64 bits")]


def test_blanks_around_text_are_part_of_it(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, b"name,x,n\na ,1,2\n"), WANTED).frame["name"].to_list() == ["a "]


def test_optional_columns_are_read_where_they_are_there(tmp_path: Path) -> None:
    path = written(tmp_path, b"name,x,n\na,1,2\n")
    table = read_table(path, {"name": CellKind.TEXT}, optional={"x": CellKind.NUMBER, "y": CellKind.NUMBER})
    assert table.frame.columns == ["name", "x"]


SHAPES = {
    "one long line": b"x" * (10 << 20),
    "a long line of names": b",".join(b"column%d" % n for n in range(900_000)),
    "the same name again and again": b"a," * (5 << 20),
    "100,000 columns": b",".join(b"c%d" % n for n in range(100_000)) + b"\n" + b"1," * 99_999 + b"1\n",
    "minified JSON": b'{"a":[' + b'{"b":1,"c":"d"},' * 600_000 + b"{}]}",
    "CR only": b"name,x\r" + b"a,1\r" * 2_500_000,
    "blank lines": b"\n" * (10 << 20),
    "quotes": b'name,x,n\n"' + b'""' * (5 << 20),
    "one open quote": b'name,x,n\n"' + b"a,1,2\n" * 1_700_000,
    "a long second line": b"name,x,n\n" + b"a,1,2" * (2 << 20),
}


def read_by_blocks(path: Path) -> None:
    reader = BlockReader(path, DataError)
    for first, body in reader.blocks():
        raise_missing(reader.header, tuple(WANTED), path, DataError)
        raise_first(parse(body, reader.header, WANTED, first).issues, path, DataError)
    raise_missing(reader.header, tuple(WANTED), path, DataError)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("read", [partial(read_table, wanted=WANTED), read_by_blocks], ids=["whole", "blocks"])
def test_a_file_of_any_shape_is_refused_in_linear_time(
    tmp_path: Path, shape: str, read: Callable[[Path], object]
) -> None:
    path = written(tmp_path, SHAPES[shape])
    with pytest.raises(DataError, match=r"f(, line|\b)") as refused:
        read(path)
    assert len(str(refused.value)) < 1500


def test_a_quoted_field_after_a_blank_is_one_field(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'ID, FILE, N\r\n1, a.jpg, 0\r\n2, "a,b.jpg", 1\r\n')
    table = read_table(path)
    assert [cell.strip() for cell in table.frame[table.frame.columns[1]].to_list()] == ["a.jpg", "a,b.jpg"]
