"""What an examination asks of a cluster that is made up, and what becomes of the answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from assignors.protocol import Subscription, encode_subscription
from copartition.doctor.examination import Coordinator, Examination, examine_all, examine_live
from copartition.doctor.kind_examination import KindExamination
from copartition.groups.live.wire import MemberSubscription
from copartition.kit.admin import (
    ClusterMetadata,
    Commit,
    DescribedGroup,
    DescribedMember,
    DescribedTopic,
    JoinedMember,
)
from copartition.kit.child import AdminError
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONFIG = {"bootstrap.servers": "b:1"}
Place = tuple[str, int]


def refuse(*_: object) -> Any:
    raise AdminError("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.")


class Admin:
    """A cluster of two brokers, with group "g" whose members "a" and "b" read topic "t" of two partitions.

    Broker 1 leads partition 0 of `__consumer_offsets`, broker 2 partition 1, which is that of "g".
    """

    def __init__(self) -> None:
        self.leaders = {"t": (1, 2), "old": (1, 1), "__consumer_offsets": (1, 2)}
        self.members: dict[str, Sequence[Place]] = {"a": [("t", 0)], "b": [("t", 1)]}
        self.reads = {"a": ["t"], "b": ["t"]}
        self.kind = "CLASSIC"
        self.all_groups = ["g", "h", "", "k"]  # 104 and 107 are the hashes of "h" and "k"
        self.offsets = {("t", 0): 40, ("old", 0): 3}
        self.all_ends = {("t", 0): 100, ("t", 1): 7, ("old", 0): 3}
        self.broker = {"offsets.retention.minutes": "7", "group.max.session.timeout.ms": "60000"}
        self.own: dict[str, str] = {}
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, question: str, *arguments: Any) -> Any:
        self.asked.append((question, *arguments))
        return getattr(self, question)(*arguments)

    def end(self) -> None:
        pass

    def metadata(self) -> ClusterMetadata:
        return ClusterMetadata({1: ("b1", 9092), 2: ("b2", 9092)}, self.leaders)

    def describe_group(self, group: str) -> DescribedGroup:
        if group == "k":
            refuse()
        members = [
            DescribedMember(name, None, name, "/h", tuple(owned), None)
            for name, owned in self.members.items()
        ]
        return DescribedGroup(self.kind, "STABLE", "range", tuple(members))

    def joined_members(self, group: str) -> list[JoinedMember]:
        return [
            JoinedMember(name, name, encode_subscription(Subscription(topics)), b"")
            for name, topics in self.reads.items()
        ]

    def groups(self) -> list[str]:
        return self.all_groups

    def commits(self, group: str) -> list[Commit]:
        return [Commit(*place, offset, None) for place, offset in self.offsets.items()]

    def ends(self, places: list[Place], stable: bool) -> dict[Place, int]:
        assert {topic for topic, _ in places} <= self.leaders.keys()
        return {place: self.all_ends[place] for place in places if place in self.all_ends}

    def starts(self, places: list[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 1)

    def written_ms(self, offsets: dict[Place, int]) -> dict[Place, int]:
        return {place: 600_000 - offset for place, offset in offsets.items()}

    def describe_topics(self, topics: list[str]) -> dict[str, DescribedTopic]:
        return {name: DescribedTopic(None, (("r1",),) * 2) for name in topics if name in {"t", "old"}}

    def settings(self, kind: str, name: str) -> dict[str, str]:
        assert (kind, name) in {("BROKER", "2"), ("GROUP", "g")}
        return self.broker if kind == "BROKER" else self.own


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    """The cluster; it is 10 min after 1970, and each look at the clock of this process takes 2 seconds."""
    admin = Admin()
    seconds = iter(range(0, 200, 2))
    monkeypatch.setattr("copartition.groups.live.cluster.Child", lambda *_: admin)
    monkeypatch.setattr("copartition.groups.live.cluster.read_features", lambda _: {"group.version": 1})
    monkeypatch.setattr("copartition.groups.live.cluster.read_group_types", lambda *_: {})
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("copartition.doctor.examination.time", clock)
    now = SimpleNamespace(now=lambda _: SimpleNamespace(timestamp=lambda: 600.0))
    monkeypatch.setattr("copartition.groups.kinds.live.datetime", now)
    return admin


def examine(between: Callable[[], object] = lambda: None, **settings: str) -> Examination:
    return examine_live("g", CONFIG, between, settings)


def test_a_group_is_looked_at_twice(admin: Admin) -> None:
    def between() -> None:
        admin.offsets = {("t", 0): 90, ("t", 1): 7}
        admin.all_ends = {("t", 0): 130, ("t", 1): 9, ("old", 0): 3}
        del admin.members["b"]

    seen = examine(between)
    assert seen.first is not None
    assert seen.last is not None
    assert (seen.first.committed, seen.first.ends, seen.first.starts) == (
        {("t", 0): 40, ("old", 0): 3},
        {("t", 0): 100, ("t", 1): 7, ("old", 0): 3},  # partition 1 is read, and has no commit
        {},
    )
    assert (seen.last.committed, seen.last.ends, seen.last.starts) == (
        {("t", 0): 90, ("t", 1): 7},
        {("t", 0): 130, ("t", 1): 9},
        {("t", 0): 1, ("t", 1): 1},
    )
    assert seen.lags == {("t", 0): 40, ("t", 1): 2}
    assert seen.elapsed_ms == 2_000
    assert [member.id for member in seen.members_before or ()] == ["a", "b"]
    assert [member.id for member in seen.state.members] == ["a"]
    assert (seen.state.name, seen.state.status, seen.state.strategy) == ("g", "Stable", "range")
    assert seen.owners == {("t", 0): 0, ("t", 1): -1}
    assert seen.waiting_ms == {("t", 0): 90, ("t", 1): 7}


def test_topics_that_nobody_reads_any_more_are_looked_at_by_their_commits(admin: Admin) -> None:
    assert {place for place in examine().owners if place[0] == "old"} == {("old", 0), ("old", 1)}


def test_partitions_that_members_own_of_topics_that_they_do_not_name_are_looked_at(admin: Admin) -> None:
    admin.reads["b"] = []
    admin.members["b"] = [("old", 1)]
    admin.all_ends["old", 1] = 5
    seen = examine()
    assert seen.last is not None
    assert seen.last.ends["old", 1] == 5


def test_the_coordinator_is_found_with_what_it_looks_after_and_its_settings(admin: Admin) -> None:
    seen = examine()
    # "k" is at broker 2, too; "h" is at broker 1, and the group without a name counts nowhere.
    assert seen.coordinator == Coordinator(2, groups=2, others=1, brokers=2)
    assert (seen.retention_ms, seen.limits) == (420_000, admin.broker)
    assert ("settings", "BROKER", "2") in admin.asked
    assert ("settings", "BROKER", "1") not in admin.asked


@pytest.mark.parametrize("retention", [None, "", "soon"])
def test_a_retention_that_the_broker_does_not_say_is_unknown(admin: Admin, retention: str | None) -> None:
    admin.broker = {} if retention is None else {"offsets.retention.minutes": retention}
    assert examine().retention_ms is None


def test_settings_of_a_broker_that_are_hidden_are_unknown(admin: Admin) -> None:
    admin.settings = refuse  # type: ignore[method-assign]
    seen = examine()
    assert (seen.coordinator and seen.coordinator.id, seen.limits, seen.retention_ms) == (2, None, None)


@pytest.mark.parametrize("hidden", ["topic", "groups", "leader"])
def test_a_coordinator_that_cannot_be_found_is_unknown(admin: Admin, hidden: str) -> None:
    if hidden == "topic":
        del admin.leaders["__consumer_offsets"]
    if hidden == "groups":
        admin.groups = refuse  # type: ignore[method-assign]
    if hidden == "leader":
        admin.leaders["__consumer_offsets"] = (1, -1)
    seen = examine()
    assert (seen.coordinator, seen.limits, seen.retention_ms) == (None, None, None)
    assert seen.lags == {("t", 0): 60, ("old", 0): 0}


@pytest.fixture
def consumers(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Admin:
    """The group speaks the consumer protocol."""
    admin.kind = "CONSUMER"
    subscribed = {name: MemberSubscription(("t",), None, None, "consumer") for name in admin.members}
    monkeypatch.setattr("copartition.groups.live.members.read_subscriptions", lambda *_: subscribed)
    return admin


SET = {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": ""}


def test_a_group_of_the_consumer_protocol_has_settings_of_its_own(consumers: Admin) -> None:
    consumers.own = SET | {"share.session.timeout.ms": "1", "consumer.assignor": "range"}
    seen = examine()
    assert [*(seen.own_settings or {}).items()] == sorted((SET | {"consumer.assignor": "range"}).items())
    assert seen.settings == {"session.timeout.ms": "45000"}


def test_what_the_user_says_of_timeouts_wins(consumers: Admin) -> None:
    consumers.own = {**SET, "consumer.max.poll.interval.ms": "5"}
    given = {"session.timeout.ms": "1000", "max.poll.interval.ms": "7000"}
    assert examine(**given).settings == given
    # Brokers know nothing of the time between polls.
    assert examine().settings == {"session.timeout.ms": "45000"}


def test_settings_of_a_group_that_are_hidden_are_unknown(consumers: Admin) -> None:
    consumers.settings = refuse  # type: ignore[method-assign]
    seen = examine(**{"session.timeout.ms": "1000"})
    assert (seen.own_settings, seen.settings) == (None, {"session.timeout.ms": "1000"})


def test_brokers_are_not_asked_for_settings_of_a_classic_group(admin: Admin) -> None:
    assert examine(**{"session.timeout.ms": "1000"}).settings == {"session.timeout.ms": "1000"}
    assert ("settings", "GROUP", "g") not in admin.asked


def test_topics_that_the_cluster_does_not_show_are_named_with_the_right_to_see_them(admin: Admin) -> None:
    admin.reads["a"] = ["t", *(f"secret-{number}" for number in range(9, -1, -1))]
    hidden = examine().hidden
    assert hidden is not None
    shown = "secret-0, secret-1, secret-2, secret-3, secret-4 and 5 more"
    assert hidden.what == f"the cluster shows this user no topic {shown}, so no commits and ends of it"
    assert hidden.remedy.startswith("give this user DESCRIBE on it: kafka-acls.sh --bootstrap-server b:1 ")
    assert hidden.remedy.endswith(" --operation Describe --topic secret-0")


def test_where_the_cluster_shows_all_topics_none_is_hidden(admin: Admin) -> None:
    assert examine().hidden is None


def test_every_group_is_looked_at_twice_and_one_that_cannot_be_read_hides_no_other(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"s": "share", "g": "classic", "z": "streams"}
    monkeypatch.setattr("copartition.groups.live.cluster.read_group_types", lambda *_: kinds)
    looks: list[tuple[str, str, int]] = []
    waits: list[int] = []

    def read_other_group(_: object, group: str, kind: str) -> Any:
        looks.append((group, kind, len(waits)))
        if (group, len(waits)) == ("z", 1):
            raise SourceError("it is gone")
        return SimpleNamespace(protocol=kind, look=len(waits))

    def between() -> None:
        waits.append(1)
        admin.offsets = {("t", 0): 90}

    monkeypatch.setattr("copartition.doctor.examination.read_other_group", read_other_group)
    admin.all_groups = ["k", "g"]
    seen = examine_all(CONFIG, between, {"session.timeout.ms": "1000"})
    assert [*seen] == ["g", "k", "s", "z"]
    assert looks == [("s", "share", 0), ("z", "streams", 0), ("s", "share", 1), ("z", "streams", 1)]
    assert len(waits) == 1
    group = seen["g"]
    assert isinstance(group, Examination)
    assert group.first is not None
    assert (group.first.committed["t", 0], group.lags) == (40, {("t", 0): 10})
    assert group.settings == {"session.timeout.ms": "1000"}
    assert group.coordinator == Coordinator(2, groups=2, others=0, brokers=2)
    last, first = (SimpleNamespace(protocol="share", look=look) for look in (1, 0))
    assert seen["s"] == KindExamination(last, first)  # type: ignore[arg-type]
    assert [str(seen[name]).rpartition(": ")[2] for name in ("k", "z")] == [
        "Cluster authorization failed.; this user needs DESCRIBE on the cluster",
        "it is gone",
    ]
