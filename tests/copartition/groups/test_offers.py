"""Whether a source shows that members offer nothing but the strategy of their group."""

from dataclasses import replace

import pytest

from assignors.state import GroupState, MemberIdentity
from copartition.groups.offers import offered_lists, with_strategy
from copartition.kit.evidence import Evidence, Missing
from partitioning.errors import OtherGroupKindError


def group(*protocols, **more):
    """A group of one member for each of these protocols."""
    state = GroupState.of({f"m{number}": [("orders", number)] for number in range(len(protocols))})
    members = tuple(
        MemberIdentity(member.id, protocol=protocol)
        for member, protocol in zip(state.members, protocols, strict=True)
    )
    return replace(state, members=members, **more)


@pytest.mark.parametrize(
    ("state", "source"),
    [
        (group("cooperative", "cooperative", strategy="cooperative-sticky"), "2 members kept partitions"),
        (group(None, strategy="cooperative-sticky", clients=("librdkafka",)), "the members are librdkafka's"),
        (group("consumer", "consumer", strategy="uniform"), "the member type of 2 members: all speak"),
        (
            group("consumer", strategy="broker-range", protocol="consumer"),
            "the member type of 1 member: all speak",
        ),
    ],
)
def test_what_shows_that_there_is_nothing_else(state, source):
    found = offered_lists(state)
    assert isinstance(found, Evidence)
    assert found.sources[0].startswith(source)


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (group(strategy="range"), "what members offer: the group has none"),
        (group(None, strategy="range", clients=("librdkafka",)), "the list of strategies of each member"),
        (group("cooperative", None, strategy="cooperative-sticky"), "the list of strategies of each member"),
        (
            group(None, strategy="cooperative-sticky", clients=("java", "librdkafka")),
            "the list of strategies of each member",
        ),
        (
            group("cooperative", strategy="cooperative-sticky", members_complete=False),
            "the list of strategies of each member",
        ),
        (group("consumer", None, strategy="uniform"), "whether all members speak the consumer protocol"),
        (
            group("consumer", strategy="uniform", members_complete=False),
            "whether all members speak the consumer protocol",
        ),
        (group("consumer", "classic", strategy="uniform"), "which strategies 1 of 2 members offer"),
    ],
)
def test_what_no_source_shows_is_missing_and_has_a_remedy(state, what):
    found = offered_lists(state)
    assert isinstance(found, Missing)
    assert found.what.startswith(what)


def test_a_group_of_kafka_streams_is_called_what_it_is():
    state = GroupState.without_partitions(name="words", status="Stable")
    with pytest.raises(OtherGroupKindError, match="words is a group of Kafka Streams"):
        with_strategy(replace(state, strategy="stream"))
