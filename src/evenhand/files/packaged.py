"""Tables that come with the package: TOML files beside the modules that read them.

The texts of a family, what `describe` prints of its tasks and how reports write its keys, are in its `texts.toml`:

```toml
[names]       # fields of `DisplayNames`
[shared]      # what several tasks say: {licence} stands for the text of that name
[every]       # fields of `About` that all tasks have, unless they have their own
[tasks.NAME]  # aliases, title (in reports), summary, fields of `About`; `like` names a task whose texts it shares
```
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from evenhand.core.names import DisplayNames
from evenhand.core.task import About


def packaged_table(package: str, name: str, kind: Any = dict[str, Any]) -> Any:
    """The tables of a TOML file in the folder of a package, as a type that says what they hold.

    >>> packaged_table("evenhand.benchmarks.fairface", "lexicon/gender.toml")["third"]["pairs"]
    'non binary, gender queer, gender fluid'
    """
    return msgspec.toml.decode(files(package).joinpath(name).read_bytes(), type=kind)


class FamilyTexts:
    """The texts of a family, from the package that it is; a key that nothing reads is an error."""

    def __init__(self, package: str) -> None:
        table = packaged_table(package, "texts.toml")
        self._family = package.rpartition(".")[2]
        self._names, self._shared = table["names"], table.get("shared", {})
        self._every, self.tasks = table.get("every", {}), table["tasks"]

    def names(self, *values: tuple[str, str]) -> DisplayNames:
        """How reports write keys; `values` are patterns that several families share."""
        titles = {f"{self._family}/{name}": entry["title"] for name, entry in self.tasks.items() if "title" in entry}
        return DisplayNames(**{**self._names, "values": (*self._names["values"], *values)}, tasks=titles)

    def task(self, name: str) -> Mapping[str, Any]:
        """What a `Task` or `Question` says: its name, aliases, summary and description."""
        own = self.tasks[name]
        entry = {**self._every, **self.tasks.get(own.get("like"), {}), **own}
        texts = {key: self._filled(value) for key, value in entry.items() if key not in ("like", "title")}
        aliases = tuple(f"{self._family}/{alias}" for alias in texts.pop("aliases", ()))
        summary = texts.pop("summary")
        return {"name": f"{self._family}/{name}", "aliases": aliases, "summary": summary, "about": About(**texts)}

    def _filled(self, value: Any) -> Any:
        return value.format_map(self._shared) if isinstance(value, str) else tuple(map(self._filled, value))
