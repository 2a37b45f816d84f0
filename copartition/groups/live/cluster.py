"""Ask a cluster, and turn refusals and missing answers into errors that name the source."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

from copartition.groups.kinds import OTHER_KINDS
from copartition.groups.live.wire import read_features, read_group_types
from copartition.kit.admin import (
    ClusterMetadata,
    Commit,
    DescribedGroup,
    DescribedTopic,
    JoinedMember,
    TopicShape,
)
from copartition.kit.child import AdminError, Child, ChildEndedError
from copartition.kit.places import Place
from partitioning.clients.ledger import PREFIX, Entry, ledger_group
from partitioning.errors import (
    BrokerUnreachableError,
    GroupNotFoundError,
    InvalidConfigError,
    OtherGroupKindError,
    SourceError,
)
from partitioning.kit.packages import needs

TIMEOUT_S = 10.0
"""Seconds that one request may take, and for which it is repeated while the coordinator moves."""
_AGAIN_S = 0.2
"""Seconds between two attempts."""

_NO_GROUP = "the cluster has no such group"
_NAMED = 5
"""The most groups that an error names if no group has a name similar to the missing one."""
_COORDINATOR_MOVES = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
_MISSING = {
    "GROUP_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the group",
    "TOPIC_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the topics",
    "CLUSTER_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the cluster",
}
"""Kafka's name of an error -> the end of a message that names the missing right."""
_FIRST_CONTACT = ". Are the address and security.protocol right, and is it up?"
_CONNECTING = re.compile(r"^\S+/bootstrap: Connect to \S+ failed: ")
"""Pattern of librdkafka's words before the reason of a failed connection; our error names the address."""


def right_command(config: Mapping[str, str], operation: str, what: str) -> str:
    """Return the command that gives a right to the user of these settings; NAME if they name no user.

    >>> right_command({"bootstrap.servers": "b:9092", "sasl.username": "ada"}, "Read", "--topic orders")
    'kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:ada --operation Read --topic orders'
    """
    user = config.get("sasl.username", "NAME")
    by = f"kafka-acls.sh --bootstrap-server {config['bootstrap.servers']} --add"
    return f"{by} --allow-principal User:{user} --operation {operation} {what}"


class Broker(NamedTuple):
    """Names a broker with its id and its address, HOST:PORT."""

    id: int
    address: str

    @property
    def host(self) -> str:
        """The host of the address, without the port."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port at which the broker listens."""
        return int(self.address.rpartition(":")[2])


def connect(group: str, config: Mapping[str, str]) -> Cluster:
    """Return a connection to the cluster of a group; its errors begin with "live:" and the group's id.

    Raises:
        SourceError: the settings name no cluster, or it cannot be reached.
    """
    if not config.get("bootstrap.servers"):
        raise SourceError(f"live:{group} needs a cluster; name it with `bootstrap_servers`")
    return Cluster(f"live:{group}", config)


def connect_to_all(config: Mapping[str, str]) -> Cluster:
    """Return a connection for questions about all groups of a cluster; its errors begin with "all groups".

    Raises:
        SourceError: the settings name no cluster, or it cannot be reached.
    """
    if not config.get("bootstrap.servers"):
        raise SourceError("all groups are those of a cluster; name it with `bootstrap_servers`")
    return Cluster("all groups", config)


class Cluster:
    """Asks a cluster about groups, topics and offsets; only `commit` changes anything.

    A child process asks through librdkafka; `copartition.kit.admin` says why. It is replaced by a new one if
    it dies, after every error of librdkafka itself, and if the coordinator has moved. The reason is that
    librdkafka's admin client does not always reconnect to a broker that was away, or find a new coordinator.

    Args:
        source: the name of the source, such as `live:GROUP`, with which every error begins.
        config: librdkafka settings; `bootstrap.servers` at least.

    Attributes:
        config: these settings.
        counts: partition count of each topic that this user may see, at the first contact.

    Raises:
        SourceError: librdkafka refuses a setting, or the cluster does not let us in.
        MissingDependencyError: confluent-kafka is not installed.
    """

    def __init__(self, source: str, config: Mapping[str, str]) -> None:
        with needs("live:GROUP", "kafka"):
            # Only the child imports the package, because the import takes as long as a short command.
            if find_spec("confluent_kafka") is None:
                raise ModuleNotFoundError(name="confluent_kafka")
        self._source = source
        self.config = config
        self._servers = config["bootstrap.servers"]
        self._child = Child(config, TIMEOUT_S)
        self._connected = False
        self._metadata: ClusterMetadata = self._answer("metadata")
        self._connected = True
        self.counts = {name: len(leaders) for name, leaders in self._metadata.leaders.items()}

    @cached_property
    def brokers(self) -> dict[int, Broker]:
        """Broker id -> broker, for the brokers that were up at the first contact."""
        return {
            broker: Broker(broker, f"{host}:{port}")
            for broker, (host, port) in self._metadata.brokers.items()
        }

    def leaders(self, topic: str) -> list[Broker | None]:
        """Return the leader of each partition of a topic, in order; None for a partition without a leader.

        Raises:
            KeyError: the cluster shows no such topic.
        """
        return [self.brokers.get(leader) for leader in self._metadata.leaders[topic]]

    @cached_property
    def _features(self) -> Mapping[str, int] | None:
        """Name -> level of the cluster's features; None if no broker could be asked."""
        try:
            return read_features(self.config)
        except SourceError:
            return None

    def level(self, feature: str) -> int | None:
        """Return the cluster's level of a feature, 0 if it lacks that; None if no broker could be asked."""
        return None if self._features is None else self._features.get(feature, 0)

    def matching(self, topics: Collection[str], pattern: str | None) -> tuple[str, ...] | None:
        """Return these topics and all topics of the cluster that match a pattern, sorted.

        Kafka's patterns are RE2; Python reads all but a few of them the same way.

        Args:
            topics: the names of topics.
            pattern: a regular expression that must match the whole name, or None.

        Returns:
            The names; None if Python cannot read the pattern.
        """
        if pattern is None:
            return tuple(sorted(topics))
        try:
            # Brokers match the whole name, therefore `fullmatch`.
            return tuple(sorted({*topics, *filter(re.compile(pattern).fullmatch, self.counts)}))
        except re.error:
            return None

    def _answer(self, question: str, *arguments: object) -> Any:
        """Return the answer of `copartition.kit.admin.Admin` to a question.

        The question is repeated for up to `TIMEOUT_S` while the coordinator moves, and if the child died.

        Args:
            question: name of a method of `Admin`.
            arguments: its arguments.

        Raises:
            SourceError: the cluster refuses or does not answer; the last refusal is reported.
        """
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                return self._child.ask(question, *arguments)
            except AdminError as error:
                if error.name.startswith("_") or error.name in _COORDINATOR_MOVES:
                    # librdkafka goes on asking the coordinator that it knows, even after that broker has said
                    # that it is not the coordinator any more.
                    self._child.end()
                if error.name not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                    raise self._refusal(error) from error
            # The next question starts a new child, so the same question is asked again.
            except ChildEndedError as error:
                if time.monotonic() > deadline:
                    raise SourceError(f"{self._source}: {self._servers} gives no answer: {error}") from error
            except InvalidConfigError as error:
                raise SourceError(f"{self._source}: {error}") from error
            except BrokerUnreachableError as error:
                raise SourceError(
                    f"{self._source}: no broker answers at {self._servers}: {_CONNECTING.sub('', str(error))}"
                    f"{'' if self._connected else _FIRST_CONTACT}"
                ) from error
            time.sleep(_AGAIN_S)

    def _refusal(self, error: AdminError) -> SourceError:
        """Return the error that users see, for an error of a broker or of librdkafka."""
        if error.name == "GROUP_ID_NOT_FOUND":
            return GroupNotFoundError(f"{self._source}: {_NO_GROUP}")
        servers = f"{self._servers} {'gives no answer' if error.name.startswith('_') else 'answers'}"
        return SourceError(f"{self._source}: {servers}: {error.text}{_MISSING.get(error.name, '')}")

    def describe_group(self, group: str) -> DescribedGroup:
        """Return the description of a group by the Admin API.

        Raises:
            GroupNotFoundError: there is no such group; the message names groups that exist.
            OtherGroupKindError: it is a share group or a Streams group.
        """
        try:
            described: DescribedGroup = self._answer("describe_group", group)
        except GroupNotFoundError:
            raise self._missing(group) from None
        # librdkafka asks for a classic group with DescribeGroups, version 5 at most. In that version a broker
        # describes a missing group as dead, without an error. GROUP_ID_NOT_FOUND came with version 6.
        if described.state == "DEAD":
            raise self._missing(group)
        return described

    def _missing(self, group: str) -> SourceError:
        """Return the error for a group that does not exist, or that is not a consumer group.

        If brokers do not tell the types of groups to this user, the group counts as missing.
        """
        types = self.group_types()
        if (kind := types.get(group)) in OTHER_KINDS:
            return OtherGroupKindError(f"{self._source}: {OTHER_KINDS[kind].format(group=group)}", kind)
        # If no name is similar, the error lists the first ones in alphabetical order.
        near = get_close_matches(group, types, n=3) or sorted(types)[:_NAMED]
        there = f"; there are {', '.join(near)}" if near else ""
        more = f" and {len(types) - len(near)} more" if len(types) > len(near) else ""
        return GroupNotFoundError(f"{self._source}: {_NO_GROUP}{there}{more}")

    def check_kind(self, group: str, instead: str) -> None:
        """Raise OtherGroupKindError if a group is a share group or a Streams group; a missing group passes.

        Args:
            group: the group's id.
            instead: a clause that says what to use for such a group, the end of the message.
        """
        if (kind := self.group_types().get(group)) in OTHER_KINDS:
            raise OtherGroupKindError(
                f"{self._source}: {OTHER_KINDS[kind].format(group=group)}; {instead}", kind
            )

    def group_types(self) -> dict[str, str]:
        """Return group -> its type; {} if brokers tell no types, or not to this user."""
        # Types only improve errors and checks, so it is no error if brokers do not tell them.
        try:
            brokers = [(broker.host, broker.port) for broker in self.brokers.values()]
            return read_group_types(brokers, self.config)
        except SourceError:
            return {}

    def groups(self) -> list[str]:
        """Return the names of consumer groups that this user may see."""
        return list(self._answer("groups"))

    def settings(self, kind: str, name: str, prefix: str = "") -> dict[str, str] | None:
        """Return the settings of a broker or a group, sorted by name; None if this user may not see them.

        The settings of a broker need DESCRIBE_CONFIGS on the cluster; those of a group need it on the group.

        Args:
            kind: "BROKER" or "GROUP".
            name: the broker's id, or the group's name.
            prefix: how the names of the wanted settings begin.
        """
        try:
            shown: dict[str, str] = self._answer("settings", kind, name)
        except SourceError:
            return None
        return {setting: shown[setting] for setting in sorted(shown) if setting.startswith(prefix)}

    def topic_shape(self, topic: str) -> TopicShape:
        """Return the replicas and settings of a topic; that needs DESCRIBE_CONFIGS on the topic."""
        shape: TopicShape = self._answer("topic_shape", topic)
        return shape

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets of a topic (partition -> offset) for a group without members.

        Raises:
            SourceError: the group has members, or this user lacks READ on the group or the topic.
        """
        self._answer("commit", group, topic, dict(offsets))

    def may_see_every_topic(self) -> bool:
        """Return True if this user may DESCRIBE every topic; brokers hide other topics without an error."""
        return bool(self._answer("may_see_every_topic"))

    def joined_members(self, group: str) -> list[JoinedMember] | None:
        """Return a group's members with the bytes that they joined with.

        The result is None if DescribeGroups does not return the group.
        """
        joined: list[JoinedMember] | None = self._answer("joined_members", group)
        return joined

    def committed_offsets(self, group: str) -> dict[tuple[str, int], int]:
        """Return (topic, partition) -> committed offset, for topics that this user may see."""
        commits = self._commits(group)
        return {(commit.topic, commit.partition): commit.offset for commit in commits if commit.offset >= 0}

    def commits_in(self, group: str, topic: str) -> dict[int, int]:
        """Return partition -> committed offset of a group in one topic."""
        committed = self.committed_offsets(group)
        return {number: offset for (name, number), offset in committed.items() if name == topic}

    def _commits(self, group: str) -> list[Commit]:
        """Return all commits of a group; an offset below 0 means that the partition has none."""
        return list(self._answer("commits", group))

    def starts(self, places: Collection[Place]) -> dict[Place, int]:
        """Return the first offset of each partition, without those whose leader does not answer."""
        return dict(self._answer("starts", [*places])) if places else {}

    def written_ms(self, offsets: Mapping[Place, int]) -> dict[Place, int]:
        """Return partition -> the time of the first record at or after an offset, in ms since 1970.

        Reading these records needs READ on the topics. A partition is left out if no record came in time, or
        if this user may not read it. Nothing is committed.

        Args:
            offsets: (topic, partition) -> offset.
        """
        try:
            return dict(self._answer("written_ms", dict(offsets))) if offsets else {}
        except SourceError:
            # A user without READ still gets a report, in which these times are unknown.
            return {}

    def ends(
        self, partitions: Collection[tuple[str, int]], *, stable: bool = False
    ) -> dict[tuple[str, int], int]:
        """Return the end offset of each of these partitions, without those whose leader does not answer.

        Args:
            partitions: (topic, partition) pairs.
            stable: whether to return the last stable offset, at which readers with `read_committed` stop.
        """
        return dict(self._answer("ends", [*partitions], stable)) if partitions else {}

    def describe_topics(self, topics: Collection[str]) -> dict[str, DescribedTopic]:
        """Return topic -> its description, without topics that this user may not see."""
        return dict(self._answer("describe_topics", [*topics])) if topics else {}


class Ledgers(Cluster):
    """Asks a cluster for the ledgers of exactly-once writes, and deletes one on request."""

    def __init__(self, config: Mapping[str, str]) -> None:
        if not config.get("bootstrap.servers"):
            raise SourceError("a ledger is kept by a cluster; name it with `bootstrap_servers`")
        super().__init__("ledger", config)

    def applications(self) -> list[str]:
        """Return the applications whose ledgers this user may see, sorted."""
        return sorted(group.removeprefix(PREFIX) for group in self.groups() if group.startswith(PREFIX))

    def entries(self, app_id: str) -> dict[tuple[str, int], Entry | None]:
        """Return an application's ledger by (topic, partition); None for an offset that is no entry.

        Raises:
            GroupNotFoundError: there is no ledger that this user may see.
        """
        entries: dict[tuple[str, int], Entry | None] = {}
        for place in self._commits(ledger_group(app_id)):
            try:
                entry = Entry.parse(place.offset, place.metadata)
            # An offset that was committed by hand is not an entry. It must not hide the other entries.
            except ValueError:
                entries[place.topic, place.partition] = None
            else:
                if entry is not None:
                    entries[place.topic, place.partition] = entry
        if not entries:
            raise GroupNotFoundError(
                f"ledger: application {app_id!r} has none that this user may see; the broker forgets one "
                "after offsets.retention.minutes without a new version"
            )
        return entries

    def forget(self, app_id: str) -> None:
        """Delete an application's ledger.

        Raises:
            SourceError: the ledger does not exist, its group has members, or this user may not delete it.
        """
        group = ledger_group(app_id)
        self._answer("delete_group", group)
