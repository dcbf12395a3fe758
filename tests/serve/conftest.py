"""A folder of runs with pictures, and a client that asks the page over it without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from PIL import Image

from evenhand import api
from evenhand.serve import AccessPolicy, ServeSettings, make_app
from evenhand.serve.listing import key_of

PORT = 8765
HOST = f"127.0.0.1:{PORT}"
FACES = 60
RACES = ("White", "Black", "Indian", "East Asian", "Southeast Asian", "Middle Eastern", "Latino_Hispanic")


class Client:
    """Asks an application directly; keeps cookies, follows nothing."""

    def __init__(self, app: Any, base: str) -> None:
        self.app, self.base, self.cookies = app, base, httpx.Cookies()

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """The answer to a GET."""
        return self.request("GET", path, headers)

    def post(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """The answer to a POST."""
        return self.request("POST", path, headers)

    def request(self, method: str, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """The answer to a request."""
        return anyio.run(partial(self._ask, method, path, headers))

    async def _ask(self, method: str, path: str, headers: dict[str, str] | None) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url=self.base, cookies=self.cookies) as client:
            response = await client.request(method, path, headers=headers)
            self.cookies.update(client.cookies)
            return response

    def status_of(self, target: str) -> int:
        """The status of a request whose path is sent as it is, not straightened first."""
        return anyio.run(self._status, target)

    async def _status(self, target: str) -> int:
        path, _, query = target.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(b"host", HOST.encode())], "http_version": "1.1", "scheme": "http", "root_path": "",
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
        }  # fmt: skip
        found: list[int] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                found.append(message["status"])

        await self.app(scope, receive, send)
        return found[0]


def labels(folder: Path) -> Path:
    """A FairFace folder of a few faces, each with its picture."""
    (folder / "val").mkdir(parents=True)
    lines = ["file,age,gender,race,service_test"]
    for number in range(1, FACES + 1):
        gender = "Male" if number % 2 else "Female"
        lines.append(f"val/{number}.jpg,20-29,{gender},{RACES[number % 2]},True")
        Image.new("RGB", (200, 200), (number * 4 % 256, 90, 120)).save(folder / "val" / f"{number}.jpg")
    (folder / "fairface_label_val.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def answers(path: Path, wrong: int) -> Path:
    """Answers of which every `wrong`-th is not right."""
    lines = ["file,gender,race,age"]
    for number in range(1, FACES + 1):
        is_male = bool(number % 2) != (number % wrong == 0)
        lines.append(f"val/{number}.jpg,{'Male' if is_male else 'Female'},{RACES[number % 2]},20-29")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`data`, and `runs` with two models of one task and one of another."""
    folder = tmp_path_factory.mktemp("served")
    data = labels(folder / "data")
    for name, wrong in (("careful", 10), ("hasty", 3)):
        said = answers(folder / f"{name}.csv", wrong)
        for task in ("fairface/gender", "fairface/race") if name == "careful" else ("fairface/gender",):
            api.evaluate(
                task, said, data=data, model=name, by=["gender", "race"], draws=100, permutations=100,
                runs=folder / "runs",
            )  # fmt: skip
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be spoilt."""
    shutil.copytree(made, tmp_path / "place")
    return tmp_path / "place"


@pytest.fixture
def client_of() -> Callable[..., Client]:
    """A client over a folder made by `made`."""

    def client(place: Path, access: AccessPolicy | None = None, *, data: bool = True, host: str = HOST) -> Client:
        settings = ServeSettings(place / "runs", (place / "data",) if data else (), draws=50)
        app = make_app(settings, access or AccessPolicy.on_loopback(PORT))
        return Client(app, f"http://{host}")

    return client


@pytest.fixture
def client(made: Path, client_of: Callable[..., Client]) -> Client:
    """A client over the folder as it was made."""
    return client_of(made)


@pytest.fixture
def key() -> Callable[..., str]:
    """The key of the run of a model for a task, below a folder."""

    def find(place: Path, model: str = "careful", task: str = "fairface/gender") -> str:
        return key_of(_run_of(place, model, task), place / "runs")

    return find


@pytest.fixture
def run_of() -> Callable[..., Path]:
    """The folder of a model's run for a task, below a folder."""
    return _run_of


def _run_of(place: Path, model: str = "careful", task: str = "fairface/gender") -> Path:
    return next(path for path in (place / "runs" / task / model).iterdir() if not path.name.startswith("."))
