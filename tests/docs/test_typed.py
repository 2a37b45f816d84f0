"""All code of all pages is typed: an editor shows nothing red in it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APART = ("producers", "plugins")
"""Pages each of whose blocks is a program of its own; the blocks of another page are one."""
TOGETHER = {"exactly-once": "spark", "spark-platforms": "spark"}
"""Pages that go on with the program of another."""
# Two clients that the tests do without, and the code that a page quotes from a package, which is typed there.
LEFT_OUT = re.compile(r"^(?:from|import) (?:faust|quixstreams)\b|\A {4}", re.MULTILINE)
STRICT = {
    "typeCheckingMode": "strict",
    "extraPaths": sorted(map(str, (ROOT / "docs").glob("example-*"))),
    # What a library without types gives is not the reader's fault.
    "reportMissingTypeStubs": False,
    "reportPrivateImportUsage": False,
    "reportUnknownArgumentType": False,
    "reportUnknownMemberType": False,
    "reportUnknownParameterType": False,
    "reportUnknownVariableType": False,
    # Blocks of one page repeat an import, so that each can be pasted alone.
    "reportDuplicateImport": False,
}
OF_LIBRARIES = re.compile(
    "|".join(
        (
            # confluent-kafka's AvroSerializer is taken for a class without arguments.
            # NewTopic is public there.
            r"Expected 0 positional arguments \(reportCallIssue\)$",
            r'does not explicitly export attribute "NewTopic"',
            # PySpark declares pandas_udf for type checkers elsewhere, and not for a type given as text.
            'has no attribute "pandas_udf"',
            'No overloads for "pandas_udf"',
            "[Uu]ntyped (?:function )?decorator",
            r"page_plugins_.*\"Series\"",
            # kafka-python's argument has the type of its default, a tuple of classes.
            'parameter "partition_assignment_strategy"',
            'Library stubs not installed for "pandas"',
        )
    )
)
"""What is red because a library declares itself badly."""


def programs() -> dict[str, str]:
    """The code of all pages as programs, by name."""
    found: dict[str, str] = {}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in sorted(pages, key=lambda page: (page.stem in TOGETHER, page.stem)):
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for number, block in enumerate(blocks):
            name = TOGETHER.get(page.stem, page.stem) + (f"-{number}" if page.stem in APART else "")
            if not LEFT_OUT.search(block):
                found[name] = found.get(name, "") + block + "\n\n"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs as files."""
    folder = tmp_path_factory.mktemp("typed")
    for name, text in programs().items():
        (folder / f"page_{re.sub(r'[^a-z0-9]', '_', name.lower())}.py").write_text(text, "utf-8")
    return folder


def test_programs_are_those_of_every_page_with_python() -> None:
    assert len(programs()) > 30


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_a_type_checker_finds_nothing(
    folder: Path, checker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(sys.executable).with_name(checker)
    files = sorted(folder.glob("*.py"))
    if checker == "mypy":
        monkeypatch.setenv("MYPYPATH", ":".join(STRICT["extraPaths"]))
        command = [program, "--config-file", ROOT / "pyproject.toml", *files]
    else:
        (tmp_path / "pyrightconfig.json").write_text(json.dumps(STRICT | {"include": [str(folder)]}))
        command = [program, "--project", tmp_path, "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert re.search(r"checked \d\d source files|\d+ errors?, ", done.stdout), done.stdout + done.stderr
    found = [line.strip() for line in done.stdout.splitlines() if re.search(r": error: | - error: ", line)]
    assert [line for line in found if not OF_LIBRARIES.search(line)] == []
