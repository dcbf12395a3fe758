"""The instruments that a task asked for, each built when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand import registry
from evenhand.core.errors import UnknownNameError


class LazyInstruments(Mapping[str, Any]):
    """Name → reader or comparer. What is given is taken; the rest is found by entry point and built for the device."""

    def __init__(self, names: Sequence[str], given: Mapping[str, Any], device: str) -> None:
        self._names = tuple(dict.fromkeys((*names, *given)))
        self._device = device
        self._built = dict(given)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise UnknownNameError("instrument", name, self._names)
        if name not in self._built:
            self._built[name] = registry.load(registry.INSTRUMENTS, name)(device=self._device)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
