"""What a framework reads of our types as a program runs: every name in a public signature is there."""

import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

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


CHECKED = """
from typing import assert_type

from copartition import partition_for_key
from partitioning import serialize_key

assert_type(partition_for_key(b"a", 12), int)
assert_type(partition_for_key(b"a", 12, profile="kafkajs"), int)
assert_type(partition_for_key(None, 12, profile="librdkafka-murmur2"), int)
assert_type(partition_for_key(b"a", 12, profile="librdkafka"), int | None)
assert_type(partition_for_key(serialize_key(42, "long"), 12), int)


def place(key: bytes | None, profile: str) -> None:
    assert_type(partition_for_key(key, 12), int | None)
    assert_type(partition_for_key(b"a", 12, profile=profile), int | None)
"""


@pytest.mark.live
@pytest.mark.slow
def test_a_key_that_its_profile_hashes_has_a_partition_for_type_checkers(tmp_path: Path) -> None:
    (tmp_path / "checked.py").write_text(CHECKED)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, tmp_path / "checked.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
