"""Settings as Java's clients have them, for a command: as librdkafka has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_WITHOUT_EFFECT = frozenset(
    {
        "auto.include.jmx.reporter",
        "auto.offset.reset",
        "buffer.memory",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "fetch.max.wait.ms",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.request.size",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "partitioner.class",
        "receive.buffer.bytes",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "value.deserializer",
        "value.serializer",
    }
)
"""What Java clients have and librdkafka has not, or has with other values, and who only asks does without."""


def librdkafka_settings(config: Mapping[str, str]) -> dict[str, str]:
    """These settings, each that Java's clients have under the name and with the value that librdkafka wants.

    What librdkafka knows under its own name wins over what is translated.

    Raises:
        click.BadParameter: something that decides who we are or whom we trust cannot be translated.
    """
    try:
        return librdkafka_security(
            {name: value for name, value in config.items() if name not in _WITHOUT_EFFECT}
        )
    except InvalidConfigError as error:
        raise click.BadParameter(str(error), param_hint="--command-config") from None
