"""The columns of "roundrobin" answer as the JVM did, list order included."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_columns_agree


@pytest.mark.sampled
def test_they_answer_as_the_jvm() -> None:
    assert_columns_agree("roundrobin")
