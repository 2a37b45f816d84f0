"""A share group and a Streams group, watched: who gets and loses what, and what no member has."""

import json

import pytest

from copartition.groups.kinds.model import (
    ShareGroupState,
    ShareMemberState,
    StreamsGroupState,
    StreamsMemberState,
)
from copartition.groups.live import reader as consumers
from copartition.groups.snapshot import RecordStep
from copartition.watch import reader
from copartition.watch.report import WatchReport
from partitioning.errors import OtherGroupKindError, SourceError
from tests.copartition.watch.groups import group

GONE = (group("Dead", strategy=None, count=0), None)


def share(epoch=1, status="Stable", **members):
    """A share group of orders: `a=[0, 1]` is a member and the partitions that it may read."""
    read = tuple(ShareMemberState(name, name, partitions={"orders": held}) for name, held in members.items())
    return ShareGroupState(
        name="g", status=status, strategy="simple", group_epoch=epoch, assignment_epoch=epoch, members=read
    )


def streams(epoch=1, assigned=None, status="Stable", **members):
    """A Streams group: `a={"active": {"0": [1]}}` is a member and its tasks by role."""
    return StreamsGroupState(
        name="g",
        status=status,
        group_epoch=epoch,
        assignment_epoch=epoch if assigned is None else assigned,
        members=tuple(StreamsMemberState(name, name, **tasks) for name, tasks in members.items()),
    )


def lines_of(*states, form="text"):
    """The lines of a watch that saw these states, one a second, and its summary."""
    report = WatchReport(form)
    lines = [
        line
        for second, state in enumerate(states)
        for line in report.lines(
            RecordStep(second + 0.25, second - 1 if second else None, state)
        ).splitlines()
    ]
    return lines, report.summary(len(states), 1.25)


def words(*states):
    """The lines without times."""
    return [line.partition("  ")[2] for line in lines_of(*states)[0]]


def test_a_share_groups_partitions_pass_without_an_owner():
    assert words(share(a=[0, 1], b=[1]), share(2, a=[0, 1], b=[0, 1]), share(3, a=[0])) == [
        "#0  Stable  epoch 1  share group, 2 members, 3 partitions, simple",
        "#1  Stable  epoch 2  b gets partitions orders:0",
        "#2  Stable  epoch 3  b left",
        "#2  Stable  epoch 3  a loses partitions orders:1",
        "#2  Stable  epoch 3  b loses partitions orders:0-1",
    ]


def test_what_no_member_had_is_timed():
    lines = words(share(a=[0, 1]), share(a=[0]), share(a=[0], b=[1]))
    assert (
        lines[-1] == "#2  Stable  epoch 1  b gets partitions orders:1  no member had them for at most 2.2 s"
    )
    # Passed on between two looks, it may have been with nobody; with a reader that stays it was not.
    assert words(share(a=[0]), share(a=[], b=[0]))[-1].endswith("no member had them for at most 1.2 s")
    assert words(share(a=[0]), share(a=[0], b=[0]))[-1].endswith("b gets partitions orders:0")


def test_a_streams_groups_tasks_are_told_by_role():
    before = streams(a={"active": {"0": [0]}}, b={"active": {"0": [1]}, "standby": {"0": [0]}})
    after = streams(
        2, 1, "Reconciling", a={"active": {"0": [0]}, "warmup": {"0": [1]}}, b={"active": {"0": [1]}}
    )
    lines, summary = lines_of(before, after)
    assert [line.partition("  ")[2] for line in lines] == [
        "#0  Stable  epoch 1  streams group, 2 members, 2 active tasks, 1 standby tasks, assignor unknown",
        "#1  Reconciling  epoch 2, assigned 1  Stable -> Reconciling",
        "#1  Reconciling  epoch 2, assigned 1  b loses standby tasks 0:0",
        "#1  Reconciling  epoch 2, assigned 1  a gets warm-up tasks 0:1",
    ]
    # A copy of state that fills up takes nothing over.
    assert "0 partitions taken over" in summary


def test_a_task_whose_copy_stays_where_it_is_was_with_nobody():
    with_copy = {"standby": {"0": [0]}}
    lines = words(
        streams(a={"active": {"0": [0]}}, b=with_copy),
        streams(b=with_copy),
        streams(b={"active": {"0": [0]}}),
    )
    assert lines[-1].endswith("b gets active tasks 0:0  no member had them for at most 2.2 s")


def test_json_has_epochs_and_roles():
    lines, _ = lines_of(streams(), streams(2, a={"active": {"0": [1]}}), form="json")
    row = json.loads(lines[-1])
    assert (row["protocol"], row["group_epoch"], row["assignment_epoch"]) == ("streams", 2, 2)
    assert (row["kind"], row["role"], row["target"], row["partitions"]) == (
        "moved",
        "active",
        "a",
        {"0": [1]},
    )
    assert "generation_at_least" not in row


def test_a_group_that_goes_and_one_that_comes_are_told():
    lines = words(GONE[0], share(a=[0]), GONE[0])
    assert lines[0].endswith("there is no such group yet; waiting for it")
    assert lines[2:] == [
        "#1  Stable  epoch 1  a joined",
        "#2  Dead  the group is gone; waiting for it",
        "#2  Dead  a left",
        "#2  Dead  a loses partitions orders:0",
    ]


class TestReader:
    """The kind is asked for once, and again when the group is gone."""

    @pytest.fixture
    def read(self, monkeypatch):
        """Makes a reader of what the list of groups says, and the coordinator of a share group."""

        def make(listed, described):
            def take(answers):
                found = answers.pop(0)
                if isinstance(found, Exception):
                    raise found
                return found

            ask = lambda *_: take(listed)  # noqa: E731
            ask.ends = ask.committed_offsets = dict
            monkeypatch.setattr(consumers, "GroupReader", lambda *_: ask)
            monkeypatch.setattr(reader, "ask_share_group", lambda *_: (take(described), None))
            return reader.AnyGroupReader("g", {})

        return make

    def test_an_equal_answer_is_the_same_object(self, read):
        look = read([OtherGroupKindError("shared", "share")], [share(a=[0]), share(a=[0]), share(a=[1])])
        first, second, third = look(), look(), look()
        assert first is second
        assert (first, third) == ((share(a=[0]), None), (share(a=[1]), None))

    @pytest.mark.parametrize("gone", [share(status="Dead"), SourceError("error 69")])
    def test_a_group_that_is_gone_is_waited_for(self, read, gone):
        look = read([OtherGroupKindError("shared", "share"), GONE], [share(), gone])
        assert look()[0].protocol == "share"
        assert look() is GONE

    def test_a_broker_that_is_away_is_trouble(self, read):
        other = OtherGroupKindError("shared", "share")
        # The list is asked for twice: at first, and for what has become of the group; then its kind is known.
        look = read([other, other], [SourceError("no broker answers"), share()])
        with pytest.raises(SourceError, match="no broker answers"):
            look()
        assert look()[0] == share()
