"""Settings of a chat endpoint: what can be given with `--model-set key=value`, checked before anything is sent."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from evenhand.core.errors import ModelError
from evenhand.core.options import Options, option, parse

HOSTED = "https://api.openai.com/v1"
MASK = "***"
_OWN_FIELDS = frozenset({"model", "messages"})
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")


@dataclass(frozen=True)
class ChatSettings(Options):
    """How an OpenAI-compatible chat endpoint is asked."""

    base_url: str = option(HOSTED, "address of the endpoint, up to and with /v1")
    key_variable: str = option(
        "OPENAI_API_KEY", "environment variable that holds the key; none is sent when it is unset"
    )
    api_version: str = option("", "Azure: the api-version of the query; the key is then sent as api-key")
    headers: str = option("", "further headers, Name: value; Name: value; $NAME is taken from the environment")
    body: str = option("", "further fields of every request, as a JSON object")
    system: str = option("", "a system prompt before the question")
    temperature: float = option(0.0, "0 asks for the same answer every time")
    top_p: float = option(0.0, "share of probability that is sampled from; 0 leaves it to the server")
    seed: int = option(-1, "seed of the sampling; negative leaves it to the server")
    repeats: int = option(1, "how often each question is asked; agreement is a metric with --set repeats=on")
    max_tokens: int = option(300, "longest answer")
    structured: Literal["auto", "json_schema", "json_object", "off"] = option(
        "auto", "ask the server to keep to the answer's form; auto falls back where it can't"
    )
    detail: Literal["", "auto", "low", "high"] = option("", "how closely the server looks at the picture")
    resize: int = option(0, "longest side of the picture that is sent, in pixels; 0 sends the file as it is")
    follow_links: Literal["no", "yes"] = option("no", "whether pictures outside the data folder may be sent")
    concurrency: int = option(8, "requests in flight at a time")
    per_minute: float = option(0.0, "most requests a minute; 0 for no limit of ours")
    attempts: int = option(6, "how often a request is tried")
    backoff: float = option(1.0, "seconds before the second try; doubled for each further one")
    longest_wait: float = option(120.0, "most seconds between two tries, Retry-After included")
    timeout: float = option(120.0, "seconds for one whole request")
    budget_requests: int = option(0, "most requests of one start; 0 for no limit")
    budget_tokens: int = option(0, "most tokens of one start, prompt and answer; 0 for no limit")
    budget_cost: float = option(0.0, "most cost of one start, in the unit of the prices; 0 for no limit")
    price_in: float = option(0.0, "price of a million prompt tokens")
    price_out: float = option(0.0, "price of a million answer tokens")
    proxy: str = option("", "address of a proxy; proxies of the environment are not used")

    @property
    def key(self) -> str:
        """The key, from the environment; empty when there is none. It is never stored or shown."""
        return os.environ.get(self.key_variable, "").strip()

    @property
    def url(self) -> str:
        """Where questions go."""
        query = f"?{urlencode({'api-version': self.api_version})}" if self.api_version else ""
        return self.base_url.rstrip("/") + "/chat/completions" + query

    @property
    def extra_headers(self) -> dict[str, str]:
        """The further headers, with the values of environment variables put in."""
        headers = {}
        for line in filter(str.strip, self.headers.split(";")):
            name, _, value = line.partition(":")
            filled = _VARIABLE.sub(lambda found: os.environ.get(found[1] or found[2], ""), value.strip())
            headers[name.strip()] = filled
        return headers

    @property
    def extra_body(self) -> dict[str, Any]:
        """The further fields of every request."""
        return json.loads(self.body) if self.body.strip() else {}

    @property
    def identity(self) -> dict[str, Any]:
        """What answers depend on: predictions under other values are other predictions."""
        names = ("base_url", "api_version", "system", "temperature", "top_p", "seed", "repeats", "max_tokens")
        return {name: getattr(self, name) for name in (*names, "structured", "detail", "resize", "body")}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must never be stored or shown: the key, passwords, values of headers; longest first."""
        proxy = urlsplit(self.proxy) if self.proxy else None
        texts = [self.key, proxy.password or "" if proxy else "", *self.extra_headers.values()]
        forms = {form for text in texts if text for form in (text, quote(text, safe=""), json.dumps(text)[1:-1])}
        return tuple(sorted((form for form in forms if len(form) >= 4), key=len, reverse=True))

    def masked(self, text: str) -> str:
        """A text that can be stored and shown: without any secret."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text


def chat_settings(given: Mapping[str, Any]) -> ChatSettings:
    """The settings with the given ones set; refuses what can't work or would give a key away.

    >>> chat_settings({"concurrency": "4"}).concurrency
    4
    """
    for name in given:
        if "key" in name and name != "key_variable":
            raise ModelError(
                f"The setting {name!r} is not known: keys are taken from the environment only. "
                "Put the key into OPENAI_API_KEY, or name another variable with key_variable=NAME."
            )
    settings = parse(ChatSettings, given)
    _check_addresses(settings)
    _check_headers(settings)
    _check_body(settings)
    for name in ("concurrency", "attempts", "timeout", "max_tokens", "repeats"):
        if getattr(settings, name) <= 0:
            raise ModelError(f"The setting {name} must be above 0, not {getattr(settings, name)}.")
    for name in ("per_minute", "backoff", "longest_wait", "budget_requests", "budget_tokens", "budget_cost", "resize"):
        if getattr(settings, name) < 0:
            raise ModelError(f"The setting {name} must not be negative.")
    if not 0 <= settings.top_p <= 1:
        raise ModelError(f"The setting top_p must be between 0 and 1, not {settings.top_p:g}.")
    if settings.budget_cost and not (settings.price_in or settings.price_out):
        raise ModelError("A budget_cost needs prices: price_in and price_out, for a million tokens.")
    return settings


def _check_addresses(settings: ChatSettings) -> None:
    try:
        address = urlsplit(settings.base_url)
        proxy = urlsplit(settings.proxy)
        _ = address.port, proxy.port
    except ValueError:
        raise ModelError("base_url or proxy is not an address. Write it like http://127.0.0.1:8000/v1.") from None
    if "@" in settings.base_url or address.query or address.fragment:
        raise ModelError(
            f"The address of the endpoint must not carry a name, a password, a query or a fragment: it is "
            f"stored with the run. Put the key into the environment variable {settings.key_variable}; for Azure set "
            "api_version."
        )
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ModelError(
            f"{settings.base_url!r} is not the address of an endpoint. Write it like http://127.0.0.1:8000/v1."
        )
    if settings.proxy and (proxy.scheme not in ("http", "https", "socks5") or not proxy.hostname):
        raise ModelError("The setting proxy is not an address. Write it like http://127.0.0.1:3128.")


def _check_headers(settings: ChatSettings) -> None:
    if any(not sign.isprintable() or not sign.isascii() for sign in settings.key):
        raise ModelError(
            f"The key in the environment variable {settings.key_variable} has a line break or another sign that no "
            "key has. Set the variable again."
        )
    for name, value in settings.extra_headers.items():
        if not re.fullmatch(r"[A-Za-z0-9-]+", name) or not value.isprintable() or not value.isascii():
            raise ModelError(f"The header {name!r} can't be sent. Write headers as Name: value; Name: value.")


def _check_body(settings: ChatSettings) -> None:
    try:
        body = settings.extra_body
    except ValueError as error:
        raise ModelError(f"The setting body is not JSON ({error}).") from None
    if not isinstance(body, dict) or _OWN_FIELDS & set(body):
        raise ModelError("The setting body must be a JSON object, without model and messages.")
