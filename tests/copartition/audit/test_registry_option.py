"""--registry, which needs what confluent-kafka's client of a schema registry needs."""

from tests.copartition.audit.test_key_type import servers

__all__ = ["servers"]


def test_a_registry_that_is_down_is_told_in_a_line(run, servers):
    registry = ("--registry", "http://127.0.0.1:1", "--registry", "max.retries=0")
    done = run("audit", "payments", "-b", servers, "--key-type", "avro", *registry)
    assert done.exit_code == 2
    assert "the schema registry" in done.stderr
