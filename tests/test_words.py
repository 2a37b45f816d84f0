"""Words that say nothing stay out of the product's code: names that are bare participles, and a dialect.

A function is called by what it does and a variable by what it holds, in the words of docs/glossary.md. In
tests, benchmarks and tools only functions and classes are looked at, in pages only the dialect.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("partitioning", "assignors", "copartition", "spark_integration", "pyspark_copartition")

PARTICIPLES = {"asked", "found", "given", "heard", "known", "made", "said", "seen", "taken", "told"}
OF_FUNCTIONS = PARTICIPLES | {"done", "gone", "held", "kept", "meant", "wanted"}
PHRASES = r"\bmakes? of\b|\b(?:is|are|was|were|be) told\b|\bgoe?s? by\b"
OF_PAGES = re.compile(PHRASES, re.IGNORECASE)
DIALECT = re.compile(rf"{PHRASES}|\btroubles?\b|\bthose that\b", re.IGNORECASE)


STORED = re.compile(rf"\b_*(?:{'|'.join(OF_FUNCTIONS)})_*\s*(?:[-+*/%&|^@<>]*=|[(,:)\]]|in\b)", re.IGNORECASE)
"""What follows a name that is defined, in whatever way: a file without this needs no syntax tree."""

DEFINED = re.compile(
    rf"^ *(?:async def|def|class) (_*(?:{'|'.join(OF_FUNCTIONS)})_*)\b", re.MULTILINE | re.IGNORECASE
)


def names_that_say_nothing(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and name of each function, class, parameter, variable and attribute that is a participle."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) if (
                name.strip("_").lower() in OF_FUNCTIONS
            ):
                yield node.lineno, name
            case ast.arg(arg=name) if name.strip("_") in PARTICIPLES:
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                if name.strip("_") in PARTICIPLES:
                    yield node.lineno, name


def dialect(source: str) -> Iterator[tuple[int, str]]:
    """The line and words of each phrase of the dialect in a comment, a docstring or another text."""
    if not DIALECT.search(" ".join(source.split())):  # most files: no need to look at their tokens
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING}:
            for phrase in DIALECT.finditer(" ".join(token.string.split())):
                yield token.start[0], phrase[0]


def faults(source: str) -> list[tuple[int, str]]:
    names = names_that_say_nothing(ast.parse(source)) if STORED.search(source) else ()
    return sorted([*names, *dialect(source)])


FILES = sorted(
    path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_and_texts_are_in_the_words_of_the_field(package: str) -> None:
    files = [file for file in FILES if file.startswith(f"{package}/")]
    wrong = {file: faults((ROOT / file).read_text(encoding="utf-8")) for file in files}
    assert {file: words for file, words in wrong.items() if words} == {}


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "tests", "tools"])
def test_no_function_or_class_beside_the_product_is_called_by_a_bare_participle(folder: str) -> None:
    names = {
        path.relative_to(ROOT).as_posix(): DEFINED.findall(path.read_text(encoding="utf-8"))
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {file: found for file, found in names.items() if found} == {}


def test_pages_are_in_the_words_of_the_field() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    phrases = {page.relative_to(ROOT).as_posix(): OF_PAGES.findall(page.read_text()) for page in pages}
    assert {page: wrong for page, wrong in phrases.items() if wrong} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def told(): ...",
        "def _kept(self): ...",
        "class Found: ...",
        "found = 1",
        "for known in (): ...",
        "lambda seen: 1",
        "self._heard = []",
        "# what the settings make of it",
        '"""It is told\n    each step."""',
    ],
)
def test_the_check_sees(source: str) -> None:
    assert len(faults(source)) == 1
