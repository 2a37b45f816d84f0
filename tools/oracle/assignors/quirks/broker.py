"""Named scenarios of the broker's assignors, uniform and broker-range (KIP-848): one fact each."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.quirks.client import TEN_COLLIDING
from tools.oracle.assignors.worlds import Json, member, partitions, scenario, step, topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def topics(counts: dict[str, int]) -> list[Json]:
    """Topics with ids 1, 2, .. in the order given."""
    return [
        topic(name, count, topic_id=uuid.UUID(int=number + 1))
        for number, (name, count) in enumerate(counts.items())
    ]


def targets(subscribed: Sequence[str], **owned: str) -> list[Json]:
    """Members with equal subscriptions and what their target assignments list."""
    return [member(who, subscribed, owned=partitions(text) or None) for who, text in owned.items()]


def _carry(counts: dict[str, int], *ids: str, fresh: Sequence[str] = ()) -> Json:
    return step(
        topics(counts), [member(who, list(counts), carry=None if who in fresh else True) for who in ids]
    )


def _common_quirks(assignor: str) -> Iterator[Json]:
    """What both do alike, each in its way."""
    named = partial(scenario, assignor)
    yield named("no_members_no_answer", step(topics({"t": 2}), [], lists={}))
    yield named(
        "nobody_subscribes_to_anything",
        step(topics({"t": 2}), [member("a", []), member("b", [])]),
        step(topics({"t": 2}), [member("a", [], owned=partitions("t-0 t-1")), member("b", [])]),
    )
    yield named(
        "a_member_with_an_empty_subscription",
        step(topics({"t": 3}), [member("a", []), member("b", ["t"])]),
        step(topics({"t": 3}), [member("a", ["t"]), member("b", [])]),
    )
    yield named(
        "topics_without_metadata",
        step(topics({"t": 3}), [member("a", ["t", "ghost"]), member("b", ["ghost", "t"])]),
        step(topics({"t": 3}), [member("a", ["t", "ghost"]), member("b", ["t"])]),
        step(topics({"t": 3}), [member("a", ["ghost"]), member("b", ["t"])]),
        step(topics({}), [member("a", ["ghost"]), member("b", ["ghost"])]),
    )
    yield named(
        "a_deleted_topic_in_the_target",
        step(topics({"t": 4}), targets(["t"], a="t-0 gone-0 gone-1 t-1", b="gone-2 t-2 t-3")),
        step(topics({"t": 4}), targets(["t", "gone"], a="t-0 gone-0 gone-1 t-1", b="gone-2 t-2 t-3")),
    )
    yield named(
        "more_members_than_partitions",
        step(topics({"t": 2}), [member(f"m{i}", ["t"]) for i in range(5)]),
    )
    yield named(
        "a_topic_named_twice_in_a_subscription",
        step(topics({"t": 4, "u": 1}), [member("a", ["t", "t", "u"]), member("b", ["t", "u"])]),
    )
    yield named(
        "a_topic_named_twice_where_subscriptions_differ",
        step(topics({"t": 4, "u": 3}), [member("a", ["t", "t"]), member("b", ["u"])]),
        step(
            topics({"t": 4, "u": 5}),
            [
                member("a", ["t", "u", "t"], carry=True),
                member("b", ["u", "u"], carry=True),
                member("c", ["u"]),
            ],
        ),
    )
    yield named(
        "colliding_member_ids_in_either_order",
        step(topics({"t": 3}), [member("Aa", ["t"]), member("BB", ["t"])]),
        step(topics({"t": 3}), [member("BB", ["t"]), member("Aa", ["t"])]),
        step(topics({"t": 3, "u": 2}), [member("BB", ["t"]), member("Aa", ["t", "u"])]),
    )
    same_hash = [
        topic("a", 2, topic_id=uuid.UUID(int=0x0000000100000000_0000000000000000)),
        topic("b", 2, topic_id=uuid.UUID(int=0x0000000000000000_0000000100000000)),
        topic("c", 2, topic_id=uuid.UUID(int=0x0000000000000001_0000000000000000)),
    ]
    for number, order in enumerate(("abc", "cba", "bac")):
        yield named(
            f"colliding_topic_ids_{number}",
            step(same_hash, [member("m1", list(order)), member("m2", list(order))]),
            step(same_hash, [member("m1", list(order), carry=True), member("m2", list(order), carry=True)]),
            step(same_hash, [member("m1", list(order), carry=True), member("m3", list(order[:2]))]),
        )
    yield named(
        "ten_colliding_member_ids_double_the_table",
        step(topics({"t": 23}), [member(name, ["t"]) for name in TEN_COLLIDING]),
        step(topics({"t": 19}), [member(name, ["t"], carry=True) for name in TEN_COLLIDING[:8]]),
    )
    yield from _trees(assignor)
    yield named(
        "a_restarted_static_member_inherits_the_target",
        step(topics({"t": 5}), [member("a", ["t"], instance_id="i1"), member("b", ["t"], instance_id="i2")]),
        step(
            topics({"t": 5}),
            [
                member("z", ["t"], instance_id="i1", carry="a"),
                member("b", ["t"], instance_id="i2", carry=True),
            ],
        ),
    )
    chain = {"t": 40, "u": 30}
    yield named(
        "members_come_and_go_over_many_partitions",
        _carry(chain, "a", "b", fresh=("a", "b")),
        _carry(chain, "a", "b", "c", fresh=("c",)),
        _carry(chain, "b", "c"),
        _carry(chain, "b", "c", "d", "e", fresh=("d", "e")),
        _carry({"t": 45, "u": 30}, "b", "c", "d", "e"),
    )


def _trees(assignor: str) -> Iterator[Json]:
    """Bins that Java makes red-black trees: many topic ids with one hash, or numbers far apart."""
    named = partial(scenario, assignor)
    same_hash = [
        topic(f"t{i}", 3, topic_id=uuid.UUID(int=((i * 7 % 20) << 96) | ((i * 7 % 20) << 64)))
        for i in range(1, 20)
    ]
    names = [about["name"] for about in same_hash]
    yield named(
        "nineteen_colliding_topic_ids_make_a_tree",
        step(same_hash, [member(who, names) for who in ("a", "b", "c")]),
        step(same_hash, [member(who, names, carry=True) for who in ("a", "b")]),
        step(
            same_hash,
            [member("a", names, carry=True), member("b", names[:9], carry=True), member("c", names)],
        ),
    )
    for stride in (16, 64, 128):
        count = stride * 40
        owned = " ".join(f"t-{p}" for p in range(0, count, stride))
        yield named(
            f"partitions_{stride}_apart_share_a_bin",
            step(
                topics({"t": count}),
                [
                    member("a", ["t"], owned=partitions(owned)),
                    *(member(f"m{i}", ["t"]) for i in range(count // 13)),
                ],
            ),
            step(
                topics({"t": count, "u": 1}),
                [
                    member("a", ["t"], owned=partitions(owned)),
                    member("b", ["t", "u"]),
                    *(member(f"m{i}", ["t"], owned=partitions(f"t-{i * stride + 1}")) for i in range(20)),
                ],
            ),
        )


def uniform_quirks() -> Iterator[Json]:
    """Named scenarios of uniform."""
    yield from _common_quirks("uniform")
    yield from _homogeneous()
    yield from _heterogeneous()


def _homogeneous() -> Iterator[Json]:
    named = partial(scenario, "uniform")
    yield named(
        "a_balanced_target_stays_as_it_is",
        step(
            topics({"t": 5}),
            targets(["t"], A="t-0 t-3", B="t-1", C="t-2 t-4"),
            lists={"A": "t-0 t-3", "B": "t-1", "C": "t-2 t-4"},
        ),
    )
    yield named(
        "an_extra_partition_is_given_back_while_others_can_take_it",
        step(topics({"t": 5}), targets(["t"], A="t-0", B="t-1 t-2", C="t-3 t-4")),
        step(topics({"t": 5}), targets(["t"], A="t-0", B="", C="t-3 t-4")),
        step(topics({"t": 8}), targets(["t"], A="t-0 t-1", B="t-2 t-3 t-4", C="t-5 t-6 t-7")),
        step(topics({"t": 8}), targets(["t"], A="t-0 t-1 t-2 t-3", B="t-4", C="t-5 t-6 t-7")),
    )
    members = {"a": "t-14 t-15 t-16", **{f"m{i}": "" for i in range(11)}}
    yield named(
        "what_is_kept_follows_the_hash_set_of_partitions",
        step(topics({"t": 17}), targets(["t"], **members)),
        step(topics({"t": 17}), targets(["t"], **{**members, "a": "t-16 t-15 t-14"})),
    )
    # 33, 17 and 1 share a bin; 1 is new, so it comes last in the bin and in the record read next time.
    mine, new = ("t-33 t-17", {1, 2})
    rest = [p for p in range(40) if p not in {33, 17} | new]
    others = {f"m{i}": " ".join(f"t-{p}" for p in rest[i * 4 : i * 4 + 4]) for i in range(9)}
    yield named(
        "what_was_added_last_is_given_up_first",
        step(topics({"t": 40}), targets(["t"], a=mine, **others), lists={"a": "t-1 t-2 t-17 t-33", **others}),
        step(
            topics({"t": 40}),
            [
                *(member(who, ["t"], carry=True) for who in ("a", *others)),
                *(member(f"n{i}", ["t"]) for i in range(30)),
            ],
        ),
    )
    twelve = [*range(10), 20, 33]
    yield named(
        "twelve_partitions_sit_in_a_table_of_thirty_two",
        step(
            topics({"t": 40}),
            targets(["t"], a=" ".join(f"t-{p}" for p in twelve), **{f"m{i}": "" for i in range(5)}),
        ),
        step(
            topics({"t": 40}),
            targets(["t"], a=" ".join(f"t-{p}" for p in twelve[1:]), **{f"m{i}": "" for i in range(5)}),
        ),
    )
    yield named(
        "new_partitions_follow_the_hash_set_of_topic_names",
        step(
            topics({f"topic{i}": 2 for i in range(1, 6)}),
            [member(who, [f"topic{i}" for i in range(1, 6)]) for who in ("a", "b")],
        ),
        step(
            topics({f"topic{i}": 2 for i in range(1, 6)}),
            [member(who, [f"topic{i}" for i in (4, 2, 5, 3, 1)]) for who in ("a", "b")],
        ),
    )
    yield named(
        "what_is_no_longer_subscribed_is_dropped",
        step(topics({"t": 4, "u": 4}), targets(["t"], a="u-0 u-1 t-0", b="t-1 t-2 u-2")),
    )
    yield named(
        "a_shrunk_topic_leaves_partitions_unassigned",
        step(topics({"t": 2}), targets(["t"], a="t-0 t-5", b="t-6"), exception="PartitionAssignorException"),
        step(topics({"t": 4}), targets(["t"], a="t-0 t-5", b="t-1")),
    )


def _heterogeneous() -> Iterator[Json]:
    named = partial(scenario, "uniform")

    def unequal(**subscribed: tuple[str, str]) -> list[Json]:
        return [
            member(who, names.split(), owned=partitions(owned) or None)
            for who, (names, owned) in subscribed.items()
        ]

    yield named(
        "topics_with_most_partitions_per_subscriber_go_first",
        step(
            topics({"t": 6, "u": 6, "v": 2}),
            unequal(a=("t", ""), b=("t u", ""), c=("u v", ""), d=("t u v", "")),
        ),
    )
    signed = [
        topic("t", 3, topic_id=uuid.UUID("80000000-0000-0000-0000-000000000001")),
        topic("u", 3, topic_id=uuid.UUID("00000000-0000-0000-8000-000000000001")),
        topic("v", 3, topic_id=uuid.UUID("00000000-0000-0000-0000-000000000001")),
        topic("w", 3, topic_id=uuid.UUID("7fffffff-ffff-ffff-ffff-ffffffffffff")),
    ]
    yield named(
        "topic_ids_compare_as_signed_numbers",
        step(signed, unequal(a=("t u v w", ""), b=("t u v w x", ""))),
        step(signed, unequal(a=("t u v", ""), b=("t u v w", ""), c=("t u w", ""))),
    )
    nine_ten_eleven = topics({"t": 10, "u": 20})
    chain = {
        "a": ("t", " ".join(f"t-{p}" for p in range(9))),
        "b": ("t u", "t-9 " + " ".join(f"u-{p}" for p in range(9))),
        "c": ("u", " ".join(f"u-{p}" for p in range(9, 20))),
    }
    yield named("a_chain_of_nine_ten_eleven_stays", step(nine_ten_eleven, unequal(**chain)))
    yield named(
        "all_on_one_member_is_spread",
        step(
            topics({"t": 6, "u": 6}),
            unequal(a=("t u", "t-0 t-1 t-2 t-3 t-4 t-5 u-0 u-1 u-2 u-3 u-4 u-5"), b=("t", ""), c=("u", "")),
        ),
        step(
            topics({"t": 6, "u": 6}),
            unequal(a=("t", ""), b=("t u", "t-0 t-1 t-2 t-3 t-4 t-5 u-0 u-1 u-2 u-3 u-4 u-5"), c=("u", "")),
        ),
    )
    yield named(
        "sweeps_until_nothing_moves",
        step(
            topics({f"t{i}": 8 for i in range(6)}),
            unequal(
                a=("t0 t1", " ".join(f"t0-{p} t1-{p}" for p in range(8))),
                b=("t1 t2", " ".join(f"t2-{p}" for p in range(8))),
                c=("t2 t3", " ".join(f"t3-{p}" for p in range(8))),
                d=("t3 t4", ""),
                e=("t4 t5", " ".join(f"t5-{p}" for p in range(8))),
                f=("t5 t0", ""),
            ),
        ),
    )
    yield named(
        "a_lapsed_subscription_gives_partitions_up",
        step(topics({"t": 4, "u": 4}), unequal(a=("t", "t-0 t-1 u-0 u-1"), b=("t u", "t-2 t-3 u-2 u-3"))),
    )
    yield named(
        "a_topic_with_one_subscriber",
        step(topics({"t": 6, "u": 2}), unequal(a=("t u", "u-0"), b=("u", "u-1"))),
        step(topics({"t": 6, "u": 2}), unequal(a=("t u", ""), b=("u", ""))),
    )
    yield named(
        "a_target_beyond_a_shrunk_topic_is_an_error",
        step(
            topics({"t": 2, "u": 1}),
            unequal(a=("t", "t-0 t-5"), b=("t u", "t-1")),
            exception="ArrayIndexOutOfBoundsException",
        ),
    )
    yield named(
        "subscriptions_that_differ_in_a_topic_without_metadata_are_unequal",
        step(topics({"t": 7}), unequal(a=("t", "t-0 t-1 t-2 t-3 t-4"), b=("t ghost", "t-5 t-6"))),
        step(topics({"t": 7}), unequal(a=("t", "t-0 t-1 t-2 t-3 t-4"), b=("t", "t-5 t-6"))),
    )


def broker_range_quirks() -> Iterator[Json]:
    """Named scenarios of broker-range."""
    named = partial(scenario, "broker-range")
    yield from _common_quirks("broker-range")

    def static(*members: tuple[str, str | None], **expect: Any) -> Json:
        return step(
            topics({"t": 4, "u": 3}),
            [member(who, ["t", "u"], instance_id=instance) for who, instance in members],
            **expect,
        )

    yield named(
        "static_members_come_before_dynamic_ones",
        static(
            ("a", None), ("z", "i2"), ("y", "i9"), lists={"z": "t-0 t-1 u-0", "y": "t-2 u-1", "a": "t-3 u-2"}
        ),
    )
    yield named(
        "static_members_are_ordered_by_instance_id",
        static(("a", "i2"), ("b", "i1"), lists={"b": "t-0 t-1 u-0 u-1", "a": "t-2 t-3 u-2"}),
    )
    yield named(
        "dynamic_members_are_ordered_by_member_id",
        static(("c", None), ("a", None), ("b", None)),
    )
    yield named(
        "surrogates_sort_before_the_last_of_the_basic_plane", static(("\uff5e", None), ("\U0001f600", None))
    )
    yield named("instance_ids_sort_by_utf_16_too", static(("a", "\uff5e"), ("b", "\U0001f600")))
    yield named(
        "it_is_not_sticky",
        step(
            topics({"t": 4}),
            targets(["t"], a="t-3 t-2", b="t-1 t-0"),
            lists={"a": "t-0 t-1", "b": "t-2 t-3"},
        ),
    )
    yield named(
        "members_without_a_range_of_a_topic",
        step(topics({"t": 1, "u": 2, "v": 5}), [member(f"m{i}", ["t", "u", "v"]) for i in range(3)]),
    )
    yield named(
        "unequal_subscriptions",
        step(
            topics({"t": 4, "u": 3, "v": 2}),
            [
                member("a", ["t", "u"]),
                member("b", ["u", "v"]),
                member("c", ["t", "u", "v"]),
                member("d", ["t"]),
            ],
        ),
        step(
            topics({"t": 4, "u": 3, "v": 2}),
            [
                member("a", ["t", "u"], carry=True),
                member("c", ["t", "v"], carry=True),
                member("d", ["t"], carry=True),
            ],
        ),
    )
    yield named(
        "an_unchanged_member_keeps_its_target",
        step(topics({"t": 4, "u": 4}), targets(["t", "u"], a="u-1 u-0 t-1 t-0", b="t-3 u-3 t-2 u-2")),
        step(topics({"t": 4, "u": 4}), targets(["t", "u"], a="u-1 u-0 t-1 t-0", b="t-3")),
    )
