"""Decide how many consumers an autoscaler wants, as KEDA and Kubernetes do by the lag of a group."""

import math
from collections import deque

from copartition.simulation.inputs.events import Autoscaler

TOLERANCE = 0.1
"""Kubernetes' autoscaler does nothing if the lag is within this share of what the consumers stand for."""


class Scaler:
    """An autoscaler, with the numbers of consumers that it found right within its cool-down.

    `_recent` has pairs (time, number), times ascending and numbers descending: its first number is the
    highest within the cool-down, so each look takes constant time on average.
    """

    def __init__(self, event: Autoscaler) -> None:
        self._event = event
        # The highest number found within the cool-down, then the highest after that one, and so on.
        self._recent: deque[tuple[float, int]] = deque()

    def wanted_number(self, now_ms: float, lag: float, present: int, partitions: int) -> int:
        """Return how many consumers the autoscaler wants at a look, between `fewest` and `most` of its event.

        Args:
            now_ms: the time; it must not go back.
            lag: the records behind, over all partitions.
            present: the number of consumers that run, or will when what is planned is done.
            partitions: the number of partitions, at which KEDA cuts the lag off.
        """
        event, recent, most = self._event, self._recent, self._event.most
        wanted = lag / event.lag_per_consumer
        # KEDA's Kafka scaler cuts the lag before the tolerance is asked, and divides whole numbers for that:
        # of 12 partitions 12.9 thresholds of lag stay as they are, and 13 become 12. Otherwise 11 consumers
        # would become 12 here, and in reality stay 11 for ever.
        if wanted // 1 > partitions:
            wanted = partitions
        near = present > 0 and abs(wanted / present - 1) <= TOLERANCE
        number = min(present if near else math.ceil(wanted), most)
        # At the first look the group counts as rightly sized: it does not shrink before a whole cool-down is
        # over.
        if not recent:
            recent.append((now_ms, present))
        # A number that is no higher than the new one, and older, can never again be the highest of the
        # cool-down.
        while recent and recent[-1][1] <= number:
            recent.pop()
        recent.append((now_ms, number))
        while recent[0][0] < now_ms - event.cooldown_ms:
            recent.popleft()
        # Kubernetes scales down to the highest number of the cool-down only, and up at once, at most to
        # `allowed`.
        held = min(recent[0][1], present)
        allowed = max(2 * present, present + 4)
        return min(max(min(max(number, held), allowed), event.fewest), most)
