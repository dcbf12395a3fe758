"""Killed in the middle, and gone on: an answer that is on disk is never asked for again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from evenhand.store.journal import read_journal

ASK = """
import sys
import evenhand
from evenhand.models.openai import provider

data, runs, url, resume = sys.argv[1:]
model = provider("m", base_url=url, backoff=0.01, longest_wait=0.2, timeout=2.0, attempts=8, concurrency=8)
outcome = evenhand.predict("fairface/gender", model, data=data, runs=runs, resume=resume == "resume")
print(outcome.file)
"""


def misbehave(handler, picture, times):
    """One request in seven goes wrong, in turn in every way that we know."""
    number = int(picture[:8], 16) + times
    if number % 7 or times > 3:
        return False
    way = number // 7 % 7
    if way == 0:
        handler.send(429, {"error": "slow down"})
    elif way == 1:
        handler.send(429, {}, Retry_After="0.05")
    elif way == 2:
        handler.send(500, b"oops", "text/plain")
    elif way == 3:
        handler.cut()
    elif way == 4:
        handler.send(200, b'{"choices": [{"mess')
    elif way == 5:
        handler.send(200, b"<html></html>", "text/html")
    else:
        handler.connection.shutdown(2)
    return True


def on_disk(runs: Path) -> set[str]:
    return {sample for place in runs.rglob("journal") for sample in read_journal(place)}


def killed_twice(serve, pictures, fingerprint, tmp_path, count):
    paths = pictures(count)
    rows = "".join(f"val/{path.name},20-29,Female,White,True\n" for path in paths)
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    script, runs = tmp_path / "ask.py", tmp_path / "runs"
    script.write_text(ASK)
    server = serve(misbehave)
    names = {fingerprint(path): f"val/{path.name}" for path in paths}
    command = [sys.executable, str(script), str(tmp_path), str(runs), server.url]
    kept: list[set[str]] = []
    marks: list[int] = []
    for start, share in enumerate((0.3, 0.7)):
        process = subprocess.Popen(
            [*command, "resume" if start else "new"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        limit = time.monotonic() + 300
        while sum(server.log.answered.values()) < share * count:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < limit
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        time.sleep(0.3)  # what was in flight arrives …
        while server.log.in_flight:  # … and is answered
            assert time.monotonic() < limit
            time.sleep(0.02)
        marks.append(len(server.log.requests))
        kept.append(on_disk(runs))
    done = subprocess.run([*command, "resume"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in Path(done.stdout.strip()).read_text().splitlines()]
    asked = [names[picture] for picture in server.log.requests]
    return answers, asked, marks, kept, {names[picture]: n for picture, n in server.log.answered.items()}


def check_killed_twice(serve, pictures, fingerprint, tmp_path, count):
    answers, asked, marks, kept, answered = killed_twice(serve, pictures, fingerprint, tmp_path, count)
    assert [record["image_path"] for record in answers] == [f"val/{number}.png" for number in range(1, count + 1)]
    assert all("Female" in record["raw_output"] for record in answers)
    for mark, known in zip(marks, kept, strict=True):
        assert not known.intersection(asked[mark:])
    assert 0 < len(kept[0]) < len(kept[1]) < count
    twice = Counter(answered)
    again = sum(times - 1 for times in twice.values())
    assert again <= 2 * 8  # at most what was in flight at the two kills


def test_a_run_that_is_killed_twice_asks_only_what_is_not_on_disk(serve, pictures, fingerprint, tmp_path):
    check_killed_twice(serve, pictures, fingerprint, tmp_path, 150)


@pytest.mark.slow
def test_two_thousand_pictures_are_answered_once_through_two_kills(serve, pictures, fingerprint, tmp_path):
    check_killed_twice(serve, pictures, fingerprint, tmp_path, 2000)
