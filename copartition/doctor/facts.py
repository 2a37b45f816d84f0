"""Judge facts that every kind of group has: offsets that retention deletes, waiting times, and settings.

The functions take plain mappings, so that consumer groups, share groups and Streams groups are judged alike.
Partitions are (topic, number).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from copartition.doctor.observing import Observation, end_unknown, evidence, first_names, observe
from copartition.kit.evidence import Evidence
from copartition.kit.places import Place
from copartition.kit.words import count, duration

NEAR = 0.8
"""If more than this part of the kept records waits, retention is about to delete waiting records."""


class Retention(NamedTuple):
    """Holds the partitions whose unread records retention has deleted, or is about to delete.

    Attributes:
        lost: partition -> records that were deleted before they were read.
        near: partition -> the part of its kept records that waits, from 0 to 1, for partitions whose waiting
            records retention is about to delete.
    """

    lost: dict[Place, int]
    near: dict[Place, float]


def judge_kept(
    positions: Mapping[Place, int], starts: Mapping[Place, int], ends: Mapping[Place, int], least: int
) -> Retention:
    """Return the partitions of which retention has deleted unread records, or is about to delete them.

    Args:
        positions: partition -> the first offset that is not processed.
        starts: partition -> the offset of the oldest record that is kept.
        ends: partition -> the offset of the next record.
        least: the fewest waiting records with which a partition counts as near. In a topic that is all but
            empty, a single waiting record is everything that is kept.
    """
    lost = {
        place: starts[place] - offset
        for place, offset in positions.items()
        if place in starts and 0 <= offset < starts[place]
    }
    near = {}
    for place, offset in positions.items():
        start, end = starts.get(place, 0), ends.get(place, 0)
        # A start of 0 means that no record was ever deleted, so records may wait there without danger.
        if place not in lost and 0 < start <= offset and end - offset >= max(least, 1):
            part = (end - offset) / (end - start)
            if part > NEAR:
                near[place] = part
    return Retention(lost, near)


def observe_deleted(kept: Retention, ground: Evidence) -> Observation:
    """Return the observation about records that retention has deleted, or is about to delete.

    Args:
        kept: the affected partitions, see `judge_kept`. If records of some are lost, the near partitions are
            not named, because deleted records weigh more than those that can still be read.
        ground: the offsets that were compared.

    Returns:
        A fault if a partition is lost or near, else "ok". If partitions are only near, it is the case "near",
        which has its own advice.
    """
    if kept.lost:
        records = count(sum(kept.lost.values()), "record")
        text = f"{records} of {first_names(kept.lost)} were deleted before they were read"
        return Observation(True, text, ground)
    if kept.near:
        worst = max(kept.near, key=kept.near.__getitem__)
        text = (
            f"{kept.near[worst]:.0%} of the records that {first_names([worst])} keeps wait, and the oldest "
            f"are being deleted; so it is in {count(len(kept.near), 'partition')}"
        )
        return Observation(True, text, ground, "near")
    return Observation(False, "no record that waits was deleted", ground)


def observe_lag(
    lags: Mapping[Place, int], limit: int, need_lags: Callable[[], None], ground: Evidence, case: str
) -> Observation:
    """Return the observation about the records that wait; a fault if a partition has more than the limit.

    Args:
        lags: the known lags, in records; at least one.
        limit: the most records that may wait in a partition.
        need_lags: called before an "ok", which is about all partitions; ends the check as unknown if a lag is
            missing.
        ground: the evidence of the lags.
        case: the case of the advice for a fault.
    """
    above = [place for place, lag in lags.items() if lag > limit]
    if not above:
        need_lags()
    # A position beyond the end makes a negative lag. Such a lag counts as 0, because in the sum it would hide
    # records that wait in other partitions.
    total = sum(max(lag, 0) for lag in lags.values())
    worst = max(lags, key=lags.__getitem__)
    partitions = count(len(lags), "partition")
    text = f"{count(total, 'record')} wait, most in {first_names([worst])} ({max(lags[worst], 0):,})"
    fault = f"{text}; {len(above):,} of {partitions} above {limit:,}"
    return observe(above, fault, text if total else f"no record waits in {partitions}", ground, case)


def observe_waiting(
    waiting_ms: Mapping[Place, int],
    lags: Mapping[Place, int],
    limit_ms: float,
    need_lags: Callable[[], None],
) -> Observation:
    """Return the observation about the record that has waited longest; a wait above the limit is a fault.

    Args:
        waiting_ms: partition -> how long its oldest waiting record has waited, in milliseconds. It holds only
            partitions whose record could be read.
        lags: the lags that are known, in records; at least one is above 0.
        limit_ms: the longest time in milliseconds that is still healthy.
        need_lags: called before an "ok"; ends the check as unknown if a lag that counts is not known.

    Raises:
        UnknownError: no waiting record could be read; or no time is above the limit, and a lag or the time of
            another waiting record is not known.
    """
    if not waiting_ms:
        end_unknown(
            "no record that waits could be read for its time",
            "give this user READ on the topics, or run it again when their leaders answer",
        )
    ground = evidence(
        f"the time of the first waiting record of {count(len(waiting_ms), 'partition')}",
        assumed=["records carry the time at which they were written, and clocks agree"],
    )
    # Among equal times the highest partition is named, so that two runs with equal facts name the same one.
    longest_ms, place = max((waited_ms, place) for place, waited_ms in waiting_ms.items())
    text = f"the oldest record that is not read waits for {duration(longest_ms)}, in {first_names([place])}"
    if longest_ms > limit_ms:
        return Observation(True, text, ground)
    # One record that waits too long is enough for a fault. "ok" is about all partitions: it needs the times
    # of all of them.
    need_lags()
    _need_all_times(lags, waiting_ms)
    return Observation(False, text, ground)


def _need_all_times(lags: Mapping[Place, int], waiting_ms: Mapping[Place, int]) -> None:
    """End a check as unknown unless the time is known of each partition in which records wait."""
    dark = [place for place, lag in lags.items() if lag > 0 and place not in waiting_ms]
    if dark:
        what = f"since when records wait in {count(len(dark), 'partition')} is not known: {first_names(dark)}"
        end_unknown(what, "run it again when their leaders answer; only the longest lags are looked at")


class ClampedSetting(NamedTuple):
    """Describes a setting of a group that its brokers replace by their own limit (KIP-1240).

    Attributes:
        name: name of the setting.
        value: its value as it was set.
        used: the value that brokers use instead.
        limit: name of the broker's setting that is the limit.
    """

    name: str
    value: str
    used: str
    limit: str

    def __str__(self) -> str:
        return f"{self.name}={self.value} counts as {self.used}, the brokers' {self.limit}"


def find_clamped(settings: Mapping[str, str], limits: Mapping[str, str]) -> list[ClampedSetting]:
    """Return the settings of a group that are outside its brokers' limits; the brokers use the limit instead.

    A broker refuses to set a value outside its limits. But the limits may change after a value was set. Then
    the broker tells this only in its log, and still describes the setting with the value that was set.

    Args:
        settings: name -> value of the group's settings, such as share.record.lock.duration.ms.
        limits: name -> value of the brokers' settings, such as group.share.max.record.lock.duration.ms.
    """
    return [found for name, value in settings.items() for found in _clamps(name, value, limits)]


def _clamps(name: str, value: str, limits: Mapping[str, str]) -> Iterator[ClampedSetting]:
    """Yield the setting if a limit replaces its value."""
    kind, _, rest = name.partition(".")
    for side, limit_name in _limit_names(kind, rest):
        limit = limits.get(limit_name)
        if limit is None or not (value.lstrip("-").isdigit() and limit.isdigit()):
            continue
        if int(value) < int(limit) if side == "min" else int(value) > int(limit):
            yield ClampedSetting(name, value, limit, limit_name)
            return


def _limit_names(kind: str, rest: str) -> Iterable[tuple[str, str]]:
    """Yield ("min" or "max", name of the brokers' setting) for each possible limit of a group's setting."""
    for side in ("min", "max"):
        yield side, f"group.{kind}.{side}.{rest}"
        # Quirk: the limit for replicas has no "num." in its name: group.streams.max.standby.replicas.
        yield side, f"group.{kind}.{side}.{rest.removeprefix('num.')}"
