"""What a command sets for its own process."""

from __future__ import annotations

import subprocess
import sys


def test_the_process_of_a_command_keeps_freed_memory_and_works_as_before() -> None:
    script = (
        "import gc; from evenhand.cli.process import prepare_process; prepare_process(); import numpy as np\n"
        "sizes = [np.ones(8 << 20).sum() for _ in range(3)]\n"
        "print(gc.get_threshold()[0], sizes[-1])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["100000", "8388608.0"]
