"""The trees of errors that docs/errors.md draws are those of the classes."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import partitioning.errors
from partitioning.errors import CopartitionError

TEXT = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
DRAWN = dict(
    zip(["partitioning", "spark_integration"], re.findall(r"(?s)```text\n(.*?)```", TEXT)[:2], strict=True)
)


def drawn(package):
    """Each name of the drawn tree with the one it hangs on; None for the root."""
    path, tree = [], {}
    for line in DRAWN[package].splitlines():
        if match := re.match(r"([ |`-]*)([A-Z]\w+Error)\b", line):
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            tree[match[2]] = path[depth - 1] if depth else None
    return tree


PACKAGES = ["partitioning", *(["spark_integration"] if find_spec("pyspark") else [])]


@pytest.mark.parametrize("name", PACKAGES)
def test_the_drawn_tree_is_that_of_the_classes(name):
    module = import_module(f"{name}.errors")
    tree = drawn(name)
    classes = {
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    }
    assert {kind.__name__ for kind in classes} == tree.keys() - {"SparkIntegrationError"} | (
        {"SparkIntegrationError"} if name == "spark_integration" else set()
    )
    for kind in classes:
        parent = tree[kind.__name__]
        assert issubclass(kind, CopartitionError)
        assert parent is None or kind.__bases__[0].__name__ == parent, kind


def test_an_error_is_caught_by_cause_and_as_what_python_calls_it():
    error = partitioning.errors.BrokerUnreachableError("away")
    assert isinstance(error, partitioning.errors.ClusterError)
    assert isinstance(error, ConnectionError)
