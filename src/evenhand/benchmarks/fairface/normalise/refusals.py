"""Whether a text without any usable term declines to answer, and if not, what it is.

Only the reason code depends on this, never a label.
"""

from __future__ import annotations

import re
from typing import Final

from evenhand.benchmarks.fairface.normalise.readings import Reason

_DECLINES: Final = re.compile(
    r"\b(?:sorry|apologi[sz]e|cannot|can't|can not|couldn't|could not|unable|won't|refuse|not able|as an ai"
    r"|not appropriate|not possible|impossible|determin(?:e|ed|able)|undetermined|indeterminate|unclear|uncertain"
    r"|unsure|not clear|not sure|unknown|n ?/ ?a|none|null|not visible|not applicable|not specified|unspecified"
    r"|difficult|hard to)\b"
)
_OTHER: Final = re.compile(r"\b(?:other|others|another|none of)\b")


def why_nothing(text: str) -> Reason:
    """The reason code of a prepared text in which no term was found.

    >>> why_nothing("i'm sorry, but i can't help with that.").value
    'refusal'
    >>> why_nothing("42 bananas").value
    'not understood'
    """
    if not text:
        return Reason.EMPTY
    if _DECLINES.search(text):
        return Reason.REFUSAL
    if _OTHER.search(text):
        return Reason.OUTSIDE
    return Reason.NOT_UNDERSTOOD
