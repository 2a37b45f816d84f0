"""What the source's options mean."""

import pytest

from partitioning.errors import InvalidConfigError
from spark_integration.reading.cluster import FEW, OffsetRange, cut_ranges, together
from spark_integration.reading.options import EARLIEST, LATEST, read_options

pytestmark = pytest.mark.needs("time")

GIVEN = {"kafka.bootstrap.servers": "host:9092", "subscribe": "orders"}


@pytest.mark.parametrize(
    ("options", "field", "meaning"),
    [
        ({}, "topics", ("orders",)),
        ({"subscribe": "b, a"}, "topics", ("a", "b")),
        ({"subscribe": "", "assign": '{"b": [0, 7], "a": [2]}'}, "topics", ("a", "b")),
        ({"subscribe": "", "assign": '{"t": [0, 7]}'}, "assigned", {("t", 0), ("t", 7)}),
        ({}, "assigned", None),
        ({}, "starting", LATEST),
        ({"startingOffsets": "Earliest"}, "starting", EARLIEST),
        ({"startingOffsets": '{"t": {"0": 3, "11": -2}}'}, "starting", {("t", 0): 3, ("t", 11): -2}),
        ({}, "ending", LATEST),
        ({"endingOffsets": '{"t": {"0": -1}}'}, "ending", {("t", 0): LATEST}),
        ({}, "fail_on_data_loss", True),
        ({"failOnDataLoss": "FALSE"}, "fail_on_data_loss", False),
        ({"includeHeaders": "true"}, "headers", True),
        ({"minPartitions": "12"}, "min_partitions", 12),
        ({"maxOffsetsPerTrigger": "5"}, "max_offsets", 5),
    ],
)
def test_an_option_means(options: dict[str, str], field: str, meaning: object) -> None:
    assert getattr(read_options(GIVEN | options, {}), field) == meaning


@pytest.mark.parametrize(
    ("options", "environment", "setting", "value"),
    [
        ({}, {}, "isolation.level", "read_uncommitted"),
        ({"kafka.isolation.level": "read_committed"}, {}, "isolation.level", "read_committed"),
        ({"kafka.group.id": "mine"}, {}, "group.id", "mine"),
        ({"bootstrap.servers": "other:1"}, {}, "bootstrap.servers", "other:1"),
        ({}, {"KAFKA_BOOTSTRAP_SERVERS": "no:1", "KAFKA_SASL_USERNAME": "me"}, "sasl.username", "me"),
        ({}, {}, "auto.offset.reset", "error"),
        (
            {"kafka.sasl.jaas.config": 'a.PlainLoginModule required username="ann" password="b";'},
            {"KAFKA_SASL_USERNAME": "me"},
            "sasl.username",
            "ann",
        ),
    ],
)
def test_a_setting_becomes(
    options: dict[str, str], environment: dict[str, str], setting: str, value: str
) -> None:
    assert read_options(GIVEN | options, environment).config[setting] == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": " , "}, "no topic: give the option 'subscribe'"),
        ({"assign": '{"t": [0]}'}, "'subscribe' and 'assign' both name topics"),
        ({"subscribe": "", "assign": '{"t": 0}'}, "'assign' is '{\"t\": 0}'; give the partitions"),
        ({"subscribe": "", "assign": '{"t": [-1]}'}, "'assign' is"),
        ({"subscribe": "", "assign": '{"t": []}'}, "'assign' is"),
        ({"subscribe": "", "assign": "[0]"}, "'assign' is"),
        ({"kafka.bootstrap.servers": ""}, "no brokers: give the option 'kafka.bootstrap.servers'"),
        ({"startingOffset": "latest"}, "no option 'startingoffset'; did you mean 'startingOffsets'"),
        ({"linger.ms": "5"}, "no option 'linger.ms'; write 'kafka.linger.ms'"),
        ({"startingOffsets": "oldest"}, "'startingOffsets' is 'oldest'; give 'earliest', 'latest', or"),
        ({"startingOffsets": '{"t": {"0": -3}}'}, "'startingOffsets' is"),
        ({"startingOffsets": '{"t": {"zero": 3}}'}, "'startingOffsets' is"),
        ({"startingOffsets": '{"t": {"0": true}}'}, "'startingOffsets' is"),
        ({"startingOffsets": '{"t": {"1_0": 3}}'}, "'startingOffsets' is"),
        ({"endingOffsets": '{"t": {"2147483647": 3}}'}, "'endingOffsets' is"),
        ({"minPartitions": "1_0"}, "'minPartitions' is '1_0'; give a whole number from 1"),
        ({"startingOffsets": "[1]"}, "'startingOffsets' is"),
        ({"startingOffsets": "{}"}, "'startingOffsets' is"),
        ({"endingOffsets": "earliest"}, "'endingOffsets' is 'earliest'; give 'latest', or"),
        ({"endingOffsets": '{"t": {"0": -2}}'}, "'endingOffsets' is"),
        ({"failOnDataLoss": "no"}, "'failOnDataLoss' is 'no'; give 'true' or 'false'"),
        ({"minPartitions": "0"}, "'minPartitions' is '0'; give a whole number from 1"),
        ({"maxOffsetsPerTrigger": "9" * 5000}, "'maxOffsetsPerTrigger' is '999"),
        ({"startingOffsets": '{"orders":' * 5000}, "'startingOffsets' is "),
        ({"kafka.auto.offset.reset": "latest"}, "leave out 'kafka.auto.offset.reset'"),
        ({"kafka.enable.auto.commit": "true"}, "leave out 'kafka.enable.auto.commit'"),
    ],
)
def test_what_has_no_meaning_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        read_options(GIVEN | options, {})


def test_what_was_asked_hides_settings() -> None:
    assert "secret" not in repr(read_options(GIVEN | {"kafka.sasl.password": "secret"}, {}))


@pytest.mark.parametrize("wanted", [None, 1, 2, 3, 7, 1000])
def test_ranges_are_cut_without_loss(wanted: int | None) -> None:
    ranges = [OffsetRange("t", 0, 5, 105), OffsetRange("t", 1, 0, 0), OffsetRange("t", 2, 7, 8)]
    cut = cut_ranges(ranges, wanted)
    offsets = [(part.partition, offset) for part in cut for offset in range(part.start, part.end)]
    assert offsets == [*((0, offset) for offset in range(5, 105)), (2, 7)]
    assert all(part.start < part.end for part in cut)
    assert len(cut) == {None: 2, 1: 2, 2: 2, 3: 4, 7: 8, 1000: 101}[wanted]


def test_neighbours_with_few_records_share_a_task() -> None:
    sizes = [10, FEW - 11, 1, 1, 5 * FEW, 1, FEW]
    ranges = [OffsetRange("t", partition, 7, 7 + size) for partition, size in enumerate(sizes)]
    tasks = [[offsets.partition for offsets in task] for task in together(ranges)]
    assert tasks == [[0, 1, 2], [3], [4], [5], [6]]
