"""The challenge's configuration: YAML, dotted options, placeholders.

1. Configuration files come before the first option; without one, the packaged defaults are used.
   A given file replaces the defaults completely; further files overwrite it, one top-level key at
   a time.
2. Every leaf is an option, `--eval.detection.labels A B`, of the type of its configured value; a
   unique beginning of its name is enough.
3. Then `{name}` is replaced in every text, in the order of the file, also in texts that came as
   options. A name that nothing answers to stays as it is.

A key that a file lacks is no option; a command that needs it says so and takes the default.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from evenhand.core.errors import OptionError
from evenhand.files.inputs import read

Tree = dict[str, Any]
PACKAGED = "baseline_config.yaml"

HELP: Mapping[str, str] = {
    "data_directory": "folder with gallery.csv, the set's table, the exclusion list and the pictures",
    "result_directory": "folder for score files, embeddings and curves; made when it is not there",
    "image_directory": "folder with the pictures of the set",
    "which_set": "the set to work on: validation or test",
    "gpu": "index of the GPU, used when there is one; -1 is the processor",
    "detection.thresholds": "thresholds of the detector's three networks",
    "detection.results": "the detection score file to write",
    "detection.max_detections": "detections kept per image, best first",
    "detection.parallel": "number of processes; 0 works in this one",
    "recognition.detection_file": "the detection score file whose faces are embedded",
    "recognition.result_dir": "folder for the embeddings of probe images",
    "recognition.workers": "threads that read and align pictures",
    "recognition.batch_size_perImg": "faces per pass of the network, rounded to tens",
    "recognition.embedding_size": "length of an embedding; checked against what the network gives",
    "recognition.arch": "the network of the checkpoint",
    "scoring.gallery": "the gallery's embeddings: a folder of stores, or one file",
    "scoring.probe": "the probes' embeddings: a folder of stores, or one file",
    "scoring.results": "the score file to write; a name ending in .npy writes the binary store",
    "eval.exclude_gallery": "list of face ids that must not count; null: none",
    "eval.iou": "overlap from which on a detection belongs to a face, above 0 and at most 1",
    "eval.linear": "false alarms on a linear instead of a logarithmic axis: true or false",
    "eval.detection.files": "detection score files to evaluate; recognition files will do",
    "eval.detection.labels": "their names in tables and figures, in the same order",
    "eval.detection.froc": "the figure to write: .pdf, .svg or .png; curves and counts go beside it",
    "eval.detection.plot_numbers": "numbers of faces instead of rates: true or false",
    "eval.recognition.files": "recognition score files to evaluate, text or binary",
    "eval.recognition.rank": "the true name must be among the so many most similar",
    "eval.recognition.labels": "their names in tables and figures, in the same order",
    "eval.recognition.oroc": "the figure to write: .pdf, .svg or .png; curves and counts go beside it",
    "eval.recognition.plot_numbers": "numbers of faces instead of rates: true or false",
}


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

    def tree(self) -> Tree:
        """The values as nested sections, in the order of the file."""
        out: Tree = {}
        for key, value in self.values.items():
            *sections, last = key.split(".")
            place = out
            for section in sections:
                place = place.setdefault(section, {})
            place[last] = value
        return out


def default_text() -> str:
    """The packaged configuration, with its comments."""
    return resources.files("evenhand.compat.uccs").joinpath(PACKAGED).read_text(encoding="utf-8")


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Configuration files (before the first option), and the rest."""
    for place, argument in enumerate(arguments):
        if argument.startswith("-"):
            return list(arguments[:place]), list(arguments[place:])
    return list(arguments), []


def load_files(files: Sequence[Path]) -> Tree:
    """The raw configuration: the packaged one, or the given files one over the other."""
    if not files:
        return _parsed(default_text(), PACKAGED)
    merged: Tree = {}
    for file in files:
        merged.update(_parsed(read(file, OptionError).text(OptionError), str(file)))
    return merged


def add_options(parser: argparse.ArgumentParser, tree: Tree) -> None:
    """One option per leaf, of the type of its value."""
    group = parser.add_argument_group("configuration (any unique beginning of a name will do)")
    for key, value in leaves(tree):
        first = (value[0] if value else "") if isinstance(value, list) else value
        shown = " ".join(map(str, value)) if isinstance(value, list) else value
        group.add_argument(
            f"--{key}",
            type=_reader(first),
            nargs="+" if isinstance(value, list) else None,
            metavar=_metavar(first),
            default=argparse.SUPPRESS,
            help=f"{HELP.get(key, 'a value of the configuration file')} (default: {shown})".replace("%", "%%"),
        )


def resolve(tree: Tree, given: Mapping[str, Any]) -> Configuration:
    """The configuration with options put in and placeholders filled."""
    values = dict(leaves(tree))
    values.update({key: value for key, value in given.items() if key in values})
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
    return value


def _parsed(text: str, where: str) -> Tree:
    import yaml

    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise OptionError(f"{where}{line}: no YAML: {getattr(error, 'problem', error)}.") from None
    if not isinstance(tree, dict):
        raise OptionError(f"{where} holds a {type(tree).__name__}; a configuration has named sections and values.")
    return tree


def _reader(example: Any) -> Any:
    if isinstance(example, bool):
        return _truth
    if isinstance(example, int | float):
        return type(example)
    return str


def _truth(text: str) -> bool:
    word = text.strip().casefold()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0", ""):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _metavar(example: Any) -> str:
    if isinstance(example, bool):
        return "true|false"
    return {int: "N", float: "X"}.get(type(example), "TEXT")
