"""The columns of the sticky strategies answer as the JVM did where all members read the same topics."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_columns_agree, reads_alike


@pytest.mark.sampled
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_they_answer_as_the_jvm(assignor: str) -> None:
    assert_columns_agree(assignor, reads_alike)
