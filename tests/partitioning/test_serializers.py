"""Bytes of keys: those of Java's serializers, Debezium's converters and confluent-kafka's."""

import json
import math
import struct
import uuid

import pytest

from copartition.shell.verbs.partition import _KEY_TYPES
from partitioning import serialize_key
from partitioning.errors import InvalidConfigError, InvalidKeyError
from partitioning.serializers import KEY_TYPES, WITH_REGISTRY, forms_of, json_key, key_serializer
from tests.support.key_bytes import AVRO, JUDGES, PROTOBUF, recorded
from tests.support.tiers import sample

SCHEMAS = {"avro": AVRO, "protobuf": PROTOBUF}


def ours(key_type, text, key_of_judge, judge):
    """Our bytes of a recorded key, under the schema id that the judge's registry gave."""
    schema_id = None
    if key_type in WITH_REGISTRY:
        schema_id = "header" if "header" in judge else int(key_of_judge[2:10], 16)
    serializer = key_serializer(key_type, schema=SCHEMAS.get(key_type), schema_id=schema_id)
    return serializer.of_text(text).hex()


CASES = [
    (key_type, judge)
    for key_type, keys in recorded().items()
    for judge in JUDGES
    if any(judge in key for key in keys)
]


@pytest.mark.parametrize(("key_type", "judge"), [case for case in CASES if case[0] in KEY_TYPES])
def test_a_key_has_the_bytes_that_the_serializer_made(key_type, judge):
    keys = [key for key in recorded()[key_type] if judge in key]
    assert len(keys) >= 850
    for key in sample(keys, 5):
        # What two serializers of a schema do not agree on is refused, and nothing else.
        if "confluent" in key and key["java"][10:] != key["confluent"][10:]:
            with pytest.raises(InvalidKeyError):
                ours(key_type, key["text"], key[judge], judge)
        else:
            assert ours(key_type, key["text"], key[judge], judge) == key[judge], key["text"]


@pytest.mark.parametrize("key_type", sorted(recorded().keys() - {*KEY_TYPES}))
def test_a_form_with_its_schema_is_that_of_jsonconverter(key_type):
    for key in sample(recorded()[key_type], 5):
        forms = {written.hex() for _, written in forms_of(key["text"])}
        assert key["debezium"] in forms


def test_every_type_is_recorded_and_on_the_command_line():
    assert recorded().keys() >= {*KEY_TYPES}
    assert _KEY_TYPES == KEY_TYPES


@pytest.mark.parametrize(
    ("value", "key_type", "expected"),
    [
        (42, "long", bytes(7) + b"*"),
        (-1, "short", b"\xff\xff"),
        (None, "long", None),
        ("\u00e9", "string", b"\xc3\xa9"),
        (uuid.UUID(int=10), "uuid", b"00000000-0000-0000-0000-00000000000a"),
        (math.nan, "double", bytes.fromhex("7ff8000000000000")),
        (
            struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0],
            "double",
            bytes.fromhex("7ff8000000000000"),
        ),
        (2, "float", struct.pack(">f", 2.0)),
        ({"id": 1.5, "name": "a b"}, "json", b'{"id":1.5,"name":"a b"}'),
        ("42", "json", b'"42"'),
        (b"\0", "hex", b"\0"),
    ],
)
def test_a_value_of_python_is_serialized(value, key_type, expected):
    assert serialize_key(value, key_type) == expected


@pytest.mark.parametrize(
    ("text", "key_type", "expected"),
    [
        ("A", "json", b'"A"'),
        ("42", "json", b"42"),
        ('{ "id" : 1.50 , "b" : "\\u00e9 \\/" }', "json", '{"id":1.50,"b":"\u00e9 /"}'.encode()),
    ],
)
def test_a_text_is_read_as_the_type_says(text, key_type, expected):
    assert key_serializer(key_type).of_text(text) == expected


def test_an_escaped_backslash_is_no_escape_of_what_follows_it():
    assert json_key("\\u001f") == rb'"\\u001f"'
    assert json_key("\x1f") == rb'"\u001F"'


@pytest.mark.parametrize(
    ("value", "key_type", "message"),
    [
        ("x", "long", "'x' is no integer"),
        ("1.5", "integer", "'1.5' is no integer"),
        ("32768", "short", "32768 is no integer of 2 bytes: -32768 to 32767"),
        ("1_0", "double", "'1_0' is no number"),
        ("1e39", "float", "1e[+]39 is too large for a number of 4 bytes"),
        ("1-2", "uuid", "'1-2' is no UUID such as"),
        ("0x1", "hex", "'0x1' is not hexadecimal: give two digits for each byte"),
        ("?", "base64", "'[?]' is not base64"),
    ],
)
def test_a_text_that_is_no_value_of_the_type_is_refused(value, key_type, message):
    with pytest.raises(InvalidKeyError, match=message):
        key_serializer(key_type).of_text(value)


@pytest.mark.parametrize("text", ["\udcff", '"\\ud800"', '{"a":"\udcff"}'])
def test_a_text_that_is_no_unicode_is_no_json(text):
    with pytest.raises(InvalidKeyError, match="no Unicode"):
        key_serializer("json").of_text(text)


@pytest.mark.parametrize(
    ("value", "key_type", "message"),
    [
        (True, "long", "True is no integer of 8 bytes"),
        (4.0, "integer", "4.0 is no integer of 4 bytes"),
        (7, "string", "a string key is a text, not int"),
        ("7", "double", "'7' is no number"),
        ({1, 2}, "json", "is no JSON document"),
        ({"id": 1e16}, "json", "1e[+]16 is spelled differently by Java and Python"),
        ([0.0001], "json", "0.0001 is spelled differently"),
        ("ab", "hex", "'ab' is str, not bytes"),
    ],
)
def test_a_value_of_another_type_is_refused(value, key_type, message):
    with pytest.raises(InvalidKeyError, match=message):
        key_serializer(key_type).of(value)


@pytest.mark.parametrize(
    ("key_type", "settings", "message"),
    [
        ("int", {}, "no key type 'int'; give one of string, integer, long"),
        ("avro", {"schema": AVRO}, "avro keys need the schema's number in the registry, or 'header'"),
        ("avro", {"schema_id": 1}, "avro keys need their schema"),
        ("avro", {"schema": "{", "schema_id": 1}, "the Avro schema cannot be read"),
        ("protobuf", {"schema": b"syntax", "schema_id": 1}, "protoc --include_imports"),
        ("jsonschema", {"schema": "{}", "schema_id": 1}, "jsonschema keys need no schema"),
        ("jsonschema", {"schema_id": -1}, "schema_id is -1: give the registry's number"),
        ("long", {"schema_id": 1}, "long keys have no schema id"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(key_type, settings, message):
    with pytest.raises(InvalidConfigError, match=message):
        key_serializer(key_type, **settings)


@pytest.mark.parametrize(
    "value", [{"id": 1}, {"id": 1, "name": "a", "nam": "b"}, {"id": "1", "name": "a"}, "a"]
)
def test_a_value_that_does_not_fit_the_avro_schema_is_refused(value):
    with pytest.raises(InvalidKeyError, match="does not fit the Avro schema"):
        serialize_key(value, "avro", schema=AVRO, schema_id=1)


@pytest.mark.parametrize(("key_type", "schema"), [("avro", AVRO), ("protobuf", PROTOBUF)])
@pytest.mark.parametrize("value", ["\ud800", {"id": "\ud800"}, {"\ud800": 1}])
def test_half_a_surrogate_pair_can_be_printed_in_what_is_said_of_it(value, key_type, schema):
    with pytest.raises(InvalidKeyError) as told:
        serialize_key(value, key_type, schema=schema, schema_id=1)
    assert r"\ud800" in str(told.value)
    assert str(told.value).encode().decode() == str(told.value)


@pytest.mark.parametrize("value", [{"idd": 1}, "a", {"id": "x"}])
def test_a_value_that_is_no_protobuf_message_is_refused(value):
    with pytest.raises(InvalidKeyError, match=r"is no message shop\.Order"):
        serialize_key(value, "protobuf", schema=PROTOBUF, schema_id=1)


def test_a_text_is_a_key_of_an_avro_string_as_it_is():
    serializer = key_serializer("avro", schema=json.dumps("string"), schema_id=7)
    assert serializer.of_text("42") == b"\0\0\0\0\x07\x0442"


def test_the_forms_of_a_key_have_bytes_of_their_own_and_those_of_an_id_if_it_is_known():
    forms = dict(forms_of("42", 7))
    assert len({*forms.values()}) == len(forms)
    assert forms["string"] == b"42"
    assert forms["json, a string"] == b'"42"'
    assert forms["long"] == bytes(7) + b"*"
    assert forms["avro long, schema id 7"] == b"\0\0\0\0\x07T"
    assert "avro long, schema id 7" not in dict(forms_of("42"))
    assert dict(forms_of("-65"))["avro long, id in a header"] == b"\x81\x01"


@pytest.mark.parametrize(("value", "key_type"), [("\ud800", "string"), ("9" * 5_000, "long")])
def test_a_text_beyond_all_bounds_is_no_key(value, key_type):
    with pytest.raises(InvalidKeyError):
        key_serializer(key_type).of_text(value)
