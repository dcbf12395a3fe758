"""Nothing writes, renames or deletes a file but `evenhand.files.writing`.

Held by reading the source: a call that opens for writing, writes, renames or deletes is refused outside of it. A
library that saves may save into a variable called `file` or `temporary` (what `open_file` and `replace_file` give) or
`buffer` (memory).
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand

SOURCE = Path(evenhand.__file__).parent
OUR_WRITER = Path("files/writing.py")
MEMORY = Path("engines/shared_arrays.py")  # writes into a file without a name, which is memory
# What of these modules does not write; all else of them is refused.
READ_ONLY = {
    "os": {
        "_exit", "access", "close", "cpu_count", "devnull", "dup", "dup2", "environ", "fsencode", "fspath", "fstat",
        "fsync", "getpid", "name", "path", "pathsep", "sep", "stat", "sysconf", "sysconf_names", "walk",
    },
    "shutil": {"copyfileobj", "disk_usage", "get_terminal_size", "which"},
    "tempfile": {"gettempdir"},
}  # fmt: skip
METHODS = {
    "write_text", "write_bytes", "unlink", "rmdir", "touch", "symlink_to", "hardlink_to", "mkdir", "tofile", "chmod",
    "extractall", "extract", "write_image", "write_html", "to_hdf", "to_excel", "to_pickle", "to_feather", "sink_csv",
    "sink_parquet", "sink_ipc", "sink_ndjson", "write_excel", "write_avro", "write_delta", "write_database",
    "FileHandler", "imsave",
}  # fmt: skip
# Libraries that write into a file or at a path: into what `open_file`, `replace_file` or memory gave, by its name.
SAVERS = {
    "write_csv", "write_parquet", "write_ndjson", "write_json", "write_ipc", "write_ipc_stream", "save", "savez",
    "savez_compressed", "savetxt", "save_file", "to_csv", "to_parquet", "to_json", "write_table", "write_feather",
    "imwrite", "savefig", "dump", "VideoWriter",
}  # fmt: skip
CONTAINERS = {"ZipFile", "TarFile", "GzipFile", "BZ2File", "LZMAFile", "File", "OSFile", "open_memmap", "fdopen"}
TARGETS = {"file", "buffer", "temporary", "stream", "out"}
OUR_SAVERS = {"figures.PublishedFigure"}  # draws through reporting.drawing, which writes through `files.writing`


def offences(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := _offence(node)):
            yield node.lineno, name
        elif isinstance(node, ast.ImportFrom) and node.module in READ_ONLY:
            for alias in node.names:
                if alias.name not in READ_ONLY[node.module]:
                    yield node.lineno, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in READ_ONLY:
            known = READ_ONLY[node.value.id] | {"open"}  # opening is judged by its mode
            if node.attr not in known and not node.attr.isupper():
                yield node.lineno, f"{node.value.id}.{node.attr}"


def _offence(call: ast.Call) -> str:
    function = call.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if owner == "os":
        flags = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute) and node.attr.startswith("O_")}
        is_null = bool(call.args) and ast.unparse(call.args[0]) == "os.devnull"
        reads = flags & {"O_RDONLY"} and not flags & {"O_CREAT", "O_TRUNC", "O_APPEND", "O_WRONLY", "O_RDWR"}
        return "os.open" if name == "open" and not (reads or is_null) else ""
    if name == "open" and _mode(call):
        return "open"
    first = next(iter(call.args), None)
    target = first.args[0] if isinstance(first, ast.Call) and first.args else first  # str(temporary)
    is_given = isinstance(target, ast.Name) and target.id in TARGETS
    if name in CONTAINERS:
        return name if _mode(call) and not is_given else ""
    if not owner or owner.partition("(")[0] in OUR_SAVERS:
        return ""
    if name in ("replace", "rename"):  # a text's takes two arguments, a frame's a dictionary
        is_path = len(call.args) == 1 and not isinstance(first, ast.Starred | ast.Dict | ast.DictComp)
        return name if is_path and not call.keywords and not ast.unparse(call.args[0]).startswith("dict(") else ""
    if name in SAVERS:
        streams = [*call.args[:2], *(keyword.value for keyword in call.keywords)] if name == "dump" else [target]
        is_given = any(isinstance(stream, ast.Name) and stream.id in TARGETS for stream in streams)
        return "" if is_given or first is None else name
    return name if name in METHODS else ""


def _mode(call: ast.Call) -> bool:
    is_path = isinstance(call.func, ast.Attribute) and len(call.args) == 1  # path.open("w")
    places = call.args[0 if is_path else 1 : 2]
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + places
    return any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) & set("wax+")
        and set(mode.value) <= set("rwaxbtU+:gz2")
        for mode in given
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "open('x', 'w')", "Path('x').open('wb')", "path.open(mode='a')", "path.write_text('')", "shutil.rmtree('x')",
        "os.replace('a', 'b')", "path.replace(other)",
        "frame.write_csv(path)", "np.save(path, x)", "path.unlink()", "tempfile.mkstemp()", "os.link(a, b)",
        "tempfile.TemporaryDirectory()", "from shutil import rmtree", "from os import replace as swap",
        "os.open(path, os.O_WRONLY | os.O_CREAT)", "os.open(path, flags)", "gzip.open(path, 'wb')", "x = shutil.move",
        "path.rename(b)", "pickle.dump(x, path.open())",
        "zipfile.ZipFile(path, 'w')", "json.dump(value, open(path))", "figure.savefig(path)",
        "image.save(folder / 'x.png')", "feather.write_feather(frame, path)", "frame.to_csv(path)", "path.chmod(0)",
        "archive.extractall(folder)", "h5py.File(path, 'w')", "logging.FileHandler(path)", "lazy.sink_parquet(path)",
        "cv2.VideoWriter(path, 0, 1, size)", "io.open(path, 'w')", "os.fdopen(handle, 'w')", "os.truncate(path, 0)",
    ],
)  # fmt: skip
def test_a_call_that_writes_is_seen(line: str):
    assert list(offences(line))


@pytest.mark.parametrize(
    "line",
    [
        "open('x')", "path.open('rb')", "text.replace('a', 'b')", "frame.rename({})", "zipfile.ZipFile(stream)",
        "json.dump(value, file)", "image.save(buffer, 'PNG')", "os.open(folder, os.O_RDONLY)", "shutil.which('x')",
    ],
)  # fmt: skip
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


def test_polars_gets_no_parquet_or_arrow_file_by_name():
    """It would map it; `files.columnar` reads by the handle."""
    readers = {"read_parquet", "scan_parquet", "read_parquet_schema", "read_parquet_metadata", "read_ipc", "scan_ipc"}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE) == Path("files/columnar.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in readers:
                assert ast.unparse(node.args[0]).startswith("io.BytesIO("), (path, node.lineno)


AUDIT = """
import os, sys
from pathlib import Path
import evenhand
HERE = str(Path(evenhand.__file__).parent)
OURS = os.path.join(HERE, "files", "writing.py")
WRITES = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
          "shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp"}

def hook(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or str(path) == os.devnull:
            return
    elif event not in WRITES:
        return
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file == OURS:
            return
        if file.startswith(HERE):
            print("BYPASS", event, arguments, file, frame.f_lineno, flush=True)
            return
        frame = frame.f_back

sys.addaudithook(hook)
from evenhand.cli.main import main
demo, *lines = sys.argv[1:]
for line in lines:
    run = next((str(path.parent) for path in sorted(Path(demo).rglob("results.json")) if "table" in str(path)), "")
    code = main(line.format(run=run).split(" "))
    assert code in (0, 1), (line, code)
print("DONE")
"""


def test_commands_write_through_the_writing_module_alone(tmp_path: Path):
    """Held while they run, too: Python reports every file that is opened for writing, moved or deleted."""
    demo, out, run = tmp_path / "demo", tmp_path / "out", "{run}"
    lines = [
        f"demo table --runs {demo}",
        *(f"report {run} --format {form} -o {out}/report.{form}" for form in ("html", "csv", "pdf", "latex", "card")),
        f"rows {run} -o {out}/rows.csv", f"rows {run} -o {out}/rows.parquet",
        f"compare {run} {run} --page {out}/page.html",
        f"gate {run} --require {demo}/data/table/release.toml --junit {out}/gate.xml",
        f"cache --runs {demo} --empty",
    ]  # fmt: skip
    command = [sys.executable, "-B", "-c", AUDIT, str(demo), *lines]  # Python itself writes bytecode where it may
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, cwd=tmp_path)
    assert "DONE" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    assert "BYPASS" not in done.stdout, [line for line in done.stdout.splitlines() if "BYPASS" in line]
    assert {path.name for path in out.iterdir()} >= {"report.pdf", "rows.parquet", "page.html", "gate.xml"}
