"""The published FHIBE tool's own interface: `evaluate_task`, `BiasReport`, `BaseModelWrapper`.

An existing script runs unchanged but for its import:

```python
from evenhand.compat.fhibe import BaseModelWrapper, BiasReport, evaluate_task
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.compat.fhibe.evaluation import evaluate_task
    from evenhand.compat.fhibe.report import BiasReport
    from evenhand.compat.fhibe.wrapper import BaseModelWrapper

__all__ = ["BaseModelWrapper", "BiasReport", "evaluate_task"]

_HOMES = {"evaluate_task": "evaluation", "BiasReport": "report", "BaseModelWrapper": "wrapper"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"evenhand.compat.fhibe.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
