"""Libraries that a plain install does not bring, imported when they are first used.

```python
from evenhand.core.optional import cv2  # nothing is imported yet

cv2.resize(...)  # MissingExtraError with the line that installs it, where OpenCV is missing
if cv2: ...  # is it installed?
```
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from evenhand.core.errors import MissingExtraError


class OptionalModule:
    """A module that is imported at the first use of one of its names."""

    def __init__(self, name: str, need: str, extra: str) -> None:
        self._name, self._need, self._extra = name, need, extra

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what tools ask every object for
            raise AttributeError(attribute)
        try:
            module = import_module(self._name)
        except ImportError:
            raise MissingExtraError(self._need, self._extra) from None
        value = getattr(module, attribute)
        self.__dict__[attribute] = value  # the next use finds it without coming here
        return value

    def __bool__(self) -> bool:
        return find_spec(self._name) is not None


linalg: Any = OptionalModule("scipy.linalg", "The Fréchet distance needs SciPy", "pixels")
cv2: Any = OptionalModule("cv2", "Filling polygons and reading or comparing pixels needs OpenCV", "pixels")
