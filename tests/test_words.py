"""A rule for the English of docstrings holds in the product's code, and two for names hold everywhere.

1. A loop variable is called by its type: partition, member, request. No name is `each`.
2. The first line of a docstring has a verb: no docstring begins with a question word ("What", "Whether"), and
   that of a function with a result begins with neither an article nor a pronoun ("Return the lag ...").
3. A function or class is called by what it does or is, not by a bare participle.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("assignors", "copartition", "partitioning", "pyspark_copartition", "spark_integration")

NO_SUBJECT = re.compile(
    r"How|That|What(ever)?|When|Where|Whether|Which|Who(ever)?|Whose|Why|(Any|Every|No|Some)(body|thing)"
)
ARTICLES = {"A", "All", "An", "Each", "Every", "It", "Its", "One", "The", "These", "They", "This", "Those"}
PARTICIPLES = "asked|done|found|given|gone|heard|held|kept|known|made|meant|said|seen|taken|told|wanted"
PARTICIPLE = re.compile(
    rf"^ *(?:async def|def|class) (_*(?:{PARTICIPLES})_*)\b", re.MULTILINE | re.IGNORECASE
)

REGULAR = re.compile(r"_*(?!need|feed|seed|speed|embed)[a-z]+ed_*", re.IGNORECASE)
"""The name of a function or class that is one regular participle; that of a property says how a thing is."""


def names_without_type(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the line of each parameter and variable, but no field, that is called `each`."""
    fields = {node.target for node in nodes if isinstance(node, ast.AnnAssign)}
    for node in nodes:
        match node:
            case ast.Name(id="each", ctx=ast.Store()) | ast.arg(arg="each") if node not in fields:
                yield f"line {node.lineno}: each"


def lines_without_verb(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the line and beginning of each docstring that a verb is missing from."""
    for node in nodes:
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        word = (ast.get_docstring(node, clean=False) or "Undocumented").split()[0]
        if NO_SUBJECT.fullmatch(word) or (word in ARTICLES and has_result(node)):
            yield f"line {node.body[0].lineno}: {word}"


def has_result(node: ast.AST) -> bool:
    """Return whether a node is a function, no property, whose annotation says that it returns a value."""
    return (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.returns is not None
        and ast.unparse(node.returns) not in {"None", "NoReturn"}
        and not is_property(node)
    )


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether one of the node's decorators makes a property of it."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def regular_participles(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the name of each function and class, but no property, that is a regular participle."""
    for node in nodes:
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and REGULAR.fullmatch(node.name)
            and not is_property(node)
        ):
            yield f"line {node.lineno}: {node.name}"


def faults(source: str) -> list[str]:
    nodes = [*ast.walk(ast.parse(source))]
    return [
        *names_without_type(nodes),
        *lines_without_verb(nodes),
        *PARTICIPLE.findall(source),
        *regular_participles(nodes),
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("package", PRODUCT)
def test_names_and_docstrings_keep_the_rules(package: str) -> None:
    wrong = {
        path.relative_to(ROOT).as_posix(): faults(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    assert {file: found for file, found in wrong.items() if found} == {}


@pytest.mark.heavy
@pytest.mark.parametrize("folder", ["benchmarks", "docs", "examples", "tests", "tools"])
def test_names_beside_the_product_keep_the_rules(folder: str) -> None:
    """Only functions of tests may be called by a regular participle."""
    wrong = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        nodes = [*ast.walk(ast.parse(source))]
        participles = [] if folder == "tests" else regular_participles(nodes)
        wrong[path.relative_to(ROOT).as_posix()] = [
            *names_without_type(nodes),
            *PARTICIPLE.findall(source),
            *participles,
        ]
    assert {file: found for file, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def told(): ...",
        "def _kept(self): ...",
        "class Found: ...",
        "def _merged(): ...",
        "class Owned: ...",
        "for each in (): ...",
        "lambda each: 1",
        "[each for each in ()]",
        'def lag() -> int:\n    """The records that wait."""',
        'class Lag:\n    """What waits."""',
        '"""Where records wait."""',
    ],
)
def test_the_check_sees(source: str) -> None:
    assert len(faults(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'def lag() -> int:\n    """Return the records that wait."""',
        'def grow() -> None:\n    """A topic has grown."""',
        '@property\ndef lag(self) -> int:\n    """The records that wait."""',
        "for partition in (): ...",
        "@property\ndef closed(self): ...",
        "def need(): ...",
    ],
)
def test_the_check_passes(source: str) -> None:
    assert faults(source) == []
