"""`attributes` reads values by name, which no type checker sees: each key of a part is there to be read."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import copartition
from copartition.assignment_diff import AssignmentDiff, Matching
from copartition.audit.topic_audit import HotKey, KeyForm, TopicAudit
from copartition.check.planned import GrowthPlan
from copartition.check.verdict import JoinVerdict, KeyProof, Placement
from copartition.kit.number_checks import NumberCheck

FOLDER = Path(copartition.__file__).parent
READ_FROM = {
    "audit.report.AuditData": TopicAudit,
    "audit.report.AuditedForm": KeyForm,
    "audit.report.HotKeyData": HotKey,
    "check.report.FormData": KeyForm,
    "check.report.JoinData": JoinVerdict,
    "check.report.PlanData": GrowthPlan,
    "check.report.ProofData": KeyProof,
    "check.report.RuleData": Placement,
    "check.report.TopicData": TopicAudit,
    "assignment_diff.report.json.DiffDocument": AssignmentDiff,
    "assignment_diff.report.json.MatchingData": Matching,
    "kit.json.CheckResult": NumberCheck,
}


CALLS = [
    (
        f"{'.'.join(path.relative_to(FOLDER).with_suffix('').parts)}.{ast.unparse(call.args[0])}",
        {keyword.arg for keyword in call.keywords},
    )
    for path in sorted(FOLDER.rglob("*.py"))
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("attributes")
]
"""The part that each call makes, and the keys whose values it gives itself."""


def test_the_class_that_each_part_is_read_from_is_listed():
    assert {part for part, _ in CALLS} == READ_FROM.keys()


@pytest.mark.parametrize(("part", "given"), CALLS, ids=[part for part, _ in CALLS])
def test_each_key_of_a_part_is_given_or_an_attribute(part, given):
    module, _, name = part.rpartition(".")
    keys = set(getattr(import_module(f"copartition.{module}"), name).__annotations__)
    kind = READ_FROM[part]
    assert given < keys
    assert keys - given <= {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
