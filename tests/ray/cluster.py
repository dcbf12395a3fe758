"""A real cluster on loopback: a head and nodes, each a process group of its own, with one token for all."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evenhand.engines.ray_cluster.joining import join

RAY = Path(sys.executable).with_name("ray")
WORK = (
    Path(__file__).parent,
    Path(__file__).parents[1] / "engines",
    Path(__file__).parents[2],
)  # where workers find the tests' functions
STORE = 150_000_000  # bytes
PATIENCE = 120.0


class Cluster:
    """Starts its head at once and nodes when asked; every node has one core, the head none if not said.

    Settings are environment variables of its processes, over the usual ones.
    """

    def __init__(self, cores: int = 0, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="eh-", dir="/tmp"))  # Ray's sockets need a short path
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_failure_threshold": "4",
            "PYTHONPATH": os.pathsep.join(str(path) for path in WORK),
            **settings,
        }
        # Addresses of its own, so that two clusters on one machine do not meet at a fixed port.
        self.net = f"127.{1 + os.getpid() % 200}.{1 + os.getpid() // 200 % 200}"
        self.host, self.port, self.client_port = f"{self.net}.2", free_port(), free_port()
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.started = 0
        self._start(self.host, "--head", "--port", str(self.port), "--num-cpus", str(cores),
                    "--include-dashboard", "false", "--ray-client-server-port", str(self.client_port))  # fmt: skip
        self._until(self._listens, "the head")

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def add_nodes(self, count: int) -> list[str]:
        """The addresses of new nodes, once they have joined."""
        made = [f"{self.net}.{10 + self.started + number}" for number in range(count)]
        self.started += count
        for host in made:
            self._start(host, "--address", self.address, "--num-cpus", "1")
        ray = self.join()
        self._until(lambda: set(made) <= {n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"]}, "the nodes")
        return made

    def join(self) -> Any:
        """Connect this process; Ray reads the token when it is imported, so it must not be imported before."""
        os.environ.update({name: self.environment[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")})
        os.environ["RAY_ADDRESS"] = self.address
        return join(self.address)

    def kill(self, host: str) -> None:
        """End a node and all its workers as a loss of power would."""
        process = self.nodes.pop(host)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        if "ray" in sys.modules:
            sys.modules["ray"].shutdown()
        for host in list(self.nodes):
            self.kill(host)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, host: str, *arguments: str) -> None:
        own = self.folder / host.rpartition(".")[2]  # two nodes that start at once must not share their sockets' folder
        command = [str(RAY), "start", "--block", "--node-ip-address", host, "--object-store-memory", str(STORE),
                   "--temp-dir", str(own),
                   "--include-log-monitor", "false", "--disable-usage-stats", *arguments]  # fmt: skip
        with (self.folder / f"{host}.log").open("wb") as log:
            self.nodes[host] = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True, cwd=self.folder
            )

    def _listens(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), 1).close()
        except OSError:
            return False
        return "Ray runtime started" in (self.folder / f"{self.host}.log").read_text(errors="replace")

    def _until(self, is_so, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > deadline:
                logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
                raise RuntimeError(f"{what} did not start:\n{logs}")
            time.sleep(0.2)


def free_port() -> int:
    """A port that nobody has, outside of the range in which Ray's workers listen."""
    while True:
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = int(probe.getsockname()[1])
        if not 10002 <= port <= 19999:
            return port
