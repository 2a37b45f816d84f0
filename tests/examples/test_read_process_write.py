"""The example's own part: how it processes an order."""

from __future__ import annotations

import json

import pytest

from examples.read_process_write import price


def test_an_order_is_priced() -> None:
    assert json.loads(price(b'{"pieces": 3, "each": 5}')) == {"pieces": 3, "each": 5, "price": 15}


@pytest.mark.parametrize("value", [b'{"pieces": 1}', b"[]", b"\xff", b"", b"7", b"{"])
def test_what_is_no_order_is_poisoned(value: bytes) -> None:
    with pytest.raises(ValueError, match=r"not an order|Expecting|codec"):
        price(value)
