"""A frozen producer wakes after its successor: with a transactional.id it is fenced, without both write.

The producer is a process of its own, `kit/frozen.py`: it is stopped amid its work, as by a long collection or
a frozen machine, and goes on when another one has taken its place.
"""

from __future__ import annotations

import signal
import subprocess
import sys

from copartition.models import ProducerState, SequencedBatch, Verdict
from examples.labs.kit import Lab, Picture, frozen
from examples.labs.kit import segments as seg
from tests.support.broker import dies_with_us


def run(lab: Lab) -> None:
    old, new, late = SequencedBatch(0, 0, 1), SequencedBatch(1, 0, 1), SequencedBatch(0, 1, 1)
    verdict, _ = ProducerState().receive(old)[1].receive(new)[1].receive(late)  # one id: the epoch tells
    alone, _ = ProducerState().receive(old)[1].receive(late)  # two ids: the leader knows each by itself
    words = {Verdict.INVALID_PRODUCER_EPOCH: "fenced", Verdict.APPENDED: "written"}
    lab.predict(
        {
            "with transactional.id: the woken producer": words[verdict],
            "with transactional.id: committed": ["new"],
            "with transactional.id: the successor's epoch is higher": True,
            "without: the woken producer": words[alone],
            "without: committed": ["old 1", "new", "old 2"],
        }
    )
    lab.picture = Picture("Who writes: a producer that froze, and its successor", label=150)
    for name, wanted in (("with transactional.id", True), ("without", False)):
        topic = lab.topic()
        lab.saw(f"{name}: the woken producer", overtake(lab, topic, topic if wanted else ""))
        servers = lab.cluster.kafka.bootstrap_servers
        committed = seg.read_settled(servers, topic).values
        log = seg.read(servers, topic)
        lab.saw(f"{name}: committed", committed)
        columns = ("offset", "producer id", "epoch", "sequence", "what")
        rows = [(*batch[:4], batch.control or batch.values) for batch in log.batches]
        lab.table(f"The segment {name}", columns, rows)
        cells = []
        for batch in log.batches:
            text = batch.control or batch.values[0]
            cells.append((f"{text} (epoch {batch.epoch})", -1 if batch.control else text.startswith("old")))
        lab.picture.cells(name, cells)
        lab.picture.cells("  committed", [(text, int(text.startswith("old"))) for text in committed])
        if wanted:
            epochs = {value: batch.epoch for batch in log.batches for value in batch.values}
            lab.saw(f"{name}: the successor's epoch is higher", epochs["new"] > epochs["old 1"])


def overtake(lab: Lab, topic: str, transactional_id: str) -> str:
    """What becomes of a producer that stands still while another one takes its place and writes."""
    servers = lab.cluster.kafka.bootstrap_servers
    command = [*dies_with_us(), sys.executable, frozen.__file__, servers, topic, transactional_id]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            successor = frozen.begin(servers, transactional_id)
            frozen.write(successor, topic, "new")
            if transactional_id:
                successor.commit_transaction(frozen.PATIENCE_S)
            process.send_signal(signal.SIGCONT)
            print("go on", file=process.stdin, flush=True)
            return process.stdout.readline().strip()
        finally:
            process.kill()
