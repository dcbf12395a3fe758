"""A real chat server on loopback, which misbehaves on purpose."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import threading
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evenhand.core.task import Sample

Behave = Callable[["Handler", str, int], bool]  # request, picture, how often it was asked for; True: answered


@dataclass
class Log:
    """What the server saw."""

    requests: list[str] = field(default_factory=list)  # pictures, in the order of arrival
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    answered: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = body["messages"][0]["content"][1]["image_url"]["url"]
        picture = hashlib.sha256(base64.b64decode(url.partition(",")[2])).hexdigest()
        log = self.server.log
        with log.lock:
            log.requests.append(picture)
            log.bodies.append(body)
            log.keys.add(self.headers.get("Authorization", ""))
            times = log.requests.count(picture) if len(log.requests) < 5000 else 1
            log.in_flight += 1
            log.most_in_flight = max(log.most_in_flight, log.in_flight)
        try:
            if not self.server.behave(self, picture, times):
                self.answer(picture)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with log.lock:
                log.in_flight -= 1

    def answer(self, picture: str, text: str = '{"gender": "Female", "race": "White", "age": "20-29"}') -> None:
        self.server.log.answered[picture] += 1
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        message = {"role": "assistant", "content": text}
        self.send(200, {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

    def send(self, status: int, body: Any, kind: str = "application/json", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def cut(self) -> None:
        """Promise a body, send a part of it and hang up."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        self.close_connection = True

    def drip(self, seconds: float) -> None:
        """Send a byte now and then, for a long time."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.02)
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behave: Behave) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave, self.log = behave, Log()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up; that is part of the game."""


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Installs packages into an environment of their own; skips the test where no package index can be reached."""

    def environment(*packages: str) -> Path:
        folder = tmp_path_factory.mktemp("environment")
        try:
            venv.create(folder, with_pip=True)
            pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "20"]
            done = subprocess.run([*pip, *packages], capture_output=True, text=True, timeout=900, check=False)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"{packages[0]} can't be installed here: {error}")
        if done.returncode:
            pytest.skip(f"{packages[0]} can't be installed here: {done.stderr[-300:]}")
        return folder

    return environment


@pytest.fixture
def serve() -> Iterator[Callable[[Behave], Server]]:
    """Starts a server that behaves as told."""
    started: list[Server] = []

    def start(behave: Behave) -> Server:
        server = Server(behave)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def pictures(tmp_path: Path) -> Callable[[int], list[Path]]:
    """Writes that many small pictures, all different."""

    def write(count: int) -> list[Path]:
        folder = tmp_path / "val"
        folder.mkdir(exist_ok=True)
        paths = []
        for number in range(1, count + 1):
            pixels = np.full((4, 4, 3), (number % 256, number // 256, 7), dtype=np.uint8)
            path = folder / f"{number}.png"
            Image.fromarray(pixels).save(path)
            paths.append(path)
        return paths

    return write


@pytest.fixture
def samples(pictures: Callable[[int], list[Path]]) -> Callable[[int], list[Sample]]:
    """That many samples with pictures and a prompt."""

    def make(count: int) -> list[Sample]:
        schema = {"type": "object", "properties": {"gender": {"type": "string"}}}
        return [Sample(path.stem, (path,), {"prompt": "Who is it?", "schema": schema}) for path in pictures(count)]

    return make


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(name="fingerprint")
def _fingerprint() -> Callable[[Path], str]:
    """What the server calls a picture."""
    return fingerprint
