"""The public names: each has an example in its docstring, and the examples run."""

import importlib
import inspect
import pkgutil

import pytest

import assignors.registry
import partitioning.partitioners
import spark_integration
from partitioning import errors
from partitioning.kit.packages import public_names
from tests.support.docstrings import all_examples, assert_shown, docstrings, examples, modules_with_examples

PACKAGES = ("partitioning", "assignors", "copartition")
ROOMS = ("assignment_diff", "groups", "models", "simulate_scenarios", "simulation")
NAMES = [
    f"{package}.{name}"
    for package in PACKAGES
    for name in importlib.import_module(package).__all__
    # What raises an exception shows it, and docs/errors.md says what each means.
    if not hasattr(errors, name)
]


@pytest.fixture
def registries(monkeypatch):
    """What an example registers is forgotten."""
    for registry in (partitioning.partitioners._REGISTRY, assignors.registry._REGISTRY):
        monkeypatch.setattr(registry.plug_ins, "_registered", dict(registry.plug_ins._registered))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_examples_and_they_run(name, registries):
    package, _, attribute = name.partition(".")
    module = importlib.import_module(package)
    for text in examples(package, attribute):
        assert_shown(text, {public: getattr(module, public) for public in module.__all__})


STARTING_SERVERS = {"partitioning.clients.confluent", "partitioning.testing.mock_cluster"}
"""Modules whose examples start a mock cluster."""


def assert_all_examples_run(name):
    packages = map(importlib.import_module, PACKAGES)
    public = {
        public_name: getattr(package, public_name) for package in packages for public_name in package.__all__
    }
    for text in all_examples(name):
        assert_shown(text, {**public, **vars(importlib.import_module(name))})


MODULES = [name for package in PACKAGES for name in modules_with_examples(package)]


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in MODULES if name not in STARTING_SERVERS])
def test_examples_of_names_that_are_not_public_run_too(name, registries):
    assert_all_examples_run(name)


@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in MODULES if name in STARTING_SERVERS])
def test_examples_that_start_a_mock_cluster_run_too(name, registries):
    assert_all_examples_run(name)


# tests/spark_integration/test_docstrings.py runs them.
@pytest.mark.parametrize("name", [name for name, home in spark_integration._HOME.items() if home != "errors"])
def test_a_public_name_of_spark_has_an_example(name):
    assert examples("spark_integration", name)


def test_a_name_without_an_example_and_one_that_shows_something_else_are_noticed():
    with pytest.raises(AssertionError, match=r"partitioning\.errors\.ClusterError has no example"):
        examples("partitioning.errors", "ClusterError")
    with pytest.raises(AssertionError, match=r"Expected:\n *3\nGot:\n *2\n"):
        assert_shown(">>> one + 1\n3\n", {"one": 1})


def test_a_docstring_is_that_of_the_source():
    own, *methods = docstrings("partitioning", "Growth")
    assert own == inspect.getdoc(partitioning.Growth)
    assert inspect.getdoc(partitioning.Growth.warning) in methods


OFFERING = [
    *(
        "partitioning",
        "assignors",
        "copartition",
        "spark_integration",
        "partitioning.testing",
        "assignors.testing",
    ),
    *(
        f"copartition.{room}"
        for room in ("assignment_diff", "groups", "models", "simulate_scenarios", "simulation")
    ),
]


@pytest.mark.parametrize("package", OFFERING)
def test_public_names_are_listed_once_and_before_any_is_loaded(package):
    module = importlib.import_module(package)
    assert len(module.__all__) == len(set(module.__all__))
    assert {name for name in dir(module) if not name.startswith("__")} == {*module.__all__} - {"__version__"}


@pytest.mark.parametrize(
    "package", [*PACKAGES, *(f"copartition.{room}" for room in ROOMS), "spark_integration"]
)
def test_no_public_name_is_that_of_a_module(package):
    module = importlib.import_module(package)
    names = public_names(module)
    assert len(names) > 5
    assert {*names}.isdisjoint(name for _, name, _ in pkgutil.iter_modules(module.__path__))
