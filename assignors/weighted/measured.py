"""Weights that consumers measure themselves and send along when they join.

They follow what an assignor's user data holds otherwise, whose readers stop before them: for each topic its
name, partition numbers and as many 64-bit floats, then the length of all that, then `RATE`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from typing import NamedTuple

import numpy as np

from assignors.group import Member, StickyUserData
from assignors.weighted.weights import Weights
from assignors.wire import Reader, Writer
from partitioning.errors import InvalidConfigError, ProtocolError
from partitioning.kit.limits import MAX_PARTITION

_END = b"RATE"
_WHAT = "the rates in user data"


class Measured(NamedTuple):
    """The members of a group without rates in their user data, and the greatest rate of each partition."""

    members: list[Member]
    rates: dict[tuple[str, int], float]


def with_rates(data: bytes | None, rates: Mapping[tuple[str, int], float]) -> bytes | None:
    """User data with rates behind it, in any unit that all members share; without rates nothing is added.

    Raises InvalidConfigError where a rate is no finite number from 0 on, or not of a partition.
    """
    if not rates:
        return data
    Weights(rates)  # refuses what is none
    writer = Writer(_WHAT)
    for topic, group in groupby(sorted(rates.items()), key=lambda item: item[0][0]):
        own = list(group)
        writer.string(topic)
        writer.int32s(np.array([partition for (_, partition), _ in own], np.int32))
        writer.data(np.array([rate for _, rate in own], ">f8").tobytes())
    payload = writer.bytes()
    return (data or b"") + payload + len(payload).to_bytes(4, "big") + _END


def read_measured(members: Sequence[Member]) -> Measured:
    """What members have measured, and the members as other readers of user data expect them.

    Rates that are cut, not finite or below 0 count as none.
    """
    plain, greatest = [], dict[tuple[str, int], float]()
    for member in members:
        data = member.user_data
        if data is None or isinstance(data, StickyUserData) or not bytes(data).endswith(_END):
            plain.append(member)
            continue
        before, rates = _split(bytes(data))
        plain.append(replace(member, user_data=before or None))
        for partition, rate in rates.items():
            greatest[partition] = max(rate, greatest.get(partition, rate))
    return Measured(plain, greatest)


def _split(data: bytes) -> tuple[bytes, dict[tuple[str, int], float]]:
    """What stands before the rates, and the rates."""
    body, length = data[: -len(_END) - 4], int.from_bytes(data[-len(_END) - 4 : -len(_END)], "big")
    if not 0 < length <= len(body):
        return data, {}
    start = len(body) - length
    reader, rates = Reader(body[start:], _WHAT), dict[tuple[str, int], float]()
    try:
        while reader.left:
            topic, partitions = reader.string(), reader.int32s().tolist()
            values = np.frombuffer(reader.data() or b"", ">f8").tolist()
            rates.update(
                ((topic, partition), rate)
                for partition, rate in zip(partitions, values, strict=True)
                if 0 <= rate < inf and 0 <= partition <= MAX_PARTITION
            )
    except (ProtocolError, ValueError):
        return data, {}
    return body[:start], rates


def checked_rates(rates: object) -> None:
    """Raise InvalidConfigError unless rates can be asked for."""
    if rates is not None and not callable(rates):
        raise InvalidConfigError(
            f"rates is {rates!r}; give a function without arguments that returns what this consumer has "
            "measured, by topic and partition"
        )
