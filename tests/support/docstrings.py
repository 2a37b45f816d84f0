"""Examples in the docstrings of public names, read from the source: nothing is imported for it."""

import ast
import doctest
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@cache
def _tree(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    package = path / "__init__.py"  # a folder without one may be left from before the module was a file
    file = package if package.exists() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def docstrings(module: str, name: str) -> Iterator[str]:
    """The docstring of a name that a module defines or imports, "" without one, then those of its methods."""
    body = _tree(module).body
    for number, node in enumerate(body):
        match node:
            case ast.FunctionDef(decorator_list=[ast.Name(id="overload")]):
                continue  # the function itself, with its docstring, comes after its overloads
            case ast.FunctionDef(name=own) | ast.ClassDef(name=own) if own == name:
                yield ast.get_docstring(node) or ""
                methods = [statement for statement in node.body if isinstance(statement, ast.FunctionDef)]
                yield from filter(None, map(ast.get_docstring, methods))
                return
            case ast.Assign(targets=[ast.Name(id=own)]) | ast.AnnAssign(target=ast.Name(id=own)) if (
                own == name
            ):
                match body[number + 1 : number + 2]:
                    case [ast.Expr(value=ast.Constant(value=str(text)))]:
                        yield inspect.cleandoc(text)
                    case _:
                        yield ""
                return
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and {name, "*"} & {alias.name for alias in node.names}:
            yield from docstrings(str(node.module), name)


def examples(module: str, name: str) -> list[str]:
    """The docstrings of a public name that have examples; AssertionError if its own has none."""
    own, *others = docstrings(module, name)
    parser = doctest.DocTestParser()
    assert parser.get_examples(own), f"{module}.{name} has no example in its docstring"
    return [own, *filter(parser.get_examples, others)]


def modules_with_examples(package: str) -> list[str]:
    """The modules of a package in whose source any docstring has an example."""
    files = sorted((ROOT / package).rglob("*.py"))
    parts = [
        file.relative_to(ROOT).with_suffix("").parts for file in files if ">>> " in file.read_text("utf-8")
    ]
    return [".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts]


def all_examples(module: str) -> list[str]:
    """Every docstring of a module that has examples, of public and of other names."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = (ast.get_docstring(node) for node in ast.walk(_tree(module)) if isinstance(node, documented))
    return [text for text in texts if text and doctest.DocTestParser().get_examples(text)]


def assert_shown(text: str, public: dict[str, Any]) -> None:
    """Run the examples of a docstring; AssertionError where one shows something else than the text says.

    Args:
        text: the docstring.
        public: what the examples may use.
    """
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, public, "the docstring", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST | doctest.ELLIPSIS)
    assert runner.run(test, out=report.append).failed == 0, "".join(report)
