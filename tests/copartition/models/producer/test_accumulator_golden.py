"""The accumulator takes, holds and hands out batches as Java's `RecordAccumulator` does, step by step.

Not modelled: how long the sender may sleep (`next_check_ms`); the model has an event for every batch instead.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from copartition.models import BatchingSettings
from copartition.models.producer.accumulator import Accumulator
from partitioning import TopicLayout
from partitioning.interface import NONE_AVAILABLE
from partitioning.record_size import payload_size
from partitioning.sticky import Sticky
from tests.support.tiers import sample
from tools.oracle.clients import golden

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

CASES = [(line["scenario"], line["answer"]) for line in golden.read("strategies/accumulator")]


class Ours:
    """An accumulator of ours with the scenario's clock and random numbers, and memory for every batch."""

    def __init__(self, scenario: Json, available: list[int]) -> None:
        racks, leaders = dict(scenario["nodes"]), dict(scenario["partitions"])
        leading = [leaders[partition] for partition in range(len(leaders))]
        layout = TopicLayout(
            len(leaders), available or NONE_AVAILABLE, [racks.get(leader) for leader in leading]
        )
        numbers = cycle(scenario["random"])
        sticky = Sticky(
            batch_size=max(1, scenario["batch_size"]),
            client_rack=scenario["client_rack"],
            random=lambda _: lambda: self.draw(numbers),
        )
        settings = BatchingSettings(
            batch_size=scenario["batch_size"],
            linger_ms=scenario["linger_ms"],
            partitioner_adaptive_partitioning_enable=scenario["adaptive"],
            partitioner_availability_timeout_ms=scenario["availability_timeout_ms"],
        )
        self.drawn = self.now = 0
        self.accumulator = Accumulator(
            settings, leading, layout, sticky.for_topic(scenario["topic"]), lambda _: self.now
        )

    def draw(self, numbers: Iterator[int]) -> int:
        self.drawn += 1
        return next(numbers)

    def answer(self, step: Json) -> Json:
        self.now = step["at"]
        match step:
            case {"append": record}:
                key = -1 if record["key"] is None else record["key"]
                appended = self.accumulator.append(
                    record["partition"], payload_size(key, record["value"]), self.now
                )
                assert appended is not None
                return {
                    "partition": appended.batch.partition,
                    "new_batch": appended.opened,
                    "batch_is_full": appended.full,
                    "bytes": appended.added,
                    "drawn": self.drawn,
                }
            case {"ready": _}:
                return {"nodes": sorted(self.accumulator.ready(self.now))}
            case {"latency": node, "can_drain": can_drain}:
                self.accumulator.update_node_latency_stats(node, self.now, can_drain=can_drain)
                return {}
            case {"drain": nodes, "max_size": most}:
                return {"batches": {str(node): self.request(node, most) for node in nodes}}
        raise AssertionError(step)

    def request(self, node: int, most: int) -> list[Json]:
        return [
            {
                "partition": batch.partition,
                "records": batch.records,
                "bytes": batch.size,
                "created_at": batch.created_ms,
            }
            for batch in self.accumulator.drain(node, most)
        ]


@pytest.mark.parametrize("number", sample(range(len(CASES)), 3))
def test_every_step(number: int) -> None:
    scenario, answer = CASES[number]
    ours = Ours(scenario, answer["available"])
    for place, (step, java) in enumerate(zip(scenario["steps"], answer["steps"], strict=True)):
        expected = {name: value for name, value in java.items() if name != "next_check_ms"}
        assert ours.answer(step) == expected, f"step {place}: {step}"


def test_the_cases_cover_the_load_of_brokers() -> None:
    assert len(CASES) == 92
    assert {bool(scenario["availability_timeout_ms"]) for scenario, _ in CASES} == {False, True}
    assert {scenario["adaptive"] for scenario, _ in CASES} == {False, True}
