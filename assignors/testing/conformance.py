"""What every assignor must do, ours and a stranger's: call `check_assignor` in a test of yours."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from assignors.answers import check_answer, checked_user_data
from assignors.group import Assignment, Group, Member, StickyUserData, Topic
from assignors.interface import Assignor, RebalanceProtocol, RememberingAssignor
from assignors.partition_list import NOTHING, PartitionList
from partitioning.errors import AssignmentError, BrokenPluginError
from partitioning.testing.conformance import LIMIT_S, in_time

RACKS = ("east", "west", None)
FORMS = ("as it was given", "none", "empty", "of another strategy")
"""The forms of user data: another strategy's is what a member sends that comes from another client."""


@dataclass
class Story:
    """What happens to one group; the same seed tells the same story to assignors that answer alike."""

    seed: int
    _random: random.Random = field(init=False)
    _ever: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - test data

    def first(self) -> tuple[str, Group]:
        """What the group is called at its beginning, and the group."""
        topics = [
            self._topic(f"topic-{number}", self._random.randint(0, 7))
            for number in range(self._random.randint(1, 4))
        ]
        members = [self._joiner(topics) for _ in range(self._random.randint(1, 6))]
        return "a new group", _fresh(Group(topics, members))

    def next(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        """What happens, and the group at the rebalance that follows."""
        happens: Callable[[Group, Assignment], tuple[str, Group]] = self._random.choice(
            [self._join, self._leave, self._restart, self._grow, self._delete, self._subscribe, self._forget]
        )
        what, changed = happens(group, assignment)
        return what, _fresh(changed)

    def _topic(self, name: str, partitions: int) -> Topic:
        racks = None
        if self._random.random() < 0.5:
            racks = [self._random.sample(["east", "west", "north"], 2) for _ in range(partitions)]
        return Topic(name, partitions, racks)

    def _joiner(self, topics: Sequence[Topic], instance_id: str | None = None) -> Member:
        self._ever += 1
        if instance_id is None and self._random.random() < 0.3:
            instance_id = f"instance-{self._ever}"
        return Member(
            f"member-{self._ever}",
            self._subscription(topics),
            instance_id=instance_id,
            rack=self._random.choice(RACKS),
        )

    def _subscription(self, topics: Sequence[Topic]) -> list[str]:
        names = [topic.name for topic in topics]
        if self._random.random() < 0.5:
            return names
        # Never none at all: Java's sticky assignors let a member without topics keep what it has.
        return self._random.sample([*names, "a topic that is not there"], self._random.randint(1, len(names)))

    def _join(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        joins = [self._joiner(group.topics) for _ in range(self._random.randint(1, 2))]
        return "a member joins", group.next(assignment, join=joins)

    def _leave(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        count = self._random.randint(0, len(group.members) - 1)
        gone = [member.id for member in self._random.sample(list(group.members), count)]
        return "members leave", group.next(assignment, leave=gone)

    def _restart(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        gone = self._random.choice(group.members)
        back = self._joiner(group.topics, gone.instance_id)
        return "a member restarts", group.next(assignment, leave=[gone.id], join=[back])

    def _grow(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        grown = [
            self._topic(each.name, each.partitions + self._random.randint(0, 4)) for each in group.topics
        ]
        return "topics grow", group.next(assignment, topics=grown)

    def _delete(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        left = [each for each in group.topics if self._random.random() < 0.6]
        return "a topic is deleted", group.next(assignment, topics=left or group.topics)

    def _subscribe(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        after = group.next(assignment)
        number = self._random.randrange(len(after.members))
        members = list(after.members)
        members[number] = replace(members[number], topics=self._subscription(group.topics))
        return "a member subscribes to other topics", replace(after, members=members)

    def _forget(self, group: Group, assignment: Assignment) -> tuple[str, Group]:
        form = self._random.choice(FORMS)
        data: dict[str, bytes | StickyUserData | None] = {
            "none": None,
            "empty": b"",
            "of another strategy": self._random.randbytes(self._random.randint(1, 40)),
        }
        after = group.next(assignment)
        if form in data:
            members = [replace(each, user_data=data[form]) for each in after.members]
            after = replace(after, members=members)
        return f"members send user data {form}", after


def _fresh(group: Group) -> Group:
    """The same group in lists of its own, which a strategy could change if it dared."""
    return replace(
        group,
        topics=list(group.topics),
        members=[
            replace(each, topics=list(each.topics), owned=list(PartitionList.of(each.owned)))
            for each in group.members
        ],
    )


def stories(count: int) -> Iterator[Story]:
    """So many stories, always the same."""
    return map(Story, range(count))


STORIES = 40
REBALANCES = 8
ROUNDS = 10
"""Rebalances in which a cooperative group must have come to rest when nothing happens to it."""

_Answers = list["Assignment"]


def check_assignor(factory: Callable[[], Assignor], *, limit_s: float = LIMIT_S) -> None:
    """Raise an AssertionError that names the first rule this assignor breaks, and where.

    The rules: it is an `Assignor`; its answers to groups that grow, shrink, lose topics, differ in
    subscription, are static, have racks and send any user data are complete and hand over cooperatively
    (see `assignors.answers.check_answer`); it leaves the group it is asked about alone; a new instance that
    hears the same answers the same; two instances do not disturb each other; a cooperative group comes to
    rest; `user_data`, where it has that, gives bytes or None for whatever it was assigned.

    Args:
        factory: makes a new instance, always with the same settings.
        limit_s: after how many seconds an assignor that has not come to an end counts as hanging.
    """
    in_time(lambda: _check(factory), limit_s)


def _check(factory: Callable[[], Assignor]) -> None:
    _is_an_assignor(factory())
    for story in stories(STORIES):
        answers = _tell(factory(), story)
        _same(
            answers,
            _tell(factory(), Story(story.seed)),
            "a new instance that hears the same answers otherwise",
        )
    _keep_apart(factory)


def _is_an_assignor(assignor: object) -> None:
    assert not isinstance(assignor, type), f"{assignor!r} is a class; give an instance"
    assert isinstance(assignor, Assignor), f"{assignor!r} lacks `name`, `protocols` or `assign`"
    assert isinstance(assignor.name, str), f"{assignor!r} has the name {assignor.name!r}, which is no text"
    assert assignor.name, f"{assignor!r} has no name"
    all_known = all(isinstance(each, RebalanceProtocol) for each in assignor.protocols)
    assert all_known, f"`protocols` of {assignor.name!r} holds something else than RebalanceProtocol"


def _tell(assignor: Assignor, story: Story) -> _Answers:
    """The answers to a story; after its last event the group comes to rest."""
    what, group = story.first()
    answers = [_answer(assignor, group, what)]
    for _ in range(REBALANCES):
        what, group = story.next(group, answers[-1])
        answers.append(_answer(assignor, group, what))
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
    original = deepcopy(group)
    where = f"{assignor.name!r}, when {what} ({_described(original)})"
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


def _described(group: Group) -> str:
    topics = ", ".join(f"{topic.name} with {topic.partitions}" for topic in group.topics)
    return f"{len(group.members)} members; partitions: {topics or 'none'}; generation {group.generation}"


def _same(one: _Answers, other: _Answers, fault: str) -> None:
    for left, right in zip(one, other, strict=False):
        for member in left:
            assert list(left[member]) == list(right.get(member, ())), (
                f"{fault}: {member!r} gets {left[member]!r} and {right.get(member)!r}"
            )


def _keep_apart(factory: Callable[[], Assignor]) -> None:
    """Two instances lead two groups in turns, and answer as each does alone."""
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
