"""Nothing writes, renames or deletes a file but `evenhand.files.writing`.

Held by reading the source: a call that opens for writing, writes, renames or deletes is refused outside of it. A
library that saves may save into a variable called `file` or `temporary` (what `open_file` and `replace_file` give) or
`buffer` (memory).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand

SOURCE = Path(evenhand.__file__).parent
OUR_WRITER = Path("files/writing.py")
MEMORY = Path("engines/shared_arrays.py")  # writes into a file without a name, which is memory
METHODS = {
    "write_text", "write_bytes", "unlink", "rmdir", "touch", "symlink_to", "hardlink_to", "mkdir", "tofile",
}  # fmt: skip
# Libraries that write into a file or at a path: into what `open_file`, `replace_file` or memory gave, by its name.
SAVERS = {
    "write_csv", "write_parquet", "write_ndjson", "write_json", "save", "savez", "savez_compressed", "savetxt",
    "to_csv", "to_parquet", "imwrite",
}  # fmt: skip
TARGETS = {"file", "buffer", "temporary"}
FUNCTIONS = {
    "rmtree", "copyfile", "copy", "copy2", "copytree", "move", "removedirs", "makedirs", "mkstemp", "unlink", "remove",
    "NamedTemporaryFile", "replace", "truncate",
}  # fmt: skip
MODULES = {"os", "shutil", "tempfile"}


def offences(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := _offence(node)):
            yield node.lineno, name


def _offence(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Name) and function.id == "open" and _mode(call, 1):
        return "open"
    if not isinstance(function, ast.Attribute):
        return ""
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if function.attr == "open" and owner != "os" and _mode(call, 0):
        return "open"
    if owner in MODULES:
        return function.attr if function.attr in FUNCTIONS else ""
    if (
        function.attr == "replace"
        and len(call.args) == 1
        and not isinstance(call.args[0], ast.Starred)
        and not call.keywords
    ):  # a text's takes two
        return "replace"
    if function.attr in SAVERS:
        first = next(iter(call.args), None)
        target = first.args[0] if isinstance(first, ast.Call) and first.args else first  # str(temporary)
        is_given = isinstance(target, ast.Name) and target.id in TARGETS
        return "" if is_given or first is None else function.attr
    return function.attr if function.attr in METHODS else ""


def _mode(call: ast.Call, place: int) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[place : place + 1]
    return any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) & set("wax+")
        and set(mode.value) <= set("rwaxbt+")
        for mode in given
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "open('x', 'w')", "Path('x').open('wb')", "path.open(mode='a')", "path.write_text('')", "shutil.rmtree('x')",
        "os.replace('a', 'b')", "path.replace(other)",
        "frame.write_csv(path)", "np.save(path, x)", "path.unlink()", "tempfile.mkstemp()",
    ],
)  # fmt: skip
def test_a_call_that_writes_is_seen(line: str):
    assert list(offences(line))


@pytest.mark.parametrize("line", ["open('x')", "path.open('rb')", "text.replace('a', 'b')", "frame.rename({})"])
def test_a_call_that_does_not_write_is_left_alone(line: str):
    assert not list(offences(line))


def test_only_the_writing_module_writes_renames_or_deletes():
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE) not in (OUR_WRITER, MEMORY)
        for line, name in offences(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "\n".join(found)


def test_nothing_maps_a_file_of_others():
    """A mapped file that another program cuts short ends the process with a bus error; rows are read instead."""
    mapping = {"memmap", "mmap", "mmap_mode", "memory_map"}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE) != MEMORY:
            tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            names = {getattr(node, "attr", None) or getattr(node, "arg", None) for node in tree}
            assert not names & mapping, path
