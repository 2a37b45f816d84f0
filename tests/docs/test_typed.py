"""The code of pages that stands for itself is typed: an editor shows nothing red in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHOLE = (
    "README",
    "docs/unit-test",
    "docs/same-partition",
    "docs/producer",
    "docs/switch-partitioner",
    "docs/faq",
)
"""Pages whose blocks are one program, from the first to the last."""
APART = ("docs/producers",)
"""Pages each of whose blocks is a program of its own."""
NOT_INSTALLED = re.compile(r"^(?:from|import) (?:faust|quixstreams)\b", re.MULTILINE)


def blocks(page: str) -> list[str]:
    """The Python of a page, without the examples of clients that the tests do without."""
    found = re.findall(
        r"^```python\n(.*?)^```", (ROOT / f"{page}.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [block for block in found if not NOT_INSTALLED.search(block)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The code of the pages as files."""
    folder = tmp_path_factory.mktemp("typed")
    texts = {page: "\n\n".join(blocks(page)) for page in WHOLE}
    texts |= {f"{page}_{number}": block for page in APART for number, block in enumerate(blocks(page))}
    files = []
    for name, text in texts.items():
        files.append(folder / f"{re.sub(r'[^a-z0-9]', '_', name.lower())}.py")
        files[-1].write_text(text, "utf-8")
    return files


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_a_type_checker_finds_nothing(programs: list[Path], checker: str, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name(checker)
    if checker == "mypy":
        command = [program, "--config-file", ROOT / "pyproject.toml", *programs]
    else:
        # As an editor has it: what a library without types gives is not the reader's fault.
        (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
        command = [program, "--project", tmp_path, "--pythonpath", sys.executable, *programs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if " error: " in line or " - error: " in line]
    # confluent-kafka declares its AvroSerializer in a way that pyright takes for a class without arguments.
    assert [
        line for line in found if not line.endswith("Expected 0 positional arguments (reportCallIssue)")
    ] == []
