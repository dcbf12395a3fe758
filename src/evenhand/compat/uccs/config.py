"""The challenge's configuration: YAML, dotted options, placeholders.

1. Configuration files come before the first option; without one, the packaged defaults are used.
   A given file replaces the defaults completely; further files overwrite it, one top-level key at
   a time.
2. Every leaf is an option, `--eval.detection.labels A B`, of the type of its configured value; a
   unique beginning of its name is enough.
3. Then `{name}` is replaced in every text, in the order of the file, also in texts that came as
   options. A name that nothing answers to stays as it is.

A section may name another file, `detection: {yaml: mine.yaml, parallel: 2}`; known keys must have the type of their
default. A key that a file lacks is no option; a command that needs it says so and takes the default.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from evenhand.core.errors import OptionError
from evenhand.files.inputs import read

Tree = dict[str, Any]
PACKAGED = "baseline_config.yaml"
_DEEPEST = 20  # sections in sections
_LONGEST = 1 << 16  # characters of a value


@dataclass(frozen=True)
class Configuration:
    """Resolved values by dotted name; what a file lacks is taken from the defaults, and said."""

    values: Mapping[str, Any]
    defaults: Mapping[str, Any]
    fallbacks: list[str] = field(default_factory=list)  # keys that had to be taken from the defaults
    given: frozenset[str] = frozenset()  # keys that came as options

    def __getitem__(self, key: str) -> Any:
        if key in self.values:
            return self.values[key]
        if key not in self.fallbacks:
            self.fallbacks.append(key)
        return _filled(self.defaults[key], {**self.defaults, **self.values})


def default_text() -> str:
    """The packaged configuration, with its comments."""
    return resources.files("evenhand.compat.uccs").joinpath(PACKAGED).read_text(encoding="utf-8")


def help_texts() -> dict[str, str]:
    """What every value and section is: the comment beside it in the packaged configuration, by dotted name."""
    texts: dict[str, str] = {}
    sections: list[str] = []
    for indent, name, comment in re.findall(r"^( *)(\w+):(?:.*?  # (.*))?", default_text(), re.MULTILINE):
        sections = [*sections[: len(indent) // 2], name]
        texts[".".join(sections)] = comment
    return texts


def load_files(files: Sequence[Path], was_read: list[Path] | None = None) -> Tree:
    """The raw configuration: the packaged one, or the given files one over the other.

    Every file that is read, also those that `yaml` names, is added to `was_read`.
    """
    was_read = [] if was_read is None else was_read
    if not files:
        return _parsed(default_text(), PACKAGED)
    merged: Tree = {}
    for file in files:
        merged.update(_with_subconfigurations(_parsed(_text_of(file, was_read), str(file)), file, was_read))
    return merged


MOST_BYTES = 64 << 10  # of a configuration file; the packaged one has two thousand


def _text_of(file: Path, was_read: list[Path]) -> str:
    source = read(file, OptionError)
    was_read.append(file)
    if source.fact.size > MOST_BYTES:
        raise UsageError(f"{file} has {source.fact.size:,} bytes; a configuration has at most {MOST_BYTES:,}.")
    return source.text(OptionError)


def _with_subconfigurations(tree: Tree, file: Path, was_read: list[Path], depth: int = 0) -> Tree:
    """A section `name: {yaml: FILE, …}` is the section of that name in FILE, or its only one, with the rest over it."""
    if depth > 8:
        raise UsageError(f"{file}: the files that `yaml` names include each other.")
    sections: Tree = {}
    for name, value in tree.items():
        if isinstance(value, dict) and isinstance(value.get("yaml"), str):
            path = Path(value["yaml"])
            beside = file.parent / path
            path = path if path.exists() or not beside.exists() else beside
            content = _parsed(_text_of(path, was_read), str(path), check=False)
            if name not in content and len(content) != 1:
                raise UsageError(f"{path}: no section {name!r}, which {file} wants; it has {', '.join(content)}.")
            section = content[name] if name in content else next(iter(content.values()))
            if not isinstance(section, dict):
                raise UsageError(f"{path}: {name} is {section!r}; a section with named values is expected.")
            section = _with_subconfigurations({name: section}, path, was_read, depth + 1)[name]
            value = section | {key: part for key, part in value.items() if key != "yaml"}
            _check_types({name: value}, {}, str(path))
        sections[name] = _with_subconfigurations(value, file, was_read, depth + 1) if isinstance(value, dict) else value
    return sections


def add_options(parser: argparse.ArgumentParser, tree: Tree) -> None:
    """One option per leaf, of the type of its value."""
    group = parser.add_argument_group("configuration (any unique beginning of a name will do)")
    texts = help_texts()
    for key, value in leaves(tree):
        first = (value[0] if value else "") if isinstance(value, list) else value
        kind = _VALUE_KINDS.get(type(first), _VALUE_KINDS[str])
        shown = " ".join(map(str, value)) if isinstance(value, list) else value
        group.add_argument(
            f"--{key}",
            type=kind.read,
            nargs="+" if isinstance(value, list) else None,
            metavar=kind.metavar,
            default=argparse.SUPPRESS,
            help=f"{texts.get(key, 'a value of the configuration file')} (default: {shown})".replace("%", "%%"),
        )


def resolve(tree: Tree, given: Mapping[str, Any]) -> Configuration:
    """The configuration with options put in and placeholders filled."""
    values = {**dict(leaves(tree)), **given}
    for key, value in values.items():
        values[key] = _filled(value, values)
    defaults = dict(leaves(_parsed(default_text(), PACKAGED)))
    return Configuration(values, defaults, given=frozenset(given))


def leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of everything that is no section, in order."""
    for key, value in tree.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value


def labels_of(config: Configuration, task: str) -> dict[str, Path]:
    """Score files by label; the file names where no labels are given. The numbers must agree."""
    files, labels = config[f"eval.{task}.files"], config[f"eval.{task}.labels"]
    files = [files] if isinstance(files, str) else list(files or [])
    if not labels:
        labels = [Path(file).stem for file in files]
        labels = files if len(set(labels)) < len(labels) else labels
    labels = [labels] if isinstance(labels, str) else [str(label) for label in labels]
    if len(labels) != len(files):
        raise OptionError(
            f"The number of labels ({len(labels)}) and results ({len(files)}) differ: "
            f"give one of --eval.{task}.labels for each of --eval.{task}.files."
        )
    if len(set(labels)) < len(labels):
        raise OptionError(f"Two systems have the same label ({', '.join(labels)}); give each its own.")
    return dict(zip(labels, map(Path, files), strict=True))


class Parser(argparse.ArgumentParser):
    """A parser that leaves the process to its caller: a usage error is raised."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: error: {message}")


class UsageError(OptionError):
    """The command line can't be understood."""


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_filled(part, values) for part in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    for key, other in values.items():
        value = value.replace(f"{{{key}}}", str(other))
        if len(value) > _LONGEST:
            raise UsageError(f"The value {value[:60]!r}… would have {len(value):,} characters with its names filled.")
    return value


def _parsed(text: str, where: str, *, check: bool = True) -> Tree:
    import yaml

    try:
        _check_structure(text, where)
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        tree = {} if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{where}{line}: no YAML: {getattr(error, 'problem', error)}.") from None
    except (ValueError, OverflowError, AttributeError, TypeError, KeyError) as error:  # of numbers, dates and tags
        raise UsageError(f"{where}: a value can't be read ({type(error).__name__}: {str(error)[:100]}).") from None
    if not isinstance(tree, dict) or not tree:
        raise UsageError(f"{where} holds {type(tree).__name__}; a configuration has named sections and values.")
    if check:
        _check_types(tree, dict(_lines(node)), where)
    return nested(tree)


def _check_structure(text: str, where: str) -> None:
    """Refuse aliases, by which few lines stand for billions of values, and sections nested without end."""
    import yaml

    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{where}: aliases (*{event.anchor}) are not read. Write the value out.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        longest = event.value.count(".") if isinstance(event, yaml.ScalarEvent) and len(event.value) > 1000 else 0
        if depth > _DEEPEST or longest > _DEEPEST:
            raise UsageError(f"{where}: sections are nested too deeply.")


def nested(tree: Mapping[str, Any]) -> Tree:
    """Sections for names with dots: `eval.iou: 0.4` is `eval: {iou: 0.4}`."""
    top: Tree = {}
    for name, value in tree.items():
        *sections, last = str(name).split(".")
        place = top
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = nested(value) if isinstance(value, dict) else value
    return top


def _lines(node: Any, above: str = "") -> Iterator[tuple[str, int]]:
    """The line of every key, by dotted name."""
    for key, value in node.value:
        yield f"{above}{key.value}", key.start_mark.line + 1
        if value.id == "mapping":
            yield from _lines(value, f"{above}{key.value}.")


_OR_NULL = {"eval.exclude_gallery", "eval.detection.labels", "eval.recognition.labels"}


def _check_types(tree: Tree, lines: Mapping[str, int], where: str) -> None:
    """Raise for the first known key whose value is of another type than the default."""
    import yaml

    defaults = dict(leaves(yaml.safe_load(default_text())))
    sections = {key.rpartition(".")[0] for key in defaults} - {""}
    for key, value in leaves(tree):
        line = f", line {lines[key]}" if key in lines else ""
        if key in sections or any(section.startswith(f"{key}.") for section in sections):
            raise UsageError(f"{where}{line}: {key} is {_shown(value)}; a section with named values is expected.")
        if key not in defaults or (value is None and key in _OR_NULL):
            continue
        expected = defaults[key]
        example = expected[0] if isinstance(expected, list) else expected
        several = value if isinstance(value, list) and isinstance(expected, list) else [value]
        wrong = [part for part in several if not _fits(part, example)]
        if wrong:
            kind = _VALUE_KINDS[type(example)].words + (", or a list of them," if isinstance(expected, list) else "")
            raise UsageError(f"{where}{line}: {key} is {_shown(wrong[0])}; {kind} is expected, such as {expected}.")


def _fits(value: Any, example: Any) -> bool:
    if isinstance(value, bool) or isinstance(example, bool):
        return isinstance(value, bool) and isinstance(example, bool)
    if isinstance(example, float):
        return isinstance(value, int | float)
    return isinstance(value, type(example))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _truth(text: str) -> bool:
    word = text.strip().casefold()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0", ""):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


class _ValueKind(NamedTuple):
    """A type of values: in words, as an option's help names it, and how an option is read."""

    words: str
    metavar: str
    read: Callable[[str], Any]


_VALUE_KINDS = {
    bool: _ValueKind("true or false", "true|false", _truth),
    int: _ValueKind("a whole number", "N", int),
    float: _ValueKind("a number", "X", float),
    str: _ValueKind("text", "TEXT", str),
}
