import json
import random
import struct
import uuid

import pytest

from copartition.audit.forms import FormCounts
from copartition.audit.logical import LOGICAL_KEYS, find_respelled, logical_key
from copartition.audit.topic_audit import KeyForm, LogicalKey
from partitioning.keys import KeyColumn, key_column
from tests.copartition.audit.written import count_forms
from tests.support.tiers import sample

RANDOM = random.Random(1)
NUMBERS = sample(RANDOM.sample(range(10**7), 3000), 2)
UUIDS = [uuid.UUID(int=RANDOM.getrandbits(128), version=4) for _ in NUMBERS]
LONGS = [number.to_bytes(8, "big") for number in NUMBERS]
TEXTS = [b"user-%d" % number for number in NUMBERS]
FRAMES = [b"\0" + struct.pack(">i", 7 + number % 2) + b"user-%d" % number for number in NUMBERS]


def forms(*keys: bytes | None) -> tuple[KeyForm, ...]:
    return count_forms(key_column(keys)).forms()


COLUMNS = {
    "text": TEXTS,
    "text in other scripts": [f"用户-{number}".encode() for number in NUMBERS],
    "decimal": [b"%d" % (number - 5_000_000) for number in NUMBERS],
    "int32": [struct.pack(">i", number) for number in NUMBERS],
    "int64": LONGS,
    "int64 of all bits": [RANDOM.randbytes(8) for _ in NUMBERS],
    "int32 of all bits": [RANDOM.randbytes(4) for _ in NUMBERS],
    "uuid": [identifier.bytes for identifier in UUIDS],
    "uuid-text": [str(identifier).encode() for identifier in UUIDS],
    "uuid-text in capitals": [str(identifier).upper().encode() for identifier in UUIDS],
    "json": [b'{"id": %d}' % number for number in NUMBERS],
    "json over lines": [json.dumps({"id": number}, indent=2).encode() for number in NUMBERS],
    "json of texts": [b'"user-%d"' % number for number in NUMBERS],
    "json of lists": [b"[%d]" % number for number in NUMBERS],
    "text in brackets": [b"[user-%d]" % number for number in NUMBERS],
    "text of one size": [b"u%07d" % number for number in NUMBERS],
    "text with leading zeros": [b"%09d" % number for number in NUMBERS],
    "registry": FRAMES,
    "registry of any size": [
        frame[: 5 + number % 12 + 1] for frame, number in zip(FRAMES, NUMBERS, strict=True)
    ],
    "bytes": [RANDOM.randbytes(11) for _ in NUMBERS],
    "bytes of digests": [RANDOM.randbytes(16) for _ in NUMBERS],
    "bytes with as many ids as keys": [b"\0" + RANDOM.randbytes(30) for _ in NUMBERS],
    "text of numbers too large for a long": [b"9%020d" % number for number in NUMBERS],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_one_form_is_named(name: str) -> None:
    keys = sample(COLUMNS[name], 3)
    (form,) = forms(*keys)
    assert (form.name, form.rows, form.maybe) == (name.partition(" ")[0], len(keys), ())
    assert form.example in keys


# Keys that could be several things, and what is said of them.
VAGUE: dict[str, tuple[list[bytes], list[tuple[str, int, tuple[str, ...]]]]] = {
    "eight letters": ([b"abcdefgh"], [("text", 1, ("int64",))]),
    "four digits": ([b"1234"] * 5, [("decimal", 5, ("int32",))]),
    "eight letters among texts": ([b"abcdefgh", b"abc"], [("text", 2, ())]),
    "some longs and some texts of eight bytes": (
        LONGS[:100] + [b"u%07d" % number for number in NUMBERS[:50]],
        [("int64", 100, ()), ("text", 50, ("int64",))],
    ),
    "longs and texts": (LONGS[:100] + TEXTS[:50], [("int64", 100, ()), ("text", 50, ())]),
    "times, whose first bytes would make a schema id": (
        [(1_700_000_000_000 + number).to_bytes(8, "big") for number in NUMBERS],
        [("int64", len(NUMBERS), ("registry",))],
    ),
    "the frame of three bytes alone": ([b"\0\0\0\0\7\4ab"], [("int64", 1, ("registry",))]),
    "the frame of three bytes among frames": ([b"\0\0\0\0\7\4ab", b"\0\0\0\0\7\6abc"], [("registry", 2, ())]),
    "frames of eleven bytes": (
        [b"\0\0\0\0\7%011d" % number for number in NUMBERS],
        [("registry", len(NUMBERS), ("bytes",))],
    ),
}


@pytest.mark.parametrize("name", VAGUE)
def test_what_else_keys_may_be_is_said(name: str) -> None:
    keys, expected = VAGUE[name]
    assert [(form.name, form.rows, form.maybe) for form in forms(*keys)] == expected


def test_keys_without_bytes_have_no_form() -> None:
    assert [(form.name, form.rows) for form in forms(None, b"", b"user", None)] == [("text", 1)]
    assert forms(None, b"") == ()


def test_schema_ids_are_told() -> None:
    (form,) = forms(*FRAMES)
    assert form.schema_ids == (7, 8)


def test_a_long_example_is_cut() -> None:
    (form,) = forms(b"x" * 3_000_000, b"y")
    assert form.example == b"x" * 256
    assert form.sample == (b"y",)


@pytest.mark.heavy
def test_counts_merge_as_if_counted_at_once() -> None:
    keys = [key for column in COLUMNS.values() for key in column[:400]]
    RANDOM.shuffle(keys)
    counts = FormCounts()
    for first in range(0, len(keys), 700):
        counts.merge(FormCounts.load(count_forms(key_column(keys[first : first + 700])).dump()))
    seen = {form.name: (form.rows, form.schema_ids, form.maybe, set(form.sample)) for form in counts.forms()}
    assert seen == {
        form.name: (form.rows, form.schema_ids, form.maybe, set(form.sample)) for form in forms(*keys)
    }


def test_a_column_that_is_part_of_a_larger_one_is_counted_alone() -> None:
    column = key_column([b"user", *LONGS[:20], b"name"])
    part = KeyColumn(column.offsets[1:-1], column.data, None)
    assert [(form.name, form.rows) for form in count_forms(part).forms()] == [("int64", 20)]


@pytest.mark.parametrize(
    ("key", "form", "said"),
    [
        (b"42", "decimal", ("number", "42")),
        (b"42", "json", ("number", "42")),
        (b'"42"', "json", ("number", "42")),
        (struct.pack(">i", 42), "int32", ("number", "42")),
        (struct.pack(">q", 42), "int64", ("number", "42")),
        (struct.pack(">q", -42), "int64", ("number", "-42")),
        (b"042", "text", ("text", "042")),
        (b"9223372036854775808", "text", ("text", "9223372036854775808")),
        (b"user", "text", ("text", "user")),
        (b'"user"', "json", ("text", "user")),
        (b"\0\0\0\0\7user", "registry", ("text", "user")),
        (b"\0\0\0\0\7\x08user", "registry", ("text", "user")),
        (b'\0\0\0\0\7{"b":1, "a":2}', "registry", ("json", '{"a":2,"b":1}')),
        (b"\0\0\0\0\7\xff", "registry", ("bytes", "ff")),
        (b'{"b": 1, "a": 2}', "json", ("json", '{"a":2,"b":1}')),
        (b"{broken", "json", ("text", "{broken")),
        (b"[" * 900, "json", ("text", "[" * 900)),
        (UUIDS[0].bytes, "uuid", ("uuid", str(UUIDS[0]))),
        (str(UUIDS[0]).upper().encode(), "uuid-text", ("uuid", str(UUIDS[0]))),
        (b"short", "int64", ("bytes", b"short".hex())),
        (b"\xff", "text", ("bytes", "ff")),
        (b"\1\2\3", "bytes", ("bytes", "010203")),
    ],
)
def test_what_a_key_says(key: bytes, form: str, said: tuple[str, str]) -> None:
    assert logical_key(key, form) == said


SPELLED = {
    "text and long": ([b"%d" % number for number in NUMBERS], LONGS),
    "int and long": (COLUMNS["int32"], LONGS),
    "negative": (
        [b"%d" % -number for number in NUMBERS],
        [(-number).to_bytes(8, "big", signed=True) for number in NUMBERS],
    ),
    "UUIDs": (COLUMNS["uuid"], COLUMNS["uuid-text"]),
    "UUIDs in capitals": (COLUMNS["uuid-text"], COLUMNS["uuid-text in capitals"]),
    "JSON's text and text": (TEXTS, COLUMNS["json of texts"]),
    "JSON's text of a number and long": ([b'"%d"' % number for number in NUMBERS], LONGS),
    "JSON and JSON with spaces": (COLUMNS["json"], COLUMNS["json over lines"]),
    "order of names": (
        [b'{"a":%d,"b":1}' % number for number in NUMBERS],
        [b'{"b":1,"a":%d}' % number for number in NUMBERS],
    ),
    "frame and text": (FRAMES, TEXTS),
    "Avro's text and text": ([b"\0\0\0\0\7" + bytes([2 * len(text)]) + text for text in TEXTS], TEXTS),
    "two schema ids": (FRAMES, [b"\0\0\0\0\x09" + frame[5:] for frame in FRAMES]),
}


@pytest.mark.parametrize("name", SPELLED)
def test_keys_that_say_the_same_are_found_in_two_topics(name: str) -> None:
    ours, theirs = SPELLED[name]
    found = find_respelled(forms(*ours), forms(*theirs))
    assert found.compared >= LOGICAL_KEYS - 2
    assert found.respelled == found.compared
    said, ((one,), (other,)) = found.examples[0]
    assert one in ours
    assert other in theirs
    assert isinstance(said, LogicalKey)


@pytest.mark.parametrize("name", sample([*SPELLED], 2))
def test_keys_that_say_the_same_are_found_in_one_topic(name: str) -> None:
    ours, theirs = SPELLED[name]
    found = find_respelled(forms(*ours, *theirs[: len(theirs) // 2]))
    assert found.compared == LOGICAL_KEYS
    assert 0.35 < found.respelled / found.compared < 0.65


def test_the_same_bytes_are_no_spellings() -> None:
    found = find_respelled(forms(*TEXTS, *TEXTS), forms(*TEXTS))
    assert (found.compared, found.respelled, found.examples) == (LOGICAL_KEYS, 0, ())


def test_topics_without_a_common_key_have_none_respelled() -> None:
    found = find_respelled(forms(*TEXTS), forms(*COLUMNS["decimal"]))
    assert (found.compared, found.respelled) == (0, 0)


def test_few_keys_are_compared_all() -> None:
    found = find_respelled(forms(b"42", b"43", b"44444"), forms(*LONGS[:5], struct.pack(">q", 42)))
    assert found[:2] == (1, 1)


def test_long_json_is_named_by_its_brackets() -> None:
    (form,) = forms(b"[" + b"1," * 600 + b"1]")
    assert form.name == "json"
