"""How many keys it takes to tell writers apart."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from copartition.topics.audit.rules import rule_of
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.topics.audit.topic_audit import Writer
    from partitioning.hashing import HashName

RISK = 1e-6
"""How likely a writer may be named by chance, among all that are tried."""

_KEYS = 1 << 14


def agreement(one: Writer, other: Writer) -> float:
    """The share of keys that two writers place alike, measured on 16,384 keys.

    1 where they can never be told apart. Over counts of which one divides the other, clients of one rule
    agree on the share that the smaller is of the larger; clients of unrelated rules on one key in as many as
    the larger count.
    """
    places = [
        partitions_of(_hashes(hash_name), writer.num_partitions, sign)
        for writer in (one, other)
        for hash_name, sign in [rule_of(writer)]
    ]
    return float(np.mean(places[0] == places[1]))


def keys_needed(agreeing: float, tried: int = 1, risk: float = RISK) -> int | None:
    """So many distinct keys must be where a writer puts them before it is believed.

    With fewer, one of the others that were tried might have put all of them there by chance.

    Args:
        agreeing: the share of keys that the others place alike: `agreement`, or 1 / count for any unrelated
            rule.
        tried: how many others there are.
        risk: how likely the mistake may be.

    Returns:
        The number of keys; None where no number is enough.
    """
    if agreeing >= 1:
        return None
    if agreeing <= 0:
        return 1
    return max(1, math.ceil(math.log(risk / tried) / math.log(agreeing)))


def surprise(hits: int, keys: int, chance: float) -> float:
    """How little chance explains so many hits: minus the natural logarithm of a bound on it.

    The bound is Chernoff's: `chance ** keys` where all keys are hits, 1 where there are no more hits than
    chance gives.

    Args:
        hits: keys that are where a writer puts them.
        keys: keys that could be there.
        chance: how likely each is there by chance.
    """
    share = hits / keys
    if share <= chance or chance >= 1:
        return 0.0
    there = share * math.log(share / chance)
    return keys * (there + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0))


@lru_cache
def _hashes(name: HashName) -> NDArray[np.int32]:
    keys = key_column([b"key-%d" % number for number in range(_KEYS)])
    return HASHES[name].column(keys.offsets, keys.data)
