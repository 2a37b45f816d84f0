import itertools
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning.errors import InvalidKeyError
from partitioning.keys import key_column

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
    "slice": pa.array([b"skipped", *KEYS, b"skipped"], pa.binary()).slice(1, len(KEYS)),
    "slice of a view": pa.array([b"skipped", *KEYS, b"skipped"], pa.binary_view()).slice(1, len(KEYS)),
    "hidden bytes": with_hidden_bytes(),
    "slice of hidden bytes": pa.concat_arrays([pa.array([b"skipped"]), with_hidden_bytes()]).slice(1),
    "chunked": pa.chunked_array([KEYS[:2], [], KEYS[2:3], KEYS[3:]], pa.binary()),
    "array interface": Exported(pa.array(KEYS, pa.binary())),
    "stream interface": ExportedStream(pa.chunked_array([KEYS[:3], KEYS[3:]], pa.binary())),
}


@pytest.mark.parametrize("keys", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_layout_holds_the_same_keys(keys):
    assert rows(key_column(keys)) == KEYS


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
    ],
)
def test_a_column_of_another_type_is_refused(keys, message):
    with pytest.raises(InvalidKeyError, match=message):
        key_column(keys)


def test_a_list_needs_no_pyarrow():
    code = (
        "import sys; from partitioning.keys import key_column\n"
        "key_column([b'a'])\n"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
