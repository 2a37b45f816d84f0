"""The ledgers of exactly-once writes on a cluster: whose there are, what they say, and an end of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from copartition.groups.live.cluster import TIMEOUT_S, Cluster
from partitioning.clients.ledger import PREFIX, Entry, ledger_group
from partitioning.errors import GroupNotFoundError, SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ledgers(Cluster):
    """A connection that asks for ledgers of exactly-once writes, and deletes one on request."""

    def __init__(self, config: Mapping[str, str]) -> None:
        if not config.get("bootstrap.servers"):
            raise SourceError("a ledger is kept by a cluster; name it with -b HOST:PORT")
        super().__init__("ledger", config)

    def applications(self) -> list[str]:
        """Whose ledgers we may see, by name."""

        def ask() -> Any:
            return self._admin.list_consumer_groups(request_timeout=TIMEOUT_S).result().valid

        groups = [group.group_id for group in self._answer(ask)]
        return sorted(group.removeprefix(PREFIX) for group in groups if group.startswith(PREFIX))

    def entries(self, app_id: str) -> dict[tuple[str, int], Entry | None]:
        """An application's ledger by topic and partition; None for an offset that is no entry.

        Where there is no ledger that we may see, this raises `GroupNotFoundError`.
        """
        from confluent_kafka import ConsumerGroupTopicPartitions  # noqa: PLC0415 - an optional package

        group = ledger_group(app_id)

        def ask() -> Any:
            every = [ConsumerGroupTopicPartitions(group)]
            offsets = self._admin.list_consumer_group_offsets(every, request_timeout=TIMEOUT_S)
            return offsets[group].result().topic_partitions

        entries: dict[tuple[str, int], Entry | None] = {}
        for place in self._answer(ask):
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

        def ask() -> None:
            self._admin.delete_consumer_groups([group], request_timeout=TIMEOUT_S)[group].result()

        self._answer(ask)
