"""The local page: runs in a folder, listed, followed while they are made, compared, and opened down to the sample.

It reads and never writes. No request names a path: runs are addressed by keys that the server hands out, pictures by
the row that they belong to, and every file is opened only when it really lies below the folder of runs or a folder of
data that was named (`folders`). `guard` checks every request before anything looks at it.
"""

from __future__ import annotations

from evenhand.serve.app import make_app
from evenhand.serve.guard import AccessPolicy
from evenhand.serve.library import ServeSettings

__all__ = ["AccessPolicy", "ServeSettings", "make_app"]
