"""Brokers in memory, asked over a connection of our own: no socket, thread or sleep."""

import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

from copartition.groups.live.wire import NO_TAGS, compact_array, compact_text

SASL_HANDSHAKE, SASL_AUTHENTICATE, API_VERSIONS, FIND_COORDINATOR, LIST_GROUPS = 17, 36, 18, 10, 16
CONSUMER_GROUP_DESCRIBE = 69
NEVER_TAGGED = {SASL_HANDSHAKE, SASL_AUTHENTICATE, API_VERSIONS}
"""API keys whose answers have no tagged fields in their headers, in the versions that are asked."""

Answer = bytes | Callable[[bytes], bytes] | None
"""The body of an answer, or what makes it of the body of a request; None hangs up."""
Answers = Mapping[int, Answer | Sequence[Answer]]
"""A broker's answers by API key; several are given one after the other, the last of them from then on."""


class Request(NamedTuple):
    """A request as a broker in memory got it."""

    address: tuple[str, int]
    key: int
    version: int
    number: int  # of the request on its connection
    body: bytes  # behind the header


class Brokers:
    """Brokers by address.

    Attributes:
        asked: the requests so far.
        open: connections that nobody has closed.
        timeouts: seconds that each part of an answer was waited for at most.
    """

    def __init__(self, answers: Mapping[tuple[str, int], Answers]) -> None:
        self.answers = answers
        self.asked: list[Request] = []
        self.open = 0
        self.timeouts: list[float] = []
        self._given: Counter[tuple[tuple[str, int], int]] = Counter()

    def create_connection(self, address: tuple[str, int], timeout: float) -> "Stream":
        """Stands in for `socket.create_connection`."""
        if address not in self.answers:
            raise ConnectionRefusedError(f"refused at {address[0]}:{address[1]}")
        return Stream(self, address)

    def answer(self, asked: Request) -> bytes | None:
        """The answer to a request, without its size."""
        self.asked.append(asked)
        answer = self.answers[asked.address][asked.key]
        if isinstance(answer, list):
            given = self._given[asked.address, asked.key]
            self._given[asked.address, asked.key] += 1
            answer = answer[min(given, len(answer) - 1)]
        if answer is None:
            return None
        body = answer(asked.body) if callable(answer) else answer
        return struct.pack(">i", asked.number) + (b"" if asked.key in NEVER_TAGGED else NO_TAGS) + body


class Stream:
    """A connection to a broker in memory."""

    def __init__(self, brokers: Brokers, address: tuple[str, int]) -> None:
        self._brokers, self._address, self._left = brokers, address, b""
        self._open = True
        brokers.open += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._brokers.open -= self._open
        self._open = False

    def settimeout(self, seconds: float) -> None:
        self._brokers.timeouts.append(seconds)

    def sendall(self, data: bytes) -> None:
        size, key, version, number, name = struct.unpack(">ihhih", data[:14])
        assert (size, name) == (len(data) - 4, len("copartition"))
        body = data[14 + name :]
        if key not in {SASL_HANDSHAKE, SASL_AUTHENTICATE}:
            assert body.startswith(NO_TAGS)  # what ends the header of a flexible version
            body = body.removeprefix(NO_TAGS)
        answer = self._brokers.answer(Request(self._address, key, version, number, body))
        self._left += b"" if answer is None else struct.pack(">i", len(answer)) + answer

    def recv(self, size: int) -> bytes:
        part, self._left = self._left[:size], self._left[size:]
        return part


def versions(highest: Mapping[int, int], levels: Mapping[str, int] | None = None) -> bytes:
    """An answer to ApiVersions: the highest version of each API key, and the levels of features."""
    keys = [struct.pack(">hhh", key, 0, version) + NO_TAGS for key, version in highest.items()]
    finalized = compact_array(
        [
            compact_text(name) + struct.pack(">hh", level, 0) + NO_TAGS
            for name, level in (levels or {}).items()
        ]
    )
    return b"\0\0" + compact_array(keys) + bytes(4) + b"\x01\x02" + bytes([len(finalized)]) + finalized


def coordinator(host: str, port: int, error: int = 0, message: str = "") -> bytes:
    """An answer to FindCoordinator."""
    told = struct.pack(">h", error) + compact_text(message) + struct.pack(">i", 1)
    return bytes(4) + told + compact_text(host) + struct.pack(">i", port) + NO_TAGS
