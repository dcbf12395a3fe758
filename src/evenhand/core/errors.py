"""The errors we raise, as one tree.

```text
EvenhandError
├── InputError            what the user brought can't be used (exit code 2)
│   ├── DataError         a data set's files
│   ├── PredictionError   a model's files or answers
│   ├── OptionError       an option, attribute, group or name
│   │   └── UnknownNameError
│   ├── ModelError        a model that can't be loaded or breaks its contract
│   ├── RunError          a stored run: damaged, incomplete, of another version
│   ├── EngineError       a cluster that can't be reached, or that does not fit to this program
│   └── MissingExtraError an optional dependency is not installed
└── WorkError             something broke while we worked (exit code 3)
    ├── PartError         a part of the work failed; the others are kept
    └── StorageError      a disk that is full or not writable
```

A message says what was found, where, what was expected and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.core.printing import printable_lines

_LISTED = 60  # names that a message lists


class EvenhandError(Exception):
    """Everything that evenhand raises on purpose; its text may be printed anywhere."""

    def __str__(self) -> str:
        return printable_lines(Exception.__str__(self))  # KeyError, a base of some, would show it quoted


class InputError(EvenhandError):
    """What the user brought can't be used."""


class DataError(InputError):
    """A file of a data set is missing, damaged or not what the protocol describes."""


class PredictionError(InputError):
    """A file of predictions, or one answer in it, is not in the official format."""


class OptionError(InputError):
    """An option, attribute or group that does not exist, or a value that it can't take."""


class UnknownNameError(OptionError):
    """A name that nothing answers to, with the nearest ones that exist.

    >>> print(UnknownNameError("task", "fairface/gendre", ["fairface/gender", "fairface/race"]))
    There is no task 'fairface/gendre'. Did you mean 'fairface/gender'? Known: fairface/gender, fairface/race.
    """

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.known, self.hint = what, name, tuple(known), hint
        close = nearest(name, self.known, most=1)
        ask = f" Did you mean {close[0]!r}?" if close else ""
        more = f" and {len(self.known) - _LISTED:,} more" if len(self.known) > _LISTED else ""
        listed = f" Known: {', '.join(self.known[:_LISTED])}{more}." if self.known else f" No {what} is known here."
        super().__init__(f"There is no {what} {name!r}.{ask}{listed}{' ' + hint if hint else ''}")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.what, self.name, self.known, self.hint)


class ModelError(InputError):
    """A model that can't be loaded, or that breaks the contract of `predict`."""


class RunError(InputError):
    """A stored run that is damaged, incomplete or of a version we do not know."""


class EngineError(InputError):
    """A cluster that can't be reached, lets nobody in, or has other versions than this program."""


class MissingExtraError(InputError):
    """An optional dependency is not installed; the message has the line that installs it."""

    def __init__(self, need: str, extra: str) -> None:
        self.need, self.extra = need, extra
        super().__init__(f"{need}: pip install 'evenhand[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.need, self.extra)


class WorkError(EvenhandError):
    """Something broke while we worked; what was finished is kept."""


class PartError(WorkError):
    """One or several parts of the work failed."""


class StorageError(WorkError):
    """A disk that is full, or a folder that can't be written."""


def nearest(name: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The known names that look most like `name`, best first; none when nothing is close.

    >>> nearest("gendr", ["gender", "race", "age"])
    ('gender',)
    """
    import difflib

    folded = {other.casefold(): other for other in known}
    return tuple(folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=most, cutoff=0.6))
