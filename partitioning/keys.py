"""Turns lists of bytes, Arrow arrays and NumPy object arrays into a key column: offsets, data, null mask.

All forms of keys become this one form. Hashes read `offsets` and `data` and no Python objects, so a million
keys are three arrays. `KeyColumn` checks its arrays when it is made, so functions that take one need not
check them again. Arrow arrays are not copied if their bytes are in order already.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidKeyError
from partitioning.kit.columns import bounds
from partitioning.kit.packages import needs


class ArrowArray(Protocol):
    """Has the Arrow PyCapsule interface of one array."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """Has the Arrow PyCapsule interface of a stream of arrays, as a chunked array has."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


_ARROW = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__", "combine_chunks")
"""Attributes of objects that PyArrow reads without a loop in Python.

Before PyArrow 16, chunked arrays have only the last of them.
"""

_LOSSY = (
    "of NumPy's fixed-width bytes, which lose the zero bytes at the end of a key; "
    "give a list of bytes, or an object array made from one"
)


@dataclass(frozen=True, slots=True, eq=False)
class KeyColumn:
    """Holds many keys as columns. `key_column` makes one, and every columnar function takes one.

    >>> column = key_column([b"a", None, b"bc"])
    >>> column.offsets.tolist(), column.data.tobytes(), column.nulls.tolist()
    ([0, 1, 1, 3], b'abc', [False, True, False])

    Attributes:
        offsets: int64 array of n + 1 entries: key i is `data[offsets[i]:offsets[i + 1]]`.
        data: uint8 array, contiguous, the bytes of all keys.
        nulls: bool array of n entries, True if the key is null; None if none is. A null has no bytes.

    Raises:
        InvalidKeyError: the arrays have other types or shapes, or contradict each other in some row.
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    nulls: NDArray[np.bool_] | None

    def __post_init__(self) -> None:
        if not (
            _is_column(self.offsets, np.int64)
            and len(self.offsets) > 0
            and _is_column(self.data, np.uint8)
            and self.data.flags.c_contiguous
            and (self.nulls is None or (_is_column(self.nulls, np.bool_) and len(self.nulls) == len(self)))
        ):
            raise InvalidKeyError(
                "a KeyColumn of n keys has n + 1 offsets (int64), data (uint8, contiguous) and n nulls "
                "(bool, or None)"
            )
        # If no offset is below the offset before it, the first and the last offset bound all others. Wrong
        # offsets would make the hashes read other memory or fail deep inside NumPy, so they are refused here,
        # with the row.
        starts, ends = self.offsets[:-1], self.offsets[1:]
        bounded = self.offsets[0] >= 0 and self.offsets[-1] <= len(self.data)
        if len(self) and not (bounded and (starts <= ends).all()):
            row = int(np.argmax((starts < 0) | (starts > ends) | (ends > len(self.data))))
            raise InvalidKeyError(
                f"key in row {row} has the bytes from {starts[row]} to {ends[row]} of {len(self.data)}; "
                "offsets never fall and stay within the data"
            )
        # A profile may hash a null as an empty key. A null with bytes would then be placed by these bytes.
        if self.nulls is not None and (hidden := self.nulls & ~self.empty).any():
            raise InvalidKeyError(f"key in row {int(np.argmax(hidden))} is null but has bytes; give it none")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[bytes | None]:
        """Return the keys one by one, for a strategy that has no columns of its own."""
        data, ends = self.data.tobytes(), self.offsets.tolist()
        nulls = [False] * len(self) if self.nulls is None else self.nulls.tolist()
        spans = zip(nulls, pairwise(ends), strict=True)
        return (None if null else data[start:end] for null, (start, end) in spans)

    @property
    def empty(self) -> NDArray[np.bool_]:
        """For each key, True if it has no bytes, whether it is null or not: bool of shape (n,)."""
        return np.equal(self.offsets[1:], self.offsets[:-1])


Keys: TypeAlias = Sequence[bytes | None] | NDArray[np.object_] | ArrowArray | ArrowStream | KeyColumn
"""The forms of keys that every columnar function accepts.

>>> keys: Keys = [b"user-42", None]
>>> partition_batch(keys, 12).tolist()
[4, -1]
"""


def _is_column(array: object, kind: type[np.generic]) -> bool:
    """Return whether this is a one-dimensional array of this dtype, in the machine's byte order."""
    return isinstance(array, np.ndarray) and array.dtype == kind and array.ndim == 1


def key_column(keys: Keys) -> KeyColumn:
    """Return the keys as columns.

    >>> key_column([b"a", None, b"bc"]).offsets.tolist()
    [0, 1, 1, 3]

    Args:
        keys: a sequence of bytes and None, a NumPy object array of these, or an Arrow binary or string
            array of any layout (32 and 64-bit offsets, views, dictionary, fixed size, slices, chunks). A
            string stands for its UTF-8 bytes.

    Raises:
        InvalidKeyError: the column, or a row of it, is of another type.
        MissingDependencyError: the keys are an Arrow array and pyarrow is not installed.
    """
    return concatenate_columns([*key_chunks(keys)])


PIECE = 1 << 18
"""The most rows of an Arrow array that become one column; the bytes of the keys are not copied.

The offsets of such a piece take 2 MiB. Memory of this size is used again for the next piece, whereas 8 MiB
would be requested from the system for each piece.
"""


def key_chunks(keys: Keys) -> Iterator[KeyColumn]:
    """Yield the keys as columns, one after the other; arguments and errors are those of `key_column`.

    The chunks of an Arrow column are not joined, and a long chunk is cut into pieces. So a caller that works
    on one column at a time needs no second copy of all keys.
    """
    if isinstance(keys, KeyColumn):
        yield keys
        return
    dtype = getattr(keys, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype):
        # This is a pandas Series of Arrow's strings. Its `array` is read, because a Series itself can be read
        # as a stream only from pandas 3 on.
        keys = getattr(keys, "array", keys)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        # This may also be a pandas Series. Arrow would read a Series in another way, and accept text as keys.
        keys = np.asarray(keys)
    if any(hasattr(keys, name) for name in _ARROW):
        yield from _from_arrow(keys)
        return
    if isinstance(keys, np.ndarray):
        yield _from_list(_object_list(keys))
        return
    if isinstance(keys, str | bytes | bytearray | memoryview) or not isinstance(keys, Iterable):
        raise InvalidKeyError(
            f"a key column is a sequence of bytes and None or an Arrow array, not {type(keys).__name__}; "
            "put a single key into a list"
        )
    yield _from_list(keys if isinstance(keys, list | tuple) else list(keys))


def _object_list(keys: NDArray[Any]) -> list[Any]:
    """Return the entries of a one-dimensional NumPy object array; raise InvalidKeyError for other arrays."""
    # b"a\0" and b"a" are one value in an "S" array, but two keys with two hashes.
    if keys.dtype.kind == "S":
        raise InvalidKeyError(f"the key column ({keys.dtype}) is {_LOSSY}")
    if keys.dtype != object or keys.ndim != 1:
        raise InvalidKeyError(
            f"a NumPy key column is a one-dimensional object array of bytes and None, "
            f"not {keys.ndim}-dimensional {keys.dtype}"
        )
    values: list[Any] = keys.tolist()
    return values


def _from_list(keys: Sequence[bytes | None]) -> KeyColumn:
    """Return the column of a list of keys.

    Types are checked for all keys at once, and not key by key: `set(map(type, keys))` runs in C. The row of a
    wrong type is searched for only if there is one, so that the message can name the row.

    Raises:
        InvalidKeyError: a row is neither bytes nor None, or is an element of a NumPy "S" array.
    """
    kinds = set(map(type, keys))
    nulls = None
    if type(None) in kinds:
        kinds.remove(type(None))
        nulls = np.fromiter((key is None for key in keys), dtype=np.bool_, count=len(keys))
        keys = [b"" if key is None else key for key in keys]
    # np.bytes_ is a subclass of bytes. But an "S" array has dropped the trailing zero bytes of its elements.
    if np.bytes_ in kinds:
        row = next(i for i, key in enumerate(keys) if isinstance(key, np.bytes_))
        raise InvalidKeyError(f"key in row {row} is {_LOSSY}")
    if not all(issubclass(kind, bytes) for kind in kinds):
        row, key = next((i, key) for i, key in enumerate(keys) if not isinstance(key, bytes))
        raise InvalidKeyError(f"key in row {row} is {type(key).__name__}, not bytes; {advice(key)}")
    sizes = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))  # type: ignore[arg-type]
    return KeyColumn(bounds(sizes), np.frombuffer(b"".join(keys), dtype=np.uint8), nulls)  # type: ignore[arg-type]


def advice(key: object) -> str:
    """Return the advice of an error message for a key that is not bytes."""
    if isinstance(key, str):
        return "a partitioner hashes serialized bytes: encode the text as the producer's key serializer does"
    return "a partitioner hashes serialized bytes: give the bytes of the producer's key serializer"


def _from_arrow(keys: Any) -> Iterator[KeyColumn]:
    """Yield the columns of an object with Arrow's C interface, or of a PyArrow array of any version.

    Raises:
        InvalidKeyError: Arrow cannot read the object, or it does not contain bytes or texts.
        MissingDependencyError: pyarrow is not installed.
    """
    with needs("a key column in Arrow form", "spark"):
        import pyarrow as pa  # noqa: PLC0415 - optional
    try:
        if not isinstance(keys, pa.Array | pa.ChunkedArray):
            one = hasattr(keys, "__arrow_c_array__") or hasattr(keys, "__arrow_array__")
            keys = pa.array(keys) if one else pa.chunked_array(keys)
        for chunk in keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]:
            # A dictionary array is not cut, so that its values are checked only once.
            most = len(chunk) if pa.types.is_dictionary(chunk.type) else PIECE
            for start in range(0, len(chunk), most or 1):
                yield _from_arrow_array(chunk.slice(start, most), pa)
    except pa.ArrowException as error:
        raise InvalidKeyError(f"the Arrow key column cannot be read: {error}") from error


def _from_arrow_array(array: Any, pa: Any) -> KeyColumn:
    """Return the column of one Arrow array.

    Arrays of dictionary, view and fixed-size layouts are copied; the column shares the bytes of all others.
    """
    rows = len(array)
    if pa.types.is_null(array.type):
        return KeyColumn(np.zeros(rows + 1, np.int64), np.empty(0, np.uint8), np.ones(rows, np.bool_))
    if pa.types.is_dictionary(array.type):
        # The dictionary is validated before it is decoded, because a view that points outside its buffers
        # would crash the process.
        values = _as_bytes(array.dictionary, pa)
        values.validate(full=True)
        # For example, Polars' categoricals are dictionaries of views. PyArrow cannot decode them, because it
        # cannot take rows of an array of views.
        if str(values.type) == "binary_view":
            values = values.cast(pa.large_binary())
        array = pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    array = _as_bytes(array, pa)
    if str(array.type) == "binary_view" or pa.types.is_fixed_size_binary(array.type):
        array.validate(full=True)
        array = array.cast(pa.large_binary())
    # The offsets of a null can be anything. So `nulls` comes from the validity bitmap, and not from lengths.
    column = _from_offsets(array)
    if not array.null_count:
        return column
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    if (nulls & ~column.empty).any():  # a slot that is null may still have bytes
        column = _from_offsets(array.fill_null(b""))
    return KeyColumn(column.offsets, column.data, nulls)


def _as_bytes(array: Any, pa: Any) -> Any:
    """Return the array with each text as UTF-8 bytes; raise InvalidKeyError for other types of entries."""
    kind = str(array.type)  # pyarrow before 16 has no names for the views
    if kind in {"string", "large_string", "string_view"}:
        return array.view(getattr(pa, kind.replace("string", "binary"))())
    if kind in {"binary", "large_binary", "binary_view"} or pa.types.is_fixed_size_binary(array.type):
        return array
    raise InvalidKeyError(
        f"an Arrow key column is binary or string, not {array.type}; serialize the keys as the producer does"
    )


def _from_offsets(array: Any) -> KeyColumn:
    """Return the keys of a binary array, without regard to nulls.

    A slice shares the buffers of its parent, and begins at `array.offset` in them. The offsets of the result
    count from the first byte of the slice.
    """
    # Without this check, wrong offsets of another library would make us read beyond the buffer.
    array.validate()
    _, offset_buffer, data_buffer = array.buffers()
    width = np.int64 if str(array.type) == "large_binary" else np.int32
    offsets = np.frombuffer(offset_buffer, width)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    # One call both widens and shifts the offsets, because a second array would cost more than the arithmetic.
    return KeyColumn(np.subtract(offsets, offsets[0], dtype=np.int64), data, None)


def concatenate_columns(columns: Sequence[KeyColumn]) -> KeyColumn:
    """Return the keys of all columns, one column after the other."""
    if len(columns) == 1:
        return columns[0]
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(column.offsets) for column in columns)])
    nulls = None
    if any(column.nulls is not None for column in columns):
        nulls = np.concatenate(
            [np.zeros(len(column), np.bool_) if column.nulls is None else column.nulls for column in columns]
        )
    # A column can be a slice. Only the bytes between its first and last offset belong to it.
    used = (column.data[column.offsets[0] : column.offsets[-1]] for column in columns)
    data = np.concatenate([np.empty(0, np.uint8), *used])
    return KeyColumn(np.cumsum(sizes), data, nulls)
