"""Price orders, exactly once: each has its price once, whatever dies meanwhile.

Run it several times, each with an instance name of its own, and under whatever starts a process that ends
with an error again (systemd, Kubernetes, a shell loop):

    python examples/read_process_write.py orders priced --group pricing --instance 0 --servers localhost:9092

The topics `orders`, `priced` and `priced-dead` exist. docs/read-process-write.md explains each part.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
from threading import Event
from typing import TYPE_CHECKING

from partitioning.clients.read_process_write import ProducerRecord, read_process_write

if TYPE_CHECKING:
    from confluent_kafka import Message


def price(value: bytes) -> bytes:
    """An order, priced: `{"pieces": 3, "each": 5}`.

    Raises:
        ValueError: this is no order.
    """
    order = json.loads(value)
    try:
        return json.dumps({**order, "price": order["pieces"] * order["each"]}).encode()
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an order: {error!r}") from error


def main() -> None:
    """Read the command line, and run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    for name in ("--group", "--instance", "--servers"):
        parser.add_argument(name, required=True)
    found = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    stopping = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())

    def process(message: Message) -> list[ProducerRecord]:
        return [ProducerRecord(found.target, price(message.value() or b""), message.key())]

    servers = {"bootstrap.servers": found.servers}
    read_process_write(
        [found.source],
        process,
        consumer_config=servers | {"group.id": found.group},
        producer_config=servers | {"transactional.id": f"{found.group}/{found.instance}"},
        partitioner="java",
        dead_letters=f"{found.target}-dead",
        stopping=stopping,
    )


if __name__ == "__main__":
    main()
