"""The first line of a diff, over every group that the tests and the pages have."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import Joiner, WhatIf, diff, plan, read_pair
from copartition.assignment_diff.report.headline import LONGEST, headline
from copartition.assignment_diff.report.verdict import detail_lines, details
from docs.worked_groups.stories import STORIES
from partitioning.errors import CopartitionError
from tests.copartition.assignment_diff.states import group
from tests.copartition.reported import a_crowd
from tests.support.tiers import sample

WITHOUT_TOPICS = ("member-groups", "members-3.9.1", "members-short")
CAPTURES = Path(__file__).parents[2] / "groups" / "captures"
CONSUMER_GROUPS = [
    path for path in sorted(CAPTURES.glob("*.txt")) if not path.stem.startswith(("share", "streams"))
]
QUESTIONS = [
    (None, None),
    ("plan:uniform", None),
    *(("plan:range", way) for way in ({}, {"add_members": 3}, {"deploy": "rolling"}, {"deploy": "surge"})),
]


def sentence_of(change):
    """The headline, which has to hold what every headline holds."""
    line = headline(change)
    assert len(line) <= LONGEST, line
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", line), line
    assert not re.search(r"\.\s", line), f"more than one sentence: {line}"
    assert not re.search(r"\b0 rebalances|\b0 ms|\b1 (partition|member|record|rebalance)s|None|\bnan\b", line)
    return line


def planned(state, strategy, **change):
    return diff(state, plan(state, strategy, WhatIf(**change)), match="member-id")


@pytest.mark.parametrize("path", sample(CONSUMER_GROUPS, 5), ids=lambda path: path.stem)
def test_a_capture_has_a_headline_of_one_sentence_whatever_is_asked_of_it(path):
    asked = 0
    # A table's rows begin with the group's name; `rpk` says it once, in a line of its own.
    groups = {*re.findall(r"^(?:GROUP +)?([a-z]+)(?= |$)", path.read_text(), re.MULTILINE)} or {None}
    for name, (after, way) in itertools.product(groups, sample(QUESTIONS, 2)):
        try:
            pair = read_pair(str(path), after, group=name, what_if=way and WhatIf(**way))
        except CopartitionError:  # a capture without members, or of a group without a name
            continue
        change = replace(diff(pair.before, pair.after, match="member-id"), alone=pair.alone)
        if len(change.action):
            sentence_of(change)
            assert all(detail.ground for detail in details(change))
            asked += 1
    assert asked or path.stem.startswith(("groups", "state", "unknown", *WITHOUT_TOPICS))


@pytest.mark.parametrize("story", sample([*STORIES], 3))
def test_a_step_of_a_story_has_a_headline_of_one_sentence(story):
    states = [GroupState.of(rebalance.assignment) for rebalance in STORIES[story]().rebalances]
    steps = [diff(*pair, match="member-id") for pair in itertools.pairwise(states)]
    alone = [replace(diff(state, state, match="member-id"), alone=True) for state in states]
    assert len([sentence_of(change) for change in (*steps, *alone)]) == 2 * len(states) - 1 > 0


def members(*names, static=False, topics=("t",)):
    return [MemberIdentity(f"{name}-0123", name if static else None, name, topics=topics) for name in names]


def of_three():
    """Three members with four, four and no partitions."""
    owned = {"a-0123": [("t", n) for n in range(4)], "b-0123": [("t", n) for n in range(4, 8)]}
    return group(members("a", "b", "c"), owned, {"t": 8})


def alone(state):
    return replace(diff(state, state, match="member-id"), alone=True)


def even(count, partitions, unread=0, lag=None, *, static=False):
    """So many members with a partition each in turn, and partitions that nobody reads beside them."""
    names = members(*(f"m{number}" for number in range(count)), static=static, topics=("t", "u"))
    owned = {
        member.id: [("t", n) for n in range(partitions) if n % count == at] for at, member in enumerate(names)
    }
    state = group(names, owned, {"t": partitions, **({"u": unread} if unread else {})})
    return state if lag is None else replace(state, lag=state.partition.astype("int64") * 0 + lag)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda: alone(of_three()),
            "Not balanced: members have 0 to 4 partitions, and 2 to 3 are possible; 1 of 3 members has none.",
        ),
        (lambda: alone(even(2, 8)), "Balanced: every member has 4 partitions."),
        (lambda: alone(even(2, 2)), "Balanced: every member has 1 partition."),
        (
            lambda: alone(even(2, 5)),
            "Balanced: members have 2 to 3 partitions, and no assignment is more even.",
        ),
        (
            lambda: alone(even(5, 3)),
            "Balanced, but 2 of 5 members have none: no assignment gives every member a partition.",
        ),
        (lambda: alone(even(3, 18, unread=3)), "3 of 21 partitions have no reader."),
        (
            lambda: alone(even(2, 2, unread=1, lag=900_000)),
            "1 of 3 partitions has no reader, where 900,000 records wait.",
        ),
        (lambda: alone(group([], {}, {"t": 5})), "Nobody reads: the group has 5 partitions and no member."),
        (lambda: diff(even(2, 8), even(2, 8)), "Nothing changed: 8 partitions kept."),
        (lambda: diff(of_three(), even(2, 8, unread=1)), None),
        (lambda: planned(even(2, 8), "sticky"), "Nothing would change: 8 partitions kept."),
        pytest.param(
            lambda: planned(even(2, 8, static=True), "roundrobin", deploy="rolling"),
            "Without a rebalance, what 2 static members have waits while each one restarts: 80.0 "
            "partition-seconds; no partition has another owner in the end.",
        ),
        (lambda: planned(even(3, 9), "cooperative-sticky", deploy="rolling"), None),
        (
            lambda: planned(replace(even(3, 9), strategy="range", protocol="classic"), "cooperative-sticky"),
            None,
        ),
        (lambda: planned(even(1, 4), "cooperative-sticky", deploy="rolling"), None),
        (lambda: planned(even(1, 4), "range", joining=(Joiner("m1"),), remove_members=("m0",)), None),
        pytest.param(
            lambda: planned(even(3, 9), "uniform", add_members=2, partitions={"t": 30}, deploy="surge"),
            None,
            marks=pytest.mark.heavy,
        ),
        (lambda: a_crowd(300, 200, shuffled=True), None),
    ],
)
def test_a_situation_is_told_in_a_sentence(change, line):
    sentence = sentence_of(change())
    assert line in {None, sentence}


def test_new_partitions_are_first_read_later():
    assert re.fullmatch(
        r"4 new partitions are first read after 4 min \d\d s to 4 min \d\d s, and auto\.offset\.reset=latest "
        r"skips all records before; 4 of 12 partitions move, 4 new\.",
        sentence_of(planned(even(2, 8), "range", partitions={"t": 12})),
    )


@pytest.mark.heavy
@pytest.mark.usefixtures("all_runs")
def test_all_runs_tell_when_new_partitions_are_first_read():
    assert sentence_of(planned(even(2, 8), "range", partitions={"t": 12})) == (
        "4 new partitions are first read after 4.7 s to 5 min 01 s, and auto.offset.reset=latest "
        "skips all records before; 4 of 12 partitions move, 4 new."
    )


def test_the_pages_name_is_what_it_says(unchanged, odd, empty_diff):
    assert all(map(sentence_of, (unchanged, odd, empty_diff)))


def test_a_plan_that_moves_nothing_under_its_own_guess_of_ids_says_what_others_move():
    names = [MemberIdentity(f"w-{number}", None, "w", topics=("t",)) for number in range(3)]
    owned = {f"w-{number}": [("t", 3 * number + n) for n in range(3)] for number in range(3)}
    change = planned(group(names, owned, {"t": 9}), "range", deploy="rolling")
    least, most = change.summary.moved_least, change.summary.moved_most
    assert least < most
    assert f"; {least} to {most} of 9 partitions move." in sentence_of(change)


def test_what_does_not_fit_is_said_below():
    change = planned(even(2, 8), "range", partitions={"t": 12})
    assert any(line.startswith("The whole group stops reading once, for ") for line in detail_lines(change))


def test_a_cooperative_plan_says_that_the_lists_of_members_are_not_known():
    change = planned(even(2, 4), "cooperative-sticky", deploy="rolling")
    assert detail_lines(change)[0].startswith(
        "Unknown: whether each member lists cooperative strategies only;"
    )
    assert not any(
        "Unknown" in line for line in detail_lines(planned(even(2, 4), "sticky", deploy="rolling"))
    )


def test_which_partitions_nobody_reads_is_said_below():
    assert "Without a reader: u:0-2." in detail_lines(alone(even(3, 18, unread=3)))


def test_growth_says_what_is_skipped_and_how_not_to():
    [first, *_] = detail_lines(planned(even(2, 8), "range", partitions={"t": 12}))
    assert first.startswith(
        "Under auto.offset.reset=latest, the default, a group skips in each new partition"
    )
    assert "times up to 5 min 00 s (metadata.max.age.ms" in first
    assert "To lose none, set auto.offset.reset=earliest" in first
    [first, *_] = detail_lines(planned(even(2, 8), "uniform", partitions={"t": 12}))
    assert "times up to 11.0 s (two of group.consumer.heartbeat.interval.ms" in first


def test_topics_that_only_chance_kept_together_do_not_end():
    names = members("a", "b", topics=("t", "u"))
    owned = {"a-0123": [("t", 0), ("u", 0)], "b-0123": [("t", 1), ("u", 1)]}
    other = {"a-0123": [("t", 0), ("u", 1)], "b-0123": [("t", 1), ("u", 0)]}
    for strategy, ends in (("sticky", False), ("range", True), (None, True)):
        before, after = (
            group(names, assigned, {"t": 2, "u": 2}, strategy=strategy) for assigned in (owned, other)
        )
        assert any("Co-partitioned" in line for line in detail_lines(diff(before, after))) is ends
