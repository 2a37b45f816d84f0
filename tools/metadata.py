"""Where the project is, in what the package index shows: links of README.md, and the addresses beside it.

Both are made when a distribution is built, from one line of pyproject.toml: `repository`.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[(?:[^\[\]]|\[[^\]]*\])*\])\((?!\w+:|#)([^)\s]+)\)")


def with_absolute_links(text: str, repository: str, version: str) -> str:
    """Markdown whose relative links lead to the files of a version, pictures to their bytes."""

    def absolute(link: re.Match[str]) -> str:
        picture, label, path = link.groups()
        return f"{picture}{label}({repository}/{'raw' if picture else 'blob'}/v{version}/{path})"

    return _LINK.sub(absolute, text)


class ProjectMetadata(MetadataHookInterface):
    """Hatchling's hook for the fields that are `dynamic` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `readme` and `urls`; without a repository links stay relative and `urls` empty."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = self.config["repository"]
        if repository:
            text = with_absolute_links(text, repository, metadata["version"])
            metadata["urls"] = {
                "Repository": repository,
                "Documentation": f"{repository}/tree/v{metadata['version']}/docs",
                "Changelog": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
