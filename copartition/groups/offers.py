"""Tell which strategies the members of a group offer, as far as a source shows them."""

from dataclasses import replace

from assignors.state import CONNECT, GroupState
from copartition.groups.kinds import CLASSIC_STREAMS, CLASSIC_STREAMS_SAID
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.kit.words import count
from partitioning.errors import OtherGroupKindError

_ONE_PROTOCOL = {"librdkafka", "kafka-python"}
"""The clients that refuse eager and cooperative strategies in one list."""

_REMOTE = {"uniform", "broker-range"}
"""The strategies of brokers, which only groups of the consumer protocol have."""


def with_strategy(state: GroupState) -> GroupState:
    """Return the group with the strategy that it uses; if no source tells it, with the default, as assumed.

    The default is "range" for members of the classic protocol: the first of Java's and of librdkafka's
    `partition.assignment.strategy`; and "uniform" for a group of the consumer protocol: the first of the
    brokers' `group.consumer.assignors`. Workers of Kafka Connect have none of these.

    Raises:
        OtherGroupKindError: it is a group of Kafka Streams, whose leader gives tasks to its members.
    """
    if state.strategy == CLASSIC_STREAMS:
        raise OtherGroupKindError(CLASSIC_STREAMS_SAID.format(group=state.name or "this"), CLASSIC_STREAMS)
    if state.strategy is not None or state.protocol == CONNECT:
        return state
    default, whose = ("range", "Java's and librdkafka's clients")
    if state.protocol == "consumer":
        default, whose = ("uniform", "brokers")
    guess = (
        f"the source does not tell which assignor the group uses; taken for {default!r}, the default of "
        f"{whose}: --describe --state tells it"
    )
    return replace(state, strategy=default, assumed=(*state.assumed, guess))


def offered_lists(state: GroupState) -> Ground:
    """Say whether a source shows that all members offer what the group uses, and nothing of another protocol.

    The coordinator tells the strategy that all members offer, never the lists that it was chosen from. So a
    member with `[cooperative-sticky, range]`, which is eager, looks like one with `[cooperative-sticky]`.
    What tells them apart is that the second one kept partitions when it joined again.

    Args:
        state: a group of a classic protocol, or of the consumer protocol (KIP-848).

    Returns:
        The evidence that no member offers anything else, or what is missing for it.
    """
    if not state.members:
        return Missing("what members offer: the group has none", "ask again when members are there")
    if state.protocol == "consumer" or state.strategy in _REMOTE:
        return _member_types(state)
    if state.strategy == "cooperative-sticky":
        if state.clients and {*state.clients} <= _ONE_PROTOCOL:
            whose = " and ".join(state.clients)
            return Evidence(
                (f"the members are {whose}'s, which refuse eager and cooperative strategies in one list",)
            )
        # "cooperative" is noted only for a member that kept partitions when it joined again.
        if {member.protocol for member in state.members} == {"cooperative"} and state.members_complete:
            members = count(len(state.members), "member")
            return Evidence((f"{members} kept partitions when joining again: no list has an eager strategy",))
    return Missing(
        f"the list of strategies of each member; the coordinator tells only that all have {state.strategy}",
        "look at partition.assignment.strategy in the configuration of each member",
    )


def _member_types(state: GroupState) -> Ground:
    """Say whether all members of a group of the consumer protocol speak that protocol."""
    kinds = [member.protocol for member in state.members]
    members = count(len(kinds), "member")
    if None in kinds or not state.members_complete:
        return Missing(
            "whether all members speak the consumer protocol",
            "ask live:GROUP of brokers of Kafka 4.0 or newer, or capture the group with --describe --members "
            "--verbose",
        )
    # Such a member has a list of strategies of its own, which the coordinator of the new protocol does not
    # tell.
    if classic := kinds.count("classic"):
        return Missing(
            f"which strategies {classic} of {members} offer, still of the classic protocol",
            "look at partition.assignment.strategy in the configuration of each of these members",
        )
    return Evidence((f"the member type of {members}: all speak the consumer protocol (KIP-848)",))
