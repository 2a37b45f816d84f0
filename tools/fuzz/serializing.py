"""Keys of every type, as values and as texts; clients' names; entries of ledgers."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from confluent_kafka import TopicPartition

from partitioning.clients.ledger import Entry, entries
from partitioning.errors import CopartitionError, UnknownStrategyError
from partitioning.profiles import CLIENT_NAMES, about_client, find_profile
from partitioning.serializers import KEY_TYPES, forms_of, key_serializer, serialize_key
from tools.fuzz.mutation import NUMBERS, PIECES, mutate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

TEXTS = [b"order-42", b"42", b"-1", b"1e3", b'{"id": 42, "b": [1, null]}', b'"a"', b"grosse", b"0x2a", b"[]"]
VALUES: list[Any] = [
    None, True, 0, -1, 2**31, 2**63, 2**70, 1.5, float("nan"), float("-inf"), "", "a", "\ud800", "\udcff",
    b"", b"\xff", {"id": 42}, {1: 2}, {"a": float("nan")}, [], [[[]]], object, {"a": "\ud83d"}, (1, 2), {1},
]  # fmt: skip
RECORD = '{"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}'
SCHEMAS: list[Any] = [
    None, None, '"string"', '"long"', RECORD,
    b"", b"\x0a\x01", "[", "[" * 5_000, "{}", '{"type": "record"}',
]  # fmt: skip
IDS = [None, None, 0, 7, -1, 2**31, 2**40, "header", "x", 1.5]


def _text(rng: Random) -> str:
    """A text as the command line or a file has it: damaged, with bytes that are no UTF-8."""
    text = rng.choice([*TEXTS, *NUMBERS, *PIECES])
    if rng.random() < 0.6:
        text = mutate(rng, text)
    deep = rng.choice((b"[", b'{"a":')) * rng.choice((50, 5_000)) if rng.random() < 0.02 else b""
    return (deep + text)[:20_000].decode("utf-8", "surrogateescape")


def make_key(rng: Random) -> tuple[str, Any, Any, Any, str]:
    return (
        rng.choice([*KEY_TYPES, "none"]),
        rng.choice(VALUES),
        rng.choice(SCHEMAS),
        rng.choice(IDS),
        _text(rng),
    )


def check_key(case: tuple[str, Any, Any, Any, str]) -> None:
    kind, value, schema, schema_id, text = case
    for call in (
        lambda: serialize_key(value, kind, schema=schema, schema_id=schema_id),
        lambda: key_serializer(kind, schema=schema, schema_id=schema_id).of_text(text),
    ):
        try:
            assert isinstance(call(), bytes | None)
        except CopartitionError as error:
            str(error).encode()


def make_text(rng: Random) -> tuple[str, int | None]:
    return _text(rng), rng.choice((None, 0, 7, 2**31 - 1))


def check_forms(case: tuple[str, int | None]) -> None:
    forms = [key for _, key in forms_of(*case)]
    assert len({*forms}) == len(forms)
    assert all(isinstance(key, bytes) for key in forms)


def make_name(rng: Random) -> str:
    name = rng.choice([*CLIENT_NAMES])
    return mutate(rng, name.encode()).decode("utf-8", "surrogateescape") if rng.random() < 0.8 else name


def check_name(name: str) -> None:
    about_client(name)
    with suppress(UnknownStrategyError):
        find_profile(name)


ENTRY = Entry(7, 100, "ab" * 16, False, 12, 12, "AAAAAAAAAAAAAAAAAAAAAA").metadata()


def make_ledger(rng: Random) -> list[tuple[int, str | None]]:
    """Committed offsets with what stands beside them: of ours, damaged, or of another application."""
    odd = ["", None, "{}", "null", "[]", "[" * 5_000, '{"version": 7}', '{"version": NaN}', ENTRY]
    whole = json.loads(ENTRY)
    committed = []
    for _ in range(rng.randint(1, 3)):
        metadata = rng.choice(odd)
        if rng.random() < 0.7:
            metadata = mutate(rng, ENTRY.encode()).decode(errors="replace")
        elif rng.random() < 0.5:
            metadata = json.dumps(whole | {rng.choice([*whole]): rng.choice(VALUES[:13])})
        committed.append((rng.choice((-1001, -1, 0, 7, 8, 2**63 - 1)), metadata))
    return committed


def check_ledger(case: Sequence[tuple[int, str | None]]) -> None:
    places = []
    for number, (offset, metadata) in enumerate(case):
        place = TopicPartition("t", number, offset)
        # confluent-kafka takes text alone that has no null character.
        if metadata is not None and "\0" not in metadata:
            place = TopicPartition("t", number, offset, metadata)
        places.append(place)
    try:
        found = entries(places)
    except ValueError as error:
        assert "is no entry of a ledger" in str(error)  # noqa: PT017 - every message of it is one
    else:
        assert all(entry is None or isinstance(entry.digest, str) for entry in found.values())


TARGETS = {
    "key-types": (make_key, check_key),
    "key-forms": (make_text, check_forms),
    "names": (make_name, check_name),
    "ledgers": (make_ledger, check_ledger),
}
