"""Reads text files of users, which may have a byte order mark, be UTF-16, be compressed, or not be text.

A capture of a group comes from a terminal, a spreadsheet or an e-mail; PowerShell writes UTF-16, and editors
add marks. A file is read in chunks of a megabyte, so a binary file is refused before all of it is in memory.
"""

import codecs
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_FILE_BYTES

_MARKS = {  # UTF-32 comes first, because its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_CHUNK = 2**20
_SAMPLE = 4096


def read_text(
    path: str | PathLike[str] | None,
    limit: int = MAX_FILE_BYTES,
    check_head: Callable[[str], None] | None = None,
) -> str:
    """Return the text of a file, or of standard input if the path is None.

    The encoding is UTF-8, unless the first bytes show UTF-16 or UTF-32.

    Args:
        path: the file; None for standard input.
        limit: the greatest number of bytes that are read.
        check_head: called with the text of the first megabyte, if the file is longer; it may raise an error
            to refuse the file.

    Raises:
        SourceError: the file is not text, or has more than `limit` bytes. The message does not name the file.
    """
    if path is None:
        return _decode_chunks(_chunks(sys.stdin.buffer, limit), check_head)
    with Path(path).open("rb") as file:
        return _decode_chunks(_chunks(file, limit), check_head)


def decode_text(content: bytes) -> str:
    """Return the text in the bytes of a file; raise SourceError if they are not text."""
    return _decode_chunks(iter([content]))


def _chunks(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Yield the bytes of a file, a megabyte at a time; raise SourceError if there are more than `limit`.

    Args:
        file: read to its end, or to the first chunk that exceeds the limit.
        limit: the most bytes that are read.
    """
    size = 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise SourceError(f"the file has more than {limit:,} bytes, the most that is read")
        yield chunk


def _decode_chunks(chunks: Iterator[bytes], check_head: Callable[[str], None] | None = None) -> str:
    """Return the text of some bytes.

    Args:
        chunks: the bytes in order; the first chunk is long enough to show the encoding.
        check_head: called with the text of the first chunk, if the file is longer than that.

    Raises:
        SourceError: the bytes are compressed, are not valid in their encoding, or contain a null character.
    """
    start = next(chunks, b"")
    packed = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    if packed is not None:
        raise SourceError(f"the file is compressed ({packed}); unpack it first")
    encoding = _find_encoding(start)
    decoder = codecs.getincrementaldecoder(encoding)()
    texts: list[str] = []
    characters = 0
    # With the empty chunk at the end, the decoder reports a character that was cut off.
    for chunk in chain([start], chunks, [b""]):
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            named = encoding.removesuffix("-sig").upper()
            raise SourceError(f"the file is not {named} text ({error}); save it as UTF-8") from error
        # Text has no null character. Binary data mostly has one near its start.
        if "\0" in text:
            place = characters + text.index("\0")
            raise SourceError(f"the file is binary, character {place} is a null; give text, saved as UTF-8")
        if not texts and len(chunk) == _CHUNK and check_head is not None:
            check_head(text)
        texts.append(text)
        characters += len(text)
    return "".join(texts)


def _find_encoding(start: bytes) -> str:
    """Return the encoding that the first bytes show; "utf-8" if they show none.

    An encoding shows by a byte order mark, or by nulls in every second byte (Latin text in UTF-16).
    """
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    # Latin text in UTF-16 without a mark has a null in every second byte and none in the others.
    even, odd = start[0:_SAMPLE:2], start[1:_SAMPLE:2]
    for half, other, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if half.count(0) > len(half) / 2 and not other.count(0):
            return encoding
    return "utf-8"
