"""Name the forms of keys, and so the serializer that made them, as far as their bytes tell.

The form of a key follows from all keys, not from the key alone: eight printable bytes are text among texts,
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
"""Size -> share of its keys: if no more of them are text, these are bytes that look like text by chance."""

TELLING = 8
"""This many distinct keys of a size, if all of them are text, are no numbers."""

CHANCE_OF_A_UUID = 1 / 4
"""Twice the share of sixteen random bytes that are marked as a UUID."""

CHANCE_OF_A_ZERO = 1 / 64
"""Four times the share of random bytes that begin with a zero."""

MANY_IDS = 256
"""Keys with more schema ids than this were not written with a schema registry."""

SHOWN = 256
"""Bytes of an example."""

_CHUNK_BYTES = 1 << 20

# What a size is counted as: itself, or 0 for any but those of numbers.
_SIZE = np.zeros(max(WIDTHS) + 2, np.int64)
_SIZE[list(WIDTHS)] = list(WIDTHS)


class Named(NamedTuple):
    """The form that a shape of keys stands for."""

    form: str  # a name as in `KeyForm`
    maybe: tuple[str, ...] = ()  # forms that fit as well


class FormCounts:
    """Counts of key forms, in bounded memory: `add` columns and `merge` counts, then ask for `forms`.

    A cell is a shape of `logical` and a size, 0 for all sizes but 4, 8 and 16. Counts, examples and schema
    ids are by cell or size; what a cell stands for is decided in `forms` from all of them, so a merge of
    counts loses nothing.
    """

    def __init__(self) -> None:
        self._rows: Counter[tuple[int, int]] = Counter()  # by shape and size, 0 for any but those of `WIDTHS`
        self._examples: dict[tuple[int, int], bytes] = {}
        self._ids: dict[int, set[int]] = {}  # by size
        self._sample = Sample()

    def add(self, keys: KeyColumn) -> None:
        """Count more keys of the topic; null and empty ones have no form."""
        sizes = np.diff(keys.offsets)
        keyed = np.flatnonzero(sizes)
        spans = Spans(keys.offsets[keyed], sizes[keyed], keys.data)
        for chunk in _chunks(spans):
            self._add(chunk)

    def _add(self, keys: Spans) -> None:
        """Count keys of one chunk, none empty, in the order of their bytes."""
        shape, rank = look(keys)
        # The last entry is 0, for every size beyond those of numbers.
        size = _SIZE[np.minimum(keys.sizes, len(_SIZE) - 1)]
        # One number for shape and size, so that `bincount` counts both in one pass; `divmod` takes it apart.
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
        """Remember schema ids of frames of a size, as long as they are no more than `MANY_IDS`.

        Beyond that they no longer count as schema ids, so which they are does not matter: memory stays
        bounded.
        """
        known_ids = self._ids.setdefault(size, set())
        if len(known_ids) <= MANY_IDS:
            known_ids.update(ids[: MANY_IDS + 1].tolist())

    def merge(self, other: FormCounts) -> None:
        """Count what `other` counted."""
        self._rows.update(other._rows)
        # An example that is there already stays, as in `_add`.
        self._examples = {**other._examples, **self._examples}
        for size, ids in other._ids.items():
            self._see_ids(size, np.array(sorted(ids), np.int64))
        self._sample.update(list(other._sample))

    def forms(self, decode: Callable[[bytes, str], LogicalKey] | None = None) -> tuple[KeyForm, ...]:
        """Return the forms, most frequent first; `decode` says what a key of a form says (`logical_key`).

        Cells with one name become one form. Its example is of the cell with the most rows.

        Args:
            decode: see `decoder.KeyDecoder`.
        """
        sampled = list(self._sample)
        named = dict(self._named(sampled))
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
        """Return all of it as JSON, for another process."""
        state = {
            "rows": [[*cell, rows] for cell, rows in self._rows.items()],
            "examples": [[*cell, key.hex()] for cell, key in self._examples.items()],
            "ids": [[size, sorted(ids)] for size, ids in self._ids.items()],
            "sample": [key.hex() for key in self._sample],
        }
        return json.dumps(state).encode()

    @classmethod
    def load(cls, dumped: bytes) -> FormCounts:
        """Return what `dump` gave."""
        state, counts = json.loads(dumped), cls()
        counts._rows = Counter({(shape, size): rows for shape, size, rows in state["rows"]})
        counts._examples = {(shape, size): bytes.fromhex(key) for shape, size, key in state["examples"]}
        counts._ids = {size: set(ids) for size, ids in state["ids"]}
        counts._sample.update([bytes.fromhex(key) for key in state["sample"]])
        return counts

    def _named(self, sampled: Sequence[bytes]) -> Iterator[tuple[tuple[int, int], Named]]:
        """Yield what each shape and size stands for.

        Args:
            sampled: keys of the sample, any form.
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
        """Return how many keys have one of the shapes, and the size."""
        return sum(self._rows[shape, size] for shape in shapes)

    def _frame(self, size: int) -> Named:
        """Return the form of keys of a size that begin with a zero and a schema id.

        A registry's frames are of any size with few ids. Numbers and UUIDs of a fixed size may begin with a
        zero too: they are counted as such if many keys of the size do not, and doubted if nothing else has
        their ids.
        """
        ids, bare = self._ids[size], self._bare(BINARY, size)
        elsewhere = set().union(*(ids for other, ids in self._ids.items() if other != size))
        others = self._count((UUID, BINARY), size)
        if len(ids) > MANY_IDS or self._rows[FRAME, size] <= others * CHANCE_OF_A_ZERO:
            return bare
        # Ids that come with other sizes, too, are a registry's: a serialized number has just one size.
        if size not in WIDTHS or (ids <= elsewhere and len(elsewhere) <= MANY_IDS):
            return Named("registry")
        if size == 8:  # any long above 2**24 begins so
            return bare if others else Named(bare.form, ("registry",))
        return Named("registry", (bare.form,))

    def _text(self, shape: int, size: int, sampled: Sequence[bytes]) -> Named:
        """Return the form of keys of a shape and size that are text.

        Numbers and UUIDs may be printable by chance. Keys of a size are text if more of them are than chance
        makes so, and surely so if there is text of other sizes, or enough different keys and no other kind.

        Args:
            shape: one of `TEXTS`.
            size: 4, 8, 16, or 0 for any other.
            sampled: keys of the sample, any form.
        """
        form = lone_form(shape, size)
        if form == "json":
            # A bracket at either end makes no JSON, so samples of it are parsed: if none is JSON, all is
            # text.
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
            return Named(form)
        return Named(form, (bare.form,))

    def _bare(self, shape: int, size: int) -> Named:
        """Return the form of keys of a size that are neither text nor framed.

        Sixteen bytes are UUIDs if more of them are marked as such than chance marks.

        Args:
            shape: of the keys; UUID or BINARY.
            size: 4, 8, 16, or 0 for any other.
        """
        if size != 16:
            return Named(WIDTHS.get(size, "bytes"))
        marked, others = self._count((UUID,), 16), self._count((BINARY,), 16)
        if marked <= others * CHANCE_OF_A_UUID:
            return Named("bytes")
        return Named("uuid" if shape == UUID or not others else "bytes")


def _chunks(keys: Spans) -> Iterator[Spans]:
    """Yield runs of keys of about a megabyte, since some steps take eight times the memory of the keys."""
    ends = np.cumsum(keys.sizes)
    cuts = np.flatnonzero(np.diff(ends // _CHUNK_BYTES)) + 1
    for rows in np.split(np.arange(len(keys.sizes)), cuts):
        if len(rows):
            yield keys.take(rows)
