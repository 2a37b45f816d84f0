"""Where the JVM's sticky assignors throw or hang: an error that says which, and names who caused it."""

from __future__ import annotations

import pytest

from assignors import Group, Member, Topic, get_assignor
from partitioning.errors import AssignorError

STICKY = ["sticky", "cooperative-sticky"]


@pytest.mark.parametrize("name", STICKY)
def test_nobody_can_be_assigned_anything(name):
    with pytest.raises(AssignorError, match="no members") as caught:
        get_assignor(name).assign(Group([Topic("t", 1)], []))
    assert caught.value.jvm_exception == "ArithmeticException"


def test_a_claim_beyond_the_end_of_a_topic_is_named():
    group = Group(
        [Topic("t", 2)],
        [
            Member("a", ["t"], owned=[("t", 0)], generation=1),
            Member("b", ["t"], owned=[("t", 7)], generation=1),
        ],
    )
    group = Group(group.topics, [*group.members, Member("c", ["t"])])
    with pytest.raises(AssignorError, match=r"'b' claims t-7, but topic 't' has 2 partitions") as caught:
        get_assignor("cooperative-sticky").assign(group)
    assert caught.value.jvm_exception == "IllegalStateException"


def test_a_former_owner_that_takes_no_part_is_named():
    group = Group(
        [Topic("a", 9), Topic("b", 1)],
        [
            Member("former", ["b"], owned=[("a", 0)], generation=1),
            Member("full", ["a"], owned=[("a", number) for number in range(9)], generation=2),
            Member("empty", ["a"]),
        ],
    )
    with pytest.raises(AssignorError, match="'former' takes no part in balancing") as caught:
        get_assignor("cooperative-sticky").assign(group)
    assert caught.value.jvm_exception == "NullPointerException"


@pytest.mark.parametrize("name", STICKY)
def test_balancing_that_never_ends_is_an_error(name):
    """Two members join three, nothing odd about any of them, and a JVM leader hangs (kafka-clients 4.4.0)."""
    topics = [Topic("t0", 3), Topic("t1", 3), Topic("t2", 2), Topic("t3", 8)]
    first = Group(topics, [Member("m0", ["t1", "t2"]), Member("m1", ["t1"]), Member("m2", ["t0", "t3"])])
    joining = [Member("n0", ["t1", "t3"]), Member("n1", ["t0", "t2", "t3"])]
    assignor = get_assignor(name)
    with pytest.raises(AssignorError, match="balancing never ends") as caught:
        assignor.assign(first.next(assignor.assign(first), join=joining))
    assert caught.value.jvm_exception is None
