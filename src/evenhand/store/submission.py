"""A copy of the official file beside the results that are based on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import PredictionError
from evenhand.core.task import InputFact
from evenhand.files import inputs
from evenhand.files.writing import make_folder, remove, write_file
from evenhand.store.manifest import name_below

MOST_BYTES = 64 << 20  # larger submissions are named by their hash and not copied


def store_submission(facts: Sequence[InputFact], submission: Path, folder: Path) -> bool:
    """Copy the files that were read below `folder`; False when they are too large to be copied.

    The copy has the bytes that were read: a file that changed since is refused.
    """
    files = {name_below(Path(fact.path), submission) or submission.name: fact for fact in facts if fact.sha256}
    named = len({fact.path for fact in facts})
    if not files or len(files) < named or sum(fact.size for fact in files.values()) > MOST_BYTES:
        return False
    remove(folder, below=folder.parent)
    make_folder(folder, below=folder.parent)
    for name, fact in sorted(files.items()):
        source = inputs.read(Path(fact.path), PredictionError, allow_empty=True)
        if source.fact.sha256 != fact.sha256:
            raise PredictionError(
                f"{fact.path} was changed while it was being evaluated. Evaluate it again when it is finished."
            )
        write_file(folder / name, source.data, below=folder, flush=False)
    return True
