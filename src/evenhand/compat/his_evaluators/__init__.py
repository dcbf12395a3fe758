"""The interface of the published package `his_evaluators`, over the synthesis tasks.

```python
from evenhand.compat.his_evaluators import MotionImitationModel, IPERMotionImitationEvaluator
```

A script that was written for the published package runs with this import. What differs: protocol files are yours to
bring (none is shipped), a crash of the model costs one video, `terminate` is called, and networks honour `device`.
"""

from evenhand.benchmarks.synthesis.models import AppearanceTransferModel, MotionImitationModel, NovelViewModel
from evenhand.compat.his_evaluators.evaluators import (
    AppearanceTransferEvaluator,
    FashionVideoMotionImitationEvaluator,
    IPERAppearanceTransferEvaluator,
    IPERMotionImitationEvaluator,
    IPERNovelViewEvaluator,
    MotionImitationEvaluator,
    MotionSyntheticMotionImitationEvaluator,
    NovelViewEvaluator,
    YoutubeDancer18MotionImitationEvaluator,
)

__all__ = [
    "AppearanceTransferEvaluator",
    "AppearanceTransferModel",
    "FashionVideoMotionImitationEvaluator",
    "IPERAppearanceTransferEvaluator",
    "IPERMotionImitationEvaluator",
    "IPERNovelViewEvaluator",
    "MotionImitationEvaluator",
    "MotionImitationModel",
    "MotionSyntheticMotionImitationEvaluator",
    "NovelViewEvaluator",
    "NovelViewModel",
    "YoutubeDancer18MotionImitationEvaluator",
]
