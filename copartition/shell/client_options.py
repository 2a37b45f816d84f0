"""The options -b, -X, --command-config and --cluster: a client's settings, never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from copartition.shell.options import one_argument
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import InvalidConfigError, SourceError

if TYPE_CHECKING:
    from copartition.shell.options import Decorator


SERVERS = "KAFKA_BOOTSTRAP_SERVERS"
CLUSTERS = "~/.config/copartition/clusters.properties"

# Java's Properties: the key ends at the first "=", ":" or blank that no backslash precedes.
_PAIR = r"(?s)((?:\\.|[^\\=:\s])+)(?:\s*[=:]\s*|\s+(?=\S))(.*)"
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.))"
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def client_options(cluster: str) -> Decorator:
    """Return the options -b, whose help names `cluster`, -X, --command-config, --cluster.

    One argument `config`.
    """
    return one_argument(
        "config",
        client_settings,
        click.option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT",
            help=f"{cluster} By default what {SERVERS} names.",
        ),
        click.option(
            "-X", "settings", multiple=True, metavar="KEY=VALUE", help="A client setting; repeatable."
        ),
        click.option(
            "--command-config",
            type=click.Path(exists=True, dir_okay=False),
            help="A file of client settings, Java's or librdkafka's.",
        ),
        click.option(
            "--cluster",
            metavar="NAME",
            help=f"The settings NAME.bootstrap.servers, NAME.* in {CLUSTERS}.",
        ),
    )


def client_settings(
    bootstrap_server: str | None,
    settings: tuple[str, ...],
    command_config: str | None,
    cluster: str | None = None,
) -> dict[str, str]:
    """Return the settings of a named cluster, a file, `-X`, the server, as librdkafka names them.

    The last wins.

    Without a server among them KAFKA_BOOTSTRAP_SERVERS of the environment counts. Settings of Java's clients
    are translated as far as librdkafka can do the same; others raise `click.BadParameter`.
    """
    config = {} if cluster is None else _of_cluster(cluster)
    if command_config is not None:
        config |= _from_file(command_config, "--command-config")
    for number, setting in enumerate(settings, 1):
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise click.BadParameter(
                f"number {number} is not KEY=VALUE (not shown, it may hold a password)", param_hint="-X"
            )
        config[key.strip()] = value.strip()
    if bootstrap_server is not None:
        config["bootstrap.servers"] = bootstrap_server
    elif os.environ.get(SERVERS):
        config.setdefault("bootstrap.servers", os.environ[SERVERS])
    return librdkafka_settings(config)


def _of_cluster(name: str) -> dict[str, str]:
    """Return what follows `NAME.`, as MirrorMaker has the settings of its clusters in one file."""
    settings = _from_file(os.path.expanduser(CLUSTERS), "--cluster")  # noqa: PTH111 - help does without pathlib
    own = {key.removeprefix(f"{name}."): text for key, text in settings.items() if key.startswith(f"{name}.")}
    if not own:
        others = ", ".join(sorted({key.partition(".")[0] for key in settings})) or "none"
        raise click.BadParameter(
            f"{CLUSTERS} has no line {name}.bootstrap.servers=HOST:PORT; clusters there: {others}",
            param_hint="--cluster",
        )
    return own


def _from_file(path: str, option: str) -> dict[str, str]:
    from assignors.files import read_text  # noqa: PLC0415 - help and completion do without

    try:
        text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    except SourceError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=option) from None
    config = {}
    for number, line in _logical_lines(text):
        pair = re.fullmatch(_PAIR, line)
        if pair is None:
            raise click.BadParameter(
                f"{path}: line {number} is not KEY=VALUE or KEY: VALUE (not shown, it may hold a password)",
                param_hint=option,
            )
        config[_unescape(pair[1])] = _unescape(pair[2])
    return config


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, each with its number; a backslash at the end goes on with the next."""
    begun, first = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.lstrip()
        if not begun and (not line or line[0] in "#!"):
            continue
        first = first if begun else number
        begun += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield first, begun
        begun = ""
    if begun:
        yield first, begun


def _unescape(text: str) -> str:
    return re.sub(
        _ESCAPE, lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2]), text
    )


_WITHOUT_EFFECT = (
    "auto.include.jmx.reporter auto.offset.reset buffer.memory default.api.timeout.ms "
    "exclude.internal.topics fetch.max.wait.ms interceptor.classes key.deserializer key.serializer "
    "max.block.ms max.request.size metadata.max.idle.ms metric.reporters metrics.num.samples "
    "metrics.recording.level metrics.sample.window.ms partition.assignment.strategy partitioner.class "
    "receive.buffer.bytes send.buffer.bytes socket.connection.setup.timeout.max.ms "
    "ssl.enabled.protocols ssl.keymanager.algorithm ssl.protocol ssl.secure.random.implementation "
    "ssl.trustmanager.algorithm value.deserializer value.serializer"
)
"""What Java clients have and librdkafka has not, or has with other values, and who only asks does without."""


def librdkafka_settings(config: Mapping[str, str]) -> dict[str, str]:
    """Return settings of Java's clients under the names and with the values that librdkafka wants.

    A setting under librdkafka's own name wins over a translated one. A setting that decides who we are or
    whom we trust and that cannot be translated raises `click.BadParameter`.
    """
    try:
        ignored = _WITHOUT_EFFECT.split()
        return librdkafka_security({name: value for name, value in config.items() if name not in ignored})
    except InvalidConfigError as error:
        raise click.BadParameter(str(error), param_hint="--command-config") from None
