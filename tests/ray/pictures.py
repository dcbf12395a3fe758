"""A real network over small pictures; also the program that is killed while it asks."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.predict import QUESTION, FaceCounter, run, write_pictures

__all__ = ["QUESTION", "FaceCounter", "run", "write_pictures"]

if __name__ == "__main__":
    run(Path(sys.argv[1]), "ray")
