"""Checks the rules that every assignor must keep: call `check_assignor` in a test.

A story is a group with a sequence of events, each followed by a rebalance. Two new instances of the assignor
go through each story and must give equal answers. Each answer is checked by the rules that hold for all
assignors.
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
"""After the last event, a cooperative group must stop holding partitions back within this many rebalances."""

_Answers = list["Assignment"]
_Lists = Mapping[str, Sequence[tuple[str, int]]]

_ELSEWHERE = """
import pickle, sys
from assignors.testing.conformance import lists_of_stories
factory, stories = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(lists_of_stories(factory, stories)))
"""


def check_assignor(factory: Callable[[], Assignor], *, limit_s: float = LIMIT_S) -> None:
    """Raise an AssertionError that names the first rule that the assignor breaks, and the group.

    The rules are:

    - It is an `Assignor`.
    - Its answers are complete and hand partitions over cooperatively (`assignors.answers.check_answer`), for
      groups that grow, shrink, lose topics, have different subscriptions, static members, racks, and any user
      data.
    - It does not change the group that it is asked to assign.
    - A new instance gives equal answers to equal groups, even in a process with another hash seed: the next
      leader is such an instance.
    - Two instances do not affect each other.
    - A cooperative group stops holding partitions back when no more events occur.
    - `user_data`, if it has that method, returns bytes or None for any assignment.

    Args:
        factory: makes a new instance, always with the same settings. The check in another process is made
            only if the factory can be pickled, as a class or function of a module can.
        limit_s: the seconds after which the assignor counts as hanging.
    """
    in_time(lambda: _check(factory), limit_s)


def _check(factory: Callable[[], Assignor]) -> None:
    """Check all rules; raise AssertionError at the first rule that is broken."""
    _is_an_assignor(factory())
    for seed in range(STORIES):
        one, other = (_tell(factory(), Story(seed)) for _ in range(2))
        # If two instances with equal settings differ, they share state or use random numbers.
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
    """Return the answers to a story, until no partition is held back after its last event.

    Args:
        assignor: the leader of the group in all of the story.
        story: the story, which can be used only once.

    Raises:
        AssertionError: an answer breaks a rule, or partitions are still held back `ROUNDS` rebalances after
            the last event.
    """
    what, group = story.first()
    answers = [_answer(assignor, group, what)]
    for _ in range(REBALANCES):
        what, group = story.next(group, answers[-1])
        answers.append(_answer(assignor, group, what))
    # No more events follow. A strategy that keeps holding partitions back would never end without this limit.
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
    """Return the answer for one group, and check it.

    Args:
        assignor: the assignor.
        group: the group, which the assignor must not change.
        what: the last event of the group, for messages.
    """
    # The copy shows whether the assignor has changed the group.
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
    """Check that two leaders gave equal lists, as far as both answered; else raise with the text `fault`."""
    for left, right in zip(one, other, strict=False):
        for member in left:
            assert list(left[member]) == list(right.get(member, ())), (
                f"{fault}: {member!r} gets {left[member]!r} and {right.get(member)!r}"
            )


def _keep_apart(factory: Callable[[], Assignor]) -> None:
    """Check that two instances that lead two groups in turns answer as each of them does alone."""
    # If an assignor keeps its state on the class and not on the instance, as aiokafka's sticky assignor does,
    # only a second leader shows the fault.
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

    The outer list is in the order of stories, and each inner list in the order of rebalances.
    """
    return [
        [{member: list(answer[member]) for member in answer} for answer in _tell(factory(), Story(seed))]
        for seed in range(stories)
    ]
