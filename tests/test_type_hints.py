"""What a framework reads of our types as a program runs: every name in a public signature is there."""

import inspect
import typing
from collections.abc import Iterator
from importlib import import_module

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


def test_every_type_of_a_signature_is_there_as_the_program_runs() -> None:
    missing = []
    count = 0
    for name, signature in signatures():
        count += 1
        try:
            typing.get_type_hints(signature)
        except NameError as error:  # the type is imported for type checkers only
            missing.append(f"{name}: {error}")
    assert not missing
    assert count > 200
