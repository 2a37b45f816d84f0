"""Check a group's offsets: partitions without a reader, lags, and committed offsets.

Each check is a function of the examined group and the limits, see `checks`. Lags are in records; times
are milliseconds.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from copartition.doctor.examination import SHOWN, Examination, Offsets
from copartition.doctor.facts import judge_kept, observe_deleted, observe_lag, observe_waiting
from copartition.doctor.observing import (
    AGAIN,
    ASK,
    TWO_LOOKS,
    Limits,
    Observation,
    end_unknown,
    evidence,
    first_names,
    known_status,
    members_seen,
    need,
    need_visible,
    observe,
    observe_nobody,
    owners_seen,
)
from copartition.kit.evidence import Evidence
from copartition.kit.places import Place
from copartition.kit.words import count, duration, list_names


def unread_check(group: Examination, _: Limits) -> Observation:
    """Look for partitions without an owner, of topics that members read.

    New partitions are a case of their own: no member has to be started for them, but their first records may
    be skipped.
    """
    if not group.state.members:
        if group.last is None:
            known_status(group)  # without the state, a table without owners may show a rebalance
        text = f"no member is there, so nobody reads {count(len(group.owners), 'partition')}"
        return observe_nobody(group, text)
    topics = group.read_topics
    free = [place for place, member in group.owners.items() if member < 0 and place[0] in topics]
    if not free:
        need_visible(group)
        if not (group.state.complete and group.owned):
            end_unknown("the source does not show partitions without an owner and a commit")
        if group.last is not None and group.state.status != "Stable":
            # "Every partition has an owner" is not enough: a member that was killed is listed as an owner
            # until its session ends.
            end_unknown("the group is not Stable, so who reads is not settled", AGAIN)
        text = f"every partition of {count(len(topics), 'topic')} has a reader"
        return Observation(False, text, evidence(owners_seen(group), "the partition counts of its topics"))
    seen = f"owners of {count(len(group.owners), 'partition')} in {group.where}"
    text = f"nobody reads {count(len(free), 'partition')}: {first_names(free)}"
    if not _look_new(group, free):
        return Observation(True, text, evidence(seen))
    grown = "these partitions are new: the highest numbers of a topic, without a commit"
    return Observation(True, f"{text}{_records_in(group, free)}", evidence(seen, assumed=[grown]), "new")


def _look_new(group: Examination, free: Collection[Place]) -> bool:
    """Return whether all these partitions look as if they were added to their topics just now.

    A new partition has a higher number than every owned partition of its topic, and no commit. An old
    partition that lost its owner has a commit, or a lower number than others.

    Args:
        group: the group.
        free: the partitions, none of which has an owner.
    """
    highest = dict(group.owned)  # ascending, so the last one stays
    known = {*(group.lags or {}), *(() if group.last is None else group.last.committed)}
    return all(topic in highest and number > highest[topic] for topic, number in free) and not known & {*free}


def _records_in(group: Examination, places: Collection[Place]) -> str:
    """Return a clause on how many records these partitions have and get each second; "" if unknown."""
    if group.first is None or group.last is None or not all(place in group.last.ends for place in places):
        return ""
    records = sum(group.last.ends[place] for place in places)
    # A partition that was created between the looks began at 0.
    before = sum(group.first.ends.get(place, 0) for place in places)
    rate = 1000 * (records - before) / group.elapsed_ms if group.elapsed_ms else 0
    return f"; {count(records, 'record')} in them, {rate:,.0f} more each second"


def left_over_check(group: Examination, _: Limits) -> Observation:
    """Look for committed offsets of topics that no member reads, and for records that wait there."""
    committed = group.lags if group.last is None else group.last.committed
    places = need(committed, "the source shows no committed offsets")
    members_seen(group)
    left = sorted({topic for topic, _ in places} - group.read_topics)
    waiting = sum(max(lag, 0) for (topic, _), lag in (group.lags or {}).items() if topic in left)
    assumed = []
    if any(member.topics is None for member in group.state.members):
        # A member without a known subscription may read a topic of which it has no partition now.
        assumed.append("members subscribe only to topics that they have partitions of")
    if not left:
        need_visible(group)
    text = f"offsets are committed of {list_names(left, SHOWN)}, which no member reads"
    return observe(
        left,
        f"{text}, and {waiting:,} records wait there" if waiting else text,
        "no offsets of topics that no member reads",
        evidence(_offsets_seen(group, places), assumed=assumed),
        "waiting" if waiting else "",
    )


def _offsets_seen(group: Examination, places: Collection[Place]) -> str:
    """Return the offsets of these partitions as evidence."""
    if not places:
        return "the offsets of the group: none is committed"
    what = "lag in the source of" if group.last is None else "commits and ends of"
    return f"{what} {count(len(places), 'partition')}"


def _lags(group: Examination) -> dict[Place, int]:
    """Return the known lags, in records; end the check as unknown if none is known.

    A partition with an owner and without records has the lag 0.
    """
    if group.last is None:
        describe = "capture kafka-consumer-groups.sh --describe without --members, or "
        return need(group.lags, "the source shows no lag", describe + ASK)
    # An empty partition without a commit has no lag. If it were left out, it would make every check unknown.
    empty = {place: 0 for place in group.owned if group.last.ends.get(place) == 0}
    lags = {**empty, **group.last.lags}
    if not lags:
        need_visible(group)
        if group.owned:
            _need_all_lags(group, lags)
        end_unknown("no member has a partition, and this user sees no committed offset", AGAIN)
    return lags


def _need_all_lags(group: Examination, lags: Collection[Place]) -> None:
    """End the check as unknown if the lag of a partition with an owner is unknown.

    Checks call this before they say "ok" about all partitions.

    Args:
        group: the group.
        lags: the partitions whose lag is known.
    """
    # Partitions without an owner are not needed: `unread_check` reports them.
    dark = {*group.owned} - {*lags}
    if not dark:
        return
    what = f"the lag of {count(len(dark), 'partition')} is unknown: {first_names(dark)}"
    if group.last is None:
        end_unknown(f"{what}; the source shows no committed offset there")
    need_visible(group)
    if dark & group.last.ends.keys():
        end_unknown(
            f"{what}; nothing is committed there", "see uncommitted; a consumer's own metrics show lag"
        )
    end_unknown(f"{what}; their leaders did not answer", "run it again when every partition has a leader")


def lag_check(group: Examination, limits: Limits) -> Observation:
    """Look for partitions that lag by more than the limit.

    "ok" needs the lag of every partition that has an owner. Three cases have their own advice: none of the
    lagging partitions has an owner; there are as many members as partitions; and all others.
    """
    lags = _lags(group)
    # If there is a member for each partition already, a further one would be idle: the advice must not be
    # to add members.
    full = len(group.state.members) + group.state.unlisted >= len(group.owners)
    read = any(lags.get(place, 0) > limits.lag for place in group.owned)
    case = "unread" if not read else "full" if full else ""
    need_lags = partial(_need_all_lags, group, lags)
    return observe_lag(lags, limits.lag, need_lags, evidence(_offsets_seen(group, lags)), case)


def beyond_the_end_check(group: Examination, _: Limits) -> Observation:
    """Look for commits beyond the end of their partition, as after a topic was deleted and created again."""
    lags = _lags(group)
    beyond = [place for place, lag in lags.items() if lag < 0]
    if not beyond:
        # A cluster shows which partitions have no commit. These cannot have one beyond the end.
        clear = {*lags} if group.last is None else {*lags} | group.last.ends.keys() - group.last.committed
        _need_all_lags(group, clear)
    text = f"the commit is beyond the end of {first_names(beyond)}"
    return observe(beyond, text, "no commit is beyond the end", evidence(_offsets_seen(group, lags)))


def _looks(group: Examination) -> tuple[Offsets, Offsets]:
    """Return the offsets of both looks at a cluster, in order; end the check as unknown for a file."""
    return need(group.first, TWO_LOOKS), need(group.last, TWO_LOOKS)


def _both_looks_seen(group: Examination, places: Collection[Place], **assumed: Iterable[str]) -> Evidence:
    """Return evidence of two looks at these partitions; `assumed` is passed on to `evidence`."""
    seen = f"{_offsets_seen(group, places)}, in two looks {duration(group.elapsed_ms)} apart"
    return evidence(seen, **assumed)


def trend_check(group: Examination, limits: Limits) -> Observation:
    """Look for a lag above the limit that grew between the looks, and for one that grows towards the limit.

    Below the limit, the lag of all partitions together counts as growing if it grew by at least
    `limits.written` records, and by more than half of the records written between the looks. The lag of a
    group that keeps up changes by at most what is written between two of its commits. That is less than half
    if it commits at least twice between the looks, which is assumed.
    """
    before, after = (look.lags for look in _looks(group))
    # A partition whose first commit came between the looks has no earlier lag to compare with.
    change = {place: lag - before[place] for place, lag in after.items() if place in before}
    growing = [place for place, more in change.items() if more > 0 and after[place] > limits.lag]
    if not growing:
        _need_all_lags(group, _lags(group))
    if not change:
        end_unknown("no partition has a commit in both looks", "run it again once members have committed")
    text = f"the lag changed by {sum(change.values()):+,} records in {duration(group.elapsed_ms)}"
    case = "" if group.state.members else "empty"
    total, written = sum(change.values()), _records_between(group, change)
    if not growing and total >= limits.written and 2 * total > written:
        often = f"members commit at least every {duration(group.elapsed_ms / 2)}"
        text = f"{text}, of {written:,} written; {_time_left(group, change, limits)}"
        return Observation(True, text, _both_looks_seen(group, change, assumed=[often]), "growing")
    fault = f"{text}; above {limits.lag:,} and growing: {first_names(growing)}"
    return observe(growing, fault, text, _both_looks_seen(group, change), case)


def _records_between(group: Examination, places: Iterable[Place]) -> int:
    """Return how many records were written to these partitions between the looks."""
    before, after = (look.ends for look in _looks(group))
    return sum(after[place] - before[place] for place in places if place in before and place in after)


def _time_left(group: Examination, change: Mapping[Place, int], limits: Limits) -> str:
    """Return a clause on when the first partition exceeds the limit if lags go on growing at this rate.

    Args:
        group: the group; none of its lags is above the limit yet.
        change: partition -> by how much its lag grew between the looks.
        limits: the limits.
    """
    lags = _looks(group)[1].lags
    rates = {place: more / group.elapsed_ms for place, more in change.items() if more > 0}
    left_ms, place = min(((limits.lag - lags[place]) / rate, place) for place, rate in rates.items())
    return f"{first_names([place])} passes {limits.lag:,} in {duration(left_ms)} at this rate"


def deleted_check(group: Examination, limits: Limits) -> Observation:
    """Look for commits whose next records retention has deleted, or is about to delete."""
    last = need(group.last, "the source does not show the oldest records that partitions keep")
    need_visible(group)
    # A commit beyond the end is of a topic that was created again; `beyond_the_end_check` reports it.
    committed = {
        place: offset for place, offset in last.committed.items() if offset <= last.ends.get(place, offset)
    }
    if not committed:
        end_unknown("nothing is committed that could be compared with what is kept", "see uncommitted")
    if not committed.keys() & last.starts:
        end_unknown("no leader tells the oldest record that it keeps", "run it again when they answer")
    kept = judge_kept(committed, last.starts, last.ends, limits.written)
    seen = f"{_offsets_seen(group, committed)}, and the oldest records that are kept"
    return observe_deleted(kept, evidence(seen))


def waiting_check(group: Examination, limits: Limits) -> Observation:
    """Look for a record that has waited for longer than the limit."""
    last = need(group.last, "the source does not show when records were written")
    lags = _lags(group)
    if not any(lag > 0 for lag in last.lags.values()):
        _need_all_lags(group, lags)
        return Observation(False, "no record waits", evidence(_offsets_seen(group, lags)))
    need_lags = partial(_need_all_lags, group, lags)
    return observe_waiting(group.waiting_ms or {}, last.lags, limits.waiting_ms, need_lags)


def standstill_check(group: Examination, _: Limits) -> Observation:
    """Look for partitions with an owner in which records wait, and nothing was committed between the looks.

    A partition without an owner stands still, too, but there no member is stuck: see `unread_check` and
    `left_over_check`.
    """
    first, last = _looks(group)
    members_seen(group)
    owned = {*group.owned}
    # Records must wait at both looks: those that are new at the second one may just not be polled yet.
    waiting = [place for place, lag in last.lags.items() if lag > 0 and first.lags.get(place, 0) > 0]
    still = [place for place in waiting if place in owned and first.committed[place] == last.committed[place]]
    if not still:
        _need_all_lags(group, _lags(group))
    text = f"records wait and no offset was committed in {duration(group.elapsed_ms)}: "
    often = f"members commit more often than every {duration(group.elapsed_ms)}"
    return observe(
        still,
        text + list_names([*_with_owners(group, still)], SHOWN),
        "commits move wherever records wait" if waiting else "no record waited at both looks",
        _both_looks_seen(group, _lags(group), assumed=[often]),
    )


def _with_owners(group: Examination, places: Collection[Place]) -> Iterator[str]:
    """Yield a clause for each owner: its partitions, its name, and the host on which to look for it."""
    by_owner: dict[int, list[Place]] = {}
    for place in sorted(places):
        by_owner.setdefault(group.owners[place], []).append(place)
    for owner, held in by_owner.items():
        member = group.state.members[owner]
        name = member.instance_id or member.client_id or member.id
        yield f"{first_names(held)} of {name} ({member.id}) on {member.host or 'an unknown host'}"


def hot_partition_check(group: Examination, limits: Limits) -> Observation:
    """Look for a partition that got more than `limits.hot` of the records written between the looks.

    With fewer than `limits.written` new records, or fewer than four partitions, such a share may be chance.
    Then the check is unknown.
    """
    first, last = _looks(group)
    fresh = {place: end - first.ends[place] for place, end in last.ends.items() if place in first.ends}
    total = sum(fresh.values())
    if total < limits.written or len(fresh) < 4:
        text = f"{count(total, 'new record')} in {count(len(fresh), 'partition')} are too few to judge"
        end_unknown(text, "run it again while producers write, with a longer --interval")
    hottest = max(fresh, key=fresh.__getitem__)
    text = f"{first_names([hottest])} got {fresh[hottest] / total:.0%} of {total:,} new records"
    return Observation(fresh[hottest] > limits.hot * total, text, _both_looks_seen(group, fresh))


def uncommitted_check(group: Examination, _: Limits) -> Observation:
    """Look for partitions with an owner and records, and without a committed offset."""
    last = need(group.last, "the source does not tell partitions without a commit from empty ones")
    seen = owners_seen(group)
    without = [place for place in group.owned if last.ends.get(place) and place not in last.committed]
    if not without and (dark := [place for place in group.owned if place not in last.ends]):
        need_visible(group)
        end_unknown(f"the leaders of {first_names(dark)} did not answer", "run it again when they do")
    text = f"records were written, and no offset is committed of {first_names(without)}"
    ok = "every partition with an owner and records has a committed offset"
    return observe(without, text, ok, evidence(seen, _offsets_seen(group, last.ends)))


def expiring_check(group: Examination, _: Limits) -> Observation:
    """Look for committed offsets that a broker will delete because the group has no members.

    Offsets of topics that members subscribe to do not expire (KIP-211). The time until offsets expire
    (`offsets.retention.minutes`) begins when a classic group becomes empty. For a group of the consumer
    protocol (KIP-848) it begins when each offset is committed. In Kafka's code, each kind of group has its
    own method `offsetExpirationCondition` for this.
    """
    if group.state.members:
        topics = group.read_topics
        if not topics:
            end_unknown("the source does not show what members subscribe to", AGAIN)
        text = f"offsets of {count(len(topics), 'topic')} that members read do not expire while they do"
        return Observation(False, text, evidence(members_seen(group)))
    known_status(group)
    minutes = "offsets.retention.minutes"
    retention_ms = need(group.retention_ms, f"no broker says what {minutes} is", _retention_remedy(group))
    since = {"classic": "the last one left", "consumer": "each was committed"}
    begins = since.get(group.state.protocol or "", " or, under the consumer protocol, ".join(since.values()))
    text = f"no member is there; offsets expire {duration(retention_ms)} after {begins}"
    ground = evidence(f"members in {group.where}: none", f"{minutes} of the coordinator")
    return Observation(True, f"{text}, and when that was is unknown", ground)


def _retention_remedy(group: Examination) -> str:
    """Return the remedy for an unknown time after which offsets expire."""
    return ASK if group.last is None else "give this user DESCRIBE_CONFIGS on the cluster"
