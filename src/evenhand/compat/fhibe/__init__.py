"""The published FHIBE tool's own interface: `evaluate_task`, `BiasReport`, `BaseModelWrapper`.

An existing script runs unchanged but for its import:

```python
from evenhand.compat.fhibe import BaseModelWrapper, BiasReport, evaluate_task
```

or, without any change, as `python -m evenhand.compat.fhibe SCRIPT`, or after one line in front of its imports:
`import evenhand.compat.fhibe; evenhand.compat.fhibe.install_alias()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.compat.fhibe.alias import install_alias
    from evenhand.compat.fhibe.evaluate import evaluate_task
    from evenhand.compat.fhibe.models import BaseModelWrapper
    from evenhand.compat.fhibe.reporting import BiasReport

__all__ = ["BaseModelWrapper", "BiasReport", "evaluate_task", "install_alias"]

_MODULES = {
    "evaluate_task": "evaluate",
    "BiasReport": "reporting",
    "BaseModelWrapper": "models",
    "install_alias": "alias",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"evenhand.compat.fhibe.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
