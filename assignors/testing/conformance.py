"""Every assignor, ours or a stranger's, must keep these rules: call `check_assignor` in a test of yours.

A story is a group and what happens to it, rebalance after rebalance. An assignor hears each story twice, from
new instances, and must answer alike; every answer is checked by the rules that hold for all assignors.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from assignors.answers import check_answer, checked_user_data
from assignors.assignment import Assignment
from assignors.group import Group
from assignors.interface import Assignor, RebalanceProtocol, RememberingAssignor
from assignors.partition_list import NOTHING
from assignors.testing.stories import Story
from partitioning.errors import AssignmentError, BrokenPluginError
from partitioning.testing.conformance import LIMIT_S, OTHERWISE_ELSEWHERE, in_time, written_elsewhere

STORIES = 40
STORIES_ELSEWHERE = 8
REBALANCES = 8
ROUNDS = 10
"""Rebalances in which a cooperative group must have come to rest when nothing happens to it."""

_Answers = list["Assignment"]
_Lists = Mapping[str, Sequence[tuple[str, int]]]

_ELSEWHERE = """
import pickle, sys
from assignors.testing.conformance import lists_of_stories
factory, stories = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(lists_of_stories(factory, stories)))
"""


def check_assignor(factory: Callable[[], Assignor], *, limit_s: float = LIMIT_S) -> None:
    """Raise an AssertionError that names the first rule this assignor breaks, and where.

    The rules: it is an `Assignor`; its answers to groups that grow, shrink, lose topics, differ in
    subscription, are static, have racks and send any user data are complete and hand over cooperatively
    (see `assignors.answers.check_answer`); it leaves the group it is asked about alone; a new instance that
    hears the same answers the same, also in a process with another hash seed, as the next leader is one; two
    instances do not disturb each other; a cooperative group comes to rest; `user_data`, where it has that,
    gives bytes or None for whatever it was assigned.

    Args:
        factory: makes a new instance, always with the same settings. The other process is asked only if the
            factory can be pickled, as a class or function of a module can.
        limit_s: after how many seconds an assignor that has not come to an end counts as hanging.
    """
    in_time(lambda: _check(factory), limit_s)


def _check(factory: Callable[[], Assignor]) -> None:
    """Check all rules; the first one that is broken raises."""
    _is_an_assignor(factory())
    for seed in range(STORIES):
        one, other = (_tell(factory(), Story(seed)) for _ in range(2))
        # Two instances with equal settings: a difference is state that they share, or a source of chance.
        _same(one, other, "a new instance that hears the same answers otherwise")
    _keep_apart(factory)
    _answers_alike_elsewhere(factory)


def _is_an_assignor(assignor: object) -> None:
    """Check that the factory makes an `Assignor` with a name and known protocols."""
    assert not isinstance(assignor, type), f"{assignor!r} is a class; give an instance"
    assert isinstance(assignor, Assignor), f"{assignor!r} lacks `name`, `protocols` or `assign`"
    assert isinstance(assignor.name, str), f"{assignor!r} has the name {assignor.name!r}, which is no text"
    assert assignor.name, f"{assignor!r} has no name"
    all_known = all(isinstance(protocol, RebalanceProtocol) for protocol in assignor.protocols)
    assert all_known, f"`protocols` of {assignor.name!r} holds something else than RebalanceProtocol"


def _tell(assignor: Assignor, story: Story) -> _Answers:
    """Return the answers to a story; after its last event the group comes to rest.

    Args:
        assignor: leads the group through all of the story.
        story: is used up.

    Raises:
        AssertionError: an answer breaks a rule, or partitions are still held back after `ROUNDS` quiet
            rounds.
    """
    what, group = story.first()
    answers = [_answer(assignor, group, what)]
    for _ in range(REBALANCES):
        what, group = story.next(group, answers[-1])
        answers.append(_answer(assignor, group, what))
    # Nothing happens any more. A cooperative strategy that holds something back for ever would never end.
    for _ in range(ROUNDS):
        if not answers[-1].transferring:
            return answers
        group = group.next(answers[-1])
        answers.append(_answer(assignor, group, "partitions were held back"))
    held = next(iter(answers[-1].transferring))
    raise AssertionError(
        f"{assignor.name!r} still holds {held} back {ROUNDS} rebalances after the last event; "
        "give a partition to the member that waits for it once its owner has given it up"
    )


def _answer(assignor: Assignor, group: Group, what: str) -> Assignment:
    """Return the answer to one group, checked.

    Args:
        assignor: is asked.
        group: is compared with a copy afterwards.
        what: what has just happened to the group, for messages.
    """
    # A strategy that changes its arguments is found by comparing; it works on what it was given.
    original = deepcopy(group)
    where = f"{assignor.name!r}, when {what} ({_describe(original)})"
    try:
        assignment = assignor.assign(group)
    except (Exception, SystemExit) as error:
        raise AssertionError(f"{where}: raises {error!r}") from error
    assert group == original, f"{where}: changes the group that it is asked about"
    try:
        check_answer(original, assignment, assignor)
        if isinstance(assignor, RememberingAssignor):
            checked_user_data(assignor, NOTHING, -1)
            for owned in assignment.values():
                checked_user_data(assignor, owned, original.generation)
    except (AssignmentError, BrokenPluginError) as error:
        raise AssertionError(f"{where}: {error}") from error
    return assignment


def _describe(group: Group) -> str:
    """Return a group in a few words, for a message."""
    topics = ", ".join(f"{topic.name} with {topic.partitions}" for topic in group.topics)
    return f"{len(group.members)} members; partitions: {topics or 'none'}; generation {group.generation}"


def _same(one: Sequence[_Lists], other: Sequence[_Lists], fault: str) -> None:
    """Check that two leaders gave the same lists, in order, as far as both answered."""
    for left, right in zip(one, other, strict=False):
        for member in left:
            assert list(left[member]) == list(right.get(member, ())), (
                f"{fault}: {member!r} gets {left[member]!r} and {right.get(member)!r}"
            )


def _keep_apart(factory: Callable[[], Assignor]) -> None:
    """Check that two instances that lead two groups in turns answer as each does alone."""
    # State on the class instead of the instance, as in aiokafka's sticky assignor, shows only with two
    # leaders.
    for first, second in ((0, 1), (2, 3), (4, 5)):
        alone = [_tell(factory(), Story(seed)) for seed in (first, second)]
        leaders = [(factory(), Story(seed)) for seed in (first, second)]
        groups = [story.first()[1] for _, story in leaders]
        among_others: list[_Answers] = [[], []]
        for _ in range(REBALANCES):
            for turn, (assignor, story) in enumerate(leaders):
                among_others[turn].append(assignor.assign(groups[turn]))
                groups[turn] = story.next(groups[turn], among_others[turn][-1])[1]
        for one, other in zip(alone, among_others, strict=True):
            _same(other, one, "another instance changes the answer")


def _answers_alike_elsewhere(factory: Callable[[], Assignor]) -> None:
    try:
        question = pickle.dumps((factory, STORIES_ELSEWHERE))
    except (pickle.PicklingError, AttributeError, TypeError):
        return
    here = lists_of_stories(factory, STORIES_ELSEWHERE)
    for written in written_elsewhere(_ELSEWHERE, question):
        for one, other in zip(here, pickle.loads(written), strict=True):  # noqa: S301 - our own program's
            _same(one, other, OTHERWISE_ELSEWHERE)


def lists_of_stories(factory: Callable[[], Assignor], stories: int) -> list[list[_Lists]]:
    """Return all answers to the first `stories` stories, as plain lists that another process can read.

    The order of the outer list is that of the stories, of the inner one that of their rebalances.
    """
    return [
        [{member: list(answer[member]) for member in answer} for answer in _tell(factory(), Story(seed))]
        for seed in range(stories)
    ]
