"""Every product module has tests of its own: named like it, importing it, or in the table below.

`python -m tests.test_mirror assignors/rules/range.py ...` says which; without a module it lists all.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ["partitioning", "assignors", "copartition", "spark_integration", "pyspark_copartition"]

IMPORTS = re.compile(r"^[ \t]*(?:from|import) +([\w.]+)(?: +import +(\([^)]*\)|.*))?", re.MULTILINE)

THROUGH_OTHERS: dict[str, list[str]] = {
    "tests/assignors/optimal/test_assignor.py": [
        "assignors/optimal/deciding.py",
        "assignors/optimal/network.py",
    ],
    "tests/assignors/streams/test_sticky.py": ["partitioning/java/collections.py"],
    "tests/assignors/testing/test_conformance.py": ["assignors/testing/stories.py"],
    "tests/assignors/weighted/test_assignor.py": [
        "assignors/weighted/improving.py",
        "assignors/weighted/placing.py",
        "assignors/weighted/problem.py",
    ],
    "tests/copartition/why/test_reports.py": ["copartition/why/report.py"],
    "tests/copartition/shell": ["copartition/audit/options.py", "copartition/shell/options.py"],
    "tests/copartition/models/test_command_batching.py": ["copartition/models/producer/report.py"],
    "tests/copartition/models/test_command_share.py": [
        "copartition/models/record_stream.py",
        "copartition/models/share_groups/report.py",
    ],
    "tests/copartition/simulate_scenarios/test_command.py": ["partitioning/kit/limits.py"],
    "tests/copartition/simulate_scenarios/test_size_command.py": [
        "copartition/simulate_scenarios/size_report.py"
    ],
    "tests/copartition/check": ["copartition/check/cluster.py"],
    "tests/copartition/vectors/test_command.py": ["copartition/vectors/tasks.py"],
    "tests/copartition/deploys/test_stops.py": [
        "copartition/assignment_diff/happenings.py",
        "copartition/deploys/assumptions.py",
    ],
    "tests/copartition/assignment_diff": [
        "copartition/assignment_diff/changes.py",
        "copartition/assignment_diff/compare.py",
    ],
    "tests/copartition/groups/capture": [
        "copartition/groups/capture/columns.py",
        "copartition/groups/capture/group.py",
        "copartition/groups/capture/paste.py",
        "copartition/groups/capture/scan.py",
        "copartition/groups/capture/table.py",
        "copartition/groups/capture/wrapped.py",
    ],
    "tests/copartition/shell/verbs/test_assign.py": ["copartition/shell/verbs/other_kinds.py"],
    "tests/copartition/assignment_diff/test_checks.py": ["copartition/assignment_diff/summary.py"],
    "tests/copartition/assignment_diff/test_pair.py": ["copartition/groups/source.py"],
    "tests/copartition/simulation/group": [
        "copartition/simulation/group/classic_protocol.py",
        "copartition/simulation/group/metadata.py",
        "copartition/simulation/group/targets.py",
    ],
    "tests/copartition/simulation/inputs": [
        "copartition/simulation/inputs/course.py",
        "copartition/simulation/inputs/kinds.py",
        "copartition/simulation/inputs/values.py",
    ],
    "tests/copartition/simulation/records": [
        "copartition/simulation/records/consumers.py",
        "copartition/simulation/records/open_transactions.py",
        "copartition/simulation/records/outages.py",
    ],
    "tests/copartition/simulation/outcome": [
        "copartition/simulation/outcome/history.py",
        "copartition/simulation/outcome/result.py",
    ],
    "tests/copartition/audit": ["copartition/audit/conclusion.py"],
    "tests/copartition/doctor/test_kinds.py": [
        "copartition/doctor/kind_checks.py",
        "copartition/doctor/share_checks.py",
        "copartition/doctor/streams_checks.py",
    ],
    "tests/copartition/doctor/test_checks.py": [
        "copartition/doctor/member_checks.py",
        "copartition/doctor/offset_checks.py",
    ],
    "tests/copartition/why/test_what_clients_follow.py": ["copartition/why/client_rebalances.py"],
    "tests/copartition/models": ["copartition/models/events.py"],
    "tests/partitioning/java/test_hash_map.py": ["partitioning/java/tree_bin.py"],
    "tests/partitioning/kit/test_extras.py": ["partitioning/kit/packages.py"],
    "tests/copartition/models/producer": [
        "copartition/models/producer/assessing.py",
        "copartition/models/producer/settings.py",
        "copartition/models/producer/stream.py",
    ],
    "tests/partitioning/test_hashing.py": [
        "partitioning/hashing/boost.py",
        "partitioning/hashing/crc32.py",
        "partitioning/hashing/fnv1a.py",
        "partitioning/hashing/java_string.py",
        "partitioning/hashing/kafkajs_murmur2.py",
        "partitioning/hashing/murmur2.py",
        "partitioning/hashing/murmur3.py",
        "partitioning/hashing/words.py",
    ],
    "tests/partitioning/test_partitioners.py": ["partitioning/random_choice.py"],
    "tests/partitioning/test_profiles.py": ["partitioning/hashing/modulo.py"],
    "tests/copartition/shell/test_examples.py": [
        "copartition/shell/examples/mine.py",
        "copartition/shell/verbs/examples.py",
    ],
    "tests/spark_integration/reshaping/test_reshaping.py": [
        "spark_integration/reshaping/positions.py",
        "spark_integration/reshaping/proof.py",
    ],
    "tests/spark_integration/sinks/exactly_once": [
        "spark_integration/sinks/exactly_once/foreach_batch.py",
        "spark_integration/sinks/exactly_once/writers.py",
    ],
    "tests/test_public_names.py": [
        "assignors/api.py",
        "copartition/api.py",
        "copartition/assignment_diff/api.py",
        "copartition/groups/api.py",
        "copartition/models/api.py",
        "copartition/simulate_scenarios/api.py",
        "copartition/simulation/api.py",
        "partitioning/api.py",
    ],
}
"""Modules that no test file is named after and none imports: by the tests that find a mistake in them.

A test path is a file or a folder.
"""


@cache
def modules() -> list[str]:
    """The product modules as paths; a package's `__init__` is tested with what it offers."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths if path.name != "__init__.py")


def named_after(module: str) -> list[str]:
    """Test files at the module's place under tests/ that begin with its name, and the folder named so."""
    place = ROOT / "tests" / Path(module).with_suffix("")
    named = [
        path
        for path in place.parent.glob("test_*.py")
        if path.stem == f"test_{place.name}" or path.stem.startswith(f"test_{place.name}_")
    ]
    return _relative([*named, *([place] if place.is_dir() else [])])


def importing(module: str) -> list[str]:
    """Test files of the module's package that import it: those at its place if there are some."""
    files = _importers(Path(module).parts[0]).get(_dotted(module), [])
    near = [path for path in files if path.parent == ROOT / "tests" / Path(module).parent]
    return _relative(near or files)


def own_tests(module: str) -> list[str]:
    """The tests that are the module's own, as paths; none if nothing is known of them."""
    listed = [tests for tests, through in THROUGH_OTHERS.items() if module in through]
    return named_after(module) or importing(module) or listed


@cache
def _importers(package: str) -> dict[str, list[Path]]:
    """The test files of a package by the modules that they import: `from a.b import c` may mean a/b/c.py."""
    files: dict[str, list[Path]] = {}
    for path in (ROOT / "tests" / package).rglob("test_*.py"):
        names = set[str]()
        for module, taken in IMPORTS.findall(path.read_text(encoding="utf-8")):
            names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", taken))}
        for name in names:
            files.setdefault(name, []).append(path)
    return files


def _dotted(module: str) -> str:
    return ".".join(Path(module).with_suffix("").parts)


def _relative(paths: list[Path]) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def test_every_module_has_tests_of_its_own() -> None:
    without = [module for module in modules() if not own_tests(module)]
    assert not without, (
        "No test file is named after these modules or imports them; add one, or name the tests that find "
        f"a mistake in them in THROUGH_OTHERS: {', '.join(without)}."
    )


def test_every_rule_and_all_columns_have_a_file_named_after_them() -> None:
    """So that `make quick T=tests/assignors/rules` finds a mistake in any rule."""
    decide = [
        module for module in modules() if module.startswith(("assignors/rules/", "assignors/columnar/"))
    ]
    assert [module for module in decide if not named_after(module)] == []


@pytest.mark.heavy
@pytest.mark.parametrize("tests", THROUGH_OTHERS)
def test_a_row_of_the_table_is_needed_and_true(tests: str) -> None:
    assert (ROOT / tests).exists()
    assert THROUGH_OTHERS[tests] == sorted(THROUGH_OTHERS[tests])
    missing = set(THROUGH_OTHERS[tests]) - set(modules())
    named = [module for module in THROUGH_OTHERS[tests] if named_after(module) or importing(module)]
    assert (missing, named) == (set(), []), "these are gone, or have tests of their own by now"


if __name__ == "__main__":
    for module in sys.argv[1:] or modules():
        print(f"{module}: {', '.join(own_tests(module)) or 'no tests'}")  # noqa: T201
