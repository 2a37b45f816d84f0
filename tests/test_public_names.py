"""The public names: those that people need come first, and the examples in their docstrings run."""

import doctest
import importlib
import inspect

import pytest

import assignors.registry
import partitioning.partitioners

NEEDED = {
    "partitioning": "register_partitioner",
    "assignors": "register_assignor",
}
"""The last name of each package that a program needs; interfaces of plug-ins and results come after it."""


def needed_names(package):
    names = importlib.import_module(package).__all__
    return names[: names.index(NEEDED[package]) + 1]


@pytest.fixture
def registries(monkeypatch):
    """What an example registers is forgotten."""
    for registry in (partitioning.partitioners._REGISTRY, assignors.registry._REGISTRY):
        monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.mark.parametrize(
    "name", [f"{package}.{name}" for package in NEEDED for name in needed_names(package)]
)
def test_examples_of_a_name_people_need_run(name, registries):
    package, _, attribute = name.partition(".")
    subject = getattr(importlib.import_module(package), attribute)
    module = inspect.getmodule(subject)
    tests = [
        test for test in doctest.DocTestFinder().find(subject, attribute, module=module) if test.examples
    ]
    assert tests, f"{name} has no example in its docstring"
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    report = []
    for test in tests:
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize("package", ["partitioning", "assignors", "copartition", "spark_integration"])
def test_public_names_are_listed_once_and_before_any_is_loaded(package):
    module = importlib.import_module(package)
    assert len(module.__all__) == len(set(module.__all__))
    assert {*dir(module)} >= {*module.__all__}
