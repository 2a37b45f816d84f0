"""Named scenarios of the sticky assignors with racks (KIP-881)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.oracle.assignors.quirks.client import ABC, consumers, laid_out
from tools.oracle.assignors.quirks.sticky import held_back
from tools.oracle.assignors.worlds import Json, claim, member, partitions, replicas, scenario, step, topic

if TYPE_CHECKING:
    from collections.abc import Iterator


def rack_quirks(assignor: str) -> Iterator[Json]:
    """Rack mode on and off, wrong racks, scarce partitions."""
    named = partial(scenario, assignor)
    counts = {"t1": 6, "t2": 7, "t3": 2}
    uniform = {
        "consumer0": "t1-0 t1-3 t2-0 t2-3 t2-6",
        "consumer1": "t1-1 t1-4 t2-1 t2-4 t3-0",
        "consumer2": "t1-2 t1-5 t2-2 t2-5 t3-1",
    }
    unequal = {
        1: {
            "consumer0": "t1-3 t2-0 t2-2 t2-3 t2-6",
            "consumer1": "t1-4 t2-1 t2-4 t2-5 t3-0",
            "consumer2": "t1-0 t1-1 t1-2 t1-5 t3-1",
        },
        2: {
            "consumer0": "t1-3 t2-0 t2-2 t2-5 t2-6",
            "consumer1": "t1-0 t2-1 t2-3 t2-4 t3-0",
            "consumer2": "t1-1 t1-2 t1-4 t1-5 t3-1",
        },
        3: {
            "consumer0": "t1-5 t2-0 t2-2 t2-4 t2-6",
            "consumer1": "t1-3 t2-1 t2-3 t2-5 t3-0",
            "consumer2": "t1-0 t1-1 t1-2 t1-4 t3-1",
        },
    }
    for factor in (1, 2, 3):
        topics = laid_out(counts, ABC, factor)
        yield named(
            f"rack_uniform_subscriptions_rf{factor}",
            step(topics, consumers(3, list(counts), ABC), lists=uniform),
        )
        members = consumers(3, list(counts), ABC)
        members[2]["topics"] = ["t1", "t3"]
        yield named(f"rack_unequal_subscriptions_rf{factor}", step(topics, members, lists=unequal[factor]))
    two = ("a", "b")
    for factor in (1, 2, 3):
        yield named(
            f"rack_uniform_subscriptions_rf{factor}_on_2_racks",
            step(laid_out(counts, two, factor), consumers(3, list(counts), ABC)),
        )
    yield named(
        "an_owner_on_the_wrong_rack_loses_its_partition",
        step(
            [topic("t", 4, replicas(4, two, 1))],
            [
                claim(assignor, "c1", ["t"], partitions("t-0 t-1"), 1, rack="a"),
                claim(assignor, "c2", ["t"], partitions("t-2 t-3"), 1, rack="b"),
            ],
            **held_back(assignor, {"c1": "t-0 t-2", "c2": "t-3 t-1"}, t_1="c2", t_2="c1"),
        ),
    )
    yield named(
        "an_owner_on_the_wrong_rack_keeps_it_when_racks_are_everywhere",
        step(
            [topic("t", 4, replicas(4, two, 2))],
            [
                claim(assignor, "c1", ["t"], partitions("t-0 t-1"), 1, rack="a"),
                claim(assignor, "c2", ["t"], partitions("t-2 t-3"), 1, rack="b"),
            ],
            lists={"c1": "t-0 t-1", "c2": "t-2 t-3"},
        ),
    )
    yield named(
        "an_owner_on_the_wrong_rack_in_the_general_algorithm",
        step(
            [topic("t", 4, replicas(4, two, 1)), topic("u", 2, replicas(2, two, 1))],
            [
                claim(assignor, "c1", ["t"], partitions("t-0 t-1"), 1, rack="a"),
                claim(assignor, "c2", ["t", "u"], partitions("t-2 t-3 u-0 u-1"), 1, rack="b"),
            ],
        ),
    )
    yield named(
        "scarce_partitions_are_given_first_in_rack_mode",
        step(
            [topic("t", 6, [["a", "b"], ["a", "b"], ["c"], ["a", "b"], ["b"], []])],
            [member("c1", ["t"], rack="a"), member("c2", ["t"], rack="b"), member("c3", ["t"], rack="a")],
        ),
    )
    yield named(
        "members_without_a_rack_in_rack_mode",
        step(
            [topic("t", 5, replicas(5, two, 1))],
            [member("c1", ["t"], rack="a"), member("c2", ["t"]), member("c3", ["t"], rack="")],
        ),
        step(
            [topic("t", 5, replicas(5, two, 1)), topic("u", 3, replicas(3, two, 1))],
            [member("c1", ["t"], rack="a"), member("c2", ["t", "u"]), member("c3", ["u"], rack="b")],
        ),
    )
    yield named(
        "racks_with_nothing_in_common_change_nothing",
        step(
            [topic("t", 5, replicas(5, two, 1))],
            [member("c1", ["t"], rack="x"), member("c2", ["t"], rack="y")],
            lists={"c1": "t-0 t-2 t-4", "c2": "t-1 t-3"},
        ),
    )
    everywhere = [topic("t1", 12, replicas(12, ABC, 2)), topic("t2", 12, replicas(12, ABC, 2, 1))]
    sizes = (2, 3, 3, 5, 5, 4, 4)
    yield named(
        "racks_while_members_come_and_go",
        *(
            step(
                everywhere,
                [
                    member(
                        f"consumer{i}", ["t1", "t2"], rack=ABC[i % 3], **({"carry": True} if i < had else {})
                    )
                    for i in range(count)
                ],
            )
            for had, count in zip((0, *sizes), sizes, strict=False)
        ),
    )
