"""Kafka's primitive types as bytes: big endian, lengths first."""

import codecs
import struct
from typing import cast

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import ProtocolError

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_LONGEST_STRING = 0x7FFF


class Reader:
    """Reads primitives one after the other; no length is believed that the bytes left cannot hold."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = memoryview(data).cast("B")
        self._what = what
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self._data) - self._at

    def int16(self) -> int:
        """A signed 16-bit number."""
        return cast("int", _INT16.unpack(self._take(2))[0])

    def int32(self) -> int:
        """A signed 32-bit number."""
        return cast("int", _INT32.unpack(self._take(4))[0])

    def length(self) -> int:
        """The length of an array, at most the number of bytes that are left."""
        length = self.int32()
        if not 0 <= length <= self.left:
            raise self._fault(f"an array says it has {length} elements where {self.left} bytes are left")
        return length

    def int32s(self) -> NDArray[np.int32]:
        """An array of signed 32-bit numbers."""
        return np.frombuffer(self._take(4 * self.length()), ">i4").astype(np.int32)

    def string(self) -> str:
        """A text; malformed UTF-8 is replaced as Java replaces it."""
        text = self.nullable_string()
        if text is None:
            raise self._fault("a text that has to be there is null")
        return text

    def nullable_string(self) -> str | None:
        """A text or None."""
        length = self.int16()
        return None if length < 0 else str(self._take(length), "utf-8", "copartition.java")

    def data(self) -> bytes | None:
        """Bytes or None."""
        length = self.int32()
        return None if length < 0 else bytes(self._take(length))

    def _take(self, size: int) -> memoryview:
        end = self._at + size
        if end > len(self._data):
            raise self._fault(f"{size} more bytes are needed where {self.left} are left")
        data = self._data[self._at : end]
        self._at = end
        return data

    def _fault(self, why: str) -> ProtocolError:
        return ProtocolError(f"cannot read {self._what}, byte {self._at} of {len(self._data)}: {why}")


class Writer:
    """Writes primitives one after the other."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._parts: list[bytes] = []

    def int16(self, value: int) -> None:
        """A signed 16-bit number."""
        self._parts.append(_INT16.pack(value))

    def int32(self, value: int) -> None:
        """A signed 32-bit number."""
        try:
            self._parts.append(_INT32.pack(None if isinstance(value, bool) else value))
        except struct.error as error:
            raise ProtocolError(f"cannot write {self._what}: {value!r} is no 32-bit integer") from error

    def int32s(self, values: NDArray[np.int32]) -> None:
        """An array of signed 32-bit numbers."""
        self.int32(len(values))
        self._parts.append(values.astype(">i4").tobytes())

    def string(self, text: str) -> None:
        """A text, in UTF-8 as Java writes it."""
        encoded = _utf8(text)
        if len(encoded) > _LONGEST_STRING:
            raise ProtocolError(
                f"cannot write {self._what}: {text[:40]!r}... takes {len(encoded)} bytes, the most is 32767"
            )
        self._parts += (_INT16.pack(len(encoded)), encoded)

    def nullable_string(self, text: str | None) -> None:
        """A text or None."""
        if text is None:
            self.int16(-1)
        else:
            self.string(text)

    def data(self, value: bytes | None) -> None:
        """Bytes or None."""
        if value is None:
            self.int32(-1)
        else:
            self.int32(len(value))
            self._parts.append(bytes(value))

    def bytes(self) -> bytes:
        """All that was written."""
        return b"".join(self._parts)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Surrogates: Java joins the two halves of a pair and writes "?" for a half on its own.
        units = text.encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "surrogatepass").encode("utf-8", "replace")


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Java takes the three bytes of an encoded surrogate for one malformed character, Python for three."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    if data[start] == 0xED and data[start + 1 : start + 2] >= b"\xa0":
        following = data[start + 1 : start + 3]
        size = 1 + next((i for i, byte in enumerate(following) if byte & 0xC0 != 0x80), len(following))
        return "\ufffd", start + size
    return "\ufffd", error.end


codecs.register_error("copartition.java", _replace_as_java)
