"""`predict`: put samples to a model and write the official file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from evenhand import api, registry
from evenhand.cli.arguments import assignments
from evenhand.cli.catalogue import Json, Set, task_names
from evenhand.cli.console import escape, out, print_json, progress, warn
from evenhand.cli.evaluating import Data, EngineName, Runs
from evenhand.core.task import Task


def predict(
    tasks: Annotated[
        str, typer.Argument(help="family/task, several separated by commas, or a family", autocompletion=task_names)
    ],
    model: Annotated[str, typer.Option("--model", help="FILE.py:NAME or PROVIDER:NAME")],
    data: Data = Path(),
    options: Set = None,
    model_options: Annotated[
        list[str] | None, typer.Option("--model-set", help="a setting of the provider, key=value")
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="address of a chat endpoint")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="ask only for what is not on disk yet")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="let a chat endpoint have pictures outside the data folder")
    ] = False,
    ask_unanswered: Annotated[
        bool, typer.Option("--ask-unanswered", help="with --resume: ask again what could not be answered")
    ] = False,
    engine: EngineName = "serial",
    workers: Annotated[int, typer.Option(help="copies of the model that work at once; 0: as the engine has")] = 0,
    gpus_per_worker: Annotated[float, typer.Option(help="GPUs that a worker of a cluster holds (--engine ray)")] = 0.0,
    device: Annotated[str, typer.Option(help="cpu or cuda:N; a cluster's worker has its GPU as cuda:0")] = "cpu",
    runs: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run a model over a task's samples."""
    provider = assignments(model_options or [])
    if base_url is not None:
        provider["base_url"] = base_url
    if follow_links:
        provider["follow_links"] = "yes"
    outcomes = []
    for task in tasks.split(","):
        with progress(f"{task.strip()} by {model}", quiet=as_json) as hook:
            outcome = api.predict(
                task.strip(),
                model,
                data=data,
                runs=runs,
                options=assignments(options or []),
                resume=resume,
                ask_unanswered=ask_unanswered,
                workers=workers,
                gpus_per_worker=gpus_per_worker,
                engine=engine,
                device=device,
                settings=provider,
                progress=hook,
                warn=warn,
            )
        outcomes.append(outcome)
        if not as_json:
            console = out()
            silent = "".join(f", {count:,} {escape(reason)}" for reason, count in outcome.without_text.items())
            console.print(f"{escape(task)}: {outcome.answered:,} answered{silent}, {len(outcome.unanswered):,} not")
            if outcome.utilisation is not None:
                waited = 1 - outcome.utilisation
                console.print(f"the model worked {outcome.utilisation:.1%} of the time and waited {waited:.1%}")
            for sample, reason in list(outcome.unanswered.items())[:5]:
                console.print(f"  {escape(str(sample))}: {escape(str(reason))}", style="dim", soft_wrap=True)
            if outcome.usage:
                used = ", ".join(f"{value:,.6g} {name.replace('_', ' ')}" for name, value in outcome.usage.items())
                console.print(f"used: {used}")
            console.print(f"predictions: {escape(str(outcome.file))}", soft_wrap=True)
            if not outcome.answered:
                continue
            takes, *others = _evaluated_by(task.strip())
            command = shlex.join(["evenhand", "evaluate", takes, str(outcome.file), "--data", str(data)])
            likewise = f" (likewise {', '.join(others)})" if others else ""
            console.print(f"next: {escape(command)}{escape(likewise)}", style="dim", soft_wrap=True)
    if as_json:
        print_json({"predictions": outcomes})
    if not all(outcome.answered for outcome in outcomes):
        warn("No question was answered, so there is nothing to evaluate.")
        raise typer.Exit(1)


def _evaluated_by(name: str) -> list[str]:
    """The tasks that take the answers to a question."""
    question = registry.question(name)
    if question.serves or isinstance(question, Task):
        return [question.serves or name]
    return [task.name for task in registry.benchmark(name.partition("/")[0]).tasks]
