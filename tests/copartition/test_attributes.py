"""`attributes` reads values by name, which no type checker sees: each key of a part is there to be read."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import copartition
from copartition.assignment_diff import AssignmentDiff, Matching
from copartition.audit.topic_audit import HotKey, KeyForm, TopicAudit, Writer
from copartition.check.planned import GrowthPlan
from copartition.check.verdict import JoinVerdict, KeyProof, Placement
from copartition.kit.number_checks import NumberCheck
from copartition.reshape.observed import ReadingGroup
from copartition.reshape.plan import ReshapeReason
from copartition.reshape.ways import Copy, ReshapeStep, ReshapeWay

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
    "reshape.report.CopyData": Copy,
    "reshape.report.GroupData": ReadingGroup,
    "reshape.report.ReasonData": ReshapeReason,
    "reshape.report.StepData": ReshapeStep,
    "reshape.report.WayData": ReshapeWay,
    "reshape.report.WriterData": Writer,
}


@cache
def calls() -> dict[str, set[str]]:
    """The part that each call makes, and the keys whose values it gives itself."""
    return {
        f"{'.'.join(path.relative_to(FOLDER).with_suffix('').parts)}.{ast.unparse(call.args[0])}": {
            keyword.arg for keyword in call.keywords if keyword.arg
        }
        for path in sorted(FOLDER.rglob("*.py"))
        if "attributes(" in (source := path.read_text(encoding="utf-8"))
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("attributes")
    }


def test_the_class_that_each_part_is_read_from_is_listed():
    assert calls().keys() == READ_FROM.keys()


@pytest.mark.parametrize("part", READ_FROM)
def test_each_key_of_a_part_is_given_or_an_attribute(part):
    module, _, name = part.rpartition(".")
    keys = set(getattr(import_module(f"copartition.{module}"), name).__annotations__)
    kind, given = READ_FROM[part], calls()[part]
    assert given < keys
    assert keys - given <= {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
