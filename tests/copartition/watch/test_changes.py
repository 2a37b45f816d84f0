"""What changes from step to step."""

import pytest

from assignors.state import MemberIdentity
from copartition.groups.names import Names
from copartition.groups.snapshot import RecordStep
from copartition.watch.changes import ChangeKind, Watch
from tests.copartition.watch.groups import group

PREPARING, COMPLETING = "PreparingRebalance", "CompletingRebalance"


def test_members_without_an_id_have_names():
    odd = [MemberIdentity(name, client_id="client") for name in ("", "client", "x")]
    assert Names().of(odd) == ["member (2)", "client", "x"]


def watched(*seen):
    """The changes after the first step; each step is (at, since, state)."""
    watch = Watch()
    first, *others = [watch.see(RecordStep(at, since, state)) for at, since, state in seen]
    assert [change.kind for change in first] == [ChangeKind.STATE]
    return [change for changes in others for change in changes]


def moves(changes):
    """Who took which partitions from whom, and how long nobody had them."""
    return [
        (
            change.source,
            change.target,
            [number for _, number in change.partitions],
            change.least_s,
            change.most_s,
        )
        for change in changes
        if change.kind is ChangeKind.MOVED
    ]


def stable(**members):
    return group("Stable", **members)


def hidden(*names, status=PREPARING, **options):
    """A classic group in a rebalance: who is in it, and nothing about who has what."""
    return group(status, **options, **{name: [] for name in names})


MOVES = {
    "between two looks": (
        [(0, None, stable(a=[0, 1, 2, 3])), (11, 10, stable(a=[0, 1], b=[2, 3]))],
        [("a", "b", [2, 3], None, 1)],
    ),
    "given up and taken": (
        [
            (0, None, stable(a=[0, 1, 2, 3], b=[])),
            (11, 10, stable(a=[0, 1], b=[])),
            (15, 14, stable(a=[0, 1], b=[2, 3])),
        ],
        [("a", None, [2, 3], None, None), ("a", "b", [2, 3], 3, 5)],
    ),
    "in a rebalance that was seen, longer than between the last two looks": (
        [
            (0, None, stable(a=[0, 1, 2, 3])),
            (11, 10, hidden("a", "b")),
            (15, 14, hidden("a", "b", status=COMPLETING)),
            (17, 16, stable(a=[0, 1], b=[2, 3])),
        ],
        [("a", "b", [2, 3], None, 7)],
    ),
    "a member leaves, and nobody has its partitions until the rebalance ends": (
        [(0, None, stable(a=[0, 1], b=[2, 3])), (11, 10, hidden("a")), (15, 14, stable(a=[0, 1, 2, 3]))],
        [("b", None, [2, 3], None, None), ("b", "a", [2, 3], 3, 5)],
    ),
    "a member leaves late in the rebalance, and may have stopped when it began": (
        [
            (0, None, stable(a=[0, 1], b=[2, 3])),
            (11, 10, hidden("a", "b")),
            (21, 20, hidden("a")),
            (25, 24, stable(a=[0, 1, 2, 3])),
        ],
        [("b", None, [2, 3], None, None), ("b", "a", [2, 3], 3, 15)],
    ),
    "a dynamic member restarts in a rebalance": (
        [
            (0, None, stable(a=[0, 1], b_1=[2, 3])),
            (11, 10, hidden("a", "b_2")),
            (15, 14, stable(a=[0, 1], b_2=[2, 3])),
        ],
        [("b", None, [2, 3], None, None), ("b", "b", [2, 3], 3, 5)],
    ),
    "a static member restarts in a rebalance and keeps what it has": (
        [
            (0, None, stable(a=[0, 1], static_1=[2, 3])),
            (11, 10, hidden("a", "static_2")),
            (15, 14, stable(a=[0, 1], static_2=[2, 3])),
        ],
        [],
    ),
    "what nobody had at first": (
        [(0, None, stable(a=[0, 1])), (9, 8, stable(a=[0, 1, 2, 3]))],
        [(None, "a", [2, 3], 8, None)],
    ),
    "new partitions are there since nobody knows when": (
        [(0, None, stable(a=[0, 1, 2, 3])), (9, 8, stable(count=6, a=[0, 1, 2, 3, 4, 5]))],
        [(None, "a", [4, 5], None, None)],
    ),
    "the same rebalance seen from its middle tells no owner before": (
        [(0, None, hidden("a")), (4, 3, stable(a=[0, 1, 2, 3]))],
        [],
    ),
    "a KIP-848 group, which hides nothing": (
        [
            (0, None, group("Stable", "uniform", "consumer", a=[0, 1, 2, 3])),
            (2, 1, group("Reconciling", "uniform", "consumer", a=[0, 1], b=[])),
            (6, 5, group("Stable", "uniform", "consumer", a=[0, 1], b=[2, 3])),
        ],
        [("a", None, [2, 3], None, None), ("a", "b", [2, 3], 3, 5)],
    ),
    "partitions that came free at different times are separate changes": (
        [
            (0, None, stable(a=[0, 1], b=[2, 3])),
            (2, 1, stable(a=[0], b=[2, 3])),
            (4, 3, stable(a=[0], b=[2])),
            (6, 5, stable(a=[0], b=[2], c=[1, 3])),
        ],
        [
            ("a", None, [1], None, None),
            ("b", None, [3], None, None),
            ("a", "c", [1], 3, 5),
            ("b", "c", [3], 1, 3),
        ],
    ),
}


@pytest.mark.parametrize(("seen", "expected"), MOVES.values(), ids=MOVES)
def test_partitions_move_and_nobody_has_them_for_so_long(seen, expected):
    assert moves(watched(*seen)) == expected


OTHERS = {
    "joined": (
        [(0, None, stable(a=[0])), (2, 1, stable(a=[0], b=[]))],
        [(ChangeKind.JOINED, "b", None, None, None, None)],
    ),
    "left": (
        [(0, None, stable(a=[0], b10=[], b9=[])), (2, 1, stable(a=[0]))],
        [(ChangeKind.LEFT, "b9", None, None, None, None), (ChangeKind.LEFT, "b10", None, None, None, None)],
    ),
    "restarted": (
        [(0, None, stable(a_1=[0])), (2, 1, stable(a_2=[0]))],
        # No look shows how long a member was away that the coordinator goes on naming.
        [(ChangeKind.RESTARTED, "a", None, None, None, None)],
    ),
    "grew": (
        [(0, None, stable(a=[0])), (2, 1, stable(count=6, a=[0]))],
        [(ChangeKind.GREW, "t", 4, 6, None, None)],
    ),
    "another assignor": (
        [(0, None, stable(a=[0])), (2, 1, group("Stable", "range", a=[0]))],
        [(ChangeKind.STRATEGY, None, "cooperative-sticky", "range", None, None)],
    ),
    "no assignor while there is nobody": ([(0, None, stable()), (2, 1, group("Stable", None))], []),
    "the length of a rebalance of several states": (
        [
            (0, None, stable(a=[0])),
            (3, 2, hidden("a")),
            (6, 5, hidden("a", status=COMPLETING)),
            (9, 8, stable(a=[0])),
        ],
        [
            (ChangeKind.STATE, None, "Stable", PREPARING, None, None),
            (ChangeKind.STATE, None, PREPARING, COMPLETING, None, None),
            (ChangeKind.STATE, None, COMPLETING, "Stable", 5, 7),
        ],
    ),
    "two rebalances are two lengths": (
        [
            (0, None, stable(a=[0])),
            (3, 2, hidden("a")),
            (6, 5, stable(a=[0])),
            (13, 12, hidden("a")),
            (15, 14, stable(a=[0])),
        ],
        [
            (ChangeKind.STATE, None, "Stable", PREPARING, None, None),
            (ChangeKind.STATE, None, PREPARING, "Stable", 2, 4),
            (ChangeKind.STATE, None, "Stable", PREPARING, None, None),
            (ChangeKind.STATE, None, PREPARING, "Stable", 1, 3),
        ],
    ),
}


@pytest.mark.parametrize(("seen", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_changes(seen, expected):
    found = [
        (change.kind, change.name, change.before, change.after, change.least_s, change.most_s)
        for change in watched(*seen)
    ]
    assert found == expected


def test_a_change_knows_its_step_and_the_group_then():
    changes = watched((0, None, stable(a=[0])), (2, 1, stable(a=[0])), (4, 3, group("Stable", a=[0], b=[])))
    [joined] = changes
    assert (joined.at, joined.step, len(joined.state.members)) == (4, 2, 2)


def test_names_are_short_unique_and_stay():
    names = Names()
    first = [MemberIdentity("x-1", client_id="x"), MemberIdentity("y-1", "pod", "y")]
    assert names.of(first) == ["x", "pod"]
    assert names.of([*first, MemberIdentity("x-2", client_id="x")]) == ["x", "pod", "x-2"]
    assert names.of([MemberIdentity("x-2", client_id="x")]) == ["x-2"]
    assert names.of([MemberIdentity("z-1", "x-2"), MemberIdentity("x-2", client_id="x")]) == ["z-1", "x-2"]
