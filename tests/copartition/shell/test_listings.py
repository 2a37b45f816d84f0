"""`copartition partition`, `profiles`, `assign --list`."""

import json

import pytest

from partitioning import partition_for_key


def test_every_client_has_a_row(run):
    rows = {
        line.split()[0]: line.split()[1:]
        for line in run("partition", "user-1", "key", "-n", "12").stdout.splitlines()
    }
    # Published by kafka-clients: "user-1" % 12 = 8, "key" % 12 = 1.
    assert rows["java"][:2] == ["8", "1"]
    assert rows["librdkafka"][:2] == [
        str(partition_for_key(key, 12, profile="librdkafka")) for key in (b"user-1", b"key")
    ]


def test_an_empty_key_that_a_client_does_not_hash_is_a_dash(run):
    rows = {line.split()[0]: line.split()[1] for line in run("partition", "", "-n", "12").stdout.splitlines()}
    assert (rows["java"], rows["librdkafka"]) == ("9", "-")


def test_one_profile_and_json(run):
    result = run(
        "partition", "user-1", "", "-n", "12", "--profile", "librdkafka", "--profile", "java", "-o", "json"
    )
    keys = json.loads(result.stdout)["keys"]
    assert keys[0] == {
        "key": "user-1",
        "partitions": {"librdkafka": keys[0]["partitions"]["librdkafka"], "java": 8},
    }
    assert keys[1]["partitions"] == {"librdkafka": None, "java": 9}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["key", "-n", "0"], "0 is not in the range"),
        (["key"], "Missing option"),
        (["-n", "3"], "give each KEY as an argument"),
        (["key", "-n", "3", "--profile", "jav"], "no profile 'jav'; did you mean java"),
    ],
)
def test_bad_input_is_2(run, arguments, fault):
    result = run("partition", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["profiles"], {"java", "librdkafka"}),
        (
            ["assign", "--list"],
            {"range", "roundrobin", "cooperative-sticky", "optimal", "cooperative-optimal"},
        ),
    ],
)
def test_lists_as_text_and_json(run, command, names):
    lines = run(*command).stdout.splitlines()
    assert lines[0].startswith("NAME")
    assert names <= {line.split()[0] for line in lines}
    assert names <= {entry["name"] for entry in json.loads(run(*command, "-o", "json").stdout)}
