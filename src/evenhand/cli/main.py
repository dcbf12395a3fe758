"""`evenhand`: the verbs, and what becomes of errors.

Exit codes: 0 done, 1 a gate was not met, 2 bad usage or input, 3 something broke, 130 stopped from the keyboard.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pkgutil import get_data
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from evenhand import __version__
from evenhand.cli.console import LINES, err, escape
from evenhand.cli.process import prepare_process
from evenhand.core.errors import EvenhandError, InputError
from evenhand.core.printing import printable_lines
from evenhand.files.safe_path import leave_current_folder

STOPPED = 130

HELP = """Evaluate vision models that look at people, by the published protocols.

New here? Type [bold]evenhand demo[/], then [bold]evenhand tasks[/] and [bold]evenhand describe TASK[/].
"""


class Verb(NamedTuple):
    """A verb: the module of its function, the first line of its help, and an example at its end."""

    module: str
    summary: str
    example: str


# --help imports no verb, a verb only its own module.
VERBS = {name: Verb(**entry) for name, entry in json.loads(get_data("evenhand.cli", "verbs.json") or b"").items()}


class _PlainHelp:
    """Help that shows flags by their name alone: a flag takes no value, so its help names no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the command that it is mixed into
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class PlainCommand(_PlainHelp, TyperCommand): ...


class PlainGroup(_PlainHelp, TyperGroup): ...


def application(arguments: Sequence[str] = ("",)) -> typer.Typer:
    """The command line, with as many verbs as the arguments ask for; all of them by default."""
    app = typer.Typer(
        name="evenhand",
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback(cls=PlainGroup)(_options)
    verb = "" if "_EVENHAND_COMPLETE" in os.environ else (*arguments, "--help")[0]
    if verb in ("-h", "--help"):
        from importlib.metadata import entry_points

        for name, entry in VERBS.items():
            app.command(name, help=entry.summary, cls=PlainCommand)(_nothing)
        for name in sorted(entry.name for entry in entry_points(group="evenhand.commands")):  # not imported for a list
            summary = f"A published tool under its own names: evenhand {name} --help."
            app.command(name, help=summary, rich_help_panel="Commands of families (published tools)")(_nothing)
        return app
    for name in [verb] if verb in VERBS else VERBS:
        function = getattr(import_module(f"evenhand.cli.{VERBS[name].module}"), name)
        app.command(name, cls=PlainCommand, epilog=f"Example: {VERBS[name].example}")(function)
    return app


def _nothing() -> None:
    """In the place of a verb whose help is only listed."""


def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if version:
        typer.echo(f"evenhand {__version__}")
        raise typer.Exit


def __getattr__(name: str) -> Any:
    if name == "app":  # all verbs, for documentation and tests
        return application()
    raise AttributeError(name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a process of our own
        leave_current_folder()
        for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a letter shows another
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        prepare_process(is_lasting=arguments[:1] in (["serve"], ["predict"]))
    try:
        if arguments and arguments[0] not in VERBS and not arguments[0].startswith("-"):
            from evenhand import registry

            if arguments[0] in registry.names(registry.COMMANDS):
                command: registry.Command = registry.load(registry.COMMANDS, arguments[0])
                return int(command.main(arguments[1:]) or 0)
        if arguments == ["--version"]:
            typer.echo(f"evenhand {__version__}")
            return 0
        outcome = application(arguments)(arguments, standalone_mode=False, prog_name="evenhand")
        code = outcome if isinstance(outcome, int) else 0
        return _stopped() if code == STOPPED else code  # typer turns Ctrl-C into this code, without a word
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except InputError as error:
        return _say(error, 2)
    except EvenhandError as error:
        return _say(error, 3)
    except BrokenPipeError:  # the reader of a pipe went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # bad usage, in the words of typer
            if hasattr(error, "message"):
                error.message = printable_lines(str(error.message))
            error.show()
            return 2
        if os.environ.get("EVENHAND_TRACEBACK"):
            raise
        err().print(
            f"[red]internal error:[/] {escape(type(error).__name__)}: {escape(str(error))}\n"
            "This is our fault, not yours. Set EVENHAND_TRACEBACK=1 to see where it happened, and please report it.",
            soft_wrap=True,
        )
        return 3
    finally:
        if argv is None:  # the process ends: nothing is gained by a last search for cycles among all its values
            gc.freeze()


def _stopped() -> int:
    err().print("stopped; what was finished is kept")
    return STOPPED


def _say(error: EvenhandError, code: int) -> int:
    err().print(f"[red]error:[/] {escape(str(error), LINES)}", soft_wrap=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
