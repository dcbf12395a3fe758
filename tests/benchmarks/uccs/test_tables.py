"""Tables: strict, with file and line, and as fast as reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.benchmarks.uccs.tables import Header, Kind, Lines, header_of, parse, read_table
from evenhand.core.errors import DataError, PredictionError

WANTED = {"name": Kind.TEXT, "x": Kind.NUMBER, "n": Kind.INTEGER}
HEADER = Header(("name", "x", "n", "more"), ())


def lines_of(body: str) -> list[tuple[int, str]]:
    return [(issue.line, issue.message) for issue in parse(body.encode(), HEADER, WANTED, 2, Path("f")).issues]


def test_columns_are_found_by_name_in_any_order() -> None:
    block, _ = read_table(b"more,n,name,x\nq,3,a,0.5\n", Path("f"), WANTED, DataError)
    assert block.frame.rows() == [("a", 0.5, 3)]


def test_missing_columns_are_all_named() -> None:
    with pytest.raises(DataError, match=r"f, line 1: no column x, n\. The header has: name, more"):
        read_table(b"name,more\na,b\n", Path("f"), WANTED, DataError)


def test_a_column_that_occurs_twice_is_refused() -> None:
    with pytest.raises(DataError, match="line 1: the column 'x' occurs more than once"):
        read_table(b"name,x,n,x\na,1,2,3\n", Path("f"), WANTED, DataError)


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
    block = parse(b"a, 1 ,2,q\r\n\r\nb,2,3.0,q\r\n\r\n", HEADER, WANTED, 2, Path("f"))
    assert block.frame.rows() == [("a", 1.0, 2), ("b", 2.0, 3)]
    assert block.lines.tolist() == [2, 4]
    assert block.issues == ()


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    assert header_of(b"\xef\xbb\xbfFILE,X\n", Path("f"), DataError).names == ("FILE", "X")


def test_text_that_is_not_utf8_is_named_with_its_line() -> None:
    assert parse(b"a,1,2,q\n\xff,1,2,q\n", HEADER, WANTED, 2, Path("f")).issues[0].line == 3


def test_the_first_problem_is_raised_with_the_number_of_the_others() -> None:
    with pytest.raises(DataError, match=r"f, line 2: x is empty\. \(1 more; `evenhand check` lists them all\.\)"):
        read_table(b"name,x,n\na,,2\nb,,3\n", Path("f"), WANTED, DataError)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_blocks_cut_at_line_ends_and_number_their_lines(tmp_path: Path, size: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"name,x\n" + b"".join(b"r%d,%d\n" % (n, n) for n in range(50)))
    lines = Lines(path, PredictionError)
    found: list[tuple[str, float]] = []
    for first, body in lines.blocks(size):
        assert first == 2 + len(found)
        found += parse(body, lines.header, {"name": Kind.TEXT, "x": Kind.NUMBER}, first, path).frame.rows()
    assert found == [(f"r{n}", float(n)) for n in range(50)]
    assert lines.fact.size == path.stat().st_size
    assert lines.ends_with_line_feed


def test_the_content_is_hashed_while_it_is_read(tmp_path: Path) -> None:
    import hashlib

    path = tmp_path / "f"
    path.write_bytes(b"name\na\nb")
    lines = Lines(path, PredictionError)
    assert [body for _, body in lines.blocks(3)] == [b"a\n", b"b"]
    assert lines.fact.sha256 == hashlib.sha256(b"name\na\nb").hexdigest()
    assert not lines.ends_with_line_feed


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(PredictionError, match=r"is empty \(0 bytes\)"):
        list(Lines(tmp_path / "f", PredictionError).blocks())


def test_a_header_alone_has_no_blocks(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"name,x")
    lines = Lines(tmp_path / "f", PredictionError)
    assert list(lines.blocks()) == []
    assert lines.header.names == ("name", "x")
