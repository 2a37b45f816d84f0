"""The keys that topics are written with: how an order is spelled in bytes, and what bytes stand for."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ORDERS = 500
"""How many orders there are, so that topics have most of their keys in common."""


def _order(drawn: Random) -> int:
    return drawn.randrange(ORDERS)


def _text(order: int) -> bytes:
    return b"order-%d" % order


def _frame_key(schema_id: int, key: bytes) -> bytes:
    """A key as a schema registry's serializers write it."""
    return b"\0" + schema_id.to_bytes(4, "big") + key


def _json(order: int, *, spaced: bool) -> bytes:
    return json.dumps({"order": order, "shop": "a"}, separators=None if spaced else (",", ":")).encode()


def _uuid(order: int) -> uuid.UUID:
    return uuid.UUID(int=(order + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, version=4)


class Keys(NamedTuple):
    """A way to write keys.

    Attributes:
        draw: a record's key.
        form: the form of all of them, as an audit names it; empty where there are none.
        schema_ids: what schema ids are in them.
    """

    draw: Callable[[Random], bytes | None]
    form: str
    schema_ids: tuple[int, ...] = ()


KEYS = {
    "text": Keys(lambda drawn: _text(_order(drawn)), "text"),
    "one schema id": Keys(lambda drawn: _frame_key(7, _text(_order(drawn))), "registry", (7,)),
    "another schema id": Keys(lambda drawn: _frame_key(9, _text(_order(drawn))), "registry", (9,)),
    "two schema ids": Keys(
        lambda drawn: _frame_key(drawn.choice((7, 9)), _text(_order(drawn))), "registry", (7, 9)
    ),
    "decimal": Keys(lambda drawn: b"%d" % _order(drawn), "decimal"),
    "int32": Keys(lambda drawn: _order(drawn).to_bytes(4, "big"), "int32"),
    "int64": Keys(lambda drawn: _order(drawn).to_bytes(8, "big"), "int64"),
    "json": Keys(lambda drawn: _json(_order(drawn), spaced=False), "json"),
    "json, two spellings": Keys(lambda drawn: _json(_order(drawn), spaced=drawn.random() < 0.5), "json"),
    "uuid": Keys(lambda drawn: _uuid(_order(drawn)).bytes, "uuid"),
    "uuid as text": Keys(lambda drawn: str(_uuid(_order(drawn))).encode(), "uuid-text"),
    "half without": Keys(lambda drawn: _text(_order(drawn)) if drawn.random() < 0.5 else None, "text"),
    "none": Keys(lambda _: None, ""),
    "one order": Keys(lambda _: _text(17), "text"),
    "three orders": Keys(lambda drawn: _text(drawn.randrange(3)), "text"),
    "ten orders": Keys(lambda drawn: _text(drawn.randrange(10)), "text"),
}
"""Every way to write keys, by name."""


class Meaning(NamedTuple):
    """What a key stands for.

    Attributes:
        order: the order.
        spelling: how it is spelled; keys of one spelling are the same where orders are.
    """

    order: int
    spelling: str


def _meanings() -> dict[bytes, Meaning]:
    meant = {}
    for order in range(ORDERS):
        text, number = _text(order), _uuid(order)
        spelled = {
            "text": text,
            "decimal": b"%d" % order,
            "uuid": number.bytes,
            "uuid-text": str(number).encode(),
        }
        spelled |= {f"registry {schema_id}": _frame_key(schema_id, text) for schema_id in (7, 9)}
        spelled |= {f"int{8 * size}": order.to_bytes(size, "big") for size in (4, 8)}
        spelled |= {f"json {spaced}": _json(order, spaced=spaced) for spaced in (False, True)}
        meant.update({key: Meaning(order, name) for name, key in spelled.items()})
    return meant


MEANT = _meanings()
"""What each key stands for, whatever its form."""
