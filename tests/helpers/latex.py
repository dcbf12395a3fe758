"""Compile tables for papers with the LaTeX that is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def compile_latex(path: Path, folder: Path, *packages: str) -> None:
    """Compile a file of tables in an article with these packages; skipped where LaTeX or a package is not installed."""
    program, finder = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if program is None or finder is None:
        pytest.skip("no pdflatex on PATH: install texlive-latex-base")
    for package in packages:
        if subprocess.run([finder, f"{package}.sty"], capture_output=True, check=False).returncode:
            pytest.skip(f"this LaTeX has no package {package}: install texlive-latex-recommended")
    used = "".join(rf"\usepackage{{{package}}}" for package in packages)
    document = rf"\documentclass{{article}}{used}\begin{{document}}\input{{{path}}}\end{{document}}"
    (folder / "paper.tex").write_text(document, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2000:]
    assert (folder / "paper.pdf").is_file()
