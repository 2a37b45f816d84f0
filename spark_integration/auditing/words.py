"""An audit in words."""

from collections.abc import Sequence
from itertools import groupby

from pyspark.sql import DataFrame, Row

from partitioning.placement import partition_for_key
from partitioning.profiles import PROFILES

SURE = 0.999
"""Share of the keyed rows from which on a rule is said to have written them all but a few."""

LIKELY = 0.9


def audit_verdict(audited: DataFrame) -> str:
    """Who most likely wrote each topic, in a few sentences a topic.

    Args:
        audited: what `audit` returned; it is computed here.
    """
    rows = audited.orderBy("topic", "partition", "first_offset").collect()
    return "\n\n".join(
        _of_topic(topic, list(of_topic)) for topic, of_topic in groupby(rows, key=lambda row: row.topic)
    )


def _of_topic(topic: str, ranges: Sequence[Row]) -> str:
    name = f"Topic {topic}" if topic else "The topic"
    total, keyless = sum(r.rows for r in ranges), sum(r.keyless for r in ranges)
    partitions = len({r.partition for r in ranges})
    lines = [f"{name}: {total:,} records in {partitions} partitions, {keyless:,} of them without a key."]
    if total == keyless:
        return f"{lines[0]} Without keys nothing can be said."
    turns = _turns(ranges)
    explained, keyed = sum(r.explained for r in ranges), total - keyless
    share = explained / keyed
    certainty = ranges[0].certainty
    if certainty == "unknown":
        lines.append(
            "They do not tell whose rule placed them: there are too few different keys, or several rules "
            "explain them alike."
        )
    elif share < LIKELY or not turns:
        lines.append(
            f"No rule explains it: the best explain {share:.1%} of the keyed records. Clients of several "
            "kinds wrote at the same time, or partitions were chosen by hand, or a count was not tried."
        )
    else:
        lines.extend(_sentence(turn, [r for r in ranges if _rule(r) == turn]) for turn in turns)
        if len(turns) > 1:
            lines.append(
                "Records of one key from before and after a change of rule are in different partitions."
            )
    if certainty != "unknown" and share >= LIKELY and explained < keyed:
        strays = [(r.partition, offset) for r in ranges for offset in r.missed_offsets][:5]
        where = ", ".join(f"{partition}@{offset}" for partition, offset in strays)
        lines.append(f"{keyed - explained:,} records are elsewhere, for example (partition@offset) {where}.")
    if certainty != "unknown" and turns:
        lines.extend(_keyless(ranges, turns))
    if framed := ranges[0].forms.get("registry"):
        lines.append(
            f"{framed / keyed:.0%} of the keys begin as a schema registry's serializers write them (Avro, "
            "JSON Schema, Protobuf). The schema id is hashed too: with another id the same logical key goes "
            "to another partition."
        )
    return "\n".join(lines)


def _rule(row: Row) -> tuple[str, int]:
    return row.profile, row.num_partitions


def _turns(ranges: Sequence[Row]) -> list[tuple[str, int]]:
    """The rules in the order in which partitions met them."""
    place: dict[tuple[str, int], int] = {}
    for _, of_partition in groupby(ranges, key=lambda row: row.partition):
        for turn, row in enumerate(row for row in of_partition if row.profile):
            place[_rule(row)] = max(turn, place.get(_rule(row), 0))
    return sorted(place, key=lambda rule: place[rule])


def _sentence(rule: tuple[str, int], ranges: Sequence[Row]) -> str:
    profile, num_partitions = rule
    explained = sum(r.explained for r in ranges)
    keyed = sum(r.rows - r.keyless for r in ranges)
    others = [name for name in ranges[0].same_rule if name != profile]
    same = f" (the same for keyed records: {', '.join(others)})" if others else ""
    certainty = "was written" if explained >= SURE * keyed else "was most likely written"
    begin = {r.partition: r.first_offset for r in ranges if r.first_offset}
    shown = ", ".join(f"{partition}@{offset}" for partition, offset in list(begin.items())[:3])
    since = f" from (partition@offset) {shown}{' and so on' if len(begin) > 3 else ''} on" if begin else ""
    return (
        f"It {certainty}{since} by profile {profile!r} over {num_partitions} partitions, which explains "
        f"{explained:,} of {keyed:,} keyed records. {PROFILES[profile].client}{same}."
    )


def _keyless(ranges: Sequence[Row], turns: Sequence[tuple[str, int]]) -> list[str]:
    """What the records without a key tell the profiles of one rule apart by."""
    homes = {r.partition for r in ranges if r.keyless}
    profile, num_partitions = turns[-1]
    if len(homes) != 1 or sum(r.keyless for r in ranges) < 10:
        return []
    (home,) = homes
    hashing = [
        name
        for name in next(r.same_rule for r in ranges if r.profile == profile)
        if PROFILES[name].null == "empty" and partition_for_key(None, num_partitions, profile=name) == home
    ]
    if not hashing:
        return []
    return [
        (
            f"All records without a key are in partition {home}, where an empty key hashes, as "
            f"{', '.join(hashing)} does it."
        )
    ]
