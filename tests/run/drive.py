"""The tiny family on a command line of its own, so that it can be killed.

    drive.py evaluate DATA PREDICTIONS RUNS [key=value …]
    drive.py predict DATA MODEL RUNS [key=value …]

Errors are told as the command line tells them: a sentence, and 2 for what was brought or 3 for what broke.
With DIE_AT=n in the environment, the process ends itself without any warning at its n-th step of writing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import tiny

from evenhand import engines, run
from evenhand.core.errors import InputError, WorkError
from evenhand.run import evaluation


def main() -> int:
    verb, data, subject, runs, *rest = sys.argv[1:]
    given: dict[str, Any] = dict(entry.split("=", 1) for entry in rest)
    engine = engines.parse(given.pop("engine", "serial"))
    evaluation.code_facts = lambda functions: {}  # as in conftest.py
    die_at(int(os.environ.get("DIE_AT", "0")))
    try:
        if verb == "evaluate":
            draws = int(given.pop("draws", "50"))
            found = run.evaluate(
                tiny.task,
                Path(subject),
                Path(data),
                runs=Path(runs),
                engine=engine,
                options=given,
                draws=draws,
                permutations=draws,
                warn=lambda message: None,
            )
            print(found.folder)
        else:
            model = run.find_model(subject)
            resume = given.pop("resume", "yes") == "yes"
            outcome = run.predict(tiny.task, model, Path(data), runs=Path(runs), engine=engine, resume=resume)
            print(outcome.file)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except WorkError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


def die_at(step: int) -> None:
    """End without a warning at a step of writing: a rename, a link, a flush or a removal."""
    if not step:
        return
    left = step

    def counted(call: Any) -> Any:
        def counting(*args: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(137)
            return call(*args, **named)

        return counting

    for name in ("rename", "replace", "link", "fsync", "unlink", "rmdir", "mkdir"):
        setattr(os, name, counted(getattr(os, name)))


if __name__ == "__main__":
    sys.exit(main())
