"""What was found for a short text, kept so that it is not looked for again.

Words and short values come again in thousands of answers; long texts rarely do
and are never kept, so that the memory stays small whatever is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

Found = TypeVar("Found")

LONGEST: Final = 64
MOST: Final = 8192


class TextCache(dict[str, Found], Generic[Found]):
    """What a function of a text gives, with the latest short texts remembered.

    The function must depend on the text alone, and what it gives must not be changed.
    A full memory is emptied and fills again.

    >>> asked = []
    >>> lengths = TextCache(lambda text: asked.append(text) or len(text))
    >>> lengths["man"], lengths["man"], asked
    (3, 3, ['man'])
    """

    def __init__(self, find: Callable[[str], Found]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, text: str) -> Found:
        found = self.find(text)
        if len(text) <= LONGEST:
            if len(self) >= MOST:
                self.clear()
            self[text] = found
        return found
