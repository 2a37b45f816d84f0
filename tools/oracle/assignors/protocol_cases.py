"""Subscriptions, assignments and userData whose bytes, and bytes whose meaning, the golden files hold."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.worlds import ODD, TOPIC_STYLES, Json, partitions, runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.oracle.assignors.worlds import Runs

VERSIONS = (0, 1, 2, 3)
NAMES = ("orders", "clicks", "a", "b", "users.v1", "B", "é", "\U0001f600", "\uff5e")


def requests(ask: Callable[[Json], Json]) -> Iterator[Json]:
    """Requests of the oracle; what it encodes is cut, stretched and spoilt for it to decode.

    Args:
        ask: gives the oracle's answer to a request.
    """
    decoders = {
        "encode_subscription": "decode_subscription",
        "encode_assignment": "decode_assignment",
        "encode_sticky_user_data": "decode_sticky_user_data",
    }
    for request in _encodings():
        yield request
        data = ask(request).get("bytes")
        if data is None:
            continue
        decoder = decoders[request["op"]]
        for name, spoilt in _spoilt(
            bytes.fromhex(data), Random(request["name"]), request.get("exhaustive", False)
        ):
            yield {"op": decoder, "name": f"{request['name']}_{name}", "bytes": spoilt.hex()}
    for op in decoders.values():
        for name, data in _odd_bytes(op):
            yield {"op": op, "name": name, "bytes": data}
    for name, data in (
        ("four_bytes", "00000007"),
        ("negative", "fffffffb"),
        ("three_bytes", "000007"),
        ("five_bytes", "0000000700"),
        ("empty", ""),
    ):
        yield {"op": "decode_cooperative_user_data", "name": f"cooperative_{name}", "bytes": data}


def _subscription(name: str, version: int, **fields: Any) -> Json:
    nothing: Json = {"topics": [], "user_data": None, "owned": [], "generation": None, "rack": None}
    return {
        "op": "encode_subscription",
        "name": f"{name}_v{version}",
        "version": version,
        **nothing,
        **fields,
    }


def _assignment(name: str, version: int, owned: Runs, user_data: str | None = None) -> Json:
    return {
        "op": "encode_assignment",
        "name": f"{name}_v{version}",
        "version": version,
        "partitions": owned,
        "user_data": user_data,
    }


def _sticky(name: str, owned: Runs, generation: int | None) -> Json:
    return {"op": "encode_sticky_user_data", "name": name, "partitions": owned, "generation": generation}


def _encodings() -> Iterator[Json]:
    everything: Json = {
        "topics": ["orders", "clicks"],
        "user_data": "00ff10",
        "owned": partitions("orders-1 clicks-0 orders-0"),
        "generation": 7,
        "rack": "rack-a",
    }
    for version in (*VERSIONS, 4, 32767, -1):
        yield _subscription("empty", version)
        yield {**_subscription("everything", version, **everything), "exhaustive": version in VERSIONS}
        yield _assignment("empty_assignment", version, [])
        yield {
            **_assignment("interleaved", version, partitions("b-1 a-0 b-0 a-2 a-1"), "beef"),
            "exhaustive": version in (0, 3),
        }
    for name, fields in (
        ("topics_are_sorted", {"topics": ["b", "a", "B", "\uff5e", "\U0001f600", "aa"]}),
        ("a_topic_twice", {"topics": ["b", "a", "b"]}),
        ("empty_user_data", {"user_data": ""}),
        ("owned_is_sorted_and_grouped", {"owned": partitions("b-2 a-1 b-0 a-0 a-10 a-9")}),
        ("owned_twice", {"owned": partitions("a-1 a-1 b-0 a-1")}),
        ("generation_zero", {"generation": 0}),
        ("generation_below_zero", {"generation": -5}),
        ("the_last_generation", {"generation": 2**31 - 1}),
        ("blank_rack", {"rack": ""}),
        ("odd_names", {"topics": ODD, "owned": runs((odd, 0) for odd in ODD), "rack": "é\U0001f600"}),
        ("a_long_name", {"topics": ["n" * 249]}),
        ("a_name_that_is_too_long", {"topics": ["n" * 32768]}),
    ):
        for version in VERSIONS:
            yield _subscription(name, version, **fields)
    yield _assignment("assigned_twice", 3, partitions("a-1 a-1 b-0 a-1"))
    yield _assignment("odd_topics", 3, runs((odd, i) for i, odd in enumerate(ODD)), "")
    crowd = [TOPIC_STYLES["crowded"](number) for number in range(30)]
    for topics in (11, 12, 13, 24, 25, 30):
        for last in ([0], [0, 1]):
            owned = [*([topic, 0] for topic in crowd[: topics - 1]), [crowd[topics - 1], *last]]
            yield _sticky(f"sticky_{topics}_topics_of_one_hash_the_last_{len(last)}", owned, 7)
    five = [f"topic{i}" for i in range(1, 6)]
    for generation in (7, 0, -1, 2**31 - 1, None):
        yield {
            **_sticky(f"sticky_since_{generation}", partitions("b-1 a-0 b-0 a-2"), generation),
            "exhaustive": generation in (7, None),
        }
        yield _sticky(f"sticky_empty_since_{generation}", [], generation)
        yield _sticky(
            f"sticky_hash_map_order_since_{generation}", runs((name, 0) for name in five), generation
        )
        yield _sticky(f"sticky_odd_names_since_{generation}", runs((odd, 3) for odd in ODD), generation)
        yield _sticky(f"sticky_colliding_since_{generation}", partitions("BB-1 Aa-1 BB-0 Aa-0"), generation)
    for number in range(60):
        yield from _random_encodings(number)


def _random_encodings(number: int) -> Iterator[Json]:
    rng = Random(f"protocol/{number}")
    owned = runs((rng.choice(NAMES), rng.randrange(30)) for _ in range(rng.randint(0, 12)))
    data = rng.choice((None, "", rng.randbytes(rng.randint(1, 20)).hex()))
    yield _subscription(
        f"random_{number}",
        rng.choice(VERSIONS),
        topics=rng.choices(NAMES, k=rng.randint(0, 6)),
        user_data=data,
        owned=owned,
        generation=rng.choice((None, rng.randrange(100))),
        rack=rng.choice((None, "", "rack-1")),
    )
    yield _assignment(f"random_assignment_{number}", rng.choice(VERSIONS), owned, data)
    yield _sticky(f"random_sticky_{number}", owned, rng.choice((None, rng.randrange(100))))


def _spoilt(data: bytes, rng: Random, exhaustive: bool) -> Iterator[tuple[str, bytes]]:
    """The bytes themselves, then what becomes of them on the way."""
    yield "whole", data
    yield "with_trailing_bytes", data + b"\xca\xfe"
    cuts = range(len(data)) if exhaustive else {rng.randrange(len(data)) for _ in range(3)} if data else ()
    for cut in sorted(cuts):
        yield f"cut_at_{cut}", data[:cut]
    places = range(len(data)) if exhaustive else {rng.randrange(len(data)) for _ in range(3)} if data else ()
    for place in sorted(places):
        value = rng.choice((0x00, 0x01, 0x7F, 0x80, 0xFF))
        yield f"byte_{place}_is_{value}", data[:place] + bytes([value]) + data[place + 1 :]
    for version in ("0004", "7fff", "ffff", "0000", "0001", "0002"):
        if exhaustive:
            yield f"as_version_{version}", bytes.fromhex(version) + data[2:]


def _odd_bytes(op: str) -> Iterator[tuple[str, str]]:
    version = "" if op == "decode_sticky_user_data" else "0001" if op == "decode_subscription" else "0000"
    what = op.removeprefix("decode_")
    for name, count in (
        ("null", "ffffffff"),
        ("negative", "fffffffe"),
        ("lowest", "80000000"),
        ("huge", "7fffffff"),
    ):
        yield f"{what}_with_a_{name}_list", f"{version}{count}" + "00" * 8
    for name, text in (
        ("a_lone_byte_ff", "ff"),
        ("a_lone_continuation_byte", "80"),
        ("a_cut_two_byte_letter", "c3"),
        ("a_cut_four_byte_letter", "f09f98"),
        ("an_encoded_surrogate", "eda080"),
        ("an_overlong_slash", "c0af"),
        ("a_code_point_too_high", "f4908080"),
        ("an_overlong_three_byte_letter", "e08080"),
        ("a_cut_letter_before_a_good_one", "e38241"),
        ("nothing", ""),
        ("zero", "00"),
    ):
        name_bytes = f"{len(text) // 2:04x}{text}"
        rest = "ffffffff" + "00000000" if op == "decode_subscription" else "00000001" + "00000005"
        tail = {"decode_assignment": "ffffffff", "decode_sticky_user_data": "00000002"}.get(op, "")
        yield f"{what}_with_a_name_of_{name}", f"{version}00000001{name_bytes}{rest}{tail}"
    for name, length in (("null", "ffff"), ("negative", "fffe"), ("longer_than_the_rest", "0050")):
        yield f"{what}_with_a_{name}_name", f"{version}00000001{length}" + "61" * 8
    if op != "decode_sticky_user_data":
        empty = f"{version}00000000"
        for name, length in (
            ("negative", "fffffffe"),
            ("longer_than_the_rest", "00000050"),
            ("empty", "00000000"),
        ):
            yield f"{what}_with_{name}_user_data", f"{empty}{length}" + "00" * 4
    yield f"{what}_of_one_byte", "00"
