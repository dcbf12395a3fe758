"""The recipe of the FairFace page, from the command line: a server, our prompt, the file it yields, the numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

from evenhand.benchmarks.fairface.prompts import PROMPTS

SAID = '{"gender": "Female", "race": "Asian", "age": "20-29"}'


def evenhand(*arguments, **environment):
    command = [sys.executable, "-m", "evenhand.cli.main", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment}
    )


def facellm(handler, picture, times):
    handler.answer(picture, SAID)
    return True


def test_the_recipe_of_the_page_works_from_the_command_line(serve, pictures, tmp_path):
    paths = pictures(20)
    rows = "".join(
        f"val/{path.name},20-29,Female,{'East Asian' if n % 2 else 'White'},True\n" for n, path in enumerate(paths)
    )
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    server, runs = serve(facellm), tmp_path / "runs"
    asked = evenhand(
        "predict", "fairface", "--model", "openai:FaceLLM-8B", "--base-url", server.url, "--data", tmp_path,
        "--model-set", "concurrency=16", "--runs", runs, OPENAI_API_KEY="sk-very-secret",
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert server.log.bodies[0]["model"] == "FaceLLM-8B"
    assert server.log.bodies[0]["messages"][0]["content"][0]["text"] == PROMPTS["all-v1"]
    file = next(runs.rglob("answers.jsonl"))
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [record["raw_output"] for record in records] == [SAID] * 20
    assert {"image_path", "status", "latency_seconds", "prompt_tokens", "completion_tokens", "form"} <= set(records[0])
    everything = b"".join(path.read_bytes() for path in runs.rglob("*") if path.is_file())
    assert b"secret" not in everything + asked.stdout.encode() + asked.stderr.encode()
    told = evenhand(
        "evaluate", "fairface/race", file, "--data", tmp_path, "--set", "seen=yes", "--draws", "0", "--json"
    )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert "0.5" in json.dumps(found)
    assert Path(file).exists()
