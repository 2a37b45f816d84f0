import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning import murmur2, murmur2_batch, partition_batch, partition_for_key, placement
from partitioning.errors import InvalidKeyError, InvalidPartitionCountError, UnknownStrategyError
from partitioning.profiles import PROFILES
from tests.support.tiers import sample
from tools.oracle.clients.keys import hash_edges

confluent_kafka = pytest.importorskip("confluent_kafka")
pa = pytest.importorskip("pyarrow")


@pytest.fixture(params=["confluent-kafka", "pure"])
def twin(request, monkeypatch):
    """Both ways to hash one key: librdkafka's functions, and our own where they are missing."""
    if request.param == "pure":
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setattr(placement, "_rules", {})
    return request.param


def test_the_twins_are_two(twin):
    partition_for_key(b"key", 12)
    assert (placement._rules["java"] is confluent_kafka.murmur2) == (twin == "confluent-kafka")


@pytest.mark.parametrize(
    ("key", "count", "expected"),
    [
        (b"key", 3, 1),
        (b"key", 12, 1),
        (b"key", 1000, 281),
        (b"user-1", 3, 2),
        (b"user-1", 12, 8),
        (b"user-1", 1000, 828),
        (b"", 3, 0),
        (b"", 12, 9),
        (b"", 1000, 681),
        (b"key", 1, 0),
    ],
)
def test_the_jvms_partitions(twin, key, count, expected):
    assert partition_for_key(key, count) == expected
    assert partition_batch([key], count).tolist() == [expected]


# Where the first five of these keys go among 6 and 100 partitions: b"", b"a", b"kafka", b"21", "한글".
@pytest.mark.parametrize(
    ("profile", "of_6", "of_100"),
    [
        ("java", [3, 4, 4, 0, 1], [81, 24, 80, 40, 85]),
        ("platformatic", [3, 0, 0, 2, 3], [81, 72, 28, 88, 33]),
        ("kafkajs-legacy", [0, 1, 1, 2, 0], [84, 15, 35, 62, 90]),
        ("librdkafka-consistent", [0, 3, 5, 4, 3], [0, 7, 99, 32, 53]),
        ("sarama", [3, 0, 5, 0, 3], [35, 76, 45, 52, 43]),
        ("librdkafka-fnv1a", [3, 0, 5, 0, 3], [35, 76, 45, 52, 43]),
        ("ruby-kafka", [0, 3, 5, 4, 3], [0, 7, 99, 32, 53]),
        ("sarama-reference", [5, 2, 5, 2, 5], [13, 72, 45, 96, 5]),
        ("pulsar-murmur3", [0, 2, 0, 4, 0], [0, 50, 94, 26, 70]),
        ("pulsar-java", [0, 1, 0, 3, 2], [0, 97, 10, 99, 64]),
    ],
)
def test_other_clients_partitions(twin, profile, of_6, of_100):
    keys = [b"", b"a", b"kafka", b"21", "한글".encode()]
    for count, expected in ((6, of_6), (100, of_100)):
        assert [partition_for_key(key, count, profile=profile) for key in keys] == expected
        assert partition_batch(keys, count, profile=profile).tolist() == expected


@pytest.mark.parametrize("name", PROFILES)
def test_a_record_without_a_key_in_a_column_and_alone(name):
    for key in (None, b""):
        partition = partition_for_key(key, 12, profile=name)
        assert partition_batch([key, b"a"], 12, profile=name)[0] == (-1 if partition is None else partition)


@pytest.mark.parametrize("name", sample(list(PROFILES), 4))
@given(
    keys=st.lists(st.none() | st.text(max_size=12).map(str.encode)),
    count=st.integers(1, 20) | st.integers(1, 2**31 - 1),
)
def test_a_column_agrees_with_its_keys(name, keys, count):
    one_by_one = [partition_for_key(key, count, profile=name) for key in keys]
    assert partition_batch(keys, count, profile=name).tolist() == [-1 if p is None else p for p in one_by_one]


ARROW_LAYOUTS = {
    "binary": lambda keys: pa.array(keys, pa.binary()),
    "large_binary": lambda keys: pa.array(keys, pa.large_binary()),
    "binary_view": lambda keys: pa.array(keys, pa.binary_view()),
    "dictionary": lambda keys: pa.array(keys, pa.binary()).dictionary_encode(),
    "slice": lambda keys: pa.array([b"x", None, *keys, None], pa.binary())[2:-1],
    "chunks": lambda keys: pa.chunked_array([keys[:3], keys[3:4], keys[4:]], pa.binary()),
}


@pytest.mark.parametrize("layout", ARROW_LAYOUTS)
@given(
    keys=st.lists(st.none() | st.binary(max_size=40)), profile=st.sampled_from(["java", "librdkafka", "quix"])
)
def test_an_arrow_column_goes_where_its_keys_go(layout, keys, profile):
    expected = partition_batch(keys, 12, profile=profile)
    assert partition_batch(ARROW_LAYOUTS[layout](keys), 12, profile=profile).tolist() == expected.tolist()


@pytest.mark.parametrize("name", PROFILES)
def test_null_and_empty_keys(twin, name):
    profile = PROFILES[name]
    null, empty = (partition_for_key(key, 1000, profile=name) for key in (None, b""))
    assert (empty is None) == (profile.empty == "unkeyed")
    assert null == {"empty": empty, "first": 0, "unkeyed": None}[profile.null]


def test_ruby_kafka_hashes_no_null_key(twin):
    assert partition_for_key(None, 12, profile="ruby-kafka") is None
    assert partition_batch([None], 12, profile="ruby-kafka").tolist() == [-1]


@pytest.mark.parametrize("name", [name for name, p in PROFILES.items() if p.null == "empty"])
def test_bytes_hidden_under_a_null_are_not_hashed(name):
    values = pa.array([b"key", b"user-1"])
    validity = pa.py_buffer(b"\x02")  # the first one is null
    keys = pa.Array.from_buffers(pa.binary(), 2, [validity, *values.buffers()[1:]])
    assert partition_batch(keys, 1000, profile=name).tolist() == [
        partition_for_key(key, 1000, profile=name) for key in (None, b"user-1")
    ]


@pytest.mark.parametrize("name", [name for name, p in PROFILES.items() if p.sign == "absolute"])
def test_the_smallest_hash_has_an_absolute_value(twin, name):
    smallest = hash_edges()[PROFILES[name].hash][-(2**31)]
    assert partition_for_key(smallest, 2**31 - 1, profile=name) == 1
    assert partition_batch([smallest], 2**31 - 1, profile=name).tolist() == [1]


def test_columns_agree_with_librdkafka_on_random_keys():
    rng = np.random.default_rng(7)
    lengths = rng.integers(0, 301, len(sample(range(100_000), 5))).tolist()
    blob = rng.bytes(sum(lengths))
    ends = np.cumsum(lengths).tolist()
    keys = [blob[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    expected = [confluent_kafka.murmur2(key, 2**31 - 1) for key in keys]
    assert partition_batch(keys, 2**31 - 1).tolist() == expected
    assert [murmur2(key) & 0x7FFFFFFF for key in keys[:1000]] == expected[:1000]


def test_murmur2_batch_gives_zero_for_null():
    assert murmur2_batch([b"key", None, b""]).tolist() == [-1079937367, 0, 275646681]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("key", "is str, not bytes; .*encode the text"),
        (7, "is int, not bytes"),
        (bytearray(b"key"), "is bytearray, not bytes"),
        (memoryview(b"key"), "is memoryview, not bytes"),
    ],
)
@pytest.mark.parametrize("profile", ["java", "librdkafka", "librdkafka-consistent", "pulsar-murmur3"])
def test_a_key_of_another_type_is_refused(twin, profile, key, message):
    with pytest.raises(InvalidKeyError, match=message):
        partition_for_key(key, 12, profile=profile)


@pytest.mark.parametrize("count", [0, -1, 2**31, 2**70, 1.5, "12", None])
@pytest.mark.parametrize(
    ("profile", "key"),
    sample([*product(["java", "librdkafka", "pulsar-java"], [b"key", b"", None])], 4),
)
def test_a_partition_count_out_of_range_is_refused(twin, profile, key, count):
    with pytest.raises(InvalidPartitionCountError, match=r"1 to 2147483647"):
        partition_for_key(key, count, profile=profile)
    with pytest.raises(InvalidPartitionCountError, match=r"1 to 2147483647"):
        partition_batch([key], count, profile=profile)


def test_a_numpy_integer_is_a_partition_count(twin):
    assert partition_for_key(b"key", np.int64(12)) == 1
    assert partition_batch([b"key"], np.int64(12)).tolist() == [1]


def test_an_unknown_profile_is_refused_with_the_nearest_names():
    with pytest.raises(UnknownStrategyError, match=r"did you mean .*librdkafka-murmur2"):
        partition_for_key(b"key", 12, profile="librdkafka_murmur2")
    with pytest.raises(UnknownStrategyError, match="no profile 'jvm'"):
        partition_batch([b"key"], 12, profile="jvm")


def test_a_text_profile_refuses_other_bytes(twin):
    with pytest.raises(InvalidKeyError, match="'pulsar-java' hashes text"):
        partition_for_key(b"\xff", 12, profile="pulsar-java")
    with pytest.raises(InvalidKeyError, match="'pulsar-java' hashes text: key in row 1 is not UTF-8"):
        partition_batch([b"a", b"\xff"], 12, profile="pulsar-java")
    with pytest.raises(InvalidKeyError, match="key in row 3 is not UTF-8"):
        partition_batch(pa.chunked_array([[b"a", b"b"], [b"c", b"\xff"]]), 12, profile="pulsar-java")


@pytest.mark.live
def test_importing_and_hashing_columns_needs_no_optional_package():
    code = (
        "import sys, partitioning\n"
        "partitioning.partition_batch([b'key'], 12)\n"
        "assert not {'confluent_kafka', 'pyarrow', 'pandas', 'pyspark'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.live
def test_a_key_or_two_import_no_client_nor_strategies_and_many_do():
    code = (
        "import sys, partitioning\n"
        "from partitioning import placement\n"
        "few = [partitioning.partition_for_key(b'key', 12) for _ in range(2)]\n"
        "later = {'confluent_kafka', 'partitioning.growth', 'partitioning.java', 'partitioning.strategy'}\n"
        "assert not later & set(sys.modules)\n"
        "placement._IMPORT_PAYS_AT = 2\n"
        "many = [partitioning.partition_for_key(b'key', 12) for _ in range(9)]\n"
        "assert placement._rules['java'] is sys.modules['confluent_kafka'].murmur2\n"
        "assert {*few} == {*many}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
