"""The cluster, and its answers or why it gives none, as errors that name the source."""

from __future__ import annotations

import re
import time
import uuid
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from copartition.groups.live.wire import read_features
from partitioning.clients.ledger import PREFIX, Entry, ledger_group
from partitioning.errors import BrokerUnreachableError, GroupNotFoundError, InvalidConfigError, SourceError
from partitioning.kit.packages import needs

TIMEOUT_S = 10.0
_AGAIN_S = 0.2

_NO_GROUP = "the cluster has no such group"
_COORDINATOR_MOVES = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
_MISSING = {
    "GROUP_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the group",
    "TOPIC_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the topics",
    "CLUSTER_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the cluster",
}
"""Which right is missing."""

_T = TypeVar("_T")


def right_command(config: Mapping[str, str], operation: str, what: str) -> str:
    """Return the command that gives a right to the user of these settings; NAME if they do not tell it.

    >>> right_command({"bootstrap.servers": "b:9092", "sasl.username": "ada"}, "Read", "--topic orders")
    'kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:ada --operation Read --topic orders'
    """
    user = config.get("sasl.username", "NAME")
    by = f"kafka-acls.sh --bootstrap-server {config['bootstrap.servers']} --add"
    return f"{by} --allow-principal User:{user} --operation {operation} {what}"


class Broker(NamedTuple):
    """A broker as clients reach it."""

    id: int
    address: str

    @property
    def host(self) -> str:
        """Without the port."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rpartition(":")[2])


def connect(group: str, config: Mapping[str, str]) -> Cluster:
    """The cluster of a group; settings that name no cluster are an error."""
    if not config.get("bootstrap.servers"):
        raise SourceError(f"live:{group} needs a cluster; name it with -b HOST:PORT")
    return Cluster(f"live:{group}", config)


class Cluster:
    """A connection that only asks; `source` is what the user calls it, `live:GROUP`.

    Raises:
        SourceError: librdkafka refuses a setting, or the cluster does not let us in.
        MissingDependencyError: confluent-kafka is not installed.
    """

    def __init__(self, source: str, config: Mapping[str, str]) -> None:
        with needs("live:GROUP", "kafka"):
            from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional package
            from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - an optional package

            from partitioning.clients import contact  # noqa: PLC0415 - needs it, too
        self._source = source
        self.config = config
        self._servers = config["bootstrap.servers"]
        self._error = KafkaException
        errors: list[Any] = []
        try:
            self._admin = contact.quiet_client(AdminClient, config, errors)
            metadata = contact.cluster_metadata(
                self._admin, config, errors, timeout_s=TIMEOUT_S, patience_s=contact.PATIENCE_S
            )
        except InvalidConfigError as error:
            raise SourceError(f"{source}: {error}") from error
        except BrokerUnreachableError as error:
            raise SourceError(
                f"{source}: no broker answers at {self._servers}: {error}. Is the address "
                "right, the broker up, and do the security settings fit, security.protocol first?"
            ) from error
        self.counts = {
            name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.partitions
        }  # partitions of each topic that we may see
        self._metadata = metadata

    @cached_property
    def brokers(self) -> dict[int, Broker]:
        """The brokers that are up, by id."""
        return {
            broker.id: Broker(broker.id, f"{broker.host}:{broker.port}")
            for broker in self._metadata.brokers.values()
        }

    def leaders(self, topic: str) -> list[Broker | None]:
        """The leader of each partition of a topic that there is, None where it has none."""
        partitions = self._metadata.topics[topic].partitions
        return [self.brokers.get(partitions[number].leader) for number in range(len(partitions))]

    @cached_property
    def _features(self) -> Mapping[str, int] | None:
        try:
            return read_features(self.config)
        except SourceError:
            return None

    def level(self, feature: str) -> int | None:
        """The cluster's level of a feature, 0 without it; None where no broker could be asked."""
        return None if self._features is None else self._features.get(feature, 0)

    def matching(self, topics: Collection[str], pattern: str | None) -> tuple[str, ...] | None:
        """These topics and all that match a pattern; None where the pattern cannot be read here."""
        if pattern is None:
            return tuple(sorted(topics))
        try:
            return tuple(sorted({*topics, *filter(re.compile(pattern).fullmatch, self.counts)}))
        except re.error:
            return None

    def _answer(self, ask: Callable[[], _T]) -> _T:
        """What the group's coordinator answers, asked again for a while until there is a coordinator."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                return ask()
            except self._error as error:
                fault, code = error.args[0], error.args[0].name()
                if code == "GROUP_ID_NOT_FOUND":
                    raise GroupNotFoundError(f"{self._source}: {_NO_GROUP}") from error
                if code not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                    # What librdkafka says of its own accord has a code below zero.
                    servers = f"{self._servers} {'answers' if fault.code() >= 0 else 'gives no answer'}"
                    text = f"{servers}: {fault.str() or code}{_MISSING.get(code, '')}"
                    raise SourceError(f"{self._source}: {text}") from error
            time.sleep(_AGAIN_S)

    def _result(self, ask: Callable[[], Any]) -> Any:
        """As `_answer`, of what the Admin API promises to answer."""
        return self._answer(lambda: ask().result())

    def describe_group(self, group: str) -> Any:
        """The group as the Admin API has it; `GroupNotFoundError` where there is none."""
        described = self._result(
            lambda: self._admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group]
        )
        if described.state.name == "DEAD":
            raise GroupNotFoundError(f"{self._source}: {_NO_GROUP}")
        return described

    def groups(self) -> list[str]:
        """The groups that we may see."""
        listing = self._result(lambda: self._admin.list_consumer_groups(request_timeout=TIMEOUT_S))
        return [group.group_id for group in listing.valid]

    def broker_settings(self, broker: int) -> dict[str, str]:
        """Return the settings of a broker by name, which takes DESCRIBE_CONFIGS on the cluster."""
        return self._settings("BROKER", str(broker))

    def group_settings(self, group: str) -> dict[str, str]:
        """Return the settings that hold for a group (KIP-848), which takes DESCRIBE_CONFIGS on the group."""
        return self._settings("GROUP", group)

    def _settings(self, kind: str, name: str) -> dict[str, str]:
        from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]  # noqa: PLC0415 - an optional package

        resource = ConfigResource(getattr(ConfigResource.Type, kind), name)
        settings = self._result(
            lambda: self._admin.describe_configs([resource], request_timeout=TIMEOUT_S)[resource]
        )
        return {name: str(setting.value) for name, setting in settings.items() if setting.value is not None}

    def may_see_every_topic(self) -> bool:
        """Whether this user may DESCRIBE topics of any name: a broker hides others without a word.

        Asked with a name that no topic has; a broker refuses it to a user without the right. Nothing is made.
        """
        from confluent_kafka import TopicCollection  # noqa: PLC0415 - an optional package

        name = f"copartition-{uuid.uuid4().hex}"
        answers = self._admin.describe_topics(TopicCollection([name]), request_timeout=TIMEOUT_S)
        try:
            answers[name].result()
        except self._error as error:
            return bool(error.args[0].name() == "UNKNOWN_TOPIC_OR_PART")
        return True

    def classic_group(self, group: str) -> Any:
        """The group as DescribeGroups has it, bytes included; None where that API does not know it.

        Nothing else of confluent-kafka gives the metadata with which members joined.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            listing = self._answer(lambda: self._admin.list_groups(group, timeout=TIMEOUT_S))
        return listing[0] if listing else None

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offsets that we may see."""
        commits = self._commits(group)
        return {(commit.topic, commit.partition): commit.offset for commit in commits if commit.offset >= 0}

    def _commits(self, group: str) -> list[Any]:
        from partitioning.clients.contact import committed_offsets  # noqa: PLC0415 - needs an optional package

        return self._answer(lambda: committed_offsets(self._admin, group, within_s=TIMEOUT_S))

    def ends(
        self, partitions: Collection[tuple[str, int]], *, stable: bool = False
    ) -> dict[tuple[str, int], int]:
        """The end of each of these partitions, without those whose leader does not answer.

        `stable`: the last stable offset instead, where readers with `read_committed` stop.
        """
        from partitioning.clients.contact import list_offsets  # noqa: PLC0415 - needs an optional package

        return list_offsets(self._admin, partitions, "latest", committed=stable, within_s=TIMEOUT_S)[0]

    def describe_topics(self, topics: Collection[str]) -> dict[str, Any]:
        """The descriptions of these topics, without any that we may not see."""
        from confluent_kafka import TopicCollection  # noqa: PLC0415 - an optional package

        if not topics:
            return {}
        answers = self._admin.describe_topics(TopicCollection([*topics]), request_timeout=TIMEOUT_S)
        described = {}
        for name, answer in answers.items():
            with suppress(self._error):
                described[name] = answer.result()
        return described


class Ledgers(Cluster):
    """A connection that asks for ledgers of exactly-once writes, and deletes one on request."""

    def __init__(self, config: Mapping[str, str]) -> None:
        if not config.get("bootstrap.servers"):
            raise SourceError("a ledger is kept by a cluster; name it with -b HOST:PORT")
        super().__init__("ledger", config)

    def applications(self) -> list[str]:
        """Whose ledgers we may see, by name."""
        return sorted(group.removeprefix(PREFIX) for group in self.groups() if group.startswith(PREFIX))

    def entries(self, app_id: str) -> dict[tuple[str, int], Entry | None]:
        """An application's ledger by topic and partition; None for an offset that is no entry.

        Where there is no ledger that we may see, this raises `GroupNotFoundError`.
        """
        entries: dict[tuple[str, int], Entry | None] = {}
        for place in self._commits(ledger_group(app_id)):
            try:
                entry = Entry.parse(place.offset, place.metadata)
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
        """Delete an application's ledger; it must exist, have no members, and be ours to delete."""
        group = ledger_group(app_id)
        self._result(lambda: self._admin.delete_consumer_groups([group], request_timeout=TIMEOUT_S)[group])
