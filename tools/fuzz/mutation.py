"""Text and bytes, damaged: flipped, cut, spliced, with other numbers and with cells in each other's place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

NUMBERS = [
    b"",
    b"0",
    b"-1",
    b"1",
    b"00",
    b"2147483646",
    b"2147483647",
    b"2147483648",
    b"4294967296",
    b"9223372036854775807",
    b"9223372036854775808",
    b"1" * 25,
    b"9" * 5000,
    b"1.5",
    b"1e308",
    b"1e999",
    b".nan",
    b"-.inf",
    b"0x7f",
    b"0b" + b"1" * 80,
    b"1_000",
    b"1:59",
    b"2001-99-99",
    "²".encode(),
    "٣".encode(),
]
PIECES = [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"\xed\xa0\x80",
    b"\r",
    b"\x1b[2J",
    "\u2028".encode(),
    b"!!int ",
    b"!!bool ",
    b"!!timestamp ",
    b"!!set ",
    b"!!binary ",
    b"&a ",
    b"*a",
    b"<<: ",
    b"null",
    b"true",
    b"[",
    b"{",
    b"- ",
    b'"',
    b"'",
    b"=",
    b".",
    b":",
    b",",
    b"-",
]


def mutate(rng: Random, content: bytes) -> bytes:
    """The content after one to four mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        content = rng.choice(_MUTATIONS)(rng, content)
    return content


def _flip(rng: Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def _cut(rng: Random, content: bytes) -> bytes:
    start, end = _span(rng, content)
    return content[:start] + content[end:] if rng.random() < 0.5 else content[start:end]


def _splice(rng: Random, content: bytes) -> bytes:
    start, end = _span(rng, content)
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[start:end] + content[at:]


def _repeat(rng: Random, content: bytes) -> bytes:
    start = rng.randrange(len(content) + 1)
    end = start + rng.randrange(1, 20)
    return content[:start] + content[start:end] * rng.choice((2, 50, 3000)) + content[end:]


def _insert(rng: Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 3000)) + content[at:]


def _number(rng: Random, content: bytes) -> bytes:
    return _replace(rng, content, rb"-?\d+", lambda _: rng.choice(NUMBERS))


def _cell(rng: Random, content: bytes) -> bytes:
    words = re.findall(rb"[\w.-]+", content) or [b""]
    return _replace(rng, content, rb"[\w.-]+", lambda _: rng.choice(words))


def _replace(rng: Random, content: bytes, pattern: bytes, by: Callable[[bytes], bytes]) -> bytes:
    found = list(re.finditer(pattern, content))
    if not found:
        return content
    one = rng.choice(found)
    return content[: one.start()] + by(one.group()) + content[one.end() :]


def _span(rng: Random, content: bytes) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 4, 16, 64, 1024)))


_MUTATIONS = [_flip, _cut, _splice, _repeat, _insert, _number, _number, _number, _cell, _cell]
