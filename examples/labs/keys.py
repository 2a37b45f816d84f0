"""The same key always goes to one partition, as long as one client hashes it.

Two Python clients write the same keys: kafka-python hashes them as Java does (murmur2), confluent-kafka by
default as librdkafka does (crc32). Each keeps every key in one partition, and they disagree on which.
"""

from __future__ import annotations

from confluent_kafka import Producer
from kafka import KafkaProducer

from examples.labs.kit import Lab, Picture
from examples.labs.kit.segments import read
from partitioning import partition_for_key

PARTITIONS = 6
KEYS = [f"user-{number}" for number in range(12)]
TIMES = 3
CLIENTS = {"kafka-python": "java", "confluent-kafka": "librdkafka"}
"""The profile that models each client's default."""


def murmur2_by_hand(key: bytes) -> tuple[int, list[tuple[str, str]]]:
    """Kafka's murmur2 of a key, and what it is after each step; all numbers are 32 bits wide."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    steps = [("seed ^ length", f"{h:08x}")]
    whole = len(key) - len(key) % 4
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
        steps.append((f"after the bytes {key[at : at + 4].decode()!r}", f"{h:08x}"))
    if tail := key[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
        steps.append((f"after the rest {tail.decode()!r}", f"{h:08x}"))
    h = (h ^ h >> 13) * m & mask
    h ^= h >> 15
    return h, [*steps, ("after the last mixing", f"{h:08x}")]


def run(lab: Lab) -> None:
    key = KEYS[7].encode()
    h, steps = murmur2_by_hand(key)
    positive = h & 0x7FFFFFFF
    by_hand = positive % PARTITIONS
    steps += [
        ("without the sign: & 0x7fffffff", f"{positive:,}"),
        (f"modulo {PARTITIONS} partitions", str(by_hand)),
    ]
    lab.table(f"murmur2 of {key.decode()!r} by hand", ("step", "value"), steps)

    placed = {
        client: {name: partition_for_key(name.encode(), PARTITIONS, profile=profile) for name in KEYS}
        for client, profile in CLIENTS.items()
    }
    apart = sum(placed["kafka-python"][name] != placed["confluent-kafka"][name] for name in KEYS)
    lab.predict(
        {f"partition of {key.decode()}, by hand": by_hand}
        | {
            f"partitions of the {len(KEYS)} keys, {client}": list(placed[client].values())
            for client in CLIENTS
        }
        | {"keys on which the clients disagree": apart, "keys in two partitions of one client": 0}
    )

    topics = {client: lab.topic(PARTITIONS) for client in CLIENTS}
    java_like = KafkaProducer(bootstrap_servers=lab.cluster.kafka.bootstrap_servers)
    librdkafka = Producer(lab.servers)
    for _ in range(TIMES):
        for name in KEYS:
            java_like.send(topics["kafka-python"], key=name.encode(), value=b"")
            librdkafka.produce(topics["confluent-kafka"], key=name.encode(), value=b"")
    java_like.close()
    librdkafka.flush()

    logs = {client: _keys_by_partition(lab, topic) for client, topic in topics.items()}
    homes = {
        client: {name: [n for n, keys in enumerate(log) if name in keys] for name in KEYS}
        for client, log in logs.items()
    }
    lab.picture = Picture("Where two clients put the same 12 keys; both agree on the green ones")
    for client, log in logs.items():
        lab.picture.heading(f"{client} ({CLIENTS[client]})")
        for number, keys in enumerate(log):
            agreed = {name: homes["kafka-python"][name] == homes["confluent-kafka"][name] for name in keys}
            lab.picture.cells(
                f"partition {number}", [(name, 2 if same else 0) for name, same in agreed.items()]
            )
        lab.saw(f"partitions of the {len(KEYS)} keys, {client}", [homes[client][name][0] for name in KEYS])
    lab.saw(f"partition of {key.decode()}, by hand", homes["kafka-python"][key.decode()][0])
    lab.saw(
        "keys on which the clients disagree",
        sum(homes["kafka-python"][name] != homes["confluent-kafka"][name] for name in KEYS),
    )
    lab.saw(
        "keys in two partitions of one client",
        sum(len(home) != 1 for by_key in homes.values() for home in by_key.values()),
    )


def _keys_by_partition(lab: Lab, topic: str) -> list[list[str]]:
    servers = lab.cluster.kafka.bootstrap_servers
    logs = (read(servers, topic, number) for number in range(PARTITIONS))
    return [[(key or b"").decode() for batch in log.batches for key, _ in batch.records] for log in logs]
