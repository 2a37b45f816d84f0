"""The rule of "sticky" for members that subscribe to different topics answers as the JVM did."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_rule_agrees, reads_differently


@pytest.mark.sampled
def test_the_rule_of_different_subscriptions_answers_as_the_jvm() -> None:
    assert_rule_agrees("sticky", reads_differently)
