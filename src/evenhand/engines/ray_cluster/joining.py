"""Joining a cluster: found, reached, let in, and of the same versions.

Every way in which this fails has a message of its own; none of them costs anything that is finished, because no
part has been started.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from evenhand.core.errors import EngineError, MissingExtraError
from evenhand.files.safe_path import safe_path

_LOG = logging.getLogger("evenhand")
CLIENT = "ray://"
LOOPBACK = "127.0.0.1"
_PATIENCE = 10.0  # seconds for a machine to answer
_STORE_SHARE = 0.3  # of the free memory, for the object store of a cluster that is started here


def join(address: str, cores: int | None = None) -> Any:
    """The module `ray`, connected to the cluster; an address is `ray://HOST:PORT`, `HOST:PORT` or empty.

    Without an address the cluster is that of RAY_ADDRESS (`auto` finds one that was started on this machine), or one
    that is started here, with `cores` workers, and ends with this process. A program that is connected already stays
    where it is.
    """
    address = address or os.environ.get("RAY_ADDRESS", "local")
    # Ray reads these once, when it is imported. A cluster's control port may be reached by others: it asks for a token.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == "local":
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # a node that listens on loopback only
        if os.environ["RAY_AUTH_MODE"] == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError:
        raise MissingExtraError("The engine ray needs Ray", "ray") from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        with _in_a_line(ray, "local"), safe_path():
            _start(ray, cores, quiet)
        return ray
    if ":" in address:
        _reach(address)
    with _in_a_line(ray, address):
        ray.init(address, **(quiet if address.startswith(CLIENT) else {**quiet, "job_config": _job(ray)}))
    return ray


def compare(here: Mapping[str, str], there: Mapping[str, str], node: str) -> None:
    """Raises EngineError when a machine has other versions than this one: its results might have other bits.

    >>> compare({"numpy": "2.4.1"}, {"numpy": "2.4.1"}, "10.0.0.7")
    >>> compare({"numpy": "2.4.1"}, {"numpy": "2.3.0"}, "10.0.0.7")
    Traceback (most recent call last):
    ...
    evenhand.core.errors.EngineError: Versions differ between this program and 10.0.0.7 in the cluster:
    numpy is 2.4.1 here and 2.3.0 there. Install the same versions on every machine; no part was started.
    """
    differ = [
        f"{name} is {version} here and {there.get(name, 'missing')} there"
        for name, version in here.items()
        if there.get(name, "missing") != version
    ]
    if differ:
        raise EngineError(
            f"Versions differ between this program and {node} in the cluster: {', '.join(differ)}. "
            "Install the same versions on every machine; no part was started."
        )


def _start(ray: Any, cores: int | None, quiet: Mapping[str, Any]) -> None:
    """Start a cluster here; one more try when Ray gave up after its thirty seconds.

    On a busy machine Ray's agents may write their port files later than the fifteen seconds that its raylet waits for
    them; the raylet then ends, and `ray.init` waits in vain (ray-project/ray#65983).
    """
    store = int(_STORE_SHARE * _free_memory())
    given = {"num_cpus": cores, "include_dashboard": False, "object_store_memory": store, **quiet}
    try:
        ray.init("local", _node_ip_address=LOOPBACK, job_config=_job(ray), **given)
    except Exception as error:
        if "timed out" not in str(error).lower():  # Ray raises a bare Exception for it
            raise
        _LOG.warning("Ray did not start within its time limit, as happens on a busy machine; it is started once more.")
        ray.shutdown()
        ray.init("local", _node_ip_address=LOOPBACK, job_config=_job(ray), **given)


class _OnOurPath(list[str]):
    """Folders for the module path of workers; Ray adds the current folder, which is taken only if it is on ours."""

    def extend(self, folders: Iterable[str]) -> None:
        super().extend(folder for folder in folders if folder in sys.path)


def _job(ray: Any) -> Any:
    job = ray.job_config.JobConfig()
    if hasattr(job, "_py_driver_sys_path"):
        job._py_driver_sys_path = _OnOurPath()
    return job


def _free_memory() -> int:
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return max(1 << 28, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return 1 << 30


def _reach(address: str) -> None:
    """Raises EngineError when nothing listens at an address; Ray itself would wait for minutes."""
    if address.startswith(CLIENT) and find_spec("grpc") is None:
        raise EngineError(f"{address} is a client address, for which Ray needs grpcio: pip install 'ray[client]'.")
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (ValueError, OverflowError):  # a port of many digits
        raise EngineError(f"{address!r} is no address of a cluster. Write ray://HOST:PORT.") from None
    except OSError as error:
        raise EngineError(
            f"The cluster {address} can't be reached ({error.strerror or error}). Is it running, and is the port open? "
            "`ray status` on its head tells; --engine processes:N works without a cluster."
        ) from None


@contextmanager
def _in_a_line(ray: Any, address: str) -> Iterator[None]:
    """Turns what Ray raises while it connects into an EngineError of one line."""
    try:
        yield
    except Exception as error:
        refusals = (ConnectionError, ray.exceptions.AuthenticationError)
        raise EngineError(explain(address, error, refusals)) from error


def explain(address: str, error: Exception, refusals: tuple[type[Exception], ...] = (ConnectionError,)) -> str:
    """Why a cluster can't be joined, and what to do, in a line.

    >>> explain("10.0.0.7:6379", RuntimeError("Version mismatch: The cluster was started with: Ray: 2.50.0"))
    "Ray's or Python's version differs between this program and the cluster 10.0.0.7:6379: The cluster was started
    with: Ray: 2.50.0. Install the same versions on both sides; no part was started."
    """
    text = " ".join(str(error).split())
    # Ray raises a bare RuntimeError for versions, so there is no type to ask.
    if isinstance(error, RuntimeError) and ("version mismatch" in text.lower() or "version of" in text.lower()):
        detail = text.partition(": ")[2] or text
        return (
            f"Ray's or Python's version differs between this program and the cluster {address}: {detail.rstrip('.')}. "
            "Install the same versions on both sides; no part was started."
        )
    if isinstance(error, refusals):  # something listens there that does not talk to us
        return (
            f"The cluster {address} does not let this program in. "
            "Set RAY_AUTH_MODE=token and the RAY_AUTH_TOKEN with which its head was started."
        )
    return f"The cluster {address} can't be joined ({type(error).__name__}: {text[:300]})."
