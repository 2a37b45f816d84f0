"""Which strategies the members of a group offer, as far as a source shows them."""

from assignors.state import GroupState
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.words import count

_ONE_PROTOCOL = {"librdkafka", "kafka-python"}
"""The clients that refuse eager and cooperative strategies in one list."""

_REMOTE = {"uniform", "broker-range"}
"""The strategies of brokers, which only groups of the consumer protocol have."""


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
    members = count(len(state.members), "member")
    if state.protocol == "consumer" or state.strategy in _REMOTE:
        kinds = [member.protocol for member in state.members]
        unseen = kinds.count(None)
        if unseen:
            return Missing(
                f"whether {unseen} of {members} still speak the classic protocol",
                "ask live:GROUP of brokers of Kafka 4.0 or newer, or capture the group with --describe "
                "--members --verbose",
            )
        classic = kinds.count("classic")
        if classic:
            return Missing(
                f"which strategies {classic} of {members} offer, which still speak the classic protocol",
                "look at partition.assignment.strategy in the configuration of each of these members",
            )
        return Evidence((f"{members} speak the consumer protocol (KIP-848), by their member type",))
    if state.strategy == "cooperative-sticky":
        if state.clients and {*state.clients} <= _ONE_PROTOCOL:
            refuse = " and ".join(state.clients)
            return Evidence(
                (f"the members are {refuse}'s, which refuse eager and cooperative strategies in one list",)
            )
        kept = sum(member.protocol == "cooperative" for member in state.members)
        if state.members and kept == len(state.members) and state.members_complete:
            return Evidence(
                (f"{members} kept partitions when they joined again, so none has an eager strategy",)
            )
    return Missing(
        f"the list of strategies of each member; the coordinator tells only that all have {state.strategy}",
        "look at partition.assignment.strategy in the configuration of each member",
    )
