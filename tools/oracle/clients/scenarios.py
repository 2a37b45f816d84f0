"""What the Java producer's classes are asked, beside single keys: fixed scenarios, one list a golden file."""

import random
import string
from collections.abc import Iterator
from itertools import product
from typing import Any

from tools.oracle.clients.keys import hash_edges

Scenario = dict[str, Any]

INT_MAX = 2**31 - 1


def built_in() -> Iterator[Scenario]:
    """KIP-794 and its load statistics: what was appended and queued, which partition comes next."""
    rng = random.Random(1)
    yield {**_built_in(rng, 3), "batch_size": 0, "steps": []}
    for partitions, batch_size in product((1, 2, 3, 6, 12), (1, 100, 16384)):
        yield {**_built_in(rng, partitions), "batch_size": batch_size, "steps": _appends(rng, batch_size)}
    for leaderless in (1, 3, 5, 6):
        scenario = _built_in(rng, 6, leaderless=leaderless)
        yield {**scenario, "batch_size": 100, "steps": _appends(rng, 100)}
    for queue_sizes in _queue_sizes(rng):
        scenario = _built_in(rng, len(queue_sizes))
        yield {**scenario, "random": list(range(100)), "steps": _under_load(rng, scenario, queue_sizes)}
    for _ in range(60):
        partitions = rng.randrange(1, 13)
        racks = [rng.choice(("a", "b", "c", None)) for _ in range(4)]
        scenario = _built_in(rng, partitions, leaderless=rng.randrange(0, 3), racks=racks, client_rack="a")
        queue_sizes = [rng.randrange(5) for _ in range(partitions)]
        steps = _appends(rng, 100, 20) + _under_load(rng, scenario, queue_sizes) + _appends(rng, 100, 20)
        yield {**scenario, "steps": steps}


def accumulator() -> Iterator[Scenario]:
    """Records of given sizes through the producer's accumulator: partitions, batches, requests."""
    rng = random.Random(2)
    for partitions, batch_size, linger_ms in product((1, 2, 3, 6), (0, 128, 512, 16384), (0, 5)):
        yield _accumulator(rng, _built_in(rng, partitions), batch_size, linger_ms)
    for _ in range(40):
        scenario = _built_in(rng, rng.randrange(2, 7), leaderless=rng.randrange(0, 2), racks=[None] * 3)
        timeout_ms = rng.choice((0, 3, 20))
        yield _accumulator(rng, scenario, rng.choice((256, 1024)), 5, availability_timeout_ms=timeout_ms)
    for _ in range(20):
        scenario = _built_in(rng, rng.randrange(2, 7), racks=["a", "b", "a", None], client_rack="a")
        yield _accumulator(rng, scenario, rng.choice((256, 1024)), 5)


def round_robin() -> Iterator[Scenario]:
    """The order of a topic's partitions as the metadata leaves it, and RoundRobinPartitioner over it."""
    rng = random.Random(3)
    names = ("topic1", "orders", "t", "clicks", "payments.v2", "a-b_c", "AaBB", "x" * 249)
    for name, partitions in product(names, (1, 2, 3, 6, 10, 12, 16, 50)):
        yield _round_robin(rng, [_full([_topic(name, partitions)])])
    yield _round_robin(rng, [_full([_topic("events", 1000)])])
    yield _round_robin(rng, [_full([_topic("orders", 6)])], counter=INT_MAX - 3)
    yield _round_robin(rng, [_full([_topic("orders", 5)])], counter=-3)
    for leaderless in ([0], [2, 3], [0, 1, 2, 3, 4, 5]):
        yield _round_robin(rng, [_full([_topic("orders", 6, leaderless)])])
    for _ in range(120):
        yield _round_robin(rng, list(_random_updates(rng)))


def coordinator() -> Iterator[Scenario]:
    """Group and transactional ids, non-BMP ones included."""
    rng = random.Random(4)
    alphabets = (string.ascii_letters + string.digits + "-_.", "àéîøßñ", "한글日本", "😀𝒳𐍈\uff5e")
    ids = ["", "a", "console-consumer", "AaBB", "BBAa"]
    ids += [key.decode() for key in hash_edges()["java_string"].values()]
    drawn = ["".join(rng.choices(rng.choice(alphabets), k=rng.randrange(1, 40))) for _ in range(400)]
    yield {"op": "coordinator", "ids": [*ids, *drawn], "counts": [1, 3, 50, 64, 100]}


def sticky_cache() -> Iterator[Scenario]:
    """KIP-480: one partition until the producer reports a new batch."""
    rng = random.Random(5)
    for cls, partitions in product(("DefaultPartitioner", "UniformStickyPartitioner"), (1, 2, 3, 6, 12)):
        for leaderless in {0, 1, partitions - 1, partitions}:
            missing = set(rng.sample(range(partitions), min(leaderless, partitions)))
            order = rng.sample(range(partitions), partitions)
            yield {
                "op": "sticky_cache",
                "class": cls,
                "seed": rng.getrandbits(60),
                "partitions": [[partition, partition not in missing] for partition in order],
                "steps": [_sticky_step(rng, partitions) for _ in range(60)],
            }


def produce() -> Iterator[Scenario]:
    """RoundRobinPartitioner in a real producer; the topic is made before, the broker's address added."""
    rng = random.Random(6)
    for partitions, batch_size in product((1, 2, 3, 4, 6, 12), (1, 200, 1000, 16384)):
        for name, sizes in (
            ("same", [100] * 120),
            ("mixed", [rng.randrange(10, 400) for _ in range(120)]),
        ):
            topic = f"round-robin-{name}-{partitions}-{batch_size}"
            yield {"op": "produce", "topic": topic, "partitions": partitions, "batch_size": batch_size,
                   "value_sizes": sizes}  # fmt: skip


def _built_in(
    rng: random.Random,
    partitions: int,
    *,
    leaderless: int = 0,
    racks: list[str | None] | None = None,
    client_rack: str | None = None,
) -> Scenario:
    nodes = racks or [None]
    missing = set(rng.sample(range(partitions), min(leaderless, partitions)))
    order = rng.sample(range(partitions), partitions)
    return {
        "op": "built_in",
        "topic": "topic",
        "batch_size": 100,
        "client_rack": client_rack,
        "nodes": list(enumerate(nodes)),
        "partitions": [[p, None if p in missing else rng.randrange(len(nodes))] for p in order],
        "random": [rng.randrange(2**31) for _ in range(50)],
    }


def _appends(rng: random.Random, batch_size: int, count: int = 60) -> list[Scenario]:
    steps: list[Scenario] = []
    for _ in range(count):
        if rng.random() < 0.1:
            steps.append({"keyed": rng.randrange(2 * batch_size)})
        else:
            steps.append({"append": rng.randrange(0, 1 + batch_size * 6 // 5), "switch": rng.random() < 0.6})
    return steps


def _queue_sizes(rng: random.Random) -> Iterator[list[int]]:
    yield from ([0], [3], [0, 0], [1, 1, 1], [0, 3, 1], [5, 0, 3, 0, 1], [1, 7, 2], [0, 0, 0, 9], [1000, 0])
    for _ in range(40):
        yield [rng.choice((0, 0, 1, 2, 3, 10)) for _ in range(rng.randrange(2, 13))]


def _under_load(rng: random.Random, scenario: Scenario, queue_sizes: list[int]) -> list[Scenario]:
    """Statistics over all partitions, over fewer than all, over none, and no statistics."""
    racks = dict(scenario["nodes"])
    leaders = scenario["partitions"]
    load = {
        "queue_sizes": queue_sizes,
        "partition_ids": [partition for partition, _ in leaders],
        "racks": [racks.get(leader) for _, leader in leaders],
    }
    steps: list[Scenario] = []
    for length in sorted({len(queue_sizes), rng.randrange(1, len(queue_sizes) + 1), 0}, reverse=True):
        steps += [{"load": {**load, "length": length}}, {"picks": 40}]
    return [*steps, {"load": None}, {"picks": 10}]


def _accumulator(
    rng: random.Random,
    scenario: Scenario,
    batch_size: int,
    linger_ms: int,
    *,
    availability_timeout_ms: int = 0,
) -> Scenario:
    nodes = [node for node, _ in scenario["nodes"]]
    partitions = [partition for partition, _ in scenario["partitions"]]
    steps: list[Scenario] = []
    now = 1_000
    for _ in range(150):
        now += rng.choice((0, 0, 0, 1, 2))
        if rng.random() < 0.8:
            keyed = rng.random() < 0.3
            most = 2 * batch_size + 50 if rng.random() < 0.05 else batch_size // 3 + 20
            record = {
                "partition": rng.choice(partitions) if keyed else -1,
                "key": rng.randrange(0, 30) if keyed else None,
                "value": rng.randrange(min(most, 20_000)),
            }
            steps.append({"append": record, "at": now})
        elif rng.random() < 0.5:
            steps.append({"ready": True, "at": now})
        else:
            chosen = rng.sample(nodes, rng.randrange(1, len(nodes) + 1))
            steps += [{"latency": node, "can_drain": node in chosen, "at": now} for node in nodes]
            steps.append({"drain": sorted(chosen), "max_size": rng.choice((1_048_576, 400)), "at": now})
    return {
        **scenario,
        "op": "accumulator",
        "batch_size": batch_size,
        "linger_ms": linger_ms,
        "buffer_memory": 33_554_432,
        "adaptive": rng.random() < 0.8,
        "availability_timeout_ms": availability_timeout_ms,
        "steps": steps,
    }


def _topic(name: str, partitions: int, leaderless: list[int] | None = None) -> Scenario:
    missing = leaderless or []
    return {"name": name, "partitions": [[p, p not in missing] for p in range(partitions)]}


def _full(topics: list[Scenario]) -> Scenario:
    return {"partial": False, "topics": topics}


def _random_updates(rng: random.Random) -> Iterator[Scenario]:
    """A producer's life: a first topic, others one by one or with all the rest, growth, lost leaders."""
    known: dict[str, int] = {}
    for _ in range(rng.randrange(1, 7)):
        partial = bool(known) and rng.random() < 0.7
        asked = [f"{rng.choice(('orders', 'clicks', 'topic', 'a.b'))}{rng.randrange(1000)}"]
        if known and rng.random() < 0.4:
            asked.append(rng.choice(list(known)))
        for name in asked:
            known[name] = known.get(name, 0) + rng.choice((1, 2, 3, 6, 10, 12, 30))
        answered = asked if partial else rng.sample(list(known), len(known))
        yield {"partial": partial, "topics": [_worn_topic(rng, name, known[name]) for name in answered]}


def _worn_topic(rng: random.Random, name: str, partitions: int) -> Scenario:
    topic = _topic(name, partitions, [p for p in range(partitions) if rng.random() < 0.05])
    if rng.random() < 0.3:
        rng.shuffle(topic["partitions"])
    return topic


def _round_robin(rng: random.Random, updates: list[Scenario], counter: int | None = None) -> Scenario:
    names = list(dict.fromkeys(topic["name"] for update in updates for topic in update["topics"]))
    picks = [rng.choice(names) for _ in range(40)]
    counters = {} if counter is None else dict.fromkeys(names, counter)
    return {"op": "round_robin", "updates": updates, "ask": names, "counters": counters, "picks": picks}


def _sticky_step(rng: random.Random, partitions: int) -> Scenario:
    chance = rng.random()
    if chance < 0.3:
        return {"new_batch": None}
    if chance < 0.35:
        return {"new_batch": rng.randrange(partitions)}
    return {"key": None if chance < 0.85 else rng.randbytes(rng.randrange(0, 8)).hex()}
