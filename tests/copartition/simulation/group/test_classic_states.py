"""The table of a classic group's states has the moves that runs make, each of them and no other."""

from assignors.group import Topic
from copartition.simulation import Consumer, Costs, Crash, Join, Leave, Restart, Scenario, Stall, simulate
from copartition.simulation.group.classic_group import ClassicGroup
from copartition.simulation.group.classic_states import MOVES, ClassicGroupState, GroupEvent

ALONE = (Consumer("a"),)
SLOW = Costs(assignor_ms=5_000)
EVENTS = {
    "a restart": (Restart(1_000, "a", 60_000),),
    "the leader stands still while it assigns": (Join(1_000, Consumer("b")), Stall(5_000, "a", 4_000)),
    "somebody joins while the leader assigns": (Join(1_000, Consumer("b")), Join(6_000, Consumer("c"))),
    "all leave while the leader assigns": (Join(1_000, Consumer("b")), Leave(5_000, "a"), Leave(5_001, "b")),
    "all leave before the barrier opens": (Join(1_000, Consumer("b")), Leave(1_100, "b"), Leave(1_200, "a")),
    "a crash": (Join(1_000, Consumer("b")), Crash(70_000, "a")),
}


def moves_made(monkeypatch):
    """Return the set that the moves of all runs from now on go into."""
    made = set()

    class Watched(ClassicGroup):
        def _move(self, event):
            made.add((self.state, event))
            super()._move(event)

    monkeypatch.setattr("copartition.simulation.group.classic_protocol.ClassicGroup", Watched)
    return made


def test_each_move_of_the_table_is_made_by_a_run(monkeypatch):
    made = moves_made(monkeypatch)
    for events in EVENTS.values():
        simulate(Scenario((Topic("orders", 2),), ALONE, events, assignor="range", costs=SLOW))
    assert made == set(MOVES)


def test_every_state_can_be_left_and_come_back_to():
    for state in ClassicGroupState:
        assert [key for key in MOVES if key[0] is state]
        assert [move for move in MOVES.values() if move.to is state]
    assert {event for _, event in MOVES} == set(GroupEvent)
