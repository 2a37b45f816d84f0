"""Looks at a group that somebody invented."""

import pytest

from copartition.watch.changes import ENDS_S, Looks, Trouble
from partitioning.errors import SourceError
from tests.copartition.watch.groups import group

ONE, TWO = (group("Stable", a=[0]), None), (group("Stable", a=[0, 1]), None)


class Times:
    """A clock that only sleep and answers move on."""

    def __init__(self, answers_after=0.25):
        self.now = 1000.0
        self.slept = []
        self.told = []
        self._answers_after = answers_after

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def reader(self, *answers):
        """Gives these answers in turn, and the last one for ever; an error is raised."""
        left = list(answers)

        def read():
            self.now += self._answers_after
            found = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(found, Exception):
                raise found
            return found

        return read

    def looks(self, *answers, **limits):
        return Looks(
            self.reader(*answers),
            interval_s=1,
            tell=self.told.append,
            clock=lambda: self.now,
            sleep=self.sleep,
            **limits,
        )


def steps(looks):
    return [(step.at - 1000, step.since and step.since - 1000, step.state) for step in looks]


def test_only_what_is_new_is_a_step_between_the_question_before_and_this_answer():
    assert steps(Times().looks(ONE, ONE, ONE, TWO, count=5)) == [(0.25, None, ONE[0]), (3.25, 2, TWO[0])]


def test_looks_begin_at_intervals_however_long_an_answer_takes():
    times = Times(answers_after=0.25)
    steps(times.looks(ONE, count=3))
    assert times.slept == [0.75, 0.75]
    slow = Times(answers_after=3)
    steps(slow.looks(ONE, count=3))
    assert slow.slept == [0, 0]


def test_ends_are_read_with_what_is_new_and_now_and_then():
    times = Times()
    ends = times.reader({"t": {0: 1}}, {"t": {0: 2}}, {"t": {0: 3}})
    found = list(times.looks(ONE, TWO, for_s=1.5 * ENDS_S, ends=ends))
    assert [(step.state, step.ends["t"][0]) for step in found] == [(ONE[0], 1), (TWO[0], 2), (TWO[0], 3)]
    assert ENDS_S <= found[2].at - found[1].at < ENDS_S + 2


def test_what_is_committed_is_read_before_the_ends():
    times = Times()
    committed, ends = times.reader({"t": {0: 1}}), times.reader({"t": {0: 2}})
    (step,) = times.looks(ONE, count=1, ends=lambda: ends() | {"at": times.now}, committed=committed)
    assert (step.committed, step.ends) == ({"t": {0: 1}}, {"t": {0: 2}, "at": 1000.75})


def test_ends_that_cannot_be_read_are_told_and_missing():
    times = Times()
    ends = times.reader({"t": {0: 1}}, SourceError("no leader"))
    assert [step.ends for step in times.looks(ONE, TWO, count=2, ends=ends)] == [{"t": {0: 1}}, None]
    assert times.told == [Trouble(False, 1001.25, "no leader")]


def test_offsets_that_can_be_read_again_are_told_once():
    times = Times()
    ends = times.reader({}, SourceError("no leader"), SourceError("no leader"), {})
    list(times.looks(ONE, TWO, TWO, ONE, TWO, count=5, ends=ends))
    assert [(trouble.away, trouble.why) for trouble in times.told] == [(False, "no leader"), (False, None)]


def test_ends_that_cannot_be_read_at_first_end_it():
    with pytest.raises(SourceError, match="not allowed"):
        list(Times().looks(ONE, ends=Times().reader(SourceError("not allowed"))))


@pytest.mark.parametrize(
    ("limits", "taken"),
    [({"count": 1}, 1), ({"for_s": 0}, 1), ({"for_s": 3.5}, 4), ({"for_s": 9, "count": 2}, 2)],
)
def test_it_ends(limits, taken):
    looks = Times().looks(ONE, **limits)
    steps(looks)
    assert (looks.begun, looks.ended) == (1000.25, 1000.25 + taken - 1)


def test_trouble_is_told_once_for_each_cause_until_it_is_over():
    down, refused = SourceError("down"), SourceError("refused")
    times = Times()
    found = steps(times.looks(ONE, down, refused, down, TWO, down, TWO, count=7))
    assert [trouble.why for trouble in times.told] == ["down", "refused", None, "down", None]
    assert found == [(0.25, None, ONE[0]), (4.25, 0, TWO[0])]


def test_it_is_away_since_it_last_answered():
    down, times = SourceError("down"), Times()
    steps(times.looks(ONE, ONE, down, down, TWO, count=5))
    assert times.told == [Trouble(True, 1001.25, "down"), Trouble(True, 1001.25, None)]


def test_the_longest_time_without_a_look_is_known():
    looks = Times().looks(ONE, ONE, SourceError("down"), SourceError("down"), ONE, ONE, count=6)
    steps(looks)
    assert looks.blind_s == 3.25


def test_the_first_look_must_succeed():
    with pytest.raises(SourceError, match="down"):
        steps(Times().looks(SourceError("down")))


def test_the_clock_of_a_watch_is_near_the_one_on_the_wall(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 5e9)
    [step] = Looks(lambda: ONE, interval_s=1, count=1, tell=print)
    assert step.at == pytest.approx(5e9, abs=3600)  # not the time since the machine started
