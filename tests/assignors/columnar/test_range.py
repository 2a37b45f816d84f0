"""The columns of "range" and "broker-range" answer as the JVM did, list order included."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_columns_agree


@pytest.mark.sampled
@pytest.mark.parametrize("assignor", ["range", "broker-range"])
def test_they_answer_as_the_jvm(assignor: str) -> None:
    assert_columns_agree(assignor)
