"""Settings of a chat endpoint: what can be said with `--model-set key=value`, checked before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from evenhand.core.errors import ModelError
from evenhand.core.options import Options, option, parse

HOSTED = "https://api.openai.com/v1"


@dataclass(frozen=True)
class ChatSettings(Options):
    """How an OpenAI-compatible chat endpoint is asked."""

    base_url: str = option(HOSTED, "address of the endpoint, up to and with /v1")
    key_variable: str = option(
        "OPENAI_API_KEY", "environment variable that holds the key; none is sent when it is unset"
    )
    temperature: float = option(0.0, "0 asks for the same answer every time")
    max_tokens: int = option(300, "longest answer")
    structured: Literal["auto", "json_schema", "json_object", "off"] = option(
        "auto", "ask the server to keep to the answer's form; auto falls back where it can't"
    )
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
        return self.base_url.rstrip("/") + "/chat/completions"


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
    address = urlsplit(settings.base_url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ModelError(
            f"{settings.base_url!r} is not the address of an endpoint. Write it like http://127.0.0.1:8000/v1."
        )
    if address.username or address.password or address.query:
        raise ModelError(
            f"The address of {address.hostname} must not carry a name, a password or a query: it is stored with the "
            f"run. Put the key into the environment variable {settings.key_variable}."
        )
    for name in ("concurrency", "attempts", "timeout", "max_tokens"):
        if getattr(settings, name) <= 0:
            raise ModelError(f"The setting {name} must be above 0, not {getattr(settings, name)}.")
    for name in ("per_minute", "backoff", "longest_wait", "budget_requests", "budget_tokens", "budget_cost"):
        if getattr(settings, name) < 0:
            raise ModelError(f"The setting {name} must not be negative.")
    if settings.budget_cost and not (settings.price_in or settings.price_out):
        raise ModelError("A budget_cost needs prices: price_in and price_out, for a million tokens.")
    return settings
