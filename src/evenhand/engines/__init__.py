"""Where work runs: here, on threads, or on processes; the same bits everywhere.

```text
serial        one part after the other
threads:N     N threads of this process
processes:N   N spawned processes; a part that hangs or kills its worker harms no other
```

Other engines come by the entry-point group `evenhand.engines`, as ours for clusters does (`ray_cluster`): NAME → a
callable that takes the whole text (`ray://…`) and gives an engine.
"""

from __future__ import annotations

import os

from evenhand.core.engine import Engine, Serial
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.engines.local import Processes, Threads

__all__ = ["Processes", "Serial", "Threads", "parse"]

GROUP = "evenhand.engines"
_OURS = ("serial", "threads", "processes")


def parse(text: str) -> Engine:
    """The engine that a text names.

    >>> parse("serial").name, parse("threads:3").name
    ('serial', 'threads:3')
    >>> parse("processes:two")
    Traceback (most recent call last):
    ...
    evenhand.core.errors.OptionError: Engine 'processes:two': 'two' is not a number of workers. Write processes:2.
    """
    name, _, count = text.strip().partition(":")
    if name == "serial":
        if count:
            raise OptionError(f"Engine {text!r}: serial takes no number. Write serial, threads:N or processes:N.")
        return Serial(interruptible=Processes(1))
    if name == "threads":
        return Threads(_workers(text, name, count))
    if name == "processes":
        return Processes(_workers(text, name, count))
    from importlib.metadata import entry_points  # costs a worker's start a fifth, and no worker needs it

    others = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in others:
        raise UnknownNameError("engine", name, (*_OURS, *sorted(others)))
    engine: Engine = others[name].load()(text)
    return engine


def _workers(text: str, name: str, count: str) -> int:
    if not count:
        return os.cpu_count() or 1
    if not count.isascii() or not count.isdigit():
        raise OptionError(f"Engine {text!r}: {count!r} is not a number of workers. Write {name}:2.")
    workers = int(count)
    if not 1 <= workers <= 1024:
        raise OptionError(f"Engine {text!r}: expected 1 to 1024 workers.")
    return workers
