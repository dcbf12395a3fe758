"""Face embeddings in `model_outputs.json`, keyed by the aligned picture.

The published tool keys a picture by `<data root>/data/processed/<relative path>` and matches it by its
last two components. A picture that could not be aligned has `null` and is in no pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe.codec import OutputsCodec
from evenhand.benchmarks.fhibe.output_file import write_entries
from evenhand.core.task import Dataset, Sample

Embedding = NDArray[np.float64]
ALIGNED = ("data", "processed")


def aligned_path(root: Path, image: str) -> Path:
    """Where the aligned picture of an image belongs.

    >>> aligned_path(Path("fhibe"), "data/raw/a/b.png").as_posix()
    'fhibe/data/processed/data/raw/a/b.png'
    """
    return Path(root).joinpath(*ALIGNED, image)


class EmbeddingCodec(OutputsCodec[Embedding]):
    """Face verification: `{"<aligned path>": {"detections": [numbers], "img_filepath": "<original>"}}`."""

    about = "model_outputs.json: for every aligned picture its embedding; null where it could not be aligned"
    holds = "an embedding"
    example = '{"<root>/data/processed/<image path>": {"detections": [0.0226, 0.0781, …], "img_filepath": "…"}}'

    def answer(self, image: str, value: Any, forms: set[str]) -> Embedding:
        values: Any
        if isinstance(value, list):
            forms.add("a list without `detections`")
            values = value
        elif "detections" in value:
            values = value["detections"]
        elif "embeddings" not in value:
            raise KeyError(f"no 'detections'; it has {sorted(map(str, value))}")
        else:
            values = value["embeddings"]
            forms.add("documented: 'embeddings' instead of 'detections'")
        if values is None:
            return self.nothing()
        vector: NDArray[Any] = np.array(values, dtype=np.float64)
        if vector.ndim == 2 and len(vector) == 1:
            vector = vector[0]
            forms.add("embeddings nested once more")
        if vector.ndim != 1 or not len(vector):
            raise ValueError(f"an embedding of shape {vector.shape}; one list of numbers was expected")
        return vector

    def stored(self, answer: Embedding) -> Any:
        return {"detections": np.asarray(answer).tolist() if np.asarray(answer).size else None}

    def nothing(self) -> Embedding:
        return np.zeros(0)

    def write(self, path: Path, answers: Iterable[tuple[str, Embedding]], dataset: Dataset[Any], options: Any) -> None:
        """Every picture under its aligned path, with the path of the original."""
        by_id, nothing = dict(answers), self.nothing()
        write_entries(
            path,
            (
                (
                    self.key(sample),
                    {**self.stored(by_id.get(sample.id, nothing)), "img_filepath": str(sample.media[0])},
                )
                for sample in dataset.samples
            ),
        )

    def key(self, sample: Sample) -> str:
        root = Path(*sample.media[0].parts[: len(sample.media[0].parts) - len(Path(sample.id).parts)])
        return str(aligned_path(root, sample.id))
