"""A topic grows from 4 to 6 partitions: most keys move, and a key that moves loses its order.

A hash modulo 4 and modulo 6 agree for a share of gcd(4, 6) / 6 = 1/3 of all hashes, so 2/3 of the keys move.
Their old records stay where they are: a reader that is slower on the old partition sees new before old.
A second topic gets the same records by a copy into 6 partitions before the new ones come, as `copartition
reshape` does it: there each key is in one partition, in order.
"""

from __future__ import annotations

from confluent_kafka import Producer

from copartition.reshape.switch import HEADER
from examples.labs.kit import Between, Lab, Picture
from examples.labs.kit.segments import read
from partitioning import expected_share, grow, partition_batch

BEFORE, AFTER = 4, 6


def run(lab: Lab) -> None:
    count = 300 if lab.short else 3_000
    keys = [f"user-{number}" for number in range(count)]
    encoded = [key.encode() for key in keys]
    growth = grow(encoded, BEFORE, AFTER)
    old, new = (partition_batch(encoded, size).tolist() for size in (BEFORE, AFTER))
    law = expected_share(BEFORE, AFTER)
    # Four standard deviations of the share among so many keys, were each hash drawn by chance.
    margin = 4 * (law * (1 - law) / count) ** 0.5
    traveller = next(number for number in range(count) if old[number] != new[number])
    lab.say(growth.warning)
    lab.predict(
        {
            f"keys of {count:,} that move": growth.moving,
            "share that moves, by the law 1 - gcd(4, 6)/6": Between(
                round(law - margin, 3), round(law + margin, 3)
            ),
            "partitions of the first key that moves": [old[traveller], new[traveller]],
            "that key's records, read from the new partition first": [3, 4, 5, 0, 1, 2],
            "records of a key that stays, out of order": 0,
            "partitions of the first key that moves, in the reshaped topic": [new[traveller]],
            "keys of the reshaped topic whose records are not 0 to 5, in order": 0,
        }
    )

    topic = lab.topic(BEFORE)
    _send(lab, topic, encoded, [0, 1, 2])
    reshaped = lab.topic(AFTER)
    _copy(lab, topic, reshaped)
    lab.cluster.kafka.grow_topic(topic, AFTER)
    for name in (topic, reshaped):
        _send(lab, name, encoded, [3, 4, 5])  # a new producer, which knows of all six

    found, kept = (_numbers(lab, name, keys) for name in (topic, reshaped))
    moved = [key for key in keys if len(found[key]) > 1]
    lab.saw(f"keys of {count:,} that move", len(moved))
    lab.saw("share that moves, by the law 1 - gcd(4, 6)/6", len(moved) / count)
    home = found[keys[traveller]]
    order = sorted(home, key=lambda partition: home[partition])
    lab.saw("partitions of the first key that moves", order)
    lab.saw(
        "that key's records, read from the new partition first",
        [number for partition in reversed(order) for number in home[partition]],
    )
    lab.saw("partitions of the first key that moves, in the reshaped topic", [*kept[keys[traveller]]])
    lab.saw(
        "keys of the reshaped topic whose records are not 0 to 5, in order",
        sum([*places.values()] != [[*range(6)]] for places in kept.values()),
    )
    stays = [records for key in keys if len(found[key]) == 1 for records in found[key].values()]
    lab.saw("records of a key that stays, out of order", sum(records != sorted(records) for records in stays))

    lab.table(
        "Other growths: the law holds for every pair, not only for doubling",
        ("from", "to", "1 - gcd/to", f"of these {count:,} keys", "least that any even rule moves"),
        [
            (n, m, expected_share(n, m), grow(encoded, n, m).share, 1 - n / m)
            for n, m in ((4, 6), (4, 8), (6, 12), (12, 13), (12, 16), (10, 100))
        ],
    )
    lab.picture = Picture(f"Records of some keys before (0 1 2) and after (3 4 5) the topic grew to {AFTER}")
    stayed = [key for key in keys if len(found[key]) == 1]
    for key in sorted([*moved[:6], *stayed[:3]], key=keys.index):
        parts = sorted(found[key].items(), key=lambda item: item[1])
        cells = [(f"p{partition}: {' '.join(map(str, numbers))}", partition) for partition, numbers in parts]
        lab.picture.cells(key, cells, "moved: order lost" if len(parts) > 1 else "stays")
    for key in sorted(moved[:3], key=keys.index):
        ((partition, numbers),) = kept[key].items()
        cells = [(f"p{partition}: {' '.join(map(str, numbers))}", partition)]
        lab.picture.cells(key, cells, "reshaped: in order")


def _send(lab: Lab, topic: str, keys: list[bytes], numbers: list[int]) -> None:
    producer = Producer(lab.servers | {"partitioner": "murmur2_random"})
    for number in numbers:
        for key in keys:
            producer.produce(topic, key=key, value=b"%d" % number)
            producer.poll(0)
    producer.flush()


def _copy(lab: Lab, topic: str, target: str) -> None:
    """Copy a topic into one of `AFTER` partitions: each old one in its order, to where the rule says."""
    producer = Producer(lab.servers)
    for partition in range(BEFORE):
        offset = 0
        for batch in read(lab.cluster.kafka.bootstrap_servers, topic, partition).batches:
            homes = partition_batch([key for key, _ in batch.records], AFTER).tolist()
            for home, (key, value) in zip(homes, batch.records, strict=True):
                origin = [(HEADER, b"%d:%d" % (partition, offset))]
                producer.produce(target, key=key, value=value, partition=home, headers=origin)
                producer.poll(0)
                offset += 1
    producer.flush()


def _numbers(lab: Lab, topic: str, keys: list[str]) -> dict[str, dict[int, list[int]]]:
    """The numbers of each key's records, by partition and in its order."""
    found: dict[str, dict[int, list[int]]] = {key: {} for key in keys}
    for partition in range(AFTER):
        for batch in read(lab.cluster.kafka.bootstrap_servers, topic, partition).batches:
            for key, value in batch.records:
                found[(key or b"").decode()].setdefault(partition, []).append(int(value or b""))
    return found
