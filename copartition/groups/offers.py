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
    """Return the group with its strategy; if the source does not tell it, the default is assumed.

    For members of the classic protocol the default is "range", the first strategy of
    `partition.assignment.strategy` in Java and librdkafka. For a group of the consumer protocol it is
    "uniform", the first of the brokers' `group.consumer.assignors`. Workers of Kafka Connect use none of
    these strategies.

    Raises:
        OtherGroupKindError: the group belongs to a Kafka Streams application, whose leader assigns tasks.
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
    """Return evidence that all members offer only strategies of the protocol that the group uses now.

    The coordinator tells the strategy that it chose, never the lists of strategies that members offer. So a
    member with `[cooperative-sticky, range]`, which is eager, looks like a member with
    `[cooperative-sticky]`. The difference shows only if a member keeps partitions while it joins again: then
    it is not eager.

    Args:
        state: a group of a classic protocol, or of the consumer protocol (KIP-848).

    Returns:
        The evidence, or what is missing for it.
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
    """Return evidence that all members of a group of the consumer protocol speak that protocol."""
    kinds = [member.protocol for member in state.members]
    members = count(len(kinds), "member")
    if None in kinds or not state.members_complete:
        return Missing(
            "whether all members speak the consumer protocol",
            "ask live:GROUP of brokers of Kafka 4.0 or newer, or capture the group with --describe --members "
            "--verbose",
        )
    # A member that still speaks the classic protocol has a list of strategies, which the coordinator of the
    # consumer protocol does not show.
    if classic := kinds.count("classic"):
        return Missing(
            f"which strategies {classic} of {members} offer, still of the classic protocol",
            "look at partition.assignment.strategy in the configuration of each of these members",
        )
    return Evidence((f"the member type of {members}: all speak the consumer protocol (KIP-848)",))
