"""The columns of "uniform" answer as the JVM did where all members read the same topics."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_agree, assert_columns_agree, first_difference, reads_alike
from tests.support.golden import golden_lines


@pytest.mark.sampled
def test_they_answer_as_the_jvm() -> None:
    assert_columns_agree("uniform", reads_alike)


def test_a_crowded_set_that_nothing_changes_is_copied_all_the_same() -> None:
    """A copy of a HashSet with many numbers in a bin can have another order; two recorded groups show it."""
    strided = [
        group for group in golden_lines("uniform/strided") if group["name"] in {"strided-4", "strided-13"}
    ]
    assert_agree(first_difference("uniform", group) for group in strided)
