"""A group as its coordinator describes it, told by a cluster that is made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assignors.protocol import Subscription, encode_assignment, encode_subscription
from copartition.groups.live import members as live
from copartition.groups.live.members import describe_group, with_subscriptions
from copartition.groups.live.wire import MemberSubscription
from partitioning.errors import SourceError

ONE, TWO = ("orders", 0), ("orders", 1)


def member(name: str, owned: Any = (), target: Any = None, instance: str | None = None) -> Any:
    return SimpleNamespace(
        id=f"{name}-1234", instance_id=instance, client_id=name, host="/h", owned=owned, target=target
    )


def cluster(*members: Any, **changes: Any) -> Any:
    """A cluster with one group of these members."""
    facts = {"kind": "CLASSIC", "state": "STABLE", "assignor": "range", "joined": None, **changes}
    described = SimpleNamespace(
        kind=facts["kind"], state=facts["state"], assignor=facts["assignor"], members=members
    )
    return SimpleNamespace(
        config={},
        describe_group=lambda _: described,
        joined_members=lambda _: facts["joined"],
        level=lambda _: 1,
        matching=lambda topics, pattern: (*topics, *([f"like {pattern}"] if pattern else [])),
    )


@pytest.mark.parametrize(
    ("state", "status", "warnings"),
    [
        ("STABLE", "Stable", ()),
        ("EMPTY", "Empty", ("the group is empty, what it has may not last",)),
        (
            "PREPARING_REBALANCING",
            "PreparingRebalance",
            ("the group is PreparingRebalance, what it has may",),
        ),
        ("COMPLETING_REBALANCING", "CompletingRebalance", ("the group is CompletingRebalance, what it has",)),
        ("UNKNOWN", None, ("the group is assigning or reconciling, what it has may not last",)),
    ],
)
def test_a_state_has_kafkas_name_and_a_warning_unless_it_is_stable(
    state: str, status: str | None, warnings: tuple[str, ...]
) -> None:
    group = describe_group(cluster(member("a", [ONE]), state=state), "billing")
    assert (group.name, group.status, group.has_target) == ("billing", status, False)
    assert len(group.warnings) == len(warnings)
    assert all(ours.startswith(text) for ours, text in zip(group.warnings, warnings, strict=True))


@pytest.mark.parametrize(
    ("target", "status"), [([ONE, TWO], "Reconciling"), ([ONE], None), ([], "Reconciling"), (None, None)]
)
def test_members_that_lack_their_target_reconcile(target: Any, status: str | None) -> None:
    changes = {"kind": "CONSUMER", "state": "UNKNOWN", "assignor": "uniform"}
    group = describe_group(cluster(member("a", [ONE], target), **changes), "billing")
    assert (group.status, group.protocol, group.has_target) == (status, "consumer", target is not None)
    word = "the group is reconciling, what" if status else "the group is assigning or reconciling"
    assert group.warnings[0].startswith(word)


def test_a_stable_group_on_its_way_is_as_stable_as_its_coordinator_says() -> None:
    group = describe_group(cluster(member("a", [ONE], [TWO]), kind="CONSUMER"), "billing")
    assert group.status == "Stable"


def test_members_keep_their_order_and_names() -> None:
    group = describe_group(cluster(member("b", [TWO], instance="i"), member("a", [ONE])), "billing")
    assert [
        (group_member.identity.id, group_member.identity.instance_id, group_member.identity.client_id)
        for group_member in group.members
    ] == [("b-1234", "i", "b"), ("a-1234", None, "a")]
    assert [[*group_member.owned] for group_member in group.members] == [[TWO], [ONE]]
    assert (group.protocol, group.strategy, group.topics, group.has_racks) == (
        "classic",
        "range",
        {"orders"},
        False,
    )


@pytest.mark.parametrize(("kind", "protocol"), [("CONSUMER", "consumer"), ("SHARE", None)])
def test_the_brokers_range_is_another_one(kind: str, protocol: str | None) -> None:
    group = describe_group(cluster(member("a"), kind=kind), "billing")
    assert group.protocol == protocol
    assert group.strategy == ("broker-range" if protocol == "consumer" else "range")


def joined(name: str, subscription: Subscription | bytes | None) -> Any:
    data = subscription if isinstance(subscription, bytes) else b""
    if isinstance(subscription, Subscription):
        data = encode_subscription(subscription)
    return SimpleNamespace(
        id=f"{name}-1234", client_id=name, metadata=data, assignment=encode_assignment([ONE], None)
    )


def test_a_classic_group_is_read_from_what_its_members_sent() -> None:
    sent = [
        joined("a", Subscription(["pay", "orders"], None, [ONE], 5, "r1")),
        joined("b", Subscription(["orders"], None, (), 7)),
        joined("c", None),
    ]
    made_up = cluster(member("a", [ONE]), member("b"), member("c"), joined=sent)
    group = with_subscriptions(made_up, describe_group(made_up, "billing"))
    identities = [group_member.identity for group_member in group.members]
    assert [(identity.topics, identity.rack, identity.protocol) for identity in identities] == [
        (("orders", "pay"), "r1", "cooperative"),
        (("orders",), None, None),
        (None, None, None),
    ]
    assert (group.generation, group.group_version, group.clients.leader) == (8, 1, "java")
    assert (group.warnings, group.has_racks, group.topics) == ((), True, {"orders", "pay"})


def test_without_a_generation_in_any_subscription_the_groups_is_unknown() -> None:
    made_up = cluster(member("a"), joined=[joined("a", Subscription(["orders"]))])
    assert with_subscriptions(made_up, describe_group(made_up, "billing")).generation is None


def test_generation_0_was_one() -> None:
    made_up = cluster(member("a"), joined=[joined("a", Subscription(["orders"], None, (), 0))])
    assert with_subscriptions(made_up, describe_group(made_up, "billing")).generation == 1


def test_a_group_that_is_not_stable_tells_no_subscription() -> None:
    made_up = cluster(member("a", [ONE]), joined=None)
    group = with_subscriptions(made_up, describe_group(made_up, "billing"))
    assert (group.members[0].identity.topics, group.generation, group.clients.members) == (None, None, ())


def test_a_subscription_that_cannot_be_read_is_a_warning_before_the_others() -> None:
    made_up = cluster(member("a"), joined=[joined("a", b"\0")], state="EMPTY")
    group = with_subscriptions(made_up, describe_group(made_up, "billing"))
    assert group.warnings[0].startswith("what a subscribed to when it joined cannot be read: ")
    assert group.warnings[1].startswith("the group is empty")


def test_a_group_of_the_consumer_protocol_is_asked_for_over_our_own_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {
        "a-1234": MemberSubscription(("orders",), "pay.*", "r1", "consumer"),
        "b-1234": MemberSubscription((), None, None, "classic"),
    }
    monkeypatch.setattr(live, "read_subscriptions", lambda group, _: told if group == "billing" else {})
    made_up = cluster(*map(member, "abc"), kind="CONSUMER", assignor="uniform")
    group = with_subscriptions(made_up, describe_group(made_up, "billing"))
    identities = [group_member.identity for group_member in group.members]
    assert [(identity.topics, identity.rack, identity.protocol) for identity in identities] == [
        (("orders", "like pay.*"), "r1", "consumer"),
        ((), None, "classic"),
        (None, None, None),
    ]
    assert group.group_version == 1


def test_where_our_own_connection_fails_subscriptions_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise SourceError("no TLS")

    monkeypatch.setattr(live, "read_subscriptions", refuse)
    made_up = cluster(member("a", [ONE]), kind="CONSUMER", state="EMPTY")
    group = with_subscriptions(made_up, describe_group(made_up, "billing"))
    assert group.warnings[0] == "subscriptions are unknown: no TLS"
    assert group.warnings[1].startswith("the group is empty")
    assert (group.members[0].identity.topics, group.group_version) == (None, None)
