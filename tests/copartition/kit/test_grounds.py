"""No class with a ground can be built without one."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
from importlib import import_module
from typing import get_type_hints

import pytest

import copartition
from copartition.kit.evidence import Evidence, Ground


def grounded() -> list[type]:
    """Return each class of the tools that has a field `ground`, in the order of their modules."""
    modules = [
        import_module(module.name)
        for module in pkgutil.walk_packages(copartition.__path__, "copartition.")
        if not module.name.endswith("__main__")
    ]
    classes = [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__ and "ground" in inspect.get_annotations(member)
    ]
    return list(dict.fromkeys(classes))


GROUNDED = grounded()


def test_findings_and_checks_have_a_ground() -> None:
    assert {(kind.__module__.split(".")[1], kind.__name__) for kind in GROUNDED} >= {
        ("doctor", "Observation"),
        ("doctor", "Finding"),
        ("transactions", "TransactionFault"),
        ("transactions", "Judgement"),
    }


@pytest.mark.parametrize("kind", GROUNDED, ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
def test_a_ground_is_evidence_or_what_is_missing_and_has_no_default(kind: type) -> None:
    assert get_type_hints(kind)["ground"] in {Evidence, Ground}
    if dataclasses.is_dataclass(kind):
        [field] = [field for field in dataclasses.fields(kind) if field.name == "ground"]
        assert field.default is dataclasses.MISSING
        assert field.default_factory is dataclasses.MISSING
    else:
        assert "ground" not in getattr(kind, "_field_defaults", {})
