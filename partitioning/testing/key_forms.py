"""The forms in which a column of keys may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.keys import key_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partitioning.keys import Keys


def key_forms(keys: Sequence[bytes | None]) -> Iterator[tuple[str, Keys]]:
    """The same keys in every form, each with its name; those of Arrow where PyArrow is installed."""
    array = np.empty(len(keys), object)
    array[:] = keys
    yield "a tuple", tuple(keys)
    yield "an object array", array
    yield "a KeyColumn", key_column(keys)
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional package
    except ImportError:
        return
    plain = pa.array(keys, pa.binary())
    yield "an Arrow array", plain
    yield "an Arrow array with 64-bit offsets", plain.cast(pa.large_binary())
    if hasattr(pa, "binary_view"):
        yield "an Arrow array of views", pa.array(keys, pa.binary_view())
    yield "a dictionary-encoded Arrow array", plain.dictionary_encode()
    yield "a slice of an Arrow array", pa.array([b"before", *keys, b"after"], pa.binary())[1:-1]
    yield "a chunked Arrow array", pa.chunked_array([plain[:3], plain[3:3], plain[3:]], pa.binary())
