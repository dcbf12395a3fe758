"""What a run was made of: `run.json`, and the fingerprints that name it.

A fingerprint is a hash over everything that a stage depends on: the content of its inputs, the
options, the versions and the code that computed it. Nothing is reused because a file happens
to exist; it is reused because its fingerprint is the same.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from evenhand.core.errors import RunError
from evenhand.core.task import InputFact
from evenhand.files import inputs
from evenhand.store.plain import dumps, from_plain, loads, to_plain

FORMAT = 2  # raised when an older evenhand could not read what we write
FILENAME = "run.json"
PACKAGE = "evenhand"
_VIEWS = frozenset({"cli", "compat", "report", "reporting", "scenes", "serve"})  # subpackages that no number depends on
_PACKAGES = (
    "numpy", "scipy", "polars", "pillow", "opencv-python-headless", "pycocotools", "msgspec", "threadpoolctl",
    "torch", "onnxruntime",
)  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A file that was read, and what for."""

    role: str  # "data" or "predictions"
    name: str  # below the data folder or the submission
    path: str
    size: int
    hash: str  # BLAKE3, or "sha256:" and that (weights, runs of format 1), or when the file was modified


@dataclass(frozen=True)
class Media:
    """The pictures and videos of the samples: by content when they were hashed, else by size and time stamp."""

    files: int
    bytes: int
    absent: int  # named by the data, not on this disk
    hashed: bool
    sha256: str  # over names, sizes and content or time stamps


@dataclass(frozen=True)
class Clock:
    """When, and how long; the only fields in which two runs of the same thing differ."""

    started: str = ""
    finished: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What, with what, on what, when."""

    format: int = FORMAT
    kind: str  # "evaluation" or "predictions"
    task: str
    model: str
    fingerprint: str
    stages: Mapping[str, str]  # fingerprint of each stage
    dataset: str  # its version
    options: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)  # groups, draws, margins
    inputs: tuple[Input, ...] = ()
    media: Media | None = None
    instruments: Mapping[str, str] = field(default_factory=dict)
    model_facts: Mapping[str, Any] = field(default_factory=dict)  # where predictions come from
    code: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    platform: Mapping[str, str] = field(default_factory=dict)
    engine: str = "serial"
    stored: Mapping[str, bool] = field(default_factory=dict)  # predictions, rows
    results_hash: str = ""  # of results.json; empty in runs of older versions
    clock: Clock = field(default_factory=Clock)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run's folder; raises RunError when there is none, or one that we can't read."""
    path = Path(folder) / FILENAME
    if not path.exists():
        hint = "" if Path(folder).exists() else " The folder does not exist."
        raise RunError(f"{folder} is not a run: it has no {FILENAME}.{hint} Name a folder that evaluate wrote.")
    with damaged_run(path):
        manifest: Manifest = from_plain(check_format(loads(inputs.read(path, RunError).data), path), Manifest)
    return manifest


@contextmanager
def damaged_run(path: Path) -> Iterator[None]:
    """Around the reading of a run's file: content that can't be understood is a RunError."""
    try:
        yield
    except ValueError as error:
        raise RunError(f"{path} can't be read: {error}. The run is damaged; evaluate again with --force.") from None


def check_format(plain: Any, path: Path) -> Any:
    """The value in our format; raises RunError when a newer evenhand wrote it, or something else altogether."""
    version = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(version, int):
        raise RunError(f"{path} has no format version. It was not written by evenhand, or it is damaged.")
    if version > FORMAT:
        raise RunError(
            f"{path} has format {version}, but this evenhand ({own_version()}) knows formats up to {FORMAT}. "
            "A newer version wrote it: upgrade with pip install -U evenhand."
        )
    return plain if version > 1 else from_format_1(plain)


def from_format_1(plain: dict[str, Any]) -> dict[str, Any]:
    """The content of a run's file whose hashes are SHA-256, in the fields that hashes have now."""
    plain = dict(plain)
    for name in ("inputs", "parts"):
        if isinstance(files := plain.get(name), list):
            plain[name] = [
                inputs.with_marked_sha256(file, "sha256", "hash") if isinstance(file, dict) else file for file in files
            ]
    return inputs.with_marked_sha256(plain, "results_sha256", "results_hash")


def fingerprint(*parts: Any) -> str:
    """A SHA-256 over values; the same values give the same text on every machine.

    >>> fingerprint("a", 1) == fingerprint("a", 1), fingerprint("a", 1) == fingerprint("a", "1")
    (True, False)
    """
    return hashlib.sha256(dumps(to_plain(parts))).hexdigest()


def input_facts(facts: Iterable[InputFact], role: str, root: Path) -> tuple[Input, ...]:
    """The files that were read, named by where they lie below `root`."""
    by_name = {}
    for fact in facts:
        name = name_below(Path(fact.path), root)
        content = fact.hash or f"modified {fact.modified!r}"
        by_name[name, content] = Input(role, name, fact.path, fact.size, content)
    return tuple(by_name[key] for key in sorted(by_name))


def name_below(path: Path, root: Path) -> str:
    """Where a file lies below a folder, in forward slashes; its own name when it lies elsewhere.

    >>> name_below(Path("/data/faces/1.jpg"), Path("/data"))
    'faces/1.jpg'
    """
    path, root = path.absolute(), root.absolute()
    if path == root:
        return ""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def media_facts(paths: Iterable[Path], root: Path, *, content: bool) -> Media | None:
    """The media of a data set in one line; None when it has none."""
    digest = hashlib.sha256()
    files = size = absent = 0
    below = f"{root}{os.sep}"
    for path in dict.fromkeys(map(os.fspath, paths)):
        files += 1
        # There may be a million pictures: most lie below the root by their very name.
        name = path.removeprefix(below).replace(os.sep, "/") if path.startswith(below) else name_below(Path(path), root)
        try:
            fact = inputs.hash_of(Path(path)) if content and Path(path).exists() else inputs.stamp(path)
        except OSError:
            absent += 1
            digest.update(f"{name}\0absent\n".encode())
            continue
        size += fact.size
        digest.update(f"{name}\0{fact.size}\0{fact.hash or repr(fact.modified)}\n".encode())
    return Media(files, size, absent, content, digest.hexdigest()) if files else None


def code_facts(functions: Sequence[Any]) -> dict[str, str]:
    """SHA-256 of the source of evenhand and of the packages that the functions come from."""
    modules = {PACKAGE, *(_module_of(function).partition(".")[0] for function in functions)}
    return {name: digest for name in sorted(modules) if (digest := _source(name))}


def versions() -> dict[str, str]:
    """The versions of evenhand, Python and the packages that numbers depend on; of those installed."""
    installed = {PACKAGE: own_version(), "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            installed[package] = _installed_version(package)
        except metadata.PackageNotFoundError:
            continue
    return installed


def _installed_version(package: str) -> str:
    """As `metadata.version`, which parses the whole description of a package for one line of its head."""
    installed = metadata.distribution(package)
    head, _, _ = (installed.read_text("METADATA") or "").partition("\n\n")
    known = (line.removeprefix("Version:").strip() for line in head.splitlines() if line.startswith("Version:"))
    return next(known, None) or installed.version


def own_version() -> str:
    """The version of evenhand; the package is loaded before its subpackages, which need not import it."""
    return str(vars(sys.modules[PACKAGE])["__version__"])


def platform_facts() -> dict[str, str]:
    """The system and the processor, without the name of the machine."""
    return {"system": platform.system(), "machine": platform.machine(), "python": platform.python_implementation()}


def _module_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__module__", ""))


def _source(module: str) -> str:
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if loaded is None or file is None:
        return ""
    root = Path(file).parent
    names = _sources_below(root) if hasattr(loaded, "__path__") else [Path(file).name]
    digest = hashlib.sha256()
    for name in sorted(names, key=lambda name: name.split("/")):
        if module == PACKAGE and name.partition("/")[0] in _VIEWS:
            continue
        try:
            digest.update(f"{name}\0".encode() + (root / name).read_bytes())
        except OSError:  # a file that an editor is just replacing
            continue
    return digest.hexdigest()


def _sources_below(root: Path) -> Iterator[str]:
    """The Python files of a package by their names below its folder; links to folders are not followed."""
    for folder, _, files in os.walk(root):
        below = folder.removeprefix(str(root)).replace(os.sep, "/").lstrip("/")
        yield from (f"{below}/{name}" if below else name for name in files if name.endswith(".py"))
