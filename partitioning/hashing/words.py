"""Hashes a column of keys by 32-bit little-endian words: one word position of many keys at a time.

If all keys have the same length, a multiple of four bytes, the data is a matrix with a key in each row. The
matrix is transposed, so that the words of one position are neighbours. Otherwise keys are taken in chunks,
sorted by length, longest first, and copied into rows of equal width, so that the keys that still have a word
at some position come first.

The last 1 to 3 bytes of a key may not fill a word. A hash function that can begin with zero bytes gets zeros
in front of such a key, so that all its words are full. Any other hash function has a step for these bytes,
the tail of the key.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint32]

BLOCK_BYTES = 1 << 21
"""The most bytes that are worked on at a time: keys, their words by position, states and scratch.

A step over all rows of a block takes only one word, one state and one element of scratch of each key. For
keys of 20 bytes or more these are at most 512 KiB, the size of an L2 cache, although the block is larger. So
this bound need not follow the machine's caches.
"""

CHUNK_ROWS = 1 << 16
"""The most rows that are worked on at a time, enough to make the fixed cost of a NumPy call small."""

_MIN_BLOCK_ROWS = 1 << 8
_TILE_BYTES = 1 << 16  # few enough to be read from a near cache again for each word
_LINE_WORDS = 16  # 32-bit words of a cache line
_FEW_ROWS = 8  # fewer rows are hashed one by one in Python, which costs less than NumPy's calls


class WordHash(NamedTuple):
    """Describes a hash function by steps, each of which works on the states of many keys.

    All steps but `start` change the states in place, and may overwrite the scratch. An array of lengths has
    one entry for each state, or a single entry for all of them.

    Attributes:
        scalar: returns the hash of one key; only its low 32 bits are used.
        start: returns the first states, given the keys' lengths in bytes.
        mix: called with (states, words, scratch); takes a full word of each key into its state, and may
            overwrite the words.
        finish: called with (states, lengths, scratch); turns the states into the hashes. None if the last
            states are the hashes.
        tail: called with (states, tails, lengths, scratch); takes the last 0 to 3 bytes of each key, padded
            with zeros to a word, and may overwrite them. It is not called if no key has a tail. None if the
            first word of a key is filled with zeros in front instead. Then `start` returns states that
            become the usual first state after these zeros.
    """

    scalar: Callable[[bytes], int]
    start: Callable[[Words], Words]
    mix: Callable[[Words, Words, Words], None]
    finish: Callable[[Words, Words, Words], None] | None = None
    tail: Callable[[Words, Words, Words, Words], None] | None = None


def constant(value: int) -> NDArray[np.uint32]:
    """Return a uint32 operand that NumPy need not convert on each call."""
    return np.array(value, dtype=np.uint32)


_ONE = constant(1)
_THREE = constant(3)
_FULL = constant(0xFFFFFFFF)


def start_by_length(states: Words, lengths: Words) -> Words:
    """Return the start state of each key, which is `states[length % 4]`."""
    return states.take(lengths & _THREE, mode="clip")


def hash_words(rule: WordHash, offsets: NDArray[np.integer], data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Hash every key of a column (see `hashing.HashFunction`) by this rule: int32 array of n hashes."""
    bounds = np.asarray(offsets, dtype=np.int64)
    out: Words = _aligned_arrays(1, len(bounds) - 1)[0]
    if _have_one_length(bounds):
        _hash_columns(rule, out, bounds, data)
        return out.view(np.int32)
    for first, last in _chunks(bounds):
        chunk = bounds[first : last + 1]
        hash_chunk = _hash_columns if _have_one_length(chunk) else _hash_chunk
        hash_chunk(rule, out[first:last], chunk, data)
    return out.view(np.int32)


def padded_rows(data: NDArray[np.uint8], starts: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Return the `width` bytes from each start on, and zeros beyond both ends of the data.

    The result has shape (n, width), with a row for each start.
    """
    base, limit = int(starts.min()), int(starts.max()) + width
    before, after = max(-base, 0), max(limit - len(data), 0)
    data = data[max(base, 0) : limit]
    # The maximum is not needed. Computing it reads the data in order and so brings them into the cache,
    # before rows are copied in any order.
    data.max(initial=0)
    if before or after:
        data = np.concatenate([np.zeros(before, np.uint8), data, np.zeros(after, np.uint8)])
    # Every run of `width` bytes is an element of this view, so that one index copies a whole row.
    runs = np.ndarray((len(data) - width + 1,), dtype=f"V{width}", buffer=data, strides=(1,))
    return runs[starts - base].view(np.uint8).reshape(len(starts), width)


def _aligned_arrays(arrays: int, rows: int) -> Words:
    """Return new arrays that each begin at a cache line's start: steps over them take a tenth less time."""
    width = -(-rows // _LINE_WORDS) * _LINE_WORDS
    spare = np.empty(arrays * width + _LINE_WORDS, dtype=np.uint32)
    first: int = -(spare.__array_interface__["data"][0] // spare.itemsize) % _LINE_WORDS
    return spare[first : first + arrays * width].reshape(arrays, width)[:, :rows]


def _chunks(bounds: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut the rows into runs that are hashed together: (first, last) row, the last excluded.

    A run has at most `CHUNK_ROWS` rows and `BLOCK_BYTES` bytes, but at least one row, however long its key
    is.
    """
    first, rows = 0, len(bounds) - 1
    while first < rows:
        fitting = int(np.searchsorted(bounds, bounds[first] + BLOCK_BYTES, side="right")) - 1
        last = min(rows, first + CHUNK_ROWS, max(fitting, first + 1))
        yield first, last
        first = last


def _have_one_length(bounds: NDArray[np.int64]) -> bool:
    """Return whether all keys have one length, a multiple of 4; False for fewer than `_FEW_ROWS` keys."""
    rows = len(bounds) - 1
    if rows < _FEW_ROWS:
        return False
    length = bounds[1] - bounds[0]
    if length % 4 or bounds[-1] - bounds[0] != rows * length:
        return False
    # The comparison of sums above has excluded most columns of mixed lengths without reading each length.
    parts = (bounds[first : first + CHUNK_ROWS + 1] for first in range(0, rows, CHUNK_ROWS))
    return all((part[1:] - part[:-1] == length).all() for part in parts)


def _hash_chunk(rule: WordHash, out: Words, bounds: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
    """Hash the keys of one chunk, of any lengths, into `out`, which has one entry for each key."""
    lengths = np.diff(bounds)
    longest = int(lengths.max())
    # If all keys have the same length, there is nothing to sort. Such keys come here if they are too few for
    # `_hash_columns`, or if their last word is not full.
    if longest * len(lengths) == bounds[-1] - bounds[0]:
        sizes = np.full(len(lengths), longest, dtype=np.uint32)
        out[:] = rule.start(sizes)
        _hash_rows(rule, out, sizes, bounds[:-1], data)
    else:
        order, sizes = _longest_first(lengths, longest)
        states = rule.start(sizes)
        _hash_rows(rule, states, sizes, bounds.take(order, mode="clip"), data)
        # The states are in the order of `order`, the longest key first. This puts them back into the order of
        # the rows.
        out[order] = states


def _longest_first(lengths: NDArray[np.int64], longest: int) -> tuple[NDArray[np.intp], Words]:
    """Return the stable order of the keys by falling length, and the lengths in that order."""
    falling = (longest - lengths).astype(np.min_scalar_type(longest))  # NumPy sorts small integers by radix
    order = np.argsort(falling, kind="stable")
    return order, lengths.astype(np.uint32).take(order, mode="clip")


def _hash_columns(rule: WordHash, states: Words, bounds: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
    """Hash keys that have the same number of full words and no tail, and store the hashes in `states`."""
    matrix = data[bounds[0] : bounds[-1]].view("<u4").reshape(len(states), -1)
    length = np.array([matrix.shape[1] * 4], dtype=np.uint32)
    start = rule.start(length)
    rows = _block_rows(matrix.shape[1]) & -_LINE_WORDS  # whole cache lines of states
    scratch = _aligned_arrays(matrix.shape[1] + 1, min(rows, len(states)))
    for begin in range(0, len(states), rows):
        block = slice(begin, begin + rows)
        state = states[block]
        state[:] = start
        *words, t = scratch[:, : len(state)]
        _transpose(matrix[block], scratch)
        for word in words:
            rule.mix(state, word, t)
        if rule.finish:
            rule.finish(state, length, t)


def _hash_rows(
    rule: WordHash, states: Words, lengths: Words, starts: NDArray[np.int64], data: NDArray[np.uint8]
) -> None:
    """Hash keys longest first, in blocks: those with 2**i to 2**(i + 1) - 1 words are copied out together.

    So a row of a block is at most twice as wide as its key needs.

    Args:
        rule: the hash.
        states: the first state of each key; overwritten with the hashes.
        lengths: the bytes of each key, in descending order.
        starts: the index in `data` at which each key begins.
        data: the bytes of all keys.
    """
    words = (lengths if rule.tail else lengths + _THREE) >> 2
    begin = 0
    while begin < len(states):
        most = int(words[begin])
        least = 1 << (most.bit_length() - 1) if most else 0
        end = min(begin + _block_rows(most + 1), int(np.count_nonzero(words >= least)))
        block = slice(begin, end)
        if end - begin < _FEW_ROWS:
            for row in range(begin, end):
                first = int(starts[row])
                key = data[first : first + int(lengths[row])]
                states[row] = rule.scalar(key.tobytes()) & 0xFFFFFFFF
        elif rule.tail:
            matrix = padded_rows(data, starts[block], (most + 1) * 4).view("<u4")
            _hash_block(rule, states[block], lengths[block], matrix)
        else:
            # If the hash has no step for tails, a key is aligned to the end of its words. The 0 to 3 bytes in
            # front of it belong to the key before or lie outside of the data, so they are set to zero.
            filling = -lengths[block] & _THREE
            matrix = padded_rows(data, starts[block] - filling, max(most, 1) * 4).view("<u4")
            matrix[:, 0] &= _FULL << (filling << _THREE)
            _hash_block(rule, states[block], lengths[block] + filling, matrix)
        begin = end


def _hash_block(rule: WordHash, states: Words, lengths: Words, matrix: Words) -> None:
    """Hash keys that stand in rows of one width, longest first; `states` are overwritten with the hashes.

    In step j only the first `having[j]` rows still have a full word there, so that each step works on a
    shorter prefix of the rows and no mask is needed.
    """
    rows, width = matrix.shape
    # `having[j]` is the number of keys with more than j full words. The tail of a key is in its row's first
    # word after the full words.
    needed = np.arange(4, 4 * width + 4, 4, dtype=np.uint32)
    # `lengths` is in descending order, but `searchsorted` needs ascending numbers. So it searches backwards.
    having = (rows - np.searchsorted(lengths[::-1], needed)).tolist()
    k, t, tails = _aligned_arrays(3, rows)
    left = rows
    for j, live in enumerate(having):
        if rule.tail and live < left:
            tails[live:left] = matrix[live:left, j]
            left = live
        if live:
            np.copyto(k[:live], matrix[:live, j])
            rule.mix(states[:live], k[:live], t[:live])
    if rule.tail and np.bitwise_and(lengths, _THREE, out=t).any():
        # `t` becomes the number of bits of each tail, 0 to 24. The mask 2**bits - 1 clears the bytes of the
        # next key, which `padded_rows` copied, too.
        np.left_shift(t, _THREE, out=t)
        np.left_shift(_ONE, t, out=t)
        np.subtract(t, _ONE, out=t)
        np.bitwise_and(tails, t, out=tails)
        rule.tail(states, tails, lengths, t)
    if rule.finish:
        rule.finish(states, lengths, t)


def _transpose(matrix: Words, out: Words) -> None:
    """Copy the words of each position of a matrix, which has a key in each row, into a row of `out`.

    The rows are taken in tiles that stay in the nearest cache, so that each cache line of the data is read
    from a slower cache only once, and not again for each word.
    """
    rows, width = matrix.shape
    step = max(1, _TILE_BYTES // (4 * max(1, width)))
    for begin in range(0, rows, step):
        end = min(begin + step, rows)
        out[:width, begin:end] = matrix[begin:end].T


def _block_rows(words: int) -> int:
    """Return how many keys of `words` 32-bit words are hashed at a time.

    A key takes the bytes of its words twice, because `_transpose` copies them, and those of its state and of
    one element of scratch.
    """
    return min(max(_MIN_BLOCK_ROWS, BLOCK_BYTES // (8 * words + 8)), CHUNK_ROWS)
