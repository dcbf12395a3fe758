"""Parts on a Ray cluster: many machines, the same bits.

```text
ray                 the cluster that RAY_ADDRESS names; without it, one that is started on this machine
ray:N               the same, with N workers
ray://HOST:PORT     a cluster far away, through its client port
```

A worker is an actor with one processor core. It is set up once, sees the shared arrays in the object store of its
machine without copying them, and works on one part after the other. A bounded number of parts is on its way. A
part whose worker or machine is lost is given to another worker; a part that raises is `Failed`, with its cause.
"""

from __future__ import annotations

from evenhand.engines.ray_cluster.engine import RayEngine, parse

__all__ = ["RayEngine", "parse"]
