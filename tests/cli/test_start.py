"""The command line starts quickly: help imports no verb, and a verb only what it needs."""

import os
import subprocess
import sys
from pathlib import Path

import typer

from evenhand.cli.main import VERBS, application


def test_every_verb_is_listed_with_the_first_line_of_its_help():
    verbs = typer.main.get_command(application()).commands
    assert {name: verb.help.split("\n")[0] for name, verb in verbs.items()} == {
        name: entry.summary for name, entry in VERBS.items()
    }


def test_help_imports_neither_numpy_nor_a_verb():
    code = "import sys; from evenhand.cli.main import main; main(['--help']); print(sorted(HEAVY & sys.modules.keys()))"
    heavy = {"numpy", "scipy", "polars", "evenhand.cli.evaluating", "evenhand.registry"}
    done = subprocess.run(
        [sys.executable, "-c", f"HEAVY = {heavy!r}\n{code}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.rstrip().endswith("[]")
    assert all(f" {name} " in done.stdout for name in VERBS)


def test_a_verb_does_not_import_scipy_for_its_help():
    code = "import sys; from evenhand.cli.main import main; main(['evaluate', '--help']); print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("False")


def test_a_list_of_tasks_does_not_import_polars():
    code = "import sys; from evenhand.cli.main import main; main(['tasks', '--json']); print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("False")


def test_reports_do_not_wait_for_what_only_comparisons_need():
    heavy = {"evenhand.api", "evenhand.cli.draw", "evenhand.reporting.html"}
    code = f"import sys, evenhand.cli.viewing; print(sorted({heavy!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip() == "[]"


def test_a_shell_completes_the_names_of_tasks():
    environment = {
        **os.environ,
        "_EVENHAND_COMPLETE": "complete_bash",
        "COMP_WORDS": "evenhand evaluate fairf",
        "COMP_CWORD": "2",
    }
    command = Path(sys.executable).with_name("evenhand")
    done = subprocess.run([command], env=environment, capture_output=True, text=True, check=False)
    assert {"fairface/gender", "fairface/race", "fairface/age"} <= set(done.stdout.split())
