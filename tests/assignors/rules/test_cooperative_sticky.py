"""The rule of "cooperative-sticky" answers as the JVM did; test_sticky_*.py test what it promises."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_rule_agrees


@pytest.mark.sampled
def test_the_rule_answers_as_the_jvm() -> None:
    assert_rule_agrees("cooperative-sticky")
