"""Renders the first screens of all reports: `python docs/gallery.py OUT`.

Runs the demonstrations, writes the report of each family and a comparison, and takes pictures of their first screens
with Chromium: light and dark, 1440 and 390 pixels wide, without JavaScript. `make.py --gallery` calls it for the
site; without it the site shows the pictures in `docs/pictures`, which this program wrote.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from evenhand import api

FAMILIES = {
    "fairface": ("fairface/gender", "FairFace: gender classification"),
    "fhibe": ("fhibe/keypoint_estimation", "FHIBE: keypoints"),
    "ijb": ("ijb/test4", "IJB: search of mixed media"),
    "pairs": ("pairs/rfw", "RFW: face verification"),
    "uccs": ("uccs/detection", "UCCS: face detection"),
    "synthesis": ("synthesis/self_imitation", "Synthesis: imitation"),
    "table": ("table/labels", "A table of one's own"),
    "several": ("", "Several runs in one report"),
    "comparison": ("", "Two models compared"),
}
VARIANTS: dict[str, dict[str, Any]] = {
    "wide-light": {"viewport": {"width": 1440, "height": 900}},
    "wide-dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone-light": {"viewport": {"width": 390, "height": 844}},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    "without-script": {"viewport": {"width": 1440, "height": 900}, "java_script_enabled": False},
}
_COLOURS = 128  # of a picture: enough for text and lines; rare ones such as those of disadvantaged groups are kept


def reports(folder: Path) -> Iterator[tuple[str, Path]]:
    """The name and the page of every report of the gallery, made from the demonstrations."""
    chosen: dict[str, Any] = {}
    for family, (task, _) in FAMILIES.items():
        for demo in api.demo(family, folder / "data" / family) if task else ():
            if demo.task != task:
                continue
            asked: dict[str, Any] = {"data": demo.data, "options": demo.options, "runs": folder / "runs"}
            chosen[family] = api.evaluate(task, demo.predictions, model="demo", **asked)
            if demo.production is not None:
                del asked["data"]
                chosen["production"] = api.evaluate(task, demo.production, model="production", **asked)
            yield family, api.report(chosen[family], path=folder / f"{family}.html")
    models = [chosen["production"], chosen["table"]]
    yield "several", api.report(*models, path=folder / "several.html")
    from evenhand.reporting.comparison import comparison_page
    from evenhand.reporting.html import write_page

    page = comparison_page(api.compare(*models), [run.results for run in models])
    write_page(page, folder / "comparison.html")
    yield "comparison", folder / "comparison.html"


def pictures(pages: Sequence[tuple[str, Path]], out: Path) -> int:
    """Take the first screen of every page in every variant; how many pictures there are."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for name, page in pages:
            for variant, look in VARIANTS.items():
                context = browser.new_context(**look)
                shown = context.new_page()
                shown.goto(page.resolve().as_uri())
                shown.wait_for_timeout(300)
                picture = Image.open(io.BytesIO(shown.screenshot()))
                picture.convert("RGB").quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE).save(
                    out / f"{name}-{variant}.png", optimize=True
                )
                context.close()
        browser.close()
    return len(pages) * len(VARIANTS)


def page_text() -> str:
    """The page of the gallery, in Markdown."""
    parts = [
        "# Gallery\n\nWhat the report of each family looks like, made from the demonstrations (`evenhand demo`). The "
        "first screen answers three questions without scrolling: who is disadvantaged, by how much, and how sure that "
        "is.\n"
    ]
    for name, (_, title) in FAMILIES.items():
        wide, dark, phone, dark_phone, plain = (f"pictures/{name}-{variant}.png" for variant in VARIANTS)
        parts.append(f"## {title}\n\n![{title}, 1440 pixels wide]({wide})\n")
        parts.append(
            f"<details><summary>Dark, on a phone, without JavaScript</summary>\n\n![{title}, dark]({dark})\n\n"
            f'<img src="{phone}" width="300" alt="{title} on a phone"> '
            f'<img src="{dark_phone}" width="300" alt="{title} on a phone, dark">\n\n'
            f"![{title}, without JavaScript]({plain})\n\n</details>\n"
        )
    return "\n".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Render everything into a folder of pictures."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python docs/gallery.py OUT\n")
        return 2
    out = Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        count = pictures(list(reports(Path(folder))), out)
    sys.stdout.write(f"{count} pictures: {out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
