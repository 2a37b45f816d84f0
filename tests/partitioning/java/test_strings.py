import random

import numpy as np
import pytest

from partitioning import java


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("kafka", 101807910),
        ("my-group", -1906497762),
        ("polygenelubricants", -(2**31)),
        ("한글", 1737764),
        ("\U0001f600", 1772899),
    ],
)
def test_string_hash(text, expected):
    assert java.string_hash(text) == expected


def test_string_hashes_agree_with_the_definition():
    rng = random.Random(1)
    texts = [
        "".join(chr(rng.choice((65, 233, 0x4E2D, 0x1F600))) for _ in range(rng.randrange(40)))
        for _ in range(500)
    ]

    def definition(text):
        units = np.frombuffer(text.encode("utf-16-le"), dtype="<u2").tolist()
        h = 0
        for unit in units:
            h = (31 * h + unit) & 0xFFFFFFFF
        return h - 2**32 if h >= 2**31 else h

    expected = [definition(text) for text in texts]
    assert java.string_hashes(texts).tolist() == expected
    assert java.string_hashes(texts[:9]).tolist() == expected[:9]


def test_no_strings_have_no_hashes():
    assert java.string_hashes([]).shape == (0,)


def test_utf16_key_puts_an_astral_character_before_a_high_one():
    assert sorted(["\uff5e", "\U0001f600"], key=java.utf16_key) == ["\U0001f600", "\uff5e"]
