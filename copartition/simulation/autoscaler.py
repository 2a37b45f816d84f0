"""Decide how many consumers an autoscaler wants, as KEDA and Kubernetes do by the lag of a group."""

import math
from collections import deque

from copartition.simulation.inputs.events import Autoscaler

TOLERANCE = 0.1
"""Kubernetes' autoscaler changes nothing if wanted / present consumers differs from 1 by at most this."""


class Scaler:
    """An autoscaler, which remembers the numbers of consumers that it wanted within its cool-down.

    `_recent` has pairs (time, number), times ascending and numbers descending. Its first number is the
    highest of the cool-down, so each look takes constant time on average.
    """

    def __init__(self, event: Autoscaler) -> None:
        self._event = event
        # The highest number wanted within the cool-down, then the highest wanted after that one, and so on.
        self._recent: deque[tuple[float, int]] = deque()

    def wanted_number(self, now_ms: float, lag: float, present: int, partitions: int) -> int:
        """Return how many consumers the autoscaler wants at a look, between `fewest` and `most` of its event.

        Args:
            now_ms: the time; it must not go back.
            lag: the records behind, summed over all partitions.
            present: the number of consumers that run after all planned steps.
            partitions: the number of partitions. KEDA wants no more consumers than this.
        """
        event, recent, most = self._event, self._recent, self._event.most
        wanted = lag / event.lag_per_consumer
        # KEDA's Kafka scaler limits the lag before Kubernetes compares it with the tolerance, and divides
        # whole numbers to do so. With 12 partitions, a lag of 12.9 thresholds stays 12.9, and a lag of 13
        # thresholds becomes 12. Without this step a group of 11 consumers would grow to 12 here, while in
        # reality it stays at 11 forever.
        if wanted // 1 > partitions:
            wanted = partitions
        near = present > 0 and abs(wanted / present - 1) <= TOLERANCE
        number = min(present if near else math.ceil(wanted), most)
        # At the first look the number of consumers counts as right, so the group does not shrink before one
        # whole cool-down is over.
        if not recent:
            recent.append((now_ms, present))
        # An older number that is no higher than the new one can never again be the highest of the cool-down.
        while recent and recent[-1][1] <= number:
            recent.pop()
        recent.append((now_ms, number))
        while recent[0][0] < now_ms - event.cooldown_ms:
            recent.popleft()
        # Kubernetes scales down only to the highest number of the cool-down. It scales up at once, but at
        # most to `allowed`.
        held = min(recent[0][1], present)
        allowed = max(2 * present, present + 4)
        return min(max(min(max(number, held), allowed), event.fewest), most)
