"""Text files as people keep them: with a byte order mark, in UTF-16, packed, or no text at all.

A capture of a group comes from a terminal, a spreadsheet or a mail: PowerShell writes UTF-16, editors add
marks. A file is read in pieces of a megabyte, so that one that is no text is refused before all of it is in
memory.
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

_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
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
    """Return the text of a file, or of standard input where the path is None.

    UTF-8 unless it shows otherwise.

    What is no text is refused at the first megabyte that shows it (SourceError, without the file's name), as
    is more than `limit` bytes. `check_head` may refuse a longer file by its first megabyte.
    """
    if path is None:
        return _decode_chunks(_chunks(sys.stdin.buffer, limit), check_head)
    with Path(path).open("rb") as file:
        return _decode_chunks(_chunks(file, limit), check_head)


def decode_text(content: bytes) -> str:
    """Return the text in the bytes of a file; SourceError says what the bytes are instead."""
    return _decode_chunks(iter([content]))


def _chunks(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Yield the bytes of a file, a megabyte at a time; SourceError once they are more than `limit`.

    Args:
        file: is read to its end, or to the first piece that passes the limit.
        limit: bytes.
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
        check_head: is called with the text of the first chunk, if the file is longer than that.

    Raises:
        SourceError: the bytes are packed, not in their encoding, or hold a null character.
    """
    start = next(chunks, b"")
    packed = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    if packed is not None:
        raise SourceError(f"the file is compressed ({packed}); unpack it first")
    encoding = _find_encoding(start)
    decoder = codecs.getincrementaldecoder(encoding)()
    texts: list[str] = []
    characters = 0
    # The empty chunk at the end makes the decoder complain of a character that was cut off.
    for chunk in chain([start], chunks, [b""]):
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            named = encoding.removesuffix("-sig").upper()
            raise SourceError(f"the file is not {named} text ({error}); save it as UTF-8") from error
        # No text has a null. Binary data mostly has one among its first bytes, whatever its encoding looks
        # like.
        if "\0" in text:
            place = characters + text.index("\0")
            raise SourceError(f"the file is binary, character {place} is a null; give text, saved as UTF-8")
        if not texts and len(chunk) == _CHUNK and check_head is not None:
            check_head(text)
        texts.append(text)
        characters += len(text)
    return "".join(texts)


def _find_encoding(start: bytes) -> str:
    """Return what the first bytes show.

    A byte order mark, or every other byte null, as in UTF-16 of Latin text.
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
