"""Text files as people keep them: with a byte order mark, in UTF-16, packed, or no text at all."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from assignors.errors import SourceError
from assignors.limits import MAX_FILE_BYTES

if TYPE_CHECKING:
    from os import PathLike

_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def read_text(path: str | PathLike[str] | None, limit: int = MAX_FILE_BYTES) -> str:
    """The text of a file, or of standard input where the path is None; UTF-8 unless it is marked otherwise.

    Args:
        path: the file.
        limit: how many bytes it may have.

    Raises:
        OSError: the file cannot be read.
        SourceError: it is no text, or longer; the message does not name the file.
    """
    if path is None:
        return decode_text(_read(sys.stdin.buffer, limit))
    with Path(path).open("rb") as file:
        return decode_text(_read(file, limit))


def _read(file: BinaryIO, limit: int) -> bytes:
    content = bytearray()
    while chunk := file.read(2**20):
        content += chunk
        if len(content) > limit:
            raise SourceError(f"the file has more than {limit:,} bytes, the most that is read")
    return bytes(content)


def decode_text(content: bytes) -> str:
    """The text in the bytes of a file.

    Raises:
        SourceError: they are no text; the message says what they are instead.
    """
    packed = next((name for magic, name in _PACKED.items() if content.startswith(magic)), None)
    if packed is not None:
        raise SourceError(f"the file is compressed ({packed}); unpack it first")
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(f"the file is not UTF-8 text ({error}); save it as UTF-8") from error
    if "\0" in text:
        raise SourceError(
            f"the file is binary, character {text.index(chr(0))} is a null; give text, saved as UTF-8"
        )
    return text
