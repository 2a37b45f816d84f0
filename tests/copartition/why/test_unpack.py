"""What is taken off a line before it is read: wrappers, escapes and colours; and when it was written."""

from __future__ import annotations

import json

import pytest

from copartition.why.unpack import moment_of, stamp_of, unpack

AT = 1_714_557_600.0  # 2024-05-01T10:00:00Z
MESSAGE = 'Group "g": leave (in state up)'


def wrapped(wrapper: str) -> str:
    """The line of a wrapper, in which MESSAGE stands for the message as that wrapper escapes it."""
    packed = json.dumps(MESSAGE)[1:-1]
    return (
        wrapper.replace("DOUBLE", json.dumps(packed)[1:-1])
        .replace("ESCAPED", packed)
        .replace("CSV", MESSAGE.replace('"', '""'))
        .replace("MESSAGE", MESSAGE)
    )


@pytest.mark.parametrize(
    "wrapper",
    [
        pytest.param("MESSAGE", id="plain"),
        pytest.param('{"message":"ESCAPED"}', id="json"),
        pytest.param('{"a":{"b":["x",{"what ever":"ESCAPED"}]}}', id="nested fields"),
        pytest.param('{"log":"{\\"msg\\":\\"DOUBLE\\"}\\n","stream":"stdout"}', id="json in json"),
        pytest.param('{"log": "ESCAPED\\n", "kubernetes": {"pod": "p"}}', id="fluentd"),
        pytest.param('Aug  9 02:47:44 web-1: {"level":"INFO","message":"ESCAPED"}', id="syslog before json"),
        pytest.param('"2024","i-1","CSV"', id="csv"),
        pytest.param('2024-05-01T10:00:00Z,host,"CSV"', id="csv with a plain field"),
        pytest.param('level=info msg="ESCAPED" ts=1', id="logfmt"),
        pytest.param("\x1b[32mINFO\x1b[0;39m \x1b[36mMESSAGE\x1b[0m", id="colours"),
        pytest.param('{"message":"\\u001b[32mESCAPED\\u001b[0m"}', id="colours in json"),
        pytest.param('"message": "ESCAPED",', id="a line of json that is printed over several"),
        pytest.param('{"message":"ESCAPED","cut', id="a json object that is cut"),
        pytest.param('{"events":[{"message":"other"},{"message":"ESCAPED"}]}', id="an export of events"),
        pytest.param('[{"@message":"ESCAPED"}]', id="a list"),
    ],
)
def test_a_message_is_taken_out_of_its_wrapper(wrapper: str) -> None:
    texts = [text for record in unpack(wrapped(wrapper).encode()) for text in record.texts]
    assert any(MESSAGE in text for text in texts)


def test_journald_writes_a_message_with_colours_as_bytes() -> None:
    line = json.dumps({"MESSAGE": [*b"\x1b[32m(Re-)joining group g"], "_PID": "1"})
    (record,) = unpack(line.encode())
    assert record.texts[0] == "(Re-)joining group g"


@pytest.mark.parametrize(
    "line", ["{" * 50_000, '{"a":' * 50_000, '[{"' * 50_000, '="' * 50_000, '\\"' * 50_000]
)
def test_a_line_that_only_looks_like_a_wrapper_is_a_text(line: str) -> None:
    assert list(unpack(line.encode()))


def at_of(line: str, before: str = "") -> float | None:
    """When a line was written whose message is WORDS."""
    for record in unpack(line.encode()):
        for text in record.texts:
            if "WORDS" in text:
                stamp = stamp_of(record, text, text.index("WORDS"), before.encode())
                return stamp and stamp.at
    raise AssertionError(line)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("[2024-05-01 10:00:00,123] INFO [GroupCoordinator 1]: WORDS", AT + 0.123),
        ("2024-05-01T10:00:00.123Z INFO WORDS", AT + 0.123),
        ("2024-05-01T12:00:00.123456789+02:00 stdout F WORDS", AT + 0.123456789),
        ("2024-05-01T12:00:00.5+0200 [main] INFO WORDS", AT + 0.5),
        ("pod/billing-1 2024-05-01 10:00:00,123 INFO kafka.coordinator: WORDS", AT + 0.123),
        ("2024/05/01 10:00:00 WORDS", AT),
        ("20240501 10:00:00 WORDS", AT),
        ("%7|1714557600.123|REBALANCE|c1#consumer-1| [thrd:main]: WORDS", AT + 0.123),
        ("1714557600.123 RDKAFKA-7-JOINGROUP: WORDS", AT + 0.123),
        ("1714557600123 WORDS", AT + 0.123),
        ('{"ts":1714557600.5,"m":"WORDS"}', AT + 0.5),
        ('{"timeMillis":1714557600500,"m":"WORDS"}', AT + 0.5),
        ('{"instant":{"epochSecond":1714557600,"nanoOfSecond":5},"m":"WORDS"}', AT),
        ('{"__REALTIME_TIMESTAMP":"1714557600500000","MESSAGE":"WORDS"}', AT + 0.5),
        ('{"timestamp":1714557600000,"message":"WORDS","ingestionTime":1714557609999}', AT),
        ('{"offset":1714557600000,"size":1714557600001,"m":"WORDS"}', None),
        ('{"@timestamp":"2024-05-01T10:00:00.000Z","m":"WORDS"}', AT),
        ('{"log":"WORDS\\n","stream":"stdout","time":"2024-05-01T10:00:00.5Z"}', AT + 0.5),
        ('"May 1, 2024 @ 10:00:00.500","WORDS"', AT + 0.5),
        ("Jan 17, 2020 @ 15:54:24.877 [2024-05-01T10:00:00Z] WORDS", AT),
        ("May  1 11:00:00 host x[1]: %5|1714557600.500|A|b#consumer-1| WORDS", AT + 0.5),
        ("2024 May 01 12:00:00  | 2024-05-01 10:00:00,123 - kafka - WORDS", AT + 0.123),
        ("2024-05-01T10:00:00.5Z 2024-05-01 12:00:00,500 INFO WORDS", AT + 0.5),
        ("May 1, 2024 10:00:00 AM org.apache WORDS", AT),
        ("01 May 2024 10:00:00,250 WORDS", AT + 0.25),
        ("[01/May/2024:12:00:00 +0200] WORDS", AT),
        ("Wed May  1 10:00:00 2024 WORDS", AT),
        ("01.05.2024 10:00:00 WORDS", AT),
        ("05/31/2024 10:00:00 WORDS", AT + 30 * 86_400),
        ("05/01/2024 10:00:00 WORDS", None),
        ("2024-02-31 10:00:00 WORDS", None),
        ("WORDS at 2024-05-01 10:00:00", None),
        ("WORDS", None),
        ("LeaveGroup request to coordinator b:9092 (id: 2147483646 rack: null) due to WORDS", None),
    ],
)
def test_when_a_line_was_written(line: str, at: float | None) -> None:
    assert at_of(line) == (None if at is None else pytest.approx(at, abs=1e-6))


@pytest.mark.parametrize(
    ("before", "at"),
    [
        ("May 1, 2024 10:00:00 AM org.apache.kafka requestRejoin\n", AT),
        ("2024-05-01T10:00:00Z\n", AT),
        ("a line with 2024-05-01T10:00:00Z in it\n", None),
    ],
)
def test_a_time_may_stand_on_the_line_before(before: str, at: float | None) -> None:
    assert at_of("INFO: WORDS", before) == at
    assert at_of("2024-05-01 10:00:01 WORDS", before) == AT + 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("10:00:00.5 INFO WORDS", "10:00:00"),
        ("I0501 10:00:00.5 1 WORDS", "10:00:00"),
        ("May  1 10:00:00 host WORDS", "05-01 10:00:00"),
        ("2024-05-01 10:00:00 WORDS", "2024-05-01 10:00:00"),
    ],
)
def test_no_more_of_a_time_is_shown_than_is_known(line: str, shown: str) -> None:
    assert moment_of(at_of(line)) == shown


def test_a_number_of_hundreds_of_digits_is_no_time():
    [record] = unpack(('{"message":"x","n":' + "9" * 400 + "}").encode())
    assert stamp_of(record, "x", 0, b"") is None
