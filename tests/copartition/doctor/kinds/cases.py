"""What is planted in share groups and Streams groups: for each case a name, the check that finds it, and how.

A case returns what happens between the two looks, if anything does. Healthy groups have "" for the check.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.copartition.doctor.kinds.site import Between, Site

Plant = Callable[[Site], Between | None]
AGE_S = 7_200
"""An old record's age."""


class Case(NamedTuple):
    """A group to record."""

    kind: str
    name: str
    check: str  # the check that finds the fault; "" for a healthy group
    plant: Plant


# --- share groups


def _share_empty(site: Site) -> None:
    site.sharer(site.topic()).leave()


def _share_member_left(site: Site) -> Between:
    topic = site.topic()
    site.sharer(topic, "stays")
    return site.sharer(topic, "leaves").leave


def _share_member_came(site: Site) -> Between:
    topic = site.topic()
    site.sharer(topic, "stays")
    return lambda: site.sharer(topic, "comes")


def _share_topic_missing(site: Site) -> None:
    site.sharer([site.topic(), f"{site.group}-typo"])


def _share_subscriptions(site: Site) -> None:
    orders, clicks = site.topic(), site.topic(2, "clicks")
    site.sharer([orders, clicks], "both")
    site.sharer([orders], "one")


def _share_idle(site: Site) -> None:
    from tests.copartition.groups.kinds.members import ShareMember

    site.sharer(site.topic(), "works")
    ShareMember(site.servers, site.group, [f"{site.group}-typo"], "idles").beat()


def _share_unread_new(site: Site) -> None:
    topic = site.topic()
    site.sharer(topic)
    site.kafka.grow_topic(topic, 4)


def _share_full_group(site: Site) -> None:
    topic = site.topic()
    for number in range(9):
        site.sharer(topic, f"sharer-{number}")


def _share_left_over(site: Site) -> None:
    old, new = site.topic(2, "old"), site.topic()
    site.write(old, 100)
    site.consume(old, 100, ends=True)
    site.write(old, 40)
    site.sharer(new)


def _share_not_begun(site: Site) -> None:
    topic = site.topic()
    site.sharer(topic)
    site.write(topic, 50)


def _share_behind(site: Site) -> str:
    topic = site.topic()
    site.write(topic, 2)
    site.consume(topic, 2, ends=True)
    site.sharer(topic)
    site.write(topic, 5_000)
    return topic


def _share_lag(site: Site) -> None:
    _share_behind(site)


def _share_lag_without_members(site: Site) -> None:
    topic = site.topic()
    site.write(topic, 2)
    site.consume(topic, 2, ends=True)
    site.write(topic, 5_000)


def _share_trend(site: Site) -> Between:
    return partial(site.write, _share_behind(site), 500)


def _share_growing(site: Site) -> Between:
    topic = site.topic()
    site.write(topic, 2)
    site.consume(topic, 2, ends=True)
    site.sharer(topic)
    return partial(site.write, topic, 1_600)


def _share_held_up(site: Site, held: tuple[int, ...] = (0,)) -> Between:
    topic = site.topic(1)
    site.write(topic, 60, 1)
    site.consume(topic, 60, lambda record: record.offset() not in held)
    # A member that holds a record may not poll, so another one reads on.
    site.write(topic, 5, 1)
    reader = site.consume(topic, 5)

    def more() -> None:
        site.write(topic, 20, 1)
        site.consume(topic, 20, reader=reader)

    return more


def _share_full_window(site: Site) -> None:
    topic = site.topic(1)
    site.set(share_partition_max_record_locks=100)
    site.write(topic, 100, 1)
    site.consume(topic, 100, lambda record: record.offset() != 0)
    site.write(topic, 50, 1)


def _share_nothing_done(site: Site) -> None:
    topic = site.topic(1)
    site.write(topic, 40, 1)
    site.consume(topic, 40, lambda record: record.offset() < 5)


def _share_deleted(site: Site) -> None:
    topic = site.topic(1)
    site.write(topic, 1, 1)
    site.consume(topic, 1, ends=True)
    site.write(topic, 300, 1)
    site.delete_before(topic, 200, 1)


def _share_nearly_deleted(site: Site) -> None:
    topic = site.topic(1)
    site.write(topic, 100, 1)
    site.consume(topic, 100, ends=True)
    site.sharer(topic)
    site.write(topic, 1_500, 1)
    site.delete_before(topic, 90, 1)


def _share_waiting(site: Site) -> None:
    topic = site.topic(1)
    site.write(topic, 1, 1, age_s=2 * AGE_S)
    site.consume(topic, 1, ends=True)
    site.write(topic, 10, 1, age_s=AGE_S)
    site.sharer(topic)


def _share_racks(site: Site) -> None:
    site.sharer(site.topic(), "near", rack="rack0")


def _share_clamped(site: Site) -> None:
    site.set(share_record_lock_duration_ms=60_000)
    site.sharer(site.topic())
    site.limit("group.share.max.record.lock.duration.ms=45000")
    site.sharer(f"{site.group}-orders")


def _share_healthy(site: Site, members: int, partitions: int, records: int) -> None:
    topic = site.topic(partitions)
    if records:
        site.write(topic, records, partitions)
    site.consume(topic, records)
    for number in range(members - 1):
        site.sharer(topic, f"sharer-{number}")


def _share_healthy_topics(site: Site) -> None:
    orders, clicks = site.topic(), site.topic(3, "clicks")
    for number in range(3):
        site.sharer([orders, clicks], f"sharer-{number}")


def _share_healthy_busy(site: Site) -> Between:
    topic = site.topic(2)
    site.write(topic, 200)
    consumer = site.consume(topic, 200)

    def more() -> None:
        site.write(topic, 400)
        seen = 0
        while seen < 400:
            for record in consumer.poll(1.0):
                seen += 1
                consumer.acknowledge(record)
            consumer.commit_sync()

    return more


def _share_healthy_moving(site: Site) -> Between:
    """A group that is behind, and gets on between the looks."""
    topic = site.topic(1)
    site.write(topic, 10, 1)
    consumer = site.consume(topic, 10)
    site.write(topic, 90, 1)

    def some() -> None:
        seen = 0
        while not seen:
            for record in consumer.poll(1.0):
                seen += 1
                consumer.acknowledge(record)
            consumer.commit_sync()
        site.write(topic, 5, 1)

    return some


# --- Streams groups


def _words(topic: str, *changelogs: str) -> dict[str, tuple[list[str], list[str]]]:
    return {"0": ([topic], [*changelogs])}


def _store(site: Site) -> str:
    return f"{site.group}-counts-changelog"


def _streams_empty(site: Site) -> None:
    site.streamer(_words(site.topic())).leave()


def _streams_member_left(site: Site) -> Between:
    topology = _words(site.topic())
    stays, leaves = site.streamer(topology, "stays"), site.streamer(topology, "leaves", settled=False)
    site.steady(stays, leaves)

    def leave() -> None:
        leaves.leave()
        site.steady(stays)

    return leave


def _streams_source_missing(site: Site) -> None:
    site.streamer(_words(f"{site.group}-typo"), settled=False)


def _streams_counts_differ(site: Site) -> None:
    joined = {"0": ([site.topic(2, "orders"), site.topic(3, "payments")], [])}
    site.streamer(joined, settled=False)


def _streams_idle(site: Site) -> None:
    topology = _words(site.topic(2))
    site.steady(*(site.streamer(topology, f"words-{number}", settled=number < 1) for number in range(3)))


def _streams_slow_close(site: Site) -> None:
    topology = _words(site.topic(4))
    old = site.streamer(topology, "slow")
    new = site.streamer(topology, "new", settled=False)
    old.beat(keeps=True)
    new.beat()
    old.beat(keeps=True)
    new.beat()


def _streams_waiting_task(site: Site) -> None:
    topology = _words(site.topic(2))
    old = site.streamer(topology, "slow")
    new = site.streamer(topology, "new", settled=False)
    for _ in range(3):
        old.beat(keeps=True)
        new.beat()


def _streams_changelog_gone(site: Site) -> None:
    topology = _words(site.topic(), _store(site))
    site.streamer(topology)
    for done in site.admin.delete_topics([_store(site)]).values():
        done.result()


def _streams_source_grew(site: Site) -> None:
    topic = site.topic()
    member = site.streamer(_words(topic, _store(site)))
    site.kafka.grow_topic(topic, 4)
    member.beat()


def _streams_committed(site: Site, records: int, committed: int, partitions: int = 2) -> tuple[str, object]:
    topic = site.topic(partitions)
    site.write(topic, records, partitions)
    member = site.streamer(_words(topic))
    member.commit(topic, dict.fromkeys(range(partitions), committed))
    return topic, member


def _streams_lag(site: Site) -> None:
    _streams_committed(site, 5_000, 10)


def _streams_lag_without_members(site: Site) -> None:
    _, member = _streams_committed(site, 5_000, 10)
    member.leave()  # type: ignore[attr-defined]


def _streams_trend(site: Site) -> Between:
    topic, _ = _streams_committed(site, 5_000, 10)
    return partial(site.write, topic, 500)


def _streams_growing(site: Site) -> Between:
    topic, _ = _streams_committed(site, 100, 50)
    return partial(site.write, topic, 1_600)


def _streams_standstill(site: Site) -> None:
    _streams_committed(site, 100, 10)


def _streams_uncommitted(site: Site) -> None:
    topic = site.topic()
    site.write(topic, 100)
    site.streamer(_words(topic))


def _streams_left_over(site: Site) -> None:
    old, new = site.topic(2, "old"), site.topic()
    site.streamer(_words(new)).commit(old, {0: 0, 1: 0})


def _streams_deleted(site: Site) -> None:
    topic, _ = _streams_committed(site, 400, 10)
    site.delete_before(topic, 150)


def _streams_nearly_deleted(site: Site) -> None:
    topic, _ = _streams_committed(site, 3_000, 100)
    site.delete_before(topic, 90)


def _streams_waiting(site: Site) -> None:
    topic = site.topic(1)
    site.write(topic, 10, 1, age_s=AGE_S)
    site.streamer(_words(topic)).commit(topic, {0: 3})


def _streams_no_standby(site: Site) -> None:
    site.set(streams_num_standby_replicas=1)
    site.streamer(_words(site.topic(), _store(site)))


def _streams_partly_static(site: Site) -> None:
    topology = _words(site.topic())
    first = site.streamer(topology, "static", instance="s1")
    second = site.streamer(topology, "dynamic", settled=False)
    site.steady(first, second)


def _streams_clamped(site: Site) -> None:
    site.set(streams_num_standby_replicas=2)
    topology = _words(site.topic())
    site.streamer(topology)
    site.limit("group.streams.max.standby.replicas=1")


def _streams_healthy(site: Site, members: int, partitions: int, *, state: bool = False) -> None:
    topic = site.topic(partitions)
    topology = _words(topic, *([_store(site)] if state else []))
    made = [site.streamer(topology, f"words-{number}", settled=not number) for number in range(members)]
    site.steady(*made)
    site.write(topic, 10 * partitions, partitions)
    for member in made:
        member.commit(topic, dict.fromkeys(member.active.get("0", []), 10))


def _streams_healthy_standby(site: Site) -> None:
    site.set(streams_num_standby_replicas=1)
    topology = _words(site.topic(2), _store(site))
    site.steady(*(site.streamer(topology, f"words-{number}", settled=not number) for number in range(2)))


def _streams_healthy_static(site: Site) -> None:
    topology = _words(site.topic(2))
    site.steady(
        *(
            site.streamer(topology, f"words-{number}", settled=not number, instance=f"s{number}")
            for number in range(2)
        )
    )


def _streams_healthy_two_parts(site: Site) -> None:
    topology = {"0": ([site.topic(2)], [_store(site)]), "1": ([site.topic(3, "clicks")], [])}
    site.steady(*(site.streamer(topology, f"words-{number}", settled=not number) for number in range(2)))


def _streams_healthy_threads(site: Site) -> None:
    topology = _words(site.topic(4))
    site.steady(
        *(
            site.streamer(topology, f"thread-{number}", settled=not number, process=f"instance-{number // 2}")
            for number in range(4)
        )
    )


def _streams_healthy_busy(site: Site) -> Between:
    topic = site.topic(2)
    site.write(topic, 200)
    member = site.streamer(_words(topic))
    member.commit(topic, {0: 90, 1: 90})

    def more() -> None:
        site.write(topic, 200)
        member.commit(topic, {0: 195, 1: 195})

    return more


CASES = [
    Case("share", "empty", "state", _share_empty),
    Case("share", "member-left", "state", _share_member_left),
    Case("share", "member-came", "state", _share_member_came),
    Case("share", "topic-missing", "topics", _share_topic_missing),
    Case("share", "subscriptions", "subscriptions", _share_subscriptions),
    Case("share", "idle", "idle", _share_idle),
    Case("share", "new-partitions", "unread", _share_unread_new),
    Case("share", "full-group", "full group", _share_full_group),
    Case("share", "left-over", "left over", _share_left_over),
    Case("share", "not-begun", "not begun", _share_not_begun),
    Case("share", "lag", "lag", _share_lag),
    Case("share", "lag-without-members", "lag", _share_lag_without_members),
    Case("share", "trend", "trend", _share_trend),
    Case("share", "growing", "trend", _share_growing),
    Case("share", "held-up", "held up", _share_held_up),
    Case("share", "held-up-in-the-middle", "held up", partial(_share_held_up, held=(20, 40))),
    Case("share", "full-window", "held up", _share_full_window),
    Case("share", "nothing-done", "held up", _share_nothing_done),
    Case("share", "deleted", "deleted", _share_deleted),
    Case("share", "nearly-deleted", "deleted", _share_nearly_deleted),
    Case("share", "waiting", "waiting", _share_waiting),
    Case("share", "racks", "racks", _share_racks),
    *(
        Case(
            "share",
            f"healthy-{members}-of-{partitions}",
            "",
            partial(_share_healthy, members=members, partitions=partitions, records=records),
        )
        for members, partitions, records in (
            (1, 1, 10),
            (1, 4, 40),
            (3, 1, 30),
            (3, 4, 400),
            (5, 2, 100),
            (8, 3, 90),
        )
    ),
    Case("share", "healthy-topics", "", _share_healthy_topics),
    Case("share", "healthy-busy", "", _share_healthy_busy),
    Case("share", "healthy-moving", "", _share_healthy_moving),
    Case("share", "healthy-2-of-2", "", partial(_share_healthy, members=2, partitions=2, records=20)),
    Case("streams", "empty", "state", _streams_empty),
    Case("streams", "member-left", "state", _streams_member_left),
    Case("streams", "source-missing", "state", _streams_source_missing),
    Case("streams", "counts-differ", "topology", _streams_counts_differ),
    Case("streams", "idle", "idle", _streams_idle),
    Case("streams", "slow-close", "moving", _streams_slow_close),
    Case("streams", "waiting-task", "unassigned", _streams_waiting_task),
    Case("streams", "changelog-gone", "internal topics", _streams_changelog_gone),
    Case("streams", "source-grew", "state", _streams_source_grew),
    Case("streams", "lag", "lag", _streams_lag),
    Case("streams", "lag-without-members", "lag", _streams_lag_without_members),
    Case("streams", "trend", "trend", _streams_trend),
    Case("streams", "growing", "trend", _streams_growing),
    Case("streams", "standstill", "standstill", _streams_standstill),
    Case("streams", "uncommitted", "uncommitted", _streams_uncommitted),
    Case("streams", "left-over", "left over", _streams_left_over),
    Case("streams", "deleted", "deleted", _streams_deleted),
    Case("streams", "nearly-deleted", "deleted", _streams_nearly_deleted),
    Case("streams", "waiting", "waiting", _streams_waiting),
    Case("streams", "no-standby", "standby", _streams_no_standby),
    Case("streams", "partly-static", "static", _streams_partly_static),
    *(
        Case(
            "streams",
            f"healthy-{members}-of-{partitions}",
            "",
            partial(_streams_healthy, members=members, partitions=partitions, state=state),
        )
        for members, partitions, state in (
            (1, 1, False),
            (1, 4, True),
            (2, 4, False),
            (3, 7, True),
            (4, 4, False),
        )
    ),
    Case("streams", "healthy-standby", "", _streams_healthy_standby),
    Case("streams", "healthy-static", "", _streams_healthy_static),
    Case("streams", "healthy-two-parts", "", _streams_healthy_two_parts),
    Case("streams", "healthy-threads", "", _streams_healthy_threads),
    Case("streams", "healthy-busy", "", _streams_healthy_busy),
    # A broker with other limits would refuse what the cases above set, so these come last.
    Case("share", "clamped", "settings", _share_clamped),
    Case("streams", "clamped", "settings", _streams_clamped),
]
"""The groups, in the order in which they are made."""
