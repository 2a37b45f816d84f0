"""Whose rule decides: clients give a strategy the same name, and the one that leads follows its own rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.state import GroupState
    from copartition.groups.plan.members import Seat

_LIBRDKAFKA = "librdkafka-"
_BY_MEMBERS = {"range", "roundrobin"}


class LeadersRule(NamedTuple):
    """How the leader of a planned group decides."""

    rule: str  # the strategy by the name that `get_assignor` knows
    warnings: tuple[str, ...] = ()  # that the rule is not Java's
    assumed: tuple[str, ...] = ()  # which client leads, or what it does, where nothing shows that


def name_in_group(strategy: str) -> str:
    """The name under which members vote for a strategy."""
    return strategy.removeprefix(_LIBRDKAFKA)


def leaders_rule(state: GroupState, strategy: str, seats: Sequence[Seat]) -> LeadersRule:
    """The rule of the client that leads after the change, as far as bytes show which client that is."""
    clients = {*state.clients, *filter(None, [state.leading_client])}
    if strategy in _BY_MEMBERS:
        return LeadersRule(strategy, assumed=_other_order(strategy, clients, seats))
    others = strategy == "sticky" and bool(clients)
    if not (strategy == "cooperative-sticky" or others) or clients == {"java"}:
        return LeadersRule(strategy)
    own = f"{_LIBRDKAFKA}{strategy}"
    if clients == {"librdkafka"}:
        return LeadersRule(own, (f"librdkafka leads, so its own {strategy!r} decides, {own!r} here",))
    differs = "the numbers are right, who gets which partition may differ"
    if "librdkafka" not in clients and clients:
        whose = " and ".join(sorted(clients))
        return LeadersRule(strategy, assumed=(f"{whose} decides as Java's {strategy!r} does: {differs}",))
    why = "java or librdkafka may" if clients else "the source does not tell which client does"
    return LeadersRule(
        strategy, assumed=(f"a Java client leads: {why}; clients on librdkafka do as plan:{own} says",)
    )


def _other_order(strategy: str, clients: set[str], seats: Sequence[Seat]) -> tuple[str, ...]:
    """Where clients other than Java's put members in another order, or none, or see racks otherwise."""
    others = " and ".join(sorted(clients - {"java"}))
    static = {seat.identity.instance_id is not None for seat in seats}
    if others and len(static) > 1:
        return (f"members with and without an instance id are in Java's order; {others} has another one",)
    if others and strategy == "range" and any(seat.member.rack for seat in seats):
        return (f"racks count as for Java's {strategy!r}; for {others} they do otherwise",)
    return ()
