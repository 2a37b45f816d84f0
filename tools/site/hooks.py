"""What MkDocs asks while it builds the site: pages from outside docs/, and where their links lead."""

import re
import sys
import tomllib
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.site import pages  # noqa: E402 - MkDocs imports this file by its path

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
PYTHON = "reference/python/"
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


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
    for name in modules(config):
        files.append(File.generated(config, f"{PYTHON}{name}.md", content=pages.python_module(name)))
    return files


def modules(config: MkDocsConfig) -> list[str]:
    """The public modules: those that the navigation lists."""
    return re.findall(rf"'{PYTHON}([\w.]+)\.md'", str(config.nav))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to a page of the site, or to the repository, or leave their text alone."""
    source = page.file.abs_src_path
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

    return _LINK.sub(lead, markdown)
