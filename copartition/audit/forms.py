"""Name the forms of keys, and so the serializer that made them, as far as their bytes show.

The form of a key depends on all keys of the topic. For example, eight printable bytes are text among texts,
and a long among longs. So shapes are counted by size, batch by batch, and named at the end.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.logical import (
    BINARY,
    FRAME,
    OPENING,
    TEXTS,
    UUID,
    WIDTHS,
    Sample,
    Spans,
    lone_form,
    look,
    parsed_json,
    schema_ids,
    spans_of,
)
from copartition.audit.topic_audit import KeyForm, LogicalKey
from partitioning.keys import KeyColumn

CHANCE = {4: 1 / 8, 8: 1 / 256, 16: 1 / 256, 0: 1 / 256}
"""Size of keys in bytes, 0 for all other sizes -> text keys for each other key that chance may explain.

A number whose bytes are all printable looks like text. So if there are few keys that look like text among
many others of their size, they count as numbers, too.
"""

TELLING = 8
"""If a sample has this many distinct keys of one size and all of them are text, they are not numbers."""

CHANCE_OF_A_UUID = 1 / 4
"""Keys with the marks of a UUID, for each other key of sixteen bytes, that chance may explain.

It is twice the share of random sixteen bytes that have these marks.
"""

CHANCE_OF_A_ZERO = 1 / 64
"""Keys that begin like a registry's frame, for each other key of their size, that chance may explain.

It is four times the share of random keys whose first byte is zero.
"""

MANY_IDS = 256
"""Keys with more schema ids than this were not written with a schema registry."""

SHOWN = 256
"""The most bytes of an example."""

_CHUNK_BYTES = 1 << 20

# Size of a key -> the size it is counted as: itself if numbers have it, else 0.
_SIZE = np.zeros(max(WIDTHS) + 2, np.int64)
_SIZE[list(WIDTHS)] = list(WIDTHS)


class NamedForm(NamedTuple):
    """The form that a shape of keys stands for."""

    form: str  # a name as in `KeyForm`
    maybe: tuple[str, ...] = ()  # other forms that fit as well


class FormCounts:
    """Counts of key forms, in bounded memory: `add` columns and `merge` counts, then call `forms`.

    A cell is a pair of a shape of `logical` and a size, which is 0 for all sizes but 4, 8 and 16. Counts and
    examples are kept by cell, schema ids by size. Only `forms` decides what a cell stands for, from all cells
    together. So a merge of counts loses nothing.
    """

    def __init__(self) -> None:
        # (shape, size) -> number of keys; a size that is not in `WIDTHS` counts as 0.
        self._rows: Counter[tuple[int, int]] = Counter()
        self._examples: dict[tuple[int, int], bytes] = {}
        self._ids: dict[int, set[int]] = {}  # size -> schema ids
        self._sample = Sample()

    def add(self, keys: KeyColumn) -> None:
        """Count more keys of the topic; null and empty keys have no form."""
        sizes = np.diff(keys.offsets)
        keyed = np.flatnonzero(sizes)
        spans = Spans(keys.offsets[keyed], sizes[keyed], keys.data)
        for chunk in _chunks(spans):
            self._add(chunk)

    def _add(self, keys: Spans) -> None:
        """Count the keys of one chunk, in the order in which they are in `keys.data`; none is empty."""
        shape, rank = look(keys)
        # The last element of `_SIZE` is 0 and stands for every greater size.
        size = _SIZE[np.minimum(keys.sizes, len(_SIZE) - 1)]
        # One number has both shape and size, so that `bincount` counts both in one pass; `divmod` separates
        # them.
        code = shape.astype(np.int64) * len(_SIZE) + size
        counts = np.bincount(code)
        for number in np.flatnonzero(counts).tolist():
            cell = divmod(number, len(_SIZE))
            self._rows[cell] += int(counts[number])
            if cell not in self._examples:
                self._examples[cell] = keys.row(int(np.argmax(code == number)))[:SHOWN]
        framed = np.flatnonzero(shape == FRAME)
        ids = schema_ids(keys.take(framed))
        for of_size in np.unique(size[framed]).tolist():
            self._see_ids(of_size, np.unique(ids[size[framed] == of_size]))
        self._sample.add(keys, shape, rank)

    def _see_ids(self, size: int, ids: NDArray[np.int64]) -> None:
        """Remember schema ids of frames of a size, as long as there are no more than `MANY_IDS`.

        If there are more, they do not count as schema ids, and their values no longer matter. So memory stays
        bounded.
        """
        known_ids = self._ids.setdefault(size, set())
        if len(known_ids) <= MANY_IDS:
            known_ids.update(ids[: MANY_IDS + 1].tolist())

    def merge(self, other: FormCounts) -> None:
        """Add the counts of `other`."""
        self._rows.update(other._rows)
        # An existing example is kept, as in `_add`.
        self._examples = {**other._examples, **self._examples}
        for size, ids in other._ids.items():
            self._see_ids(size, np.array(sorted(ids), np.int64))
        self._sample.update(list(other._sample))

    def forms(self, decode: Callable[[bytes, str], LogicalKey] | None = None) -> tuple[KeyForm, ...]:
        """Return the forms, most frequent first.

        Cells that stand for the same form become one `KeyForm`. Its example is from the cell with the most
        keys.

        Args:
            decode: called with a key and the name of its form; returns the key's meaning, as a
                `decoder.KeyDecoder` does. Without it, the forms have no meanings.
        """
        sampled = list(self._sample)
        named = dict(self._named_forms(sampled))
        spans = spans_of(sampled)
        cells = [
            (shape, size if size in WIDTHS else 0)
            for shape, size in zip(look(spans)[0].tolist(), spans.sizes.tolist(), strict=True)
        ]
        forms = []
        for form in dict.fromkeys(looks.form for looks in named.values()):
            own = [cell for cell, looks in named.items() if looks.form == form]
            rows = sum(self._rows[cell] for cell in own)
            ids = set().union(*(self._ids[size] for _, size in own)) if form == "registry" else ()
            example = self._examples[max(own, key=lambda cell: self._rows[cell])]
            maybe = {other for cell in own for other in named[cell].maybe} - {form}
            sample = tuple(key for key, cell in zip(sampled, cells, strict=True) if cell in own)
            meanings = tuple(decode(key, form) for key in sample) if decode else ()
            forms.append(
                KeyForm(form, rows, tuple(sorted(ids)), example, tuple(sorted(maybe)), sample, meanings)
            )
        return tuple(sorted(forms, key=lambda form: (-form.rows, form.name)))

    def dump(self) -> bytes:
        """Return the state as JSON, for another process."""
        state = {
            "rows": [[*cell, rows] for cell, rows in self._rows.items()],
            "examples": [[*cell, key.hex()] for cell, key in self._examples.items()],
            "ids": [[size, sorted(ids)] for size, ids in self._ids.items()],
            "sample": [key.hex() for key in self._sample],
        }
        return json.dumps(state).encode()

    @classmethod
    def load(cls, dumped: bytes) -> FormCounts:
        """Return the counts whose state `dump` returned."""
        state, counts = json.loads(dumped), cls()
        counts._rows = Counter({(shape, size): rows for shape, size, rows in state["rows"]})
        counts._examples = {(shape, size): bytes.fromhex(key) for shape, size, key in state["examples"]}
        counts._ids = {size: set(ids) for size, ids in state["ids"]}
        counts._sample.update([bytes.fromhex(key) for key in state["sample"]])
        return counts

    def _named_forms(self, sampled: Sequence[bytes]) -> Iterator[tuple[tuple[int, int], NamedForm]]:
        """Yield each pair of shape and size with the form that it stands for.

        Args:
            sampled: the keys of the sample, of all forms.
        """
        for shape, size in self._rows:
            if shape == FRAME:
                named = self._frame(size)
            elif shape in TEXTS:
                named = self._text(shape, size, sampled)
            else:
                named = self._bare(shape, size)
            yield (shape, size), named

    def _count(self, shapes: tuple[int, ...], size: int) -> int:
        """Return how many keys have one of the shapes and this size."""
        return sum(self._rows[shape, size] for shape in shapes)

    def _frame(self, size: int) -> NamedForm:
        """Return the form of keys of a size that begin with a zero and a schema id.

        Frames of a registry may have any size, and they have few ids. Numbers and UUIDs have a fixed size,
        and some of them begin like a frame by chance. The keys count as numbers or UUIDs if many other keys
        of this size do not begin like a frame. If the ids occur only with this size, the form is in doubt.
        """
        ids, bare = self._ids[size], self._bare(BINARY, size)
        elsewhere = set().union(*(ids for other, ids in self._ids.items() if other != size))
        others = self._count((UUID, BINARY), size)
        if len(ids) > MANY_IDS or self._rows[FRAME, size] <= others * CHANCE_OF_A_ZERO:
            return bare
        # Ids that also occur with other sizes are a registry's, because a serialized number has only one
        # size.
        if size not in WIDTHS or (ids <= elsewhere and len(elsewhere) <= MANY_IDS):
            return NamedForm("registry")
        if size == 8:  # a long from 2**24 on may begin like a frame
            return bare if others else NamedForm(bare.form, ("registry",))
        return NamedForm("registry", (bare.form,))

    def _text(self, shape: int, size: int, sampled: Sequence[bytes]) -> NamedForm:
        """Return the form of keys of a shape and size that are text.

        The bytes of numbers and UUIDs may be printable by chance. Keys of a size are text if more of them are
        printable than chance would make so. They are certainly text if numbers and UUIDs never have this
        size. Otherwise they are certainly text only if all keys of this size are text, and there is text of
        other sizes or there are enough different keys.

        Args:
            shape: one of `TEXTS`.
            size: 4, 8, 16, or 0 for any other.
            sampled: the keys of the sample, of all forms.
        """
        form = lone_form(shape, size)
        if form == "json":
            # Text with brackets at its ends need not be JSON, so such samples are parsed. If none is JSON,
            # all are text.
            enclosed = [key for key in sampled if key[0] in OPENING]
            form = "json" if not enclosed or any(map(parsed_json, enclosed)) else "text"
        texts, others = self._count(TEXTS, size), self._count((UUID, BINARY), size)
        if size in WIDTHS:
            others += self._count((FRAME,), size)
        bare = self._bare(BINARY, size)
        if texts <= others * CHANCE[size]:
            return bare
        elsewhere = any(self._count(TEXTS, other) for other in CHANCE if other != size)
        telling = elsewhere or sum(len(key) == size for key in sampled) >= TELLING
        if size not in WIDTHS or (telling and not others):
            return NamedForm(form)
        return NamedForm(form, (bare.form,))

    def _bare(self, shape: int, size: int) -> NamedForm:
        """Return the form of keys of a size that are neither text nor framed.

        Keys of sixteen bytes are UUIDs if more of them have the marks of a UUID than random bytes would.

        Args:
            shape: the shape of the keys, UUID or BINARY.
            size: 4, 8, 16, or 0 for any other.
        """
        if size != 16:
            return NamedForm(WIDTHS.get(size, "bytes"))
        marked, others = self._count((UUID,), 16), self._count((BINARY,), 16)
        if marked <= others * CHANCE_OF_A_UUID:
            return NamedForm("bytes")
        return NamedForm("uuid" if shape == UUID or not others else "bytes")


def _chunks(keys: Spans) -> Iterator[Spans]:
    """Yield the keys in chunks of about a megabyte; some steps take eight times the memory of the keys."""
    ends = np.cumsum(keys.sizes)
    cuts = np.flatnonzero(np.diff(ends // _CHUNK_BYTES)) + 1
    for rows in np.split(np.arange(len(keys.sizes)), cuts):
        if len(rows):
            yield keys.take(rows)
