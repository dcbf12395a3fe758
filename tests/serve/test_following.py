"""A model that is really being asked, followed from its first answer to the finished run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

from evenhand import api
from evenhand.core.task import Sample, Unanswered

Clients = Callable[..., Any]


class Waiting:
    """Answers three samples, then waits until it may go on."""

    name = "waiting"
    journal_every = 1  # every answer is on disk before the next one

    def __init__(self) -> None:
        self.asked, self.go_on = Event(), Event()

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        for number, sample in enumerate(samples):
            if number == 3:
                self.asked.set()
                assert self.go_on.wait(60)
            yield sample.id, Unanswered("too dark") if number == 1 else {"gender": "Male"}


def test_a_model_that_is_being_asked_is_followed_to_its_end(place: Path, client_of: Clients) -> None:
    model = Waiting()
    asking = Thread(
        target=api.predict, args=("fairface/gender", model), kwargs={"data": place / "data", "runs": place / "runs"}
    )
    asking.start()
    try:
        assert model.asked.wait(60)
        client = client_of(place)
        address = re.search(r'href="(/live/\w+)"', client.get("/").text)
        assert address is not None
        text = client.get(address[1]).text
        assert "under way" in text
        assert "asking the model: 3 of 60 answers" in text
    finally:
        model.go_on.set()
        asking.join(60)
    for _ in range(100):  # the list is at most a second old, or older where walking the folder takes long
        if "The run is finished" in client.get(address[1]).text:
            break
        time.sleep(0.2)
    assert "The run is finished" in client.get(address[1]).text
    assert not list((place / "runs").rglob("underway.json")), "the note is gone with the hidden folder"
    opened = re.search(r'href="(/run/\w+)"', client.get(address[1]).text)
    assert opened is not None
    assert "evenhand evaluate fairface/gender" in client.get(opened[1]).text
