"""`evenhand uccs …`: baseline_detection, baseline_recognition, scoring, evaluation, config.

`command` is what the registry finds; its `main` parses a command line, runs one of the five and
returns an exit code: 0, 2 for what the user brought, 3 for what broke while working.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from evenhand.compat.uccs.config import (
    Configuration,
    Parser,
    UsageError,
    add_options,
    default_text,
    labels_of,
    leaves,
    load_files,
    resolve,
)
from evenhand.compat.uccs.preflight import check_call
from evenhand.core.errors import EvenhandError, InputError
from evenhand.core.printing import printable_lines
from evenhand.metrics.free_response import COMPETITION_TARGETS

TASKS = ("detection", "recognition")


class CommandCall(NamedTuple):
    """A command line that was understood."""

    config: Configuration
    own: argparse.Namespace  # the command's own options
    files: tuple[Path, ...]  # configuration files


class Subcommand(NamedTuple):
    """One of the commands: what it does, and its own options."""

    summary: str
    add: Callable[[argparse.ArgumentParser], None]


def _evaluation_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", "-t", nargs="+", choices=TASKS, default=list(TASKS), help="what to evaluate")
    parser.add_argument("--ranks", nargs="+", type=int, metavar="N", help="several ranks in one pass over the file")
    parser.add_argument(
        "--draws", type=int, default=2000, metavar="N", help="redrawn image sets for intervals; 0: none"
    )
    parser.add_argument(
        "--targets",
        nargs="+",
        type=float,
        metavar="X",
        default=list(COMPETITION_TARGETS),
        help="false alarms per image at which rates are read, and summed",
    )
    parser.add_argument(
        "--by", nargs="+", metavar="COLUMN", default=[], help="further columns of the table to split by"
    )
    parser.add_argument("--no-figure", action="store_true", help="write curves, counts and points only")


def _detection_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--detector", choices=("mtcnn", "yunet"), default="mtcnn", help="which network looks for faces")
    _network_options(parser)


def _network_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model-folder", metavar="FOLDER", help="where the networks' files are")
    parser.add_argument(
        "--upright",
        action="store_true",
        help="turn pictures by their EXIF orientation; the published detector reads them as they are stored",
    )


def _recognition_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--disable-gallery", "-dis", action="store_true", help="embed the probe images only")
    parser.add_argument(
        "--network",
        choices=("magface", "dlib", "sface"),
        default="magface",
        help="magface: iResNet of recognition.arch from a checkpoint; dlib: 128 values, runs out of the box",
    )
    parser.add_argument("--checkpoint", metavar="FILE", help="the network's weights")
    _network_options(parser)
    parser.add_argument("--replace", action="store_true", help="remove stores of another origin, and start anew")
    parser.add_argument(
        "--recognition.format", dest="form", choices=("npz", "pth"), default="npz", help="form of the stores"
    )


SUBCOMMANDS: dict[str, Subcommand] = {
    "baseline_detection": Subcommand("find faces in the images of a set", _detection_options),
    "baseline_recognition": Subcommand("embed the faces of a set and of the gallery", _recognition_options),
    "scoring": Subcommand("compare the faces of a set with the watchlist", lambda parser: None),
    "evaluation": Subcommand("curves, counts and operating points of score files", _evaluation_options),
}


def understand(name: str, arguments: Sequence[str]) -> CommandCall:
    """The configuration and options of a command line; raises `UsageError` when it can't be understood."""
    first = next((place for place, argument in enumerate(arguments) if argument.startswith("-")), len(arguments))
    files, options = arguments[:first], arguments[first:]
    was_read: list[Path] = []
    tree = load_files([Path(file) for file in files], was_read)
    usage = f"evenhand uccs {name} [CONFIG.yaml …] [options]"
    parser = Parser(prog=name, description=SUBCOMMANDS[name].summary, usage=usage)
    SUBCOMMANDS[name].add(parser)
    add_options(parser, tree)
    given = vars(parser.parse_args(options))
    dotted = {key: given.pop(key) for key, _ in leaves(tree) if key in given}
    own = argparse.Namespace(**given)
    config = resolve(tree, dotted)
    if name == "evaluation":
        for task in own.tasks:
            labels_of(config, task)
    return CommandCall(config, own, tuple(was_read))


@dataclass(frozen=True)
class WatchlistCommand:
    """What the command line mounts: a name, a line of help, and `main`."""

    name: str = "uccs"
    summary: str = "the watchlist challenge's commands: detect, embed, score, evaluate"

    def main(self, argv: Sequence[str]) -> int:
        """Run a command line; returns the exit code."""
        if not argv or argv[0] in ("-h", "--help"):
            sys.stdout.write(_overview() + "\n")
            return 0 if argv else 2
        name, rest = argv[0], list(argv[1:])
        if name == "config":
            sys.stdout.write(default_text())
            return 0
        if name == "aliases":
            sys.stdout.writelines(f"alias {known}='evenhand uccs {known}'\n" for known in SUBCOMMANDS)
            return 0
        try:
            if name not in SUBCOMMANDS:
                known = ", ".join((*SUBCOMMANDS, "config", "aliases"))
                raise UsageError(f"evenhand uccs: there is no command {name!r}. Known: {known}.")
            config, own, files = understand(name, rest)
            check_call(name, config, own, files)
            module = import_module(f"evenhand.compat.uccs.{'evaluation' if name == 'evaluation' else 'baselines'}")
            getattr(module, name)(config, own, _say)
            for key in config.fallbacks:
                sys.stderr.write(printable_lines(f"note: the configuration lacks {key}; the default was used.") + "\n")
        except SystemExit as leave:  # --help
            return int(leave.code or 0)
        except EvenhandError as error:
            sys.stderr.write(f"error: {error}\n")
            return 2 if isinstance(error, InputError) else 3
        return 0


command = WatchlistCommand()


def _say(line: str) -> None:
    sys.stdout.write(printable_lines(line) + "\n")
    sys.stdout.flush()


def _overview() -> str:
    lines = ["usage: evenhand uccs COMMAND [CONFIG.yaml …] [--dotted.key value …]", ""]
    lines += [f"  {name:<22}{entry.summary}" for name, entry in SUBCOMMANDS.items()]
    lines += [f"  {'config':<22}print the default configuration, with comments"]
    lines += [f'  {"aliases":<22}print shell aliases for the published names: eval "$(evenhand uccs aliases)"', ""]
    return "\n".join([*lines, "evenhand uccs COMMAND --help explains every option."])
