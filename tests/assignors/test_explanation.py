"""Explain: why a partition is where it is, by what the assignor tells while it decides."""

import pytest

from assignors import (
    Assignment,
    Explainer,
    Group,
    Member,
    Reason,
    RebalanceProtocol,
    RecordingAssignor,
    Topic,
    explain,
)
from assignors.interface import Step, record_nothing
from partitioning.errors import AssignorError, UnknownStrategyError
from partitioning.topic_partition import TopicPartition
from tests.support.recording import EvenAssignor, MuteAssignor, strangers

__all__ = ["strangers"]

T = ["t"]
GROUP = Group([Topic("t", 2)], [Member("a", T), Member("b", T)])
ASKED = TopicPartition("t", 1)


def steps_of(text):
    """The steps of "over quota a, filled b"."""
    pairs = [step.rsplit(" ", 1) for step in text.split(", ")] if text else []
    return tuple(Step(Reason(reason), member) for reason, member in pairs)


class Scripted:
    """Gives and explains what it was made to, a round after the other; t-0 is always a's.

    A round is its steps: the last one's member has t-1, or will have it if it is held back.
    """

    name = "scripted"
    protocols = frozenset({RebalanceProtocol.COOPERATIVE})

    def __init__(self, *rounds):
        self.rounds = list(map(steps_of, rounds))
        self.left = iter(self.rounds)

    def assign(self, group):
        return self.assign_recorded(group, record_nothing)

    def assign_recorded(self, group, record):
        steps = next(self.left)
        for reason, member in steps:
            record(ASKED, reason, member)
        lists, held_back = {"a": [("t", 0)]}, {}
        if steps[-1].reason is Reason.HELD_BACK:
            held_back[ASKED] = steps[-1].member
        else:
            lists.setdefault(steps[-1].member, []).append(ASKED)
        return Assignment.for_group(group, lists, transferring=held_back)

    def again(self):
        """The same script from its beginning."""
        self.left = iter(self.rounds)
        return self


def explained(*rounds, group=GROUP):
    leader = Scripted(*rounds)
    assignment = leader.assign(group)
    for _ in rounds[1:]:
        group_after = group.next(assignment)
        assignment = leader.assign(group_after)
    explainer = Explainer(group, assignment, assignor=leader.again(), follow_ups=len(rounds) - 1)
    return explainer.explain(ASKED)


SENTENCES = [
    ("kept a", "t-1 stays with 'a'"),
    ("range b", "t-1 lies in the range of its topic that goes to 'b'"),
    ("turn b", "t-1 goes to 'b', whose turn it was"),
    ("filled b", "t-1 goes to 'b', which had too few"),
    ("near b", "t-1 goes to 'b', which had room and is in the rack of one of its replicas"),
    ("over quota a, filled b", "t-1 goes to 'b', which had too few; 'a' gave it up, over its share"),
    (
        "no longer subscribed a, filled b",
        "t-1 goes to 'b', which had too few; 'a' gave it up, no longer subscribed",
    ),
    (
        "far a, near b",
        (
            "t-1 goes to 'b', which had room and is in the rack of one of its replicas; "
            "'a' gave it up, far from its replicas"
        ),
    ),
    ("far b, filled b", "t-1 returns to 'b', which had too few; 'b' gave it up, far from its replicas"),
    (
        "contested a, contested b, filled b",
        (
            "t-1 goes to 'b', which had too few; "
            "several members claimed it at once, so none of them could keep it"
        ),
    ),
    ("contested a, contested b, kept b", "t-1 stays with 'b'"),
    ("outdated a, kept b", "t-1 stays with 'b'; 'a' claimed it too, but in an earlier generation"),
    ("kept a, balanced b", "t-1 moves to 'b', because 'a' had at least two more"),
    ("filled a, balanced b", "t-1 moves to 'b', because 'a' had at least two more"),
    ("balanced b", "t-1 moves to 'b', because the member that had it had at least two more"),
    ("kept b, balanced a, balanced b", "t-1 returns to 'b', because 'a' had at least two more"),
    (
        "kept a, swapped b",
        (
            "t-1 moves to 'b' in place of another partition of its topic, "
            "which would have gone the opposite way of an earlier move"
        ),
    ),
    (
        "outdated b, kept a, stolen back b",
        "t-1 returns to 'b', which had it in an earlier generation, because 'a' had at least two more",
    ),
    (
        "kept b, balanced a, undone b",
        "t-1 is with 'b' as it was before balancing, which made nothing better and was undone",
    ),
    ("over quota a, filled b, held back b", "t-1 waits for 'a' to give it up, then 'b' gets it"),
    ("kept a, balanced b, held back b", "t-1 waits for 'a' to give it up, then 'b' gets it"),
    (
        "contested a, contested b, filled b, held back b",
        "t-1 waits for everybody who claims it to give it up, then 'b' gets it",
    ),
    (
        "given up a, best b",
        "t-1 goes to 'b', for the best loads with the fewest moves; 'a' gave it up for the best loads",
    ),
    (
        "relieved a, light b",
        "t-1 goes to 'b', for a low peak of loads; 'a' gave it up for a lower peak of loads",
    ),
    ("filled b, held back b", "t-1 waits for the member that has it to give it up, then 'b' gets it"),
]


@pytest.mark.parametrize(("steps", "sentence"), SENTENCES, ids=[steps for steps, _ in SENTENCES])
def test_the_sentence_tells_the_story_of_the_steps(steps, sentence):
    explanation = explained(steps)
    size = {"a": 2, "b": 1}[explanation.owner] - (explanation.reason is Reason.HELD_BACK)
    assert str(explanation) == f"{sentence} ({explanation.owner!r} has {size} of a share of 1)"


def test_every_reason_that_gives_a_partition_to_a_member_has_its_sentence():
    told = {step.reason for steps, _ in SENTENCES for step in steps_of(steps)}
    assert set(Reason) - told == {Reason.NOBODY, Reason.NOT_TOLD}


@pytest.mark.parametrize(
    ("steps", "reason", "cause", "previous"),
    [
        ("kept a", Reason.KEPT, Reason.KEPT, "a"),
        ("filled b", Reason.FILLED, Reason.FILLED, None),
        ("over quota a, filled b", Reason.FILLED, Reason.OVER_QUOTA, "a"),
        ("no longer subscribed a, near b", Reason.NEAR, Reason.UNSUBSCRIBED, "a"),
        ("far b, filled b", Reason.FILLED, Reason.FILLED, "b"),
        ("contested a, contested b, filled b", Reason.FILLED, Reason.CONTESTED, None),
        ("contested a, contested b, kept b", Reason.KEPT, Reason.KEPT, "b"),
        ("contested a, contested b, over quota b, filled a", Reason.FILLED, Reason.OVER_QUOTA, "b"),
        ("outdated a, over quota b, filled a", Reason.FILLED, Reason.OVER_QUOTA, "b"),
        ("outdated a, filled b", Reason.FILLED, Reason.FILLED, None),
        ("kept a, balanced b", Reason.BALANCED, Reason.BALANCED, "a"),
        ("over quota a, filled b, balanced a, undone b", Reason.UNDONE, Reason.OVER_QUOTA, "a"),
        ("over quota a, filled b, held back b", Reason.HELD_BACK, Reason.HELD_BACK, "a"),
    ],
)
def test_the_steps_tell_reason_cause_and_who_had_it(steps, reason, cause, previous):
    explanation = explained(steps)
    assert (explanation.reason, explanation.cause, explanation.previous) == (reason, cause, previous)
    assert explanation.steps == steps_of(steps)


@pytest.mark.parametrize(
    ("rounds", "reason", "steps"),
    [
        (("over quota a, filled b, held back b", "filled b"), Reason.FILLED, "over quota a, filled b"),
        (("kept a, balanced b, held back b", "filled b"), Reason.BALANCED, "kept a, balanced b"),
        (("over quota a, filled b, held back b", "filled b, held back b", "filled b"), Reason.FILLED, None),
        (
            ("over quota a, filled b, held back b", "filled a"),
            Reason.FILLED,
            "over quota a, filled b, filled a",
        ),
        (
            ("filled b, held back b", "filled b, held back b"),
            Reason.HELD_BACK,
            "filled b, filled b, held back b",
        ),
    ],
)
def test_rounds_that_follow_one_another_are_one_story(rounds, reason, steps):
    explanation = explained(*rounds)
    assert explanation.reason is reason
    if steps is not None:
        assert explanation.steps == steps_of(steps)


def test_what_stays_in_every_round_is_kept():
    members = [Member("a", T, owned=[("t", 0), ("t", 1)], generation=1), Member("b", T)]
    group = Group([Topic("t", 2)], members, generation=1)
    leader = EvenAssignor(cooperative=True)
    settled = leader.assign(group.next(leader.assign(group)))
    explainer = Explainer(group, settled, assignor=leader, follow_ups=1)
    assert [explainer.explain(("t", n)).steps for n in range(2)] == [
        steps_of("kept a"),
        steps_of("over quota a, filled b"),
    ]


def test_there_is_no_share_where_subscriptions_differ():
    group = Group([Topic("t", 2), Topic("u", 1)], [Member("a", T), Member("b", ["t", "u"])])
    assert str(explained("over quota a, filled b", group=group)) == (
        "t-1 goes to 'b', which had the fewest; 'a' gave it up, over its share ('b' has 1)"
    )


@pytest.mark.parametrize("partition", [("t", 5), ("t", -1), ("unknown", 0), ("unread", 0)])
def test_a_partition_that_is_not_there_or_not_read_has_no_owner(partition):
    group = Group([Topic("t", 2), Topic("unread", 1)], GROUP.members)
    assignment = Scripted("filled b").assign(group)
    explanation = explain(group, assignment, partition, assignor=Scripted("filled b"))
    assert (explanation.reason, explanation.owner) == (Reason.NOBODY, None)
    topic, number = partition
    assert str(explanation) == f"nobody subscribes to {topic}-{number}, or it does not exist"


def test_an_assignor_that_does_not_record_tells_nothing():
    explanation = explain(GROUP, MuteAssignor().assign(GROUP), ASKED, assignor=MuteAssignor())
    assert (explanation.reason, explanation.previous, explanation.steps) == (Reason.NOT_TOLD, None, ())
    assert str(explanation) == (
        "t-1 is given to 'b', and the assignor does not tell why ('b' has 1 of a share of 1)"
    )


def test_what_a_fresh_leader_decides_otherwise_is_not_told():
    given = Scripted("kept a").assign(GROUP)
    explanation = explain(GROUP, given, ASKED, assignor=Scripted("over quota a, filled b"))
    assert (explanation.reason, explanation.owner) == (Reason.NOT_TOLD, "a")
    assert explanation.steps == steps_of("over quota a, filled b")
    assert str(explanation) == (
        "t-1 is given to 'a', which is not what a fresh leader decides for this group "
        "('a' has 2 of a share of 1)"
    )


def test_a_partition_nobody_has_though_a_fresh_leader_gives_it_is_not_told():
    given = Assignment.for_group(GROUP, {"a": [("t", 0)]})
    explanation = explain(GROUP, given, ASKED, assignor=Scripted("filled b"))
    assert (
        str(explanation) == "t-1 is given to nobody, which is not what a fresh leader decides for this group"
    )


def test_one_that_has_what_a_fresh_leader_holds_back_is_not_explained():
    given = Scripted("filled b").assign(GROUP)
    explanation = explain(GROUP, given, ASKED, assignor=Scripted("over quota a, filled b, held back b"))
    assert explanation.reason is Reason.NOT_TOLD


@pytest.mark.parametrize("told", ["kept a", "over quota a", "held back b"])
def test_steps_that_do_not_lead_to_the_owner_are_not_believed(told):
    class Liar(Scripted):
        def assign_recorded(self, group, record):
            for reason, member in steps_of(told):
                record(ASKED, reason, member)
            return Scripted("filled b").assign(group)

    explanation = explain(GROUP, Liar().assign_recorded(GROUP, record_nothing), ASKED, assignor=Liar())
    assert (explanation.reason, explanation.owner, explanation.steps) == (Reason.NOT_TOLD, "b", ())


def test_lists_read_back_from_a_group_need_not_say_what_waits():
    given = Assignment.of({"a": [("t", 0)], "b": []})
    explanation = explain(GROUP, given, ASKED, assignor=Scripted("over quota a, filled b, held back b"))
    assert (explanation.reason, explanation.owner) == (Reason.HELD_BACK, "b")


@pytest.mark.usefixtures("strangers")
def test_a_name_stands_for_a_fresh_leader():
    assignment = EvenAssignor().assign(GROUP)
    assert explain(GROUP, assignment, ASKED, assignor="even").reason is Reason.FILLED


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownStrategyError, match="cooperative-sticky"):
        explain(GROUP, EvenAssignor().assign(GROUP), ASKED, assignor="coperative-sticky")


def test_what_the_assignor_raises_passes_through():
    class Broken(EvenAssignor):
        def assign_recorded(self, group, record):
            raise AssignorError("no", jvm_exception="NullPointerException")

    with pytest.raises(AssignorError, match="no"):
        explain(GROUP, EvenAssignor().assign(GROUP), ASKED, assignor=Broken())


def test_many_partitions_cost_one_decision():
    leader = Scripted("filled b")
    explainer = Explainer(GROUP, leader.assign(GROUP), assignor=leader.again())
    # A second decision would find the script at its end.
    assert explainer.explain(ASKED) == explainer.explain(ASKED)


def test_whether_an_assignor_records_can_be_asked():
    assert isinstance(EvenAssignor(), RecordingAssignor)
    assert not isinstance(MuteAssignor(), RecordingAssignor)
