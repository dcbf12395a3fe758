"""One thread for every network: the same bits everywhere, and tests that run side by side do not hinder each other."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    before, before_opencv = torch.get_num_threads(), cv2.getNumThreads()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    yield
    torch.set_num_threads(before)
    cv2.setNumThreads(before_opencv)
