"""The keys every client is asked to place: fixed, so that all golden files speak of the same list."""

import random
from collections.abc import Iterator

PARTITION_COUNTS = (1, 2, 3, 6, 12, 100, 1000)

_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz0123456789-_:/", "éñüßøÅçž", "한글파티션키日本語", "😀🎉🚀𝒳𐍈")

# Keys whose hash sits where sign rules differ, found by inverting each hash: on four bytes it is a bijection.
_HASH_EDGES = {
    "murmur2": {
        -(2**31): "a7d6506c", 2**31 - 1: "027d5343", -1: "a5d4305c", 0: "e3871844", 1: "039d77d8",
    },
    "murmur3": {
        -(2**31): "55076f83", 2**31 - 1: "500d473b", -1: "b4f3c777", 0: "7a9b47c2", 1: "86436ad5",
    },
    "crc32": {
        -(2**31): "4e85ec36", 2**31 - 1: "2c70caa4", -1: "ffffffff", 0: "9d0ad96d", 1: "dc0ca8b6",
    },
    "fnv1a": {
        -(2**31): "f534177a01", 2**31 - 1: "2c12ab2b04", -1: "3051f66300", 0: "cc2431c400", 1: "fc18bb5f00",
    },
    "java_string": {
        -(2**31): b"alxexlnb".hex(), 2**31 - 1: b"alxexlna".hex(), -1: b"aepdynhz".hex(),
        0: b"aoffckzd".hex(), 1: b"ajkenmba".hex(),
    },
}  # fmt: skip

_WORDS = (
    "a", "ab", "abc", "abcd", "abcde", "21", "key", "kafka", "foobar", "yolo", "user-1", "123456789",
    "0123456789abcdef", "a-little-bit-long-string", "a-little-bit-longer-string",
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", "polygenelubricants",
    "null", "None", " ", "\t\n", "\x00", "a\x00", "a\x00\x00", "\ufeffkey", "é", "e\u0301", "한글", "日本語",
    "😀", "\U0001f600\uff5e", "\U0010ffff", "\uffff", "\x7f", "\x80", "ÿ", "ß", "ẞ", "AaBB", "BBAa",
)  # fmt: skip


def corpus() -> tuple[bytes | None, ...]:
    """Null, empty, and every kind of key a hash may stumble on; each once, always in the same order."""
    return tuple(dict.fromkeys(_all()))


def is_text(key: bytes | None) -> bool:
    """Can a client whose keys are strings be given this one?"""
    if key is None:
        return True
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def hash_edges() -> dict[str, dict[int, bytes]]:
    """For each hash function, keys that it maps to the extreme values of a signed 32-bit number."""
    return {
        name: {value: bytes.fromhex(key) for value, key in edges.items()}
        for name, edges in _HASH_EDGES.items()
    }


def _all() -> Iterator[bytes | None]:
    yield None
    yield b""
    yield from (word.encode() for word in _WORDS)
    yield from (key for edges in hash_edges().values() for key in edges.values())
    yield from (bytes([byte]) for byte in range(256))
    rng = random.Random(20260113)
    for length in range(1, 41):
        yield from _of_length(length, rng)
    for length in (63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 1000, 4096):
        yield rng.randbytes(length)
        yield _text(_ALPHABETS[0], length, rng)
    yield from _serialized_numbers(rng)


def _of_length(length: int, rng: random.Random) -> Iterator[bytes]:
    yield bytes(length)
    yield b"\xff" * length
    yield from (rng.randbytes(length) for _ in range(22))
    yield from (bytes(rng.choices(range(128, 256), k=length)) for _ in range(6))
    for zeros in range(1, min(length, 4) + 1):
        yield rng.randbytes(length - zeros) + bytes(zeros)
        yield bytes(zeros) + rng.randbytes(length - zeros)
    for alphabet in _ALPHABETS:
        yield from (_text(alphabet, length, rng) for _ in range(5))


def _text(alphabet: str, length: int, rng: random.Random) -> bytes:
    """Text of exactly `length` UTF-8 bytes; what does not fit a whole character is filled with ASCII."""
    text = b""
    while len(text) < length:
        character = rng.choice(alphabet).encode()
        text += character if len(text) + len(character) <= length else rng.choice(_ALPHABETS[0]).encode()
    return text


def _serialized_numbers(rng: random.Random) -> Iterator[bytes]:
    numbers = [0, 1, -1, 21, 2**31 - 1, -(2**31), *(rng.randrange(-(2**31), 2**31) for _ in range(20))]
    for number in numbers:
        yield from (
            number.to_bytes(size, order, signed=True) for size in (4, 8) for order in ("big", "little")
        )
