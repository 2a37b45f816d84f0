"""Looks at the built site in a real browser: `python -m tools.site.browse build/site`.

Pages of each kind are opened in light and in dark, on a desktop and on a phone. No request leaves the
machine, no script fails, axe finds no violation of WCAG 2.1 A and AA, no page is wider than its window, and
the search finds. All pages are read as text for what a browser would ask elsewhere. `--shots FOLDER` keeps
pictures.
"""
# ruff: noqa: T201 - its output is what it is for

import argparse
import functools
import http.server
import itertools
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, Page, sync_playwright

LOOKED_AT = (
    "index",
    "same-partition",
    "before-a-deploy",
    "spark",
    "how-assignors-decide",
    "evidence",
    "benchmarks/hashing",
    "faq",
    "comparison",
    "reference/commands",
    "reference/commands/simulate",
    "troubleshooting",
    "404",
    "reference/python/partitioning",
)
WINDOWS = {"desktop": (1280, 900), "phone": (390, 844)}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
# A network that is closed answers the browser's own background requests too late.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


_RESOURCE = re.compile(
    r"""<(?:script|img|iframe|link(?! rel="canonical"))\b[^>]*\b(?:src|href)="(?:https?:)?//[^>]*>"""
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_arguments: object) -> None:
        """Every request would be a line."""


def misread(site: Path) -> Iterator[str]:
    """Scripts, styles, pictures and frames that are not the site's own; and code that was taken for text."""
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        yield from (f"{path.relative_to(site)}: {tag}" for tag in _RESOURCE.findall(text))
        if "```" in text:
            yield f"{path.relative_to(site)}: a fence of code was taken for text"


def watch_page(page: Page, address: str, faults: list[str]) -> None:
    """Note requests that leave the machine, and scripts that fail."""

    def note(url: str) -> None:
        if not url.startswith((f"{address}/", "data:", "blob:")):
            faults.append(f"{page.url} asks for {url}")

    page.on("request", lambda request: note(request.url))
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))


def search(page: Page, address: str) -> Iterator[str]:
    """Whether the search finds a word of the pages."""
    page.goto(f"{address}/index.html")
    page.locator("input.md-search__input").fill("cooperative-sticky")
    try:
        page.wait_for_selector(".md-search-result__item", timeout=60_000)
    except Error:
        yield "the search does not find cooperative-sticky"


def violations(page: Page) -> Iterator[str]:
    """What axe finds, and whether the page is wider than its window."""
    for found in Axe().run(page, options=RULES).response["violations"]:
        places = ", ".join(node["target"][0] for node in found["nodes"][:3])
        yield f"{found['id']} ({found['impact']}): {found['help']}: {len(found['nodes'])}, as {places}"
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if width > 0:
        yield f"{width} pixels wider than the window"


def main() -> int:
    """Print what is wrong; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--shots", type=Path, help="folder for pictures")
    arguments = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("no chromium on the PATH: install it, as with `apt-get install chromium`", file=sys.stderr)
        return 2
    handler = functools.partial(Quiet, directory=str(arguments.site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        faults = [*misread(arguments.site)]
        looked = 0
        for scheme, window in itertools.product(("light", "dark"), WINDOWS):
            size = dict(zip(("width", "height"), WINDOWS[window], strict=True))
            page = browser.new_page(color_scheme=scheme, viewport=size, reduced_motion="reduce")
            watch_page(page, address, faults)
            for name in LOOKED_AT:
                page.goto(f"{address}/{name}.html", wait_until="load")
                faults += (f"{name}, {scheme}, {window}: {fault}" for fault in violations(page))
                looked += 1
                if arguments.shots:
                    file = f"{name.replace('/', '-')}-{scheme}-{window}.png"
                    page.screenshot(path=arguments.shots / file)
            page.close()
        faults += search(browser.new_page(), address)
        browser.close()
    server.shutdown()
    print(*faults, sep="\n")
    print(f"{looked - len(faults)} passed, {len(faults)} failed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
