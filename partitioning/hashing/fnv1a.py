"""FNV-1a, 32 bits.

Sarama's default, kafka-go's `Hash` and librdkafka's `fnv1a` use it. A byte is XORed into the state, which is
then multiplied by a prime, modulo 2**32. The prime is odd, so it has an inverse modulo 2**32. Therefore there
are states, `_STARTS`, that become the usual first state after the zeros in front of a key.
"""

from functools import partial

import numpy as np

from partitioning.hashing.words import WordHash, Words, constant, hash_words, start_by_length

_OFFSET_BASIS = 0x811C9DC5
_PRIME = 0x01000193


def fnv1a(key: bytes) -> int:
    """Return FNV-1a of one key, a signed 32-bit number."""
    state = _OFFSET_BASIS
    for byte in key:
        state = (state ^ byte) * _PRIME & 0xFFFFFFFF
    return state - (1 << 32) if state >= 1 << 31 else state


_P = constant(_PRIME)
_8, _FF = map(constant, (8, 0xFF))
# Start states of keys whose length is 0, 1, 2 or 3 modulo 4. Zero bytes fill the first word of a key from the
# front. A zero byte only multiplies the state by the prime. So the start state is the usual first state,
# divided by the prime once for each zero byte.
_STARTS = np.array(
    [_OFFSET_BASIS * pow(_PRIME, -(-length % 4), 1 << 32) % (1 << 32) for length in range(4)], dtype=np.uint32
)


def _mix(h: Words, k: Words, t: Words) -> None:
    """Take a word of each key into its state, its four bytes from low to high (see `WordHash.mix`)."""
    for _ in range(3):
        np.bitwise_and(k, _FF, out=t)
        np.bitwise_xor(h, t, out=h)
        np.multiply(h, _P, out=h)
        np.right_shift(k, _8, out=k)
    # After three shifts only the fourth byte is left, so no mask is needed.
    np.bitwise_xor(h, k, out=h)
    np.multiply(h, _P, out=h)


fnv1a_column = partial(hash_words, WordHash(fnv1a, partial(start_by_length, _STARTS), _mix))
"""FNV-1a of each key of a column (see `hashing.HashFunction`), int32."""
