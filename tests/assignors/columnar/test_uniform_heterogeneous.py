"""The columns of "uniform" answer as the JVM did where members read different topics."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_columns_agree, reads_differently


@pytest.mark.sampled
def test_they_answer_as_the_jvm() -> None:
    assert_columns_agree("uniform", reads_differently)
