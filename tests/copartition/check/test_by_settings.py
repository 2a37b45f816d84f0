"""The verdict from clients and their settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copartition.check.planned import judge_writers
from copartition.check.writers import CLIENTS, clients_of, parse_writer, placement, setting_for
from partitioning import PROFILES, partition_batch
from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, UnknownStrategyError

TWELVE = {"a": 12, "b": 12}


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("orders=java", "java"),
        ("orders=kafka-streams,partitioner.ignore.keys=false", "java"),
        ("orders=java,partitioner.ignore.keys=true", None),
        ("orders=java,partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner", None),
        ("orders=librdkafka", "librdkafka"),
        ("orders=confluent-kafka-dotnet,partitioner=murmur2_random", "librdkafka-murmur2-random"),
        ("orders=confluent-kafka-javascript", "librdkafka-murmur2-random"),
        ("orders=kafka-go", None),
        ("orders=kafka-go,Balancer=CRC32Balancer,Consistent=true", "kafka-go-crc32-consistent"),
        ("orders=sarama", "sarama"),
        ("orders=kafkajs,createPartitioner=LegacyPartitioner", "kafkajs-legacy"),
    ],
)
def test_settings_are_profiles(text, profile):
    found = parse_writer(text)
    assert (found.topic, found.profile and found.profile.name) == ("orders", profile)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("orders", InvalidConfigError, "is not TOPIC=CLIENT"),
        ("=java", InvalidConfigError, "is not TOPIC=CLIENT"),
        ("orders=libkafka", UnknownStrategyError, "no client 'libkafka' is known; did you mean librdkafka"),
        (
            "orders=librdkafka,partitoner=murmur2",
            InvalidConfigError,
            "'partitoner' .*did you mean partitioner",
        ),
        ("orders=librdkafka,partitioner=murmur", InvalidConfigError, "did you mean murmur2, murmur2_random"),
        (
            "orders=java,partitioner.class=com.acme.Mine",
            InvalidConfigError,
            "partitioner.class=Mine does is not",
        ),
        ("orders=librdkafka,partitioner", InvalidConfigError, "'partitioner' is not SETTING=VALUE"),
        ("orders=java,a=1,a=2", InvalidConfigError, "'a=2' is there twice"),
        (
            "orders=kafka-go,Balancer=Hash,Consistent=true",
            InvalidConfigError,
            "not take these settings together",
        ),
        ("orders=quix-streams,partitioner=random", InvalidConfigError, "none of its settings decides"),
    ],
)
def test_what_is_not_known_is_refused_with_near_names(text, error, said):
    with pytest.raises(error, match=said):
        parse_writer(text)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_setting_that_is_told_does_what_it_says(client):
    placements = [placement(profile, 12) for profile in PROFILES.values()]
    found = [(wanted, said) for wanted in placements if (said := setting_for(client, wanted)) is not None]
    assert found
    for wanted, said in found:
        settings = "" if said.endswith("default partitioner") else "," + said.replace(" ", ",")
        assert placement(parse_writer(f"orders={client}{settings}").profile, 12) == wanted


def test_clients_that_are_set_alike_are_told_once():
    assert clients_of({"librdkafka"}) == ["librdkafka", "confluent-kafka-javascript"]


ROWS = [
    ("the same rule", "java", "librdkafka,partitioner=murmur2_random", TWELVE, "yes", {"counts", "rules"}),
    ("different rules", "java", "librdkafka", TWELVE, "no", {"rules"}),
    ("different rules, counts unknown", "java", "librdkafka", {}, "no", {"rules"}),
    ("counts unknown", "java", "kafka-python", {"a": 12}, "unknown", {"counts"}),
    ("different counts", "java", "kafka-python", {"a": 12, "b": 8}, "no", {"counts"}),
    ("signs over a power of two", "java", "platformatic", {"a": 8, "b": 8}, "yes", {"counts", "rules"}),
    ("signs over another count", "java", "platformatic", TWELVE, "no", {"rules"}),
    ("signs over an unknown count", "java", "platformatic", {}, "unknown", {"counts", "rules"}),
    ("keys are not looked at", "java", "kafka-go", TWELVE, "no", {"rules"}),
    ("one partition", "java", "kafka-go", {"a": 1, "b": 1}, "yes", {"counts", "rules"}),
]


@pytest.mark.parametrize(
    ("a", "b", "counts", "answer", "codes"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_verdicts(a, b, counts, answer, codes):
    found = judge_writers([parse_writer(f"a={a}"), parse_writer(f"b={b}")], counts)
    weight = {"yes": "for", "no": "against", "unknown": "open"}[answer]
    told = {reason.code for reason in found.reasons if reason.weight == weight}
    assert (found.answer, told) == (answer, codes)


def test_two_clients_of_one_topic_must_agree_too():
    writers = [parse_writer(f"a={client}") for client in ("java", "sarama")] + [parse_writer("b=java")]
    found = judge_writers(writers, TWELVE)
    assert (found.answer, found.topics) == ("no", ("a", "b"))


def test_the_way_out_is_a_setting_of_the_client():
    found = judge_writers([parse_writer("a=java"), parse_writer("b=node-rdkafka")], TWELVE)
    assert [(way.topic, way.command) for way in found.remedies] == [("b", "partitioner=murmur2_random")]


def test_a_client_that_cannot_be_set_so_is_told_of():
    found = judge_writers(
        [parse_writer("a=java"), parse_writer("b=kafkajs,createPartitioner=LegacyPartitioner")]
    )
    assert found.remedies[0].command == "the default partitioner"
    found = judge_writers([parse_writer("a=pulsar-cpp"), parse_writer("b=sarama")])
    assert "a partitioner must be written" in found.remedies[0].text


def test_empty_keys_are_told_of():
    found = judge_writers([parse_writer("a=librdkafka"), parse_writer("b=ruby-kafka")], TWELVE)
    assert found.answer == "yes"
    assert any("no key is empty" in assumption for assumption in found.assumed)


@pytest.mark.parametrize(("client", "told"), [("dekaf", True), ("ruby-kafka", True), ("sarama", False)])
def test_a_rule_that_nobody_compared_with_its_client_is_assumed(client, told):
    found = judge_writers([parse_writer("a=java"), parse_writer(f"b={client}")], TWELVE)
    assert told == any(f"{client} places keys as its source says" in assumed for assumed in found.assumed)


@pytest.mark.parametrize(
    ("tool", "rule"),
    [
        ("vector", "librdkafka"),
        ("quarkus", "java"),
        ("fluentd", "ruby-kafka"),
        ("redpanda-connect", "sarama"),
        ("ruby-kafka,hash_function=murmur2", "kafka-python"),
        ("KafkaJS", None),
        ("kafka-go,Balancer=Hash", None),
        ("quix-streams", None),
        ("java", None),
    ],
)
def test_a_tool_is_taken_to_have_the_rule_of_the_client_that_was_asked(tool, rule):
    found = judge_writers([parse_writer(f"a={tool}"), parse_writer(f"b={tool}")], TWELVE)
    told = [assumed for assumed in found.assumed if "places keys by the rule of" in assumed]
    assert told == ([f"{tool.partition(',')[0]} places keys by the rule of {rule}"] if rule else [])


@pytest.mark.parametrize("texts", [[], ["a=java"], ["a=java", "a=sarama"]])
def test_a_join_has_two_topics(texts):
    with pytest.raises(InvalidConfigError, match="two topics or more"):
        judge_writers([parse_writer(text) for text in texts])


def test_a_count_is_a_count():
    with pytest.raises(InvalidPartitionCountError):
        judge_writers([parse_writer("a=java"), parse_writer("b=java")], {"a": 0})


KEYS = [b"user-%d" % number for number in range(300)]
WAYS = st.sampled_from([(client, way) for client, ways in CLIENTS.items() for way in ways])


@given(WAYS, WAYS, st.integers(1, 33), st.integers(1, 33) | st.none())
def test_no_false_yes(one, other, count, another):
    """A yes: every key is at one partition number. A no: some key is not, or a client looks at none."""
    texts = [
        ",".join([f"{topic}={client}", *(f"{name}={value}" for name, value in way.settings.items())])
        for topic, (client, way) in (("a", one), ("b", other))
    ]
    counts = {"a": count, "b": another or count}
    found = judge_writers([parse_writer(text) for text in texts], counts)
    profiles = [one[1].profile, other[1].profile]
    if counts["a"] != counts["b"]:
        together = False
    elif count == 1:
        together = True
    elif None in profiles:
        together = False
    else:
        places = [partition_batch(KEYS, count, profile=profile.name).tolist() for profile in profiles]
        together = places[0] == places[1]
    assert found.answer == ("yes" if together else "no")
