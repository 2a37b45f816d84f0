"""Named scenarios of range and roundrobin: one fact each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.oracle.assignors.hash_orders import equal_hashes
from tools.oracle.assignors.worlds import Json, member, replicas, scenario, step, topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ABC = ("a", "b", "c")
# The ninth and tenth key of a bin double a HashMap's table, to 64; the eleventh would make the bin a tree.
TEN_COLLIDING = equal_hashes(4)[:10]


def laid_out(counts: dict[str, int], racks: Sequence[str], factor: int) -> list[Json]:
    """Topics whose replicas go round the racks, each topic starting where the one before ended."""
    made, offset = [], 0
    for name, count in counts.items():
        made.append(topic(name, count, replicas(count, racks, factor, offset)))
        offset += count
    return made


def consumers(count: int, topics: Sequence[str], racks: Sequence[str | None] = ()) -> list[Json]:
    """consumer0.. with one subscription, each on the rack of its number."""
    return [
        member(f"consumer{i}", topics, rack=racks[i % len(racks)] if racks else None) for i in range(count)
    ]


def _common_quirks(assignor: str) -> Iterator[Json]:
    """What range and roundrobin do alike."""
    named = partial(scenario, assignor)
    yield named(
        "topics_without_metadata_are_skipped",
        step(
            {"t": 2},
            [member("c1", ["ghost", "t"]), member("c2", ["ghost"])],
            lists={"c1": "t-0 t-1", "c2": ""},
        ),
    )
    yield named(
        "a_topic_that_appears_in_metadata_later",
        step({"t": 2}, [member("c1", ["late", "t"]), member("c2", ["late", "t"])]),
        step({"t": 2, "late": 3}, [member("c1", ["late", "t"]), member("c2", ["late", "t"])]),
    )
    yield named(
        "nobody_subscribes_to_anything",
        step({"t": 2}, [member("c1", []), member("c2", [])], lists={"c1": "", "c2": ""}),
    )
    yield named(
        "a_member_with_an_empty_subscription_is_in_the_answer",
        step({"t": 2}, [member("c1", []), member("c2", ["t"])], lists={"c1": "", "c2": "t-0 t-1"}),
    )
    yield named(
        "more_members_than_partitions",
        step(
            {"t": 2},
            [member(name, ["t"]) for name in ("c3", "c1", "c2")],
            lists={"c1": "t-0", "c2": "t-1", "c3": ""},
        ),
    )
    yield named(
        "a_topic_named_twice_in_a_subscription",
        step({"t": 5, "u": 2}, [member("c1", ["t", "t", "u"]), member("c2", ["t", "u"])]),
        step({"t": 5}, [member("c1", ["t", "t"]), member("c2", ["t"]), member("c3", ["t", "t", "t"])]),
    )
    yield named(
        "a_topic_named_twice_where_racks_matter",
        step(
            laid_out({"t": 5, "u": 4, "v": 4}, ABC, 1),
            [
                member("c1", ["t", "u", "t", "v"], rack="a"),
                member("c2", ["v", "u", "v", "v"], rack="b"),
                member("c3", ["t", "t"], rack="c"),
            ],
        ),
    )
    yield named(
        "surrogates_sort_before_the_last_of_the_basic_plane",
        step(
            {"t": 2},
            [member("\uff5e", ["t"]), member("\U0001f600", ["t"])],
            lists={"\U0001f600": "t-0", "\uff5e": "t-1"},
        ),
    )
    yield named(
        "instance_ids_sort_by_utf_16_too",
        step(
            {"t": 2},
            [member("c1", ["t"], instance_id="\uff5e"), member("c2", ["t"], instance_id="\U0001f600")],
            lists={"c2": "t-0", "c1": "t-1"},
        ),
    )
    yield named(
        "colliding_ids_in_either_join_order",
        step({"t": 3}, [member("BB", ["t"]), member("Aa", ["t"])]),
        step({"t": 3}, [member("Aa", ["t"]), member("BB", ["t"])]),
        step({"t": 3, "BB": 2, "Aa": 2}, [member("Aa", ["BB", "t", "Aa"]), member("BB", ["t", "Aa", "BB"])]),
    )
    yield named(
        "ten_colliding_ids_and_topics_double_the_tables",
        step({"t": 23}, [member(name, ["t"]) for name in TEN_COLLIDING]),
        step(dict.fromkeys(TEN_COLLIDING, 2), [member(name, TEN_COLLIDING) for name in ("c1", "c2")]),
    )
    yield named(
        "static_members_come_before_dynamic_ones",
        step(
            {"t": 4},
            [member("a", ["t"]), member("z", ["t"], instance_id="i2"), member("y", ["t"], instance_id="i9")],
            lists={
                "z": "t-0 t-1" if assignor == "range" else "t-0 t-3",
                "y": "t-2" if assignor == "range" else "t-1",
                "a": "t-3" if assignor == "range" else "t-2",
            },
        ),
    )
    yield named(
        "static_members_are_ordered_by_instance_id",
        step(
            {"t": 2},
            [member("m1", ["t"], instance_id="i2"), member("m2", ["t"], instance_id="i1")],
            lists={"m2": "t-0", "m1": "t-1"},
        ),
    )
    yield named(
        "static_members_keep_their_partitions_when_member_ids_swap",
        *(
            step(
                {"t": 5, "u": 4},
                [member(name, ["t", "u"], instance_id=f"instance{i}") for i, name in enumerate(ids)],
            )
            for ids in (("m1", "m2", "m3"), ("m3", "m1", "m2"), ("m2", "m3", "m1"))
        ),
    )


def _static_and_dynamic(assignor: str) -> Json:
    """Kafka's own: three static members and a dynamic one, all topics."""
    topics = {"topic1": 5, "topic2": 4}
    members = [
        *(member(f"consumer{i}", topics, instance_id=f"instance{i}") for i in (1, 2, 3)),
        member("consumer4", topics),
    ]
    swapped = [
        member("consumer3", topics, instance_id="instance1"),
        member("consumer2", topics, instance_id="instance2"),
        member("consumer1", topics, instance_id="instance3"),
        member("consumer4", topics),
    ]
    return scenario(
        assignor, "three_static_members_and_a_dynamic_one", step(topics, members), step(topics, swapped)
    )


def range_quirks() -> Iterator[Json]:
    """Named scenarios of range (KIP-881)."""
    named = partial(scenario, "range")
    yield from _common_quirks("range")
    static = _static_and_dynamic("range")
    static["steps"][0]["expect"] = {
        "lists": {
            "consumer1": "topic1-0 topic1-1 topic2-0",
            "consumer2": "topic1-2 topic2-1",
            "consumer3": "topic1-3 topic2-2",
            "consumer4": "topic1-4 topic2-3",
        }
    }
    yield static
    yield named("no_members_no_answer", step({"t": 2}, [], lists={}))
    five = {f"topic{i}": 2 for i in range(1, 6)}
    yield named("lists_follow_the_hash_map_order_of_topics", step(five, [member("c", five)]))
    yield named("rack_mode_sorts_lists", step(laid_out(five, ABC, 1), consumers(2, list(five), ABC)))
    yield named(
        "twenty_topics_pass_the_first_table_size",
        step({f"topic{i}": 3 for i in range(20)}, consumers(2, [f"topic{i}" for i in range(20)])),
    )
    yield from _range_racks()


def _range_racks() -> Iterator[Json]:
    named = partial(scenario, "range")
    uniform = {"t1": 6, "t2": 7, "t3": 2}
    even = {"t1": 5, "t2": 5, "t3": 5}
    for racks, factor in ((ABC, 1), (ABC, 2), (ABC, 3), (ABC[:2], 1), (ABC[:2], 2), (ABC[:2], 3)):
        where = f"rf{factor}_on_{len(racks)}_racks"
        yield named(
            f"rack_uniform_subscriptions_{where}",
            step(laid_out(uniform, racks, factor), consumers(3, list(uniform), ABC)),
        )
        yield named(
            f"rack_copartitioned_topics_stay_together_{where}",
            step(
                laid_out(even, racks, factor),
                consumers(3, list(even), ABC),
                lists={
                    f"consumer{i}": " ".join(f"{t}-{p}" for t in even for p in mine)
                    for i, mine in enumerate(((0, 1), (2, 3), (4,)))
                },
            ),
        )
        unequal = consumers(3, list(uniform), ABC)
        unequal[2]["topics"] = ["t1", "t3"]
        yield named(f"rack_unequal_subscriptions_{where}", step(laid_out(uniform, racks, factor), unequal))
    blocks = [
        *(member(f"consumer{i}", ["t1", "t2"], rack="ab"[i]) for i in (0, 1)),
        *(member(f"consumer{i}", ["t3", "t4"], rack="bbba"[i]) for i in (2, 3)),
    ]
    yield named(
        "rack_copartitioned_blocks",
        step(
            laid_out({"t1": 6, "t2": 6, "t3": 2, "t4": 2}, ("a", "b"), 1),
            blocks,
            lists={
                "consumer0": "t1-0 t1-2 t1-4 t2-0 t2-2 t2-4",
                "consumer1": "t1-1 t1-3 t1-5 t2-1 t2-3 t2-5",
                "consumer2": "t3-1 t4-1",
                "consumer3": "t3-0 t4-0",
            },
        ),
    )
    six = {"t1": 6, "t2": 6, "t3": 2, "t4": 2, "t5": 4, "t6": 4}
    yield named(
        "rack_six_topics_in_three_copartitioned_pairs",
        step(
            laid_out(six, ABC, 2),
            consumers(3, list(six), ABC),
            lists={
                "consumer0": "t1-0 t1-2 t2-0 t2-2 t3-0 t4-0 t5-1 t6-1",
                "consumer1": "t1-1 t1-3 t2-1 t2-3 t3-1 t4-1 t5-2 t6-2",
                "consumer2": "t1-4 t1-5 t2-4 t2-5 t5-0 t5-3 t6-0 t6-3",
            },
        ),
    )
    yield from _range_rack_switch()


def _range_rack_switch() -> Iterator[Json]:
    named = partial(scenario, "range")
    two = ("a", "b")

    def pair(first: str | None, second: str | None) -> list[Json]:
        return [member("c1", ["t"], rack=first), member("c2", ["t"], rack=second)]

    off = {"lists": {"c1": "t-0 t-1", "c2": "t-2 t-3"}}
    spread = topic("t", 4, [["b"], ["b"], ["a"], ["a"]])
    yield named(
        "rack_mode_prefers_the_own_rack",
        step([spread], pair("a", "b"), lists={"c1": "t-2 t-3", "c2": "t-0 t-1"}),
    )
    yield named("rack_mode_is_off_without_consumer_racks", step([spread], pair(None, None), **off))
    yield named("rack_mode_is_off_with_blank_consumer_racks", step([spread], pair("", ""), **off))
    yield named("rack_mode_is_off_when_racks_have_nothing_in_common", step([spread], pair("x", "y"), **off))
    yield named(
        "rack_mode_is_off_when_every_partition_is_on_every_rack",
        step([topic("t", 4, replicas(4, two, 2))], pair("b", "a"), **off),
    )
    yield named(
        "rack_mode_is_on_when_one_partition_misses_a_rack",
        step([topic("t", 4, [["b"], two, two, two])], pair("a", "b")),
    )
    yield named(
        "rack_mode_with_replicas_that_have_no_rack",
        step([topic("t", 4, [["b"], [], [], ["a"]])], pair("a", "b")),
        step([topic("t", 4, [[], [], [], []])], pair("a", "b"), **off),
    )
    yield named(
        "a_member_without_a_rack_matches_any",
        step([spread], pair(None, "b")),
        step([spread], pair("b", None)),
    )
    yield named(
        "copartitioned_phase_runs_for_topics_that_need_no_racks",
        step(
            [spread, topic("u", 4, replicas(4, two, 2)), topic("v", 4, replicas(4, two, 2))],
            [member("c1", ["t", "u", "v"], rack="a"), member("c2", ["t", "u", "v"], rack="b")],
        ),
        step(
            [
                topic("t", 3, [["b"], ["b"], ["a"]]),
                topic("u", 4, replicas(4, two, 2)),
                topic("v", 4, replicas(4, two, 2)),
            ],
            [
                member("c1", ["t", "u", "v"], rack="a"),
                member("c2", ["t", "u", "v"], rack="b"),
                member("c3", ["u", "v"]),
            ],
        ),
    )
    yield named(
        "topics_whose_members_have_no_racks_count_as_copartitioned",
        step(
            [spread, topic("u", 3, replicas(3, two, 1)), topic("v", 5, replicas(5, two, 1))],
            [
                member("c1", ["t"], rack="a"),
                member("c2", ["t"], rack="b"),
                member("c3", ["u", "v"]),
                member("c4", ["u", "v"]),
            ],
        ),
    )
    yield named(
        "static_order_decides_in_rack_mode_too",
        step(
            [topic("t", 5, replicas(5, two, 1)), topic("u", 5, replicas(5, two, 1))],
            [
                member("c1", ["t", "u"], rack="a"),
                member("c2", ["t", "u"], rack="a", instance_id="i2"),
                member("c3", ["t", "u"], rack="b", instance_id="i1"),
            ],
        ),
    )


def round_robin_quirks() -> Iterator[Json]:
    """Named scenarios of roundrobin."""
    named = partial(scenario, "roundrobin")
    yield from _common_quirks("roundrobin")
    yield _static_and_dynamic("roundrobin")
    yield named("no_members_is_an_error", step({"t": 2}, [], exception="IllegalArgumentException"))
    yield named(
        "the_circle_goes_on_over_topics",
        step(
            {"t1": 3, "t2": 3},
            [member("c1", ["t1", "t2"]), member("c2", ["t1", "t2"])],
            lists={"c1": "t1-0 t1-2 t2-1", "c2": "t1-1 t2-0 t2-2"},
        ),
    )
    yield named(
        "members_that_do_not_subscribe_are_passed_over",
        step(
            {"t0": 1, "t1": 2, "t2": 3},
            [member("c0", ["t0"]), member("c1", ["t0", "t1"]), member("c2", ["t0", "t1", "t2"])],
            lists={"c0": "t0-0", "c1": "t1-0", "c2": "t1-1 t2-0 t2-1 t2-2"},
        ),
    )
    yield named(
        "topics_go_by_name_not_by_number",
        step(
            {"t10": 1, "t9": 1, "t1": 1},
            [member("c1", ["t9", "t10", "t1"]), member("c2", ["t1", "t9", "t10"])],
        ),
    )
    yield named(
        "racks_are_ignored",
        step([topic("t", 4, [["b"], ["b"], ["a"], ["a"]])], consumers(2, ["t"], ("a", "b"))),
    )
