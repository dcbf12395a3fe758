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
from evenhand.compat.his_evaluators.metrics import register_metrics

NovelViewSynthesizeModel = NovelViewModel
NovelViewSynthesizeEvaluator = NovelViewEvaluator
IPERNovelViewSynthesizeEvaluator = IPERNovelViewEvaluator

__all__ = [
    "AppearanceTransferEvaluator",
    "AppearanceTransferModel",
    "FashionVideoMotionImitationEvaluator",
    "IPERAppearanceTransferEvaluator",
    "IPERMotionImitationEvaluator",
    "IPERNovelViewEvaluator",
    "IPERNovelViewSynthesizeEvaluator",
    "MotionImitationEvaluator",
    "MotionImitationModel",
    "MotionSyntheticMotionImitationEvaluator",
    "NovelViewEvaluator",
    "NovelViewModel",
    "NovelViewSynthesizeEvaluator",
    "NovelViewSynthesizeModel",
    "YoutubeDancer18MotionImitationEvaluator",
    "register_metrics",
]
