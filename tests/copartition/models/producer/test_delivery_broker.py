"""Real producers under faults of single requests come to what the model says, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.delivery import cells, transactions
from benchmarks.delivery.cells import Cell, classes, measure, predict
from benchmarks.delivery.producers import Java, Librdkafka
from copartition.models import DeliverySettings
from tests.support.broker import Broker, Kafka
from tests.support.proxy import Proxy
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.jvm

# The default times of producers are long enough for a busy machine. Every fault ends its connection, so no
# producer waits for them.
SAFE = DeliverySettings()
PLAIN = DeliverySettings(enable_idempotence=False)
ONE = DeliverySettings(enable_idempotence=False, max_in_flight_requests_per_connection=1)
UNASKED = DeliverySettings(enable_idempotence=False, acks="0")
ONCE = DeliverySettings(enable_idempotence=False, retries=0)


@pytest.fixture(autouse=True)
def _slow_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine, too, sends the requests of a pipeline before the first answer comes."""
    monkeypatch.setattr(cells, "ROUND_TRIP_MS", 500.0)


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with Proxy() as own:
        yield own


@pytest.fixture(scope="module")
def kafka(proxy: Proxy) -> Iterator[Kafka]:
    with Broker(proxy.listeners) as own:
        yield Kafka(own.bootstrap_servers)


@pytest.fixture(scope="module")
def producers() -> Iterator[dict[str, Java | Librdkafka]]:
    both = {"java": Java(), "librdkafka": Librdkafka()}
    yield both
    for producer in both.values():
        producer.close()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("client", "settings", "fault", "expected"),
    sample(
        [
            ("java", SAFE, "refused, then acknowledgement lost", set()),
            ("java", PLAIN, "acknowledgement lost", {"twice", "out of order"}),
            ("java", ONE, "acknowledgement lost", {"twice"}),
            ("java", PLAIN, "request lost", {"out of order"}),
            ("java", ONCE, "acknowledgement lost", {"failed", "failed but written"}),
            ("java", UNASKED, "refused", {"lost"}),
            ("librdkafka", SAFE, "acknowledgement lost", set()),
            ("librdkafka", SAFE, "first refused", {"lost"}),
            ("librdkafka", PLAIN, "acknowledgement lost", {"twice"}),
            ("librdkafka", ONE, "refused", {"out of order"}),
        ],
        before_ci=3,
    ),
)
def test_a_producer_comes_to_what_the_model_says(
    proxy: Proxy,
    kafka: Kafka,
    producers: dict[str, Java | Librdkafka],
    client: str,
    settings: DeliverySettings,
    fault: str,
    expected: set[str],
) -> None:
    cell = Cell(client, settings, fault)  # type: ignore[arg-type]
    predicted, seen = (
        classes(outcomes) for outcomes in (predict(cell), measure(cell, producers[client], proxy, kafka))
    )
    assert predicted.keys() == seen.keys() == expected


@pytest.mark.slow
@pytest.mark.parametrize("cell", [transactions.SECOND, transactions.ANSWER_LOST])
def test_a_transaction_ends_as_the_simulation_says(proxy: Proxy, kafka: Kafka, cell: str) -> None:
    assert transactions.measure(cell, proxy, kafka)["aborted"] == transactions.predict(cell)["aborted"]
