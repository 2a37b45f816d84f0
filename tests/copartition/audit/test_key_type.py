"""--key-type and --registry, of the commands that read topics."""

import struct

import numpy as np
import pytest

from copartition.audit import cluster
from copartition.audit.topic_audit import Coverage, Records
from partitioning import key_column, partition_batch

NUMBERS = range(80)
KEYS = {
    "orders": [b"%d" % number for number in NUMBERS],
    "payments": [struct.pack(">i", number) for number in NUMBERS],
}


class Read:
    """A topic of three partitions, read as a whole."""

    num_partitions, compacted, header_schemas = 3, False, ()

    def __init__(self, name, *_, **__):
        keys = KEYS[name]
        places, offsets = partition_batch(keys, 3), np.arange(len(keys))
        self._records = Records(places, offsets, np.full(len(keys), -1), key_column(keys))
        self.coverage = Coverage("full", len(keys), len(keys), (0, 1, 2), "every record")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __iter__(self):
        return iter([self._records])


@pytest.fixture
def servers(monkeypatch):
    """A cluster whose orders have keys of text, and whose payments the same as integers."""
    monkeypatch.setattr(cluster, "TopicReading", Read)
    return "localhost:1"


def test_an_audit_tells_what_a_key_says(run, servers):
    done = run("audit", "payments", "-b", servers, "--key-type", "integer")
    assert "the number " in done.stdout, done.stderr


def test_keys_that_the_format_does_not_fit_are_told(run, servers):
    done = run("audit", "orders", "-b", servers, "--key-type", "integer")
    assert "80 sampled keys of orders are compared as bytes: integer: a key has " in done.stderr


def test_a_check_compares_what_keys_say(run, servers):
    arguments = ("check", "orders", "payments", "-b", servers, "--full", "-o", "json")
    assert "respelled" in run(*arguments).stdout
    # As doubles, neither topic's keys can be read.
    assert "respelled" not in run(*arguments, "--key-type", "double").stdout


@pytest.mark.parametrize("command", [("audit", "orders"), ("check", "orders", "payments")])
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--key-type", "avro"), "--key-type avro needs the schema registry"),
        (("--registry", "http://localhost"), "--registry is for --key-type avro or jsonschema"),
        (("--key-type", "avro", "--registry", "localhost"), "neither a URL nor KEY=VALUE"),
        (("--key-type", "thrift"), "thrift"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, command, options, fault):
    done = run(*command, "-b", "localhost:1", *options)
    assert done.exit_code == 2
    assert fault in done.stderr
