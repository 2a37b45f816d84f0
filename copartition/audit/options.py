"""Define the options of commands that read topics: which records to read, and how to decode keys.

`audit`, and other commands that read topics, get two arguments from them: `selection`, a `Selection`, and
`keys`, a `KeyTypeChoice`. Neither needs confluent-kafka before it is used, so help, completion and errors of
options work without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from copartition.shell.options import one_argument

if TYPE_CHECKING:
    from copartition.audit.decoder import KeyDecoder
    from copartition.audit.topic_audit import Selection


_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST = 1_000_000


def _choose_records(
    *, full: bool, last: int | None, since: int | None, partitions: tuple[int, ...] | None, isolation: str
) -> Selection:
    """Return the selection that the options mean together.

    Args:
        full: `--full`.
        last: `--last`, offsets of each partition.
        since: `--since`, milliseconds since 1970.
        partitions: `--only-partitions`.
        isolation: `--isolation`.

    Raises:
        UsageError: more than one of full, last and since is given; the message names the options.
    """
    if full + (last is not None) + (since is not None) > 1:
        raise click.UsageError("--full, --last and --since exclude each other; give one")
    from copartition.audit.topic_audit import Selection  # noqa: PLC0415 - unused by --help

    return Selection(full, last, since, partitions, isolation == "read-committed")


def _partitions(ctx: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """Return the partitions of a list such as 0,3-5, in its order; None if none is given.

    Whether the topic has them is known only when it is read.

    Raises:
        BadParameter: a part is neither a number nor a range.
    """
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        # Text that is no range becomes the empty range from 1 to 0, so that one error below serves both.
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first or last > _MOST:
            raise click.BadParameter(f"{part!r} is no partition and no range such as 3-5", ctx, option)
        numbers.extend(range(first, last + 1))
    return tuple(numbers)


def _since(ctx: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Return a time as milliseconds since 1970; a time without a zone is UTC.

    Raises:
        BadParameter: the text is no time of ISO 8601.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time such as 2026-01-31T12:00", ctx, option) from None
    if moment.tzinfo is None:
        # The time is not taken as one in the machine's zone: Kafka's timestamps have no zone, and a script
        # must mean the same time on every machine.
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


PLAIN = ("string", "short", "integer", "long", "float", "double", "uuid", "json", "protobuf")
WITH_REGISTRY = ("avro", "jsonschema")


class KeyTypeChoice:
    """Returns the decoder of a topic's keys if it is called with the topic; None if bytes are compared.

    Decoders are kept by topic, so that `tell_undecoded` can report on all of them at the end. All decoders
    share one client of the registry.

    Args:
        key_type: one of `KEY_TYPES`; None to compare bytes.
        registry: settings of the schema registry's client; empty without one.

    Raises:
        UsageError: a format with a schema lacks the registry's URL, or a registry is given that no format
            needs.
    """

    def __init__(self, key_type: str | None, registry: dict[str, str]) -> None:
        if registry and key_type not in WITH_REGISTRY:
            raise click.UsageError(f"--registry is for --key-type {' or '.join(WITH_REGISTRY)}")
        if key_type in WITH_REGISTRY and "url" not in registry:
            raise click.UsageError(f"--key-type {key_type} needs the schema registry: --registry URL")
        self.name = key_type
        self._settings = registry
        self._client: Any = None
        self._decoders: dict[str, KeyDecoder] = {}

    def __call__(self, topic: str) -> KeyDecoder | None:
        """Return the decoder of a topic's keys."""
        if self.name is None:
            return None
        from partitioning.kit.packages import needs  # noqa: PLC0415 - unused by --help

        with needs("--key-type", "kafka"):
            from copartition.audit.decoder import KeyDecoder, registry_client  # noqa: PLC0415
        # There is one client for all topics, because it keeps the schemas that it has asked for.
        if self._settings and self._client is None:
            self._client = registry_client(self._settings)
        return self._decoders.setdefault(topic, KeyDecoder(self.name, topic, self._client))

    def tell_undecoded(self) -> Iterator[str]:
        """Yield a line for each topic that has keys which could not be decoded."""
        for topic, decoder in self._decoders.items():
            if decoder.undecoded:
                why, _ = decoder.undecoded.most_common(1)[0]
                yield f"{decoder.undecoded.total()} sampled keys of {topic} are compared as bytes: {why}"


def _registry(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return settings of the schema registry's client: a URL becomes `url`, anything else is KEY=VALUE.

    A URL may have an equals sign in its query, and a setting's value may be a URL. So the text before the
    first equals sign decides.

    Raises:
        BadParameter: a value is neither a URL nor KEY=VALUE.
    """
    settings = {}
    for text in values:
        if "://" in text.partition("=")[0]:
            settings["url"] = text
            continue
        # A value may contain equals signs, as passwords do, so only the first one separates.
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is neither a URL nor KEY=VALUE", ctx, option)
        settings[name] = value
    return settings


reading_options = one_argument(
    "selection",
    _choose_records,
    click.option("--full", is_flag=True, help="Read every record instead of a sample."),
    click.option(
        "--last", type=click.IntRange(1), metavar="N", help="Read the last N offsets of each partition."
    ),
    click.option(
        "--since",
        callback=_since,
        metavar="TIME",
        help="Read records with timestamps from this time on, such as 2026-01-31T12:00, which is in UTC.",
    ),
    click.option(
        "--only-partitions",
        "partitions",
        callback=_partitions,
        metavar="0,3-5",
        help="Read only these partitions.",
    ),
    click.option(
        "--isolation",
        type=click.Choice(["read-uncommitted", "read-committed"]),
        default="read-uncommitted",
        show_default=True,
        help="read-committed leaves out records of open and aborted transactions.",
    ),
)
"""The options that select records; a command gets them as one argument, `selection`."""

key_type_options = one_argument(
    "keys",
    KeyTypeChoice,
    click.option(
        "--key-type",
        type=click.Choice([*PLAIN, *WITH_REGISTRY]),
        help="How to decode sampled keys, to find equal keys with different bytes. protobuf: messages are "
        "compared without the schema ids in front of them.",
    ),
    click.option(
        "--registry",
        callback=_registry,
        multiple=True,
        metavar="URL|KEY=VALUE",
        help="The URL of the schema registry, or a setting of confluent-kafka's registry client; repeatable.",
    ),
)
"""The options of decoding keys; a command gets them as one argument, `keys`."""
