"""The verbs in Python; the commands are these, with words around them.

```python
import evenhand

run = evenhand.evaluate("fairface/gender", "answers.jsonl", data="FairFace", by=["race"])
run.results.get("gender", "accuracy")
evenhand.compare(run, evenhand.load("runs/fairface/gender/other/a1b2c3d4"))
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evenhand import registry
from evenhand.core.engine import Engine
from evenhand.core.task import Model, Question, Task, ignore, no_progress
from evenhand.store.runs import Run

PathLike = str | Path


def evaluate(
    task: str | Task[Any, Any],
    predictions: PathLike,
    *,
    data: PathLike,
    model: str = "",
    options: Mapping[str, Any] | None = None,
    by: Sequence[str] | None = None,
    depth: int = 2,
    draws: int = 2000,
    permutations: int = 2000,
    margin: float | None = None,
    seed: int = 0,
    engine: str | Engine = "serial",
    runs: PathLike | None = None,
    rows: Literal["auto", "none", "all"] = "auto",
    force: bool = False,
    hash_media: bool = False,
    device: str = "cpu",
    progress: Callable[[int, int | None, str], None] = no_progress,
    warn: Callable[[str], None] = ignore,
) -> Run:
    """Evaluate saved answers: files in, a run with results out.

    Without `runs` nothing is written. `by` defaults to the task's own attributes, `()` groups by nothing.
    """
    from evenhand import run

    found = registry.task(task) if isinstance(task, str) else task
    return run.evaluate(
        found,
        Path(predictions),
        Path(data),
        model=model,
        options=dict(options or {}),
        by=by,
        depth=depth,
        draws=draws,
        permutations=permutations,
        margin=margin,
        seed=seed,
        engine=engine_of(engine),
        runs=None if runs is None else Path(runs),
        rows=rows,
        force=force,
        hash_media=hash_media,
        device=device,
        progress=progress,
        warn=warn,
    )


def predict(
    task: str | Question[Any, Any],
    model: str | Model[Any] | Callable[[], Model[Any]],
    *,
    data: PathLike,
    runs: PathLike,
    options: Mapping[str, Any] | None = None,
    resume: bool = False,
    engine: str | Engine = "serial",
    device: str = "cpu",
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int | None, str], None] = no_progress,
    warn: Callable[[str], None] = ignore,
) -> Any:
    """Put a task's samples to a model and write the official file.

    `model` is an object with `predict`, a function that makes one, `FILE.py:NAME`, or
    `PROVIDER:NAME` with the provider's `settings`.
    """
    from evenhand import run

    found = registry.question(task) if isinstance(task, str) else task
    made = model_of(model, device=device, settings=settings or {}) if isinstance(model, str) else model
    return run.predict(
        found,
        made,
        Path(data),
        options=dict(options or {}),
        runs=Path(runs),
        resume=resume,
        engine=engine_of(engine),
        progress=progress,
        warn=warn,
    )


def load(folder: PathLike) -> Run:
    """A stored run."""
    from evenhand.store.runs import open_run

    return open_run(Path(folder))


def engine_of(engine: str | Engine) -> Engine:
    """An engine by its name: `serial`, `threads:N`, `processes:N`, or one that a plug-in brings."""
    if not isinstance(engine, str):
        return engine
    from evenhand import engines

    kind = engine.partition(":")[0]
    if kind in registry.names(registry.ENGINES):
        made: Engine = registry.load(registry.ENGINES, kind)(engine)
        return made
    return engines.parse(engine)


def model_of(spec: str, *, device: str = "cpu", settings: Mapping[str, Any] | None = None) -> Any:
    """A model by `FILE.py:NAME`, or by `PROVIDER:NAME`."""
    provider = spec.partition(":")[0]
    if ".py" not in spec and provider in registry.names(registry.MODELS):
        return registry.load(registry.MODELS, provider)(spec, **dict(settings or {}))
    from evenhand.models.python import load_model

    return load_model(spec, device=device)
