"""`copartition reshape`: options that cannot be, and topics that are refused before a broker is asked."""

import json

import pytest

from copartition.reshape.command import reshape
from tests.support.commands import invoker

NOBODY = ("-b", "127.0.0.1:1")


@pytest.fixture(scope="module")
def run():
    return invoker(reshape)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["orders"], "Missing option '-n' / '--partitions'"),
        (["orders", "-n", "0", *NOBODY], "0 is not in the range"),
        (["orders", "-n", "4", "--to", "orders", *NOBODY], "--to orders is the topic itself"),
        (["orders", "-n", "4", "--profile", "jaba", *NOBODY], "did you mean java"),
        (["orders", "-n", "4", "--copy", *NOBODY], "--copy needs --checkpoint FOLDER"),
        (["orders", "-n", "4", "--switch", *NOBODY], "--switch needs --checkpoint FOLDER"),
        (["orders", "-n", "4", "--prove", *NOBODY], "--prove needs --profile NAME"),
        (["orders", "-n", "4", "--execute", *NOBODY], "--execute goes with --switch or --back"),
        (["orders", "-n", "4", "--key", "value", *NOBODY], "--key goes with --copy, --switch and --prove"),
        (["orders", "-n", "4", "--prove", "--back", *NOBODY], "--prove and --back are two steps"),
        (["__consumer_offsets", "-n", "4", "--back", *NOBODY], "__consumer_offsets is not reshaped"),
    ],
)
def test_what_cannot_be_asked(run, monkeypatch, arguments, said) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_it_needs_a_cluster(run, monkeypatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    result = run("orders", "-n", "4")
    assert (result.exit_code, "name it with -b HOST:PORT" in result.stderr) == (2, True)


def test_an_internal_topic_is_refused_without_asking_anybody(run) -> None:
    result = run("shop-counts-changelog", "-n", "4", "-o", "json", *NOBODY)
    told = json.loads(result.stdout)
    assert (result.exit_code, told["answer"], told["ways"]) == (1, "no", [])
    assert [reason["code"] for reason in told["reasons"]] == ["internal-topic"]


def test_the_schema_needs_no_topic(run) -> None:
    result = run("--schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == "The report of copartition reshape -o json"
