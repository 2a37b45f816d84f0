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
_BLOCK = re.compile(r'<div class="highlight">(?P<code>(?:(?!</div>).)*<span class="gp">.*?)</div>', re.DOTALL)
"""A block of a console: commands after a prompt, and what they print."""
_COMMAND = re.compile(r'<span class="gp">\$ </span>[^\n]*')
_PRINTED = re.compile(r'<span class="go">(.*?)</span>', re.DOTALL)
_CODE = re.compile(r"(<code>)([^<\n]*)(</code>)")
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
    content = _BLOCK.sub(_console, content)
    return _CODE.sub(_words, content)


def _console(block: re.Match[str]) -> str:
    """A block with its commands in `data-copy`, which the theme's button copies, and lines that may wrap."""
    code = block["code"]
    plain = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r'<span class="gp">\$ </span>', "\0", code)))
    commands = [line[1:].partition("    #")[0].rstrip() for line in plain.splitlines() if line[:1] == "\0"]

    def line(printed: re.Match[str]) -> str:
        # The columns of a table are apart by two blanks or more: a line of one is scrolled, never wrapped.
        wraps = "  " not in html.unescape(printed[1]).strip()
        return f'<span class="go wraps">{printed[1]}</span>' if wraps else printed[0]

    copied = html.escape("\n".join(commands), quote=True)
    shown = _COMMAND.sub(r'<span class="wraps">\g<0></span>', _PRINTED.sub(line, code))
    return f'<div class="highlight" data-copy="{copied}">{shown}</div>'


def _words(code: re.Match[str]) -> str:
    """Code in a text or a table: browsers break at blanks only, not behind the hyphens of an option."""
    # A path has to break somewhere on a phone.
    words = (
        word if len(word) > _LONG else f'<span class="whole">{word}</span>' for word in code[2].split(" ")
    )
    return code[1] + " ".join(words) + code[3]


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
