"""Can this commit be released under a tag? `python -m tools.release v0.2.0` (`make release-check`)."""
# ruff: noqa: T201 - its output is what it is for

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import partitioning

ROOT = Path(__file__).parents[1]


def faults(tag: str, root: Path, installed: str) -> list[str]:
    """What speaks against releasing a work tree under a tag.

    Args:
        tag: the tag, "v" and the version.
        root: the work tree.
        installed: what `__version__` of the packages says.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    version = project["project"]["version"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    _, *sections = re.split(r"^## ", changelog, flags=re.MULTILINE)
    told = {heading: text.strip() for heading, _, text in (section.partition("\n") for section in sections)}
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but pyproject.toml says {version}: it must be v{version}")
    settings = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    if not settings["repository"]:
        found.append("pyproject.toml has no address under 'repository': README.md's links would lead nowhere")
    if settings["install"] != project["project"]["name"]:
        found.append(
            f"pyproject.toml says install = '{settings['install']}': a release is installed by its name"
        )
    if installed != version:
        found.append(
            f"__version__ is {installed}, but pyproject.toml says {version}: `make setup` installs it"
        )
    if not any(text and heading.split(" ")[0] == version for heading, text in told.items()):
        found.append(f"CHANGELOG.md tells nothing of {version}: it needs a section '## {version} - DATE'")
    if told.get("Unreleased"):
        found.append(f"CHANGELOG.md has changes under 'Unreleased': they belong to {version}")
    return found


def main(tag: str) -> int:
    """Say what is missing; the exit code."""
    found = faults(tag, ROOT, partitioning.__version__)
    git = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    if git.stdout:
        found.append("the work tree has changes that are not committed, which the tag would leave out")
    print(*found or [f"{tag} can be tagged, once .ci/run is green"], sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
