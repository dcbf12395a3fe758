"""Which image an answer of a wrapped model belongs to.

The published contract ties answers to images by running position alone. Here the paths that a batch
carries are used wherever it carries them; a loader that shuffles is refused, and one that drops, repeats or
reorders images is caught and the image named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evenhand.core.errors import ModelError
from evenhand.core.task import Sample

_DEEPEST = 3  # levels of a batch that are searched for paths


class BatchMatcher:
    """Which images a batch is about: by the paths that it carries, else by running position."""

    def __init__(
        self, name: str, samples: Sequence[Sample], failed: Collection[str], paths: Sequence[str], loader: Any
    ) -> None:
        """`paths` are second paths of the samples; those in `failed` need no answer."""
        self.name, self.loader = name, loader
        self.samples = [sample for sample in samples if sample.id not in failed]
        self.by_path = dict(zip(paths, samples, strict=True))
        self.by_path.update({str(sample.media[0]): sample for sample in samples})
        self.answered: dict[str, None] = {}
        self.waiting = (sample for sample in self.samples if sample.id not in self.answered)

    def take(self, number: int, batch: Any, answers: int) -> list[Sample]:
        """The images of a batch, one per answer; raises ModelError where that can't be said or is not once each."""
        named = [self.by_path[path] for path in paths_in(batch, self.by_path)]
        if len(named) != answers:
            named = list({sample.id: sample for sample in named}.values())  # the same path may stand in two places
        if named and len(named) != answers:
            raise ModelError(
                f"{self.name}: batch {number} carries the paths of {len(named)} images, such as {named[0].id}, but "
                f"__call__ gave {answers} answers. One answer per image of the batch is needed, in its order."
            )
        chosen = named or self._next(number, answers)
        for sample in chosen:
            if sample.id in self.answered:
                raise ModelError(f"{self.name}: the loader gave image {sample.id} twice (batch {number}).")
            self.answered[sample.id] = None
        return chosen

    def close(self) -> None:
        """Raises ModelError when an image had no answer."""
        dropped = [sample.id for sample in self.samples if sample.id not in self.answered]
        if dropped:
            raise ModelError(
                f"{self.name}: the loader dropped {len(dropped)} of {len(self.samples)} images, such as {dropped[0]}. "
                "It must give every image once (is `drop_last` set?)."
            )

    def _next(self, number: int, answers: int) -> list[Sample]:
        if not self.answered:
            self._compare_order()
        chosen = list(islice(self.waiting, answers))
        if len(chosen) < answers:
            raise ModelError(
                f"{self.name}: batch {number} has {answers} answers, but only {len(chosen)} images were left after "
                f"{len(self.answered)}. The loader repeats images, or __call__ gives too many."
            )
        return chosen

    def _compare_order(self) -> None:
        """Where batches carry no paths but the loader's data set lists them, it must list ours, in our order."""
        paths = _listed_paths(getattr(self.loader, "dataset", None), self.by_path)
        listed, wanted = [self.by_path[path].id for path in paths or []], [sample.id for sample in self.samples]
        if paths is None or listed == wanted:
            return
        pairs = enumerate(zip(listed, wanted, strict=False))
        place = next((place for place, (theirs, ours) in pairs if theirs != ours), min(len(listed), len(wanted)))
        raise ModelError(
            f"{self.name}: the loader's data set lists {len(listed)} images in an order of its own, the first out of "
            f"place is {wanted[place] if place < len(wanted) else listed[place]}; {len(wanted)} were given. Keep the "
            "order and leave none out, or let every batch carry the paths of its images."
        )


def paths_in(batch: Any, known: Mapping[str, Any], depth: int = 0) -> list[str]:
    """The known paths that a batch carries, in order; none when it carries none.

    >>> paths_in({"image": [0, 1], "path": ["a.png", "b.png"]}, {"a.png": 1, "b.png": 2})
    ['a.png', 'b.png']
    """
    if isinstance(batch, str | Path):
        return [str(batch)] if str(batch) in known else []
    if depth >= _DEEPEST:
        return []
    if isinstance(batch, Mapping):
        parts: Iterable[Any] = batch.values()
    elif isinstance(batch, list | tuple):
        parts = batch
    else:
        return []
    return [path for part in parts for path in paths_in(part, known, depth + 1)]


def refuse_shuffling(name: str, loader: Any) -> None:
    sampler = type(getattr(loader, "sampler", None)).__name__
    if "Random" in sampler or "Weighted" in sampler:
        raise ModelError(
            f"{name}: the loader shuffles ({sampler}). It must give the images in the order of the list: shuffle=False."
        )


def _listed_paths(dataset: Any, known: Mapping[str, Any]) -> list[str] | None:
    """The list of known images that a data set keeps, as torch's usually do; None when it shows none."""
    for value in getattr(dataset, "__dict__", {}).values():
        if isinstance(value, list | tuple) and value and all(isinstance(path, str | Path) for path in value):
            listed = [str(path) for path in value]
            if all(path in known for path in listed):
                return listed
    return None
