"""What a ledger allows to be written, without a cluster."""

from dataclasses import replace
from unittest.mock import MagicMock, Mock

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from pyspark.sql.types import StructType

from partitioning.clients.ledger import Entry, ledger_group
from partitioning.errors import InvalidConfigError, TopicChangedError
from spark_integration import ColumnError, LedgerMissingError, RoutingError
from spark_integration.columns import LANES, PARTITIONS
from spark_integration.sinks.exactly_once import faults, half_done
from spark_integration.sinks.exactly_once.target import Target, check_begins, standing, target_of
from spark_integration.sinks.options import read_sink_options

pytestmark = pytest.mark.needs("time")

TARGET = Target({}, "t", "id", actual=4, partitions=4, rule=None, app_id="app", version=7, first_version=None)
BEFORE = Entry(6, 10, "digest", True, partitions=4, before=4, topic_id="id")
BEGUN = Entry(7, 10, "digest", False, partitions=4, before=4, topic_id="id")


@pytest.mark.parametrize(
    ("target", "partition", "entry", "anchor", "expected"),
    [
        (replace(TARGET, version=0), 2, None, None, (0, "", False, 0)),
        (replace(TARGET, version=0), 2, None, replace(BEGUN, version=0, before=0), (0, "", False, 0)),
        (TARGET, 2, BEFORE, None, (0, "", False, 4)),
        (TARGET, 2, replace(BEFORE, version=2), None, (0, "", False, 4)),
        (TARGET, 2, BEGUN, None, (10, "digest", False, 4)),
        (TARGET, 2, replace(BEGUN, done=True), None, (10, "digest", True, 4)),
        # Partitions that the topic has got since version 6, before and after partition 0 has begun version 7.
        (TARGET, 2, None, replace(BEFORE, partitions=2), (0, "", False, 2)),
        (TARGET, 2, None, replace(BEGUN, before=2), (0, "", False, 2)),
    ],
)
def test_a_version_goes_on_where_the_ledger_says(
    target: Target,
    partition: int,
    entry: Entry | None,
    anchor: Entry | None,
    expected: tuple[int, str, bool, int],
) -> None:
    held = standing(target, partition, entry, anchor)
    assert (held.records, held.digest, held.done, held.before) == expected
    assert (held.version, held.partitions, held.topic_id) == (target.version, 4, "id")


@pytest.mark.parametrize("anchor", [None, BEFORE, BEGUN])
def test_a_partition_that_the_ledger_lost_is_refused(anchor: Entry | None) -> None:
    with pytest.raises(LedgerMissingError, match="nothing of partition 2, and only version 0 begins one"):
        standing(TARGET, 2, None, anchor)


@pytest.mark.parametrize(("anchor", "forget"), [(None, False), (BEFORE, True)])
def test_a_new_ledger_does_not_begin_beside_the_rest_of_an_old_one(
    anchor: Entry | None, forget: bool
) -> None:
    with pytest.raises(LedgerMissingError, match="txnFirstVersion=7") as raised:
        standing(TARGET, 2, None, anchor)
    assert ("ledger forget" in str(raised.value)) == forget
    if anchor is not None:  # without which the same option is no way out
        with pytest.raises(LedgerMissingError):
            standing(replace(TARGET, first_version=7), 2, None, anchor)


@pytest.mark.parametrize("version", [0, 7])
def test_records_of_which_no_ledger_tells_are_refused_unless_a_fresh_start_is_meant(version: int) -> None:
    first = replace(TARGET, version=version)
    check_begins(first, 2, lambda: False)
    with pytest.raises(LedgerMissingError, match=f"partition 2 has records.*txnFirstVersion={version}"):
        check_begins(first, 2, lambda: True)
    check_begins(replace(first, first_version=version), 2, lambda: True)
    with pytest.raises(LedgerMissingError):
        check_begins(replace(first, first_version=version + 1), 2, lambda: True)


def test_a_coordinator_that_loads_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "pause", lambda _: None)
    loading = KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))
    asked = Mock(**{"result.side_effect": [loading, Mock(topic_partitions=[TopicPartition("t", 0)])]})
    admin = MagicMock(**{"list_consumer_group_offsets.return_value": {ledger_group("app"): asked}})
    assert not half_done._is_open(admin, TARGET, 0)
    assert asked.result.call_count == 2


def test_fencing_ends_with_the_wave_in_which_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    fenced: list[int] = []
    monkeypatch.setattr(half_done, "fence_one", lambda _, partition, **__: fenced.append(partition))
    half_done.fence(TARGET, range(40), within_s=-1)
    assert sorted(fenced) == [*range(16)]
    half_done.fence(TARGET, range(16, 40))
    assert sorted(fenced) == [*range(40)]


def test_a_new_partition_does_not_join_a_version_that_began_without_it() -> None:
    with pytest.raises(TopicChangedError, match="a part of it is in, placed for 2 partitions"):
        standing(TARGET, 2, None, replace(BEGUN, partitions=2, done=True))


@pytest.mark.needs("data sources")
def test_rows_without_a_partition_are_refused() -> None:
    from spark_integration.sinks.source import KafkaSink

    with pytest.raises(ColumnError, match="needs column 'partition'"):
        KafkaSink({**ONCE, "partitions": "3"}).writer(StructType().add("value", "string"), overwrite=False)


@pytest.mark.needs("data sources")
def test_rows_in_lanes_are_refused_before_any_is_written() -> None:
    from spark_integration.sinks.source import KafkaSink

    columns = StructType().add("value", "string").add("partition", "integer", True, {PARTITIONS: 3, LANES: 2})
    with pytest.raises(RoutingError, match="routed in 2 lanes"):
        KafkaSink(ONCE).writer(columns, overwrite=False)


ONCE = {"bootstrap.servers": "a:1", "topic": "t", "txnAppId": "app", "txnVersion": "3"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"txnVersion": None}, "go together"),
        ({"txnAppId": None}, "go together"),
        ({"txnVersion": "-1"}, "'txnVersion' is '-1'"),
        ({"txnVersion": "1.0"}, "'txnVersion' is '1.0'"),
        ({"txnVersion": str(2**63)}, "'txnVersion' is '9223372036854775808'"),
        ({"txnFirstVersion": "x"}, "'txnFirstVersion' is 'x'"),
        ({"txnAppId": None, "txnVersion": None, "txnFirstVersion": "1"}, "needs 'txnAppId'"),
        ({"txnAppId": " "}, "'txnAppId' is ' '"),
        ({"txnAppId": "a\nb"}, "'txnAppId' is"),
        ({"txnAppId": "a" * 201}, "1 to 200 printable ASCII"),
        ({"txnAppId": "caf\u00e9"}, "1 to 200 printable ASCII"),
        ({"exactlyOnce": "yes"}, "'exactlyOnce' is 'yes'"),
        ({"exactlyOnce": "true"}, "leave out 'txnVersion'"),
        ({"exactlyOnce": "true", "txnVersion": None, "txnAppId": None}, "'exactlyOnce' needs 'txnAppId'"),
        ({"exactlyOnce": "true", "txnVersion": None, "txnAppId": "\u00e9"}, "printable ASCII"),
        ({"txnVersion": None, "exactlyOnce": "false"}, "in writeStream 'txnAppId' goes with 'exactlyOnce'"),
        ({"kafka.acks": "1"}, "'kafka.acks' is '1'"),
        ({"kafka.enable.idempotence": "false"}, "'kafka.enable.idempotence' is 'false'"),
        ({"kafka.transaction.timeout.ms": "3000"}, "'kafka.delivery.timeout.ms' is 9000"),
        ({"kafka.delivery.timeout.ms": "90000"}, "'kafka.transaction.timeout.ms' 9000"),
        ({"kafka.message.timeout.ms": "90000"}, "'kafka.message.timeout.ms' is 90000"),
        ({"kafka.transaction.timeout.ms": "soon"}, "'transaction.timeout.ms' is 'soon'"),
    ],
)
def test_options_without_meaning_are_refused(changed: dict[str, str | None], message: str) -> None:
    given = {name: value for name, value in {**ONCE, **changed}.items() if value is not None}
    with pytest.raises(InvalidConfigError, match=message):
        read_sink_options(given, {})


@pytest.mark.parametrize(
    ("given", "partitions", "stream", "message"),
    [
        (ONCE, 3, True, "give 'exactlyOnce' for writeStream"),
        (
            {"bootstrap.servers": "a:1", "topic": "t", "exactlyOnce": "true", "txnAppId": "app"},
            3,
            False,
            "'txnVersion' for df.write",
        ),
        ({name: ONCE[name] for name in ONCE if name != "topic"}, 3, False, "give the option 'topic'"),
        (ONCE, None, False, "give the option 'partitions'"),
    ],
)
def test_a_write_that_does_not_say_enough_is_refused(
    given: dict[str, str], partitions: int | None, stream: bool, message: str
) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        target_of(read_sink_options(given, {}), partitions, None, stream=stream)
