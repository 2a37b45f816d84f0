"""What MkDocs asks while it builds the site: pages from outside docs/, where links lead, how code looks."""

import html
import re
import sys
import tomllib
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.site import pages  # noqa: E402 - MkDocs imports this file by its path

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETTINGS = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]
REPOSITORY = SETTINGS["repository"]
PYTHON = "reference/python/"
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")

_FILE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)
"""A fence that names the file it shows."""
_BLOCK = re.compile(
    r'<div class="language-(?P<language>console|bash|text|json) highlight">'
    r"(?P<before>(?:(?!</div>).)*?<code>)(?P<code>.*?)(?P<after>\n?</code></pre></div>)",
    re.DOTALL,
)
"""A block of commands, of what they print, or of other text."""
_CODE = re.compile(r"(<code>)([^<]*[^<\n])(</code>)")
"""Code in a line of text; a block ends with a new line."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give each command a line of its own in the navigation, and the site the project's address of it."""
    config.site_url = SETTINGS["site"] or config.site_url
    listed = [{name: f"reference/commands/{name.replace(' ', '-')}.md"} for name in pages.names()]
    for section in config.nav or []:
        for entry in section.get("Reference") or []:
            if isinstance(entry, dict) and "Commands" in entry:
                entry["Commands"] = [entry["Commands"], *listed]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not in docs/."""
    outside = {"index.md": ROOT / "README.md"}
    outside |= {name: ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
    outside |= {f"benchmarks/{path.name}": path for path in sorted((ROOT / "benchmarks").glob("*.md"))}
    for address, path in outside.items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
    made = {"commands": pages.commands, "scenario-schema": pages.schema_page}
    for name, make in made.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    for name, page in pages.command_pages().items():
        address = f"reference/commands/{name.replace(' ', '-')}.md"
        files.append(File.generated(config, address, content=page))
    for name in modules(config):
        files.append(File.generated(config, f"{PYTHON}{name}.md", content=pages.python_module(name)))
    return files


def modules(config: MkDocsConfig) -> list[str]:
    """The public modules: those that the navigation lists."""
    return re.findall(rf"'{PYTHON}([\w.]+)\.md'", str(config.nav))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to a page of the site, or to the repository, or nowhere; name the files of fences."""
    source = page.file.abs_src_path
    if page.file.src_uri == "index.md":  # its examples are as wide as a terminal
        page.meta["hide"] = ["navigation", "toc"]
    if source is None:
        return markdown
    addresses = {Path(file.abs_src_path): file.src_uri for file in files if file.abs_src_path}
    addresses |= {ROOT / name.replace(".", "/"): f"{PYTHON}{name}.md" for name in modules(config)}
    folder = PurePosixPath(page.file.src_uri).parent

    def lead(link: re.Match[str]) -> str:
        image, text, target, anchor = link.groups(default="")
        path = (Path(source).parent / target).resolve()
        if path in addresses:
            return f"{image}[{text}]({'../' * len(folder.parts)}{addresses[path]}{anchor})"
        if not path.exists():
            return link[0]  # the strict build says that it leads nowhere
        if REPOSITORY:
            return f"[{text}]({REPOSITORY}/blob/main/{path.relative_to(ROOT)}{anchor})"
        return text

    return _FILE.sub(r'```\1 title="\2"', _LINK.sub(lead, markdown))


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make a console's button copy its commands alone, let sentences wrap, keep options whole."""
    content = _BLOCK.sub(_block, content)
    return _CODE.sub(_words, content)


def _block(block: re.Match[str]) -> str:
    """A block whose sentences wrap, and in `data-copy` what the button copies: of a console its commands."""
    marked = block["code"].split("\n")
    lines = [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in marked]
    commands = [line[2:].partition("    #")[0].rstrip() for line in lines if line.startswith("$ ")]
    copied = commands if block["language"] == "console" else lines
    shown = (
        # A string of the shell may go on in the next line; a span around half of it would not end.
        line if row or line.count("<span") != line.count("</span") else f'<span class="wraps">{line}</span>'
        for line, row in zip(marked, _rows(lines), strict=True)
    )
    attribute = html.escape("\n".join(copied), quote=True)
    opened = f'<div class="language-{block["language"]} highlight" data-copy="{attribute}">'
    return opened + block["before"] + "\n".join(shown) + block["after"]


def _rows(lines: list[str]) -> list[bool]:
    """Which lines are rows of a table, or empty: these are scrolled, never wrapped.

    The columns of a table are apart by two blanks or more, and it has two lines or more.
    """
    columns = ["  " in line.strip() and not line.startswith("$ ") for line in lines]
    return [
        not line or (own and (above or below))
        for line, own, above, below in zip(
            lines, columns, [False, *columns[:-1]], [*columns[1:], False], strict=True
        )
    ]


def _words(code: re.Match[str]) -> str:
    """Code in a text or a table: it breaks at blanks and behind a bar, not behind an option's hyphens."""
    # A path has to break somewhere on a phone.
    words = (
        word
        if len(html.unescape(word)) > _LONG
        else "".join(f'<span class="whole">{part}</span>' for part in _BEHIND_BAR.split(word))
        for word in code[2].replace("\n", " ").split(" ")
    )
    return code[1] + " ".join(words) + code[3]


_BEHIND_BAR = re.compile(r"(?<=\|)|(?<=&#124;)")
"""Where the choices of an option, as in [text|json], may go on in the next line."""

_LONG = 40
"""Characters above which a word of code may break."""


def on_post_build(config: MkDocsConfig) -> None:
    """Say on the page for what is not found where to go; relative links if the site has no address."""
    page = Path(config.site_dir) / "404.html"
    go_on = _GO_ON.replace('href="/', f'href="{urlsplit(config.site_url or "/").path}')
    text = page.read_text(encoding="utf-8").replace(_NOT_FOUND, f"{_NOT_FOUND}\n{go_on}")
    if not config.site_url:
        text = re.sub(r'(href|src)="/(?!/)', r'\1="', text).replace('"base": "/"', '"base": "."')
    page.write_text(text, encoding="utf-8")


_NOT_FOUND = "<h1>404 - Not found</h1>"
_GO_ON = (
    '<p>No page has this address. Begin at the <a href="/index.html">start page</a>, '
    'with <a href="/troubleshooting.html">an error message</a>, or search above.</p>'
)
