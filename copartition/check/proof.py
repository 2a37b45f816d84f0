"""Compare the keys of several topics: which ones they share, and whether each is at one partition number.

A key is identified by a hash of 64 bits: murmur3 in the high half, murmur2 in the low. Two keys with the same
hash count as one key, which seems to be in more partitions than either of them. So no collision hides a key
that is apart, that is, at different partition numbers in several topics. The number of keys is bounded: keys
with hashes up to a bound are kept. All topics share this bound, so each key is compared in all topics or in
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.topic_audit import Records, key_hashes
from copartition.check.verdict import KeyApart, KeyProof, differing_places
from partitioning.keys import KeyColumn
from partitioning.kit.columns import locate, run_starts

MOST_KEYS = 24_000_000
"""The most keys that are kept, of all topics together; each takes 16 bytes."""

EXAMPLES = 10
"""The most keys in a proof that are apart and shown with their bytes."""

_WAITING_ROWS = 1 << 20
"""The least number of waiting records of a topic that are counted together.

If a topic has many counted keys, its records wait until they are a quarter as many as these keys.
"""

_WAITING_BYTES = 1 << 26
"""If the keys of a topic's waiting records have this many bytes, the records are counted at once."""

_BLOCK = 1 << 20
"""How many keys are looked up at once in all topics; this bounds the memory that the look-up takes."""

_EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The ceiling that leaves out no key: the greatest hash."""


class KeyPlaces(NamedTuple):
    """Distinct keys of a topic, by ascending hash; each column has shape (n,).

    Attributes:
        hashes: the 64-bit hash of each key; all of them differ.
        low: the lowest partition that has the key.
        high: the highest partition that has the key; it differs from `low` if the topic itself has the key in
            several partitions.
    """

    hashes: NDArray[np.uint64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def merge(self, more: KeyPlaces) -> KeyPlaces:
        """Return the places of this object and `more` together; the columns of this object may change.

        Args:
            more: places of the same topic, by ascending hash.
        """
        # Known keys are changed in place, because it costs more to insert a key: all keys after it must move.
        at, present = locate(self.hashes, more.hashes)
        old, new = at[present], ~present
        self.low[old] = np.minimum(self.low[old], more.low[present])
        self.high[old] = np.maximum(self.high[old], more.high[present])
        return KeyPlaces(
            np.insert(self.hashes, at[new], more.hashes[new]),
            np.insert(self.low, at[new], more.low[new]),
            np.insert(self.high, at[new], more.high[new]),
        )

    def up_to(self, ceiling: np.uint64) -> KeyPlaces:
        """Return the keys whose hash is not above the ceiling."""
        kept = int(np.searchsorted(self.hashes, ceiling, side="right"))
        return KeyPlaces(self.hashes[:kept].copy(), self.low[:kept].copy(), self.high[:kept].copy())


class _Waiting(NamedTuple):
    """Records that have not been counted yet.

    Attributes:
        hashes: hash of the key of each record to count, shape (n,).
        partition: partition of each of these records, shape (n,).
        keys: the keys of the whole batch, so that the bytes of an example can be found.
        rows: the index in `keys` of each record to count, shape (n,).
    """

    hashes: NDArray[np.uint64]
    partition: NDArray[np.int32]
    keys: KeyColumn
    rows: NDArray[np.intp]


class _Homes(NamedTuple):
    """The partitions of n keys in each topic, -1 if a topic does not have the key; shape (topics, n).

    Attributes:
        low: the lowest partition that has the key.
        high: the highest partition that has the key.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @property
    def topics(self) -> NDArray[np.int64]:
        """The number of topics that have each key; shape (n,)."""
        return np.asarray(np.count_nonzero(self.high >= 0, axis=0))

    @property
    def apart(self) -> NDArray[np.bool_]:
        """True for each key that several topics have at different partition numbers; shape (n,)."""
        highest = self.high.max(axis=0)
        lowest = np.where(self.low < 0, highest, self.low).min(axis=0)
        return np.asarray((self.topics > 1) & (lowest != highest))

    def places(self, number: int) -> tuple[int | None, ...]:
        """Return, for a key that is apart, a partition in each topic that has the key; two of them differ."""
        low, high = (
            [None if place < 0 else place for place in column[:, number].tolist()] for column in self
        )
        return differing_places(low, high)


class KeyComparison:
    """The keys of several topics, added in batches in any order; at most `most_keys` are kept.

    Args:
        topics: the number of topics.
        most_keys: the most keys that are kept, of all topics together.

    Attributes:
        ceiling: the greatest hash that is kept; it is lowered when keys must be left out.
        _most: the most keys that are kept of one topic.
        _places: the counted keys of each topic; all hashes are at most `ceiling`.
        _waiting: batches of each topic that are not counted yet; to count many at once costs less.
        _examples: hash -> bytes, of a few keys that are apart.
    """

    def __init__(self, topics: int, *, most_keys: int = MOST_KEYS) -> None:
        self.ceiling = _EVERY
        self._most = most_keys // topics
        nothing = KeyPlaces(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int32))
        self._places = [nothing] * topics
        self._waiting: list[list[_Waiting]] = [[] for _ in range(topics)]
        self._examples: dict[int, bytes] = {}

    def add(self, topic: int, records: Records) -> None:
        """Count records of a topic; records with a null key are left out.

        Args:
            topic: the topic's number, from 0.
            records: some of its records, in any order.
        """
        keys = records.keys
        # All topics use the same hash, so the ceiling keeps or leaves out a key in all of them alike.
        hashes = key_hashes(keys)
        wanted = hashes <= self.ceiling
        if keys.nulls is not None:
            wanted &= ~keys.nulls
        rows = np.flatnonzero(wanted)
        if len(rows):
            waiting = self._waiting[topic]
            # The whole batch is kept until it is counted, because only then it is known which of its keys
            # are apart, and their bytes are kept as examples.
            waiting.append(_Waiting(hashes[rows], records.partition[rows], keys, rows))
            if (
                sum(len(batch.rows) for batch in waiting)
                >= max(_WAITING_ROWS, len(self._places[topic][0]) // 4)
                or sum(len(batch.keys.data) for batch in waiting) >= _WAITING_BYTES
            ):
                self._count(topic)

    def proof(self, *, complete: bool) -> KeyProof:
        """Return the evidence of all keys that were added.

        Args:
            complete: whether every record of every topic was added.
        """
        for topic in range(len(self._places)):
            self._count(topic)
        common = apart = everywhere = 0
        for topic, places in enumerate(self._places):
            for begin in range(0, len(places.hashes), _BLOCK):
                homes = self._homes_of(places.hashes[begin : begin + _BLOCK])
                # A key counts for the first topic that has it, so that a key in three topics counts once.
                new = (homes.high[:topic] < 0).all(axis=0)  # no earlier topic has it
                topics = homes.topics
                common += int(np.count_nonzero(new & (topics > 1)))
                apart += int(np.count_nonzero(new & homes.apart))
                everywhere += int(np.count_nonzero(new & (topics == len(self._places))))
        homes = self._homes_of(np.array([*self._examples], np.uint64))
        keys = [*self._examples.values()]
        examples = [
            KeyApart(keys[number], homes.places(number)) for number in np.flatnonzero(homes.apart).tolist()
        ]
        return KeyProof(
            keys=tuple(len(places.hashes) for places in self._places),
            common=common,
            apart=apart,
            examples=tuple(sorted(examples, key=lambda example: example.key)[:EXAMPLES]),
            scattered=tuple(int(np.count_nonzero(places.low != places.high)) for places in self._places),
            complete=complete and bool(self.ceiling == _EVERY),
            hashed=True,
            everywhere=everywhere,
            # Hashes are spread evenly, so this is also the share of all keys.
            share=(int(self.ceiling) + 1) / 2**64,
        )

    def _count(self, topic: int) -> None:
        """Count the waiting batches of a topic, and keep the bytes of a few keys that are apart."""
        waiting = self._waiting[topic]
        if not waiting:
            return
        self._waiting[topic] = []
        hashes = np.concatenate([batch.hashes for batch in waiting])
        # The keys of all batches are sorted together, because a merge with the counted keys needs them by
        # ascending hash.
        order = np.argsort(hashes)
        hashes = hashes[order]
        # The ceiling may have been lowered since these batches were added.
        order = order[: np.searchsorted(hashes, self.ceiling, side="right")]
        hashes = hashes[: len(order)]
        partition = np.concatenate([batch.partition for batch in waiting])[order]
        starts = run_starts(hashes)
        low = np.minimum.reduceat(partition, starts) if len(starts) else partition
        high = np.maximum.reduceat(partition, starts) if len(starts) else partition
        fresh = KeyPlaces(hashes[starts], low, high)
        self._places[topic] = self._places[topic].merge(fresh)
        if len(self._examples) < EXAMPLES:
            self._keep_examples(hashes[starts], order[starts], waiting)
        self._limit_keys()

    def _keep_examples(
        self, hashes: NDArray[np.uint64], rows: NDArray[np.intp], waiting: Sequence[_Waiting]
    ) -> None:
        """Keep the bytes of a few of the keys just counted, if they are apart.

        Args:
            hashes: hashes of the keys just counted, ascending, shape (n,).
            rows: for each of these keys a record that has it, numbered over all batches, shape (n,).
            waiting: the batches.
        """
        bounds = np.cumsum([len(batch.rows) for batch in waiting])
        apart = np.flatnonzero(self._homes_of(hashes).apart)
        for number in apart[:EXAMPLES].tolist():
            batch = int(np.searchsorted(bounds, rows[number], side="right"))
            keys = waiting[batch].keys
            row = waiting[batch].rows[rows[number] - bounds[batch]]  # the index is negative: from the end
            self._examples[int(hashes[number])] = keys.data[
                keys.offsets[row] : keys.offsets[row + 1]
            ].tobytes()

    def _limit_keys(self) -> None:
        """Lower the ceiling, and drop keys above it in every topic, until no topic has more than `_most`."""
        while max(len(places.hashes) for places in self._places) > self._most:
            # Half of all hashes are dropped, and with them about half of the keys of every topic.
            self.ceiling >>= np.uint64(1)
            self._places = [places.up_to(self.ceiling) for places in self._places]

    def _homes_of(self, hashes: NDArray[np.uint64]) -> _Homes:
        """Return the partitions that have the keys with these hashes, in each topic; hashes in any order."""
        low = np.full((len(self._places), len(hashes)), -1, np.int32)
        homes = _Homes(low, low.copy())
        for topic, places in enumerate(self._places):
            at, present = locate(places.hashes, hashes)
            homes.low[topic, present] = places.low[at[present]]
            homes.high[topic, present] = places.high[at[present]]
        return homes
