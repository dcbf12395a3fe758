"""Results logged to MLflow: numbers as metrics, facts as parameters, the report as an artifact."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from evenhand.core.errors import MissingExtraError, StorageError
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results
from evenhand.files.writing import temporary_folder
from evenhand.reporting.forms import write_json
from evenhand.reporting.html import write_page
from evenhand.reporting.phrases import headline
from evenhand.reporting.reported import Reported, report_page

_FIRST_TIMEOUT: Final = "5"  # seconds


def log_run(run: Reported, uri: str, experiment: str = "evenhand") -> str:
    """Log a run to an MLflow server, database or folder, and give the id that it got there.

    Every number of everyone is a metric (`metric.output`), the headline of every single group too
    (`group/metric.output attribute=level`); the task, data and method are parameters; report and JSON are artifacts.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing leaves the machine but what was asked for
    if "://" not in uri:
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow asks for it where a folder was named
    try:
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise MissingExtraError("Logging to MLflow needs mlflow", "mlflow") from None
    try:
        address = uri if "://" in uri else Path(uri).resolve().as_uri()
        return _logged(MlflowClient(tracking_uri=address), run, experiment)
    except MlflowException as error:
        raise StorageError(_without_password(f"MLflow at {uri} did not take the run: {error}", uri)) from None


def _logged(client: Any, run: Reported, experiment: str) -> str:
    with _impatient():
        known = client.get_experiment_by_name(experiment)
    number = known.experiment_id if known is not None else client.create_experiment(experiment)
    results = run.results
    tags = {"mlflow.runName": f"{results.task} {results.model}", "evenhand.version": results.version}
    logged = client.create_run(number, tags=tags)
    key = str(logged.info.run_id)
    for name, value in _parameters(results).items():
        client.log_param(key, name, value)
    for name, number_logged in _metrics(results).items():
        client.log_metric(key, name, number_logged)
    with temporary_folder() as folder:
        write_page(report_page([run]), folder / "report.html")
        write_json([run], folder / "results.json")
        for name in ("report.html", "results.json"):
            client.log_artifact(key, str(folder / name))
    client.set_terminated(key)
    return key


@contextmanager
def _impatient() -> Iterator[None]:
    """The first request finds out whether the server is there: it is tried once, and not for minutes."""
    wanted = {"MLFLOW_HTTP_REQUEST_TIMEOUT": _FIRST_TIMEOUT, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _without_password(text: str, uri: str) -> str:
    """A text without the name and the password that an address carries.

    >>> _without_password("no answer from http://me:secret@host:5000", "http://me:secret@host:5000")
    'no answer from http://***@host:5000'
    """
    credentials, at, _ = uri.partition("://")[2].rpartition("@")
    texts = [credentials, *credentials.partition(":")[2:], unquote(credentials.partition(":")[2])] if at else []
    for secret in filter(None, texts):
        text = text.replace(secret, "***")
    return text


def _parameters(results: Results) -> dict[str, str]:
    how = results.method
    facts: dict[str, object] = {"task": results.task, "model": results.model, "dataset": results.dataset}
    facts |= {"draws": how.draws, "seed": how.seed, "margin": how.margin, "correction": how.correction}
    facts |= {f"option.{name}": value for name, value in results.options.items()}
    return {_key(name): str(value)[:500] for name, value in facts.items()}


def _metrics(results: Results) -> dict[str, float]:
    first = headline(results)
    metrics: dict[str, float | None] = {}
    for estimate in results.estimates:
        name = f"{estimate.metric}.{estimate.output}"
        if estimate.number is None:
            continue
        if estimate.group == EVERYONE:
            metrics |= {name: estimate.number, f"{name}.low": estimate.low, f"{name}.high": estimate.high}
        elif (estimate.metric, estimate.output) == first and len(estimate.group.terms) == 1:
            metrics[f"group/{name} {estimate.group}"] = estimate.number
    for summary in results.summaries:
        gap = summary.values.get("max_gap")
        if (summary.metric, summary.output) == first and isinstance(gap, float):
            metrics[f"gap/{' x '.join(summary.by)}"] = gap
    return {_key(name): value for name, value in metrics.items() if value is not None}


def _key(name: str) -> str:
    """A name with the letters that MLflow takes.

    >>> _key("froc.DR@0.1/lighting=shade")
    'froc.DR_0.1/lighting_shade'
    """
    return re.sub(r"[^\w\-. /]+", "_", name, flags=re.ASCII)[:240]
