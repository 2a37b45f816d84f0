"""The tables of texts fit the code: each row has a case, and each case has its row and its facts.

A table's texts name facts in braces. The code gives them by keyword, in a call that names the row. So a row
that nothing uses, a case without a row, and a fact that a call leaves out are found without running the case.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import pytest

from partitioning.kit.packages import read_toml

ROOT = Path(__file__).parents[1]


class Table(NamedTuple):
    """A table of texts.

    Attributes:
        package: the package that it lies in.
        file: its name there.
        modules: the modules of the package that name its rows.
        speaker: the function that fills a row's texts, or the mapping of rows whose texts are formatted.
        given: the facts that the speaker gives by itself.
        place: which argument of the speaker names the row.
        part: the table inside the file; "" if the file is one.
    """

    package: str
    file: str
    modules: tuple[str, ...]
    speaker: str
    given: frozenset[str] = frozenset()
    place: int = 0
    part: str = ""

    def rows(self) -> dict[str, set[str]]:
        """Return the facts that each row's texts name."""
        table = read_toml(self.package, self.file)
        rows = table[self.part] if self.part else table
        return {name: facts_of(row) for name, row in rows.items()}

    def trees(self) -> list[ast.Module]:
        """Return the syntax trees of its modules."""
        return [tree_of(f"{self.package.replace('.', '/')}/{module}.py") for module in self.modules]


TABLES = [
    Table("copartition.check", "reasons.toml", ("judge", "planned"), "reason_of", frozenset({"topics"})),
    Table("copartition.reshape", "reasons.toml", ("plan",), "_reason"),
    Table("copartition.reshape", "ways.toml", ("ways",), "_ASSUMED", part="assumed"),
    Table("copartition.reshape", "ways.toml", ("ways",), "_PRICES", part="prices"),
    Table(
        "copartition.transactions",
        "faults.toml",
        ("judging",),
        "_make_fault",
        frozenset({"transaction", "partitions"}),
        place=1,
    ),
    Table("copartition.transactions", "faults.toml", ("judging",), "_FAULTS"),
]


@cache
def tree_of(path: str) -> ast.Module:
    """Return the syntax tree of a module of the project."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def facts_of(row: str | dict[str, str]) -> set[str]:
    """Return the facts that the texts of a row name in braces, without attributes: `copy` for {copy.rate}."""
    texts = [row] if isinstance(row, str) else row.values()
    names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
    return {name.split(".")[0] for name in names}


def uses_of(table: Table) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the rows that each use of a table's speaker may name, and the facts that it gives."""
    for tree in table.trees():
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                row = row_of(call, table)
                if row is not None:
                    yield texts_of(row, function), facts_given(call, function)


def row_of(call: ast.Call, table: Table) -> ast.expr | None:
    """Return the expression that names the row; None if the call is none of the table's speaker."""
    match call.func:
        case ast.Name(id=table.speaker):
            return call.args[table.place]
        case ast.Attribute(attr="format", value=ast.Subscript(value=ast.Name(id=table.speaker), slice=row)):
            return row
        case ast.Attribute(
            attr="format", value=ast.Subscript(value=ast.Subscript(ast.Name(id=table.speaker), slice=row))
        ):
            return row
    return None


def texts_of(node: ast.expr, function: ast.FunctionDef) -> set[str]:
    """Return the texts that an expression in a function may be: literals, choices, and variables of them."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp():
            return texts_of(node.body, function) | texts_of(node.orelse, function)
        case ast.Name():
            values = [value for name, value in assigned(function) if name == node.id]
            return set[str]().union(*(texts_of(value, function) for value in values))
        case _:
            return set()


def facts_given(call: ast.Call, function: ast.FunctionDef) -> set[str]:
    """Return the keywords of a call, with those of a literal mapping in its function that it unpacks."""
    facts = {keyword.arg for keyword in call.keywords if keyword.arg}
    unpacked = [keyword.value for keyword in call.keywords if not keyword.arg]
    for name, value in assigned(function):
        if isinstance(value, ast.Dict) and any(
            isinstance(mapping, ast.Name) and mapping.id == name for mapping in unpacked
        ):
            facts |= {key.value for key in value.keys if isinstance(key, ast.Constant)}
    return facts


def assigned(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables of a function with the expressions that they are set to."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets, values = node.targets, [node.value]
            if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                targets, values = targets[0].elts, node.value.elts
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, ast.Name):
                    yield target.id, value


def name_of(table: Table) -> str:
    """Return a table's name in the list of tests."""
    return f"{table.package}.{table.speaker}"


@pytest.mark.parametrize("table", TABLES, ids=name_of)
def test_the_code_names_every_row(table: Table) -> None:
    constants = {
        node.value for tree in table.trees() for node in ast.walk(tree) if isinstance(node, ast.Constant)
    }
    assert not table.rows().keys() - constants


@pytest.mark.parametrize("table", TABLES, ids=name_of)
def test_every_case_has_its_row_and_its_facts(table: Table) -> None:
    rows = table.rows()
    uses = list(uses_of(table))
    assert any(names for names, _ in uses)
    for names, facts in uses:
        assert names <= rows.keys()
        for name in names:
            assert rows[name] <= facts | table.given, name
