"""The columns of "uniform", and where they leave a group to the rule, answer as the JVM did."""

from __future__ import annotations

import pytest

from tests.support.agreement import assert_agree, assert_columns_agree, first_difference
from tests.support.golden import golden_lines


@pytest.mark.sampled
def test_they_answer_as_the_jvm() -> None:
    assert_columns_agree("uniform")


def test_a_crowded_set_that_nothing_changes_is_copied_all_the_same() -> None:
    """A copy of a HashSet with many numbers in a bin can have another order; two recorded groups show it."""
    strided = [
        group for group in golden_lines("uniform/strided") if group["name"] in {"strided-4", "strided-13"}
    ]
    assert_agree(first_difference("uniform", group) for group in strided)
