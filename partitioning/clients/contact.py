"""The first question to a cluster, and why it sends a client away.

Spark's drivers may get this module by value.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import confluent_kafka  # the module, since its classes cannot be pickled

from partitioning.clients.refusal import protocol_fault, why_refused
from partitioning.errors import BrokerUnreachableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka import KafkaError

_FIRST_WAIT_S = 0.25
_FINAL = {"_AUTHENTICATION", "_SSL", "_RESOLVE"}
"""What another try does not mend: a wrong password, a certificate, a name that nobody knows."""


def cluster_metadata(
    client: Any,
    config: Mapping[str, Any],
    errors: Sequence[KafkaError],
    *,
    timeout_s: float,
    patience_s: float | None = None,
    topic: str | None = None,
) -> Any:
    """The brokers and the topics that this client may see, or at once why it may not come in.

    librdkafka tries again and again, whatever it hears, until the time is up; this listens in between.

    Args:
        client: a producer, consumer or admin client, as yet unused.
        config: its settings.
        errors: what its `error_cb` was called with, so far and from now on.
        timeout_s: how long to wait for a cluster that says nothing.
        patience_s: how long to wait for one whose brokers are down or hang up; None for as long.
        topic: the only topic to ask for; it is created where brokers do so and the client's setting
            `allow.auto.create.topics`, which is true for a producer, is not false.

    Raises:
        BrokerUnreachableError: nobody answers; the message says why, and which settings to look at.
    """
    begun = time.monotonic()
    wait_s = _FIRST_WAIT_S
    while True:
        left_s = timeout_s - (time.monotonic() - begun)
        try:
            return client.list_topics(topic, timeout=max(min(wait_s, left_s), 0.001))
        except confluent_kafka.KafkaException as error:
            client.poll(0)
            final = [each for each in errors if each.name() in _FINAL]
            passed_s = time.monotonic() - begun
            impatient = patience_s is not None and errors and passed_s >= patience_s
            if final or impatient or passed_s >= timeout_s or protocol_fault(errors, config):
                why = why_refused(final or errors or [error.args[0]], config)
                raise BrokerUnreachableError(why) from error
            # A call that fails at once would turn this into a busy loop.
            time.sleep(min(0.05, max(timeout_s - passed_s, 0)))
            wait_s *= 2
