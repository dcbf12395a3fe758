"""The documentation site: it builds, every link in it leads somewhere, and it tells every task."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand import registry

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make() -> Any:
    """The program that builds the site."""
    spec = importlib.util.spec_from_file_location("make_docs", DOCS / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder: Path = tmp_path_factory.mktemp("docs") / "site"
    assert make.main([str(folder)]) == 0
    return folder


def test_every_link_leads_somewhere(make: Any, site: Path) -> None:
    assert make.broken_links(site) == []


def test_a_broken_link_is_named(make: Any, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="gone.html">x</a><a href="#nowhere">y</a>', encoding="utf-8")
    assert make.broken_links(tmp_path) == [
        "index.html: gone.html is not there",
        "index.html: #nowhere names no heading",
    ]


def test_every_task_has_a_page_with_its_options_and_metrics(site: Path) -> None:
    for family in registry.benchmarks():
        for task in family.tasks:
            path = site / "tasks" / f"{task.name.replace('/', '-')}.html"
            text = path.read_text(encoding="utf-8")
            for metric in task.metrics(task.options()):
                assert f"<code>{metric.name}</code>" in text, (task.name, metric.name)
            for option in task.options.__dataclass_fields__:
                assert f"<code>{option}</code>" in text, (task.name, option)


def test_every_markdown_file_of_the_documentation_is_in_the_site(site: Path) -> None:
    for path in DOCS.rglob("*.md"):
        assert (site / path.relative_to(DOCS).with_suffix(".html")).exists(), path


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img)[^>]*>", path.read_text(encoding="utf-8")):
            assert "//" not in tag, (path, tag)


def test_building_does_not_replace_a_folder_of_something_else(make: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(SystemExit, match="something else"):
        make.main([str(tmp_path)])
    assert (tmp_path / "thesis.txt").exists()


def test_the_reference_has_every_public_name_and_every_option(site: Path) -> None:
    import typer

    import evenhand
    from evenhand.cli.main import VERBS, application

    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in evenhand.__all__ if f">{name.strip('_')}<" not in python.replace("__", "")] == []
    command = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    group: Any = typer.main.get_command(application())
    parameters = [*group.params, *(entry for verb in group.commands.values() for entry in verb.params)]
    options = {option for entry in parameters for option in (*entry.opts, *entry.secondary_opts)}
    assert {"--version", "--no-intervals", "--draws"} <= options
    assert [option for option in options if option.startswith("--") and option not in command] == []
    assert all(f"evenhand {verb}" in command for verb in VERBS)


def test_the_reference_has_the_names_of_families_and_drop_ins(site: Path) -> None:
    from evenhand.compat import his_evaluators

    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    drop_ins = ("evaluate_task", "BiasReport", "install_alias", "MetricFrame", *his_evaluators.__all__)
    assert [name for name in ("encode_mask", "write_outputs", *drop_ins) if f">{name}<" not in python] == []


def test_the_reference_has_every_command_of_a_family_with_its_options(site: Path) -> None:
    command = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    parts = ("fairface evenness", "ijb association_modified_bcubed", "ijb all_pairs", "uccs evaluation", "uccs config")
    assert [part for part in parts if f">evenhand {part}<" not in command] == []
    options = ("--profile", "--assigned-only", "--convention", "--detection.thresholds", "--no-figure", "--detector")
    assert [option for option in options if option not in command] == []


def test_the_reference_says_what_members_fields_and_methods_are(site: Path) -> None:
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for text in (
        "units without replacement",
        "bootstrap resamples",
        "declared by the dataset",
        "belongs(",
        "predict(samples",
    ):
        assert text in python, text
    assert " at 0x" not in python  # else the page would differ from build to build


def test_every_public_name_has_a_docstring() -> None:
    from importlib import import_module

    from reference import MODULES

    for module_name, listed in MODULES.items():
        module = import_module(module_name)
        for name in listed or module.__all__:
            assert getattr(module, name).__doc__, f"{module_name}.{name}"


def test_the_version_is_on_every_page(site: Path) -> None:
    from evenhand import __version__

    assert [path for path in site.rglob("*.html") if __version__ not in path.read_text(encoding="utf-8")] == []
