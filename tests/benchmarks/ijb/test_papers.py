"""Tables for papers: one row per model, and LaTeX that compiles."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from latex import compile_latex

from evenhand.cli.main import main

pytest.importorskip("evenhand.reporting.markup")  # the writer of tables for papers
MINI = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Two models, one noisier, in tests 1 and 4."""
    folder = tmp_path_factory.mktemp("papers")
    worse = folder / "noisy_model"
    worse.mkdir()
    rng = np.random.default_rng(0)
    for name in ("embeddings", "embeddings_flip"):
        vectors = np.load(MINI / f"{name}.npy")
        np.save(worse / f"{name}.npy", vectors + rng.normal(size=vectors.shape).astype(np.float32) * vectors.std())
    shutil.copy(MINI / "faces.csv", worse)
    found: dict[str, list[str]] = {}
    for task, more in (("test1", ["--set", "variants=true"]), ("test4", [])):
        for submission in (MINI, worse):
            arguments = ["--data", str(MINI), "--runs", str(folder / "runs"), "--draws", "50", *more]
            assert main(["evaluate", f"ijb/{task}", str(submission), *arguments]) == 0
        found[task] = [str(path) for path in sorted((folder / "runs" / "ijb" / task).glob("*/*"))]
    return found


def test_a_share_has_two_decimals_whatever_its_size(runs: dict[str, list[str]], tmp_path: Path) -> None:
    for task in ("test1", "test4"):
        path = tmp_path / f"{task}.tex"
        assert main(["report", *runs[task], "--format", "latex", "--no-intervals", "-o", str(path)]) == 0
        table = path.read_text().rpartition(r"\midrule")[2].partition(r"\bottomrule")[0]
        decimals = {len(digits) for digits in re.findall(r"\d\.(\d+)", table)}
        assert decimals == {2}


def test_a_table_says_of_which_model_a_choice_is_where_models_were_not_pooled_alike(tmp_path: Path) -> None:
    for more in (["flip=sum", "fte=penalise"], ["flip=none", "fte=exclude"]):
        options = [word for option in more for word in ("--set", option)]
        answers = tmp_path / more[0].replace("=", "_")
        answers.mkdir()
        for name in ("embeddings.npy", "embeddings_flip.npy", "faces.csv"):
            shutil.copy(MINI / name, answers)
        arguments = ["--data", str(MINI), "--runs", str(tmp_path / "runs"), "--draws", "0", *options]
        assert main(["evaluate", "ijb/test1", str(answers), *arguments]) == 0
    runs = [str(path) for path in sorted((tmp_path / "runs" / "ijb" / "test1").glob("*/*"))]
    assert main(["report", *runs, "--format", "latex", "-o", str(tmp_path / "t.tex")]) == 0
    caption = re.search(r"\\caption\{(TAR .*exact.*)\}", (tmp_path / "t.tex").read_text())
    assert caption is not None
    assert r"flip\_none: Pooling: flip=none" in caption[1]
    assert "Failures to enrol are left out. flip" in caption[1]
    assert r"flip\_sum: Pooling: flip=sum" in caption[1]
    assert main(["report", *runs, "--format", "markdown", "-o", str(tmp_path / "t.md")]) == 0
    assert "\nflip\\_none: Pooling: flip=none" in (tmp_path / "t.md").read_text().partition("\n# ")[0]


@pytest.mark.parametrize("task", ["test1", "test4"])
def test_tables_of_two_models_compile_with_the_best_in_bold(
    runs: dict[str, list[str]], tmp_path: Path, task: str
) -> None:
    path = tmp_path / "tables.tex"
    assert main(["report", *runs[task], "--format", "latex", "-o", str(path)]) == 0
    text = path.read_text()
    title = "at FAR on IJBB, exact" if task == "test1" else "on IJBB"
    tables = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, re.DOTALL)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == len(tables)
    for table in tables:
        lines = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert len({line.replace(r"\&", "").count("&") for line in lines}) == 1, table
    assert title in text
    own = next(table for table in tables if "rank 1" in table or "1e-6" in table)
    assert {"mini", "noisy"} <= {word for word in ("mini", "noisy") if word in own}
    assert r"\toprule" in own
    assert r"\textbf{" in own
    assert "{[}" in text
    assert main(["report", *runs[task], "--format", "latex", "--no-intervals", "-o", str(tmp_path / "short.tex")]) == 0
    short = (tmp_path / "short.tex").read_text()
    assert short.count(r"\begin{tabular}") == len(tables)
    assert len(short) < len(text)
    assert "{[}" not in short
    if task == "test1":
        variants = next(table for table in tables if "N1D1F1" in table)
        assert len(re.findall(r"N[01]D[01]F[01]", variants)) == 16
    compile_latex(path, tmp_path, "booktabs")
