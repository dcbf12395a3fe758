"""The drop-in under the published package's name, so that scripts run unchanged."""

from __future__ import annotations

import sys
from importlib import import_module

PUBLISHED_NAME = "fhibe_eval_api"
_MODULES = (
    "common",
    "common.data",
    "common.loaders",
    "common.utils",
    "evaluate",
    "evaluate.constants",
    "evaluate.evaluate",
    "evaluate.utils",
    "models",
    "models.base_model",
    "reporting",
    "reporting.reporting",
    "reporting.utils",
)


def install_alias() -> None:
    """Let `import fhibe_eval_api` and its modules mean this drop-in, in this process.

    Raises ImportError when the published package itself has been imported already.
    """
    own = "evenhand.compat.fhibe"
    package = import_module(own)
    if sys.modules.get(PUBLISHED_NAME, package) is not package:
        raise ImportError(f"{PUBLISHED_NAME} is imported already; call install_alias() before anything imports it.")
    sys.modules[PUBLISHED_NAME] = package
    for name in _MODULES:
        sys.modules[f"{PUBLISHED_NAME}.{name}"] = import_module(f"{own}.{name}")
