"""What becomes of the answers of confluent-kafka's admin client."""

import uuid
from types import SimpleNamespace as Answer

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from copartition.kit.admin import (
    Admin,
    ClusterMetadata,
    Commit,
    DescribedGroup,
    DescribedMember,
    DescribedTopic,
    JoinedMember,
)


class Future:
    """An answer that is there."""

    def __init__(self, answer):
        self._answer = answer

    def result(self):
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.fixture
def admin():
    """Makes an admin client whose methods give these answers."""

    def make(**answers):
        made = object.__new__(Admin)
        made._timeout_s = 1
        made._admin = Answer(
            **{name: (lambda *_, given=given, **__: given) for name, given in answers.items()}
        )
        return made

    return make


def member(target=None, **kwargs):
    known = {
        "member_id": "m-1",
        "group_instance_id": None,
        "client_id": "",
        "host": "/10.0.0.7",
        "assignment": None,
    }
    return Answer(**known | kwargs, target_assignment=target)


def assigned(*places):
    return Answer(topic_partitions=[TopicPartition(*place) for place in places])


@pytest.mark.parametrize(
    ("found", "described"),
    [
        (member(), DescribedMember("m-1", None, None, "10.0.0.7", (), None)),
        (
            member(
                assigned(),
                group_instance_id="pod-0",
                client_id="c",
                host=None,
                assignment=assigned(("u", 2), ("t", 1)),
            ),
            DescribedMember("m-1", "pod-0", "c", None, (("t", 1), ("u", 2)), ()),
        ),
    ],
)
def test_a_group_is_described_in_plain_values(admin, found, described):
    group = Answer(
        type=Answer(name="CONSUMER"),
        state=Answer(name="STABLE"),
        partition_assignor="uniform",
        members=[found],
    )
    asked = admin(describe_consumer_groups={"g": Future(group)})
    assert asked.describe_group("g") == DescribedGroup("CONSUMER", "STABLE", "uniform", (described,))


def test_a_broker_that_does_not_answer_makes_no_list_of_groups(admin):
    away = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    listing = Answer(valid=[Answer(group_id="g")], errors=[])
    asked = admin(list_consumer_groups=Future(listing))
    assert asked.groups() == ["g"]
    listing.errors.append(away)
    with pytest.raises(KafkaException):
        asked.groups()


@pytest.mark.parametrize(("kind", "metadata"), [("consumer", b"\0\1"), ("connect", b"")])
def test_only_members_that_are_consumers_have_metadata_that_can_be_read(admin, kind, metadata):
    joined = Answer(id="m-1", client_id="c", metadata=b"\0\1", assignment=b"\0\2")
    asked = admin(list_groups=[Answer(protocol_type=kind, members=[joined])])
    assert asked.joined_members("g") == [JoinedMember("m-1", "c", metadata, b"\0\2")]


def test_a_group_that_is_not_listed_has_joined_nobody(admin):
    assert admin(list_groups=[]).joined_members("g") is None


def test_a_topic_has_its_id_and_the_racks_of_its_partitions_in_order(admin):
    identifier = uuid.uuid4()
    halves = [int.from_bytes(identifier.bytes[at : at + 8], signed=True) for at in (0, 8)]
    topic_id = Answer(
        get_most_significant_bits=lambda: halves[0], get_least_significant_bits=lambda: halves[1]
    )
    partitions = [
        Answer(id=1, replicas=[Answer(rack="r2"), Answer(rack=None)]),
        Answer(id=0, replicas=[Answer(rack="r2"), Answer(rack="r1"), Answer(rack="r2")]),
    ]
    hidden = Future(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    found = Future(Answer(topic_id=topic_id, partitions=partitions))
    asked = admin(describe_topics={"t": found, "hidden": hidden})
    assert asked.describe_topics(["t", "hidden"]) == {
        "t": DescribedTopic(identifier, (("r1", "r2"), ("r2",)))
    }


@pytest.mark.parametrize("kind", ["BROKER", "GROUP"])
def test_a_setting_that_the_cluster_does_not_show_is_left_out(admin, kind):
    class Settings(dict):
        def __missing__(self, _):
            return Future({"shown": Answer(value="10080"), "hidden": Answer(value=None)})

    assert admin(describe_configs=Settings()).settings(kind, "1") == {"shown": "10080"}


@pytest.mark.parametrize(
    ("code", "allowed"),
    [(KafkaError.UNKNOWN_TOPIC_OR_PART, True), (KafkaError.TOPIC_AUTHORIZATION_FAILED, False)],
)
def test_a_topic_that_nobody_has_is_refused_to_a_user_without_the_right(admin, code, allowed):
    class Refused(dict):
        def __missing__(self, _):
            return Future(KafkaException(KafkaError(code)))

    assert admin(describe_topics=Refused()).may_see_every_topic() is allowed


def test_metadata_leaves_out_topics_without_partitions(admin):
    asked = admin()
    partitions = {1: Answer(leader=-1), 0: Answer(leader=7)}
    asked._metadata = Answer(
        brokers={7: Answer(id=7, host="h", port=9092)},
        topics={"t": Answer(partitions=partitions), "hidden": Answer(partitions={})},
    )
    assert asked.metadata() == ClusterMetadata({7: ("h", 9092)}, {"t": (7, -1)})


def test_commits_and_ends_are_plain(admin):
    asked = admin()
    place = TopicPartition("t", 1, 5)
    asked._contact = Answer(
        committed_offsets=lambda *_, **__: [place], list_offsets=lambda *_, **__: ({("t", 1): 9}, {})
    )
    assert asked.commits("g") == [Commit("t", 1, 5, place.metadata)]
    assert asked.ends([("t", 1)], False) == {("t", 1): 9}
