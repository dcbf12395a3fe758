"""Joining a cluster: found, reached, let in, and of the same versions.

Every way in which this fails has a message of its own; none of them costs anything that is finished, because no
part has been started.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from evenhand.core.errors import EngineError, MissingExtraError

CLIENT = "ray://"
_PATIENCE = 10.0  # seconds for a machine to answer
_STORE_SHARE = 0.3  # of the free memory, for the object store of a cluster that is started here


def join(address: str, cores: int | None = None) -> Any:
    """The module `ray`, connected to the cluster; an address is `ray://HOST:PORT`, `HOST:PORT` or empty.

    Without an address the cluster is that of RAY_ADDRESS (`auto` finds one that was started on this machine), or one
    that is started here, with `cores` workers, and ends with this process. A program that is connected already stays
    where it is.
    """
    address = address or os.environ.get("RAY_ADDRESS", "local")
    # Ray reads these once, when it is imported. Its control port listens on every interface, so it asks for a token.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == "local" and os.environ["RAY_AUTH_MODE"] == "token":
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    ray = _imported()
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        store = int(_STORE_SHARE * _free_memory())
        with _told("local"):
            ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=store, **quiet)
        return ray
    if ":" in address:
        _reach(address)
    with _told(address):
        ray.init(address, **quiet)
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


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("The engine ray needs Ray", "ray") from None
    return ray


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
    except ValueError:
        raise EngineError(f"{address!r} is no address of a cluster. Write ray://HOST:PORT.") from None
    except OSError as error:
        raise EngineError(
            f"The cluster {address} can't be reached ({error.strerror or error}). Is it running, and is the port open? "
            "`ray status` on its head tells; --engine processes:N works without a cluster."
        ) from None


class _told:  # noqa: N801 - reads as a word in a with statement
    """Turns what Ray raises while it connects into an EngineError of one line."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception):
            raise EngineError(explain(self.address, error)) from error


def explain(address: str, error: Exception) -> str:
    """Why a cluster can't be joined, and what to do, in a line.

    >>> explain("10.0.0.7:6379", RuntimeError("Version mismatch: The cluster was started with: Ray: 2.50.0"))
    "Ray's or Python's version differs between this program and the cluster 10.0.0.7:6379: The cluster was started
    with: Ray: 2.50.0. Install the same versions on both sides; no part was started."
    """
    text = " ".join(str(error).split())
    lowered = text.lower()
    if "version mismatch" in lowered or "version of" in lowered:
        told = text.partition(": ")[2] or text
        return (
            f"Ray's or Python's version differs between this program and the cluster {address}: {told.rstrip('.')}. "
            "Install the same versions on both sides; no part was started."
        )
    if isinstance(error, ConnectionError) or "token" in lowered:  # something listens there, and says nothing to us
        return (
            f"The cluster {address} does not let this program in. "
            "Set RAY_AUTH_MODE=token and the RAY_AUTH_TOKEN with which its head was started."
        )
    return f"The cluster {address} can't be joined ({type(error).__name__}: {text[:300]})."
