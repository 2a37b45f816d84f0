"""Every membership of a run: a member id, from its first join until the group drops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.simulation.inputs.events import Consumer


class Memberships:
    """Memberships by number; a consumer that is back with a new member id has a new one.

    Attributes:
        ids: member ids.
        serials: the number of each member id.
        consumers: the consumer of each, as it was configured when it joined.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.serials: dict[str, int] = {}
        self.consumers: list[Consumer] = []
        self._number = np.empty(64, np.int32)
        self._incarnations: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def consumer(self) -> NDArray[np.int32]:
        """The number of the consumer behind each membership."""
        return self._number[: len(self.ids)]

    def add(self, number: int, consumer: Consumer) -> int:
        """A new membership of the consumer of this number."""
        serial = len(self.ids)
        if serial == len(self._number):
            self._number = np.resize(self._number, 2 * serial)
        self._number[serial] = number
        turn = self._incarnations[number] = self._incarnations.get(number, 0) + 1
        member_id = f"{consumer.name}#{turn}"
        self.ids.append(member_id)
        self.serials[member_id] = serial
        self.consumers.append(consumer)
        return serial
