"""Every test can fail: whatever its branches, it asserts something, or calls what does by its name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "tests").rglob("*.py")
    if path.name.startswith("test_") or path.name == "checks.py"
)
NAMED_SO = ("assert_", "check", "validate")
"""How functions begin that fail where something is not so."""
FAIL = {"raises", "warns", "fail", "exec"}


def fails(node: ast.AST) -> bool:
    """Whether this is an assertion, or calls one."""
    match node:
        case ast.Assert() | ast.Raise():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            checks = any(keyword.arg == "check" for keyword in node.keywords)  # of subprocess.run
            return name.lstrip("_").startswith(NAMED_SO) or name in FAIL or (name == "run" and checks)
    return False


def asserts(body: list[ast.stmt]) -> bool:
    """Whether these statements assert something whichever way they go; loops are taken to go round."""
    for statement in body:
        match statement:
            case ast.FunctionDef():
                continue
            case ast.If(test=test, body=then, orelse=otherwise):
                sure = fails_somewhere(test) or (asserts(then) and asserts(otherwise))
                leaves = any(isinstance(node, ast.Return) for node in ast.walk(statement))
                if leaves and not sure and not asserts(then):
                    return False
            case ast.For(body=inner) | ast.While(body=inner):
                sure = asserts(inner)
            case ast.With(items=items, body=inner):
                sure = any(map(fails_somewhere, items)) or asserts(inner)
            case ast.Try(body=inner, finalbody=last):
                sure = asserts(inner) or asserts(last)
            case ast.Match(cases=cases):
                sure = all(asserts(case.body) for case in cases)
            case _:
                sure = fails_somewhere(statement)
        if sure:
            return True
    return False


def fails_somewhere(node: ast.AST) -> bool:
    return any(map(fails, ast.walk(node)))


@pytest.mark.parametrize(
    ("body", "sure"),
    [
        ("assert x", True),
        ("if x: assert y", False),
        ("if x: assert y\nelse: assert z", True),
        ("if x: return\nassert y", False),
        ("for x in y: assert x", True),
        ("for x in y:\n    if x: assert x", False),
        ("with pytest.raises(E): f()", True),
        ("with suppress(E): f()", False),
        ("def inner(): assert x\ninner()", False),
        ("assert_same(x, y)", True),
        ("compare(x, y)", False),
        ("subprocess.run(command, check=True)", True),
        ("subprocess.run(command)", False),
    ],
)
def test_a_function_that_need_not_assert_is_noticed(body: str, sure: bool) -> None:
    assert asserts(ast.parse(body).body) == sure


@pytest.mark.heavy
def test_every_test_asserts_whichever_way_it_goes() -> None:
    functions = [
        (file, node)
        for file in TESTS
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(functions) > 2_000
    assert [f"{file}: {node.name}" for file, node in functions if not asserts(node.body)] == [], (
        "count what was compared and assert that it is not 0, or call the helper that asserts assert_..."
    )
