"""Keeps the layouts of topics up to date, for a client that must choose partitions itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from partitioning.clients.contact import connected_metadata, machine_faults, why_refused
from partitioning.clients.delivery import time_setting
from partitioning.clients.placing import TopicPlacer, layout_of, librdkafka_partitioner, strategy
from partitioning.errors import (
    BrokerUnreachableError,
    CopartitionError,
    InvalidConfigError,
    UnknownTopicError,
)
from partitioning.interface import Partitioner, TopicLayout

Ask: TypeAlias = Callable[[str, float], Any]  # topic, seconds -> confluent-kafka's ClusterMetadata

ANY_PARTITION = -1
"""confluent-kafka's number for "no explicit partition"."""

_REFRESH_MS = 300_000  # librdkafka's own default
_MOST_REFRESH_MS = 3_600_000  # librdkafka's own maximum
_ASK_AGAIN_S = 0.1
_REFRESH_WITHIN_S = 1.0
_REFRESH_AGAIN_S = 10.0
_IS_GONE = (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)
_MAYBE_SOON = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE)


def encode_text(part: str | bytes | None) -> bytes | None:
    """Return the bytes of a key or value as confluent-kafka sends it: a text becomes UTF-8."""
    return part.encode() if isinstance(part, str) else part


@dataclass(slots=True)
class ClientTopic:
    """A topic with its layout and its strategy's state.

    Attributes:
        placer: the strategy, with its state for this topic.
        layout: the last layout that the cluster returned; None before the first one.
        trusted: True if records may be placed by `layout` without asking the cluster first.
        fresh_until: the time, in seconds of the monotonic clock, after which the layout is refreshed.
        meeting: a lock that is held while the layout is asked for, so that only one thread asks.
    """

    placer: TopicPlacer
    layout: TopicLayout | None = None
    trusted: bool = False
    fresh_until: float = -math.inf
    meeting: Lock = field(default_factory=Lock)

    def place(self, key: bytes | None) -> int:
        """Return the partition of a record with this serialized key."""
        assert self.layout is not None
        return self.placer.place(key, self.layout)

    def note_sent(self, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Tell the strategy that a record was queued for its partition."""
        assert self.layout is not None
        size = -1 if value is None else len(value)
        self.placer.note_append(partition, key, size, self.layout, enable_switch=True)


class Topics:
    """The topics to which a producer has written, with their layouts.

    A layout is asked for at the first record of its topic, which may block for `max_block_ms`. When it is
    older than `topic.metadata.refresh.interval.ms`, it is refreshed in the background. While no broker
    answers, the old layout is used, and other topics are not asked for.

    Args:
        config: the producer's configuration.
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: the milliseconds to wait for a topic to appear and for a broker to answer.

    Attributes:
        hashing: librdkafka's setting `partitioner` that places keyed records by the strategy's own hash;
            empty if librdkafka does not have this hash.
        hashed: the topics, known to the cluster, whose keyed records librdkafka itself may place.

    Raises:
        InvalidConfigError: `config` has a `partitioner`, or a setting is invalid.
    """

    def __init__(
        self, config: Mapping[str, Any], partitioner: str | Partitioner, max_block_ms: float
    ) -> None:
        for name in ("partitioner", "partitioner_cb"):
            if name in config:
                raise InvalidConfigError(
                    f"{name!r} in the configuration has no effect: remove it and give partitioner=..."
                )
        if not max_block_ms > 0:
            raise InvalidConfigError(f"max_block_ms is {max_block_ms}; give more than 0")
        name = "topic.metadata.refresh.interval.ms"
        refresh_ms = time_setting(config, name, _REFRESH_MS, _MOST_REFRESH_MS, -1)
        self._max_age_s = refresh_ms / 1000 if refresh_ms >= 0 else math.inf
        self._max_block_s = max_block_ms / 1000
        self._partitioner = strategy(partitioner)
        self._config = config
        self._topics: dict[str, ClientTopic] = {}
        self._silent_until = -math.inf
        self._refreshing = Lock()
        self._refresher: Thread | None = None
        native = librdkafka_partitioner(self._partitioner)
        self.hashing = {} if native is None else {"partitioner": native}
        self.hashed: set[str] = set()

    def known_topic(self, name: str, ask: Ask) -> ClientTopic | None:
        """Return a topic if its layout can be used without asking the cluster first; else None.

        A layout that is too old is refreshed in the background.

        Args:
            name: the topic.
            ask: asks the cluster for the topic's metadata (`Producer.list_topics`).
        """
        topic = self._topics.get(name)
        if topic is None or not topic.trusted:
            return None
        if self._is_due(topic):
            self._refresh_soon(ask)
        return topic

    def current(self, name: str, ask: Ask) -> ClientTopic:
        """Return a topic; if its layout cannot be used, ask the cluster first.

        Args:
            name: the topic.
            ask: asks the cluster for the topic's metadata (`Producer.list_topics`).

        Raises:
            UnknownTopicError: the cluster has no such topic, or this user may not see it.
            BrokerUnreachableError: no broker answers, and no earlier layout of this topic is known.
        """
        return self.known_topic(name, ask) or self.meet(name, ask)

    def on_error(self, name: str, error: KafkaError) -> None:
        """Handle the error of a record; if the topic or a partition is gone, the next record asks again."""
        topic = self._topics.get(name)
        if topic is not None and error.code() in _IS_GONE:
            self._forget(name, topic)

    def meet(self, name: str, ask: Ask) -> ClientTopic:
        """Ask the cluster for a topic's layout, and return the topic; see `current` for the arguments."""
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics.setdefault(name, ClientTopic(TopicPlacer(name, self._partitioner)))
        # Each topic has its own lock, because a slow answer for one topic must not stop the others.
        with topic.meeting:  # another thread may be first
            if not topic.trusted and (topic.layout is None or not self._refresh_now(name, topic, ask)):
                self._keep(name, topic, self._first_layout(name, ask))
        return topic

    def _is_due(self, topic: ClientTopic) -> bool:
        """Return whether this topic's layout is too old and brokers may answer."""
        return (now := monotonic()) >= topic.fresh_until and now >= self._silent_until

    def _refresh_soon(self, ask: Ask) -> None:
        """Refresh the layouts that are too old in a background thread, unless such a thread is running."""
        # Only one such thread runs at a time, and nobody waits for it here.
        if self._refreshing.acquire(blocking=False):
            self._refresher = Thread(target=self._refresh, args=(ask,), daemon=True)
            self._refresher.start()

    def close(self) -> None:
        """Wait for a refresh that is running: librdkafka must not be closed before the answer."""
        if self._refresher is not None:
            self._refresher.join()

    def _refresh(self, ask: Ask) -> None:
        """Refresh every layout that is too old; this runs in a thread of its own and raises nothing."""
        try:
            for name, topic in [*self._topics.items()]:
                if topic.trusted and self._is_due(topic) and not self._is_there(name, topic, ask):
                    self._forget(name, topic)  # so the next record of the topic asks again, and can raise
        except (RuntimeError, CancelledError):
            pass  # the producer or its event loop has been closed meanwhile
        finally:
            self._refreshing.release()

    def _is_there(self, name: str, topic: ClientTopic, ask: Ask) -> bool:
        """Return whether records of a topic may still be placed by its layout, after a refresh."""
        try:
            return self._refresh_now(name, topic, ask)
        # The next caller of `meet` gets the reason: its thread can raise an error to the user.
        except CopartitionError:
            return False

    def _refresh_now(self, name: str, topic: ClientTopic, ask: Ask) -> bool:
        """Refresh a topic's layout, and return whether the topic exists.

        If no broker answers, the last layout is used for some more seconds, and this returns True.
        """
        if monotonic() >= self._silent_until:
            try:
                layout = _layout(name, ask, _REFRESH_WITHIN_S)
            except KafkaException:
                # `_silent_until` holds for all topics, because silent brokers do not answer for other topics
                # either, and each question blocks.
                self._silent_until = monotonic() + _REFRESH_AGAIN_S
            else:
                if layout is None:
                    return False
                self._keep(name, topic, layout)
        topic.trusted = True
        return True

    def _forget(self, name: str, topic: ClientTopic) -> None:
        """Make the topic's next record ask for its layout; the state of its strategy stays."""
        topic.trusted = False
        self.hashed.discard(name)

    def _keep(self, name: str, topic: ClientTopic, layout: TopicLayout) -> None:
        """Store a topic's present layout."""
        topic.layout = layout
        topic.fresh_until = monotonic() + self._max_age_s
        topic.trusted = True
        # librdkafka may place the topic's records only from now on. So the cluster was asked at the topic's
        # first record, and an unknown topic has raised an error there.
        if self.hashing:
            self.hashed.add(name)

    def _first_layout(self, name: str, ask: Ask) -> TopicLayout:
        """Return a topic's layout, waiting up to `max_block_ms` for the topic to appear.

        Raises:
            UnknownTopicError: the brokers do not know the topic.
            BrokerUnreachableError: no broker answers, or none has answered in the second half of the time.
        """
        deadline = monotonic() + self._max_block_s
        answered = -math.inf
        # A topic that was just created is unknown to some brokers for a moment.
        while True:
            try:
                layout = self._fetch(name, ask, max(deadline - monotonic(), _ASK_AGAIN_S))
                answered = monotonic()
            except BrokerUnreachableError:
                # The last questions leave a busy broker little time. If one before them was answered, the
                # topic is missing, and not the broker.
                if deadline - answered > self._max_block_s / 2:
                    raise
                layout = None
            if layout is not None:
                return layout
            if monotonic() + _ASK_AGAIN_S > deadline:
                raise UnknownTopicError(
                    f"the cluster has had no topic {name!r} for {self._max_block_s:g} s: create it first"
                )
            sleep(_ASK_AGAIN_S)

    def _fetch(self, name: str, ask: Ask, within_s: float) -> TopicLayout | None:
        """Return a topic's layout; None if it is not there yet.

        Raises:
            BrokerUnreachableError: no broker answers; the message has the reason.
        """
        if self._config.get("enable.idempotence"):
            # Without `connected_metadata`, the first batch would wait 500 ms for the producer's id.
            ask = partial(connected_metadata, ask)
        try:
            return _layout(name, ask, within_s)
        except KafkaException as error:
            why = why_refused([error.args[0], *_refusals(self._config)], self._config)
            raise BrokerUnreachableError(
                f"topic {name!r}: no broker returned its partitions within {within_s:.1f} s: {why}. Is "
                "bootstrap.servers right, the broker up, and are the security settings those of the cluster?"
            ) from error


def _refusals(config: Mapping[str, Any]) -> list[KafkaError]:
    """Return the errors by which brokers refuse a client, found with a new client.

    The producer itself gets them only in `poll`, which would call delivery callbacks in the middle of
    `produce`.
    """
    errors: list[KafkaError] = []
    with machine_faults():
        client = Producer({**config, "error_cb": errors.append, "log_level": 0})
    with suppress(KafkaException):
        client.list_topics(timeout=_REFRESH_WITHIN_S)
    with suppress(KafkaException, SystemError):
        client.poll(0)
        client.close()
    return errors


def _layout(name: str, ask: Ask, within_s: float) -> TopicLayout | None:
    """Return the present layout of a topic; None if the topic does not exist, or not yet.

    Raises UnknownTopicError if the topic cannot be used for another reason.
    """
    topic = ask(name, within_s).topics[name]
    if topic.error is not None and topic.error.code() not in _MAYBE_SOON:
        hint = ""
        if topic.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            hint = ". This user needs Describe on the topic, which Write implies"
        raise UnknownTopicError(f"topic {name!r} cannot be used: {topic.error.str()}{hint}")
    if not topic.partitions:
        return None
    available = tuple(number for number, partition in topic.partitions.items() if partition.leader >= 0)
    return layout_of(name, tuple(topic.partitions), available)
