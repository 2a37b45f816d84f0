import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning.errors import InvalidKeyError
from partitioning.keys import KeyColumn, key_chunks, key_column

pa = pytest.importorskip("pyarrow")

KEYS = [b"a", b"", None, b"user-1", "é".encode(), b"x" * 40]
TEXTS = [None if key is None else key.decode() for key in KEYS]


def rows(column):
    bounds = column.offsets.tolist()
    data = column.data.tobytes()
    keys = [data[a:b] for a, b in itertools.pairwise(bounds)]
    return (
        keys
        if column.nulls is None
        else [None if null else key for null, key in zip(column.nulls, keys, strict=True)]
    )


class Exported:
    """What another library hands over: an array behind the PyCapsule interface only."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


class ExportedStream:
    def __init__(self, array):
        self.array = array

    def __arrow_c_stream__(self, requested_schema=None):
        return self.array.__arrow_c_stream__(requested_schema)


class Series:
    """What pandas 3 hands over for objects: Arrow chooses their type."""

    dtype = np.dtype(object)

    def __init__(self, objects):
        self.objects = objects

    def __array__(self, dtype=None, copy=None):
        return np.array(self.objects, dtype=object)

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.chunked_array([pa.array(self.objects)]).__arrow_c_stream__(requested_schema)


class ExtensionSeries:
    """What pandas 2 hands over for Arrow's strings: only its array can be read."""

    dtype = "string[pyarrow]"

    class Extension:
        def __init__(self, array):
            self.stored = array

        def __arrow_array__(self, type=None):  # noqa: A002 - as Arrow calls it
            return self.stored

    def __init__(self, array):
        self.array = self.Extension(array)

    def __iter__(self):
        return iter(self.array.stored.to_pylist())


def with_offsets(kind, *offsets, data=b"abcdef"):
    """An Arrow array that lies about where its keys are."""
    width = np.int64 if str(kind).startswith("large") else np.int32
    buffers = [None, pa.py_buffer(np.array(offsets, width).tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)


def with_hidden_bytes():
    """Nulls whose slots hold bytes, as Arrow allows."""
    filled = pa.array([b"zz" if key is None else key for key in KEYS])
    validity = pa.py_buffer(np.packbits([key is not None for key in KEYS], bitorder="little").tobytes())
    return pa.Array.from_buffers(pa.binary(), len(KEYS), [validity, *filled.buffers()[1:]])


LAYOUTS = {
    "list": KEYS,
    "tuple": tuple(KEYS),
    "iterable": dict.fromkeys(KEYS),
    "object array": np.array(KEYS, dtype=object),
    "binary": pa.array(KEYS, pa.binary()),
    "large_binary": pa.array(KEYS, pa.large_binary()),
    "string": pa.array(TEXTS, pa.string()),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "binary_view": pa.array(KEYS, pa.binary_view()),
    "string_view": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(KEYS, pa.binary()).dictionary_encode(),
    "dictionary of strings": pa.array(TEXTS, pa.string()).dictionary_encode(),
    "Polars' categorical": pa.DictionaryArray.from_arrays(
        pa.array([None if text is None else TEXTS.index(text) for text in TEXTS], pa.uint32()),
        pa.array(["" if text is None else text for text in TEXTS], pa.string_view()),
    ),
    "pandas' strings": ExtensionSeries(pa.chunked_array([TEXTS[:3], TEXTS[3:]], pa.large_string())),
    "slice": pa.array([b"skipped", *KEYS, b"skipped"], pa.binary()).slice(1, len(KEYS)),
    "slice of a view": pa.array([b"skipped", *KEYS, b"skipped"], pa.binary_view()).slice(1, len(KEYS)),
    "hidden bytes": with_hidden_bytes(),
    "slice of hidden bytes": pa.concat_arrays([pa.array([b"skipped"]), with_hidden_bytes()]).slice(1),
    "chunked": pa.chunked_array([KEYS[:2], [], KEYS[2:3], KEYS[3:]], pa.binary()),
    "array interface": Exported(pa.array(KEYS, pa.binary())),
    "Series": Series(KEYS),
    "stream interface": ExportedStream(pa.chunked_array([KEYS[:3], KEYS[3:]], pa.binary())),
}


@pytest.mark.parametrize("keys", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_layout_holds_the_same_keys(keys):
    assert rows(key_column(keys)) == KEYS


@pytest.mark.parametrize("keys", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_layout_comes_in_pieces_that_are_the_same_keys(keys, monkeypatch):
    monkeypatch.setattr("partitioning.keys.PIECE", 2)
    assert [key for column in key_chunks(keys) for key in rows(column)] == KEYS


def test_bytes_of_a_chunk_are_not_copied():
    chunk = pa.array([b"a", b"bc"])
    (column,) = key_chunks(pa.chunked_array([chunk]))
    assert column.data.ctypes.data == chunk.buffers()[2].address


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (pa.nulls(3), [None, None, None]),
        (pa.array([b"ab", None], pa.binary(2)), [b"ab", None]),
        (pa.array([], pa.binary()), []),
        (pa.chunked_array([], pa.large_string()), []),
        ([], []),
        ([None], [None]),
        ([b"\0\0"], [b"\0\0"]),
    ],
)
def test_small_columns(keys, expected):
    assert rows(key_column(keys)) == expected


@given(st.lists(st.none() | st.binary(max_size=70)), st.integers(0, 5), st.integers(0, 5))
def test_a_slice_of_an_array_is_that_slice_of_the_keys(keys, front, back):
    kept = slice(front, max(front, len(keys) - back))
    assert rows(key_column(pa.array(keys, pa.binary())[kept])) == keys[kept]


def test_a_column_is_taken_as_it_is():
    column = key_column(KEYS)
    assert key_column(column) is column


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("key", "not str; put a single key into a list"),
        (b"key", "not bytes; put a single key into a list"),
        (7, "not int"),
        ([b"a", "b"], "key in row 1 is str, not bytes; .*: encode the text"),
        ([None, 7], "key in row 1 is int"),
        ([bytearray(b"a")], "key in row 0 is bytearray"),
        (np.array([b"a\0", b"b"]), r"\|S2.* lose the zero bytes"),
        ([b"a", np.bytes_(b"b\0")], "row 1 is of NumPy's fixed-width bytes"),
        (np.array([1, 2]), "not 1-dimensional int64"),
        (np.array([[b"a"]], dtype=object), "not 2-dimensional object"),
        (pa.array([1, 2]), "not int64"),
        (pa.array([[b"a"]]), "not list<item: binary>"),
        (pa.table({"key": KEYS}), "not struct"),
        ([None, ""], "key in row 1 is str, not bytes; .*: encode the text"),
        ([b"", None, 0], "key in row 2 is int"),
        (np.array([None, ""], dtype=object), "key in row 1 is str"),
        (Series(["a", "b"]), "key in row 0 is str"),
        (Series([b"a", None, "b"]), "key in row 2 is str"),
        (Series([b"a", 7]), "key in row 1 is int"),
        (Series([object()]), "key in row 0 is object"),
        (pa.array([1, 2]).dictionary_encode(), "not int64"),
        (pa.RunEndEncodedArray.from_arrays([2], pa.array([b"a"])), "not run_end_encoded"),
        (pa.array([np.float16(1.5)], pa.float16()), "not halffloat"),
    ],
)
def test_a_column_of_another_type_is_refused(keys, message):
    with pytest.raises(InvalidKeyError, match=message):
        key_column(keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        *(
            (with_offsets(kind, 0, 5, 1, 6), "key in row 1 has the bytes from 5 to 1 of 6")
            for kind in (pa.binary(), pa.string(), pa.large_binary(), pa.large_string())
        ),
        (with_offsets(pa.binary(), 1, -5, 6), "key in row 0 has the bytes from 0 to -6 of 5"),
        (with_offsets(pa.binary(), 0, 2**31 - 1, 6), "key in row 0 has the bytes from 0 to 2147483647 of 6"),
        (with_offsets(pa.binary(), 0, 3, 2, 6).slice(1), "key in row 0 has the bytes from 0 to -1 of 3"),
        (Exported(with_offsets(pa.binary(), 0, 5, 1, 6)), "key in row 1"),
        (
            pa.DictionaryArray.from_arrays([0, 1, 2], with_offsets(pa.string(), 0, 5, 1, 6)),
            "cannot be read: .*non-monotonic",
        ),
        (
            pa.DictionaryArray.from_arrays([0, 9], pa.array([b"a"]), safe=False),
            "cannot be read: .*out of bounds",
        ),
    ],
)
def test_an_arrow_column_that_lies_is_refused(keys, message):
    with pytest.raises(InvalidKeyError, match=message):
        key_column(keys)


def test_a_text_of_any_bytes_stands_for_these():
    assert rows(key_column(with_offsets(pa.string(), 0, 1, 2, data=b"\xff\xfe"))) == [b"\xff", b"\xfe"]


@pytest.mark.parametrize(
    ("offsets", "data", "nulls", "message"),
    [
        ([0, 5, 1, 6], b"abcdef", None, "key in row 1 has the bytes from 5 to 1 of 6"),
        ([-1, 5], b"abcdef", None, "key in row 0 has the bytes from -1 to 5"),
        ([0, 2, 2**62], b"abcdef", None, "key in row 1 has the bytes from 2 to 4611686018427387904 of 6"),
        ([0, 2, 4], b"abcdef", [False, True], "key in row 1 is null but has bytes"),
        ([0, 2, 4], b"abcdef", [False], "n nulls"),
        ([], b"", None, r"n \+ 1 offsets"),
    ],
)
def test_a_column_made_by_hand_cannot_lie(offsets, data, nulls, message):
    nulls = None if nulls is None else np.array(nulls, np.bool_)
    with pytest.raises(InvalidKeyError, match=message):
        KeyColumn(np.array(offsets, np.int64), np.frombuffer(data, np.uint8), nulls)


@pytest.mark.parametrize(
    ("offsets", "data"),
    [
        (np.array([0, 1], np.int32), np.zeros(1, np.uint8)),
        (np.array([[0, 1]]), np.zeros(1, np.uint8)),
        ([0, 1], np.zeros(1, np.uint8)),
        (np.array([0, 1]), np.zeros(1, np.int8)),
        (np.array([0, 2]), np.zeros(4, np.uint8)[::2]),
        (np.array([0, 1]), b"a"),
    ],
)
def test_a_column_of_other_arrays_is_refused(offsets, data):
    with pytest.raises(InvalidKeyError, match="a KeyColumn of n keys has"):
        KeyColumn(offsets, data, None)


def test_a_column_without_keys_may_begin_anywhere():
    assert len(KeyColumn(np.array([7]), np.zeros(0, np.uint8), None)) == 0


@pytest.mark.live
def test_a_list_needs_no_pyarrow():
    code = (
        "import sys; from partitioning.keys import key_column\n"
        "key_column([b'a'])\n"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
