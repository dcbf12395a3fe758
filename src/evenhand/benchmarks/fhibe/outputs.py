"""For people who infer elsewhere: write a model's answers in the published format.

```python
from evenhand import fhibe

answers = {"data/raw/…/main_1.png": {"detections": [fhibe.encode_mask(mask)], "scores": [0.98]}}
fhibe.write_outputs("person_parsing", answers, "model_outputs.json")
```
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fhibe.codec import OutputsCodec
from evenhand.benchmarks.fhibe.output_file import write_entries
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array


def encode_mask(mask: Array) -> dict[str, Any]:
    """A mask (height, width) as `{"size": [height, width], "counts": text}`, COCO's compressed run lengths.

    >>> import numpy as np
    >>> encode_mask(np.array([[False, True], [False, True]]))
    {'size': [2, 2], 'counts': '22'}
    """
    from evenhand.geometry.masks import encode

    return encode(mask).plain


def write_outputs(task: str, answers: Mapping[str, Any], path: str | Path) -> Path:
    """Write answers by image path, checked, as a task's `model_outputs.json`; the path comes back.

    An answer is what the task documents: boxes with scores, masks from `encode_mask`, keypoints, part
    probabilities, a label map (an array) or an embedding; None is "nothing found".
    """
    import numpy as np

    from evenhand.benchmarks.fhibe.codec import FaceMapCodec, face_map
    from evenhand.benchmarks.fhibe.tasks import task_named

    codec = task_named(task).codec
    if not isinstance(codec, OutputsCodec):
        raise PredictionError(f"{task} has no model_outputs.json: save one picture per image in a folder.")
    entries = []
    for image, answer in answers.items():
        try:
            if isinstance(codec, FaceMapCodec) and isinstance(answer, np.ndarray):
                answer = face_map(answer)
            elif isinstance(answer, np.ndarray):
                answer = answer.tolist()
            plain = codec.to_plain(codec.nothing() if answer is None else answer)
        except (PredictionError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise PredictionError(f"image {image}: {error}") from None
        entries.append((str(image), plain))
    write_entries(Path(path), entries)
    return Path(path)
