"""Check a share group (KIP-932): who reads what, and records that are handed out but not processed.

Several members read one partition by design, and nothing stops for a rebalance. So owners, balance and static
ids are not checked. Each check is a function of the examined group and the limits.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from copartition.doctor.examination import SHOWN
from copartition.doctor.kind_checks import (
    KIND_LOOKS,
    done_beyond,
    kind_members_seen,
    need_known_lags,
    need_number,
    observe_idle,
    seen_positions,
    twice,
    two_looks,
    waiting_twice,
)
from copartition.doctor.kind_examination import KindExamination
from copartition.doctor.observing import (
    AGAIN,
    Limits,
    Observation,
    end_unknown,
    evidence,
    first_names,
    need,
    observe,
    observe_nobody,
)
from copartition.groups.kinds.model import ShareGroupState
from copartition.kit.places import Place, by_place
from copartition.kit.words import count, duration, list_names

Sharing: TypeAlias = KindExamination[ShareGroupState]

_FULL = 0.9
"""A partition counts as full if this part of the records that it may have in delivery is in delivery."""
_NEARLY = 0.9
"""A group counts as full if it has this part of the members that it may have."""


def _topics(group: Sharing) -> set[str]:
    """Return the topics that members subscribe to; end the check as unknown if a subscription is missing.

    Without this, a topic that only a member with unknown topics reads would be reported as left over.
    """
    kind_members_seen(group)
    lists = [member.topics for member in group.members]
    if None in lists:
        end_unknown("the source does not show what members subscribe to")
    return {topic for topics in lists for topic in topics or ()}


def read_places(group: Sharing) -> set[Place]:
    """Return the partitions that members have.

    In a share group several members may read a partition; it is in the result once.
    """
    return {
        (topic, number)
        for member in group.members
        for topic, numbers in member.partitions.items()
        for number in numbers
    }


def subscriptions_check(group: Sharing, _: Limits) -> Observation:
    """Look for members that subscribe to different topics.

    The check is unknown if the source does not tell the topics of every member, because a member with unknown
    topics may be the one that differs.
    """
    seen = kind_members_seen(group)
    topics = _topics(group)
    part = sorted(
        topic for topic in topics if not all(topic in (member.topics or ()) for member in group.members)
    )
    text = f"only some members subscribe to {list_names(part, SHOWN)}"
    return observe(
        part, text, f"every member subscribes to {list_names(sorted(topics), SHOWN)}", evidence(seen)
    )


def idle_check(group: Sharing, _: Limits) -> Observation:
    """Look for members without a partition; in a share group each gets a partition if its topics have any."""
    return observe_idle(group, lambda member: any(member.partitions.values()), "partition")


def unread_check(group: Sharing, _: Limits) -> Observation:
    """Look for partitions of subscribed topics that no member reads.

    A cluster tells how many partitions the topics have. A table of Kafka's tool lists only the partitions of
    which the group keeps an offset. So such a table can prove that a partition has no reader, but not that
    all have one: then the check is unknown.
    """
    # Compared with (), because None is false, too: it means that the source does not list members.
    if group.state.members == ():
        return observe_nobody(group, "no member is there, so nobody reads the group's topics")
    seen = kind_members_seen(group)
    read = read_places(group)
    if group.state.topics is None:
        # The table of offsets lists every partition that the group keeps an offset of.
        free = sorted(group.positions.keys() - read)
        if not free:
            end_unknown("the source does not show which partitions the topics have")
    else:
        topics = _topics(group)
        places = {
            (topic, number)
            for topic, partitions in group.state.topics.items()
            if topic in topics
            for number in range(partitions)
        }
        free = sorted(places - read)
    text = f"nobody reads {count(len(free), 'partition')}: {first_names(free)}"
    ok = f"each of {count(len(read), 'partition')} has a reader"
    return observe(free, text, ok, evidence(seen, "the partitions of their topics"))


def full_group_check(group: Sharing, _: Limits) -> Observation:
    """Look for a group with nearly as many members as it may have; brokers refuse any beyond that number.

    A group counts as full from 90 % of `group.share.max.size` on (`_NEARLY`), so that there is time to act.
    The check is unknown if no broker shows this setting.
    """
    kind_members_seen(group)
    most = need_number(group, group.state.limits, "group.share.max.size", "cluster")
    text = f"{count(len(group.members), 'member')} of {most} that a group may have"
    ground = evidence(f"the members in {group.where}", "group.share.max.size of a broker")
    return Observation(len(group.members) >= _NEARLY * most, text, ground)


def left_over_check(group: Sharing, _: Limits) -> Observation:
    """Look for offsets of topics that no member subscribes to.

    The offsets alone are a fault. The text also names the number of records that wait there, if it is known.
    """
    ground = seen_positions(group)
    topics = _topics(group)
    left = sorted({topic for topic, _ in group.positions} - topics)
    waiting = sum(lag for (topic, _), lag in (group.lags or {}).items() if topic in left)
    text = f"offsets are kept of {list_names(left, SHOWN)}, which no member reads"
    fault = f"{text}; {count(waiting, 'record')} wait there" if waiting else text
    return observe(left, fault, "no offsets of topics that no member reads", ground)


def not_begun_check(group: Sharing, _: Limits) -> Observation:
    """Look for partitions that have records but no start offset: none of their records was ever processed.

    The start offset is decided at the first fetch. By default (share.auto.offset.reset=latest) it is the end
    of the partition, so records that were written earlier are skipped. The coordinator keeps the start offset
    from the first acknowledgement on.
    """
    ground = seen_positions(group)
    if not group.positions:
        end_unknown("the group keeps no offset", AGAIN)
    unset = [place for place, offset in group.positions.items() if offset < 0]
    # An empty partition has no start offset either, which is no fault. Only the partition's end shows whether
    # it is empty.
    if unset and group.state.ends is None:
        end_unknown(f"no offset is kept of {first_names(unset)}, and the source does not show their records")
    written = [place for place in unset if group.ends.get(place)]
    # The setting only explains the fault. If the source does not show it, the text does without it.
    reset = (group.state.settings or {}).get("share.auto.offset.reset", "")
    how = f"; share.auto.offset.reset is {reset}" if reset else ""
    text = f"records are in {first_names(written)}, and none of them was ever done{how}"
    return observe(written, text, "every partition with records has a start offset", ground)


def held_up_check(group: Sharing, _: Limits) -> Observation:
    """Look for partitions with a reader whose start offset stands still while records wait.

    There are three cases, in this order:

    - "full": so many records beyond the start offset are processed that the broker hands out no further ones.
    - Later records are processed between the looks. Then one record holds up the start offset: it takes long,
      or fails again and again.
    - "nothing": no record at all is processed between the looks.

    The start offset that a coordinator keeps is one acknowledgement late. So processed records beyond the
    start offset are no fault by themselves. They are one only if their number grows while it stands still.
    """
    first, last = two_looks(group)
    kind_members_seen(group)
    # An older broker answers without a lag. An empty mapping would mean that no record waits.
    need(last.lag, "the brokers count no lag of share groups", "ask brokers of Kafka 4.2 or newer")
    before, after, lags = by_place(first.positions), by_place(last.positions), by_place(last.lag)
    waited = by_place(first.lag)
    still = [
        place
        for place in waiting_twice(group, read_places(group))
        # A start offset that a look lacks is negative here, so it does not count as one that stands still.
        if after.get(place, -1) == before.get(place, -2) >= 0
    ]
    done, done_before = done_beyond(last), done_beyond(first)
    most = (last.settings or {}).get("share.partition.max.record.locks", "")
    seen = f"start offsets and {twice(group, lags)}"
    processed = f"a record is processed within {duration(group.elapsed_ms)}"
    # If no broker shows the setting, `most` is no number. The other two cases do not need it.
    full = [place for place in still if most.isdigit() and done.get(place, 0) >= _FULL * int(most)]
    if full:
        worst = max(full, key=done.__getitem__)
        text = (
            f"nothing new is handed out of {first_names(full)}: {done[worst]:,} records beyond the first "
            f"one of {first_names([worst])} are done, of {int(most):,} that may be in delivery"
        )
        at_once = f"no member acknowledges as many as {_FULL:.0%} of {int(most):,} records at once"
        return Observation(True, text, evidence(seen, assumed=[at_once]), "full")
    if passed := {place: done[place] for place in still if done.get(place, 0) > done_before.get(place, 0)}:
        records = count(sum(passed.values()), "later record")
        text = f"the first record of {first_names(passed)} is not done, and {records} are"
        return Observation(True, text, evidence(seen, assumed=[processed]))
    # If the lag has become smaller, records were processed although the start offset stands still.
    stuck = [place for place in still if lags[place] >= waited[place]]
    if not stuck:
        # "ok" is about all partitions, and a partition with an unknown lag may be held up.
        need_known_lags(group)
    text = f"records wait and none was done in {duration(group.elapsed_ms)}: {first_names(stuck)}"
    ok = "start offsets move wherever records wait" if any(lags.values()) else "no record waits"
    return observe(stuck, text, ok, evidence(seen, assumed=[processed]), "nothing")


def racks_check(group: Sharing, _: Limits) -> Observation:
    """Look for racks of members. They have no effect: the assignor ignores them, and only leaders serve.

    The check is unknown for a file of Kafka's tool, which names no racks. Only an answer of a cluster has a
    time (`at`).
    """
    seen = kind_members_seen(group)
    if group.state.at is None:
        end_unknown("the source does not show racks")
    racked = sorted(group.names[member.id] for member in group.members if member.rack)
    text = f"client.rack of {list_names(racked, SHOWN)} decides nothing"
    return observe(racked, text, "no member has a client.rack", evidence(seen))


SHARE_LOOKS: Mapping[str, Callable[[Sharing, Limits], Observation]] = {
    **KIND_LOOKS,
    "subscriptions": subscriptions_check,
    "idle": idle_check,
    "unread": unread_check,
    "full_group": full_group_check,
    "left_over": left_over_check,
    "not_begun": not_begun_check,
    "held_up": held_up_check,
    "racks": racks_check,
}
"""The function of each check, by the name of its table in `share_checks.toml`, whose order counts."""
