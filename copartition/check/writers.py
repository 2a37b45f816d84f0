"""Tell where clients with their settings put records, and which setting makes a client agree with others."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from copartition.audit.topic_audit import Writer
from partitioning.errors import InvalidConfigError, UnknownStrategyError
from partitioning.kit.near import near
from partitioning.profiles import (
    CLIENT_NAMES,
    PROFILES,
    Profile,
    Way,
    about_client,
    find_profile,
    known_client,
    near_names,
    placing_of,
)


class Placement(NamedTuple):
    """A rule with a partition count. Equal placements put every key at the same partition.

    Attributes:
        hash: the hash function; "any" for a single partition.
        sign: how a negative hash leads to a partition; "any" if that makes no difference.
        num_partitions: the partition count; None if it is not known.
    """

    hash: str
    sign: str
    num_partitions: int | None

    def __str__(self) -> str:
        """Return the rule, named after the first profile that has it, and the count if it is known."""
        return f"{rule_name(self)} over {self.num_partitions}" if self.num_partitions else rule_name(self)


def placement(profile: Profile, num_partitions: int | None) -> Placement:
    """Return where a profile puts keyed records of a topic."""
    return Placement(*placing_of(profile.rule, num_partitions), num_partitions)


def placement_of(writer: Writer) -> Placement:
    """Return where a writer that an audit has found puts keyed records."""
    return placement(find_profile(writer.profile), writer.num_partitions)


def rule_name(rule: Placement) -> str:
    """Return the rule's name for reports: that of the first profile that has it, and its hash."""
    # Several profiles may have the same rule. The first one stands for all of them.
    profile = [*PROFILES.values()][seniority(rule)]
    return f"the rule of {profile.name} ({profile.hash})"


def seniority(rule: Placement) -> int:
    """Return the index in `PROFILES` of the first profile that has the rule; that of Java's rule is 0."""
    return next(
        number
        for number, profile in enumerate(PROFILES.values())
        if placement(profile, rule.num_partitions) == rule
    )


class ClientWriter(NamedTuple):
    """A client that writes a topic.

    Attributes:
        topic: the topic's name.
        client: the client's name, one of `CLIENTS`.
        settings: the client's settings that decide where a record goes, by name.
        profile: the profile by which it places keyed records; None if it does not look at keys.
    """

    topic: str
    client: str
    settings: Mapping[str, str]
    profile: Profile | None

    def __str__(self) -> str:
        """Return the client's name with its settings, or as "NAME's default" if none is set."""
        return (
            f"{self.client} with {_settings_text(self.settings)}"
            if self.settings
            else f"{self.client}'s default"
        )


CLIENTS = {known.name: known.ways for known in CLIENT_NAMES.values() if known.ways}
"""Client, by any of its names -> the ways in which it can be set to place keyed records, default first."""


def parse_writer(text: str) -> ClientWriter:
    """Return a writer from a text such as orders=librdkafka,partitioner=murmur2_random.

    Args:
        text: TOPIC=CLIENT[,SETTING=VALUE...]. A value may be a class with its package, of which only the
            class name counts.

    Raises:
        InvalidConfigError: the text has another form, or the client has no such setting or value; the message
            proposes similar ones.
        UnknownStrategyError: no client of that name is known; the message proposes similar names.
    """
    # The text is divided at the first "=", because a topic's name has none.
    topic, separator, rest = text.partition("=")
    client, *pairs = rest.split(",")
    if not (topic and separator and client):
        raise InvalidConfigError(
            f"writer {text!r} is not TOPIC=CLIENT[,SETTING=VALUE...], such as "
            "orders=librdkafka,partitioner=murmur2_random"
        )
    ways = _ways_of(client, text)
    settings = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or name in settings:
            raise InvalidConfigError(
                f"writer {text!r}: {pair!r} is {'there twice' if separator else 'not SETTING=VALUE'}"
            )
        # In Java a partitioner is named by its class with its package; the class alone is compared.
        settings[name] = value.rpartition(".")[2]
    # All settings that were given must be those of one way: a client takes some of them only together.
    for way in ways:
        if way.settings == settings:
            return ClientWriter(topic, client, settings, way.profile)
    # No way has these settings. Name the first setting that is wrong by itself, because that helps more than
    # an error which says that the settings do not go together.
    for name, value in settings.items():
        values = {way.settings[name]: None for way in ways if name in way.settings}
        if not values:
            names = {name: None for way in ways for name in way.settings}
            hint = near(name, names) if names else "none of its settings decides where a keyed record goes"
            raise InvalidConfigError(
                f"writer {text!r}: {client} has no setting {name!r} that is known; {hint}"
            )
        if value not in values:
            raise InvalidConfigError(
                f"writer {text!r}: what {name}={value} does is not known; {near(value, values)}"
            )
    raise InvalidConfigError(f"writer {text!r}: {client} does not take these settings together")


def _ways_of(client: str, writer: str) -> tuple[Way, ...]:
    """Return the ways in which a client can be set to place keyed records, the default first.

    Args:
        client: any name of the client.
        writer: the text that names it, for the error.

    Raises:
        UnknownStrategyError: no client of that name is known, or none of its settings is.
    """
    known = known_client(client)
    if known is not None and known.ways:
        return known.ways
    if about := about_client(client):
        raise UnknownStrategyError(f"writer {writer!r}: {about}")
    close = near_names(client, CLIENTS)
    hint = f"did you mean {', '.join(close)}?" if close else f"names are {', '.join(CLIENTS)}"
    raise UnknownStrategyError(f"writer {writer!r}: no client {client!r} is known; {hint}")


def setting_for(client: str, wanted: Placement) -> str | None:
    """Return the settings that give a client the wanted placement, as NAME=VALUE with spaces between.

    Args:
        client: any name of the client.
        wanted: where its keyed records should go.

    Returns:
        The settings; "the default partitioner" if none is needed; None if no known setting does it.
    """
    for way in _ways_of(client, client):
        if way.profile is not None and placement(way.profile, wanted.num_partitions) == wanted:
            return _settings_text(way.settings) or "the default partitioner"
    return None


def clients_of(profiles: Collection[str]) -> list[str]:
    """Return the names of the clients that some setting gives one of these profiles.

    Of clients with the same settings, such as two names of one client, only the first is returned.
    """
    clients: dict[int, str] = {}
    for client, ways in CLIENTS.items():
        if any(way.profile is not None and way.profile.name in profiles for way in ways):
            # Clients with the same settings share one tuple of ways, and the first of them stands for all.
            clients.setdefault(id(ways), client)
    return [*clients.values()]


def _settings_text(settings: Mapping[str, str]) -> str:
    """Return settings as NAME=VALUE, with spaces between."""
    return " ".join(f"{name}={value}" for name, value in settings.items())
