"""A process that was forked from one with a producer."""

import pytest

from partitioning.clients import delivery
from partitioning.errors import DeliveryError


def test_a_forked_process_does_not_wait_for_what_its_parent_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    deliveries = delivery.Deliveries({}, DeliveryError)
    assert next(deliveries.waits(lambda _: 0, lambda: 3)) == 3
    monkeypatch.setattr(delivery.os, "getpid", lambda: -1)
    with pytest.raises(
        DeliveryError, match=r"^3 records belong to process \d+, from which this one was forked"
    ):
        list(deliveries.waits(lambda _: 0, lambda: 3))
