"""A public class or function of the packages has a name that no other module gives to another thing."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("assignors", "copartition", "partitioning", "spark_integration")

CLASSES = {
    "the same thing in the rule and in the columns of a strategy": {"Reassignment"},
    "a range as JSON has it, and its name in the schema that --schema prints": {"Span"},
}
FUNCTIONS = {
    "one strategy as rule, as columns and as other clients have it": {
        "assign_broker_range",
        "assign_cooperative_sticky",
        "assign_range",
        "assign_round_robin",
        "assign_sticky",
        "assign_uniform",
    },
    "Kafka's `memberData`, which each sticky assignor has": {"member_data"},
    "a check of one kind of group, in the file of that kind": {
        "converted_check",
        "idle_check",
        "left_over_check",
        "load_check",
        "racks_check",
        "standstill_check",
        "static_check",
        "subscriptions_check",
        "uncommitted_check",
        "unread_check",
    },
    "a command, called like the function that answers it": {
        "audit",
        "copartition",
        "diff",
        "simulate",
        "size",
    },
    "the same for one value or machine, and for a column or a cluster of Spark": {
        "float_key",
        "integer_key",
        "simulate_grid",
        "string_key",
        "uuid_key",
    },
    "a plug-in that users copy has the hash as its authors would write it": {"murmur2"},
}


@cache
def definitions() -> dict[tuple[type[ast.stmt], str], set[Path]]:
    """Return the files that define each public class or function, by the kind of statement and its name."""
    files = defaultdict(set)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                    files[type(node), node.name].add(path)
    return files


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "reasons"), [(ast.ClassDef, CLASSES), (ast.FunctionDef, FUNCTIONS)])
def test_a_name_in_two_modules_has_a_reason(kind, reasons):
    homonyms = {name for (of, name), paths in definitions().items() if of is kind and len(paths) > 1}
    assert homonyms == set().union(*reasons.values())
