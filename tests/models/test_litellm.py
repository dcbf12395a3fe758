"""LiteLLM's proxy, the real one with mock responses, on loopback: predict, kill, resume, evaluate."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

MODEL = "mock-vision"
CONFIG = """
model_list:
  - model_name: mock-vision
    litellm_params:
      model: openai/gpt-4o
      api_key: sk-none
      mock_response: '{"gender": "Female", "race": "Black", "age": "30-39"}'
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
"""


def executable(install: Callable[..., Path]) -> Path:
    """LiteLLM's command: the one that EVENHAND_LITELLM names, one on the path, or one that is installed here."""
    known = os.environ.get("EVENHAND_LITELLM") or shutil.which("litellm")
    return Path(known) if known else install("litellm[proxy]") / "bin" / "litellm"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory, install):
    folder = tmp_path_factory.mktemp("litellm")
    command = executable(install)
    (folder / "config.yaml").write_text(CONFIG)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    key = f"sk-{secrets.token_hex(24)}"
    environment = {
        **os.environ,
        "LITELLM_MASTER_KEY": key,
        "LITELLM_TELEMETRY": "False",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    with (folder / "log").open("w") as log:
        arguments = [command, "--config", folder / "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            if process.poll() is not None:
                pytest.skip(f"litellm did not start: {(folder / 'log').read_text()[-500:]}")
            try:
                with urllib.request.urlopen(f"{address}/health/liveliness", timeout=2):
                    break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.skip("litellm did not start within two minutes")
        yield f"{address}/v1", key
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:  # a busy machine
            process.kill()
            process.wait()


def run(*arguments, key, cwd, wait=True):
    command = [sys.executable, "-m", "evenhand.cli.main", *map(str, arguments)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "OPENAI_API_KEY": key},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return (process.communicate(timeout=300)[0], process.returncode) if wait else process


@pytest.mark.slow
def test_predict_kill_resume_and_evaluate(proxy, pictures, tmp_path):
    url, key = proxy
    pictures(60)
    rows = "".join(f"val/{n}.png,30-39,{'Female' if n % 2 else 'Male'},Black,True\n" for n in range(1, 61))
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    predict = ("predict", "fairface", "--model", f"openai:{MODEL}", "--base-url", url, "--data", tmp_path)
    predict = (*predict, "--runs", tmp_path / "runs", "--model-set", "concurrency=2", "--model-set", "per_minute=600")
    process = run(*predict, key=key, cwd=tmp_path, wait=False)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(tmp_path.glob("runs/**/journal/shard-*"))) < 10:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not list(tmp_path.glob("runs/**/answers.jsonl"))
    output, code = run(*predict, "--resume", key=key, cwd=tmp_path)
    assert code == 0, output
    assert "60 answered, 0 not" in output
    answers = next(tmp_path.glob("runs/**/answers.jsonl"))
    assert {json.loads(line)["raw_output"] for line in answers.read_text().splitlines()} == {
        '{"gender": "Female", "race": "Black", "age": "30-39"}'
    }
    following = next(line for line in output.splitlines() if line.startswith("next: evenhand "))
    words = following.removeprefix("next: evenhand ").partition(" (likewise")[0].split()
    output, code = run(*words, "--runs", tmp_path / "results", key=key, cwd=tmp_path)
    assert code == 0, output
    assert key not in "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*.json*"))


@pytest.mark.slow
def test_a_wrong_model_and_a_wrong_key_stop_in_words(proxy, pictures, tmp_path):
    url, key = proxy
    pictures(3)
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race\nval/1.png,30-39,Male,Black\n")
    start = ("predict", "fairface", "--base-url", url, "--data", tmp_path, "--runs", tmp_path / "runs", "--model")
    output, code = run(*start, "openai:nobody", key=key, cwd=tmp_path)
    assert code != 0
    assert "Is there a model 'nobody'" in " ".join(output.split())
    output, code = run(*start, f"openai:{MODEL}", key="sk-wrong", cwd=tmp_path)
    assert code != 0
    assert "sk-wrong" not in output
