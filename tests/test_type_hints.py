"""What a framework reads of our types as a program runs: every name in a public signature is there."""

import inspect
import typing
from collections.abc import Iterator
from importlib import import_module

import pytest

PACKAGES = ("partitioning", "assignors", "copartition", "copartition.simulation", "spark_integration")


def signatures() -> Iterator[tuple[str, object]]:
    """Every public function and class, and what a public class defines, by its dotted name."""
    for package in map(import_module, PACKAGES):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing):
                yield f"{package.__name__}.{name}", thing
                for method, attribute in inspect.getmembers_static(thing):
                    function = getattr(attribute, "fget", None) or getattr(attribute, "func", None)
                    function = function or getattr(attribute, "__func__", attribute)
                    if (not method.startswith("_") or method == "__init__") and inspect.isfunction(function):
                        yield f"{package.__name__}.{name}.{method}", function
            elif inspect.isfunction(thing):
                yield f"{package.__name__}.{name}", thing


SIGNATURES = dict(signatures())


@pytest.mark.parametrize("signature", SIGNATURES.values(), ids=SIGNATURES)
def test_its_types_are_there_as_the_program_runs(signature: object) -> None:
    typing.get_type_hints(signature)  # a NameError where a type is imported for type checkers only
