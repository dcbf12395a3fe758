"""The command: what it prints, what it refuses, and many readers at once."""

from __future__ import annotations

import contextlib
import importlib.util
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from evenhand.cli.main import main
from evenhand.core.errors import OptionError
from evenhand.serve import server as serving
from evenhand.serve.server import listen


def test_loopback_needs_no_token_unless_asked() -> None:
    plain, asked = listen("127.0.0.1", 0), listen("localhost", 0, token=True)
    try:
        assert not plain.access.token
        assert "token" not in plain.address
        assert len(asked.access.token) >= 32
        assert asked.address.endswith(f"?token={asked.access.token}")
    finally:
        plain.socket.close()
        asked.socket.close()


def test_every_interface_means_a_token() -> None:
    listening = listen("0.0.0.0", 0)
    listening.socket.close()
    assert listening.access.token
    assert listening.access.any_address


def test_a_port_in_use_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OptionError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_without_starlette_there_is_one_line_of_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> Any:
        return None if name == "starlette" else real(name, package)

    monkeypatch.setattr("evenhand.cli.viewing.find_spec", without)
    assert main(["serve", str(tmp_path)]) == 2
    assert "pip install 'evenhand[serve]'" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err.replace("\n", "")


def test_twenty_readers_for_two_seconds_meet_no_error(made: Path) -> None:
    command = [sys.executable, "-m", "evenhand.cli.main", "serve", str(made / "runs"), "--data", str(made / "data")]
    command += ["--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as page:
        try:
            assert page.stdout is not None
            address = page.stdout.readline().split()[1]
            assert httpx.get(address, timeout=60).status_code == 200  # the first answer waits for what pages import
            counts = anyio.run(readers, address, 20, 2.0)
        finally:
            page.terminate()
    assert counts["errors"] == 0
    assert counts["answers"] > 0


def test_idle_connections_do_not_lock_anybody_out(made: Path) -> None:
    command = [sys.executable, "-m", "evenhand.cli.main", "serve", str(made / "runs"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as page:
        idle = []
        try:
            assert page.stdout is not None
            address = page.stdout.readline().split()[1]
            port = int(address.rstrip("/").rpartition(":")[2])
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            for number in range(min(1500, most - 200)):
                one = socket.create_connection(("127.0.0.1", port))
                one.sendall(b"GET / HTTP/1.1\r\nHost: " if number % 2 else b"")
                idle.append(one)
            assert httpx.get(address, timeout=30).status_code == 200
        finally:
            for one in idle:
                one.close()
            page.terminate()


def test_a_header_or_an_answer_that_takes_for_ever_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading
    import time

    import uvicorn

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/endless":
            await anyio.sleep(3)
        await send({"type": "http.response.body", "body": b"answered"})

    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(serving, "ANSWER_SECONDS", 0.3)
    server = uvicorn.Server(
        uvicorn.Config(app, http=serving.BoundedProtocol, lifespan="off", ws="none", log_level="critical")
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert httpx.get(f"http://127.0.0.1:{address[1]}/").text == "answered"
            for first in (b"GET / HTTP/1.1\r\nX: ", b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"):
                with socket.create_connection(address, timeout=30) as slow, pytest.raises(OSError):  # noqa: PT012
                    slow.sendall(first)
                    for _ in range(600):  # bytes of one header do not buy time
                        time.sleep(0.05)
                        slow.sendall(b"x" if first else b"")
                        if not first and slow.recv(1) == b"":
                            raise ConnectionResetError
            with socket.create_connection(address, timeout=30) as endless:
                endless.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
                with contextlib.suppress(ConnectionResetError):
                    while endless.recv(1000):
                        pass
        finally:
            server.should_exit = True
            thread.join()


async def readers(address: str, number: int, seconds: float) -> dict[str, int]:
    """So many readers for so long, each going round a few pages."""
    counts = {"answers": 0, "errors": 0}

    async def read() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=30) as client:
            with anyio.move_on_after(seconds):
                while True:
                    for path in ("/", "/live", "/?q=careful"):
                        response = await client.get(path)
                        counts["answers" if response.status_code == 200 else "errors"] += 1

    async with anyio.create_task_group() as group:
        for _ in range(number):
            group.start_soon(read)
    return counts
