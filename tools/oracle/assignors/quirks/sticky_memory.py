"""Named scenarios of what members of a sticky group remember, and of the bytes they tell it in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.worlds import Json, member, partitions, scenario, step, sticky_user_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def memory_quirks(assignor: str) -> Iterator[Json]:
    """Chains of rebalances, then the bytes of this assignor."""
    yield from _memories(assignor)
    yield from _sticky_bytes() if assignor == "sticky" else _cooperative_bytes()


def _memories(assignor: str) -> Iterator[Json]:
    """What real consumers carry from rebalance to rebalance."""
    named = partial(scenario, assignor)

    def rebalance(topics: dict[str, int], *ids: str, fresh: Sequence[str] = (), **more: Any) -> Json:
        return step(
            topics,
            [member(who, list(topics), **({} if who in fresh else {"carry": True}), **more) for who in ids],
        )

    t = {"t": 6, "u": 4}
    yield named(
        "nothing_moves_when_nothing_happens",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance(t, "a", "b", "c"),
        rebalance(t, "c", "a", "b"),
    )
    yield named(
        "a_member_joins_and_the_group_settles",
        rebalance(t, "a", "b", fresh=("a", "b")),
        rebalance(t, "a", "b", "c", fresh=("c",)),
        rebalance(t, "a", "b", "c"),
        rebalance(t, "a", "b", "c"),
    )
    yield named(
        "a_member_leaves",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance(t, "a", "c"),
        rebalance(t, "a", "c"),
    )
    yield named(
        "a_member_misses_a_rebalance_and_returns_with_what_it_had",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance(t, "a", "b"),
        rebalance(t, "a", "b", "c"),
        rebalance(t, "a", "b", "c"),
    )
    lost = rebalance(t, "a", "b", "c")
    lost["members"][2]["generation"] = -1
    yield named(
        "a_member_misses_a_rebalance_and_returns_without_its_generation",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance(t, "a", "b"),
        lost,
        rebalance(t, "a", "b", "c"),
    )
    yield named(
        "everybody_forgets_the_generation",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance(t, "a", "b", "c", generation=-1),
    )
    yield named(
        "a_group_restarts_at_generation_1_under_the_same_leader",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance(t, "a", "b", "c"),
        rebalance(t, "a", "b", "c", "d", fresh=("d",)),
        rebalance(t, "a", "b", "c", "d", generation=1),
        rebalance({**t, "v": 2}, "a", "b", "c", "d", generation=1),
    )
    yield named(
        "a_topic_grows",
        rebalance(t, "a", "b", "c", fresh=("a", "b", "c")),
        rebalance({"t": 9, "u": 4}, "a", "b", "c"),
        rebalance({"t": 9, "u": 4}, "a", "b", "c"),
    )
    yield named(
        "subscriptions_change_one_member_at_a_time",
        rebalance({"t": 6}, "a", "b", "c", fresh=("a", "b", "c")),
        step(
            t,
            [
                member("a", ["t", "u"], carry=True),
                member("b", ["t"], carry=True),
                member("c", ["t"], carry=True),
            ],
        ),
        step(
            t,
            [
                member("a", ["t", "u"], carry=True),
                member("b", ["t", "u"], carry=True),
                member("c", ["t"], carry=True),
            ],
        ),
        step(t, [member(who, ["t", "u"], carry=True) for who in "abc"]),
        step(t, [member(who, ["t", "u"], carry=True) for who in "abc"]),
    )


def _sticky_bytes() -> Iterator[Json]:
    """How sticky reads userData."""
    named = partial(scenario, "sticky")
    t6 = {"t": 6}
    mine, theirs = partitions("t-4 t-1 t-0"), partitions("t-2")

    def pair(first: str | None, second: str | None, **more: Any) -> list[Json]:
        return [member("c1", ["t"], user_data=first, **more), member("c2", ["t"], user_data=second, **more)]

    v1 = sticky_user_data(mine, 3), sticky_user_data(theirs, 3)
    kept = {"lists": {"c1": "t-0 t-1 t-4", "c2": "t-2 t-3 t-5"}}
    fresh = {"lists": {"c1": "t-0 t-2 t-4", "c2": "t-1 t-3 t-5"}}
    yield named("user_data_with_a_generation_is_kept", step(t6, pair(*v1), **kept))
    old = sticky_user_data(mine, None), sticky_user_data(theirs, None)
    yield named("user_data_without_a_generation_is_kept", step(t6, pair(*old), **kept))
    yield named(
        "user_data_without_a_generation_loses_to_one_that_has_it",
        step(
            t6,
            pair(old[0], sticky_user_data(partitions("t-0 t-4"), 3)),
            lists={"c1": "t-1 t-2 t-5", "c2": "t-0 t-3 t-4"},
        ),
        step({"t": 6, "u": 1}, [*pair(old[0], v1[1]), member("c3", ["u"])]),
    )
    yield named("no_user_data_is_no_memory", step(t6, pair(None, ""), **fresh))
    yield named("the_owned_field_is_ignored", step(t6, pair(None, None, owned=mine, generation=3), **fresh))
    for name, data in (
        ("garbage", "ffffffffffffffff"),
        ("a_single_byte", "00"),
        ("a_huge_count", "7fffffff"),
        ("a_negative_count", "80000000"),
        ("cut_in_a_partition", v1[0][:-18]),
        ("cut_in_the_generation", v1[0][:-2]),
        ("trailing_bytes", v1[0] + "cafe"),
        ("a_huge_topic_length", "00000001" + "7fff" + "74"),
        ("a_negative_topic_length", "00000001" + "ffff" + "00000000"),
        ("no_topics", "00000000" + "00000003"),
        ("a_null_list", "ffffffff" + "00000003"),
    ):
        yield named(
            f"user_data_that_is_{name}" if name.startswith(("a_", "cut")) else f"user_data_with_{name}",
            step(t6, pair(data, v1[1])),
            step({"t": 6, "u": 1}, [*pair(data, v1[1]), member("c3", ["u"], user_data=data)]),
        )

    def rivals(fields: tuple[int | None, int | None]) -> list[Json]:
        claims = (("c1", "t-0 t-4", 5), ("c2", "t-0 t-5", 4))
        return [
            member(who, ["t"], user_data=sticky_user_data(partitions(owned), since), generation=field)
            for (who, owned, since), field in zip(claims, fields, strict=True)
        ]

    yield named(
        "a_rivals_generation_is_read_from_the_subscription_field",
        step(t6, rivals((None, None)), lists={"c1": "t-4 t-1 t-3", "c2": "t-0 t-5 t-2"}),
        step(t6, rivals((5, 4)), lists={"c1": "t-0 t-4 t-1", "c2": "t-5 t-2 t-3"}),
        step(t6, rivals((1, 9))),
        step(t6, rivals((4, None))),
    )
    yield named(
        "user_data_that_names_a_topic_twice",
        step(t6, pair("00000002" + ("0001" + "74" + "00000001" + "00000000") * 2 + "00000003", v1[1])),
    )


def _cooperative_bytes() -> Iterator[Json]:
    """How cooperative-sticky reads userData and the generation field."""
    named = partial(scenario, "cooperative-sticky")
    t4 = {"t": 4, "u": 1}

    def pair(first: Json, second: Json) -> list[Json]:
        return [
            member("c1", ["t"], **{"owned": partitions("t-0 t-1"), **first}),
            member("c2", ["t", "u"], **{"owned": partitions("t-0 t-1"), **second}),
            member("c3", ["t"]),
        ]

    for name, told in (
        ("the_generation_comes_from_the_field", {"generation": 5, "user_data": "00000001"}),
        ("the_generation_comes_from_user_data_without_the_field", {"user_data": "00000005"}),
        ("user_data_of_two_bytes_is_generation_minus_1", {"user_data": "0005"}),
        ("user_data_of_eight_bytes", {"user_data": "0000000500000001"}),
        ("empty_user_data_is_generation_minus_1", {"user_data": ""}),
        ("no_generation_anywhere", {}),
        ("a_negative_generation_in_user_data", {"user_data": "fffffffe"}),
        ("generation_zero", {"generation": 0}),
    ):
        yield named(
            name,
            step({"t": 4}, [{**who, "topics": ["t"]} for who in pair({"generation": 3}, told)]),
            step({"t": 4}, [{**who, "topics": ["t"]} for who in pair({}, told)]),
            step(t4, pair({"generation": 3}, told)),
            step(t4, pair(told, {"generation": 3})),
            step(t4, pair(told, {})),
        )
    yield named(
        "eager_members_own_nothing_and_nothing_is_held_back",
        step({"t": 4}, [member("c1", ["t"]), member("c2", ["t"])], transferring={}),
        step({"t": 4}, [member(f"c{i}", ["t"], generation=1) for i in (1, 2, 3)], transferring={}),
    )
    yield named(
        "held_back_until_the_owner_gives_it_up",
        step({"t": 2}, [member("c1", ["t"])]),
        step(
            {"t": 2},
            [member("c1", ["t"], carry=True), member("c2", ["t"])],
            lists={"c1": "t-0", "c2": ""},
            transferring={"t-1": "c2"},
        ),
        step(
            {"t": 2},
            [member("c1", ["t"], carry=True), member("c2", ["t"], carry=True)],
            lists={"c1": "t-0", "c2": "t-1"},
            transferring={},
        ),
    )
    yield named(
        "an_owner_outside_the_group_holds_nothing_back",
        step({"t": 2}, [member("c1", ["t"]), member("c2", ["t"])]),
        step({"t": 2}, [member("c1", ["t"], carry=True)], lists={"c1": "t-0 t-1"}, transferring={}),
    )
