"""What a worker of the quick tier reports."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.support.brief_reports import worth_sending

Outcome = Literal["passed", "failed", "skipped"]


def report(when: Literal["setup", "call", "teardown"], outcome: Outcome) -> pytest.TestReport:
    """A report of one step of a test."""
    return pytest.TestReport("test_it", ("test.py", 1, "test_it"), {}, outcome, None, when)


@pytest.mark.parametrize(
    ("outcomes", "sent"),
    [
        (["passed", "passed", "passed"], ["call"]),
        (["passed", "failed", "passed"], ["call"]),
        (["failed", "passed"], ["setup"]),
        (["skipped", "passed"], ["setup"]),
        (["passed", "passed", "failed"], ["call", "teardown"]),
    ],
)
def test_nothing_that_did_not_pass_is_left_out(outcomes: list[Outcome], sent: list[str]) -> None:
    steps = ("setup", "call", "teardown") if len(outcomes) == 3 else ("setup", "teardown")
    reports = [report(when, outcome) for when, outcome in zip(steps, outcomes, strict=True)]  # type: ignore[arg-type]
    assert [sending.when for sending in worth_sending(reports)] == sent
