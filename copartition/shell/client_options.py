"""Read a client's settings from the options -b, -X, --command-config and --cluster.

A setting may contain a password, so no error message here shows a value; it names a line number or a key.
"""

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
"""The environment variable that names the cluster if neither an option nor a file does."""
CLUSTERS = "~/.config/copartition/clusters.properties"
"""The file that --cluster reads; it has the settings of several clusters, each under its own prefix."""

# In Java's Properties the key ends at the first "=", ":" or blank without a backslash before it.
_PAIR = r"(?s)((?:\\.|[^\\=:\s])+)(?:\s*[=:]\s*|\s+(?=\S))(.*)"
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.))"
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_NAME = r"[\w-]+(?:\.[\w-]+)*\.[a-z_]+|acks|debug|partitioner|retries"
"""The names of settings: words with dots between, the last one in small letters, and four others.

A part of a password seldom has this form.
"""


def client_options(cluster: str) -> Decorator:
    """Return a decorator that adds -b, -X, --command-config and --cluster to a command.

    The command gets them as one argument `config`, a dict of librdkafka settings. It is empty if no option,
    file or environment variable gives a setting.

    Args:
        cluster: the sentence that --help shows for -b, such as "The cluster of live:GROUP."
    """
    return one_argument(
        "config",
        client_settings,
        click.option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT",
            help=f"{cluster} By default the one that {SERVERS} names.",
        ),
        click.option(
            "-X",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the client that connects to the cluster; repeatable.",
        ),
        click.option(
            "--command-config",
            type=click.Path(exists=True, dir_okay=False),
            help="A properties file with such settings, under Java's or librdkafka's names.",
        ),
        click.option(
            "--cluster",
            metavar="NAME",
            help=f"Use the settings NAME.bootstrap.servers and NAME.* of {CLUSTERS}.",
        ),
    )


def client_settings(
    bootstrap_server: str | None,
    settings: tuple[str, ...],
    command_config: str | None,
    cluster: str | None = None,
) -> dict[str, str]:
    """Return the settings of the four options under librdkafka's names.

    If several sources give a setting, the last one counts in this order: the named cluster, the file, `-X`
    (from left to right), `-b`. KAFKA_BOOTSTRAP_SERVERS of the environment counts only if none of these names
    a server.

    Args:
        bootstrap_server: HOST:PORT pairs with commas between, or None.
        settings: texts KEY=VALUE, in the order of the command line.
        command_config: path of a properties file, Java's or librdkafka's, or None.
        cluster: a prefix in the file `CLUSTERS`, or None.

    Raises:
        click.BadParameter: a text is not KEY=VALUE, a file cannot be read, the cluster is not in its file, or
            a setting of Java's clients decides about security and cannot be translated.
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
    """Return the settings of the cluster `name`, without the prefix "NAME.".

    The layout is that of MirrorMaker, which has the settings of all its clusters in one file.

    Raises:
        click.BadParameter: the file cannot be read, or has no line that begins with "NAME."; the message
            lists the clusters that the file has.
    """
    settings = _from_file(os.path.expanduser(CLUSTERS), "--cluster")  # noqa: PTH111 - help does without pathlib
    own = {key.removeprefix(f"{name}."): text for key, text in settings.items() if key.startswith(f"{name}.")}
    if not own:
        # Only the prefixes of ".bootstrap.servers" are listed. Any other key may be a part of a password
        # whose line was continued without a backslash.
        suffix = ".bootstrap.servers"
        servers = {key.removesuffix(suffix) for key in settings if key.endswith(suffix)}
        others = ", ".join(sorted(servers)) or "none"
        raise click.BadParameter(
            f"{CLUSTERS} has no line {name}.bootstrap.servers=HOST:PORT; clusters there: {others}",
            param_hint="--cluster",
        )
    return own


def _from_file(path: str, option: str) -> dict[str, str]:
    """Return the settings of a properties file by key; if a key is repeated, the last one counts, as in Java.

    Args:
        path: the file, UTF-8, with line ends of any system.
        option: the option that an error names.
    """
    from assignors.files import read_text  # noqa: PLC0415 - help and completion do without

    try:
        # Java also ends a line at "\r" alone. `_logical_lines` expects only "\n".
        text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    except SourceError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=option) from None
    config = {}
    for number, line in _logical_lines(text):
        pair = re.fullmatch(_PAIR, line)
        # A value that continues without a backslash makes a line of its own, whose "key" may be a password.
        if pair is None or re.fullmatch(_NAME, key := _unescape(pair[1])) is None:
            what = "is not KEY=VALUE or KEY: VALUE" if pair is None else "names no setting of Kafka's clients"
            raise click.BadParameter(
                f"{path}: line {number} {what} (not shown, it may hold a password)", param_hint=option
            )
        config[key] = _unescape(pair[2])
    return config


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of the first physical line, text) of each logical line of a properties file.

    Blank lines and comments ("#" or "!" first) are left out. A line that ends in an odd number of backslashes
    continues on the next line, whose leading blanks do not count. Numbers begin at 1.
    """
    begun, first = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.lstrip()
        if not begun and (not line or line[0] in "#!"):
            continue
        # A comment sign counts only at the start of a logical line: a continued value may begin with "#".
        first = first if begun else number
        begun += line
        # An even number of backslashes are escaped backslashes, so the line ends here.
        if (len(line) - len(line.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        yield first, begun
        begun = ""
    if begun:
        yield first, begun


def _unescape(text: str) -> str:
    r"""Return a key or a value with Java's escapes resolved.

    Java's escapes are `\uXXXX`, `\t`, `\n`, `\r` and `\f`. A backslash before any other character is dropped.
    """
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
"""Java's settings that are dropped silently, because they change nothing for a client that only asks.

librdkafka lacks them, or has them with other values. So it would refuse a file that works for Java's tools.
"""


def librdkafka_settings(config: Mapping[str, str]) -> dict[str, str]:
    """Return settings of Java's clients under librdkafka's names and with its values.

    A setting under librdkafka's own name takes precedence over a translated one. `config` is not changed.

    Raises:
        click.BadParameter: a setting decides who the user is or whom the user trusts, and cannot be
            translated. Without it the connection would be less secure than the user asked for.
    """
    try:
        # The input is usually a file for Java's consumer, so settings without effect here must not be errors.
        ignored = _WITHOUT_EFFECT.split()
        return librdkafka_security({name: value for name, value in config.items() if name not in ignored})
    except InvalidConfigError as error:
        raise click.BadParameter(str(error), param_hint="--command-config") from None
