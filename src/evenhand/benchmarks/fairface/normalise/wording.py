"""Word lists, written as people read them."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """The words of a text.

    >>> listed("lad dude")
    ('lad', 'dude')
    """
    return tuple(text.split())
