"""Builds the documentation as a static site that needs no network: `python docs/make.py OUT [--gallery]`.

With `--gallery` the pictures of reports are taken now (it needs Chromium), else they are those in `docs/pictures`.

Pages are the Markdown files below `docs/`, the deviations of each family, and pages made from the objects themselves:
every task that is registered (the same facts as `evenhand describe`), every metric, every convention. So these can't go
stale.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from reference import as_cell, as_text, command_reference, python_reference

from evenhand import __version__, registry
from evenhand.cli.catalogue import description

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BENCHMARKS = ROOT / "src" / "evenhand" / "benchmarks"
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}

TUTORIALS = ("tutorials/table", "tutorials/researcher", "tutorials/team", "tutorials/engineer")
TOOLS = ("fairlearn", "fhibe", "uccs", "fairface", "ijb", "his_evaluators")
GUIDES = (
    "install",
    "gallery",
    "runs",
    "report",
    "serve",
    "statistics",
    "calibration",
    "instruments",
    "adding-a-family",
)  # these first
PICTURES = (".png", ".svg", ".jpg", ".pdf")


@dataclass(frozen=True)
class Heading:
    """A heading that can be linked to."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Page:
    """One page of the site."""

    name: str  # its address without `.html`
    title: str
    body: str  # HTML
    headings: tuple[Heading, ...] = ()
    words: str = ""  # for the search
    source: str = ""  # the file it was made from, for messages

    @property
    def label(self) -> str:
        """What the navigation calls it, below the title of its group."""
        return self.title.removeprefix("Coming from the ").removeprefix("Coming from ")


@dataclass(frozen=True)
class PageGroup:
    """Pages that belong together, in the navigation."""

    title: str
    names: tuple[str, ...]


@dataclass
class Site:
    """All pages, and where the Markdown files went."""

    pages: dict[str, Page] = field(default_factory=dict)
    groups: list[PageGroup] = field(default_factory=list)

    def add(self, title: str, pages: Sequence[Page]) -> None:
        """Add pages under a title."""
        self.pages.update({page.name: page for page in pages})
        self.groups.append(PageGroup(title, tuple(page.name for page in pages)))


def main(arguments: Sequence[str]) -> int:
    """Build the site; 0 when every link in it leads somewhere."""
    names = [name for name in arguments if name != "--gallery"]
    if len(names) != 1:
        sys.stderr.write("usage: python docs/make.py OUT [--gallery]\n")
        return 2
    out = Path(names[0])
    site = build()
    write(site, out)
    if "--gallery" in arguments:
        sys.path.insert(0, str(DOCS))
        import gallery

        gallery.main([str(out / "pictures")])
    broken = broken_links(out)
    sys.stderr.write("".join(f"{message}\n" for message in broken))
    sys.stdout.write(f"{len(site.pages)} pages: {out / 'index.html'}\n")
    return 1 if broken else 0


def build() -> Site:
    """All pages."""
    site = Site()
    site.add("Start", [from_markdown("index")])
    site.add("Tutorials", [from_markdown(name) for name in TUTORIALS])
    site.add("Coming from …", [from_markdown(f"coming-from/{name}") for name in TOOLS])
    families = sorted(path.stem for path in (DOCS / "families").glob("*.md"))
    site.add("Families", [from_markdown(f"families/{name}") for name in families])
    site.add("Tasks", [tasks_page(), *task_pages()])
    site.add("Reference", [python_page(), command_page(), metrics_page(), conventions_page()])
    others = sorted(path.stem for path in DOCS.glob("*.md") if path.stem not in ("index", *GUIDES))
    guides = [name for name in (*GUIDES, *others) if (DOCS / f"{name}.md").exists()]
    site.add("Guides", [from_markdown(name) for name in guides])
    deviations = [(name, BENCHMARKS / name / "DEVIATIONS.md") for name in families]
    site.add(
        "Differences from published code",
        [from_markdown(f"deviations/{name}", path) for name, path in deviations if path.exists()],
    )
    known = {page.source for page in site.pages.values()}
    rest = [path.relative_to(DOCS).with_suffix("").as_posix() for path in sorted(DOCS.rglob("*.md"))]
    rest = [name for name in rest if f"docs/{name}.md" not in known and not name.startswith("design/")]
    if rest:
        site.add("More", [from_markdown(name) for name in rest])
    design = sorted(path.stem for path in (DOCS / "design").glob("*.md"))
    site.add("Why it is built so", [from_markdown(f"design/{name}") for name in design])
    return site


def write(site: Site, out: Path) -> None:
    """Write the site; what stood in the folder before is replaced."""
    if out.exists() and not (out / "index.html").exists() and any(out.iterdir()):
        raise SystemExit(f"{out} holds something else. Name an empty folder.")
    shutil.rmtree(out, ignore_errors=True)
    loader = FileSystemLoader(DOCS / "templates")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.undefined = StrictUndefined
    template = environment.get_template("page.html.j2")
    for page in site.pages.values():
        path = out / f"{page.name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * page.name.count("/")
        text = template.render(page=page, site=site, up=up, version=__version__)
        path.write_text(text, encoding="utf-8")
    index = [{"a": f"{page.name}.html", "t": page.title, "w": page.words[:6000]} for page in site.pages.values()]
    (out / "search.js").write_text(f"window.pages={json.dumps(index, ensure_ascii=False)};\n", encoding="utf-8")
    for name in ("site.css", "site.js", "icon.svg"):
        shutil.copyfile(DOCS / "templates" / name, out / name)
    for path in sorted(DOCS.rglob("*")):
        if path.suffix in PICTURES and path.parent.name != "templates":
            target = out / path.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def from_markdown(name: str, path: Path | None = None) -> Page:
    """The page of a Markdown file."""
    source = path or DOCS / f"{name}.md"
    return rendered(name, source.read_text(encoding="utf-8"), str(source.relative_to(ROOT)))


def rendered(name: str, text: str, source: str = "") -> Page:
    """A page from Markdown text; its first heading is its title."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    headings = list(_anchor(tokens))
    for token in tokens:
        _point(token, name, source)
        if token.type == "fence":
            token.info = token.info.split()[0] if token.info.split() else ""
    body = parser.renderer.render(tokens, parser.options, {})
    body = body.replace("<table>", '<div class="wide" tabindex="0" role="region" aria-label="table"><table>')
    body = body.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    title = next((heading.text for heading in headings if heading.level == 1), name)
    return Page(name, title, body, tuple(headings), _plain(body), source)


def tasks_page() -> Page:
    """A list of all tasks."""
    lines = ["# All tasks", "", "Made from the tasks that are registered; `evenhand tasks` prints the same.", ""]
    for family in registry.benchmarks():
        lines += [
            f"## {family.name}",
            "",
            as_text(family.summary),
            "",
            "| task | what it asks | rows | grouped by |",
            "|---|---|---|---|",
        ]
        for entry in (*family.tasks, *family.questions):
            facts = description(entry)
            cells = (
                f"[`{entry.name}`]({_task_file(entry.name)}.md)",
                entry.summary,
                facts["rows"],
                ", ".join(facts["attributes"]),
            )
            lines.append("| " + " | ".join([cells[0], *map(as_cell, cells[1:])]) + " |")
        lines.append("")
    return rendered("tasks/index", "\n".join(lines))


def task_pages() -> Iterator[Page]:
    """A page for each task: what `evenhand describe` says."""
    for family in registry.benchmarks():
        for entry in (*family.tasks, *family.questions):
            yield rendered(f"tasks/{_task_file(entry.name)}", "\n".join(_described(description(entry))))


def _described(facts: dict[str, Any]) -> Iterator[str]:
    yield f"# {facts['task']}\n"
    yield (
        as_text(facts["summary"]) + (f" Also called {', '.join(facts['aliases'])}." if facts["aliases"] else "") + "\n"
    )
    yield f"```sh\nevenhand evaluate {facts['task']} FILE --data DIR\n```\n"
    for title, name in (("Data", "data"), ("Predictions", "predictions")):
        if facts[name]:
            yield f"## {title}\n\n{_block(facts[name])}\n"
    if facts["example"]:
        yield f"An example:\n\n{_block(facts['example'])}\n"
    for title, name in (("A row is", "rows"), ("Sampled independently", "unit")):
        if facts[name]:
            yield f"## {title}\n\n{as_text(facts[name])}\n"
    if facts["attributes"]:
        yield f"Grouped by {', '.join(as_text(name) for name in facts['attributes'])}, unless `--by` says otherwise.\n"
    if facts["metrics"]:
        yield "## Metrics\n\n| metric | outputs | definition |\n|---|---|---|"
        for metric in facts["metrics"]:
            outputs = ", ".join(_outputs(metric["outputs"]))
            yield f"| `{as_cell(metric['name'])}` | {as_cell(outputs)} | {as_cell(metric['definition'])} |"
        yield "\n↑ higher is better, ↓ lower.\n"
    if facts["options"]:
        yield "## Options\n\nSet with `--set name=value`; the default is the published protocol.\n"
        yield "| option | default | takes | meaning |\n|---|---|---|---|"
        for one in facts["options"]:
            default = f"`{as_cell(one['default'])}`" if one["default"] else "–"
            yield f"| `{one['name']}` | {default} | {as_cell(one['values'])} | {as_cell(one['help'])} |"
        yield ""
    for title, name in (("Conventions", "conventions"), ("Mind", "cautions")):
        if facts[name]:
            yield f"## {title}\n\n" + "\n".join(f"- {as_text(text)}" for text in facts[name]) + "\n"
    if facts["licence"]:
        yield f"## Duties of the licence\n\n{as_text(facts['licence'])}\n"
    if facts["rules"]:
        yield f"## Rules\n\n{_block(facts['rules'])}\n"


def python_page() -> Page:
    """Every public name of the package with its signature and docstring, from the objects themselves."""
    return rendered("reference/python", python_reference())


def command_page() -> Page:
    """Every verb with its arguments and options, from the parser itself."""
    return rendered("reference/command-line", command_reference())


def metrics_page() -> Page:
    """Every metric of every task, with its definition and what is better."""
    lines = [
        "# Metrics",
        "",
        "Every metric that a task computes by default: what it is, and which way is better (↑ higher, ↓ lower).",
        "",
    ]
    for family in registry.benchmarks():
        lines += [f"## {family.name}", "", "| metric | outputs | definition | tasks |", "|---|---|---|---|"]
        found: dict[tuple[str, str, str], list[str]] = {}
        for task in family.tasks:
            for metric in description(task)["metrics"]:
                key = (metric["name"], ", ".join(_outputs(metric["outputs"])), metric["definition"])
                found.setdefault(key, []).append(task.name)
        for (name, outputs, definition), tasks in found.items():
            links = ", ".join(f"[`{task.partition('/')[2] or task}`](tasks/{_task_file(task)}.md)" for task in tasks)
            lines.append(f"| `{as_cell(name)}` | {as_cell(outputs)} | {as_cell(definition)} | {links} |")
        lines.append("")
    return rendered("metrics", "\n".join(lines))


def conventions_page() -> Page:
    """Every convention that a task states."""
    lines = [
        "# Conventions",
        "",
        "What each task counts, and how, where others count otherwise. `evenhand explain RUN` shows a run under all.",
        "",
    ]
    for family in registry.benchmarks():
        lines += [f"## {family.name}", ""]
        found: dict[str, list[str]] = {}
        for entry in (*family.tasks, *family.questions):
            for text in entry.about.conventions:
                found.setdefault(text, []).append(entry.name)
        if not found:
            lines += [f"Stated on the page of the family: [{family.name}](families/{family.name}.md).", ""]
        for text, tasks in found.items():
            links = ", ".join(f"[`{task}`](tasks/{_task_file(task)}.md)" for task in tasks)
            lines.append(f"- {as_text(text)} ({links})")
        lines.append("")
    return rendered("conventions", "\n".join(lines))


def broken_links(out: Path) -> list[str]:
    """Links and pictures of a site that lead nowhere."""
    anchors: dict[Path, set[str]] = {}
    pages = sorted(out.rglob("*.html"))
    texts = {page.resolve(): page.read_text(encoding="utf-8") for page in pages}
    for page, text in texts.items():
        anchors[page] = set(re.findall(r'\bid="([^"]+)"', text))
    broken = []
    for page, text in texts.items():
        for target in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            target = html.unescape(target)
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (page.parent / file).resolve() if file else page
            if not there.exists():
                broken.append(f"{page.relative_to(out.resolve())}: {target} is not there")
            elif anchor and there.suffix == ".html" and anchor not in anchors[there]:
                broken.append(f"{page.relative_to(out.resolve())}: {target} names no heading")
    return broken


def _anchor(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Give every heading an anchor."""
    seen: dict[str, int] = {}
    for token, inline in pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = "".join(part.content for part in inline.children or () if part.type in ("text", "code_inline"))
        stem = re.sub(r"[^\w]+", "-", text.casefold()).strip("-") or "part"
        seen[stem] = seen.get(stem, 0) + 1
        anchor = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"
        token.attrSet("id", anchor)
        yield Heading(int(token.tag[1]), text, anchor)


def _point(token: Token, name: str, source: str) -> None:
    """Let links between Markdown files lead to their pages."""
    for part in token.children or ():
        target = part.attrGet("href") if part.type == "link_open" else None
        if not isinstance(target, str) or re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        file, mark, anchor = target.partition("#")
        part.attrSet("href", _page_of(file, name, source) + mark + anchor)


def _page_of(file: str, name: str, source: str) -> str:
    """The address of a file's page, seen from another page."""
    here = posixpath.dirname(name)
    if file.endswith("DEVIATIONS.md"):
        family = Path(file).parent.name or Path(source).parent.name
        return posixpath.relpath(f"deviations/{family}.html", here or ".")
    if not file.endswith(".md"):
        return file
    return file.removesuffix(".md") + ".html"


def _task_file(name: str) -> str:
    return name.replace("/", "-")


def _outputs(outputs: dict[str, str]) -> list[str]:
    """Outputs with arrows; those that differ only behind a colon once."""
    shown: dict[str, str] = {}
    for name, direction in outputs.items():
        stem, colon, _ = name.partition(":")
        shown.setdefault(stem + (":…" if colon else ""), ARROWS[direction])
    return [f"{name}{arrow}" for name, arrow in shown.items()]


def _block(text: str) -> str:
    """Text that is laid out with spaces."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text.strip()}\n{fence}"


def _plain(body: str) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", " ", body))
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
