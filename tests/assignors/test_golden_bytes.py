"""ConsumerProtocol bytes and sticky userData, written and read as the JVM does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignors.protocol import (
    Subscription,
    decode_assignment,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_sticky_user_data,
    encode_subscription,
)
from partitioning.errors import ProtocolError
from tests.support.golden import Json, golden_lines, partitions_of

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = list(golden_lines("protocol/bytes"))


def _data(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _encode_subscription(line: Json) -> Json:
    subscription = Subscription(
        line["topics"],
        _data(line["user_data"]),
        partitions_of(line["owned"]),
        line["generation"],
        line["rack"],
    )
    return {"bytes": encode_subscription(subscription, line["version"]).hex()}


def _encode_assignment(line: Json) -> Json:
    partitions = partitions_of(line["partitions"])
    return {"bytes": encode_assignment(partitions, _data(line["user_data"]), line["version"]).hex()}


def _encode_sticky_user_data(line: Json) -> Json:
    return {"bytes": encode_sticky_user_data(partitions_of(line["partitions"]), line["generation"]).hex()}


def _decode_subscription(line: Json) -> Json:
    told = decode_subscription(bytes.fromhex(line["bytes"]))
    return {
        "topics": list(told.topics),
        "user_data": told.user_data,
        "owned": list(told.owned),
        "generation": told.generation,
        "rack": told.rack,
    }


def _decode_assignment(line: Json) -> Json:
    partitions, user_data = decode_assignment(bytes.fromhex(line["bytes"]))
    return {"partitions": list(partitions), "user_data": user_data}


def _decode_sticky_user_data(line: Json) -> Json:
    partitions, generation = decode_sticky_user_data(bytes.fromhex(line["bytes"]))
    return {"partitions": list(partitions), "generation": generation}


def _decode_cooperative_user_data(line: Json) -> Json:
    generation = decode_cooperative_user_data(bytes.fromhex(line["bytes"]))
    return {"partitions": [], "generation": generation}


OPERATIONS: dict[str, Callable[[Json], Json]] = {
    "encode_subscription": _encode_subscription,
    "encode_assignment": _encode_assignment,
    "encode_sticky_user_data": _encode_sticky_user_data,
    "decode_subscription": _decode_subscription,
    "decode_assignment": _decode_assignment,
    "decode_sticky_user_data": _decode_sticky_user_data,
    "decode_cooperative_user_data": _decode_cooperative_user_data,
}


def _expected(answer: Json) -> Json:
    """The JVM's answer with partitions and bytes as objects."""
    expected: dict[str, Any] = dict(answer)
    for what in ("owned", "partitions"):
        if what in expected:
            expected[what] = partitions_of(expected[what])
    if "user_data" in expected:
        expected["user_data"] = _data(expected["user_data"])
    return expected


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_the_jvm_can_do_gives_its_answer(operation: str) -> None:
    lines = [line for line in LINES if line["op"] == operation and "exception" not in line["answer"]]
    assert lines
    for line in lines:
        assert OPERATIONS[operation](line) == _expected(line["answer"]), line["name"]


@pytest.mark.parametrize("operation", sorted({line["op"] for line in LINES if "exception" in line["answer"]}))
def test_what_the_jvm_refuses_is_refused(operation: str) -> None:
    lines = [line for line in LINES if line["op"] == operation and "exception" in line["answer"]]
    assert [line["name"] for line in lines if not _is_refused(line)] == []


def _is_refused(line: Json) -> bool:
    try:
        OPERATIONS[line["op"]](line)
    except ProtocolError:
        return True
    return False
