"""Networks with reproducible weights, as the tests fill them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "helpers"))
from filled import fill_network

__all__ = ["fill_network"]
