"""What will happen to a group, in order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assignors.simulation.inputs.durations import draw
from assignors.simulation.inputs.events import Join, Leave, Restart

if TYPE_CHECKING:
    from assignors.simulation.group.world import World
    from assignors.simulation.inputs.events import Primitive
    from assignors.simulation.inputs.scenario import Scenario


class Agenda:
    """The events of a scenario as what the simulated cluster knows."""

    def __init__(self, scenario: Scenario) -> None:
        random = np.random.Generator(np.random.Philox(key=[scenario.seed, 1]))
        consumers = {consumer.name: consumer for consumer in scenario.consumers}
        schedule: list[tuple[float, Primitive]] = []
        for event in scenario.events:
            if isinstance(event, Restart):
                consumer = consumers[event.consumer]
                back_ms = event.at_ms + draw(event.down_ms, random)
                if event.assignors is not None:
                    consumer = consumers[event.consumer] = replace(consumer, assignors=event.assignors)
                schedule.append((event.at_ms, Leave(event.at_ms, event.consumer)))
                schedule.append((back_ms, Join(back_ms, consumer)))
                continue
            if isinstance(event, Join):
                consumers[event.consumer.name] = event.consumer
            schedule.append((event.at_ms, event))
        self._schedule = sorted(schedule, key=lambda entry: entry[0])
        self._turn = 0

    def next_ms(self, world: World) -> float:
        """When something is to be looked at next; infinite where nothing is."""
        return self._schedule[self._turn][0] if self._turn < len(self._schedule) else math.inf

    def due(self, now_ms: float, world: World) -> list[Primitive]:
        """What happens now."""
        first = self._turn
        while self._turn < len(self._schedule) and self._schedule[self._turn][0] <= now_ms:
            self._turn += 1
        return [event for _, event in self._schedule[first : self._turn]]
