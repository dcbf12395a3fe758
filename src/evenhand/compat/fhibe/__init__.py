"""The published FHIBE tool's own interface: `evaluate_task`, `BiasReport`, `BaseModelWrapper`.

An existing script runs unchanged but for its import:

```python
from evenhand.compat.fhibe import BaseModelWrapper, BiasReport, evaluate_task
```

or, without any change, as `python -m evenhand.compat.fhibe SCRIPT`, or after one line in front of its imports:
`import evenhand.compat.fhibe; evenhand.compat.fhibe.install_alias()`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.compat.fhibe.evaluate import evaluate_task
    from evenhand.compat.fhibe.models import BaseModelWrapper
    from evenhand.compat.fhibe.reporting import BiasReport

__all__ = ["BaseModelWrapper", "BiasReport", "evaluate_task", "install_alias"]

_ENTRIES = {"evaluate_task": "evaluate", "BiasReport": "reporting", "BaseModelWrapper": "models"}
_PUBLISHED_NAME = "fhibe_eval_api"
_PUBLISHED_MODULES = (
    *("common", "common.data", "common.loaders", "common.utils"),
    *("evaluate", "evaluate.constants", "evaluate.evaluate", "evaluate.utils"),
    *("models", "models.base_model"),
    *("reporting", "reporting.reporting", "reporting.utils"),
)


def __getattr__(name: str) -> Any:
    if name in _ENTRIES:
        return getattr(import_module(f"{__name__}.{_ENTRIES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def install_alias() -> None:
    """Let `import fhibe_eval_api` and its modules mean this drop-in, in this process.

    Raises ImportError when the published package itself has been imported already.
    """
    package = sys.modules[__name__]
    if sys.modules.get(_PUBLISHED_NAME, package) is not package:
        raise ImportError(f"{_PUBLISHED_NAME} is imported already; call install_alias() before anything imports it.")
    sys.modules[_PUBLISHED_NAME] = package
    for name in _PUBLISHED_MODULES:
        sys.modules[f"{_PUBLISHED_NAME}.{name}"] = import_module(f"{__name__}.{name}")
