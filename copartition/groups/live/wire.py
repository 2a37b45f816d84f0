"""Ask brokers what confluent-kafka does not pass on, over a connection of our own.

`ConsumerGroupDescribe` (KIP-848) tells what each member subscribes to, and `ApiVersions` which features the
cluster has. Settings are librdkafka's; TLS, and SASL with PLAIN or SCRAM, are supported. `messages.toml`
describes the structure of answers.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar

from assignors.protocol import Reader
from partitioning.errors import ProtocolError, SourceError
from partitioning.kit.packages import read_toml

T = TypeVar("T")

_TIMEOUT_S = 5.0
"""Seconds that it may take to connect, and seconds from each question to the end of its answer."""
_LARGEST_ANSWER = 100_000_000
"""The most bytes of an answer. From a wrong port, the first four bytes may be any text instead of a size."""
_LEAST_ITERATIONS, _MOST_ITERATIONS = 4096, 1_000_000
"""Bounds of SCRAM's iterations: fewer make a password easy to guess, so Kafka's clients refuse them, too."""

_MOVES_S = 10.0
"""Seconds for which a question is repeated if the coordinator moves or is not ready."""
_MOVES = {14, 15, 16}
"""Kafka's error codes COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR."""

_MESSAGES: Mapping[str, Mapping[str, Any]] = read_toml(__package__, "messages.toml")
_SASL_HANDSHAKE, _SASL_AUTHENTICATE = 17, 36
_WITH_TYPES = 5
"""The version of ListGroups from which on brokers tell the type of each group (Kafka 3.8, KIP-848)."""
_MEMBER_TYPES = {0: "classic", 1: "consumer"}
"""Number of a member's type in version 1 of ConsumerGroupDescribe (KIP-1099) -> the protocol it speaks."""
_PRESENT = 1
NO_TAGS = b"\0"
"""The bytes of an empty list of tagged fields (KIP-482)."""


@cache
def _fields(message: str, struct_name: str) -> list[list[str]]:
    """Return the fields of a struct, each as [name, type]; "1+" follows if version 0 lacks the field."""
    return [field.split() for field in _MESSAGES[message][struct_name]]


class CoordinatorMovesError(ProtocolError):
    """The broker does not coordinate the group now. A later try may reach the broker that does."""


class MemberSubscription(NamedTuple):
    """Holds the subscription of a member of a group of the consumer protocol."""

    topics: tuple[str, ...]
    pattern: str | None  # a regular expression (RE2)
    rack: str | None  # `client.rack`
    protocol: str | None  # "classic" or "consumer"; None if the broker does not say, as before Kafka 4.0


def read_subscriptions(group: str, config: Mapping[str, str]) -> dict[str, MemberSubscription]:
    """Return the subscriptions of a group of the consumer protocol, by member id.

    Raises:
        SourceError: no broker answers, one refuses, or the settings ask for something that is not supported
            here.
    """
    return ask_coordinator(
        group,
        config,
        lambda connection: connection.subscriptions(
            group, connection.choose_version("ConsumerGroupDescribe")
        ),
    )


def ask_coordinator(group: str, config: Mapping[str, str], ask: Callable[[Connection], T]) -> T:
    """Return what `ask` returns for a connection to a group's coordinator.

    While the coordinator moves, for example after a restart of a broker, it is looked up and asked again for
    up to `_MOVES_S` seconds.

    Args:
        group: group id.
        config: librdkafka settings.
        ask: called with the connection.

    Raises:
        SourceError: no broker answers, one refuses, or the settings ask for something that is not supported
            here.
    """
    deadline = time.monotonic() + _MOVES_S
    with failures():
        while True:
            try:
                with connect_to(*find_coordinator(group, config), config) as connection:
                    return ask(connection)
            except CoordinatorMovesError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_MOVES_S / 50)


def find_coordinator(group: str, config: Mapping[str, str]) -> tuple[str, int]:
    """Return (host, port) of the broker that coordinates a group; raise errors as `failures` does."""
    with _bootstrap(config) as connection:
        return connection.coordinator(group)


def read_features(config: Mapping[str, str]) -> dict[str, int]:
    """Return the levels of the features that the cluster has agreed on, such as transaction.version.

    Brokers that cannot describe a group of the consumer protocol have level 0 of group.version (KIP-890).

    Raises:
        SourceError: as for `read_subscriptions`.
    """
    with failures(), _bootstrap(config) as connection:
        keys, levels = connection.features()
    return levels if _MESSAGES["ConsumerGroupDescribe"]["key"] in keys else {**levels, "group.version": 0}


def read_group_types(brokers: Iterable[tuple[str, int]], config: Mapping[str, str]) -> dict[str, str]:
    """Return the type of each group that this user may see: "classic", "consumer", "share" or "streams".

    Args:
        brokers: (host, port) of each broker; each knows the groups that it coordinates.
        config: librdkafka settings.

    Returns:
        Group id -> type. Groups of brokers before Kafka 3.8, which tell no types, are left out.

    Raises:
        SourceError: as for `read_subscriptions`.
    """
    types: dict[str, str] = {}
    with failures():
        for host, port in brokers:
            with connect_to(host, port, config) as connection:
                versions, _ = connection.features()
                if versions.get(_MESSAGES["ListGroups"]["key"], 0) >= _WITH_TYPES:
                    types |= connection.group_types()
    return types


@contextmanager
def failures() -> Iterator[None]:
    """Turn everything that can go wrong between us and a broker into a `SourceError`."""
    try:
        yield
    # OverflowError: a broker's answer names a port that no machine has.
    except (OSError, ProtocolError, struct.error, ValueError, KeyError, OverflowError) as error:
        raise SourceError(f"a request over copartition's own connection failed: {error}") from error


class AnswerReader(Reader):
    """Reads an answer's bytes, including the types of flexible versions (KIP-482).

    Each method returns the next field and moves past it; an answer that is too short raises
    `ProtocolError`.
    """

    def int8(self) -> int:
        """Return an unsigned 8-bit number."""
        return self._take(1)[0]

    def int64(self) -> int:
        """Return a signed 64-bit number."""
        return int.from_bytes(self._take(8), signed=True)

    def skip(self, size: int) -> None:
        """Skip some bytes."""
        self._take(size)

    def uvarint(self) -> int:
        """Return an unsigned number of variable length, 7 bits a byte, at most 5 bytes."""
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            # Five bytes are the most that Kafka's own readers accept, too.
            if shift > 28:
                raise self._fault("a number takes too many bytes")

    def compact(self) -> str | None:
        """Return a compact text; None for null. Bytes that are no UTF-8 become replacement characters."""
        size = self.uvarint()
        return str(self._take(size - 1), "utf-8", "replace") if size else None

    def text(self) -> str:
        """Return a text; null is empty."""
        return self.compact() or ""

    def numbers(self) -> list[int]:
        """Return a compact array of signed 32-bit numbers; null is empty."""
        size = max(self.uvarint() - 1, 0)
        return list(struct.unpack(f">{size}i", self._take(4 * size)))

    def items(self) -> range:
        """Return a range with one number for each element of a compact array; it is empty for null."""
        return self._turns(self.uvarint() - 1)

    def _turns(self, size: int) -> range:
        """Return a range of `size` numbers; it is empty for a size below 0.

        Each element takes at least one byte. So a size that is larger than the rest of the answer is refused,
        before a loop over it can begin.
        """
        if size > self.left:
            raise self._fault(f"an array says it has {size} elements where {self.left} bytes are left")
        return range(size)

    def tags(self) -> dict[int, AnswerReader]:
        """Return tag -> a reader of the tagged field's bytes."""
        fields = {}
        for _ in range(self.uvarint()):
            tag, size = self.uvarint(), self.uvarint()
            fields[tag] = AnswerReader(bytes(self._take(size)), self._what)
        return fields

    _READ: ClassVar[Mapping[str, Callable[[AnswerReader], Any]]] = {
        "int8": int8,
        "int16": Reader.int16,
        "int32": Reader.int32,
        "int64": int64,
        "uuid": lambda self: self.skip(16),
        "text": text,
        "text?": compact,
        "numbers": numbers,
    }

    def read_value(self, message: str, kind: str, version: int = 0) -> Any:
        """Return a value of a type that `messages.toml` explains; a struct is a dict of its fields.

        Args:
            message: the message whose structs the type may name.
            kind: the type.
            version: the version of the answer; version 0 lacks the fields that are marked "1+".
        """
        if read := self._READ.get(kind):
            return read(self)
        if kind.startswith("["):
            element, _, may_be_null = kind[1:].partition("]")
            size = self.uvarint() - 1
            if may_be_null and size < 0:
                return None
            return [self.read_value(message, element, version) for _ in self._turns(size)]
        # A byte before a struct that may be null says whether the struct follows (1) or is null (-1).
        if kind.startswith("?") and self.int8() != _PRESENT:
            return None
        fields = {}
        for name, field_kind, *since in _fields(message, kind.removeprefix("?")):
            if version or not since:
                fields[name] = self.read_value(message, field_kind, version)
        self.tags()
        return fields


class Connection:
    """Asks one broker, one question at a time.

    `_number` counts the questions. The last byte of an answer must come within `_TIMEOUT_S` of its question.
    """

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._number = 0
        self._deadline = 0.0  # until when the answer to the present question must be there

    def ask(
        self, key: int, version: int, body: bytes, *, flexible: bool = True, tagged: bool = True
    ) -> AnswerReader:
        """Return a reader of the answer to a request, which begins behind the answer's header.

        Args:
            key: API key.
            version: the version of the request and its answer.
            body: the request behind its header.
            flexible: whether this version has compact types and tagged fields (KIP-482).
            tagged: whether the answer's header has tagged fields; that of ApiVersions never has.

        Raises:
            ProtocolError: the broker hangs up, or the answer has an impossible size.
            OSError: the answer does not come in time, or the connection breaks.
        """
        self._number += 1
        self._deadline = time.monotonic() + _TIMEOUT_S
        header = struct.pack(">hhi", key, version, self._number) + short_text("copartition")
        message = header + (NO_TAGS if flexible else b"") + body
        self._stream.sendall(struct.pack(">i", len(message)) + message)
        (size,) = struct.unpack(">i", self._receive(4))
        if not 4 <= size <= _LARGEST_ANSWER:
            raise ProtocolError(f"an answer says that it has {size} bytes")
        answer = AnswerReader(self._receive(size), "a broker's answer")
        answer.int32()  # the number of the question
        if flexible and tagged:
            answer.tags()
        return answer

    def request(self, message: str, body: bytes, version: int = 0) -> dict[str, Any]:
        """Return the answer to a request of a flexible version, by the names of `messages.toml`.

        Args:
            message: the request's name in `messages.toml`.
            body: the request behind its header.
            version: the version of the request and its answer.
        """
        answer = self.ask(_MESSAGES[message]["key"], version, body)
        fields: dict[str, Any] = answer.read_value(message, "answer", version)
        return fields

    def choose_version(self, message: str) -> int:
        """Return the version of a request to send, 0 or 1; for an unknown version a broker would hang up."""
        return min(self.features()[0].get(_MESSAGES[message]["key"], 0), 1)

    def coordinator(self, group: str) -> tuple[str, int]:
        """Return (host, port) of the broker that coordinates a group."""
        answer = self.request("FindCoordinator", compact_text(group) + b"\0" + NO_TAGS, 3)
        check_error(answer["error"], answer["message"])
        return answer["host"], answer["port"]

    def subscriptions(self, group: str, version: int) -> dict[str, MemberSubscription]:
        """Return the subscriptions of a group of the consumer protocol, by member id.

        Args:
            group: group id.
            version: the version of the request, 0 or 1. Only the answer of version 1 tells which protocol
                each member speaks.

        Raises:
            ProtocolError: the broker refuses the request.
        """
        body = b"\x02" + compact_text(group) + b"\0" + NO_TAGS
        subscriptions = {}
        for described in self.request("ConsumerGroupDescribe", body, version)["groups"]:
            check_error(described["error"], described["message"])
            for member in described["members"]:
                subscriptions[member["id"]] = MemberSubscription(
                    tuple(member["topics"]),
                    member["pattern"] or None,
                    member["rack"] or None,
                    _MEMBER_TYPES.get(member.get("type")),
                )
        return subscriptions

    def group_types(self) -> dict[str, str]:
        """Return the type of each group that this broker coordinates, in small letters, by group id.

        Raises:
            ProtocolError: the broker refuses the request.
        """
        # Two empty arrays mean: no filter by state, and no filter by type.
        answer = self.request("ListGroups", b"\x01\x01" + NO_TAGS, _WITH_TYPES)
        check_error(answer["error"], None)
        return {group["id"]: group["type"].lower() for group in answer["groups"]}

    def features(self) -> tuple[dict[int, int], dict[str, int]]:
        """Return the highest version of each API key of a broker, and its cluster's levels of features.

        Both are empty for a broker before Kafka 2.4.
        """
        body = compact_text("copartition") + compact_text("0") + NO_TAGS
        message = "ApiVersions"
        answer = self.ask(_MESSAGES[message]["key"], 3, body, tagged=False)
        if answer.int16():  # 35: a broker before 2.4, which answers in a layout of its own
            return {}, {}
        versions = answer.read_value(message, "[version]")
        answer.int32()  # for how long the broker throttled us
        finalized = answer.tags().get(2)
        levels = [] if finalized is None else finalized.read_value(message, "[feature]")
        return (
            {version["key"]: version["most"] for version in versions},
            {feature["name"]: feature["most"] for feature in levels},
        )

    def log_in(self, config: Mapping[str, str]) -> None:
        """Authenticate by SASL with PLAIN or SCRAM.

        Raises:
            SourceError: another mechanism is set.
            ProtocolError: the broker refuses the mechanism or the user.
        """
        mechanism = config.get("sasl.mechanism", config.get("sasl.mechanisms", "")).upper()
        user, password = config.get("sasl.username", ""), config.get("sasl.password", "")
        answer = self.ask(_SASL_HANDSHAKE, 1, short_text(mechanism), flexible=False)
        check_error(answer.int16(), f"the broker knows no {mechanism}")
        if mechanism == "PLAIN":
            self._authenticate(f"\0{user}\0{password}".encode())
        elif mechanism in {"SCRAM-SHA-256", "SCRAM-SHA-512"}:
            self._scram(mechanism.removeprefix("SCRAM-").replace("-", "").lower(), user, password)
        else:
            raise SourceError(f"{mechanism} is not spoken here, only PLAIN and SCRAM")

    def _authenticate(self, data: bytes) -> bytes:
        """Send bytes of a SASL mechanism, and return the broker's bytes."""
        body = struct.pack(">i", len(data)) + data
        answer = self.ask(_SASL_AUTHENTICATE, 0, body, flexible=False)
        error, message = answer.int16(), answer.nullable_string()
        check_error(error, message)
        return answer.data() or b""

    def _scram(self, digest: str, user: str, password: str) -> None:
        """Authenticate by SCRAM (RFC 5802) without a channel binding.

        Args:
            digest: "sha256" or "sha512".
            user: the user's name.
            password: the user's password. It is never sent; only a proof of it is.

        Raises:
            ProtocolError: the broker refuses the proof, or cannot prove that it knows the password itself.
        """
        # "=" and "," separate fields of SCRAM, so a name must not hold them; "=" first, or it would be
        # escaped twice.
        name = user.replace("=", "=3D").replace(",", "=2C")
        nonce = secrets.token_hex(16)
        first = f"n={name},r={nonce}"
        challenge = self._authenticate(f"n,,{first}".encode()).decode()
        fields = dict(part.split("=", 1) for part in challenge.split(","))
        # An answer without our nonce may be a recording of an earlier login.
        if not fields["r"].startswith(nonce):
            raise ProtocolError("the broker's nonce does not begin with ours")
        iterations = int(fields["i"])
        if not _LEAST_ITERATIONS <= iterations <= _MOST_ITERATIONS:
            raise ProtocolError(f"the broker wants a password hashed {iterations} times")
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(fields["s"]), iterations)
        key = hmac.digest(salted, b"Client Key", digest)
        last = f"c=biws,r={fields['r']}"
        messages = f"{first},{challenge},{last}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), messages, digest)
        proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
        verdict = self._authenticate(f"{last},p={base64.b64encode(proof).decode()}".encode())
        # A false broker that does not know the password can accept any proof, but cannot sign the messages.
        theirs = hmac.digest(hmac.digest(salted, b"Server Key", digest), messages, digest)
        if not hmac.compare_digest(verdict.partition(b",")[0], b"v=" + base64.b64encode(theirs)):
            raise ProtocolError("the broker's signature is wrong: it does not know this user's password")

    def _receive(self, size: int) -> bytes:
        """Return the next `size` bytes of the answer."""
        parts = []
        while size:
            # The limit is for the whole answer: a broker that sends byte by byte could take any time.
            self._stream.settimeout(max(self._deadline - time.monotonic(), 0.001))
            part = self._stream.recv(min(size, 1 << 16))
            if not part:
                raise ProtocolError("the broker hung up")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


@contextmanager
def _bootstrap(config: Mapping[str, str]) -> Iterator[Connection]:
    """Yield a connection as `connect_to` does, to the first of `bootstrap.servers` that can be reached."""
    last: OSError | None = None
    for server in config.get("bootstrap.servers", "").split(","):
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        # An entry without a port is passed over; others may be right.
        if not host or not port.isdigit():
            continue
        try:
            stream = _open(host.strip("[]"), int(port), config)
        except OSError as error:
            last = error
            continue
        with stream:
            yield _ready(stream, config)
        return
    raise last or SourceError("bootstrap.servers names no broker")


@contextmanager
def connect_to(host: str, port: int, config: Mapping[str, str]) -> Iterator[Connection]:
    """Yield a connection to one broker, logged in if the settings ask for SASL."""
    with _open(host, port, config) as stream:
        yield _ready(stream, config)


def _ready(stream: socket.socket, config: Mapping[str, str]) -> Connection:
    """Return a connection over this stream, logged in if the settings ask for SASL."""
    connection = Connection(stream)
    if config.get("security.protocol", "").upper().startswith("SASL"):
        connection.log_in(config)
    return connection


def _open(host: str, port: int, config: Mapping[str, str]) -> socket.socket:
    """Return a stream to a broker, with TLS if the settings ask for it."""
    raw = socket.create_connection((host, port), _TIMEOUT_S)
    if not config.get("security.protocol", "").upper().endswith("SSL"):
        return raw
    try:
        return _tls(config).wrap_socket(raw, server_hostname=host)
    except BaseException:
        # After a failed handshake, no caller gets the stream, so nobody else could close it.
        raw.close()
        raise


def _tls(config: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS context of librdkafka's settings.

    Host names are checked unless a setting says otherwise.
    """
    context = ssl.create_default_context(
        cafile=config.get("ssl.ca.location"), cadata=config.get("ssl.ca.pem")
    )
    # "https" is librdkafka's default, and the only value that checks names.
    context.check_hostname = config.get("ssl.endpoint.identification.algorithm", "https") == "https"
    if config.get("enable.ssl.certificate.verification", "true") == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate := config.get("ssl.certificate.location"):
        # Without any password OpenSSL would ask for it on the terminal, and wait there.
        password = config.get("ssl.key.password", "")
        context.load_cert_chain(certificate, config.get("ssl.key.location"), password)
    return context


def check_error(error: int, message: str | None) -> None:
    """Raise `ProtocolError` for an error code of Kafka other than 0."""
    if error:
        kind = CoordinatorMovesError if error in _MOVES else ProtocolError
        raise kind(f"error {error}{f': {message}' if message else ''}")


def short_text(text: str) -> bytes:
    """Return a text with its length in 16 bits before it, as versions that are not flexible have it."""
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def compact_text(text: str) -> bytes:
    """Return a text of a flexible version (KIP-482)."""
    data = text.encode()
    return _compact_size(len(data)) + data


def compact_array(items: Sequence[bytes]) -> bytes:
    """Return an array of a flexible version (KIP-482)."""
    return _compact_size(len(items)) + b"".join(items)


def _compact_size(size: int) -> bytes:
    """Return a length as flexible versions have it: increased by one, 7 bits a byte, the lowest first."""
    size, prefix = size + 1, bytearray()
    while size >= 0x80:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*prefix, size])
