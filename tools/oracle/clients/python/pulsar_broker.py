"""The least of a Pulsar broker: it says how many partitions a topic has, and acknowledges what is sent.

Pulsar's C++ client routes inside its producer and offers no way to ask but to send. Topics are called
`keys-<count>`; commands and their fields have the numbers of Pulsar's PulsarApi.proto.
"""

import re
import socketserver
import struct
import threading

CONNECT, CONNECTED, PRODUCER, SEND, SEND_RECEIPT = 2, 3, 5, 6, 7
SUCCESS, CLOSE_PRODUCER, PRODUCER_SUCCESS, PING, PONG = 13, 15, 17, 18, 19
PARTITIONED_METADATA, PARTITIONED_METADATA_RESPONSE, LOOKUP, LOOKUP_RESPONSE = 21, 22, 23, 24
PROTOCOL_VERSION = 12
VARINT, BYTES = 0, 2  # protobuf's wire types

Fields = dict[int, int | bytes]


def encode(fields: dict[int, int | bytes | str]) -> bytes:
    """A protobuf message."""
    encoded = bytearray()
    for number, value in fields.items():
        if isinstance(value, int):
            encoded += varint(number << 3 | VARINT) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | BYTES) + varint(len(data)) + data
    return bytes(encoded)


def decode(data: bytes) -> Fields:
    """The fields of a protobuf message that has numbers and bytes only; the last of a repeated field."""
    fields: Fields = {}
    position = 0
    while position < len(data):
        tag, position = read_varint(data, position)
        value, position = read_varint(data, position)
        if tag & 7 == BYTES:
            fields[tag >> 3] = data[position : position + value]
            position += value
        else:
            fields[tag >> 3] = value
    return fields


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


class Connection(socketserver.StreamRequestHandler):
    """One client's connection."""

    def handle(self) -> None:
        while size := self.rfile.read(4):
            frame = self.rfile.read(*struct.unpack(">I", size))
            (command_size,) = struct.unpack_from(">I", frame)
            command = decode(frame[4 : 4 + command_size])
            kind = command[1]
            self.answer(kind, decode(command.get(kind, b"")))

    def answer(self, kind: int, asked: Fields) -> None:
        if kind == CONNECT:
            self.reply(CONNECTED, {1: "oracle", 2: PROTOCOL_VERSION})
        elif kind == PARTITIONED_METADATA:
            count = int(re.search(rb"-(\d+)$", asked[1])[1])
            self.reply(PARTITIONED_METADATA_RESPONSE, {1: count, 2: asked[2], 3: 0})
        elif kind == LOOKUP:
            url = f"pulsar://127.0.0.1:{self.server.server_address[1]}"
            self.reply(LOOKUP_RESPONSE, {1: url, 3: 1, 4: asked[2], 5: 1})
        elif kind == PRODUCER:
            self.reply(PRODUCER_SUCCESS, {1: asked[3], 2: f"producer-{asked[2]}"})
        elif kind == SEND:
            self.reply(SEND_RECEIPT, {1: asked[1], 2: asked[2], 3: encode({1: 1, 2: 1})})
        elif kind == CLOSE_PRODUCER:
            self.reply(SUCCESS, {1: asked[2]})
        elif kind == PING:
            self.reply(PONG, {})

    def reply(self, kind: int, fields: dict[int, int | bytes | str]) -> None:
        command = encode({1: kind, kind: encode(fields)})
        self.wfile.write(struct.pack(">II", len(command) + 4, len(command)) + command)


class Broker(socketserver.ThreadingTCPServer):
    """A broker on a free loopback port; use it as a context manager."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.url = f"pulsar://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()
