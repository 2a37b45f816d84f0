"""`copartition model delivery`."""

import json

import pytest
from click.testing import CliRunner

from copartition.models.command import delivery
from tests.support.commands import invoker

FEW = ["--batches", "50", "--runs", "4"]
NOTHING = {"batches": 0, "runs": 0, "most": 0}


def invoke(*arguments):
    return invoker(delivery)(*arguments, *FEW)


def read(*arguments):
    """What is said as JSON; the exit code is 1 if a run loses, doubles or reorders a batch, else 0."""
    result = invoke(*arguments, "-o", "json")
    values = json.loads(result.stdout)
    harmed = [name for name in ("lost", "twice", "out_of_order") if values["classes"][name] != NOTHING]
    assert result.exit_code == bool(harmed)
    return values


def happens(*arguments):
    """The classes that batches fell into."""
    return {name for name, tally in read(*arguments)["classes"].items() if tally != NOTHING}


@pytest.mark.parametrize(
    ("arguments", "classes"),
    [
        ([], set()),
        (["--ack-lost", 0.1], set()),
        (["--no-idempotence", "--ack-lost", 0.1, "--in-flight", 1], {"twice"}),
        (["--no-idempotence", "--ack-lost", 0.1], {"twice", "out_of_order"}),
        (["--no-idempotence", "--ack-lost", 0.1, "--client", "librdkafka", "--in-flight", 5], {"twice"}),
        (["--retries", 0, "--ack-lost", 0.1], {"failed", "failed_but_written"}),
        (["--acks", 0, "--request-lost", 0.1], {"lost"}),
        (["--acks", 1, "--leader-change", 30], {"lost", "out_of_order"}),
        (["--leader-change", 200], set()),
        (["--leader-change", 200, "--unclean", 100], {"lost"}),
        (["--refused", 1, "--delivery-timeout", 200], {"failed"}),
    ],
)
def test_what_happens_to_batches(arguments, classes):
    assert happens(*arguments) == classes


def test_json_says_what_was_asked_and_assumed():
    values = read("--client", "librdkafka", "--leader-change", 20, "--unclean", 10)
    settings = values["settings"]
    assert (settings["enable_idempotence"], settings["max_in_flight_requests_per_connection"]) == (
        False,
        1_000_000,
    )
    assert (settings["delivery_timeout_ms"], settings["retries"]) == (300_000, 2**31 - 1)
    assert (values["faults"]["leader_changes"], values["faults"]["unclean_since_ms"]) == ([20], 10)
    assert [text.split()[0] for text in values["assumed"]] == ["one", "a", "the", "the"]
    assert (values["batches"], values["runs"], values["round_trip_ms"]) == (50, 4, 5)


def test_a_tool_leads_to_its_client():
    assert read("--client", "karafka") == read("--client", "librdkafka")


def test_text_says_the_same():
    (verdict, _, _, *rows) = invoke(
        "--no-idempotence", "--in-flight", 1, "--ack-lost", 0.1
    ).stdout.splitlines()
    assert verdict.startswith("java, acks=all, no idempotence, 1 in flight: of 200 batches in 4 runs ")
    assert [row.split()[0] for row in rows] == [
        "lost",
        "twice",
        "out",
        "failed",
        "failed",
        "assumed:",
        "assumed:",
    ]
    assert verdict.endswith(f" {rows[1].split()[1]} twice")


def test_without_a_fault_all_are_written():
    assert invoke().stdout.splitlines()[0].endswith("all are written once and in order")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--idempotence", "--acks", 1], "needs acks=all"),
        (["--in-flight", 6], "of at most 5"),
        (["--idempotence", "--retries", 0], "retries of at least 1"),
        (["--unclean", 5], "--unclean needs a --leader-change after it"),
        (["--unclean", 5, "--leader-change", 5], "--unclean needs a --leader-change after it"),
        (["--refused", 0.6, "--ack-lost", 0.6], "must add up to 0 .. 1"),
        (["--batch-interval", "nan"], "'--batch-interval': nan is not a finite number"),
        (["--batches", 10**6, "--runs", 10**6], "batches over all runs"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(arguments, words):
    result = CliRunner().invoke(delivery, [*map(str, arguments)])
    assert (result.exit_code, words in result.stderr, result.stderr.count("\n")) == (2, True, 1)
