"""Who is let in, and what is refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.serve import AccessPolicy
from evenhand.serve.guard import COOKIE

Clients = Callable[..., Any]
Keys = Callable[..., str]


FOREIGN = ("evil.example:8765", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8765", "")
FOREIGN += ("192.0.2.1:8765", "127.0.0.1:8765@evil.example", "user@127.0.0.1:8765", "127.0.0.1:8765:1")


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused(client: Any, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_names_of_loopback_are_let_in(client: Any, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://evil.example:8765"]
)
def test_a_cross_site_post_is_refused(client: Any, origin: str) -> None:
    assert client.post("/", headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_answered_even_to_our_own_pages(client: Any, method: str) -> None:
    response = client.request(method, "/", headers={"Origin": "http://127.0.0.1:8765"})
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


def test_a_request_that_another_site_caused_is_refused(client: Any) -> None:
    assert client.get("/", headers={"Origin": "http://evil.example"}).status_code == 403
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert client.get("/", headers=embedded).status_code == 403
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    assert client.get("/", headers=framed).status_code == 403


def test_a_link_on_another_site_may_be_followed(client: Any) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=followed).status_code == 200


CROOKED = ("/..", "/../etc/passwd", "/static/../app.py", "/%2e%2e/%2e%2e/etc/passwd", "/%252e%252e%252fetc%252fpasswd")
CROOKED += ("/static/..%2f..%2fapp.py", "/static/%2e%2e%5capp.py", "//etc/passwd", "/static/\\..\\app.py", "/run/%00")
CROOKED += ("/run/..%2f..%2f..%2fetc%2fpasswd", "/run/./x", "/%25252e%25252e/x")


@pytest.mark.parametrize("path", CROOKED)
def test_a_path_that_climbs_is_refused(client: Any, path: str) -> None:
    """Asked below the client, which would straighten the path before sending it."""
    assert client.status_of(path) == 400


@pytest.mark.parametrize("path", ["/etc/passwd", "/run//etc/passwd", "/static/%2fetc%2fpasswd", "/run/%2Fetc%2Fpasswd"])
def test_an_absolute_path_finds_nothing(client: Any, path: str) -> None:
    assert client.status_of(path) in (400, 404)


def test_every_answer_carries_the_strict_headers(client: Any, made: Path, key: Keys) -> None:
    addresses = [
        "/",
        "/live",
        f"/run/{key(made)}",
        "/static/htmx.min.js",
        "/nowhere",
        f"/run/{key(made)}/row/0/picture/0",
    ]
    for response in [*map(client.get, addresses), client.post("/"), client.get("/", headers={"Host": "evil"})]:
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_report_runs_only_scripts_that_carry_its_own_nonce(client: Any, made: Path, key: Keys) -> None:
    first, second = (client.get(f"/run/{key(made)}/report") for _ in range(2))
    nonces = []
    for response in (first, second):
        policy = response.headers["content-security-policy"]
        assert "unsafe" not in policy
        nonce = re.search(r"script-src 'nonce-([\w-]{16,})'", policy)
        assert nonce is not None
        nonces.append(nonce[1])
        scripts = re.findall(r"<script([^>]*)>", response.text)
        assert scripts
        assert all(f'nonce="{nonce[1]}"' in one or 'type="application/json"' in one for one in scripts)
    assert nonces[0] != nonces[1]


def test_elsewhere_a_token_is_needed_and_becomes_a_cookie(made: Path, client_of: Clients) -> None:
    access = AccessPolicy.elsewhere("192.0.2.7", 8765)
    client = client_of(made, access, host="192.0.2.7:8765")
    assert client.get("/").status_code == 401
    assert client.get("/static/htmx.min.js").status_code == 401
    assert client.get("/?token=wrong").status_code == 401
    entered = client.get(f"/?q=x&token={access.token}")
    assert (entered.status_code, entered.headers["location"]) == (303, "/?q=x")
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/").status_code == 200
    other = client_of(made, access, host="192.0.2.7:8765")
    assert other.get("/", headers={"Authorization": f"Bearer {access.token}"}).status_code == 200
    assert other.get("/", headers={"Cookie": f"{COOKIE}=wrong"}).status_code == 401


def test_the_token_never_leads_to_another_site(made: Path, client_of: Clients) -> None:
    access = AccessPolicy.elsewhere("192.0.2.7", 8765)
    response = client_of(made, access, host="192.0.2.7:8765").get(f"/evil.example?token={access.token}")
    assert response.headers["location"] == "/evil.example"
    assert client_of(made).status_of("//evil.example?token=x") == 400


def test_a_door_to_every_interface_knows_addresses_and_given_names_only(made: Path, client_of: Clients) -> None:
    access = AccessPolicy.elsewhere("0.0.0.0", 8765, ("lab.example",))
    assert access.token
    for host, code in (("10.1.2.3:8765", 401), ("lab.example:8765", 401), ("evil.example:8765", 421)):
        assert client_of(made, access, host=host).get("/").status_code == code


def test_reading_every_page_writes_nothing(made: Path, client: Any, key: Keys) -> None:
    before = _state(made)
    run, other = key(made), key(made, "hasty")
    for address in _crawl(client, ["/", "/live", f"/compare?run={run}&run={other}", f"/diff?run={run}&run={other}"]):
        assert address
    client.get(f"/compare/found?run={run}&run={other}")
    client.get(f"/diff/found?run={run}&run={other}")
    client.get(f"/run/{run}/report")
    assert _state(made) == before


def _crawl(client: Any, start: list[str], most: int = 60) -> list[str]:
    seen: list[str] = []
    waiting = list(start)
    while waiting and len(seen) < most:
        address = waiting.pop(0)
        if address in seen:
            continue
        seen.append(address)
        response = client.get(address)
        assert response.status_code in (200, 303), address
        if "text/html" in response.headers.get("content-type", ""):
            found = re.findall(r'(?:href|src)="(/[^"]*)"', response.text)
            waiting += [one.replace("&amp;", "&").partition("#")[0] for one in found]
    assert len(seen) > 20
    return seen


def _state(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() + str(path.stat().st_mtime_ns) for path in files}
