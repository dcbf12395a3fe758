"""One thread for every network: the same bits everywhere, and tests that run side by side do not hinder each other."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest

try:
    import torch
except ImportError:  # some Pythons have no CPU build
    torch = None  # type: ignore[assignment]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    libraries = [(cv2.getNumThreads, cv2.setNumThreads)]
    if torch is not None:
        libraries.append((torch.get_num_threads, torch.set_num_threads))
    before = [(set_count, count()) for count, set_count in libraries]
    for set_count, _ in before:
        set_count(1)
    yield
    for set_count, count in before:
        set_count(count)
