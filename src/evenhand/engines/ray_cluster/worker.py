"""What a worker of the cluster does: says what is installed where it runs, sets itself up, works on parts.

The class is sent to the cluster by value, and nothing of evenhand is imported until its methods run. A machine on
which evenhand is missing can therefore still say so.
"""

from __future__ import annotations

from typing import Any

_COMPARED = ("evenhand", "numpy", "scipy", "ray")


def installed() -> dict[str, str]:
    """The versions that results depend on; `missing` where a package is not installed.

    >>> sorted(installed())
    ['evenhand', 'numpy', 'python', 'ray', 'scipy']
    """
    import sys
    from importlib import metadata

    versions = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for package in _COMPARED:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "missing"
    return versions


class Worker:
    """One worker of the cluster; it serves one map after the other."""

    def __init__(self) -> None:
        self.fn: Any = None
        self.place: Any = None
        self.blas: Any = None

    def where(self) -> tuple[str, int, dict[str, str]]:
        """The machine, the process and the versions there."""
        import os

        import ray

        return ray.get_runtime_context().get_node_id(), os.getpid(), installed()

    def set_up(self, payload: bytes, *shared: Any) -> Any:
        """None once the worker is ready for parts; an error of ours when no worker could be set up.

        The shared arrays arrive as read-only views of the object store of its machine.
        """
        from ray import cloudpickle

        from evenhand.core.blas import OneThread
        from evenhand.core.engine import Workplace, cause_of, prepare
        from evenhand.core.errors import EvenhandError, PartError

        self.blas = OneThread()
        try:
            self.fn, setup = cloudpickle.loads(payload)
            self.blas.hold()
            self.place = Workplace(prepare(setup), shared)
        except EvenhandError as error:
            return error
        except Exception as error:
            return PartError(
                f"A worker of the cluster can't load the work it was sent ({cause_of(error)}). "
                "What the work is defined in must be installed on every machine, or lie on a disk that all of them see."
            )
        return None

    def work(self, number: int, part: Any) -> Any:
        """What became of one part."""
        from evenhand.core.engine import attempt

        if self.blas.is_stale:
            self.blas.hold()
        return attempt(self.fn, number, part, self.place)

    def rest(self) -> None:
        """Let go of the model and the arrays of the last map."""
        self.fn = self.place = None
