"""`copartition model share`."""

from __future__ import annotations

from typing import Any

import pytest

from copartition.models.command import share
from tests.support.commands import invoker, json_of

invoke = invoker(share)
POLLS = ("--records", 100, "--process", 100, "--max-poll-records", 10, "--round-trip", 0, "--max-locks", 40)
"""Polls of 10 records, which take 1 s; there are locks for four of them."""


def lines(*arguments: object) -> list[str]:
    return invoke(*POLLS, *arguments, "--width", 200).stdout.splitlines()


def read(*arguments: object) -> Any:
    return json_of(invoke, *POLLS, *arguments)


def test_the_conclusion_comes_first_and_what_is_assumed_last() -> None:
    first, *_, last = lines("--members", 2)
    assert first == "2 members accept 100 of 100 records, 20.0 a second, 0 redeliveries"
    assert last.startswith("  assumed: one partition")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ((), "has to exceed 1.0 s, so that no lock of a healthy record ends too early; it is 30.0 s"),
        (("--lock", 900), "it is 900 ms: raise it, or poll fewer records"),
        (("--renew",), "has to exceed 100 ms"),
        (("--each",), "has to exceed 1.0 s"),
        (("--max-locks", 30), "up to 3 members help: one more adds less than half of what the first does"),
        pytest.param(
            ("--max-locks", 2_000), "64 members help; with more it was not tried", marks=pytest.mark.heavy
        ),
        (("--poison", "3=release"), "record 3: archived after 5 deliveries and"),
        (("--poison", "3=release"), "what is special about records costs 4 redeliveries and 400 ms"),
        (("--poison", "3=reject"), "record 3: rejected after 1 delivery and"),
        (("--poison", "3=2000"), "record 3: accepted after 1 delivery and"),
        (("--poison", "0=crash"), "record 0: open after 1 delivery"),
        (("--poison", "0=crash", "--restart", 0), "record 0: archived after 5 deliveries and 500 ms"),
    ],
)
def test_advice(arguments: tuple[object, ...], advice: str) -> None:
    assert any(advice in line for line in lines(*arguments))


def test_a_group_without_members_left_does_not_say_what_its_records_cost() -> None:
    assert "what is special" not in "\n".join(lines("--poison", "0=crash"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), 0), (("--poison", "3=reject"), 0), (("--poison", "3=release"), 1), (("--poison", "3=crash"), 1)],
)
def test_the_exit_code_says_whether_records_were_given_up(arguments: tuple[object, ...], code: int) -> None:
    assert invoke(*POLLS, *arguments).exit_code == code


def test_json_says_the_same_as_data() -> None:
    values = read("--max-locks", 20, "--poison", "5=9100", "--members", 2)
    assert values["group"]["special"] == {"5": 9_100}
    assert values["group"]["restart_ms"] is None
    assert (values["result"]["seconds"], values["healthy"]["seconds"]) == (14, 5)
    assert values["result"]["special"] == [
        {"offset": 5, "deliveries": 1, "outcome": "accepted", "took_ms": 10_000}
    ]
    assert values["lock_that_suffices_ms"] == 10_000
    assert [row["members"] for row in values["by_members"]] == [1, 2]
    assert values["assumed"]


@pytest.mark.parametrize(
    ("poison", "message"),
    [
        (["3"], "'3' is not OFFSET=release"),
        (["x=crash"], "'x=crash' is not"),
        (["1_0=crash"], "'1_0=crash' is not"),
        (["3=burn"], "'3=burn' is not"),
        (["3=-1"], "'3=-1' is not"),
        (["3=crash", "3=reject"], "record 3 is two things"),
        (["100=crash"], "special of a share group names 100, but numbers end at 99"),
    ],
)
def test_records_that_cannot_be_are_refused(poison: list[str], message: str) -> None:
    result = invoke(*POLLS, *(part for text in poison for part in ("--poison", text)))
    assert result.exit_code == 2
    assert message in result.output
