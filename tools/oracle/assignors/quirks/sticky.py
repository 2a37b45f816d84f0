"""Named scenarios of sticky and cooperative-sticky: one fact each.

A claim reaches sticky in its userData and cooperative-sticky in the owned partitions of its subscription.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.quirks.client import TEN_COLLIDING
from tools.oracle.assignors.worlds import Json, claim, member, partitions, scenario, step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def sticky_quirks(assignor: str) -> Iterator[Json]:
    """Claims, subscriptions and both algorithms, without racks."""
    yield from _kafkas_own(assignor)
    yield from _claims(assignor)
    yield from _subscriptions(assignor)
    yield from _constrain(assignor)
    yield from _general(assignor)


def _claimants(assignor: str, topics: Sequence[str], *claims: tuple[str, str, int | None]) -> list[Json]:
    """Members with equal subscriptions: id, what they claim, since when."""
    return [claim(assignor, who, topics, partitions(owned), since) for who, owned, since in claims]


def held_back(assignor: str, lists: dict[str, str], **transferring: str) -> dict[str, Any]:
    """What to expect: eager lists, less what is transferring where the assignor is cooperative.

    A partition is written t1_0 in a keyword.
    """
    if assignor == "sticky":
        return {"lists": lists}
    moving = {name.replace("_", "-"): who for name, who in transferring.items()}
    kept = {
        who: " ".join(word for word in text.split() if moving.get(word) != who) for who, text in lists.items()
    }
    return {"lists": kept, "transferring": moving}


def _kafkas_own(assignor: str) -> Iterator[Json]:
    """The most telling tests of Kafka's own suite, with the results they assert."""
    named, claimants = partial(scenario, assignor), partial(_claimants, assignor)
    two = ("t1", "t2")
    yield named(
        "more_members_at_max_quota_than_expected",
        step(
            {"t1": 2, "t2": 2},
            claimants(
                two, ("consumer1", "t1-0 t2-0", 1), ("consumer2", "t1-1 t2-1", 1), ("consumer3", "", 1)
            ),
            **held_back(
                assignor,
                {"consumer1": "t1-0", "consumer2": "t1-1 t2-1", "consumer3": "t2-0"},
                t2_0="consumer3",
            ),
        ),
    )
    yield named(
        "members_owning_min_quota_get_to_max_quota",
        step(
            {"t1": 2, "t2": 3},
            claimants(two, ("consumer1", "t1-0 t2-1", 1), ("consumer2", "t1-1 t2-2", 1)),
            lists={"consumer1": "t1-0 t2-1 t2-0", "consumer2": "t1-1 t2-2"},
        ),
    )
    yield named(
        "all_members_under_min_quota",
        step(
            {"t1": 2, "t2": 3},
            claimants(two, ("consumer1", "t1-0", 1), ("consumer2", "t1-1", 1), ("consumer3", "", 1)),
            lists={"consumer1": "t1-0 t2-1", "consumer2": "t1-1 t2-2", "consumer3": "t2-0"},
        ),
    )
    yield named(
        "all_members_reach_their_quota",
        step(
            {"t": 4},
            claimants(["t"], ("consumer1", "t-0 t-1", 1), ("consumer2", "t-2", 1), ("consumer3", "", 1)),
            lists={"consumer1": "t-0 t-1", "consumer2": "t-2", "consumer3": "t-3"},
        ),
    )
    yield named(
        "one_partition_claimed_twice_in_one_generation",
        step(
            {"t": 3},
            claimants(["t"], ("consumer1", "t-0 t-1", 1), ("consumer2", "t-0 t-2", 1), ("consumer3", "", 1)),
            **held_back(
                assignor, {"consumer1": "t-1", "consumer2": "t-2", "consumer3": "t-0"}, t_0="consumer3"
            ),
        ),
    )
    yield named(
        "one_partition_claimed_twice_and_one_free",
        step(
            {"t": 4},
            claimants(["t"], ("consumer1", "t-0 t-1", 1), ("consumer2", "t-0 t-2", 1), ("consumer3", "", 1)),
        ),
    )
    for stale in (9, -1):
        yield named(
            f"the_higher_generation_keeps_generation_{stale}_loses",
            step(
                {"t": 3, "t2": 3},
                claimants(
                    ["t", "t2"], ("consumer1", "t-0 t-2 t2-1", 10), ("consumer2", "t-0 t-2 t2-1", stale)
                ),
                lists={"consumer1": "t-0 t-2 t2-1", "consumer2": "t-1 t2-0 t2-2"},
            ),
        )
    yield named(
        "three_generations_claim_overlapping_partitions",
        step(
            {"t": 3, "t2": 3, "t3": 3},
            claimants(
                ["t", "t2", "t3"],
                ("consumer1", "t-0 t2-0 t3-0", 10),
                ("consumer2", "t-1 t2-1 t3-1", 9),
                ("consumer3", "t2-1 t3-0 t3-2", 8),
            ),
            lists={
                "consumer1": "t-0 t2-0 t3-0",
                "consumer2": "t-1 t2-1 t3-1",
                "consumer3": "t-2 t2-2 t3-2",
            },
        ),
    )
    yield named(
        "old_claims_that_nobody_contests_are_kept",
        step(
            {"t0": 3, "t1": 3, "t2": 3, "t3": 3},
            claimants(
                ["t0", "t1", "t2", "t3"],
                ("consumer1", "", -1),
                ("consumer2", "t0-0 t2-0 t1-0", 9),
                ("consumer3", "t3-1 t0-1 t2-2", 8),
                ("consumer4", "t0-2 t1-1 t3-2", 7),
            ),
            lists={
                "consumer1": "t1-2 t2-1 t3-0",
                "consumer2": "t0-0 t1-0 t2-0",
                "consumer3": "t0-1 t2-2 t3-1",
                "consumer4": "t0-2 t1-1 t3-2",
            },
        ),
    )
    for generations in permutations((1, 2, 3)):
        owned = ("t-0 t-2 t-1", "t-2 t-3", "t-2 t-4 t-5")
        for equal in (True, False):
            topics = [["t", "t1"], ["t", "t1"] if equal else ["t"], ["t", "t1"]]
            yield named(
                f"{'equal' if equal else 'unequal'}_claims_since_{'_'.join(map(str, generations))}",
                step(
                    {"t": 6, "t1": 1},
                    [
                        claim(assignor, f"consumer{i + 1}", topics[i], partitions(owned[i]), generations[i])
                        for i in range(3)
                    ],
                ),
            )
    both = {"topic1": 12, "topic2": 12}
    sizes = (1, 2, 2, 4, 4, 2, 2)
    yield named(
        "each_topic_stays_balanced_while_members_double_and_halve",
        *(
            step(
                both,
                [member(f"consumer{i}", both, **({"carry": True} if i < had else {})) for i in range(count)],
            )
            for had, count in zip((0, *sizes), sizes, strict=False)
        ),
    )


def _claims(assignor: str) -> Iterator[Json]:
    named, claimants = partial(scenario, assignor), partial(_claimants, assignor)
    # A HashMap gives consumer3, consumer2, consumer1 in this order.
    yield named(
        "three_claims_visited_5_5_6_all_lose",
        step(
            {"t": 3},
            claimants(["t"], ("consumer1", "t-0", 6), ("consumer2", "t-0", 5), ("consumer3", "t-0", 5)),
            **held_back(
                assignor, {"consumer1": "t-0", "consumer2": "t-1", "consumer3": "t-2"}, t_0="consumer1"
            ),
        ),
    )
    yield named(
        "three_claims_visited_6_5_5_the_newest_keeps",
        step(
            {"t": 3},
            claimants(["t"], ("consumer1", "t-0", 5), ("consumer2", "t-0", 5), ("consumer3", "t-0", 6)),
            lists={"consumer1": "t-1", "consumer2": "t-2", "consumer3": "t-0"},
        ),
    )
    yield named(
        "three_claims_visited_5_6_5",
        step(
            {"t": 3},
            claimants(["t"], ("consumer1", "t-0", 5), ("consumer2", "t-0", 6), ("consumer3", "t-0", 5)),
        ),
    )
    yield named(
        "three_claims_in_one_generation",
        step(
            {"t": 4},
            claimants(["t"], ("consumer1", "t-0 t-1", 5), ("consumer2", "t-0", 5), ("consumer3", "t-0", 5)),
        ),
    )
    yield named(
        "one_member_claims_a_partition_twice",
        step({"t": 4}, claimants(["t"], ("consumer1", "t-0 t-0 t-1", 5), ("consumer2", "t-2", 5))),
        step(
            {"t": 4, "u": 1},
            [
                claim(assignor, "consumer1", ["t"], partitions("t-0 t-0 t-1"), 5),
                claim(assignor, "consumer2", ["t", "u"], partitions("t-2"), 5),
            ],
        ),
    )
    yield named(
        "what_is_owned_goes_by_partition_then_topic",
        step(
            {"t1": 3, "t2": 3},
            claimants(["t1", "t2"], ("consumer1", "t2-2 t1-2 t2-0 t1-1 t2-1 t1-0", 1), ("consumer2", "", 1)),
        ),
    )
    yield named(
        "claims_on_a_topic_that_is_gone_are_dropped",
        step(
            {"t": 3}, claimants(["t"], ("consumer1", "t-0 gone-0 gone-1", 1), ("consumer2", "gone-2 t-1", 1))
        ),
        step(
            {"t": 3, "u": 1},
            [
                claim(assignor, "consumer1", ["t", "gone"], partitions("t-0 gone-0 gone-1"), 2),
                claim(assignor, "consumer2", ["t", "u"], partitions("gone-2 t-1"), 2),
            ],
        ),
    )
    yield named(
        "a_shrunk_topic_ends_the_constrained_algorithm",
        step(
            {"t": 2},
            claimants(["t"], ("consumer1", "t-5", 1), ("consumer2", "t-1", 1)),
            exception="IllegalStateException",
        ),
    )
    yield named(
        "a_shrunk_topic_leaves_a_phantom_in_the_general_algorithm",
        step(
            {"t": 2, "u": 2},
            [
                claim(assignor, "consumer1", ["t"], partitions("t-0 t-5"), 1),
                claim(assignor, "consumer2", ["t", "u"], partitions("t-1 u-0 u-1"), 1),
            ],
            lists={"consumer1": "t-0 t-5", "consumer2": "t-1 u-0 u-1"},
        ),
    )
    yield named(
        "the_highest_generation_seen_is_remembered",
        step(
            {"t": 4, "u": 2},
            claimants(["t", "u"], ("consumer1", "t-0 t-1", 10), ("consumer2", "t-2 t-3", 10)),
        ),
        step(
            {"t": 4, "u": 2},
            [
                claim(assignor, "consumer1", ["t"], partitions("t-0 t-1 t-2"), 5),
                claim(assignor, "consumer2", ["t", "u"], partitions("t-3"), 5),
                claim(assignor, "consumer3", ["u"], partitions("u-0 u-1"), 5),
            ],
        ),
        step(
            {"t": 4, "u": 2},
            [
                claim(assignor, "consumer1", ["t"], partitions("t-0 t-1"), 6),
                claim(assignor, "consumer2", ["t", "u"], partitions("t-2 t-3 u-0 u-1"), None),
            ],
        ),
    )


def _subscriptions(assignor: str) -> Iterator[Json]:
    named = partial(scenario, assignor)
    yield named("no_members_is_an_error", step({"t": 2}, [], exception="ArithmeticException"))
    yield named(
        "an_empty_subscription_seen_first_gets_partitions",
        step({"t": 4}, [member("aa", []), member("ab", ["t"])], lists={"aa": "t-0 t-2", "ab": "t-1 t-3"}),
    )
    yield named(
        "an_empty_subscription_seen_last_gets_nothing",
        step({"t": 4}, [member("aa", ["t"]), member("ab", [])], lists={"aa": "t-0 t-1 t-2 t-3", "ab": ""}),
    )
    yield named(
        "nobody_subscribes_to_anything",
        step({"t": 4}, [member("a", []), member("b", [])], lists={"a": "", "b": ""}),
    )
    yield named(
        "no_topic_has_metadata",
        step({}, [member("a", ["t"]), member("b", ["t"])], lists={"a": "", "b": ""}),
        step({"t": 0}, [member("a", ["t"]), member("b", ["t", "u"])], lists={"a": "", "b": ""}),
    )
    yield named(
        "topics_without_metadata_make_subscriptions_unequal",
        step({"t": 4}, [member("a", ["t", "ghost"]), member("b", ["t"])]),
        step({"t": 4}, [member("a", ["t", "ghost"]), member("b", ["t", "other"])]),
        step({"t": 4}, [member("a", ["t", "ghost"]), member("b", ["ghost", "t"])]),
    )
    yield named(
        "the_same_topics_in_another_order_are_equal",
        step({"t": 3, "u": 3, "v": 3}, [member("a", ["t", "u", "v"]), member("b", ["v", "t", "u"])]),
    )
    yield named(
        "a_topic_named_twice_can_pass_for_an_equal_subscription",
        step({"t": 3, "u": 3}, [member("a", ["t", "u"]), member("b", ["t", "t"])]),
        step({"t": 3, "u": 3}, [member("a", ["t", "t"]), member("b", ["t", "u"])]),
        step({"t": 3, "u": 3}, [member("a", ["t", "t"]), member("b", ["t"])]),
    )
    yield named(
        "join_order_decides_between_colliding_ids",
        step({"t": 5}, [member("Aa", ["t"]), member("BB", ["t"])]),
        step({"t": 5}, [member("BB", ["t"]), member("Aa", ["t"])]),
        step({"t": 5}, [claim(assignor, who, ["t"], partitions("t-0 t-1 t-2"), 3) for who in ("Aa", "BB")]),
        step({"t": 5}, [claim(assignor, who, ["t"], partitions("t-0 t-1 t-2"), 3) for who in ("BB", "Aa")]),
    )
    yield named(
        "ten_colliding_ids_and_topics_double_the_tables",
        step({"t": 23}, [member(name, ["t"]) for name in TEN_COLLIDING]),
        step({"t": 19}, [member(name, ["t"], carry=True) for name in TEN_COLLIDING[:8]]),
        step(dict.fromkeys(TEN_COLLIDING, 2), [member(name, TEN_COLLIDING) for name in ("c1", "c2")]),
        step(
            dict.fromkeys(TEN_COLLIDING, 2),
            [member(name, TEN_COLLIDING, carry=True) for name in ("c1", "c2")],
        ),
    )
    yield named(
        "surrogates_sort_before_the_last_of_the_basic_plane",
        step({"t": 3}, [member("\uff5e", ["t"]), member("\U0001f600", ["t"])]),
        step({"t": 3, "u": 1}, [member("\uff5e", ["t"]), member("\U0001f600", ["t", "u"])]),
    )
    yield named(
        "instance_ids_do_not_matter",
        step({"t": 3}, [member("b", ["t"], instance_id="1"), member("a", ["t"], instance_id="2")]),
    )


def _constrain(assignor: str) -> Iterator[Json]:
    named, claimants = partial(scenario, assignor), partial(_claimants, assignor)
    yield named(
        "more_members_than_partitions",
        step({"t": 2}, claimants(["t"], *((f"consumer{i}", "", 1) for i in range(5)))),
        step(
            {"t": 2},
            claimants(["t"], ("consumer0", "t-0 t-1", 2), *((f"consumer{i}", "", 2) for i in range(1, 5))),
        ),
    )
    yield named(
        "one_member_owns_everything_and_others_join",
        step({"t": 7}, [member("consumer1", ["t"])]),
        *(
            step(
                {"t": 7},
                [
                    member("consumer1", ["t"], carry=True),
                    member("consumer2", ["t"], **more),
                    member("consumer3", ["t"], **more),
                ],
            )
            for more in ({}, {"carry": True}, {"carry": True})
        ),
    )
    yield named(
        "extras_stay_with_whoever_the_hash_map_gives_first",
        step(
            {"t": 8},
            claimants(
                ["t"],
                ("consumer1", "t-0 t-1 t-2", 1),
                ("consumer2", "t-3 t-4 t-5", 1),
                ("consumer3", "t-6 t-7", 1),
            ),
        ),
        step(
            {"t": 7},
            claimants(
                ["t"],
                ("consumer1", "t-0 t-1 t-2", 2),
                ("consumer2", "t-3 t-4 t-5", 2),
                ("consumer3", "t-6", 2),
            ),
        ),
    )
    yield named(
        "a_topic_appears_for_everybody",
        step({"t": 4}, [member(f"consumer{i}", ["t", "u"]) for i in range(3)]),
        step({"t": 4, "u": 5}, [member(f"consumer{i}", ["t", "u"], carry=True) for i in range(3)]),
        step({"t": 4, "u": 5}, [member(f"consumer{i}", ["t", "u"], carry=True) for i in range(3)]),
    )
    yield named(
        "a_topic_is_deleted_for_everybody",
        step({"t": 4, "u": 5}, [member(f"consumer{i}", ["t", "u"]) for i in range(3)]),
        step({"t": 4}, [member(f"consumer{i}", ["t"], carry=True) for i in range(3)]),
    )


def _general(assignor: str) -> Iterator[Json]:
    named = partial(scenario, assignor)

    def claim_of(who: str, topics: Sequence[str], owned: str, since: int | None) -> Json:
        return claim(assignor, who, topics, partitions(owned), since)

    yield named(
        "a_former_owner_gets_partitions_it_no_longer_subscribes_to",
        step(
            {"a": 6, "b": 2},
            [
                claim_of("m1", ["a"], "a-0 a-1 a-2 a-3 a-4 a-5", 5),
                claim_of("m2", ["a"], "", 5),
                claim_of("m3", ["b"], "a-0 a-1", 4),
                claim_of("m4", ["b"], "", 5),
            ],
            # Cooperative holds nothing back from a member that says it owns it, whoever else does too.
            **held_back(
                assignor,
                {"m1": "a-4 a-5", "m2": "a-2 a-3", "m3": "a-0 a-1", "m4": "b-0 b-1"},
                a_2="m2",
                a_3="m2",
            ),
        ),
    )
    yield named(
        "a_former_owner_that_is_already_settled_is_an_error",
        step(
            {"a": 4, "b": 1},
            [
                claim_of("m1", ["a"], "a-0 a-1 a-2 a-3", 5),
                claim_of("m2", ["a"], "", 5),
                claim_of("m3", ["b"], "b-0 a-0 a-1", 4),
            ],
            exception="NullPointerException",
        ),
    )
    yield named(
        "a_member_drops_a_topic_it_owned",
        step(
            {"t": 4, "u": 4},
            [claim_of("m1", ["t"], "t-0 t-1 u-0 u-1", 3), claim_of("m2", ["t", "u"], "t-2 t-3 u-2 u-3", 3)],
        ),
    )
    yield named(
        "only_one_member_can_have_a_topic",
        step(
            {"t": 3, "u": 3, "v": 6},
            [
                claim_of("m1", ["t", "v"], "", None),
                claim_of("m2", ["u", "v"], "", None),
                claim_of("m3", ["v"], "", None),
            ],
        ),
    )
    yield named(
        "old_claims_are_previous_owners",
        step(
            {"t": 6, "u": 2},
            [
                claim_of("m1", ["t", "u"], "t-0 t-1 t-2 t-3", 5),
                claim_of("m2", ["t"], "t-3 t-4 t-5", 4),
                claim_of("m3", ["t", "u"], "t-0 u-0 u-1", None),
            ],
        ),
    )
    yield named(
        "a_chain_of_overlapping_subscriptions",
        step(
            {"t0": 4, "t1": 4, "t2": 4, "t3": 4},
            [member(f"m{i}", [f"t{i}", f"t{(i + 1) % 4}"]) for i in range(4)],
        ),
        step(
            {"t0": 4, "t1": 4, "t2": 4, "t3": 4},
            [member(f"m{i}", [f"t{i}", f"t{(i + 1) % 4}"], carry=True) for i in range(3)],
        ),
        step(
            {"t0": 4, "t1": 4, "t2": 4, "t3": 4},
            [member(f"m{i}", [f"t{i}", f"t{(i + 1) % 4}"], carry=True) for i in (2, 0, 3, 1)],
        ),
    )
    yield named(
        "one_topic_each_and_one_for_all",
        step(
            {"t0": 1, "t1": 2, "t2": 3},
            [member("c0", ["t0"]), member("c1", ["t0", "t1"]), member("c2", ["t0", "t1", "t2"])],
        ),
        step(
            {"t0": 1, "t1": 2, "t2": 3},
            [member("c1", ["t0", "t1"], carry=True), member("c2", ["t0", "t1", "t2"], carry=True)],
        ),
    )
    yield named(
        "a_partition_moves_back_instead_of_another",
        step(
            {"t": 9, "u": 3},
            [
                claim_of("m1", ["t"], "t-0 t-1 t-2 t-3 t-4 t-5 t-6", 2),
                claim_of("m2", ["t", "u"], "t-7 t-8 u-0 u-1 u-2", 2),
                claim_of("m3", ["t"], "", 2),
                claim_of("m4", ["u"], "", 2),
            ],
        ),
    )
    # 64 members take turns at what m0 has too much: each gets 13 partitions that share a bin, which becomes a
    # tree. When m0 has given others to z too, they give some back.
    yield named(
        "a_partition_moves_back_out_of_a_crowd",
        step(
            {"t": 896, "u": 20},
            [
                claim(assignor, "m0", ["t", "u"], [["t", *range(64, 896)], ["u", *range(20)]], 2),
                *(claim_of(f"n{turn:02d}", ["t", "u"], f"t-{turn}", 2) for turn in range(64)),
                claim_of("z", ["u"], "", 2),
            ],
        ),
    )
    yield named(
        "partitions_that_move_in_a_circle_for_ever",
        step(
            {"orders": 14, "clicks": 22, "users": 17},
            [
                claim_of("c0", ["clicks"], "clicks-7 clicks-9 clicks-12 clicks-15 clicks-18 clicks-21", 8),
                claim_of(
                    "c1", ["orders"], "orders-1 orders-4 orders-6 orders-7 orders-8 orders-12 orders-13", 8
                ),
                claim_of("c2", ["clicks", "users"], "clicks-13 clicks-16 clicks-19", 8),
                claim_of(
                    "c3", ["orders"], "orders-0 orders-2 orders-3 orders-5 orders-9 orders-10 orders-11", 8
                ),
                claim_of(
                    "c5", ["clicks"], " ".join(f"clicks-{p}" for p in (3, 4, 6, 8, 10, 11, 14, 17, 20)), 8
                ),
                claim_of("c6", ["clicks", "users"], "clicks-0 clicks-1 clicks-2 clicks-5", 8),
                claim_of("c9", ["orders", "clicks"], "", 8),
            ],
            endless=True,
        ),
    )
