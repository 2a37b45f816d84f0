"""Consume, process, produce, with kills: doubled without transactions, once with them.

The loop is a process of its own, `kit/loop.py`. It kills itself where it hurts: what it made is written,
where it stopped reading is not committed. It is started again until it has read all.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Producer

from assignors import Topic
from copartition import Scenario, simulate
from copartition.simulation import Consumer as Simulated
from copartition.simulation import Crash, Join, Load
from examples.labs.kit import Lab, Picture, loop
from examples.labs.kit import segments as seg
from tests.support.broker import dies_with_us

BATCH, KILLS = loop.BATCH, 3
RECORDS = 6 * BATCH


def run(lab: Lab) -> None:
    servers, source = lab.cluster.kafka.bootstrap_servers, lab.topic()
    producer = Producer(lab.servers)
    for number in range(RECORDS):
        producer.produce(source, str(number))
    producer.flush(loop.PATIENCE_S)
    doubles = {"without transactions": KILLS * BATCH, "with transactions": 0}
    lab.predict(
        {f"{how}: the simulation expects doubles": _expects_doubles(how) for how in doubles}
        | {f"{how}: records doubled": count for how, count in doubles.items()}
        | {f"{how}: records missing": 0 for how in doubles}
    )
    targets = {how: lab.topic() for how in doubles}
    with ThreadPoolExecutor(2) as both:
        runs = [
            both.submit(follow, servers, source, target, "no" if how.startswith("without") else "yes")
            for how, target in targets.items()
        ]
        for future in runs:
            future.result()
    lab.picture = Picture(
        f"{RECORDS} records in batches of {BATCH}, the loop killed {KILLS} times", label=170
    )
    rows = []
    for how, target in targets.items():
        values = seg.read_settled(servers, target).values
        times = Counter(int(value.split()[0]) for value in values)
        doubled = sum(count - 1 for count in times.values())
        lab.saw(f"{how}: the simulation expects doubles", bool(doubled))
        lab.saw(f"{how}: records doubled", doubled)
        lab.saw(f"{how}: records missing", RECORDS - len(times))
        rows.append((how, len(seg.read(servers, target).values), len(values), doubled))
        lab.picture.cells(
            how,
            [
                (f"{first} to {first + BATCH - 1}: {times[first]}", 5 if times[first] > 1 else 0)
                for first in range(0, RECORDS, BATCH)
            ],
        )
    columns = ("", "records in the segment", "of which readers of committed ones see", "doubled")
    lab.table("What the loop wrote", columns, rows)


def follow(servers: str, source: str, target: str, transactions: str) -> None:
    """Start the loop again and again; each of the first ones dies in its second round."""
    program = [*dies_with_us(), sys.executable, loop.__file__, servers, source, target, str(RECORDS)]
    for life in range(KILLS + 1):
        dies = 2 if life < KILLS else 0
        code = subprocess.run([*program, transactions, str(dies)], timeout=300, check=False).returncode
        assert code == (-signal.SIGKILL if dies else 0), f"the loop ended with {code}"


def _expects_doubles(how: str) -> bool:
    """Whether a consumer that dies amid its work doubles something in the simulation."""
    scenario = Scenario(
        (Topic("t", 1),),
        (Simulated("loop", static=True),),
        events=[
            Crash(at_ms=12_000, consumer="loop"),
            Join(at_ms=14_000, consumer=Simulated("loop", static=True)),
        ],
        load=Load(rate=100, transactions=not how.startswith("without")),
        until_ms=60_000,
    )
    return bool(simulate(scenario).summary.duplicates)
