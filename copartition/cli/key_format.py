"""The options that say how keys are decoded, for commands that read topics."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from copartition.topics.audit.decoding import KeyDecoder

PLAIN = ("string", "integer", "double")
WITH_REGISTRY = ("avro", "json-schema")


class KeyFormat:
    """How keys are decoded; asked for a topic, its decoder, or None where their bytes must do.

    Args:
        name: a format, None for none.
        registry: settings of the schema registry's client.
    """

    def __init__(self, name: str | None, registry: dict[str, str]) -> None:
        self.name = name
        self._settings = registry
        self._client: Any = None
        self._decoders: dict[str, KeyDecoder] = {}

    def __call__(self, topic: str) -> KeyDecoder | None:
        """The decoder of a topic's keys."""
        if self.name is None:
            return None
        from partitioning.kit.extras import needs  # noqa: PLC0415 - help and completion do without

        with needs("--key-format", "kafka"):
            from copartition.topics.audit.decoding import KeyDecoder, registry_client  # noqa: PLC0415
        if self._settings and self._client is None:
            self._client = registry_client(self._settings)
        return self._decoders.setdefault(topic, KeyDecoder(self.name, topic, self._client))

    def undecoded(self) -> Iterator[str]:
        """A line for each topic some of whose keys could not be decoded."""
        for topic, decoder in self._decoders.items():
            if decoder.undecoded:
                why, _ = decoder.undecoded.most_common(1)[0]
                yield f"{decoder.undecoded.total()} sampled keys of {topic} are compared as bytes: {why}"


def key_format_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options --key-format and --registry, got as one argument, `keys`."""

    @wraps(command)
    def formatted(*args: Any, key_format: str | None, registry: dict[str, str], **options: Any) -> None:
        if registry and key_format not in WITH_REGISTRY:
            raise click.UsageError(f"--registry is for --key-format {' or '.join(WITH_REGISTRY)}")
        if key_format in WITH_REGISTRY and "url" not in registry:
            raise click.UsageError(f"--key-format {key_format} needs the schema registry: --registry URL")
        command(*args, keys=KeyFormat(key_format, registry), **options)

    for option in (
        click.option(
            "--registry",
            callback=_registry,
            multiple=True,
            metavar="URL|KEY=VALUE",
            help="The schema registry, and settings of confluent-kafka's client of it; repeatable.",
        ),
        click.option(
            "--key-format",
            type=click.Choice([*PLAIN, *WITH_REGISTRY]),
            help="Decode sampled keys, to find those that say the same in other bytes.",
        ),
    ):
        formatted = option(formatted)
    return formatted


def _registry(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for text in given:
        if "://" in text.partition("=")[0]:
            settings["url"] = text
            continue
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is neither a URL nor KEY=VALUE", ctx, option)
        settings[name] = value
    return settings
