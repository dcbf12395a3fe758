"""Libraries that are imported when they are first used: most of them a plain install does not bring.

```python
from evenhand.core.optional import cv2  # nothing is imported yet

cv2.resize(...)  # MissingExtraError with the line that installs it, where OpenCV is missing
if cv2: ...  # is it installed?
```
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import MissingExtraError


class LazyModule:
    """A module that is imported at the first use of one of its names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what tools ask every object for
            raise AttributeError(attribute)
        value = getattr(self._imported(), attribute)
        self.__dict__[attribute] = value  # the next use finds it without coming here
        return value

    def _imported(self) -> Any:
        return import_module(self._name)


class OptionalModule(LazyModule):
    """The same of a library that may be missing."""

    def __init__(self, name: str, need: str, extra: str) -> None:
        super().__init__(name)
        self._need, self._extra = need, extra

    def _imported(self) -> Any:
        try:
            return super()._imported()
        except ImportError:
            raise MissingExtraError(self._need, self._extra) from None

    def __bool__(self) -> bool:
        return find_spec(self._name) is not None


if TYPE_CHECKING:
    import polars as polars
else:
    polars = LazyModule("polars")  # always installed, but slow to import; listing tasks does not need it
linalg: Any = OptionalModule("scipy.linalg", "The Fréchet distance needs SciPy", "pixels")
cv2: Any = OptionalModule("cv2", "Filling polygons and reading or comparing pixels needs OpenCV", "pixels")
